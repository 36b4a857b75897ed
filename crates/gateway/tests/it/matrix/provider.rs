//! A provider that fails as it is told: raw bytes over TCP, with or without a proper end.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// What the provider does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Answers with a status, further header lines, and a body.
    Answer { status: u16, headers: &'static str, body: Vec<u8> },
    /// Streams a body under 200 and ends it properly.
    Stream(Vec<u8>),
    /// Streams it in single bytes.
    Drip(Vec<u8>),
    /// Streams it and breaks the connection off.
    Cut(Vec<u8>),
    /// Streams it and then says nothing.
    Silent(Vec<u8>),
    /// Never answers.
    Mute,
    /// Is not there.
    Refused,
    /// Speaks no TLS where TLS is due.
    Plain,
}

/// Serves the acts that `act` gives for the model names of requests.
pub(crate) async fn serve(act: impl Fn(&str) -> Act + Clone + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let act = act.clone();
            tokio::spawn(async move {
                // What a client has left cannot be written to any more.
                let _ = answer(socket, &act).await;
            });
        }
    });
    url
}

async fn answer(mut socket: TcpStream, act: &impl Fn(&str) -> Act) -> std::io::Result<()> {
    let body = request(&mut socket).await?;
    let model = serde_json::from_slice::<Value>(&body).unwrap_or_default();
    match act(model["model"].as_str().unwrap_or_default()) {
        Act::Answer { status, headers, body } => {
            let head = format!(
                "HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            socket.write_all(head.as_bytes()).await?;
            socket.write_all(&body).await?;
        }
        Act::Stream(body) => {
            head(&mut socket).await?;
            chunk(&mut socket, &body).await?;
            socket.write_all(b"0\r\n\r\n").await?;
        }
        Act::Drip(body) => {
            head(&mut socket).await?;
            for byte in body {
                chunk(&mut socket, &[byte]).await?;
            }
            socket.write_all(b"0\r\n\r\n").await?;
        }
        Act::Cut(body) => {
            head(&mut socket).await?;
            chunk(&mut socket, &body).await?;
        }
        Act::Silent(body) => {
            head(&mut socket).await?;
            chunk(&mut socket, &body).await?;
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        // Their requests do not come here, or cannot be read.
        Act::Refused | Act::Plain => {}
        Act::Mute => tokio::time::sleep(Duration::from_secs(60)).await,
    }
    socket.shutdown().await
}

async fn head(socket: &mut TcpStream) -> std::io::Result<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    socket.write_all(head.as_bytes()).await
}

async fn chunk(socket: &mut TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    socket.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    socket.write_all(bytes).await?;
    socket.write_all(b"\r\n").await?;
    socket.flush().await
}

/// The body of a request.
async fn request(socket: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
            if read.len() >= end + 4 + length {
                return Ok(read[end + 4..].to_vec());
            }
        }
        match socket.read(&mut buffer).await? {
            0 => return Ok(Vec::new()),
            // A record of TLS.
            _ if buffer[0] == 0x16 && read.is_empty() => {
                return Err(std::io::Error::other("TLS"));
            }
            count => read.extend_from_slice(&buffer[..count]),
        }
    }
}
