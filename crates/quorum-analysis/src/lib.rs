//! What can be said about quorum systems and information structures (specs 3 and 4): one file per question.
//!
//! A [`System`](skeptron_quorum::System) is analysed ([`report`] asks all questions at once, [`best`]
//! compares constructions) and drawn ([`picture`]); information structures are derived and optimised
//! ([`structure`]). Algorithms and the runtime need none of this.
//!
//! ```
//! use skeptron_quorum::{Construction, build};
//! use skeptron_quorum_analysis::load::load;
//! use skeptron_quorum_analysis::resilience::resilience;
//!
//! let fano = build(&Construction::Fano, 7)?;
//! assert_eq!(load(&fano).value, 3.0 / 7.0);
//! assert_eq!(resilience(&fano).exact(), Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod best;
pub mod capacity;
pub mod domination;
pub mod failure;
pub mod load;
pub mod picture;
pub mod report;
pub mod resilience;
pub mod sizes;
pub mod strategy;
pub mod structure;
