use super::*;
use crate::trace::sample::Scene;
use crate::trace::{ClockKind, Steps};

fn drawn(scene: &Scene) -> String {
    draw(&scene.play(), &Options::default())
}

fn with_clocks(kind: ClockKind) -> Options {
    let picture = Picture { clocks: Some(kind), ..Picture::default() };
    Options { picture, ..Options::default() }
}

fn elements(svg: &str) -> BTreeMap<String, usize> {
    skeptron_markup::elements(svg).unwrap()
}

#[test]
fn every_message_and_every_stretch_is_drawn() {
    let svg = drawn(&Scene::new(3));
    let elements = elements(&svg);
    assert_eq!(elements["svg"], 1);
    assert_eq!(svg.matches("class=\"head\"").count(), 24 + 2, "24 messages, 2 kinds in the legend");
    assert_eq!(svg.matches("<rect class=\"in\"").count(), 6 + 1);
    assert_eq!(svg.matches("REQUEST × 12").count(), 1);
}

/// Two messages on the same way at the same time, such as a token and the request right behind it.
#[test]
fn no_message_hides_another_one() {
    let mut trace = Scene::new(2).play();
    let twin = |record: &Record| {
        let mut twin = record.clone();
        match &mut twin.what {
            What::Send { id, .. } | What::Deliver { id } => *id += 1000,
            _ => return None,
        }
        Some(twin)
    };
    let with_twin = |record: Record| [twin(&record), Some(record)].into_iter().flatten();
    trace.records = trace.records.into_iter().flat_map(with_twin).collect();
    let svg = draw(&trace, &Options::default());
    let lines: Vec<&str> =
        svg.lines().filter(|line| line.starts_with("<path class=\"hit\"")).collect();
    let different: BTreeSet<&str> = lines.iter().copied().collect();
    assert_eq!((lines.len(), different.len()), (16, 16));
}

#[test]
fn faults_are_drawn() {
    let svg = drawn(&Scene::faulty());
    elements(&svg);
    for class in ["crash", "restart", "cross", "pause"] {
        assert!(svg.contains(&format!("class=\"{class}\"")), "{class}");
    }
    assert!(svg.contains("class=\"k-request copy\"") || svg.contains("class=\"k-grant copy\""));
}

#[test]
fn violations_are_drawn() {
    let svg = drawn(&Scene { algorithm: "ricart-agrawala-no-tie-break", ..Scene::new(2) });
    elements(&svg);
    assert!(svg.contains(">exclusion at P2: P1 is inside</text>"));
}

#[test]
fn clocks_stand_at_every_moment_and_only_if_asked_for() {
    let trace = Scene::faulty().play();
    assert!(!drawn(&Scene::faulty()).contains("clock"));
    for kind in [ClockKind::Lamport, ClockKind::Vector, ClockKind::Both] {
        let svg = draw(&trace, &with_clocks(kind));
        elements(&svg);
        let events = trace.records.iter().filter(|record| record.what.is_event());
        let moments: BTreeSet<_> = events.map(|record| (record.node, record.t)).collect();
        let shown = svg.matches("class=\"clock\"").count();
        assert!(shown * 4 >= moments.len() * 3, "{kind}: {shown} of {}", moments.len());
        assert!(svg.contains("P1.1 requests: 1 (1,0,0)"), "{svg}");
    }
    // P1 requests and sends two REQUESTs at time 0.
    let svg = draw(&trace, &with_clocks(ClockKind::Both));
    assert!(svg.contains(">1–3 (3,0,0)</text>"), "{svg}");
}

#[test]
fn what_is_cut_is_said() {
    let svg = draw(&Scene::new(3).play(), &Options { max_messages: 10, ..Options::default() });
    elements(&svg);
    assert!(svg.contains("the first 10 of 24 messages"), "{svg}");
    assert!(!drawn(&Scene::new(3)).contains("Cut:"));
}

#[test]
fn some_steps_are_drawn_where_they_are_in_time() {
    let trace = Scene::new(3).play();
    let picture = Picture { steps: Some(Steps { from: 30, to: 36 }), ..Picture::default() };
    let svg = draw(&trace, &Options { picture, ..Options::default() });
    elements(&svg);
    assert!(svg.contains("Steps 30 to 36") && !svg.contains("Cut:"), "{svg}");
    let heads = |svg: &str| svg.matches("class=\"head\"").count();
    assert!(heads(&svg) > 2 && heads(&svg) < heads(&drawn(&Scene::new(3))));
    assert!(!svg.contains(">0</text>"), "it does not begin at 0");
}

/// Two nodes, each twice: four client delays, and three times somebody waits when the other one leaves.
#[test]
fn delays_are_measured() {
    let picture = Picture { measures: true, ..Picture::default() };
    let svg = draw(&Scene::new(2).play(), &Options { picture, ..Options::default() });
    elements(&svg);
    assert_eq!(svg.matches(">client delay ").count(), 4);
    assert_eq!(svg.matches(">synchronisation delay 1<").count(), 3, "{svg}");
    assert!(!drawn(&Scene::new(2)).contains("delay"));
}

#[test]
fn payloads_stand_at_the_arrows() {
    let svg = drawn(&Scene::new(2));
    assert!(svg.contains(">REQUEST 1</text>"), "{svg}");
}

#[test]
fn text_is_no_markup() {
    let mut trace = Scene::new(2).play();
    trace.header.command = Some("sim --x \"<b>&</b>\"\u{1b}".into());
    for record in &mut trace.records {
        if let What::Send { label, .. } = &mut record.what {
            *label = "<A&B>".into();
        }
    }
    let svg = draw(&trace, &Options::default());
    assert_eq!(elements(&svg).get("b"), None);
    assert!(svg.contains("&lt;A&amp;B&gt;"));
}

#[test]
fn a_run_of_nothing_is_drawn() {
    let trace = Trace { records: vec![], ..Scene::new(1).play() };
    elements(&draw(&trace, &Options::default()));
}
