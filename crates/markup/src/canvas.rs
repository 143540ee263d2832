//! A growing SVG text.

use std::fmt::{self, Write};

use crate::escaped;

/// A point in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

impl Point {
    /// The point at these coordinates.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Point { x, y }
    }

    /// The point a part of the way to `other`.
    #[must_use]
    pub fn towards(self, other: Point, part: f64) -> Point {
        Point::new(self.x + (other.x - self.x) * part, self.y + (other.y - self.y) * part)
    }

    /// The point so many pixels away, at an angle from the top, clockwise.
    #[must_use]
    pub fn at_angle(self, degrees: f64, distance: f64) -> Point {
        let (sin, cos) = degrees.to_radians().sin_cos();
        Point::new(self.x + distance * sin, self.y - distance * cos)
    }

    /// How far it is to `other`.
    #[must_use]
    pub fn distance(self, other: Point) -> f64 {
        (other.x - self.x).hypot(other.y - self.y)
    }

    /// From here to `other`, but so many pixels to the right of that way.
    #[must_use]
    pub fn beside(self, other: Point, pixels: f64) -> (Point, Point) {
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
#[derive(Clone, Debug, Default)]
pub struct Canvas {
    /// Whole elements, a line each.
    pub text: String,
}

impl Canvas {
    /// Adds a line as it is.
    pub fn put(&mut self, markup: fmt::Arguments) {
        // Writing to a string does not fail.
        let _ = self.text.write_fmt(markup);
        self.text.push('\n');
    }

    /// A group with a tooltip.
    pub fn group(&mut self, class: &str, tooltip: &str, draw: impl FnOnce(&mut Self)) {
        self.put(format_args!("<g class=\"{class}\"><title>{}</title>", escaped(tooltip)));
        draw(self);
        self.put(format_args!("</g>"));
    }

    /// A path.
    pub fn path(&mut self, class: &str, d: fmt::Arguments) {
        self.put(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
    }

    /// A rectangle with corners that are a little round.
    pub fn rect(&mut self, class: &str, corner: Point, width: f64, height: f64, round: f64) {
        let Point { x, y } = corner;
        self.put(format_args!(
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"{round}\"/>",
            round = tenths(round)
        ));
    }

    /// A circle.
    pub fn circle(&mut self, class: &str, centre: Point, radius: f64) {
        let Point { x, y } = centre;
        self.put(format_args!(
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\"/>",
            radius = tenths(radius)
        ));
    }

    /// Text.
    pub fn text(&mut self, class: &str, at: Point, text: &str) {
        let (Point { x, y }, text) = (at, escaped(text));
        self.put(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }
}

/// As short as it can be said.
fn tenths(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}
