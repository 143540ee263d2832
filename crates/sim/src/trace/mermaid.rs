//! A Mermaid sequence diagram: rendered by GitHub, GitLab and many editors.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;

use skeptron_core::NodeId;

use super::clocks::{ClockKind, Clocks};
use super::timeline::{Arrow, End, Timeline};
use super::{Trace, What, wording};

pub(super) fn write(
    trace: &Trace,
    part: Range<usize>,
    shown: Option<ClockKind>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let timeline = Timeline::within(trace, part.clone());
    writeln!(out, "sequenceDiagram")?;
    writeln!(out, "    title {}", plain(&wording::title(&trace.header)))?;
    for node in NodeId::all(trace.header.setup.nodes()) {
        writeln!(out, "    participant {node}")?;
    }
    let says = |arrow: &Arrow| plain(&timeline.name(arrow));
    let mut inside = BTreeSet::new();
    let mut clocks = shown.map(|kind| (kind, Clocks::new(&trace.header.setup)));
    let mut sent = BTreeMap::new();
    for record in &trace.records[..part.start] {
        match record.what {
            What::Enter { .. } => inside.insert(record.node),
            What::Release | What::Crash => inside.remove(&record.node),
            _ => false,
        };
        let stamp =
            clocks.as_mut().and_then(|(kind, clocks)| Some(clocks.take(record)?.written(*kind)));
        if let (What::Send { id, .. }, Some(stamp)) = (&record.what, stamp) {
            sent.insert(*id, stamp);
        }
    }
    for node in &inside {
        writeln!(out, "    activate {node}")?;
    }
    for record in trace.records[part].iter().filter(|record| record.what.is_shown()) {
        let node = record.node;
        let stamp =
            clocks.as_mut().and_then(|(kind, clocks)| Some(clocks.take(record)?.written(*kind)));
        let told = plain(&wording::event(&record.what, &timeline));
        let told = stamp.iter().fold(told, |told, stamp| format!("{told} [{stamp}]"));
        match &record.what {
            // A row of the diagram is one moment, so a message is drawn when it arrives.
            What::Send { id, .. } => drop(stamp.map(|stamp| sent.insert(*id, stamp))),
            What::Request | What::Arm { .. } | What::Disarm { .. } => {}
            What::Deliver { id } => {
                if let Some(arrow) = timeline.arrow(*id) {
                    let (line, copy) = if arrow.copy { ("-->>", " (copy)") } else { ("->>", "") };
                    let (from, label) = (arrow.from, says(arrow));
                    let ends = sent.get(&arrow.original).zip(stamp);
                    let ends =
                        ends.map(|(from, to)| format!(" [{from} → {to}]")).unwrap_or_default();
                    writeln!(out, "    {from}{line}{node}: {label}{copy}{ends}")?;
                }
            }
            What::Lose { id, cause } => {
                if let Some(arrow) = timeline.arrow(*id) {
                    let (to, label) = (arrow.to, says(arrow));
                    writeln!(out, "    {node}-x{to}: {label} lost, {}", wording::loss(*cause))?;
                }
            }
            What::Enter { .. } => {
                writeln!(out, "    Note over {node}: {told}")?;
                if inside.insert(node) {
                    writeln!(out, "    activate {node}")?;
                }
            }
            What::Release | What::Crash => {
                if inside.remove(&node) {
                    writeln!(out, "    deactivate {node}")?;
                }
                writeln!(out, "    Note over {node}: {told}")?;
            }
            What::Restart
            | What::Pause
            | What::Resume
            | What::Duplicate { .. }
            | What::Call
            | What::Suspect { .. }
            | What::Trust { .. }
            | What::Draw { .. }
            | What::Expire { .. }
            | What::Elect { .. }
            | What::Refuse { .. }
            | What::Violation { .. } => writeln!(out, "    Note over {node}: {told}")?,
        }
    }
    for arrow in timeline.arrows.iter().filter(|arrow| arrow.end == End::UnderWay) {
        writeln!(out, "    {}-){}: {} under way", arrow.from, arrow.to, says(arrow))?;
    }
    Ok(())
}

/// Text in which Mermaid finds no syntax of its own.
fn plain(text: &str) -> String {
    let escape = |c: char| match c {
        '#' | ';' | '<' | '>' | '&' | '%' => format!("#{};", c as u32),
        c if c.is_control() => " ".into(),
        c => c.into(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample::Scene;
    use crate::trace::{Format, Picture, Steps};

    fn diagram_with(scene: &Scene, clocks: Option<ClockKind>) -> String {
        let mut out = Vec::new();
        let picture = Picture { clocks, ..Picture::default() };
        scene.play().write_picture(Format::Mermaid, picture, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn diagram(scene: &Scene) -> String {
        diagram_with(scene, None)
    }

    #[test]
    fn messages_have_the_clocks_of_both_ends() {
        let scene = Scene { entries: 1, ..Scene::new(2) };
        let diagram = diagram_with(&scene, Some(ClockKind::Lamport));
        let lines: Vec<&str> = diagram.lines().skip(4).take(6).map(str::trim).collect();
        insta::assert_snapshot!(lines.join("\n"), @"
        P1->>P2: REQUEST 1 [2 → 3]
        P2->>P1: REQUEST 1 [2 → 3]
        P2->>P1: REPLY [4 → 5]
        Note over P1: enters, fence 1 [6]
        activate P1
        deactivate P1
        ");
    }

    #[test]
    fn two_nodes_ask_at_once() {
        insta::assert_snapshot!(diagram(&Scene::new(2)), @"
        sequenceDiagram
            title Ricart–Agrawala, 2 nodes, channels in any order
            participant P1
            participant P2
            P1->>P2: REQUEST 1
            P2->>P1: REQUEST 1
            P2->>P1: REPLY
            Note over P1: enters, fence 1
            activate P1
            deactivate P1
            Note over P1: leaves
            P1->>P2: REPLY
            Note over P2: enters, fence 2
            activate P2
            P1->>P2: REQUEST 2
            deactivate P2
            Note over P2: leaves
            P2->>P1: REPLY
            Note over P1: enters, fence 3
            activate P1
            P2->>P1: REQUEST 3
            deactivate P1
            Note over P1: leaves
            P1->>P2: REPLY
            Note over P2: enters, fence 4
            activate P2
            deactivate P2
            Note over P2: leaves
        ");
    }

    #[test]
    fn some_steps_begin_with_who_is_inside() {
        let mut out = Vec::new();
        let picture = Picture { steps: Some(Steps { from: 6, to: 7 }), ..Picture::default() };
        Scene::new(2).play().write_picture(Format::Mermaid, picture, &mut out).unwrap();
        insta::assert_snapshot!(String::from_utf8(out).unwrap(), @"
        sequenceDiagram
            title Ricart–Agrawala, 2 nodes, channels in any order
            participant P1
            participant P2
            activate P1
            deactivate P1
            Note over P1: leaves
            P1-)P2: REPLY under way
            P1-)P2: REQUEST 2 under way
        ");
    }

    #[test]
    fn every_activation_ends_before_the_next_begins() {
        let diagram = diagram(&Scene::faulty());
        for node in ["P1", "P2", "P3"] {
            let of_node = |line: &str, verb: &str| line.trim() == format!("{verb} {node}");
            let mut active = false;
            for line in diagram.lines() {
                if of_node(line, "activate") {
                    assert!(!std::mem::replace(&mut active, true), "{diagram}");
                } else if of_node(line, "deactivate") {
                    assert!(std::mem::replace(&mut active, false), "{diagram}");
                }
            }
        }
        assert!(diagram.contains("-x") && diagram.contains("-->>"), "{diagram}");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(plain("a;b #1 → c\nd"), "a#59;b #35;1 → c d");
    }
}
