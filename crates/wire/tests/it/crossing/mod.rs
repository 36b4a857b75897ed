//! Requests from one API to the other: what is not named as lost means the same there.

mod chat_write;
mod law;
mod members;
mod same;
mod view;
