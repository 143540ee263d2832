//! Quorum systems (spec 3): whom each node asks, so that any two ask somebody in common.
//!
//! [`build`] makes the quorums of a [`Construction`] by its name, [`parse_file`] reads them from a
//! file. Both yield [`Quorums`], which exist only in valid form.
//!
//! ```
//! use skeptron_core::NodeId;
//! use skeptron_quorum::{Construction, build, default_for, difference_cover, parse_file};
//!
//! let grid: Construction = "grid".parse()?;
//! assert_eq!(build(grid, 9)?.mean_size(), 5.0);
//!
//! // Cyclic quorums fit every N, and here none can be smaller.
//! let quorums = build(default_for(12), 12)?;
//! assert!(quorums.iter().all(|quorum| quorum.len() == 4));
//! assert!(difference_cover(12)?.is_minimal());
//!
//! let triangle = parse_file("1: 1 2\n2: 2 3\n3: 1 3")?;
//! assert_eq!(triangle.of(NodeId::new(1)), [NodeId::new(1), NodeId::new(2)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cyclic;
mod file;
mod grid;
mod majority;
mod presets;
mod projective;

use std::fmt;
use std::str::FromStr;

use skeptron_core::NodeId;
use skeptron_core::topology::{Quorums, QuorumsError};
use thiserror::Error;

pub use cyclic::{Cover, difference_cover};
pub use file::{FileError, LineError, parse_file};

/// A way to give each node its quorum. `Display` and `FromStr` use its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Construction {
    /// `singleton`: everybody asks the first node.
    Singleton,
    /// `all`: everybody asks everybody.
    All,
    /// `majority`: oneself and the next ⌊N/2⌋ nodes, cyclically.
    Majority,
    /// `grid`: the own row and the own column of a ⌈√N⌉ wide grid.
    Grid,
    /// `cyclic`: the translates of a difference cover of `Z_N`, see [`difference_cover`].
    Cyclic,
    /// `projective`: the lines of the projective plane of order q, for N = q² + q + 1.
    Projective,
    /// `maekawa-13`: the 13 nodes of Maekawa's paper.
    Maekawa13,
    /// `fano`: the 7 lines {i, i+1, i+3} of the Fano plane.
    Fano,
}

impl Construction {
    /// All of them.
    pub const ALL: [Construction; 8] = [
        Construction::Singleton,
        Construction::All,
        Construction::Majority,
        Construction::Grid,
        Construction::Cyclic,
        Construction::Projective,
        Construction::Maekawa13,
        Construction::Fano,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Construction::Singleton => "singleton",
            Construction::All => "all",
            Construction::Majority => "majority",
            Construction::Grid => "grid",
            Construction::Cyclic => "cyclic",
            Construction::Projective => "projective",
            Construction::Maekawa13 => "maekawa-13",
            Construction::Fano => "fano",
        }
    }

    /// For how many nodes it is built at most: where quorums grow with N, checking that they meet
    /// takes N³ steps.
    #[must_use]
    pub const fn most_nodes(self) -> usize {
        match self {
            Construction::All | Construction::Majority => 1_000,
            Construction::Maekawa13 => presets::MAEKAWA_13.len(),
            Construction::Fano => presets::FANO,
            _ => 10_000,
        }
    }

    fn admits(self, nodes: usize) -> Result<(), QuorumError> {
        let most = self.most_nodes();
        match self {
            _ if nodes == 0 => Err(QuorumError::NoNodes),
            _ if nodes == most => Ok(()),
            Construction::Maekawa13 | Construction::Fano => {
                Err(QuorumError::WrongSize { preset: self, size: most, nodes })
            }
            _ if nodes < most => Ok(()),
            _ => Err(QuorumError::TooManyNodes { construction: self, nodes, most }),
        }
    }
}

impl fmt::Display for Construction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Construction {
    type Err = UnknownConstruction;

    fn from_str(name: &str) -> Result<Self, UnknownConstruction> {
        let known = Construction::ALL.into_iter().find(|construction| construction.name() == name);
        known.ok_or_else(|| UnknownConstruction(name.to_owned()))
    }
}

/// No construction has this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "there is no quorum construction named `{0}`; there are {known}",
    known = Construction::ALL.map(Construction::name).join(", ")
)]
pub struct UnknownConstruction(pub String);

/// Why there are no such quorums.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuorumError {
    /// `N = 0`.
    #[error("a quorum system needs at least one node")]
    NoNodes,
    /// Building and checking would take too long.
    #[error(
        "`{construction}` is built for at most {most} nodes, not {nodes}; take fewer nodes{other}",
        other = if *most < Construction::Cyclic.most_nodes() { " or `cyclic`" } else { "" }
    )]
    TooManyNodes {
        /// Which construction.
        construction: Construction,
        /// For how many nodes.
        nodes: usize,
        /// The limit.
        most: usize,
    },
    /// N is not q² + q + 1 for a prime q.
    #[error(
        "`projective` needs q² + q + 1 nodes with q a prime, not {nodes}; \
         take {nearby} nodes, or `cyclic`, which fits every N",
        nearby = nearby.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
    )]
    NoPlane {
        /// For how many nodes.
        nodes: usize,
        /// The next smaller and the next larger N with a plane, where there is one.
        nearby: Vec<usize>,
    },
    /// A preset exists in one size only.
    #[error(
        "`{preset}` is a system of {size} nodes, not {nodes}; \
         take {size} nodes, or `cyclic`, which fits every N"
    )]
    WrongSize {
        /// Which preset.
        preset: Construction,
        /// How many nodes it has.
        size: usize,
        /// How many were asked for.
        nodes: usize,
    },
    /// What was built is no quorum system.
    #[error(transparent)]
    Invalid(#[from] QuorumsError),
}

/// The quorums of `nodes` nodes.
///
/// # Errors
/// If the construction is not defined for so many nodes.
pub fn build(construction: Construction, nodes: usize) -> Result<Quorums, QuorumError> {
    construction.admits(nodes)?;
    let sets = match construction {
        Construction::Singleton => vec![vec![NodeId::new(0)]; nodes],
        Construction::All => vec![NodeId::all(nodes).collect(); nodes],
        Construction::Majority => majority::sets(nodes),
        Construction::Grid => grid::sets(nodes),
        Construction::Cyclic => cyclic::sets(nodes)?,
        Construction::Projective => projective::sets(nodes)?,
        Construction::Maekawa13 => presets::maekawa_13(),
        Construction::Fano => presets::fano(),
    };
    Ok(Quorums::new(sets)?)
}

/// The construction to take if nobody chose one: `cyclic`, whose conditions 1–4 hold for every N.
#[must_use]
pub fn default_for(_nodes: usize) -> Construction {
    Construction::Cyclic
}

/// `offsets + i` modulo `nodes` for each node `i`.
fn translates(nodes: usize, offsets: &[usize]) -> Vec<Vec<NodeId>> {
    let translate = |i| offsets.iter().map(|offset| NodeId::new((offset + i) % nodes)).collect();
    (0..nodes).map(translate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quorums with members counted from 1, as the spec writes them.
    pub(crate) fn listed(quorums: &Quorums) -> Vec<Vec<usize>> {
        quorums.iter().map(|set| set.iter().map(|node| node.index() + 1).collect()).collect()
    }

    /// How many quorums each node is in.
    pub(crate) fn degrees(quorums: &Quorums) -> Vec<usize> {
        let mut degrees = vec![0; quorums.nodes()];
        for member in quorums.iter().flatten() {
            degrees[member.index()] += 1;
        }
        degrees
    }

    /// Conditions 1 (checked by `Quorums`) and 2.
    #[test]
    fn every_construction_intersects_and_has_its_own_node() {
        for construction in Construction::ALL {
            let mut built = 0;
            for nodes in 1..=200 {
                let quorums = match build(construction, nodes) {
                    Ok(quorums) => quorums,
                    Err(QuorumError::NoPlane { .. } | QuorumError::WrongSize { .. }) => continue,
                    Err(error) => panic!("{construction} {nodes}: {error}"),
                };
                built += 1;
                assert_eq!(quorums.nodes(), nodes);
                for node in NodeId::all(nodes).filter(|_| construction != Construction::Singleton) {
                    assert!(quorums.of(node).contains(&node), "{construction} {nodes}: {node}");
                }
            }
            let defined = match construction {
                Construction::Projective => 6,
                Construction::Maekawa13 | Construction::Fano => 1,
                _ => 200,
            };
            assert_eq!(built, defined, "{construction}");
        }
    }

    /// Conditions 3 and 4.
    #[test]
    fn sizes_and_degrees_are_as_claimed() {
        for nodes in 1..=200 {
            for (construction, size) in
                [(Construction::All, nodes), (Construction::Majority, nodes / 2 + 1)]
            {
                let quorums = build(construction, nodes).unwrap();
                assert!(quorums.iter().all(|set| set.len() == size), "{construction} {nodes}");
                assert_eq!(degrees(&quorums), vec![size; nodes], "{construction} {nodes}");
            }
            let singleton = build(Construction::Singleton, nodes).unwrap();
            assert_eq!(listed(&singleton), vec![vec![1]; nodes]);
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for construction in Construction::ALL {
            assert_eq!(construction.to_string().parse(), Ok(construction));
        }
        let error = "gird".parse::<Construction>().unwrap_err();
        assert_eq!(error, UnknownConstruction("gird".to_owned()));
        assert_eq!(
            error.to_string(),
            "there is no quorum construction named `gird`; there are singleton, all, majority, \
             grid, cyclic, projective, maekawa-13, fano"
        );
    }

    #[test]
    fn the_default_fits_every_size() {
        for nodes in [1, 2, 3, 20, 1_000] {
            assert!(build(default_for(nodes), nodes).is_ok());
        }
    }

    #[test]
    fn errors_name_cause_and_remedy() {
        let message = |construction, nodes| build(construction, nodes).unwrap_err().to_string();
        for construction in Construction::ALL {
            assert_eq!(message(construction, 0), "a quorum system needs at least one node");
        }
        assert_eq!(
            message(Construction::All, 1_001),
            "`all` is built for at most 1000 nodes, not 1001; take fewer nodes or `cyclic`"
        );
        assert_eq!(
            message(Construction::Cyclic, usize::MAX),
            format!(
                "`cyclic` is built for at most 10000 nodes, not {}; take fewer nodes",
                usize::MAX
            )
        );
        assert_eq!(
            message(Construction::Fano, 8),
            "`fano` is a system of 7 nodes, not 8; take 7 nodes, or `cyclic`, which fits every N"
        );
        assert_eq!(
            message(Construction::Maekawa13, 12),
            "`maekawa-13` is a system of 13 nodes, not 12; take 13 nodes, or `cyclic`, which fits \
             every N"
        );
    }
}
