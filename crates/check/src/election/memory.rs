//! What a thread remembers of nodes and of the judge, so that nothing is computed twice.

use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;
use skeptron_core::election::{Elected, Election, Epoch};
use skeptron_core::monitor::{Leadership, LeadershipViolation};

use crate::local::{Alarm, LocalId, LocalState, NodeTable, Nodes, Numbered};
use crate::memory::Memory as NodeMemory;

/// What the judge may remember, numbered for all threads.
pub(super) struct Judges(RwLock<JudgeTable>);

struct JudgeTable {
    judges: Numbered<Leadership>,
    /// What led to each after the first.
    log: Vec<(u32, JudgeEvent)>,
}

impl Judges {
    /// The first has number 0.
    pub(super) fn new(first: Leadership) -> Self {
        let mut judges = Numbered::new();
        judges.number(first);
        Judges(RwLock::new(JudgeTable { judges, log: Vec::new() }))
    }

    /// What led to new numbers, from an entry on.
    pub(super) fn log(&self, from: usize) -> Vec<(u32, JudgeEvent)> {
        self.read().log[from..].to_vec()
    }

    /// Forgets all but the first.
    pub(super) fn reset(&self) {
        let mut table = self.write();
        let mut judges = Numbered::new();
        judges.number(table.judges.things[0].clone());
        *table = JudgeTable { judges, log: Vec::new() };
    }

    /// The same in every run, in the order of numbers.
    pub(super) fn hashes(&self) -> Vec<u64> {
        self.read().judges.hashes.clone()
    }

    pub(super) fn judge(&self, number: u32) -> Leadership {
        self.read().judges.things[number as usize].clone()
    }

    /// About how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        // A list of lives and a map of leaders, kept twice.
        self.read().judges.things.len() * 2 * (size_of::<Leadership>() + 400)
    }

    fn read(&self) -> RwLockReadGuard<'_, JudgeTable> {
        self.0.read().expect("no thread panics while it holds this lock")
    }

    fn write(&self) -> RwLockWriteGuard<'_, JudgeTable> {
        self.0.write().expect("no thread panics while it holds this lock")
    }

    /// What the judge remembers after it was told something, and what it finds wrong.
    pub(super) fn told(&self, judge: u32, word: JudgeEvent) -> (u32, Option<LeadershipViolation>) {
        let mut after = self.judge(judge);
        let mut discord = None;
        match word {
            JudgeEvent::Reached(epoch) => after.reached(epoch),
            JudgeEvent::Crash(node) => after.crash(node),
            JudgeEvent::Restart(node) => after.restart(node),
            JudgeEvent::Trusted(node) => after.trusted(node),
            JudgeEvent::Named(elected) => discord = after.named(elected),
        }
        let mut table = self.write();
        let known = table.judges.things.len();
        let number = table.judges.number(after);
        if table.judges.things.len() > known {
            table.log.push((judge, word));
        }
        (number, discord)
    }
}

/// What the judge is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum JudgeEvent {
    Reached(Epoch),
    Crash(NodeId),
    Restart(NodeId),
    Trusted(NodeId),
    Named(Elected),
}

/// What a search asks of a node's state again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// How many alarms are set.
    pub(super) alarms: u8,
    /// Which of them are due.
    pub(super) due: u32,
    /// From how many numbers it waits for a random one; 0 if it does not.
    pub(super) draws: u8,
    pub(super) epoch: Epoch,
}

/// Nodes that elect, as [`Nodes`].
pub(super) trait Candidates: Nodes<Elected> {
    /// Appends the facts of states that are not among those known.
    fn facts(&self, known: &mut Vec<Facts>);

    /// The node after a crash.
    fn recovered(&self, local: LocalId) -> LocalId;
}

impl<P: Election> Candidates for NodeTable<P> {
    fn facts(&self, known: &mut Vec<Facts>) {
        let due = |alarms: &[Alarm<P::Timer>]| {
            let due = alarms.iter().map(|alarm| u32::from(alarm.left == 0));
            due.enumerate().fold(0, |all, (nth, due)| all | due << nth)
        };
        let say = |local: &LocalState<P>| Facts {
            alarms: local.armed.len() as u8,
            due: due(&local.armed),
            draws: local.node.draws().unwrap_or(0) as u8,
            epoch: local.node.epoch(),
        };
        self.describe(say, known);
    }

    fn recovered(&self, local: LocalId) -> LocalId {
        let before = self.local(local);
        let node = before.node.recovered();
        self.returned(local, LocalState { node, armed: Vec::new(), ..before })
    }
}

/// One thread's memory.
pub(crate) struct Memory<'a> {
    pub(super) nodes: NodeMemory<'a, Elected>,
    candidates: &'a dyn Candidates,
    facts: Vec<Facts>,
    recovered: FxHashMap<LocalId, LocalId>,
    judges: &'a Judges,
    judged: FxHashMap<(u32, JudgeEvent), (u32, Option<LeadershipViolation>)>,
    judge_hashes: Vec<u64>,
    newest: Vec<Epoch>,
    /// What was wrong last: who named whom.
    pub(super) discord: Option<(NodeId, Elected, LeadershipViolation)>,
}

impl<'a> Memory<'a> {
    pub(super) fn new(candidates: &'a dyn Candidates, judges: &'a Judges) -> Self {
        Memory {
            nodes: NodeMemory::new(candidates, false),
            candidates,
            facts: Vec::new(),
            recovered: FxHashMap::default(),
            judges,
            judged: FxHashMap::default(),
            judge_hashes: Vec::new(),
            newest: Vec::new(),
            discord: None,
        }
    }

    pub(super) fn facts(&mut self, local: LocalId) -> Facts {
        if local as usize >= self.facts.len() {
            self.candidates.facts(&mut self.facts);
        }
        self.facts[local as usize]
    }

    /// The node after a crash: no alarm is set, and it knows no more than it keeps in stable storage.
    pub(super) fn recovered(&mut self, local: LocalId) -> LocalId {
        *self.recovered.entry(local).or_insert_with(|| self.candidates.recovered(local))
    }

    /// What the judge remembers after it was told something, and what it finds wrong.
    pub(super) fn tell(
        &mut self,
        judge: u32,
        word: JudgeEvent,
    ) -> (u32, Option<LeadershipViolation>) {
        let judges = self.judges;
        *self.judged.entry((judge, word)).or_insert_with(|| judges.told(judge, word))
    }

    /// The highest epoch that any node has been in.
    pub(super) fn newest(&mut self, judge: u32) -> Epoch {
        if judge as usize >= self.newest.len() {
            let table = self.judges.read();
            let known = self.newest.len();
            self.newest.extend(table.judges.things[known..].iter().map(Leadership::newest));
        }
        self.newest[judge as usize]
    }

    /// The same in every run, unlike its number.
    pub(super) fn judge_hash(&mut self, judge: u32) -> u64 {
        if judge as usize >= self.judge_hashes.len() {
            let known = self.judge_hashes.len();
            self.judge_hashes.extend_from_slice(&self.judges.read().judges.hashes[known..]);
        }
        self.judge_hashes[judge as usize]
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.bytes()
            + self.facts.capacity() * size_of::<Facts>()
            + self.recovered.capacity() * 9
            + self.judged.capacity()
                * (size_of::<((u32, JudgeEvent), (u32, Option<LeadershipViolation>))>() + 1)
            + self.judge_hashes.capacity() * (8 + size_of::<Epoch>())
    }
}
