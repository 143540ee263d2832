//! Entering and leaving the section: where a run is judged and measured.

use skeptron_core::{Lock, NodeId};

use super::{Act, Sections};
use crate::engine::{Control, Plan};
use crate::metrics::Tally;
use crate::trace::What;
use crate::workload::Workload;

impl<const W: usize> Sections<'_, W> {
    /// The algorithm lets `node` in.
    pub(super) fn enter(&mut self, agenda: &mut dyn Plan<Act>, node: NodeId) {
        let fence = self.fences[node.index()].enter();
        self.record(node, || What::Enter { fence });
        let other = self.exclusion.enter(node);
        let is_promised = self.recovery.enter(other.is_some());
        if !self.progress.is_waiting(node) {
            self.env.violate(node, "exclusion", format!("{node} enters without having asked"));
        }
        if let Some(other) = other.filter(|_| is_promised) {
            let detail = format!("{node} enters while {other} is inside{}", self.rule());
            self.env.violate(node, "exclusion", detail);
        }
        // Entries that share the section are not ordered.
        if self.is_exclusive
            && is_promised
            && let Some(before) = self.fence_monitor.enter(node, fence)
        {
            let detail =
                format!("{node} enters with fence {fence} after fence {before} was given out");
            self.env.violate(node, "fence", detail);
        }
        let overtaken = self.order.enter(node);
        if overtaken > 0 && self.info.claims.ordered && self.keeps_assumptions() {
            let detail = format!("{node} overtakes {overtaken} older request(s) that it knew of");
            self.env.violate(node, "order", detail);
        }
        let overtakes = self.oldest_before(node);
        let bypass = self.progress.enter(node);
        self.judge_bypass(node, bypass);
        self.barren = 0;
        let vacancy = self.vacancies.pop_front();
        let request = self.requests[node.index()];
        if self.is_measuring() {
            self.tally.entered(node);
            self.tally.inversions += u64::from(overtaken > 0);
            self.tally.overtakings += u64::from(overtakes);
            self.tally.bypassed(node, bypass);
            self.tally.client.add(self.env.now - request.at);
            // Only where the node already waited at that exit.
            if let Some((exit, exits)) = vacancy
                && request.exits < exits
            {
                self.tally.sync.add(self.env.now - exit);
            }
        }
        if !self.scenario.hand.holds {
            let at = self.env.now + self.applications.section(node);
            agenda.plan(at, Act::Leave { node, life: self.env.troubles.life(node) });
        }
    }

    /// Who may be inside together, where that is not plain mutual exclusion.
    #[cold]
    fn rule(&self) -> String {
        let admission = self.exclusion.admission();
        if self.is_exclusive { String::new() } else { format!("; {admission}") }
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
        if let Some(most) = self.most_bypasses
            && bypass as f64 > most
            && self.keeps_assumptions()
        {
            let detail =
                format!("{bypass} others enter while {node} waits, claimed are at most {most}");
            self.env.violate(node, "starvation", detail);
        }
    }

    fn is_measuring(&self) -> bool {
        self.exits >= self.scenario.warmup && self.ended_at.is_none()
    }

    /// The application of `node` leaves the section.
    pub(super) fn leave(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        if self.is_measuring() {
            self.tally.response.add(self.env.now - self.requests[node.index()].at);
        }
        let was_full = self.exclusion.is_full();
        self.exclusion.leave(node);
        let by_hand = self.requests[node.index()].by_hand;
        self.requests[node.index()].open = false;
        self.exits += 1;
        if was_full {
            if self.is_exclusive {
                self.vacancies.clear();
            }
            self.vacancies.push_back((self.env.now, self.exits));
        }
        self.record(node, || What::Release);
        nodes.command(self, node, Lock::Release);
        if self.exits == self.scenario.warmup {
            self.tally = Tally::new(self.env.nodes, self.kinds.len());
            self.started_at = self.env.now;
        }
        let enough = self.exits == self.scenario.warmup + self.scenario.entries;
        if enough && self.scenario.workload != Workload::None {
            self.end_measuring();
        }
        if !by_hand {
            self.plan_next(nodes, node);
        }
        self.request_if_idle(nodes, node);
    }

    /// What follows of its own accord when a request of `node` is over.
    pub(super) fn plan_next(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        if self.ended_at.is_some() {
            return;
        }
        let is_up = |node: NodeId| !self.env.troubles.is_down(node);
        if let Some(plan) = self.applications.after_exit(node, self.env.now, is_up) {
            self.plan(nodes, plan);
        }
    }

    /// Waits that have not ended are no less real.
    pub(super) fn count_unended(&mut self) {
        if self.progress.waiting() == 0 {
            return;
        }
        let wait = |node: NodeId| {
            let waited = self.env.now - self.requests[node.index()].at;
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
        self.ended_at = Some(self.env.now);
        self.recovery.limit(self.env.events, self.env.nodes);
        let rest = Tally::new(self.env.nodes, self.kinds.len());
        self.finished = Some(std::mem::replace(&mut self.tally, rest));
        self.applications.forget_all();
    }
}
