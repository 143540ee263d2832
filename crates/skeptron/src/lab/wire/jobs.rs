//! Work that takes a while: how far it is, and what came of it.

use serde::Serialize;
use ts_rs::TS;

use crate::ask::compare::{CompareCurve, CompareRow};
use crate::ask::quorum::Answer;
use crate::ask::structure::Report;
use crate::ask::{CheckRequest, Given};

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

/// What a comparison came to.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(concrete(F = String))]
pub struct CompareResult<F> {
    /// All rows, in the order of the algorithms and sizes.
    pub rows: Vec<CompareRow<F>>,
    /// What is claimed between the sizes.
    pub curves: Vec<CompareCurve>,
    /// The command that makes the same comparison.
    pub command: String,
}

/// A comparison as a page shows it that needs no server.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(concrete(F = String))]
pub struct CompareReport<F> {
    /// Whether elections are compared.
    pub elections: bool,
    /// What all runs have in common, in words.
    pub settings: String,
    /// The figures.
    pub result: CompareResult<F>,
    /// A short run of each algorithm.
    pub diagrams: Vec<CompareDiagram>,
}

/// A short run as a space-time diagram.
#[derive(Clone, Debug, Serialize, TS)]
pub struct CompareDiagram {
    /// Of which algorithm.
    pub algorithm: String,
    /// The picture.
    pub svg: String,
    /// The command that makes the same run.
    pub command: String,
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
    #[ts(as = "CheckRequest")]
    pub request: Given<CheckRequest>,
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

/// A table of assumptions as a page shows it that needs no server.
#[derive(Clone, Debug, Serialize, TS)]
pub struct AssumptionsReport {
    /// Its frame.
    pub table: AssumptionTable,
    /// All cells.
    pub cells: Vec<AssumptionCell>,
    /// How many of them are not as the papers say.
    pub surprises: usize,
    /// A shortest run for everything that breaks.
    pub diagrams: Vec<AssumptionDiagram>,
}

/// A shortest run that breaks something, as a space-time diagram.
#[derive(Clone, Debug, Serialize, TS)]
pub struct AssumptionDiagram {
    /// Which of the cells.
    pub cell: usize,
    /// What it breaks.
    pub property: String,
    /// In how many steps.
    pub steps: usize,
    /// The picture.
    pub svg: String,
}

/// What is known of a quorum system.
#[derive(Clone, Debug, Serialize, TS)]
pub struct QuorumResult {
    /// What `skeptron quorum --json` prints.
    #[ts(type = "QuorumReport & Partial<QuorumComparison>")]
    pub report: Answer,
    /// The picture, if there is one.
    pub svg: Option<String>,
    /// The command that asks the same.
    pub command: String,
}

/// What is known of an information structure.
#[derive(Clone, Debug, Serialize, TS)]
pub struct StructureResult {
    /// What `skeptron structure --json` prints.
    pub report: Report,
    /// The command that asks the same.
    pub command: String,
}
