//! What the bench says.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use comfy_table::ColumnConstraint;
use serde::Serialize;

use super::{FailoverBench, Row, Service, What};
use crate::locks::report::{grouped, median};
use crate::table::table;

/// What entering again with a lease is to reach, in cycles per second.
const AIM: f64 = 1.5e6;

/// One row as it is written.
#[derive(Serialize)]
struct Line {
    what: What,
    service: Service,
    /// Why there is nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
    #[serde(flatten)]
    figures: Option<Figures>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Figures {
    Pause {
        /// Median of the rounds' medians.
        median_ms: f64,
        /// Of all locks in all rounds.
        longest_ms: f64,
        /// The longest of all without a crash.
        calm_ms: Option<f64>,
    },
    Rate {
        /// Median of the rounds.
        cycles_per_second: f64,
        /// The slowest round.
        slowest: f64,
    },
}

#[derive(Serialize)]
struct Document<'a> {
    algorithm: &'a str,
    rounds: u32,
    locks: u16,
    held: u32,
    cores: usize,
    rows: Vec<Line>,
}

/// Writes everything as one JSON document.
pub(super) fn write_json(out: &mut impl Write, rows: &[Row], bench: &FailoverBench) -> Result<()> {
    let document = Document {
        algorithm: &bench.algorithm,
        rounds: bench.rounds,
        locks: bench.locks,
        held: bench.held,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        rows: rows.iter().map(line).collect(),
    };
    writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?;
    Ok(())
}

/// Writes a table for people.
pub(super) fn write_table(out: &mut impl Write, rows: &[Row], bench: &FailoverBench) -> Result<()> {
    let lines: Vec<Line> = rows.iter().map(line).collect();
    let mut shown = table(["what happens", "locks by", "median", "longest", "calm"]);
    let ms = |value: f64| format!("{}\u{a0}ms", digits(value));
    for line in &lines {
        let mut cells = vec![line.what.title().to_string(), line.service.title().to_string()];
        match &line.figures {
            None => cells.push("absent".to_string()),
            Some(Figures::Pause { median_ms, longest_ms, calm_ms }) => {
                let calm = calm_ms.map_or_else(String::new, ms);
                cells.extend([ms(*median_ms), ms(*longest_ms), calm]);
            }
            Some(Figures::Rate { cycles_per_second, .. }) => {
                cells.push(format!("{}/s", grouped(*cycles_per_second)));
            }
        }
        shown.add_row(cells);
    }
    for column in shown.column_iter_mut() {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    writeln!(out, "{shown}")?;
    writeln!(
        out,
        "{}, {} round(s). Locks of the others: the pause of each of {} locks that clients at the two survivors take\n\
         in turn. Held there: from the kill until a client that waits at a survivor has the lock. A member joins:\n\
         a fourth one, while P1 holds {} locks. Median: of the rounds. Longest: of all locks in all rounds.\n\
         Calm: the longest before the kill or the join, which is the machine's own.",
        bench.algorithm, bench.rounds, bench.locks, bench.held,
    )?;
    for line in &lines {
        if let Some(Figures::Rate { cycles_per_second, .. }) = line.figures {
            let verdict = if cycles_per_second >= AIM { "reached" } else { "missed" };
            let (reached, aim) = (grouped(cycles_per_second), grouped(AIM));
            writeln!(out, "{}: {reached} cycles/s (aim: {aim}, {verdict})", line.what.title())?;
        }
    }
    let why_absent =
        |line: &Line| Some(format!("{}: {}", line.service.title(), line.absent.as_ref()?));
    for line in lines.iter().filter_map(why_absent).collect::<BTreeSet<String>>() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn line(row: &Row) -> Line {
    let figures = figures(row);
    Line { what: row.what, service: row.service, absent: row.absent.clone(), figures }
}

fn figures(row: &Row) -> Option<Figures> {
    let middle = median(row.rounds.iter().filter_map(|round| median(round.iter().copied())))?;
    let all = || row.rounds.iter().flatten().copied();
    if row.what == What::Again {
        let slowest = all().fold(f64::MAX, f64::min);
        return Some(Figures::Rate { cycles_per_second: middle, slowest });
    }
    Some(Figures::Pause {
        median_ms: middle,
        longest_ms: all().fold(0.0, f64::max),
        calm_ms: row.calm.iter().copied().reduce(f64::max),
    })
}

/// Three digits at most, so that a hundredth of a millisecond still shows.
fn digits(ms: f64) -> String {
    match ms {
        ..1.0 => format!("{ms:.2}"),
        1.0..10.0 => format!("{ms:.1}"),
        _ => grouped(ms.round()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Row, Service, What};
    use super::{Figures, digits, figures};

    #[test]
    fn rounds_count_by_their_medians_and_the_longest_of_all_is_kept() {
        let rounds = vec![vec![1.0, 2.0, 90.0], vec![4.0, 5.0, 6.0], vec![7.0, 8.0, 9.0]];
        let (what, service) = (What::LeaderKilled, Service::Skeptron);
        let row = Row { what, service, rounds, calm: vec![3.0, 2.0], absent: None };
        let Some(Figures::Pause { median_ms, longest_ms, calm_ms }) = figures(&row) else {
            panic!("pauses are measured")
        };
        assert_eq!((median_ms, longest_ms, calm_ms), (5.0, 90.0, Some(3.0)));
        assert!(figures(&Row { rounds: Vec::new(), ..row }).is_none());
        assert_eq!([0.004, 0.216, 4.25, 512.4].map(digits), ["0.00", "0.22", "4.2", "512"]);
    }
}
