//! Load (Naor & Wool 1998): how often the busiest node has to be asked, at best.
//!
//! The load of a strategy is the largest probability with which a node is in the quorum chosen, and the
//! load of a system is that of its best strategy. Weights of the nodes that sum to 1 bound it from below:
//! whatever quorum is chosen, at least the lightest one's weight is asked. The best weights reach the
//! load, so [`Load`] has both, and one proves the other.

use num_rational::Ratio;
use skeptron_quorum::System;

use crate::strategy::{self, Method, Proof, Share, as_float};

/// The load of a system, and what proves it.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// The largest probability, under the strategy, with which a node is asked.
    pub value: f64,
    /// The load as a fraction, if the proof was checked without rounding.
    pub fraction: Option<Ratio<u64>>,
    /// The weight of the lightest quorum: no strategy has a smaller load.
    pub lower_bound: f64,
    /// How likely which quorums are chosen, in ascending order; all others never are.
    pub strategy: Vec<Share>,
    /// If so, each quorum of the strategy stands for itself in all its turns
    /// ([`Gates::turning`](skeptron_quorum::gates::Gates::turning)), which are too many to write out.
    pub is_turned: bool,
    /// A weight for each node, summing to 1.
    pub weights: Vec<f64>,
    /// What was done.
    pub method: Method,
}

/// The lower bounds of Naor and Wool, 1/c and c/N for a smallest quorum of c nodes.
#[must_use]
pub fn bounds(system: &System) -> (f64, f64) {
    let smallest = system.cheapest(|_| 1.0).0;
    (1.0 / smallest, smallest / system.nodes() as f64)
}

/// The load of `system`, with a strategy that has it and weights that prove it.
#[must_use]
pub fn load(system: &System) -> Load {
    let best = strategy::best(system, &vec![1.0; system.nodes()], None);
    let fraction = best.fraction.map(|fraction| fraction.recip());
    let (value, lower_bound, proof) = match fraction {
        Some(fraction) => (as_float(fraction), as_float(fraction), Proof::Exact),
        None => {
            let (value, lower_bound) = (1.0 / best.rate, 1.0 / best.at_most);
            (value, lower_bound, Proof::by_bounds(lower_bound, value))
        }
    };
    Load {
        value,
        fraction,
        lower_bound,
        strategy: best.strategy,
        is_turned: best.is_turned,
        weights: best.prices,
        method: Method { search: best.search, proof },
    }
}

#[cfg(test)]
pub(crate) mod tests;
