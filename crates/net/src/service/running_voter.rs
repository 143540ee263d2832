//! A voter and the thread that writes its log.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread::JoinHandle;

use skeptron_member::clock::MonoTime;
use skeptron_views::file::FileDisk;
use skeptron_views::log::Found;
use skeptron_views::voter::{Effect, Options, StartError, Voter, Write};

use super::folder::Log;
use crate::env;
use crate::supervise::said;

/// What the writing thread says.
#[derive(Debug)]
pub(super) enum Written {
    /// This write, and every one before it, is durable.
    Upto(u64),
    /// A write failed: what is on the disk is unknown, and the voter must not go on.
    Failed(std::io::Error),
}

/// A voter at work.
pub(super) struct RunningVoter {
    pub(super) voter: Voter,
    writes: mpsc::Sender<(u64, Write)>,
    thread: JoinHandle<FileDisk>,
    /// When the next tick is due.
    pub(super) tick: MonoTime,
}

impl RunningVoter {
    /// Goes on from what was found in the log; `tell` is called by the writing thread.
    ///
    /// # Errors
    /// If the records are not those of this voter.
    pub(super) fn new(
        mut log: Log,
        found: Found,
        tell: impl Fn(Written) + Send + 'static,
        out: &mut Vec<Effect>,
    ) -> Result<Self, StartError> {
        let seed = env::random().map_or(0, u64::from_le_bytes);
        let options = Options { seed, ..Options::default() };
        let now = env::now();
        let voter = Voter::start(now, found.identity, options, found.records, out)?;
        let (writes, queue) = mpsc::channel::<(u64, Write)>();
        let thread = std::thread::Builder::new().name("voter-log".to_string());
        let thread = thread.spawn(move || {
            while let Ok((number, write)) = queue.recv() {
                // A panic is a write of which nothing is known.
                let written = catch_unwind(AssertUnwindSafe(|| log.write(&write)));
                let panicked = |panic: Box<dyn Any + Send>| Err(io::Error::other(said(&*panic)));
                match written.unwrap_or_else(panicked) {
                    Ok(()) => tell(Written::Upto(number)),
                    Err(error) => {
                        tell(Written::Failed(error));
                        break;
                    }
                }
            }
            log.into_disk()
        });
        let thread = thread.expect("the system has room for a thread");
        Ok(RunningVoter { voter, writes, thread, tick: now })
    }

    /// Writes in the background.
    pub(super) fn write(&self, number: u64, write: Write) {
        // A thread that has ended has said why.
        let _ = self.writes.send((number, write));
    }

    /// Ends the voter when the last write is done; the folder is kept from others until it is dropped.
    pub(super) fn end(self) -> Option<FileDisk> {
        drop(self.writes);
        self.thread.join().ok()
    }
}
