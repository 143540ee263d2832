//! With which probability no quorum is alive if every node fails independently with probability p.
//!
//! Nothing is ever computed as 1 − x: sums of positive terms keep their relative precision however small
//! a failure probability is.

pub(crate) mod diagram;
mod gates;
mod grid;
mod sampling;
pub(crate) mod table;

use std::fmt;

use serde::{Serialize, Serializer};
use skeptron_core::NodeId;
use skeptron_quorum::{Shape, System};
use thiserror::Error;

use diagram::Diagram;
use table::Table;

/// The failure probability of a system at one p.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumFailure"))]
pub struct Failure {
    /// With which probability each node fails.
    pub p: f64,
    /// With which probability no quorum is alive.
    pub value: f64,
    /// How that was found.
    #[cfg_attr(feature = "typescript", ts(type = "string"))]
    pub method: Method,
    /// Where the value lies with a confidence of 99 %, if it was sampled.
    pub interval: Option<(f64, f64)>,
}

/// How a failure probability was found. `Display` says it in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Nobody or everybody fails.
    Certain,
    /// From the failure probabilities of the members of each gate.
    Gates,
    /// Column by column, counting the rows that are still complete.
    Grid,
    /// By a decision diagram over the nodes.
    Diagram {
        /// How many nodes are in a quorum: a level for each.
        nodes: usize,
        /// How many states the diagram has.
        states: usize,
    },
    /// By a table of all sets of nodes.
    Table {
        /// How many nodes are in a quorum.
        nodes: usize,
    },
    /// By chance.
    Sampled {
        /// How often.
        samples: u64,
        /// What the chance was seeded with.
        seed: u64,
    },
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Method::Certain => write!(f, "exact: nobody or everybody fails"),
            Method::Gates => write!(f, "exact: gate by gate"),
            Method::Grid => write!(f, "exact: columns of the grid one by one"),
            Method::Diagram { nodes, states } => {
                write!(f, "exact: decision diagram of {states} states on {nodes} levels")
            }
            Method::Table { nodes } => write!(f, "exact: all 2^{nodes} sets of {nodes} nodes"),
            Method::Sampled { samples, seed } => {
                write!(f, "sampled: {samples} samples, seed {seed}, 99 % interval")
            }
        }
    }
}

/// How to sample where nothing exact is in reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// How many samples to take. They come by the 64, and fewer are taken where so many would take longer
    /// than about two seconds.
    pub samples: u64,
    /// What to seed the chance with.
    pub seed: u64,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling { samples: 1_000_000, seed: 1 }
    }
}

/// Why there is no failure probability.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FailureError {
    /// Not in 0 … 1, or no number.
    #[error("nodes cannot fail with probability {0}; take a number from 0 to 1")]
    NoProbability(f64),
}

/// The failure probability of a system whose nodes fail independently with probability `p`.
///
/// # Errors
/// If `p` is no probability.
pub fn failure(system: &System, p: f64, sampling: &Sampling) -> Result<Failure, FailureError> {
    if !(0.0..=1.0).contains(&p) {
        return Err(FailureError::NoProbability(p));
    }
    let exact = |value: f64, method| Failure { p, value: value.min(1.0), method, interval: None };
    Ok(match system.shape() {
        _ if p == 0.0 || p == 1.0 => exact(p, Method::Certain),
        Shape::Gates(gates) => exact(gates::failure(gates, p), Method::Gates),
        Shape::Grid { width, .. } => exact(grid::failure(system.nodes(), *width, p), Method::Grid),
        Shape::Listed(quorums) => match by_diagram(quorums, p).or_else(|| by_table(quorums, p)) {
            Some((value, method)) => exact(value, method),
            None => sampling::failure(quorums, system.nodes(), p, sampling),
        },
    })
}

fn by_diagram(quorums: &[Vec<NodeId>], p: f64) -> Option<(f64, Method)> {
    let diagram = Diagram::new(quorums)?;
    let outcome = diagram.outcome(p, &[])?;
    let method = Method::Diagram { nodes: diagram.nodes().len(), states: outcome.states };
    Some((outcome.failure, method))
}

fn by_table(quorums: &[Vec<NodeId>], p: f64) -> Option<(f64, Method)> {
    let table = Table::new(quorums)?;
    Some((table.failure(p), Method::Table { nodes: table.nodes() }))
}

#[cfg(test)]
mod tests;
