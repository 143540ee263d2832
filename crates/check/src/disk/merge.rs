//! Sorted runs of states, merged into one in which each state is once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use super::DiskError;
use super::buffer::{Buffer, BufferCursor};
use super::format::{Reader, Stored, Writer, get, get_bytes, get_u64, put};

/// A state that was reached, its row as bytes.
pub(super) struct Reached<'a> {
    pub(super) fingerprint: u64,
    pub(super) origin: u64,
    pub(super) row: &'a [u8],
}

impl Reached<'_> {
    /// Appends it as a record of a run.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.fingerprint.to_le_bytes());
        put(out, self.origin);
        put(out, self.row.len() as u64);
        out.extend(self.row);
    }
}

/// Where states come from in the order of their fingerprints.
pub(super) enum Source<'a> {
    Buffer(BufferCursor<'a>),
    Run(RunCursor),
}

impl<'a> Source<'a> {
    pub(super) fn buffer(buffer: &'a Buffer) -> Self {
        Source::Buffer(BufferCursor::new(buffer))
    }

    pub(super) fn run(dir: &Path, run: &Stored) -> Result<Self, DiskError> {
        Ok(Source::Run(RunCursor::open(dir, run)?))
    }

    fn head(&self) -> Option<(u64, u64)> {
        match self {
            Source::Buffer(cursor) => cursor.head(),
            Source::Run(cursor) => cursor.head,
        }
    }

    fn row(&self) -> &[u8] {
        match self {
            Source::Buffer(cursor) => cursor.row(),
            Source::Run(cursor) => &cursor.payload[cursor.row.clone()],
        }
    }

    fn advance(&mut self) -> Result<(), DiskError> {
        match self {
            Source::Buffer(cursor) => cursor.advance(),
            Source::Run(cursor) => cursor.advance()?,
        }
        Ok(())
    }
}

/// Reads a run.
pub(super) struct RunCursor {
    reader: Reader,
    payload: Vec<u8>,
    /// Where the next record begins.
    at: usize,
    head: Option<(u64, u64)>,
    row: std::ops::Range<usize>,
}

impl RunCursor {
    fn open(dir: &Path, run: &Stored) -> Result<Self, DiskError> {
        let reader = Reader::open(dir, run, 0)?;
        let mut cursor = RunCursor { reader, payload: Vec::new(), at: 0, head: None, row: 0..0 };
        cursor.advance()?;
        Ok(cursor)
    }

    fn advance(&mut self) -> Result<(), DiskError> {
        if !self.reader.refill(&mut self.payload, &mut self.at)? {
            self.head = None;
            return Ok(());
        }
        let mut rest = &self.payload[self.at..];
        let mut read = || {
            let head = (get_u64(&mut rest)?, get(&mut rest)?);
            let length = get(&mut rest)? as usize;
            let begin = self.payload.len() - rest.len();
            get_bytes(&mut rest, length)?;
            Some((head, begin..begin + length))
        };
        let (head, row) = read().ok_or_else(|| self.reader.damaged())?;
        (self.head, self.at) = (Some(head), row.end);
        self.row = row;
        Ok(())
    }
}

/// Whether a merge came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merged {
    All,
    Stopped,
}

/// So many states are handed on between two looks at whether to stop.
const LOOK_AFTER: u64 = 1 << 16;

/// Hands on every state once, in the order of fingerprints, with its smallest origin.
pub(super) fn merge(
    mut sources: Vec<Source<'_>>,
    is_stopped: &dyn Fn() -> bool,
    mut each: impl FnMut(Reached<'_>) -> Result<(), DiskError>,
) -> Result<Merged, DiskError> {
    let heads = sources.iter().enumerate();
    let mut heap: BinaryHeap<_> =
        heads.filter_map(|(i, source)| Some(Reverse((source.head()?, i)))).collect();
    let (mut last, mut count) = (None, 0u64);
    while let Some(mut top) = heap.peek_mut() {
        let Reverse(((fingerprint, origin), i)) = *top;
        if last != Some(fingerprint) {
            each(Reached { fingerprint, origin, row: sources[i].row() })?;
            last = Some(fingerprint);
            count += 1;
            if count.is_multiple_of(LOOK_AFTER) && is_stopped() {
                return Ok(Merged::Stopped);
            }
        }
        sources[i].advance()?;
        match sources[i].head() {
            Some(head) => *top = Reverse((head, i)),
            None => drop(std::collections::binary_heap::PeekMut::pop(top)),
        }
    }
    Ok(Merged::All)
}

/// Merges runs into a longer one. `None` if it was stopped.
pub(super) fn merge_runs(
    dir: &Path,
    runs: &[Stored],
    name: &str,
    block: usize,
    is_stopped: &dyn Fn() -> bool,
) -> Result<Option<Stored>, DiskError> {
    let sources = runs.iter().map(|run| Source::run(dir, run)).collect::<Result<Vec<_>, _>>()?;
    let mut writer = Writer::create(dir.join(name), block)?;
    let merged = merge(sources, is_stopped, |reached| writer.record(|out| reached.write(out)))?;
    Ok(match merged {
        Merged::All => Some(writer.finish()?),
        Merged::Stopped => None,
    })
}
