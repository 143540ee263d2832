//! The state of a node, or a message, as a value that is read without knowing its type.

mod serializer;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Number, Value as Json};
use skeptron_core::NodeId;

/// What serde tells of a node's state or a message. Structs of one unnamed field are that field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An option without a value.
    None,
    /// An option with one.
    Some(Box<Value>),
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A variant of an enum that carries nothing, or a text.
    Name(Cow<'static, str>),
    /// A node.
    Node(NodeId),
    /// A variant of an enum that carries one unnamed value, or several as a tuple.
    Variant(&'static str, Box<Value>),
    /// A struct, or a variant of an enum, with named fields.
    Fields(&'static str, Vec<(&'static str, Value)>),
    /// A list, a tuple or a set; a map is the set of its keys and values in turn.
    Items(Brackets, Vec<Value>),
}

/// What kind of collection it is, which is shown by its brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brackets {
    /// `[…]`
    List,
    /// `(…)`
    Tuple,
    /// `{…}`
    Set,
}

impl Brackets {
    /// Puts the items between the brackets.
    #[must_use]
    pub fn around(self, items: &str) -> String {
        match self {
            Brackets::List => format!("[{items}]"),
            Brackets::Tuple => format!("({items})"),
            Brackets::Set => format!("{{{items}}}"),
        }
    }
}

impl Value {
    /// The value of `data`.
    ///
    /// # Panics
    /// If `data` cannot be serialised: it is no plain data then.
    #[must_use]
    pub fn of(data: &impl Serialize) -> Value {
        data.serialize(serializer::ToValue).expect("states and messages are plain data")
    }

    /// The value without the name of the variant that carries it.
    #[must_use]
    pub fn unnamed(&self) -> &Value {
        match self {
            Value::Variant(_, value) => value.unnamed(),
            other => other,
        }
    }

    /// The value of a field, of one within another as in `token.queue`.
    #[must_use]
    pub fn field(&self, path: &str) -> Option<&Value> {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        let fields = match self {
            Value::Some(inner) | Value::Variant(_, inner) => return inner.field(path),
            Value::Fields(_, fields) => fields,
            _ => return None,
        };
        let (_, value) = fields.iter().find(|(field, _)| *field == name)?;
        rest.map_or(Some(value), |rest| value.field(rest))
    }

    /// As the papers write it: `waiting`, `{P2, P3}`, `(41, P1)`, `–` for nothing.
    #[must_use]
    pub fn written(&self) -> String {
        let all = |values: &mut dyn Iterator<Item = &Value>, between: &str| {
            values.map(Value::written).collect::<Vec<_>>().join(between)
        };
        match self {
            Value::None => "–".into(),
            Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
            Value::Number(number) => number.to_string(),
            Value::Name(name) => name.to_lowercase(),
            Value::Node(node) => node.to_string(),
            Value::Some(value) | Value::Variant(_, value) => value.written(),
            Value::Fields("Timestamp", fields) => {
                format!("({})", all(&mut fields.iter().map(|(_, value)| value), ", "))
            }
            Value::Fields("Epoch", fields) => all(&mut fields.iter().map(|(_, value)| value), "/"),
            Value::Fields(_, fields) => {
                let pairs =
                    fields.iter().map(|(name, value)| format!("{name}: {}", value.written()));
                format!("({})", pairs.collect::<Vec<_>>().join(", "))
            }
            Value::Items(brackets, items) => brackets.around(&all(&mut items.iter(), ", ")),
        }
    }

    /// The same to draw with: nodes are `"P3"`, a timestamp is `[41, "P3"]`, sets and lists are arrays.
    #[must_use]
    pub fn data(&self) -> Json {
        match self {
            Value::None => Json::Null,
            Value::Bool(yes) => (*yes).into(),
            Value::Number(number) => number.clone().into(),
            Value::Some(value) | Value::Variant(_, value) => value.data(),
            Value::Name(_) | Value::Node(_) | Value::Fields("Epoch", _) => self.written().into(),
            Value::Fields(_, fields) => fields.iter().map(|(_, value)| value.data()).collect(),
            Value::Items(_, items) => items.iter().map(Value::data).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;
    use skeptron_core::time::{LamportClock, Timestamp};
    use skeptron_core::{Epoch, NodeSet};

    use super::*;

    #[derive(Serialize)]
    struct Wrapper(Node);

    #[derive(Serialize)]
    struct Node {
        me: NodeId,
        phase: Phase,
        clock: LamportClock,
        awaiting: NodeSet,
        asked: bool,
        queue: Vec<Timestamp>,
        token: Option<Token>,
        epoch: Epoch,
        last: Option<NodeId>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Phase {
        Idle,
        Accepting(NodeId),
        Between(NodeId, u32),
        Looking { answers: BTreeMap<NodeId, u32> },
    }

    #[derive(Serialize)]
    struct Token {
        ln: Vec<u64>,
        queue: Vec<NodeId>,
    }

    const P2: NodeId = NodeId::new(1);

    fn node(phase: Phase) -> Value {
        Value::of(&Wrapper(Node {
            me: NodeId::new(0),
            phase,
            clock: LamportClock::default(),
            awaiting: [1, 2].map(NodeId::new).into_iter().collect(),
            asked: true,
            queue: vec![Timestamp { clock: 2, node: NodeId::new(0) }],
            token: Some(Token { ln: vec![0, 1], queue: vec![P2] }),
            epoch: Epoch { round: 3, by: P2 },
            last: None,
        }))
    }

    #[test]
    fn values_are_written_as_in_the_papers() {
        let node = node(Phase::Idle);
        let written = |path: &str| node.field(path).map(Value::written);
        for (path, value) in [
            ("me", "P1"),
            ("phase", "idle"),
            ("clock", "0"),
            ("awaiting", "{P2, P3}"),
            ("asked", "yes"),
            ("queue", "[(2, P1)]"),
            ("token", "(ln: [0, 1], queue: [P2])"),
            ("token.queue", "[P2]"),
            ("epoch", "3/P2"),
            ("last", "–"),
        ] {
            assert_eq!(written(path).as_deref(), Some(value), "{path}");
        }
        assert_eq!((written("token.nothing"), written("phase.nothing")), (None, None));
    }

    #[test]
    fn values_are_told_as_data() {
        let node = node(Phase::Idle);
        let data = |path: &str| node.field(path).map(Value::data).unwrap();
        for (path, value) in [
            ("me", json!("P1")),
            ("phase", json!("idle")),
            ("clock", json!(0)),
            ("awaiting", json!(["P2", "P3"])),
            ("asked", json!(true)),
            ("queue", json!([[2, "P1"]])),
            ("token", json!([[0, 1], ["P2"]])),
            ("epoch", json!("3/P2")),
            ("last", json!(null)),
        ] {
            assert_eq!(data(path), value, "{path}");
        }
    }

    #[test]
    fn variants_keep_their_names_and_are_written_as_what_they_carry() {
        let phase = |phase| node(phase).field("phase").cloned().unwrap();
        let accepting = phase(Phase::Accepting(P2));
        assert_eq!(accepting, Value::Variant("accepting", Box::new(Value::Node(P2))));
        assert_eq!((accepting.written(), accepting.unnamed()), ("P2".into(), &Value::Node(P2)));
        assert_eq!(phase(Phase::Between(P2, 7)).written(), "(P2, 7)");
        let looking = phase(Phase::Looking { answers: [(P2, 7)].into() });
        assert_eq!(looking.written(), "(answers: {P2, 7})");
        assert!(matches!(looking, Value::Fields("looking", _)));
    }
}
