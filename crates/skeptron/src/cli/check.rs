//! `skeptron check`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::Args;
use skeptron_check::{Options, Property, Report, Walks};
use skeptron_sim::trace::{ClockKind, Trace};

use super::traces::{self, PictureArgs};
use super::work::Shard;
use super::{Verdict, interrupt, names};
use crate::ask::check::{CrashPhase, DEFAULT_NODES, Question, continued, memory};
use crate::ask::{self, CheckRequest, Files, Request as _};

mod assumptions;
mod diagram;
mod extreme;
mod kinds;
mod print;
mod progress;

/// More threads than any machine has.
const MOST_THREADS: usize = 1024;

#[derive(Args, Clone, Debug, PartialEq)]
#[command(mut_arg("algorithm", |name| name.required_unless_present_any(["all", "from"])))]
#[command(mut_arg("nodes", |nodes| {
    nodes.help("How many nodes [default: 3, or as many as the layout or the requests have]")
}))]
#[command(after_help = "Examples:
  skeptron check ricart-agrawala                            everything that 3 nodes can do
  skeptron check lamport -n 3 --requests 1,1,2 --order any  what if messages overtake?
  skeptron check maekawa-1985 --quorum fano --requests 2,0,0,0,1,1,1
  skeptron check suzuki-kasami --crashes 1 --crash-when holding --victims P1
  skeptron check central --loss 1 --keep-going --trace lost.svg --trace lost.jsonl
  skeptron sim --replay lost.jsonl                          the counterexample, step by step
  skeptron check bully -n 3 --crashes 1                     elections, with alarms that keep time
  skeptron check bully -n 3 --premature 1 --keep-going      what if one rings too early?
  skeptron check naimi-trehel --modes shared,shared,exclusive --requests 2   readers and a writer
  skeptron check token-ring --judge order-by-time           who is overtaken, though not claimed?
  skeptron check singhal -n 4 --arbitration nearest --requests 1,1,0,1   who starves, round after round?
  skeptron check singhal --requests 2 --maximise messages   the dearest run
  skeptron check dijkstra -n 3                              self-stabilising: begun in every state
  skeptron check --from run.jsonl --at 12                   what can follow step 12 of a recorded run?
  skeptron check ./my_mutex.py -n 3 --requests 2            your own algorithm
  skeptron check lamport -n 4 --max-memory 8G --disk search what does not fit into memory
  skeptron check lamport -n 4 --disk search --resume        goes on after Ctrl-C, a kill, a full disk
  skeptron check lamport -n 6 --requests 2 --walks 100000   samples of what no search finishes
  skeptron check --all --html assumptions.html              which assumption each one needs
  skeptron check --all --elections                          and each election

Every interleaving of requests, deliveries, exits and faults is explored. What holds, holds for this
system: so many nodes, requests and faults. What is violated is shown by a shortest run. Starvation is
judged with requests without end: whoever asks at all asks again and again.

Exit codes: 0 everything holds, 1 a property was violated, 2 bad input, 3 nothing was violated but
not everything was explored: the memory ended the search, or --walks took samples.")]
/// Options of `skeptron check`.
pub struct CheckArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub ask: CheckRequest,
    /// Write the table of --all as a page, with a diagram for everything that breaks
    #[arg(long, value_name = "FILE", requires = "all", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// About how much memory to take, as in 512M or 8G
    /// [default: 60 % of what is free]
    #[arg(long, value_name = "SIZE", help_heading = "Search")]
    #[arg(allow_hyphen_values = true, value_parser = memory::parse)]
    pub max_memory: Option<usize>,
    /// With --walks: of N processes that share them this is the K-th, and takes every N-th
    #[arg(long, value_name = "K/N", requires = "walks", help_heading = "Search")]
    pub(super) shard: Option<Shard>,
    /// On how many threads to search [default: one per core]
    #[arg(long, value_name = "K", help_heading = "Search")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    pub threads: Option<usize>,

    /// Write the shortest counterexample; the extension decides: .jsonl (replayable), .html (a page
    /// that plays it without a server), .txt, .svg, .tex (TikZ), .mmd (Mermaid), .shiviz, .json (Perfetto);
    /// may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Output", conflicts_with = "all")]
    pub trace: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub picture: PictureArgs,
    /// Show the clocks of the lectures at every event in --trace: lamport, vector, or both
    #[arg(long, value_name = "KIND", help_heading = "Output")]
    pub show_clocks: Option<ClockKind>,
    /// As JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl CheckArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        names::start_programs(&self.ask.algorithm)?;
        if self.ask.all {
            return assumptions::run(&self, out);
        }
        if self.ask.kinds.modes.is_some() {
            return self.run_kinds(out);
        }
        let (question, begun) = self.ask.asked(Files::Disk)?;
        let max_memory = self.max_memory.unwrap_or_else(memory::most_of_what_is_free);
        let threads = self.threads()?;
        let files = traces::create(&self.trace, self.picture, self.show_clocks)?;
        if let Some((goal, measure)) = self.ask.dearest() {
            return self.run_extreme(&question, goal, measure, files, out);
        }
        let report = search(&self.ask, &question, self.shard(), threads, max_memory)?;
        match report.violation() {
            Some((property, counterexample)) => {
                let trace = question.trace(property, counterexample, Some(self.command()))?;
                traces::write(&continued(begun.as_ref(), trace), files)?;
            }
            None if interrupt::came() => drop(files),
            None => traces::discard(files)?,
        }
        if self.json {
            let json = print::Json::new(&question, &report, self.command());
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        } else {
            let alone = !self.ask.judge.is_empty() || self.ask.invariant.is_some();
            let resumed = self.ask.disk.as_ref().map(|_| self.command());
            print::report(&question, &report, (max_memory, resumed), alone, out)?;
            self.show_counterexamples(&question, &report, out)?;
        }
        Ok(interrupt::verdict("what was not explored is unknown", verdict(&report)))
    }

    fn shard(&self) -> Shard {
        self.shard.unwrap_or(Shard::WHOLE)
    }

    /// The command that searches the same.
    fn command(&self) -> String {
        let of_shard = self.shard.map(|shard| format!(" --shard {shard}")).unwrap_or_default();
        self.ask.command() + &of_shard
    }

    fn threads(&self) -> Result<usize> {
        let threads = self.threads.unwrap_or_else(|| Options::default().threads);
        ensure!(
            (1..=MOST_THREADS).contains(&threads),
            "--threads is {threads}; from 1 to {MOST_THREADS} are possible"
        );
        Ok(threads)
    }

    fn show_counterexamples(
        &self,
        question: &Question,
        report: &Report,
        out: &mut impl Write,
    ) -> Result<()> {
        for verdict in &report.verdicts {
            if let Some(counterexample) = &verdict.counterexample {
                writeln!(out)?;
                diagram::draw(question, verdict.property, counterexample, out)?;
            }
        }
        if report.violation().is_some() {
            writeln!(out)?;
            match &self.trace[..] {
                [] => writeln!(out, "draw it      {} --trace run.svg", self.command())?,
                files => {
                    let names: Vec<_> = files.iter().map(|f| f.display().to_string()).collect();
                    writeln!(out, "written to   {}", names.join(", "))?;
                }
            }
        }
        Ok(())
    }

    /// The options of `skeptron check` followed by these words, as a shell would split them.
    ///
    /// # Errors
    /// If they are no options of `check`.
    pub fn parse(words: &str) -> Result<Self> {
        ask::parsed(words)
    }

    /// Searches once, and shows each property that is violated.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub fn refutations(&self) -> Result<Vec<Refutation>> {
        let (question, begun) = self.ask.asked(Files::Disk)?;
        let max_memory = self.max_memory.unwrap_or_else(memory::most_of_what_is_free);
        let report = search(&self.ask, &question, self.shard(), self.threads()?, max_memory)?;
        let violated =
            report.verdicts.iter().filter_map(|v| Some((v.property, v.counterexample.as_ref()?)));
        let shown = |(property, counterexample)| {
            let trace = question.trace(property, counterexample, Some(self.command()))?;
            let mut diagram = Vec::new();
            diagram::draw(&question, property, counterexample, &mut diagram)?;
            Ok(Refutation {
                property,
                trace: continued(begun.as_ref(), trace),
                diagram: String::from_utf8(diagram)?,
            })
        };
        violated.map(shown).collect()
    }
}

/// How a property is violated.
#[derive(Debug)]
pub struct Refutation {
    /// What is violated.
    pub property: Property,
    /// As a run, which begins with the one that the search continued, if it did.
    pub trace: Trace,
    /// As it is printed.
    pub diagram: String,
}

/// Searches with a bar at the terminal, where Ctrl-C ends it.
fn search(
    asked: &CheckRequest,
    question: &Question,
    shard: Shard,
    threads: usize,
    max_memory: usize,
) -> Result<Report> {
    let walks = asked.random_walks()?;
    let walks =
        walks.map(|walks| Walks { shard: (shard.place() as u64, shard.of() as u64), ..walks });
    let (only, invariant) = (asked.judged()?, asked.predicate()?);
    let bar = progress::Bar::new();
    let show = |progress| bar.show(progress);
    let options = Options {
        threads,
        max_memory,
        reduction: !asked.no_reduction,
        keep_going: asked.keep_going,
        progress: bar.is_seen().then_some(&show),
        stop: Some(interrupt::listen()),
        judging: asked.judging(only.as_deref(), invariant.as_ref()),
        walks,
        disk: asked.on_disk(Files::Disk)?,
    };
    let report = question.answer(&options);
    bar.clear();
    Ok(report?)
}

/// What a search comes to, for whoever reads only the exit code.
fn verdict(report: &Report) -> Verdict {
    let decided = report.complete && report.verdicts.iter().all(|v| v.holds.is_some());
    match report.violation() {
        Some(_) => Verdict::Violated,
        None if decided => Verdict::Fine,
        None => Verdict::Incomplete,
    }
}
