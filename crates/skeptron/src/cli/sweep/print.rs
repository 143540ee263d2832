//! What came of a sweep, as text and as JSON.

use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use super::super::table::{counted_in_thousands, fitted, folded, number, table};
use super::super::work::Shard;
use super::folder::Folder;
use crate::ask::sweep::{Row, Sweep, Table, shown};

/// How many of anything a terminal is told; the files have all.
const MOST_LINES: usize = 40;

/// The figures that a terminal shows.
const SHOWN: [&str; 6] =
    ["messages_per_entry", "client_delay", "sync_delay", "throughput", "messages", "time"];

/// How the runs came about.
pub(super) struct Made {
    /// How many had ended before.
    pub(super) before: usize,
    pub(super) now: usize,
    /// Lines of runs that could not be read.
    pub(super) dropped: usize,
    /// How long those of now took.
    pub(super) took: Option<Duration>,
}

/// What would be run.
pub(super) fn plan(sweep: &Sweep, runs: &[usize], json: bool, out: &mut impl Write) -> Result<()> {
    let commands = runs.iter().map(|&run| sweep.command(run));
    if json {
        let commands: Vec<String> = commands.collect::<Result<_>>()?;
        let plan = json!({
            "points": sweep.points.len(), "seeds": sweep.seeds(), "runs": runs.len(),
            "commands": commands,
        });
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&plan)?)?);
    }
    writeln!(out, "{}", size(sweep, runs.len()))?;
    for command in commands.take(MOST_LINES) {
        writeln!(out, "{}", command?)?;
    }
    more(runs.len(), "runs: see --json", out)
}

fn size(sweep: &Sweep, runs: usize) -> String {
    let points = counted_in_thousands(sweep.points.len() as u64, "point");
    let seeds = counted_in_thousands(sweep.seeds() as u64, "seed");
    let all = sweep.runs();
    let runs = match runs == all {
        true => counted_in_thousands(all as u64, "run"),
        false => format!("{runs} of {}", counted_in_thousands(all as u64, "run")),
    };
    format!("{points}, {seeds} each: {runs}")
}

fn more(all: usize, what: &str, out: &mut impl Write) -> Result<()> {
    if all > MOST_LINES {
        writeln!(out, "… and {} more {what}", all - MOST_LINES)?;
    }
    Ok(())
}

/// A shard has ended: there are no tables before all of them have.
pub(super) fn shard(
    shard: Shard,
    (before, now): (usize, usize),
    folder: &Folder,
    json: bool,
    out: &mut impl Write,
) -> Result<()> {
    let (file, path) = (folder.runs_of(shard), folder.path().display().to_string());
    if json {
        let done = json!({ "shard": shard, "runs": before + now, "made": now, "file": file });
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&done)?)?);
    }
    let runs = counted_in_thousands((before + now) as u64, "run");
    let said = format!(
        "shard {shard}: {runs} in {file}, {now} made now; when all shards have ended: skeptron sweep merge {path}"
    );
    Ok(writeln!(out, "{}", folded(&said))?)
}

/// The whole sweep.
pub(super) fn results(
    sweep: &Sweep,
    table: &Table,
    folder: &Folder,
    made: &Made,
    json: bool,
    out: &mut impl Write,
) -> Result<()> {
    if json {
        return as_json(sweep, table, folder, made, out);
    }
    let took = made.took.map_or(String::new(), |took| format!(" in {:.1} s", took.as_secs_f64()));
    let before = match made.before {
        0 => String::new(),
        before => format!("{before} were there, "),
    };
    writeln!(out, "{}; {before}{} made{took}", size(sweep, sweep.runs()), made.now)?;
    if made.dropped > 0 {
        writeln!(
            out,
            "{} could not be read; such runs were made again",
            counted_in_thousands(made.dropped as u64, "line")
        )?;
    }
    write_table(sweep, table, out)?;
    if let Some(&run) = table.failed.first() {
        let (failed, command) = (table.failed.len(), sweep.command(run)?);
        writeln!(out, "{failed} of {} runs failed; the first: {command}", sweep.runs())?;
    }
    if let Some(&point) = table.impossible.first() {
        let points = counted_in_thousands(table.impossible.len() as u64, "point");
        let command = sweep.command(point * sweep.seeds())?;
        writeln!(out, "{points} left out because there is no such system; the first: {command}")?;
    }
    let path = folder.path().display();
    let said = format!("{path} has runs.csv, table.csv, table.parquet and report.html");
    Ok(writeln!(out, "{}", folded(&said))?)
}

fn as_json(
    sweep: &Sweep,
    table: &Table,
    folder: &Folder,
    made: &Made,
    out: &mut impl Write,
) -> Result<()> {
    let some = |runs: &mut dyn Iterator<Item = usize>| -> Result<Vec<Value>> {
        runs.take(MOST_LINES).map(|run| Ok(sweep.command(run)?.into())).collect()
    };
    let impossible = &mut table.impossible.iter().map(|point| point * sweep.seeds());
    let report = json!({
        "folder": folder.path(), "points": sweep.points.len(), "seeds": sweep.seeds(),
        "runs": sweep.runs(), "made": made.now, "dropped_lines": made.dropped,
        "failed": table.failed.len(), "failures": some(&mut table.failed.iter().copied())?,
        "impossible": table.impossible.len(), "left_out": some(impossible)?,
        "rows": table.json(sweep),
    });
    Ok(writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?)
}

/// The options in which points differ, and some figures.
fn write_table(sweep: &Sweep, rows: &Table, out: &mut impl Write) -> Result<()> {
    let differs = |place: &usize| {
        let mut values = sweep.points.iter().map(|point| &point.values[*place]);
        let first = values.next();
        *place < 2 || values.any(|value| Some(value) != first)
    };
    let columns: Vec<usize> = (0..sweep.columns.len()).filter(differs).collect();
    let figures: Vec<&str> =
        SHOWN.into_iter().filter(|figure| sweep.figures.contains(figure)).collect();
    let mut shown_table = table(["algorithm"]);
    let names = columns.iter().map(|&place| sweep.columns[place].clone());
    shown_table.set_header(names.chain(figures.iter().map(|figure| figure.replace('_', " "))));
    let points: Vec<&[Row]> = rows.rows.chunk_by(|a, b| a.point == b.point).collect();
    for rows in points.iter().take(MOST_LINES) {
        let values = &sweep.points[rows[0].point].values;
        let options = columns.iter().map(|&place| shown(&values[place]));
        let figure = |figure: &&str| cell(rows.iter().find(|row| row.figure == *figure));
        shown_table.add_row(options.chain(figures.iter().map(figure)));
    }
    let missing = fitted(&mut shown_table, &["throughput", "client delay", "sync delay", "time"]);
    writeln!(out, "{shown_table}")?;
    if let Some(missing) = missing {
        writeln!(out, "{}", folded(&missing))?;
    }
    more(points.len(), "points: see table.csv", out)
}

fn cell(row: Option<&Row>) -> String {
    let Some((row, estimate)) = row.and_then(|row| Some((row, row.estimate?))) else {
        return "–".into();
    };
    match row.half_width().filter(|&width| width > 0.0) {
        Some(width) => format!("{} ± {}", number(estimate.mean), number(width)),
        None => number(estimate.mean),
    }
}
