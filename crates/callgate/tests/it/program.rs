//! Runs the built binary.

use std::{
    ffi::OsStr,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The binary, with an environment that no setting of the machine reaches.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
    for name in ["CALLGATE_CONFIG", "CALLGATE_LOG", "COLUMNS", "LINES", "NO_COLOR"] {
        command.env_remove(name);
    }
    for name in callgate_gateway::Config::ambient_variables() {
        command.env_remove(name);
    }
    let empty = folder("empty");
    command.env("XDG_CONFIG_HOME", &empty).current_dir(empty);
    command
}

/// Runs it to its end.
pub(crate) fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Run {
    fed(arguments, b"")
}

/// Runs it to its end with this standard input.
pub(crate) fn fed<S: AsRef<OsStr>>(arguments: &[S], input: &[u8]) -> Run {
    let mut child = command()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A program that does not read its input closes it; that is no failure here.
    let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    feeding.join().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder for files of tests.
pub(crate) fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// Writes a file for a test and gives its path.
pub(crate) fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = folder("files").join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    path
}

/// Compares with a file of `tests/expected`; `CALLGATE_BLESS=1` writes it instead.
pub(crate) fn expect(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if std::env::var_os("CALLGATE_BLESS").is_some() {
        std::fs::write(&path, got).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        got == expected,
        "{} differs (CALLGATE_BLESS=1 writes it)\n--- expected\n{expected}\n--- got\n{got}",
        path.display()
    );
}
