//! What stands behind the gateway: HTTP to model providers, and a scripted provider.
//!
//! Both answer the same call with the same [`Response`], so that a demo or a test without network
//! takes the path that real traffic takes. A body is pulled: nothing is read ahead of the consumer,
//! and dropping it (or the future of `send`) ends the request at once.
//!
//! There is no retry, no choice of a target and no reading of a reply's content here.
//!
//! ```
//! use callgate_upstream::{Provider, ScriptedProvider, Scripts, Timeouts};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # runtime.block_on(async {
//! let provider = Provider::from(ScriptedProvider::new(Scripts::embedded(), Timeouts::default()));
//! let request = br#"{"model":"demo/plain","stream":true,"messages":[]}"#;
//! let mut response = provider.send("/chat/completions", request.to_vec(), true).await.unwrap();
//! let first = response.body.next().await.unwrap().unwrap();
//! assert!(first.starts_with(b"data: {"));
//! # });
//! ```

mod http;
mod provider;
mod refusal;
mod response;
mod script;
mod timeout;

pub use http::{ClientError, HttpOptions, HttpProvider, Secret};
pub use provider::Provider;
pub use response::{Body, Headers, Response};
pub use script::{
    Delivery, Piece, Pieces, Reply, Sample, Script, ScriptError, ScriptedProvider, Scripts, Step,
    serve,
};
pub use timeout::Timeouts;
