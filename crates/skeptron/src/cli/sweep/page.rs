//! What came of a sweep, as a page with plots.

use anyhow::Result;

use crate::ask::sweep::{Sweep, Table, shown};
use crate::lab::standalone;
use crate::lab::wire::{SweepColumn, SweepReport};

/// The page of a sweep; `file` is the name of its file.
pub(super) fn of(file: &str, sweep: &Sweep, table: &Table) -> Result<String> {
    let mut columns: Vec<SweepColumn> = sweep
        .columns
        .iter()
        .map(|name| SweepColumn { name: name.clone(), values: Vec::new() })
        .collect();
    let (mut points, mut estimates, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for rows in table.rows.chunk_by(|a, b| a.point == b.point) {
        let values = sweep.points[rows[0].point].values.iter().zip(&mut columns);
        let place = |(value, column): (&serde_json::Value, &mut SweepColumn)| {
            (!value.is_null()).then(|| column.place(shown(value)))
        };
        points.push(values.map(place).collect());
        let estimate = |figure: &&str| rows.iter().find(|row| row.figure == *figure)?.estimate;
        estimates.push(sweep.figures.iter().map(estimate).collect());
        failed.push(rows[0].failed);
    }
    let report = SweepReport {
        file: file.into(),
        seeds: sweep.seeds(),
        columns,
        figures: sweep.figures.clone(),
        points,
        estimates,
        failed,
    };
    standalone::of_sweep(&report)
}
