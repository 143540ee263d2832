//! The end of a run: what is reported of it.

use skeptron_core::monitor::Stall;

use super::super::report::{Concurrency, KindsReport, Upgrades, UsageReport};
use super::{KindsOutcome, Measured, Occupants};
use crate::metrics::units;

impl Occupants<'_> {
    /// Puts together what was measured.
    pub(super) fn report(mut self) -> KindsOutcome {
        if let Some(Stall::Deadlock(who) | Stall::Livelock(who) | Stall::Barren(who)) = &self.stall
        {
            let names: Vec<String> = who.iter().map(ToString::to_string).collect();
            self.violate("progress", format!("{} wait for ever", names.join(", ")));
        }
        self.pass_time();
        let Measured { messages, bytes, by_kind, upgraded, denied, downgraded, given_up, .. } =
            self.measured;
        let entries: u64 = self.accounts.iter().map(|account| account.entries).sum();
        let ticks = self.ended.unwrap_or(self.env.now) - self.started_at;
        let per_entry = |count: u64, entries: u64| count as f64 / entries.max(1) as f64;
        let names = self.labels.iter().copied();
        let usages = self.usages.iter().zip(self.accounts).map(|(usage, account)| UsageReport {
            usage: usage.to_string(),
            entries: account.entries,
            messages_per_entry: per_entry(account.messages, account.entries),
            client_delay: account.client.summary(),
            longest_bypass: account.longest_bypass,
        });
        let usages: Vec<UsageReport> = usages.collect();
        let report = KindsReport {
            algorithm: self.info.name,
            nodes: self.env.nodes,
            requesters: self.scenario.requesters.len(),
            seed: self.scenario.seed,
            warmup: self.scenario.warmup,
            entries,
            duration: units(ticks),
            messages,
            messages_per_entry: per_entry(messages, entries),
            by_type: names.zip(by_kind).collect(),
            bytes,
            upgrades: Upgrades {
                upgraded,
                denied,
                downgraded,
                delay: self.measured.upgrade_delay.summary(),
            },
            concurrency: Concurrency {
                mean: self.measured.occupied as f64 / ticks.max(1) as f64,
                most: self.measured.most,
            },
            throughput: if ticks == 0 { 0.0 } else { entries as f64 / units(ticks) },
            longest_bypass: usages.iter().map(|usage| usage.longest_bypass).max().unwrap_or(0),
            usages,
            given_up,
            violations: self.env.violations,
            stalled: self.stall.is_some(),
            refused: self.env.refused,
            events: self.env.events,
            trace_hash: self.env.hash.to_string(),
        };
        KindsOutcome { report, timeline: self.timeline.unwrap_or_default() }
    }
}
