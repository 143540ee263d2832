//! Capacity and latency: how many entries a second the nodes can serve, and how fast.
//!
//! Node `i` serves `capacities[i]` requests in a unit of time. Quorums are asked at rates that leave
//! nobody with more than that; the capacity is the largest sum of such rates (the inverse of the load
//! where all capacities are 1). A quorum is as slow as its slowest member, so among the strategies of
//! that capacity the one of the least expected latency is taken.

use std::collections::BTreeMap;

use skeptron_core::NodeId;
use skeptron_quorum::gates::Gates;
use skeptron_quorum::{Shape, System};
use thiserror::Error;

use super::load::game::Game;
use super::load::refinement::Partition;
use super::load::simplex::{Column, Simplex, TOLERANCE};
use super::load::{MOST_ROWS, Method, Proof, Search, Share, load};

/// Up to so many quorums are listed, to choose the fastest strategy among the best.
const MOST_QUORUMS: usize = 20_000;

/// So many members of quorums are looked at where prices are raised round by round.
const MOST_MEMBERS: usize = 2_000_000;

/// What nodes of given speed can do together.
#[derive(Clone, Debug, PartialEq)]
pub struct Performance {
    /// The largest rate of entries that the nodes can serve.
    pub capacity: f64,
    /// No strategy has a larger one.
    pub upper_bound: f64,
    /// How likely which quorums are chosen for that, in ascending order.
    pub strategy: Vec<Share>,
    /// As in [`Load::is_turned`](super::load::Load::is_turned).
    pub is_turned: bool,
    /// How long it takes, on average, until all of the quorum chosen have answered; unknown if the turns
    /// of the strategy, which are too many to write out, differ in that.
    pub latency: Option<f64>,
    /// Whether no other strategy of this capacity has a smaller expected latency; otherwise that was
    /// not looked for, because there are too many quorums.
    pub is_fastest: bool,
    /// The quorum that answers first, and when.
    pub fastest: (f64, Vec<NodeId>),
    /// How it was found, and what is proved of the capacity.
    pub method: Method,
}

/// Why there is no capacity or latency.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PerformanceError {
    /// Not one number for each node.
    #[error("there are {given} {what} for {nodes} nodes; give one for each node")]
    WrongLength {
        /// Capacities or latencies.
        what: &'static str,
        /// How many there are.
        given: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A number that is none, or below 0.
    #[error("{value} among the {what} is for {node}; it has to be a finite number from 0 up")]
    NoNumber {
        /// Capacities or latencies.
        what: &'static str,
        /// Whose it is.
        node: NodeId,
        /// What was given.
        value: f64,
    },
    /// Nobody can enter at all.
    #[error(
        "every quorum has a node of capacity 0, so nobody could ever enter; give more nodes a \
         capacity above 0"
    )]
    NoCapacity,
}

/// The capacity of `system` and its latency at that rate, for nodes that serve `capacities` requests in
/// a unit of time and answer after `latencies`.
///
/// # Errors
/// If there is not one number from 0 up for each node, or every quorum has a node of capacity 0.
pub fn performance(
    system: &System,
    capacities: &[f64],
    latencies: &[f64],
) -> Result<Performance, PerformanceError> {
    check("capacities", system.nodes(), capacities)?;
    check("latencies", system.nodes(), latencies)?;
    let unit = bottleneck(system, capacities).ok_or(PerformanceError::NoCapacity)?;
    let useful = |capacity: &f64| (capacity / unit).min(capacities.len() as f64);
    let nodes = Nodes { capacities: capacities.iter().map(useful).collect(), latencies };
    let listed = system.quorums(MOST_QUORUMS);
    let performance = match (&listed, system.shape()) {
        (Some(quorums), _) => nodes.with_listed(quorums),
        (None, Shape::Listed(quorums) | Shape::Grid { quorums, .. }) => nodes.with_listed(quorums),
        (None, Shape::Gates(_)) if nodes.capacities.iter().all(|&capacity| capacity == 1.0) => {
            nodes.with_load(system)
        }
        (None, Shape::Gates(gates)) => nodes.with_gates(gates),
    };
    let (capacity, upper_bound) = (performance.capacity * unit, performance.upper_bound * unit);
    let proof = match performance.method.proof {
        Proof::Exact => Proof::Exact,
        Proof::Rounded | Proof::Between(..) => Proof::by_bounds(capacity, upper_bound),
    };
    Ok(Performance {
        capacity,
        upper_bound,
        fastest: fastest(system, latencies),
        method: Method { proof, ..performance.method },
        ..performance
    })
}

fn check(what: &'static str, nodes: usize, numbers: &[f64]) -> Result<(), PerformanceError> {
    if numbers.len() != nodes {
        return Err(PerformanceError::WrongLength { what, given: numbers.len(), nodes });
    }
    match NodeId::all(nodes).zip(numbers).find(|(_, value)| !(value.is_finite() && **value >= 0.0))
    {
        Some((node, &value)) => Err(PerformanceError::NoNumber { what, node, value }),
        None => Ok(()),
    }
}

/// The largest capacity that all members of some quorum have; none if that is 0.
///
/// That quorum alone serves so much. Every quorum has a member of no more, so all together serve at most
/// N times as much, and to have even more is of no use to a node. The solver, which is at ease with numbers
/// about one, gets capacities in this unit, however far apart they are.
fn bottleneck(system: &System, capacities: &[f64]) -> Option<f64> {
    let mut falling: Vec<f64> = capacities.iter().copied().filter(|&c| c > 0.0).collect();
    falling.sort_by(|a, b| b.total_cmp(a));
    let too_few = |least: &f64| !is_live(system, |node| capacities[node.index()] >= *least);
    falling.get(falling.partition_point(too_few)).copied()
}

fn is_live(system: &System, alive: impl Fn(NodeId) -> bool) -> bool {
    match system.shape() {
        Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
            quorums.iter().any(|quorum| quorum.iter().all(|&node| alive(node)))
        }
        Shape::Gates(gates) => gates.is_live(alive),
    }
}

/// The quorum whose slowest member is the fastest; of several the smallest.
fn fastest(system: &System, latencies: &[f64]) -> (f64, Vec<NodeId>) {
    match system.shape() {
        Shape::Listed(quorums) | Shape::Grid { quorums, .. } => {
            let slowest = |quorum: &Vec<NodeId>| (slowest(quorum, latencies), quorum.len());
            let of = |a: &&Vec<NodeId>, b: &&Vec<NodeId>| {
                let ((time_a, size_a), (time_b, size_b)) = (slowest(a), slowest(b));
                time_a.total_cmp(&time_b).then(size_a.cmp(&size_b))
            };
            let quorum = quorums.iter().min_by(of).expect("a system has a quorum");
            (slowest(quorum).0, quorum.clone())
        }
        Shape::Gates(gates) => {
            let mut times = latencies.to_vec();
            times.sort_by(f64::total_cmp);
            let has_answered = |time: f64| gates.is_live(|node| latencies[node.index()] <= time);
            let time = times[times.partition_point(|&time| !has_answered(time))];
            let is_late = |node: NodeId| latencies[node.index()] > time;
            let cost = |node| if is_late(node) { f64::INFINITY } else { 1.0 };
            (time, gates.cheapest(cost).1)
        }
    }
}

fn slowest(quorum: &[NodeId], latencies: &[f64]) -> f64 {
    quorum.iter().map(|node| latencies[node.index()]).fold(0.0, f64::max)
}

/// The nodes' figures; capacities are in units of the [`bottleneck`].
struct Nodes<'a> {
    capacities: Vec<f64>,
    latencies: &'a [f64],
}

impl Nodes<'_> {
    /// Nodes of one capacity and latency need not be told apart unless their quorums differ.
    fn with_listed(&self, quorums: &[Vec<NodeId>]) -> Performance {
        let quorums: Vec<Vec<NodeId>> =
            quorums.iter().filter(|quorum| self.can_serve(quorum)).cloned().collect();
        let partition = Partition::new(&self.labels(), &quorums);
        let mut limits = vec![0.0; partition.nodes.len()];
        for (&class, &capacity) in partition.class_of_node.iter().zip(&self.capacities) {
            // Who cannot serve is in none of these quorums: any limit will do.
            limits[class] += if capacity > 0.0 { capacity } else { 1.0 };
        }
        let mut latency = vec![0.0; partition.quorums.len()];
        for (&class, quorum) in partition.class_of_quorum.iter().zip(&quorums) {
            latency[class] = slowest(quorum, self.latencies);
        }
        let column =
            |(owner, uses): (usize, &Vec<_>)| Column { owner, value: 1.0, uses: uses.clone() };
        let columns: Vec<Column> = partition.members.iter().enumerate().map(column).collect();
        let rates = match limits.len() {
            0..=MOST_ROWS => Rates::best(&limits, columns, &latency),
            _ => Rates::approximated(&limits, &columns),
        };
        let rate = |&class: &usize| rates.of_columns[class] / partition.quorums[class] as f64;
        let asked = quorums.into_iter().zip(partition.class_of_quorum.iter().map(rate));
        let (nodes, quorums) = (partition.nodes.len(), partition.quorums.len());
        let search = match nodes {
            0..=MOST_ROWS => Search::Classes { nodes, quorums },
            _ => Search::Approximated { nodes, quorums },
        };
        let performance = self.at_rates(asked, rates.upper_bound, search);
        Performance { is_fastest: rates.is_fastest, ..performance }
    }

    /// Each node has its own row, and quorums are found as they are needed.
    fn with_gates(&self, gates: &Gates) -> Performance {
        let cheapest = |prices: &[f64]| self.cheapest(gates, prices);
        match self.capacities.len() {
            0..=MOST_ROWS => self.with_generated(cheapest),
            _ => self.with_raised_prices(cheapest),
        }
    }

    fn cheapest(&self, gates: &Gates, prices: &[f64]) -> Vec<NodeId> {
        // Nobody is free of charge, so that nobody is taken who can be left out.
        let cost = |node: NodeId| match self.capacities[node.index()] {
            0.0 => f64::INFINITY,
            _ => prices[node.index()].max(0.0) + f64::EPSILON,
        };
        gates.cheapest(cost).1
    }

    fn with_generated(&self, cheapest: impl Fn(&[f64]) -> Vec<NodeId>) -> Performance {
        let mut generated = Vec::new();
        let mut simplex = Simplex::new(&self.capacities);
        simplex.maximise(|prices| {
            let quorum = cheapest(prices);
            let uses = quorum.iter().map(|node| (node.index(), 1)).collect();
            generated.push(quorum);
            Some(Column { owner: generated.len() - 1, value: 1.0, uses })
        });
        let prices: Vec<f64> = simplex.prices().collect();
        let upper_bound = self.bound(&prices, &cheapest(&prices));
        let search = Search::Generated { nodes: prices.len(), quorums: generated.len() };
        let rates = simplex.amounts().map(|(column, rate)| (generated[column.owner].clone(), rate));
        self.at_rates(rates, upper_bound, search)
    }

    /// Again and again the cheapest quorum is asked, and whoever has more to do than others becomes
    /// dearer, the more steeply the more rounds there were (multiplicative weights: Plotkin, Shmoys &
    /// Tardos 1995).
    fn with_raised_prices(&self, cheapest: impl Fn(&[f64]) -> Vec<NodeId>) -> Performance {
        let nodes = self.capacities.len();
        let mut used = vec![0.0; nodes];
        let mut asked: BTreeMap<Vec<NodeId>, usize> = BTreeMap::new();
        let mut upper_bound = f64::INFINITY;
        let rounds = (MOST_MEMBERS / nodes).clamp(100, 10_000) as u32;
        for round in 0..rounds {
            let most = used.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
            let steepness = f64::from(round).sqrt();
            let price = |(used, capacity): (&f64, &f64)| match *capacity {
                0.0 => 0.0,
                capacity => (steepness * (used / most - 1.0)).exp() / capacity,
            };
            let prices: Vec<f64> = used.iter().zip(&self.capacities).map(price).collect();
            let quorum = cheapest(&prices);
            upper_bound = upper_bound.min(self.bound(&prices, &quorum));
            for node in &quorum {
                used[node.index()] += 1.0 / self.capacities[node.index()];
            }
            *asked.entry(quorum).or_default() += 1;
        }
        let search = Search::Approximated { nodes, quorums: asked.len() };
        let rates = asked.into_iter().map(|(quorum, times)| (quorum, times as f64));
        self.at_rates(rates, upper_bound, search)
    }

    /// At any prices, an entry costs at least the cheapest quorum, and all nodes together can earn no
    /// more than their capacities are worth.
    fn bound(&self, prices: &[f64], cheapest: &[NodeId]) -> f64 {
        dot(prices, &self.capacities)
            / cheapest.iter().map(|node| prices[node.index()]).sum::<f64>()
    }

    /// All capacities are 1, so the least load is the largest capacity.
    fn with_load(&self, system: &System) -> Performance {
        let load = load(system);
        let is_one = self.latencies.iter().all(|latency| *latency == self.latencies[0]);
        Performance {
            capacity: 1.0 / load.value,
            upper_bound: 1.0 / load.lower_bound,
            latency: (is_one || !load.is_turned).then(|| self.latency(&load.strategy)),
            strategy: load.strategy,
            is_turned: load.is_turned,
            is_fastest: false,
            fastest: (0.0, Vec::new()),
            method: load.method,
        }
    }

    fn at_rates(
        &self,
        rates: impl Iterator<Item = (Vec<NodeId>, f64)>,
        upper_bound: f64,
        search: Search,
    ) -> Performance {
        let mut rates: Vec<(Vec<NodeId>, f64)> = rates.filter(|(_, rate)| *rate > 0.0).collect();
        rates.sort_by(|a, b| a.0.cmp(&b.0));
        let all: f64 = rates.iter().map(|(_, rate)| rate).sum();
        let share = |(quorum, rate)| Share { quorum, probability: rate / all };
        let strategy: Vec<Share> = rates.into_iter().map(share).collect();
        let capacity = self.capacity(&strategy);
        Performance {
            capacity,
            upper_bound,
            latency: Some(self.latency(&strategy)),
            strategy,
            is_turned: false,
            is_fastest: false,
            fastest: (0.0, Vec::new()),
            method: Method { search, proof: Proof::by_bounds(capacity, upper_bound) },
        }
    }

    /// At which rate the first node has enough to do.
    fn capacity(&self, strategy: &[Share]) -> f64 {
        let mut asked = vec![0.0; self.capacities.len()];
        for share in strategy {
            for node in &share.quorum {
                asked[node.index()] += share.probability;
            }
        }
        let busy = asked.into_iter().zip(&self.capacities).filter(|(asked, _)| *asked > 0.0);
        busy.map(|(asked, capacity)| capacity / asked).fold(f64::INFINITY, f64::min)
    }

    fn latency(&self, strategy: &[Share]) -> f64 {
        let part = |share: &Share| share.probability * slowest(&share.quorum, self.latencies);
        strategy.iter().map(part).sum()
    }

    fn can_serve(&self, quorum: &[NodeId]) -> bool {
        quorum.iter().all(|node| self.capacities[node.index()] > 0.0)
    }

    /// The same number for nodes of the same figures.
    fn labels(&self) -> Vec<usize> {
        let figures = |(capacity, latency): (&f64, &f64)| (capacity.to_bits(), latency.to_bits());
        let figures: Vec<_> = self.capacities.iter().zip(self.latencies).map(figures).collect();
        let mut different = figures.clone();
        different.sort_unstable();
        different.dedup();
        figures.iter().map(|own| different.partition_point(|other| other < own)).collect()
    }
}

/// How often the quorums of each class are asked.
struct Rates {
    of_columns: Vec<f64>,
    /// No rates have a larger sum.
    upper_bound: f64,
    is_fastest: bool,
}

impl Rates {
    fn best(limits: &[f64], mut columns: Vec<Column>, latency: &[f64]) -> Self {
        let mut simplex = Simplex::new(limits);
        let reached_end = simplex.maximise(|prices| worthiest(&columns, prices));
        let prices: Vec<f64> = simplex.prices().collect();
        let cheapest = columns.iter().map(|column| column.price(&prices)).fold(1.0, f64::min);
        let upper_bound = dot(&prices, limits) / cheapest;
        // Of what costs no more than it is worth, the fastest.
        columns.retain(|column| column.price(&prices) <= 1.0 + TOLERANCE);
        let slowest = columns.iter().map(|column| latency[column.owner]).fold(0.0, f64::max);
        let value = |column: &Column| -latency[column.owner] / slowest.max(f64::MIN_POSITIVE);
        columns.iter_mut().for_each(|column| column.value = value(column));
        simplex.revalue(value);
        let is_fastest = reached_end && simplex.maximise(|prices| worthiest(&columns, prices));
        let mut of_columns = vec![0.0; latency.len()];
        simplex.amounts().for_each(|(column, rate)| of_columns[column.owner] += rate);
        Rates { of_columns, upper_bound, is_fastest }
    }

    fn approximated(limits: &[f64], columns: &[Column]) -> Self {
        let play = Game::new(limits, columns).solve();
        Rates { of_columns: play.columns, upper_bound: 1.0 / play.lower, is_fastest: false }
    }
}

/// The column that is worth most beyond its price.
fn worthiest(columns: &[Column], prices: &[f64]) -> Option<Column> {
    let gain = |column: &&Column| column.value - column.price(prices);
    columns.iter().max_by(|a, b| gain(a).total_cmp(&gain(b))).cloned()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::tests::system;

    fn with_ones(text: &str) -> Performance {
        let system = system(text);
        let ones = vec![1.0; system.nodes()];
        performance(&system, &ones, &ones).unwrap()
    }

    #[test]
    fn equal_nodes_have_the_inverse_of_the_load() {
        for text in [
            "majority 5",
            "majority 25",
            "grid 9",
            "grid 20",
            "fano",
            "wall:1,2,3,4",
            "wall 60",
            "tree:2",
            "hierarchical:3",
            "weighted:3,1,1,1,1",
        ] {
            let performance = with_ones(text);
            let load = load(&system(text));
            assert!((performance.capacity * load.value - 1.0).abs() < 1e-9, "{text}");
            assert!((performance.latency.unwrap() - 1.0).abs() < 1e-9, "{text}");
            assert_eq!(performance.fastest.0, 1.0, "{text}");
        }
    }

    /// Twice the capacity everywhere serves twice as many.
    #[test]
    fn capacity_is_proportional() {
        let system = system("wall:1,2,3");
        let capacities = [5.0, 1.0, 2.0, 4.0, 3.0, 1.0];
        let single = performance(&system, &capacities, &[1.0; 6]).unwrap();
        let double = performance(&system, &capacities.map(|c| 2e6 * c), &[1.0; 6]).unwrap();
        assert!((double.capacity / single.capacity / 2e6 - 1.0).abs() < 1e-12);
        assert_eq!(single.method.proof, Proof::Rounded, "{}", single.method);
    }

    /// Two of three, with node 3 slow: its capacity is worth a slower answer, but no more than needed.
    #[test]
    fn the_fastest_of_the_best_strategies_is_taken() {
        let system = system("majority 3");
        let found = performance(&system, &[3.0, 3.0, 2.0], &[1.0, 2.0, 9.0]).unwrap();
        // Every entry takes two requests of eight.
        assert!((found.capacity - 4.0).abs() < 1e-12);
        // Quorums {1,2}, {1,3}, {2,3} at the rates 2, 1, 1.
        assert!((found.latency.unwrap() - (2.0 * 2.0 + 9.0 + 9.0) / 4.0).abs() < 1e-12);
        assert_eq!(found.fastest, (2.0, vec![NodeId::new(0), NodeId::new(1)]));
        assert!(found.is_fastest);
    }

    #[test]
    fn who_is_never_asked_needs_no_capacity() {
        let found =
            performance(&system("singleton 3"), &[2.0, 0.0, 0.0], &[4.0, 1.0, 1.0]).unwrap();
        assert_eq!((found.capacity, found.latency), (2.0, Some(4.0)));
    }

    /// Only node 3 has time to spare; at these scales absolute tolerances would see nothing at all.
    #[test]
    fn capacities_and_latencies_may_be_far_apart() {
        let (majority, singleton) = (system("majority 3"), system("singleton 2"));
        for scale in [1e-12, 1.0, 1e12] {
            let capacities = [scale, scale, 1e14 * scale];
            let found = performance(&majority, &capacities, &[scale; 3]).unwrap();
            assert!((found.capacity / scale - 2.0).abs() < 1e-9, "{}", found.capacity);
            assert!((found.upper_bound / scale - 2.0).abs() < 1e-9, "{}", found.upper_bound);
            assert_eq!(found.method.proof, Proof::Rounded);
            let capacities = [3.0, 3.0, 2.0].map(|c| c * scale);
            let found =
                performance(&majority, &capacities, &[1.0, 2.0, 9.0].map(|t| t * scale)).unwrap();
            assert!((found.latency.unwrap() / scale - 5.5).abs() < 1e-9, "{scale}");
        }
        let found = performance(&singleton, &[1e-300, 1e300], &[1.0; 2]);
        assert!((found.unwrap().capacity / 1e-300 - 1.0).abs() < 1e-9);
    }

    /// Whether listed or generated, the capacity is the same.
    #[test]
    fn generated_quorums_reach_what_listed_ones_do() {
        for text in ["majority 9", "wall:1,3,3,4", "tree:3", "weighted:5,4,3,2,2,1"] {
            let system = system(text);
            let Shape::Gates(gates) = system.shape() else { panic!("{text}") };
            let figure = |i: usize| ((i * 7 + 3) % 11) as f64 / 11.0;
            let capacities: Vec<f64> = (0..system.nodes()).map(figure).collect();
            let latencies = vec![1.0; system.nodes()];
            let nodes = Nodes { capacities, latencies: &latencies };
            let listed = nodes.with_listed(&gates.listed(10_000).unwrap());
            let generated = nodes.with_gates(gates);
            assert!((listed.capacity - generated.capacity).abs() < 1e-9, "{text}");
            assert_eq!(generated.method.proof, Proof::Rounded, "{text}: {}", generated.method);
            // What is done for large systems comes near, and knows how near.
            let near = nodes.with_raised_prices(|prices| nodes.cheapest(gates, prices));
            assert!(near.capacity <= listed.capacity + 1e-9, "{text}");
            assert!(near.capacity >= 0.99 * listed.capacity, "{text}: {}", near.method);
            assert!(near.upper_bound >= listed.capacity - 1e-9, "{text}");
            assert!(near.upper_bound <= 1.05 * listed.capacity, "{text}: {}", near.method);
        }
    }

    /// More classes than the simplex method is used for.
    #[test]
    fn large_systems_come_near_the_optimum() {
        let system = system("grid 400");
        let capacities: Vec<f64> = (0..400).map(|i| 1.0 + (i * 37 % 400) as f64 / 400.0).collect();
        let found = performance(&system, &capacities, &[1.0; 400]).unwrap();
        assert!(matches!(found.method.search, Search::Approximated { nodes: 400, .. }));
        assert!(found.upper_bound >= found.capacity - 1e-9);
        assert!(found.upper_bound <= 1.001 * found.capacity, "{}", found.method);
    }

    #[test]
    fn errors_name_cause_and_remedy() {
        let system = system("majority 3");
        let message = |capacities: &[f64], latencies: &[f64]| {
            performance(&system, capacities, latencies).unwrap_err().to_string()
        };
        assert_eq!(
            message(&[1.0], &[1.0; 3]),
            "there are 1 capacities for 3 nodes; give one for each node"
        );
        assert_eq!(
            message(&[1.0; 3], &[1.0, -2.0, 1.0]),
            "-2 among the latencies is for P2; it has to be a finite number from 0 up"
        );
        assert_eq!(
            message(&[1.0, 1.0, f64::NAN], &[1.0; 3]),
            "NaN among the capacities is for P3; it has to be a finite number from 0 up"
        );
        assert_eq!(
            message(&[1.0, 0.0, 0.0], &[1.0; 3]),
            "every quorum has a node of capacity 0, so nobody could ever enter; give more nodes a \
             capacity above 0"
        );
    }
}
