//! What a node knows, on one line: without what never changes and what says nothing.

use std::collections::BTreeSet;

use skeptron_sim::value::Value;

/// Whether it says nothing: no, none, empty, and zero unless `zeros` count.
fn is_nothing(value: &Value, zeros: bool) -> bool {
    match value {
        Value::None => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => !zeros && number.as_u64() == Some(0),
        Value::Name(name) => name.is_empty(),
        Value::Node(_) | Value::Some(_) => false,
        Value::Variant(_, value) => is_nothing(value, zeros),
        Value::Fields(_, fields) => fields.iter().all(|(_, value)| is_nothing(value, zeros)),
        Value::Items(_, items) => items.iter().all(|item| is_nothing(item, zeros)),
    }
}

/// What it says, in a few words.
fn words(value: &Value, live: &Live, path: &str) -> String {
    let all = |values: &mut dyn Iterator<Item = &Value>, between: &str| {
        values.map(|value| words(value, live, path)).collect::<Vec<_>>().join(between)
    };
    match value {
        Value::None => "none".into(),
        Value::Bool(yes) => yes.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Name(name) => name.to_lowercase(),
        Value::Node(node) => node.to_string(),
        Value::Some(value) | Value::Variant(_, value) => words(value, live, path),
        // As the papers write it.
        Value::Fields("Timestamp", fields) => {
            format!("({})", all(&mut fields.iter().map(|(_, value)| value), ","))
        }
        Value::Fields("Epoch", fields) => all(&mut fields.iter().map(|(_, value)| value), "/"),
        Value::Fields(_, fields) => told(fields, live, path).join(" "),
        Value::Items(brackets, items) => brackets.around(&all(&mut items.iter(), ",")),
    }
}

/// The fields that say something, the phase first.
fn told(fields: &[(&'static str, Value)], live: &Live, path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for (name, value) in fields {
        let path = format!("{path}/{name}");
        if is_nothing(value, live.zeros) || !live.shows(&path) {
            continue;
        }
        let words = words(value, live, &path);
        let (inner, is_some) = match value.unnamed() {
            Value::Some(inner) => (inner.unnamed(), true),
            other => (other, false),
        };
        match inner {
            Value::Fields("Timestamp" | "Epoch", _) | Value::Items(..) => {
                parts.push(format!("{name}={words}"));
            }
            // A token is there even if it carries nothing.
            Value::Fields(..) if words.is_empty() => {
                if is_some {
                    parts.push(name.to_string());
                }
            }
            Value::Fields(..) => parts.push(format!("{name}({words})")),
            _ if *name == "phase" => parts.insert(0, words),
            Value::Bool(true) => parts.push(name.to_string()),
            _ => parts.push(format!("{name}={words}")),
        }
    }
    parts
}

/// Which fields change in the course of a run: only those are worth reading.
#[derive(Default)]
pub(crate) struct Live {
    changed: BTreeSet<String>,
    /// Whether a zero is worth reading, too.
    zeros: bool,
}

impl Live {
    /// Every field.
    fn all() -> Self {
        Live { changed: BTreeSet::from([String::new()]), zeros: true }
    }

    /// What will be noted, zeros, too.
    pub(crate) fn with_zeros() -> Self {
        Live { zeros: true, ..Live::default() }
    }

    /// Notes what changes from one state of a node to another.
    pub(crate) fn note(&mut self, before: &Value, after: &Value) {
        self.compare(before, after, "");
    }

    fn compare(&mut self, before: &Value, after: &Value, path: &str) {
        match (before, after) {
            (Value::Fields(_, old), Value::Fields(_, new)) => {
                for ((name, old), (_, new)) in old.iter().zip(new) {
                    self.compare(old, new, &format!("{path}/{name}"));
                }
            }
            (Value::Some(old), Value::Some(new)) => self.compare(old, new, path),
            _ if before != after => {
                self.changed.insert(path.to_string());
            }
            _ => {}
        }
    }

    /// Whether a field changes, or is part of something that does, or has such a part.
    fn shows(&self, path: &str) -> bool {
        let within = |outer: &str, inner: &str| {
            inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.changed.iter().any(|changed| within(changed, path) || within(path, changed))
    }
}

/// A node's state on one line.
pub(crate) fn state(node: &Value, live: &Live) -> String {
    words(node, live, "")
}

/// What a message says apart from its kind: `(t=1)`, or nothing.
pub(crate) fn content(message: &Value, label: &str) -> String {
    let live = Live::all();
    let message = match message.unnamed() {
        // All that it carries is one record.
        Value::Fields(_, fields) if matches!(&fields[..], [(_, Value::Fields(..))]) => &fields[0].1,
        other => other,
    };
    let parts = match message {
        Value::Fields("Epoch", _) => vec![words(message, &live, "")],
        Value::Fields(_, fields) => {
            // A message may be a record with its kind as a field.
            let is_kind = |value: &Value| matches!(value, Value::Name(name) if name.eq_ignore_ascii_case(label));
            let others: Vec<(&str, Value)> =
                fields.iter().filter(|(_, value)| !is_kind(value)).cloned().collect();
            told(&others, &live, "")
        }
        Value::Items(..) if !is_nothing(message, true) => vec![words(message, &live, "")],
        _ => Vec::new(),
    };
    if parts.is_empty() { String::new() } else { format!("({})", parts.join(" ")) }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use skeptron_core::time::{LamportClock, Timestamp};
    use skeptron_core::{Epoch, NodeId, NodeSet};

    use super::*;

    #[derive(Clone, Serialize)]
    struct Node {
        me: NodeId,
        phase: Phase,
        clock: LamportClock,
        awaiting: NodeSet,
        asked: bool,
        queue: Vec<Timestamp>,
        token: Option<Token>,
        part: Part,
    }

    #[derive(Clone, Serialize)]
    enum Phase {
        Idle,
        Waiting,
    }

    #[derive(Clone, Serialize)]
    struct Token {
        ln: Vec<u64>,
        queue: Vec<NodeId>,
    }

    #[derive(Clone, Serialize)]
    struct Part {
        size: u32,
        holder: Option<NodeId>,
    }

    #[derive(Serialize)]
    enum Msg {
        Request { t: u64 },
        Reply,
        Ok(Epoch),
        Privilege { token: Token },
        Token(Token),
    }

    #[derive(Serialize)]
    struct Worded {
        word: Word,
        stamp: u64,
        clock: u64,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        Locked,
    }

    const P1: NodeId = NodeId::new(0);
    const P2: NodeId = NodeId::new(1);

    #[test]
    fn a_state_is_what_changes_and_says_something() {
        let before = Node {
            me: P1,
            phase: Phase::Idle,
            clock: LamportClock::default(),
            awaiting: NodeSet::new(),
            asked: false,
            queue: Vec::new(),
            token: None,
            part: Part { size: 3, holder: Some(P1) },
        };
        let mut clock = before.clock;
        clock.tick();
        let after = Node {
            phase: Phase::Waiting,
            clock,
            awaiting: NodeSet::others(3, P1),
            asked: true,
            queue: vec![Timestamp { clock: 2, node: P1 }],
            token: Some(Token { ln: vec![0, 1], queue: Vec::new() }),
            part: Part { size: 3, holder: Some(P2) },
            ..before.clone()
        };
        let (before, after) = (Value::of(&before), Value::of(&after));
        let mut live = Live::default();
        live.note(&before, &after);
        assert_eq!(state(&before, &live), "idle part(holder=P1)");
        assert_eq!(
            state(&after, &live),
            "waiting clock=1 awaiting={P2,P3} asked queue=[(2,P1)] token(ln=[0,1]) part(holder=P2)"
        );
    }

    #[test]
    fn a_message_says_more_than_its_kind() {
        let said = |message: Msg, label| content(&Value::of(&message), label);
        assert_eq!(said(Msg::Request { t: 3 }, "REQUEST"), "(t=3)");
        assert_eq!(said(Msg::Reply, "REPLY"), "");
        assert_eq!(said(Msg::Ok(Epoch { round: 2, by: P1 }), "OK"), "(2/P1)");
        let token = || Token { ln: vec![0, 1], queue: vec![P2] };
        let privilege = Msg::Privilege { token: token() };
        assert_eq!(said(privilege, "PRIVILEGE"), "(ln=[0,1] queue=[P2])");
        assert_eq!(said(Msg::Token(token()), "TOKEN"), "(ln=[0,1] queue=[P2])");
        let locked = Worded { word: Word::Locked, stamp: 1, clock: 0 };
        assert_eq!(content(&Value::of(&locked), "LOCKED"), "(stamp=1 clock=0)");
    }
}
