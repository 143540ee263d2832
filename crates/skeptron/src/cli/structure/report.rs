//! What there is to say about a structure; its JSON form.

use serde::Serialize;
use skeptron_core::NodeId;
use skeptron_core::topology::{Structure, StructureError};
use skeptron_quorum_analysis::structure::{Expected, Rates};

use super::Lists;

/// Matrices of more nodes are given only on demand.
const MATRIX_UP_TO: usize = 16;

/// What there is to say about a structure.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(super) name: String,
    pub(super) nodes: usize,
    pub(super) valid: bool,
    pub(super) violation: Option<Violation>,
    pub(super) request: Vec<Vec<NodeId>>,
    pub(super) inform: Vec<Vec<NodeId>>,
    /// Which share of the requests comes from each node.
    pub(super) shares: Vec<f64>,
    pub(super) messages: Option<Messages>,
    pub(super) load: Option<Load>,
    pub(super) delay: Option<Delays>,
    /// Who asks whom although the inform sets do not need it.
    pub(super) needless: Vec<(NodeId, NodeId)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) optimal: Option<Optimal>,
}

/// Which rule is broken, and what would mend it.
#[derive(Serialize)]
pub(super) struct Violation {
    pub(super) rule: &'static str,
    pub(super) nodes: Vec<NodeId>,
    pub(super) explanation: String,
    pub(super) remedy: String,
}

/// Messages of an entry, between the two bounds.
#[derive(Serialize)]
pub(super) struct Messages {
    pub(super) low: Vec<usize>,
    pub(super) high: Vec<usize>,
    pub(super) mean_low: f64,
    pub(super) mean_high: f64,
}

/// For which share of all entries a node is asked by others.
#[derive(Serialize)]
pub(super) struct Load {
    pub(super) of: Vec<f64>,
    pub(super) busiest: f64,
}

#[derive(Serialize)]
pub(super) struct Delays {
    pub(super) published: Delay,
    pub(super) exact: Delay,
}

/// In units of the latency; the matrix has a row for each node that leaves.
#[derive(Serialize)]
pub(super) struct Delay {
    pub(super) mean: f64,
    pub(super) max: u32,
    pub(super) matrix: Option<Vec<Vec<u32>>>,
}

/// How good the best structure found is, and what was demanded.
#[derive(Serialize)]
pub(super) struct Optimal {
    pub(super) proved: bool,
    pub(super) lower_bound: f64,
    pub(super) busiest: Option<f64>,
    pub(super) delay: Option<f64>,
}

impl Report {
    /// How many nodes it is about.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes
    }

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
