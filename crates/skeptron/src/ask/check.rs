//! What can be asked of everything that a small system can do.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use skeptron_check::{CrashWhen, Disk, Faults, Scenario, ScenarioError, Walks};
use skeptron_core::Setup;
use skeptron_core::catalogue::{Algorithm, Info, Layout, Order};
use ts_rs::TS;

use super::kinds::KindsArgs;
use super::sim::{ChannelOrder, requesters};
use super::system::SystemArgs;
use super::{Files, Request, names};
pub(crate) use from::{Begun, continued};
pub use judging::Dearness;
use judging::property;
pub use question::Question;

pub(crate) mod assumptions;
mod election;
mod from;
mod judging;
pub(crate) mod memory;
mod question;
mod story;
pub(crate) mod trace;
mod way;

/// How many nodes if nothing says otherwise: with two there is no third who interferes.
pub(crate) const DEFAULT_NODES: usize = 3;
/// How long random walks are, if nothing says otherwise, and at most.
const DEFAULT_STEPS: usize = 1000;
const MOST_STEPS: usize = 1_000_000;
const DEFAULT_SEED: u64 = 1;
/// Where the command line finds a run that was given as text.
const RUN: &str = "run.jsonl";

/// What `skeptron check` is asked.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct CheckRequest {
    /// Which algorithm; see `skeptron list`
    #[ts(as = "String")]
    pub algorithm: Option<String>,
    /// Every correct algorithm, once with all assumptions and once for each that is dropped:
    /// FIFO channels, no loss, no duplicates, no crash
    #[arg(long, conflicts_with_all = ["algorithm", "coordinator", "quorum", "structure", "tree",
        "arbitration", "capacity", "readers", "read_quorums", "begin", "ring", "graph", "clusters", "requesters", "initiators", "calls", "detector", "order", "loss",
        "duplicate", "crashes", "crash_when", "victims", "restarts", "premature", "suspicions",
        "no_reduction", "keep_going", "modes", "judge", "bypass", "invariant", "maximise",
        "minimise"])]
    #[ts(as = "Option<_>")]
    pub all: bool,
    /// With --all: every correct election, once with all assumptions and a crash, and once for each
    /// that is dropped: FIFO channels, patient alarms, right detectors, no loss, no duplicates
    #[arg(long, requires = "all", conflicts_with = "requests")]
    #[ts(as = "Option<_>")]
    pub elections: bool,
    #[command(flatten)]
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub system: SystemArgs,

    /// Begin where a recorded run is (.jsonl): algorithm, system and channels are those of the run, and
    /// --requests or --calls are further ones
    #[arg(long, value_name = "FILE", help_heading = "Workload")]
    #[arg(conflicts_with_all = ["all", "nodes", "coordinator", "quorum", "structure", "tree",
        "arbitration", "capacity", "readers", "read_quorums", "begin", "ring", "graph", "clusters", "clocks", "unsafe_structure", "order", "modes", "maximise",
        "minimise"])]
    pub from: Option<String>,
    /// What the file of a recorded run says, where it is not read
    #[arg(skip)]
    pub text: Option<String>,
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
    #[serde(flatten)]
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
    #[ts(as = "Option<String>")]
    pub order: ChannelOrder,
    /// How many messages may be lost
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    #[ts(as = "Option<_>")]
    pub loss: u8,
    /// How many messages may be delivered twice
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    #[ts(as = "Option<_>")]
    pub duplicate: u8,
    /// How many nodes may stop: for ever, unless --restarts lets them come back
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    #[ts(as = "Option<_>")]
    pub crashes: u8,
    /// When a node may stop
    #[arg(long, default_value = "any", value_name = "WHEN", help_heading = "Faults")]
    #[ts(as = "Option<String>")]
    pub crash_when: CrashPhase,
    /// Who may stop, as in P1,P3 [default: everybody]
    #[arg(long, value_name = "LIST", help_heading = "Faults")]
    pub victims: Option<String>,
    /// How many nodes that stopped may come back (elections)
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    #[ts(as = "Option<_>")]
    pub restarts: u8,
    /// How many alarms may ring too early (elections)
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    #[ts(as = "Option<_>")]
    pub premature: u8,
    /// How many times a failure detector may suspect a live node: for a while (elections), or for ever
    /// (agrawal-el-abbadi)
    #[arg(long, default_value_t = 0, value_name = "K", help_heading = "Faults")]
    #[arg(allow_negative_numbers = true, value_parser = names::few)]
    #[ts(as = "Option<_>")]
    pub suspicions: u8,

    /// Judge these properties alone, also where they are not claimed: exclusion (GA1), progress (GA2),
    /// starvation (GA2'), order (EM3, by happened-before), order-by-time (by the moment of the request),
    /// bypass, fence, messages, rest, refused; of what is self-stabilising closure and convergence
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = property)]
    #[arg(help_heading = "Questions")]
    #[ts(as = "Option<_>")]
    pub judge: Vec<String>,
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
    #[ts(as = "Option<String>")]
    pub maximise: Option<Dearness>,
    /// The same with least of it
    #[arg(long, value_name = "FIGURE", value_enum, help_heading = "Questions")]
    #[arg(conflicts_with_all = ["judge", "bypass", "invariant"])]
    #[ts(as = "Option<String>")]
    pub minimise: Option<Dearness>,

    /// Also explore interleavings that provably make no difference
    #[arg(long, help_heading = "Search")]
    #[ts(as = "Option<_>")]
    pub no_reduction: bool,
    /// Decide every property instead of ending at the first violation
    #[arg(long, help_heading = "Search")]
    #[ts(as = "Option<_>")]
    pub keep_going: bool,
    /// Instead of a search take so many random walks: for what no search finishes. They find violations,
    /// and never say that something holds
    #[arg(long, value_name = "N", help_heading = "Search")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<u64>)]
    #[arg(conflicts_with_all = ["all", "modes", "maximise", "minimise", "disk", "no_reduction"])]
    pub walks: Option<u64>,
    /// With --walks: how many steps each has at most [default: 1000]
    #[arg(long, value_name = "K", requires = "walks", help_heading = "Search")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    pub walk_steps: Option<usize>,
    /// With --walks: what decides them [default: 1]
    #[arg(long, value_name = "SEED", requires = "walks", help_heading = "Search")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<u64>)]
    pub seed: Option<u64>,
    /// Keep in this folder what does not fit into --max-memory: a new folder, or an empty one. The search
    /// can be stopped (Ctrl-C) or killed and continued with --resume
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    #[arg(conflicts_with_all = ["all", "modes", "maximise", "minimise"])]
    pub disk: Option<String>,
    /// Continue the search in the folder of --disk; all other options must be the same, apart from
    /// --max-memory and --threads
    #[arg(long, requires = "disk", help_heading = "Search")]
    #[ts(as = "Option<_>")]
    pub resume: bool,
}

/// When a node may stop, as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum CrashPhase {
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

impl Request for CheckRequest {
    const COMMAND: &'static str = "check";

    fn in_full(&self) -> Self {
        let from = self.from.clone().or_else(|| self.text.is_some().then(|| RUN.into()));
        // What is on disk by then need not be searched again.
        let resume = self.disk.is_some();
        CheckRequest { from, text: None, resume, ..self.clone() }
    }
}

impl CheckRequest {
    /// Where to search on disk, if that is said.
    ///
    /// # Errors
    /// If nothing may be written there.
    pub(crate) fn on_disk(&self, files: Files) -> Result<Option<Disk<'_>>> {
        let Some(folder) = &self.disk else { return Ok(None) };
        files.allow(folder)?;
        Ok(Some(Disk::new(Path::new(folder), self.resume)))
    }

    /// The random walks to take instead of a search, if that is said.
    ///
    /// # Errors
    /// If there are none, or they have no steps.
    pub(crate) fn random_walks(&self) -> Result<Option<Walks>> {
        let Some(count) = self.walks else { return Ok(None) };
        ensure!(count > 0, "--walks is 0; at least one is needed");
        let most_steps = self.walk_steps.unwrap_or(DEFAULT_STEPS);
        ensure!(
            (1..=MOST_STEPS).contains(&most_steps),
            "--walk-steps is {most_steps}; from 1 to {MOST_STEPS} are possible"
        );
        let seed = self.seed.unwrap_or(DEFAULT_SEED);
        Ok(Some(Walks { count, most_steps, seed, shard: (0, 1) }))
    }

    /// What these options describe.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub fn question(&self, files: Files) -> Result<Question> {
        let algorithm = names::algorithm(self.algorithm.as_deref().unwrap_or_default())?;
        // Before anything of that size is built.
        if let Some(nodes) = self.system.nodes
            && nodes > Scenario::MOST_NODES
        {
            bail!(ScenarioError::TooManyNodes(nodes));
        }
        Ok(match algorithm {
            Algorithm::Mutex(info) => Question::Mutex(info, self.scenario(info, files)?),
            Algorithm::Election(info) => Question::Election(info, self.election(info, files)?),
        })
    }

    fn scenario(&self, info: &Info, files: Files) -> Result<Scenario> {
        self.refuse_options_of_elections(info)?;
        let counts = self.counts()?;
        let default_nodes = if counts.len() > 1 { counts.len() } else { DEFAULT_NODES };
        let setup = self.system.setup(info, default_nodes, files)?;
        let requests = self.requests(counts, info, &setup)?;
        let (order, faults) = (self.channel_order(), self.faults()?);
        // What recovers from any state is explored from every one, unless one is named.
        let anywhere = info.is_stabilising() && self.system.begin.is_none();
        let scenario = Scenario { setup, anywhere, after: Vec::new(), requests, order, faults };
        scenario.check()?;
        Ok(scenario)
    }

    pub(crate) fn faults(&self) -> Result<Faults> {
        ensure!(
            self.crashes > 0 || self.victims.is_none() && self.crash_when == CrashPhase::Any,
            "--victims and --crash-when say who may crash and when; say how many with --crashes K"
        );
        Ok(Faults {
            losses: self.loss,
            duplicates: self.duplicate,
            crashes: self.crashes,
            crash_when: match self.crash_when {
                CrashPhase::Any => CrashWhen::Any,
                CrashPhase::Idle => CrashWhen::Idle,
                CrashPhase::Waiting => CrashWhen::Waiting,
                CrashPhase::Holding => CrashWhen::Holding,
            },
            victims: self.victims.as_deref().map(names::nodes).transpose().context("--victims")?,
            suspicions: self.suspicions,
        })
    }

    pub(crate) fn channel_order(&self) -> Order {
        self.order.into()
    }

    pub(crate) fn refuse_options_of_elections(&self, info: &Info) -> Result<()> {
        let given = [
            ("--initiators", self.initiators.is_some()),
            ("--calls", self.calls.is_some()),
            ("--detector", self.detector.is_some()),
            ("--restarts", self.restarts > 0),
            ("--premature", self.premature > 0),
            ("--suspicions", self.suspicions > 0 && !info.has_detector()),
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
    pub(crate) fn counts(&self) -> Result<Vec<usize>> {
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
    pub(crate) fn requests(
        &self,
        counts: Vec<usize>,
        info: &Info,
        setup: &Setup,
    ) -> Result<Vec<u8>> {
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
}
