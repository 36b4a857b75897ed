//! Reasoning and where it came from: only its origin can take it back.
//!
//! A provider refuses reasoning that it has not signed. What another API's provider has reasoned goes
//! to a client with a signature of Callgate's, by which it is known when the client sends it back; it
//! is taken out of what a provider of this API is sent.

/// The signature of reasoning that no provider of this API has signed. Clients drop reasoning
/// without any.
pub const UNSIGNED: &str = "Y2FsbGdhdGU6dW5zaWduZWQ=";
