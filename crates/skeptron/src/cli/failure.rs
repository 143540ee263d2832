//! Ways to fail that scripts want to tell apart.

use std::time::Duration;

use skeptron_client::ClientError;
use skeptron_net::Fence;
use skeptron_net::report::NotGranted;
use thiserror::Error;

use super::duration;

/// Why a command came to nothing although its input was fine. Each has an exit code of its own.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// Nobody answers.
    #[error("{0}; is a node running? Start a test cluster with `skeptron up`, or set --endpoint")]
    Unreachable(String),
    /// A node answers, but cannot grant now.
    #[error("no lock can be granted now: {0}; see `skeptron status`")]
    Unavailable(String),
    /// The session ended before the lock was granted.
    #[error(
        "the session expired while waiting for `{0}`: no keep-alive reached a node in time; see \
         `skeptron status`"
    )]
    SessionEnded(String),
    /// The lock was not granted in that time.
    #[error("{}", not_granted(.name, *.wait, .why))]
    NotGranted {
        /// Which lock.
        name: String,
        /// How long it was waited for.
        wait: Duration,
        /// Who holds it, or why the cluster cannot grant it.
        why: Box<NotGranted>,
    },
    /// It would never have been granted.
    #[error("{0}")]
    Deadlock(String),
    /// The lock was lost while it was used.
    #[error("the lock `{name}` (fence {fence:#}) was lost{during}")]
    Lost {
        /// Which lock.
        name: String,
        /// The fence of the entry.
        fence: Fence,
        /// While what was run, and what became of that.
        during: String,
    },
    /// What was ordered is not done yet.
    #[error("not done within {}: {stage}; {remedy}", duration::written(*.wait))]
    Undecided {
        /// How long it was waited for.
        wait: Duration,
        /// What is left to be done.
        stage: String,
        /// What to do about it.
        remedy: String,
    },
    /// A voter's disk failed.
    #[error(
        "the node stopped because a write to its disk failed: {0}; check the disk and start it again"
    )]
    Disk(String),
    /// A part of the node that must run has panicked.
    #[error("the node stopped because {0}; start it again, and report the log")]
    Panicked(String),
    /// There is no such command.
    #[error("command not found: `{0}`")]
    NoCommand(String),
    /// The command cannot be run.
    #[error("`{command}` cannot be run")]
    NotRunnable {
        /// Which.
        command: String,
        /// Why.
        source: std::io::Error,
    },
}

impl Failure {
    /// Whether it may succeed later with the same input, whoever holds what.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Failure::Unreachable(_) | Failure::Unavailable(_) | Failure::SessionEnded(_) => true,
            Failure::NotGranted { why, .. } => why.is_outage(),
            _ => false,
        }
    }

    /// The exit code. Those of the lock itself are from `sysexits.h`, so that they are unlikely to be
    /// the command's own; the last two are the shell's.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Unreachable(_) => 69,
            Failure::Panicked(_) => 70,
            Failure::Unavailable(_) | Failure::SessionEnded(_) => 71,
            Failure::NotGranted { why, .. } if why.is_outage() => 71,
            Failure::Disk(_) => 74,
            Failure::NotGranted { .. } | Failure::Deadlock(_) | Failure::Undecided { .. } => 75,
            Failure::Lost { .. } => 76,
            Failure::NotRunnable { .. } => 126,
            Failure::NoCommand(_) => 127,
        }
    }
}

fn not_granted(name: &str, wait: Duration, why: &NotGranted) -> String {
    let remedy = match (why.is_outage(), wait.is_zero()) {
        (true, _) => "see `skeptron status`",
        (false, true) => "leave out --no-wait to wait for it",
        (false, false) => "see `skeptron locks`",
    };
    match wait.is_zero() {
        true => format!("`{name}` was not acquired at once: {why}; {remedy}"),
        false => {
            let wait = duration::written(wait);
            format!("timed out after {wait} waiting for `{name}`: {why}; {remedy}")
        }
    }
}

/// What a client's error means for the exit code.
pub(crate) fn of_client(error: ClientError) -> anyhow::Error {
    match error {
        ClientError::Unreachable(_) | ClientError::SessionOver => {
            Failure::Unreachable(error.to_string()).into()
        }
        ClientError::Unavailable { error, .. } => Failure::Unavailable(error).into(),
        ClientError::Deadlock(_) => Failure::Deadlock(error.to_string()).into(),
        other => other.into(),
    }
}
