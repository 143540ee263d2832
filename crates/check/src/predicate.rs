//! A small language for what must hold in every state, over the variables that `skeptron explain` lists.
//!
//! ```text
//! forall i, j: i.phase == inside && j.phase == inside => i == j
//! quiet => forall i, j: i == j || size(i.ask) != size(j.ask)
//! ```

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use skeptron_core::Entered;

use crate::memory::Memory;
use crate::state::State;
use crate::world::World;

/// What must hold, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// For all nodes, or for some node.
    For {
        /// All of them.
        all: bool,
        /// What they are called.
        names: Vec<String>,
        /// What holds of them.
        body: Box<Predicate>,
    },
    /// Both sides are compared.
    Binary(Operator, Box<Predicate>, Box<Predicate>),
    /// The contrary.
    Not(Box<Predicate>),
    /// How many members a list has.
    Size(Box<Predicate>),
    /// A field of a node's state.
    Field(Box<Predicate>, String),
    /// A member of a list, by its place or by a node.
    Index(Box<Predicate>, Box<Predicate>),
    /// A node by its variable, or a word like `inside`.
    Name(String),
    /// Itself.
    Value(Value),
    /// No message is in flight and every node is idle.
    Quiet,
    /// No message is in flight.
    Silent,
}

/// What stands between two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// If the one, then the other.
    Implies,
    /// One of the two.
    Or,
    /// Both.
    And,
    /// The same.
    Equal,
    /// Not the same.
    Unequal,
    /// Less.
    Less,
    /// Less or the same.
    AtMost,
    /// More.
    More,
    /// More or the same.
    AtLeast,
    /// A member of the list.
    In,
    /// The sum.
    Plus,
    /// The difference.
    Minus,
}

/// Why a text is no predicate, or does not fit the states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredicateError(String);

impl fmt::Display for PredicateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PredicateError {}

/// A snapshot of a system.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// What each node knows.
    pub nodes: &'a [&'a Value],
    /// Whether no message is in flight.
    pub is_silent: bool,
}

/// From the loosest to the tightest.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("=>", Operator::Implies)],
    &[("||", Operator::Or)],
    &[("&&", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::Unequal),
        ("<=", Operator::AtMost),
        (">=", Operator::AtLeast),
        ("<", Operator::Less),
        (">", Operator::More),
        ("in ", Operator::In),
    ],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
];

impl Predicate {
    /// Reads one.
    ///
    /// # Errors
    /// Where it is no predicate.
    pub fn parse(text: &str) -> Result<Self, PredicateError> {
        let mut parser = Parser { rest: text.trim_start() };
        let predicate = parser.level(0)?;
        match parser.rest {
            "" => Ok(predicate),
            rest => Err(PredicateError(format!("nothing was expected any more at `{rest}`"))),
        }
    }

    /// Whether it holds.
    ///
    /// # Errors
    /// If it speaks of what a state does not have.
    pub fn holds(&self, snapshot: Snapshot<'_>) -> Result<bool, PredicateError> {
        as_bool(&self.value(snapshot, &mut Vec::new())?)
    }

    fn value(
        &self,
        snapshot: Snapshot<'_>,
        bound: &mut Vec<(String, usize)>,
    ) -> Result<Value, PredicateError> {
        Ok(match self {
            Predicate::Value(value) => value.clone(),
            Predicate::Silent => snapshot.is_silent.into(),
            Predicate::Quiet => {
                let idle = |node: &&Value| phase(node) == Some("idle");
                (snapshot.is_silent && snapshot.nodes.iter().all(idle)).into()
            }
            Predicate::Name(name) => {
                let node =
                    bound.iter().rev().find(|(other, _)| other == name).map(|(_, node)| *node);
                let named = name.strip_prefix('P').and_then(|number| number.parse::<usize>().ok());
                match node.or(named.and_then(|number| number.checked_sub(1))) {
                    Some(node) if node < snapshot.nodes.len() => (node + 1).into(),
                    Some(_) => return Err(PredicateError(format!("there is no node {name}"))),
                    None => name.as_str().into(),
                }
            }
            Predicate::Field(of, field) => {
                let of = match of.as_ref() {
                    Predicate::Name(_) => {
                        let node = of.value(snapshot, bound)?;
                        let index = node.as_u64().map(|node| node as usize - 1);
                        let index = index.ok_or_else(|| {
                            PredicateError(format!(
                                "{node} is no node; name one as P1, or bind it with forall"
                            ))
                        })?;
                        snapshot.nodes[index].clone()
                    }
                    other => other.value(snapshot, bound)?,
                };
                field_of(&of, field)?
            }
            Predicate::Index(of, place) => {
                let (of, place) = (of.value(snapshot, bound)?, place.value(snapshot, bound)?);
                let index = place.as_u64().and_then(|place| place.checked_sub(1));
                let found = index.and_then(|index| of.get(index as usize)).cloned();
                found.ok_or_else(|| PredicateError(format!("there is no place {place} in {of}")))?
            }
            Predicate::Size(of) => match of.value(snapshot, bound)? {
                Value::Array(list) => list.len().into(),
                Value::Null => 0.into(),
                other => return Err(PredicateError(format!("{other} has no size"))),
            },
            Predicate::Not(of) => (!as_bool(&of.value(snapshot, bound)?)?).into(),
            Predicate::For { all, names, body } => {
                let nodes = snapshot.nodes.len();
                let mut holds = *all;
                for combination in 0..nodes.pow(names.len() as u32) {
                    let before = bound.len();
                    let mut rest = combination;
                    for name in names {
                        bound.push((name.clone(), rest % nodes));
                        rest /= nodes;
                    }
                    let here = body.value(snapshot, bound).and_then(|value| as_bool(&value));
                    bound.truncate(before);
                    if here? != *all {
                        holds = !*all;
                        break;
                    }
                }
                holds.into()
            }
            Predicate::Binary(operator, left, right) => {
                let left = left.value(snapshot, bound)?;
                match (operator, as_bool(&left)) {
                    (Operator::Implies, Ok(false)) | (Operator::Or, Ok(true)) => {
                        return Ok(true.into());
                    }
                    (Operator::And, Ok(false)) => return Ok(false.into()),
                    _ => {}
                }
                operate(*operator, &left, &right.value(snapshot, bound)?)?
            }
        })
    }
}

fn operate(operator: Operator, left: &Value, right: &Value) -> Result<Value, PredicateError> {
    let number = |value: &Value| {
        value.as_i64().ok_or_else(|| PredicateError(format!("{value} is no number")))
    };
    Ok(match operator {
        Operator::Implies | Operator::Or | Operator::And => {
            as_bool(left)?;
            as_bool(right)?.into()
        }
        Operator::Equal => (left == right).into(),
        Operator::Unequal => (left != right).into(),
        Operator::Less => (number(left)? < number(right)?).into(),
        Operator::AtMost => (number(left)? <= number(right)?).into(),
        Operator::More => (number(left)? > number(right)?).into(),
        Operator::AtLeast => (number(left)? >= number(right)?).into(),
        Operator::In => match right {
            Value::Array(list) => list.contains(left).into(),
            Value::Null => false.into(),
            other => return Err(PredicateError(format!("{other} has no members"))),
        },
        Operator::Plus => (number(left)? + number(right)?).into(),
        Operator::Minus => (number(left)? - number(right)?).into(),
    })
}

fn as_bool(value: &Value) -> Result<bool, PredicateError> {
    value.as_bool().ok_or_else(|| PredicateError(format!("{value} is neither true nor false")))
}

/// A field, also of what is within another; of nothing there is nothing.
fn field_of(of: &Value, field: &str) -> Result<Value, PredicateError> {
    match of {
        Value::Null => Ok(Value::Null),
        Value::Object(fields) => fields.get(field).cloned().ok_or_else(|| {
            let known: Vec<&str> = fields.keys().map(String::as_str).collect();
            PredicateError(format!("there is no `{field}`; there are {}", known.join(", ")))
        }),
        other => Err(PredicateError(format!("{other} has no `{field}`"))),
    }
}

/// Whether a node waits or is inside, wherever its state keeps that.
fn phase(node: &Value) -> Option<&str> {
    let direct = node.get("phase").or_else(|| node.get("candidate")?.get("phase"));
    direct.and_then(Value::as_str)
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &str) -> Result<(), PredicateError> {
        if self.take(text) {
            return Ok(());
        }
        Err(PredicateError(format!("`{text}` was expected at `{}`", self.rest)))
    }

    fn level(&mut self, level: usize) -> Result<Predicate, PredicateError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some(&(_, operator)) = operators.iter().find(|(text, _)| self.take(text)) {
            // What follows `=>` may be another one.
            let right =
                self.level(if operator == Operator::Implies { level } else { level + 1 })?;
            left = Predicate::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Predicate, PredicateError> {
        if self.take("!") {
            return Ok(Predicate::Not(Box::new(self.unary()?)));
        }
        for (word, all) in [("forall ", true), ("exists ", false)] {
            if self.take(word) {
                let mut names = vec![self.name()?];
                while self.take(",") {
                    names.push(self.name()?);
                }
                self.expect(":")?;
                let body = Box::new(self.level(0)?);
                return Ok(Predicate::For { all, names, body });
            }
        }
        let mut value = self.primary()?;
        loop {
            if self.take(".") {
                value = Predicate::Field(Box::new(value), self.name()?);
            } else if self.take("[") {
                let place = self.level(0)?;
                self.expect("]")?;
                value = Predicate::Index(Box::new(value), Box::new(place));
            } else {
                return Ok(value);
            }
        }
    }

    fn primary(&mut self) -> Result<Predicate, PredicateError> {
        if self.take("(") {
            let inner = self.level(0)?;
            self.expect(")")?;
            return Ok(inner);
        }
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let (number, rest) = self.rest.split_at(digits);
            let number: u64 = number
                .parse()
                .map_err(|_| PredicateError(format!("{number} is too large a number")))?;
            self.rest = rest.trim_start();
            return Ok(Predicate::Value(number.into()));
        }
        let name = self.name()?;
        Ok(match name.as_str() {
            "size" => {
                self.expect("(")?;
                let of = self.level(0)?;
                self.expect(")")?;
                Predicate::Size(Box::new(of))
            }
            "quiet" => Predicate::Quiet,
            "silent" => Predicate::Silent,
            "true" | "false" => Predicate::Value((name == "true").into()),
            "none" => Predicate::Value(Value::Null),
            _ => Predicate::Name(name),
        })
    }

    fn name(&mut self) -> Result<String, PredicateError> {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            let here = if self.rest.is_empty() { "the end" } else { self.rest };
            return Err(PredicateError(format!("a name or number was expected at {here}")));
        }
        self.rest = rest.trim_start();
        Ok(name.to_string())
    }
}

impl World {
    /// How a state breaks the invariant, if it does.
    pub(crate) fn breaks_invariant(
        &self,
        memory: &mut Memory<'_, Entered>,
        state: &State,
    ) -> Option<String> {
        let predicate = self.watch.invariant.as_ref()?;
        let up = state.sites[..self.nodes].iter();
        let values: Vec<Arc<Value>> = up.map(|site| memory.value(site.local)).collect();
        let nodes: Vec<&Value> = values.iter().map(AsRef::as_ref).collect();
        match predicate.holds(Snapshot { nodes: &nodes, is_silent: state.flight.is_empty() }) {
            Ok(true) => None,
            Ok(false) => Some("what was asked of every state does not hold".into()),
            Err(error) => Some(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn holds(text: &str) -> Result<bool, String> {
        let nodes = [
            json!({"phase": "inside", "sn": [1, 2], "ask": [2], "token": {"sn": [3, 4]}}),
            json!({"phase": "waiting", "sn": [5, 6], "ask": [], "token": null}),
        ];
        let nodes: Vec<&Value> = nodes.iter().collect();
        let snapshot = Snapshot { nodes: &nodes, is_silent: true };
        let predicate = Predicate::parse(text).map_err(|error| error.to_string())?;
        predicate.holds(snapshot).map_err(|error| error.to_string())
    }

    #[test]
    fn predicates_hold_or_do_not() {
        for (text, expected) in [
            ("P1.phase == inside", true),
            ("forall i: i.phase == inside", false),
            ("exists i: i.phase == waiting && i.sn[P1] == 5", true),
            ("forall i, j: i.phase == inside && j.phase == inside => i == j", true),
            ("forall i: size(i.ask) <= 1 && !(i in i.ask)", true),
            ("P2 in P1.ask", true),
            ("P1.token.sn[P2] == P1.sn[P2] + 2", true),
            ("P2.token == none", true),
            ("P2.token.sn == none", true),
            ("quiet", false),
            ("quiet => false", true),
            ("silent", true),
            ("forall i, j: (i in j.ask) == (j < i)", true),
            ("1 + 1 - 1 > 2 || true", true),
        ] {
            assert_eq!(holds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, expected) in [
            ("P1.phase ==", "a name or number was expected at the end"),
            ("P1.fase == idle", "there is no `fase`; there are ask, phase, sn, token"),
            ("P3.phase == idle", "there is no node P3"),
            ("x.phase == idle", "\"x\" is no node; name one as P1, or bind it with forall"),
            ("P1.phase", "\"inside\" is neither true nor false"),
            ("(true", "`)` was expected at ``"),
            ("true true", "nothing was expected any more at `true`"),
        ] {
            assert_eq!(holds(text), Err(expected.to_string()), "{text}");
        }
    }
}
