//! How often each node asks.

use skeptron_core::NodeId;
use thiserror::Error;

/// The request rate of each node. Only their ratios matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates(Vec<f64>);

/// Why numbers are no request rates.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RatesError {
    /// No nodes.
    #[error("there are no rates; give one for each node")]
    Empty,
    /// Less than nothing, or no number.
    #[error("the rate of {of} is {rate}; a rate is a number from 0 up")]
    NotARate {
        /// Whose.
        of: NodeId,
        /// What it is.
        rate: f64,
    },
    /// Nobody ever asks.
    #[error("all rates are 0; at least one node must ask")]
    NobodyAsks,
    /// The sum is beyond all numbers.
    #[error("the rates add up to more than a number can hold; only their ratios matter")]
    TooLarge,
}

impl Rates {
    /// Checks that they are rates.
    ///
    /// # Errors
    /// If there are none, if one is negative or no number, or if all are 0.
    pub fn new(rates: Vec<f64>) -> Result<Self, RatesError> {
        if rates.is_empty() {
            return Err(RatesError::Empty);
        }
        let is_rate = |rate: f64| rate.is_finite() && rate >= 0.0;
        if let Some((of, &rate)) =
            NodeId::all(rates.len()).zip(&rates).find(|(_, rate)| !is_rate(**rate))
        {
            return Err(RatesError::NotARate { of, rate });
        }
        match rates.iter().sum::<f64>() {
            0.0 => Err(RatesError::NobodyAsks),
            sum if sum.is_infinite() => Err(RatesError::TooLarge),
            _ => Ok(Rates(rates)),
        }
    }

    /// Everybody asks as often as everybody else.
    ///
    /// # Errors
    /// If there are no nodes.
    pub fn equal(nodes: usize) -> Result<Self, RatesError> {
        Rates::new(vec![1.0; nodes])
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Which share of all requests comes from each node.
    #[must_use]
    pub fn shares(&self) -> Vec<f64> {
        let sum: f64 = self.0.iter().sum();
        self.0.iter().map(|rate| rate / sum).collect()
    }
}
