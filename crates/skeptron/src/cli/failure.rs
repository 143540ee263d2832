//! Ways to fail that scripts want to tell apart.

use std::time::Duration;

use skeptron_net::Fence;
use skeptron_net::client::ClientError;
use thiserror::Error;

use super::duration;

/// Why a command came to nothing although its input was fine. Each has an exit code of its own.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// Nobody answers.
    #[error(
        "{0}; is one running? `skeptron up` starts a cluster to try, --endpoint says where to ask"
    )]
    Unreachable(String),
    /// The lock was not granted in that time.
    #[error(
        "timed out after {} waiting for `{name}`; `skeptron locks` shows who holds it, `skeptron status` \
         whether all members are connected", duration::written(*.wait)
    )]
    NotInTime {
        /// Which lock.
        name: String,
        /// How long it was waited for.
        wait: Duration,
    },
    /// The lock was not acquired without waiting.
    #[error(
        "`{0}` was not acquired at once: a member holds it, or members that must agree did not let it \
         in within a second (`skeptron locks` shows who); leave out --no-wait to wait for it"
    )]
    Held(String),
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
        "this node ends, since what is on its disk is unknown: {0}; look at the disk and start it again"
    )]
    Disk(String),
    /// A part of the node that must run has panicked.
    #[error("this node ends, since {0}; start it again, and report what the log says")]
    Panicked(String),
    /// There is no such command.
    #[error("there is no command `{0}`")]
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
    /// The exit code. Those of the lock itself are from `sysexits.h`, so that they are unlikely to be
    /// the command's own; the last two are the shell's.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Unreachable(_) => 69,
            Failure::Panicked(_) => 70,
            Failure::Disk(_) => 74,
            Failure::NotInTime { .. } | Failure::Held(_) | Failure::Undecided { .. } => 75,
            Failure::Lost { .. } => 76,
            Failure::NotRunnable { .. } => 126,
            Failure::NoCommand(_) => 127,
        }
    }
}

/// What a client's error means for the exit code.
pub(crate) fn of_client(error: ClientError) -> anyhow::Error {
    match error {
        ClientError::Unreachable(_) | ClientError::SessionOver => {
            Failure::Unreachable(error.to_string()).into()
        }
        other => other.into(),
    }
}
