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

    fn head(&mut self, from: Point, tip: Point) {
        let length = from.distance(tip).max(1.0);
        let (ux, uy) = ((tip.x - from.x) / length, (tip.y - from.y) / length);
        let (bx, by) = (tip.x - ux * HEAD, tip.y - uy * HEAD);
        let (left, right) =
            (Point::new(bx - uy * 3.6, by + ux * 3.6), Point::new(bx + uy * 3.6, by - ux * 3.6));
        self.path("head", format_args!("M{tip}L{left}L{right}Z"));
    }
}
