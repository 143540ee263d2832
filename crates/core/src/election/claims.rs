//! The published figures of an election algorithm.

use crate::Claim;

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
