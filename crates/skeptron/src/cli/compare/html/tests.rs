use std::collections::BTreeMap;
use std::sync::Arc;

use skeptron_core::catalogue;

use super::*;
use crate::ask::compare::Job;
use crate::ask::{CompareRequest, Files, Request as _};

/// The page of a small comparison of all algorithms.
fn page() -> String {
    let args = CompareRequest::parse("-n 2,4 --entries 40 --seeds 2").unwrap();
    let algorithms: Vec<_> = catalogue::sound().collect();
    let rows: Vec<Row> = algorithms
        .iter()
        .flat_map(|&info| [2, 4].into_iter().flat_map(move |n| Job::all(info, n)))
        .flat_map(|job| job.measure(&args, &Arc::default(), Files::None).expect("it runs"))
        .collect();
    let diagrams: Vec<_> =
        algorithms.iter().map(|info| super::super::diagram(info).expect("it runs")).collect();
    let page = Page {
        algorithms: &algorithms,
        nodes: &[2, 4],
        rows: &rows,
        diagrams: &diagrams,
        settings: "latency <1> & more",
        command: "skeptron compare \"<x>\"",
    };
    page.html()
}

fn elements(page: &str) -> BTreeMap<String, usize> {
    assert!(page.starts_with("<!DOCTYPE html>"), "it is HTML");
    skeptron_markup::elements(page).unwrap()
}

#[test]
fn a_page_is_whole_and_stands_alone() {
    let page = page();
    let elements = elements(&page);
    let algorithms = catalogue::sound().count();
    assert_eq!(elements["h1"], 1);
    assert_eq!(elements["tbody"], algorithms, "a group of figures for each");
    assert_eq!(page.matches("class=\"plot\"").count(), VIEWS.len());
    assert_eq!(page.matches("class=\"sk\"").count(), algorithms, "a diagram for each");
    for info in catalogue::sound() {
        let label = format!(">{}</text></g>", escaped(info.name));
        assert_eq!(page.matches(&label).count(), VIEWS.len(), "{} ends a line", info.name);
    }
    for figure in Figure::ALL {
        let heading = format!("<th scope=\"row\">{}</th>", figure.title());
        assert_eq!(page.matches(&heading).count(), algorithms, "{figure:?}");
    }
    let beside_namespace = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for outside in ["http:", "https:", "url(", "@import", "src=", "href=", "<script"] {
        assert!(!beside_namespace.contains(outside), "{outside}");
    }
    assert!(page.contains("latency &lt;1&gt; &amp; more"));
}

/// Several diagrams share the page, so none may have names or rules that reach beyond it.
#[test]
fn diagrams_do_not_disturb_each_other() {
    for info in catalogue::sound().take(3) {
        let Diagram { svg, .. } = super::super::diagram(info).expect("it runs");
        assert!(!svg.contains(" id="));
        let sheet = svg.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
        let selectors = sheet.split('}').filter_map(|rule| Some(rule.rsplit_once('{')?.0));
        for selector in selectors.flat_map(|list| list.split(',')) {
            let selector = selector.rsplit_once('{').map_or(selector, |(_, inner)| inner).trim();
            assert!(selector.starts_with(".sk "), "{selector}");
        }
    }
}

#[test]
fn a_single_size_is_no_trouble() {
    let info = catalogue::find("naimi-trehel").expect("it is offered");
    let args = CompareRequest::parse("-n 3 --entries 40 --seeds 1").unwrap();
    let jobs = Job::all(info, 3);
    let measure = |job: &Job| job.measure(&args, &Arc::default(), Files::None).expect("it runs");
    let rows: Vec<Row> = jobs.iter().flat_map(measure).collect();
    let uniform = Row::find(&rows, info.name, 3, Figure::MessagesUniform).unwrap();
    assert_eq!(uniform.holds, None, "a single run of chance is not judged");
    let (settings, command) = ("", "");
    let page =
        Page { algorithms: &[info], nodes: &[3], rows: &rows, diagrams: &[], settings, command };
    let html = page.html();
    elements(&html);
    assert!(!html.contains("NaN") && !html.contains("inf "));
}
