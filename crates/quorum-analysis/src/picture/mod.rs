//! Systems as pictures: SVG that needs nothing else, and text for the terminal.
//!
//! Every picture shows two quorums and whom they have in common, so that one sees why they meet.
//!
//! ```
//! use skeptron_quorum_analysis::picture::{self, Picture};
//! use skeptron_quorum::{Construction, build};
//!
//! let grid = build(&Construction::Grid, 9)?;
//! assert_eq!(picture::best_for(&grid), Picture::Grid);
//! let text = picture::text(&grid, Picture::Grid, None)?;
//! assert!(text.contains("S₁ ∩ S₉ = {3, 7}"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod circle;
mod example;
mod form;
mod frame;
mod hierarchy;
mod matrix;
mod node;
mod plane;
mod rows;
mod style;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod votes;

use std::fmt;
use std::str::FromStr;

use skeptron_core::NodeId;
use skeptron_quorum::{Shape, System};
use thiserror::Error;

use example::Example;
use frame::Drawing;

/// A way to draw a system. `Display` and `FromStr` use its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Picture {
    /// `matrix`: a row for each node's quorum, a column for each node, a dot for each member.
    Matrix,
    /// `grid`: the nodes in their rows and columns.
    Grid,
    /// `wall`: rows of bricks.
    Wall,
    /// `tree`: the binary tree with its edges.
    Tree,
    /// `hierarchy`: groups of three groups of three …
    Hierarchy,
    /// `triangle`: the edges of a complete graph, in the upper half of its matrix.
    Triangle,
    /// `plane`: the points and lines of a projective plane; the one of order 2 as a triangle.
    Plane,
    /// `circle`: the nodes on a circle, quorums as polygons.
    Circle,
    /// `votes`: all votes as one bar, of which every quorum has more than half.
    Votes,
}

impl Picture {
    /// All of them.
    pub const ALL: [Picture; 9] = [
        Picture::Matrix,
        Picture::Grid,
        Picture::Wall,
        Picture::Tree,
        Picture::Hierarchy,
        Picture::Triangle,
        Picture::Plane,
        Picture::Circle,
        Picture::Votes,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind().name
    }

    fn kind(self) -> &'static Kind {
        &KINDS[self as usize]
    }
}

/// How a kind of picture is made.
struct Kind {
    name: &'static str,
    /// Whether a system has the form that it shows.
    has_form: fn(&System) -> bool,
    /// What there is room for as SVG, and for what there is.
    room: (&'static str, fn(&System) -> bool),
    draw: fn(&System, &Example) -> Drawing,
    write: fn(&System, &Example) -> Result<String, PictureError>,
}

const fn kind(
    name: &'static str,
    has_form: fn(&System) -> bool,
    room: (&'static str, fn(&System) -> bool),
    draw: fn(&System, &Example) -> Drawing,
    write: fn(&System, &Example) -> Result<String, PictureError>,
) -> Kind {
    Kind { name, has_form, room, draw, write }
}

/// Nothing is too large.
const ALL: (&str, fn(&System) -> bool) = ("", |_| true);

/// In the order of [`Picture`].
static KINDS: [Kind; 9] = [
    kind("matrix", |_| true, ALL, matrix::draw, matrix::write),
    kind("grid", |s| form::grid_width(s).is_some(), ALL, rows::draw_grid, rows::write_grid),
    kind("wall", |s| form::wall_rows(s).is_some(), rows::WALLS, rows::draw_wall, rows::write_wall),
    kind("tree", |s| form::tree_height(s).is_some(), tree::ROOM, tree::draw, tree::write),
    kind(
        "hierarchy",
        |s| form::hierarchy_height(s).is_some(),
        hierarchy::ROOM,
        hierarchy::draw,
        hierarchy::write,
    ),
    kind("triangle", |s| form::edges(s).is_some(), ALL, rows::draw_triangle, rows::write_triangle),
    kind("plane", |s| form::plane_order(s).is_some(), ALL, plane::draw, circle::write),
    kind("circle", |_| true, circle::ROOM, circle::draw, circle::write),
    kind("votes", |s| form::votes(s).is_some(), ALL, votes::draw, votes::write),
];

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Picture {
    type Err = UnknownPicture;

    fn from_str(name: &str) -> Result<Self, UnknownPicture> {
        let known = Picture::ALL.into_iter().find(|picture| picture.name() == name);
        known.ok_or_else(|| UnknownPicture(name.to_owned()))
    }
}

/// There is no picture of this name.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no picture named `{0}`; there are {known}", known = names(&Picture::ALL))]
pub struct UnknownPicture(pub String);

/// Why there is no such picture of a system.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PictureError {
    /// The system has no such form.
    #[error("`{system}` cannot be drawn as {picture}; take {others}", others = names(fitting))]
    Unfit {
        /// Which picture.
        picture: Picture,
        /// Of which system.
        system: String,
        /// What it can be drawn as.
        fitting: Vec<Picture>,
    },
    /// As text it would be too wide or too long.
    #[error("as text there is room for {room}; draw this one as SVG")]
    TooLargeForText {
        /// What there is room for.
        room: &'static str,
    },
    /// As SVG nobody could tell the nodes apart.
    #[error("the picture `{picture}` has room for {room}; take matrix, which has room for all")]
    TooLarge {
        /// Which picture.
        picture: Picture,
        /// What there is room for.
        room: &'static str,
    },
    /// The node whose quorum is to be shown is not there.
    #[error("there is no {node} to show the quorum of, only P1 to {last}")]
    UnknownNode {
        /// Whose quorum was asked for.
        node: NodeId,
        /// The last node there is.
        last: NodeId,
    },
}

fn names(pictures: &[Picture]) -> String {
    let names: Vec<_> = pictures.iter().map(|picture| picture.name()).collect();
    match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.join(", "),
    }
}

/// What shows the system best.
#[must_use]
pub fn best_for(system: &System) -> Picture {
    let kind = system.name().split(':').next().unwrap_or_default();
    // Small systems have several forms: any two of three are a tree and a hierarchy, too.
    let meant = match kind {
        "wall" => Picture::Wall,
        "tree" => Picture::Tree,
        "hierarchical" => Picture::Hierarchy,
        _ => Picture::Votes,
    };
    let candidates = match system.shape() {
        Shape::Gates(_) => [meant, Picture::Tree, Picture::Hierarchy, Picture::Wall],
        Shape::Grid { .. } | Shape::Listed(_) => {
            [Picture::Grid, Picture::Plane, Picture::Triangle, Picture::Circle]
        }
    };
    let is_drawn = |&picture: &Picture| has_form(system, picture) && room(system, picture).is_ok();
    candidates.into_iter().find(is_drawn).unwrap_or(Picture::Matrix)
}

/// Whether the system has the form that the picture shows.
///
/// # Errors
/// If it has not, naming the pictures that fit.
pub fn fits(system: &System, picture: Picture) -> Result<(), PictureError> {
    if has_form(system, picture) {
        return Ok(());
    }
    Err(PictureError::Unfit { picture, system: system.name().to_owned(), fitting: fitting(system) })
}

/// All pictures that fit the system.
#[must_use]
pub fn fitting(system: &System) -> Vec<Picture> {
    Picture::ALL.into_iter().filter(|&picture| has_form(system, picture)).collect()
}

fn has_form(system: &System, picture: Picture) -> bool {
    (picture.kind().has_form)(system)
}

/// Whether there is room for it as SVG.
fn room(system: &System, picture: Picture) -> Result<(), PictureError> {
    let (room, has_room) = picture.kind().room;
    if has_room(system) { Ok(()) } else { Err(PictureError::TooLarge { picture, room }) }
}

/// Draws a system as an SVG document that needs nothing else, with the quorum of `highlight`, or else
/// of a node that shows it well.
///
/// A matrix of more than 200 nodes becomes a picture of densities.
///
/// # Errors
/// If the picture does not [fit](fits) or has no room for the system, or there is no such node.
pub fn svg(
    system: &System,
    picture: Picture,
    highlight: Option<NodeId>,
) -> Result<String, PictureError> {
    fits(system, picture)?;
    room(system, picture)?;
    let example = Example::of(system, picture, known(system, highlight)?);
    let drawing = (picture.kind().draw)(system, &example);
    Ok(frame::document(system, &example, drawing))
}

/// Draws a system with characters, without colours, at most 100 columns wide, with the quorum of
/// `highlight`, or else of a node that shows it well.
///
/// # Errors
/// As [`svg`], but there is room for less.
pub fn text(
    system: &System,
    picture: Picture,
    highlight: Option<NodeId>,
) -> Result<String, PictureError> {
    fits(system, picture)?;
    let example = Example::of(system, picture, known(system, highlight)?);
    let body = (picture.kind().write)(system, &example)?;
    Ok(body + &text::legend(&example))
}

fn known(system: &System, node: Option<NodeId>) -> Result<Option<NodeId>, PictureError> {
    match node {
        Some(node) if node.index() >= system.nodes() => {
            let last = NodeId::new(system.nodes() - 1);
            Err(PictureError::UnknownNode { node, last })
        }
        node => Ok(node),
    }
}
