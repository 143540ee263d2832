//! A comparison of elections as text.

use std::io::{self, Write};

use comfy_table::{ColumnConstraint, Width};
use skeptron_core::catalogue::ElectionInfo;

use super::super::super::table::{number, table as new_table};
use super::super::judged::Judged;
use super::super::print::{JUDGED, brief, values};
use super::measure::{Figure, Row};

/// One line per case and N, measured beside claimed.
pub(super) fn table(
    algorithms: &[&ElectionInfo],
    nodes: &[usize],
    rows: &[Row],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut table =
        new_table(["algorithm", "case", "N", "messages", "claim", "", "time", "claim", ""]);
    // No formula is broken in the middle.
    if let Some(claims) = table.column_mut(4) {
        claims.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(20)));
    }
    for info in algorithms {
        for (place, case) in info.claims.cases.iter().enumerate() {
            let name = if place == 0 { info.name } else { "" };
            table.add_row([
                name.to_string(),
                case.name.into(),
                String::new(),
                case.counted.join(" "),
                brief(case.messages),
                String::new(),
                String::new(),
                case.time.map_or("–".into(), brief),
            ]);
            for &n in nodes.iter().filter(|&&n| n >= case.least_nodes()) {
                let mut cells = vec![String::new(), String::new(), n.to_string()];
                for figure in [Figure::Messages, Figure::Time] {
                    cells.extend(triple(Row::find(rows, info.name, case.name, n, figure)));
                }
                table.add_row(cells);
            }
        }
    }
    writeln!(out, "{table}")?;
    writeln!(
        out,
        "Messages of one election, and from the call until everybody alive knows the leader in units of the message\n\
         latency, which is also the bound that timers count in. Means over random rings come with their 95 % interval.\n\
         Where kinds of messages are named, only these are counted.\n\
         Against the published formula: = equal, ≈ within 2 % or the interval, with the deviation, ✓ within its bounds,\n\
         ✗ missed. `skeptron explain NAME` describes the cases."
    )?;
    for row in rows.iter().filter(|row| row.judged.holds == Some(false)) {
        let Some(claim) = &row.judged.claim else { continue };
        writeln!(
            out,
            "✗ {}, {}, at N = {}: {} {}, claimed {} = {}",
            row.algorithm,
            row.case,
            row.nodes,
            row.judged.mean(),
            row.figure.name(),
            claim.text,
            claim.values()
        )?;
    }
    Ok(())
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
        writeln!(out, "{algorithm},\"{case}\",{nodes},{},{}", figure.name(), values(judged))?;
    }
    Ok(())
}
