//! What files of a search consist of: blocks of records, each block with its checksum.

use std::fs::File;
use std::hash::Hasher as _;
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};

use super::DiskError;

/// A file of a search and how much of it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) records: u64,
}

/// Before each block: its length, how many records it has, how many precede it, its checksum.
pub(super) const HEADER: usize = 24;

/// Appends a number, small ones in few bytes (LEB128).
#[inline]
pub(super) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads what [`put`] wrote and advances. `None` if it ends too early.
#[inline]
pub(super) fn get(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The next bytes, as many as asked for.
#[inline]
pub(super) fn get_bytes<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

/// The next eight bytes as a number.
#[inline]
pub(super) fn get_u64(bytes: &mut &[u8]) -> Option<u64> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*taken))
}

/// Appends a row of numbers.
pub(super) fn put_row(out: &mut Vec<u8>, row: &[u32]) {
    row.iter().for_each(|&number| put(out, number.into()));
}

/// Reads what [`put_row`] wrote.
pub(super) fn get_row(mut bytes: &[u8], row: &mut Vec<u32>) -> Option<()> {
    row.clear();
    while !bytes.is_empty() {
        row.push(get(&mut bytes)?.try_into().ok()?);
    }
    Some(())
}

/// The same for the same bytes, and hardly ever for others.
pub(super) fn checksum(header: &[u8], payload: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(header);
    hasher.write(payload);
    hasher.finish()
}

/// Writes a file block by block.
pub(super) struct Writer {
    file: File,
    path: PathBuf,
    payload: Vec<u8>,
    in_block: u32,
    /// About how long blocks are.
    block: usize,
    bytes: u64,
    records: u64,
}

impl Writer {
    pub(super) fn create(path: PathBuf, block: usize) -> Result<Self, DiskError> {
        let file = File::create(&path).map_err(|e| DiskError::io("create", &path, &e))?;
        Ok(Self::on(file, path, block, 0, 0))
    }

    /// Goes on behind what counts of a file, and forgets the rest.
    pub(super) fn append(dir: &Path, to: &Stored, block: usize) -> Result<Self, DiskError> {
        let path = dir.join(&to.name);
        let failed = |e| DiskError::io("write", &path, &e);
        let mut options = File::options();
        let mut file =
            options.write(true).create(true).truncate(false).open(&path).map_err(failed)?;
        file.set_len(to.bytes).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self::on(file, path, block, to.bytes, to.records))
    }

    fn on(file: File, path: PathBuf, block: usize, bytes: u64, records: u64) -> Self {
        Writer { file, path, payload: Vec::new(), in_block: 0, block, bytes, records }
    }

    /// Adds a record.
    #[inline]
    pub(super) fn record(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), DiskError> {
        write(&mut self.payload);
        self.in_block += 1;
        if self.payload.len() >= self.block { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        if self.in_block == 0 {
            return Ok(());
        }
        let mut header = [0; HEADER];
        header[..4].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&self.in_block.to_le_bytes());
        header[8..16].copy_from_slice(&self.records.to_le_bytes());
        let checksum = checksum(&header[..16], &self.payload);
        header[16..].copy_from_slice(&checksum.to_le_bytes());
        let written =
            self.file.write_all(&header).and_then(|()| self.file.write_all(&self.payload));
        written.map_err(|e| DiskError::io("write", &self.path, &e))?;
        self.bytes += (HEADER + self.payload.len()) as u64;
        self.records += u64::from(self.in_block);
        self.in_block = 0;
        self.payload.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Stored, DiskError> {
        self.flush()?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Stored { name, bytes: self.bytes, records: self.records })
    }
}

/// Reads a file block by block.
pub(super) struct Reader {
    file: File,
    path: PathBuf,
    at: u64,
    end: u64,
    records: u64,
}

impl Reader {
    /// Reads what counts of a file, from a block on.
    pub(super) fn open(dir: &Path, stored: &Stored, at: u64) -> Result<Self, DiskError> {
        let path = dir.join(&stored.name);
        let failed = |e| DiskError::io("read", &path, &e);
        let mut file = File::open(&path).map_err(failed)?;
        file.seek(SeekFrom::Start(at)).map_err(failed)?;
        Ok(Reader { file, path, at, end: stored.bytes, records: stored.records })
    }

    /// Where the next block begins.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Whether nothing is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.end
    }

    /// Reads the next block once `at` is at the end of the last one. Returns whether anything is there to read.
    pub(super) fn refill(
        &mut self,
        payload: &mut Vec<u8>,
        at: &mut usize,
    ) -> Result<bool, DiskError> {
        if *at < payload.len() {
            return Ok(true);
        }
        *at = 0;
        payload.clear();
        Ok(self.next(payload)?.is_some())
    }

    /// Reads the next block. Returns how many records precede it, and how many it has.
    pub(super) fn next(&mut self, payload: &mut Vec<u8>) -> Result<Option<(u64, u64)>, DiskError> {
        if self.is_at_end() {
            return Ok(None);
        }
        let mut header = [0; HEADER];
        self.read(&mut header)?;
        let mut fields = &header[..];
        let lengths = get_u64(&mut fields).unwrap_or_default();
        let first = get_u64(&mut fields).unwrap_or_default();
        let expected = get_u64(&mut fields).unwrap_or_default();
        let (length, count) = (lengths & 0xFFFF_FFFF, lengths >> 32);
        let end = self.at + HEADER as u64 + length;
        if end > self.end || first + count > self.records {
            return Err(self.damaged());
        }
        payload.resize(length as usize, 0);
        self.read(payload)?;
        if checksum(&header[..16], payload) != expected {
            return Err(self.damaged());
        }
        self.at = end;
        Ok(Some((first, count)))
    }

    fn read(&mut self, to: &mut [u8]) -> Result<(), DiskError> {
        self.file.read_exact(to).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => self.damaged(),
            _ => DiskError::io("read", &self.path, &e),
        })
    }

    /// Says that what was read cannot be.
    pub(super) fn damaged(&self) -> DiskError {
        let how = format!("the block at byte {} is not what was written", self.at);
        DiskError::damaged(self.path.clone(), how)
    }
}

/// Everything that counts of a file, without the frames of its blocks.
pub(super) fn read_all(dir: &Path, stored: &Stored) -> Result<Vec<u8>, DiskError> {
    let mut reader = Reader::open(dir, stored, 0)?;
    let (mut all, mut payload) = (Vec::new(), Vec::new());
    while reader.next(&mut payload)?.is_some() {
        all.extend_from_slice(&payload);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), 1 << 48, u64::MAX];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| put(&mut bytes, number));
        let mut rest = &bytes[..];
        assert!(numbers.iter().all(|&number| get(&mut rest) == Some(number)));
        assert!(rest.is_empty() && get(&mut rest).is_none());
        assert_eq!(get(&mut &[0x80; 12][..]), None, "no number is that long");
    }

    #[test]
    fn blocks_come_back_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(dir.path().join("a"), 100).unwrap();
        for i in 0..1000u64 {
            writer.record(|out| out.extend(i.to_le_bytes())).unwrap();
        }
        let stored = writer.finish().unwrap();
        assert_eq!(stored.records, 1000);
        let all = read_all(dir.path(), &stored).unwrap();
        let numbers: Vec<u64> =
            all.chunks(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect();
        assert_eq!(numbers, (0..1000).collect::<Vec<u64>>());
        let path = dir.path().join("a");
        let whole = std::fs::read(&path).unwrap();
        for damaged_byte in [0, 9, 20, 30, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[damaged_byte] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            let error = read_all(dir.path(), &stored).unwrap_err();
            assert!(matches!(error, DiskError::Damaged { .. }), "byte {damaged_byte}: {error}");
        }
        std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(matches!(read_all(dir.path(), &stored), Err(DiskError::Damaged { .. })));
    }
}
