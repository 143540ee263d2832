//! Quorum systems (spec 3): whom each node asks, so that any two ask somebody in common.
//!
//! [`build`] makes the [`System`] of a [`Construction`], [`parse_file`] reads one from a file. A system
//! has all quorums, however many they are, and one of them for each node, which is what an algorithm
//! takes.
//!
//! ```
//! use skeptron_core::NodeId;
//! use skeptron_quorum::{Construction, default_for, difference_cover, parse_file, quorums};
//!
//! let grid: Construction = "grid".parse()?;
//! assert_eq!(quorums(&grid, 9)?.mean_size(), 5.0);
//!
//! // Cyclic quorums fit every N, and here none can be smaller.
//! let cyclic = quorums(&default_for(12), 12)?;
//! assert!(cyclic.iter().all(|quorum| quorum.len() == 4));
//! assert!(difference_cover(12)?.is_minimal());
//!
//! let triangle = parse_file("1: 1 2\n2: 2 3\n3: 1 3", None)?.system("triangle")?;
//! assert_eq!(triangle.assignment().of(NodeId::new(1)), [NodeId::new(1), NodeId::new(2)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod conditions;
mod construct;
mod family;
mod file;
pub mod gates;
mod system;

#[cfg(test)]
mod tests;

pub use construct::{
    Construction, ConstructionError, Cover, QuorumError, build, default_for, difference_cover,
    plane_order, quorums,
};
pub use family::{Disjoint, Family, FamilyError, Place, braced};
pub use file::{FileError, LineError, parse_file};
pub use system::{Shape, System};
