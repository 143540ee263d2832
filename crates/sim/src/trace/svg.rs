//! A space-time diagram: nodes are lines, time goes to the right, messages are arrows.

mod clocks;
mod heading;
mod label;
mod layout;
mod measures;
mod signs;
mod style;
mod violations;

use std::collections::{BTreeMap, BTreeSet};

use skeptron_core::catalogue::{Algorithm, Info};
use skeptron_core::election::{self, Election};
use skeptron_core::mutex::{self, Mutex};
use skeptron_core::{Message, NodeId};
use skeptron_markup::kinds::Role;
use skeptron_markup::{Canvas, Point, escaped};

use self::label::{Labels, Place};
use self::layout::Layout;
use self::signs::{HEAD, Signs as _};
use super::timeline::{Arrow, Doing, End, Span, Timeline};
use super::{Header, Loss, Picture, Record, Trace, What, wording};

/// What to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// After so many messages the diagram ends, and says so.
    pub max_messages: usize,
    /// What of the run.
    pub picture: Picture,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_messages: 2000, picture: Picture::default() }
    }
}

/// Draws a run as an SVG document that needs nothing else.
#[must_use]
pub fn draw(trace: &Trace, options: &Options) -> String {
    let part = trace.records_of(options.picture.steps);
    let end = part.start + cut(&trace.records[part.clone()], options.max_messages);
    let timeline = Timeline::within(trace, part.start..end);
    let setup = &trace.header.setup;
    let clocks = options.picture.clocks;
    let readings = clocks
        .map(|kind| clocks::readings(&trace.records, part.start..end, setup, &timeline, kind));
    let readings = readings.unwrap_or_default();
    let mut diagram = Diagram {
        header: &trace.header,
        records: &trace.records[part.start..end],
        kinds: kinds(&trace.header, &timeline),
        layout: Layout::new(&trace.header, &timeline, clocks::room(&readings)),
        has_clocks: clocks.is_some(),
        timeline,
        canvas: Canvas::default(),
    };
    diagram.heading(&trace.records[part], options.picture.steps);
    diagram.axis();
    diagram.lifelines();
    diagram.stretches();
    diagram.arrows();
    diagram.moments();
    diagram.fences();
    diagram.clocks(&readings);
    if options.picture.measures {
        diagram.measures();
    }
    diagram.violations();
    diagram.finish()
}

/// How many records are drawn. Runs without messages must end, too.
fn cut(records: &[Record], max_messages: usize) -> usize {
    let mut messages = 0;
    let too_many = |record: &Record| {
        messages += usize::from(matches!(record.what, What::Send { .. } | What::Duplicate { .. }));
        messages > max_messages
    };
    let end = records.iter().position(too_many).unwrap_or(records.len());
    end.min(max_messages.saturating_mul(8))
}

/// The kinds of messages with their numbers, in the order of the algorithm.
pub(super) fn kinds<'a>(header: &Header, timeline: &Timeline<'a>) -> Vec<(&'a str, usize)> {
    struct Kinds;
    struct KindsOf(&'static Info);
    impl mutex::Visitor for KindsOf {
        type Output = &'static [&'static str];
        fn visit<P: Mutex>(self) -> Self::Output {
            P::kinds(self.0)
        }
    }
    impl election::Visitor for Kinds {
        type Output = &'static [&'static str];
        fn visit<P: Election>(self) -> Self::Output {
            P::Message::KINDS
        }
    }
    let known = match Algorithm::find(&header.algorithm) {
        Some(Algorithm::Mutex(info)) => mutex::dispatch(info, KindsOf(info)),
        Some(Algorithm::Election(info)) => election::dispatch(info, Kinds),
        None => &[],
    };
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for arrow in &timeline.arrows {
        *counts.entry(arrow.label).or_default() += 1;
    }
    let place = |label: &str| known.iter().position(|kind| *kind == label).unwrap_or(known.len());
    let mut kinds: Vec<_> = counts.into_iter().collect();
    kinds.sort_by_key(|&(label, _)| place(label));
    kinds
}

struct Diagram<'a> {
    header: &'a Header,
    records: &'a [Record],
    timeline: Timeline<'a>,
    /// Name and number.
    kinds: Vec<(&'a str, usize)>,
    layout: Layout,
    has_clocks: bool,
    canvas: Canvas,
}

impl Diagram<'_> {
    fn axis(&mut self) {
        let layout = &self.layout;
        let (top, axis) = (layout.top - 18.0, layout.bottom() + 34.0);
        for units in layout.ticks() {
            let x = layout.x_of_units(units);
            self.canvas.path("grid", format_args!("M{x:.1} {top:.1}V{axis:.1}"));
            self.canvas.path("axis", format_args!("M{x:.1} {axis:.1}v5"));
            self.canvas.text("tick", Point::new(x, axis + 18.0), &wording::short(units));
        }
        let (left, right) = (layout.left(), layout.right().max(layout.left()) + 12.0);
        self.canvas.path("axis", format_args!("M{left:.1} {axis:.1}H{right:.1}"));
        let name = Point::new(right, axis + 36.0);
        self.canvas.text("axis-name", name, "time in units");
    }

    fn lifelines(&mut self) {
        let layout = &self.layout;
        let right = layout.right() + 12.0;
        for node in NodeId::all(layout.nodes) {
            let y = layout.y(node);
            self.canvas.text("name", Point::new(layout.left() - 14.0, y + 5.0), &node.to_string());
            let down = self.timeline.spans.iter();
            let down = down.filter(|span| span.node == node && span.doing == Doing::Down);
            let mut x = layout.left();
            for span in down {
                let (from, to) = (layout.x(span.from), layout.x(span.to));
                self.canvas.path("life", format_args!("M{x:.1} {y:.1}H{from:.1}"));
                // Whoever is down when the records end stays so.
                x = if span.to == self.timeline.end { right } else { to };
                self.canvas.path("gone", format_args!("M{from:.1} {y:.1}H{x:.1}"));
            }
            if x < right {
                self.canvas.path("life", format_args!("M{x:.1} {y:.1}H{right:.1}"));
            }
        }
    }

    /// Bars for waiting, inside, leading and paused.
    fn stretches(&mut self) {
        let n = self.layout.nodes;
        let mut spans: Vec<&Span> =
            self.timeline.spans.iter().filter(|span| span.node.index() < n).collect();
        // A pause is drawn over what it interrupts.
        spans.sort_by_key(|span| span.doing == Doing::Paused);
        for span in spans {
            let (x, y) = (self.layout.x(span.from), self.layout.y(span.node));
            let width = (self.layout.x(span.to) - x).max(2.0);
            let time = |t| wording::short_units(t, self.header);
            let (class, height, told) = match span.doing {
                Doing::Waiting => ("wait", 8.0, "waits".to_string()),
                Doing::Inside { fence } => ("in", 16.0, format!("is inside with fence {fence}")),
                Doing::Leading { epoch } => ("in", 16.0, format!("leads in epoch {epoch}")),
                Doing::Paused => ("pause", 10.0, "is paused".to_string()),
                Doing::Down => continue,
            };
            let length = time(span.to.saturating_sub(span.from));
            let tooltip = format!(
                "{} {told} from {} to {}: {length}",
                span.node,
                time(span.from),
                time(span.to)
            );
            self.canvas.group("bar", &tooltip, |canvas| {
                canvas.rect(class, Point::new(x, y - height / 2.0), width, height, 2.0);
            });
        }
    }

    /// The fences of the entries and the epochs of the leaders, over the arrows that cross the bars.
    fn fences(&mut self) {
        for span in &self.timeline.spans {
            let fence = match span.doing {
                Doing::Inside { fence } => fence.to_string(),
                Doing::Leading { epoch } => epoch.to_string(),
                _ => continue,
            };
            if span.node.index() < self.layout.nodes {
                let (from, to) = (self.layout.x(span.from), self.layout.x(span.to));
                let y = self.layout.y(span.node);
                let fits = to - from > fence.len() as f64 * 7.0 + 4.0;
                let (class, y) = if fits { ("fence", y + 4.0) } else { ("over", y - 12.0) };
                self.canvas.text(class, Point::new((from + to) / 2.0, y), &fence);
            }
        }
    }

    fn class(&self, arrow: &Arrow) -> String {
        let mut class = style::kind_class(arrow.label);
        if arrow.copy {
            class.push_str(" copy");
        }
        if arrow.end == End::UnderWay {
            class.push_str(" under-way");
        }
        class
    }

    /// From where to where an arrow is drawn.
    fn way(&self, arrow: &Arrow) -> (Point, Point) {
        let layout = &self.layout;
        let from = layout.at(arrow.sent, arrow.from);
        match arrow.end {
            End::Delivered(t) => (from, layout.at(t, arrow.to)),
            // It reaches a node that is not there.
            End::Lost(t, Loss::Down) => (from, from.towards(layout.at(t, arrow.to), 0.94)),
            End::Lost(..) | End::UnderWay => {
                let to = layout.at(layout.usual_arrival(arrow.sent), arrow.to);
                // About halfway, but between two lifelines: on one it would seem to end there.
                let gaps = arrow.from.index().abs_diff(arrow.to.index()).max(1);
                let part = ((gaps - 1) / 2) as f64 + 0.5;
                (from, from.towards(to, part / gaps as f64))
            }
        }
    }

    fn arrows(&mut self) {
        let n = self.layout.nodes;
        // What travels together is drawn side by side, or one message would hide the other.
        let mut together: BTreeMap<String, usize> = BTreeMap::new();
        let arrows: Vec<_> = self
            .timeline
            .arrows
            .iter()
            .filter(|arrow| arrow.from.index() < n && arrow.to.index() < n)
            .map(|arrow| {
                let (from, to) = self.way(arrow);
                let before = together.entry(format!("{from}{to}")).or_default();
                let way = from.beside(to, 3.5 * *before as f64);
                *before += 1;
                (arrow, way)
            })
            .collect();
        let rows = NodeId::all(n).map(|node| self.layout.y(node)).collect();
        let mut labels = Labels::new(rows);
        for (i, (arrow, (from, to))) in arrows.iter().enumerate() {
            labels.arrow(i, *from, *to);
            if let End::Lost(..) = arrow.end {
                labels.mark(*to, 6.0);
            }
        }
        let mut places = Vec::new();
        for (i, (arrow, (from, to))) in arrows.iter().enumerate() {
            let class = self.class(arrow);
            let tooltip = tooltip(arrow, self.header);
            self.canvas.group(&class, &tooltip, |canvas| {
                canvas.path("hit", format_args!("M{from}L{to}"));
                match arrow.end {
                    End::Delivered(_) => {
                        let neck = to.towards(*from, (HEAD - 1.0) / from.distance(*to).max(HEAD));
                        canvas.path("line", format_args!("M{from}L{neck}"));
                        canvas.head(*from, *to);
                    }
                    End::Lost(..) => {
                        canvas.path("line", format_args!("M{from}L{to}"));
                        canvas.cross("cross", *to, 5.0);
                    }
                    End::UnderWay => canvas.path("line", format_args!("M{from}L{to}")),
                }
            });
            // What it says, too, where there is room for that.
            let said = self.timeline.name(arrow);
            let long = labels.place(i, *from, *to, &said).map(|place| (place, said));
            let short =
                || Some((labels.place(i, *from, *to, arrow.label)?, arrow.label.to_string()));
            places.push((class, long.or_else(short)));
        }
        // Labels last, so that no arrow strikes them through.
        for (class, place) in places {
            if let Some((Place { at, degrees }, label)) = place {
                self.canvas.put(format_args!("<g class=\"{class}\">"));
                self.canvas.text_along(at, degrees, &label);
                self.canvas.put(format_args!("</g>"));
            }
        }
    }

    /// What happens at one node at one time is one point; crashes and restarts stand out, and calls,
    /// suspicions, alarms and the naming of a leader.
    fn moments(&mut self) {
        let mut points = BTreeSet::new();
        for record in self.records.iter().filter(|r| r.node.index() < self.layout.nodes) {
            let at = self.layout.at(record.t, record.node);
            let told = || {
                let t = wording::short_units(record.t, self.header);
                format!("{} {} at {t}", record.node, wording::event(&record.what, &self.timeline))
            };
            match record.what {
                What::Crash => {
                    let draw = |canvas: &mut Canvas| canvas.cross("crash", at, 7.0);
                    self.canvas.group("mark", &told(), draw);
                }
                What::Restart => {
                    let draw = |canvas: &mut Canvas| canvas.circle("restart", at, 6.0);
                    self.canvas.group("mark", &told(), draw);
                }
                What::Call => {
                    let draw = |canvas: &mut Canvas| canvas.circle("call", at, 5.5);
                    self.canvas.group("mark", &told(), draw);
                }
                What::Suspect { .. } | What::Trust { .. } => {
                    let suspects = matches!(record.what, What::Suspect { .. });
                    let doubt = if suspects { "?" } else { "!" };
                    let place = Point::new(at.x - 9.0, at.y + 14.0);
                    let draw = |canvas: &mut Canvas| canvas.text("doubt", place, doubt);
                    self.canvas.group("mark", &told(), draw);
                }
                What::Expire { .. } => {
                    // Below the line, where the bar of whoever leads from now on does not hide it.
                    let bell = Point::new(at.x, at.y + 17.0);
                    self.canvas.group("mark", &told(), |canvas: &mut Canvas| canvas.bell(bell));
                }
                What::Elect { leader, .. } => {
                    self.canvas.group("mark", &told(), |canvas: &mut Canvas| {
                        canvas.crown(Point::new(at.x, at.y - 10.0));
                        canvas.text("over", Point::new(at.x, at.y - 22.0), &leader.to_string());
                    });
                }
                What::Send { .. } | What::Deliver { .. } | What::Request
                    if points.insert((record.node, record.t)) =>
                {
                    self.canvas.circle("dot", at, 2.4);
                }
                _ => {}
            }
        }
    }

    fn finish(self) -> String {
        let (width, height) = (self.layout.width.ceil(), (self.layout.bottom() + 84.0).ceil());
        let title = escaped(&wording::title(self.header));
        let mut roles: Vec<Role> = self.kinds.iter().map(|(label, _)| Role::of(label)).collect();
        roles.sort_unstable();
        roles.dedup();
        let style = style::sheet(&roles, self.has_clocks);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sk\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{title}</title>\n<style>\n{style}</style>\n\
             <rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n{}</svg>\n",
            self.canvas.text
        )
    }
}

/// All there is to know about a message.
fn tooltip(arrow: &Arrow, header: &Header) -> String {
    let time = |t| wording::short_units(t, header);
    let content = wording::content(arrow.message);
    let content = if content.is_empty() { content } else { format!(" ({content})") };
    let copy = if arrow.copy { ", a copy by the network" } else { "" };
    let end = match arrow.end {
        End::Delivered(t) => format!("arrives at {}", time(t)),
        End::Lost(t, cause) => format!("lost at {}: {}", time(t), wording::loss(cause)),
        End::UnderWay => "under way at the end".into(),
    };
    let (label, from, to, sent) = (arrow.label, arrow.from, arrow.to, time(arrow.sent));
    format!("{label}{content}\n{from} → {to}{copy}\nsent at {sent}, {end}")
}

#[cfg(test)]
mod tests;
