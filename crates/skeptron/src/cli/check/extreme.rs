//! `skeptron check --maximise` and `--minimise`: the dearest or the cheapest run.

use std::io::Write;

use anyhow::{Result, bail};
use skeptron_check::{Goal, Measure, Options, Property, extreme};

use super::super::{Verdict, interrupt, traces};
use super::{CheckArgs, Question, diagram, memory, print, progress};
use crate::ask::Request as _;

impl CheckArgs {
    /// Finds the dearest or the cheapest run and shows it.
    pub(super) fn run_extreme(
        &self,
        question: &Question,
        goal: Goal,
        measure: Measure,
        files: Vec<traces::TraceFile>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let Question::Mutex(info, scenario) = question else {
            bail!("--maximise and --minimise are for mutual exclusion; leave them out")
        };
        let bar = progress::Bar::new();
        let show = |progress| bar.show(progress);
        let options = Options {
            threads: self.threads()?,
            max_memory: self.max_memory.unwrap_or_else(memory::most_of_what_is_free),
            progress: bar.is_seen().then_some(&show),
            stop: Some(interrupt::listen()),
            ..Options::default()
        };
        let found = extreme(info, scenario, (goal, measure), &options);
        bar.clear();
        let found = found?;
        match &found.run {
            Some(run) => {
                let trace = question.trace(Property::Extreme, run, Some(self.ask.command()))?;
                traces::write(&trace, files)?;
            }
            None => traces::discard(files)?,
        }
        if self.json {
            let json = print::extreme_json(question, &found, self.ask.command());
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        } else {
            print::extreme(question, &found, out)?;
            if let Some(run) = &found.run {
                writeln!(out)?;
                diagram::draw(question, Property::Extreme, run, out)?;
            }
        }
        let verdict = if found.complete { Verdict::Fine } else { Verdict::Incomplete };
        Ok(interrupt::verdict("what was not explored is unknown", verdict))
    }
}
