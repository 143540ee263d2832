//! The clocks of the lectures at the events of a run, a chunk of records at a time.

use anyhow::{Result, ensure};
use skeptron_sim::trace::{Clocks, Trace};

use super::states::CHUNK;
use crate::lab::wire::{ClockChunk, ClockStamp};

/// The clocks in the chunk of that number.
///
/// # Errors
/// If the run has fewer chunks.
pub(super) fn chunk(trace: &Trace, chunk: usize) -> Result<ClockChunk> {
    let chunks = trace.records.len().div_ceil(CHUNK).max(1);
    ensure!(chunk < chunks, "there is no chunk {chunk} of clocks; the run has {chunks}, from 0 on");
    let mut clocks = Clocks::new(&trace.header.setup);
    let mut stamps = Vec::new();
    for (index, record) in trace.records.iter().enumerate().take((chunk + 1) * CHUNK) {
        let stamp = clocks.take(record);
        if index >= chunk * CHUNK {
            stamps.push(stamp.map(|stamp| ClockStamp {
                lamport: stamp.lamport,
                vector: stamp.vector.counts().to_vec(),
            }));
        }
    }
    Ok(ClockChunk { chunk, stamps })
}
