//! A command that ends with the process that holds its lock, even if that is killed outright.
//!
//! The kernel can tell a process that its parent has died, but only if the process asks for it. So
//! `skeptron lock` starts itself once more, which asks and then becomes the command, if there is still
//! time for it.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;
use nix::sys::signal::Signal;
use nix::unistd;
use skeptron_member::clock::MonoTime;

use super::super::failure::Failure;
use super::super::{Verdict, code, runtime};
use super::deadlines;

/// Not for people.
#[derive(Debug, Args)]
pub(crate) struct LeashArgs {
    /// The process that holds the lock
    holder: i32,
    /// When it is too late to begin, in nanoseconds of the clock
    too_late: u64,
    /// Say nothing
    #[arg(long)]
    quiet: bool,
    /// What to become
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// The name of the command, and this program as it is, even if its file was replaced meanwhile.
pub(crate) const NAME: &str = "leash";
pub(super) const THIS_PROGRAM: &str = "/proc/self/exe";

/// How to start `words` so that it ends with this process, and does not begin when it is too late,
/// where the system can do that.
pub(super) fn leashed(words: &[OsString], quiet: bool, too_late: MonoTime) -> Command {
    if !cfg!(target_os = "linux") || !Path::new(THIS_PROGRAM).exists() {
        return plain(words);
    }
    let mut command = Command::new(THIS_PROGRAM);
    command.arg0("skeptron").arg(NAME).arg(std::process::id().to_string());
    command.arg(too_late.nanos().to_string());
    command.args(quiet.then_some("--quiet")).arg("--").args(words);
    command
}

fn plain(words: &[OsString]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

/// Why `words` cannot be started.
pub(super) fn not_started(words: &[OsString], source: std::io::Error) -> Failure {
    let command = words[0].to_string_lossy().into_owned();
    match source.kind() {
        ErrorKind::NotFound => Failure::NoCommand(command),
        _ => Failure::NotRunnable { command, source },
    }
}

impl LeashArgs {
    pub(crate) fn run(self) -> Result<Verdict> {
        ask_for_the_end_of_the_holder()?;
        if unistd::getppid().as_raw() != self.holder {
            // It died before the kernel was asked.
            return Ok(Verdict::Exited(runtime::exit_code(Signal::SIGTERM)));
        }
        // Whoever started this process may have been stopped in between.
        if deadlines::now() >= MonoTime::from_nanos(self.too_late) {
            return Ok(Verdict::Exited(runtime::exit_code(Signal::SIGKILL)));
        }
        let error = plain(&self.command).exec();
        let failure = anyhow::Error::from(not_started(&self.command, error));
        if self.quiet { Ok(Verdict::Exited(code(&failure))) } else { Err(failure) }
    }
}

#[cfg(target_os = "linux")]
fn ask_for_the_end_of_the_holder() -> Result<()> {
    nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).context("cannot ask for the holder's end")
}

#[cfg(not(target_os = "linux"))]
fn ask_for_the_end_of_the_holder() -> Result<()> {
    Ok(())
}
