//! Where a server listens: reading the address, binding it, and the one line that says it.

use std::{
    io::{self, Write as _},
    net::SocketAddr,
};

use anyhow::Context as _;
use tokio::net::TcpListener;

/// Reads `--listen`; the name `localhost` is the IPv4 loopback address.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric.parse().map_err(|_| "write an IP address and a port, such as 127.0.0.1:8787".to_owned())
}

/// Binds, or says what to do.
pub(crate) async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| {
        format!(
            "cannot listen on {address}; choose another with --listen (port 0 takes a free one)"
        )
    })
}

/// Prints the line that other programs wait for, and gives the URL in it.
pub(crate) fn announce(listener: &TcpListener) -> anyhow::Result<String> {
    let url = format!("http://{}", listener.local_addr()?);
    let mut out = io::stdout().lock();
    writeln!(out, "listening on {url}")?;
    out.flush()?;
    Ok(url)
}

/// A runtime for a command that serves or asks.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?
        .block_on(work)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(address(text).ok().map(|a| a.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn addresses() {
        check("127.0.0.1:80", Some("127.0.0.1:80"));
        check("localhost:0", Some("127.0.0.1:0"));
        check("[::1]:9", Some("[::1]:9"));
        check("8787", None);
        check("localhost", None);
        check("example.org:80", None);
    }
}
