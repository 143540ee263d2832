//! What `skeptron quorum --json` and `skeptron structure --json` print, as the page reads it. A test
//! reads what they print into these types, so that neither changes without the other.

use serde::Deserialize;
use ts_rs::TS;

/// Everything about a quorum system. Nodes are counted from 1.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct QuorumReport {
    /// The construction, or `file`.
    pub kind: String,
    /// The construction as it would be typed.
    pub name: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// All quorums, unless they are too many.
    #[ts(optional = false)]
    pub quorums: Option<Vec<Vec<usize>>>,
    /// How many there are, all digits.
    #[ts(optional = false)]
    pub quorum_count: Option<String>,
    /// The quorum of each node.
    pub assignment: Vec<Vec<usize>>,
    /// How large the quorums are.
    pub size: QuorumSizes,
    /// Conditions 1–4.
    pub conditions: QuorumConditions,
    /// Whether no quorum contains another.
    pub coterie: bool,
    /// Whether some other coterie is better in every respect, if that is known.
    #[ts(optional = false)]
    pub dominated: Option<bool>,
    /// If so: a set that could be a quorum, too.
    #[ts(optional = false)]
    pub could_be_added: Option<Vec<usize>>,
    /// The smallest possible largest probability that a node is asked.
    #[ts(optional = false)]
    pub load: Option<f64>,
    /// The same as a fraction, where it is proved.
    #[ts(optional = false)]
    pub load_fraction: Option<String>,
    /// No strategy has a smaller load.
    #[ts(optional = false)]
    pub load_at_least: Option<f64>,
    /// 1/c and c/N with c the smallest size.
    #[ts(optional = false)]
    pub load_bounds: Option<(f64, f64)>,
    /// How the load was found.
    #[ts(optional = false)]
    pub load_method: Option<String>,
    /// How often to ask which quorum for that load.
    pub strategy: Vec<QuorumShare>,
    /// How many nodes may crash, whichever they are, if that is known.
    #[ts(optional = false)]
    pub resilience: Option<usize>,
    /// It is at least the first and at most the second.
    #[ts(optional = false)]
    pub resilience_bounds: Option<(usize, usize)>,
    /// A smallest known set of nodes whose crash leaves no quorum.
    pub fatal: Vec<usize>,
    /// The probability that no quorum is alive.
    #[ts(optional = false)]
    pub failure_probability: Option<QuorumFailure>,
    /// What the nodes can serve, if their capacities or latencies were given.
    #[ts(optional = false)]
    pub performance: Option<QuorumPerformance>,
    /// What else there is to say.
    pub notes: Vec<String>,
    /// Of `best`: all constructions.
    pub candidates: Option<Vec<QuorumCandidate>>,
    /// Of `best`: one for each goal.
    pub recommendations: Option<Vec<QuorumRecommendation>>,
    /// Of `best`: why some constructions are missing.
    pub missing: Option<Vec<String>>,
}

/// Sizes of quorums.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct QuorumSizes {
    /// The smallest.
    pub min: usize,
    /// The largest.
    pub max: usize,
    /// The mean, where they can be counted.
    pub mean: Option<f64>,
}

/// Conditions 1–4.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct QuorumConditions {
    /// 1: any two meet.
    pub intersecting: bool,
    /// 2: each node is in its own.
    pub contains_self: bool,
    /// 3: all have the same size.
    pub equal_size: bool,
    /// 4: each node is in equally many.
    pub equal_degree: bool,
    /// What violates the first, in words.
    pub violation: Option<String>,
}

/// How often to ask a quorum.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct QuorumShare {
    /// Which one.
    pub quorum: Vec<usize>,
    /// With which probability.
    pub probability: f64,
}

/// The probability that no quorum is alive.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct QuorumFailure {
    /// If each node has failed with this probability.
    pub p: f64,
    /// The probability.
    pub value: f64,
    /// How it was found.
    pub method: String,
    /// If it was estimated: in which interval it is.
    pub interval: Option<(f64, f64)>,
}

/// What nodes of given capacities and latencies can do.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct QuorumPerformance {
    /// The largest rate of entries.
    pub capacity: f64,
    /// No strategy has a larger one.
    pub capacity_at_most: f64,
    /// How that was found.
    pub method: String,
    /// How often to ask which quorum for it.
    pub strategy: Vec<QuorumShare>,
    /// How long it takes in the mean until a quorum has answered.
    pub latency: Option<f64>,
    /// Whether no strategy of this capacity is faster.
    pub latency_is_least: bool,
    /// When the quorum that answers first has answered.
    pub fastest: f64,
    /// That quorum.
    pub fastest_quorum: Vec<usize>,
}

/// A construction among others.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct QuorumCandidate {
    /// As it would be typed.
    pub name: String,
    /// How many nodes each node asks in the mean.
    pub asked: f64,
    /// Whether conditions 1–4 hold.
    pub symmetric: bool,
    /// Whether each node is in its own quorum.
    pub contains_self: bool,
    /// The load.
    pub load: f64,
    /// The load as a fraction, where it is proved.
    pub load_fraction: Option<String>,
    /// How many crashes it survives for sure.
    pub resilience: usize,
    /// Whether that is exact.
    pub resilience_is_exact: bool,
    /// The probability that no quorum is alive.
    pub failure_probability: f64,
    /// Whether that is exact.
    pub failure_is_exact: bool,
}

/// A construction for a goal.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct QuorumRecommendation {
    /// The goal: `equal-work`, `availability` …
    pub goal: String,
    /// The construction.
    pub name: String,
    /// Why, and at which price.
    pub why: String,
}

/// Everything about an information structure. Nodes are counted from 1.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
#[ts(optional_fields)]
pub struct StructureReport {
    /// What was asked for.
    pub name: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// Whether it keeps the rules.
    pub valid: bool,
    /// Which rule it breaks.
    #[ts(optional = false)]
    pub violation: Option<StructureViolation>,
    /// Whom each node asks.
    pub request: Vec<Vec<usize>>,
    /// Whom each node tells.
    pub inform: Vec<Vec<usize>>,
    /// Which share of the requests comes from each node.
    pub shares: Vec<f64>,
    /// Messages of an entry.
    #[ts(optional = false)]
    pub messages: Option<StructureMessages>,
    /// For which share of all entries each node is asked by others.
    #[ts(optional = false)]
    pub load: Option<StructureLoad>,
    /// Synchronisation delays.
    #[ts(optional = false)]
    pub delay: Option<StructureDelays>,
    /// Who asks whom without need.
    pub needless: Vec<(usize, usize)>,
    /// Of a search: how good the result is.
    pub optimal: Option<StructureOptimal>,
}

/// Which rule is broken, and what would mend it.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct StructureViolation {
    /// The rule.
    pub rule: String,
    /// Whom it is about.
    pub nodes: Vec<usize>,
    /// What is wrong.
    pub explanation: String,
    /// What would mend it.
    pub remedy: String,
}

/// Messages of an entry, between two bounds.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct StructureMessages {
    /// At least, of each node.
    pub low: Vec<usize>,
    /// At most, of each node.
    pub high: Vec<usize>,
    /// The mean of the former.
    pub mean_low: f64,
    /// The mean of the latter.
    pub mean_high: f64,
}

/// For which share of all entries nodes are asked by others.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct StructureLoad {
    /// Each node.
    pub of: Vec<f64>,
    /// The busiest.
    pub busiest: f64,
}

/// Synchronisation delays.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct StructureDelays {
    /// As published.
    pub published: StructureDelay,
    /// As they are.
    pub exact: StructureDelay,
}

/// In units of the latency.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct StructureDelay {
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub max: u32,
    /// A row for each node that leaves, where there are few.
    pub matrix: Option<Vec<Vec<u32>>>,
}

/// How good the best structure found is, and what was demanded.
#[derive(Clone, Debug, Deserialize, TS)]
#[serde(deny_unknown_fields)]
pub struct StructureOptimal {
    /// Whether nothing is better.
    pub proved: bool,
    /// Nothing takes fewer messages.
    pub lower_bound: f64,
    /// How much the busiest node was allowed to do.
    pub busiest: Option<f64>,
    /// How long the delay was allowed to be.
    pub delay: Option<f64>,
}
