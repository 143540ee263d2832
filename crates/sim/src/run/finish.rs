//! What came of a run.

use skeptron_core::monitor::Stall;
use skeptron_core::mutex::Mutex;
use skeptron_core::{Message as _, NodeId};

use super::{Outcome, Simulation};
use crate::metrics::{Fairness, Load, Messages, Multicast, Report, Tally, units};
use crate::trace::Header;

impl<P: Mutex, const W: usize> Simulation<'_, P, W> {
    pub(super) fn finish(mut self) -> Outcome {
        let end = self.ended_at.unwrap_or(self.now);
        if let Some(stall) = self.stall.take() {
            let (who, how) = match &stall {
                Stall::Deadlock(who) => (who, "nothing can happen any more".to_string()),
                Stall::Livelock(who) => (who, "messages go on for ever".to_string()),
                Stall::Barren(who) => {
                    (who, format!("{} events went by without an entry", self.barren))
                }
            };
            let names: Vec<String> = who.iter().take(10).map(ToString::to_string).collect();
            let more = if who.len() > 10 { ", …" } else { "" };
            let first = who.first().copied().unwrap_or(NodeId::new(0));
            let detail = match who.len() {
                0 => format!("nobody waits, and {how}"),
                1 => format!("{first} waits, but {how}"),
                _ => format!("{}{more} wait, but {how}", names.join(", ")),
            };
            self.violate(first, "progress", detail);
            self.stall = Some(stall);
        }
        let tally = match self.finished.take() {
            Some(finished) => finished,
            // What a run did that ended in its warm-up was not measured.
            None if self.exits < self.scenario.warmup => {
                Tally::new(self.nodes.len(), P::Message::KINDS.len())
            }
            None => self.tally,
        };
        let warmup = self.exits.min(self.scenario.warmup);
        let entries = (self.exits - warmup).min(self.scenario.entries);
        let per_entry = |count: u64| if entries == 0 { 0.0 } else { count as f64 / entries as f64 };
        let duration = units(end - self.started_at);
        let report = Report {
            algorithm: self.info.name,
            nodes: self.nodes.len(),
            requesters: self.scenario.requesters.len(),
            seed: self.scenario.seed,
            warmup,
            entries,
            duration,
            messages: Messages {
                total: tally.messages,
                per_entry: per_entry(tally.messages),
                by_type: P::Message::KINDS
                    .iter()
                    .copied()
                    .zip(tally.by_kind.iter().copied())
                    .collect(),
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
                longest_bypass: tally.longest_bypass,
            },
            load: Load { max_over_mean: tally.max_over_mean() },
            client_delay: tally.client.summary(),
            response_time: tally.response.summary(),
            sync_delay: tally.sync.summary(),
            violations: self.violations,
            stalled: self.stall.is_some(),
            refused: self.refused,
            lost: self.lost,
            duplicated: self.duplicated,
            events: self.events,
            trace_hash: self.hash.to_string(),
        };
        let header = Header::of(self.info.name, &self.scenario.setup, self.scenario.order);
        let trace = self.recorder.map(|recorder| recorder.into_trace(header));
        Outcome { report, trace }
    }
}
