//! What there is to say about a structure; its JSON form.

use serde::Serialize;
use skeptron_core::NodeId;
use skeptron_core::topology::{Structure, StructureError};
use skeptron_quorum_analysis::structure::{Expected, Rates};
use ts_rs::TS;

use super::Lists;

/// Matrices of more nodes are given only on demand.
const MATRIX_UP_TO: usize = 16;

/// Everything about an information structure. Nodes are counted from 1.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(rename = "StructureReport")]
pub struct Report {
    /// What was asked for.
    pub(crate) name: String,
    /// How many nodes there are.
    pub(crate) nodes: usize,
    /// Whether it keeps the rules.
    pub(crate) valid: bool,
    /// Which rule it breaks.
    pub(crate) violation: Option<Violation>,
    /// Whom each node asks.
    #[ts(as = "Vec<Vec<usize>>")]
    pub(crate) request: Vec<Vec<NodeId>>,
    /// Whom each node tells.
    #[ts(as = "Vec<Vec<usize>>")]
    pub(crate) inform: Vec<Vec<NodeId>>,
    /// Which share of the requests comes from each node.
    pub(crate) shares: Vec<f64>,
    /// Messages of an entry.
    pub(crate) messages: Option<Messages>,
    /// For which share of all entries each node is asked by others.
    pub(crate) load: Option<Load>,
    /// Synchronisation delays.
    pub(crate) delay: Option<Delays>,
    /// Who asks whom although the inform sets do not need it.
    #[ts(as = "Vec<(usize, usize)>")]
    pub(crate) needless: Vec<(NodeId, NodeId)>,
    /// Of a search: how good the result is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub(crate) optimal: Option<Optimal>,
}

/// Which rule is broken, and what would mend it.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(rename = "StructureViolation")]
pub struct Violation {
    /// The rule.
    pub(crate) rule: &'static str,
    /// Whom it is about.
    #[ts(as = "Vec<usize>")]
    pub(crate) nodes: Vec<NodeId>,
    /// What is wrong.
    pub(crate) explanation: String,
    /// What would mend it.
    pub(crate) remedy: String,
}

/// Messages of an entry, between two bounds.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(rename = "StructureMessages")]
pub struct Messages {
    /// At least, of each node.
    pub(crate) low: Vec<usize>,
    /// At most, of each node.
    pub(crate) high: Vec<usize>,
    /// The mean of the former.
    pub(crate) mean_low: f64,
    /// The mean of the latter.
    pub(crate) mean_high: f64,
}

/// For which share of all entries nodes are asked by others.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(rename = "StructureLoad")]
pub struct Load {
    /// Each node.
    pub(crate) of: Vec<f64>,
    /// The busiest.
    pub(crate) busiest: f64,
}

/// Synchronisation delays.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(rename = "StructureDelays")]
pub struct Delays {
    /// As published.
    pub(crate) published: Delay,
    /// As they are.
    pub(crate) exact: Delay,
}

/// In units of the latency.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(rename = "StructureDelay")]
pub struct Delay {
    /// The mean.
    pub(crate) mean: f64,
    /// The largest.
    pub(crate) max: u32,
    /// A row for each node that leaves, where there are few.
    pub(crate) matrix: Option<Vec<Vec<u32>>>,
}

/// How good the best structure found is, and what was demanded.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(rename = "StructureOptimal")]
pub struct Optimal {
    /// Whether nothing is better.
    pub(crate) proved: bool,
    /// Nothing takes fewer messages.
    pub(crate) lower_bound: f64,
    /// How much the busiest node was allowed to do.
    pub(crate) busiest: Option<f64>,
    /// How long the delay was allowed to be.
    pub(crate) delay: Option<f64>,
}

impl Report {
    pub(super) fn of(name: &str, structure: &Structure, rates: &Rates, all_delays: bool) -> Self {
        let nodes = structure.nodes();
        let expected = Expected::of(structure, rates);
        let (low, high) = NodeId::all(nodes).map(|i| structure.message_bounds(i)).unzip();
        let with_matrix = all_delays || nodes <= MATRIX_UP_TO;
        let delay = |mean, delay: fn(&Structure, NodeId, NodeId) -> u32| {
            Delay::of(nodes, mean, with_matrix, |i, j| delay(structure, i, j))
        };
        let members = |set: fn(&Structure, NodeId) -> Vec<NodeId>| {
            NodeId::all(nodes).map(|i| set(structure, i)).collect()
        };
        Report {
            name: name.to_string(),
            nodes,
            valid: true,
            violation: None,
            request: members(|structure, i| structure.request(i).iter().collect()),
            inform: members(|structure, i| structure.inform(i).iter().collect()),
            shares: rates.shares(),
            messages: Some(Messages {
                low,
                high,
                mean_low: expected.low,
                mean_high: expected.high,
            }),
            load: Some(Load { busiest: expected.busiest(), of: expected.load }),
            delay: Some(Delays {
                published: delay(expected.published_delay, Structure::published_delay),
                exact: delay(expected.exact_delay, Structure::exact_delay),
            }),
            needless: needless(structure),
            optimal: None,
        }
    }

    pub(super) fn of_invalid(name: &str, lists: Lists, violation: Violation) -> Self {
        Report {
            name: name.to_string(),
            nodes: lists.request.len(),
            valid: false,
            violation: Some(violation),
            request: lists.request,
            inform: lists.inform,
            shares: Vec::new(),
            messages: None,
            load: None,
            delay: None,
            needless: Vec::new(),
            optimal: None,
        }
    }
}

/// Who asks whom without telling it, although both tell somebody in common.
fn needless(structure: &Structure) -> Vec<(NodeId, NodeId)> {
    let is_needless = |i: NodeId, j: NodeId| {
        !structure.inform(i).contains(j) && structure.inform(i).intersects(structure.inform(j))
    };
    let asked = |i: NodeId| structure.request(i).iter().filter(move |&j| is_needless(i, j));
    NodeId::all(structure.nodes()).flat_map(|i| asked(i).map(move |j| (i, j))).collect()
}

impl Delay {
    fn of(nodes: usize, mean: f64, with_matrix: bool, of: impl Fn(NodeId, NodeId) -> u32) -> Self {
        let row = |i| NodeId::all(nodes).map(|j| of(i, j)).collect();
        let all = NodeId::all(nodes).flat_map(|i| NodeId::all(nodes).map(move |j| (i, j)));
        Delay {
            mean,
            max: all.map(|(i, j)| of(i, j)).max().unwrap_or(0),
            matrix: with_matrix.then(|| NodeId::all(nodes).map(row).collect()),
        }
    }
}

impl Violation {
    pub(super) fn of(error: &StructureError, lists: &Lists) -> Self {
        let explanation = error.to_string();
        let violation = |rule, nodes, remedy| Violation { rule, nodes, explanation, remedy };
        match *error {
            StructureError::NotInOwnInform(i) => {
                violation("i ∈ I_i", vec![i], format!("add {i} to its own inform set"))
            }
            StructureError::InformsUnasked { of, member } => violation(
                "I_i ⊆ R_i",
                vec![of, member],
                format!(
                    "add {member} to the request set of {of}, or take it out of the inform set"
                ),
            ),
            StructureError::Unsynchronised(i, j) => {
                let asks = |i: NodeId, j| lists.request[i.index()].contains(&j);
                let missing: Vec<String> = [(i, j), (j, i)]
                    .into_iter()
                    .filter(|&(i, j)| !asks(i, j))
                    .map(|(i, j)| format!("{i} ask {j}"))
                    .collect();
                violation(
                    "I_i ∩ I_j ≠ ∅, or i ∈ R_j and j ∈ R_i",
                    vec![i, j],
                    format!("let {}, or both tell a common node", missing.join(" and ")),
                )
            }
            StructureError::Lengths { .. } => {
                violation("one of each", Vec::new(), "give every node both sets".into())
            }
            StructureError::UnknownNode { of, member, .. } => {
                violation("known nodes only", vec![of, member], format!("leave {member} out"))
            }
        }
    }
}
