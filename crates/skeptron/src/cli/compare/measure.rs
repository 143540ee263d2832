//! The runs behind a comparison, and what they are held against.

use anyhow::Result;
use serde::Serialize;
use skeptron_core::catalogue::{Claims, Info};
use skeptron_core::{Claim, Figures};
use skeptron_sim::{Options, Report, Scenario, run};

use super::super::estimate::Estimate;
use super::CompareArgs;

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

/// One scenario to run, with as many seeds as are needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    info: &'static Info,
    nodes: usize,
    load: Load,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Figure {
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
}

impl Figure {
    pub(super) const ALL: [Figure; 8] = [
        Figure::MessagesFirst,
        Figure::MessagesAgain,
        Figure::MessagesUniform,
        Figure::MessagesSaturated,
        Figure::ClientDelayFirst,
        Figure::ClientDelayAgain,
        Figure::SyncDelay,
        Figure::Throughput,
    ];

    /// What an algorithm claims of it. Throughput follows from the synchronisation delay.
    pub(super) fn claim(self, info: &Info) -> Option<Claim> {
        let claims = &info.claims;
        match self {
            Figure::MessagesFirst => Some(claims.messages_first),
            Figure::MessagesAgain => Some(claims.messages_again),
            Figure::MessagesUniform => claims.messages_uniform,
            Figure::MessagesSaturated => Some(claims.messages_saturated),
            Figure::ClientDelayFirst => Some(claims.client_first),
            Figure::ClientDelayAgain => Some(claims.client_again),
            Figure::SyncDelay => Some(claims.sync_delay),
            Figure::Throughput => None,
        }
    }

    /// What it is called in prose.
    pub(super) fn title(self) -> &'static str {
        match self {
            Figure::MessagesFirst => "Messages, lone requester, first entry",
            Figure::MessagesAgain => "Messages, lone requester, again",
            Figure::MessagesUniform => "Messages, one at a time",
            Figure::MessagesSaturated => "Messages, saturated",
            Figure::ClientDelayFirst => "Client delay, first entry",
            Figure::ClientDelayAgain => "Client delay, again",
            Figure::SyncDelay => "Synchronisation delay, saturated",
            Figure::Throughput => "Throughput, saturated",
        }
    }
}

/// One figure of one algorithm at one N: claimed and measured.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) algorithm: &'static str,
    pub(super) nodes: usize,
    pub(super) figure: Figure,
    pub(super) claim: Option<Claimed>,
    /// `None` where there is nothing to measure, such as a hand-over with a single requester.
    pub(super) measured: Option<Estimate>,
    /// Measured minus claimed: the typical value, else the nearer bound.
    pub(super) deviation: Option<f64>,
    /// Whether the bounds hold; `None` where the claim does not apply to these settings.
    pub(super) holds: Option<bool>,
}

/// A claim with its values in one system.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Claimed {
    pub(super) text: String,
    pub(super) low: f64,
    pub(super) typical: Option<f64>,
    pub(super) high: f64,
}

impl Claimed {
    fn new(claim: &Claim, figures: &Figures) -> Self {
        Claimed {
            text: claim.to_string(),
            low: claim.low.value(figures),
            typical: claim.typical.map(|typical| typical.value(figures)),
            high: claim.high.value(figures),
        }
    }

    /// The law `1 / (synchronisation delay + E)` for a section of one unit.
    fn throughput(sync: &Claim, figures: &Figures) -> Self {
        let law = |delay: f64| 1.0 / (delay + 1.0);
        let Claimed { text, low, typical, high } = Claimed::new(sync, figures);
        Claimed {
            text: match low == high {
                true => format!("1/({text} + E)"),
                false => format!("1/(({text}) + E)"),
            },
            low: law(high),
            typical: typical.map(law),
            high: law(low),
        }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

impl Job {
    /// The jobs for one algorithm at one N.
    pub(super) fn all(info: &'static Info, nodes: usize) -> Vec<Job> {
        [Load::First, Load::Again, Load::Uniform, Load::Saturated]
            .map(|load| Job { info, nodes, load })
            .into()
    }

    pub(super) fn measure(&self, args: &CompareArgs) -> Result<Vec<Row>> {
        let scenario = self.scenario(args)?;
        let has_chance = self.load == Load::Uniform
            || scenario.latency.as_constant().is_none()
            || scenario.section.as_constant().is_none();
        let seeds = if has_chance { args.seeds } else { 1 };
        let runs = (1..=seeds).map(|seed| {
            let outcome =
                run(self.info, &Scenario { seed, ..scenario.clone() }, &Options::default())?;
            Ok(outcome.report)
        });
        let reports: Vec<Report> = runs.collect::<Result<_>>()?;
        let figures = scenario.setup.figures(&scenario.requesters);
        let plain = scenario.latency.as_constant() == Some(skeptron_sim::trace::TICKS_PER_UNIT)
            && scenario.section.as_constant() == Some(skeptron_sim::trace::TICKS_PER_UNIT);
        // One run of chance has no interval to judge by.
        let certain = !has_chance || seeds > 1;
        let row = |figure, claim: Option<Claimed>, value: fn(&Report) -> Option<f64>| {
            let values: Option<Vec<f64>> = reports.iter().map(value).collect();
            let measured = values.map(|values| Estimate::of(&values));
            Row::new(self, figure, claim, measured, plain && certain)
        };
        let claimed = |claim: &Claim| Some(Claimed::new(claim, &figures));
        let messages: fn(&Report) -> Option<f64> = |report| Some(report.messages.per_entry);
        let client: fn(&Report) -> Option<f64> = |report| Some(report.client_delay.mean);
        let sync: fn(&Report) -> Option<f64> =
            |report| (report.sync_delay.count > 0).then_some(report.sync_delay.mean);
        let Claims { messages_first, messages_again, client_first, client_again, .. } =
            &self.info.claims;
        Ok(match self.load {
            Load::First => vec![
                row(Figure::MessagesFirst, claimed(messages_first), messages),
                row(Figure::ClientDelayFirst, claimed(client_first), client),
            ],
            Load::Again => vec![
                row(Figure::MessagesAgain, claimed(messages_again), messages),
                row(Figure::ClientDelayAgain, claimed(client_again), client),
            ],
            Load::Uniform => {
                let claim = self.info.claims.messages_uniform.as_ref().and_then(claimed);
                vec![row(Figure::MessagesUniform, claim, messages)]
            }
            Load::Saturated => {
                let claims = &self.info.claims;
                let law = Claimed::throughput(&claims.sync_delay, &figures);
                let throughput: fn(&Report) -> Option<f64> =
                    |report| (report.sync_delay.count > 0).then_some(report.throughput);
                vec![
                    row(Figure::MessagesSaturated, claimed(&claims.messages_saturated), messages),
                    row(Figure::SyncDelay, claimed(&claims.sync_delay), sync),
                    row(Figure::Throughput, Some(law), throughput),
                ]
            }
        })
    }

    fn scenario(&self, args: &CompareArgs) -> Result<Scenario> {
        let mut sim = args.sim(self.info, self.nodes)?;
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
        Ok(sim.scenario()?.1)
    }
}

impl Row {
    fn new(
        job: &Job,
        figure: Figure,
        claim: Option<Claimed>,
        measured: Option<Estimate>,
        judged: bool,
    ) -> Self {
        let against = claim.as_ref().zip(measured);
        let deviation = against.map(|(claim, estimate)| match claim.typical {
            Some(typical) => estimate.mean - typical,
            None => estimate.mean - estimate.mean.clamp(claim.low, claim.high),
        });
        let holds = against.filter(|_| judged).map(|(claim, estimate)| {
            // Exact where there is no chance; else the claim must lie within a generous interval.
            let slack = 1e-9 + 2.0 * estimate.half_width;
            estimate.mean >= claim.low - slack && estimate.mean <= claim.high + slack
        });
        Row {
            algorithm: job.info.name,
            nodes: job.nodes,
            figure,
            claim,
            measured,
            deviation,
            holds,
        }
    }

    /// The one about this.
    pub(super) fn find<'a>(
        rows: &'a [Row],
        algorithm: &str,
        nodes: usize,
        figure: Figure,
    ) -> Option<&'a Row> {
        let is_it =
            |row: &&Row| row.algorithm == algorithm && row.nodes == nodes && row.figure == figure;
        rows.iter().find(is_it)
    }

    /// The deviation in percent of what it is measured from; `None` from 0, unless there is none.
    pub(super) fn percent(&self) -> Option<f64> {
        let (deviation, measured) = (self.deviation?, self.measured?);
        let from = measured.mean - deviation;
        match deviation.abs() < 1e-9 {
            true => Some(0.0),
            false => (from > 0.0).then_some(100.0 * deviation / from),
        }
    }

    /// How the measurement stands to the claim, in a sign.
    pub(super) fn verdict(&self) -> String {
        let (Some(claim), Some(deviation), Some(measured)) =
            (&self.claim, self.deviation, self.measured)
        else {
            return String::new();
        };
        match self.holds {
            None => String::new(),
            Some(false) => "✗".into(),
            Some(true) if deviation.abs() < 1e-9 && claim.is_exact() => "=".into(),
            Some(true) => match claim.typical {
                Some(typical)
                    if typical > 0.0
                        && deviation.abs() <= measured.half_width.max(0.02 * typical) =>
                {
                    "≈".into()
                }
                _ => "✓".into(),
            },
        }
    }
}
