//! What goes wrong, and what that does to the nodes.

use skeptron_core::mutex::Mutex;
use skeptron_core::{Input, NodeId, NodeSet};

use super::{Event, Health, Purpose, Simulation};
use crate::distribution::ticks;
use crate::faults::{Cut, Fault};
use crate::trace::{Ticks, What};

impl<P: Mutex, const W: usize> Simulation<'_, P, W> {
    pub(super) fn begin_fault(&mut self, fault: Fault, until: Option<Ticks>) {
        let whom = match fault {
            Fault::Crash(node) => {
                self.crash(node, until);
                Some(node)
            }
            Fault::Pause(node) => {
                self.pause(node, until);
                Some(node)
            }
            Fault::Cut(cut) => {
                self.cuts.push((until, cut));
                None
            }
        };
        if let Some(until) = until {
            self.queue.push(until, Event::End(whom));
        }
    }

    /// Ends what ends now: an event for the end of a fault that another one has replaced finds
    /// nothing to do.
    pub(super) fn end_fault(&mut self, whom: Option<NodeId>) {
        let now = Some(self.now);
        match whom {
            None => self.cuts.retain(|(until, _)| *until != now),
            Some(node) if self.until[node.index()] != now => {}
            Some(node) => match self.health[node.index()] {
                Health::Down => self.restart(node),
                Health::Paused => self.resume(node),
                Health::Up => {}
            },
        }
    }

    fn crash(&mut self, node: NodeId, until: Option<Ticks>) {
        let i = node.index();
        if self.health[i] == Health::Down {
            return;
        }
        self.until[i] = until;
        self.record(node, || What::Crash);
        self.health[i] = Health::Down;
        self.lives[i] += 1;
        let queued = self.applications.forget(node);
        let asked = std::mem::take(&mut self.requests[i]).open;
        if self.applications.are_sequential() && (asked || queued) {
            self.plan_next(node);
        }
        self.exclusion.leave(node);
        self.progress.forget(node);
        self.order.forget(node);
        self.release_held(node);
    }

    fn restart(&mut self, node: NodeId) {
        let i = node.index();
        // It was built once already, so it can be built again.
        if let Ok(mut fresh) = P::build(self.info.name, &self.scenario.setup) {
            self.nodes[i] = fresh.swap_remove(i);
        }
        self.fences[i] = skeptron_core::monitor::Fence::default();
        self.health[i] = Health::Up;
        self.record(node, || What::Restart);
        self.step(node, Input::Start);
        if self.applications.restarts_asking(node) {
            self.plan_next(node);
        }
    }

    /// A pause within a pause makes it longer, if it ends later.
    fn pause(&mut self, node: NodeId, until: Option<Ticks>) {
        let i = node.index();
        match self.health[i] {
            Health::Up => {
                self.health[i] = Health::Paused;
                self.until[i] = until;
                self.record(node, || What::Pause);
            }
            Health::Paused => self.until[i] = self.until[i].zip(until).map(|(a, b)| a.max(b)),
            Health::Down => {}
        }
    }

    fn resume(&mut self, node: NodeId) {
        self.health[node.index()] = Health::Up;
        self.record(node, || What::Resume);
        self.release_held(node);
        self.request_if_idle(node);
    }

    /// What happens to a paused node happens when it goes on, in the same order.
    pub(super) fn hold(&mut self, node: NodeId, event: Event<P::Message, W>) {
        if self.held.is_empty() {
            self.held.resize_with(self.nodes.len(), Default::default);
        }
        self.held[node.index()].push_back(event);
    }

    fn release_held(&mut self, node: NodeId) {
        while let Some(event) = self.held.get_mut(node.index()).and_then(|held| held.pop_front()) {
            self.handle(event);
        }
    }

    pub(super) fn plan_random_fault(&mut self, kind: usize) {
        if let (purpose, Some(fault), chance) = &mut self.fault_chances[kind] {
            let at = self.now + ticks(chance.exponential() / fault.rate);
            self.queue.push(at, Event::RandomFault(*purpose));
        }
    }

    pub(super) fn random_fault(&mut self, purpose: Purpose) {
        if self.ended_at.is_some() {
            return;
        }
        let Some(kind) = self.fault_chances.iter().position(|(p, ..)| *p == purpose) else {
            return;
        };
        let n = self.nodes.len() as u64;
        let (_, fault, chance) = &mut self.fault_chances[kind];
        let end = fault
            .and_then(|fault| fault.lasting)
            .map(|mean| self.now + ticks(mean * chance.exponential()));
        let fault = if purpose == Purpose::Partition {
            let from: NodeSet = NodeId::all(n as usize).filter(|_| chance.happens(0.5)).collect();
            let to = NodeId::all(n as usize).filter(|&node| !from.contains(node)).collect();
            Fault::Cut(Cut { from, to, both_ways: chance.happens(0.5) })
        } else {
            let node = NodeId::new(chance.below(n) as usize);
            if self.health[node.index()] != Health::Up {
                return self.plan_random_fault(kind);
            }
            if purpose == Purpose::Crash { Fault::Crash(node) } else { Fault::Pause(node) }
        };
        self.begin_fault(fault, end);
        self.plan_random_fault(kind);
    }
}
