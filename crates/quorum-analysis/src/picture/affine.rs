//! A projective plane without one of its lines: a grid in which two lines are a row and a column.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::example::Example;
use super::frame::Drawing;
use super::node::{Draw as _, Form};

/// Draws the plane such that the first quorum is a row and the second a column.
pub(super) fn draw(system: &System, example: &Example, caption: String) -> Drawing {
    let affine = Affine::of(system, example)
        .expect("a plane has a second line, and a third that misses their common point");
    let order = affine.at_infinity.len() - 1;
    let pitch = (900.0 / (order + 1) as f64).clamp(9.0, 56.0);
    let form = Form::Brick(pitch * 0.78, pitch * 0.78);
    let middle = |index: usize| (index as f64 + 0.5) * pitch;
    let mut canvas = Canvas::default();
    for (node, place) in NodeId::all(system.nodes()).zip(&affine.places) {
        if let Some((row, column)) = *place {
            let centre = Point::new(pitch / 2.0 + middle(column), middle(row));
            canvas.node(example, node, form, centre);
        }
    }
    // The line that was taken away, below the others.
    let below = (order as f64 + 0.6) * pitch;
    for (index, &node) in affine.at_infinity.iter().enumerate() {
        canvas.node(example, node, form, Point::new(middle(index), below + pitch / 2.0));
    }
    let side = (order + 1) as f64 * pitch;
    let caption = format!(
        "{caption}. Without one line, here the lowest row, it is a grid in which two lines are a row \
         and a column, each with one more point below"
    );
    Drawing { canvas, width: side, height: side + 0.6 * pitch, caption }
}

struct Affine {
    /// Row and column of each node, but of those at infinity.
    places: Vec<Option<(usize, usize)>>,
    /// The line that was taken away.
    at_infinity: Vec<NodeId>,
}

impl Affine {
    fn of(system: &System, example: &Example) -> Option<Self> {
        let (row, column) = (&example.first.members, &example.second.as_ref()?.members);
        let common = *row.iter().find(|node| column.contains(node))?;
        let infinity = system.assignment().iter().find(|line| !line.contains(&common))?;
        let rows = parallels(system, infinity, row, 1)?;
        let columns = parallels(system, infinity, column, 2)?;
        let places = rows.into_iter().zip(columns).map(|(row, column)| row.zip(column)).collect();
        Some(Affine { places, at_infinity: infinity.to_vec() })
    }
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
    use std::collections::BTreeSet;

    use skeptron_quorum::{Construction, build};

    use super::super::Picture;
    use super::*;

    #[test]
    fn two_lines_are_a_row_and_a_column() {
        for order in [3, 7, 11, 13] {
            let nodes = order * (order + 1) + 1;
            let system = build(&Construction::Projective(Some(order)), nodes).unwrap();
            for node in [0, 1, nodes / 2, nodes - 1].map(NodeId::new) {
                let example = Example::of(&system, Picture::Plane, Some(node));
                let affine = Affine::of(&system, &example).unwrap();
                let placed: BTreeSet<_> = affine.places.iter().flatten().copied().collect();
                let all = (0..order).flat_map(|row| (0..order).map(move |column| (row, column)));
                assert!(placed.into_iter().eq(all), "{order}");
                let places = |members: &[NodeId]| -> Vec<(usize, usize)> {
                    members.iter().filter_map(|node| affine.places[node.index()]).collect()
                };
                let row = places(&example.first.members);
                let column = places(&example.second.as_ref().unwrap().members);
                assert_eq!((row.len(), column.len()), (order, order));
                assert!(row.iter().all(|&(row, _)| row == order / 3));
                assert!(column.iter().all(|&(_, column)| column == 2 * order / 3));
                for &node in &affine.at_infinity {
                    assert_eq!(affine.places[node.index()], None);
                }
            }
        }
    }
}
