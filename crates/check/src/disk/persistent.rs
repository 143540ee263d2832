//! What makes rows of numbers mean the same in another process.
//!
//! A row consists of numbers of node states and messages, which they get in the order in which they are first
//! met. So what led to each new one is written down; the same things happening again give the same numbers.

use std::hash::{Hash as _, Hasher as _};

use rustc_hash::FxHasher;
use skeptron_core::Entered;

use super::format::{get, put};
use crate::local::{Cause, Event, LocalId, Nodes};
use crate::memory::Memory;
use crate::model::Model;
use crate::world::World;

/// A model whose rows can be read in another process.
pub(crate) trait Persistent: Model {
    /// Appends what led to new numbers, of nodes and of the judge, from these entries on, and counts them.
    fn numbering(&self, from: &mut [usize; 2], out: &mut Vec<u8>);
    /// Gives the numbers that [`Persistent::numbering`] wrote down. Returns how many entries there are, or
    /// `None` if it cannot be.
    fn renumber(&self, log: &[u8]) -> Option<[usize; 2]>;
    /// The same if, and but for an accident only if, the same things have the same numbers.
    fn digest(&self) -> u64;
    /// Appends what the memory has recorded since the last time.
    fn drain_record(memory: &mut Self::Memory<'_>, out: &mut Vec<u8>);
    /// Gives a memory everything that was recorded. `None` if it cannot be.
    fn recall(memory: &mut Self::Memory<'_>, record: &[u8]) -> Option<()>;
}

impl Persistent for World {
    fn numbering(&self, from: &mut [usize; 2], out: &mut Vec<u8>) {
        let mut log = Vec::new();
        self.node_table.log(from[0], &mut log);
        from[0] += log.len();
        put_causes(out, &log);
    }

    fn renumber(&self, mut log: &[u8]) -> Option<[usize; 2]> {
        self.node_table.reset();
        let mut count = 0;
        while !log.is_empty() {
            let causes = get_causes(&mut log)?;
            count += causes.len();
            replay(&*self.node_table, &causes, |_| None)?;
        }
        Some([count, 0])
    }

    fn digest(&self) -> u64 {
        digest(&*self.node_table)
    }

    fn drain_record(memory: &mut Memory<'_, Entered>, out: &mut Vec<u8>) {
        memory.drain_taken().for_each(|(local, event)| put_cause(out, (local, Some(event))));
    }

    fn recall(memory: &mut Memory<'_, Entered>, mut record: &[u8]) -> Option<()> {
        let mut taken = Vec::new();
        while !record.is_empty() {
            let (local, event) = get_cause(&mut record)?;
            taken.push((local, event?));
        }
        memory.recall(taken.into_iter());
        Some(())
    }
}

/// Lets happen again what led to each number. `returned` is a node's return after a crash.
pub(crate) fn replay<N: Nodes<E> + ?Sized, E>(
    nodes: &N,
    causes: &[Cause],
    mut returned: impl FnMut(LocalId) -> Option<LocalId>,
) -> Option<()> {
    let mut actions = Vec::new();
    for &(local, event) in causes {
        let known = nodes.counts();
        // A node that has stopped may return from any state.
        if !nodes.has(local, event.unwrap_or(Event::Start)) {
            return None;
        }
        match event {
            Some(event) => {
                actions.clear();
                nodes.step(local, event, &mut actions);
            }
            None => drop(returned(local)?),
        }
        if nodes.counts() == known {
            return None;
        }
    }
    Some(())
}

/// Appends causes, and before them how many there are.
pub(crate) fn put_causes(out: &mut Vec<u8>, causes: &[Cause]) {
    put(out, causes.len() as u64);
    causes.iter().for_each(|&cause| put_cause(out, cause));
}

/// Reads what [`put_causes`] wrote.
pub(crate) fn get_causes(bytes: &mut &[u8]) -> Option<Vec<Cause>> {
    let count = get(bytes)?;
    (0..count).map(|_| get_cause(bytes)).collect()
}

/// The same if, and but for an accident only if, the same states and messages have the same numbers.
pub(crate) fn digest<N: Nodes<E> + ?Sized, E>(nodes: &N) -> u64 {
    let (mut locals, mut messages) = (Vec::new(), Vec::new());
    nodes.local_hashes(&mut locals);
    nodes.message_hashes(&mut messages);
    let mut hasher = FxHasher::default();
    (locals, messages).hash(&mut hasher);
    hasher.finish()
}

fn put_cause(out: &mut Vec<u8>, (local, event): Cause) {
    put(out, local.into());
    let (kind, number) = match event {
        None => (0, None),
        Some(Event::Start) => (1, None),
        Some(Event::Tick) => (2, None),
        Some(Event::Command(number)) => (3, Some(number.into())),
        Some(Event::Deliver(message)) => (4, Some(message)),
        Some(Event::Expire(nth)) => (5, Some(nth)),
    };
    out.push(kind);
    if let Some(number) = number {
        put(out, number.into());
    }
}

fn get_cause(bytes: &mut &[u8]) -> Option<Cause> {
    let local = get(bytes)?.try_into().ok()?;
    let (&kind, rest) = bytes.split_first()?;
    *bytes = rest;
    let mut number = || u32::try_from(get(bytes)?).ok();
    let event = match kind {
        0 => None,
        1 => Some(Event::Start),
        2 => Some(Event::Tick),
        3 => Some(Event::Command(number()?.try_into().ok()?)),
        4 => Some(Event::Deliver(number()?)),
        5 => Some(Event::Expire(number()?)),
        _ => return None,
    };
    Some((local, event))
}
