//! What goes wrong, what that does to the nodes, and what they are told of it.

use skeptron_core::election::{Election, Notice};
use skeptron_core::{Input, NodeId};

use super::simulation::{Event, Simulation};
use super::{Detector, Scenario};
use crate::chance::{Chance, Purpose};
use crate::distribution::ticks;
use crate::faults::Fault;
use crate::trace::{Ticks, What};
use crate::troubles::{Health, Turn};

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

impl<P: Election> Simulation<'_, P> {
    pub(super) fn begin_fault(&mut self, fault: Fault, until: Option<Ticks>) {
        self.disturbed();
        let (whom, turn) = self.troubles.begin(fault, until);
        self.turn(turn);
        if let Some(until) = until {
            self.queue.push(until, Event::End(whom));
        }
    }

    pub(super) fn end_fault(&mut self, whom: Option<NodeId>) {
        self.disturbed();
        let turn = self.troubles.end(whom, self.now);
        self.turn(turn);
    }

    pub(super) fn turn(&mut self, turn: Option<Turn>) {
        match turn {
            Some(Turn::Crashes(node)) => self.crash(node),
            Some(Turn::Restarts(node)) => self.restart(node),
            Some(Turn::Pauses(node)) => self.record(node, || What::Pause),
            Some(Turn::Resumes(node)) => {
                self.record(node, || What::Resume);
                self.release_held(node);
                self.alarms.resume(node, self.now);
            }
            None => {}
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.record(node, || What::Crash);
        self.tally.crashed_since_call |= self.tally.first_call.is_some();
        self.alarms.forget(node);
        self.leadership.crash(node);
        let member = &mut self.members[node.index()];
        (member.called, member.leader, member.since) = (false, None, None);
        let suspected = std::mem::take(&mut member.suspects);
        for whom in suspected.iter() {
            self.trust_if_nobody_doubts(whom);
        }
        self.release_held(node);
        let life = self.troubles.life(node);
        let at = self.now + self.detection.detector.delay();
        self.queue.push(at, Event::Missed { node, life });
    }

    /// Whoever comes back knows nothing but the epoch, and calls.
    fn restart(&mut self, node: NodeId) {
        let i = node.index();
        self.nodes[i] = self.nodes[i].recovered();
        self.leadership.restart(node);
        self.record(node, || What::Restart);
        self.give(node, Input::Start);
        self.call(node);
        let life = self.troubles.life(node);
        let at = self.now + self.detection.detector.delay();
        self.queue.push(at, Event::Back { node, life });
    }

    fn release_held(&mut self, node: NodeId) {
        while let Some(event) = self.troubles.next_held(node) {
            self.handle(event);
        }
    }

    /// A crash is noticed: everybody is told.
    pub(super) fn missed(&mut self, node: NodeId, life: u32) {
        if self.troubles.life(node) != life || !self.troubles.is_down(node) {
            return;
        }
        self.detection.known_down[node.index()] = true;
        for observer in NodeId::all(self.nodes.len()).filter(|&observer| observer != node) {
            self.tell(observer, node, true);
        }
    }

    /// A return is noticed: whoever suspects that node is told, and that node hears who is down.
    pub(super) fn back(&mut self, node: NodeId, life: u32) {
        if !self.troubles.is_same_life(node, life) {
            return;
        }
        self.detection.known_down[node.index()] = false;
        for other in NodeId::all(self.nodes.len()).filter(|&other| other != node) {
            self.tell(other, node, false);
            if self.detection.known_down[other.index()] && self.troubles.is_down(other) {
                self.tell(node, other, true);
            }
        }
        self.trust_if_nobody_doubts(node);
    }

    /// The detector of `observer` says what it thinks of `whom`, if that is new. True if it is.
    pub(super) fn tell(&mut self, observer: NodeId, whom: NodeId, suspect: bool) -> bool {
        match self.troubles.health(observer) {
            Health::Down => return false,
            Health::Paused => {
                let life = self.troubles.life(observer);
                self.troubles.hold(observer, Event::Tell { observer, life, whom, suspect });
                return false;
            }
            Health::Up => {}
        }
        let suspects = &mut self.members[observer.index()].suspects;
        let new = if suspect { suspects.insert(whom) } else { suspects.remove(whom) };
        if !new {
            return false;
        }
        self.disturbed();
        if suspect {
            self.tally.suspicions += 1;
            if !self.troubles.is_down(whom) {
                self.tally.false_suspicions += 1;
            }
            self.record(observer, || What::Suspect { whom });
            self.give(observer, Input::Command(Notice::Suspect(whom)));
        } else {
            self.record(observer, || What::Trust { whom });
            self.give(observer, Input::Command(Notice::Trust(whom)));
        }
        true
    }

    fn trust_if_nobody_doubts(&mut self, whom: NodeId) {
        let doubted = self.members.iter().any(|member| member.suspects.contains(whom));
        if !doubted && !self.troubles.is_down(whom) {
            self.leadership.trusted(whom);
        }
    }

    /// Plans the next false suspicion, if there are any.
    pub(super) fn plan_rumour(&mut self) {
        if let Detector::Imperfect { rate, .. } = self.detection.detector {
            let at = self.now + ticks(self.detection.chance.exponential() / rate);
            if at < self.scenario.until {
                self.queue.push(at, Event::Rumour);
            }
        }
    }

    /// Somebody who is up suspects somebody else who is alive, for a while.
    pub(super) fn rumour(&mut self) {
        let Detector::Imperfect { lasting, .. } = self.detection.detector else { return };
        let chance = &mut self.detection.chance;
        let n = self.nodes.len() as u64;
        let [observer, whom] = [0; 2].map(|_: u8| NodeId::new(chance.below(n) as usize));
        let length = ticks(lasting * chance.exponential());
        let possible = self.troubles.health(observer) == Health::Up && !self.troubles.is_down(whom);
        if observer != whom && possible && self.tell(observer, whom, true) {
            let life = self.troubles.life(observer);
            self.queue.push(self.now + length, Event::Withdraw { observer, life, whom });
        }
        self.plan_rumour();
    }

    /// A false suspicion is over, unless it has come true.
    pub(super) fn withdraw(&mut self, observer: NodeId, life: u32, whom: NodeId) {
        if self.troubles.is_same_life(observer, life) && !self.troubles.is_down(whom) {
            self.tell(observer, whom, false);
            self.trust_if_nobody_doubts(whom);
        }
    }

    pub(super) fn plan_random_fault(&mut self, purpose: Purpose) {
        if let Some(at) = self.troubles.next_random(purpose, self.now)
            && at < self.scenario.until
        {
            self.queue.push(at, Event::RandomFault(purpose));
        }
    }

    pub(super) fn random_fault(&mut self, purpose: Purpose) {
        if let Some((fault, until)) = self.troubles.draw(purpose, self.now) {
            self.begin_fault(fault, until);
        }
        self.plan_random_fault(purpose);
    }
}
