//! Trace events for [Perfetto](https://ui.perfetto.dev) and `chrome://tracing`: a node is a thread,
//! a unit of time is a millisecond.

use std::io::{self, Write};

use serde_json::{Value, json};
use skeptron_core::NodeId;

use super::timeline::{Doing, End, Timeline};
use super::{Header, Ticks, Trace, What, wording};

/// The only process.
const PID: u32 = 1;

pub(super) fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut events = Events { out, header: &trace.header, first: true };
    write!(events.out, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    names(trace, &mut events)?;
    let timeline = Timeline::of(trace);
    // Stretches first: at the same time the viewer nests a moment in what comes before it.
    for span in &timeline.spans {
        // Who enters at once has not waited; a stretch without length would lie in what follows it.
        if span.from == span.to && span.doing == Doing::Waiting {
            continue;
        }
        let (name, args) = match span.doing {
            Doing::Waiting => ("waiting", json!({})),
            Doing::Inside { fence } => ("inside", json!({ "fence": fence })),
            Doing::Leading { epoch } => ("leading", json!({ "epoch": epoch.to_string() })),
            Doing::Down => ("down", json!({})),
            Doing::Paused => ("paused", json!({})),
        };
        let dur = events.micros(span.to.saturating_sub(span.from));
        events.add(
            span.from,
            span.node,
            json!({"ph": "X", "name": name, "dur": dur, "args": args}),
        )?;
    }
    for record in trace.shown() {
        let name = wording::event(&record.what, &timeline);
        let args = match &record.what {
            What::Send { message, .. } => json!({ "message": message }),
            _ => json!({}),
        };
        let moment = json!({"ph": "i", "s": "t", "name": name, "args": args});
        events.add(record.t, record.node, moment)?;
        // An end of a flow belongs to the event right before it.
        let ended = |id| timeline.arrow(id).filter(|a| matches!(a.end, End::Delivered(_)));
        let (id, end) = match record.what {
            What::Send { id, .. } | What::Duplicate { id, .. } => (id, "s"),
            What::Deliver { id } => (id, "f"),
            _ => continue,
        };
        if let Some(arrow) = ended(id) {
            let mut flow = json!({"ph": end, "cat": "message", "name": arrow.label, "id": id});
            if end == "f" {
                flow["bp"] = "e".into();
            }
            events.add(record.t, record.node, flow)?;
        }
    }
    writeln!(events.out, "\n]}}")
}

/// The names of the system and of its nodes.
fn names(trace: &Trace, events: &mut Events) -> io::Result<()> {
    let system = NodeId::new(0);
    let name = wording::title(&trace.header);
    events.add(0, system, json!({"ph": "M", "name": "process_name", "args": {"name": name}}))?;
    for node in NodeId::all(trace.header.setup.nodes()) {
        let name = json!({"ph": "M", "name": "thread_name", "args": {"name": node.to_string()}});
        let place = json!({"sort_index": node.index()});
        events.add(0, node, name)?;
        events.add(0, node, json!({"ph": "M", "name": "thread_sort_index", "args": place}))?;
    }
    Ok(())
}

/// Writes event after event.
struct Events<'a> {
    out: &'a mut dyn Write,
    header: &'a Header,
    first: bool,
}

impl Events<'_> {
    fn add(&mut self, t: Ticks, node: NodeId, mut event: Value) -> io::Result<()> {
        event["pid"] = PID.into();
        // Thread 0 is special to some viewers.
        event["tid"] = (node.index() + 1).into();
        event["ts"] = self.micros(t);
        let comma = if std::mem::take(&mut self.first) { "" } else { "," };
        write!(self.out, "{comma}\n{event}")
    }

    /// A whole number where it is one.
    fn micros(&self, t: Ticks) -> Value {
        let micros = u128::from(t) * 1000;
        let per_unit = u128::from(self.header.ticks_per_unit.max(1));
        match u64::try_from(micros / per_unit) {
            Ok(whole) if micros % per_unit == 0 => whole.into(),
            _ => (micros as f64 / per_unit as f64).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample::Scene;

    fn events(scene: &Scene) -> Vec<Value> {
        let mut out = Vec::new();
        write(&scene.play(), &mut out).unwrap();
        let mut trace: Value = serde_json::from_slice(&out).unwrap();
        serde_json::from_value(trace["traceEvents"].take()).unwrap()
    }

    #[test]
    fn every_delivered_message_is_a_flow_with_two_ends() {
        let events = events(&Scene::faulty());
        let ends = |ph: &str| {
            let mut ids: Vec<_> =
                events.iter().filter(|e| e["ph"] == ph).map(|e| e["id"].as_u64()).collect();
            ids.sort_unstable();
            ids
        };
        assert!(!ends("s").is_empty());
        assert_eq!(ends("s"), ends("f"));
        for pair in events.windows(2).filter(|pair| pair[1]["ph"] == "s" || pair[1]["ph"] == "f") {
            assert_eq!(pair[0]["ph"], "i", "a flow has an event to begin or end at");
            assert_eq!((&pair[0]["ts"], &pair[0]["tid"]), (&pair[1]["ts"], &pair[1]["tid"]));
        }
    }

    /// The viewer cannot draw stretches of one thread that overlap without one being in the other.
    #[test]
    fn stretches_nest() {
        let events = events(&Scene::faulty());
        let spans: Vec<_> = events
            .iter()
            .filter(|e| e["ph"] == "X")
            .map(|e| {
                let from = e["ts"].as_u64().unwrap();
                (e["tid"].as_u64(), from, from + e["dur"].as_u64().unwrap())
            })
            .collect();
        assert!(spans.len() > 3);
        for a in &spans {
            for b in spans.iter().filter(|b| a.0 == b.0 && a.1 <= b.1) {
                assert!(b.1 >= a.2 || b.2 <= a.2, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn who_enters_at_once_does_not_wait() {
        let events = events(&Scene::new(1));
        assert!(events.iter().any(|e| e["name"] == "inside"));
        assert!(events.iter().all(|e| e["name"] != "waiting"));
    }

    #[test]
    fn a_unit_is_a_millisecond() {
        let events = events(&Scene { entries: 1, requesters: 1, ..Scene::new(2) });
        let inside = events.iter().find(|e| e["name"] == "inside").unwrap();
        assert_eq!((inside["ts"].as_u64(), inside["dur"].as_u64()), (Some(2000), Some(500)));
        assert_eq!(inside["args"]["fence"], 1);
        let names = events.iter().filter(|e| e["name"] == "thread_name");
        assert_eq!(
            names.map(|e| e["args"]["name"].as_str().unwrap()).collect::<Vec<_>>(),
            ["P1", "P2"]
        );
    }
}
