//! A sweep as a page: its figures over any of its axes.

use anyhow::Result;

use super::{Answers, Standalone};
use crate::lab::assets::Page;
use crate::lab::catalogue;
use crate::lab::wire::SweepReport;

/// A page that shows a sweep.
///
/// # Errors
/// If a file of the page is missing.
pub(crate) fn of_sweep(report: &SweepReport) -> Result<String> {
    let answers = Answers::from([
        ("/lab/algorithms".to_string(), serde_json::to_value(catalogue::algorithms())?),
        ("/lab/sweep".into(), serde_json::to_value(report)?),
    ]);
    let title = format!("Sweep: {}", report.file);
    Standalone { title: &title, view: "sweep", home: None, lang: None, answers }
        .html(&Page::Embedded)
}
