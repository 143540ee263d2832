//! What fields hold: JSON of a program to data of the laboratory and back.

use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value, json};
use skeptron_core::NodeId;
use skeptron_core::mutex::foreign::Data;
use skeptron_core::time::Timestamp;

use crate::names;

/// What a field holds: an item, or several as a list or a set. Instead of either there may be `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    item: Item,
    many: Many,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Any,
    Node,
    Clock,
    Requests,
    Stamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Many {
    One,
    List,
    Set,
}

impl Type {
    pub(crate) const ANY: Type = Type { item: Item::Any, many: Many::One };
}

const ITEMS: [(&str, Item); 5] = [
    ("any", Item::Any),
    ("node", Item::Node),
    ("clock", Item::Clock),
    ("requests", Item::Requests),
    ("stamp", Item::Stamp),
];

impl FromStr for Type {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, many) = match text {
            _ if text.ends_with("-list") => (&text[..text.len() - 5], Many::List),
            _ if text.ends_with("-set") => (&text[..text.len() - 4], Many::Set),
            _ => (text, Many::One),
        };
        let item = ITEMS.iter().find(|(name, _)| *name == word).map(|&(_, item)| item);
        let item = item.ok_or_else(|| {
            format!(
                "`{text}` is no type; use any, node, clock, requests or stamp, or several of one as in \
                 node-set or stamp-list"
            )
        })?;
        Ok(Type { item, many })
    }
}

/// What is wrong with a value, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misfit {
    place: String,
    why: String,
}

impl Misfit {
    pub(crate) fn new(place: &str, why: impl Into<String>) -> Self {
        Misfit { place: place.into(), why: why.into() }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

/// Reads values of a system of so many nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader {
    pub(crate) nodes: usize,
}

impl Reader {
    /// A value of that type, which stands at `place`.
    pub(crate) fn read(self, kind: Type, value: &Value, place: &str) -> Result<Data, Misfit> {
        if value.is_null() {
            return Ok(Data::None);
        }
        if kind.many == Many::One {
            return self.item(kind.item, value, place);
        }
        let Value::Array(items) = value else {
            return Err(Misfit::new(place, format!("a list is expected, not {value}")));
        };
        let item =
            |(at, item): (usize, &Value)| self.item(kind.item, item, &format!("{place}[{at}]"));
        let mut items: Vec<Data> = items.iter().enumerate().map(item).collect::<Result<_, _>>()?;
        if kind.many == Many::List {
            return Ok(Data::List(items));
        }
        items.sort();
        items.dedup();
        Ok(Data::Set(items))
    }

    fn item(self, item: Item, value: &Value, place: &str) -> Result<Data, Misfit> {
        match item {
            Item::Any => self.any(value, place),
            Item::Node => Ok(Data::Node(self.node(value, place)?)),
            Item::Clock => Ok(Data::Clock(count(value, place)?)),
            Item::Requests => Ok(Data::Requests(count(value, place)?)),
            Item::Stamp => match value.as_array().map(Vec::as_slice) {
                Some([clock, node]) => {
                    let clock = count(clock, place)?;
                    Ok(Data::Stamp(Timestamp::new(clock, self.node(node, place)?)))
                }
                _ => Err(Misfit::new(
                    place,
                    format!("a stamp is a clock and a node, as in [3, 1], not {value}"),
                )),
            },
        }
    }

    /// One of the nodes, counted from 1.
    pub(crate) fn node(self, value: &Value, place: &str) -> Result<NodeId, Misfit> {
        match value.as_u64() {
            Some(number) if (1..=self.nodes as u64).contains(&number) => {
                Ok(NodeId::new(number as usize - 1))
            }
            _ => Err(Misfit::new(
                place,
                format!("{value} is no node; they are numbered from 1 to {}", self.nodes),
            )),
        }
    }

    fn any(self, value: &Value, place: &str) -> Result<Data, Misfit> {
        Ok(match value {
            Value::Null => Data::None,
            Value::Bool(yes) => Data::Bool(*yes),
            Value::Number(number) => Data::Number(number.as_i64().ok_or_else(|| {
                Misfit::new(place, format!("numbers are whole and below 2^63, and {number} is not"))
            })?),
            Value::String(text) => Data::Text(text.as_str().into()),
            Value::Array(items) => {
                let item = |(at, item)| self.any(item, &format!("{place}[{at}]"));
                Data::List(items.iter().enumerate().map(item).collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => self.fields(fields, |_| Type::ANY, place)?,
        })
    }

    /// Named values, each of its type, in the order of their names.
    pub(crate) fn fields(
        self,
        fields: &Map<String, Value>,
        type_of: impl Fn(&str) -> Type,
        place: &str,
    ) -> Result<Data, Misfit> {
        let field = |(name, value): (&String, &Value)| {
            let place = format!("{place}.{name}");
            let lasting = names::lasting(name).ok_or_else(|| {
                let most = names::MOST;
                Misfit::new(&place, format!("there are more than {most} names; use lists for data"))
            })?;
            Ok((lasting, self.read(type_of(name), value, &place)?))
        };
        let mut data: Vec<_> = fields.iter().map(field).collect::<Result<_, Misfit>>()?;
        data.sort_by_key(|(name, _)| *name);
        Ok(Data::Fields(data))
    }
}

fn count(value: &Value, place: &str) -> Result<u64, Misfit> {
    let fits = value.as_u64().filter(|count| *count < 1 << 62);
    fits.ok_or_else(|| {
        Misfit::new(place, format!("a whole number from 0 up is expected, not {value}"))
    })
}

/// Data as a program reads it.
pub(crate) fn json(data: &Data) -> Value {
    match data {
        Data::None => Value::Null,
        Data::Bool(yes) => json!(yes),
        Data::Number(number) => json!(number),
        Data::Text(text) => json!(&**text),
        Data::Node(node) => json!(node),
        Data::Clock(value) | Data::Requests(value) => json!(value),
        Data::Stamp(stamp) => json!([stamp.clock, stamp.node]),
        Data::List(items) | Data::Set(items) => items.iter().map(json).collect(),
        Data::Fields(fields) => fields.iter().map(|(name, value)| (*name, json(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, value: Value) -> Result<String, String> {
        let kind = kind.parse()?;
        let data =
            Reader { nodes: 3 }.read(kind, &value, "x").map_err(|misfit| misfit.to_string())?;
        let again = Reader { nodes: 3 }.read(kind, &json(&data), "x");
        assert_eq!(again.as_ref(), Ok(&data), "what is told is read again");
        Ok(data.to_string())
    }

    #[test]
    fn values_are_read_by_their_types() {
        for (kind, value, written) in [
            ("any", json!({"b": [1, -2], "a": "x"}), "(a: x, b: [1, -2])"),
            ("any", json!(null), "–"),
            ("node", json!(3), "P3"),
            ("node", json!(null), "–"),
            ("node-list", json!([2, 1]), "[P2, P1]"),
            ("node-set", json!([3, 1, 3]), "{P1, P3}"),
            ("clock", json!(7), "7"),
            ("requests-list", json!([0, 4]), "[0, 4]"),
            ("stamp-list", json!([[2, 1]]), "[(2, P1)]"),
        ] {
            assert_eq!(read(kind, value), Ok(written.into()), "{kind}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (kind, value, why) in [
            ("node", json!(4), "x: 4 is no node; they are numbered from 1 to 3"),
            ("node", json!(0), "x: 0 is no node; they are numbered from 1 to 3"),
            (
                "node-set",
                json!([1, "P2"]),
                "x[1]: \"P2\" is no node; they are numbered from 1 to 3",
            ),
            ("node-set", json!(1), "x: a list is expected, not 1"),
            ("clock", json!(-1), "x: a whole number from 0 up is expected, not -1"),
            ("stamp", json!([1]), "x: a stamp is a clock and a node, as in [3, 1], not [1]"),
            ("any", json!([0.5]), "x[0]: numbers are whole and below 2^63, and 0.5 is not"),
        ] {
            assert_eq!(read(kind, value), Err(why.into()), "{kind}");
        }
        assert!(read("nodes", json!(1)).unwrap_err().starts_with("`nodes` is no type; use any"));
    }
}
