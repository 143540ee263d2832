//! `skeptron sim` of an election: one run, and many.

use std::io::Write;
use std::ops::RangeInclusive;

use anyhow::Result;
use skeptron_core::catalogue::ElectionInfo;
use skeptron_sim::Options;
use skeptron_sim::election::{Outcome, Report, Scenario, run};

use super::super::{Verdict, interrupt};
use super::SimArgs;
use super::seeds::{Figure, Judged};
use crate::ask::Files;

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
        range: RangeInclusive<u64>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let options = Options { stop: Some(interrupt::listen().clone()), ..self.options(false) };
        let report = |seed| Ok(run(info, &Scenario { seed, ..scenario.clone() }, &options)?.report);
        let figures: [Figure<Report>; 4] = [
            ("messages", |r| Some(r.messages.total as f64)),
            // A run that ends without a leader has no time.
            ("time", |r| r.time),
            ("calls", |r| Some(r.calls as f64)),
            ("leaders named", |r| Some(r.leaders.len() as f64)),
        ];
        let judged: fn(&Report) -> Judged<'_> =
            |r| Judged { seed: r.seed, violations: &r.violations, stalled: None };
        let system = (info.name, scenario.setup.nodes());
        self.summarise(system, range, report, judged, &figures, out)
    }
}
