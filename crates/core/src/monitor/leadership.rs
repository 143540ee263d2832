//! Agreement and validity of elections (spec 4, "What must hold").

use std::collections::BTreeMap;

use crate::NodeId;
use crate::election::{Elected, Epoch};

/// Watches who is named in which epoch, and who was alive then.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Leadership {
    /// Whether the highest id must win.
    highest: bool,
    /// The leader that was named in each epoch: the first, or the next if that one has crashed since.
    leaders: BTreeMap<Epoch, NodeId>,
    /// The highest epoch that any node has been in.
    newest: Epoch,
    nodes: Vec<Life>,
}

/// Whether a node is alive, and what the newest epoch was when the others knew it at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Life {
    up: bool,
    since: Option<Epoch>,
    /// The newest epoch when it crashed last.
    fell: Option<Epoch>,
}

impl Life {
    /// Whether whatever it was in that epoch ended with a crash.
    fn ended(self, epoch: Epoch) -> bool {
        self.fell.is_some_and(|fell| epoch <= fell)
    }
}

/// What is wrong with naming a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeadershipViolation {
    /// Agreement: somebody else was named in the same epoch, and both are alive. A leader that crashed
    /// before it could tell everybody may be replaced in its epoch: nobody can know that it had won.
    Other(NodeId),
    /// Validity: the leader was down already when the epoch began.
    Dead,
    /// Validity: this higher node was alive all the time.
    Passed(NodeId),
}

impl Leadership {
    /// For a system of `n` nodes, all of them alive.
    #[must_use]
    pub fn new(n: usize, highest: bool) -> Self {
        let nodes = vec![Life { up: true, since: Some(Epoch::FIRST), fell: None }; n];
        Leadership { highest, leaders: BTreeMap::new(), newest: Epoch::FIRST, nodes }
    }

    /// A node is in this epoch now.
    pub fn reached(&mut self, epoch: Epoch) {
        self.newest = self.newest.max(epoch);
    }

    /// `node` stops.
    pub fn crash(&mut self, node: NodeId) {
        let newest = Some(self.newest);
        self.nodes[node.index()] = Life { up: false, since: newest, fell: newest };
    }

    /// `node` begins again. It may win, but need not before [`Leadership::trusted`].
    pub fn restart(&mut self, node: NodeId) {
        let life = &mut self.nodes[node.index()];
        (life.up, life.since) = (true, None);
    }

    /// Every detector knows by now that `node` has begun again.
    pub fn trusted(&mut self, node: NodeId) {
        let life = &mut self.nodes[node.index()];
        life.since = life.since.or(Some(self.newest));
    }

    /// A node names a leader.
    pub fn named(&mut self, elected: Elected) -> Option<LeadershipViolation> {
        let Elected { leader, epoch } = elected;
        self.reached(epoch);
        let ended = |node: NodeId| self.nodes[node.index()].ended(epoch);
        match self.leaders.get(&epoch) {
            Some(&other) if other == leader || ended(leader) => return None,
            Some(&other) if !ended(other) => return Some(LeadershipViolation::Other(other)),
            _ => self.leaders.insert(epoch, leader),
        };
        let throughout = |node: NodeId, up: bool| {
            let life = self.nodes[node.index()];
            life.up == up && life.since.is_some_and(|since| since < epoch)
        };
        if throughout(leader, false) {
            return Some(LeadershipViolation::Dead);
        }
        let higher = || NodeId::all(self.nodes.len()).skip(leader.index() + 1);
        let passed = self.highest.then(|| higher().find(|&node| throughout(node, true))).flatten();
        passed.map(LeadershipViolation::Passed)
    }

    /// The leaders that were named, by epoch.
    #[must_use]
    pub fn leaders(&self) -> &BTreeMap<Epoch, NodeId> {
        &self.leaders
    }

    /// The highest epoch that any node has been in.
    #[must_use]
    pub fn newest(&self) -> Epoch {
        self.newest
    }

    /// Whether `node` is alive.
    #[must_use]
    pub fn is_up(&self, node: NodeId) -> bool {
        self.nodes[node.index()].up
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(i: usize) -> NodeId {
        NodeId::new(i)
    }

    fn elected(leader: usize, round: u32) -> Elected {
        Elected { leader: node(leader), epoch: Epoch { round, by: node(0) } }
    }

    #[test]
    fn one_leader_in_one_epoch() {
        let mut monitor = Leadership::new(3, false);
        assert_eq!(monitor.named(elected(2, 1)), None);
        assert_eq!(monitor.named(elected(2, 1)), None);
        assert_eq!(monitor.named(elected(1, 1)), Some(LeadershipViolation::Other(node(2))));
        assert_eq!(monitor.named(elected(1, 2)), None);
        assert_eq!(monitor.leaders().len(), 2);
    }

    #[test]
    fn a_leader_may_die_in_its_epoch_but_not_before() {
        let mut monitor = Leadership::new(3, true);
        monitor.reached(elected(0, 1).epoch);
        monitor.crash(node(2));
        assert_eq!(monitor.named(elected(2, 1)), None);
        assert_eq!(monitor.named(elected(2, 2)), Some(LeadershipViolation::Dead));
        assert_eq!(monitor.named(elected(0, 3)), Some(LeadershipViolation::Passed(node(1))));
        monitor.restart(node(2));
        assert_eq!(monitor.named(elected(2, 4)), None);
        assert_eq!(monitor.named(elected(1, 5)), None);
        monitor.trusted(node(2));
        assert_eq!(monitor.named(elected(1, 6)), Some(LeadershipViolation::Passed(node(2))));
    }

    #[test]
    fn who_crashed_may_be_replaced_in_its_epoch() {
        let mut monitor = Leadership::new(4, true);
        assert_eq!(monitor.named(elected(3, 1)), None);
        monitor.crash(node(3));
        assert_eq!(monitor.named(elected(2, 1)), None);
        assert_eq!(monitor.named(elected(3, 1)), None, "word of it that comes late");
        assert_eq!(monitor.named(elected(1, 1)), Some(LeadershipViolation::Other(node(2))));
        monitor.restart(node(3));
        assert_eq!(monitor.named(elected(2, 1)), None, "its old life is over");
        assert_eq!(monitor.named(elected(3, 2)), None);
        assert_eq!(monitor.named(elected(2, 2)), Some(LeadershipViolation::Other(node(3))));
    }
}
