//! Delays as measures: from a request to its entry, and from an exit to the entry of who was waiting then.

use std::collections::VecDeque;

use skeptron_core::monitor::Admission;
use skeptron_markup::{Canvas, Point};

use super::Diagram;
use super::signs::Signs as _;
use crate::trace::Ticks;
use crate::trace::timeline::{Doing, Span};
use crate::trace::wording;

/// How far below a node's line its client delays are drawn.
const BELOW: f64 = 24.0;

/// When somebody left for whom others may have waited, and who entered then.
fn taken_places<'a>(entries: &[&'a Span], admission: &Admission) -> Vec<(Ticks, &'a Span)> {
    let mut exits: Vec<&Span> = entries.to_vec();
    exits.sort_by_key(|entry| entry.to);
    let mut exits = exits.into_iter().peekable();
    let (mut inside, mut free, mut taken) = (Vec::new(), VecDeque::new(), Vec::new());
    for entry in entries {
        while let Some(exit) = exits.next_if(|exit| exit.to <= entry.from) {
            if admission.is_full(&inside) {
                if admission.is_exclusive() {
                    free.clear();
                }
                free.push_back(exit.to);
            }
            inside.retain(|&node| node != exit.node);
        }
        taken.extend(free.pop_front().map(|place| (place, *entry)));
        inside.push(entry.node);
    }
    taken
}

impl Diagram<'_> {
    pub(super) fn measures(&mut self) {
        let spans = &self.timeline.spans;
        let mut entries: Vec<&Span> =
            spans.iter().filter(|s| matches!(s.doing, Doing::Inside { .. })).collect();
        entries.sort_by_key(|span| span.from);
        let waited = |entry: &Span| {
            let before = |s: &&Span| s.node == entry.node && s.doing == Doing::Waiting;
            spans.iter().filter(before).find(|s| s.to == entry.from).map(|s| s.from)
        };
        let mut measures = Vec::new();
        for entry in &entries {
            if let Some(asked) = waited(entry) {
                let y = self.layout.y(entry.node) + BELOW;
                measures.push((y, "client delay", asked, entry.from));
            }
        }
        let top = self.layout.top - BELOW;
        for (left, entry) in taken_places(&entries, &self.header.admission()) {
            if waited(entry).is_some_and(|asked| asked <= left) {
                measures.push((top, "synchronisation delay", left, entry.from));
            }
        }
        for (y, name, from, to) in measures {
            self.measure(y, name, from, to);
        }
    }

    fn measure(&mut self, y: f64, name: &str, from: Ticks, to: Ticks) {
        let (a, b) = (Point::new(self.layout.x(from), y), Point::new(self.layout.x(to), y));
        let length = wording::short_units(to - from, self.header);
        let draw = |canvas: &mut Canvas| {
            for end in [a, b] {
                canvas.path("measure", format_args!("M{:.1} {:.1}v12", end.x, y - 6.0));
            }
            canvas.path("measure", format_args!("M{a}L{b}"));
            if b.x - a.x > 24.0 {
                canvas.head(b, a);
                canvas.head(a, b);
            }
            let middle = Point::new(f64::midpoint(a.x, b.x), y - 4.0);
            canvas.text("over", middle, &format!("{name} {length}"));
        };
        self.canvas.group("measured", &format!("{name}: {length} units"), draw);
    }
}
