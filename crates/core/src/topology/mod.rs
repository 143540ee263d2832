//! What some algorithms are laid out on: quorums, information structures, trees, rings, clusters,
//! networks of links. Each type can only be made in a valid form, so an algorithm never meets a quorum that
//! misses another or a tree with a cycle.

mod clusters;
mod graph;
mod quorums;
mod read_write;
mod ring;
mod structure;
mod tree;

pub use clusters::{Clusters, ClustersError};
pub use graph::{Graph, GraphError};
pub use quorums::{Quorums, QuorumsError};
pub use read_write::{ReadWrite, ReadWriteError, ReadWriteKind};
pub use ring::{Ring, RingError};
pub use structure::{Structure, StructureError};
pub use tree::{Tree, TreeError};
