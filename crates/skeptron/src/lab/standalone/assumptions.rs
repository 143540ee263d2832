//! The table of assumptions as a page: the cells that were searched, in the view that the lab shows them in.

use anyhow::Result;

use super::{Answers, Standalone};
use crate::lab::assets::Page;
use crate::lab::wire::AssumptionsReport;

/// A page that shows which assumption each algorithm needs.
///
/// # Errors
/// If a file of the page is missing.
pub(crate) fn of_assumptions(report: &AssumptionsReport) -> Result<String> {
    let title = "Which assumption does each algorithm need?";
    let answers = Answers::from([("/lab/assumptions".into(), serde_json::to_value(report)?)]);
    Standalone { title, view: "assumptions", home: None, lang: None, answers }.html(&Page::Embedded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::wire::AssumptionTable;

    #[test]
    fn a_page_has_its_view_and_its_data_and_nothing_else() {
        let table = AssumptionTable {
            system: "3 nodes <all ask>".into(),
            conditions: vec!["FIFO".into()],
            lines: Vec::new(),
            command: "skeptron check --all '</script>'".into(),
        };
        let (cells, diagrams) = (Vec::new(), Vec::new());
        let page =
            of_assumptions(&AssumptionsReport { table, cells, surprises: 0, diagrams }).unwrap();
        let (_, answers) = page.split_once("id=\"answers\">").unwrap();
        let (answers, _) = answers.split_once("</script>").unwrap();
        let answers: Answers = serde_json::from_str(answers).unwrap();
        let table = &answers["/lab/assumptions"]["table"];
        assert_eq!(table["system"], "3 nodes <all ask>");
        assert_eq!(table["command"], "skeptron check --all '</script>'");
        assert!(page.contains("\"ui/check/report.js\":\"data:"));
        assert!(!page.contains("\"ui/play/") && !page.contains("\"ui/cluster/"));
    }
}
