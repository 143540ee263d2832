//! Load (Naor & Wool 1998): how often the busiest node has to be asked, at best.
//!
//! A strategy chooses quorums at random; its load is the largest probability with which a node is in
//! the quorum chosen, and the load of a system is that of its best strategy. Weights of the nodes that
//! sum to 1 bound it from below: whatever quorum is chosen, at least the lightest one's weight is asked.
//! The best weights reach the load (duality), so [`Load`] has both, and one proves the other.

mod exact;
pub(super) mod game;
pub(super) mod refinement;
pub(super) mod simplex;
mod turns;

use std::fmt;

use num_rational::Ratio;
use serde::Serialize;
use skeptron_core::NodeId;
use skeptron_quorum::gates::Gates;
use skeptron_quorum::{Shape, System};

use self::exact::Exact;
use self::game::{Game, Play};
use self::refinement::Partition;
use self::simplex::{Column, Simplex};

/// With more rows than these the simplex method takes too long.
pub(super) const MOST_ROWS: usize = 250;

/// Up to this relative difference two numbers are equal but for rounding.
const ROUNDING: f64 = 1e-9;

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
    /// If so, each quorum of the strategy stands for itself in all its turns ([`Gates::turning`]),
    /// which are too many to write out.
    pub is_turned: bool,
    /// A weight for each node, summing to 1.
    pub weights: Vec<f64>,
    /// What was done.
    pub method: Method,
}

/// A quorum of a strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Share {
    /// Which quorum.
    pub quorum: Vec<NodeId>,
    /// How likely it is chosen.
    pub probability: f64,
}

/// How a strategy was found and what is proved of it. `Display` says so in a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// How it was found.
    pub search: Search,
    /// What is proved.
    pub proof: Proof,
}

/// How a strategy was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// No two nodes need to be told apart, so there is nothing to optimise but the size.
    Alike,
    /// By a linear program over classes of nodes and of quorums that need not be told apart.
    Classes {
        /// How many classes of nodes.
        nodes: usize,
        /// How many classes of quorums.
        quorums: usize,
    },
    /// By a linear program over classes of nodes, with quorums added as they were needed.
    Generated {
        /// How many classes of nodes.
        nodes: usize,
        /// How many quorums were looked at.
        quorums: usize,
    },
    /// The linear program was too large, so that it was approximated step by step.
    Approximated {
        /// How many classes of nodes.
        nodes: usize,
        /// How many classes of quorums.
        quorums: usize,
    },
}

/// What is proved of a strategy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Proof {
    /// It is a best one, checked in fractions.
    Exact,
    /// It is a best one up to rounding.
    Rounded,
    /// It may not be a best one: the optimum is between these.
    Between(f64, f64),
}

impl Proof {
    /// What two bounds that should meet prove.
    pub(super) fn by_bounds(lower: f64, upper: f64) -> Self {
        match upper.is_finite() && upper - lower <= ROUNDING * upper {
            true => Proof::Rounded,
            false => Proof::Between(lower, upper),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.search, self.proof)
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Search::Alike => write!(f, "all nodes are alike, so the smallest quorums decide"),
            Search::Classes { nodes, quorums } => write!(
                f,
                "linear program over {} and {} that need not be told apart",
                classes(*nodes, "nodes"),
                classes(*quorums, "quorums")
            ),
            Search::Generated { nodes, quorums } => write!(
                f,
                "linear program over {}, with quorums generated as needed: {quorums}",
                classes(*nodes, "nodes")
            ),
            Search::Approximated { nodes, quorums } => write!(
                f,
                "linear program over {} and {}, approximated step by step",
                classes(*nodes, "nodes"),
                classes(*quorums, "quorums")
            ),
        }
    }
}

fn classes(count: usize, what: &str) -> String {
    if count == 1 { format!("1 class of {what}") } else { format!("{count} classes of {what}") }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proof::Exact => {
                write!(f, "strategy and node weights agree in exact fractions: nothing is better")
            }
            Proof::Rounded => {
                write!(f, "strategy and node weights agree up to rounding: nothing is better")
            }
            Proof::Between(lower, upper) => {
                write!(f, "stopped early: the optimum is between {lower} and {upper}")
            }
        }
    }
}

/// The lower bounds of Naor and Wool, 1/c and c/N for a smallest quorum of c nodes.
#[must_use]
pub fn bounds(system: &System) -> (f64, f64) {
    let smallest = match system.shape() {
        Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
            quorums.iter().map(Vec::len).min().expect("a system has a quorum")
        }
        Shape::Gates(gates) => gates.cheapest(|_| 1.0).1.len(),
    };
    (1.0 / smallest as f64, smallest as f64 / system.nodes() as f64)
}

/// The load of `system`, with a strategy that has it and weights that prove it.
#[must_use]
pub fn load(system: &System) -> Load {
    match system.shape() {
        Shape::Listed(quorums) | Shape::Grid { quorums, .. } => of_listed(system.nodes(), quorums),
        Shape::Gates(gates) => {
            let class_of = gates.classes();
            match listed_if_quicker(gates, &class_of) {
                Some(quorums) => of_listed(system.nodes(), &quorums),
                None => of_gates(gates, &class_of),
            }
        }
    }
}

/// Where nodes differ much and are few, looking for the cheapest quorum again and again takes longer
/// than to list all of them once.
fn listed_if_quicker(gates: &Gates, class_of: &[usize]) -> Option<Vec<Vec<NodeId>>> {
    let differ = class_of.iter().any(|&class| class >= 4);
    (differ && gates.nodes() <= 20).then(|| gates.listed(50_000)).flatten()
}

fn of_listed(nodes: usize, quorums: &[Vec<NodeId>]) -> Load {
    let partition = Partition::new(&vec![0; nodes], quorums);
    let column = |(owner, uses): (usize, &Vec<_>)| Column { owner, value: 1.0, uses: uses.clone() };
    let columns: Vec<Column> = partition.members.iter().enumerate().map(column).collect();
    let (classes, forms) = (partition.nodes.len(), columns.len());
    let (optimum, search) = match classes {
        0..=MOST_ROWS => (
            listed_optimum(&partition, &columns),
            Search::Classes { nodes: classes, quorums: forms },
        ),
        _ => {
            let limits: Vec<f64> = partition.nodes.iter().map(|&size| size as f64).collect();
            let play = Game::new(&limits, &columns).solve();
            (
                Optimum::of_play(play, &limits),
                Search::Approximated { nodes: classes, quorums: forms },
            )
        }
    };
    let mut of_class = vec![0.0; columns.len()];
    for &(class, share) in &optimum.shares {
        of_class[class] += share / partition.quorums[class] as f64;
    }
    let chosen = quorums.iter().zip(&partition.class_of_quorum);
    let mut strategy: Vec<Share> = chosen
        .filter(|(_, class)| of_class[**class] > 0.0)
        .map(|(quorum, &class)| Share { quorum: quorum.clone(), probability: of_class[class] })
        .collect();
    strategy.sort_by(|a, b| a.quorum.cmp(&b.quorum));
    let search = if classes == 1 { Search::Alike } else { search };
    optimum.into_load(&partition.class_of_node, strategy, search)
}

fn listed_optimum(partition: &Partition, columns: &[Column]) -> Optimum {
    let cheapest = |prices: &[f64]| {
        let price = |column: &&Column| column.price(prices);
        let least = columns.iter().min_by(|a, b| price(a).total_cmp(&price(b)));
        least.expect("a system has a quorum").clone()
    };
    let whole_cheapest = |prices: &[u64]| {
        let price = |column: &Column| {
            column.uses.iter().map(|&(class, count)| prices[class] * count as u64).sum()
        };
        columns.iter().map(price).min().expect("a system has a quorum")
    };
    Optimum::new(&partition.nodes, cheapest, whole_cheapest)
}

fn of_gates(gates: &Gates, class_of: &[usize]) -> Load {
    let mut sizes = vec![0; class_of.iter().max().map_or(0, |last| last + 1)];
    for &class in class_of {
        sizes[class] += 1;
    }
    let mut generated = Vec::new();
    let cheapest = |prices: &[f64]| {
        // Nobody is free of charge, so that nobody is taken who can be left out.
        let cost = |node: NodeId| prices[class_of[node.index()]].max(0.0) + f64::EPSILON;
        let (_, quorum) = gates.cheapest(cost);
        let column = Column { owner: generated.len(), value: 1.0, uses: uses(class_of, &quorum) };
        generated.push(quorum);
        column
    };
    // Sums of whole numbers of this size are exact.
    let whole_cheapest =
        |prices: &[u64]| gates.cheapest(|node| prices[class_of[node.index()]] as f64).0 as u64;
    let optimum = Optimum::new(&sizes, cheapest, whole_cheapest);
    let search = match sizes.len() {
        1 => Search::Alike,
        nodes => Search::Generated { nodes, quorums: generated.len() },
    };
    let form = |&(form, probability): &(usize, f64)| {
        (probability > 0.0).then(|| Share { quorum: generated[form].clone(), probability })
    };
    let forms: Vec<Share> = optimum.shares.iter().filter_map(form).collect();
    let spread = turns::spread(gates, class_of, &forms);
    let is_turned = spread.is_none();
    let load = optimum.into_load(class_of, spread.unwrap_or(forms), search);
    Load { is_turned, ..load }
}

/// How many members of `quorum` are in which class.
fn uses(class_of: &[usize], quorum: &[NodeId]) -> Vec<(usize, usize)> {
    let mut classes: Vec<usize> = quorum.iter().map(|node| class_of[node.index()]).collect();
    classes.sort_unstable();
    classes.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect()
}

/// A strategy and weights for classes of nodes.
struct Optimum {
    value: f64,
    fraction: Option<Ratio<u64>>,
    lower_bound: f64,
    /// How likely a quorum of which form is chosen.
    shares: Vec<(usize, f64)>,
    /// Of a single node of each class.
    weights: Vec<f64>,
}

impl Optimum {
    /// If quorums of a form are spread evenly over its classes, a node of a class is asked with the
    /// probability Σ share·(members in the class)/(size of the class). So strategies of load `1/t` are
    /// amounts with the sum `t` that use of each class no more than its size: as large a sum as possible
    /// is wanted.
    fn new(
        sizes: &[usize],
        mut cheapest: impl FnMut(&[f64]) -> Column,
        whole_cheapest: impl Fn(&[u64]) -> u64,
    ) -> Self {
        let limits: Vec<f64> = sizes.iter().map(|&size| size as f64).collect();
        let mut simplex = Simplex::new(&limits);
        let mut is_first = true;
        simplex.maximise(|prices| {
            // A smallest quorum is a better start than any.
            let ones = vec![1.0; prices.len()];
            Some(cheapest(if std::mem::take(&mut is_first) { &ones } else { prices }))
        });
        match exact::verify(&simplex, sizes, whole_cheapest) {
            Some(exact) => Self::of_exact(exact),
            None => Self::of_rounded(&simplex, sizes, cheapest),
        }
    }

    fn of_exact(exact: Exact) -> Self {
        let total = *exact.total.numer() as f64 / *exact.total.denom() as f64;
        let fraction = exact.total.recip();
        let value = *fraction.numer() as f64 / *fraction.denom() as f64;
        Optimum {
            value,
            fraction: Some(fraction),
            lower_bound: value,
            shares: exact.amounts.iter().map(|(form, amount)| (*form, amount / total)).collect(),
            weights: exact.prices.iter().map(|price| price / total).collect(),
        }
    }

    fn of_rounded(
        simplex: &Simplex,
        sizes: &[usize],
        mut cheapest: impl FnMut(&[f64]) -> Column,
    ) -> Self {
        let total: f64 = simplex.amounts().map(|(_, amount)| amount).sum();
        let mut asked = vec![0.0; sizes.len()];
        for (column, amount) in simplex.amounts() {
            for &(class, count) in &column.uses {
                asked[class] += amount / total * count as f64 / sizes[class] as f64;
            }
        }
        let prices: Vec<f64> = simplex.prices().collect();
        let all: f64 = prices.iter().zip(sizes).map(|(price, &size)| price * size as f64).sum();
        Optimum {
            value: asked.into_iter().fold(0.0, f64::max),
            fraction: None,
            lower_bound: cheapest(&prices).price(&prices) / all,
            shares: simplex.amounts().map(|(form, amount)| (form.owner, amount / total)).collect(),
            weights: prices.iter().map(|price| price / all).collect(),
        }
    }

    fn of_play(play: Play, limits: &[f64]) -> Self {
        Optimum {
            value: play.upper,
            fraction: None,
            lower_bound: play.lower,
            shares: play.columns.into_iter().enumerate().collect(),
            weights: play.rows.iter().zip(limits).map(|(weight, size)| weight / size).collect(),
        }
    }

    fn into_load(self, class_of: &[usize], strategy: Vec<Share>, search: Search) -> Load {
        let proof = match self.fraction {
            Some(_) => Proof::Exact,
            None => Proof::by_bounds(self.lower_bound, self.value),
        };
        Load {
            value: self.value,
            fraction: self.fraction,
            lower_bound: self.lower_bound,
            strategy,
            is_turned: false,
            weights: class_of.iter().map(|&class| self.weights[class]).collect(),
            method: Method { search, proof },
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
