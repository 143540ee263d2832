//! The folder of a question: which one it is, and that nobody else works there.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::manifest::{read_whole, write_atomically};
use super::{Disk, DiskError};

/// What is asked.
const QUESTION: &str = "question.json";
/// Whoever searches holds a lock on it.
const LOCK: &str = "lock";
/// Rises whenever what the files say changes.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Begun {
    format: u32,
    /// Algorithms are code, so another version may have other states.
    version: String,
    question: Value,
}

/// A folder in which this process searches.
pub(crate) struct Folder {
    path: PathBuf,
    pub(super) save_every: Duration,
    _lock: Flock<File>,
}

impl Folder {
    /// Opens the folder for a question.
    pub(crate) fn open(disk: &Disk<'_>, question: &Value) -> Result<Self, DiskError> {
        let path = disk.folder.to_path_buf();
        let failed = |doing, e| DiskError::io(doing, &path, &e);
        if !disk.resume {
            match fs::create_dir(&path) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(failed("create", e)),
                _ => {}
            }
        }
        let names = match fs::read_dir(&path) {
            Ok(names) => names,
            Err(e) if e.kind() == ErrorKind::NotFound => return Err(DiskError::Nothing(path)),
            Err(e) => return Err(failed("read", e)),
        };
        let names = names.collect::<Result<Vec<_>, _>>().map_err(|e| failed("read", e))?;
        let has = |name: &str| names.iter().any(|entry| entry.file_name() == name);
        match (has(QUESTION), disk.resume) {
            (true, false) => return Err(DiskError::Exists(path)),
            (false, true) => return Err(DiskError::Nothing(path)),
            (false, false) if names.iter().any(|entry| entry.file_name() != LOCK) => {
                return Err(DiskError::Foreign(path));
            }
            _ => {}
        }
        let lock = lock(&path)?;
        if disk.resume {
            compare(&path, question)?;
        } else if path.join(QUESTION).exists() {
            // Another process has been here since.
            return Err(DiskError::Exists(path));
        } else {
            let version = env!("CARGO_PKG_VERSION").into();
            let begun = Begun { format: FORMAT, version, question: question.clone() };
            write_atomically(&path.join(QUESTION), &begun)?;
        }
        Ok(Folder { path, save_every: disk.save_every, _lock: lock })
    }

    /// Where one of the question's searches is.
    pub(super) fn search(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

fn lock(folder: &Path) -> Result<Flock<File>, DiskError> {
    let path = folder.join(LOCK);
    let file = File::options().write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(|e| DiskError::io("create", &path, &e))?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| match errno {
        nix::errno::Errno::EWOULDBLOCK => DiskError::InUse(folder.to_path_buf()),
        errno => DiskError::io("lock", &path, &errno.into()),
    })
}

/// Whether the search in the folder is the one that is asked for.
fn compare(folder: &Path, question: &Value) -> Result<(), DiskError> {
    let begun: Begun = read_whole(&folder.join(QUESTION))?;
    let name = |format: u32, version: &str| format!("skeptron {version} (format {format})");
    let (ours, theirs) =
        (name(FORMAT, env!("CARGO_PKG_VERSION")), name(begun.format, &begun.version));
    if ours != theirs {
        return Err(DiskError::OtherVersion { folder: folder.to_path_buf(), theirs, ours });
    }
    let mut different = Vec::new();
    differences("", &begun.question, question, &mut different);
    match &different[..] {
        [] => Ok(()),
        some => {
            let (folder, how) = (folder.to_path_buf(), some.join("; "));
            Err(DiskError::OtherQuestion { folder, how })
        }
    }
}

/// What differs, and how.
fn differences(name: &str, theirs: &Value, ours: &Value, different: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                let of = |it: &serde_json::Map<String, Value>| it.get(key).cloned();
                let (a, b) = (of(a).unwrap_or_default(), of(b).unwrap_or_default());
                differences(&name, &a, &b, different);
            }
        }
        _ if theirs == ours => {}
        _ => different.push(format!("{name} is {theirs} there and {ours} here")),
    }
}
