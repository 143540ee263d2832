//! The table of a sweep: a row for each point and figure, with its interval over the seeds.

use std::borrow::Cow;
use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::super::compare::Estimate;
use super::Sweep;
use super::measure::{Family, Measured, Outcome};

/// One figure at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    /// Counted from 0.
    pub(crate) point: usize,
    pub(crate) figure: &'static str,
    /// How many runs there was something to measure in.
    pub(crate) runs: usize,
    pub(crate) estimate: Option<Estimate>,
    /// In how many runs of the point a property was violated or somebody waited for ever.
    pub(crate) failed: usize,
}

impl Row {
    /// Of one run there is no interval.
    pub(crate) fn half_width(&self) -> Option<f64> {
        self.estimate.filter(|_| self.runs > 1).map(|estimate| estimate.half_width)
    }
}

/// What came of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Table {
    /// In the order of the points.
    pub(crate) rows: Vec<Row>,
    /// Runs in which something was violated or somebody waited for ever, by number.
    pub(crate) failed: Vec<usize>,
    /// Points that were left out.
    pub(crate) impossible: Vec<usize>,
}

impl Table {
    /// From what came of all runs, in their order.
    pub(crate) fn new(sweep: &Sweep, runs: &[Measured]) -> Result<Self> {
        let mut table = Table::default();
        for (point, seeds) in runs.chunks(sweep.seeds()).enumerate() {
            if seeds.iter().any(|run| run.outcome == Outcome::Impossible) {
                table.impossible.push(point);
                continue;
            }
            let is_failed = |run: &Measured| run.outcome != Outcome::Fine;
            let numbers = (point * sweep.seeds()..).zip(seeds);
            let failed: Vec<usize> =
                numbers.filter(|(_, run)| is_failed(run)).map(|(number, _)| number).collect();
            for figure in Family::of(&sweep.options(point)?)?.figures() {
                let value =
                    |run: &Measured| run.figures.iter().find(|it| it.0 == figure).map(|it| it.1);
                let values: Vec<f64> = seeds.iter().filter_map(value).collect();
                let estimate = (!values.is_empty()).then(|| Estimate::of(&values));
                let (runs, failed) = (values.len(), failed.len());
                table.rows.push(Row { point, figure, runs, estimate, failed });
            }
            table.failed.extend(failed);
        }
        Ok(table)
    }

    /// As comma-separated values.
    pub(crate) fn csv(&self, sweep: &Sweep, out: &mut dyn Write) -> io::Result<()> {
        let columns = sweep.columns.join(",");
        writeln!(out, "point,{columns},figure,runs,mean,half_width,min,max,failed")?;
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for row in &self.rows {
            let Row { point, figure, runs, estimate, failed } = row;
            write!(out, "{point},")?;
            for value in &sweep.points[*point].values {
                write!(out, "{},", field(&shown(value)))?;
            }
            let [mean, min, max] =
                [estimate.map(|it| it.mean), estimate.map(|it| it.min), estimate.map(|it| it.max)]
                    .map(number);
            let half_width = number(row.half_width());
            writeln!(out, "{figure},{runs},{mean},{half_width},{min},{max},{failed}")?;
        }
        Ok(())
    }

    /// The rows as JSON, each with the options of its point.
    pub(crate) fn json(&self, sweep: &Sweep) -> Vec<Value> {
        let row = |row: &Row| {
            let values = &sweep.points[row.point].values;
            let mut fields: serde_json::Map<String, Value> =
                sweep.columns.iter().cloned().zip(values.iter().cloned()).collect();
            let measured = serde_json::json!({
                "point": row.point, "figure": row.figure, "runs": row.runs,
                "mean": row.estimate.map(|it| it.mean), "half_width": row.half_width(),
                "min": row.estimate.map(|it| it.min), "max": row.estimate.map(|it| it.max),
                "failed": row.failed,
            });
            if let Value::Object(measured) = measured {
                fields.extend(measured);
            }
            Value::Object(fields)
        };
        self.rows.iter().map(row).collect()
    }
}

/// What an option is at a point, as it is typed; empty where it is not given.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// A text as a field of comma-separated values.
pub(crate) fn field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}
