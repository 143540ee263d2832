//! Markers.

/// The shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Shape {
    outline: Outline,
    filled: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outline {
    Circle,
    Square,
    Up,
    Diamond,
    Down,
    Pentagon,
}

impl Shape {
    /// The `i`-th of twelve that are easily told apart.
    pub(in super::super) fn nth(i: usize) -> Self {
        use Outline::{Circle, Diamond, Down, Pentagon, Square, Up};
        let outlines = [Circle, Square, Up, Diamond, Down, Pentagon];
        let n = outlines.len();
        Shape { outline: outlines[i % n], filled: (i + i / n).is_multiple_of(2) }
    }

    pub(super) fn class(self) -> &'static str {
        if self.filled { "filled" } else { "hollow" }
    }

    /// Its outline around a point.
    pub(super) fn path(self, x: f64, y: f64) -> String {
        match self.outline {
            Outline::Circle => format!("M{:.1} {y:.1}a4 4 0 1 1 8 0a4 4 0 1 1 -8 0Z", x - 4.0),
            Outline::Square => format!("M{:.1} {:.1}h7v7h-7Z", x - 3.5, y - 3.5),
            Outline::Up => format!("M{x:.1} {:.1}l4.6 8h-9.2Z", y - 5.0),
            Outline::Diamond => format!("M{x:.1} {:.1}l4.8 4.8l-4.8 4.8l-4.8 -4.8Z", y - 4.8),
            Outline::Down => format!("M{x:.1} {:.1}l4.6 -8h-9.2Z", y + 5.0),
            Outline::Pentagon => {
                format!("M{x:.1} {:.1}l4.4 3.2l-1.7 5.1h-5.4l-1.7 -5.1Z", y - 4.6)
            }
        }
    }

    /// A line with this marker, for a legend.
    pub(in super::super) fn icon(self, class: &str, dash: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"icon {class}\" width=\"44\" height=\"16\" \
             viewBox=\"0 0 44 16\" aria-hidden=\"true\"><path class=\"line\" d=\"M1 8H43\" \
             stroke-dasharray=\"{}\"/><path class=\"marker {}\" d=\"{}\"/></svg>",
            if dash.is_empty() { "none" } else { dash },
            self.class(),
            self.path(22.0, 8.0)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twelve_differ() {
        let shapes: Vec<Shape> = (0..12).map(Shape::nth).collect();
        for (i, shape) in shapes.iter().enumerate() {
            assert!(!shapes[..i].contains(shape), "{i}: {shape:?}");
        }
    }
}
