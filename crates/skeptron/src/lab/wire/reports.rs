//! What `skeptron quorum --json` prints, as the page reads it. A test reads what it prints into these
//! types, so that neither changes without the other.

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
