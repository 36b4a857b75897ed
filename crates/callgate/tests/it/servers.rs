//! `script` and `serve` as processes: the line they announce themselves with, a turn through both,
//! and their end.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::program::{command, file, run};

/// A running server; killed if the test ends before it does.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(command: &mut Command) -> Self {
        Self::with_log(command, Stdio::null())
    }

    fn with_log(command: &mut Command, log: Stdio) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://").unwrap().to_owned();
        Self { child, address }
    }

    /// The answer to a request, head and body.
    fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let length = body.len();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: \
             application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer
    }

    #[cfg(unix)]
    fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
    }

    /// Sends a signal and gives the exit code.
    #[cfg(unix)]
    fn signal(mut self, signal: &str) -> Option<i32> {
        self.send(signal);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SCRIPT: &str = r#"
name = "mine/call"
about = "One call."
dialect = "xml"

[[replies]]
steps = [ { text = '<tool_calls><invoke name="now"></invoke></tool_calls>' } ]
"#;

const REQUEST: &str = r#"{"model":"mine/call","stream":true,"messages":[{"role":"user","content":"?"}],
"tools":[{"type":"function","function":{"name":"now"}}]}"#;

#[test]
fn a_call_goes_through_both() {
    let path = file("mine.toml", SCRIPT.as_bytes());
    let script = Server::start(command().args(["script", "--listen", "127.0.0.1:0"]).arg(&path));
    let models = script.ask("GET", "/v1/models", "");
    assert!(models.contains("mine/call") && models.contains("demo/plain"), "{models}");
    let upstream = format!("http://{}/v1", script.address);
    let serve = Server::start(command().args([
        "serve",
        "--upstream",
        &upstream,
        "--wire",
        "chat",
        "--dialect",
        "xml",
        "--listen",
        "localhost:0",
    ]));
    let answer = serve.ask("POST", "/v1/chat/completions", REQUEST);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains(r#""name":"now""#) && answer.contains("[DONE]"), "{answer}");
    assert!(!answer.contains("<tool_calls>"), "{answer}");
}

#[cfg(unix)]
#[test]
fn both_end_when_they_are_told() {
    for signal in ["INT", "TERM"] {
        for name in ["script", "serve"] {
            let server = Server::start(command().args([name, "--listen", "127.0.0.1:0"]));
            assert_eq!(server.signal(signal), Some(0), "{name} at {signal}");
        }
    }
}

/// A reply that never goes on is waited for at the first signal, and left at the second.
#[cfg(unix)]
#[test]
fn a_second_signal_ends_it_at_once() {
    let hang = SCRIPT.replace("mine/call", "mine/hang").replace(" ]", ", { hang = true } ]");
    let path = file(
        "hang.toml",
        hang.replace("<tool_calls><invoke name=\"now\"></invoke></tool_calls>", "On it.")
            .as_bytes(),
    );
    let script = Server::start(command().args(["script", "--listen", "127.0.0.1:0"]).arg(&path));
    let upstream = format!("http://{}/v1", script.address);
    let mut serve = Server::start(command().args([
        "serve",
        "--upstream",
        &upstream,
        "--listen",
        "127.0.0.1:0",
    ]));
    let mut socket = TcpStream::connect(&serve.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let body = REQUEST.replace("mine/call", "mine/hang");
    let length = body.len();
    write!(
        socket,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    // The turn is running once its first text is there.
    let mut seen = Vec::new();
    while !seen.windows(6).any(|bytes| bytes == b"On it.") {
        let mut more = [0; 1024];
        let read = socket.read(&mut more).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&more[..read]);
    }
    serve.send("TERM");
    // It closes its door at the first signal, and the turn goes on.
    while TcpStream::connect(&serve.address).is_ok() {
        std::thread::yield_now();
    }
    assert_eq!(serve.child.try_wait().unwrap(), None, "the running turn was not waited for");
    serve.send("TERM");
    assert_eq!(serve.child.wait().unwrap().code(), Some(130));
}

/// The file lies elsewhere than its name, so that only the signal can tell of a change.
#[cfg(unix)]
#[test]
fn a_hangup_reads_the_configuration_again() {
    let model = |name: &str| {
        format!(
            "demo = false\n[[provider]]\nname = \"p\"\nbase_url = \"http://127.0.0.1:1/v1\"\n\
             [[model]]\nname = \"{name}\"\nprovider = \"p\"\n"
        )
    };
    let place = file("elsewhere/real.toml", model("first").as_bytes());
    let link = crate::program::folder("linked").join("callgate.toml");
    let _ = std::fs::remove_file(&link);
    std::os::unix::fs::symlink(&place, &link).unwrap();
    let log_path = file("elsewhere/serve.log", b"");
    let log = std::fs::File::create(&log_path).unwrap();
    let mut serve = command();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&link);
    let serve = Server::with_log(&mut serve, Stdio::from(log));
    let becomes = |what: &str, holds: &dyn Fn() -> bool| {
        let began = std::time::Instant::now();
        while !holds() {
            assert!(began.elapsed() < Duration::from_secs(20), "{what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let lists = |name: &str| serve.ask("GET", "/v1/models", "").contains(name);
    becomes("it serves", &|| lists("first"));

    std::fs::write(&place, model("second")).unwrap();
    serve.send("HUP");
    becomes("it lists the new model", &|| lists("second") && !lists("first"));
    std::fs::write(&place, model("third").replace("base_url", "base_ulr")).unwrap();
    serve.send("HUP");
    let expected =
        format!("{}:4:1: unknown key `base_ulr`; did you mean `base_url`?", link.display());
    becomes("it says what is wrong", &|| {
        std::fs::read_to_string(&log_path).unwrap().contains(&expected)
    });
    assert!(lists("second"), "a bad file changes nothing");
}

#[test]
fn a_taken_port_is_a_failure_with_advice() {
    let script = Server::start(command().args(["script", "--listen", "127.0.0.1:0"]));
    for name in ["script", "serve"] {
        let got = run(&[name, "--listen", &script.address]);
        assert_eq!((got.code, got.out.as_str()), (1, ""));
        let expected = format!("error: cannot listen on {}; choose another", script.address);
        assert!(got.err.contains(&expected), "{}", got.err);
    }
}

#[test]
fn wrong_scripts_say_the_file_and_line() {
    let path = file("wrong.toml", SCRIPT.replace("about", "abut").as_bytes());
    let got = run(&["script", path.to_str().unwrap()]);
    assert_eq!(got.code, 2);
    assert!(
        got.err.starts_with(&format!("error: {}: script, line 3: ", path.display())),
        "{}",
        got.err
    );
    let twice = file("twice.toml", SCRIPT.replace("mine/call", "demo/plain").as_bytes());
    let got = run(&["script", twice.to_str().unwrap()]);
    assert_eq!(got.code, 2);
    assert!(got.err.contains("there is a script `demo/plain` already"), "{}", got.err);
}
