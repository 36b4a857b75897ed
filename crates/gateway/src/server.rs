//! The HTTP server: paths, limits, and the accept loop with its graceful end.
//!
//! Headers go out with the first client event. Until then a failure is a proper status; a silent
//! start is committed with a keep-alive.

use std::{
    convert::Infallible,
    future::Future,
    io,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwap;
use axum::{
    Router,
    body::Body,
    extract::{Path, State},
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
    },
    response::IntoResponse,
    routing::{get, post},
};
use bytes::Bytes;
use callgate_pipeline::Admitted;
use callgate_wire::{Api, Code, Fault, loss};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
    service::TowerToHyperService,
};
use serde_json::json;
use tokio::net::TcpListener;

use crate::{
    Config, ConfigError, Routes, answer, count,
    drive::{Drive, Step},
    kept::{Joined, Keeping, Kept},
};

/// A client that does not finish its headers in this time is gone.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// A configured gateway.
#[derive(Clone, Debug)]
pub struct Gateway {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    live: ArcSwap<Live>,
    kept: Kept,
    started: u64,
}

/// What a reload replaces. A request keeps what it began with.
#[derive(Debug)]
struct Live {
    routes: Routes,
    max_body_bytes: usize,
    keep_alive: Duration,
    drain: Duration,
}

impl Live {
    fn new(config: &Config, previous: Option<&Self>) -> Result<Self, ConfigError> {
        Ok(Self {
            routes: Routes::renewed(config, previous.map(|live| &live.routes))?,
            max_body_bytes: config.max_body_bytes,
            keep_alive: Duration::from_millis(config.keep_alive_ms),
            drain: Duration::from_millis(config.drain_ms),
        })
    }
}

impl Gateway {
    /// A gateway with the routes of a configuration.
    ///
    /// # Errors
    /// The configuration's parts do not fit together.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        if !config.listen.ip().is_loopback() {
            let message = format!(
                "listen = \"{}\" is no loopback address; without access keys the gateway serves \
                 this machine only, so use 127.0.0.1",
                config.listen
            );
            return Err(config.origin.error("listen", message));
        }
        let live = ArcSwap::from_pointee(Live::new(config, None)?);
        let kept = Kept::new(config.store.as_deref())
            .map_err(|error| config.origin.error("store", error.to_string()))?;
        Ok(Self { shared: Arc::new(Shared { live, kept, started: now() }) })
    }

    /// Replaces routes and limits by those of another configuration; `listen` stays as it is.
    /// Requests that are under way end as they began. Providers that did not change keep their
    /// connections, and targets what is known of their health.
    ///
    /// # Errors
    /// The configuration's parts do not fit together; nothing has changed then.
    pub fn reload(&self, config: &Config) -> Result<(), ConfigError> {
        let live = Live::new(config, Some(&self.shared.live.load()))?;
        self.shared.live.store(Arc::new(live));
        Ok(())
    }

    /// The routes.
    #[must_use]
    pub fn routes(&self) -> Routes {
        self.shared.live.load().routes.clone()
    }

    /// Serves connections until `shutdown` is ready, then lets running turns end.
    ///
    /// # Errors
    /// The listener's.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let service = TowerToHyperService::new(router(Arc::clone(&self.shared)));
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        let graceful = GracefulShutdown::new();
        let kept = self.shared.kept.clone();
        let sweep = tokio::spawn(async move { kept.sweep().await });
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            let socket = tokio::select! {
                accepted = listener.accept() => accepted,
                () = &mut shutdown => break,
            };
            let socket = match socket {
                Ok((socket, _)) => socket,
                // A connection that failed while it waited, or no file handle left: others go on.
                Err(error) => {
                    tracing::warn!(%error, "accept");
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            };
            let _ = socket.set_nodelay(true);
            let connection = http.serve_connection(TokioIo::new(socket), service.clone());
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "connection");
                }
            });
        }
        drop(listener);
        sweep.abort();
        let drain = self.shared.live.load().drain;
        tokio::select! {
            () = graceful.shutdown() => {}
            () = tokio::time::sleep(drain) => {
                tracing::warn!(drain_ms = drain.as_millis(), "turns were still running");
            }
        }
        Ok(())
    }
}

fn router(shared: Arc<Shared>) -> Router {
    let api = Router::new()
        .route("/chat/completions", post(chat))
        .route("/messages", post(messages))
        .route("/messages/count_tokens", post(count_tokens))
        .route("/responses", post(responses).get(no_websocket))
        .route("/responses/{id}", get(kept_reply).delete(forget_reply))
        .route("/responses/{id}/input_items", get(kept_items))
        .route("/responses/{id}/cancel", post(cancel))
        .route("/models", get(models))
        .route("/models/{*name}", get(model));
    Router::new()
        .merge(api.clone())
        .nest("/v1", api)
        .route("/healthz", get(health))
        .route("/readyz", get(health))
        .route("/", get(health))
        // Some clients ask for this before their first request.
        .route("/api/hello", get(health))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .with_state(shared)
}

async fn health() -> Response<Body> {
    answer::json_body(StatusCode::OK, &json!({ "status": "ok" }))
}

async fn models(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response<Body> {
    let routes = &shared.live.load().routes;
    match api_of(&headers) {
        Api::Messages => answer::messages_models(routes),
        Api::Chat | Api::Responses => answer::models(routes, shared.started),
    }
}

/// The API that a client of a shared path speaks: every request of a Messages client names a version.
fn api_of(headers: &HeaderMap) -> Api {
    match headers.contains_key("anthropic-version") {
        true => Api::Messages,
        false => Api::Chat,
    }
}

async fn model(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    let api = api_of(&headers);
    if let Err(fault) = shared.live.load().routes.find(&name) {
        return answer::fault(api, &fault);
    }
    let model = match api {
        Api::Messages => answer::messages_model(&name),
        Api::Chat | Api::Responses => answer::model(&name, shared.started),
    };
    answer::json_body(StatusCode::OK, &model)
}

async fn not_found(uri: Uri, headers: HeaderMap) -> Response<Body> {
    let message = format!(
        "no such path: {}; the APIs are at /v1/chat/completions, /v1/responses and /v1/messages, the \
         models at /v1/models",
        uri.path()
    );
    answer::fault(api_of(&headers), &Fault::new(Code::NotFound, message))
}

/// Clients that would rather speak over a WebSocket fall back to a request at once.
async fn no_websocket(request: Request<Body>) -> Response<Body> {
    let is_upgrade = request.headers().contains_key(header::UPGRADE);
    let status = match is_upgrade {
        true => StatusCode::UPGRADE_REQUIRED,
        false => StatusCode::METHOD_NOT_ALLOWED,
    };
    let message = "a turn is asked for with POST; WebSockets are not served";
    answer::fault_with(status, Api::Responses, &Fault::new(Code::RequestInvalid, message))
}

async fn kept_reply(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Response<Body> {
    match shared.kept.response(&id).await {
        Ok(json) => answer::json_text(json),
        Err(fault) => answer::fault(Api::Responses, &fault),
    }
}

async fn forget_reply(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Response<Body> {
    match shared.kept.delete(&id).await {
        Ok(()) => {
            let gone = json!({ "id": id, "object": "response", "deleted": true });
            answer::json_body(StatusCode::OK, &gone)
        }
        Err(fault) => answer::fault(Api::Responses, &fault),
    }
}

async fn kept_items(
    State(shared): State<Arc<Shared>>,
    Path(id): Path<String>,
    uri: Uri,
) -> Response<Body> {
    match shared.kept.input_items(&id, uri.query().unwrap_or_default()).await {
        Ok(list) => answer::json_body(StatusCode::OK, &list),
        Err(fault) => answer::fault(Api::Responses, &fault),
    }
}

/// Only replies in the background can be cancelled, and there are none.
async fn cancel(State(shared): State<Arc<Shared>>, Path(id): Path<String>) -> Response<Body> {
    let fault = match shared.kept.response(&id).await {
        Ok(_) => Fault::new(
            Code::RequestInvalid,
            format!("`{id}` is no reply in the background: only such replies can be cancelled"),
        ),
        Err(fault) => fault,
    };
    answer::fault(Api::Responses, &fault)
}

async fn wrong_method(method: Method, uri: Uri) -> Response<Body> {
    let message = format!("{} does not answer {method}", uri.path());
    let fault = Fault::new(Code::RequestInvalid, message);
    answer::fault_with(StatusCode::METHOD_NOT_ALLOWED, Api::Chat, &fault)
}

async fn chat(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response<Body> {
    turn(&shared, Api::Chat, request).await
}

async fn responses(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response<Body> {
    turn(&shared, Api::Responses, request).await
}

async fn messages(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response<Body> {
    turn(&shared, Api::Messages, request).await
}

/// One turn for a client of an API.
async fn turn(shared: &Shared, api: Api, request: Request<Body>) -> Response<Body> {
    let live = shared.live.load_full();
    let (head, body) = request.into_parts();
    let body = match read_body(api, body, live.max_body_bytes).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let joined = match api {
        Api::Responses => match shared.kept.joined(body).await {
            Ok(joined) => joined,
            Err(fault) => return answer::fault(api, &fault),
        },
        Api::Chat | Api::Messages => body.into(),
    };
    let begun = begin(&live, api, &head.headers, &joined);
    let keeping = joined.keeping;
    match begun {
        Ok((drive, true)) => stream(api, drive, keeping, live.keep_alive).await,
        Ok((drive, false)) => whole(api, drive, keeping, live.keep_alive).await,
        Err(fault) => answer::fault(api, &fault),
    }
}

async fn read_body(api: Api, body: Body, limit: usize) -> Result<Bytes, Response<Body>> {
    match Limited::new(body, limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            let message = format!(
                "the body is over the limit of {limit} bytes; shorten the history or raise \
                 `max_body_bytes`"
            );
            let fault = Fault::new(Code::RequestInvalid, message);
            Err(answer::fault_with(StatusCode::PAYLOAD_TOO_LARGE, api, &fault))
        }
        Err(error) => {
            let message = format!("the body did not arrive whole: {error}");
            Err(answer::fault(api, &Fault::new(Code::RequestInvalid, message)))
        }
    }
}

/// How many tokens a request of the Messages API has: what the provider says, or an estimate where
/// its API or the dialect is another one.
async fn count_tokens(State(shared): State<Arc<Shared>>, request: Request<Body>) -> Response<Body> {
    let live = shared.live.load_full();
    let (head, body) = request.into_parts();
    let body = match read_body(Api::Messages, body, live.max_body_bytes).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    match count::tokens(&live.routes, &passed_on(&head.headers), &body).await {
        Ok(response) => response,
        Err(fault) => answer::fault(Api::Messages, &fault),
    }
}

/// Admits a request and sends it on. Also says whether the client wants a stream.
fn begin(
    live: &Live,
    api: Api,
    headers: &HeaderMap,
    joined: &Joined,
) -> Result<(Drive, bool), Fault> {
    let mut admitted = Admitted::new(api, &joined.body)?;
    if let Some(id) = &joined.continues {
        admitted.continues(id);
    }
    let route = live.routes.find(admitted.model())?;
    let stream = admitted.stream();
    let headers = passed_on(headers);
    Ok((Drive::new(admitted, headers, route, now(), fastrand::u64(..)), stream))
}

/// Headers that change what a provider of the client's API answers.
fn passed_on(headers: &HeaderMap) -> Vec<(&'static str, String)> {
    ["anthropic-version", "anthropic-beta"]
        .into_iter()
        .filter_map(|name| Some((name, headers.get(name)?.to_str().ok()?.to_owned())))
        .collect()
}

async fn stream(
    api: Api,
    mut drive: Drive,
    keeping: Option<Keeping>,
    wait: Duration,
) -> Response<Body> {
    let keep_alive = Bytes::from_static(api.keep_alive());
    let first = match drive.next(wait).await {
        Step::Bytes(bytes) => {
            see(keeping.as_ref(), &bytes).await;
            bytes
        }
        Step::Silence => {
            drive.commit();
            keep_alive.clone()
        }
        Step::Over => {
            return match drive.failure() {
                Some(fault) => answer::fault(api, fault),
                None => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            };
        }
    };
    let losses = losses_header(&drive);
    let rest = futures_util::stream::unfold(drive, move |mut drive| {
        let (keep_alive, keeping) = (keep_alive.clone(), keeping.clone());
        async move {
            match drive.next(wait).await {
                Step::Bytes(bytes) => {
                    see(keeping.as_ref(), &bytes).await;
                    Some((bytes, drive))
                }
                Step::Silence => Some((keep_alive, drive)),
                Step::Over => None,
            }
        }
    });
    let first = futures_util::stream::once(std::future::ready(first));
    let events = futures_util::StreamExt::chain(first, rest);
    let events = futures_util::StreamExt::map(events, Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(events));
    for (name, value) in [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().extend(losses);
    response
}

/// A client that has the end of its reply can go on with it at once, so it is kept before.
async fn see(keeping: Option<&Keeping>, bytes: &[u8]) {
    if let Some(keeping) = keeping {
        keeping.see(bytes).await;
    }
}

/// What the request lost on its way to another API, as a header.
fn losses_header(drive: &Drive) -> Option<(HeaderName, HeaderValue)> {
    let value = HeaderValue::from_str(drive.losses()?).ok()?;
    Some((HeaderName::from_static(loss::HEADER), value))
}

async fn whole(
    api: Api,
    mut drive: Drive,
    keeping: Option<Keeping>,
    wait: Duration,
) -> Response<Body> {
    let mut body = Vec::new();
    loop {
        match drive.next(wait).await {
            Step::Bytes(bytes) => body.extend_from_slice(&bytes),
            Step::Silence => {}
            Step::Over => break,
        }
    }
    if let Some(fault) = drive.failure() {
        return answer::fault(api, fault);
    }
    if let (Some(keeping), Ok(json)) = (&keeping, std::str::from_utf8(&body)) {
        keeping.keep(json).await;
    }
    let mut response = answer::json_text(body);
    response.headers_mut().extend(losses_header(&drive));
    response
}

/// Unix seconds.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
}
