//! Readers and writers, each with a quorum: whoever writes meets everybody.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::QuorumsError;
use crate::{NodeId, NodeSet};

/// Whom each node asks, and which nodes read. The quorum of a writer meets every other one; those of
/// two readers need not meet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Plain", into = "Plain")]
pub struct ReadWrite {
    quorums: Vec<Vec<NodeId>>,
    readers: NodeSet,
}

/// As it is written in files.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    quorums: Vec<Vec<NodeId>>,
    readers: Vec<NodeId>,
}

/// How quorums of readers and writers are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadWriteKind {
    /// Readers ask themselves, writers ask everybody.
    ReadOne,
    /// Both ask a majority, beginning at themselves.
    Majority,
    /// Readers ask one node of each column of a grid, writers a whole column besides.
    Grid,
}

impl ReadWriteKind {
    /// All kinds, by name.
    pub const ALL: [(&'static str, ReadWriteKind); 3] = [
        ("grid", ReadWriteKind::Grid),
        ("majority", ReadWriteKind::Majority),
        ("read-one", ReadWriteKind::ReadOne),
    ];
}

/// Why sets are no quorums of readers and writers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReadWriteError {
    /// A set is empty or names an unknown node.
    #[error(transparent)]
    Sets(#[from] QuorumsError),
    /// A reader that is no node of the system.
    #[error("{reader} is to read, but there are only {nodes} nodes")]
    UnknownReader {
        /// Who.
        reader: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A writer that does not meet another node.
    #[error(
        "{writer} writes, but its quorum and that of {other} do not intersect; both could enter at the same time"
    )]
    Disjoint {
        /// Who writes.
        writer: NodeId,
        /// Whom it does not meet.
        other: NodeId,
    },
}

impl ReadWrite {
    /// Checks that there is one quorum per node, and that those of writers meet all others.
    ///
    /// # Errors
    /// The first violation found, naming the nodes.
    pub fn new(mut quorums: Vec<Vec<NodeId>>, readers: NodeSet) -> Result<Self, ReadWriteError> {
        let nodes = quorums.len();
        for (of, set) in NodeId::all(nodes).zip(&mut quorums) {
            set.sort_unstable();
            set.dedup();
            let last = *set.last().ok_or(QuorumsError::Empty(of))?;
            if last.index() >= nodes {
                return Err(QuorumsError::UnknownNode { of, member: last, nodes }.into());
            }
        }
        if let Some(reader) = readers.iter().find(|reader| reader.index() >= nodes) {
            return Err(ReadWriteError::UnknownReader { reader, nodes });
        }
        let system = ReadWrite { quorums, readers };
        for writer in NodeId::all(nodes).filter(|&node| !system.reads(node)) {
            let misses = |other: &NodeId| {
                let theirs = system.of(*other);
                !system.of(writer).iter().any(|member| theirs.binary_search(member).is_ok())
            };
            if let Some(other) = NodeId::all(nodes).find(misses) {
                return Err(ReadWriteError::Disjoint { writer, other });
            }
        }
        Ok(system)
    }

    /// The quorums of a kind for `nodes`, of which these read.
    ///
    /// # Errors
    /// If a reader is no node of the system.
    pub fn of_kind(
        kind: ReadWriteKind,
        nodes: usize,
        readers: NodeSet,
    ) -> Result<Self, ReadWriteError> {
        let quorum = |node: NodeId| match kind {
            ReadWriteKind::ReadOne if readers.contains(node) => vec![node],
            ReadWriteKind::ReadOne => NodeId::all(nodes).collect(),
            ReadWriteKind::Majority => {
                (0..nodes / 2 + 1).map(|i| NodeId::new((node.index() + i) % nodes)).collect()
            }
            ReadWriteKind::Grid => grid(nodes, node, !readers.contains(node)),
        };
        Self::new(NodeId::all(nodes).map(quorum).collect(), readers.clone())
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.quorums.len()
    }

    /// Whom `node` asks, in ascending order.
    #[must_use]
    pub fn of(&self, node: NodeId) -> &[NodeId] {
        &self.quorums[node.index()]
    }

    /// Whether `node` enters together with other readers.
    #[must_use]
    pub fn reads(&self, node: NodeId) -> bool {
        self.readers.contains(node)
    }

    /// Who reads.
    #[must_use]
    pub fn readers(&self) -> &NodeSet {
        &self.readers
    }
}

/// Of a grid as wide as it is high, or one wider, filled row by row: a node of each column, in the row
/// of `node` where that is full and else above it, and for a writer its column.
fn grid(nodes: usize, node: NodeId, writes: bool) -> Vec<NodeId> {
    let width = (nodes as f64).sqrt().ceil() as usize;
    let (row, column) = (node.index() / width, node.index() % width);
    let in_row = |c: usize| match row * width + c {
        place if place < nodes => place,
        beyond => beyond - width,
    };
    let cover = (0..width.min(nodes)).map(in_row);
    let whole = (column..nodes).step_by(width).filter(|_| writes);
    cover.chain(whole).map(NodeId::new).collect()
}

impl TryFrom<Plain> for ReadWrite {
    type Error = ReadWriteError;

    fn try_from(plain: Plain) -> Result<Self, ReadWriteError> {
        ReadWrite::new(plain.quorums, plain.readers.into_iter().collect())
    }
}

impl From<ReadWrite> for Plain {
    fn from(system: ReadWrite) -> Self {
        Plain { readers: system.readers.iter().collect(), quorums: system.quorums }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readers(nodes: &[usize]) -> NodeSet {
        nodes.iter().map(|&node| NodeId::new(node)).collect()
    }

    #[test]
    fn every_kind_is_valid_for_every_size() {
        for nodes in 1..40 {
            for (name, kind) in ReadWriteKind::ALL {
                for reading in [vec![], vec![0], (0..nodes - 1).collect(), (0..nodes).collect()] {
                    let system = ReadWrite::of_kind(kind, nodes, readers(&reading));
                    assert!(system.is_ok(), "{name} of {nodes}: {system:?}");
                }
            }
        }
    }

    #[test]
    fn a_grid_of_nine() {
        let system = ReadWrite::of_kind(ReadWriteKind::Grid, 9, readers(&[3])).unwrap();
        let names = |node: usize| -> Vec<usize> {
            system.of(NodeId::new(node)).iter().map(|node| node.index()).collect()
        };
        assert_eq!(names(3), [3, 4, 5], "a reader asks its row");
        assert_eq!(names(4), [1, 3, 4, 5, 7], "a writer its column as well");
    }

    #[test]
    fn a_writer_that_misses_a_reader_is_named() {
        let sets = vec![vec![NodeId::new(0)], vec![NodeId::new(1)]];
        assert!(ReadWrite::new(sets.clone(), readers(&[0, 1])).is_ok());
        let error = ReadWrite::new(sets, readers(&[0])).unwrap_err();
        assert_eq!(
            error,
            ReadWriteError::Disjoint { writer: NodeId::new(1), other: NodeId::new(0) }
        );
    }

    #[test]
    fn a_file_is_checked() {
        let text = r#"{"quorums":[[1],[2]],"readers":[1]}"#;
        assert!(serde_json::from_str::<ReadWrite>(text).is_err());
        let text = r#"{"quorums":[[1],[1,2]],"readers":[1]}"#;
        let system: ReadWrite = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&system).unwrap(), text);
    }
}
