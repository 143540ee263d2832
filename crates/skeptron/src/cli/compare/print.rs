//! A comparison as text.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;

use comfy_table::Table;
use skeptron_core::Claim;
use skeptron_core::catalogue::Info;

use super::super::table::{fits, folded, number, table as new_table};
use crate::ask::compare::{Figure, Judged, NotCompared, Row};

/// One line per algorithm and N, one column per figure.
pub(super) fn table(
    algorithms: &[&Info],
    nodes: &[usize],
    rows: &[Row],
    out: &mut impl Write,
) -> io::Result<()> {
    let whole = claims(algorithms, nodes, rows, 0..Figure::CLAIMED.len());
    if fits(&whole) {
        writeln!(out, "{whole}")?;
    } else {
        // Messages, then delays.
        writeln!(out, "{}\n", claims(algorithms, nodes, rows, 0..4))?;
        writeln!(out, "{}", claims(algorithms, nodes, rows, 4..Figure::CLAIMED.len()))?;
    }
    writeln!(
        out,
        "{}",
        folded(
            "Messages per entry; delays from request to entry and, synchronisation delay, from exit to next \
             entry, in units of the message latency; throughput in entries per unit, by law 1/(sync delay + \
             section). Of a lone requester's first entry and when it enters again, with one uniformly chosen \
             requester at a time (100 units apart, in which the token of token-ring goes on circulating), and \
             saturated. Against the published formula: = equal, ≈ within 2 % or the interval, with the \
             deviation, ✓ within its bounds, ✗ outside. `skeptron list` explains the letters."
        )
    )?;
    shares(algorithms, nodes, rows, out)?;
    let missed: Vec<&Row> = rows.iter().filter(|row| row.judged.holds == Some(false)).collect();
    for row in missed {
        if let (Some(claim), Some(measured)) = (&row.judged.claim, row.judged.measured) {
            writeln!(
                out,
                "✗ {} at N = {}: {} is {}, claimed {} = {} … {}",
                row.algorithm,
                row.nodes,
                row.figure.title(),
                number(measured.mean),
                claim.text,
                number(claim.low),
                number(claim.high)
            )?;
        }
    }
    not_compared(rows, out)
}

/// The claims that were not held against anything, by what they need.
fn not_compared(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    let mut by_need: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for row in rows {
        if let Some(NotCompared { needs, .. }) = &row.judged.not_compared {
            by_need.entry(needs.join(" and ")).or_default().insert(row.algorithm);
        }
    }
    for (need, algorithms) in by_need {
        let algorithms = algorithms.into_iter().collect::<Vec<_>>().join(", ");
        let said = format!("Not compared: claims that need {need} ({algorithms}).");
        writeln!(out, "{}", folded(&said))?;
    }
    Ok(())
}

/// These figures, claimed and measured.
fn claims(algorithms: &[&Info], nodes: &[usize], rows: &[Row], which: Range<usize>) -> Table {
    const HEADERS: [&str; 8] = [
        "messages:\nfirst",
        "\nagain",
        "\nuniform",
        "\nsaturated",
        "delay:\nfirst",
        "\nagain",
        "sync\ndelay",
        "through-\nput",
    ];
    let mut table = new_table(["algorithm", "N"]);
    let headers = ["algorithm", "N"].into_iter().chain(HEADERS[which.clone()].iter().copied());
    table.set_header(headers);
    let figures = &Figure::CLAIMED[which];
    for info in algorithms {
        let mut cells = vec![info.name.to_string(), "claim".into()];
        cells.extend(figures.iter().map(|figure| figure.claim(info).map_or("–".into(), brief)));
        table.add_row(cells);
        for &n in nodes {
            let mut cells = vec![String::new(), n.to_string()];
            cells.extend(figures.iter().map(|&figure| cell(rows, info, n, figure)));
            table.add_row(cells);
        }
    }
    table
}

/// How evenly time and work are shared: one line per algorithm and N.
fn shares(
    algorithms: &[&Info],
    nodes: &[usize],
    rows: &[Row],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut table =
        new_table(["saturated", "N", "fairness", "bypass", "by order", "by time", "load"]);
    for info in algorithms {
        for (place, &n) in nodes.iter().enumerate() {
            let name = if place == 0 { info.name } else { "" };
            let mut cells = vec![name.to_string(), n.to_string()];
            cells.extend(Figure::SHARED.iter().map(|&figure| cell(rows, info, n, figure)));
            table.add_row(cells);
        }
    }
    writeln!(out, "\n{table}")?;
    writeln!(
        out,
        "{}",
        folded(
            "Fairness is Jain's index over the entries of each node (1 is even), bypass the most entries of \
             others during one wait, by order and by time the share of entries that overtook a request that \
             happened before or was made before, load the messages of the busiest node over the mean of all."
        )
    )
}

fn cell(rows: &[Row], info: &Info, nodes: usize, figure: Figure) -> String {
    let found = Row::find(rows, info.name, nodes, figure);
    match found.and_then(|judged| Some((judged, judged.measured?))) {
        None => "–".into(),
        Some((judged, measured)) => {
            format!("{} {}", number(measured.mean), judged.remark()).trim_end().to_string()
        }
    }
}

/// A claim as short as it can be said: what to expect, else the bounds.
pub(super) fn brief(claim: Claim) -> String {
    match claim.typical {
        Some(typical) if !claim.is_exact() => format!("≈ {typical}"),
        _ => claim.to_string(),
    }
}

/// One line per figure.
pub(super) fn csv(rows: &[Row], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "algorithm,nodes,figure,{JUDGED}")?;
    for Row { algorithm, nodes, figure, judged, .. } in rows {
        writeln!(out, "{algorithm},{nodes},{},{}", figure.name(), values(judged))?;
    }
    Ok(())
}

/// The columns of [`values`].
pub(super) const JUDGED: &str =
    "measured,half_width,claim,low,typical,high,deviation,holds,not_compared_needs";

/// What was measured and claimed, separated by commas.
pub(super) fn values(judged: &Judged) -> String {
    let optional = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let claim = judged.claim.as_ref();
    let needs = judged.not_compared.as_ref().map(|other| other.needs.join("; "));
    format!(
        "{},{},\"{}\",{},{},{},{},{},\"{}\"",
        optional(judged.measured.map(|m| m.mean)),
        optional(judged.measured.map(|m| m.half_width)),
        claim.map_or("", |claim| &claim.text),
        optional(claim.map(|claim| claim.low)),
        optional(claim.and_then(|claim| claim.typical)),
        optional(claim.map(|claim| claim.high).filter(|high| high.is_finite())),
        optional(judged.deviation),
        judged.holds.map_or(String::new(), |holds| holds.to_string()),
        needs.unwrap_or_default(),
    )
}
