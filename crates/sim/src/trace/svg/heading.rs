//! What stands above the lifelines.

use skeptron_markup::{Canvas, Point};

use super::signs::{HEAD, Signs as _};
use super::{Diagram, style};
use crate::trace::timeline::{Doing, End};
use crate::trace::{Record, Steps, What, wording};

impl Diagram<'_> {
    /// Title, command, legend and notes; fixes where the lifelines begin.
    pub(super) fn heading(&mut self, wanted: &[Record], steps: Option<Steps>) {
        let mut y = 30.0;
        self.canvas.text("title", Point::new(20.0, y), &wording::title(self.header));
        if let Some(command) = &self.header.command {
            y += 20.0;
            self.canvas.text("command", Point::new(20.0, y), command);
        }
        if let Some(Steps { from, to }) = steps {
            y += 20.0;
            self.canvas.text("dim", Point::new(20.0, y), &format!("Steps {from} to {to}"));
        }
        y = self.legend(y + 26.0);
        if self.records.len() < wanted.len() {
            y += 22.0;
            let sends = |records: &[Record]| {
                records.iter().filter(|r| matches!(r.what, What::Send { .. })).count()
            };
            let time = |records: &[Record]| {
                wording::short_units(records.last().map_or(0, |r| r.t), self.header)
            };
            let note = format!(
                "Cut: the first {} of {} messages, up to {} of {} units",
                sends(self.records),
                sends(wanted),
                time(self.records),
                time(wanted)
            );
            self.canvas.text("note", Point::new(20.0, y), &note);
        }
        self.layout.top = y + self.room_for_violations() + 46.0;
    }

    /// One entry per kind of message, and one per kind of mark that occurs. Returns its last height.
    fn legend(&mut self, mut y: f64) -> f64 {
        let mut x = 20.0;
        let copies = self.timeline.arrows.iter().find(|arrow| arrow.copy);
        let copies = copies.map(|copy| self.class(copy));
        let canvas = &mut self.canvas;
        let width = self.layout.width;
        let mut entry = |text: &str, draw: &dyn Fn(&mut Canvas, Point)| {
            let advance = 40.0 + text.chars().count() as f64 * 7.0 + 20.0;
            if x + advance > width && x > 20.0 {
                (x, y) = (20.0, y + 22.0);
            }
            draw(canvas, Point::new(x, y - 4.0));
            canvas.text("dim", Point::new(x + 38.0, y), text);
            x += advance;
        };
        for (label, count) in &self.kinds {
            entry(&format!("{label} × {count}"), &|canvas, at| {
                canvas.put(format_args!("<g class=\"{}\">", style::kind_class(label)));
                let tip = Point::new(at.x + 32.0, at.y);
                canvas.path("line", format_args!("M{at}L{}", Point::new(tip.x - HEAD, tip.y)));
                canvas.head(at, tip);
                canvas.put(format_args!("</g>"));
            });
        }
        let bar = |class: &'static str, height: f64| {
            move |canvas: &mut Canvas, at: Point| {
                canvas.rect(class, Point::new(at.x, at.y - height / 2.0), 32.0, height, 2.0);
            }
        };
        let has = |doing: fn(Doing) -> bool| self.timeline.spans.iter().any(|s| doing(s.doing));
        if has(|doing| doing == Doing::Waiting) {
            entry("waiting", &bar("wait", 8.0));
        }
        if has(|doing| matches!(doing, Doing::Inside { .. })) {
            entry("inside, with fence", &bar("in", 16.0));
        }
        if has(|doing| matches!(doing, Doing::Leading { .. })) {
            entry("leading, with epoch", &bar("in", 16.0));
        }
        if has(|doing| doing == Doing::Paused) {
            entry("paused", &bar("pause", 10.0));
        }
        let middle = |at: Point| Point::new(at.x + 22.0, at.y);
        let below = |at: Point| Point::new(at.x + 22.0, at.y + 4.0);
        if has(|doing| doing == Doing::Down) {
            entry("crash", &|canvas, at| canvas.cross("crash", middle(at), 5.5));
            if self.records.iter().any(|record| record.what == What::Restart) {
                entry("restart", &|canvas, at| canvas.circle("restart", middle(at), 5.5));
            }
        }
        let happens = |what: fn(&What) -> bool| self.records.iter().any(|r| what(&r.what));
        if happens(|what| *what == What::Call) {
            entry("call", &|canvas, at| canvas.circle("call", middle(at), 5.0));
        }
        if happens(|what| matches!(what, What::Suspect { .. })) {
            entry("suspects", &|canvas, at| canvas.text("doubt", below(at), "?"));
        }
        if happens(|what| matches!(what, What::Trust { .. })) {
            entry("trusts again", &|canvas, at| canvas.text("doubt", below(at), "!"));
        }
        if happens(|what| matches!(what, What::Expire { .. })) {
            entry("alarm", &|canvas, at| canvas.bell(middle(at)));
        }
        if happens(|what| matches!(what, What::Elect { .. })) {
            entry("names its leader", &|canvas, at| canvas.crown(below(at)));
        }
        if self.timeline.arrows.iter().any(|arrow| matches!(arrow.end, End::Lost(..))) {
            entry("lost", &|canvas, at| canvas.cross("cross", middle(at), 4.0));
        }
        if let Some(class) = copies {
            entry("copy by the network", &|canvas, at| {
                canvas.put(format_args!("<g class=\"{class}\">"));
                canvas.path("line", format_args!("M{at}h32"));
                canvas.put(format_args!("</g>"));
            });
        }
        y
    }
}
