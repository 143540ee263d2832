//! What came of a sweep.

use serde::Serialize;
use ts_rs::TS;

use crate::ask::compare::Estimate;

/// A sweep as a page shows it that needs no server.
#[derive(Clone, Debug, Serialize, TS)]
pub struct SweepReport {
    /// The name of its file.
    pub file: String,
    /// With how many seeds each point ran.
    pub seeds: usize,
    /// The options of `skeptron sim` that it sets.
    pub columns: Vec<SweepColumn>,
    /// What was measured.
    pub figures: Vec<&'static str>,
    /// Of each point: for each column the place of its value, if it has one.
    pub points: Vec<Vec<Option<usize>>>,
    /// Of each point: for each figure the mean over its seeds, where it was measured.
    pub estimates: Vec<Vec<Option<Estimate>>>,
    /// Of each point: how many of its runs violated a property or stalled.
    pub failed: Vec<usize>,
}

/// An option of a sweep.
#[derive(Clone, Debug, Serialize, TS)]
pub struct SweepColumn {
    /// Its name.
    pub name: String,
    /// What it is somewhere, as it is typed.
    pub values: Vec<String>,
}

impl SweepColumn {
    /// Where a value is among those of the column.
    pub(crate) fn place(&mut self, value: String) -> usize {
        let known = self.values.iter().position(|known| *known == value);
        known.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}
