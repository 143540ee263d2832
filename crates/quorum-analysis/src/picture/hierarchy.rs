//! Groups of three groups of three …: a quorum has two of three everywhere.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;
use skeptron_quorum::gates::{Gate, Gates, Part};

use super::PictureError;
use super::example::{Example, Mark, Shown};
use super::form::{gates, hierarchy_height};
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::text::{cell, trimmed};

/// As SVG.
pub(super) const ROOM: (&str, fn(&System) -> bool) = ("hierarchies of height 5", |system| {
    hierarchy_height(system).is_some_and(|height| height <= 5)
});
/// As text.
const TEXT_ROOM: &str = "hierarchies of height 4";
const MOST_TEXT_HEIGHT: u32 = 4;

/// How far the middle of a part is from the middle of its group, and how large the group is, if the
/// part has size 1: three circles that nearly touch.
const DISTANCE: f64 = 1.26;
const GROWTH: f64 = 2.36;

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    let height = hierarchy_height(system).unwrap_or(0);
    let growth = GROWTH.powi(height as i32);
    let node = (400.0 / growth).min(24.0);
    let radius = node * growth;
    let mut rings = Rings { canvas: Canvas::default(), example };
    let whole =
        Group { first: 0, nodes: system.nodes(), centre: Point::new(radius, radius), radius };
    rings.draw(whole);
    Drawing {
        canvas: rings.canvas,
        width: 2.0 * radius,
        height: 2.0 * radius,
        caption: "A quorum has two of three groups, in each of them two of three, and so on; two \
                  times two of three share one, on every level down to a node"
            .into(),
    }
}

/// Nodes that follow each other, in a circle.
#[derive(Clone, Copy)]
struct Group {
    first: usize,
    nodes: usize,
    centre: Point,
    radius: f64,
}

impl Group {
    /// One above, two below.
    fn parts(self) -> [Group; 3] {
        let (nodes, radius) = (self.nodes / 3, self.radius / GROWTH);
        [(0, 0.0), (1, 240.0), (2, 120.0)].map(|(place, degrees)| Group {
            first: self.first + place * nodes,
            nodes,
            centre: self.centre.at_angle(degrees, radius * DISTANCE),
            radius,
        })
    }

    /// Whether the quorum has two of three here.
    fn passes(self, quorum: &Shown) -> bool {
        match self.nodes {
            1 => quorum.contains(NodeId::new(self.first)),
            _ => self.parts().iter().filter(|part| part.passes(quorum)).count() >= 2,
        }
    }
}

struct Rings<'a> {
    canvas: Canvas,
    example: &'a Example,
}

impl Rings<'_> {
    fn draw(&mut self, group: Group) {
        if group.nodes == 1 {
            let form = Form::Disc((group.radius * 0.86).max(2.0));
            self.canvas.node(self.example, NodeId::new(group.first), form, group.centre);
            return;
        }
        let rings: Vec<Mark> = self
            .example
            .shown()
            .filter(|(_, shown)| group.passes(shown))
            .map(|(mark, _)| mark)
            .collect();
        if rings.is_empty() {
            self.canvas.form("group", Form::Disc(group.radius), group.centre);
        }
        let passes_both = rings.len() == 2;
        for mark in rings {
            let is_inner = passes_both && mark == Mark::Second;
            let radius = group.radius - if is_inner { (0.07 * group.radius).min(4.0) } else { 0.0 };
            self.canvas.form(&format!("group {}", mark.class()), Form::Disc(radius), group.centre);
        }
        for part in group.parts() {
            self.draw(part);
        }
    }
}

pub(super) fn write(system: &System, example: &Example) -> Result<String, PictureError> {
    match gates(system) {
        Some(gates) if hierarchy_height(system) <= Some(MOST_TEXT_HEIGHT) => {
            let mut lines = String::new();
            let outline = Outline { gates, example };
            outline.write(&mut lines, gates.gates().len() - 1, "", "");
            Ok(trimmed(&lines))
        }
        _ => Err(PictureError::TooLargeForText { room: TEXT_ROOM }),
    }
}

/// A line for each group, indented by how deep it is; innermost groups with their nodes.
struct Outline<'a> {
    gates: &'a Gates,
    example: &'a Example,
}

impl Outline<'_> {
    fn write(&self, lines: &mut String, number: usize, branch: &str, below: &str) {
        let gate = &self.gates.gates()[number];
        let nodes = self.nodes(gate);
        *lines += &format!("{branch}{} of {}{nodes}\n", gate.need, gate.members.len());
        for (place, member) in gate.members.iter().enumerate() {
            let Part::Gate(inner) = member.part else {
                continue;
            };
            let (fork, stem) = if place + 1 < gate.members.len() {
                ("├─ ", "│  ")
            } else {
                ("└─ ", "   ")
            };
            self.write(lines, inner, &format!("{below}{fork}"), &format!("{below}{stem}"));
        }
    }

    fn nodes(&self, gate: &Gate) -> String {
        let nodes = gate.members.iter().filter_map(|member| match member.part {
            Part::Node(node) => Some(cell(self.example, node)),
            Part::Gate(_) => None,
        });
        nodes.map(|cell| format!(" {cell}")).collect()
    }
}
