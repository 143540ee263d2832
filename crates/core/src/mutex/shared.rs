//! An algorithm for mutual exclusion as the inner lock of a lock with kinds.

use serde::{Deserialize, Serialize};

use super::sharing::{Access, AccessEvent, Duty, Register, Sharing, SharingFlaw, SharingMessage};
use super::{Lock, Mode, Mutex, central, naimi_trehel, ricart_agrawala};
use crate::catalogue::Info;
use crate::{Effect, Input, Message, Never, NodeId, Outbox, Protocol, Refused, Setup, SetupError};

/// A node of a lock with kinds: `P` is the inner lock, unchanged, and [`Sharing`] has the rules.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Shared<P: Mutex> {
    inner: P,
    sharing: Sharing,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SharedMsg<M> {
    /// A message of the algorithm, and the register with it.
    InnerLock {
        /// The newest that the sender knows.
        register: Register,
        /// What the algorithm says.
        message: M,
    },
    /// About those inside.
    SharingMessage(SharingMessage),
}

impl<M: Message> SharedMsg<M> {
    const WORDS: [&'static str; 5] = ["ASK", "LEFT", "WANT", "LEND", "DENY"];

    /// The kinds of the algorithm, then the words; a constant cannot have a length that depends on `M`.
    const NAMES: [&'static str; 16] = {
        let mut names = [""; 16];
        let mut i = 0;
        while i < M::KINDS.len() {
            names[i] = M::KINDS[i];
            i += 1;
        }
        let mut j = 0;
        while j < Self::WORDS.len() {
            names[i + j] = Self::WORDS[j];
            j += 1;
        }
        names
    };
}

impl<M: Message> Message for SharedMsg<M> {
    const KINDS: &'static [&'static str] =
        Self::NAMES.split_at(M::KINDS.len() + Self::WORDS.len()).0;

    fn kind(&self) -> usize {
        let word = match self {
            SharedMsg::InnerLock { message, .. } => return message.kind(),
            SharedMsg::SharingMessage(SharingMessage::Ask { .. }) => 0,
            SharedMsg::SharingMessage(SharingMessage::Left { wants: false, .. }) => 1,
            SharedMsg::SharingMessage(SharingMessage::Left { wants: true, .. }) => 2,
            SharedMsg::SharingMessage(SharingMessage::Lend { .. }) => 3,
            SharedMsg::SharingMessage(SharingMessage::Deny { .. }) => 4,
        };
        M::KINDS.len() + word
    }

    fn payload(&self) -> String {
        match self {
            SharedMsg::InnerLock { message, .. } => message.payload(),
            SharedMsg::SharingMessage(_) => String::new(),
        }
    }
}

impl<P: Mutex> Shared<P> {
    /// The nodes of a lock that is free.
    ///
    /// # Errors
    /// As [`Mutex::build`].
    pub fn build(
        name: &str,
        setup: &Setup,
        flaw: Option<SharingFlaw>,
    ) -> Result<Vec<Self>, SetupError> {
        Self::build_with(name, setup, &vec![Vec::new(); setup.nodes()], flaw)
    }

    /// The nodes of a lock that begins with these entries inside, by node; see [`Sharing::new`].
    ///
    /// # Errors
    /// As [`Mutex::build`].
    pub fn build_with(
        name: &str,
        setup: &Setup,
        inside: &[Vec<Mode>],
        flaw: Option<SharingFlaw>,
    ) -> Result<Vec<Self>, SetupError> {
        let inner_locks = NodeId::all(setup.nodes()).zip(P::build(name, setup)?);
        Ok(inner_locks
            .map(|(me, inner)| Shared { inner, sharing: Sharing::new(me, inside, flaw) })
            .collect())
    }

    /// What is known at this node.
    #[must_use]
    pub fn sharing(&self) -> &Sharing {
        &self.sharing
    }

    /// Does what the rules want done; the inner lock may be granted at once, and then they want more.
    fn perform(&mut self, duties: Vec<Duty>, out: &mut Outbox<Self>) {
        let mut inner = Outbox::new();
        for duty in duties {
            match duty {
                Duty::Acquire => self.turn(Lock::Request, &mut inner, out),
                Duty::Release if self.sharing.release() => {
                    self.turn(Lock::Release, &mut inner, out);
                }
                Duty::Release => {}
                Duty::Tell(to, word) => out.send(to, SharedMsg::SharingMessage(word)),
                Duty::Emit(event) => out.emit(event),
            }
        }
    }

    fn turn(&mut self, lock: Lock, inner: &mut Outbox<P>, out: &mut Outbox<Self>) {
        let taken = self.inner.step(Input::Command(lock), inner);
        debug_assert!(taken.is_ok(), "the rules request and release the inner lock by turns");
        self.pass_on(inner, out);
    }

    /// Sends what the algorithm sends, with the register.
    fn pass_on(&mut self, inner: &mut Outbox<P>, out: &mut Outbox<Self>) {
        let mut duties = Vec::new();
        for effect in inner.drain() {
            let register = || self.sharing.register().clone();
            match effect {
                Effect::Send { to, message } => {
                    out.send(to, SharedMsg::InnerLock { register: register(), message });
                }
                Effect::Broadcast { message } => {
                    out.broadcast(SharedMsg::InnerLock { register: register(), message });
                }
                Effect::Emit(_) => self.sharing.admitted(&mut duties),
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        self.perform(duties, out);
    }
}

impl<P: Mutex> Protocol for Shared<P> {
    type Command = Access;
    type Message = SharedMsg<P::Message>;
    type Timer = Never;
    type Event = AccessEvent;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let mut duties = Vec::new();
        match input {
            Input::Start => {
                let mut inner = Outbox::new();
                self.inner.step(Input::Start, &mut inner)?;
                self.pass_on(&mut inner, out);
            }
            Input::Command(access) => self.sharing.access(access, &mut duties)?,
            Input::Deliver { from, message: SharedMsg::SharingMessage(word) } => {
                self.sharing.hear(from, word, &mut duties)?;
            }
            Input::Deliver { from, message: SharedMsg::InnerLock { register, message } } => {
                self.sharing.check(&register)?;
                let mut inner = Outbox::new();
                self.inner.step(Input::Deliver { from, message }, &mut inner)?;
                self.sharing.learn(register);
                self.pass_on(&mut inner, out);
            }
            Input::Expire(never) => match never {},
        }
        self.perform(duties, out);
        Ok(())
    }
}

/// Does something with an inner lock whose type is known only by its name; see [`dispatch_inner`].
pub trait InnerVisitor {
    /// What comes of it.
    type Output;
    /// The inner lock's type is `P`.
    fn visit<P: Mutex>(self) -> Self::Output;
}

/// Whether the simulator and the checker offer kinds over this algorithm. Every algorithm could be an inner lock;
/// one of each family is, so that the others are not compiled twice.
#[must_use]
pub fn offers_kinds(info: &Info) -> bool {
    ["central", "ricart-agrawala", "naimi-trehel"].contains(&info.name)
}

/// Calls `visitor` with the type of the inner lock that `info` describes; `None` if kinds are not offered for it.
pub fn dispatch_inner<V: InnerVisitor>(info: &Info, visitor: V) -> Option<V::Output> {
    Some(match info.name {
        "central" => visitor.visit::<central::Central>(),
        "ricart-agrawala" => visitor.visit::<ricart_agrawala::RicartAgrawala>(),
        "naimi-trehel" => visitor.visit::<naimi_trehel::NaimiTrehel>(),
        _ => return None,
    })
}
