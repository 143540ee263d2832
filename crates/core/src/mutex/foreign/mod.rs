//! An algorithm that is a program of its own, in any language: it answers what a node does, and this makes a
//! node of it. How it is asked is the business of whoever registers it; here is no I/O.

mod data;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, RwLock};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Entered, Lock, Mutex, Phase, known_peer};
use crate::catalogue::Info;
use crate::{Counter, Input, Message, Never, NodeId, Outbox, Protocol, Refused, Setup, SetupError};

pub use data::{Content, Data};

/// Answers for an algorithm. It must be a pure function: the same question has the same answer.
pub trait Program: Send + Sync {
    /// The names of all kinds of messages.
    fn kinds(&self) -> &'static [&'static str];

    /// The state in which a node begins; `None` if the program fails.
    fn init(&self, me: NodeId, nodes: usize) -> Option<Content>;

    /// What a node does; `None` if the program fails.
    fn step(&self, step: &Step) -> Option<Arc<Answer>>;

    /// A message as a recorded run has it, in JSON; `None` if it is none of the program's.
    fn recorded(&self, nodes: usize, json: &str) -> Option<ForeignMsg>;

    /// The first failure, in one line. After it the program is not asked any more.
    fn failure(&self) -> Option<String>;
}

/// A question to a program: what does a node in this state do?
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Which node.
    pub me: NodeId,
    /// Of how many.
    pub nodes: usize,
    /// Its state.
    pub state: Content,
    /// What happens to it.
    pub input: Occurrence,
}

/// What happens to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Occurrence {
    /// The system begins.
    Start,
    /// The application asks for something.
    Command(Lock),
    /// A message arrives.
    Deliver {
        /// Who sent it.
        from: NodeId,
        /// What it says.
        message: ForeignMsg,
    },
}

/// A program's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The node takes the input.
    Taken {
        /// Its state afterwards.
        state: Content,
        /// What it wants done, in order.
        effects: Vec<Deed>,
        /// As [`Protocol::absorbs`].
        absorbs: bool,
    },
    /// It does not, for this reason.
    Refused(&'static str),
}

/// What a node wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Send to another node.
    Send(NodeId, ForeignMsg),
    /// Send to all others.
    Broadcast(ForeignMsg),
    /// Enter the section.
    Enter,
}

/// A program and what is known of it.
pub struct Loaded {
    info: Info,
    program: Box<dyn Program>,
}

impl Loaded {
    /// What is known of the algorithm.
    #[must_use]
    pub fn info(&'static self) -> &'static Info {
        &self.info
    }

    /// Who answers.
    #[must_use]
    pub fn program(&self) -> &dyn Program {
        &*self.program
    }

    /// Whether the program has answered all that it was asked.
    ///
    /// # Errors
    /// [`SetupError::Program`] with its first failure.
    pub fn check(&self) -> Result<(), SetupError> {
        self.program.failure().map_or(Ok(()), |failure| Err(SetupError::Program(failure)))
    }
}

impl fmt::Debug for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.name)
    }
}

static LOADED: RwLock<Vec<&'static Loaded>> = RwLock::new(Vec::new());

/// Makes a program known by the name in `info`, in place of one of the same name. It stays in memory for as
/// long as this process, as the catalogue does: whoever asks for an algorithm keeps what it gets.
pub fn register(info: Info, program: Box<dyn Program>) -> &'static Loaded {
    let loaded: &'static Loaded = Box::leak(Box::new(Loaded { info, program }));
    LOADED.write().expect("nobody panics while it holds this lock").push(loaded);
    loaded
}

/// Some program, the newest first: those whose name another one has taken may still run.
fn newest(fits: impl Fn(&Loaded) -> bool) -> Option<&'static Loaded> {
    let all = LOADED.read().expect("nobody panics while it holds this lock");
    all.iter().rev().copied().find(|loaded| fits(loaded))
}

/// The program of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Loaded> {
    newest(|loaded| loaded.info.name == name)
}

/// All programs by their names, in the order in which they became known.
#[must_use]
pub fn all() -> Vec<&'static Loaded> {
    let all = LOADED.read().expect("nobody panics while it holds this lock").clone();
    let is_newest = |loaded: &&'static Loaded| {
        find(loaded.info.name).is_some_and(|newest| std::ptr::eq(newest, *loaded))
    };
    all.into_iter().filter(is_newest).collect()
}

/// Whether `info` is not that of a program, or the program has answered all that it was asked. Drivers ask
/// this when they are done: after a failure the nodes refuse everything, and what that comes to means nothing.
///
/// # Errors
/// [`SetupError::Program`] with its first failure.
pub fn check(info: &Info) -> Result<(), SetupError> {
    // By place, not by name: another one may have taken the name since.
    newest(|loaded| std::ptr::eq(&loaded.info, info)).map_or(Ok(()), Loaded::check)
}

/// Whether a name is that of a file rather than of an algorithm of the catalogue.
#[must_use]
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".py") || name.ends_with(".js")
}

/// A node whose rules are a program's.
#[derive(Clone, Debug)]
pub struct Foreign {
    loaded: &'static Loaded,
    me: NodeId,
    nodes: usize,
    /// Kept here, so that a program need not refuse commands that are out of order.
    phase: Phase,
    state: Content,
}

/// What the nodes of a program say.
#[derive(Clone, Debug)]
pub struct ForeignMsg {
    kind: u32,
    label: &'static str,
    content: Content,
}

impl ForeignMsg {
    /// A message of the kind with that number and name.
    #[must_use]
    pub fn new(kind: usize, label: &'static str, content: Content) -> Self {
        ForeignMsg { kind: kind as u32, label, content }
    }

    /// What it says besides its kind.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }
}

impl PartialEq for ForeignMsg {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.content == other.content
    }
}

impl Eq for ForeignMsg {}

impl Hash for ForeignMsg {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.kind, &self.content).hash(state);
    }
}

impl Message for ForeignMsg {
    /// They differ from program to program: see [`Mutex::kinds`].
    const KINDS: &'static [&'static str] = &[];

    fn kind(&self) -> usize {
        self.kind as usize
    }

    fn label(&self) -> &'static str {
        self.label
    }

    fn payload(&self) -> String {
        let fields = self.content.fields().iter();
        fields.map(|(_, value)| value.to_string()).collect::<Vec<_>>().join(", ")
    }

    fn counters(&mut self, from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.content.counters(from, each);
    }
}

impl Serialize for ForeignMsg {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.content.serialize_variant((self.kind, self.label), serializer)
    }
}

/// What reads a node or a message does not know whose it is; programs are for the laboratory, where nothing is
/// read back in this way.
const UNREADABLE: &str = "the nodes and messages of a program are read by its declaration only";

impl<'de> Deserialize<'de> for ForeignMsg {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(UNREADABLE))
    }
}

impl<'de> Deserialize<'de> for Foreign {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(UNREADABLE))
    }
}

impl Serialize for Foreign {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.state.data().serialize(serializer)
    }
}

impl PartialEq for Foreign {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.loaded, other.loaded)
            && (self.me, self.nodes, self.phase) == (other.me, other.nodes, other.phase)
            && self.state == other.state
    }
}

impl Eq for Foreign {}

impl Hash for Foreign {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.me, self.nodes, self.phase, &self.state).hash(state);
    }
}

impl Protocol for Foreign {
    type Command = Lock;
    type Message = ForeignMsg;
    type Timer = Never;
    type Event = Entered;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let mut phase = self.phase;
        match &input {
            Input::Start => {}
            Input::Command(Lock::Request) => {
                phase.request()?;
            }
            Input::Command(Lock::Release) => {
                phase.release()?;
            }
            // Programs are not told of crashes.
            Input::Command(Lock::Suspect(_)) => return Ok(()),
            Input::Deliver { from, .. } => known_peer(*from, self.me, self.nodes)?,
            Input::Expire(never) => match *never {},
        }
        let answer = self.ask(input).ok_or(Refused::Unexpected("the program failed"))?;
        let (state, effects) = match &*answer {
            Answer::Taken { state, effects, .. } => (state, effects),
            Answer::Refused(why) => return Err(Refused::Unexpected(why)),
        };
        for _ in effects.iter().filter(|effect| **effect == Deed::Enter) {
            if phase != Phase::Waiting {
                return Err(Refused::Unexpected("it would enter without having asked"));
            }
            phase = Phase::Inside;
        }
        for effect in effects {
            match effect {
                Deed::Send(to, message) => out.send(*to, message.clone()),
                Deed::Broadcast(message) => out.broadcast(message.clone()),
                Deed::Enter => out.emit(Entered),
            }
        }
        (self.phase, self.state) = (phase, state.clone());
        Ok(())
    }

    fn absorbs(&self, from: NodeId, message: &ForeignMsg) -> bool {
        let answer = self.ask(Input::Deliver { from, message: message.clone() });
        matches!(answer.as_deref(), Some(Answer::Taken { absorbs: true, .. }))
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.state.counters(self.me, each);
    }
}

impl Foreign {
    fn ask(&self, input: Input<Self>) -> Option<Arc<Answer>> {
        let input = match input {
            Input::Start => Occurrence::Start,
            Input::Command(command) => Occurrence::Command(command),
            Input::Deliver { from, message } => Occurrence::Deliver { from, message },
            Input::Expire(never) => match never {},
        };
        let (me, nodes, state) = (self.me, self.nodes, self.state.clone());
        self.loaded.program.step(&Step { me, nodes, state, input })
    }
}

impl Mutex for Foreign {
    /// Programs are not of the catalogue.
    const VARIANTS: &'static [Info] = &[];

    fn kinds(info: &Info) -> &'static [&'static str] {
        find(info.name).map_or(&[], |loaded| loaded.program.kinds())
    }

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let loaded = find(name).ok_or_else(|| SetupError::UnknownName(name.into()))?;
        let nodes = setup.nodes();
        let node = |me| {
            let Some(state) = loaded.program.init(me, nodes) else {
                let silent = || SetupError::Program(format!("{name} does not answer"));
                return Err(loaded.check().err().unwrap_or_else(silent));
            };
            let state = match state.with_clock(setup.clock(me).now()) {
                Some(state) => state,
                None => {
                    setup.refuse_clocks(loaded.info.name)?;
                    state
                }
            };
            Ok(Foreign { loaded, me, nodes, phase: Phase::Idle, state })
        };
        NodeId::all(nodes).map(node).collect()
    }
}

#[cfg(test)]
mod tests;
