//! Counts of a request's tokens, for clients that ask before they send it.
//!
//! A provider of the same API counts itself. For any other the count is an estimate from the bytes
//! that would be sent, and is marked.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode},
};
use callgate_pipeline::{Admitted, Upstream};
use callgate_wire::{Api, Code, Fault};
use serde_json::{Value, json};

use crate::{Routes, answer};

/// The header of an answer that is an estimate.
const ESTIMATED: &str = "x-callgate-estimated";

/// Bytes of a request for a token: close for English and code, high for JSON's marks.
const BYTES_A_TOKEN: usize = 4;

/// A count is a few bytes long.
const ANSWER_MAX: usize = 64 << 10;

/// The answer to a request for a count.
pub(crate) async fn tokens(
    routes: &Routes,
    headers: &[(&'static str, String)],
    body: &[u8],
) -> Result<Response<Body>, Fault> {
    let admitted = Admitted::new(Api::Messages, body)?;
    let route = routes.find(admitted.model())?;
    let Some(target) = route.order(0).first().and_then(|first| route.target(first.target)) else {
        return Err(Fault::new(Code::NotFound, "the model has no target"));
    };
    let model = route.sent(target, admitted.model());
    let upstream = Upstream { api: target.api, model: &model };
    let request = admitted.for_target(upstream, &target.policy)?;
    if target.api != Api::Messages || target.policy.dialect.is_some() {
        let tokens = request.body.len().div_ceil(BYTES_A_TOKEN);
        let mut response = answer::json_body(StatusCode::OK, &json!({ "input_tokens": tokens }));
        response.headers_mut().insert(ESTIMATED, HeaderValue::from_static("true"));
        return Ok(response);
    }
    let headers = target.headers(headers);
    let path = format!("{}/count_tokens", target.api.path());
    let mut reply = target.provider.send_with(&path, request.body, false, &headers).await?;
    let mut json = Vec::new();
    while let Some(bytes) = reply.body.next().await {
        json.extend_from_slice(&bytes?);
        if json.len() > ANSWER_MAX {
            break;
        }
    }
    match serde_json::from_slice::<Value>(&json) {
        Ok(count) if count["input_tokens"].is_u64() => {
            Ok(answer::json_body(StatusCode::OK, &count))
        }
        _ => Err(Fault::new(
            Code::UpstreamProtocol,
            "The provider's answer has no count of tokens. Send the request again.",
        )),
    }
}
