//! The complete binary tree: a quorum is a path from the root to a leaf, or what replaces it.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::PictureError;
use super::example::Example;
use super::form::tree_height;
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::text::{cell, trimmed};

/// As SVG.
pub(super) const ROOM: (&str, fn(&System) -> bool) =
    ("trees of height 7", |system| tree_height(system).is_some_and(|height| height <= MOST_HEIGHT));
const MOST_HEIGHT: u32 = 7;
/// As text.
const TEXT_ROOM: &str = "trees of height 4";
const MOST_TEXT_HEIGHT: u32 = 4;

/// The level of a node, the root on level 0, and its place there.
fn place(node: NodeId) -> (u32, usize) {
    let level = (node.index() + 1).ilog2();
    (level, node.index() + 1 - (1 << level))
}

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    let height = tree_height(system).unwrap_or(0);
    let leaves = f64::from(1_u32 << height);
    // Numbers fit into all but the lowest row of the highest tree.
    let narrowest = if height < MOST_HEIGHT { 22.0 } else { 11.0 };
    let pitch = (960.0 / leaves).clamp(narrowest, 96.0);
    let (radius, step) = ((pitch * 0.44).clamp(4.0, 20.0), (pitch * 1.2).clamp(60.0, 92.0));
    let centre = |node: NodeId| {
        let (level, place) = place(node);
        let room = leaves * pitch / f64::from(1_u32 << level);
        Point::new((place as f64 + 0.5) * room, f64::from(level) * step + radius + 4.0)
    };
    let mut canvas = Canvas::default();
    edges(&mut canvas, system.nodes(), example, centre);
    for node in NodeId::all(system.nodes()) {
        // There is more room above.
        let radius = if place(node).0 == height { radius } else { radius.max(12.0) };
        canvas.node(example, node, Form::Disc(radius), centre(node));
    }
    Drawing {
        canvas,
        width: leaves * pitch,
        height: f64::from(height) * step + 2.0 * radius + 8.0,
        caption: "A quorum is a path from the root to a leaf; a missing node is replaced by paths \
                  through both its children"
            .into(),
    }
}

/// Those between two nodes of one quorum over all others.
fn edges(canvas: &mut Canvas, nodes: usize, example: &Example, centre: impl Fn(NodeId) -> Point) {
    let edges =
        || NodeId::all(nodes).skip(1).map(|node| (NodeId::new((node.index() - 1) / 2), node));
    for (above, node) in edges() {
        canvas.path("edge", format_args!("M{}L{}", centre(above), centre(node)));
    }
    for (mark, shown) in example.shown() {
        for (above, node) in edges().filter(|&(a, b)| shown.contains(a) && shown.contains(b)) {
            let class = format!("edge {}", mark.class());
            canvas.path(&class, format_args!("M{}L{}", centre(above), centre(node)));
        }
    }
}

pub(super) fn write(system: &System, example: &Example) -> Result<String, PictureError> {
    let height = tree_height(system).unwrap_or(0);
    if height > MOST_TEXT_HEIGHT {
        return Err(PictureError::TooLargeForText { room: TEXT_ROOM });
    }
    let leaf = example.digits + 3;
    let mut lines = String::new();
    for level in 0..=height {
        let room = leaf << (height - level);
        let first = (1 << level) - 1;
        let row = || (first..2 * first + 1).map(NodeId::new);
        if level > 0 {
            lines += &(row().step_by(2).map(|_| fork(room)).collect::<String>() + "\n");
        }
        // In the middle, where the lines from above and below end.
        let left = room / 2 - (example.digits + 2) / 2;
        let cells = row().map(|node| {
            let cell = " ".repeat(left) + &cell(example, node);
            format!("{cell:<room$}")
        });
        lines += &(cells.collect::<String>() + "\n");
    }
    Ok(trimmed(&lines))
}

/// What leads from a node to its children, each of which has so much room.
fn fork(room: usize) -> String {
    let (left, right) = (room / 2, room - room / 2 - 1);
    let line = |length| "─".repeat(length);
    let (blank_left, blank_right) = (" ".repeat(left), " ".repeat(right));
    format!("{blank_left}┌{}┴{}┐{blank_right}", line(right), line(left - 1))
}
