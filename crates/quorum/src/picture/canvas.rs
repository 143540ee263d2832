//! A growing SVG text.

use std::fmt::{self, Write};

use skeptron_core::NodeId;

use super::example::{Example, Mark};

/// A point in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

impl Point {
    pub(super) const fn new(x: f64, y: f64) -> Self {
        Point { x, y }
    }

    /// So many pixels away, at an angle from the top, clockwise.
    pub(super) fn at_angle(self, degrees: f64, distance: f64) -> Point {
        let (sin, cos) = degrees.to_radians().sin_cos();
        Point::new(self.x + distance * sin, self.y - distance * cos)
    }

    /// The point halfway to `other`.
    pub(super) fn middle(self, other: Point) -> Point {
        Point::new(f64::midpoint(self.x, other.x), f64::midpoint(self.y, other.y))
    }
}

/// Tenths of a pixel: finer than one sees, and short.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} {:.1}", self.x, self.y)
    }
}

/// What a node looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// A circle of this radius.
    Disc(f64),
    /// A rectangle of this width and height.
    Brick(f64, f64),
}

/// Labels that would be smaller are left out.
const LEAST_FONT: f64 = 6.5;

impl Form {
    /// The same around it.
    fn ring(self) -> Form {
        match self {
            Form::Disc(radius) => Form::Disc(radius + (0.45 * radius).clamp(2.5, 3.5)),
            Form::Brick(width, height) => Form::Brick(width + 7.0, height + 7.0),
        }
    }

    /// Whether an outline of the usual width would leave nothing inside.
    fn is_small(self) -> bool {
        match self {
            Form::Disc(radius) => radius < 3.0,
            Form::Brick(width, height) => width.min(height) < 6.0,
        }
    }

    /// The height of a label of so many characters that fits into it; none if one could not read it.
    fn font(self, characters: usize) -> Option<f64> {
        let (width, height) = match self {
            Form::Disc(radius) => (1.6 * radius, 1.3 * radius),
            Form::Brick(width, height) => (0.88 * width, 0.6 * height),
        };
        let font = (width / (0.7 * characters as f64)).min(height).min(16.0);
        (font >= LEAST_FONT).then_some(font)
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

    pub(super) fn path(&mut self, class: &str, d: fmt::Arguments) {
        self.put(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
    }

    pub(super) fn polygon(&mut self, class: &str, corners: &[Point]) {
        let corners: Vec<String> = corners.iter().map(ToString::to_string).collect();
        self.path(class, format_args!("M{}Z", corners.join("L")));
    }

    pub(super) fn form(&mut self, class: &str, form: Form, centre: Point) {
        let Point { x, y } = centre;
        match form {
            Form::Disc(r) => self.put(format_args!(
                "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r:.1}\"/>"
            )),
            Form::Brick(width, height) => {
                let (x, y) = (x - width / 2.0, y - height / 2.0);
                let round = (height / 8.0).min(4.0);
                self.put(format_args!(
                    "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
                     height=\"{height:.1}\" rx=\"{round:.1}\"/>"
                ));
            }
        }
    }

    pub(super) fn text(&mut self, class: &str, at: Point, text: &str) {
        let (Point { x, y }, text) = (at, escaped(text));
        self.put(format_args!("<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"));
    }

    /// Text of this height.
    pub(super) fn sized_text(&mut self, class: &str, at: Point, font: f64, text: &str) {
        let (Point { x, y }, text) = (at, escaped(text));
        self.put(format_args!(
            "<text class=\"{class}\" style=\"font-size:{font:.1}px\" x=\"{x:.1}\" y=\"{y:.1}\">\
             {text}</text>"
        ));
    }

    /// A node, marked by the quorums that it is in: one has a solid outline, the other a dashed one,
    /// and who is in both has both.
    pub(super) fn node(&mut self, example: &Example, node: NodeId, form: Form, centre: Point) {
        let (mark, number) = (example.mark(node), (node.index() + 1).to_string());
        self.put(format_args!("<g class=\"node {}\">", mark.class()));
        self.put(format_args!("<title>{}</title>", escaped(&told(example, node))));
        self.marked(mark, form, centre);
        if let Some(font) = form.font(example.digits) {
            let below = Point::new(centre.x, centre.y + 0.35 * font);
            self.sized_text("number", below, font, &number);
        }
        self.put(format_args!("</g>"));
    }

    /// The form of a node, for the legend as well.
    pub(super) fn marked(&mut self, mark: Mark, form: Form, centre: Point) {
        let small = if form.is_small() { " small" } else { "" };
        self.form(&format!("face{small}"), form, centre);
        if mark == Mark::Both {
            self.form(&format!("ring{small}"), form.ring(), centre);
        }
    }
}

/// `P3: in S₁ and S₉`
fn told(example: &Example, node: NodeId) -> String {
    let names = example.shown().filter(|(_, shown)| shown.contains(node));
    let names: Vec<&str> = names.map(|(_, shown)| &shown.name[..]).collect();
    if names.is_empty() { node.to_string() } else { format!("{node}: in {}", names.join(" and ")) }
}

/// Text that is no markup, neither in an element nor in an attribute; characters that XML does not
/// have are replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
