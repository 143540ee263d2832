//! How tables and numbers look.

use std::io::{IsTerminal as _, Write};

use anyhow::Result;
use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width};
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
    table.set_width(u16::try_from(page_width()).unwrap_or(u16::MAX));
    table
}

/// The same for names and owners of any length, which go on in the next line.
pub(crate) fn narrow_table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = table(header);
    if let Some(names) = table.column_mut(0) {
        names.set_constraint(ColumnConstraint::UpperBoundary(Width::Percentage(30)));
    }
    table
}

/// Does not break the cells of these columns, whose contents people copy, if that leaves room for others.
pub(crate) fn keep_whole(table: &mut Table, columns: &[&str]) {
    let widest = table.column_max_content_widths();
    let mut room = page_width() / 2;
    for name in columns {
        let Some(place) = place(table, name) else { continue };
        let width = usize::from(widest[place]);
        if let (Some(left), Some(column)) = (room.checked_sub(width), table.column_mut(place)) {
            column.set_constraint(ColumnConstraint::ContentWidth);
            room = left;
        }
    }
}

fn place(table: &Table, name: &str) -> Option<usize> {
    let is_it = |cell: &comfy_table::Cell| cell.content() == name;
    table.header().and_then(|header| header.cell_iter().position(is_it))
}

/// How wide a page is that goes to no terminal.
const PAGE: usize = 80;
/// No page is narrower: tables of one character's width help nobody.
const LEAST: usize = 40;

/// How long a line may be: as wide as the terminal, or as COLUMNS says where there is none.
pub(crate) fn page_width() -> usize {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    width_of(Table::new().width().map(usize::from), said)
}

/// A terminal of 0 columns is one that was not told how wide it is.
fn width_of(terminal: Option<usize>, said: impl FnOnce() -> Option<usize>) -> usize {
    let told = terminal.filter(|&width| width > 0).map(|width| width.max(LEAST));
    told.or_else(|| said().filter(|&columns| columns >= PAGE)).unwrap_or(PAGE)
}

/// Hides columns, the first named first, until the others fit without breaking their cells; says what is
/// missing then.
pub(crate) fn fitted(table: &mut Table, expendable: &[&str]) -> Option<String> {
    let mut hidden = Vec::new();
    for name in expendable {
        if fits(table) {
            break;
        }
        let Some(place) = place(table, name) else { continue };
        let Some(column) = table.column_mut(place) else { continue };
        column.set_constraint(ColumnConstraint::Hidden);
        hidden.push(*name);
    }
    (!hidden.is_empty()).then(|| {
        let hidden = hidden.join(", ");
        format!("Not shown for lack of room: {hidden}. See --json, or use a wider terminal.")
    })
}

/// Whether every row is one line of the page.
pub(crate) fn fits(table: &Table) -> bool {
    let mut plain = table.clone();
    plain.set_content_arrangement(ContentArrangement::Disabled);
    plain.lines().all(|line| line.trim_end().chars().count() <= page_width())
}

/// Lines that fit the page: longer ones are broken between words, and go on below what stands to the right
/// of their title, if they have one.
pub(crate) fn folded(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| folded_to(line, page_width())).collect();
    lines.join("\n")
}

fn folded_to(line: &str, width: usize) -> String {
    let title = line.find("  ").map(|end| {
        let blanks = line[end..].chars().take_while(|it| *it == ' ').count();
        line[..end].chars().count() + blanks
    });
    let indent = title.filter(|&title| title <= width / 2).unwrap_or(0);
    let (mut folded, mut length) = (String::new(), 0);
    for (place, word) in line.split(' ').enumerate() {
        let longer = word.chars().count();
        if place > 0 && length > indent && length + 1 + longer > width {
            folded.truncate(folded.trim_end().len());
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            length = indent;
        } else if place > 0 {
            folded.push(' ');
            length += 1;
        }
        folded.push_str(word);
        length += longer;
    }
    folded
}

/// A number as short as it can be said.
pub(crate) fn number(value: f64) -> String {
    if value == f64::INFINITY {
        return "∞".into();
    }
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
    fn lines_are_broken_between_words() {
        let line = "messages   one two three four five";
        assert_eq!(folded_to(line, 80), line);
        assert_eq!(folded_to(line, 24), "messages   one two three\n           four five");
        assert_eq!(folded_to("one two three", 7), "one two\nthree");
        assert_eq!(folded_to("   indented text", 80), "   indented text");
        assert_eq!(folded_to("averylongword and", 5), "averylongword\nand");
    }

    #[test]
    fn a_terminal_without_a_size_is_as_wide_as_a_page() {
        let said = |width: usize| move || Some(width);
        assert_eq!(width_of(Some(0), || None), PAGE);
        assert_eq!(width_of(Some(0), said(120)), 120);
        assert_eq!(width_of(Some(1), said(120)), LEAST);
        assert_eq!(width_of(Some(60), said(120)), 60);
        assert_eq!(width_of(None, said(20)), PAGE);
    }

    #[test]
    fn long_cells_are_broken_before_those_that_people_copy() {
        let mut rows = table(["member", "address", "link", "connected", "on the way", "trouble"]);
        let trouble = "the connection was refused, and is tried again ".repeat(4);
        rows.set_width(80);
        rows.add_row(["P2", "127.0.0.1:28571", "DOWN for 3.4 s", "12×", "0", &trouble]);
        keep_whole(&mut rows, &["address", "link"]);
        let text = rows.to_string();
        assert!(text.contains("127.0.0.1:28571") && text.contains("DOWN for 3.4 s"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn columns_that_do_not_fit_are_left_out() {
        let mut rows = table(["name", "paper", "year"]);
        rows.add_row(["a", &"x".repeat(page_width()), "1981"]);
        let said = fitted(&mut rows, &["year", "paper"]).unwrap();
        assert!(said.contains("Not shown for lack of room: year, paper."), "{said}");
        assert!(!rows.to_string().contains("xx") && rows.to_string().contains("name"));
    }

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
