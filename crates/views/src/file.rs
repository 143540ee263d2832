//! A voter's log in a folder of the file system.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::disk::Disk;

const LOG: &str = "views.log";
const NEW: &str = "views.log.new";
const ASIDE: &str = "views.log.former";
const LOCK: &str = "lock";

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process has it.
    #[error("the data folder {} is in use by another process", .0.display())]
    InUse(PathBuf),
    /// Of the system.
    #[error("cannot use the data folder {}: {}", .0.display(), .1)]
    Io(PathBuf, io::Error),
}

/// A folder that one process at a time may use.
#[derive(Debug)]
pub struct FileDisk {
    folder: PathBuf,
    log: Option<File>,
    new: Option<File>,
    /// The system releases it when the process ends, however it ends.
    _lock: Flock<File>,
}

impl FileDisk {
    /// Takes the folder, which must exist.
    ///
    /// # Errors
    /// If another process has it, or of the system.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        let failed = |error| FolderError::Io(folder.to_path_buf(), error);
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(folder.join(LOCK))
            .map_err(failed)?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| {
            if error == nix::errno::Errno::EWOULDBLOCK {
                FolderError::InUse(folder.to_path_buf())
            } else {
                failed(error.into())
            }
        })?;
        // Left by a rewrite that a crash interrupted; the log itself is whole.
        match fs::remove_file(folder.join(NEW)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let folder = folder.to_path_buf();
        Ok(FileDisk { folder, log: None, new: None, _lock: lock })
    }

    /// Puts the log of a former seat aside, so that another can begin.
    ///
    /// # Errors
    /// Of the system.
    pub fn put_aside(mut self) -> Result<Self, FolderError> {
        self.log = None;
        match fs::rename(self.folder.join(LOG), self.folder.join(ASIDE)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(FolderError::Io(self.folder.clone(), error))
            }
            _ => Ok(self),
        }
    }

    fn log(&mut self) -> io::Result<&mut File> {
        if self.log.is_none() {
            let file = OpenOptions::new().append(true).open(self.folder.join(LOG))?;
            self.log = Some(file);
        }
        self.log.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Disk for FileDisk {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        match fs::read(self.folder.join(LOG)) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.log()?.write_all(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.log()?.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.log()?.sync_data()
    }

    fn write_new(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::create(self.folder.join(NEW))?;
        file.write_all(bytes)?;
        self.new = Some(file);
        Ok(())
    }

    fn sync_new(&mut self) -> io::Result<()> {
        self.new.as_mut().ok_or(io::ErrorKind::NotFound)?.sync_data()
    }

    fn rename_new(&mut self) -> io::Result<()> {
        fs::rename(self.folder.join(NEW), self.folder.join(LOG))?;
        // The old file is gone; the next append opens the new one.
        (self.log, self.new) = (None, None);
        Ok(())
    }

    fn sync_folder(&mut self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}
