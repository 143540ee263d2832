//! How long a message takes from one node to another, and in which order messages arrive.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use skeptron_core::NodeId;
use skeptron_core::catalogue::Order;
use skeptron_core::topology::Clusters;
use thiserror::Error;

use crate::chance::{Chance, Purpose};
use crate::distribution::{Distribution, DistributionError};
use crate::trace::Ticks;

mod sites;

pub use sites::PRESETS;

/// Latencies between nodes: one distribution for all links, or one for each pair of sites.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// The site of each node; empty if there is one site.
    site_of: Vec<u32>,
    sites: usize,
    /// From site `i` to site `j` at `i * sites + j`.
    table: Vec<Distribution>,
    text: String,
}

/// Why latencies cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LatencyError {
    /// The text is no distribution either.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    /// The matrix cannot be read.
    #[error("{path}: {what}")]
    File {
        /// Which file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// There is no such table.
    #[error("there is no table `{text}`; there are {}, and rtt:PATH reads one", PRESETS.join(", "))]
    Unknown {
        /// What was written.
        text: String,
    },
    /// The matrix does not fit the system.
    #[error("{path}: the matrix is for {rows} nodes, but the system has {nodes}")]
    Size {
        /// Which file.
        path: String,
        /// How many nodes it has.
        rows: usize,
        /// How many nodes the system has.
        nodes: usize,
    },
}

impl Latency {
    /// The same distribution on every link.
    #[must_use]
    pub fn same(distribution: Distribution) -> Self {
        let text = distribution.to_string();
        Latency { site_of: Vec::new(), sites: 1, table: vec![distribution], text }
    }

    /// Reads the form of the command line: a distribution; one of the [`PRESETS`]; `rtt:PATH`, a file with
    /// round trips between sites, over which the nodes are spread by turns; or `matrix:PATH`, a file with a
    /// row for each node and a distribution for each receiver in it, separated by white space.
    ///
    /// # Errors
    /// What is wrong with the text or the file.
    pub fn parse(text: &str, nodes: usize) -> Result<Self, LatencyError> {
        if let Some(known) = sites::preset(text, nodes) {
            return known;
        }
        if text.starts_with("wan:") {
            return Err(LatencyError::Unknown { text: text.into() });
        }
        if let Some(path) = text.strip_prefix("rtt:") {
            return sites::round_trips(path, text, nodes);
        }
        let Some(path) = text.strip_prefix("matrix:") else {
            return Ok(Latency::same(Distribution::parse(text)?));
        };
        let error = |what: String| LatencyError::File { path: path.into(), what };
        let content = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
        let mut rows = 0;
        let mut table = Vec::new();
        for (number, line) in content.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            let cells: Vec<&str> = line.split_whitespace().collect();
            if cells.is_empty() {
                continue;
            }
            if cells.len() != nodes {
                let found = cells.len();
                return Err(error(format!(
                    "line {}: {found} latencies for {nodes} nodes",
                    number + 1
                )));
            }
            for cell in cells {
                let cell = Distribution::parse(cell);
                table.push(cell.map_err(|e| error(format!("line {}: {e}", number + 1)))?);
            }
            rows += 1;
        }
        if rows != nodes {
            return Err(LatencyError::Size { path: path.into(), rows, nodes });
        }
        Ok(Latency { site_of: (0..nodes as u32).collect(), sites: nodes, table, text: text.into() })
    }

    fn between(&self, from: NodeId, to: NodeId) -> &Distribution {
        if self.sites == 1 {
            return &self.table[0];
        }
        let (from, to) = (self.site_of[from.index()] as usize, self.site_of[to.index()] as usize);
        &self.table[from * self.sites + to]
    }

    /// Which nodes reach each other fast: latencies are split where they differ most, by the factor from one to
    /// the next. None if they are all the same.
    #[must_use]
    pub fn clusters(&self, nodes: usize) -> Option<Clusters> {
        let site = |node: NodeId| self.site_of.get(node.index()).map_or(0, |&site| site as usize);
        let mean = |a: usize, b: usize| self.table[a * self.sites + b].mean();
        let slower = |a, b| mean(a, b).max(mean(b, a));
        let mut members = vec![0; self.sites];
        NodeId::all(nodes).for_each(|node| members[site(node)] += 1);
        let pairs = (0..self.sites).flat_map(|a| (0..a).map(move |b| (a, b)));
        let pairs = pairs.filter(|&(a, b)| members[a] > 0 && members[b] > 0);
        let mut means: Vec<Ticks> = pairs.clone().map(|(a, b)| slower(a, b)).collect();
        means.extend((0..self.sites).filter(|&s| members[s] > 1).map(|s| mean(s, s)));
        means.sort_unstable();
        let factor = |pair: &&[Ticks]| (pair[1] as f64 + 1.0) / (pair[0] as f64 + 1.0);
        let widest = means.windows(2).max_by(|a, b| factor(a).total_cmp(&factor(b)))?;
        let (near, far) = (widest[0], widest[1]);
        if near == far {
            return None;
        }
        // The lowest site that each one reaches by fast links.
        let mut group: Vec<usize> = (0..self.sites).collect();
        for (a, b) in pairs.filter(|&(a, b)| slower(a, b) <= near) {
            let (from, to) = (group[a].max(group[b]), group[a].min(group[b]));
            group.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
        let mut clusters = vec![Vec::new(); self.sites];
        NodeId::all(nodes).for_each(|node| clusters[group[site(node)]].push(node));
        clusters.retain(|cluster| !cluster.is_empty());
        Clusters::new(&clusters).ok()
    }

    /// The longest that a message may take, if there is a longest.
    #[must_use]
    pub fn most(&self) -> Option<Ticks> {
        self.table.iter().map(Distribution::most).try_fold(0, |most, d| Some(d?.max(most)))
    }

    /// What an algorithm with timers may take for the longest: what it is, or three times the mean on
    /// the slowest link where there is none.
    #[must_use]
    pub fn bound(&self) -> Ticks {
        let slowest = || self.table.iter().map(Distribution::mean).max().unwrap_or(0);
        self.most().unwrap_or_else(|| slowest().saturating_mul(3))
    }

    /// Whether all messages of one link take equally long.
    #[must_use]
    pub fn is_fixed_per_link(&self) -> bool {
        self.table.iter().all(|latency| latency.as_constant().is_some())
    }

    /// The one value that every message takes, if it is so.
    #[must_use]
    pub fn as_constant(&self) -> Option<Ticks> {
        if self.sites == 1 { self.table[0].as_constant() } else { None }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Says when a message arrives.
#[derive(Debug)]
pub(crate) struct Network {
    latency: Latency,
    constant: Option<Ticks>,
    chance: Chance,
    /// Drawn ahead, the next one last.
    drawn: Vec<Ticks>,
    fifo: Fifo,
}

/// So many latencies are drawn at once where all links have the same distribution: a processor computes several
/// logarithms together in little more time than one.
const AHEAD: usize = 64;

/// When the last message of each link arrives, for those links that need to know.
#[derive(Debug)]
enum Fifo {
    /// Messages may overtake each other, or cannot anyway.
    Free,
    /// A table of all links: the fastest, for few nodes.
    Dense { nodes: usize, last: Vec<Ticks> },
    /// Only links in use: at 1 000 nodes the full table already costs half the speed.
    Sparse(HashMap<u64, Ticks, BuildHasherDefault<LinkHasher>>),
}

const DENSE_UP_TO: usize = 128;

impl Network {
    /// Where messages are `delayed` by hand, they could overtake each other even if all take equally
    /// long.
    pub(crate) fn new(
        latency: Latency,
        order: Order,
        nodes: usize,
        seed: u64,
        delayed: bool,
    ) -> Self {
        let fixed_per_link = !delayed && latency.is_fixed_per_link();
        let fifo = match order {
            Order::Any => Fifo::Free,
            Order::Fifo if fixed_per_link => Fifo::Free,
            Order::Fifo if nodes <= DENSE_UP_TO => {
                Fifo::Dense { nodes, last: vec![0; nodes * nodes] }
            }
            Order::Fifo => Fifo::Sparse(HashMap::default()),
        };
        let constant = if delayed { None } else { latency.as_constant() };
        let chance = Chance::new(seed, Purpose::Latency);
        Network { latency, constant, chance, drawn: Vec::new(), fifo }
    }

    /// When a message sent now from `from` to `to` arrives.
    #[inline]
    pub(crate) fn arrival(&mut self, now: Ticks, from: NodeId, to: NodeId) -> Ticks {
        match self.constant {
            Some(latency) => now + latency,
            None => self.arrival_by_chance(now, from, to),
        }
    }

    fn arrival_by_chance(&mut self, now: Ticks, from: NodeId, to: NodeId) -> Ticks {
        let at = now + self.draw(from, to);
        self.in_turn(now, from, to, at)
    }

    fn draw(&mut self, from: NodeId, to: NodeId) -> Ticks {
        let distribution = self.latency.between(from, to);
        if self.latency.sites > 1 {
            return distribution.sample(&mut self.chance);
        }
        if self.drawn.is_empty() {
            self.drawn.extend((0..AHEAD).map(|_| distribution.sample(&mut self.chance)));
            self.drawn.reverse();
        }
        self.drawn.pop().unwrap_or_default()
    }

    /// A message of that link arrives no earlier than `at`, so those after it do not either.
    pub(crate) fn hold_back(&mut self, from: NodeId, to: NodeId, at: Ticks) {
        self.in_turn(0, from, to, at);
    }

    /// When a message arrives that would arrive at `at`, but for those before it.
    fn in_turn(&mut self, now: Ticks, from: NodeId, to: NodeId, at: Ticks) -> Ticks {
        match &mut self.fifo {
            Fifo::Free => at,
            Fifo::Dense { nodes, last } => {
                let last = &mut last[from.index() * *nodes + to.index()];
                *last = at.max(*last);
                *last
            }
            Fifo::Sparse(links) => {
                if links.len() == links.capacity() {
                    // Instead of growing: a link whose last message has arrived constrains nothing.
                    links.retain(|_, last| *last > now);
                    // Room for as many again, or the next message would look through them all.
                    links.reserve(links.len() + 1);
                }
                let last =
                    links.entry((from.index() as u64) << 32 | to.index() as u64).or_insert(0);
                *last = at.max(*last);
                *last
            }
        }
    }
}

/// Mixes the two ids of a link; the table is never iterated, so its order does not matter.
#[derive(Debug, Default)]
struct LinkHasher(u64);

impl Hasher for LinkHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(order: Order, nodes: usize) -> Vec<Ticks> {
        let latency = Latency::parse("uniform:0..10", nodes).unwrap();
        let mut network = Network::new(latency, order, nodes, 1, false);
        let (a, b) = (NodeId::new(0), NodeId::new(nodes - 1));
        (0..50).map(|now| network.arrival(now, a, b)).collect()
    }

    #[test]
    fn a_fifo_link_never_reorders_and_the_other_does() {
        for nodes in [2, DENSE_UP_TO + 1] {
            assert!(arrivals(Order::Fifo, nodes).is_sorted());
            assert!(!arrivals(Order::Any, nodes).is_sorted());
        }
        assert_eq!(arrivals(Order::Fifo, 2), arrivals(Order::Fifo, DENSE_UP_TO + 1));
    }

    #[test]
    fn what_is_held_back_holds_back_what_follows_on_its_link_alone() {
        for nodes in [3, DENSE_UP_TO + 1] {
            let mut network =
                Network::new(Latency::parse("1", nodes).unwrap(), Order::Fifo, nodes, 1, true);
            let [a, b, c] = [0, 1, 2].map(NodeId::new);
            network.hold_back(a, b, 5000);
            assert_eq!(network.arrival(0, a, b), 5000);
            assert_eq!((network.arrival(0, b, a), network.arrival(0, a, c)), (1000, 1000));
            assert_eq!(network.arrival(4500, a, b), 5500);
        }
    }

    #[test]
    fn three_data_centres_are_near_and_far() {
        let mut network =
            Network::new(Latency::parse("three-dc", 6).unwrap(), Order::Fifo, 6, 1, false);
        let mut to = |to| network.arrival(0, NodeId::new(0), NodeId::new(to));
        assert_eq!([to(3), to(1), to(2)], [250, 5000, 20_000]);
    }

    #[test]
    fn the_bound_is_the_longest_way_or_thrice_the_mean() {
        let bound = |text| Latency::parse(text, 6).unwrap().bound();
        assert_eq!(["1", "uniform:0.5..1.5", "three-dc"].map(bound), [1000, 1500, 25_000]);
        assert_eq!(["exp:1", "normal:2,9", "pareto:1,1.5"].map(bound), [3000, 6000, 9000]);
    }

    /// Data centres are clusters; where nothing tells nodes apart there are none.
    #[test]
    fn latencies_tell_clusters_apart() {
        let of = |text: &str, nodes| Latency::parse(text, nodes).unwrap().clusters(nodes);
        let sites = |lists: &[&[usize]]| {
            let list = |list: &&[usize]| list.iter().map(|&id| NodeId::new(id - 1)).collect();
            Some(Clusters::new(&lists.iter().map(list).collect::<Vec<_>>()).unwrap())
        };
        assert_eq!(of("three-dc", 7), sites(&[&[1, 4, 7], &[2, 5], &[3, 6]]));
        assert_eq!(of("three-dc", 3), sites(&[&[1, 2], &[3]]));
        assert_eq!((of("exp:1", 5), of("three-dc", 1)), (None, None));
        let file = std::env::temp_dir().join(format!("skeptron-sites-{}", std::process::id()));
        std::fs::write(&file, "0 9 1 9\n9 0 9 1\n2 9 0 9\n9 1 9 0\n").unwrap();
        let matrix = of(&format!("matrix:{}", file.display()), 4);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(matrix, sites(&[&[1, 3], &[2, 4]]));
    }

    #[test]
    fn a_matrix_must_fit() {
        let dir = std::env::temp_dir().join(format!("skeptron-matrix-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let path = dir.join("matrix");
        let parse = |content: &str, nodes| {
            std::fs::write(&path, content).unwrap();
            Latency::parse(&format!("matrix:{}", path.display()), nodes)
        };
        assert!(parse("0 1\n2 0 # back is slower\n", 2).is_ok());
        assert!(parse("0 1\n2 0\n", 3).unwrap_err().to_string().contains("line 1: 2 latencies"));
        assert!(parse("0 1\n", 2).unwrap_err().to_string().contains("for 1 nodes"));
        assert!(parse("0 x\n1 0", 2).unwrap_err().to_string().contains("line 1: `x`"));
        std::fs::remove_dir_all(dir).unwrap();
    }
}
