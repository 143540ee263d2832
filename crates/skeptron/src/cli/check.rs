//! `skeptron check`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use skeptron_check::{
    Counterexample, CrashWhen, Faults, Options, Property, Report, Scenario, ScenarioError,
};
use skeptron_core::Setup;
use skeptron_core::catalogue::{Algorithm, Info, Layout, Order};
use skeptron_sim::trace::{ClockKind, Trace};

pub use self::asked::Dearness;
use self::asked::property;
pub(crate) use self::from::{Begun, continued};
pub use self::question::Question;

use super::kinds::KindsArgs;
use super::sim::{ChannelOrder, quoted, requesters};
use super::system::SystemArgs;
use super::traces::{self, PictureArgs};
use super::{Verdict, interrupt, names};

mod asked;
pub(crate) mod assumptions;
mod campaign;
mod diagram;
mod election;
mod from;
mod kinds;
pub(crate) mod memory;
mod post;
mod print;
mod progress;
mod question;
mod trace;

/// How many nodes if nothing says otherwise: with two there is no third who interferes.
const DEFAULT_NODES: usize = 3;
/// More threads than any machine has.
const MOST_THREADS: usize = 1024;

#[derive(Args, Clone, Debug, Default, PartialEq)]
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
  skeptron check --from run.jsonl --at 12                   what can follow step 12 of a recorded run?
  skeptron check --all --html assumptions.html              which assumption each one needs
  skeptron check --all --elections                          and each election

Every interleaving of requests, deliveries, exits and faults is explored. What holds, holds for this
system: so many nodes, requests and faults. What is violated is shown by a shortest run. Starvation is
judged with requests without end: whoever asks at all asks again and again.

Exit codes: 0 everything holds, 1 a property was violated, 2 bad input, 3 nothing was violated but
the memory ended the search before everything was explored.")]
/// Options of `skeptron check`.
pub struct CheckArgs {
    /// Which algorithm; see `skeptron list`
    #[arg(required_unless_present_any = ["all", "from"])]
    pub algorithm: Option<String>,
    /// Every correct algorithm, once with all assumptions and once for each that is dropped:
    /// FIFO channels, no loss, no duplicates, no crash
    #[arg(long, conflicts_with_all = ["algorithm", "coordinator", "quorum", "structure", "tree",
        "arbitration", "ring", "graph", "requesters", "initiators", "calls", "detector", "order", "loss",
        "duplicate", "crashes", "crash_when", "victims", "restarts", "premature", "suspicions",
        "no_reduction", "keep_going", "trace", "modes", "judge", "bypass", "invariant", "maximise",
        "minimise"])]
    pub all: bool,
    /// With --all: every correct election, once with all assumptions and a crash, and once for each
    /// that is dropped: FIFO channels, patient alarms, right detectors, no loss, no duplicates
    #[arg(long, requires = "all", conflicts_with = "requests")]
    pub elections: bool,
    /// Write the table of --all as a page, with a diagram for everything that breaks
    #[arg(long, value_name = "FILE", requires = "all", help_heading = "Output")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub system: SystemArgs,

    /// Begin where a recorded run is (.jsonl): algorithm, system and channels are those of the run, and
    /// --requests are further ones
    #[arg(long, value_name = "FILE", help_heading = "Workload")]
    #[arg(conflicts_with_all = ["all", "nodes", "coordinator", "quorum", "structure", "tree",
        "arbitration", "ring", "graph", "clocks", "unsafe_structure", "order", "modes", "initiators",
        "calls", "detector", "restarts", "premature", "suspicions", "maximise", "minimise"])]
    pub from: Option<PathBuf>,
    /// With --from: after so many of its steps, as Play counts them [default: all]
    #[arg(long, value_name = "STEP", requires = "from", help_heading = "Workload")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    pub at: Option<usize>,
    /// How often each node asks: a number, or one for each node, as in 1,1,2 [default: 1]
    #[arg(long, value_name = "R|LIST", help_heading = "Workload")]
    #[arg(allow_hyphen_values = true)]
    pub requests: Option<String>,
    /// Who asks: how many (those with the highest ids, never the coordinator), or a list like P1,P3
    /// [default: all]
    #[arg(long, value_name = "K|LIST", help_heading = "Workload")]
    pub requesters: Option<String>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub kinds: KindsArgs,

    /// Who calls elections, once at any time or never, and whenever it suspects its leader: a list like
    /// P1,P3, or all [default: all]
    #[arg(long, value_name = "LIST|all", help_heading = "Election")]
    pub initiators: Option<String>,
    /// How many of them call of their own accord at most [default: all of them]
    #[arg(long, value_name = "K", help_heading = "Election")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    pub calls: Option<u8>,
    /// Within how many bounds a failure detector tells of a crash or a return, as in 2 or perfect:2
    /// [default: 1]
    #[arg(long, value_name = "D", help_heading = "Election")]
    #[arg(allow_hyphen_values = true)]
    pub detector: Option<String>,

    /// In which order a channel delivers
    #[arg(long, default_value = "fifo", value_name = "ORDER", help_heading = "Network")]
    pub order: ChannelOrder,
    /// How many messages may be lost
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    pub loss: u8,
    /// How many messages may be delivered twice
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    pub duplicate: u8,
    /// How many nodes may stop: for ever, unless --restarts lets them come back
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    pub crashes: u8,
    /// When a node may stop
    #[arg(long, default_value = "any", value_name = "WHEN", help_heading = "Faults")]
    pub crash_when: Moment,
    /// Who may stop, as in P1,P3 [default: everybody]
    #[arg(long, value_name = "LIST", help_heading = "Faults")]
    pub victims: Option<String>,
    /// How many nodes that stopped may come back (elections)
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    pub restarts: u8,
    /// How many alarms may ring too early (elections)
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    pub premature: u8,
    /// How many times a failure detector may suspect a live node for a while (elections)
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    pub suspicions: u8,

    /// Judge these properties alone, also where they are not claimed: exclusion (GA1), progress (GA2),
    /// starvation (GA2'), order (EM3, by happened-before), order-by-time (by the moment of the request),
    /// bypass, fence, messages, rest, refused
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = property)]
    #[arg(help_heading = "Questions")]
    pub judge: Vec<Property>,
    /// Also judge that no wait is passed by more than B entries of others
    #[arg(long, value_name = "B", help_heading = "Questions")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    pub bypass: Option<u8>,
    /// Judge this alone in every state: a name (singhal: no-false-R, L4.1.1 to L4.1.5, S4.2, S4.3), or a
    /// predicate over the variables that `explain` lists, as in
    /// 'forall i, j: i.phase == inside && j.phase == inside => i == j'
    #[arg(long, value_name = "PREDICATE", help_heading = "Questions")]
    pub invariant: Option<String>,
    /// Instead of judging, find the run with most of: messages (in all), delay (request to entry in
    /// messages one after another), bypass (entries of others during one wait)
    #[arg(long, value_name = "FIGURE", value_enum, help_heading = "Questions")]
    #[arg(conflicts_with_all = ["judge", "bypass", "invariant", "minimise"])]
    pub maximise: Option<Dearness>,
    /// The same with least of it
    #[arg(long, value_name = "FIGURE", value_enum, help_heading = "Questions")]
    #[arg(conflicts_with_all = ["judge", "bypass", "invariant"])]
    pub minimise: Option<Dearness>,

    /// Also explore interleavings that provably make no difference
    #[arg(long, help_heading = "Search")]
    pub no_reduction: bool,
    /// Decide every property instead of ending at the first violation
    #[arg(long, help_heading = "Search")]
    pub keep_going: bool,
    /// About how much memory to take, as in 512M or 8G
    /// [default: 60 % of what is free]
    #[arg(long, value_name = "SIZE", help_heading = "Search")]
    #[arg(allow_hyphen_values = true, value_parser = memory::parse)]
    pub max_memory: Option<usize>,
    /// On how many threads to search [default: one per core]
    #[arg(long, value_name = "K", help_heading = "Search")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    pub threads: Option<usize>,

    /// Write the shortest counterexample; the extension decides: .jsonl (replayable), .html (a page
    /// that plays it without a server), .txt, .svg, .tex (TikZ), .mmd (Mermaid), .shiviz, .json (Perfetto);
    /// may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Output")]
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

/// When a node may stop, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Moment {
    /// At any time.
    #[default]
    Any,
    /// While it neither asks nor holds.
    Idle,
    /// While it waits.
    Waiting,
    /// While it is inside, or could enter without asking, as with an idle token.
    Holding,
}

impl CheckArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        if self.all {
            return assumptions::run(&self, out);
        }
        if self.kinds.modes.is_some() {
            return self.run_kinds(out);
        }
        let (question, begun) = self.asked()?;
        let max_memory = self.max_memory.unwrap_or_else(memory::most_of_what_is_free);
        let threads = self.threads()?;
        let files = traces::create(&self.trace, self.picture, self.show_clocks)?;
        if let Some((goal, measure)) = self.dearest() {
            return self.run_extreme(&question, goal, measure, files, out);
        }
        let report = self.search(&question, threads, max_memory)?;
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
            let alone = !self.judge.is_empty() || self.invariant.is_some();
            print::report(&question, &report, max_memory, alone, out)?;
            self.show_counterexamples(&question, &report, out)?;
        }
        Ok(interrupt::verdict("what was not explored is unknown", verdict(&report)))
    }

    /// What these options describe.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub fn question(&self) -> Result<Question> {
        let algorithm = names::algorithm(self.algorithm.as_deref().unwrap_or_default())?;
        // Before anything of that size is built.
        if let Some(nodes) = self.system.nodes
            && nodes > Scenario::MOST_NODES
        {
            bail!(ScenarioError::TooManyNodes(nodes));
        }
        Ok(match algorithm {
            Algorithm::Mutex(info) => Question::Mutex(info, self.scenario(info)?),
            Algorithm::Election(info) => Question::Election(info, self.election(info)?),
        })
    }

    fn scenario(&self, info: &Info) -> Result<Scenario> {
        self.refuse_options_of_elections(info)?;
        let counts = self.counts()?;
        let default_nodes = if counts.len() > 1 { counts.len() } else { DEFAULT_NODES };
        let setup = self.system.setup(info, default_nodes)?;
        let requests = self.requests(counts, info, &setup)?;
        let (order, faults) = (self.channel_order(), self.faults()?);
        let scenario = Scenario { setup, after: Vec::new(), requests, order, faults };
        scenario.check()?;
        Ok(scenario)
    }

    fn faults(&self) -> Result<Faults> {
        ensure!(
            self.crashes > 0 || self.victims.is_none() && self.crash_when == Moment::Any,
            "--victims and --crash-when say who may crash and when; say how many with --crashes K"
        );
        Ok(Faults {
            losses: self.loss,
            duplicates: self.duplicate,
            crashes: self.crashes,
            crash_when: match self.crash_when {
                Moment::Any => CrashWhen::Any,
                Moment::Idle => CrashWhen::Idle,
                Moment::Waiting => CrashWhen::Waiting,
                Moment::Holding => CrashWhen::Holding,
            },
            victims: self.victims.as_deref().map(names::nodes).transpose().context("--victims")?,
        })
    }

    fn channel_order(&self) -> Order {
        match self.order {
            ChannelOrder::Fifo => Order::Fifo,
            ChannelOrder::Any => Order::Any,
        }
    }

    fn refuse_options_of_elections(&self, info: &Info) -> Result<()> {
        let given = [
            ("--initiators", self.initiators.is_some()),
            ("--calls", self.calls.is_some()),
            ("--detector", self.detector.is_some()),
            ("--restarts", self.restarts > 0),
            ("--premature", self.premature > 0),
            ("--suspicions", self.suspicions > 0),
        ];
        for (option, is_given) in given {
            ensure!(
                !is_given,
                "{option} is for elections, and {} is for mutual exclusion; leave it out",
                info.name
            );
        }
        Ok(())
    }

    /// The numbers of `--requests`.
    fn counts(&self) -> Result<Vec<usize>> {
        let text = self.requests.as_deref().unwrap_or("1");
        let count = |word: &str| word.trim().parse::<usize>();
        let counts = text.split(',').map(count).collect::<Result<Vec<usize>, _>>();
        let Ok(counts) = counts else {
            bail!(
                "--requests is `{text}`; write a number up to {}, as in 2, or one for each node, as in \
                 1,1,2",
                Scenario::MOST_REQUESTS
            )
        };
        let total = counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
        ensure!(total <= Scenario::MOST_REQUESTS, ScenarioError::TooManyRequests(total));
        Ok(counts)
    }

    /// How often each node asks.
    fn requests(&self, counts: Vec<usize>, info: &Info, setup: &Setup) -> Result<Vec<u8>> {
        let nodes = setup.nodes();
        let counts = match (&counts[..], &self.requesters) {
            (&[each], None) => vec![each; nodes],
            (&[each], Some(text)) => {
                let coordinates = info.layout == Layout::Coordinator && nodes > 1;
                let coordinator = coordinates.then(|| setup.coordinator());
                let mut counts = vec![0; nodes];
                for node in requesters(Some(text), nodes, coordinator)? {
                    *counts.get_mut(node.index()).with_context(|| {
                        format!("{node} is to ask, but there are only {nodes} nodes")
                    })? = each;
                }
                counts
            }
            (_, Some(_)) => bail!(
                "--requests is a list, which says who asks; leave out --requesters or give one number"
            ),
            (_, None) => counts,
        };
        // Each is at most what all may be together.
        Ok(counts.into_iter().map(|count| count as u8).collect())
    }

    fn threads(&self) -> Result<usize> {
        let threads = self.threads.unwrap_or_else(|| Options::default().threads);
        ensure!(
            (1..=MOST_THREADS).contains(&threads),
            "--threads is {threads}; from 1 to {MOST_THREADS} are possible"
        );
        Ok(threads)
    }

    fn search(&self, question: &Question, threads: usize, max_memory: usize) -> Result<Report> {
        let (only, invariant) = (self.judged()?, self.predicate()?);
        let bar = progress::Bar::new();
        let show = |progress| bar.show(progress);
        let options = Options {
            threads,
            max_memory,
            reduction: !self.no_reduction,
            keep_going: self.keep_going,
            progress: bar.is_seen().then_some(&show),
            stop: Some(interrupt::listen()),
            judging: self.judging(only.as_deref(), invariant.as_ref()),
        };
        let report = question.answer(&options);
        bar.clear();
        Ok(report?)
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

    /// The command that searches the same again.
    #[must_use]
    pub fn command(&self) -> String {
        let mut words = vec!["skeptron".to_string(), "check".into()];
        words.extend(self.algorithm.clone());
        words.extend(self.system.words());
        let mut option = |name: &str, value: String, default: &str| {
            if value != default {
                words.extend([name.to_string(), value]);
            }
        };
        let name_of = |value: &dyn Fn() -> Option<clap::builder::PossibleValue>| {
            value().map(|value| value.get_name().to_string()).unwrap_or_default()
        };
        let from = self.from.as_ref().map(|path| path.display().to_string());
        option("--from", from.unwrap_or_default(), "");
        option("--at", self.at.map(|step| step.to_string()).unwrap_or_default(), "");
        option("--requests", self.requests.clone().unwrap_or_default(), "");
        option("--requesters", self.requesters.clone().unwrap_or_default(), "");
        words.extend(self.kinds.words());
        let mut option = |name: &str, value: String, default: &str| {
            if value != default {
                words.extend([name.to_string(), value]);
            }
        };
        option("--initiators", self.initiators.clone().unwrap_or_default(), "");
        option("--calls", self.calls.map(|calls| calls.to_string()).unwrap_or_default(), "");
        option("--detector", self.detector.clone().unwrap_or_default(), "");
        option("--order", name_of(&|| self.order.to_possible_value()), "fifo");
        option("--loss", self.loss.to_string(), "0");
        option("--duplicate", self.duplicate.to_string(), "0");
        option("--crashes", self.crashes.to_string(), "0");
        option("--crash-when", name_of(&|| self.crash_when.to_possible_value()), "any");
        option("--victims", self.victims.clone().unwrap_or_default(), "");
        option("--restarts", self.restarts.to_string(), "0");
        option("--premature", self.premature.to_string(), "0");
        option("--suspicions", self.suspicions.to_string(), "0");
        let judged: Vec<&str> = self.judge.iter().map(|property| property.name()).collect();
        option("--judge", judged.join(","), "");
        option("--bypass", self.bypass.map(|most| most.to_string()).unwrap_or_default(), "");
        option("--invariant", self.invariant.clone().unwrap_or_default(), "");
        for (name, figure) in [("--maximise", self.maximise), ("--minimise", self.minimise)] {
            if let Some(figure) = figure {
                option(name, name_of(&|| figure.to_possible_value()), "");
            }
        }
        if self.no_reduction {
            words.push("--no-reduction".into());
        }
        if self.keep_going {
            words.push("--keep-going".into());
        }
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }
}

impl CheckArgs {
    /// The options of `skeptron check` followed by these words, as a shell would split them.
    ///
    /// # Errors
    /// If they are no options of `check`.
    pub fn parse(words: &str) -> Result<Self> {
        #[derive(clap::Parser)]
        struct Check {
            #[command(flatten)]
            args: CheckArgs,
        }
        let words = ["check"].into_iter().chain(words.split_whitespace());
        Ok(<Check as clap::Parser>::try_parse_from(words)?.args)
    }

    /// A run for each property that is violated.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub fn counterexamples(&self) -> Result<Vec<(Property, Trace)>> {
        self.each_violation(|(question, begun), property, counterexample| {
            let trace = question.trace(property, counterexample, Some(self.command()))?;
            Ok(continued(begun.as_ref(), trace))
        })
    }

    /// A drawing of each, as it is printed.
    ///
    /// # Errors
    /// As [`CheckArgs::counterexamples`].
    pub fn diagrams(&self) -> Result<Vec<(Property, String)>> {
        self.each_violation(|(question, _), property, counterexample| {
            let mut text = Vec::new();
            diagram::draw(question, property, counterexample, &mut text)?;
            Ok(String::from_utf8(text)?)
        })
    }

    fn each_violation<T>(
        &self,
        show: impl Fn(&(Question, Option<Begun>), Property, &Counterexample) -> Result<T>,
    ) -> Result<Vec<(Property, T)>> {
        let asked = self.asked()?;
        let max_memory = self.max_memory.unwrap_or_else(memory::most_of_what_is_free);
        let report = self.search(&asked.0, self.threads()?, max_memory)?;
        let violated =
            report.verdicts.iter().filter_map(|v| Some((v.property, v.counterexample.as_ref()?)));
        violated.map(|(property, found)| Ok((property, show(&asked, property, found)?))).collect()
    }
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
