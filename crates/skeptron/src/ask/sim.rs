//! What run of an algorithm can be asked for.

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;
use skeptron_core::catalogue::{Algorithm, Info, Layout, Order};
use skeptron_sim::kinds::Kinds;
use skeptron_sim::trace::{Ticks, Trace};
use skeptron_sim::{Hand, Options, Scenario, Workload, run};
use ts_rs::TS;

use super::kinds::KindsArgs;
use super::system::{self, Elected, Network, SystemArgs};
use super::{Files, Request, names, unasked};

mod election;
mod faults;
mod workload;

/// How many nodes if nothing says otherwise.
const DEFAULT_NODES: usize = 5;

/// What to run: options of `skeptron sim`.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct SimOptions {
    /// Which algorithm; see `skeptron list`
    #[ts(as = "String")]
    pub algorithm: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
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
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub kinds: KindsArgs,

    /// Who calls elections: all, none, or a list like 1,3@2.5; with a time a node calls then, and
    /// anyway when it suspects its leader
    /// [default: all; if nobody can be suspected, P1 at 0]
    #[arg(long, value_name = "LIST|all|none", help_heading = "Election")]
    pub initiators: Option<String>,
    /// What the nodes are told of crashes: perfect:DELAY, or imperfect:DELAY,RATE,LASTING with RATE
    /// false suspicions per unit, each for LASTING units in the mean (5 if left out); also for
    /// agrawal-el-abbadi, which never trusts again [default: perfect:2]
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

    /// How long a message takes: a distribution; between sites over which the nodes are spread by turns, with
    /// 1 unit = 1 ms: three-dc, wan:aws-10, wan:ibm-10, wan:ibm-zones, or rtt:PATH, a table of round trips as clouds
    /// publish them; or matrix:PATH with a distribution for each pair of nodes
    #[arg(
        long,
        default_value = "1",
        value_name = "DIST",
        help_heading = "Network",
        allow_negative_numbers = true
    )]
    #[ts(as = "Option<_>")]
    pub latency: String,
    /// In which order a channel delivers
    #[arg(long, default_value = "fifo", value_name = "ORDER", help_heading = "Network")]
    #[ts(as = "Option<String>")]
    pub order: ChannelOrder,
    /// Probability that a message is lost
    #[arg(long, default_value_t = 0.0, value_name = "P", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::real)]
    #[ts(as = "Option<_>")]
    pub loss: f64,
    /// Probability that a message is delivered twice
    #[arg(long, default_value_t = 0.0, value_name = "P", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::real)]
    #[ts(as = "Option<_>")]
    pub duplicate: f64,
    /// Crash a node: NODE@TIME, NODE@FROM..TO to restart it (all it kept is the epoch of an election), or at random:
    /// random:RATE for ever, random:RATE,DOWN each for DOWN units in the mean
    #[arg(long, value_name = "WHAT", help_heading = "Faults")]
    #[ts(as = "Option<_>")]
    pub crash: Vec<String>,
    /// Pause a node: NODE@FROM..TO, or random:RATE,LENGTH
    #[arg(long, value_name = "WHAT", help_heading = "Faults")]
    #[ts(as = "Option<_>")]
    pub pause: Vec<String>,
    /// Cut the network: 1,2|3,4@FROM..TO both ways, 1,2>3@FROM..TO one way, or
    /// random:RATE,LENGTH, of which half are one way;
    /// what is sent across meanwhile is lost
    #[arg(long, value_name = "WHAT", help_heading = "Faults")]
    #[ts(as = "Option<_>")]
    pub partition: Vec<String>,

    /// Determines all chance
    #[arg(long, default_value_t = 1, value_name = "SEED")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<u64>)]
    #[ts(as = "Option<_>")]
    pub seed: u64,
}

impl Default for SimOptions {
    fn default() -> Self {
        unasked()
    }
}

/// The order of a channel, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum ChannelOrder {
    /// As sent.
    #[default]
    Fifo,
    /// Messages may overtake each other.
    Any,
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

impl Request for SimOptions {
    const COMMAND: &'static str = "sim";
    const ALWAYS: &'static [&'static str] = &["seed"];
}

/// Options that only elections take, and those that only mutual exclusion does, by the names of their fields.
const OF_ELECTIONS: [&str; 4] = ["initiators", "detector", "bound", "until"];
const OF_MUTEXES: [&str; 9] =
    ["requesters", "workload", "think", "section", "entries", "warmup", "modes", "at_once", "flaw"];

impl SimOptions {
    /// Whether an algorithm takes an option, by the name of its field.
    pub(crate) fn takes(algorithm: Algorithm, option: &str) -> bool {
        let (layout, others) = match algorithm {
            Algorithm::Mutex(info) => (info.layout, &OF_ELECTIONS[..]),
            Algorithm::Election(info) => (info.layout, &OF_MUTEXES[..]),
        };
        let is_told = option == "detector" && layout == Layout::Detector;
        (is_told || !others.contains(&option)) && system::takes(layout, option)
    }

    /// The algorithm that is named.
    ///
    /// # Errors
    /// If there is none of that name.
    pub(crate) fn named(&self) -> Result<Algorithm> {
        names::algorithm(self.algorithm.as_deref().unwrap_or_default())
    }

    fn refuse_options_of_elections(&self, info: &Info) -> Result<()> {
        let instead = "; use --requesters to say who asks";
        let given = [
            ("--initiators", self.initiators.is_some(), instead),
            ("--detector", self.detector.is_some() && !info.has_detector(), "; leave it out"),
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
    pub fn scenario(&self, files: Files) -> Result<(&'static Info, Scenario)> {
        let (info, scenario, _) = self.scenario_and_tree(files)?;
        Ok((info, scenario))
    }

    /// The same, and how its tree was elected, if it was.
    ///
    /// # Errors
    /// As [`SimOptions::scenario`].
    pub(crate) fn scenario_and_tree(
        &self,
        files: Files,
    ) -> Result<(&'static Info, Scenario, Option<Elected>)> {
        let info = names::mutex(self.algorithm.as_deref().unwrap_or_default())?;
        self.refuse_options_of_elections(info)?;
        let (setup, elected) = self.system.setup_in(info, DEFAULT_NODES, &self.network(), files)?;
        let nodes = setup.nodes();
        let coordinator =
            (info.layout == Layout::Coordinator && nodes > 1).then(|| setup.coordinator());
        let requesters = requesters(self.requesters.as_deref(), nodes, coordinator)?;
        let (kind, think) = (self.workload.as_deref(), self.think.as_deref());
        let (kind, think) = (kind.unwrap_or(WORKLOAD), think.unwrap_or(THINK));
        let workload = workload::parse(kind, think, nodes, files)?;
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
        let section = self.section.as_deref().unwrap_or(SECTION);
        let scenario = Scenario {
            seed: self.seed,
            workload,
            requesters,
            section: files.distribution(section).context("--section")?,
            latency: files.latency(&self.latency, nodes).context("--latency")?,
            order: self.order.into(),
            detector: self.detector()?,
            faults: faults::parse(self)?,
            hand: Hand::default(),
            warmup: self.warmup.unwrap_or(few),
            entries,
            setup,
        };
        scenario.check(info)?;
        Ok((info, scenario, elected))
    }

    /// The same for a lock with kinds.
    ///
    /// # Errors
    /// As [`SimOptions::scenario`], and if kinds are not offered.
    pub(crate) fn kinds(&self, files: Files) -> Result<(&'static Info, Scenario, Kinds)> {
        let (info, scenario) = self.scenario(files)?;
        let kinds = Kinds {
            usages: self.kinds.usages(info, scenario.setup.nodes())?,
            at_once: self.kinds.at_once().into(),
            flaw: self.kinds.flaw()?,
        };
        Ok((info, scenario, kinds))
    }

    /// The network, in which a tree may be elected before the run.
    fn network(&self) -> Network<'_> {
        Network { latency: &self.latency, order: self.order.into(), seed: self.seed }
    }

    /// The same with another seed, by which another tree may be elected, or another state drawn.
    ///
    /// # Errors
    /// As [`SimOptions::scenario`].
    pub(crate) fn seeded(&self, scenario: &Scenario, seed: u64, files: Files) -> Result<Scenario> {
        if self.system.elects_tree() || self.system.begins_at_random() {
            return Ok(SimOptions { seed, ..self.clone() }.scenario(files)?.1);
        }
        Ok(Scenario { seed, ..scenario.clone() })
    }

    /// What happens in the run that these options describe.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub fn trace(&self, files: Files) -> Result<Trace> {
        let recording = Options { record: true, ..Options::default() };
        let trace = match self.named()? {
            Algorithm::Election(info) => {
                let scenario = self.election(info, files)?;
                skeptron_sim::election::run(info, &scenario, &recording)?.trace
            }
            Algorithm::Mutex(_) => {
                let (info, scenario) = self.scenario(files)?;
                run(info, &scenario, &recording)?.trace
            }
        };
        let mut trace = trace.context("a recorded run has a trace")?;
        trace.header.command = Some(self.command());
        Ok(trace)
    }
}

/// A single time as people write it, in ticks.
fn constant(text: &str) -> Result<Ticks> {
    match Files::None.distribution(text).ok().and_then(|time| time.as_constant()) {
        Some(ticks) => Ok(ticks),
        None => bail!("`{text}` is no time; write a number of units from 0 up, as in 2.5"),
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

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    /// What a sweep leaves out is what a run would refuse.
    #[test]
    fn an_option_is_taken_where_it_is_not_refused() {
        let options = [
            ("coordinator", "1"),
            ("quorum", "all"),
            ("structure", "lamport"),
            ("tree", "star"),
            ("arbitration", "nearest"),
            ("ring", "descending"),
            ("requesters", "2"),
            ("workload", "closed"),
            ("think", "1"),
            ("section", "1"),
            ("entries", "5"),
            ("warmup", "1"),
            ("initiators", "1"),
            ("detector", "perfect:1"),
            ("bound", "1"),
            ("until", "5"),
        ];
        let names = ["central", "maekawa", "sanders", "agrawal-el-abbadi", "raymond", "singhal"];
        for name in names.into_iter().chain(["lamport", "bully", "ring"]) {
            let algorithm = names::algorithm(name).unwrap();
            for (option, value) in options {
                let asked = format!("{name} -n 4 {} {value}", command::long(option));
                let asked = SimOptions::parse(&asked).unwrap();
                let built = match algorithm {
                    Algorithm::Mutex(_) => asked.scenario(Files::None).map(drop),
                    Algorithm::Election(info) => asked.election(info, Files::None).map(drop),
                };
                let refused = built.err().map(|error| format!("{error:#}")).unwrap_or_default();
                let is_taken = !refused.contains("takes no");
                assert_eq!(
                    SimOptions::takes(algorithm, option),
                    is_taken,
                    "{name} {option}: {refused}"
                );
            }
        }
    }
}
