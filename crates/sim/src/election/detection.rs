//! What the nodes are told of each other's crashes.

use skeptron_core::NodeId;
use skeptron_core::election::Notice;

use super::voters::{Act, Voters};
use super::{Detector, Scenario};
use crate::chance::{Chance, Purpose};
use crate::distribution::ticks;
use crate::engine::{Control, World as _};
use crate::trace::{Ticks, What};
use crate::troubles::Health;

/// What the failure detectors have in common.
#[derive(Debug)]
pub(super) struct Detection {
    detector: Detector,
    /// Who is down and has been for so long that everybody was told.
    known_down: Vec<bool>,
    chance: Chance,
}

impl Detection {
    pub(super) fn new(scenario: &Scenario, nodes: usize) -> Self {
        Detection {
            detector: scenario.detector,
            known_down: vec![false; nodes],
            chance: Chance::new(scenario.seed, Purpose::Suspicion),
        }
    }
}

impl Voters<'_> {
    /// When the detectors notice what happens to a node now.
    pub(super) fn noticed_at(&self) -> Ticks {
        self.env.now + self.detection.detector.delay()
    }

    /// A crash is noticed: everybody is told.
    pub(super) fn missed(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, life: u32) {
        if self.env.troubles.life(node) != life || !self.env.troubles.is_down(node) {
            return;
        }
        self.detection.known_down[node.index()] = true;
        for observer in NodeId::all(self.env.nodes).filter(|&observer| observer != node) {
            self.tell(nodes, observer, node, true);
        }
    }

    /// A return is noticed: whoever suspects that node is told, and that node hears who is down.
    pub(super) fn back(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, life: u32) {
        if !self.env.troubles.is_same_life(node, life) {
            return;
        }
        self.detection.known_down[node.index()] = false;
        for other in NodeId::all(self.env.nodes).filter(|&other| other != node) {
            self.tell(nodes, other, node, false);
            if self.detection.known_down[other.index()] && self.env.troubles.is_down(other) {
                self.tell(nodes, node, other, true);
            }
        }
        self.trust_if_nobody_doubts(node);
    }

    /// The detector of `observer` says what it thinks of `whom`, if that is new. True if it is.
    pub(super) fn tell(
        &mut self,
        nodes: &mut dyn Control<Self>,
        observer: NodeId,
        whom: NodeId,
        suspect: bool,
    ) -> bool {
        match self.env.troubles.health(observer) {
            Health::Down => return false,
            Health::Paused => {
                let life = self.env.troubles.life(observer);
                nodes.hold(observer, Act::Tell { observer, life, whom, suspect });
                return false;
            }
            Health::Up => {}
        }
        let suspects = &mut self.members[observer.index()].suspects;
        let new = if suspect { suspects.insert(whom) } else { suspects.remove(whom) };
        if !new {
            return false;
        }
        self.disturb();
        let is_leader = self.members[observer.index()].leader == Some(whom);
        let names = if suspect {
            self.tally.suspicions += 1;
            if !self.env.troubles.is_down(whom) {
                self.tally.false_suspicions += 1;
            }
            self.env.record(observer, || What::Suspect { whom });
            self.notify(nodes, observer, Notice::Suspect(whom))
        } else {
            self.env.record(observer, || What::Trust { whom });
            self.notify(nodes, observer, Notice::Trust(whom))
        };
        // An initiator that names one whom it suspects, or learns that of its leader, calls at once.
        if (names || suspect && is_leader) && self.doubts_its_leader(observer) {
            self.call(nodes, observer);
        }
        true
    }

    pub(super) fn trust_if_nobody_doubts(&mut self, whom: NodeId) {
        let doubted = self.members.iter().any(|member| member.suspects.contains(whom));
        if !doubted && !self.env.troubles.is_down(whom) {
            self.leadership.trusted(whom);
        }
    }

    /// Plans the next false suspicion, if there are any.
    pub(super) fn plan_rumour(&mut self, nodes: &mut dyn Control<Self>) {
        if let Detector::Imperfect { rate, .. } = self.detection.detector {
            let at = self.env.now + ticks(self.detection.chance.exponential() / rate);
            if at < self.scenario.until {
                nodes.plan(at, Act::Rumour);
            }
        }
    }

    /// Somebody who is up suspects somebody else who is alive, for a while.
    pub(super) fn rumour(&mut self, nodes: &mut dyn Control<Self>) {
        let Detector::Imperfect { lasting, .. } = self.detection.detector else { return };
        let chance = &mut self.detection.chance;
        let n = self.env.nodes as u64;
        let [observer, whom] = [0; 2].map(|_: u8| NodeId::new(chance.below(n) as usize));
        let length = ticks(lasting * chance.exponential());
        let possible =
            self.env.troubles.health(observer) == Health::Up && !self.env.troubles.is_down(whom);
        if observer != whom && possible && self.tell(nodes, observer, whom, true) {
            let life = self.env.troubles.life(observer);
            nodes.plan(self.env.now + length, Act::Withdraw { observer, life, whom });
        }
        self.plan_rumour(nodes);
    }

    /// A false suspicion is over, unless it has come true.
    pub(super) fn withdraw(
        &mut self,
        nodes: &mut dyn Control<Self>,
        observer: NodeId,
        life: u32,
        whom: NodeId,
    ) {
        if self.env.troubles.is_same_life(observer, life) && !self.env.troubles.is_down(whom) {
            self.tell(nodes, observer, whom, false);
            self.trust_if_nobody_doubts(whom);
        }
    }
}
