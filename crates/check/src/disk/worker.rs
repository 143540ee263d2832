//! A thread that expands the states of a level.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::DiskError;
use super::buffer::{Buffer, BufferCursor, origin};
use super::format::{Reader, Stored, Writer, get, get_bytes, get_row, get_u64};
use super::merge::Reached;
use crate::check::is_set;
use crate::expand::Expander;
use crate::explorer::{Limits, Progress};
use crate::model::{Model, Row as _};

/// With less room than this for each thread's successors the memory is full.
const LEAST_BUFFER: usize = 128 << 10;
/// One state has fewer successors.
const SUCCESSORS: usize = 1 << 8;
/// So many states are expanded between two looks at the memory.
const LOOK_AFTER: u64 = 32;

/// What all threads see while they expand a level.
pub(super) struct Shared<'a, 's, G: Model> {
    pub(super) model: &'a G,
    pub(super) limits: &'s Limits<'s>,
    pub(super) dir: &'s Path,
    pub(super) level: Mutex<Reader>,
    pub(super) level_states: u64,
    /// How many states are known, and how many steps lead to those of the level.
    pub(super) states: u64,
    pub(super) depth: usize,
    /// Up to which state of the level all have been taken.
    pub(super) expanded: AtomicU64,
    pub(super) next_file: &'s AtomicU64,
    /// When it is time to save.
    pub(super) until: Instant,
    pub(super) began: Instant,
    pub(super) earlier_seconds: f64,
    /// How many bytes there are for buffers and for what nodes do.
    pub(super) buffers: usize,
    pub(super) block: usize,
    pub(super) is_full: AtomicBool,
    pub(super) failed: Mutex<Option<DiskError>>,
}

/// A thread's own things.
pub(super) struct Worker<'a, G: Model + 'a> {
    pub(super) expander: Expander<'a, G>,
    pub(super) buffer: Buffer,
    /// What was written because the buffer was full.
    pub(super) spilled: Vec<Stored>,
    payload: Vec<u8>,
    row: Vec<u32>,
    peak: usize,
}

impl<'a, G: Model> Worker<'a, G> {
    pub(super) fn new(model: &'a G, records: bool) -> Self {
        Worker {
            expander: Expander::new(model, records),
            buffer: Buffer::new(),
            spilled: Vec::new(),
            payload: Vec::new(),
            row: Vec::new(),
            peak: 0,
        }
    }

    /// Takes blocks of the level until none is left or it is time to pause.
    pub(super) fn run(&mut self, shared: &Shared<'a, '_, G>, speaks: bool) {
        while !shared.is_full.load(Ordering::Relaxed) && !is_set(shared.limits.stop) {
            match self.expand_block(shared) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    let mut failed = shared.failed.lock().expect("no thread panics meanwhile");
                    failed.get_or_insert(error);
                    // The others need not go on.
                    shared.is_full.store(true, Ordering::Relaxed);
                    break;
                }
            }
            if let (true, Some(progress)) = (speaks, shared.limits.progress) {
                let seconds = shared.earlier_seconds + shared.began.elapsed().as_secs_f64();
                let expanded = shared.expanded.load(Ordering::Relaxed);
                let level = Some((expanded, shared.level_states));
                progress(Progress { states: shared.states, depth: shared.depth, seconds, level });
            }
            // It gets on between two pauses, however often it is saved.
            if Instant::now() >= shared.until {
                break;
            }
        }
    }

    /// Expands the next block of the level. False if there is none.
    fn expand_block(&mut self, shared: &Shared<'a, '_, G>) -> Result<bool, DiskError> {
        let (mut number, count) = {
            let mut level = shared.level.lock().expect("no thread panics meanwhile");
            let Some(block) = level.next(&mut self.payload)? else { return Ok(false) };
            shared.expanded.store(block.0 + block.1, Ordering::Relaxed);
            block
        };
        let payload = std::mem::take(&mut self.payload);
        let mut records = &payload[..];
        for expanded in 0..count {
            if expanded % LOOK_AFTER == 0 {
                self.make_room(shared)?;
            }
            let read = read_state(&mut records, &mut self.row);
            let Some(fingerprint) = read else {
                return Err(shared.level.lock().expect("no thread panics meanwhile").damaged());
            };
            let Worker { expander, buffer, row, .. } = self;
            let model = shared.model;
            expander.state.decode(model.nodes(), row);
            let reduction = shared.limits.reduction;
            expander.expand(model, reduction, number, fingerprint, |next, step, successor| {
                buffer
                    .insert(next, origin(number, step), |row| successor.encode(model.nodes(), row));
            });
            number += 1;
        }
        self.payload = payload;
        Ok(true)
    }

    /// Writes the buffer to disk if there may not be room for more.
    fn make_room(&mut self, shared: &Shared<'a, '_, G>) -> Result<(), DiskError> {
        let threads = shared.limits.threads.max(1);
        // Other threads remember about as much as this one.
        let remembered = shared.model.bytes() + threads * G::memory_bytes(&self.expander.memory);
        let room = shared.buffers.saturating_sub(remembered) / threads;
        if room < LEAST_BUFFER {
            shared.is_full.store(true, Ordering::Relaxed);
        }
        self.peak = self.peak.max(self.buffer.bytes());
        let more = SUCCESSORS * LOOK_AFTER as usize;
        if self.buffer.len() > 0 && self.buffer.bytes_with(more) > room {
            self.spill(shared.dir, shared.next_file, shared.block, room / 4)?;
        }
        Ok(())
    }

    /// Writes the buffer as a sorted run and empties it.
    pub(super) fn spill(
        &mut self,
        dir: &Path,
        next_file: &AtomicU64,
        block: usize,
        keep: usize,
    ) -> Result<(), DiskError> {
        if self.buffer.len() == 0 {
            return Ok(());
        }
        let name = format!("run-{}", next_file.fetch_add(1, Ordering::Relaxed));
        let mut writer = Writer::create(dir.join(name), block)?;
        let mut cursor = BufferCursor::new(&self.buffer);
        while let Some((fingerprint, origin)) = cursor.head() {
            let reached = Reached { fingerprint, origin, row: cursor.row() };
            writer.record(|out| reached.write(out))?;
            cursor.advance();
        }
        self.spilled.push(writer.finish()?);
        self.buffer.clear(keep);
        Ok(())
    }

    /// The most that the buffer took since the last time.
    pub(super) fn take_peak(&mut self) -> usize {
        std::mem::take(&mut self.peak).max(self.buffer.bytes())
    }
}

/// The next state of a level: its fingerprint and its row. `None` if there is none.
fn read_state(records: &mut &[u8], row: &mut Vec<u32>) -> Option<u64> {
    let fingerprint = get_u64(records)?;
    let length = get(records)? as usize;
    get_row(get_bytes(records, length)?, row)?;
    Some(fingerprint)
}
