//! How nodes look.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point, escaped};

use super::example::{Example, Mark};

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

/// What pictures of systems have besides plain shapes.
pub(super) trait Draw {
    /// A polygon.
    fn polygon(&mut self, class: &str, corners: &[Point]);
    /// A disc or a brick.
    fn form(&mut self, class: &str, form: Form, centre: Point);
    /// Text of this height.
    fn sized_text(&mut self, class: &str, at: Point, font: f64, text: &str);
    /// A node, marked by the quorums that it is in: one has a solid outline, the other a dashed one,
    /// and who is in both has both.
    fn node(&mut self, example: &Example, node: NodeId, form: Form, centre: Point);
    /// The form of a node, for the legend as well.
    fn marked(&mut self, mark: Mark, form: Form, centre: Point);
}

impl Draw for Canvas {
    fn polygon(&mut self, class: &str, corners: &[Point]) {
        let corners: Vec<String> = corners.iter().map(ToString::to_string).collect();
        self.path(class, format_args!("M{}Z", corners.join("L")));
    }

    fn form(&mut self, class: &str, form: Form, centre: Point) {
        match form {
            Form::Disc(radius) => self.circle(class, centre, radius),
            Form::Brick(width, height) => {
                let corner = Point::new(centre.x - width / 2.0, centre.y - height / 2.0);
                self.rect(class, corner, width, height, (height / 8.0).min(4.0));
            }
        }
    }

    fn sized_text(&mut self, class: &str, at: Point, font: f64, text: &str) {
        let (Point { x, y }, text) = (at, escaped(text));
        self.put(format_args!(
            "<text class=\"{class}\" style=\"font-size:{font:.1}px\" x=\"{x:.1}\" y=\"{y:.1}\">\
             {text}</text>"
        ));
    }

    fn node(&mut self, example: &Example, node: NodeId, form: Form, centre: Point) {
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

    fn marked(&mut self, mark: Mark, form: Form, centre: Point) {
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
