//! Follows the configuration file while the gateway serves: on a change of the file, and on SIGHUP.
//!
//! What a reload does is [`Gateway::reload`]'s; a file that cannot be used changes nothing.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use notify::{RecursiveMode, Watcher};
use tokio::sync::Notify;

use crate::{Config, ConfigError, Gateway};

/// Editors write a file in several steps: it is read when nothing has happened for so long.
const SETTLE: Duration = Duration::from_millis(200);
/// Something else may write into the same folder all the time: it is read after so long at the latest.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// What has been read last, and where it is read again.
#[derive(Debug)]
struct Followed {
    gateway: Gateway,
    path: PathBuf,
    text: Option<String>,
    /// What the file said of it; the gateway may have been told otherwise.
    listen: Option<SocketAddr>,
}

impl Gateway {
    /// Follows `path` for ever: reads it again when it changes, and on SIGHUP. Every reading is told
    /// in the log, errors with file and line. Ends with the task that runs it.
    pub async fn follow(self, path: PathBuf) {
        // First the watch, then the text: no change falls between them.
        let mut hangup = Hangup::new();
        let changed = Arc::new(Notify::new());
        let _watcher = match watch(&path, Arc::clone(&changed)) {
            Ok(watcher) => Some(watcher),
            Err(error) => {
                let path = path.display();
                tracing::warn!(%path, %error, "the configuration is not watched; SIGHUP reloads it");
                None
            }
        };
        let text = std::fs::read_to_string(&path).ok();
        let config = text.as_ref().and_then(|text| Config::parse(text, &path).ok());
        let listen = config.map(|config| config.listen);
        let mut followed = Followed { gateway: self, path, text, listen };
        loop {
            tokio::select! {
                () = changed.notified() => {
                    let settled = async {
                        while tokio::time::timeout(SETTLE, changed.notified()).await.is_ok() {}
                    };
                    let _ = tokio::time::timeout(SETTLE_MAX, settled).await;
                    followed.read_if_changed();
                }
                () = hangup.next() => followed.read(),
            }
        }
    }
}

impl Followed {
    fn read_if_changed(&mut self) {
        match std::fs::read_to_string(&self.path) {
            Ok(text) if self.text.as_ref() == Some(&text) => {}
            // Between two steps of an editor there may be none; a file that stays away is told once.
            Err(_) if self.text.is_none() => {}
            _ => self.read(),
        }
    }

    fn read(&mut self) {
        let read = std::fs::read_to_string(&self.path);
        self.text = read.as_ref().ok().cloned();
        let outcome = read
            .map_err(|error| ConfigError::Read { path: self.path.clone(), error })
            .and_then(|text| Config::parse(&text, &self.path))
            .and_then(|config| self.gateway.reload(&config).map(|()| config.listen));
        match outcome {
            Ok(listen) => {
                if self.listen.replace(listen).is_some_and(|before| before != listen) {
                    tracing::warn!(%listen, "`listen` has changed, which takes a restart");
                }
                let models = self.gateway.routes().names().count();
                tracing::info!(path = %self.path.display(), models, "the configuration was read again");
            }
            Err(error) => {
                tracing::error!(%error, "the configuration cannot be used; the one before stays");
            }
        }
    }
}

/// Tells of every change in the file's folder: editors and mounted volumes replace a file, and a
/// watch on the file itself would stay with the old one.
fn watch(path: &Path, changed: Arc<Notify>) -> notify::Result<notify::RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        if event.map_or(true, |event| !event.kind.is_access()) {
            changed.notify_one();
        }
    })?;
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    watcher.watch(folder, RecursiveMode::NonRecursive)?;
    Ok(watcher)
}

/// SIGHUP, where there is one.
#[derive(Debug)]
struct Hangup {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl Hangup {
    #[cfg(unix)]
    fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        let signal = signal(SignalKind::hangup());
        if let Err(error) = &signal {
            tracing::warn!(%error, "SIGHUP does not reload the configuration");
        }
        Self { signal: signal.ok() }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending::<()>().await;
    }
}
