//! The report as text.

use std::io::Write;

use anyhow::Result;
use skeptron_core::NodeId;

use crate::ask::structure::{Delays, Load, Messages, Optimal, Report};
use crate::cli::table::{counted, number, table};

/// More rows say nothing more.
const MOST_ROWS: usize = 16;

/// More members of a set are counted.
const MOST_MEMBERS: usize = 12;

pub(super) fn report(report: &Report, out: &mut impl Write) -> Result<()> {
    let verdict = if report.valid { "valid" } else { "invalid" };
    let size = counted(report.nodes as u64, "node");
    writeln!(out, "{} · {size} · {verdict}", report.name)?;
    if let Some(violation) = &report.violation {
        writeln!(out, "rule broken: {}", violation.rule)?;
        writeln!(out, "{}", violation.explanation)?;
        writeln!(out, "remedy: {}", violation.remedy)?;
    }
    if let (Some(messages), Some(load)) = (&report.messages, &report.load) {
        nodes(report, messages, load, out)?;
        means(report, messages, load, out)?;
    }
    if let Some(delay) = &report.delay {
        delays(delay, out)?;
    }
    needless(&report.needless, out)?;
    match &report.optimal {
        Some(optimal) => optimum(optimal, out),
        None => Ok(()),
    }
}

fn nodes(report: &Report, messages: &Messages, load: &Load, out: &mut impl Write) -> Result<()> {
    let mut rows =
        table(["node", "share", "asks (R)", "tells (I)", "messages", "asked by others (load)"]);
    for i in 0..report.nodes.min(MOST_ROWS) {
        rows.add_row([
            NodeId::new(i).to_string(),
            number(report.shares[i]),
            set(&report.request[i]),
            set(&report.inform[i]),
            format!("{} … {}", messages.low[i], messages.high[i]),
            number(load.of[i]),
        ]);
    }
    writeln!(out, "{rows}")?;
    if report.nodes > MOST_ROWS {
        writeln!(out, "and {} more; --json has them all", report.nodes - MOST_ROWS)?;
    }
    Ok(())
}

fn set(members: &[NodeId]) -> String {
    let numbers = |list: &[NodeId]| {
        list.iter().map(|node| (node.index() + 1).to_string()).collect::<Vec<_>>().join(" ")
    };
    match members {
        [first @ .., last] if members.len() > MOST_MEMBERS => {
            format!("{} … {} ({})", numbers(&first[..4]), last.index() + 1, members.len())
        }
        _ => numbers(members),
    }
}

fn means(report: &Report, messages: &Messages, load: &Load, out: &mut impl Write) -> Result<()> {
    let (low, high) = (number(messages.mean_low), number(messages.mean_high));
    writeln!(out, "messages per entry: {low} at low load, at most {high}")?;
    let is_busiest = |i: &NodeId| load.of[i.index()] == load.busiest;
    match NodeId::all(report.nodes).find(is_busiest) {
        Some(node) if load.busiest > 0.0 => {
            let share = number(load.busiest);
            writeln!(out, "busiest: {node}, asked by others for {share} of all entries")?;
        }
        _ => writeln!(out, "busiest: nobody is asked by others")?,
    }
    Ok(())
}

fn delays(delays: &Delays, out: &mut impl Write) -> Result<()> {
    for (what, delay) in [("published", &delays.published), ("exact", &delays.exact)] {
        writeln!(
            out,
            "synchronisation delay, {what}: {} T in the mean, at most {} T",
            number(delay.mean),
            delay.max
        )?;
        for (i, row) in delay.matrix.iter().flatten().enumerate() {
            let cells: Vec<String> = row.iter().map(u32::to_string).collect();
            writeln!(out, "  {:<4} {}", NodeId::new(i).to_string(), cells.join(" "))?;
        }
    }
    Ok(())
}

fn needless(pairs: &[(NodeId, NodeId)], out: &mut impl Write) -> Result<()> {
    let Some((i, j)) = pairs.first() else { return Ok(()) };
    let more = match pairs.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Ok(writeln!(out, "needless: {i} asks {j} though both tell somebody in common{more}")?)
}

fn optimum(optimal: &Optimal, out: &mut impl Write) -> Result<()> {
    if optimal.proved {
        return Ok(writeln!(
            out,
            "proved: no structure that meets the demands takes fewer messages"
        )?);
    }
    let bound = number(optimal.lower_bound);
    Ok(writeln!(out, "best found; no structure that meets the demands takes fewer than {bound}")?)
}
