//! What came of a run.

use skeptron_core::NodeId;
use skeptron_core::monitor::Stall;

use super::{Outcome, Sections, most_barren};
use crate::metrics::{Fairness, Load, Messages, Multicast, Report, Tally, units};
use crate::scenario::ScenarioError;
use crate::trace::Header;
use crate::troubles::Health;
use crate::workload::Workload;

impl<const W: usize> Sections<'_, W> {
    /// Puts together what was measured.
    pub(super) fn report(mut self) -> Result<Outcome, ScenarioError> {
        if self.ended_at.is_none() && !self.env.cut_short {
            self.count_unended();
        }
        let end = self.ended_at.unwrap_or(self.env.now);
        let tally = match self.finished.take() {
            Some(finished) => finished,
            // What a run did that ended in its warm-up was not measured.
            None if self.exits < self.scenario.warmup => {
                Tally::new(self.env.nodes, self.kinds.len())
            }
            None => self.tally,
        };
        let warmup = self.exits.min(self.scenario.warmup);
        let most = match self.scenario.workload {
            Workload::None => u64::MAX,
            _ => self.scenario.entries,
        };
        let entries = (self.exits - warmup).min(most);
        let per_entry = |count: u64| if entries == 0 { 0.0 } else { count as f64 / entries as f64 };
        let duration = units(end - self.started_at);
        let records = self.env.records();
        let report = Report {
            algorithm: self.info.name,
            nodes: self.env.nodes,
            requesters: self.scenario.requesters.len(),
            seed: self.scenario.seed,
            warmup,
            entries,
            duration,
            messages: Messages {
                total: tally.messages,
                per_entry: per_entry(tally.messages),
                by_type: self.kinds.iter().copied().zip(tally.by_kind.iter().copied()).collect(),
                bytes: tally.bytes,
                multicast: Multicast {
                    total: tally.multicast,
                    per_entry: per_entry(tally.multicast),
                },
            },
            throughput: if duration > 0.0 { entries as f64 / duration } else { 0.0 },
            fairness: Fairness {
                // The monitor counts those of the whole run, if it watches at all.
                inversions: self.order.is_watching().then_some(tally.inversions),
                order_claimed: self.info.claims.ordered,
                jain: tally.jain(&self.scenario.requesters),
                overtakings: tally.overtakings,
                longest_bypass: tally.longest_bypass,
                longest_bypass_of: tally.longest_bypass_of,
                bypass_claimed: self.most_bypasses,
            },
            load: Load { max_over_mean: tally.max_over_mean() },
            unended: tally.unended,
            client_delay: tally.client.summary(),
            response_time: tally.response.summary(),
            sync_delay: tally.sync.summary(),
            recovery: self.recovery.report(),
            violations: self.env.violations,
            stalled: self.stalled.is_some(),
            refused: self.env.refused,
            lost: self.env.lost,
            duplicated: self.env.duplicated,
            events: self.env.events,
            trace_hash: self.env.hash.to_string(),
        };
        let header = || Header::of(self.info.name, &self.scenario.setup, self.scenario.order);
        let trace = self.env.recorder.map(|recorder| recorder.into_trace(header()));
        let acted = self.env.played.into_places(records)?;
        Ok(Outcome { report, trace, cut_short: self.env.cut_short, acted })
    }

    /// Never to come to a legitimate state is a violation, unless the run was cut short, or a hand plays it.
    pub(super) fn say_illegitimate(&mut self) {
        let is_whole = !self.env.cut_short && self.scenario.hand.is_idle();
        if self.recovery.is_awaited() && is_whole {
            let detail = "the state never becomes legitimate".to_string();
            self.env.violate(NodeId::new(0), "convergence", detail);
        }
    }

    /// Nobody has entered for long. True if all that goes on is a token that nobody wants, or requests
    /// that wait at their nodes for what only the hand can do.
    #[cold]
    pub(super) fn lose_patience(&mut self) -> bool {
        if self.barren > most_barren(self.env.nodes) {
            self.stall = Some(Stall::Barren(self.progress.who_waits()));
        }
        let is_time = self.barren.is_multiple_of(self.patience) && self.env.played.next().is_none();
        if !is_time || !self.faults_are_over() {
            return false;
        }
        let records = self.env.records();
        let nothing_happens = std::mem::replace(&mut self.records_then, records) == records;
        let nobody_wants = self.scenario.workload == Workload::None && self.is_idle();
        nobody_wants || nothing_happens && !self.scenario.hand.is_idle()
    }

    /// Whether nothing more is planned to go wrong.
    fn faults_are_over(&self) -> bool {
        let planned = self.scenario.faults.planned.iter();
        planned.map(|fault| fault.until.unwrap_or(fault.from)).all(|end| end < self.env.now)
    }

    /// Whether requests from outside, which have no end, all come to nodes that wait already, where they only
    /// queue. If nothing else is to happen, nothing ever will.
    #[cold]
    pub(super) fn nobody_can_ask(&self) -> bool {
        let can_ask = |node: &NodeId| {
            self.env.troubles.health(*node) == Health::Up && !self.progress.is_waiting(*node)
        };
        let callers = self.applications.callers();
        self.scenario.hand.is_idle() && callers.is_some_and(|callers| !callers.iter().any(can_ask))
    }

    /// Nothing can happen any more of its own accord. Somebody waits then in vain, unless for what
    /// only the hand can do.
    pub(super) fn at_rest(&self) -> Option<Stall> {
        let held = self.scenario.hand.holds && !self.exclusion.is_free();
        if held || self.env.is_paused_by_hand() { None } else { self.progress.at_rest() }
    }

    /// Somebody waits for ever: that is a violation, once for the same who do.
    pub(super) fn say_stall(&mut self) {
        let Some(stall) = self.stall.take() else { return };
        let (who, how) = match stall {
            Stall::Deadlock(who) => (who, "nothing can happen any more".to_string()),
            Stall::Livelock(who) => (who, "messages go on for ever".to_string()),
            Stall::Barren(who) => (who, format!("{} events went by without an entry", self.barren)),
        };
        if self.stalled.as_ref() == Some(&who) {
            return;
        }
        let names: Vec<String> = who.iter().take(10).map(ToString::to_string).collect();
        let more = if who.len() > 10 { ", …" } else { "" };
        let first = who.first().copied().unwrap_or(NodeId::new(0));
        let detail = match who.len() {
            0 => format!("nobody waits, and {how}"),
            1 => format!("{first} waits, but {how}"),
            _ => format!("{}{more} wait, but {how}", names.join(", ")),
        };
        self.env.violate(first, "progress", detail);
        self.stalled = Some(who);
    }
}
