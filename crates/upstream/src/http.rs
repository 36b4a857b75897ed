//! A provider behind HTTP: one pooled client, one request, one reply.
//!
//! It follows no redirect, keeps no cookie, decodes no content coding and repeats nothing: a
//! request goes out once, and what comes back is passed on as it came.

mod models;

use std::{error::Error, fmt, net::IpAddr, sync::Arc, time::Duration};

use callgate_wire::{Code, Fault};
use reqwest::{
    Client, Proxy, Url,
    header::{self, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use tokio::time::timeout_at;

use crate::{
    Body, Headers, Response, Timeouts, refusal,
    response::{Seconds, Source, first_byte_missing},
    timeout::deadline,
};

/// How long an unused connection is kept.
const POOL_IDLE: Duration = Duration::from_secs(60);

/// A value that never shows in `Debug`, and is taken out of every message.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret; blanks and line ends around it are dropped, as files and shells add them.
    #[must_use]
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// What an [`HttpProvider`] is made of.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// The name used in messages.
    pub name: String,
    /// Everything in front of an API's path, such as `https://api.openai.com/v1`. A query is kept.
    pub base_url: String,
    /// Sent as `Authorization: Bearer …`.
    pub api_key: Option<Secret>,
    /// Further headers of every request; they replace those of the same name.
    pub headers: Vec<(String, Secret)>,
    /// Proxy for this provider; without one the environment's, which loopback addresses bypass.
    pub proxy: Option<String>,
    /// How long the provider may take.
    pub timeouts: Timeouts,
    /// Unused connections that are kept.
    pub max_idle_connections: usize,
}

impl HttpOptions {
    /// A provider without key and with default limits.
    #[must_use]
    pub fn new(name: impl Into<String>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            api_key: None,
            headers: Vec::new(),
            proxy: None,
            timeouts: Timeouts::default(),
            max_idle_connections: 32,
        }
    }
}

/// A provider cannot be made of its options.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The base URL cannot be used.
    #[error("provider `{provider}`: base_url {why}; write it like https://api.example.com/v1")]
    BaseUrl {
        /// Which provider.
        provider: String,
        /// What is wrong with it.
        why: String,
    },
    /// A header cannot be sent.
    #[error("provider `{provider}`: header `{header}` has characters that HTTP does not allow")]
    Header {
        /// Which provider.
        provider: String,
        /// The header's name.
        header: String,
    },
    /// The proxy cannot be used.
    #[error("provider `{provider}`: proxy: {why}; write it like http://proxy.example.com:3128")]
    Proxy {
        /// Which provider.
        provider: String,
        /// What is wrong with it.
        why: String,
    },
    /// The HTTP client cannot be built, mostly for want of root certificates.
    #[error("provider `{provider}`: no HTTP client: {why}")]
    Client {
        /// Which provider.
        provider: String,
        /// Why.
        why: String,
    },
}

/// A provider behind HTTP. Cheap to clone; clones share the connections.
#[derive(Clone)]
pub struct HttpProvider(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    base: Url,
    client: Client,
    headers: HeaderMap,
    secrets: Vec<Secret>,
    timeouts: Timeouts,
}

impl HttpProvider {
    /// A provider with its own pool of connections. Nothing is connected yet.
    ///
    /// # Errors
    /// [`ClientError`] names the option that cannot be used, and no secret.
    pub fn new(options: &HttpOptions) -> Result<Self, ClientError> {
        let HttpOptions { name, base_url, api_key, headers, proxy, timeouts, .. } = options;
        let base = base(name, base_url)?;
        let mut builder = Client::builder()
            .user_agent(concat!("callgate/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .connect_timeout(timeouts.connect)
            .pool_idle_timeout(POOL_IDLE)
            .pool_max_idle_per_host(options.max_idle_connections);
        if let Some(proxy) = proxy {
            let proxy = Proxy::all(proxy)
                .map_err(|e| ClientError::Proxy { provider: name.clone(), why: cause(&e) })?;
            builder = builder.proxy(proxy);
        } else if is_loopback(&base) {
            builder = builder.no_proxy();
        }
        if base.scheme() == "http" && proxy.is_none() {
            // No TLS will be spoken: a machine without root certificates is no obstacle.
            builder = builder.tls_certs_only([]);
        }
        let client = builder
            .build()
            .map_err(|e| ClientError::Client { provider: name.clone(), why: cause(&e) })?;
        let map = header_map(name, api_key.as_ref(), headers)?;
        let mut secrets: Vec<_> = headers.iter().map(|(_, value)| value.clone()).collect();
        secrets.extend(api_key.clone());
        Ok(Self(Arc::new(Inner {
            name: name.as_str().into(),
            base,
            client,
            headers: map,
            secrets,
            timeouts: *timeouts,
        })))
    }

    /// The name used in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// As [`crate::Provider::send`].
    ///
    /// # Errors
    /// As [`crate::Provider::send`].
    pub async fn send(
        &self,
        path: &str,
        body: Vec<u8>,
        accept_stream: bool,
    ) -> Result<Response, Fault> {
        let Inner { name, base, client, headers, secrets, timeouts } = &*self.0;
        let mut url = base.clone();
        url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
        let mut headers = headers.clone();
        headers.entry(header::CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        let accept = if accept_stream { "text/event-stream" } else { "application/json" };
        headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static(accept));

        let until = deadline(timeouts.first_byte);
        let request = client.post(url).headers(headers).body(body).send();
        let reply = match timeout_at(until, request).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => return Err(self.not_answered(&error)),
            Err(_) => return Err(first_byte_missing(name, timeouts.first_byte)),
        };
        let status = reply.status().as_u16();
        let coding = header_text(reply.headers(), header::CONTENT_ENCODING.as_str());
        let headers = Headers {
            content_type: header_text(reply.headers(), header::CONTENT_TYPE.as_str()),
            retry_after: header_text(reply.headers(), header::RETRY_AFTER.as_str()),
            request_id: header_text(reply.headers(), "x-request-id")
                .or_else(|| header_text(reply.headers(), "request-id")),
        };
        let body = Body::new(Source::Http(Box::new(reply)), name.clone(), *timeouts, until);
        let response = Response { status, headers, body };
        if !(200..300).contains(&status) {
            return Err(refusal::fault(name, response, secrets).await);
        }
        match coding {
            Some(coding) if !coding.eq_ignore_ascii_case("identity") => Err(Fault::new(
                Code::UpstreamProtocol,
                format!(
                    "provider `{name}` sent its reply with content coding `{coding}`, which was \
                     not asked for; switch compression off there"
                ),
            )),
            _ => Ok(response),
        }
    }

    /// The fault of a request whose reply did not begin.
    fn not_answered(&self, error: &reqwest::Error) -> Fault {
        let Inner { name, base, timeouts, .. } = &*self.0;
        let origin = base.origin().ascii_serialization();
        let why = cause(error);
        if error.is_connect() && error.is_timeout() {
            let limit = Seconds(timeouts.connect);
            let message = format!(
                "no connection to provider `{name}` at {origin} within {limit}; check that it \
                 runs and that its base_url is right"
            );
            return Fault::new(Code::UpstreamTimeout, message);
        }
        if error.is_connect() {
            let message = format!(
                "cannot connect to provider `{name}` at {origin}: {why}; check that it runs and \
                 that its base_url is right"
            );
            return Fault::new(Code::UpstreamRefused, message);
        }
        if speaks_no_http(error) {
            let message = format!("provider `{name}` at {origin} does not answer in HTTP: {why}");
            return Fault::new(Code::UpstreamProtocol, message);
        }
        let message = format!("provider `{name}` broke the connection before its reply: {why}");
        Fault::new(Code::UpstreamEndedEarly, message).detail("bytes", 0)
    }
}

impl fmt::Debug for HttpProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpProvider")
            .field("name", &self.0.name)
            .field("origin", &self.0.base.origin().ascii_serialization())
            .field("timeouts", &self.0.timeouts)
            .finish_non_exhaustive()
    }
}

fn base(provider: &str, text: &str) -> Result<Url, ClientError> {
    let fail = |why: &str| ClientError::BaseUrl { provider: provider.to_owned(), why: why.into() };
    let url = Url::parse(text.trim()).map_err(|e| fail(&format!("is no URL ({e})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fail(&format!("has the scheme `{}`, not http or https", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fail("holds a user name or password; give api_key or headers instead"));
    }
    if url.fragment().is_some() {
        return Err(fail("has a fragment (`#…`)"));
    }
    Ok(url)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|a| a.is_loopback())
}

fn header_map(
    provider: &str,
    api_key: Option<&Secret>,
    extra: &[(String, Secret)],
) -> Result<HeaderMap, ClientError> {
    let bad = |header: &str| ClientError::Header {
        provider: provider.to_owned(),
        header: header.to_owned(),
    };
    let mut map = HeaderMap::new();
    if let Some(key) = api_key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.expose()))
            .map_err(|_| bad("authorization"))?;
        value.set_sensitive(true);
        map.insert(header::AUTHORIZATION, value);
    }
    for (name, value) in extra {
        let mut value = HeaderValue::from_str(value.expose()).map_err(|_| bad(name))?;
        value.set_sensitive(true);
        map.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(name))?, value);
    }
    Ok(map)
}

fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}

fn speaks_no_http(error: &reqwest::Error) -> bool {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse) {
            return true;
        }
        next = error.source();
    }
    false
}

/// The innermost reason of an error. Outer ones repeat the URL, whose query may hold a key.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut innermost: &dyn Error = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    let text = innermost.to_string();
    match error.url() {
        Some(url) => text.replace(url.as_str(), "the provider"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(base_url: &str) -> HttpOptions {
        HttpOptions::new("test", base_url)
    }

    #[test]
    fn base_urls() {
        let check = |url: &str, expected: Option<&str>| {
            let message = HttpProvider::new(&options(url)).err().map(|e| e.to_string());
            match (message, expected) {
                (None, None) => {}
                (Some(message), Some(part)) => assert!(message.contains(part), "{message}"),
                (message, _) => panic!("{url}: {message:?}"),
            }
        };
        check("http://127.0.0.1:11434/v1", None);
        check(" https://api.example.com/v1/ ", None);
        check("https://api.example.com/deployments/x?api-version=1", None);
        check("api.example.com/v1", Some("is no URL"));
        check("ftp://api.example.com/v1", Some("not http or https"));
        check("https://me:pw@api.example.com/v1", Some("user name or password"));
        check("https://api.example.com/v1#x", Some("fragment"));
    }

    #[test]
    fn secrets_do_not_show() {
        let mut options = options("https://api.example.com/v1?key=q-secret");
        options.api_key = Some(Secret::new("k-secret\n"));
        options.headers = vec![("x-team".to_owned(), Secret::new("h-secret"))];
        // The options' own Debug shows base_url, which holds what its author wrote into it.
        options.base_url = "https://api.example.com/v1".to_owned();
        let shown = format!("{options:?}");
        assert!(!shown.contains("secret"), "{shown}");
        options.base_url = "https://api.example.com/v1?key=q-secret".to_owned();
        let shown = format!("{:?}", HttpProvider::new(&options).unwrap());
        assert!(!shown.contains("secret"), "{shown}");

        let bad = [("x-team".to_owned(), Secret::new("h-secret\u{7}"))];
        let message = header_map("test", None, &bad).unwrap_err().to_string();
        assert!(message.contains("x-team") && !message.contains("secret"), "{message}");
    }

    #[test]
    fn loopback() {
        let check = |url: &str, expected: bool| {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        };
        check("http://127.0.0.1:1/v1", true);
        check("http://[::1]:1/v1", true);
        check("http://localhost/v1", true);
        check("http://10.0.0.1/v1", false);
        check("http://localhost.example.com/v1", false);
    }
}
