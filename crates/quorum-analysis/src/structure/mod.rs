//! Information structures (spec 2.6) for given request rates: what they cost, and the one that costs
//! least.
//!
//! [`Expected`] is what a structure costs where each node asks at its own rate; [`optimise`] searches
//! the structure with the fewest expected messages, with or without demands on its busiest node and on
//! its synchronisation delay.
//!
//! An entry of `i` at low load takes `|I_i∖i| + 2|R_i∖i|` messages. With the least request sets
//! ([`Structure::of_inform`]) that is `3a + 2d`, where `i` tells `a` others and `d` others have inform
//! sets that do not meet its own: nobody is in both. So the search is over inform sets alone, and no
//! demand makes larger request sets useful: they add load and delay as well as messages.
//!
//! **Without demands nothing beats the star at the node with the highest rate**, which costs
//! `3(1 − p)` per entry, where `p` is that node's share of the requests. Let `A` be the nodes that tell
//! nobody else. Everybody outside `A` pays at least 3. The inform sets of two nodes in `A` are disjoint,
//! so each of them pays at least `2(|A| − 1)`. If `A` is empty that is at least 3 on average; if it is
//! one node, `3(1 − its share)`; if it is two, `3 − (their shares) ≥ 3 − 2p`; if it is more, at least 3
//! again. None of this is below `3(1 − p)`.
//!
//! But the centre of a star is asked for every entry that is not its own. Then demands come in.
//!
//! ```
//! use skeptron_quorum_analysis::structure::{Demands, Rates, optimise};
//!
//! let rates = Rates::new(vec![5.0, 1.0, 1.0, 1.0])?;
//! let star = optimise(&rates, &Demands::default())?;
//! assert_eq!(star.messages, 3.0 * 3.0 / 8.0);
//!
//! // Three nodes that never wait more than one latency for each other, for less than Ricart and
//! // Agrawala's four messages.
//! let at_once = Demands { delay: Some(1.0), ..Demands::default() };
//! let found = optimise(&Rates::equal(3)?, &at_once)?;
//! assert!(found.is_proved());
//! assert!((found.messages - 3.0).abs() < 1e-9);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Structure::of_inform`]: skeptron_core::topology::Structure::of_inform

mod bound;
mod exact;
mod expected;
mod moves;
mod optimise;
mod problem;
mod rates;
mod search;
mod starts;
mod state;

#[cfg(test)]
mod tests;

pub use expected::Expected;
pub use optimise::{Demands, MOST_NODES, Nearest, OptimiseError, Optimum, PROVED_UP_TO, optimise};
pub use rates::{Rates, RatesError};
