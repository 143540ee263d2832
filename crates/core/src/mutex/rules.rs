//! From the rules of an algorithm, as its paper states them, to the contract with drivers.

use std::fmt::Debug;
use std::hash::Hash;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Entered, Lock};
use crate::{Counter, Input, Message, Never, NodeId, Outbox, Protocol, Refused};

/// An algorithm without a failure detector: what a node does when it wants in, when it gets a message, and when it leaves.
/// It is a [`Protocol`] by these rules alone.
pub trait Rules:
    Clone + Debug + Eq + Hash + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// What the nodes say.
    type Message: Message;

    /// Refuses a message from `from` if that is none of those who can send to this node.
    ///
    /// # Errors
    /// [`Refused::Unexpected`]
    fn known_sender(&self, from: NodeId) -> Result<(), Refused>;

    /// The system begins.
    fn start(&mut self, _out: &mut Outbox<Self>) {}

    /// The application wants in.
    ///
    /// # Errors
    /// As [`Protocol::step`].
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused>;

    /// A known sender's message arrives.
    ///
    /// # Errors
    /// As [`Protocol::step`].
    fn receive(
        &mut self,
        from: NodeId,
        msg: Self::Message,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused>;

    /// The application leaves.
    ///
    /// # Errors
    /// As [`Protocol::step`].
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused>;

    /// [`Protocol::absorbs`]
    fn absorbs(&self, _from: NodeId, _message: &Self::Message) -> bool {
        false
    }

    /// [`Protocol::counters`]
    fn counters(&mut self, _each: &mut dyn FnMut(Counter, &mut u64)) {}
}

impl<R: Rules> Protocol for R {
    type Command = Lock;
    type Message = R::Message;
    type Timer = Never;
    type Event = Entered;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Start => {
                self.start(out);
                Ok(())
            }
            Input::Command(Lock::Request) => self.request(out),
            Input::Command(Lock::Release) => self.release(out),
            Input::Command(Lock::Suspect(_)) => Ok(()),
            Input::Deliver { from, message } => {
                self.known_sender(from)?;
                self.receive(from, message, out)
            }
            Input::Expire(never) => match never {},
        }
    }

    fn absorbs(&self, from: NodeId, message: &Self::Message) -> bool {
        Rules::absorbs(self, from, message)
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        Rules::counters(self, each);
    }
}
