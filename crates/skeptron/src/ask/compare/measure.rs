//! The runs behind a comparison, and what they are held against.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, ensure};
use serde::Serialize;
use skeptron_core::Claim;
use skeptron_core::catalogue::Info;
use skeptron_core::claims::{Condition, Quantity};
use skeptron_sim::claims::Excluded;
use skeptron_sim::trace::TICKS_PER_UNIT;
use skeptron_sim::{Options, Report, Scenario, ScenarioError, run};

use super::{Claimed, CompareRequest, CompareRow, Estimate, Files, Judged, NotCompared};

/// Who asks how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    /// One node, once.
    First,
    /// The same node again and again.
    Again,
    /// One node at a time, uniformly chosen.
    Uniform,
    /// Everybody, all the time.
    Saturated,
}

impl Load {
    const ALL: [Load; 4] = [Load::First, Load::Again, Load::Uniform, Load::Saturated];

    /// What is measured under it.
    fn figures(self) -> &'static [Figure] {
        match self {
            Load::First => &[Figure::MessagesFirst, Figure::ClientDelayFirst],
            Load::Again => &[Figure::MessagesAgain, Figure::ClientDelayAgain],
            Load::Uniform => &[Figure::MessagesUniform],
            Load::Saturated => &[
                Figure::MessagesSaturated,
                Figure::SyncDelay,
                Figure::Throughput,
                Figure::Jain,
                Figure::LongestBypass,
                Figure::Inversions,
                Figure::Overtakings,
                Figure::LoadBalance,
            ],
        }
    }
}

/// One scenario to run, with as many seeds as are needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    info: &'static Info,
    nodes: usize,
    load: Load,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Figure {
    /// Messages of the first entry of a lone requester.
    MessagesFirst,
    /// Messages of its further entries.
    MessagesAgain,
    /// Messages per entry, one uniformly chosen requester at a time.
    MessagesUniform,
    /// Messages per entry, saturated.
    MessagesSaturated,
    /// Request to entry of a lone requester, first time.
    ClientDelayFirst,
    /// Request to entry of a lone requester, further times.
    ClientDelayAgain,
    /// Exit to next entry, saturated.
    SyncDelay,
    /// Entries per unit of time, saturated.
    Throughput,
    /// Jain's index over the entries of each node, saturated: 1 is even.
    Jain,
    /// The most entries of others during one wait, saturated.
    LongestBypass,
    /// Share of the entries that overtook a request that happened before, saturated.
    Inversions,
    /// Share of the entries that overtook a request that was made before, saturated.
    Overtakings,
    /// Messages of the busiest node over the mean of all nodes, saturated.
    LoadBalance,
}

impl Figure {
    pub(crate) const ALL: [Figure; 13] = [
        Figure::MessagesFirst,
        Figure::MessagesAgain,
        Figure::MessagesUniform,
        Figure::MessagesSaturated,
        Figure::ClientDelayFirst,
        Figure::ClientDelayAgain,
        Figure::SyncDelay,
        Figure::Throughput,
        Figure::Jain,
        Figure::LongestBypass,
        Figure::Inversions,
        Figure::Overtakings,
        Figure::LoadBalance,
    ];

    /// Those of which something is claimed.
    pub(crate) const CLAIMED: &'static [Figure] = Self::ALL.split_at(8).0;

    /// Those that tell how evenly time and work are shared.
    pub(crate) const SHARED: &'static [Figure] = Self::ALL.split_at(8).1;

    /// What it is called in CSV and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Figure::MessagesFirst => "messages_first",
            Figure::MessagesAgain => "messages_again",
            Figure::MessagesUniform => "messages_uniform",
            Figure::MessagesSaturated => "messages_saturated",
            Figure::ClientDelayFirst => "client_delay_first",
            Figure::ClientDelayAgain => "client_delay_again",
            Figure::SyncDelay => "sync_delay",
            Figure::Throughput => "throughput",
            Figure::Jain => "jain",
            Figure::LongestBypass => "longest_bypass",
            Figure::Inversions => "inversions",
            Figure::Overtakings => "overtakings",
            Figure::LoadBalance => "load_balance",
        }
    }

    /// What it measures, and under which load.
    fn about(self) -> Option<(Quantity, Condition)> {
        Some(match self {
            Figure::MessagesFirst => (Quantity::Messages, Condition::First),
            Figure::MessagesAgain => (Quantity::Messages, Condition::Again),
            Figure::MessagesUniform => (Quantity::Messages, Condition::OneAtATime),
            Figure::MessagesSaturated => (Quantity::Messages, Condition::Saturated),
            Figure::ClientDelayFirst => (Quantity::ClientDelay, Condition::First),
            Figure::ClientDelayAgain => (Quantity::ClientDelay, Condition::Again),
            Figure::SyncDelay => (Quantity::SyncDelay, Condition::Saturated),
            _ => return None,
        })
    }

    /// What an algorithm claims of it, whatever the conditions.
    pub(crate) fn claim(self, info: &Info) -> Option<Claim> {
        let (quantity, load) = self.about()?;
        info.claims.under(load, quantity).map(|published| published.claim)
    }

    /// What is claimed of it in that scenario, and what would be in another one. Throughput follows from
    /// the synchronisation delay, if nobody can enter twice while a message is on its way.
    fn claimed(self, info: &Info, scenario: &Scenario) -> (Option<Claimed>, Option<Excluded>) {
        if let Some((quantity, _)) = self.about() {
            let (expected, excluded) = scenario.claimed(info, quantity);
            // A figure is measured under one load; claims for others are other figures.
            let is_here = |claim: &Excluded| !claim.unmet.iter().any(|unmet| unmet.is_load());
            return (expected.as_ref().map(Claimed::of), excluded.filter(is_here));
        }
        let section = scenario.section.as_constant().filter(|&section| {
            self == Figure::Throughput
                && scenario.latency.most().is_some_and(|most| section >= most)
        });
        let sync = scenario.claimed(info, Quantity::SyncDelay).0;
        let throughput = section.zip(sync).map(|(section, sync)| {
            Claimed::throughput(&sync, section as f64 / TICKS_PER_UNIT as f64)
        });
        (throughput, None)
    }

    /// Its value in one run; `None` where there is nothing to measure.
    fn measured(self, report: &Report) -> Option<f64> {
        let handed_over = report.sync_delay.count > 0;
        match self {
            Figure::MessagesFirst
            | Figure::MessagesAgain
            | Figure::MessagesUniform
            | Figure::MessagesSaturated => Some(report.messages.per_entry),
            Figure::ClientDelayFirst | Figure::ClientDelayAgain => Some(report.client_delay.mean),
            Figure::SyncDelay => handed_over.then_some(report.sync_delay.mean),
            Figure::Throughput => handed_over.then_some(report.throughput),
            Figure::Jain => Some(report.fairness.jain),
            Figure::LongestBypass => Some(report.fairness.longest_bypass as f64),
            Figure::Inversions => report.fairness.inversions.map(|count| share(count, report)),
            Figure::Overtakings => Some(share(report.fairness.overtakings, report)),
            Figure::LoadBalance => Some(report.load.max_over_mean),
        }
    }

    /// What it is called in prose.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Figure::MessagesFirst => "Messages, lone requester, first entry",
            Figure::MessagesAgain => "Messages, lone requester, again",
            Figure::MessagesUniform => "Messages, one at a time",
            Figure::MessagesSaturated => "Messages, saturated",
            Figure::ClientDelayFirst => "Client delay, first entry",
            Figure::ClientDelayAgain => "Client delay, again",
            Figure::SyncDelay => "Synchronisation delay, saturated",
            Figure::Throughput => "Throughput, saturated",
            Figure::Jain => "Fairness (Jain’s index), saturated",
            Figure::LongestBypass => "Longest bypass, saturated",
            Figure::Inversions => "Overtakings by happened-before, saturated",
            Figure::Overtakings => "Overtakings by request time, saturated",
            Figure::LoadBalance => "Load balance, saturated",
        }
    }
}

/// A part of the entries.
fn share(count: u64, report: &Report) -> f64 {
    count as f64 / report.entries.max(1) as f64
}

/// One figure of one algorithm at one N.
pub(crate) type Row = CompareRow<Figure>;

impl Job {
    /// The jobs for one algorithm at one N.
    pub(crate) fn all(info: &'static Info, nodes: usize) -> Vec<Job> {
        Load::ALL.map(|load| Job { info, nodes, load }).into()
    }

    /// Runs it, with as many seeds as are needed; `stop` ends it between two runs, or in one.
    pub(crate) fn measure(
        &self,
        args: &CompareRequest,
        stop: &Arc<AtomicBool>,
        files: Files,
    ) -> Result<Vec<Row>> {
        let scenario = self.scenario(args, files)?;
        let has_chance = self.load == Load::Uniform
            || scenario.latency.as_constant().is_none()
            || scenario.section.as_constant().is_none();
        let seeds = if has_chance { args.seeds() } else { 1 };
        let options = Options { stop: Some(stop.clone()), ..Options::default() };
        let runs = (1..=seeds).map(|seed| {
            ensure!(!stop.load(Ordering::Relaxed), ScenarioError::Stopped);
            Ok(run(self.info, &Scenario { seed, ..scenario.clone() }, &options)?.report)
        });
        let reports: Vec<Report> = runs.collect::<Result<_>>()?;
        // One run of chance has no interval to judge by.
        let is_judged = !has_chance || seeds > 1;
        let row = |&figure: &Figure| {
            let values: Option<Vec<f64>> = reports.iter().map(|r| figure.measured(r)).collect();
            let measured = values.map(|values| Estimate::of(&values));
            let (claimed, excluded) = figure.claimed(self.info, &scenario);
            let not_compared = excluded.map(NotCompared::from);
            let judged = Judged { not_compared, ..Judged::new(claimed, measured, is_judged) };
            Row { algorithm: self.info.name, case: None, nodes: self.nodes, figure, judged }
        };
        Ok(self.load.figures().iter().map(row).collect())
    }

    /// What is claimed of everything that it measures.
    pub(super) fn claims(
        &self,
        args: &CompareRequest,
        files: Files,
    ) -> Result<Vec<(Figure, Claimed)>> {
        let scenario = self.scenario(args, files)?;
        let claimed = |&figure: &Figure| Some((figure, figure.claimed(self.info, &scenario).0?));
        Ok(self.load.figures().iter().filter_map(claimed).collect())
    }

    fn scenario(&self, args: &CompareRequest, files: Files) -> Result<Scenario> {
        let mut sim = args.sim(self.info, self.nodes);
        let many = args.entries.unwrap_or((20 * self.nodes as u64).clamp(400, 4000));
        match self.load {
            Load::First => {
                (sim.requesters, sim.warmup, sim.entries) = (Some("1".into()), Some(0), Some(1))
            }
            Load::Again => {
                (sim.requesters, sim.warmup, sim.entries) = (Some("1".into()), Some(1), Some(10))
            }
            Load::Uniform => {
                sim.workload = Some("sequential".into());
                // Everything of one request has arrived before the next one.
                sim.think = Some("100".into());
                (sim.warmup, sim.entries) = (Some(2 * self.nodes as u64), Some(many.max(2000)));
            }
            Load::Saturated => {
                (sim.warmup, sim.entries) = (Some(4 * self.nodes as u64), Some(many))
            }
        }
        Ok(sim.scenario(files)?.1)
    }
}

impl Row {
    /// The one about this.
    pub(crate) fn find<'a>(
        rows: &'a [Row],
        algorithm: &str,
        nodes: usize,
        figure: Figure,
    ) -> Option<&'a Judged> {
        let is_it =
            |row: &&Row| row.algorithm == algorithm && row.nodes == nodes && row.figure == figure;
        rows.iter().find(is_it).map(|row| &row.judged)
    }
}
