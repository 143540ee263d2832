//! `skeptron sim`.

use std::fs::File;
use std::io::{BufReader, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use skeptron_core::NodeId;
use skeptron_core::catalogue::{Algorithm, Info, Layout, Order};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Ticks, Trace};
use skeptron_sim::{Hand, Options, Outcome, QueueKind, Report, Scenario, Violation, Workload, run};

use super::check::Dearness;
use super::estimate::Estimate;
use super::kinds::KindsArgs;
use super::system::{Elected, Network, SystemArgs};
use super::traces::PictureArgs;
use super::{Verdict, interrupt, names};

pub(crate) mod election;
mod faults;
mod kinds;
pub(crate) mod print;
mod seeds;
mod shown;
mod workload;
mod worst;

pub(crate) use seeds::parse_seeds;
pub use shown::ClockArgs;

/// How many nodes if nothing says otherwise.
const DEFAULT_NODES: usize = 5;

#[derive(Args, Clone, Debug, PartialEq)]
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

Distributions: 1 (constant), uniform:0.5..1.5, exp:1, normal:1,0.2, pareto:1,1.5, file:PATH.
Time is in units: with latency 1, in units of the message latency.

Exit codes: 0 fine, 1 a property was violated or the run stalled, 2 bad input.")]
/// Options of `skeptron sim`.
pub struct SimArgs {
    /// Which algorithm; see `skeptron list`
    #[arg(required_unless_present = "replay")]
    pub algorithm: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub system: SystemArgs,

    /// Who asks: how many (those with the highest ids, never the coordinator), or a list like P1,P3
    /// [default: all; for `central` all but the coordinator]
    #[arg(long, value_name = "K|LIST", help_heading = "Workload")]
    pub requesters: Option<String>,
    /// When they ask: none (nobody does), closed (think, ask, again), sequential (one at a time,
    /// chosen at random), poisson:RATE, bursts:SIZE,EVERY, hot:HOW-MANY,SHARE,RATE, or file:PATH with lines `TIME NODE`
    /// [default: closed]
    #[arg(long, value_name = "KIND", help_heading = "Workload")]
    pub workload: Option<String>,
    /// From an exit to the next request; 0 is saturation [default: 0]
    #[arg(long, value_name = "DIST", help_heading = "Workload", allow_negative_numbers = true)]
    pub think: Option<String>,
    /// How long a node stays inside [default: 1]
    #[arg(long, value_name = "DIST", help_heading = "Workload", allow_negative_numbers = true)]
    pub section: Option<String>,
    /// How many entries to measure [default: 1000; of a file all]
    #[arg(long, value_name = "M", help_heading = "Workload")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<u64>)]
    pub entries: Option<u64>,
    /// How many entries to make before measuring
    /// [default: 0 for a lone requester and for a file, else twice the requesters, at most a tenth of the
    /// entries]
    #[arg(long, value_name = "M", help_heading = "Workload")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<u64>)]
    pub warmup: Option<u64>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub kinds: KindsArgs,

    /// Who calls elections: all, none, or a list like 1,3@2.5; with a time a node calls then, and
    /// anyway when it suspects its leader
    /// [default: all; if nobody can be suspected, P1 at 0]
    #[arg(long, value_name = "LIST|all|none", help_heading = "Election")]
    pub initiators: Option<String>,
    /// What the nodes are told of crashes: perfect:DELAY, or imperfect:DELAY,RATE,LASTING with RATE
    /// false suspicions per unit, each for LASTING units in the mean (5 if left out)
    /// [default: perfect:2]
    #[arg(long, value_name = "KIND", help_heading = "Election")]
    pub detector: Option<String>,
    /// How long a message takes at most, as the timers assume
    /// [default: the longest latency, or three times the mean where there is none]
    #[arg(long, value_name = "TIME", help_heading = "Election", allow_negative_numbers = true)]
    pub bound: Option<String>,
    /// From then on nothing goes wrong by chance any more, and nobody calls of his own accord
    /// [default: 100]
    #[arg(long, value_name = "TIME", help_heading = "Election", allow_negative_numbers = true)]
    pub until: Option<String>,

    /// How long a message takes: a distribution, three-dc (three data centres, 1 unit = 1 ms), or
    /// matrix:PATH with a distribution for each pair of nodes
    #[arg(
        long,
        default_value = "1",
        value_name = "DIST",
        help_heading = "Network",
        allow_negative_numbers = true
    )]
    pub latency: String,
    /// In which order a channel delivers
    #[arg(long, default_value = "fifo", value_name = "ORDER", help_heading = "Network")]
    pub order: ChannelOrder,
    /// Probability that a message is lost
    #[arg(long, default_value_t = 0.0, value_name = "P", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::real)]
    pub loss: f64,
    /// Probability that a message is delivered twice
    #[arg(long, default_value_t = 0.0, value_name = "P", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::real)]
    pub duplicate: f64,
    /// Crash a node: NODE@TIME, NODE@FROM..TO to restart it (all it kept is the epoch of an election), or at random:
    /// random:RATE for ever, random:RATE,DOWN each for DOWN units in the mean
    #[arg(long, value_name = "WHAT", help_heading = "Faults")]
    pub crash: Vec<String>,
    /// Pause a node: NODE@FROM..TO, or random:RATE,LENGTH
    #[arg(long, value_name = "WHAT", help_heading = "Faults")]
    pub pause: Vec<String>,
    /// Cut the network: 1,2|3,4@FROM..TO both ways, 1,2>3@FROM..TO one way, or
    /// random:RATE,LENGTH, of which half are one way;
    /// what is sent across meanwhile is lost
    #[arg(long, value_name = "WHAT", help_heading = "Faults")]
    pub partition: Vec<String>,

    /// Determines all chance
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<u64>)]
    pub seed: u64,
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
    /// Play a recorded .jsonl run again and verify every step of it
    #[arg(long, value_name = "FILE", conflicts_with = "algorithm")]
    pub replay: Option<PathBuf>,
    /// Which event queue to use; it never changes the run
    #[arg(long, default_value = "wheel", hide_short_help = true)]
    pub queue: QueueChoice,
    /// As JSON
    #[arg(long, help_heading = "Output", conflicts_with = "timeline")]
    pub json: bool,
}

/// The order of a channel, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ChannelOrder {
    /// As sent.
    #[default]
    Fifo,
    /// Messages may overtake each other.
    Any,
}

/// The event queue, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueueChoice {
    /// A timing wheel.
    Wheel,
    /// A binary heap.
    Heap,
}

impl From<ChannelOrder> for Order {
    fn from(order: ChannelOrder) -> Self {
        match order {
            ChannelOrder::Fifo => Order::Fifo,
            ChannelOrder::Any => Order::Any,
        }
    }
}

/// What the options of the workload mean if they are left out.
const WORKLOAD: &str = "closed";
const THINK: &str = "0";
const SECTION: &str = "1";
const ENTRIES: u64 = 1000;

impl SimArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        if let Some(path) = &self.replay {
            return self.run_replay(path, out);
        }
        if self.kinds.modes.is_some() {
            ensure!(self.worst_of.is_none(), "--worst-of does not know modes; leave it out");
            return self.run_with_kinds(out);
        }
        if let Algorithm::Election(info) = self.named()? {
            ensure!(self.worst_of.is_none(), "--worst-of is for mutual exclusion; leave it out");
            return self.run_election(info, out);
        }
        if self.worst_of.is_some() {
            return self.run_worst(out);
        }
        let (info, scenario, elected) = self.scenario_and_tree()?;
        match &self.seeds {
            Some(range) => self.run_seeds(info, &scenario, parse_seeds(range)?, out),
            None => self.run_one(info, &scenario, elected, out),
        }
    }

    fn named(&self) -> Result<Algorithm> {
        names::algorithm(self.algorithm.as_deref().unwrap_or_default())
    }

    fn refuse_options_of_elections(&self, info: &Info) -> Result<()> {
        let instead = "; use --requesters to say who asks";
        let given = [
            ("--initiators", self.initiators.is_some(), instead),
            ("--detector", self.detector.is_some(), "; leave it out"),
            ("--bound", self.bound.is_some(), "; leave it out"),
            ("--until", self.until.is_some(), "; use --entries to say how long it runs"),
        ];
        for (option, is_given, remedy) in given {
            ensure!(!is_given, "{} takes no {option}, which is for elections{remedy}", info.name);
        }
        Ok(())
    }

    /// What these options describe, for mutual exclusion.
    ///
    /// # Errors
    /// If something is unknown, malformed, impossible, or for elections only.
    pub fn scenario(&self) -> Result<(&'static Info, Scenario)> {
        let (info, scenario, _) = self.scenario_and_tree()?;
        Ok((info, scenario))
    }

    /// The same, and how its tree was elected, if it was.
    fn scenario_and_tree(&self) -> Result<(&'static Info, Scenario, Option<Elected>)> {
        let info = names::mutex(self.algorithm.as_deref().unwrap_or_default())?;
        self.refuse_options_of_elections(info)?;
        let (setup, elected) = self.system.setup_in(info, DEFAULT_NODES, &self.network())?;
        let nodes = setup.nodes();
        let coordinator =
            (info.layout == Layout::Coordinator && nodes > 1).then(|| setup.coordinator());
        let requesters = requesters(self.requesters.as_deref(), nodes, coordinator)?;
        let (kind, think) = (self.workload.as_deref(), self.think.as_deref());
        let workload = workload::parse(kind.unwrap_or(WORKLOAD), think.unwrap_or(THINK), nodes)?;
        // Whoever writes requests down wants to know what each of them came to.
        let (requesters, default_entries) = match &workload {
            Workload::List(list) => {
                let mut asking: Vec<NodeId> = list.iter().map(|&(_, node)| node).collect();
                asking.sort_unstable();
                asking.dedup();
                (asking, list.len() as u64)
            }
            _ => (requesters, ENTRIES),
        };
        let asking = requesters.len() as u64;
        let entries = self.entries.unwrap_or(default_entries);
        let is_list = matches!(workload, Workload::List(_));
        let alone = asking == 1 || is_list || workload == Workload::None;
        let few = if alone { 0 } else { (2 * asking).min(entries / 10) };
        let scenario = Scenario {
            seed: self.seed,
            workload,
            requesters,
            section: distribution("--section", self.section.as_deref().unwrap_or(SECTION))?,
            latency: skeptron_sim::Latency::parse(&self.latency, nodes).context("--latency")?,
            order: self.order.into(),
            faults: faults::parse(self)?,
            hand: Hand::default(),
            warmup: self.warmup.unwrap_or(few),
            entries,
            setup,
        };
        scenario.check(info)?;
        Ok((info, scenario, elected))
    }

    /// The network, in which a tree may be elected before the run.
    fn network(&self) -> Network<'_> {
        Network { latency: &self.latency, order: self.order.into(), seed: self.seed }
    }

    /// The same with another seed, by which another tree may be elected.
    fn seeded(&self, scenario: &Scenario, seed: u64) -> Result<Scenario> {
        if self.system.elects_tree() {
            return Ok(SimArgs { seed, ..self.clone() }.scenario()?.1);
        }
        Ok(Scenario { seed, ..scenario.clone() })
    }

    /// The command that makes the same run again.
    #[must_use]
    pub fn command(&self) -> String {
        let mut words = vec!["skeptron".to_string(), "sim".into()];
        words.extend(self.algorithm.clone());
        words.extend(self.system.words());
        let mut option = |name: &str, value: String, default: &str| {
            if value != default {
                words.extend([name.to_string(), value]);
            }
        };
        let given = |value: &Option<String>| value.clone().unwrap_or_default();
        let mut maybe = |name: &str, value: String, default: &str| {
            if !value.is_empty() {
                option(name, value, default);
            }
        };
        maybe("--requesters", given(&self.requesters), "");
        maybe("--workload", given(&self.workload), WORKLOAD);
        maybe("--think", given(&self.think), THINK);
        maybe("--section", given(&self.section), SECTION);
        let count = |value: Option<u64>| value.map(|m| m.to_string()).unwrap_or_default();
        maybe("--entries", count(self.entries), &ENTRIES.to_string());
        maybe("--warmup", count(self.warmup), "");
        maybe("--initiators", given(&self.initiators), "");
        maybe("--detector", given(&self.detector), "");
        maybe("--bound", given(&self.bound), "");
        maybe("--until", given(&self.until), "");
        option("--latency", self.latency.clone(), "1");
        option(
            "--order",
            if self.order == ChannelOrder::Any { "any" } else { "fifo" }.into(),
            "fifo",
        );
        option("--loss", self.loss.to_string(), "0");
        option("--duplicate", self.duplicate.to_string(), "0");
        for (name, values) in
            [("--crash", &self.crash), ("--pause", &self.pause), ("--partition", &self.partition)]
        {
            for value in values {
                option(name, value.clone(), "");
            }
        }
        option("--seed", self.seed.to_string(), "");
        words.extend(self.kinds.words());
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The command that makes the run of that seed alone.
    fn command_of(&self, seed: u64) -> String {
        SimArgs { seed, seeds: None, ..self.clone() }.command()
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
    /// The options of `skeptron sim` followed by these words, as a shell would split them.
    ///
    /// # Errors
    /// If they are no options of `sim`.
    pub fn parse(words: &str) -> Result<Self> {
        #[derive(clap::Parser)]
        struct Sim {
            #[command(flatten)]
            args: SimArgs,
        }
        let words = ["sim"].into_iter().chain(words.split_whitespace());
        Ok(<Sim as clap::Parser>::try_parse_from(words)?.args)
    }
}

/// A single time as people write it, in ticks.
fn constant(text: &str) -> Result<Ticks> {
    match skeptron_sim::Distribution::parse(text).ok().and_then(|time| time.as_constant()) {
        Some(ticks) => Ok(ticks),
        None => bail!("`{text}` is no time; write a number of units from 0 up, as in 2.5"),
    }
}

fn distribution(option: &str, text: &str) -> Result<skeptron_sim::Distribution> {
    skeptron_sim::Distribution::parse(text).with_context(|| option.to_string())
}

/// A word as a shell wants it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+:,./@%".contains(c);
    if word.chars().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Who asks: how many, or a list; nobody knows yet whether those exist.
pub(crate) fn requesters(
    text: Option<&str>,
    nodes: usize,
    coordinator: Option<NodeId>,
) -> Result<Vec<NodeId>> {
    let able: Vec<NodeId> = NodeId::all(nodes).filter(|&node| Some(node) != coordinator).collect();
    let Some(text) = text else { return Ok(able) };
    if let Ok(count) = text.parse::<usize>() {
        let besides = if coordinator.is_some() { " besides the coordinator" } else { "" };
        ensure!(count > 0, "--requesters is 0; at least one node must ask");
        ensure!(
            count <= able.len(),
            "--requesters is {count}, but there are only {} nodes{besides}",
            able.len()
        );
        return Ok(able[able.len() - count..].to_vec());
    }
    let mut list = names::nodes(text).context("--requesters")?;
    list.sort_unstable();
    list.dedup();
    Ok(list)
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
                print::violations(violations, &self.command(), &mut std::io::stderr())?;
            }
            (false, false) => print::violations(violations, &self.command(), out)?,
        }
        Ok(Verdict::Violated)
    }

    /// What happens in the run that these options describe.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub fn trace(&self) -> Result<Trace> {
        let mut trace = match self.named()? {
            Algorithm::Election(info) => self.election_trace(info)?,
            Algorithm::Mutex(_) => {
                let (info, scenario) = self.scenario()?;
                let trace = run(info, &scenario, &self.options(true))?.trace;
                trace.context("a recorded run has a trace")?
            }
        };
        trace.header.command = Some(self.command());
        Ok(trace)
    }

    fn run_seeds(
        &self,
        info: &'static Info,
        scenario: &Scenario,
        seeds: std::ops::RangeInclusive<u64>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let options = Options { stop: Some(interrupt::listen().clone()), ..self.options(false) };
        let planned = seeds::count(&seeds);
        let reports = seeds::reports(seeds, |seed| {
            Ok(run(info, &self.seeded(scenario, seed)?, &options)?.report)
        })?;
        let estimate = |figure: fn(&Report) -> f64| {
            Estimate::of(&reports.iter().map(figure).collect::<Vec<_>>())
        };
        let figures = [
            ("messages per entry", estimate(|r| r.messages.per_entry)),
            ("client delay", estimate(|r| r.client_delay.mean)),
            ("synchronisation delay", estimate(|r| r.sync_delay.mean)),
            ("throughput", estimate(|r| r.throughput)),
            ("inversions", estimate(|r| r.fairness.inversions.unwrap_or(0) as f64)),
        ];
        let failed = reports.iter().filter(|report| !report.is_fine());
        let failures: Vec<seeds::Failure> = failed
            .map(|report| seeds::Failure {
                seed: report.seed,
                violations: &report.violations,
                stalled: Some(report.stalled),
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

    fn run_replay(&self, path: &Path, out: &mut impl Write) -> Result<Verdict> {
        ensure!(self.kinds.modes.is_none(), "--replay plays a recorded run; leave out --modes");
        let name = || path.display().to_string();
        let file = BufReader::new(File::open(path).with_context(name)?);
        let trace = Trace::read(file).with_context(name)?;
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
