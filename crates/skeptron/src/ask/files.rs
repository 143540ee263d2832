//! Which files a question may read.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_sim::{Distribution, Latency};

/// Which files a question may read: whoever asks it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// Those of the person at the terminal.
    Disk,
    /// None: the question comes from a page.
    None,
}

/// Larger files are not read.
const MOST_BYTES: u64 = 1 << 28;

impl Files {
    /// Whether there is something to read by that name.
    pub(crate) fn has(self, path: &str) -> bool {
        self == Files::Disk && Path::new(path).exists()
    }

    /// Whether a file by that name can say how many nodes there are; a pipe is read only once.
    pub(crate) fn has_regular(self, path: &str) -> bool {
        self == Files::Disk && Path::new(path).is_file()
    }

    /// What a file says.
    ///
    /// # Errors
    /// If it may not or cannot be read.
    pub(crate) fn read(self, path: &str) -> Result<String> {
        self.allow(path)?;
        // A device may never end.
        let mut text = String::new();
        let file = File::open(path).with_context(|| path.to_string())?;
        file.take(MOST_BYTES + 1).read_to_string(&mut text).with_context(|| path.to_string())?;
        ensure!(text.len() as u64 <= MOST_BYTES, "{path}: it is larger than {MOST_BYTES} bytes");
        Ok(text)
    }

    /// A distribution as it is typed, which may be in a file.
    ///
    /// # Errors
    /// If it is none, or its file may not be read.
    pub(crate) fn distribution(self, text: &str) -> Result<Distribution> {
        self.allow_named(text, "file:")?;
        Ok(Distribution::parse(text)?)
    }

    /// Latencies as they are typed, which may be in a file.
    ///
    /// # Errors
    /// If they are none, or their file may not be read.
    pub(crate) fn latency(self, text: &str, nodes: usize) -> Result<Latency> {
        self.allow_named(text, "file:")?;
        self.allow_named(text, "matrix:")?;
        self.allow_named(text, "rtt:")?;
        Ok(Latency::parse(text, nodes)?)
    }

    /// What is said of a name that is neither known nor that of a file.
    pub(crate) fn or_a_file(self) -> &'static str {
        match self {
            Files::Disk => ", or a file, and no file has that name",
            Files::None => "; the lab reads no files",
        }
    }

    /// Refuses a file or folder that may not be used.
    ///
    /// # Errors
    /// If none may be.
    pub(crate) fn allow(self, path: &str) -> Result<()> {
        match self {
            Files::Disk => Ok(()),
            Files::None => {
                bail!("the lab reads no files: `{path}` is one; use the command line for that")
            }
        }
    }

    fn allow_named(self, text: &str, kind: &str) -> Result<()> {
        text.trim_start().strip_prefix(kind).map_or(Ok(()), |path| self.allow(path))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Request as _, SimOptions};
    use super::*;

    #[test]
    fn a_page_reads_no_file() {
        for options in [
            "maekawa --quorum Cargo.toml",
            "sanders --structure Cargo.toml",
            "raymond --tree Cargo.toml",
            "raymond --tree elected --graph Cargo.toml",
            "lamport --latency file:Cargo.toml",
            "lamport --latency matrix:Cargo.toml",
            "lamport --latency rtt:Cargo.toml",
            "lamport --think file:Cargo.toml",
            "lamport --section file:Cargo.toml",
            "lamport --workload file:Cargo.toml",
        ] {
            let asked = SimOptions::parse(options).unwrap();
            let refused = format!("{:#}", asked.scenario(Files::None).unwrap_err());
            assert!(refused.contains("the lab reads no files"), "{options}: {refused}");
            let read = format!("{:#}", asked.scenario(Files::Disk).unwrap_err());
            assert!(!read.contains("the lab"), "{options}: {read}");
        }
    }
}
