//! Readers and writers over quorums: arbiters as Maekawa's, each of which grants several readers or one
//! writer.

use serde::{Deserialize, Serialize};

use super::permission::CLOCK;
use super::{Entered, Mutex, Phase, Rules, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{AsksNobody, AsksOthers, ConstantLatency, Lone};
use crate::claims::Quantity::{ClientDelay, Messages};
use crate::claims::{Claims, Published};
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{
    Claim, Counter, Formula, Message, NodeId, NodeSet, Outbox, Refused, Setup, SetupError,
};

mod arbiter;
#[cfg(test)]
mod tests;

use arbiter::{Arbiter, Ask};

const SOUND: Info = Info {
    name: "quorum-readers-writers",
    title: "Readers and writers over quorums",
    paper: "Quorums for reading and writing: D. K. Gifford: Weighted voting for replicated data. SOSP 1979; grids: S. Y. Cheung, M. H. Ammar, M. Ahamad: The grid protocol. ICDE 1990; arbiters: M. Maekawa, 1985",
    family: Family::Quorum,
    channel: Order::Any,
    layout: Layout::ReadWrite,
    memory: Formula("NN/4 + 512N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("3(K-1)"), &[Lone]),
            Published::new(Messages, Claim::between("3(K-1)", "3(KN-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, AsksOthers, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, AsksNobody]),
        ],
        ordered: false,
    },
    idea: "Readers may be inside together, a writer only alone. Each node asks its quorum; the quorum of a writer \
           meets that of every other node, while two readers need not meet. So reading can be cheap: a reader \
           asks itself and a writer everybody, or a reader asks a row of a grid and a writer a column \
           besides. An arbiter grants any number of readers or one writer, the oldest request first: a \
           writer that waits stops the readers that come after it.",
    rules: &[
        "Request: stamp the wish, once, and send READ or WRITE to the quorum; enter when all are LOCKED.",
        "An arbiter queues requests by (t, id). As long as the oldest one fits, it is LOCKED: anybody if nobody has a grant, a reader beside readers.",
        "If the oldest queued request does not fit, INQUIRE, once per grant, to everybody who has a grant and is younger.",
        "INQUIRE: ignored by who is inside, or has all its grants. Who waits sends RELINQUISH; where the LOCKED is still to come, as soon as it comes and does not complete the quorum.",
        "RELINQUISH: the request goes back into the queue; go on as in rule 2.",
        "Exit: RELEASE to the quorum; each arbiter goes on as in rule 2.",
    ],
    fires: &[
        "1 request | | {me} asks {asks} with the stamp {stamp'}",
        "1 LOCKED | {enters} = yes | all of {asks} are LOCKED, so {me} enters",
        "1 LOCKED | {sent} ∌ RELINQUISH | LOCKED so far: {locked'} of {asks}",
        "2 READ | {sent} ∋ LOCKED | the reader {from} fits beside those who have a grant",
        "2 WRITE | {sent} ∋ LOCKED | nobody has a grant, so the writer {from} gets it",
        "2 READ | {sent} ∌ LOCKED; {sent} ∌ INQUIRE | {from} waits in the queue of {me}",
        "2 WRITE | {sent} ∌ LOCKED; {sent} ∌ INQUIRE | {from} waits in the queue of {me}",
        "3 READ | {sent} ∋ INQUIRE | the reader {from} is older than the writer that has the grant",
        "3 WRITE | {sent} ∋ INQUIRE | the writer {from} is older than some who have a grant",
        "4 INQUIRE | {phase} ≠ waiting | {me} is {phase}, so it ignores the INQUIRE",
        "4 INQUIRE | {sent} ∋ RELINQUISH | {me} waits, so it gives the grant back",
        "4 INQUIRE | | the LOCKED that it is about has not come yet, or it is about another request",
        "4 LOCKED | {sent} ∋ RELINQUISH | {from} has asked for this grant back already",
        "5 RELINQUISH | | the request of {from} goes back into the queue",
        "6 release | |",
        "6 RELEASE | |",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::new("writes", "mode", "whether it writes"),
        Variable::clock("C", CLOCK),
        Variable::new("stamp", "T", "the stamp of the present request, or of the last one"),
        Variable::new("asks", "quorum", "whom it asks"),
        Variable::new("locked", "LOCKED", "whose grant it has"),
        Variable::new("inquired", "INQUIRE", "who asks for a grant back that has not come yet"),
        Variable::new(
            "arbiter.granted",
            "granted-to",
            "who has its own grant: readers or a writer",
        ),
        Variable::new("arbiter.queue", "queue", "who waits for its own grant, the oldest first"),
    ],
    notes: &[
        "With writers alone it is mutual exclusion over quorums; with readers alone nobody ever waits.",
        "Which nodes read is part of the system (`--readers`), and whom they ask (`--read-quorums`): grid, majority or read-one.",
        "Needs no FIFO channels, since every message carries the stamp of the request it is about.",
        "Fences do not rise from entry to entry, since readers that are inside together follow from nothing in each \
         other. The fence of a writer is higher than those of all entries before it, and lower than those after it.",
        "A writer does not starve: requests that come after it are younger, and wait behind it.",
        "Gives grants back as soon as it is asked to, which takes no FAILED; Maekawa's rules save some of that where only one can have a grant.",
        "Survives crashes of idle nodes in nobody's quorum; the crash of an arbiter stops all who ask it.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// Grants are never asked for and never given back.
    NoInquiry,
    /// Readers come before writers, whoever is older.
    ReadersFirst,
    /// Who gives a grant back counts it as its own.
    KeepsGrant,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QuorumReadersWriters {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    phase: Phase,
    writes: bool,
    /// The highest clock value seen.
    clock: LamportClock,
    /// The stamp of the current request; kept when idle.
    stamp: u64,
    asks: NodeSet,
    locked: NodeSet,
    /// Who has sent an INQUIRE before its LOCKED came.
    inquired: NodeSet,
    arbiter: Arbiter,
}

/// What the nodes say. It is always about one request, the sender's or the receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Msg {
    /// What is said.
    pub word: Word,
    /// The stamp of the request it is about.
    pub stamp: u64,
    /// The sender's clock. Without it a node that is nobody's arbiter would lag behind in time.
    pub clock: u64,
}

/// What can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// To an arbiter: I want in beside other readers.
    Read,
    /// To an arbiter: I want in alone.
    Write,
    /// From an arbiter: you have my grant.
    Locked,
    /// From an arbiter: an older request came, can you still wait?
    Inquire,
    /// To an arbiter: have your grant back for now.
    Relinquish,
    /// To an arbiter: I am out.
    Release,
}

impl Message for Msg {
    const KINDS: &'static [&'static str] =
        &["READ", "WRITE", "LOCKED", "INQUIRE", "RELINQUISH", "RELEASE"];

    fn kind(&self) -> usize {
        self.word as usize
    }

    fn payload(&self) -> String {
        match self.word {
            Word::Read | Word::Write => self.stamp.to_string(),
            _ => String::new(),
        }
    }

    fn counters(&mut self, _from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        each(Counter::Clock, &mut self.stamp);
        each(Counter::Clock, &mut self.clock);
    }
}

impl Rules for QuorumReadersWriters {
    type Message = Msg;

    /// One stamp for the whole request.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        self.stamp = self.clock.tick();
        let word = if self.writes { Word::Write } else { Word::Read };
        self.say_to_quorum(word, out);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let Msg { word, stamp, clock } = msg;
        plausible(clock)?;
        if stamp > clock {
            return Err(Refused::Unexpected("a stamp beyond the sender's clock"));
        }
        self.may_hear(word, from, stamp)?;
        self.clock.witness(clock);
        self.hear(word, from, stamp, out);
        Ok(())
    }

    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        self.locked.clear();
        self.say_to_quorum(Word::Release, out);
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.clock.counters_with(&mut self.stamp, each);
        self.arbiter.counters(each);
    }
}

impl QuorumReadersWriters {
    /// Whether a correct peer can have said this.
    fn may_hear(&self, word: Word, from: NodeId, stamp: u64) -> Result<(), Refused> {
        let about = Timestamp::new(stamp, from);
        match word {
            Word::Read => self.arbiter.may_ask(about, false),
            Word::Write => self.arbiter.may_ask(about, true),
            Word::Release => self.arbiter.may_release(about),
            Word::Relinquish => self.arbiter.may_relinquish(about),
            Word::Locked | Word::Inquire if !self.asks.contains(from) => {
                Err(Refused::Unexpected("an answer from a node that is not asked"))
            }
            Word::Locked if !self.awaits(stamp) || self.locked.contains(from) => {
                Err(Refused::Unexpected("a LOCKED that was not awaited"))
            }
            Word::Inquire if stamp > self.stamp => {
                Err(Refused::Unexpected("an INQUIRE about a request that was not made"))
            }
            Word::Inquire if self.awaits(stamp) && self.inquired.contains(from) => {
                Err(Refused::Unexpected("a second INQUIRE about one grant"))
            }
            Word::Locked | Word::Inquire => Ok(()),
        }
    }

    fn awaits(&self, stamp: u64) -> bool {
        self.phase == Phase::Waiting && stamp == self.stamp
    }

    /// Takes a word from another node or from this one.
    ///
    /// Saying something may come back here, as a node is often its own arbiter; the node is complete whenever
    /// that happens.
    fn hear(&mut self, word: Word, from: NodeId, stamp: u64, out: &mut Outbox<Self>) {
        let about = Timestamp::new(stamp, from);
        match word {
            Word::Locked => return self.on_locked(from, out),
            Word::Inquire => return self.on_inquire(from, stamp, out),
            Word::Read | Word::Write => {
                self.arbiter.queue(Ask { request: about, writes: word == Word::Write });
            }
            Word::Relinquish => self.arbiter.relinquished(about),
            Word::Release => {
                self.arbiter.released(about);
            }
        }
        while let Some(granted) = self.arbiter.grant_next() {
            self.say(granted.node, Word::Locked, granted.clock, out);
        }
        while let Some(inquired) = self.arbiter.inquire_next() {
            self.say(inquired.node, Word::Inquire, inquired.clock, out);
        }
    }

    fn on_locked(&mut self, from: NodeId, out: &mut Outbox<Self>) {
        self.locked.insert(from);
        if self.locked.len() == self.asks.len() {
            self.phase = Phase::Inside;
            // They get their grants back with the RELEASE.
            self.inquired.clear();
            out.emit(Entered);
        } else if self.inquired.remove(from) {
            self.give_back(from, out);
        }
    }

    fn on_inquire(&mut self, from: NodeId, stamp: u64, out: &mut Outbox<Self>) {
        if !self.awaits(stamp) {
            return;
        }
        if self.locked.contains(from) {
            self.give_back(from, out);
        } else {
            self.inquired.insert(from);
        }
    }

    fn give_back(&mut self, arbiter: NodeId, out: &mut Outbox<Self>) {
        if self.flaw != Flaw::KeepsGrant {
            self.locked.remove(arbiter);
        }
        self.say(arbiter, Word::Relinquish, self.stamp, out);
    }

    fn say(&mut self, to: NodeId, word: Word, stamp: u64, out: &mut Outbox<Self>) {
        if to == self.me {
            self.hear(word, self.me, stamp, out);
        } else {
            out.send(to, Msg { word, stamp, clock: self.clock.now() });
        }
    }

    /// Says something about the own request to the whole quorum, to oneself last.
    fn say_to_quorum(&mut self, word: Word, out: &mut Outbox<Self>) {
        let message = Msg { word, stamp: self.stamp, clock: self.clock.now() };
        for to in self.asks.iter().filter(|&to| to != self.me) {
            out.send(to, message);
        }
        if self.asks.contains(self.me) {
            self.say(self.me, word, self.stamp, out);
        }
    }
}

variants! { Info {
    NoInquiry = "quorum-readers-writers-no-inquiry" {
        flaw: "grants are never asked for and never given back",
        breaks: Breaks::Liveness,
        shown_by: "-n 4 --readers P1 --latency uniform:0.1..2",
        refuted_by: "-n 2 --readers P1 --read-quorums majority --requests 1",
    }
    ReadersFirst = "quorum-readers-writers-readers-first" {
        flaw: "readers come before writers, however long those have waited",
        breaks: Breaks::Starvation,
        shown_by: "-n 4 --readers P1,P2,P3 --read-quorums majority --section uniform:0.5..3 --entries 300",
        refuted_by: "-n 3 --readers P1,P2 --read-quorums read-one --judge starvation",
    }
    KeepsGrant = "quorum-readers-writers-keeps-grant" {
        flaw: "who gives a grant back counts it as its own",
        breaks: Breaks::Safety,
        shown_by: "-n 4 --readers P1,P2 --latency uniform:0.1..2",
        refuted_by: "-n 3 --readers P1 --read-quorums majority --requests 1",
    }
} }

impl Mutex for QuorumReadersWriters {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let missing = || SetupError::Missing {
            algorithm: SOUND.name,
            what: "quorum for each reader and writer",
        };
        let system = setup.read_write().ok_or_else(missing)?;
        let all = || NodeId::all(setup.nodes());
        let node = |me: NodeId| {
            let askers = all().filter(|&asker| system.of(asker).contains(&me)).collect();
            QuorumReadersWriters {
                me,
                n: setup.nodes() as u32,
                flaw,
                phase: Phase::Idle,
                writes: !system.reads(me),
                clock: setup.clock(me),
                stamp: 0,
                asks: system.of(me).iter().copied().collect(),
                locked: NodeSet::new(),
                inquired: NodeSet::new(),
                arbiter: Arbiter::new(flaw, askers, system.readers().clone()),
            }
        };
        Ok(all().map(node).collect())
    }
}
