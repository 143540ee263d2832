//! How tables look.

use comfy_table::{ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle};

/// How wide a page is that goes to no terminal, unless COLUMNS says so.
const PAGE: usize = 80;

/// A table with one thin line below its header, whose rows are one line each.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table
        .load_style(TableStyle::new().header_separator(line))
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    table
}

/// Hides columns, the first named first, until the others fit the page; says which are missing then.
pub(crate) fn fitted(table: &mut Table, expendable: &[&str]) -> Option<String> {
    let width = page_width(table.width());
    let mut hidden = Vec::new();
    for name in expendable {
        if table.lines().all(|line| line.trim_end().chars().count() <= width) {
            break;
        }
        let mut titles = table.header()?.cell_iter();
        let place = titles.position(|cell| cell.content() == *name)?;
        table.column_mut(place)?.set_constraint(ColumnConstraint::Hidden);
        hidden.push(*name);
    }
    (!hidden.is_empty()).then(|| {
        let hidden = hidden.join(", ");
        format!("Not shown for lack of room: {hidden}. See --json, or use a wider terminal.")
    })
}

fn page_width(terminal: Option<u16>) -> usize {
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    let told = terminal.filter(|&width| width > 0).map(usize::from);
    told.or_else(said).unwrap_or(PAGE).max(PAGE / 2)
}

#[cfg(test)]
mod tests {
    use super::{fitted, table};

    #[test]
    fn columns_that_do_not_fit_are_left_out() {
        let mut rows = table(["name", "paper", "year"]);
        rows.add_row(["a", &"x".repeat(1000), "1981"]);
        let said = fitted(&mut rows, &["year", "paper"]).unwrap();
        assert!(said.contains("Not shown for lack of room: year, paper."), "{said}");
        assert!(!rows.to_string().contains("xx") && rows.to_string().contains("name"));
        assert_eq!(fitted(&mut rows, &["name"]), None, "the rest fits");
    }
}
