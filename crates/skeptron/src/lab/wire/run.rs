//! Runs: what to run, what happened, what the nodes know.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

use super::Note;
use crate::ask::{Given, SimOptions};

/// Which run to make: exactly one of `sim`, `scenario` and `trace`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct RunRequest {
    /// A simulation.
    #[ts(as = "Option<SimOptions>")]
    pub sim: Option<Given<SimOptions>>,
    /// A scenario of the gallery, by name.
    pub scenario: Option<String>,
    /// A recorded run: what a `.jsonl` file says.
    pub trace: Option<String>,
    /// What a hand does; of a scenario, instead of what it says itself.
    pub acts: Option<Vec<Act>>,
    /// What is said of it, whose facts are looked up; a scenario of the gallery has its own.
    pub notes: Option<Vec<Note>>,
}

/// What a hand does, right after the first `after` records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
pub struct Act {
    /// After how many records.
    pub after: usize,
    /// When, if nothing else happens before.
    pub t: u64,
    /// What.
    #[serde(flatten)]
    pub deed: Deed,
}

/// What a hand can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum Deed {
    /// Let a node ask.
    Request {
        /// Which one.
        node: u32,
    },
    /// Let a node leave the section.
    Release {
        /// Which one.
        node: u32,
    },
    /// Let a node call an election.
    Call {
        /// Which one.
        node: u32,
    },
    /// Choose the next random number of a node.
    Draw {
        /// Which one.
        node: u32,
        /// Which number, from 1 on.
        number: u32,
    },
    /// Crash a node.
    Crash {
        /// Which one.
        node: u32,
    },
    /// Restart a node.
    Restart {
        /// Which one.
        node: u32,
    },
    /// Pause a node.
    Pause {
        /// Which one.
        node: u32,
    },
    /// Let a node go on.
    Resume {
        /// Which one.
        node: u32,
    },
    /// Deliver a message now.
    Deliver {
        /// Which one.
        message: u64,
    },
    /// Lose a message.
    Drop {
        /// Which one.
        message: u64,
    },
    /// Copy a message.
    Duplicate {
        /// Which one.
        message: u64,
    },
    /// Hold a message back.
    Delay {
        /// Which one.
        message: u64,
        /// For how long, in ticks.
        by: u64,
    },
    /// Cut the network.
    Cut {
        /// Messages from here …
        from: Vec<u32>,
        /// … to here are lost.
        to: Vec<u32>,
        /// And in the other direction, too.
        both_ways: bool,
    },
    /// Mend all cuts.
    Mend,
}

/// A run was made.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct RunMade {
    /// Where it is found; nobody guesses it.
    pub id: String,
}

/// What a hand has done so far.
#[derive(Clone, Debug, Serialize, Deserialize, TS)]
pub struct Acts {
    /// In order.
    pub acts: Vec<Act>,
}

/// What is said about a run on a page that plays it without a server.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct RunPage {
    /// Its title; empty for what the run itself says.
    pub title: String,
    /// What it shows, in a sentence or two.
    pub summary: String,
    /// What to see, step by step.
    pub notes: Vec<Note>,
    /// The language in which it was seen; without one the page follows its reader.
    #[serde(default)]
    #[ts(optional)]
    pub lang: Option<String>,
}

/// What is run.
#[derive(Clone, Debug, Serialize, TS)]
pub struct RunHeader {
    /// The algorithm's name.
    pub algorithm: String,
    /// `mutex` or `election`.
    pub kind: AlgorithmKind,
    /// How many nodes.
    pub nodes: usize,
    /// In which order its channels deliver.
    pub order: String,
    /// How many ticks are one unit of time.
    pub ticks_per_unit: u64,
    /// The command that makes the same run, if nothing was done by hand.
    pub command: Option<String>,
    /// What it was made from, as far as that is known: of a recorded run the system alone may be.
    #[ts(as = "SimOptions")]
    pub sim: Given<SimOptions>,
    /// Whether it was recorded before: latencies and who asks when are what they were.
    pub recorded: bool,
    /// How the nodes are laid out.
    pub topology: Topology,
    /// What each node of an election is doing before anything happens; empty for mutual exclusion.
    pub phases: Vec<Phase>,
    /// Whether a hand may act: not on a recorded election.
    pub may_act: bool,
    /// Whether sections end by hand.
    pub holds: bool,
    /// The highest random number that nodes draw; 0 where nothing is drawn.
    pub draws: usize,
    /// What a hand has done.
    pub acts: Vec<Act>,
    /// When the network is cut, as planned before the run.
    pub partitions: Vec<Partition>,
}

/// A cut of the network for a while.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Partition {
    /// When.
    pub begins: u64,
    /// Until when; none for ever.
    pub ends: Option<u64>,
    /// Messages from here …
    pub from: Vec<u32>,
    /// … to here are lost.
    pub to: Vec<u32>,
    /// And in the other direction, too.
    pub both_ways: bool,
}

/// Which kind of algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum AlgorithmKind {
    /// For mutual exclusion.
    Mutex,
    /// For elections.
    Election,
}

/// How the nodes are laid out; only what the algorithm uses is there.
#[derive(Clone, Debug, Default, Serialize, TS)]
pub struct Topology {
    /// Who coordinates.
    pub coordinator: Option<u32>,
    /// The parent of each node; the root has none.
    pub tree: Option<Vec<Option<u32>>>,
    /// The nodes around the ring.
    pub ring: Option<Vec<u32>>,
    /// The quorum of each node.
    pub quorums: Option<Vec<Vec<u32>>>,
    /// Whom each node asks (Sanders).
    pub request: Option<Vec<Vec<u32>>>,
    /// Whom each node informs (Sanders).
    pub inform: Option<Vec<Vec<u32>>>,
    /// The links of a network.
    pub links: Option<Vec<(u32, u32)>>,
}

/// Some records of a run.
#[derive(Clone, Debug, Serialize, TS)]
pub struct RecordBatch {
    /// The place of the first one in the run.
    pub from: usize,
    /// What happened.
    pub records: Vec<RunRecord>,
}

/// What has been told from there on is void.
#[derive(Clone, Debug, Serialize, TS)]
pub struct Cut {
    /// The first record that is void.
    pub from: usize,
    /// What a hand has done now.
    pub acts: Vec<Act>,
}

/// One thing that happened at one node. Inputs begin a step, effects follow them.
#[derive(Clone, Debug, Serialize, TS)]
pub struct RunRecord {
    /// When.
    pub t: u64,
    /// Where.
    pub node: u32,
    /// What.
    pub kind: RecordKind,
    /// The same in words, without the node: `requests`, `REPLY → P2`.
    pub text: String,
    /// Which message.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub message: Option<u64>,
    /// Which message it is a copy of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub of: Option<u64>,
    /// To whom.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub to: Option<u32>,
    /// The name of the message's kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub label: Option<String>,
    /// All that the message says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub content: Option<String>,
    /// What is written beside its name: `41`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub payload: Option<String>,
    /// The entry's fence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub fence: Option<u64>,
    /// Who is suspected or trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub whom: Option<u32>,
    /// Which number is drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub number: Option<u32>,
    /// Who leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub leader: Option<u32>,
    /// Since which election.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub epoch: Option<String>,
    /// Why a message is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub cause: Option<String>,
    /// Which property is violated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub property: Option<String>,
    /// Whether a hand did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub by_hand: Option<bool>,
    /// What its node is doing after the step that it begins, where that is another thing than before
    /// and no record says it: in elections.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub becomes: Option<Phase>,
}

/// What a node is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Nothing.
    Idle,
    /// It waits to enter, or for an election to end.
    Waiting,
    /// It is inside, or leads.
    Inside,
    /// It is down.
    Down,
}

/// What can happen: inputs, then effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum RecordKind {
    /// Input: the application wants in.
    Request,
    /// Input: the application leaves.
    Release,
    /// Input: a message arrives.
    Deliver,
    /// Input: the node stops.
    Crash,
    /// Input: the node begins again.
    Restart,
    /// Input: the node stands still.
    Pause,
    /// Input: the node goes on.
    Resume,
    /// Input: the network loses a message.
    Lose,
    /// Input: the network copies a message.
    Duplicate,
    /// Input: the application wants an election.
    Call,
    /// Input: another node is suspected.
    Suspect,
    /// Input: another node is trusted again.
    Trust,
    /// Input: a random number is drawn for the node.
    Draw,
    /// Input: an alarm rings.
    Expire,
    /// Effect: a message is sent.
    Send,
    /// Effect: the node enters.
    Enter,
    /// Effect: an alarm is set.
    Arm,
    /// Effect: an alarm is stopped.
    Disarm,
    /// Effect: a leader is named.
    Elect,
    /// Effect: the input is not taken.
    Refuse,
    /// A judge's finding.
    Violation,
}

/// All has been told.
#[derive(Clone, Debug, Serialize, TS)]
pub struct RunEnd {
    /// How many records there are.
    pub records: usize,
    /// Why it ends there.
    pub reason: RunReason,
    /// When.
    pub t: u64,
    /// What the judges say.
    pub verdicts: Vec<RunVerdict>,
    /// What was measured.
    pub figures: Vec<Figure>,
    /// What its notes say that is not so.
    pub doubts: Vec<String>,
}

/// Where a broken variant first does what the correct algorithm would not.
#[derive(Clone, Debug, Serialize, TS)]
pub struct Mistake {
    /// The record that begins the step.
    pub record: usize,
    /// Whose step it is.
    pub node: u32,
    /// What the correct algorithm would do there first; none if it would do nothing.
    pub expected: Option<String>,
}

/// Why a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "lowercase")]
pub enum RunReason {
    /// Nothing happens any more, or enough did.
    Over,
    /// It reached the limit of records.
    Limit,
}

/// What a judge says of a property.
#[derive(Clone, Debug, Serialize, TS)]
pub struct RunVerdict {
    /// Which property.
    pub property: String,
    /// Whether it holds; none if it is not claimed here.
    pub holds: Option<bool>,
    /// Which record violates it first.
    pub at: Option<usize>,
    /// In words.
    pub detail: String,
}

/// A measured figure beside what was published.
#[derive(Clone, Debug, Serialize, TS)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// What was measured.
    pub measured: String,
    /// What was published for it.
    pub claimed: Option<String>,
    /// Whether the claim holds, where it applies.
    pub holds: Option<bool>,
}

/// What the nodes know: all of it at the start of a chunk, then what each record changes.
#[derive(Clone, Debug, Serialize, TS)]
pub struct StateChunk {
    /// Its number.
    pub chunk: usize,
    /// The state of each node before its first record.
    pub start: Vec<NodeState>,
    /// What changes, in order.
    pub changes: Vec<StateChange>,
}

/// What a record changes.
#[derive(Clone, Debug, Serialize, TS)]
pub struct StateChange {
    /// The place of the record in the run.
    pub record: usize,
    /// Whose state.
    pub node: u32,
    /// What it is after that record.
    pub state: NodeState,
}

/// The clocks of the lectures in a chunk of records.
#[derive(Clone, Debug, Serialize, TS)]
pub struct ClockChunk {
    /// Its number.
    pub chunk: usize,
    /// For each record the clocks of its node after it; none if it is no event of a node.
    pub stamps: Vec<Option<ClockStamp>>,
}

/// The clocks of a node after an event.
#[derive(Clone, Debug, Serialize, TS)]
pub struct ClockStamp {
    /// The Lamport clock.
    pub lamport: u64,
    /// How many events of each node are known: its own number is that of the event.
    pub vector: Vec<u64>,
}

/// What a node knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct NodeState {
    /// Whether it is not crashed.
    pub up: bool,
    /// Its variables, in the order of the algorithm.
    pub vars: Vec<Variable>,
}

/// A variable of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct Variable {
    /// Its field.
    pub field: String,
    /// Its value, as the papers write it.
    pub value: String,
    /// The same to draw with: a node is `"P3"`, a timestamp `[41, "P3"]`, a set or a list an array.
    #[ts(type = "unknown")]
    pub data: serde_json::Value,
}
