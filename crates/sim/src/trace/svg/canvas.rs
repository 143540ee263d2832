//! A growing SVG text.

use std::fmt::{self, Write};

/// A point in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Point {
    pub(super) fn new(x: f64, y: f64) -> Self {
        Point { x, y }
    }

    /// The point a part of the way to `other`.
    pub(super) fn towards(self, other: Point, part: f64) -> Point {
        Point::new(self.x + (other.x - self.x) * part, self.y + (other.y - self.y) * part)
    }

    pub(super) fn distance(self, other: Point) -> f64 {
        (other.x - self.x).hypot(other.y - self.y)
    }

    /// From here to `other`, but so many pixels to the right of that way.
    pub(super) fn beside(self, other: Point, pixels: f64) -> (Point, Point) {
        let part = pixels / self.distance(other).max(1.0);
        let (dx, dy) = ((self.y - other.y) * part, (other.x - self.x) * part);
        let moved = |point: Point| Point::new(point.x + dx, point.y + dy);
        (moved(self), moved(other))
    }
}

/// Tenths of a pixel: finer than one sees, and short.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} {:.1}", self.x, self.y)
    }
}

/// The text so far.
#[derive(Default)]
pub(super) struct Canvas {
    pub(super) text: String,
}

impl Canvas {
    /// Adds a line as it is.
    pub(super) fn put(&mut self, markup: fmt::Arguments) {
        // Writing to a string does not fail.
        let _ = self.text.write_fmt(markup);
        self.text.push('\n');
    }

    /// A group with a tooltip.
    pub(super) fn group(&mut self, class: &str, tooltip: &str, draw: impl FnOnce(&mut Self)) {
        self.put(format_args!("<g class=\"{class}\"><title>{}</title>", escaped(tooltip)));
        draw(self);
        self.put(format_args!("</g>"));
    }

    pub(super) fn path(&mut self, class: &str, d: fmt::Arguments) {
        self.put(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
    }

    pub(super) fn rect(&mut self, class: &str, corner: Point, width: f64, height: f64) {
        let Point { x, y } = corner;
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"2\"/>"
        ));
    }

    pub(super) fn circle(&mut self, class: &str, centre: Point, radius: f64) {
        let Point { x, y } = centre;
        self.put(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>"
        ));
    }

    pub(super) fn text(&mut self, class: &str, at: Point, text: &str) {
        let (Point { x, y }, text) = (at, escaped(text));
        self.put(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    /// Text along a line.
    pub(super) fn text_along(&mut self, at: Point, degrees: f64, text: &str) {
        let text = escaped(text);
        self.put(format_args!(
            "<text class=\"label\" transform=\"translate({at}) rotate({degrees:.1})\">{text}</text>"
        ));
    }

    /// A cross: a message is lost here, or a node crashes.
    pub(super) fn cross(&mut self, class: &str, centre: Point, r: f64) {
        let Point { x, y } = centre;
        let (left, right, top, bottom) = (x - r, x + r, y - r, y + r);
        self.path(
            class,
            format_args!(
                "M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{right:.1} {top:.1}L{left:.1} {bottom:.1}"
            ),
        );
    }

    /// The head of an arrow from the direction of `from`.
    pub(super) fn head(&mut self, from: Point, tip: Point) {
        let length = from.distance(tip).max(1.0);
        let (ux, uy) = ((tip.x - from.x) / length, (tip.y - from.y) / length);
        let (bx, by) = (tip.x - ux * HEAD, tip.y - uy * HEAD);
        let (left, right) =
            (Point::new(bx - uy * 3.6, by + ux * 3.6), Point::new(bx + uy * 3.6, by - ux * 3.6));
        self.path("head", format_args!("M{tip}L{left}L{right}Z"));
    }
}

/// How long the head of an arrow is.
pub(super) const HEAD: f64 = 9.0;

/// Text that is no markup, neither in an element nor in an attribute; characters that XML does not
/// have are replaced.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\t' => safe.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
