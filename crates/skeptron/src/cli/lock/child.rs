//! The command that runs while the lock is held.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::sys::signal::{self, Signal};
use nix::unistd::{self, Pid};
use skeptron_net::Fence;
use tokio::process::{self, Command};
use tokio::time::{Instant, sleep};

use super::super::failure::Failure;
use super::{inherited, leash};

/// What is passed on to the command, except what this process was started to ignore: then the
/// command ignores it, too.
pub(super) fn forwarded() -> Vec<Signal> {
    let all = [
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
    ];
    let ignored = inherited::ignored_signals();
    all.into_iter().filter(|&signal| ignored & (1 << (signal as u32 - 1)) == 0).collect()
}

/// The running command.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
    pid: Pid,
    /// Whether it leads a process group of its own, so that what it has started is reached, too. Not
    /// at a terminal, whose keys and input belong to one group.
    leads_group: bool,
}

/// How often it is looked whether a group has ended.
const LOOK: Duration = Duration::from_millis(20);

impl Child {
    /// Starts the command with the lock's name and fence in its environment.
    pub(super) fn start(
        words: &[OsString],
        quiet: bool,
        lock: &str,
        fence: Fence,
    ) -> Result<Self, Failure> {
        let leads_group = foreground().is_none();
        let mut command = Command::from(leash::leashed(words, quiet));
        command.env("SKEPTRON_LOCK", lock).env("SKEPTRON_FENCE", fence.to_string());
        if leads_group {
            command.process_group(0);
        }
        let process = command.spawn().map_err(|error| leash::not_started(words, error))?;
        let id = process.id().expect("it has not been waited for");
        let pid = Pid::from_raw(id.cast_signed());
        Ok(Child { process, pid, leads_group })
    }

    /// Waits for its end. May be dropped and called again.
    pub(super) async fn exit_code(&mut self) -> Result<u8> {
        let status = self.process.wait().await.context("cannot wait for the command")?;
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
    }

    /// Passes a signal on. What asks a program to end goes to all that it has started, as keys of a
    /// terminal do; what those keys have sent to all of the terminal's group already is not repeated.
    pub(super) fn forward(&self, signal: Signal) {
        let by_keys = matches!(signal, Signal::SIGINT | Signal::SIGQUIT);
        if by_keys && !self.leads_group && self.in_foreground() {
            return;
        }
        match signal {
            Signal::SIGUSR1 | Signal::SIGUSR2 => self.signal(self.pid, signal),
            _ => self.signal_all(signal),
        }
    }

    /// Ends it and what it has started: first asked, then made to.
    pub(super) async fn terminate(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        self.signal_all(Signal::SIGTERM);
        let asked = tokio::time::timeout_at(deadline, async {
            let _ = self.process.wait().await;
            while self.leads_group && self.group_lives() {
                sleep(LOOK).await;
            }
        });
        if asked.await.is_err() {
            self.signal_all(Signal::SIGKILL);
            let _ = self.process.wait().await;
        }
    }

    fn signal_all(&self, signal: Signal) {
        let all = if self.leads_group { Pid::from_raw(-self.pid.as_raw()) } else { self.pid };
        self.signal(all, signal);
    }

    fn signal(&self, whom: Pid, signal: Signal) {
        // Once it has been waited for its number may be somebody else's; its group's cannot, as long
        // as anybody is in it.
        let gone = self.process.id().is_none();
        if whom == self.pid && gone {
            return;
        }
        // Whoever has ended meanwhile needs no signal.
        let _ = signal::kill(whom, signal);
    }

    fn group_lives(&self) -> bool {
        signal::kill(Pid::from_raw(-self.pid.as_raw()), None).is_ok()
    }

    /// Whether the keys of the terminal reach it.
    fn in_foreground(&self) -> bool {
        let group = unistd::getpgid(Some(self.pid));
        foreground().is_some_and(|foreground| Ok(foreground) == group)
    }
}

/// The process group that the keys of this process's terminal reach; none without a terminal.
fn foreground() -> Option<Pid> {
    let terminal = File::open("/dev/tty").ok()?;
    unistd::tcgetpgrp(terminal).ok()
}
