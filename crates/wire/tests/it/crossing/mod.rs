//! Requests from one API to another: what is not named as lost means the same there.

mod chat_write;
mod law;
mod members;
mod messages;
mod same;
mod view;
