//! The scripts as a real HTTP server: paced in real time, and a cut drops the TCP connection.
//!
//! `POST /v1/chat/completions` (and without `/v1`), `GET /v1/models`; for tests `GET /requests` (the
//! last 64, oldest first) and `GET /cancelled` (replies that the peer did not wait for). It checks no
//! key and speaks no TLS: it belongs on a loopback address.

use std::{convert::Infallible, future::Future, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Frame, Incoming},
    header::{self, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::sleep,
};

use super::{
    Play, Scripts,
    answer::{Answer, answer},
    frame,
    play::Cut,
    received::{Received, Witness},
};

/// How many connections are served at once; further ones wait.
const CONNECTIONS: usize = 512;
/// How large a request may be.
const REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// How long a peer may take for the head of a request.
const HEAD_WAIT: Duration = Duration::from_secs(30);
/// What has been said gets this long to leave before a cut.
const CUT_DELAY: Duration = Duration::from_millis(5);
/// The pause after a failed accept, such as for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

type ReplyBody = UnsyncBoxBody<Bytes, Cut>;

/// Serves the scripts until `shutdown` is done, then drops every connection.
pub async fn serve(listener: TcpListener, scripts: Scripts, shutdown: impl Future<Output = ()>) {
    let received = Arc::new(Received::default());
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let mut connections = JoinSet::new();
    let accept = async {
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            match listener.accept().await {
                Ok((socket, _)) => {
                    let (scripts, received) = (scripts.clone(), Arc::clone(&received));
                    connections.spawn(async move {
                        connection(socket, scripts, received).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "the scripted provider cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
            while connections.try_join_next().is_some() {}
        }
    };
    tokio::select! {
        () = accept => {}
        () = shutdown => {}
    }
}

async fn connection(socket: TcpStream, scripts: Scripts, received: Arc<Received>) {
    // Small deltas shall leave when they are said.
    let _ = socket.set_nodelay(true);
    let service = service_fn(move |request| {
        let (scripts, received) = (scripts.clone(), Arc::clone(&received));
        async move { Ok::<_, Infallible>(handle(request, &scripts, received).await) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WAIT)
        // Many small pieces: gathered in one buffer they cost one write, not one each.
        .writev(false)
        .serve_connection(TokioIo::new(socket), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection to the scripted provider ended");
    }
}

async fn handle(
    request: Request<Incoming>,
    scripts: &Scripts,
    received: Arc<Received>,
) -> Response<ReplyBody> {
    let (head, body) = request.into_parts();
    let path = head.uri.path();
    if head.method == Method::GET {
        match path {
            "/requests" => return json(StatusCode::OK, received.requests()),
            "/cancelled" => return json(StatusCode::OK, received.cancelled()),
            _ => {}
        }
    }
    let body = match Limited::new(body, REQUEST_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => {
            let body = frame::error("invalid_request_error", "invalid_body", &error.to_string());
            return json(StatusCode::BAD_REQUEST, body);
        }
    };
    received.add(&head.method, path, &head.headers, &body);
    let path = path.strip_prefix("/v1").unwrap_or(path);
    match (&head.method, path) {
        (&Method::GET, "/models") => json(StatusCode::OK, frame::models(scripts.names())),
        (&Method::POST, _) => reply(answer(scripts, path, &body), Witness::new(received)).await,
        (method, path) => {
            let message = format!("no such path: {method} {path}");
            let body = frame::error("invalid_request_error", "not_found", &message);
            json(StatusCode::NOT_FOUND, body)
        }
    }
}

async fn reply(answer: Answer, witness: Witness) -> Response<ReplyBody> {
    let Answer { status, headers, length, mut play } = answer;
    play.ready().await;
    let body = StreamBody::new(frames(play, witness));
    let mut response = Response::new(BodyExt::boxed_unsync(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    for (name, value) in [
        (header::CONTENT_TYPE, headers.content_type),
        (header::RETRY_AFTER, headers.retry_after),
        (header::HeaderName::from_static("x-request-id"), headers.request_id),
        (header::CONTENT_LENGTH, length.map(|length| length.to_string())),
    ] {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// The body: each piece is made when the connection has room for it, and an error makes the server
/// drop the connection.
fn frames(
    play: Play,
    witness: Witness,
) -> impl stream::Stream<Item = Result<Frame<Bytes>, Cut>> + Send {
    stream::unfold((play, witness), |(mut play, mut witness)| async move {
        let piece = match play.next().await {
            Some(Ok(bytes)) => Ok(Frame::data(bytes)),
            Some(Err(cut)) => {
                sleep(CUT_DELAY).await;
                Err(cut)
            }
            None => {
                witness.over();
                return None;
            }
        };
        // Behind its announced length a body is not asked for its end.
        if play.is_over() {
            witness.over();
        }
        Some((piece, (play, witness)))
    })
}

fn json(status: StatusCode, body: String) -> Response<ReplyBody> {
    let body = Full::new(Bytes::from(body)).map_err(|never: Infallible| match never {});
    let mut response = Response::new(BodyExt::boxed_unsync(body));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
