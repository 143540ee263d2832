//! Nodes in rows: grids, walls, triangles, and planes without one of their lines.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::PictureError;
use super::example::Example;
use super::form::{edges, grid_width, wall_rows};
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::text::{COLUMNS, cell, trimmed};

/// Rows of places from the top, each row in the middle.
struct Rows {
    /// Who is where; none for a place without a node.
    rows: Vec<Vec<Option<NodeId>>>,
    /// How wide and how high a place is.
    place: (f64, f64),
    form: Form,
    /// Room above the last row.
    gap: f64,
}

impl Rows {
    fn squares(rows: Vec<Vec<Option<NodeId>>>) -> Self {
        let pitch = (900.0 / widest(&rows) as f64).clamp(9.0, 56.0);
        let form = Form::Brick(pitch * 0.78, pitch * 0.78);
        Rows { rows, place: (pitch, pitch), form, gap: 0.0 }
    }

    /// The middle of the place with this number in a row of so many.
    fn centre(&self, row: usize, column: usize, length: usize) -> Point {
        let (width, height) = self.place;
        let left = (widest(&self.rows) - length) as f64 * width / 2.0;
        let gap = if row + 1 == self.rows.len() { self.gap } else { 0.0 };
        Point::new(left + (column as f64 + 0.5) * width, (row as f64 + 0.5) * height + gap)
    }

    fn draw(&self, mut canvas: Canvas, example: &Example, caption: String) -> Drawing {
        for (row, nodes) in self.rows.iter().enumerate() {
            for (column, node) in nodes.iter().enumerate() {
                if let Some(node) = *node {
                    let centre = self.centre(row, column, nodes.len());
                    canvas.node(example, node, self.form, centre);
                }
            }
        }
        let width = widest(&self.rows) as f64 * self.place.0;
        let height = self.rows.len() as f64 * self.place.1 + self.gap;
        Drawing { canvas, width, height, caption }
    }

    /// Places without a node are blank, but for a dot before the first node.
    fn write(&self, example: &Example, room: &'static str) -> Result<String, PictureError> {
        let cell_width = example.digits + 2;
        let width = widest(&self.rows) * cell_width;
        if width > COLUMNS || self.rows.len() > MOST_TEXT_ROWS {
            return Err(PictureError::TooLargeForText { room });
        }
        let mut lines = String::new();
        for nodes in &self.rows {
            let is_dot = |column: usize| nodes.get(column + 1).is_some_and(Option::is_some);
            let cells = nodes.iter().enumerate().map(|(column, node)| match node {
                Some(node) => cell(example, *node),
                None => format!("{:^cell_width$}", if is_dot(column) { "·" } else { "" }),
            });
            lines += &format!("{:^width$}\n", cells.collect::<String>());
        }
        Ok(trimmed(&lines))
    }
}

const MOST_TEXT_ROWS: usize = 60;

fn widest(rows: &[Vec<Option<NodeId>>]) -> usize {
    rows.iter().map(Vec::len).max().unwrap_or(1)
}

/// The nodes one after another, in rows of these lengths.
fn filled(nodes: usize, lengths: impl IntoIterator<Item = usize>) -> Vec<Vec<Option<NodeId>>> {
    let mut nodes = NodeId::all(nodes);
    lengths.into_iter().map(|length| nodes.by_ref().take(length).map(Some).collect()).collect()
}

fn grid(system: &System) -> Rows {
    let width = grid_width(system).unwrap_or(1);
    let mut rows = filled(system.nodes(), vec![width; system.nodes().div_ceil(width)]);
    rows.iter_mut().for_each(|row| row.resize(width, None));
    Rows::squares(rows)
}

/// A grid: a quorum is a cross.
pub(super) fn draw_grid(system: &System, example: &Example) -> Drawing {
    let caption = "A quorum is the own row and the own column: a full row crosses every column";
    grid(system).draw(Canvas::default(), example, caption.into())
}

pub(super) fn write_grid(system: &System, example: &Example) -> Result<String, PictureError> {
    grid(system).write(example, "grids of 20 columns")
}

/// As SVG.
pub(super) const WALLS: (&str, fn(&System) -> bool) =
    ("walls of 100 rows of 100 nodes", |system| {
        let rows = wall(system).rows;
        rows.len() <= 100 && widest(&rows) <= 100
    });

fn wall(system: &System) -> Rows {
    let rows = filled(system.nodes(), wall_rows(system).unwrap_or_default());
    let pitch = (900.0 / widest(&rows) as f64).clamp(9.0, 84.0);
    let height = (pitch * 0.62).clamp(9.0, 52.0);
    let form = Form::Brick(pitch * 0.88, height * 0.78);
    Rows { rows, place: (pitch, height), form, gap: 0.0 }
}

/// A crumbling wall: rows of bricks.
pub(super) fn draw_wall(system: &System, example: &Example) -> Drawing {
    let caption = "A quorum is one full row and one node of each row below it, so that the one whose \
                   full row is higher has a node in that of the other";
    wall(system).draw(Canvas::default(), example, caption.into())
}

pub(super) fn write_wall(system: &System, example: &Example) -> Result<String, PictureError> {
    wall(system).write(example, "walls of 60 rows of 20 nodes")
}

/// The edges of a complete graph, in the upper half of its matrix.
fn triangle(system: &System) -> Rows {
    let places = edges(system).unwrap_or_default();
    let vertices = places.iter().map(|&(_, column)| column + 1).max().unwrap_or(1);
    let mut rows = vec![vec![None; vertices]; vertices - 1];
    for (node, (row, column)) in NodeId::all(system.nodes()).zip(places) {
        rows[row][column] = Some(node);
    }
    Rows::squares(rows)
}

/// The star of a vertex is a hook that turns at the diagonal.
pub(super) fn draw_triangle(system: &System, example: &Example) -> Drawing {
    let triangle = triangle(system);
    let vertices = widest(&triangle.rows);
    let hook = |vertex: usize| {
        // The first and the last one do not turn: they are a row and a column.
        let (column, row) = (vertex.max(1), vertex.min(vertices - 2));
        let [top, turn, right] = [(0, column), (row, column), (row, vertices - 1)]
            .map(|(row, column)| triangle.centre(row, column, vertices));
        format!("M{top}L{turn}L{right}")
    };
    let mut canvas = Canvas::default();
    for vertex in 0..vertices {
        canvas.path("faint", format_args!("{}", hook(vertex)));
    }
    let places = edges(system).unwrap_or_default();
    for (mark, shown) in example.shown() {
        if let Some(vertex) = star(&places, &shown.members) {
            canvas.path(&format!("edge {}", mark.class()), format_args!("{}", hook(vertex)));
        }
    }
    let caption = format!(
        "The nodes are the edges between {vertices} vertices, a quorum is all edges of a vertex: \
         a hook that turns at the diagonal. Two vertices have one edge in common"
    );
    triangle.draw(canvas, example, caption)
}

/// The vertex that all these edges have in common.
fn star(places: &[(usize, usize)], members: &[NodeId]) -> Option<usize> {
    let mut ends = members.iter().map(|node| places[node.index()]);
    let (row, column) = ends.next()?;
    let is_end = |vertex: &usize| ends.clone().all(|(a, b)| a == *vertex || b == *vertex);
    [row, column].into_iter().find(is_end)
}

pub(super) fn write_triangle(system: &System, example: &Example) -> Result<String, PictureError> {
    triangle(system).write(example, "triangles of 20 rows")
}

/// A projective plane such that the first quorum is a row and the second a column.
pub(super) fn draw_plane(system: &System, example: &Example, caption: &str) -> Drawing {
    let mut plane = Rows::squares(
        affine(system, example)
            .expect("a plane has a second line, and a third that misses their common point"),
    );
    plane.gap = 0.6 * plane.place.1;
    let caption = format!(
        "{caption}. Without one line, here the lowest row, it is a grid in which two lines are a row \
         and a column, each with one more point below"
    );
    plane.draw(Canvas::default(), example, caption)
}

/// The points of a plane but for those of one line in rows and columns, and below them that line.
fn affine(system: &System, example: &Example) -> Option<Vec<Vec<Option<NodeId>>>> {
    let (row, column) = (&example.first.members, &example.second.as_ref()?.members);
    let common = *row.iter().find(|node| column.contains(node))?;
    let infinity = system.assignment().iter().find(|line| !line.contains(&common))?;
    let (rows, columns) =
        (parallels(system, infinity, row, 1)?, parallels(system, infinity, column, 2)?);
    let order = infinity.len() - 1;
    let mut places = vec![vec![None; order]; order];
    for (node, place) in NodeId::all(system.nodes()).zip(rows.into_iter().zip(columns)) {
        if let (Some(row), Some(column)) = place {
            places[row][column] = Some(node);
        }
    }
    places.push(infinity.iter().copied().map(Some).collect());
    Some(places)
}

/// The number of each node's line among those that meet `line` at infinity; `line` is `thirds` thirds
/// of the way down.
fn parallels(
    system: &System,
    infinity: &[NodeId],
    line: &[NodeId],
    thirds: usize,
) -> Option<Vec<Option<usize>>> {
    let vanishing = line.iter().find(|node| infinity.contains(node))?;
    let all = system.assignment().iter();
    let lines: Vec<&[NodeId]> =
        all.filter(|other| other.contains(vanishing) && *other != infinity).collect();
    let order = lines.len();
    let own = lines.iter().position(|&other| other == line)?;
    let shift = order * thirds / 3 + order - own;
    let mut numbers = vec![None; system.nodes()];
    for (index, parallel) in lines.into_iter().enumerate() {
        for node in parallel.iter().filter(|node| *node != vanishing) {
            numbers[node.index()] = Some((index + shift) % order);
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use skeptron_core::topology::Quorums;
    use skeptron_quorum::{Construction, build};

    use super::super::{Picture, best_for, svg, text};
    use super::*;

    #[test]
    fn two_lines_of_a_plane_are_a_row_and_a_column() {
        for order in [3, 7, 11, 13] {
            let nodes = order * (order + 1) + 1;
            let system = build(&Construction::Projective(Some(order)), nodes).unwrap();
            for node in [0, 1, nodes / 2, nodes - 1].map(NodeId::new) {
                let example = Example::of(&system, Picture::Plane, Some(node));
                let rows = affine(&system, &example).unwrap();
                let mut placed: Vec<NodeId> = rows.iter().flatten().copied().flatten().collect();
                placed.sort_unstable();
                assert!(placed.into_iter().eq(NodeId::all(nodes)), "{order}");
                let (first, second) = (&example.first, example.second.as_ref().unwrap());
                let is_in = |node: Option<NodeId>| node.is_some_and(|node| first.contains(node));
                assert!(rows[order / 3].iter().all(|&node| is_in(node)), "{order}");
                let column = rows[..order].iter().map(|row| row[2 * order / 3].unwrap());
                assert!(column.into_iter().all(|node| second.contains(node)), "{order}");
            }
        }
    }

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
    fn a_triangle_as_text() {
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
