//! How the voters stand, as the one that leads sees it: for administrators. Nothing is decided by it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skeptron_member::clock::MonoTime;

use super::{ELECTION_TICKS, TICK, Voter};

/// A voter that is not heard for so long is silent. It answers ten heartbeats in that time.
const SILENT_AFTER: Duration =
    Duration::from_millis(2 * ELECTION_TICKS as u64 * TICK.as_millis() as u64);

/// How one voter stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// The leader has just begun or the voter was just added, and has not been heard yet.
    Unknown,
    /// It answers, and has what was decided.
    Up,
    /// It answers, but lacks decisions for longer than it takes to send them.
    Behind,
    /// It does not answer.
    Silent {
        /// For how long, as far as this leader knows.
        since: Duration,
    },
}

/// What a leader has noticed of the voters, by raft id.
#[derive(Debug, Default)]
pub(super) struct Attendance {
    /// From when on each could have been heard.
    expected: BTreeMap<u64, MonoTime>,
    heard: BTreeMap<u64, MonoTime>,
    /// For how many ticks each has lacked something.
    behind: BTreeMap<u64, usize>,
}

impl Attendance {
    pub(super) fn heard(&mut self, raft: u64, now: MonoTime) {
        self.heard.insert(raft, now);
    }
}

impl Voter {
    /// A tick has passed.
    pub(super) fn count_behind(&mut self, now: MonoTime) {
        let Some(leading) = &mut self.leading else { return };
        let committed = self.node.raft.raft_log.committed;
        let Attendance { expected, behind, .. } = &mut leading.attendance;
        for (&raft, progress) in self.node.raft.prs().iter() {
            expected.entry(raft).or_insert(now);
            let ticks = behind.entry(raft).or_default();
            *ticks = if progress.matched < committed { *ticks + 1 } else { 0 };
        }
    }

    /// How each voter and learner stands, by raft id; nothing unless this voter leads.
    #[must_use]
    pub fn standings(&self, now: MonoTime) -> Vec<(u64, Standing)> {
        let Some(leading) = &self.leading else { return Vec::new() };
        let standing = |raft: u64| {
            if raft == self.identity.raft {
                return Standing::Up;
            }
            let Attendance { expected, heard, behind } = &leading.attendance;
            let heard = heard.get(&raft).copied();
            let since =
                heard.or(expected.get(&raft).copied()).map_or(Duration::ZERO, |it| now.since(it));
            let lacks = behind.get(&raft).copied().unwrap_or(0);
            match heard {
                _ if since >= SILENT_AFTER => Standing::Silent { since },
                None => Standing::Unknown,
                Some(_) if lacks >= ELECTION_TICKS => Standing::Behind,
                Some(_) => Standing::Up,
            }
        };
        self.views.seats().iter().map(|seat| (seat.raft, standing(seat.raft))).collect()
    }
}
