//! What diagrams, pictures and pages are written with: a growing SVG text, text that is no markup, the
//! look of kinds of messages, and a check that a document is whole.
//!
//! ```
//! use skeptron_markup::{Canvas, Point, elements};
//!
//! let mut canvas = Canvas::default();
//! canvas.text("name", Point::new(4.0, 12.0), "P1 < P2");
//! let svg = format!("<svg>{}</svg>", canvas.text);
//! assert!(svg.contains("P1 &lt; P2"));
//! assert_eq!(elements(&svg)?["text"], 1);
//! # Ok::<(), skeptron_markup::Malformed>(())
//! ```

mod canvas;
pub mod kinds;
mod whole;

pub use canvas::{Canvas, Point};
pub use whole::{Malformed, elements};

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(escaped("a<b> & \"c\"\u{1}\n"), "a&lt;b&gt; &amp; &quot;c&quot;\u{fffd}\n");
    }
}
