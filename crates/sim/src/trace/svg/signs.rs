//! What a space-time diagram has besides plain shapes.

use skeptron_markup::{Canvas, Point, escaped};

/// How long the head of an arrow is.
pub(super) const HEAD: f64 = 9.0;

/// Drawn on a canvas.
pub(super) trait Signs {
    /// Text along a line.
    fn text_along(&mut self, at: Point, degrees: f64, text: &str);
    /// A cross: a message is lost here, or a node crashes.
    fn cross(&mut self, class: &str, centre: Point, r: f64);
    /// A bell: an alarm rings.
    fn bell(&mut self, centre: Point);
    /// A crown whose foot is here: a leader is named.
    fn crown(&mut self, foot: Point);
    /// The head of an arrow from the direction of `from`.
    fn head(&mut self, from: Point, tip: Point);
}

impl Signs for Canvas {
    fn text_along(&mut self, at: Point, degrees: f64, text: &str) {
        let text = escaped(text);
        self.put(format_args!(
            "<text class=\"label\" transform=\"translate({at}) rotate({degrees:.1})\">{text}</text>"
        ));
    }

    fn cross(&mut self, class: &str, centre: Point, r: f64) {
        let Point { x, y } = centre;
        let (left, right, top, bottom) = (x - r, x + r, y - r, y + r);
        self.path(
            class,
            format_args!(
                "M{left:.1} {top:.1}L{right:.1} {bottom:.1}M{right:.1} {top:.1}L{left:.1} {bottom:.1}"
            ),
        );
    }

    fn bell(&mut self, centre: Point) {
        let Point { x, y } = Point::new(centre.x - 6.0, centre.y + 4.0);
        self.path(
            "bell",
            format_args!("M{x:.1} {y:.1}c3 -2 1 -10 6 -10c5 0 3 8 6 10Zm4.5 0c0 3 3 3 3 0"),
        );
    }

    fn crown(&mut self, foot: Point) {
        let Point { x, y } = foot;
        self.path("crown", format_args!("M{:.1} {y:.1}h10l2 -8l-4 4l-3 -6l-3 6l-4 -4Z", x - 5.0));
    }

    fn head(&mut self, from: Point, tip: Point) {
        let length = from.distance(tip).max(1.0);
        let (ux, uy) = ((tip.x - from.x) / length, (tip.y - from.y) / length);
        let (bx, by) = (tip.x - ux * HEAD, tip.y - uy * HEAD);
        let (left, right) =
            (Point::new(bx - uy * 3.6, by + ux * 3.6), Point::new(bx + uy * 3.6, by - ux * 3.6));
        self.path("head", format_args!("M{tip}L{left}L{right}Z"));
    }
}
