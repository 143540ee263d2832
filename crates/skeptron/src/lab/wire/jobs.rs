//! Work that takes a while: comparisons, searches, analyses. All texts are what the options of the same
//! names take on the command line.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

/// How far a job is.
#[derive(Clone, Debug, Serialize, TS)]
pub struct Progress {
    /// So much is done …
    pub done: usize,
    /// … of so much.
    pub total: usize,
    /// What was done last.
    pub label: String,
}

/// What `skeptron compare` is asked.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct CompareRequest {
    /// Which ones; all if none is named.
    pub algorithms: Option<Vec<String>>,
    /// Elections instead of mutual exclusion.
    pub elections: Option<bool>,
    /// For how many nodes each.
    pub nodes: Vec<usize>,
    /// Quorums, where they are asked.
    pub quorum: Option<String>,
    /// Tree, where there is one.
    pub tree: Option<String>,
    /// How long messages take.
    pub latency: Option<String>,
    /// How long a node stays inside.
    pub section: Option<String>,
    /// How many entries are measured.
    pub entries: Option<u64>,
    /// How many seeds where there is chance.
    pub seeds: Option<u64>,
}

/// One figure at one size, as `skeptron compare --json` prints it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct CompareRow {
    /// Whose.
    pub algorithm: String,
    /// Of an election: in which situation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// How many nodes.
    pub nodes: usize,
    /// What was measured: `messages_saturated`, `jain` …
    pub figure: String,
    /// What was published.
    #[ts(optional = false)]
    pub claim: Option<ClaimedValues>,
    /// What was measured, if there was anything.
    #[ts(optional = false)]
    pub measured: Option<Measured>,
    /// Measured minus claimed.
    #[ts(optional = false)]
    pub deviation: Option<f64>,
    /// Whether the claim holds, where it applies.
    #[ts(optional = false)]
    pub holds: Option<bool>,
    /// What is claimed under other conditions, and so not compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<ClaimElsewhere>,
}

/// A claim that says nothing of these settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ClaimElsewhere {
    /// The formula.
    pub claim: String,
    /// Which of its conditions do not hold here.
    pub needs: Vec<String>,
}

/// A claim and its values in one system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct ClaimedValues {
    /// The formula.
    pub text: String,
    /// At least so much.
    pub low: f64,
    /// So much as a rule.
    pub typical: Option<f64>,
    /// At most so much.
    pub high: f64,
}

/// The mean of independent runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95 % interval.
    pub half_width: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

/// A claim over N, to be drawn as a line.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(optional_fields)]
pub struct CompareCurve {
    /// Whose.
    pub algorithm: String,
    /// Of an election: in which situation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Of which figure.
    pub figure: String,
    /// The formula.
    pub text: String,
    /// N rises from the smallest that was asked for to the largest.
    pub points: Vec<CurvePoint>,
}

/// A claim at one size.
#[derive(Clone, Copy, Debug, Serialize, TS)]
pub struct CurvePoint {
    /// How many nodes.
    pub nodes: usize,
    /// At least so much.
    pub low: f64,
    /// So much as a rule.
    pub typical: Option<f64>,
    /// At most so much.
    pub high: f64,
}

/// What a comparison came to.
#[derive(Clone, Debug, Serialize, TS)]
pub struct CompareResult {
    /// All rows, in the order of the algorithms and sizes.
    pub rows: Vec<CompareRow>,
    /// What is claimed between the sizes.
    pub curves: Vec<CompareCurve>,
    /// The command that makes the same comparison.
    pub command: String,
}

/// What `skeptron check` is asked.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct CheckRequest {
    /// Its name in the catalogue.
    pub algorithm: String,
    /// How many nodes.
    pub nodes: Option<usize>,
    /// Who coordinates.
    pub coordinator: Option<String>,
    /// Quorums.
    pub quorum: Option<String>,
    /// Information structure.
    pub structure: Option<String>,
    /// Tree.
    pub tree: Option<String>,
    /// How the holder chooses.
    pub arbitration: Option<String>,
    /// The ring of an election.
    pub ring: Option<String>,
    /// The network of an election.
    pub graph: Option<String>,
    /// The run in whose middle the search begins: algorithm, system and channels are its own.
    pub from: Option<CheckFrom>,
    /// How often each node asks.
    pub requests: Option<String>,
    /// Who asks.
    pub requesters: Option<String>,
    /// Who calls elections.
    pub initiators: Option<String>,
    /// How many of them call of their own accord.
    pub calls: Option<u8>,
    /// Within how many bounds a crash is told.
    pub detector: Option<String>,
    /// In which order a channel delivers.
    pub order: Option<String>,
    /// How many messages may be lost.
    pub loss: Option<u8>,
    /// How many messages may be delivered twice.
    pub duplicate: Option<u8>,
    /// How many nodes may stop.
    pub crashes: Option<u8>,
    /// When a node may stop.
    pub crash_when: Option<String>,
    /// Who may stop.
    pub victims: Option<String>,
    /// How many may come back.
    pub restarts: Option<u8>,
    /// How many alarms may ring too early.
    pub premature: Option<u8>,
    /// How many false suspicions there may be.
    pub suspicions: Option<u8>,
    /// Decide every property instead of ending at the first violation.
    pub keep_going: Option<bool>,
}

/// Where a search begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct CheckFrom {
    /// A recorded run, as `jsonl`.
    pub trace: String,
    /// After how many of its steps.
    pub at: usize,
}

/// How far a search is.
#[derive(Clone, Debug, Serialize, TS)]
pub struct CheckProgress {
    /// How many states have been found.
    pub states: u64,
    /// How many steps from the start.
    pub depth: usize,
    /// For how long.
    pub seconds: f64,
    /// What it waits for, before it begins.
    pub label: Option<String>,
}

/// What a search found.
#[derive(Clone, Debug, Serialize, TS)]
pub struct CheckResult {
    /// How many states there are.
    pub states: u64,
    /// How many steps between them.
    pub transitions: u64,
    /// How many steps from the start to the last.
    pub depth: usize,
    /// Whether everything was explored.
    pub complete: bool,
    /// Whether the memory ended the search.
    pub out_of_memory: bool,
    /// How long it took.
    pub seconds: f64,
    /// The command that asks the same.
    pub command: String,
    /// How many steps had been taken before the search began.
    pub after: usize,
    /// What was judged.
    pub properties: Vec<CheckedProperty>,
}

/// A property in a search.
#[derive(Clone, Debug, Serialize, TS)]
pub struct CheckedProperty {
    /// Its name.
    pub name: String,
    /// Whether it holds, if that is known.
    pub holds: Option<bool>,
    /// How many steps a shortest violation takes, those before the search included.
    pub trace_length: Option<usize>,
    /// That violation as a recorded run, to be played.
    pub trace: Option<String>,
}

/// Which table of assumptions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
pub struct AssumptionsRequest {
    /// That of elections.
    pub elections: bool,
}

/// The frame of a table of assumptions, told before its cells.
#[derive(Clone, Debug, Serialize, TS)]
pub struct AssumptionTable {
    /// The system in words.
    pub system: String,
    /// The columns: what may happen.
    pub conditions: Vec<String>,
    /// The rows.
    pub lines: Vec<AssumptionLine>,
    /// The command that makes the same table.
    pub command: String,
}

/// A row of that table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct AssumptionLine {
    /// Which algorithm.
    pub algorithm: String,
    /// Who stops, where one node is not like the others.
    pub who: Option<String>,
}

/// What comes of an algorithm without an assumption.
#[derive(Clone, Debug, Serialize, TS)]
pub struct AssumptionCell {
    /// Which algorithm.
    pub algorithm: String,
    /// Who stops, where one node is not like the others.
    pub who: Option<String>,
    /// What may happen.
    pub condition: String,
    /// Whether everything holds, if that is known.
    pub holds: Option<bool>,
    /// Whether everything should hold, if the papers say it.
    pub claimed: Option<bool>,
    /// Whether the two agree.
    pub agrees: bool,
    /// Whether everything was explored.
    pub complete: bool,
    /// How many states there are.
    pub states: u64,
    /// What breaks after how many steps, or `holds`; a line each.
    pub text: String,
    /// What was judged; the one that breaks soonest comes with its run.
    pub properties: Vec<CheckedProperty>,
    /// The command that asks for this cell.
    pub command: String,
    /// The request that does.
    pub request: CheckRequest,
}

/// The end of a table of assumptions.
#[derive(Clone, Debug, Serialize, TS)]
pub struct AssumptionsResult {
    /// How many cells there are.
    pub cells: usize,
    /// How many of them are not as the papers say.
    pub surprises: usize,
    /// The command that makes the same table.
    pub command: String,
}

/// What `skeptron quorum` is asked.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct QuorumRequest {
    /// A construction, or `best`.
    pub kind: Option<String>,
    /// What a file says, instead.
    pub text: Option<String>,
    /// How many nodes.
    pub nodes: Option<usize>,
    /// Widths of the rows of a wall.
    pub rows: Option<Vec<usize>>,
    /// Weights of the nodes.
    pub weights: Option<Vec<u64>>,
    /// Height of a tree or hierarchy.
    pub height: Option<u32>,
    /// Order of a plane.
    pub order: Option<usize>,
    /// With which probability each node has failed.
    pub p: Option<f64>,
    /// How many requests each node can serve in a unit of time.
    pub capacities: Option<Vec<f64>>,
    /// How long each node takes to answer.
    pub latencies: Option<Vec<f64>>,
    /// Which picture.
    pub picture: Option<String>,
    /// Whose quorum the picture shows.
    pub of: Option<String>,
}

/// What is known of a quorum system.
#[derive(Clone, Debug, Serialize, TS)]
pub struct QuorumResult {
    /// What `skeptron quorum --json` prints.
    #[ts(type = "QuorumReport")]
    pub report: serde_json::Value,
    /// The picture, if there is one.
    pub svg: Option<String>,
    /// The command that asks the same.
    pub command: String,
    /// Of `best`: all constructions side by side.
    #[ts(type = "QuorumCandidate[] | null")]
    pub compared: Option<serde_json::Value>,
}

/// What `skeptron structure` is asked.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct StructureRequest {
    /// A preset.
    pub what: Option<String>,
    /// What a file says, instead.
    pub text: Option<String>,
    /// How many nodes.
    pub nodes: Option<usize>,
    /// The quorums of `maekawa`.
    pub quorum: Option<String>,
    /// How often each node asks.
    pub rates: Option<String>,
    /// Search the best one for the rates.
    pub optimise: Option<OptimiseRequest>,
}

/// Demands on the structure that is searched.
#[derive(Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct OptimiseRequest {
    /// How much the busiest node may do.
    pub busiest: Option<f64>,
    /// How long the delay may be.
    pub delay: Option<f64>,
}

/// What is known of an information structure.
#[derive(Clone, Debug, Serialize, TS)]
pub struct StructureResult {
    /// What `skeptron structure --json` prints.
    #[ts(type = "StructureReport")]
    pub report: serde_json::Value,
    /// The command that asks the same.
    pub command: String,
}
