//! Servers in processes of their own: found, started on loopback with a temporary folder, and stopped again.

use std::fs::File;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

/// How long a server may take until it answers.
const PATIENCE: Duration = Duration::from_secs(30);

/// A running server. It is killed, and its folder removed, when this is dropped; so also if the
/// bench is interrupted or panics.
pub(crate) struct Server {
    name: String,
    child: Child,
    folder: TempDir,
}

impl Server {
    /// Starts `program` with what `arrange` says, which is told where its folder is.
    pub(super) fn start(
        name: &str,
        program: &Path,
        arrange: impl FnOnce(&mut Command, &Path) -> Result<()>,
    ) -> Result<Self> {
        let folder = TempDir::with_prefix(format!("skeptron-{name}-"))?;
        let log = File::create(folder.path().join("log"))?;
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        arrange(&mut command, folder.path())?;
        let child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Server { name: name.to_string(), child, folder })
    }

    /// Where it keeps what it keeps.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Tries again and again until it answers.
    pub(super) async fn until_ready<T>(
        &mut self,
        attempt: impl AsyncFn() -> Result<T>,
    ) -> Result<T> {
        let start = Instant::now();
        loop {
            match tokio::time::timeout(PATIENCE, attempt()).await? {
                Ok(answer) => return Ok(answer),
                Err(error) if start.elapsed() > PATIENCE => {
                    return Err(error.context(format!(
                        "{} does not answer{}",
                        self.name,
                        self.last_log_line()
                    )));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("{} ended with {status}{}", self.name, self.last_log_line());
            }
        }
    }

    /// Ends it as a crash does: it is told nothing and cleans nothing up.
    pub(super) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// The last line of its log.
    fn last_log_line(&self) -> String {
        let log = std::fs::read(self.folder.path().join("log")).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        log.lines()
            .last()
            .map_or_else(String::new, |line| format!("; the last line of its log: {line}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; its data are thrown away in any case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program whose nodes are measured.
pub(super) fn skeptron() -> Result<PathBuf> {
    let path = std::env::var_os("SKEPTRON_BIN");
    let path = path.context("SKEPTRON_BIN does not name a skeptron binary; use scripts/bench")?;
    Ok(PathBuf::from(path))
}

/// Where a program is installed, if it is.
pub(super) fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Ports of the loopback interface that nobody listens on right now, all different.
pub(super) fn free_ports(count: usize) -> Result<Vec<u16>> {
    let listen = |_| TcpListener::bind("127.0.0.1:0");
    let listeners: Vec<TcpListener> = (0..count).map(listen).collect::<Result<_, _>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}
