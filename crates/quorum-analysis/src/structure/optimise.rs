//! The structure with the fewest expected messages.

use std::fmt;

use skeptron_core::topology::Structure;
use thiserror::Error;

use super::problem::{Family, Problem, SLACK, Score};
use super::search::{search, settle};
use super::{Expected, Rates, exact};

/// Up to here every structure is considered.
pub const PROVED_UP_TO: usize = 6;

/// More nodes are refused.
pub const MOST_NODES: usize = 64;

/// What a structure must achieve besides few messages.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demands {
    /// No node is asked by others for more than this share of all entries ([`Expected::load`]).
    pub busiest: Option<f64>,
    /// The mean synchronisation delay ([`Expected::exact_delay`]) is at most this, in latencies.
    pub delay: Option<f64>,
}

/// The best structure found.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// The structure.
    pub structure: Structure,
    /// Its expected messages per entry at low load.
    pub messages: f64,
    /// No structure that meets the demands has fewer.
    pub lower_bound: f64,
}

impl Optimum {
    /// Whether no structure is better.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.messages <= self.lower_bound + SLACK
    }
}

/// Why there is no best structure.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OptimiseError {
    /// Even the heuristic would take too long.
    #[error("{0} nodes are too many; structures are searched for at most {MOST_NODES}")]
    TooManyNodes(usize),
    /// A demand is no share or no delay.
    #[error("the demand on the {what} is {value}; it must be {range}")]
    NotADemand {
        /// Which demand.
        what: &'static str,
        /// What it is.
        value: f64,
        /// What it may be.
        range: &'static str,
    },
    /// No structure meets the demands.
    #[error("no structure does that; demand less: {0}")]
    Impossible(Nearest),
    /// None was found, but there may be one.
    #[error("no structure was found that does that; demand less: {0}")]
    NotFound(Nearest),
}

/// What the structure achieves that comes nearest to the demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// The load of its busiest node.
    pub busiest: f64,
    /// Its mean synchronisation delay.
    pub delay: f64,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the nearest found has a busiest node that is asked for {:.4} of all entries and a delay of \
             {:.4}",
            self.busiest, self.delay
        )
    }
}

impl Demands {
    fn check(&self) -> Result<(), OptimiseError> {
        let share = |value: f64| (0.0..=1.0).contains(&value);
        let refused = |what, value, range| Err(OptimiseError::NotADemand { what, value, range });
        match *self {
            Demands { busiest: Some(value), .. } if !share(value) => {
                refused("busiest node", value, "a share of all entries, from 0 to 1")
            }
            Demands { delay: Some(value), .. } if !(value.is_finite() && value >= 1.0) => refused(
                "delay",
                value,
                "a number of latencies from 1 up, since no hand-over takes less",
            ),
            _ => Ok(()),
        }
    }
}

/// The structure with the fewest expected messages per entry at low load, for these rates and demands.
///
/// Without demands that is the star at the node that asks most. With demands all structures of up to
/// [`PROVED_UP_TO`] nodes are searched by branch and bound; beyond, a local search finds a good one, and
/// the result has a lower bound beside it. The same rates and demands always give the same structure.
///
/// # Errors
/// If there are too many nodes, if a demand makes no sense, or if no structure meets the demands.
pub fn optimise(rates: &Rates, demands: &Demands) -> Result<Optimum, OptimiseError> {
    demands.check()?;
    let nodes = rates.nodes();
    if nodes > MOST_NODES {
        return Err(OptimiseError::TooManyNodes(nodes));
    }
    let problem = Problem::new(&rates.shares(), demands);
    let bound = problem.lower_bound();
    let (mut family, mut score) = search(&problem, looks(nodes), bound.unwrap_or(0.0));
    let found = |family: &Family, score: Score, lower_bound: f64| {
        let structure = problem.structure(&settle(&problem, family.clone()));
        if score.is_allowed() {
            return Ok(Optimum { messages: score.messages, structure, lower_bound });
        }
        let expected = Expected::of(&structure, rates);
        Err(Nearest { busiest: expected.busiest(), delay: expected.exact_delay })
    };
    match bound {
        None => found(&family, score, 0.0).map_err(OptimiseError::Impossible),
        Some(bound) if nodes > PROVED_UP_TO => {
            found(&family, score, bound).map_err(OptimiseError::NotFound)
        }
        Some(_) => {
            exact::search(&problem, &mut family, &mut score);
            found(&family, score, score.messages).map_err(OptimiseError::Impossible)
        }
    }
}

/// How many structures the heuristic looks at: some seconds of them, and fewer where the exact search
/// follows.
fn looks(nodes: usize) -> u64 {
    if nodes <= PROVED_UP_TO { 5_000 } else { 100_000_000 / nodes.max(13) as u64 }
}
