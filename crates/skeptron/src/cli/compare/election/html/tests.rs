use std::sync::atomic::AtomicBool;

use skeptron_core::catalogue;

use super::*;
use crate::ask::compare::election::Job;

/// The page of a small comparison of all elections.
fn page(nodes: &[usize]) -> String {
    let algorithms: Vec<_> = catalogue::sound_elections().collect();
    let jobs = Job::all(&algorithms, nodes);
    let measure = |job: &Job| job.measure(20, &AtomicBool::new(false)).expect("it runs");
    let rows: Vec<Row> = jobs.iter().flat_map(measure).collect();
    let command = "skeptron compare '<x>'";
    Page { algorithms: &algorithms, nodes, rows: &rows, diagrams: &[], seeds: 20, command }.html()
}

#[test]
fn a_page_is_whole_and_stands_alone() {
    let page = page(&[2, 4]);
    let elements = skeptron_markup::elements(&page).unwrap();
    let algorithms = catalogue::sound_elections().count();
    assert_eq!(elements["tbody"], algorithms, "a group of figures for each");
    assert_eq!(page.matches("class=\"plot\"").count(), VIEWS.len() + algorithms);
    for info in catalogue::sound_elections() {
        let label = format!(">{}</text></g>", escaped(info.name));
        assert_eq!(page.matches(&label).count(), VIEWS.len(), "{} ends a line", info.name);
        assert!(info.claims.cases.len() <= CASES.len(), "{}: a colour for each case", info.name);
    }
    let beside_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http:", "https:", "url(", "@import", "src=", "href=", "<script"] {
        assert!(!beside_namespace.contains(outside), "{outside}");
    }
    assert!(page.contains("skeptron compare") && page.contains("&lt;x&gt;"));
}

#[test]
fn a_single_size_is_no_trouble() {
    let page = page(&[2]);
    skeptron_markup::elements(&page).unwrap();
    assert!(!page.contains("NaN") && !page.contains("inf "));
}
