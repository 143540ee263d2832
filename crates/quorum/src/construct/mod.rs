//! The constructions by their names, one file each where there is something to it.

mod cyclic;
mod field;
mod folding;
mod grid;
mod plane;
mod presets;
mod projective;
mod triangle;
mod votes;
mod weighted;

use std::fmt;
use std::str::FromStr;

use skeptron_core::NodeId;
use skeptron_core::topology::{Quorums, QuorumsError};
use thiserror::Error;

use crate::system::System;

pub use cyclic::{Cover, difference_cover};
pub use plane::plane_order;

/// A way to make quorums. `Display` and `FromStr` use the form in which it is typed: `grid`,
/// `wall:1,2,3`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Construction {
    /// `singleton`: everybody asks the first node.
    Singleton,
    /// `all`: everybody asks everybody.
    All,
    /// `majority`: any ⌊N/2⌋ + 1 nodes.
    Majority,
    /// `weighted:3,1,1`: any nodes with more than half of the weight.
    Weighted(Vec<u64>),
    /// `grid`: the own row and the own column of a ⌈√N⌉ wide grid.
    Grid,
    /// `cyclic`: the translates of a difference cover of `Z_N`, see [`difference_cover`].
    Cyclic,
    /// `projective` or `projective:4`: the lines of the projective plane of order q; folded where N is
    /// not q² + q + 1 for a prime power q.
    Projective(Option<usize>),
    /// `triangle`: the star of a vertex of a complete graph whose edges are the nodes; folded where N is
    /// not k(k+1)/2.
    Triangle,
    /// `wall` or `wall:1,2,3`: one full row and one node of each row below it.
    Wall(Option<Vec<usize>>),
    /// `tree` or `tree:2`: paths from the root to a leaf of a complete binary tree of this height, with
    /// a missing node replaced by paths through both its children.
    Tree(Option<u32>),
    /// `hierarchical` or `hierarchical:2`: two of three groups, of each two of three groups, and so on.
    Hierarchical(Option<u32>),
    /// `maekawa-13`: the 13 nodes of Maekawa's paper.
    Maekawa13,
    /// `fano`: the 7 lines {i, i+1, i+3} of the Fano plane.
    Fano,
}

impl Construction {
    /// The names of all of them.
    pub const NAMES: [&str; 13] = [
        "singleton",
        "all",
        "majority",
        "weighted",
        "grid",
        "cyclic",
        "projective",
        "triangle",
        "wall",
        "tree",
        "hierarchical",
        "maekawa-13",
        "fano",
    ];

    /// Those for which it is enough to know how many nodes there are. Of two with equal quorums the better
    /// one comes first: hierarchies are not dominated, planes have more structure than covers.
    pub fn of_any_size() -> impl Iterator<Item = Construction> {
        [
            Construction::Singleton,
            Construction::Hierarchical(None),
            Construction::Projective(None),
            Construction::Cyclic,
            Construction::Grid,
            Construction::Triangle,
            Construction::Tree(None),
            Construction::Wall(None),
            Construction::Majority,
            Construction::All,
        ]
        .into_iter()
    }

    /// Its name, without what follows a colon.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Construction::Singleton => "singleton",
            Construction::All => "all",
            Construction::Majority => "majority",
            Construction::Weighted(_) => "weighted",
            Construction::Grid => "grid",
            Construction::Cyclic => "cyclic",
            Construction::Projective(_) => "projective",
            Construction::Triangle => "triangle",
            Construction::Wall(_) => "wall",
            Construction::Tree(_) => "tree",
            Construction::Hierarchical(_) => "hierarchical",
            Construction::Maekawa13 => "maekawa-13",
            Construction::Fano => "fano",
        }
    }

    /// How many nodes it is for, if it says so itself. Saturates where that is beyond all bounds.
    #[must_use]
    pub fn nodes(&self) -> Option<usize> {
        match self {
            Construction::Weighted(weights) => Some(weights.len()),
            Construction::Projective(order) => order.map(projective::nodes),
            Construction::Wall(rows) => {
                let rows = rows.as_ref()?.iter();
                Some(rows.fold(0, |sum: usize, &width| sum.saturating_add(width)))
            }
            Construction::Tree(height) => {
                height.map(|height| 2_usize.saturating_pow(height.saturating_add(1)) - 1)
            }
            Construction::Hierarchical(height) => {
                height.map(|height| 3_usize.saturating_pow(height))
            }
            Construction::Maekawa13 => Some(presets::MAEKAWA_13.len()),
            Construction::Fano => Some(presets::FANO),
            _ => None,
        }
    }

    /// For how many nodes it is built at most: where quorums grow with N, checking that they meet
    /// takes N³ steps. The largest plane of at most 10 000 nodes has 9507.
    #[must_use]
    pub const fn most_nodes(&self) -> usize {
        match self {
            Construction::All | Construction::Majority | Construction::Weighted(_) => 1_000,
            Construction::Projective(_) => projective::MOST_NODES,
            _ => 10_000,
        }
    }

    fn admits(&self, nodes: usize) -> Result<(), QuorumError> {
        let most = self.most_nodes();
        if nodes == 0 {
            return Err(QuorumError::NoNodes);
        }
        if let Construction::Projective(Some(order)) = *self {
            projective::check_order(order)?;
        }
        if let Some(size) = self.nodes().filter(|&size| size != nodes) {
            return Err(QuorumError::WrongSize { construction: self.clone(), size, nodes });
        }
        if nodes > most {
            return Err(QuorumError::TooManyNodes { construction: self.clone(), nodes, most });
        }
        Ok(())
    }
}

impl fmt::Display for Construction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match self {
            Construction::Weighted(weights) => f.pad(&format!("{name}:{}", joined(weights))),
            Construction::Wall(Some(rows)) => f.pad(&format!("{name}:{}", joined(rows))),
            Construction::Projective(Some(order)) => f.pad(&format!("{name}:{order}")),
            Construction::Tree(Some(height)) | Construction::Hierarchical(Some(height)) => {
                f.pad(&format!("{name}:{height}"))
            }
            _ => f.pad(name),
        }
    }
}

fn joined(numbers: &[impl ToString]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

impl FromStr for Construction {
    type Err = ConstructionError;

    fn from_str(text: &str) -> Result<Self, ConstructionError> {
        let (name, parameter) = match text.split_once(':') {
            Some((name, parameter)) => (name, Some(parameter)),
            None => (text, None),
        };
        let plain = |construction| match parameter {
            None => Ok(construction),
            Some(_) => Err(ConstructionError::NoParameter(construction)),
        };
        match name {
            "singleton" => plain(Construction::Singleton),
            "all" => plain(Construction::All),
            "majority" => plain(Construction::Majority),
            "weighted" => match parameter {
                Some(weights) => Ok(Construction::Weighted(numbers(text, weights)?)),
                None => Err(ConstructionError::NoWeights),
            },
            "grid" => plain(Construction::Grid),
            "cyclic" => plain(Construction::Cyclic),
            "projective" => {
                Ok(Construction::Projective(parameter.map(|q| number(text, q)).transpose()?))
            }
            "triangle" => plain(Construction::Triangle),
            "wall" => {
                Ok(Construction::Wall(parameter.map(|rows| numbers(text, rows)).transpose()?))
            }
            "tree" => Ok(Construction::Tree(parameter.map(|h| number(text, h)).transpose()?)),
            "hierarchical" => {
                Ok(Construction::Hierarchical(parameter.map(|h| number(text, h)).transpose()?))
            }
            "maekawa-13" => plain(Construction::Maekawa13),
            "fano" => plain(Construction::Fano),
            _ => Err(ConstructionError::Unknown(name.to_owned())),
        }
    }
}

fn numbers<T: FromStr>(text: &str, list: &str) -> Result<Vec<T>, ConstructionError> {
    list.split(',').map(|word| number(text, word)).collect()
}

fn number<T: FromStr>(text: &str, word: &str) -> Result<T, ConstructionError> {
    word.trim().parse().map_err(|_| ConstructionError::NoNumber {
        text: text.to_owned(),
        word: word.trim().to_owned(),
    })
}

/// Why a text names no construction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConstructionError {
    /// There is none of this name.
    #[error(
        "there is no quorum construction named `{0}`; there are {known}",
        known = Construction::NAMES.join(", ")
    )]
    Unknown(String),
    /// Something follows the colon that is no number.
    #[error("`{word}` in `{text}` must be a whole number from 0 up")]
    NoNumber {
        /// What was typed.
        text: String,
        /// The part that is wrong.
        word: String,
    },
    /// A colon where nothing can follow.
    #[error("`{0}` takes nothing after a colon; leave it out")]
    NoParameter(Construction),
    /// Votes without weights.
    #[error("`weighted` needs the weight of each node, as in weighted:3,1,1")]
    NoWeights,
}

/// Why there are no such quorums.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum QuorumError {
    /// `N = 0`.
    #[error("a quorum system needs at least one node")]
    NoNodes,
    /// Building and checking would take too long.
    #[error(
        "`{name}` is built for at most {most} nodes, not {nodes}; take fewer nodes{other}",
        name = construction.name(),
        nodes = if *nodes < usize::MAX / 2 { nodes.to_string() } else { "so many".to_owned() },
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
    /// Only prime powers are known to have a plane.
    #[error(
        "order {order} is no prime power; take {nearby}",
        nearby = nearby.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
    )]
    NoPrimePower {
        /// The order that was asked for.
        order: usize,
        /// The next smaller and the next larger prime power, where there is one.
        nearby: Vec<usize>,
    },
    /// The plane would have too many nodes.
    #[error(
        "order {order} is out of reach; take at most {most}, which has {nodes} nodes",
        nodes = projective::nodes(*most)
    )]
    OrderTooLarge {
        /// The order that was asked for.
        order: usize,
        /// The largest order.
        most: usize,
    },
    /// It says itself how many nodes it has.
    #[error(
        "`{construction}` is a system of {size} nodes, not {nodes}; \
         take {size} nodes, or `cyclic`, which fits every N"
    )]
    WrongSize {
        /// Which construction.
        construction: Construction,
        /// How many nodes it has.
        size: usize,
        /// How many were asked for.
        nodes: usize,
    },
    /// Trees and hierarchies exist in some sizes only.
    #[error(
        "`{name}` needs {form} nodes, not {nodes}; take {nearby} nodes, or `cyclic`, which fits every N",
        name = construction.name(),
        nearby = nearby.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
    )]
    NoSuchSize {
        /// Which construction.
        construction: Construction,
        /// The sizes it exists in, as a formula.
        form: &'static str,
        /// How many nodes were asked for.
        nodes: usize,
        /// The next smaller and the next larger size, where there is one.
        nearby: Vec<usize>,
    },
    /// Nobody can have more than half of nothing.
    #[error("the weights add up to nothing; give at least one node a weight above 0")]
    NoWeight,
    /// The votes could not be counted in reasonable time.
    #[error(
        "the weights add up to {total} and at most {most} can be counted for so many nodes; round them, \
         only their ratios matter"
    )]
    TooMuchWeight {
        /// All of them, divided by what they have in common.
        total: u64,
        /// The limit.
        most: u64,
    },
    /// The load could not be found in reasonable time.
    #[error("there are {different} different weights, and at most {most} are possible; round them")]
    TooManyWeights {
        /// How many there are.
        different: usize,
        /// The limit.
        most: usize,
    },
    /// Nor here.
    #[error("the wall has {rows} rows, and at most {most} are possible; take wider ones")]
    TooManyRows {
        /// How many it has.
        rows: usize,
        /// The limit.
        most: usize,
    },
    /// A row of a wall has no node.
    #[error("row {0} of the wall is empty; every row needs at least one node")]
    EmptyRow(usize),
    /// What was built is no quorum system.
    #[error(transparent)]
    Invalid(#[from] QuorumsError),
}

/// The quorum system of `nodes` nodes.
///
/// # Errors
/// If the construction is not defined for so many nodes.
pub fn build(construction: &Construction, nodes: usize) -> Result<System, QuorumError> {
    construction.admits(nodes)?;
    let of_assigned = |sets| Ok(System::of_assigned(construction.to_string(), Quorums::new(sets)?));
    match construction {
        Construction::Singleton => votes::singleton(nodes),
        Construction::All => votes::all(nodes),
        Construction::Majority => votes::majority(nodes),
        Construction::Weighted(weights) => weighted::system(weights),
        Construction::Grid => grid::system(nodes),
        Construction::Cyclic => cyclic::system(nodes),
        Construction::Projective(_) => projective::system(construction, nodes),
        Construction::Triangle => triangle::system(nodes),
        Construction::Wall(rows) => votes::wall(rows.as_deref(), nodes),
        Construction::Tree(_) => votes::tree(nodes),
        Construction::Hierarchical(_) => votes::hierarchical(nodes),
        Construction::Maekawa13 => of_assigned(presets::maekawa_13()),
        Construction::Fano => of_assigned(presets::fano()),
    }
}

/// Only the quorum of each node.
///
/// # Errors
/// As [`build`].
pub fn quorums(construction: &Construction, nodes: usize) -> Result<Quorums, QuorumError> {
    build(construction, nodes).map(Quorums::from)
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
