//! What all pictures of characters have in common.

use skeptron_core::NodeId;

use super::example::{Example, Mark};
use super::frame::described;

/// Wider lines are broken by many terminals.
pub(super) const COLUMNS: usize = 100;

/// The number of a node in the brackets of the quorums it is in.
pub(super) fn cell(example: &Example, node: NodeId) -> String {
    let digits = example.digits;
    let (open, close) = brackets(example.mark(node));
    format!("{open}{:>digits$}{close}", node.index() + 1)
}

fn brackets(mark: Mark) -> (char, char) {
    match mark {
        Mark::Plain => (' ', ' '),
        Mark::First => ('[', ']'),
        Mark::Second => ('(', ')'),
        Mark::Both => ('<', '>'),
    }
}

/// What the brackets mean.
pub(super) fn legend(example: &Example) -> String {
    let mut lines = String::from("\n");
    let mut line = |mark, text: &str| {
        let (open, close) = brackets(mark);
        lines += &format!("{open} {close} {text}\n");
    };
    for (mark, shown) in example.shown() {
        line(mark, &described(shown, COLUMNS - 4));
    }
    if let Some(common) = example.common() {
        line(Mark::Both, &described(&common, COLUMNS - 4));
    }
    lines
}

/// Lines without blanks at their ends.
pub(super) fn trimmed(lines: &str) -> String {
    lines.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
