//! A node that asks some and is asked by some, the common ground of Maekawa and Sanders (spec 2.5 and
//! 2.6): routes words between its [`Candidate`], its [`Arbiter`] and those of the others.

use serde::{Deserialize, Serialize};

use super::arbiter::Arbiter;
use super::candidate::Candidate;
use super::{Entered, Lock, Mutex, known_peer};
use crate::catalogue::OwnClock;
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{Counter, Input, Message, Never, NodeId, NodeSet, Outbox, Refused, Setup};

/// How the clock of such a node differs from that of the lectures.
pub(super) const CLOCK: OwnClock = OwnClock {
    counts: "Only a request counts.",
    receipt: "Every message carries the clock c of its sender and makes it max(C, c).",
    why: "Only requests are stamped and compared. The next one counts on from the highest \
         stamp that was seen, so it is later than every request that its node knows of. \
         Were only REQUESTs to carry clocks, nodes that are nobody's arbiter would lag \
         behind and get more than their share.",
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Flaw {
    None,
    /// As published in 1985: the oldest queued request is not told when an older one displaces it.
    Published,
    /// Grants are never asked for and never given back.
    Naive,
    /// FAILED is a flag for good, and an INQUIRE is answered by it alone.
    StickyFailed,
    /// An INQUIRE counts for the present request, whichever it is about.
    StaleInquire,
    /// Of several remembered INQUIREs only one is answered.
    OneInquiry,
    /// A RELEASE frees an arbiter only for the next in its queue.
    NeverFree,
    /// An arbiter is busy also for those who will not tell it on exit.
    AlwaysBusy,
    /// Requests are ordered by id, and by clock only within one node.
    IdFirst,
    /// Whatever is said counts for the present request or grant of its node, as if it had no stamp.
    Untagged,
}

/// What the nodes say. It is always about one request, the sender's or the receiver's, and is matched
/// by that request's stamp and never by the node alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Msg {
    /// What is said.
    pub word: Word,
    /// The stamp of the request it is about.
    pub stamp: u64,
    /// The sender's clock. Without it a node that is nobody's arbiter would lag behind in time, and
    /// its requests would count as older than they are.
    pub clock: u64,
}

/// What can be said, in Maekawa's words. Sanders' GRANT, FAIL and YIELD are LOCKED, FAILED and
/// RELINQUISH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// To an arbiter: I want in.
    Request,
    /// From an arbiter: you have my grant.
    Locked,
    /// To an arbiter: I am out.
    Release,
    /// From an arbiter: others come first.
    Failed,
    /// From an arbiter: an older request came, can you still wait?
    Inquire,
    /// To an arbiter: have your grant back for now.
    Relinquish,
}

impl Message for Msg {
    const KINDS: &'static [&'static str] =
        &["REQUEST", "LOCKED", "RELEASE", "FAILED", "INQUIRE", "RELINQUISH"];

    fn kind(&self) -> usize {
        self.word as usize
    }

    fn payload(&self) -> String {
        match self.word {
            Word::Request => self.stamp.to_string(),
            _ => String::new(),
        }
    }

    fn counters(&mut self, _from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        each(Counter::Clock, &mut self.stamp);
        each(Counter::Clock, &mut self.clock);
    }
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Node {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// The highest clock value seen.
    clock: LamportClock,
    candidate: Candidate,
    arbiter: Arbiter,
}

impl Node {
    /// The nodes of a system in their initial state, where node `i` asks `asks[i]` and tells
    /// `tells[i]` on exit.
    pub(super) fn system(
        asks: &[NodeSet],
        tells: &[NodeSet],
        setup: &Setup,
        flaw: Flaw,
    ) -> Vec<Node> {
        let with = |sets: &[NodeSet], me| {
            NodeId::all(sets.len()).filter(|i| sets[i.index()].contains(me)).collect()
        };
        let node = |me: NodeId| {
            let candidate =
                Candidate::new(flaw, asks[me.index()].clone(), tells[me.index()].clone());
            Node::new(
                me,
                setup,
                flaw,
                candidate,
                Arbiter::new(flaw, with(asks, me), with(tells, me)),
            )
        };
        NodeId::all(asks.len()).map(node).collect()
    }

    fn new(me: NodeId, setup: &Setup, flaw: Flaw, candidate: Candidate, arbiter: Arbiter) -> Node {
        let (n, clock) = (setup.nodes() as u32, setup.clock(me));
        Node { me, n, flaw, clock, candidate, arbiter }
    }

    /// Node `me` of a system in which everybody may ask it, and which asks nobody before it is told whom.
    pub(super) fn asking_nobody(me: NodeId, setup: &Setup) -> Node {
        let everybody: NodeSet = NodeId::all(setup.nodes()).collect();
        let candidate = Candidate::new(Flaw::None, NodeSet::new(), NodeSet::new());
        let arbiter = Arbiter::new(Flaw::None, everybody.clone(), everybody);
        Node::new(me, setup, Flaw::None, candidate, arbiter)
    }

    /// One step of the protocol.
    pub(super) fn step<P>(&mut self, input: Input<P>, out: &mut Outbox<P>) -> Result<(), Refused>
    where
        P: Mutex<Message = Msg, Timer = Never>,
    {
        match input {
            Input::Start => Ok(()),
            Input::Command(Lock::Request) => {
                self.candidate.request(&mut self.clock)?;
                self.say_to_all(Candidate::asks, Word::Request, out);
                Ok(())
            }
            Input::Command(Lock::Release) => {
                self.candidate.release()?;
                self.say_to_all(Candidate::tells, Word::Release, out);
                Ok(())
            }
            Input::Deliver { from, message: Msg { word, stamp, clock } } => {
                known_peer(from, self.me, self.n as usize)?;
                plausible(clock)?;
                if stamp > clock {
                    return Err(Refused::Unexpected("a stamp beyond the sender's clock"));
                }
                let about = Timestamp::new(stamp, from);
                match word {
                    Word::Request => self.arbiter.may_ask(about)?,
                    Word::Release | Word::Relinquish => self.arbiter.may_return(word, about)?,
                    Word::Locked | Word::Failed | Word::Inquire => {
                        self.candidate.may_hear(word, about)?;
                    }
                }
                self.clock.witness(clock);
                self.hear(word, about, out);
                Ok(())
            }
            Input::Command(Lock::Suspect(_)) => Ok(()),
            Input::Expire(never) => match never {},
        }
    }

    /// The requester that it is.
    pub(super) fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// What it asks and answers from now on, as some have crashed: see [`Candidate::turn_to`].
    pub(super) fn turn_to<P: Mutex<Message = Msg>>(
        &mut self,
        quorum: &NodeSet,
        crashed: &NodeSet,
        out: &mut Outbox<P>,
    ) {
        for arbiter in self.candidate.turn_to(quorum, crashed).iter() {
            self.say(arbiter, Word::Request, self.candidate.stamp(), out);
        }
        self.enter(out);
    }

    /// The arbiter takes back what a node has that has crashed.
    pub(super) fn forget<P: Mutex<Message = Msg>>(&mut self, crashed: NodeId, out: &mut Outbox<P>) {
        self.arbiter.forget(crashed);
        self.grant(out);
    }

    pub(super) fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.clock.counters(each);
        self.candidate.counters(each);
        self.arbiter.counters(each);
    }

    /// Takes a word from another node or from this one. `about` has the sender as its node: for an
    /// arbiter that is the requester, a candidate knows its own name.
    ///
    /// Saying something may come back here, as a node is often its own arbiter; both halves are
    /// complete whenever that happens, and the loops ask them afresh each time round.
    fn hear<P: Mutex<Message = Msg>>(&mut self, word: Word, about: Timestamp, out: &mut Outbox<P>) {
        match word {
            Word::Locked | Word::Failed | Word::Inquire => {
                self.candidate.hear(word, about);
                while let Some(arbiter) = self.candidate.give_back() {
                    self.say(arbiter, Word::Relinquish, self.candidate.stamp(), out);
                    if self.flaw == Flaw::OneInquiry {
                        break;
                    }
                }
                self.enter(out);
                return;
            }
            Word::Request => {
                if let Some((word, request)) = self.arbiter.request(about) {
                    self.say(request.node, word, request.clock, out);
                }
            }
            Word::Relinquish => self.arbiter.relinquished(),
            Word::Release => self.arbiter.released(),
        }
        self.grant(out);
    }

    fn enter<P: Mutex<Message = Msg>>(&mut self, out: &mut Outbox<P>) {
        if self.candidate.enter() {
            out.emit(Entered);
        }
    }

    fn grant<P: Mutex<Message = Msg>>(&mut self, out: &mut Outbox<P>) {
        while let Some(request) = self.arbiter.grant_next() {
            self.say(request.node, Word::Locked, request.clock, out);
        }
    }

    fn say<P: Mutex<Message = Msg>>(
        &mut self,
        to: NodeId,
        word: Word,
        stamp: u64,
        out: &mut Outbox<P>,
    ) {
        if to == self.me {
            self.hear(word, Timestamp::new(stamp, self.me), out);
        } else {
            out.send(to, Msg { word, stamp, clock: self.clock.now() });
        }
    }

    /// Says something about the own request to a whole set, to oneself last.
    fn say_to_all<P: Mutex<Message = Msg>>(
        &mut self,
        set: fn(&Candidate) -> &NodeSet,
        word: Word,
        out: &mut Outbox<P>,
    ) {
        let stamp = self.candidate.stamp();
        let message = Msg { word, stamp, clock: self.clock.now() };
        for to in set(&self.candidate).iter().filter(|&to| to != self.me) {
            out.send(to, message);
        }
        if set(&self.candidate).contains(self.me) {
            self.say(self.me, word, stamp, out);
        }
    }
}
