//! Answers that are not a turn: errors with their headers, model lists, health.

use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
};
use callgate_wire::{Api, Fault};
use serde_json::{Value, json};

use crate::{Routes, blame};

/// A JSON body.
pub(crate) fn json_body(status: StatusCode, value: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(value.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// JSON text as it is.
pub(crate) fn json_text(json: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(json.into());
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// A fault as the whole answer to a client of an API.
pub(crate) fn fault(api: Api, fault: &Fault) -> Response<Body> {
    let status = StatusCode::from_u16(fault.status_for(api)).unwrap_or(StatusCode::BAD_GATEWAY);
    fault_with(status, api, fault)
}

/// A fault under a status of its own.
pub(crate) fn fault_with(status: StatusCode, api: Api, fault: &Fault) -> Response<Body> {
    let mut response = json_body(status, &fault.body(api));
    let headers = response.headers_mut();
    let code = HeaderValue::from_static(fault.code.name());
    headers.insert("x-callgate-error", code);
    if !fault.should_retry() {
        headers.insert("x-should-retry", HeaderValue::from_static("false"));
    }
    let after = match fault.retry_after.as_deref() {
        Some(after) => HeaderValue::from_str(after).ok(),
        // Codex takes a limit that does not say how long for the end of its session.
        None if status == StatusCode::TOO_MANY_REQUESTS && fault.should_retry() => {
            Some(HeaderValue::from(blame::REST.as_secs()))
        }
        None => None,
    };
    headers.extend(after.map(|after| (header::RETRY_AFTER, after)));
    response
}

/// The list of models, as clients of the Messages API know it.
pub(crate) fn messages_models(routes: &Routes) -> Response<Body> {
    let names: Vec<_> = routes.names().collect();
    let data: Vec<_> = names.iter().map(|name| messages_model(name)).collect();
    let list = json!({
        "data": data, "has_more": false, "first_id": names.first(), "last_id": names.last(),
    });
    json_body(StatusCode::OK, &list)
}

/// One model's object, as clients of the Messages API know it. The API has the epoch stand for a
/// time that is not known.
pub(crate) fn messages_model(name: &str) -> Value {
    json!({
        "type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z",
    })
}

/// The list of models.
pub(crate) fn models(routes: &Routes, now: u64) -> Response<Body> {
    let data: Vec<_> = routes.names().map(|name| model(name, now)).collect();
    json_body(StatusCode::OK, &json!({ "object": "list", "data": data }))
}

/// One model's object.
pub(crate) fn model(name: &str, now: u64) -> Value {
    json!({ "id": name, "object": "model", "created": now, "owned_by": "callgate" })
}
