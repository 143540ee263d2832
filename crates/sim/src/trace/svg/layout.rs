//! How large a diagram is and where things are in it.

use skeptron_core::NodeId;

use super::label::CHAR_WIDTH;
use crate::trace::timeline::Timeline;
use crate::trace::{Header, Ticks};
use skeptron_markup::Point;

/// Room for the names of the nodes, and after the last record.
const LEFT: f64 = 62.0;
const RIGHT: f64 = 46.0;

/// Narrower the legend does not fit, wider no program likes it.
const MIN_WIDTH: f64 = 760.0;
const MAX_WIDTH: f64 = 32_000.0;

pub(super) struct Layout {
    pub(super) width: f64,
    pub(super) nodes: usize,
    /// The height of the first lifeline, once the heading is done.
    pub(super) top: f64,
    pub(super) gap: f64,
    begin: Ticks,
    end: Ticks,
    per_unit: f64,
    pixels_per_unit: f64,
    /// How long a message usually takes.
    transit: Ticks,
}

impl Layout {
    /// With at least so much room along a lifeline.
    pub(super) fn new(header: &Header, timeline: &Timeline, along: f64) -> Self {
        let nodes = header.setup.nodes();
        let gap = match nodes {
            0..=4 => 92.0,
            5..=8 => 72.0,
            9..=16 => 54.0,
            _ => 36.0,
        };
        let per_unit = header.ticks_per_unit.max(1) as f64;
        let transit = timeline.transit(header.ticks_per_unit.max(1));
        let duration = timeline.end.saturating_sub(timeline.begin).max(1) as f64 / per_unit;
        // A message that takes the usual time over a usual distance falls at about 45 degrees: any
        // two nodes are a third of the rows apart on average.
        let slope = gap * (nodes as f64 / 3.0).max(1.0) * 1.1 / (transit as f64 / per_unit);
        // And every label has a few times the room that it covers.
        let label_area = |label: &str| (label.len() as f64 * CHAR_WIDTH + 10.0) * 14.0 * 4.0;
        let labels: f64 = timeline.arrows.iter().map(|arrow| label_area(arrow.label)).sum();
        let room = labels / (gap * nodes.saturating_sub(1).max(1) as f64) / duration;
        let inner = (MIN_WIDTH - LEFT - RIGHT, MAX_WIDTH - LEFT - RIGHT);
        let plot = (slope.max(room) * duration).max(along).clamp(inner.0, inner.1);
        Layout {
            width: plot + LEFT + RIGHT,
            nodes,
            top: 0.0,
            gap,
            begin: timeline.begin,
            end: timeline.end,
            per_unit,
            pixels_per_unit: plot / duration,
            transit,
        }
    }

    pub(super) fn x(&self, t: Ticks) -> f64 {
        self.x_of_units(t as f64 / self.per_unit).min(self.width)
    }

    pub(super) fn y(&self, node: NodeId) -> f64 {
        self.top + node.index() as f64 * self.gap
    }

    pub(super) fn at(&self, t: Ticks, node: NodeId) -> Point {
        Point::new(self.x(t), self.y(node))
    }

    pub(super) fn left(&self) -> f64 {
        LEFT
    }

    /// Where the records end.
    pub(super) fn right(&self) -> f64 {
        self.x(self.end)
    }

    /// The height of the last lifeline.
    pub(super) fn bottom(&self) -> f64 {
        self.top + self.gap * self.nodes.saturating_sub(1) as f64
    }

    /// When a message that is sent at `t` would usually arrive.
    pub(super) fn usual_arrival(&self, t: Ticks) -> Ticks {
        t.saturating_add(self.transit)
    }

    /// The marks of the axis, in units: round numbers at a good distance.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let least = 56.0 / self.pixels_per_unit;
        let power = 10f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|&s| s >= least);
        let step = step.unwrap_or(10.0 * power);
        let of = |t: Ticks| t as f64 / self.per_unit / step;
        let (first, last) = (of(self.begin).ceil() as usize, of(self.end).floor() as usize);
        (first..=last).map(|i| i as f64 * step).collect()
    }

    /// The place of a time in units.
    pub(super) fn x_of_units(&self, units: f64) -> f64 {
        LEFT + (units - self.begin as f64 / self.per_unit) * self.pixels_per_unit
    }
}
