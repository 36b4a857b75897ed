//! Ctrl-C and SIGTERM: the first asks a server to end, the second ends the process at once.
//!
//! What a server still finishes in between is its own matter.

use std::{io, process};

/// The code of a process that was interrupted, as shells give it.
const INTERRUPTED: i32 = 130;

/// Done at the first signal; from then on a second one ends the process. Signals count from this
/// call on, not from the first poll.
///
/// # Errors
/// The system refuses to watch signals.
pub(crate) fn requested() -> io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::new()?;
    let (said, heard) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        signals.next().await;
        let _ = said.send(());
        signals.next().await;
        process::exit(INTERRUPTED);
    });
    Ok(async move {
        let _ = heard.await;
    })
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(windows)]
struct Signals(tokio::signal::windows::CtrlC);

#[cfg(windows)]
impl Signals {
    fn new() -> io::Result<Self> {
        tokio::signal::windows::ctrl_c().map(Self)
    }

    async fn next(&mut self) {
        let _ = self.0.recv().await;
    }
}
