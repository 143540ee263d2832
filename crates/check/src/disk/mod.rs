//! Searches on disk: breadth first as [`crate::explorer`], for what does not fit into memory.
//!
//! A level is a file of states sorted by fingerprint. Workers read it block by block and put successors into
//! buffers; a buffer that is full is written as a sorted run. At the end of a level buffers and runs are merged
//! into the next level. What is kept for ever is how each state was reached, eight bytes each. Now and then, and
//! whenever the search stops, a manifest says what counts of which file, so that it can be resumed from there.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use thiserror::Error;

pub(crate) use folder::Folder;
pub(crate) use persistent::{Persistent, digest, get_causes, put_causes, replay};
pub(crate) use search::explore;

mod buffer;
mod folder;
mod format;
mod manifest;
mod merge;
mod persistent;
mod search;
mod seen;
#[cfg(test)]
mod tests;
mod worker;

/// Where a search keeps what does not fit into memory.
#[derive(Clone, Copy, Debug)]
pub struct Disk<'a> {
    /// A folder: to be created or empty, or one with a search to go on with.
    pub folder: &'a Path,
    /// Whether to go on with the search that is there.
    pub resume: bool,
    /// How often it is saved at least, so that no more than this is lost if the process is killed.
    pub save_every: Duration,
}

impl<'a> Disk<'a> {
    /// A new search in `folder`, or the one that is there; saved once a minute, and between levels as often as
    /// that costs little.
    #[must_use]
    pub fn new(folder: &'a Path, resume: bool) -> Self {
        Disk { folder, resume, save_every: Duration::from_secs(60) }
    }
}

/// Why a search on disk cannot be done. What was saved stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DiskError {
    /// The system refuses.
    #[error("cannot {doing} {path}: {error}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// With which file.
        path: String,
        /// What the system says.
        error: String,
    },
    /// There is no room.
    #[error(
        "cannot write {path}: {error}; what was saved is whole: make room and continue with --resume"
    )]
    Full {
        /// Which file.
        path: String,
        /// What the system says.
        error: String,
    },
    /// What is there is not what was written.
    #[error(
        "{}: {how}; the search in this folder cannot be continued: search again in another folder",
        .path.display()
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        how: String,
    },
    /// Another process searches there.
    #[error("{}: another process is searching in this folder; wait for it or name another folder", .0.display())]
    InUse(PathBuf),
    /// There is something else.
    #[error("{}: this folder is not empty and has no search in it; name an empty folder", .0.display())]
    Foreign(PathBuf),
    /// The algorithm may have changed, or fail, between two parts of a search.
    #[error("{0} is a program; only built-in algorithms are searched on disk: leave out --disk")]
    Program(String),
    /// There is a search already.
    #[error("{}: there is a search in this folder; continue it with --resume or name another folder", .0.display())]
    Exists(PathBuf),
    /// There is nothing to go on with.
    #[error("{}: there is no search in this folder to resume; leave out --resume to begin one", .0.display())]
    Nothing(PathBuf),
    /// The search there asks something else.
    #[error(
        "{}: the search in this folder is another one: {how}; ask the same or name another folder",
        .folder.display()
    )]
    OtherQuestion {
        /// Where.
        folder: PathBuf,
        /// What differs.
        how: String,
    },
    /// The search there was begun by another version.
    #[error(
        "{}: the search in this folder was begun by {theirs}, and this is {ours}; continue it with that version or name another folder",
        .folder.display()
    )]
    OtherVersion {
        /// Where.
        folder: PathBuf,
        /// Which version began it.
        theirs: String,
        /// Which one this is.
        ours: String,
    },
}

impl DiskError {
    fn damaged(path: PathBuf, how: impl Into<String>) -> Self {
        DiskError::Damaged { path, how: how.into() }
    }

    fn io(doing: &'static str, path: &Path, error: &io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let path = path.display().to_string();
        let is_full = matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge);
        let error = error.to_string();
        if is_full { DiskError::Full { path, error } } else { DiskError::Io { doing, path, error } }
    }
}
