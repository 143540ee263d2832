//! Projective planes: the one of order 2 as everybody draws it, some larger ones on a circle, and still
//! larger ones as a grid.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::example::{Example, Shown};
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::{circle, rows};

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    // A line has one point more.
    let order = example.first.members.len() - 1;
    let caption = caption(order, system.nodes());
    match order {
        2 => Fano::of(system).draw(example, caption),
        0..=MOST_ON_A_CIRCLE => circle::drawn(system, example, caption),
        _ => rows::draw_plane(system, example, &caption),
    }
}

/// Up to this order the lines can be told apart on a circle.
const MOST_ON_A_CIRCLE: usize = 5;

fn caption(order: usize, nodes: usize) -> String {
    let size = order + 1;
    format!(
        "The plane of order {order}: {nodes} points, {nodes} lines of {size} points; any two lines \
         meet in exactly one"
    )
}

/// The plane of order 2 on a triangle.
struct Fano {
    lines: Vec<Vec<NodeId>>,
    /// The corners; behind each the middle of the opposite side; the centre.
    corners: [NodeId; 3],
    middles: [NodeId; 3],
    centre: NodeId,
}

const SIDE: f64 = 460.0;
/// Room for the nodes at the corners.
const EDGE: f64 = 28.0;
const RADIUS: f64 = 20.0;

impl Fano {
    /// Any three points that are not on a line can be the corners; all other places follow, because
    /// the third point of each line does.
    fn of(system: &System) -> Self {
        let lines: Vec<Vec<NodeId>> = system.assignment().iter().map(<[NodeId]>::to_vec).collect();
        let third = |a: NodeId, b: NodeId| {
            let line = lines.iter().find(|line| line.contains(&a) && line.contains(&b));
            let other = line.and_then(|line| line.iter().find(|&&point| point != a && point != b));
            *other.expect("two points are on a line of three")
        };
        let (a, b) = (NodeId::new(0), NodeId::new(1));
        let on_ab = third(a, b);
        let c = NodeId::all(7).find(|node| ![a, b, on_ab].contains(node));
        let c = c.expect("a line has three of the seven points");
        let corners = [a, b, c];
        let middles = [third(b, c), third(a, c), on_ab];
        let centre = third(a, middles[0]);
        Fano { lines, corners, middles, centre }
    }

    fn place(&self, node: NodeId) -> Point {
        let height = SIDE * 3_f64.sqrt() / 2.0;
        let [top, left, right] = [
            Point::new(EDGE + SIDE / 2.0, EDGE),
            Point::new(EDGE, EDGE + height),
            Point::new(EDGE + SIDE, EDGE + height),
        ];
        let places = [
            top,
            left,
            right,
            left.towards(right, 0.5),
            top.towards(right, 0.5),
            top.towards(left, 0.5),
        ];
        let of_place = self.corners.iter().chain(&self.middles).position(|&known| known == node);
        of_place.map_or_else(|| Point::new(top.x, EDGE + height * 2.0 / 3.0), |i| places[i])
    }

    fn draw(&self, example: &Example, caption: String) -> Drawing {
        let mut canvas = Canvas::default();
        for line in &self.lines {
            self.line(&mut canvas, "edge", line);
        }
        for (mark, Shown { members, .. }) in example.shown() {
            self.line(&mut canvas, &format!("edge {}", mark.class()), members);
        }
        for node in NodeId::all(7) {
            canvas.node(example, node, Form::Disc(RADIUS), self.place(node));
        }
        let height = SIDE * 3_f64.sqrt() / 2.0 + 2.0 * EDGE;
        Drawing { canvas, width: SIDE + 2.0 * EDGE, height, caption }
    }

    /// Straight, but for the one through the middles of the sides.
    fn line(&self, canvas: &mut Canvas, class: &str, points: &[NodeId]) {
        let is_end = |node: &&NodeId| self.corners.contains(node);
        let is_middle = |node: &&NodeId| self.middles.contains(node);
        if points.iter().all(|point| is_middle(&point)) {
            let inner = SIDE / 12_f64.sqrt();
            canvas.form(class, Form::Disc(inner), self.place(self.centre));
            return;
        }
        // From a corner to another one or to the middle of the opposite side.
        let mut ends: Vec<Point> = points.iter().filter(is_end).map(|&p| self.place(p)).collect();
        if ends.len() == 1 {
            ends.extend(points.iter().filter(is_middle).map(|&p| self.place(p)));
        }
        if let [from, to] = ends[..] {
            canvas.path(class, format_args!("M{from}L{to}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use skeptron_core::topology::Quorums;
    use skeptron_quorum::{Construction, build};

    use super::*;

    fn renumbered(points: &[usize], lines: &[usize]) -> System {
        let fano = build(&Construction::Fano, 7).unwrap();
        let line = |&line: &usize| {
            let quorum = fano.assignment().of(NodeId::new(line));
            quorum.iter().map(|node| NodeId::new(points[node.index()])).collect()
        };
        Quorums::new(lines.iter().map(line).collect()).unwrap().into()
    }

    /// Twice the area of a triangle.
    fn area([a, b, c]: [Point; 3]) -> f64 {
        ((b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y)).abs()
    }

    fn is_well_drawn(system: &System) -> bool {
        let fano = Fano::of(system);
        let is_straight = |line: &&[NodeId]| area([0, 1, 2].map(|i| fano.place(line[i]))) < 1e-6;
        let (straight, curved): (Vec<_>, Vec<_>) =
            system.assignment().iter().partition(|line| is_straight(line));
        // The curved one is a circle around the centre.
        let centre = fano.place(fano.centre);
        let distance = |node: &NodeId| {
            let place = fano.place(*node);
            (place.x - centre.x).hypot(place.y - centre.y)
        };
        let radius = SIDE / 12_f64.sqrt();
        straight.len() == 6
            && curved.len() == 1
            && curved[0].iter().all(|node| (distance(node) - radius).abs() < 1e-6)
    }

    proptest! {
        /// However its points and lines are numbered.
        #[test]
        fn six_lines_of_the_fano_plane_are_straight_and_one_is_a_circle(
            points in Just((0..7).collect::<Vec<usize>>()).prop_shuffle(),
            lines in Just((0..7).collect::<Vec<usize>>()).prop_shuffle(),
        ) {
            prop_assert!(is_well_drawn(&renumbered(&points, &lines)));
        }
    }

    #[test]
    fn the_fano_plane_has_all_its_lines() {
        for construction in [Construction::Fano, Construction::Projective(None)] {
            let system = build(&construction, 7).unwrap();
            assert!(is_well_drawn(&system));
            let svg = super::super::svg(&system, super::super::Picture::Plane, None).unwrap();
            assert_eq!(svg.matches("<path class=\"edge\"").count(), 6);
            assert_eq!(svg.matches("<circle class=\"edge\"").count(), 1);
        }
    }
}
