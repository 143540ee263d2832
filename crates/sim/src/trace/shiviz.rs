//! A log for [ShiViz](https://bestchai.bitbucket.io/shiviz/), which draws happened-before from
//! vector clocks.

use std::io::{self, Write};

use serde_json::{Map, Value};
use skeptron_core::NodeId;
use skeptron_core::time::VectorClock;

use super::clocks::Clocks;
use super::timeline::Timeline;
use super::{Trace, What, wording};

/// How ShiViz takes an event apart. It expects this in the first line of a file, and in the second
/// one what stands between two runs: nothing, as there is only one.
const PARSER: &str = r"(?<host>\S*) (?<clock>{.*})\n(?<event>.*)";

pub(super) fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let timeline = Timeline::of(trace);
    // Every event that ShiViz is told counts, also those of the network.
    let mut clocks = Clocks::counting(&trace.header.setup, What::is_shown);
    writeln!(out, "{PARSER}\n")?;
    for record in trace.shown() {
        let Some(stamp) = clocks.take(record) else { continue };
        writeln!(out, "{} {}", record.node, written(stamp.vector))?;
        let event = wording::event(&record.what, &timeline).replace(['\n', '\r'], " ");
        writeln!(out, "{event} (t = {})", wording::short_units(record.t, &trace.header))?;
    }
    Ok(())
}

/// The nodes of which the clock has heard.
fn written(clock: &VectorClock) -> Value {
    let known = NodeId::all(clock.counts().len()).zip(clock.counts());
    let known = known.filter(|(_, count)| **count > 0);
    Value::Object(Map::from_iter(known.map(|(node, &n)| (node.to_string(), n.into()))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::trace::sample::Scene;

    fn log(scene: &Scene) -> String {
        let mut out = Vec::new();
        write(&scene.play(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn two_nodes_ask_at_once() {
        insta::assert_snapshot!(log(&Scene { entries: 1, ..Scene::new(2) }), @r#"
        (?<host>\S*) (?<clock>{.*})\n(?<event>.*)

        P1 {"P1":1}
        requests (t = 0)
        P1 {"P1":2}
        REQUEST 1 → P2 (t = 0)
        P2 {"P2":1}
        requests (t = 0)
        P2 {"P2":2}
        REQUEST 1 → P1 (t = 0)
        P2 {"P1":2,"P2":3}
        REQUEST 1 ← P1 (t = 1)
        P2 {"P1":2,"P2":4}
        REPLY → P1 (t = 1)
        P1 {"P1":3,"P2":2}
        REQUEST 1 ← P2 (t = 1)
        P1 {"P1":4,"P2":4}
        REPLY ← P2 (t = 2)
        P1 {"P1":5,"P2":4}
        enters, fence 1 (t = 2)
        P1 {"P1":6,"P2":4}
        leaves (t = 2.5)
        P1 {"P1":7,"P2":4}
        REPLY → P2 (t = 2.5)
        P2 {"P1":7,"P2":5}
        REPLY ← P1 (t = 3.5)
        P2 {"P1":7,"P2":6}
        enters, fence 2 (t = 3.5)
        P2 {"P1":7,"P2":7}
        leaves (t = 4)
        "#);
    }

    /// What ShiViz demands: each event is the next one of its host, and what it has heard of others
    /// has happened.
    #[test]
    fn clocks_are_what_shiviz_accepts() {
        let log = log(&Scene::faulty());
        let lines: Vec<_> = log.lines().collect();
        assert_eq!(lines[1], "");
        let mut seen: BTreeMap<String, u64> = BTreeMap::new();
        for event in lines[2..].chunks(2) {
            let (host, clock) = event[0].split_once(' ').unwrap();
            let clock: BTreeMap<String, u64> = serde_json::from_str(clock).unwrap();
            *seen.entry(host.into()).or_default() += 1;
            assert_eq!(clock[host], seen[host]);
            assert!(clock.iter().all(|(node, count)| *count <= seen[node]), "{event:?}");
            assert!(!event[1].is_empty());
        }
    }
}
