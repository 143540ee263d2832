//! What a structure costs for given rates.

use skeptron_core::NodeId;
use skeptron_core::topology::Structure;

use super::Rates;

/// The expectations of a structure, per entry, where each node asks at its own rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Messages at low load.
    pub low: f64,
    /// Messages at worst.
    pub high: f64,
    /// For each node the share of all entries for which somebody else asks it: its load.
    pub load: Vec<f64>,
    /// The published synchronisation delay of a hand-over between two different nodes, each chosen as
    /// often as it asks; 0 if there are no two nodes that ask.
    pub published_delay: f64,
    /// The exact one.
    pub exact_delay: f64,
}

impl Expected {
    /// The expectations of `structure`.
    ///
    /// # Panics
    /// If there are not as many rates as nodes.
    #[must_use]
    pub fn of(structure: &Structure, rates: &Rates) -> Self {
        assert_eq!(structure.nodes(), rates.nodes(), "each node has one rate");
        let shares = rates.shares();
        let nodes = || NodeId::all(structure.nodes()).zip(&shares);
        let (mut low, mut high, mut load) = (0.0, 0.0, vec![0.0; structure.nodes()]);
        for (i, share) in nodes() {
            let bounds = structure.message_bounds(i);
            low += share * bounds.0 as f64;
            high += share * bounds.1 as f64;
            for asked in structure.request(i).iter().filter(|&asked| asked != i) {
                load[asked.index()] += share;
            }
        }
        let (mut pairs, mut published, mut exact) = (0.0, 0.0, 0.0);
        for (i, from) in nodes().filter(|(_, share)| **share > 0.0) {
            for (j, to) in nodes().filter(|&(j, share)| j != i && *share > 0.0) {
                pairs += from * to;
                published += from * to * f64::from(structure.published_delay(i, j));
                exact += from * to * f64::from(structure.exact_delay(i, j));
            }
        }
        let mean = |sum: f64| if pairs > 0.0 { sum / pairs } else { 0.0 };
        let (published_delay, exact_delay) = (mean(published), mean(exact));
        Expected { low, high, load, published_delay, exact_delay }
    }

    /// The load of the node that is asked most.
    #[must_use]
    pub fn busiest(&self) -> f64 {
        self.load.iter().copied().fold(0.0, f64::max)
    }
}
