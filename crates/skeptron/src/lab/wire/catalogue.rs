//! What there is: the server, the algorithms, the gallery.

use serde::Serialize;
use ts_rs::TS;

use super::{Act, AlgorithmKind, RecordKind};

/// The server.
#[derive(Clone, Debug, Serialize, TS)]
pub struct About {
    /// Of Skeptron.
    pub version: String,
    /// Whether it simulates and checks what the page asks for.
    pub runs: bool,
    /// Whether there is a cluster to look at.
    pub cluster: bool,
    /// How much the page may ask for.
    pub limits: Limits,
}

/// How much the page may ask for.
#[derive(Clone, Copy, Debug, Serialize, TS)]
pub struct Limits {
    /// Nodes of a run.
    pub nodes: usize,
    /// Records of a run.
    pub records: usize,
    /// Seconds of a job.
    pub seconds: u64,
    /// Bytes of a search.
    pub check_memory: usize,
}

/// An algorithm, or a broken variant of one.
#[derive(Clone, Debug, Serialize, TS)]
pub struct AlgorithmInfo {
    /// By which it is called everywhere.
    pub name: String,
    /// Its name in prose.
    pub title: String,
    /// What it is for.
    pub kind: AlgorithmKind,
    /// Where it was published.
    pub paper: String,
    /// What kind of algorithm it is.
    pub family: String,
    /// The weakest channel on which it is correct: `fifo` or `any`.
    pub channel: String,
    /// What it is laid out on: `none`, `coordinator`, `quorums`, `structure`, `tree`, `arbitration`,
    /// `ring`, `graph`, `capacity`, `readwrite`, `clusters`, `beginning` or `detector`.
    pub layout: String,
    /// The idea, in a few sentences.
    pub idea: String,
    /// Its rules.
    pub rules: Vec<String>,
    /// Which steps follow which rule, and why: `RULE INPUT | what holds | reason`.
    pub fires: Vec<String>,
    /// What it assumes, and what is easily done wrong.
    pub notes: Vec<String>,
    /// Its published figures.
    pub claims: Vec<ClaimInfo>,
    /// The variables of a node, by the names of the paper.
    pub variables: Vec<VariableInfo>,
    /// What is wrong with it, if it is broken on purpose.
    pub broken: Option<BrokenInfo>,
}

/// A published figure.
#[derive(Clone, Debug, Serialize, TS)]
pub struct ClaimInfo {
    /// Of what.
    pub name: String,
    /// The formula.
    pub text: String,
}

/// A variable of a node.
#[derive(Clone, Debug, Serialize, TS)]
pub struct VariableInfo {
    /// What the program calls it.
    pub field: String,
    /// What the paper calls it; `token` if it says where the token is.
    pub symbol: String,
    /// What it means.
    pub meaning: String,
}

/// What is wrong with a variant that ships in order to be refuted.
#[derive(Clone, Debug, Serialize, TS)]
pub struct BrokenInfo {
    /// The algorithm that it gets wrong.
    pub of: String,
    /// The rule that it gets wrong.
    pub flaw: String,
    /// Which property it violates.
    pub breaks: String,
    /// Options of `skeptron sim` that show it.
    pub shown_by: String,
    /// Options of `skeptron check` that refute it.
    pub refuted_by: String,
}

/// A scenario of the gallery.
#[derive(Clone, Debug, Serialize, TS)]
pub struct GalleryItem {
    /// By which it is asked for.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Where it hangs.
    pub group: String,
    /// Which stop of the lecture it is, counted from 1; none if it stands beside it.
    pub stop: Option<usize>,
    /// Which algorithm it shows.
    pub algorithm: String,
    /// What it shows, in a sentence or two.
    pub summary: String,
    /// Words by which it is found besides those of its texts.
    pub tags: Vec<String>,
    /// What a hand does in it.
    pub acts: Vec<Act>,
    /// What to see, step by step.
    pub notes: Vec<Note>,
}

/// What to see at a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct Note {
    /// Shown once that many records have happened.
    pub at: usize,
    /// Two sentences.
    pub text: String,
    /// What the text speaks of: the run must have it.
    #[serde(default)]
    pub facts: Vec<Fact>,
}

/// Something that is so in a run where a note speaks of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize, TS)]
#[serde(untagged)]
pub enum Fact {
    /// Something happened.
    Record {
        /// The place of the record in the run.
        record: usize,
        /// Where it happened.
        node: u32,
        /// What happened.
        kind: RecordKind,
        /// The kind of the message that was sent, delivered or lost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        label: Option<String>,
        /// To whom it was sent, or from whom it came; who is named or suspected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        peer: Option<u32>,
    },
    /// A variable of a node has a value.
    Value {
        /// Whose.
        node: u32,
        /// Which one.
        field: String,
        /// Its value, as it is shown.
        value: String,
    },
    /// So many records of a kind have happened.
    Count {
        /// How many.
        count: usize,
        /// Of which kind.
        kind: RecordKind,
        /// Only those of messages of that kind.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        label: Option<String>,
    },
    /// A property has been violated.
    Violated {
        /// Which one.
        violated: String,
    },
    /// A property has not been violated.
    Holds {
        /// Which one.
        holds: String,
    },
}
