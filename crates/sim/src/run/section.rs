//! Entering and leaving the section: where a run is judged and measured.

use skeptron_core::mutex::Mutex;
use skeptron_core::{Input, Lock, Message as _, NodeId};

use super::{Event, Simulation};
use crate::metrics::Tally;
use crate::trace::What;
use crate::workload::Workload;

impl<P: Mutex, const W: usize> Simulation<'_, P, W> {
    /// The algorithm lets `node` in.
    pub(super) fn enter(&mut self, node: NodeId) {
        let fence = self.fences[node.index()].enter();
        self.record(node, || What::Enter { fence });
        if !self.progress.is_waiting(node) {
            self.violate(node, "exclusion", format!("{node} enters without having asked"));
        }
        if let Some(other) = self.exclusion.enter(node) {
            self.violate(node, "exclusion", format!("{node} enters while {other} is inside"));
        }
        if let Some(before) = self.fence_monitor.enter(fence) {
            let detail =
                format!("{node} enters with fence {fence} after fence {before} was given out");
            self.violate(node, "fence", detail);
        }
        let overtaken = self.order.enter(node);
        if overtaken > 0 && self.info.claims.ordered && self.keeps_assumptions() {
            let detail = format!("{node} overtakes {overtaken} older request(s) that it knew of");
            self.violate(node, "order", detail);
        }
        let overtakes = self.oldest_before(node);
        let bypass = self.progress.enter(node);
        self.judge_bypass(node, bypass);
        self.barren = 0;
        let last_exit = self.last_exit.take();
        let request = self.requests[node.index()];
        if self.is_measuring() {
            self.tally.entered(node);
            self.tally.inversions += u64::from(overtaken > 0);
            self.tally.overtakings += u64::from(overtakes);
            self.tally.bypassed(node, bypass);
            self.tally.client.add(self.now - request.at);
            // Only where the node already waited at the last exit.
            if let Some(exit) = last_exit
                && request.exits < self.exits
            {
                self.tally.sync.add(self.now - exit);
            }
        }
        if !self.scenario.hand.holds {
            let at = self.now + self.applications.section(node);
            self.queue.push(at, Event::Leave { node, life: self.troubles.life(node) });
        }
    }

    /// Whether a request waits that was made before that of `node`.
    fn oldest_before(&mut self, node: NodeId) -> bool {
        while let Some(&(made, other)) = self.by_age.front() {
            let waits =
                self.progress.is_waiting(other) && self.requests[other.index()].made == made;
            if waits && other != node {
                return made < self.requests[node.index()].made;
            }
            self.by_age.pop_front();
        }
        false
    }

    /// More entries of others than the algorithm claims: somebody starves.
    pub(super) fn judge_bypass(&mut self, node: NodeId, bypass: u64) {
        if bypass as f64 > self.most_bypasses && self.keeps_assumptions() {
            let most = self.most_bypasses;
            let detail =
                format!("{bypass} others enter while {node} waits, claimed are at most {most}");
            self.violate(node, "starvation", detail);
        }
    }

    fn is_measuring(&self) -> bool {
        self.exits >= self.scenario.warmup && self.ended_at.is_none()
    }

    /// The application of `node` leaves the section.
    pub(super) fn leave(&mut self, node: NodeId) {
        if self.is_measuring() {
            self.tally.response.add(self.now - self.requests[node.index()].at);
        }
        self.exclusion.leave(node);
        let by_hand = self.requests[node.index()].by_hand;
        self.requests[node.index()].open = false;
        self.exits += 1;
        self.last_exit = Some(self.now);
        self.record(node, || What::Release);
        self.step(node, Input::Command(Lock::Release));
        if self.exits == self.scenario.warmup {
            self.tally = Tally::new(self.nodes.len(), P::Message::KINDS.len());
            self.started_at = self.now;
        }
        let enough = self.exits == self.scenario.warmup + self.scenario.entries;
        if enough && self.scenario.workload != Workload::None {
            self.end_measuring();
        }
        if !by_hand {
            self.plan_next(node);
        }
        self.request_if_idle(node);
    }

    /// What follows of its own accord when a request of `node` is over.
    pub(super) fn plan_next(&mut self, node: NodeId) {
        if self.ended_at.is_some() {
            return;
        }
        let is_up = |node: NodeId| !self.troubles.is_down(node);
        if let Some(plan) = self.applications.after_exit(node, self.now, is_up) {
            self.plan(plan);
        }
    }

    /// Waits that have not ended are no less real.
    pub(super) fn count_unended(&mut self) {
        let wait = |node: NodeId| {
            let waited = self.now - self.requests[node.index()].at;
            (node, waited, self.progress.bypass(node))
        };
        let waits: Vec<_> = self.progress.who_waits().into_iter().map(wait).collect();
        for &(node, _, bypass) in &waits {
            self.judge_bypass(node, bypass);
        }
        self.tally.count_unended(waits.into_iter());
    }

    /// Enough was measured: nobody asks any more, and whoever waits is still served.
    fn end_measuring(&mut self) {
        self.count_unended();
        self.ended_at = Some(self.now);
        self.finished = Some(self.tally.clone());
        for node in NodeId::all(self.nodes.len()) {
            self.applications.forget(node);
        }
    }
}
