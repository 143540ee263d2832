//! How tables and numbers look.

use std::io::{IsTerminal as _, Write};

use anyhow::Result;
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};
use serde::Serialize;

/// Shows something once, or again and again in the same place: as JSON, or as `print` does it.
pub(crate) fn show<T: Serialize, W: Write>(
    json: bool,
    watch: bool,
    what: &T,
    out: &mut W,
    print: impl FnOnce(&T, &mut W) -> Result<()>,
) -> Result<()> {
    match (json, watch) {
        (true, true) => writeln!(out, "{}", serde_json::to_string(what)?)?,
        (true, false) => writeln!(out, "{}", serde_json::to_string_pretty(what)?)?,
        (false, watch) => {
            if watch && std::io::stdout().is_terminal() {
                // Home, and nothing below.
                write!(out, "\x1b[H\x1b[J")?;
            }
            print(what, out)?;
        }
    }
    out.flush()?;
    Ok(())
}

/// A table with one thin line below its header that fits the terminal.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    // The first column is what people copy.
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::ContentWidth);
    }
    if table.width().is_none() {
        // Not a terminal: as wide as a page.
        table.set_width(120);
    }
    table
}

/// A number as short as it can be said.
pub(crate) fn number(value: f64) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    rounded.to_string()
}

/// A number with its noun.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", plural(count))
}

/// A large number with its noun, and with blanks between thousands.
pub(crate) fn counted_in_thousands(count: u64, noun: &str) -> String {
    let digits = count.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    format!("{} {noun}{}", groups.join(" "), plural(count))
}

fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nouns_follow_their_numbers() {
        assert_eq!(
            [0, 1, 1234].map(|count| counted(count, "node")),
            ["0 nodes", "1 node", "1234 nodes"]
        );
        assert_eq!(counted_in_thousands(1, "state"), "1 state");
        assert_eq!(counted_in_thousands(1_234_567, "state"), "1 234 567 states");
    }
}
