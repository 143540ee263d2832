//! What the states and messages of a program are made of.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use serde::ser::{SerializeStruct as _, SerializeStructVariant as _};
use serde::{Serialize, Serializer};

use crate::time::Timestamp;
use crate::{Counter, NodeId};

/// A value of a program, with the types that the program declares for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Data {
    /// Nothing.
    None,
    /// Yes or no.
    Bool(bool),
    /// A number that is no counter.
    Number(i64),
    /// A text.
    Text(Arc<str>),
    /// A node.
    Node(NodeId),
    /// A value of a logical clock.
    Clock(u64),
    /// How often a node has asked: in a list the node at that place, else whose state or message it is.
    Requests(u64),
    /// A request's clock and node.
    Stamp(Timestamp),
    /// Values in order.
    List(Vec<Data>),
    /// Values in ascending order, each once.
    Set(Vec<Data>),
    /// Named values, in the order of their names.
    Fields(Vec<(&'static str, Data)>),
}

impl Data {
    /// Shows the counters within; `owner` is whose state it is, or who sent it.
    fn counters(&mut self, owner: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        match self {
            Data::Clock(value) => each(Counter::Clock, value),
            Data::Stamp(stamp) => each(Counter::Clock, &mut stamp.clock),
            Data::Requests(value) => each(Counter::Requests(owner), value),
            Data::List(items) => {
                for (place, item) in items.iter_mut().enumerate() {
                    match item {
                        Data::Requests(value) => each(Counter::Requests(NodeId::new(place)), value),
                        other => other.counters(owner, each),
                    }
                }
            }
            Data::Set(items) => {
                items.iter_mut().for_each(|item| item.counters(owner, each));
            }
            Data::Fields(fields) => {
                fields.iter_mut().for_each(|(_, value)| value.counters(owner, each));
            }
            Data::None | Data::Bool(_) | Data::Number(_) | Data::Text(_) | Data::Node(_) => {}
        }
    }
}

/// As papers write it: `waiting`, `{P2, P3}`, `(41, P1)`, `–` for nothing.
impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all =
            |items: &[Data]| items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Data::None => f.write_str("–"),
            Data::Bool(yes) => f.write_str(if *yes { "yes" } else { "no" }),
            Data::Number(number) => number.fmt(f),
            Data::Text(text) => f.write_str(text),
            Data::Node(node) => node.fmt(f),
            Data::Clock(value) | Data::Requests(value) => value.fmt(f),
            Data::Stamp(Timestamp { clock, node }) => write!(f, "({clock}, {node})"),
            Data::List(items) => write!(f, "[{}]", all(items)),
            Data::Set(items) => write!(f, "{{{}}}", all(items)),
            Data::Fields(fields) => {
                let field = |(name, value): &(&str, Data)| format!("{name}: {value}");
                write!(f, "({})", fields.iter().map(field).collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// As the algorithms of the catalogue are serialised, so that whoever reads a state need not know where it
/// comes from.
impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Data::None => serializer.serialize_none(),
            Data::Bool(yes) => serializer.serialize_bool(*yes),
            Data::Number(number) => match u64::try_from(*number) {
                Ok(number) => serializer.serialize_u64(number),
                Err(_) => serializer.serialize_i64(*number),
            },
            Data::Text(text) => serializer.serialize_str(text),
            Data::Node(node) => node.serialize(serializer),
            Data::Clock(value) | Data::Requests(value) => serializer.serialize_u64(*value),
            Data::Stamp(stamp) => stamp.serialize(serializer),
            Data::List(items) => items.serialize(serializer),
            // By its name a serializer can tell it from a list.
            Data::Set(items) => serializer.serialize_newtype_struct("NodeSet", items),
            Data::Fields(fields) => {
                let mut fields_of = serializer.serialize_struct("Fields", fields.len())?;
                for (name, value) in fields {
                    fields_of.serialize_field(name, value)?;
                }
                fields_of.end()
            }
        }
    }
}

/// Data that is cloned, compared and hashed often: all of that is cheap.
#[derive(Clone)]
pub struct Content(Arc<Hashed>);

struct Hashed {
    /// Of the data alone: the same in every run.
    hash: u64,
    data: Data,
}

impl Content {
    /// With this in it.
    #[must_use]
    pub fn new(data: Data) -> Self {
        let mut hasher = DefaultHasher::new();
        data.hash(&mut hasher);
        Content(Arc::new(Hashed { hash: hasher.finish(), data }))
    }

    /// What is in it.
    #[must_use]
    pub fn data(&self) -> &Data {
        &self.0.data
    }

    /// The named values, if that is what it is.
    #[must_use]
    pub fn fields(&self) -> &[(&'static str, Data)] {
        match self.data() {
            Data::Fields(fields) => fields,
            _ => &[],
        }
    }

    /// The same with so much more on the logical clock that is named `clock`, if there is one.
    pub(super) fn with_clock(&self, more: u64) -> Option<Self> {
        let mut data = self.0.data.clone();
        let Data::Fields(fields) = &mut data else { return None };
        let clock = fields.iter_mut().find(|(name, _)| *name == "clock");
        let Some((_, Data::Clock(value))) = clock else { return None };
        *value += more;
        Some(Content::new(data))
    }

    /// As [`crate::Protocol::counters`].
    pub(super) fn counters(&mut self, owner: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        let mut data = self.0.data.clone();
        data.counters(owner, each);
        if data != self.0.data {
            *self = Content::new(data);
        }
    }

    /// As a variant of an enum of messages.
    pub(super) fn serialize_variant<S: Serializer>(
        &self,
        (number, name): (u32, &'static str),
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let fields = self.fields();
        if fields.is_empty() {
            return serializer.serialize_unit_variant("Message", number, name);
        }
        let mut variant =
            serializer.serialize_struct_variant("Message", number, name, fields.len())?;
        for (name, value) in fields {
            variant.serialize_field(name, value)?;
        }
        variant.end()
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &Hashed, other: &Hashed| one.hash == other.hash && one.data == other.data;
        Arc::ptr_eq(&self.0, &other.0) || same(&self.0, &other.0)
    }
}

impl Eq for Content {}

impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data().fmt(f)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.data().fmt(f)
    }
}
