//! The best strategy: the one linear program behind load and capacity.
//!
//! A strategy chooses quorums at random. If node `i` serves `capacities[i]` requests in a unit of time,
//! quorums can be asked at any rates that leave nobody with more than that, and as large a sum of rates
//! as possible is wanted. Where every capacity is 1, its inverse is the load. Prices of the nodes bound
//! it from above: an entry costs at least what the cheapest quorum does, and all nodes together earn no
//! more than their capacities are worth. The best prices reach the best rates (duality), so that a
//! strategy and prices prove each other, however they were found; both are checked against the whole
//! system.
//!
//! Nodes that need not be told apart are one row of the program. Of a list these are the classes of an
//! equitable partition, and quorums have classes, too; of gates they are what symmetries exchange, and
//! quorums are generated as they are needed.

mod exact;
mod refinement;
mod simplex;
mod turns;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use num_rational::Ratio;
use serde::{Serialize, Serializer};
use skeptron_core::NodeId;
use skeptron_quorum::gates::Gates;
use skeptron_quorum::{Shape, System};

use self::refinement::{Partition, tally};
use self::simplex::{Column, Simplex, TOLERANCE};

/// With more rows than these the simplex method takes too long.
const MOST_ROWS: usize = 1_000;

/// So many members of quorums are looked at where prices are raised round by round.
const MOST_MEMBERS: usize = 500_000_000;

/// Up to so many quorums are listed, to choose the fastest strategy among the best.
const MOST_QUORUMS: usize = 20_000;

/// Up to this relative difference two numbers are equal but for rounding.
const ROUNDING: f64 = 1e-9;

/// A quorum of a strategy.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "QuorumShare"))]
pub struct Share {
    /// Which quorum.
    #[cfg_attr(feature = "typescript", ts(type = "number[]"))]
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
    /// The linear program was too large, so that it was approximated.
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
    pub(crate) fn by_bounds(lower: f64, upper: f64) -> Self {
        match upper.is_finite() && upper - lower <= ROUNDING * upper {
            true => Proof::Rounded,
            false => Proof::Between(lower, upper),
        }
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.search, self.proof)
    }
}

impl fmt::Display for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let classes = |count: usize, what: &str| match count {
            1 => format!("1 class of {what}"),
            _ => format!("{count} classes of {what}"),
        };
        match *self {
            Search::Alike => write!(f, "all nodes are alike, so the smallest quorums decide"),
            Search::Classes { nodes, quorums } => write!(
                f,
                "linear program over {} and {} that need not be told apart",
                classes(nodes, "nodes"),
                classes(quorums, "quorums")
            ),
            Search::Generated { nodes, quorums } => write!(
                f,
                "linear program over {}, with quorums generated as needed: {quorums}",
                classes(nodes, "nodes")
            ),
            Search::Approximated { nodes, quorums } => write!(
                f,
                "linear program over {} and {}, approximated step by step",
                classes(nodes, "nodes"),
                classes(quorums, "quorums")
            ),
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let agree = |how| format!("strategy and node weights agree {how}: nothing is better");
        match self {
            Proof::Exact => write!(f, "{}", agree("in exact fractions")),
            Proof::Rounded => write!(f, "{}", agree("up to rounding")),
            Proof::Between(lower, upper) => {
                write!(f, "stopped early: the optimum is between {lower} and {upper}")
            }
        }
    }
}

/// A strategy and what proves it.
pub(crate) struct Optimum {
    /// The rate at which the first node has enough to do.
    pub(crate) rate: f64,
    /// No strategy has a larger one.
    pub(crate) at_most: f64,
    /// The rate as a fraction, if it was proved without rounding that there is no larger one.
    pub(crate) fraction: Option<Ratio<u64>>,
    /// In ascending order.
    pub(crate) strategy: Vec<Share>,
    /// If so, each quorum of the strategy stands for itself in all its turns ([`Gates::turning`]),
    /// which are too many to write out.
    pub(crate) is_turned: bool,
    /// A price for each node; all that the nodes serve together is worth 1.
    pub(crate) prices: Vec<f64>,
    /// Whether no other strategy of this rate has a smaller expected latency.
    pub(crate) is_fastest: bool,
    /// How it was found.
    pub(crate) search: Search,
}

/// A strategy of the largest rate, for capacities about 1 of which some quorum has more than 0
/// everywhere. Of several, with latencies, one of the least expected latency, where quorums can be listed.
pub(crate) fn best(system: &System, capacities: &[f64], latencies: Option<&[f64]>) -> Optimum {
    match (listed(system, latencies.is_some()), system.shape()) {
        (None, Shape::Gates(gates)) => Program::of_gates(gates, capacities).solve(None),
        (quorums, _) => {
            let quorums = quorums.expect("only gates have too many quorums to list");
            Program::of_list(&quorums, capacities, latencies).solve(latencies)
        }
    }
}

/// The quorums, if they are a list, or where they are to be chosen from by their latency, or where it is
/// quicker: if nodes differ much and are few, looking for the cheapest quorum again and again takes longer.
fn listed(system: &System, are_chosen: bool) -> Option<Cow<'_, [Vec<NodeId>]>> {
    match system.shape() {
        Shape::Listed(_) | Shape::Grid { .. } => system.quorums(usize::MAX),
        Shape::Gates(_) if are_chosen => system.quorums(MOST_QUORUMS),
        Shape::Gates(gates) => {
            let class_of = gates.classes(&vec![0; gates.nodes()]);
            let is_quicker = gates.nodes() <= 20 && class_of.iter().any(|&class| class >= 4);
            is_quicker.then(|| system.quorums(50_000)).flatten()
        }
    }
}

/// The linear program: a row for each class of nodes, a column for each form of quorum.
struct Program<'a> {
    capacities: &'a [f64],
    class_of: Vec<usize>,
    /// What the nodes of each class serve together.
    limits: Vec<f64>,
    columns: Columns<'a>,
}

enum Columns<'a> {
    /// One for each class of quorums.
    Listed { quorums: Vec<&'a Vec<NodeId>>, class_of: Vec<usize>, columns: Vec<Column> },
    /// One for each of these quorums, and more if they are needed.
    Generated { gates: &'a Gates, labels: Vec<usize>, quorums: Vec<Vec<NodeId>> },
}

/// Where the search ended.
struct Vertex {
    amounts: Vec<(Column, f64)>,
    /// Of each row.
    prices: Vec<f64>,
    fraction: Option<Ratio<u64>>,
    is_fastest: bool,
}

impl<'a> Program<'a> {
    /// Nodes of one capacity and latency need not be told apart unless their quorums differ.
    fn of_list(
        quorums: &'a [Vec<NodeId>],
        capacities: &'a [f64],
        latencies: Option<&[f64]>,
    ) -> Self {
        let can_serve = |quorum: &&Vec<NodeId>| quorum.iter().all(|i| capacities[i.index()] > 0.0);
        let quorums: Vec<&Vec<NodeId>> = quorums.iter().filter(can_serve).collect();
        let partition = Partition::new(&labels(capacities, latencies), &quorums);
        let column = |(owner, uses)| Column { owner, value: 1.0, uses };
        let columns = partition.members.into_iter().enumerate().map(column).collect();
        let columns = Columns::Listed { quorums, class_of: partition.class_of_quorum, columns };
        Program::new(capacities, partition.class_of_node, columns)
    }

    fn of_gates(gates: &'a Gates, capacities: &'a [f64]) -> Self {
        let labels = labels(capacities, None);
        let class_of = gates.classes(&labels);
        let columns = Columns::Generated { gates, labels, quorums: Vec::new() };
        Program::new(capacities, class_of, columns)
    }

    fn new(capacities: &'a [f64], class_of: Vec<usize>, columns: Columns<'a>) -> Self {
        let mut limits = vec![0.0; class_of.iter().max().map_or(0, |last| last + 1)];
        for (&class, &capacity) in class_of.iter().zip(capacities) {
            // Who cannot serve is never asked: any limit will do.
            limits[class] += if capacity > 0.0 { capacity } else { 1.0 };
        }
        Program { capacities, class_of, limits, columns }
    }

    fn solve(mut self, latencies: Option<&[f64]>) -> Optimum {
        let vertex = match self.limits.len() {
            0..=MOST_ROWS => self.best_vertex(latencies),
            _ => None,
        };
        let is_approximated = vertex.is_none();
        let vertex = vertex.unwrap_or_else(|| self.near_vertex());
        let Vertex { amounts, prices, fraction, is_fastest } = vertex;
        let mut used = vec![0.0; self.limits.len()];
        for (column, amount) in &amounts {
            column.uses.iter().for_each(|&(row, count)| used[row] += amount * count as f64);
        }
        let busiest = used.iter().zip(&self.limits).map(|(u, limit)| u / limit).fold(0.0, f64::max);
        let sum: f64 = fraction.map_or_else(|| amounts.iter().map(|(_, a)| a).sum(), as_float);
        let rate = if fraction.is_some() { sum } else { sum / busiest };
        let prices_of_nodes = || self.class_of.iter().map(|&class| prices[class]);
        let worth: f64 = prices_of_nodes().zip(self.capacities).map(|(price, c)| price * c).sum();
        let at_most = match fraction {
            Some(_) => rate,
            None => worth / self.least_price(&prices),
        };
        let nodes = self.limits.len();
        let search = match &self.columns {
            _ if nodes == 1 => Search::Alike,
            Columns::Listed { columns, .. } if is_approximated => {
                Search::Approximated { nodes, quorums: columns.len() }
            }
            Columns::Listed { columns, .. } => Search::Classes { nodes, quorums: columns.len() },
            Columns::Generated { quorums, .. } if is_approximated => {
                Search::Approximated { nodes, quorums: quorums.len() }
            }
            Columns::Generated { quorums, .. } => {
                Search::Generated { nodes, quorums: quorums.len() }
            }
        };
        let shares = amounts.iter().map(|(column, amount)| (column.owner, amount / sum));
        let (strategy, is_turned) = self.strategy(shares);
        let prices = prices_of_nodes().map(|price| price / worth).collect();
        Optimum { rate, at_most, fraction, strategy, is_turned, prices, is_fastest, search }
    }

    /// By the simplex method; none if it takes too long.
    fn best_vertex(&mut self, latencies: Option<&[f64]>) -> Option<Vertex> {
        let mut simplex = Simplex::new(&self.limits);
        let mut is_first = true;
        let reached_end = simplex.maximise(|prices| {
            // A smallest quorum is a better start than any.
            let ones = vec![1.0; prices.len()];
            Some(self.cheapest(if std::mem::take(&mut is_first) { &ones } else { prices }))
        });
        if !reached_end {
            return None;
        }
        let prices: Vec<f64> = simplex.prices().collect();
        let is_fastest = match (&self.columns, latencies) {
            (Columns::Listed { quorums, class_of, columns }, Some(latencies)) => {
                let mut latency = vec![0.0; columns.len()];
                for (quorum, &class) in quorums.iter().zip(class_of) {
                    latency[class] = slowest(quorum, latencies);
                }
                speed_up(&mut simplex, columns.clone(), &prices, &latency)
            }
            _ => {
                let least_price = |prices: &[f64]| self.least_price(prices);
                let exact = exact::verify(&simplex, &self.limits, least_price);
                if exact.is_some() {
                    return exact;
                }
                false
            }
        };
        let amounts = simplex.amounts().map(|(column, amount)| (column.clone(), amount)).collect();
        Some(Vertex { amounts, prices, fraction: None, is_fastest })
    }

    /// Again and again the cheapest quorum is asked, and whoever has more to do than others becomes
    /// dearer, the more steeply the more rounds there were (multiplicative weights: Plotkin, Shmoys &
    /// Tardos 1995). The prices that bound the rate best are kept.
    fn near_vertex(&mut self) -> Vertex {
        let each = match &self.columns {
            Columns::Listed { columns, .. } => columns.iter().map(|column| column.uses.len()).sum(),
            Columns::Generated { gates, .. } => 100 * gates.nodes(),
        };
        let mut used = vec![0.0; self.limits.len()];
        let (mut amounts, mut bound, mut best) = (Vec::new(), f64::INFINITY, Vec::new());
        for round in 0..(MOST_MEMBERS / each).clamp(100, 10_000) {
            let most = used.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let steepness = (round as f64).sqrt();
            let price =
                |(used, limit): (&f64, &f64)| (steepness * (used / most - 1.0)).exp() / limit;
            let prices: Vec<f64> = used.iter().zip(&self.limits).map(price).collect();
            let column = self.cheapest(&prices);
            let worth: f64 = prices.iter().zip(&self.limits).map(|(price, l)| price * l).sum();
            if worth / column.price(&prices) < bound {
                (bound, best) = (worth / column.price(&prices), prices);
            }
            for &(row, count) in &column.uses {
                used[row] += count as f64 / self.limits[row];
            }
            amounts.push((column, 1.0));
        }
        Vertex { amounts, prices: best, fraction: None, is_fastest: false }
    }

    /// A column that costs least at these prices.
    fn cheapest(&mut self, prices: &[f64]) -> Column {
        let quorum = match &self.columns {
            Columns::Listed { columns, .. } => {
                let priced = columns.iter().map(|column| (column.price(prices), column));
                let least = priced.min_by(|(a, _), (b, _)| a.total_cmp(b));
                return least.expect("some quorum can serve").1.clone();
            }
            Columns::Generated { gates, .. } => self.cheapest_quorum(gates, prices),
        };
        let uses = self.uses(&quorum);
        let Columns::Generated { quorums, .. } = &mut self.columns else { unreachable!() };
        quorums.push(quorum);
        Column { owner: quorums.len() - 1, value: 1.0, uses }
    }

    /// What the cheapest column costs.
    fn least_price(&self, prices: &[f64]) -> f64 {
        match &self.columns {
            Columns::Listed { columns, .. } => {
                columns.iter().map(|column| column.price(prices)).fold(f64::INFINITY, f64::min)
            }
            Columns::Generated { gates, .. } => {
                let quorum = self.cheapest_quorum(gates, prices);
                Column { owner: 0, value: 1.0, uses: self.uses(&quorum) }.price(prices)
            }
        }
    }

    fn cheapest_quorum(&self, gates: &Gates, prices: &[f64]) -> Vec<NodeId> {
        // Nobody is free of charge, so that nobody is taken who can be left out.
        let cost = |node: NodeId| match self.capacities[node.index()] {
            0.0 => f64::INFINITY,
            _ => prices[self.class_of[node.index()]].max(0.0) + f64::EPSILON,
        };
        gates.cheapest(cost).1
    }

    /// How many members of `quorum` are in which class.
    fn uses(&self, quorum: &[NodeId]) -> Vec<(usize, usize)> {
        tally(quorum.iter().map(|node| self.class_of[node.index()]))
    }

    /// The quorums of each form that has a share, equally likely, and whether they are not written out.
    fn strategy(&self, shares: impl Iterator<Item = (usize, f64)>) -> (Vec<Share>, bool) {
        match &self.columns {
            Columns::Listed { quorums, class_of, columns } => {
                let (mut sizes, mut of_class) =
                    (vec![0.0; columns.len()], vec![0.0; columns.len()]);
                class_of.iter().for_each(|&class| sizes[class] += 1.0);
                shares.for_each(|(class, share)| of_class[class] += share / sizes[class]);
                let chosen = quorums.iter().zip(class_of).map(|(quorum, &class)| Share {
                    quorum: (*quorum).clone(),
                    probability: of_class[class],
                });
                let mut strategy: Vec<Share> = chosen.filter(|s| s.probability > 0.0).collect();
                strategy.sort_by(|a, b| a.quorum.cmp(&b.quorum));
                (strategy, false)
            }
            Columns::Generated { gates, labels, quorums, .. } => {
                let mut forms: BTreeMap<&Vec<NodeId>, f64> = BTreeMap::new();
                shares.for_each(|(form, share)| *forms.entry(&quorums[form]).or_default() += share);
                let share = |(quorum, probability): (&&Vec<NodeId>, &f64)| Share {
                    quorum: (*quorum).clone(),
                    probability: *probability,
                };
                let chosen = forms.iter().filter(|(_, probability)| **probability > 0.0);
                let forms: Vec<Share> = chosen.map(share).collect();
                match turns::spread(&gates.turning(labels), &self.class_of, &forms) {
                    Some(strategy) => (strategy, false),
                    None => (forms, true),
                }
            }
        }
    }
}

/// Goes on to the fastest of the best: of what costs no more than it is worth, less latency is worth more.
/// Whether the end was reached.
fn speed_up(
    simplex: &mut Simplex,
    mut columns: Vec<Column>,
    prices: &[f64],
    latency: &[f64],
) -> bool {
    columns.retain(|column| column.price(prices) <= 1.0 + TOLERANCE);
    let slowest = columns.iter().map(|column| latency[column.owner]).fold(0.0, f64::max);
    let value = |column: &Column| -latency[column.owner] / slowest.max(f64::MIN_POSITIVE);
    columns.iter_mut().for_each(|column| column.value = value(column));
    simplex.revalue(value);
    simplex.maximise(|prices| {
        let gain = |column: &&Column| column.value - column.price(prices);
        columns.iter().max_by(|a, b| gain(a).total_cmp(&gain(b))).cloned()
    })
}

/// When the last member of a quorum has answered.
pub(crate) fn slowest(quorum: &[NodeId], latencies: &[f64]) -> f64 {
    quorum.iter().map(|node| latencies[node.index()]).fold(0.0, f64::max)
}

/// The same number for nodes of the same figures.
fn labels(capacities: &[f64], latencies: Option<&[f64]>) -> Vec<usize> {
    let figures = |(node, capacity): (usize, &f64)| {
        (capacity.to_bits(), latencies.map(|latencies| latencies[node].to_bits()))
    };
    let figures: Vec<_> = capacities.iter().enumerate().map(figures).collect();
    let mut different = figures.clone();
    different.sort_unstable();
    different.dedup();
    figures.iter().map(|own| different.partition_point(|other| other < own)).collect()
}

pub(crate) fn as_float(fraction: Ratio<u64>) -> f64 {
    *fraction.numer() as f64 / *fraction.denom() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::system;

    /// Whether listed or generated, the rate is the same.
    #[test]
    fn generated_quorums_reach_what_listed_ones_do() {
        for text in ["majority 9", "wall:1,3,3,4", "tree:3", "weighted:5,4,3,2,2,1"] {
            let system = system(text);
            let Shape::Gates(gates) = system.shape() else { panic!("{text}") };
            let figure = |i: usize| ((i * 7 + 3) % 11) as f64 / 11.0;
            let capacities: Vec<f64> = (0..system.nodes()).map(figure).collect();
            let quorums = gates.listed(10_000).unwrap();
            let listed = Program::of_list(&quorums, &capacities, None).solve(None);
            let generated = Program::of_gates(gates, &capacities).solve(None);
            assert!((listed.rate - generated.rate).abs() < 1e-9, "{text}");
            let proof = Proof::by_bounds(generated.rate, generated.at_most);
            assert_eq!(proof, Proof::Rounded, "{text}");
            // What is done for large systems comes near, and knows how near.
            let mut near = Program::of_gates(gates, &capacities);
            let Vertex { amounts, prices, .. } = near.near_vertex();
            let mut used = vec![0.0; prices.len()];
            for (column, amount) in &amounts {
                column.uses.iter().for_each(|&(row, n)| used[row] += amount * n as f64);
            }
            let busiest = used.iter().zip(&near.limits).map(|(u, limit)| u / limit);
            let rate = amounts.len() as f64 / busiest.fold(0.0, f64::max);
            let worth: f64 = prices.iter().zip(&near.limits).map(|(price, l)| price * l).sum();
            let at_most = worth / near.least_price(&prices);
            assert!((0.99 * listed.rate..listed.rate + 1e-9).contains(&rate), "{text}: {rate}");
            assert!((listed.rate - 1e-9..1.05 * listed.rate).contains(&at_most), "{text}");
        }
    }

    #[test]
    fn methods_say_what_was_done_and_what_it_proves() {
        let stopped = Method {
            search: Search::Approximated { nodes: 900, quorums: 800 },
            proof: Proof::by_bounds(0.25, 0.5),
        };
        assert_eq!(
            stopped.to_string(),
            "linear program over 900 classes of nodes and 800 classes of quorums, approximated step by \
             step; stopped early: the optimum is between 0.25 and 0.5"
        );
        assert_eq!(Proof::by_bounds(1.0, f64::INFINITY), Proof::Between(1.0, f64::INFINITY));
    }
}
