//! What a node knows, on one line: read from its `Debug` form, which is where nodes have names, and
//! written without what never changes and what says nothing.

use std::collections::BTreeSet;

use serde_json::Value as Json;

/// A value as `Debug` writes it. Wrappers of one value are the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A number, a name.
    Atom(String),
    /// `Some(value)`
    Some(Box<Value>),
    /// `Name { field: value, … }`
    Fields(String, Vec<(String, Value)>),
    /// A list, a set, a tuple: with the brackets that it has.
    Items([char; 2], Vec<Value>),
}

impl Value {
    /// Reads what `Debug` wrote; whatever it may be, nothing is an error.
    pub(crate) fn read(text: &str) -> Value {
        Reader { rest: text }.value()
    }

    /// The value of a field, of one within another as in `token.queue`.
    pub(crate) fn field(&self, path: &str) -> Option<&Value> {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) => (name, Some(rest)),
            None => (path, None),
        };
        let fields = match self {
            Value::Some(inner) => return inner.field(path),
            Value::Fields(_, fields) => fields,
            _ => return None,
        };
        let (_, value) = fields.iter().find(|(field, _)| field == name)?;
        rest.map_or(Some(value), |rest| value.field(rest))
    }

    /// As the papers write it: `waiting`, `{P2, P3}`, `(41, P1)`, `–` for nothing.
    pub(crate) fn written(&self) -> String {
        let all = |values: &mut dyn Iterator<Item = &Value>| {
            values.map(Value::written).collect::<Vec<_>>().join(", ")
        };
        match self {
            Value::Atom(atom) if atom == "None" => "–".into(),
            Value::Atom(atom) if atom == "true" => "yes".into(),
            Value::Atom(atom) if atom == "false" => "no".into(),
            Value::Atom(atom) if is_node(atom) => atom.clone(),
            Value::Atom(atom) => atom.to_lowercase(),
            Value::Some(value) => value.written(),
            Value::Fields(name, fields) if name == "Timestamp" => {
                format!("({})", all(&mut fields.iter().map(|(_, value)| value)))
            }
            Value::Fields(name, fields) if name == "Epoch" => {
                let parts: Vec<String> = fields.iter().map(|(_, value)| value.written()).collect();
                parts.join("/")
            }
            Value::Fields(_, fields) => {
                let pairs =
                    fields.iter().map(|(name, value)| format!("{name}: {}", value.written()));
                format!("({})", pairs.collect::<Vec<_>>().join(", "))
            }
            Value::Items([open, close], items) => {
                format!("{open}{}{close}", all(&mut items.iter()))
            }
        }
    }

    /// The same to draw with: nodes are `"P3"`, a timestamp is `[41, "P3"]`, sets and lists are arrays.
    pub(crate) fn data(&self) -> Json {
        match self {
            Value::Atom(atom) if atom == "None" => Json::Null,
            Value::Atom(atom) => {
                serde_json::from_str(atom).unwrap_or_else(|_| self.written().into())
            }
            Value::Some(value) => value.data(),
            Value::Fields(name, _) if name == "Epoch" => self.written().into(),
            Value::Fields(_, fields) => fields.iter().map(|(_, value)| value.data()).collect(),
            Value::Items(_, items) => items.iter().map(Value::data).collect(),
        }
    }

    /// Whether it says nothing: no, none, empty, and zero unless `zeros` count.
    fn is_nothing(&self, zeros: bool) -> bool {
        match self {
            Value::Atom(atom) if atom == "0" => !zeros,
            Value::Atom(atom) => ["None", "false", ""].contains(&atom.as_str()),
            Value::Some(_) => false,
            Value::Fields(_, fields) => fields.iter().all(|(_, value)| value.is_nothing(zeros)),
            Value::Items(_, items) => items.iter().all(|item| item.is_nothing(zeros)),
        }
    }

    /// What it says, in a few words.
    fn words(&self, live: &Live, path: &str) -> String {
        match self {
            Value::Atom(atom) if atom.starts_with(|c: char| c.is_lowercase() || is_node(atom)) => {
                atom.clone()
            }
            Value::Atom(atom) => atom.to_lowercase(),
            Value::Some(value) => value.words(live, path),
            // As the papers write it.
            Value::Fields(name, fields) if name == "Timestamp" => {
                let parts: Vec<String> = fields.iter().map(|(_, v)| v.words(live, path)).collect();
                format!("({})", parts.join(","))
            }
            Value::Fields(name, fields) if name == "Epoch" => {
                let parts: Vec<String> = fields.iter().map(|(_, v)| v.words(live, path)).collect();
                parts.join("/")
            }
            Value::Fields(_, fields) => told(fields, live, path).join(" "),
            Value::Items([open, close], items) => {
                let items: Vec<String> = items.iter().map(|item| item.words(live, path)).collect();
                format!("{open}{}{close}", items.join(","))
            }
        }
    }
}

fn is_node(atom: &str) -> bool {
    atom.strip_prefix('P').is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The fields that say something, the phase first.
fn told(fields: &[(String, Value)], live: &Live, path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    for (name, value) in fields {
        let path = format!("{path}/{name}");
        if value.is_nothing(live.zeros) || !live.shows(&path) {
            continue;
        }
        let words = value.words(live, &path);
        let inner = if let Value::Some(inner) = value { inner } else { value };
        match inner {
            Value::Atom(_) if name == "phase" => parts.insert(0, words),
            Value::Atom(atom) if atom == "true" => parts.push(name.clone()),
            // A token is there even if it carries nothing.
            Value::Fields(..) if words.is_empty() => {
                if inner != value {
                    parts.push(name.clone());
                }
            }
            Value::Fields(kind, _) if kind != "Timestamp" && kind != "Epoch" => {
                parts.push(format!("{name}({words})"))
            }
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
    node.words(live, "")
}

/// What a message says apart from its kind: `(t=1)`, or nothing.
pub(crate) fn content(message: &Value, label: &str) -> String {
    let live = Live::all();
    let message = match message {
        // All that it carries is one record.
        Value::Fields(_, fields) => match &fields[..] {
            [(_, record @ Value::Fields(..))] => record,
            _ => message,
        },
        _ => message,
    };
    let parts = match message {
        Value::Fields(name, _) if name == "Epoch" => vec![message.words(&live, "")],
        Value::Fields(_, fields) => {
            // A message may be a record with its kind as a field.
            let is_kind = |value: &Value| matches!(value, Value::Atom(atom) if atom.eq_ignore_ascii_case(label));
            let others: Vec<(String, Value)> =
                fields.iter().filter(|(_, value)| !is_kind(value)).cloned().collect();
            told(&others, &live, "")
        }
        Value::Items(..) if !message.is_nothing(true) => vec![message.words(&live, "")],
        _ => Vec::new(),
    };
    if parts.is_empty() { String::new() } else { format!("({})", parts.join(" ")) }
}

struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn skip(&mut self, what: &[char]) {
        self.rest = self.rest.trim_start_matches(what);
    }

    fn takes(&mut self, c: char) -> bool {
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'a str {
        let end = self.rest.find(|c: char| " ,:()[]{}".contains(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn value(&mut self) -> Value {
        let name = self.word();
        if self.takes('[') {
            return Value::Items(['[', ']'], self.items(']'));
        }
        if self.takes('(') {
            let mut items = self.items(')');
            return match items.pop() {
                Some(one) if items.is_empty() && name == "Some" => Value::Some(Box::new(one)),
                Some(one) if items.is_empty() => one,
                last => {
                    items.extend(last);
                    Value::Items(['(', ')'], items)
                }
            };
        }
        if name.is_empty() && self.takes('{') {
            return Value::Items(['{', '}'], self.items('}'));
        }
        if let Some(rest) = self.rest.strip_prefix(" {") {
            self.rest = rest;
            return Value::Fields(name.into(), self.fields());
        }
        Value::Atom(name.into())
    }

    fn items(&mut self, close: char) -> Vec<Value> {
        let mut items = Vec::new();
        loop {
            self.skip(&[' ', ',', ':']);
            if self.takes(close) || self.rest.is_empty() {
                return items;
            }
            let before = self.rest.len();
            items.push(self.value());
            if self.rest.len() == before {
                // A bracket that closes nothing.
                self.rest = "";
            }
        }
    }

    fn fields(&mut self) -> Vec<(String, Value)> {
        let mut fields = Vec::new();
        loop {
            self.skip(&[' ', ',']);
            if self.takes('}') || self.rest.is_empty() {
                return fields;
            }
            let name = self.word().to_string();
            if !self.takes(':') {
                self.rest = "";
            }
            self.skip(&[' ']);
            fields.push((name, self.value()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BEFORE: &str = "Node { me: P1, n: 3, flaw: None, phase: Idle, clock: LamportClock(0), \
                          awaiting: {}, asked: false, queue: RequestQueue([]), token: None, \
                          part: Part { size: 3, holder: Some(P1) } }";
    const AFTER: &str = "Node { me: P1, n: 3, flaw: None, phase: Waiting, clock: LamportClock(2), \
                         awaiting: {P2, P3}, asked: true, \
                         queue: RequestQueue([Timestamp { clock: 2, node: P1 }]), \
                         token: Some(Token { ln: [0, 1], queue: [] }), \
                         part: Part { size: 3, holder: Some(P2) } }";

    fn both() -> (Value, Value, Live) {
        let (before, after) = (Value::read(BEFORE), Value::read(AFTER));
        let mut live = Live::default();
        live.note(&before, &after);
        (before, after, live)
    }

    #[test]
    fn a_state_is_what_changes_and_says_something() {
        let (before, after, live) = both();
        assert_eq!(state(&before, &live), "idle part(holder=P1)");
        assert_eq!(
            state(&after, &live),
            "waiting clock=2 awaiting={P2,P3} asked queue=[(2,P1)] token(ln=[0,1]) part(holder=P2)"
        );
    }

    #[test]
    fn a_message_says_more_than_its_kind() {
        let said = |text, label| content(&Value::read(text), label);
        assert_eq!(said("Request { t: 3 }", "REQUEST"), "(t=3)");
        assert_eq!(said("Reply", "REPLY"), "");
        assert_eq!(said("Ok(Epoch { round: 2, by: P1 })", "OK"), "(2/P1)");
        assert_eq!(said("Msg { word: Locked, stamp: 1, clock: 0 }", "LOCKED"), "(stamp=1 clock=0)");
        let token = "Privilege { token: Token { ln: [0, 1], queue: [P2] } }";
        assert_eq!(said(token, "PRIVILEGE"), "(ln=[0,1] queue=[P2])");
        assert_eq!(
            said("Token(Token { sn: [1], requesting: {P3} })", "TOKEN"),
            "(sn=[1] requesting={P3})"
        );
    }

    #[test]
    fn values_are_written_as_in_the_papers() {
        let (_, after, _) = both();
        let value = |path: &str| after.field(path).map(Value::written);
        assert_eq!(value("phase").as_deref(), Some("waiting"));
        assert_eq!(value("awaiting").as_deref(), Some("{P2, P3}"));
        assert_eq!(value("queue").as_deref(), Some("[(2, P1)]"));
        assert_eq!(value("asked").as_deref(), Some("yes"));
        assert_eq!(value("token.ln").as_deref(), Some("[0, 1]"));
        assert_eq!(value("flaw").as_deref(), Some("–"));
        assert_eq!((value("token.nothing"), value("phase.nothing")), (None, None));
    }

    #[test]
    fn values_are_told_as_data() {
        let (before, after, _) = both();
        let data = |state: &Value, path: &str| state.field(path).map(Value::data).unwrap();
        assert_eq!(data(&after, "phase"), json!("waiting"));
        assert_eq!(data(&after, "clock"), json!(2));
        assert_eq!(data(&after, "awaiting"), json!(["P2", "P3"]));
        assert_eq!(data(&after, "queue"), json!([[2, "P1"]]));
        assert_eq!(data(&after, "asked"), json!(true));
        assert_eq!(data(&after, "token"), json!([[0, 1], []]));
        assert_eq!(data(&after, "part.holder"), json!("P2"));
        assert_eq!((data(&before, "token"), data(&before, "queue")), (json!(null), json!([])));
    }

    #[test]
    fn nonsense_is_read_without_complaint() {
        for text in ["", "{", "}", "[)", "a { b", "a { b: c", "(((", "x: y", "[a, b}", "N { f }"] {
            let value = Value::read(text);
            let _ =
                (state(&value, &Live::all()), value.written(), value.data(), value.field("a.b"));
        }
    }
}
