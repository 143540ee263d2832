//! All tests from outside, in one binary: each one more is linked once more.

mod claims;
mod elections;
mod kinds;
mod members;
mod oracle;
mod prefix;
mod specified;
mod stabilising;
mod starvation;
mod stateright;
mod tla;
mod walks;

use skeptron_core::topology::{ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{NodeId, Setup};

/// A system with every layout that an algorithm may want.
fn setup(nodes: usize) -> Setup {
    let quorums = skeptron_quorum::quorums(&skeptron_quorum::default_for(nodes), nodes).unwrap();
    let readers = [NodeId::new(0)].into_iter().collect();
    let system = ReadWrite::of_kind(ReadWriteKind::Majority, nodes, readers).unwrap();
    Setup::new(nodes)
        .unwrap()
        .with_structure(Structure::maekawa(&quorums))
        .and_then(|setup| setup.with_quorums(quorums))
        .and_then(|setup| setup.with_tree(Tree::balanced(nodes, 2)))
        .and_then(|setup| setup.with_read_write(system))
        .unwrap()
}
