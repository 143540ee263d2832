//! What a program says of itself: an entry of the catalogue, and what its fields hold.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use skeptron_core::catalogue::{Family, Info, Layout, Order, Variable};
use skeptron_core::claims::{Claims, Condition, Published, Quantity};
use skeptron_core::mutex::foreign::{Content, Data, ForeignMsg};
use skeptron_core::{Claim, Formula, Message as _};

use crate::names::{all_declared, declared};
use crate::types::{Misfit, Reader, Type};

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;

/// The answer to `describe`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Description {
    skeptron: u32,
    title: Option<String>,
    #[serde(default)]
    paper: String,
    #[serde(default)]
    idea: String,
    family: Option<String>,
    channel: Option<Order>,
    messages: Messages,
    #[serde(default)]
    variables: Ordered<Value>,
    #[serde(default)]
    claims: Vec<DeclaredClaim>,
    #[serde(default)]
    ordered: bool,
    #[serde(default)]
    rules: Vec<String>,
    #[serde(default)]
    fires: Vec<String>,
    #[serde(default)]
    notes: Vec<String>,
}

/// Kinds of messages with what their fields hold, or their names alone.
#[derive(Debug)]
enum Messages {
    Typed(Ordered<Ordered<String>>),
    Named(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DeclaredClaim {
    of: Quantity,
    exactly: Option<String>,
    from: Option<String>,
    to: Option<String>,
    on_average: Option<String>,
    #[serde(default)]
    when: Vec<Condition>,
}

/// The entries of an object in the order in which they were written, each name once.
#[derive(Debug)]
struct Ordered<T>(Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Ordered(Vec::new())
    }
}

/// What holds the fields of a kind of message.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    /// `None` if it may carry anything.
    fields: Option<Vec<(String, Type)>>,
}

/// What the states and messages of a program hold.
#[derive(Debug)]
pub(crate) struct Shapes {
    kinds: Vec<Kind>,
    names: &'static [&'static str],
    variables: Vec<(String, Type)>,
}

impl Description {
    /// What is read of an answer.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        let read: Description = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if read.skeptron != VERSION {
            let version = read.skeptron;
            return Err(format!("skeptron: version {version} is not known; this is {VERSION}"));
        }
        Ok(read)
    }

    /// What its states and messages hold.
    pub(crate) fn shapes(&self) -> Result<Shapes, String> {
        let kinds: Vec<Kind> = match &self.messages {
            Messages::Named(names) => {
                names.iter().map(|name| Kind { name: declared(name), fields: None }).collect()
            }
            Messages::Typed(kinds) => {
                let typed = |(name, fields): &(String, Ordered<String>)| {
                    let field = |(field, kind): &(String, String)| {
                        let place = |why| format!("messages.{name}.{field}: {why}");
                        if field == "kind" {
                            return Err(place("every message has one; take another name".into()));
                        }
                        Ok((field.clone(), kind.parse().map_err(place)?))
                    };
                    let fields = fields.0.iter().map(field).collect::<Result<_, String>>()?;
                    Ok(Kind { name: declared(name), fields: Some(fields) })
                };
                kinds.0.iter().map(typed).collect::<Result<_, String>>()?
            }
        };
        for (place, kind) in kinds.iter().enumerate() {
            if kind.name.trim().is_empty() {
                return Err("messages: a kind has no name".into());
            }
            if kinds[..place].iter().any(|other| other.name == kind.name) {
                return Err(format!("messages: there are two kinds `{}`", kind.name));
            }
        }
        let names: Vec<&'static str> = kinds.iter().map(|kind| kind.name).collect();
        let variable = |(name, said): &(String, Value)| {
            let kind = match said {
                Value::String(kind) => kind,
                Value::Object(said) => match said.get("type") {
                    Some(Value::String(kind)) => kind,
                    None => "any",
                    Some(other) => {
                        return Err(format!("variables.{name}.type: {other} is no text"));
                    }
                },
                other => return Err(format!("variables.{name}: {other} is no type")),
            };
            let place = |why| format!("variables.{name}: {why}");
            Ok((name.clone(), kind.parse().map_err(place)?))
        };
        let variables = self.variables.0.iter().map(variable).collect::<Result<_, String>>()?;
        Ok(Shapes { kinds, names: Box::leak(names.into()), variables })
    }

    /// The entry of the catalogue. Its texts stay in memory, as those of the catalogue do.
    pub(crate) fn info(&self, name: &str, first: &Content) -> Result<Info, String> {
        let stem = std::path::Path::new(name).file_stem().map(|stem| stem.to_string_lossy());
        let title = self.title.clone().or(stem.map(|stem| stem.into_owned()));
        let figures: Vec<Published> =
            self.claims.iter().enumerate().map(published).collect::<Result<_, _>>()?;
        let channel = self.channel.unwrap_or(Order::Fifo);
        Ok(Info {
            name: declared(name),
            title: declared(title.as_deref().unwrap_or(name)),
            paper: declared(&self.paper),
            family: self.family()?,
            channel,
            layout: Layout::None,
            // States are JSON and kept with their hashes.
            memory: Formula("2000N"),
            claims: Claims { figures: Box::leak(figures.into()), ordered: self.ordered },
            idea: declared(&self.idea),
            rules: all_declared(&self.rules),
            fires: self.fires()?,
            variables: self.variables(first)?,
            notes: all_declared(&self.notes),
            broken: None,
        })
    }

    /// The steps that follow rules, if the page can read them.
    fn fires(&self) -> Result<&'static [&'static str], String> {
        for (place, line) in self.fires.iter().enumerate() {
            let at = |why: String| format!("fires[{place}]: {why}");
            let parts: Vec<&str> = line.split('|').map(str::trim).collect();
            let [head, holds, _] = parts[..] else {
                return Err(at("write RULE INPUT | CONDITIONS | REASON".into()));
            };
            let rule = head.split(' ').next().and_then(|number| number.parse::<usize>().ok());
            if !rule.is_some_and(|rule| (1..=self.rules.len()).contains(&rule)) {
                return Err(at(format!("`{head}` does not begin with the number of a rule")));
            }
            let signs = [" =", " ≠", " <", " ≤", " ∋", " ∌"];
            let is_condition = |text: &&str| signs.iter().any(|sign| text.contains(sign));
            let conditions = holds.split("; ").filter(|text| !text.is_empty());
            if let Some(text) = conditions.into_iter().find(|text| !is_condition(text)) {
                return Err(at(format!("`{text}` is no condition; compare with = ≠ < ≤ ∋ or ∌")));
            }
        }
        Ok(all_declared(&self.fires))
    }

    fn family(&self) -> Result<Family, String> {
        let families = [Family::Central, Family::Permission, Family::Quorum, Family::Token];
        let Some(name) = self.family.as_deref() else { return Ok(Family::Permission) };
        let known = families.into_iter().find(|family| family.to_string() == name);
        known.ok_or_else(|| {
            format!("family: `{name}` is none; use central, permission, quorum or token")
        })
    }

    /// Those that are declared; else all that there are.
    fn variables(&self, first: &Content) -> Result<&'static [Variable], String> {
        if self.variables.0.is_empty() {
            let plain = |(name, _): &(&'static str, Data)| Variable::new(name, name, "");
            return Ok(Box::leak(first.fields().iter().map(plain).collect()));
        }
        let variable = |(name, said): &(String, Value)| {
            let text = |key: &str| match said.get(key) {
                None => Ok(None),
                Some(Value::String(text)) => Ok(Some(declared(text))),
                Some(other) => Err(format!("variables.{name}.{key}: {other} is no text")),
            };
            let mut keys = said.as_object().into_iter().flat_map(|fields| fields.keys());
            if let Some(key) =
                keys.find(|key| !["type", "symbol", "meaning"].contains(&key.as_str()))
            {
                return Err(format!(
                    "variables.{name}: there is no `{key}`; use type, symbol and meaning"
                ));
            }
            let field = declared(name);
            let symbol = text("symbol")?.unwrap_or(field);
            Ok(Variable::new(field, symbol, text("meaning")?.unwrap_or_default()))
        };
        let variables: Vec<Variable> =
            self.variables.0.iter().map(variable).collect::<Result<_, String>>()?;
        Ok(Box::leak(variables.into()))
    }
}

fn published((place, claim): (usize, &DeclaredClaim)) -> Result<Published, String> {
    let at = |why: String| format!("claims[{place}]: {why}");
    let formula = |text: &String| {
        let formula = Formula(declared(text));
        formula.check().map_err(at).map(|()| formula.0)
    };
    let value = match (&claim.exactly, &claim.from, &claim.to, &claim.on_average) {
        (Some(exactly), None, None, None) => Claim::exactly(formula(exactly)?),
        (None, from, Some(to), mean) => {
            let low = from.as_ref().map(formula).transpose()?.unwrap_or("0");
            let bounds = Claim::between(low, formula(to)?);
            match mean {
                Some(mean) => bounds.typically(formula(mean)?),
                None => bounds,
            }
        }
        _ => {
            return Err(at("say `exactly`, or `from` and `to`, with `on_average` if known".into()));
        }
    };
    Ok(Published::new(claim.of, value, Box::leak(claim.when.clone().into())))
}

impl Shapes {
    /// The names of all kinds of messages.
    pub(crate) fn names(&self) -> &'static [&'static str] {
        self.names
    }

    /// A node's state.
    pub(crate) fn state(&self, reader: Reader, value: &Value) -> Result<Content, Misfit> {
        let Value::Object(fields) = value else {
            return Err(Misfit::new("state", format!("an object is expected, not {value}")));
        };
        if let Some((name, _)) = self.variables.iter().find(|(name, _)| !fields.contains_key(name))
        {
            return Err(Misfit::new("state", format!("the variable `{name}` is missing")));
        }
        let type_of = |name: &str| {
            let declared = self.variables.iter().find(|(variable, _)| variable == name);
            declared.map_or(Type::ANY, |&(_, kind)| kind)
        };
        reader.fields(fields, type_of, "state").map(Content::new)
    }

    /// A message as a program writes it, with its kind among its fields.
    pub(crate) fn message(
        &self,
        reader: Reader,
        value: &Value,
        place: &str,
    ) -> Result<ForeignMsg, Misfit> {
        let Some(mut fields) = value.as_object().cloned() else {
            return Err(Misfit::new(place, format!("an object is expected, not {value}")));
        };
        let Some(Value::String(kind)) = fields.remove("kind") else {
            return Err(Misfit::new(place, "`kind` is missing: the name of a kind of messages"));
        };
        self.of_kind(reader, &kind, &Value::Object(fields), place)
    }

    /// A message of that kind with these fields.
    pub(crate) fn of_kind(
        &self,
        reader: Reader,
        kind: &str,
        fields: &Value,
        place: &str,
    ) -> Result<ForeignMsg, Misfit> {
        let Some(number) = self.names.iter().position(|name| *name == kind) else {
            let known = self.names.join(", ");
            return Err(Misfit::new(
                place,
                format!("`{kind}` is no kind of message; there are {known}"),
            ));
        };
        let none = serde_json::Map::new();
        let fields = fields.as_object().unwrap_or(&none);
        let declared = self.kinds[number].fields.as_deref();
        if let Some(declared) = declared {
            let has = |name: &str| declared.iter().any(|(field, _)| field == name);
            if let Some(name) = fields.keys().find(|name| !has(name)) {
                return Err(Misfit::new(
                    place,
                    format!("{kind} carries no `{name}`; declare it first"),
                ));
            }
            if let Some((name, _)) = declared.iter().find(|(name, _)| !fields.contains_key(name)) {
                return Err(Misfit::new(
                    place,
                    format!("`{name}` is missing, which {kind} carries"),
                ));
            }
        }
        let type_of = |name: &str| {
            let field = declared.into_iter().flatten().find(|(field, _)| field == name);
            field.map_or(Type::ANY, |&(_, kind)| kind)
        };
        let content = Content::new(reader.fields(fields, type_of, place)?);
        Ok(ForeignMsg::new(number, self.names[number], content))
    }

    /// A message as a program reads it.
    pub(crate) fn told(message: &ForeignMsg) -> Value {
        let mut told = crate::types::json(message.content().data());
        if let Value::Object(fields) = &mut told {
            fields.insert("kind".into(), message.label().into());
        }
        told
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Ordered<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T>, A::Error> {
                let mut entries: Vec<(String, T)> = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if entries.iter().any(|(other, _)| *other == name) {
                        return Err(A::Error::custom(format!("`{name}` stands there twice")));
                    }
                    entries.push((name, map.next_value()?));
                }
                Ok(Ordered(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Messages;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of kinds, or an object with the fields of each kind")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Messages, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                Ordered::deserialize(map).map(Messages::Typed)
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                list: A,
            ) -> Result<Messages, A::Error> {
                let list = serde::de::value::SeqAccessDeserializer::new(list);
                Vec::deserialize(list).map(Messages::Named)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
