//! A Mermaid sequence diagram: rendered by GitHub, GitLab and many editors.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use skeptron_core::NodeId;

use super::clocks::{ClockKind, Clocks};
use super::timeline::{End, Timeline};
use super::{Trace, What, wording};

pub(super) fn write(
    trace: &Trace,
    shown: Option<ClockKind>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let timeline = Timeline::of(&trace.records);
    writeln!(out, "sequenceDiagram")?;
    writeln!(out, "    title {}", plain(&wording::title(&trace.header)))?;
    for node in NodeId::all(trace.header.setup.nodes()) {
        writeln!(out, "    participant {node}")?;
    }
    let mut inside = BTreeSet::new();
    let mut clocks = shown.map(|kind| (kind, Clocks::new(&trace.header.setup)));
    let mut sent = BTreeMap::new();
    for record in trace.shown() {
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
                    let (from, label) = (arrow.from, plain(arrow.label));
                    let ends = sent.get(&arrow.original).zip(stamp);
                    let ends =
                        ends.map(|(from, to)| format!(" [{from} → {to}]")).unwrap_or_default();
                    writeln!(out, "    {from}{line}{node}: {label}{copy}{ends}")?;
                }
            }
            What::Lose { id, cause } => {
                if let Some(arrow) = timeline.arrow(*id) {
                    let (to, label) = (arrow.to, plain(arrow.label));
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
            | What::Expire { .. }
            | What::Elect { .. }
            | What::Refuse { .. }
            | What::Violation { .. } => writeln!(out, "    Note over {node}: {told}")?,
        }
    }
    for arrow in timeline.arrows.iter().filter(|arrow| arrow.end == End::UnderWay) {
        writeln!(out, "    {}-){}: {} under way", arrow.from, arrow.to, plain(arrow.label))?;
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

    fn diagram_with(scene: &Scene, clocks: Option<ClockKind>) -> String {
        let mut out = Vec::new();
        write(&scene.play(), clocks, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn diagram(scene: &Scene) -> String {
        diagram_with(scene, None)
    }

    #[test]
    fn messages_have_the_clocks_of_both_ends() {
        let scene = Scene { entries: 1, copy: &[1], ..Scene::new(2) };
        let diagram = diagram_with(&scene, Some(ClockKind::Lamport));
        insta::assert_snapshot!(diagram.lines().skip(4).take(6).collect::<Vec<_>>().join("\n"), @"");
    }

    #[test]
    fn two_nodes_ask_at_once() {
        insta::assert_snapshot!(diagram(&Scene::new(2)), @"
        sequenceDiagram
            title Ricart–Agrawala, 2 nodes, channels in any order
            participant P1
            participant P2
            P1->>P2: REQUEST
            P2->>P1: REQUEST
            P2->>P1: REPLY
            Note over P1: enters, fence 1
            activate P1
            deactivate P1
            Note over P1: leaves
            P1->>P2: REPLY
            Note over P2: enters, fence 2
            activate P2
            P1->>P2: REQUEST
            deactivate P2
            Note over P2: leaves
            P2->>P1: REPLY
            Note over P1: enters, fence 3
            activate P1
            P2->>P1: REQUEST
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
