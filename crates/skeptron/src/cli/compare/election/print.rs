//! A comparison of elections as text.

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, Table, Width};
use skeptron_core::catalogue::ElectionInfo;

use super::super::super::table::{fits, folded, number, table as new_table};
use super::super::print::{JUDGED, brief, values};
use crate::ask::compare::Judged;
use crate::ask::compare::election::{Figure, Row};

/// One line per case and N, measured beside claimed.
pub(super) fn table(
    algorithms: &[&ElectionInfo],
    nodes: &[usize],
    rows: &[Row],
    out: &mut impl Write,
) -> io::Result<()> {
    let whole = claims(algorithms, nodes, rows, (true, true));
    if fits(&whole) {
        writeln!(out, "{whole}")?;
    } else {
        writeln!(out, "{}\n", claims(algorithms, nodes, rows, (true, false)))?;
        writeln!(out, "{}", claims(algorithms, nodes, rows, (false, true)))?;
    }
    writeln!(
        out,
        "{}",
        folded(
            "Messages of one election, and from the call until everybody alive knows the leader in units of \
             the message latency, which is also the bound that timers count in. Means over random rings and draws \
             come with their 95 % interval. Where kinds of messages are named, only these are counted. Against the \
             published formula: = equal, ≈ within 2 % or the interval, with the deviation, ✓ within its bounds, \
             ✗ missed. `skeptron explain NAME` describes the cases."
        )
    )?;
    for row in rows.iter().filter(|row| row.judged.holds == Some(false)) {
        let Some(claim) = &row.judged.claim else { continue };
        writeln!(
            out,
            "✗ {}, {}, at N = {}: {} {}, claimed {} = {}",
            row.algorithm,
            row.case.unwrap_or_default(),
            row.nodes,
            row.judged.mean(),
            row.figure.name(),
            claim.text,
            claim.values()
        )?;
    }
    Ok(())
}

/// Names of cases with more characters are wrapped.
const LONGEST_CASE: usize = 20;

/// How wide their column is then, with its padding.
const WRAPPED_CASE: u16 = 18;

/// One line per case and N: messages, time, or both.
fn claims(
    algorithms: &[&ElectionInfo],
    nodes: &[usize],
    rows: &[Row],
    (messages, time): (bool, bool),
) -> Table {
    let mut table = new_table(["algorithm", "case", "N"]);
    let figures = [(messages, "messages"), (time, "time")].into_iter().filter(|(is_in, _)| *is_in);
    let headers = figures.flat_map(|(_, figure)| [figure, "claim", ""]);
    table.set_header(["algorithm", "case", "N"].into_iter().chain(headers));
    if !(messages && time)
        && let Some(cases) = table.column_mut(1)
    {
        // Longer names are wrapped, so that figures are not.
        let names = algorithms.iter().flat_map(|info| info.claims.cases).map(|case| case.name);
        let is_wide = names.map(|name| name.chars().count()).any(|length| length > LONGEST_CASE);
        cases.set_constraint(match is_wide {
            true => ColumnConstraint::Absolute(Width::Fixed(WRAPPED_CASE)),
            false => ColumnConstraint::ContentWidth,
        });
    }
    // No name of a figure, and no formula, is broken in the middle.
    if let Some(measured) = table.column_mut(3).filter(|_| messages) {
        measured.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(10)));
    }
    if let Some(claims) = table.column_mut(4).filter(|_| messages) {
        claims.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(20)));
    }
    for info in algorithms {
        for (place, case) in info.claims.cases.iter().enumerate() {
            let name = if place == 0 { info.name } else { "" };
            let mut cells = vec![name.to_string(), case.name.into(), String::new()];
            if messages {
                cells.extend([case.counted.join(" "), brief(case.messages), String::new()]);
            }
            if time {
                cells.extend([String::new(), case.time.map_or("–".into(), brief)]);
            }
            table.add_row(cells);
            for &n in nodes.iter().filter(|&&n| n >= case.least_nodes()) {
                let mut cells = vec![String::new(), String::new(), n.to_string()];
                for (is_in, figure) in [(messages, Figure::Messages), (time, Figure::Time)] {
                    let found = is_in.then(|| Row::find(rows, info.name, case.name, n, figure));
                    cells.extend(found.into_iter().flat_map(triple));
                }
                table.add_row(cells);
            }
        }
    }
    table
}

/// Measured, claimed, verdict.
fn triple(judged: Option<&Judged>) -> [String; 3] {
    let Some(judged) = judged else { return [const { String::new() }; 3] };
    let claimed = judged.claim.as_ref().map_or("–".into(), |claim| match claim.typical {
        Some(typical) => number(typical),
        None => claim.values(),
    });
    [judged.mean(), claimed, judged.remark()]
}

/// One line per figure.
pub(super) fn csv(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "algorithm,case,nodes,figure,{JUDGED}")?;
    for Row { algorithm, case, nodes, figure, judged } in rows {
        writeln!(
            out,
            "{algorithm},\"{}\",{nodes},{},{}",
            case.unwrap_or_default(),
            figure.name(),
            values(judged)
        )?;
    }
    Ok(())
}
