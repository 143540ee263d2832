//! Where the labels of the arrows go: along their arrows, where there is most room.

use std::collections::{BTreeMap, BTreeSet};

use skeptron_markup::Point;

/// The side of a cell in pixels, half the height of a letter.
const CELL: f64 = 5.0;

/// How wide a character is, roughly.
pub(super) const CHAR_WIDTH: f64 = 7.2;

/// Where along an arrow a label may stand, the best place first.
const PLACES: [f64; 9] = [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.19, 0.81];

/// What it costs to stand on another label, on a lifeline, on another arrow.
const ON_LABEL: u32 = 16;
const ON_LIFELINE: u32 = 4;
const ON_ARROW: u32 = 1;

/// A label that costs more is left out: the arrow's colour tells its kind.
const TOO_MUCH: u32 = 34;

/// Where a label stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// The middle of its base line.
    pub(super) at: Point,
    pub(super) degrees: f64,
}

/// What stands where, in cells.
#[derive(Default)]
pub(super) struct Labels {
    labels: BTreeSet<(i32, i32)>,
    /// Which arrow crosses a cell; `None` if several do.
    arrows: BTreeMap<(i32, i32), Option<usize>>,
    rows: Vec<f64>,
}

fn cell(point: Point) -> (i32, i32) {
    ((point.x / CELL).floor() as i32, (point.y / CELL).floor() as i32)
}

impl Labels {
    /// With lifelines at these heights.
    pub(super) fn new(rows: Vec<f64>) -> Self {
        Labels { rows, ..Labels::default() }
    }

    /// The `index`-th arrow goes from `from` to `to`.
    pub(super) fn arrow(&mut self, index: usize, from: Point, to: Point) {
        let steps = (from.distance(to) / (CELL / 2.0)).ceil().max(1.0);
        for step in 0..=steps as usize {
            let crossed = cell(from.towards(to, step as f64 / steps));
            let there = self.arrows.entry(crossed).or_insert(Some(index));
            if *there != Some(index) {
                *there = None;
            }
        }
    }

    /// A mark of this radius is there, and no label.
    pub(super) fn mark(&mut self, at: Point, radius: f64) {
        let cells = (2.0 * radius / CELL).ceil();
        let along = |i: usize| (i as f64 / cells * 2.0 - 1.0) * radius;
        let all = || 0..=cells as usize;
        let square = all().flat_map(|i| all().map(move |j| (i, j)));
        self.labels.extend(square.map(|(i, j)| cell(Point::new(at.x + along(i), at.y + along(j)))));
    }

    /// Finds room for a label at the `index`-th arrow.
    pub(super) fn place(
        &mut self,
        index: usize,
        from: Point,
        to: Point,
        text: &str,
    ) -> Option<Place> {
        let width = text.chars().count() as f64 * CHAR_WIDTH;
        let length = from.distance(to);
        let best = PLACES
            .iter()
            .filter(|&&part| (part.min(1.0 - part)) * length > width / 2.0 + 6.0)
            .map(|&part| Stand::new(from, to, part, width))
            .map(|stand| (self.cost(index, &stand), stand))
            .min_by_key(|(cost, _)| *cost)?;
        let (cost, stand) = best;
        if cost > TOO_MUCH {
            return None;
        }
        self.labels.extend(stand.letters().map(cell));
        Some(Place { at: stand.base, degrees: stand.direction.to_degrees() })
    }

    fn cost(&self, index: usize, stand: &Stand) -> u32 {
        stand.letters().map(|letter| self.cost_at(index, letter)).sum()
    }

    fn cost_at(&self, index: usize, letter: Point) -> u32 {
        let at = cell(letter);
        let on_label = u32::from(self.labels.contains(&at)) * ON_LABEL;
        let on_arrow = self.arrows.get(&at).is_some_and(|arrow| *arrow != Some(index));
        // Rows are far apart: the next one to either side decides.
        let next = self.rows.partition_point(|&row| row < letter.y);
        let near = |row: Option<&f64>| row.is_some_and(|row| (row - letter.y).abs() < 12.0);
        let on_line = near(self.rows.get(next)) || next > 0 && near(self.rows.get(next - 1));
        on_label + u32::from(on_line) * ON_LIFELINE + u32::from(on_arrow) * ON_ARROW
    }
}

/// A place that is being tried.
struct Stand {
    base: Point,
    direction: f64,
    width: f64,
}

impl Stand {
    fn new(from: Point, to: Point, part: f64, width: f64) -> Self {
        let direction = (to.y - from.y).atan2(to.x - from.x);
        let on_line = from.towards(to, part);
        // Above the line, as seen by who reads along it.
        let base = Point::new(on_line.x + direction.sin() * 4.0, on_line.y - direction.cos() * 4.0);
        Stand { base, direction, width }
    }

    /// Points all over the letters, about a cell apart.
    fn letters(&self) -> impl Iterator<Item = Point> {
        let (cos, sin) = (self.direction.cos(), self.direction.sin());
        let count = (self.width / CELL).ceil().max(1.0);
        let at = move |i: usize, above: f64| {
            let along = (i as f64 / count - 0.5) * self.width;
            let Point { x, y } = self.base;
            Point::new(x + cos * along + sin * above, y + sin * along - cos * above)
        };
        (0..=count as usize).flat_map(move |i| [1.0, 5.0, 9.0].map(|above| at(i, above)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points() -> (Point, Point) {
        (Point::new(0.0, 0.0), Point::new(300.0, 100.0))
    }

    #[test]
    fn a_label_stands_in_the_middle_if_nothing_is_there() {
        let (from, to) = points();
        let mut labels = Labels::new(vec![]);
        let place = labels.place(0, from, to, "REPLY").unwrap();
        assert!((place.at.x - 150.0).abs() < 5.0);
    }

    #[test]
    fn labels_of_one_way_stand_side_by_side_and_then_not_at_all() {
        let (from, to) = points();
        let mut labels = Labels::new(vec![]);
        let places: Vec<_> = (0..20).map_while(|i| labels.place(i, from, to, "REPLY")).collect();
        assert!((2..10).contains(&places.len()), "{places:?}");
    }

    #[test]
    fn a_label_longer_than_its_arrow_is_left_out() {
        let (from, to) = (Point::new(0.0, 0.0), Point::new(20.0, 20.0));
        assert_eq!(Labels::new(vec![]).place(0, from, to, "REQUEST"), None);
    }
}
