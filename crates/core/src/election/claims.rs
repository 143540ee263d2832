//! The published figures of an election algorithm.

use crate::{Claim, NodeId};

/// What an election algorithm claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Whether the highest id among those that are alive throughout an election wins it.
    pub highest: bool,
    /// What it survives if timers are patient, or what it needs beyond them, in a sentence.
    pub survives: &'static str,
    /// Its figures, each for one situation.
    pub cases: &'static [Case],
}

/// A figure and the situation for which it is published: constant latency T, which is also the bound
/// that timers count in, and nothing goes wrong but what is said here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// A short name: `best`, `worst`, `average`, `two initiators`.
    pub name: &'static str,
    /// The situation in words.
    pub when: &'static str,
    /// Whether the highest node is down from the beginning and everybody knows it.
    pub highest_down: bool,
    /// Who calls, all at once.
    pub initiators: Initiators,
    /// The order of the ring, where there is one.
    pub ring: RingOrder,
    /// Which kinds of messages are counted; all if there is none.
    pub counted: &'static [&'static str],
    /// How many messages one election takes: in the mean over random orders if the ring is random.
    pub messages: Claim,
    /// From the call until the last live node knows the leader, in T.
    pub time: Option<Claim>,
}

/// Who calls an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initiators {
    /// The lowest id.
    Lowest,
    /// The highest id that is up.
    Highest,
    /// The two lowest ids.
    TwoLowest,
    /// Everybody.
    All,
}

/// In which order the nodes of a ring stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingOrder {
    /// Messages go to higher ids.
    Ascending,
    /// Messages go to lower ids.
    Descending,
    /// In an order drawn at random.
    Random,
}

impl Case {
    /// The smallest system of which this can be said: two nodes are up, else nobody has to be told.
    #[must_use]
    pub fn least_nodes(&self) -> usize {
        2 + usize::from(self.highest_down)
    }

    /// Who calls in a system of `nodes` nodes: only who is up.
    #[must_use]
    pub fn callers(&self, nodes: usize) -> Vec<NodeId> {
        let up = NodeId::all(nodes.saturating_sub(usize::from(self.highest_down)));
        match self.initiators {
            Initiators::Lowest => up.take(1).collect(),
            Initiators::TwoLowest => up.take(2).collect(),
            Initiators::Highest => up.last().into_iter().collect(),
            Initiators::All => up.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_up_calls() {
        let case = |initiators, highest_down| Case {
            name: "",
            when: "",
            highest_down,
            initiators,
            ring: RingOrder::Ascending,
            counted: &[],
            messages: Claim::exactly("N"),
            time: None,
        };
        let callers = |initiators, down| -> Vec<usize> {
            case(initiators, down).callers(4).into_iter().map(NodeId::index).collect()
        };
        assert_eq!(callers(Initiators::Lowest, true), [0]);
        assert_eq!(callers(Initiators::Highest, true), [2]);
        assert_eq!(callers(Initiators::Highest, false), [3]);
        assert_eq!(callers(Initiators::TwoLowest, true), [0, 1]);
        assert_eq!(callers(Initiators::All, true), [0, 1, 2]);
        assert_eq!(case(Initiators::All, true).least_nodes(), 3);
        assert_eq!(case(Initiators::All, false).least_nodes(), 2);
    }
}
