//! How the forms that people read put things.

use serde_json::Value;
use skeptron_core::NodeId;
use skeptron_core::catalogue::{self, Algorithm};

use super::timeline::Timeline;
use super::{Header, Loss, Ticks, What};

/// What a run is called: `Ricart–Agrawala, 3 nodes, any order`.
pub(super) fn title(header: &Header) -> String {
    // A broken variant has the title of the sound one: only the name tells them apart.
    let name = match Algorithm::find(&header.algorithm) {
        Some(Algorithm::Mutex(info)) if info.broken.is_none() => info.title,
        Some(Algorithm::Election(info)) if info.broken.is_none() => info.title,
        _ => &header.algorithm,
    };
    let nodes = header.setup.nodes();
    let s = if nodes == 1 { "" } else { "s" };
    let order = match header.order {
        catalogue::Order::Fifo => "FIFO channels",
        catalogue::Order::Any => "channels in any order",
    };
    format!("{name}, {nodes} node{s}, {order}")
}

/// What happens, in a few words.
pub(super) fn event(what: &What, timeline: &Timeline) -> String {
    let ends = |id| timeline.arrow(id).map(|arrow| (arrow.from, arrow.to, timeline.name(arrow)));
    words(what, ends)
}

/// What happens, in a few words that do not say where: `requests`, `REQUEST 41 → P2`. `ends` knows from whom
/// and to whom a message goes, and its name.
pub fn words(what: &What, ends: impl Fn(u64) -> Option<(NodeId, NodeId, String)>) -> String {
    let towards = |id: u64| match ends(id) {
        Some((_, to, name)) => format!("{name} → {to}"),
        None => format!("message {id}"),
    };
    match what {
        What::Request => "requests".into(),
        What::Release => "leaves".into(),
        What::Deliver { id } => match ends(*id) {
            Some((from, _, name)) => format!("{name} ← {from}"),
            None => format!("message {id} arrives"),
        },
        What::Crash => "crashes".into(),
        What::Restart => "restarts".into(),
        What::Pause => "pauses".into(),
        What::Resume => "resumes".into(),
        What::Lose { id, cause } => format!("{} is lost: {}", towards(*id), loss(*cause)),
        What::Duplicate { of, .. } => format!("{} is duplicated", towards(*of)),
        What::Send { id, .. } => towards(*id),
        What::Enter { fence } => format!("enters, fence {fence}"),
        What::Call => "calls an election".into(),
        What::Suspect { whom } => format!("suspects {whom}"),
        What::Trust { whom } => format!("trusts {whom} again"),
        What::Draw { number } => format!("draws {number}"),
        What::Expire { timer } => format!("alarm {} rings", named(timer)),
        What::Arm { timer, after } => format!("sets alarm {}: {after}", named(timer)),
        What::Disarm { timer } => format!("stops alarm {}", named(timer)),
        What::Elect { leader, epoch } => format!("names {leader} leader, epoch {epoch}"),
        What::Refuse { why } => format!("refuses: {why}"),
        What::Violation { property, detail } => format!("violates {property}: {detail}"),
    }
}

/// How a message was lost.
pub(super) fn loss(cause: Loss) -> &'static str {
    match cause {
        Loss::Chance => "by chance",
        Loss::Partition => "its way is cut",
        Loss::Down => "the receiver is down",
        Loss::Hand => "by hand",
    }
}

/// The name of an alarm as serde writes it: `"answer"` or `{"phase":3}`.
fn named(timer: &Value) -> String {
    match timer {
        Value::String(name) => name.clone(),
        Value::Object(variant) if variant.len() == 1 => {
            let fields = content(timer);
            let name = variant.keys().next().map_or("", String::as_str);
            format!("{name} ({fields})")
        }
        other => other.to_string(),
    }
}

/// What a message says apart from its kind: `t=3, node=2`; nothing if it says no more than its kind.
pub(super) fn content(message: &Value) -> String {
    let fields = match message {
        // As serde writes an enum: `"Kind"` or `{"Kind": fields}`.
        Value::String(_) => return String::new(),
        Value::Object(variant) if variant.len() == 1 => variant.values().next(),
        other => Some(other),
    };
    match fields {
        Some(Value::Object(fields)) => {
            let pairs = fields.iter().map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>().join(", ")
        }
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// A time in units, for computing.
pub(super) fn units(t: Ticks, header: &Header) -> f64 {
    t as f64 / header.ticks_per_unit.max(1) as f64
}

/// A time in units, as short as it can be said with three decimals.
pub(super) fn short_units(t: Ticks, header: &Header) -> String {
    short(units(t, header))
}

/// A number with three decimals at most.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_leaves_the_kind_out() {
        assert_eq!(content(&json!("Token")), "");
        assert_eq!(content(&json!({"Request": {"t": 3, "u": [1, 2]}})), "t=3, u=[1,2]");
        assert_eq!(content(&json!({"Request": 7})), "7");
    }

    #[test]
    fn alarms_have_names() {
        assert_eq!(named(&json!("answer")), "answer");
        assert_eq!(named(&json!({"phase": {"k": 3}})), "phase (k=3)");
        assert_eq!(named(&json!(3)), "3");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(10.0), "10");
        assert_eq!(short(0.25), "0.25");
        assert_eq!(short(1.0 / 3.0), "0.333");
    }
}
