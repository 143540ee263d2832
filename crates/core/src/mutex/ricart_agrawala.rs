//! Ricart–Agrawala (spec 2.3): ask everybody; whoever has an older wish answers later.

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, OwnClock, Variable, variants};
use crate::claims::Condition::{ConstantLatency, Lone, Saturated};
use crate::claims::Quantity::{Bypass, ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{
    Claim, Counter, Formula, Message, NodeId, NodeSet, Outbox, Refused, Setup, SetupError,
};

const SOUND: Info = Info {
    name: "ricart-agrawala",
    title: "Ricart–Agrawala",
    paper: "G. Ricart, A. K. Agrawala: An optimal algorithm for mutual exclusion in computer networks. CACM 24(1), 1981",
    family: Family::Permission,
    channel: Order::Any,
    layout: Layout::None,
    memory: Formula("NN/4 + 64N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("2(N-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, ConstantLatency]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[ConstantLatency]),
            Published::new(Bypass, Claim::between("0", "2(N-1)"), &[]),
        ],
        ordered: true,
    },
    idea: "A node that wants in asks all others and enters when all have answered. Whoever is inside, \
           or has an older request of its own, answers only when it leaves. The answer thus doubles as \
           the release, which Lamport's algorithm sends apart.",
    rules: &[
        "Request: stamp the wish with the own clock, once, and send REQUEST(t) to all others.",
        "REQUEST at a node that is inside, or wants in with a smaller (t, id): defer the REPLY.",
        "REQUEST at any other node: REPLY at once.",
        "Enter on a REPLY from every other node.",
        "Exit: send the deferred REPLYs.",
    ],
    fires: &[
        "1 request | | {me} stamps its wish with {stamp'}",
        "2 REQUEST | {phase} = inside; {sent} ∌ REPLY | {me} is inside, so it defers",
        "2 REQUEST | {phase} = waiting; {stamp} {me} < {message.t} {from}; {sent} ∌ REPLY | {<}, so {me} defers",
        "3 REQUEST | {phase} = idle; {sent} ∋ REPLY | {me} does not want in, so it replies at once",
        "3 REQUEST | {phase} = waiting; {message.t} {from} < {stamp} {me}; {sent} ∋ REPLY | {<}, so {me} replies at once",
        "4 REPLY | {enters} = yes | every other node has replied, so {me} enters",
        "4 REPLY | {awaiting} ∋ {from}; {awaiting'} ∌ {from} | {awaiting'} have not replied yet, so {me} waits",
        "4 request | {enters} = yes | {me} is alone, so it enters",
        "5 release | {deferred} = {} | nobody was deferred",
        "5 release | {deferred'} = {} | {me} replies to {deferred}",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::clock(
            "Highest_Sequence_Number",
            OwnClock {
                counts: "Only a request counts.",
                receipt: "A REQUEST or REPLY stamped t makes it max(C, t).",
                why: "Only requests are stamped and compared. The next one counts on from the highest \
                     stamp that was seen, so it is later than every request that its node knows of.",
            },
        ),
        Variable::new(
            "stamp",
            "Our_Sequence_Number",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new("awaiting", "Outstanding_Reply", "who has not answered yet"),
        Variable::new("deferred", "Reply_Deferred", "who gets its answer at the exit"),
    ],
    notes: &[
        "Needs no FIFO channels: a node that waits has exactly one answer to come from each other.",
        "With a network multicast the REQUEST is one message: N per entry instead of 2(N−1).",
        "Survives no crash: everybody's answer is needed.",
        "Deferred marks must be cleared when they are answered, ties broken by id, the clock advanced on \
         receipt, and the stamp taken before the first REQUEST leaves.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// Deferred marks stay set, so a node answers again at every exit, and answers are counted
    /// instead of kept as a set.
    KeepsDeferred,
    /// Equal clocks are not told apart by id.
    NoTieBreak,
    /// The clock does not advance on receipt.
    NoClockUpdate,
    /// The own stamp is noted when the multicast is over, on entry; until then the last one is there.
    LateStamp,
    /// Requests are ordered by id, and by clock only within one node.
    IdFirst,
    /// The clock advances on a REQUEST only.
    MuteReply,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RicartAgrawala {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    phase: Phase,
    /// The highest clock value seen, the paper's `Highest_Sequence_Number`.
    clock: LamportClock,
    /// The stamp of the current request, the paper's `Our_Sequence_Number`; kept when idle.
    stamp: u64,
    /// Who has not answered yet: a set, where the paper's `Outstanding_Reply_Count` is a number.
    awaiting: NodeSet,
    /// Who gets its answer when we leave, the paper's `Reply_Deferred`.
    deferred: NodeSet,
}

/// What the nodes say. Both carry the sender's clock, so that stamps follow happened-before.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want in.
    Request {
        /// Since when.
        t: u64,
    },
    /// As far as I am concerned you may.
    Reply {
        /// The sender's clock.
        t: u64,
    },
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Reply = "REPLY" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { t } => t.to_string(),
            Msg::Reply { .. } => String::new(),
        }
    }

    fn counters(&mut self, _from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        let (Msg::Request { t } | Msg::Reply { t }) = self;
        each(Counter::Clock, t);
    }
}

impl Rules for RicartAgrawala {
    type Message = Msg;

    /// REQUEST(t,i) to all; the stamp is taken once, before anything is sent.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        let t = self.clock.tick();
        if self.flaw != Flaw::LateStamp {
            self.stamp = t;
        }
        self.awaiting = NodeSet::others(self.n as usize, self.me);
        if !self.awaiting.is_empty() {
            out.broadcast(Msg::Request { t });
        }
        self.enter_if_all_replied(out);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { t } => self.on_request(Timestamp::new(t, from), out),
            Msg::Reply { t } => self.on_reply(from, t, out),
        }
    }

    /// The deferred REPLYs leave at the own exit.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        for node in self.deferred.iter() {
            out.send(node, Msg::Reply { t: self.clock.now() });
        }
        if self.flaw != Flaw::KeepsDeferred {
            self.deferred.clear();
        }
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }

    /// A REPLY is noted; with nothing new about the time no answer of ours depends on it.
    fn absorbs(&self, _: NodeId, message: &Msg) -> bool {
        matches!(message, Msg::Reply { t } if *t <= self.clock.now())
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.clock.counters_with(&mut self.stamp, each);
    }
}

impl RicartAgrawala {
    /// A receiver answers REPLY unless it is inside, or wants in with a smaller (t,id).
    fn on_request(&mut self, theirs: Timestamp, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(theirs.clock)?;
        if self.deferred.contains(theirs.node) && self.flaw != Flaw::KeepsDeferred {
            return Err(Refused::Unexpected("a second REQUEST before the first was answered"));
        }
        if self.flaw != Flaw::NoClockUpdate {
            self.clock.witness(theirs.clock);
        }
        let ours = Timestamp::new(self.stamp, self.me);
        let ours_is_older = match self.flaw {
            Flaw::NoTieBreak => ours.clock < theirs.clock,
            Flaw::IdFirst => ours.node < theirs.node,
            _ => ours < theirs,
        };
        if self.phase == Phase::Inside || self.phase == Phase::Waiting && ours_is_older {
            self.deferred.insert(theirs.node);
        } else {
            out.send(theirs.node, Msg::Reply { t: self.clock.now() });
        }
        Ok(())
    }

    /// Replies are counted as a set for one request, not as a number.
    fn on_reply(&mut self, from: NodeId, t: u64, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(t)?;
        if self.flaw == Flaw::KeepsDeferred {
            self.awaiting.first().map(|anyone| self.awaiting.remove(anyone));
        } else if !self.awaiting.remove(from) {
            return Err(Refused::Unexpected("a REPLY that was not asked for"));
        }
        if !matches!(self.flaw, Flaw::NoClockUpdate | Flaw::MuteReply) {
            self.clock.witness(t);
        }
        self.enter_if_all_replied(out);
        Ok(())
    }

    /// Enter on N−1 REPLYs.
    fn enter_if_all_replied(&mut self, out: &mut Outbox<Self>) {
        if self.phase == Phase::Waiting && self.awaiting.is_empty() {
            self.phase = Phase::Inside;
            if self.flaw == Flaw::LateStamp {
                self.stamp = self.clock.now();
            }
            out.emit(Entered);
        }
    }
}

variants! { Info {
    KeepsDeferred = "ricart-agrawala-keeps-deferred" {
        flaw: "deferred marks are never cleared and replies are counted as a number",
        breaks: Breaks::Safety,
        shown_by: "-n 3 --latency uniform:0.1..2",
        refuted_by: "-n 2 --requests 3",
    }
    NoTieBreak = "ricart-agrawala-no-tie-break" {
        flaw: "requests with equal clocks are not ordered by id",
        breaks: Breaks::Safety,
        shown_by: "-n 2",
        refuted_by: "-n 2 --requests 1",
    }
    NoClockUpdate = "ricart-agrawala-no-clock-update" {
        flaw: "the clock does not advance on receipt",
        breaks: Breaks::Safety,
        shown_by: "-n 3 --latency uniform:0.1..2 --think exp:2",
        refuted_by: "-n 3 --requests 0,1,1",
    }
    LateStamp = "ricart-agrawala-late-stamp" {
        flaw: "the stamp is noted after the multicast: who waits compares with that of its last request",
        breaks: Breaks::Liveness,
        shown_by: "-n 2",
        refuted_by: "-n 2 --requests 1",
    }
    IdFirst = "ricart-agrawala-id-first" {
        flaw: "requests are ordered by id before clock",
        breaks: Breaks::Safety,
        shown_by: "-n 3 --latency uniform:0.1..2 --think exp:2",
        refuted_by: "-n 3 --requests 0,1,1",
    }
    MuteReply = "ricart-agrawala-mute-reply" {
        flaw: "the clock does not advance on a REPLY",
        breaks: Breaks::Order,
        shown_by: "-n 3 --latency exp:1 --think exp:1",
        refuted_by: "-n 3 --requests 2,0,1",
    }
} }

impl Mutex for RicartAgrawala {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let node = |me| RicartAgrawala {
            me,
            n: setup.nodes() as u32,
            flaw,
            phase: Phase::Idle,
            clock: setup.clock(me),
            stamp: 0,
            awaiting: NodeSet::new(),
            deferred: NodeSet::new(),
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn stage(n: usize) -> Stage<RicartAgrawala> {
        Stage::new("ricart-agrawala", &Setup::new(n).unwrap())
    }

    /// The lectures' example: of two concurrent requests the one with the smaller stamp wins, here
    /// by id, and the other one follows when it leaves.
    #[test]
    fn the_older_request_enters_first() {
        let mut stage = stage(3);
        stage.ask([0, 2]);
        assert_eq!(stage.entries(), [0]);
        stage.leave(0);
        assert_eq!(stage.entries(), [0, 2]);
    }

    /// Pitfall: deferred marks that are never cleared.
    #[test]
    fn a_deferred_reply_is_sent_once() {
        let mut stage = stage(2);
        for _ in 0..3 {
            stage.ask([0, 1]);
            stage.leave(0);
            stage.leave(1);
        }
        assert_eq!(stage.sent(), 3 * 2 * 2);
    }

    /// Pitfall: an answer counts for the request it was given to, once, from that node.
    #[test]
    fn a_reply_nobody_asked_for_is_refused() {
        let mut stage = stage(3);
        stage.request(0);
        stage.deliver(0, 1);
        let reply = stage.oldest(1, 0);
        stage.deliver(1, 0);
        let refused = stage.inject(1, 0, reply);
        assert!(matches!(refused, Err(Refused::Unexpected(_))));
    }

    /// Pitfall: the stamp noted after the multicast. Both compare with a stamp they did not send and
    /// defer.
    #[test]
    fn with_a_late_stamp_both_defer() {
        let mut stage =
            Stage::<RicartAgrawala>::new("ricart-agrawala-late-stamp", &Setup::new(2).unwrap());
        stage.ask([0, 1]);
        assert_eq!((stage.inside(), stage.sent()), (vec![], 2));
    }

    /// P1 asks again after P3's request, of which it could know through P2's REPLY: it must not get in
    /// before it. Returns who entered.
    fn a_request_known_by_a_reply(name: &str) -> Vec<usize> {
        let mut stage = Stage::<RicartAgrawala>::new(name, &Setup::new(3).unwrap());
        stage.request(0);
        stage.deliver(0, 2);
        stage.request(2);
        stage.deliver(2, 1);
        stage.deliver(0, 1);
        stage.deliver(1, 0);
        stage.deliver(2, 0);
        stage.release(0);
        stage.ask([0]);
        stage.entries().to_vec()
    }

    #[test]
    fn a_reply_carries_the_time() {
        assert_eq!(a_request_known_by_a_reply("ricart-agrawala"), [0, 2]);
        assert_eq!(a_request_known_by_a_reply("ricart-agrawala-mute-reply"), [0, 0]);
    }
}
