//! Asks a program, each question once, and keeps the first failure.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use rustc_hash::FxHashMap;
use serde_json::{Map, Value, json};
use skeptron_core::NodeId;
use skeptron_core::mutex::Lock;
use skeptron_core::mutex::foreign::{Answer, Content, Deed, ForeignMsg, Occurrence, Program, Step};

use crate::declaration::{Description, Shapes};
use crate::names;
use crate::process::Process;
use crate::types::{self, Misfit, Reader};

/// So many steps are remembered; runs that take more ask again.
const MOST_REMEMBERED: usize = 1 << 20;
/// So many questions are asked twice at the beginning, and later each so-manieth.
const ALL_TWICE: u64 = 32;
const TWICE_EVERY: u64 = 8;
/// Between them an earlier question is asked again, one of so many.
const EARLIER: usize = 8;
/// A question is quoted so far.
const MOST_QUOTED: usize = 2000;

/// The questions of one program, and its answers.
#[derive(Debug)]
pub(crate) struct Asked {
    name: String,
    path: PathBuf,
    within: Duration,
    shapes: Shapes,
    /// Each thread that asks takes one, or starts one.
    idle: Mutex<Vec<Process>>,
    starts: Mutex<FxHashMap<(NodeId, usize), Content>>,
    steps: RwLock<FxHashMap<Step, Arc<Answer>>>,
    count: AtomicU64,
    earlier: Mutex<VecDeque<(String, Value)>>,
    failure: Mutex<Option<String>>,
}

/// What a running program says of itself.
pub(crate) struct Introduced {
    pub(crate) description: Description,
    pub(crate) asked: Asked,
}

impl Asked {
    /// Starts a program and lets it describe itself.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub(crate) fn start(name: &str, path: &Path, within: Duration) -> Result<Introduced, String> {
        let mut process = Process::start(path).map_err(|error| not_started(name, path, &error))?;
        let question = json!({ "ask": "describe" }).to_string();
        let answer = process.ask(&question, within).map_err(|why| failed(name, &question, &why))?;
        // Garbage is told from a description that is wrong.
        parsed(&answer).map_err(|why| failed(name, &question, &why))?;
        let wrong = |why: String| failed(name, &question, &format!("its answer is wrong: {why}"));
        let description = Description::read(&answer).map_err(wrong)?;
        let shapes = description.shapes().map_err(wrong)?;
        let asked = Asked {
            name: name.into(),
            path: path.into(),
            within,
            shapes,
            idle: Mutex::new(vec![process]),
            starts: Mutex::default(),
            steps: RwLock::default(),
            count: AtomicU64::new(0),
            earlier: Mutex::default(),
            failure: Mutex::default(),
        };
        Ok(Introduced { description, asked })
    }

    /// Ends what runs; whoever asks from now on gets no answer, for this reason.
    pub(crate) fn close(&self, why: &str) {
        self.fail(format!("{}: {why}", self.name));
    }

    fn fail(&self, failure: String) {
        held(&self.failure).get_or_insert(failure);
        held(&self.idle).clear();
    }

    /// Asks, checks now and then that the answer is the same again, and reads it; a failure is kept.
    fn answer<T>(
        &self,
        question: &Value,
        read: impl FnOnce(&Value) -> Result<T, Misfit>,
    ) -> Option<T> {
        if held(&self.failure).is_some() {
            return None;
        }
        let question = question.to_string();
        let answered = self.ask_purely(&question).and_then(|answer| {
            read(&answer).map_err(|misfit| {
                failed(&self.name, &question, &format!("its answer is wrong: {misfit}"))
            })
        });
        answered.map_err(|failure| self.fail(failure)).ok()
    }

    fn ask_purely(&self, question: &str) -> Result<Value, String> {
        let answer = self.ask(question)?;
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        if count < ALL_TWICE || count.is_multiple_of(TWICE_EVERY) {
            self.ask_again(question, &answer)?;
        } else if count % TWICE_EVERY == TWICE_EVERY / 2 {
            let mut earlier = held(&self.earlier);
            earlier.push_back((question.to_string(), answer.clone()));
            let oldest = (earlier.len() > EARLIER).then(|| earlier.pop_front()).flatten();
            drop(earlier);
            if let Some((question, answer)) = oldest {
                self.ask_again(&question, &answer)?;
            }
        }
        Ok(answer)
    }

    fn ask_again(&self, question: &str, first: &Value) -> Result<(), String> {
        let second = self.ask(question)?;
        if second == *first {
            return Ok(());
        }
        let why = format!(
            "it gave two answers, {} and {}; it must be a pure function of what it is asked",
            quoted(&first.to_string()),
            quoted(&second.to_string())
        );
        Err(failed(&self.name, question, &why))
    }

    fn ask(&self, question: &str) -> Result<Value, String> {
        let idle = held(&self.idle).pop();
        let mut process = match idle {
            Some(process) => process,
            None => Process::start(&self.path)
                .map_err(|error| not_started(&self.name, &self.path, &error))?,
        };
        let answer = process.ask(question, self.within);
        let answer = answer.map_err(|why| failed(&self.name, question, &why))?;
        let value = parsed(&answer).map_err(|why| failed(&self.name, question, &why))?;
        // After a failure of another thread nobody needs it.
        if held(&self.failure).is_none() {
            held(&self.idle).push(process);
        }
        Ok(value)
    }

    fn read_step(&self, reader: Reader, me: NodeId, answer: &Value) -> Result<Answer, Misfit> {
        let fields = object(answer, &["state", "effects", "absorbs", "refuse"])?;
        match fields.get("refuse") {
            None => {}
            Some(Value::String(why)) => {
                let why = names::lasting(why);
                return Ok(Answer::Refused(why.unwrap_or("too many reasons to tell them apart")));
            }
            Some(other) => return Err(Misfit::new("refuse", format!("{other} is no text"))),
        }
        let state = self.shapes.state(reader, fields.get("state").unwrap_or(&Value::Null))?;
        let effects = match fields.get("effects") {
            None => &[][..],
            Some(Value::Array(effects)) => effects,
            Some(other) => return Err(Misfit::new("effects", format!("{other} is no list"))),
        };
        let effect = |(at, effect)| self.effect(reader, me, effect, &format!("effects[{at}]"));
        let effects = effects.iter().enumerate().map(effect).collect::<Result<_, _>>()?;
        let absorbs = match fields.get("absorbs") {
            None => false,
            Some(Value::Bool(absorbs)) => *absorbs,
            Some(other) => {
                return Err(Misfit::new("absorbs", format!("{other} is neither true nor false")));
            }
        };
        Ok(Answer::Taken { state, effects, absorbs })
    }

    fn effect(
        &self,
        reader: Reader,
        me: NodeId,
        effect: &Value,
        place: &str,
    ) -> Result<Deed, Misfit> {
        let message = || {
            let message = effect.get("message").unwrap_or(&Value::Null);
            self.shapes.message(reader, message, &format!("{place}.message"))
        };
        match effect.get("do").and_then(Value::as_str) {
            Some("send") => {
                let place = format!("{place}.to");
                let to = reader.node(effect.get("to").unwrap_or(&Value::Null), &place)?;
                if to == me {
                    return Err(Misfit::new(
                        &place,
                        format!("{to} sends a message to itself; change its state instead"),
                    ));
                }
                Ok(Deed::Send(to, message()?))
            }
            Some("broadcast") => Ok(Deed::Broadcast(message()?)),
            Some("enter") => Ok(Deed::Enter),
            Some(other) => Err(Misfit::new(
                place,
                format!("there is no effect `{other}`; use send, broadcast or enter"),
            )),
            None => Err(Misfit::new(place, "`do` is missing: send, broadcast or enter")),
        }
    }
}

/// A program that is registered.
pub(crate) struct Registered(pub(crate) Arc<Asked>);

impl Program for Registered {
    fn kinds(&self) -> &'static [&'static str] {
        self.0.shapes.names()
    }

    fn recorded(&self, nodes: usize, json: &str) -> Option<ForeignMsg> {
        recorded(&self.0.shapes, nodes, &serde_json::from_str(json).ok()?)
    }

    fn init(&self, me: NodeId, nodes: usize) -> Option<Content> {
        let asked = &*self.0;
        if let Some(known) = held(&asked.starts).get(&(me, nodes)) {
            return Some(known.clone());
        }
        let question = json!({ "ask": "init", "me": me, "nodes": nodes });
        let state = asked.answer(&question, |answer| {
            let fields = object(answer, &["state"])?;
            let state = fields.get("state").unwrap_or(&Value::Null);
            asked.shapes.state(Reader { nodes }, state)
        })?;
        held(&asked.starts).insert((me, nodes), state.clone());
        Some(state)
    }

    fn step(&self, step: &Step) -> Option<Arc<Answer>> {
        let asked = &*self.0;
        let known = asked.steps.read().unwrap_or_else(PoisonError::into_inner).get(step).cloned();
        if known.is_some() {
            return known;
        }
        let Step { me, nodes, state, input } = step;
        let question = json!({
            "ask": "step",
            "me": me,
            "nodes": nodes,
            "state": types::json(state.data()),
            "input": told(input),
        });
        let reader = Reader { nodes: *nodes };
        let answer = asked.answer(&question, |answer| asked.read_step(reader, *me, answer))?;
        let answer = Arc::new(answer);
        let mut steps = asked.steps.write().unwrap_or_else(PoisonError::into_inner);
        if steps.len() < MOST_REMEMBERED {
            steps.insert(step.clone(), Arc::clone(&answer));
        }
        Some(answer)
    }

    fn failure(&self) -> Option<String> {
        held(&self.0.failure).clone()
    }
}

fn told(input: &Occurrence) -> Value {
    match input {
        Occurrence::Start => json!({ "do": "start" }),
        Occurrence::Command(Lock::Request) => json!({ "do": "request" }),
        Occurrence::Command(Lock::Release) => json!({ "do": "release" }),
        Occurrence::Command(Lock::Suspect(whom)) => json!({ "do": "suspect", "whom": whom }),
        Occurrence::Deliver { from, message } => {
            json!({ "do": "deliver", "from": from, "message": Shapes::told(message) })
        }
    }
}

/// A message as records have it: its kind, or its kind with what it says.
fn recorded(shapes: &Shapes, nodes: usize, message: &Value) -> Option<ForeignMsg> {
    let reader = Reader { nodes };
    match message {
        Value::String(kind) => shapes.of_kind(reader, kind, &Value::Null, kind).ok(),
        Value::Object(variant) => {
            let (kind, fields) = variant.iter().next()?;
            shapes.of_kind(reader, kind, &unstamped(fields), kind).ok()
        }
        _ => None,
    }
}

/// Records write a stamp as `{"clock": 3, "node": 1}`.
fn unstamped(value: &Value) -> Value {
    match value {
        Value::Object(fields) => match (fields.get("clock"), fields.get("node"), fields.len()) {
            (Some(clock), Some(node), 2) => json!([clock, node]),
            _ => fields.iter().map(|(name, value)| (name.clone(), unstamped(value))).collect(),
        },
        Value::Array(items) => items.iter().map(unstamped).collect(),
        other => other.clone(),
    }
}

fn object<'a>(answer: &'a Value, known: &[&str]) -> Result<&'a Map<String, Value>, Misfit> {
    let Value::Object(fields) = answer else {
        return Err(Misfit::new("answer", format!("an object is expected, not {answer}")));
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => {
            Err(Misfit::new(name, format!("there is no such field; use {}", known.join(", "))))
        }
        None => Ok(fields),
    }
}

fn parsed(answer: &str) -> Result<Value, String> {
    serde_json::from_str(answer).map_err(|_| {
        format!(
            "it said {} where a line of JSON was expected; print to standard error instead",
            quoted(answer)
        )
    })
}

fn not_started(name: &str, path: &Path, error: &std::io::Error) -> String {
    match (crate::process::interpreter(path), error.kind()) {
        (Some(interpreter), std::io::ErrorKind::NotFound) => {
            format!(
                "{name}: {interpreter}, which runs it, was not found; install it, or put it on the PATH"
            )
        }
        _ => format!("{name}: it cannot be started: {error}"),
    }
}

/// One line that names the question.
fn failed(name: &str, question: &str, why: &dyn std::fmt::Display) -> String {
    let why = why.to_string().replace('\n', " ");
    format!("{name}: {why}; the question was {}", shortened(question))
}

fn quoted(text: &str) -> String {
    format!("`{}`", shortened(text))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

/// Nothing is left half done under these locks.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
