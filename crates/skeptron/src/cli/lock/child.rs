//! The command that runs while the lock is held.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::sys::signal::{self, Signal};
use nix::unistd::{self, Pid};
use skeptron_member::clock::MonoTime;
use tokio::process::{self, Command};
use tokio::time::sleep;

use super::super::failure::Failure;
use super::super::runtime;
use super::deadlines::{Deadlines, now};
use super::descendants::{self, Descendants};
use super::leash;
use super::watchdog::{Orders, Watchdog};

/// What is passed on to the command, except what this process was started to ignore: then the
/// command ignores it, too.
pub(super) fn forwarded() -> Vec<Signal> {
    runtime::not_ignored(&[
        Signal::SIGTERM,
        Signal::SIGINT,
        Signal::SIGHUP,
        Signal::SIGQUIT,
        Signal::SIGUSR1,
        Signal::SIGUSR2,
    ])
}

/// Runs a command in the place of this process. Returns only why it cannot be run.
pub(super) fn replace_this(words: &[OsString]) -> anyhow::Error {
    let Some((program, arguments)) = words.split_first() else {
        return anyhow::anyhow!("it is held already, and there is no CMD to run");
    };
    let error = std::process::Command::new(program).args(arguments).exec();
    leash::not_started(words, error).into()
}

/// The running command.
#[derive(Debug)]
pub(super) struct Child {
    process: process::Child,
    pid: Pid,
    /// Whether it leads a process group of its own, so that what it has started is reached, too. Not
    /// at a terminal, whose keys and input belong to one group.
    leads_group: bool,
    watchdog: Option<Watchdog>,
}

/// How often it is looked whether all have ended.
const LOOK: Duration = Duration::from_millis(10);

impl Child {
    /// Starts the command with the lock's name and fence in its environment, and a watchdog that
    /// knows the deadlines before the command begins.
    pub(super) fn start(
        words: &[OsString],
        quiet: bool,
        variables: &[(&str, &str)],
        deadlines: Deadlines,
    ) -> Result<Self, Failure> {
        descendants::adopt_orphans();
        let leads_group = foreground().is_none();
        let mut watchdog = Watchdog::start();
        let (term, kill) = (deadlines.overdue(), deadlines.kill);
        order(&mut watchdog, Orders { term, kill, command: None });
        let mut command = Command::from(leash::leashed(words, quiet, deadlines.term));
        command.envs(variables.iter().copied());
        if leads_group {
            command.process_group(0);
        }
        let process = command.spawn().map_err(|error| leash::not_started(words, error))?;
        let id = process.id().expect("it has not been waited for");
        let pid = Pid::from_raw(id.cast_signed());
        let mut child = Child { process, pid, leads_group, watchdog };
        child.watch_until(deadlines);
        Ok(child)
    }

    /// Tells the watchdog of newer deadlines.
    pub(super) fn watch_until(&mut self, deadlines: Deadlines) {
        let command = Some((self.pid, self.leads_group));
        let orders = Orders { term: deadlines.overdue(), kill: deadlines.kill, command };
        order(&mut self.watchdog, orders);
    }

    /// Takes note of the end of what it has left behind.
    pub(super) fn bury_orphans(&self) {
        let watchdog = self.watchdog.as_ref().map(Watchdog::pid);
        descendants::bury_orphans(&[self.pid, watchdog.unwrap_or(self.pid)]);
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

    /// Ends it and all that it has started: asked now, killed then.
    pub(super) async fn terminate(&mut self, kill: MonoTime) {
        let command = Some((self.pid, self.leads_group));
        order(&mut self.watchdog, Orders { term: MonoTime::NEVER, kill, command });
        self.signal_everything(Signal::SIGTERM);
        while self.lives() {
            if now() >= kill {
                return self.kill().await;
            }
            sleep(LOOK.min(kill.since(now()))).await;
        }
    }

    /// Kills it and all that it has started, and waits until they are dead.
    pub(super) async fn kill(&mut self) {
        while self.lives() {
            self.signal_everything(Signal::SIGKILL);
            sleep(LOOK).await;
        }
    }

    /// Whether anything of it is left. Takes note of what has ended.
    fn lives(&mut self) -> bool {
        let ended = matches!(self.process.try_wait(), Ok(Some(_)) | Err(_));
        if !ended {
            return true;
        }
        // An orphan that has ended would still count as one of its group.
        self.bury_orphans();
        (self.leads_group && self.group_lives()) || !self.descendants().is_empty()
    }

    fn descendants(&self) -> Descendants {
        let watchdog = self.watchdog.as_ref().map(Watchdog::pid);
        Descendants::of(unistd::getpid(), watchdog)
    }

    /// Nothing is left to be watched.
    pub(super) fn dismiss_watchdog(&mut self) {
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
    }

    /// Also what has left its process group; nobody gets it twice.
    fn signal_everything(&self, signal: Signal) {
        self.signal_all(signal);
        let all = self.descendants();
        let others = if self.leads_group { all.outside(self.pid) } else { all.except(self.pid) };
        others.signal(signal);
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

fn order(watchdog: &mut Option<Watchdog>, orders: Orders) {
    if let Some(watchdog) = watchdog {
        watchdog.order(orders);
    }
}

/// The process group that the keys of this process's terminal reach; none without a terminal.
fn foreground() -> Option<Pid> {
    let terminal = File::open("/dev/tty").ok()?;
    unistd::tcgetpgrp(terminal).ok()
}
