//! Lodha–Kshemkalyani (2000), repaired: of concurrent requests each is the answer to the others.

use serde::{Deserialize, Serialize};

use super::queue::RequestQueue;
use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, OwnClock, Variable, variants};
use crate::claims::Condition::{ConstantLatency, Lone, OneAtATime, Saturated};
use crate::claims::Quantity::{Bypass, ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{
    Claim, Counter, Formula, Message, NodeId, NodeSet, Outbox, Refused, Setup, SetupError,
};

const SOUND: Info = Info {
    name: "lodha-kshemkalyani",
    title: "Lodha–Kshemkalyani (repaired)",
    paper: "S. Lodha, A. Kshemkalyani: A fair distributed mutual exclusion algorithm. IEEE TPDS 11(6), 2000. The rules are as described in secondary sources, and repaired here",
    family: Family::Permission,
    channel: Order::Fifo,
    layout: Layout::None,
    memory: Formula("16NN + 128N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("2(N-1)"), &[Lone]),
            Published::new(Messages, Claim::exactly("2(N-1)"), &[OneAtATime]),
            Published::new(Messages, Claim::exactly("2(N-1)"), &[Saturated, ConstantLatency]),
            Published::new(Messages, Claim::between("N-1", "2(N-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, ConstantLatency]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[ConstantLatency]),
            Published::new(Bypass, Claim::between("0", "2(N-1)"), &[]),
        ],
        ordered: true,
    },
    idea: "Ricart–Agrawala, in which two nodes that ask at the same time need not answer each other: each \
           takes the other's REQUEST for the answer and keeps both requests in a queue, in the order of \
           their stamps. Whoever leaves tells it only to the next in its queue, by a FLUSH that stands \
           for all requests up to its own. The more requests are concurrent, the fewer messages.",
    rules: &[
        "Request: stamp the wish with the own clock, once, put it alone into the queue LRQ and send \
         REQUEST(t, R) to all others, with the own last request R (the repair); nobody has answered, \
         RV[j] = 0.",
        "REQUEST at a node that wants in and has no answer of the sender: it is the answer, RV[j] = 1. \
         Put it into LRQ, unless it is older than a request that is known to be served (the repair).",
        "REQUEST at a node that is inside, or wants in and has an answer of the sender: defer it.",
        "REQUEST at any other node: REPLY with the own last request, which was served.",
        "REPLY(R): its sender has answered, RV[j] = 1.",
        "REQUEST(t, R), REPLY(R) or FLUSH(R) at a node that wants in: all requests up to R were served; take \
         them out of LRQ and remember R (the repair). A FLUSH is no answer (the repair).",
        "Enter when everybody has answered and the own request heads LRQ.",
        "Exit: send FLUSH to the next in LRQ and REPLY to the deferred, both with the own request.",
    ],
    fires: &[
        "1 request | | {me} stamps its wish with {stamp'}",
        "2 REQUEST | {phase} = waiting; {heard} ∌ {from}; {lrq'} ∋ {from} | {me} waits and has no answer of {from}, so the two are concurrent: LRQ is {lrq'}",
        "2 REQUEST | {phase} = waiting; {heard} ∌ {from}; {lrq'} ∌ {from} | {me} waits and has no answer of {from}; all up to {served'} were served, so that request was served, too",
        "3 REQUEST | {phase} = inside; {deferred'} ∋ {from} | {me} is inside, so it defers",
        "3 REQUEST | {phase} = waiting; {heard} ∋ {from}; {deferred'} ∋ {from} | {from} has answered {me} already, so this is a later request, and {me} defers",
        "4 REQUEST | {phase} = idle; {sent} ∋ REPLY | {me} does not want in, so it replies at once",
        "5 REPLY | | answers so far: {heard'}",
        "6 FLUSH | {phase} ≠ waiting | {me} does not wait, so nothing follows",
        "6 REQUEST, REPLY, FLUSH | {phase} = waiting; {served'} ≠ {served} | all up to {served'} were served; LRQ is {lrq'}",
        "6 FLUSH | {phase} = waiting | {me} knew that all up to {served} were served",
        "7 REQUEST, REPLY, FLUSH | {enters} = yes | everybody has answered, and ({stamp}, {me}) heads LRQ, so {me} enters",
        "7 request | {enters} = yes | {me} is alone, so it enters",
        "8 release | {sent} ∋ FLUSH; {deferred} = {} | {to} is next in LRQ",
        "8 release | {sent} ∋ FLUSH; {deferred} ≠ {} | {to} is next in LRQ, and {deferred} asked later",
        "8 release | {sent} ∌ FLUSH; {deferred} ≠ {} | nobody else is in LRQ; {me} replies to {deferred}",
        "8 release | {sent} ∌ FLUSH; {deferred} = {} | nobody waits for {me}",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::clock(
            "Highest_Sequence_Number_Seen",
            OwnClock {
                counts: "Only a request counts.",
                receipt: "Every message carries the clock c of its sender and makes it max(C, c).",
                why: "Only requests are stamped and compared. The next one counts on from the highest \
                     stamp that was seen, so it is later than every request that its node knows of.",
            },
        ),
        Variable::new(
            "stamp",
            "My_Sequence_Number",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new("heard", "RV", "who has answered the present request"),
        Variable::new(
            "lrq",
            "LRQ",
            "the own request and those concurrent with it, by their stamps",
        ),
        Variable::new("served", "served", "the latest request that is known to be served"),
        Variable::new("deferred", "deferred", "who gets its REPLY at the exit"),
    ],
    notes: &[
        "The rules as secondary sources describe them, with which the paper itself was not compared, deadlock with \
         three nodes that ask once, on FIFO channels (`lodha-kshemkalyani-2000`): a REQUEST that arrives after its sender was served and a later FLUSH \
         has come is queued, and nobody will ever take it out. The repair remembers what was served.",
        "They deadlock in another way, too (`lodha-kshemkalyani-bare-request`): where a REQUEST takes the place \
         of a REPLY, nobody tells what the REPLY would have told, that its sender was served. In the repair \
         the REQUEST tells it.",
        "And they let two nodes in (`lodha-kshemkalyani-flush-answers`): a FLUSH that comes late, in \
         the next wait of its receiver, counts as the answer to a request that its sender has not seen. On \
         FIFO channels the REQUEST before it has answered already, so the repair does not count it.",
        "Of concurrent requests c to its own a node saves the c REPLYs and pays one FLUSH at most: \
         2(N−1) − c + 1 messages, or one fewer if it is the last of them.",
        "When everybody asks again at once and the latency is constant, no two requests are concurrent after \
         the first round, and it costs what Ricart–Agrawala's algorithm does.",
        "Needs FIFO channels: a REQUEST that overtakes a REPLY of its sender looks concurrent, but its \
         sender waits for a REPLY.",
        "REPLY and FLUSH carry the clock, too, which those rules do not ask for: without it \
         requests are served by their stamps, but stamps do not follow happened-before.",
        "Survives no crash: everybody's answer is needed.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// As published in 2000: what was served is neither remembered nor told by a REQUEST, and a FLUSH is an
    /// answer.
    Published,
    /// A REQUEST does not tell what was served.
    BareRequest,
    /// A FLUSH is an answer.
    FlushAnswers,
    /// The channels are not FIFO; nothing differs but that the consequences are not refused.
    WithoutFifo,
    /// The exit tells nobody of those in LRQ.
    NoFlush,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LodhaKshemkalyani {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    phase: Phase,
    /// The highest clock value seen, the paper's `Highest_Sequence_Number_Seen`.
    clock: LamportClock,
    /// The stamp of the current request, the paper's `My_Sequence_Number`; kept when idle.
    stamp: u64,
    /// Who has answered the current request: the nodes with `RV = 1`.
    heard: NodeSet,
    /// The current request and those concurrent with it, the paper's `LRQ`; empty when idle.
    lrq: RequestQueue,
    /// The latest request of which it was heard during the current one that it was served, the repair: whatever
    /// is older was served, too.
    served: Option<Timestamp>,
    /// Who gets its REPLY when we leave.
    deferred: NodeSet,
}

/// What the nodes say. All carry the sender's clock, so that stamps follow happened-before.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want in, and all up to my last request were served.
    Request {
        /// Since when; that is the sender's clock.
        t: u64,
        /// The stamp of the sender's last request; 0 if there was none.
        last: u64,
    },
    /// As far as I am concerned you may, and all up to my last request were served.
    Reply {
        /// The stamp of that request; 0 if there was none.
        last: u64,
        /// The sender's clock.
        clock: u64,
    },
    /// All up to my last request were served, and you are next.
    Flush {
        /// The stamp of that request.
        last: u64,
        /// The sender's clock.
        clock: u64,
    },
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Reply = "REPLY", Flush = "FLUSH" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { t, .. } => t.to_string(),
            Msg::Reply { last: 0, .. } => String::new(),
            Msg::Reply { last, .. } | Msg::Flush { last, .. } => format!("≤{last}"),
        }
    }

    fn counters(&mut self, _from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        let (Msg::Request { t: clock, last }
        | Msg::Reply { last, clock }
        | Msg::Flush { last, clock }) = self;
        each(Counter::Clock, clock);
        each(Counter::Clock, last);
    }
}

impl Rules for LodhaKshemkalyani {
    type Message = Msg;

    /// The paper's `INV MUTEX`.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        let tells = !matches!(self.flaw, Flaw::Published | Flaw::BareRequest);
        let last = if tells { self.stamp } else { 0 };
        self.stamp = self.clock.tick();
        self.lrq.insert(self.ours());
        if self.n > 1 {
            out.broadcast(Msg::Request { t: self.stamp, last });
        }
        self.enter_if_next(out);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let (Msg::Request { t: clock, last }
        | Msg::Reply { last, clock }
        | Msg::Flush { last, clock }) = msg;
        plausible(clock)?;
        if last > clock {
            return Err(Refused::Unexpected("a request beyond the sender's clock"));
        }
        let last = Timestamp::new(last, from);
        match msg {
            Msg::Request { t, .. } => self.on_request(Timestamp::new(t, from), last, out),
            Msg::Reply { .. } => self.on_reply(last, clock, out),
            Msg::Flush { .. } => self.on_flush(last, clock, out),
        }
    }

    /// The paper's `FIN CS`.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        let (last, clock) = (self.stamp, self.clock.now());
        self.lrq.pop();
        if let Some(next) = self.lrq.oldest()
            && self.flaw != Flaw::NoFlush
        {
            out.send(next.node, Msg::Flush { last, clock });
        }
        for node in self.deferred.iter() {
            out.send(node, Msg::Reply { last, clock });
        }
        self.lrq.clear();
        self.served = None;
        self.heard.clear();
        self.deferred.clear();
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.clock.counters_with(&mut self.stamp, each);
        self.lrq.counters(each);
        if let Some(served) = &mut self.served {
            each(Counter::Clock, &mut served.clock);
        }
    }
}

impl LodhaKshemkalyani {
    fn ours(&self) -> Timestamp {
        Timestamp::new(self.stamp, self.me)
    }

    /// The paper's `RCV REQ`. The repair: a request that is older than one that was served was served,
    /// too, and would never be taken out of the queue; and a REQUEST tells what a REPLY in its place would.
    fn on_request(
        &mut self,
        theirs: Timestamp,
        last: Timestamp,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        if last >= theirs {
            return Err(Refused::Unexpected("a REQUEST that is not later than the last one"));
        }
        if self.deferred.contains(theirs.node) {
            return Err(Refused::Unexpected("a second REQUEST before the first was answered"));
        }
        self.clock.witness(theirs.clock);
        if self.phase == Phase::Idle {
            out.send(theirs.node, Msg::Reply { last: self.stamp, clock: self.clock.now() });
        } else if self.phase == Phase::Waiting && self.heard.insert(theirs.node) {
            let was_served = self.served.is_some_and(|served| theirs <= served);
            if !was_served {
                self.lrq.insert(theirs);
            }
        } else {
            self.deferred.insert(theirs.node);
        }
        self.was_served(last, out);
        Ok(())
    }

    /// The paper's `RCV REPLY`.
    fn on_reply(
        &mut self,
        last: Timestamp,
        clock: u64,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        let asked = self.phase == Phase::Waiting && !self.heard.contains(last.node);
        // Only where something is wrong do nodes disagree about who asked whom.
        if !asked && self.flaw == Flaw::None {
            return Err(Refused::Unexpected("a REPLY that was not asked for"));
        }
        self.clock.witness(clock);
        self.was_answered(last.node);
        self.was_served(last, out);
        Ok(())
    }

    /// The paper's `RCV FLUSH`. The repair: it does not count as an answer, since it may come late.
    fn on_flush(
        &mut self,
        last: Timestamp,
        clock: u64,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        if last.clock == 0 || self.stamp == 0 {
            return Err(Refused::Unexpected("a FLUSH that no request can have led to"));
        }
        self.clock.witness(clock);
        if matches!(self.flaw, Flaw::Published | Flaw::FlushAnswers) {
            self.was_answered(last.node);
        }
        self.was_served(last, out);
        Ok(())
    }

    fn was_answered(&mut self, by: NodeId) {
        if self.phase == Phase::Waiting {
            self.heard.insert(by);
        }
    }

    /// All requests up to this one were served, since requests are served in the order of their stamps.
    fn was_served(&mut self, last: Timestamp, out: &mut Outbox<Self>) {
        if self.phase == Phase::Waiting {
            if last.clock > 0 && self.flaw != Flaw::Published {
                self.served = self.served.max(Some(last));
            }
            while self.lrq.oldest().is_some_and(|oldest| oldest <= last) {
                self.lrq.pop();
            }
            self.enter_if_next(out);
        }
    }

    /// The paper's `CheckExecuteCS`.
    fn enter_if_next(&mut self, out: &mut Outbox<Self>) {
        if self.phase == Phase::Waiting
            && self.heard.len() + 1 == self.n as usize
            && self.lrq.oldest() == Some(self.ours())
        {
            self.phase = Phase::Inside;
            out.emit(Entered);
        }
    }
}

variants! { Info {
    Published = "lodha-kshemkalyani-2000" with {
        title: "Lodha–Kshemkalyani (without the repair)",
        paper: "S. Lodha, A. Kshemkalyani: A fair distributed mutual exclusion algorithm. IEEE TPDS 11(6), 2000. The rules are as described in secondary sources",
        rules: &[
            "Request: stamp the wish with the own clock, once, put it alone into the queue LRQ and send \
             REQUEST(t) to all others; nobody has answered, RV[j] = 0.",
            "REQUEST at a node that wants in and has no answer of the sender: it is the answer, \
             RV[j] = 1. Put it into LRQ.",
            "REQUEST at a node that is inside, or wants in and has an answer of the sender: defer it.",
            "REQUEST at any other node: REPLY with the own last request, which was served.",
            "REPLY(R) or FLUSH(R): its sender has answered, RV[j] = 1; take all requests up to R out of \
             LRQ.",
            "Enter when everybody has answered and the own request heads LRQ.",
            "Exit: send FLUSH to the next in LRQ and REPLY to the deferred, both with the own request.",
        ],
        fires: &[
            "1 request | | {me} stamps its wish with {stamp'}",
            "2 REQUEST | {phase} = waiting; {heard} ∌ {from} | {me} waits and has no answer of {from}, so the two are concurrent: LRQ is {lrq'}",
            "3 REQUEST | {phase} = inside; {deferred'} ∋ {from} | {me} is inside, so it defers",
            "3 REQUEST | {phase} = waiting; {heard} ∋ {from} | {from} has answered {me} already, so this is a later request, and {me} defers",
            "4 REQUEST | {phase} = idle; {sent} ∋ REPLY | {me} does not want in, so it replies at once",
            "5 REPLY, FLUSH | {phase} ≠ waiting | {me} does not wait, so nothing follows",
            "5 REPLY, FLUSH | | {from} has answered; LRQ is {lrq'}; heard so far: {heard'}",
            "6 REQUEST, REPLY, FLUSH | {enters} = yes | everybody has answered, and ({stamp}, {me}) heads LRQ, so {me} enters",
            "7 release | {sent} ∋ FLUSH | {to} is next in LRQ",
            "7 release | |",
        ],
    } {
        flaw: "a REQUEST that comes after a FLUSH which covers it is queued, and nobody will take it out",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..5 --section 0.1",
        refuted_by: "-n 3 --requests 1",
    }
    BareRequest = "lodha-kshemkalyani-bare-request" {
        flaw: "without the repair, a REQUEST that takes the place of a REPLY does not tell what was served",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..5 --section 0.1 --think exp:1",
        refuted_by: "-n 3 --requests 1,1,2",
    }
    FlushAnswers = "lodha-kshemkalyani-flush-answers" {
        flaw: "without the repair, a FLUSH is an answer, also when it comes in the next wait of its receiver",
        breaks: Breaks::Safety,
        shown_by: "-n 3 --latency exp:1 --section exp:1 --think exp:1",
        refuted_by: "-n 3 --requests 2,1,2",
    }
    WithoutFifo = "lodha-kshemkalyani-without-fifo" with { channel: Order::Any, } {
        flaw: "the channels are not FIFO: a REQUEST that overtakes its sender's REPLY looks concurrent",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --order any --latency uniform:0.1..5 --think exp:2",
        refuted_by: "-n 3 --requests 1 --order any",
    }
    NoFlush = "lodha-kshemkalyani-no-flush" {
        flaw: "the exit tells nobody of those whose requests were concurrent",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..5 --think exp:5",
        refuted_by: "-n 2 --requests 1",
    }
} }

impl Mutex for LodhaKshemkalyani {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let node = |me| LodhaKshemkalyani {
            me,
            n: setup.nodes() as u32,
            flaw,
            phase: Phase::Idle,
            clock: setup.clock(me),
            stamp: 0,
            heard: NodeSet::new(),
            lrq: RequestQueue::default(),
            served: None,
            deferred: NodeSet::new(),
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests;
