//! How tables look.

use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};

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
