//! The clocks of the lectures below the points of the diagram.

use std::collections::BTreeMap;
use std::ops::Range;

use skeptron_core::{NodeId, Setup};
use skeptron_markup::Point;

use super::Diagram;
use crate::trace::clocks::{ClockKind, Clocks};
use crate::trace::timeline::Timeline;
use crate::trace::{Record, Ticks, wording};

/// How wide a character of a clock is, roughly.
const CHAR_WIDTH: f64 = 5.9;

/// How far below its lifeline the text of a clock stands, and how far below that the next row.
const BELOW: f64 = 20.0;
const ROW_HEIGHT: f64 = 11.0;

/// What the clocks say of all that happens at one node at one time.
pub(super) struct Reading {
    node: NodeId,
    t: Ticks,
    /// The first Lamport clock, and the last one; the last vector clock.
    text: String,
    /// Every event with its clocks.
    tooltip: String,
}

impl Reading {
    fn width(&self) -> f64 {
        self.text.chars().count() as f64 * CHAR_WIDTH + 6.0
    }
}

/// The clocks of the events in this part of the records, by node and time.
pub(super) fn readings(
    records: &[Record],
    part: Range<usize>,
    setup: &Setup,
    timeline: &Timeline,
    kind: ClockKind,
) -> Vec<Reading> {
    let mut clocks = Clocks::new(setup);
    let mut moments: BTreeMap<(NodeId, Ticks), (u64, Reading)> = BTreeMap::new();
    for record in &records[..part.start] {
        clocks.take(record);
    }
    for record in &records[part] {
        let Some(stamp) = clocks.take(record) else { continue };
        let (node, t) = (record.node, record.t);
        let number = stamp.vector.counts()[node.index()];
        let told = wording::event(&record.what, timeline);
        let line = format!("{node}.{number} {told}: {}", stamp.written(ClockKind::Both));
        let (first, reading) = moments.entry((node, t)).or_insert_with(|| {
            (stamp.lamport, Reading { node, t, text: String::new(), tooltip: String::new() })
        });
        reading.text = stamp.written(kind);
        if kind.has_lamport() && *first != stamp.lamport {
            reading.text = format!("{first}–{}", reading.text);
        }
        let gap = if reading.tooltip.is_empty() { "" } else { "\n" };
        reading.tooltip = format!("{}{gap}{line}", reading.tooltip);
    }
    moments.into_values().map(|(_, reading)| reading).collect()
}

/// How wide a diagram must be for the clocks of its busiest node.
pub(super) fn room(readings: &[Reading]) -> f64 {
    let mut widths: BTreeMap<NodeId, f64> = BTreeMap::new();
    for reading in readings {
        *widths.entry(reading.node).or_default() += reading.width();
    }
    widths.into_values().fold(0.0, f64::max)
}

impl Diagram<'_> {
    /// What finds no room below its point is told by the tooltip of another one, or not at all.
    pub(super) fn clocks(&mut self, readings: &[Reading]) {
        let rows = if self.layout.gap > 70.0 { 2 } else { 1 };
        let mut ends: BTreeMap<NodeId, Vec<f64>> = BTreeMap::new();
        for reading in readings {
            let at = self.layout.at(reading.t, reading.node);
            let half = reading.width() / 2.0;
            let ends = ends.entry(reading.node).or_insert_with(|| vec![f64::MIN; rows]);
            let Some(row) = ends.iter().position(|&end| end <= at.x - half) else { continue };
            ends[row] = at.x + half;
            let place = Point::new(at.x, at.y + BELOW + row as f64 * ROW_HEIGHT);
            self.canvas.group("mark", &reading.tooltip, |canvas| {
                canvas.text("clock", place, &reading.text);
            });
        }
    }
}
