//! A comparison as a page: the figures that were measured, in the views that the lab shows them in.

use anyhow::Result;
use serde::Serialize;

use super::{Answers, Standalone};
use crate::lab::assets::Page;
use crate::lab::catalogue;
use crate::lab::wire::{AlgorithmKind, CompareReport};

/// A page that shows a comparison.
///
/// # Errors
/// If a file of the page is missing.
pub(crate) fn of_comparison<F: Serialize>(report: &CompareReport<F>) -> Result<String> {
    let (kind, title) = match report.elections {
        true => (AlgorithmKind::Election, "Elections: claimed and measured"),
        false => (AlgorithmKind::Mutex, "Distributed mutual exclusion: claimed and measured"),
    };
    // Also of those that are not compared: an algorithm has the same colour on every page.
    let mut infos = catalogue::algorithms();
    infos.retain(|info| info.kind == kind && info.broken.is_none());
    let answers = Answers::from([
        ("/lab/algorithms".to_string(), serde_json::to_value(infos)?),
        ("/lab/compare".into(), serde_json::to_value(report)?),
    ]);
    Standalone { title, view: "compare", home: None, lang: None, answers }.html(&Page::Embedded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::wire::CompareResult;

    fn page(elections: bool) -> String {
        let command = "skeptron compare '</script>'".into();
        let result = CompareResult { rows: Vec::new(), curves: Vec::new(), command };
        let settings = "latency <1>".into();
        let report: CompareReport<String> =
            CompareReport { elections, settings, result, diagrams: Vec::new() };
        of_comparison(&report).unwrap()
    }

    #[test]
    fn a_page_has_its_view_and_its_data_and_nothing_else() {
        for (elections, one, other) in [(false, "lamport", "bully"), (true, "bully", "lamport")] {
            let page = page(elections);
            let (_, answers) = page.split_once("id=\"answers\">").unwrap();
            let (answers, _) = answers.split_once("</script>").unwrap();
            let answers: Answers = serde_json::from_str(answers).unwrap();
            let report = &answers["/lab/compare"];
            assert_eq!(report["settings"], "latency <1>");
            assert_eq!(report["result"]["command"], "skeptron compare '</script>'");
            let infos = answers["/lab/algorithms"].as_array().unwrap();
            assert!(infos.iter().any(|info| info["name"] == one));
            assert!(infos.iter().all(|info| info["name"] != other && info["broken"].is_null()));
            for module in ["compare/report.js", "elections/results.js", "lib/plot.js"] {
                assert!(page.contains(&format!("\"ui/{module}\":\"data:")), "{module}");
            }
            assert!(!page.contains("\"ui/play/") && !page.contains("\"ui/cluster/"));
        }
    }
}
