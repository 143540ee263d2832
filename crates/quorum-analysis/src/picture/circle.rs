//! The nodes on a circle, quorums as polygons.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::PictureError;
use super::example::{Example, Mark, name_of};
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::text::{COLUMNS, cell, trimmed};

/// As SVG.
pub(super) const ROOM: (&str, fn(&System) -> bool) =
    ("2000 nodes", |system| system.nodes() <= 2_000);
/// As text.
const TEXT_ROOM: &str = "60 quorums, each in a line of 100 characters";
const MOST_TEXT_NODES: usize = 60;

/// Up to here the quorums that are not shown are still told apart.
const MOST_POLYGONS: usize = 31;
/// A polygon of more corners looks like any other.
const MOST_CORNERS: usize = 12;
/// Up to here there is a place for every number.
const MOST_NUMBERS: usize = 140;

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    drawn(system, example, caption(system, example))
}

fn caption(system: &System, example: &Example) -> String {
    let count = system.asked().len();
    let shown = example.shown().count();
    let all = if count <= MOST_POLYGONS || count == shown {
        String::new()
    } else {
        format!("; {shown} of {count} are drawn")
    };
    match is_wheel(example) {
        true => format!("A quorum is a wheel: two have the end of a spoke in common{all}"),
        false => format!("A quorum is a polygon: any two have a corner in common{all}"),
    }
}

fn is_wheel(example: &Example) -> bool {
    example.shown().any(|(_, shown)| shown.members.len() > MOST_CORNERS)
}

/// Where the nodes are.
struct Ring {
    nodes: usize,
    centre: Point,
    radius: f64,
    /// Half the room of a node.
    dot: f64,
}

impl Ring {
    fn of(nodes: usize) -> Self {
        let radius = (nodes as f64 * 14.0).clamp(110.0, 380.0);
        let dot = (std::f64::consts::PI * radius / nodes as f64 * 0.8).clamp(1.1, 18.0);
        let side = radius + dot.max(4.0) + 26.0;
        Ring { nodes, centre: Point::new(side, side), radius, dot }
    }

    fn degrees(&self, node: NodeId) -> f64 {
        360.0 * node.index() as f64 / self.nodes as f64
    }

    fn place(&self, node: NodeId) -> Point {
        self.centre.at_angle(self.degrees(node), self.radius)
    }

    /// Spokes from an inner circle, which is smaller for the second quorum.
    fn wheel(&self, canvas: &mut Canvas, mark: Mark, quorum: &[NodeId]) {
        let inner = self.radius * if mark == Mark::First { 0.7 } else { 0.4 };
        let class = format!("edge {}", mark.class());
        canvas.form(&class, Form::Disc(inner), self.centre);
        for &node in quorum {
            let from = self.centre.at_angle(self.degrees(node), inner);
            canvas.path(&class, format_args!("M{from}L{}", self.place(node)));
        }
    }

    fn corners(&self, quorum: &[NodeId]) -> Vec<Point> {
        quorum.iter().map(|&node| self.place(node)).collect()
    }
}

/// The picture under another caption.
pub(super) fn drawn(system: &System, example: &Example, caption: String) -> Drawing {
    let ring = Ring::of(system.nodes());
    let mut canvas = Canvas::default();
    let quorums = system.asked();
    if quorums.len() <= MOST_POLYGONS && !is_wheel(example) {
        for quorum in &quorums {
            canvas.polygon("faint", &ring.corners(quorum));
        }
    }
    for (mark, shown) in example.shown() {
        if is_wheel(example) {
            ring.wheel(&mut canvas, mark, &shown.members);
            continue;
        }
        let corners = ring.corners(&shown.members);
        canvas.polygon(&format!("area {}", mark.class()), &corners);
        canvas.polygon(&format!("edge {}", mark.class()), &corners);
    }
    // Marked ones last: where there is little room they cover their neighbours.
    let is_plain = |node: &NodeId| example.mark(*node) == Mark::Plain;
    let (plain, marked): (Vec<_>, Vec<_>) = NodeId::all(system.nodes()).partition(is_plain);
    for node in plain.into_iter().chain(marked) {
        dot(&mut canvas, &ring, example, node);
    }
    let side = 2.0 * ring.centre.x;
    Drawing { canvas, width: side, height: side, caption }
}

/// With its number inside if there is room, else beside it.
fn dot(canvas: &mut Canvas, ring: &Ring, example: &Example, node: NodeId) {
    let mark = example.mark(node);
    let radius = if mark == Mark::Plain { ring.dot } else { ring.dot.max(4.0) };
    canvas.node(example, node, Form::Disc(radius), ring.place(node));
    let is_small = ring.dot < 8.5;
    if is_small && (ring.nodes <= MOST_NUMBERS || mark == Mark::Both) {
        let outside = ring.radius + radius + if mark == Mark::Both { 15.0 } else { 12.0 };
        let at = ring.centre.at_angle(ring.degrees(node), outside);
        let number = (node.index() + 1).to_string();
        let (class, font) = if mark == Mark::Both { ("middle", 13.0) } else { ("tick", 9.5) };
        canvas.sized_text(class, Point::new(at.x, at.y + 4.0), font, &number);
    }
}

/// A line for each quorum.
pub(super) fn write(system: &System, example: &Example) -> Result<String, PictureError> {
    let nodes = system.nodes();
    let name_width = example.digits + 1;
    let longest = system.assignment().iter().map(<[NodeId]>::len).max().unwrap_or(0);
    if nodes > MOST_TEXT_NODES || name_width + 1 + longest * (example.digits + 2) > COLUMNS {
        return Err(PictureError::TooLargeForText { room: TEXT_ROOM });
    }
    let mut lines = String::new();
    for (node, quorum) in NodeId::all(nodes).zip(system.assignment().iter()) {
        let members: String = quorum.iter().map(|&member| cell(example, member)).collect();
        lines += &format!("{:<name_width$} {members}\n", name_of(node));
    }
    Ok(trimmed(&lines))
}
