//! `skeptron sim --worst-of`: the dearest of many runs.

use std::io::Write;

use anyhow::{Result, bail};
use skeptron_sim::{Options, Report, run};

use super::super::{Verdict, interrupt};
use super::{SimArgs, parse_seeds, seeds};
use crate::ask::check::Dearness;
use crate::ask::{Files, SimOptions};

impl SimArgs {
    /// Runs many seeds and shows the dearest run as if it had been the only one.
    pub(super) fn run_worst(&self, out: &mut impl Write) -> Result<Verdict> {
        let (info, scenario, _) = self.ask.scenario_and_tree(Files::Disk)?;
        let seeds = parse_seeds(self.worst_of.as_deref().unwrap_or_default())?;
        let options = Options { stop: Some(interrupt::listen().clone()), ..self.options(false) };
        let reports = seeds::reports(seeds, |seed| {
            Ok(run(info, &self.ask.seeded(&scenario, seed, Files::Disk)?, &options)?.report)
        })?;
        let dearness = |report: &Report| match self.worst_by {
            None | Some(Dearness::Messages) => report.messages.per_entry,
            Some(Dearness::Delay) => report.client_delay.max,
            Some(Dearness::Bypass) => report.fairness.longest_bypass as f64,
        };
        // Of equally dear ones the first.
        let dearest = reports.iter().rev().max_by(|a, b| dearness(a).total_cmp(&dearness(b)));
        let Some(seed) = dearest.map(|report| report.seed) else {
            bail!("no run was made: it was interrupted")
        };
        let ask = SimOptions { seed, ..self.ask.clone() };
        let worst = SimArgs { ask, worst_of: None, worst_by: None, ..self.clone() };
        if !self.json {
            writeln!(out, "the dearest of {} runs: seed {seed}", reports.len())?;
        }
        worst.run(out)
    }
}
