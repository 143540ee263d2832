//! All fingerprints seen, sorted: where a state does not tell its depth, the merge leaves out what is among them.

use std::path::Path;

use super::DiskError;
use super::format::{Reader, Stored, Writer};

/// Reads the fingerprints seen so far beside those of a new level, and writes both.
pub(super) struct Seen {
    reader: Reader,
    payload: Vec<u8>,
    at: usize,
    head: Option<u64>,
    writer: Writer,
    met_again: bool,
}

impl Seen {
    pub(super) fn open(
        dir: &Path,
        known: &Stored,
        name: &str,
        block: usize,
    ) -> Result<Self, DiskError> {
        let mut seen = Seen {
            reader: Reader::open(dir, known, 0)?,
            payload: Vec::new(),
            at: 0,
            head: None,
            writer: Writer::create(dir.join(name), block)?,
            met_again: false,
        };
        seen.advance()?;
        Ok(seen)
    }

    fn advance(&mut self) -> Result<(), DiskError> {
        if !self.reader.refill(&mut self.payload, &mut self.at)? {
            self.head = None;
            return Ok(());
        }
        let head = self.payload[self.at..].first_chunk().ok_or_else(|| self.reader.damaged())?;
        self.head = Some(u64::from_le_bytes(*head));
        self.at += 8;
        Ok(())
    }

    /// Whether a state has not been seen; from then on it has. Fingerprints must come in order.
    pub(super) fn is_new(&mut self, fingerprint: u64) -> Result<bool, DiskError> {
        while let Some(head) = self.head.filter(|&head| head < fingerprint) {
            self.write(head)?;
            self.advance()?;
        }
        if self.head == Some(fingerprint) {
            self.met_again = true;
            return Ok(false);
        }
        self.write(fingerprint)?;
        Ok(true)
    }

    fn write(&mut self, fingerprint: u64) -> Result<(), DiskError> {
        self.writer.record(|out| out.extend(fingerprint.to_le_bytes()))
    }

    /// The file of all of them, and whether some state was met again.
    pub(super) fn finish(mut self) -> Result<(Stored, bool), DiskError> {
        while let Some(head) = self.head {
            self.write(head)?;
            self.advance()?;
        }
        Ok((self.writer.finish()?, self.met_again))
    }
}
