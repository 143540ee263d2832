//! What goes wrong, and what that does to the nodes.

use skeptron_core::mutex::Mutex;
use skeptron_core::{Input, NodeId};

use super::{Event, Simulation};
use crate::chance::Purpose;
use crate::faults::Fault;
use crate::trace::{Ticks, What};
use crate::troubles::Turn;

impl<P: Mutex, const W: usize> Simulation<'_, P, W> {
    pub(super) fn begin_fault(&mut self, fault: Fault, until: Option<Ticks>) {
        let (whom, turn) = self.troubles.begin(fault, until);
        self.turn(turn);
        if let Some(until) = until {
            self.queue.push(until, Event::End(whom));
        }
    }

    pub(super) fn end_fault(&mut self, whom: Option<NodeId>) {
        let turn = self.troubles.end(whom, self.now);
        self.turn(turn);
    }

    pub(super) fn turn(&mut self, turn: Option<Turn>) {
        match turn {
            Some(Turn::Crashes(node)) => self.crash(node),
            Some(Turn::Restarts(node)) => self.restart(node),
            Some(Turn::Pauses(node)) => self.record(node, || What::Pause),
            Some(Turn::Resumes(node)) => self.resume(node),
            None => {}
        }
    }

    fn crash(&mut self, node: NodeId) {
        self.record(node, || What::Crash);
        let queued = self.applications.forget(node);
        let request = std::mem::take(&mut self.requests[node.index()]);
        let asked = request.open && !request.by_hand;
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
        self.record(node, || What::Restart);
        self.step(node, Input::Start);
        if self.applications.restarts_asking(node) {
            self.plan_next(node);
        }
    }

    fn resume(&mut self, node: NodeId) {
        self.record(node, || What::Resume);
        self.release_held(node);
        self.request_if_idle(node);
    }

    fn release_held(&mut self, node: NodeId) {
        while let Some(event) = self.troubles.next_held(node) {
            self.handle(event);
        }
    }

    pub(super) fn plan_random_fault(&mut self, purpose: Purpose) {
        if let Some(at) = self.troubles.next_random(purpose, self.now) {
            self.queue.push(at, Event::RandomFault(purpose));
        }
    }

    pub(super) fn random_fault(&mut self, purpose: Purpose) {
        if self.ended_at.is_some() {
            return;
        }
        if let Some((fault, until)) = self.troubles.draw(purpose, self.now) {
            self.begin_fault(fault, until);
        }
        self.plan_random_fault(purpose);
    }
}
