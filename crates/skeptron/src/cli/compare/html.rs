//! A comparison as one self-contained page.

use skeptron_core::catalogue::Info;

use super::Diagram;
use super::measure::Row;

/// The page.
pub(super) fn page(
    algorithms: &[&Info],
    nodes: &[usize],
    rows: &[Row],
    diagrams: &[Diagram],
    settings: &str,
) -> String {
    let _ = (algorithms, nodes, rows, settings);
    diagrams.iter().map(|d| format!("<h2>{}</h2>{}", d.info.title, d.svg)).collect()
}
