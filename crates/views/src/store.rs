//! What raft reads back of its own log, in memory. The disk gets the same as [`Record`]s.

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Result, Storage, StorageError};
use serde::{Deserialize, Serialize};

use crate::wire::{LogEntry, LogSnapshot};

/// One thing that a voter must find again after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// An entry; it replaces every former entry with the same or a larger index.
    Entry(LogEntry),
    /// The newest one counts.
    Hard(Hard),
    /// Replaces everything before it but the hard state.
    Snapshot(LogSnapshot),
}

/// Raft's hard state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hard {
    pub(crate) term: u64,
    pub(crate) vote: u64,
    pub(crate) commit: u64,
}

impl Hard {
    pub(crate) fn from_raft(state: &HardState) -> Self {
        Hard { term: state.term, vote: state.vote, commit: state.commit }
    }

    fn to_raft(self) -> HardState {
        let mut state = HardState::default();
        (state.term, state.vote, state.commit) = (self.term, self.vote, self.commit);
        state
    }
}

/// The records cannot have been written by a voter in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log of this voter contradicts itself: {0}; replace the voter")]
pub struct Contradiction(&'static str);

impl Contradiction {
    pub(crate) const REJECTED: Contradiction = Contradiction("raft does not accept it");
}

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) snapshot: LogSnapshot,
    /// Indices follow the snapshot's without a gap.
    entries: Vec<Entry>,
    hard: Hard,
}

impl Store {
    pub(crate) fn restore(records: Vec<Record>) -> std::result::Result<Self, Contradiction> {
        let mut store = Store::default();
        for record in records {
            match record {
                Record::Snapshot(snapshot) => store.install(snapshot),
                Record::Hard(hard) => store.hard = hard,
                Record::Entry(entry) => {
                    if entry.index <= store.snapshot.index || entry.index > store.last() + 1 {
                        return Err(Contradiction("an entry does not follow the one before it"));
                    }
                    store.append(&[entry.into_raft()]);
                }
            }
        }
        store.hard.commit = store.hard.commit.max(store.snapshot.index);
        if store.hard.commit > store.last() {
            return Err(Contradiction("more was committed than is there"));
        }
        Ok(store)
    }

    pub(crate) fn last(&self) -> u64 {
        self.snapshot.index + self.entries.len() as u64
    }

    pub(crate) fn length(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn install(&mut self, snapshot: LogSnapshot) {
        self.entries.clear();
        self.hard.commit = self.hard.commit.max(snapshot.index);
        self.snapshot = snapshot;
    }

    pub(crate) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else { return };
        self.entries.truncate((first.index - self.snapshot.index - 1) as usize);
        self.entries.extend_from_slice(entries);
    }

    pub(crate) fn set_hard(&mut self, hard: Hard) {
        self.hard = hard;
    }

    pub(crate) fn hard(&self) -> Hard {
        self.hard
    }

    /// Forgets what the snapshot contains.
    pub(crate) fn compact(&mut self, snapshot: LogSnapshot) {
        let covered = (snapshot.index - self.snapshot.index) as usize;
        self.entries.drain(..covered.min(self.entries.len()));
        self.snapshot = snapshot;
    }

    /// Everything, as it is written when the file is rewritten.
    pub(crate) fn records(&self) -> Vec<Record> {
        let entries = self.entries.iter().map(|entry| Record::Entry(LogEntry::from_raft(entry)));
        [Record::Snapshot(self.snapshot.clone()), Record::Hard(self.hard)]
            .into_iter()
            .chain(entries)
            .collect()
    }

    fn term_of(&self, index: u64) -> Option<u64> {
        if index == self.snapshot.index {
            return Some(self.snapshot.term);
        }
        let place = index.checked_sub(self.snapshot.index + 1)?;
        self.entries.get(usize::try_from(place).ok()?).map(|entry| entry.term)
    }
}

impl Storage for Store {
    fn initial_state(&self) -> Result<RaftState> {
        let configuration: ConfState = self.snapshot.configuration.to_raft();
        Ok(RaftState::new(self.hard.to_raft(), configuration))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> Result<Vec<Entry>> {
        if low <= self.snapshot.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        let place = |index: u64| (index - self.snapshot.index - 1) as usize;
        let mut entries = self.entries[place(low)..place(high)].to_vec();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> Result<u64> {
        if index < self.snapshot.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        self.term_of(index).ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> Result<u64> {
        Ok(self.snapshot.index + 1)
    }

    fn last_index(&self) -> Result<u64> {
        Ok(self.last())
    }

    fn snapshot(&self, request_index: u64, _to: u64) -> Result<Snapshot> {
        if self.snapshot.index < request_index {
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        Ok(self.snapshot.to_raft())
    }
}
