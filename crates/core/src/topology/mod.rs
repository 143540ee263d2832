//! What some algorithms are laid out on: quorums, information structures, trees. Each type can only
//! be made in a valid form, so an algorithm never meets a quorum that misses another or a tree with
//! a cycle.

mod quorums;
mod structure;
mod tree;

pub use quorums::{Quorums, QuorumsError};
pub use structure::{Structure, StructureError};
pub use tree::{Tree, TreeError};
