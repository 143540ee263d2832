//! All tests from outside, in one binary: each one more is linked once more.

mod claims;
mod elections;
mod kinds;
mod members;
mod oracle;
mod prefix;
mod starvation;
mod stateright;

use skeptron_core::Setup;
use skeptron_core::topology::{Structure, Tree};

/// A system with every layout that an algorithm may want.
fn setup(nodes: usize) -> Setup {
    let quorums = skeptron_quorum::quorums(&skeptron_quorum::default_for(nodes), nodes).unwrap();
    Setup::new(nodes)
        .unwrap()
        .with_structure(Structure::maekawa(&quorums))
        .and_then(|setup| setup.with_quorums(quorums))
        .and_then(|setup| setup.with_tree(Tree::balanced(nodes, 2)))
        .unwrap()
}
