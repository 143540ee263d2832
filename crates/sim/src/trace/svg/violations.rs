//! Violated properties: red lines through all nodes, with texts above them.

use super::Diagram;
use crate::trace::{What, wording};
use skeptron_markup::Point;

/// More rows of texts than this would hide the diagram; the lines have tooltips.
const ROWS: usize = 4;
const ROW_HEIGHT: f64 = 15.0;

struct Notice {
    x: f64,
    text: String,
    tooltip: String,
    /// Whether the text ends at the line, for want of room to the right.
    leftwards: bool,
    /// Counted from the lowest; `None` if there is no room.
    row: Option<usize>,
}

impl Diagram<'_> {
    fn notices(&self) -> Vec<Notice> {
        let mut taken = [f64::MIN; ROWS];
        let mut notices = Vec::new();
        for record in self.records {
            let What::Violation { property, detail } = &record.what else { continue };
            let x = self.layout.x(record.t);
            let text = format!("{property} at {}: {detail}", record.node);
            let t = wording::short_units(record.t, self.header);
            let tooltip = format!("violated at time {t}: {text}");
            let width = text.chars().count() as f64 * 7.2 + 12.0;
            let leftwards = x + width > self.layout.width && x > width;
            let (from, to) = if leftwards { (x - width, x) } else { (x, x + width) };
            let row = taken.iter().position(|&until| until <= from);
            if let Some(row) = row {
                taken[row] = to;
            }
            notices.push(Notice { x, text, tooltip, leftwards, row });
        }
        notices
    }

    /// How much higher the heading is because of the texts.
    pub(super) fn room_for_violations(&self) -> f64 {
        let rows = self.notices().iter().filter_map(|notice| notice.row).max();
        rows.map_or(0.0, |last| (last + 1) as f64 * ROW_HEIGHT)
    }

    pub(super) fn violations(&mut self) {
        let (top, bottom) = (self.layout.top - 40.0, self.layout.bottom() + 34.0);
        for Notice { x, text, tooltip, leftwards, row } in self.notices() {
            self.canvas.group("violation", &tooltip, |canvas| {
                canvas.path("bad", format_args!("M{x:.1} {top:.1}V{bottom:.1}"));
                if let Some(row) = row {
                    let (class, x) =
                        if leftwards { ("bad-text left", x - 5.0) } else { ("bad-text", x + 5.0) };
                    canvas.text(class, Point::new(x, top + 8.0 - row as f64 * ROW_HEIGHT), &text);
                }
            });
        }
    }
}
