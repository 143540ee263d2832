//! `skeptron sim`.

use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use skeptron_core::catalogue::{Algorithm, Info};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::Trace;
use skeptron_sim::{Options, Outcome, QueueKind, Report, Scenario, Violation, run};

use super::traces::PictureArgs;
use super::{Verdict, interrupt, names};
use crate::ask::check::Dearness;
use crate::ask::system::Elected;
use crate::ask::{Files, Request as _, SimOptions};

mod election;
mod kinds;
mod print;
mod seeds;
mod shown;
mod worst;

pub(crate) use seeds::parse_seeds;
use seeds::{Figure, Judged};
pub use shown::ClockArgs;

#[derive(Args, Clone, Debug, PartialEq)]
#[command(mut_arg("algorithm", |name| name.required_unless_present("replay")))]
#[command(after_help = "Examples:
  skeptron sim lamport -n 5 --requesters 1                  what an uncontended entry costs
  skeptron sim maekawa --quorum maekawa-13 --entries 5000   saturated, on the 13-node plane
  skeptron sim suzuki-kasami -n 4 --entries 6 --trace run.svg --timeline
  skeptron sim raymond -n 7 --entries 5 --trace run.html    to be mailed: it plays in any browser
  skeptron sim ricart-agrawala --latency exp:1 --order any --crash P3@20
  skeptron sim central --partition '1,2|3,4,5@10..20' --pause 2@5..8
  skeptron sim singhal-1989 -n 3 --latency pareto:0.1,1 --think exp:5 --section 0.1 --seeds 1..500
  skeptron sim bully -n 13 --crash 13@0 --initiators 1      the leader is down, the lowest notices
  skeptron sim ring -n 5 --crash 5@0..20 --initiators all --timeline
  skeptron sim naimi-trehel --modes 9*shared+exclusive      readers and writers
  skeptron sim ricart-agrawala -n 3 --entries 2 --timeline --show-clocks both
  skeptron sim --replay run.jsonl --happened-before P1.request,P2.enter
  skeptron sim ./my_mutex.py -n 5                           your own algorithm

Distributions: 1 (constant), uniform:0.5..1.5, exp:1, normal:1,0.2, pareto:1,1.5, file:PATH.
Time is in units: with latency 1, in units of the message latency.

Exit codes: 0 fine, 1 a property was violated or the run stalled, 2 bad input.")]
/// Options of `skeptron sim`.
pub struct SimArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub ask: SimOptions,
    /// Run all these seeds instead and summarise, as in 1..500 (both ends count)
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["seed", "trace", "timeline", "replay"])]
    pub seeds: Option<String>,
    /// Run all these seeds and report the dearest run alone, as in 1..500; --trace and --timeline show it
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["seed", "seeds", "replay"])]
    pub worst_of: Option<String>,
    /// With --worst-of: what the dearest run has most of [default: messages]
    #[arg(long, value_name = "FIGURE", value_enum, requires = "worst_of")]
    pub worst_by: Option<Dearness>,
    /// Write what happened; the extension decides: .jsonl (replayable), .html (a page that plays it without a
    /// server), .txt, .svg, .tex (TikZ), .mmd (Mermaid), .shiviz, .json (Perfetto); may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub picture: PictureArgs,
    /// Print what happened as a text timeline
    #[arg(long, help_heading = "Output")]
    pub timeline: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub clocks: ClockArgs,
    /// Play a recorded .jsonl run again and verify every step of it; if its algorithm is a program, name it, too
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Which event queue to use; it never changes the run
    #[arg(long, default_value = "wheel", hide_short_help = true)]
    pub queue: QueueChoice,
    /// As JSON
    #[arg(long, help_heading = "Output", conflicts_with = "timeline")]
    pub json: bool,
}

/// The event queue, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueueChoice {
    /// A timing wheel.
    Wheel,
    /// A binary heap.
    Heap,
}

impl SimArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        names::start_programs(&self.ask.algorithm)?;
        if let Some(path) = &self.replay {
            return self.run_replay(path, out);
        }
        if self.ask.kinds.modes.is_some() {
            ensure!(self.worst_of.is_none(), "--worst-of does not know modes; leave it out");
            return self.run_with_kinds(out);
        }
        if let Algorithm::Election(info) = self.ask.named()? {
            ensure!(self.worst_of.is_none(), "--worst-of is for mutual exclusion; leave it out");
            return self.run_election(info, out);
        }
        if self.worst_of.is_some() {
            return self.run_worst(out);
        }
        let (info, scenario, elected) = self.ask.scenario_and_tree(Files::Disk)?;
        match &self.seeds {
            Some(range) => self.run_seeds(info, &scenario, parse_seeds(range)?, out),
            None => self.run_one(info, &scenario, elected, out),
        }
    }

    /// The command that makes the run of that seed alone.
    fn command_of(&self, seed: u64) -> String {
        SimOptions { seed, ..self.ask.clone() }.command()
    }

    fn options(&self, record: bool) -> Options {
        let queue = match self.queue {
            QueueChoice::Wheel => QueueKind::Wheel,
            QueueChoice::Heap => QueueKind::Heap,
        };
        Options { record, queue, ..Options::default() }
    }
}

impl SimArgs {
    fn run_one(
        &self,
        info: &'static Info,
        scenario: &Scenario,
        elected: Option<Elected>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let files = self.trace_files()?;
        let Outcome { report, trace, .. } = run(info, scenario, &self.options(self.records()))?;
        let relation = self.show_run(trace, files, out)?;
        if self.json {
            print::json(&print::judged(info, scenario, &report), elected, relation, out)?;
        } else {
            print::report(info, scenario, &report, out)?;
            if let Some(elected) = elected {
                writeln!(out, "tree         {elected}")?;
            }
        }
        self.verdict(report.is_fine(), &report.violations, out)
    }

    /// Says what is wrong with a run, if something is; not where JSON is expected.
    fn verdict(
        &self,
        is_fine: bool,
        violations: &[Violation],
        out: &mut impl Write,
    ) -> Result<Verdict> {
        match (is_fine, self.json) {
            (true, _) => return Ok(Verdict::Fine),
            (false, true) => {
                print::violations(violations, &self.ask.command(), &mut std::io::stderr())?;
            }
            (false, false) => print::violations(violations, &self.ask.command(), out)?,
        }
        Ok(Verdict::Violated)
    }

    fn run_seeds(
        &self,
        info: &'static Info,
        scenario: &Scenario,
        seeds: RangeInclusive<u64>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let options = Options { stop: Some(interrupt::listen().clone()), ..self.options(false) };
        let report =
            |seed| Ok(run(info, &self.ask.seeded(scenario, seed, Files::Disk)?, &options)?.report);
        let figures: [Figure<Report>; 5] = [
            ("messages per entry", |r| Some(r.messages.per_entry)),
            ("client delay", |r| Some(r.client_delay.mean)),
            ("synchronisation delay", |r| Some(r.sync_delay.mean)),
            ("throughput", |r| Some(r.throughput)),
            ("inversions", |r| Some(r.fairness.inversions.unwrap_or(0) as f64)),
        ];
        let judged: fn(&Report) -> Judged<'_> =
            |r| Judged { seed: r.seed, violations: &r.violations, stalled: Some(r.stalled) };
        let system = (info.name, scenario.setup.nodes());
        self.summarise(system, seeds, report, judged, &figures, out)
    }

    fn run_replay(&self, path: &Path, out: &mut impl Write) -> Result<Verdict> {
        ensure!(self.ask.kinds.modes.is_none(), "--replay plays a recorded run; leave out --modes");
        let name = || path.display().to_string();
        let file = BufReader::new(File::open(path).with_context(name)?);
        let trace = Trace::read(file).with_context(name)?;
        if let Some(named) = &self.ask.algorithm {
            let algorithm = &trace.header.algorithm;
            ensure!(
                named == algorithm,
                "--replay is a run of {algorithm}, and {named} is named; leave the name out"
            );
        }
        let replayed = replay(&trace).with_context(name)?;
        let relation = self.show_trace(&trace, self.trace_files()?, out)?;
        print::replayed(&trace, &replayed, relation, self.json, out)
    }
}

/// A bar on the terminal for long work; nothing where nobody looks.
pub(crate) fn progress_bar(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs, {eta} left");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
