//! `skeptron sim` of an election: one run, and many.

use std::io::Write;

use anyhow::Result;
use skeptron_core::catalogue::ElectionInfo;
use skeptron_sim::Options;
use skeptron_sim::election::{Outcome, Report, Scenario, run};

use super::super::{Verdict, interrupt};
use super::{SimArgs, seeds};
use crate::ask::Files;
use crate::ask::compare::Estimate;

mod print;

impl SimArgs {
    pub(super) fn run_election(
        &self,
        info: &'static ElectionInfo,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let scenario = self.ask.election(info, Files::Disk)?;
        match &self.seeds {
            Some(range) => {
                self.run_election_seeds(info, &scenario, super::parse_seeds(range)?, out)
            }
            None => self.run_one_election(info, &scenario, out),
        }
    }

    fn run_one_election(
        &self,
        info: &'static ElectionInfo,
        scenario: &Scenario,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let files = self.trace_files()?;
        let Outcome { report, trace, .. } = run(info, scenario, &self.options(self.records()))?;
        let relation = self.show_run(trace, files, out)?;
        if self.json {
            super::print::json(&report, None, relation, out)?;
        } else {
            print::report(info, scenario, &report, out)?;
        }
        self.verdict(report.is_fine(), &report.violations, out)
    }

    fn run_election_seeds(
        &self,
        info: &'static ElectionInfo,
        scenario: &Scenario,
        range: std::ops::RangeInclusive<u64>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let options = Options { stop: Some(interrupt::listen().clone()), ..self.options(false) };
        let planned = seeds::count(&range);
        let reports = seeds::reports(range, |seed| {
            Ok(run(info, &Scenario { seed, ..scenario.clone() }, &options)?.report)
        })?;
        let estimate = |figure: fn(&Report) -> Option<f64>| {
            Estimate::of(&reports.iter().filter_map(figure).collect::<Vec<_>>())
        };
        let mut figures = vec![("messages", estimate(|r| Some(r.messages.total as f64)))];
        // A run that ends without a leader has no time.
        if reports.iter().any(|report| report.time.is_some()) {
            figures.push(("time", estimate(|r| r.time)));
        }
        figures.push(("calls", estimate(|r| Some(r.calls as f64))));
        figures.push(("leaders named", estimate(|r| Some(r.leaders.len() as f64))));
        let failed = reports.iter().filter(|report| !report.is_fine());
        let failures: Vec<seeds::Failure> = failed
            .map(|report| seeds::Failure {
                seed: report.seed,
                violations: &report.violations,
                stalled: None,
                command: self.command_of(report.seed),
            })
            .collect();
        let summary = seeds::Summary {
            algorithm: info.name,
            nodes: scenario.setup.nodes(),
            runs: reports.len(),
            planned,
            figures: &figures,
            failures: &failures,
        };
        summary.write(self.json, out)
    }
}
