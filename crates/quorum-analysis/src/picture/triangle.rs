//! The edges of a complete graph, in the upper half of its matrix: the star of a vertex is a hook that
//! turns at the diagonal.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::PictureError;
use super::example::Example;
use super::form::edges;
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::text::{COLUMNS, cell, cell_width, digits, trimmed};

/// As text.
const ROOM: &str = "triangles of 20 rows";

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    let places = edges(system).unwrap_or_default();
    let vertices = count(&places);
    let pitch = (900.0 / vertices as f64).clamp(9.0, 56.0);
    let middle = |index: usize| (index as f64 + 0.5) * pitch;
    let mut canvas = Canvas::default();
    let (top, right) = (middle(0), middle(vertices - 1));
    // The first and the last one do not turn: they are a row and a column.
    let hook = |vertex: usize| {
        let (x, y) = (middle(vertex.max(1)), middle(vertex.min(vertices - 2)));
        format!("M{x:.1} {top:.1}V{y:.1}H{right:.1}")
    };
    for vertex in 0..vertices {
        canvas.path("faint", format_args!("{}", hook(vertex)));
    }
    for (mark, shown) in example.shown() {
        if let Some(vertex) = star(&places, &shown.members) {
            canvas.path(&format!("edge {}", mark.class()), format_args!("{}", hook(vertex)));
        }
    }
    let form = Form::Brick(pitch * 0.78, pitch * 0.78);
    for (node, &(row, column)) in NodeId::all(system.nodes()).zip(&places) {
        canvas.node(example, node, form, Point::new(middle(column), middle(row)));
    }
    Drawing {
        canvas,
        width: vertices as f64 * pitch,
        height: (vertices - 1) as f64 * pitch,
        caption: format!(
            "The nodes are the edges between {vertices} vertices, a quorum is all edges of a vertex: \
             a hook that turns at the diagonal. Two vertices have one edge in common"
        ),
    }
}

/// How many vertices these edges have.
fn count(places: &[(usize, usize)]) -> usize {
    places.iter().map(|&(_, column)| column + 1).max().unwrap_or(1)
}

/// The vertex that all these edges have in common.
fn star(places: &[(usize, usize)], members: &[NodeId]) -> Option<usize> {
    let mut ends = members.iter().map(|node| places[node.index()]);
    let (row, column) = ends.next()?;
    let is_end = |vertex: &usize| ends.clone().all(|(a, b)| a == *vertex || b == *vertex);
    [row, column].into_iter().find(is_end)
}

pub(super) fn write(system: &System, example: &Example) -> Result<String, PictureError> {
    let places = edges(system).unwrap_or_default();
    let (vertices, nodes) = (count(&places), system.nodes());
    let width = cell_width(nodes);
    if vertices * width > COLUMNS {
        return Err(PictureError::TooLargeForText { room: ROOM });
    }
    let mut rows = vec![vec![" ".repeat(width); vertices]; vertices - 1];
    for (vertex, row) in rows.iter_mut().enumerate() {
        row[vertex] = format!("{:^width$}", "·");
    }
    for (node, &(row, column)) in NodeId::all(nodes).zip(&places) {
        rows[row][column] = cell(example, node, digits(nodes));
    }
    let lines: String = rows.iter().map(|row| row.concat() + "\n").collect();
    Ok(trimmed(&lines))
}

#[cfg(test)]
mod tests {
    use skeptron_core::topology::Quorums;

    use super::super::{Picture, best_for, svg, text};
    use super::*;

    /// Each edge of `vertices` vertices asks the star of its first vertex, and the last edge that of the
    /// last one.
    fn stars(vertices: usize) -> System {
        let edges: Vec<(usize, usize)> =
            (0..vertices).flat_map(|a| (a + 1..vertices).map(move |b| (a, b))).collect();
        let star = |vertex: usize| -> Vec<NodeId> {
            let nodes = NodeId::all(edges.len()).zip(&edges);
            nodes.filter(|(_, (a, b))| *a == vertex || *b == vertex).map(|(n, _)| n).collect()
        };
        let own =
            |&(a, b): &(usize, usize)| star(if b == vertices - 1 && a + 1 < b { b } else { a });
        Quorums::new(edges.iter().map(own).collect()).unwrap().into()
    }

    #[test]
    fn a_triangle_is_known_and_drawn() {
        for vertices in 4..=12 {
            let system = stars(vertices);
            assert_eq!(best_for(&system), Picture::Triangle, "{vertices}");
            let places = edges(&system).unwrap();
            for quorum in system.assignment().iter() {
                assert!(star(&places, quorum).is_some(), "{vertices}");
            }
            let svg = svg(&system, Picture::Triangle, None).unwrap();
            assert_eq!(svg.matches("<g class=\"node both\"").count(), 1);
            assert_eq!(svg.matches("<path class=\"edge ").count(), 2);
        }
    }

    #[test]
    fn as_text() {
        let drawn = text(&stars(4), Picture::Triangle, Some(NodeId::new(0))).unwrap();
        let lines = [
            " · [1][2]<3>",
            "    ·  4 (5)",
            "       · (6)",
            "",
            "[ ] S₁ = {1, 2, 3}",
            "( ) S₃ = {3, 5, 6}",
            "< > S₁ ∩ S₃ = {3}",
        ];
        assert_eq!(drawn.lines().collect::<Vec<_>>(), lines, "\n{drawn}");
    }
}
