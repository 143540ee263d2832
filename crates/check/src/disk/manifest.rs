//! What counts of which file: written whenever a search is saved, and all that a resumed one believes.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::DiskError;
use super::format::{Stored, checksum};
use crate::expand::{Finding, Shortest};
use crate::property::Property;

pub(super) const MANIFEST: &str = "manifest.json";

/// A search up to some moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The fingerprint of the first state.
    pub(super) start: u64,
    /// Distinct states, those of the level under way included.
    pub(super) states: u64,
    pub(super) transitions: u64,
    /// How many steps lead to the states of the level under way.
    pub(super) depth: usize,
    /// The deepest level that was explored completely.
    pub(super) explored: usize,
    pub(super) met_again: bool,
    pub(super) findings: Vec<SavedFinding>,
    pub(super) level: Stored,
    /// Where the first block of the level is that has not been expanded.
    pub(super) at: u64,
    /// Successors of what has been expanded.
    pub(super) runs: Vec<Stored>,
    /// How the states of each level were reached, from the second level on.
    pub(super) links: Vec<Stored>,
    /// The fingerprints of all states, where they are needed.
    pub(super) seen: Option<Stored>,
    /// What gave node states and messages their numbers; how many entries, and what it must come to.
    pub(super) numbers: Stored,
    pub(super) numbered: [usize; 2],
    pub(super) digest: u64,
    /// What happened to nodes, where that is recorded.
    pub(super) record: Stored,
    /// The number of the next file.
    pub(super) next_file: u64,
    pub(super) seconds: f64,
    pub(super) peak_bytes: usize,
    pub(super) disk_bytes: u64,
    /// Whether it has come to its end, and whether nothing else can happen.
    pub(super) ended: Option<bool>,
}

/// A violation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct SavedFinding {
    property: Property,
    depth: usize,
    fingerprint: u64,
    step: Option<u16>,
    number: u64,
}

pub(super) fn saved(findings: &Shortest) -> Vec<SavedFinding> {
    let found = |property: Property| {
        let (depth, Finding { fingerprint, step, number }) = findings.0[property as usize]?;
        Some(SavedFinding { property, depth, fingerprint, step, number })
    };
    Property::ALL.into_iter().filter_map(found).collect()
}

pub(super) fn restored(found: &[SavedFinding]) -> Shortest {
    let mut findings = Shortest::default();
    for &SavedFinding { property, depth, fingerprint, step, number } in found {
        findings.0[property as usize] = Some((depth, Finding { fingerprint, step, number }));
    }
    findings
}

impl Manifest {
    /// The files that it names. The first two only grow; all others are as long as it says.
    pub(super) fn files(&self) -> impl Iterator<Item = &Stored> {
        let fixed = [&self.level].into_iter().chain(&self.runs).chain(&self.links);
        [&self.numbers, &self.record].into_iter().chain(fixed.chain(&self.seen))
    }

    /// The manifest of a search, if it was ever saved.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, DiskError> {
        let path = dir.join(MANIFEST);
        if !path.exists() {
            return Ok(None);
        }
        let manifest: Manifest = read_whole(&path)?;
        for (i, stored) in manifest.files().enumerate() {
            let path = dir.join(&stored.name);
            let length = fs::metadata(&path).map_or(0, |metadata| metadata.len());
            let is_whole = if i < 2 { length >= stored.bytes } else { length == stored.bytes };
            if !is_whole {
                let how = format!("it has {length} bytes, and {} were saved", stored.bytes);
                return Err(DiskError::damaged(path, how));
            }
        }
        Ok(Some(manifest))
    }
}

/// Writes a file so that there is the old one or the new one, whenever the process or the machine stops: JSON in
/// a line, and its checksum in another.
pub(super) fn write_atomically(path: &Path, what: &impl Serialize) -> Result<(), DiskError> {
    let new = path.with_extension("new");
    let failed = |e| DiskError::io("write", &new, &e);
    let mut text = serde_json::to_vec(what).map_err(|e| failed(e.into()))?;
    let checksum = format!("\n{:016x}\n", checksum(&[], &text));
    text.extend(checksum.as_bytes());
    let mut file = File::create(&new).map_err(failed)?;
    file.write_all(&text).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&new, path).map_err(failed)?;
    sync(path.parent().unwrap_or(Path::new(".")))
}

/// Reads what [`write_atomically`] wrote.
pub(super) fn read_whole<T: DeserializeOwned>(path: &Path) -> Result<T, DiskError> {
    let text = fs::read_to_string(path).map_err(|e| DiskError::io("read", path, &e))?;
    let damaged = |how: &str| DiskError::damaged(path.to_path_buf(), how);
    let (json, expected) = text.split_once('\n').ok_or_else(|| damaged("it has no checksum"))?;
    if format!("{:016x}\n", checksum(&[], json.as_bytes())) != expected {
        return Err(damaged("its checksum is wrong"));
    }
    serde_json::from_str(json).map_err(|e| damaged(&format!("it cannot be read: {e}")))
}

/// Makes sure that a file, or the names in a folder, are on disk.
pub(super) fn sync(path: &Path) -> Result<(), DiskError> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|e| DiskError::io("write", path, &e))
}
