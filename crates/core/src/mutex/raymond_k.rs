//! Raymond's k entries at once: Ricart–Agrawala in which a node does not wait for everybody.

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, OwnClock, Variable, variants};
use crate::claims::Condition::{ConstantLatency, Lone};
use crate::claims::Quantity::{ClientDelay, Messages};
use crate::claims::{Claims, Published};
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{Claim, Counter, Formula, Message, NodeId, Outbox, Refused, Setup, SetupError};

const SOUND: Info = Info {
    name: "raymond-k",
    title: "Raymond's k entries at once",
    paper: "K. Raymond: A distributed algorithm for multiple entries to a critical section. Information Processing Letters 30(4), 1989",
    family: Family::Permission,
    channel: Order::Any,
    layout: Layout::Capacity,
    memory: Formula("8NN + 128N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("2(N-1)"), &[Lone]),
            Published::new(Messages, Claim::between("2N-k-1", "2(N-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Up to k nodes may be inside together: k identical printers, say. A node asks all others, as in \
           Ricart–Agrawala's algorithm, but enters as soon as N−k of them have answered. The k−1 whose answers \
           are missing may be inside, or want in before it; with itself that makes k. Their answers come \
           late, perhaps only after its next request, so each node counts how many every other one still \
           owes it.",
    rules: &[
        "Request: stamp the wish with the own clock, once, and send REQUEST(t) to all others; each of them owes one REPLY more.",
        "REQUEST at a node that is inside, or wants in with a smaller (t, id): defer the REPLY, and count how many are deferred for its sender.",
        "REQUEST at any other node: REPLY(1) at once.",
        "REPLY(c): its sender owes c less. Enter when N−k other nodes owe nothing.",
        "Exit: send everybody for whom c > 0 REPLYs are deferred one REPLY(c).",
    ],
    fires: &[
        "1 request | | {me} stamps its wish with {stamp'}",
        "2 REQUEST | {phase} = inside; {sent} ∌ REPLY | {me} is inside, so it defers",
        "2 REQUEST | {phase} = waiting; {stamp} {me} < {message.t} {from}; {sent} ∌ REPLY | {<}, so {me} defers",
        "3 REQUEST | {phase} = idle; {sent} ∋ REPLY | {me} does not want in, so it replies at once",
        "3 REQUEST | {phase} = waiting; {message.t} {from} < {stamp} {me}; {sent} ∋ REPLY | {<}, so {me} replies at once",
        "4 REPLY | {enters} = yes | only {debtors'} others owe {me} a REPLY, so it enters",
        "4 REPLY | {phase} = waiting | {debtors'} others owe {me} a REPLY, so it waits",
        "4 REPLY | | a late REPLY: {from} owes {me} {owed'[from]} now",
        "4 request | {enters} = yes | {me} is alone, so it enters",
        "5 release | {sent} ∌ REPLY | nobody was deferred",
        "5 release | | {me} sends the REPLYs that it deferred",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::new("capacity", "K", "how many may be inside at once"),
        Variable::clock(
            "Highest_Sequence_Number",
            OwnClock {
                counts: "Only a request counts.",
                receipt: "A REQUEST stamped t makes it max(C, t).",
                why: "Only requests are stamped and compared. A node that has replied to a request must stamp \
                     its next one later, and it has seen the stamp of every request to which it replied.",
            },
        ),
        Variable::new(
            "stamp",
            "Our_Sequence_Number",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new("owed", "Reply_Count", "how many REPLYs each other node still owes"),
        Variable::new("debtors", "N−1−Num_Replies", "how many other nodes owe any"),
        Variable::new(
            "deferred",
            "Defer_Count",
            "how many REPLYs each other node gets at the exit",
        ),
    ],
    notes: &[
        "With k = 1 it is Ricart–Agrawala's algorithm.",
        "Safe: of k+1 inside, the one with the latest stamp lacks k−1 replies at most, so one of the other k has \
         replied to it, either before it asked itself, and then with a later stamp, or because its own was later.",
        "Needs no FIFO channels: a node owes nothing only if it has replied to the present request and to all before.",
        "Requests are not served in the order of happened-before where k > 1: a node does not wait for the k−1 that \
         it could overtake. While a REQUEST is slow, others can enter as often as they like.",
        "Fences do not rise from entry to entry where k > 1, since entries that share the section follow from \
         nothing in each other. Each is higher than that of every entry of which its node has heard. A semaphore \
         whose fences rise is the mode permits:K over an exclusive lock, in which entries happen one after another.",
        "A late REPLY must not be taken for one to the next request, and REPLYs must be counted for each sender.",
        "Survives the crash of up to k−1 nodes in that nobody waits for them; each of them takes one of the k \
         places with it.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// What others owe from earlier requests is forgotten at the next one.
    ForgetsDebts,
    /// A node counts itself among those who must have replied.
    CountsItself,
    /// The clock does not advance on receipt.
    NoClockUpdate,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RaymondK {
    me: NodeId,
    flaw: Flaw,
    phase: Phase,
    /// The paper's `K`.
    capacity: u32,
    /// The highest clock value seen, the paper's `Highest_Sequence_Number`.
    clock: LamportClock,
    /// The stamp of the current request, the paper's `Our_Sequence_Number`; kept when idle.
    stamp: u64,
    /// How many REPLYs each node still owes us, the paper's `Reply_Count`.
    owed: Vec<u32>,
    /// How many nodes owe us any, so that a REPLY takes no look at all of them.
    debtors: u32,
    /// How many REPLYs each node gets when we leave, the paper's `Defer_Count`.
    deferred: Vec<u32>,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want in.
    Request {
        /// Since when.
        t: u64,
    },
    /// As far as I am concerned you may.
    Reply {
        /// To how many requests this is the answer.
        count: u32,
    },
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Reply = "REPLY" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { t } => t.to_string(),
            Msg::Reply { count: 1 } => String::new(),
            Msg::Reply { count } => format!("×{count}"),
        }
    }

    fn counters(&mut self, _from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        if let Msg::Request { t } = self {
            each(Counter::Clock, t);
        }
    }
}

impl Rules for RaymondK {
    type Message = Msg;

    /// REQUEST(t,i) to all; each of them owes one REPLY more.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        self.stamp = self.clock.tick();
        let others = self.owed.iter_mut().enumerate().filter(|(i, _)| *i != self.me.index());
        for (_, owed) in others {
            *owed = if self.flaw == Flaw::ForgetsDebts { 1 } else { *owed + 1 };
        }
        self.debtors = self.owed.len() as u32 - 1;
        if self.debtors > 0 {
            out.broadcast(Msg::Request { t: self.stamp });
        }
        self.enter_if_enough_replied(out);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { t } => self.on_request(Timestamp::new(t, from), out),
            Msg::Reply { count } => self.on_reply(from, count, out),
        }
    }

    /// The deferred REPLYs leave at the own exit, one message for each receiver.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        for (i, count) in self.deferred.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            out.send(NodeId::new(i), Msg::Reply { count: std::mem::take(count) });
        }
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.owed.len())
    }

    /// With one at a time a REPLY is noted, as in Ricart–Agrawala's algorithm. With more, who has entered defers
    /// requests to which it would have replied while it waited.
    fn absorbs(&self, _: NodeId, message: &Msg) -> bool {
        self.capacity == 1 && matches!(message, Msg::Reply { .. })
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.clock.counters_with(&mut self.stamp, each);
    }
}

impl RaymondK {
    /// A receiver answers REPLY unless it is inside, or wants in with a smaller (t,id).
    fn on_request(&mut self, theirs: Timestamp, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(theirs.clock)?;
        if self.deferred[theirs.node.index()] == u32::MAX {
            return Err(Refused::Unexpected("more REQUESTs than can be counted"));
        }
        if self.flaw != Flaw::NoClockUpdate {
            self.clock.witness(theirs.clock);
        }
        let ours_is_older = Timestamp::new(self.stamp, self.me) < theirs;
        if self.phase == Phase::Inside || self.phase == Phase::Waiting && ours_is_older {
            self.deferred[theirs.node.index()] += 1;
        } else {
            out.send(theirs.node, Msg::Reply { count: 1 });
        }
        Ok(())
    }

    /// Replies are counted off for each sender, so that a late one is not taken for one to the present request.
    fn on_reply(
        &mut self,
        from: NodeId,
        count: u32,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        let owed = &mut self.owed[from.index()];
        if self.flaw == Flaw::ForgetsDebts && *owed < count {
            return Ok(());
        }
        if count == 0 || *owed < count {
            return Err(Refused::Unexpected("a REPLY that was not asked for"));
        }
        *owed -= count;
        self.debtors -= u32::from(*owed == 0);
        self.enter_if_enough_replied(out);
        Ok(())
    }

    /// Enter on N−k REPLYs: k−1 other nodes may owe one.
    fn enter_if_enough_replied(&mut self, out: &mut Outbox<Self>) {
        let counted = u32::from(self.flaw == Flaw::CountsItself);
        if self.phase == Phase::Waiting && self.debtors < self.capacity + counted {
            self.phase = Phase::Inside;
            out.emit(Entered);
        }
    }
}

variants! { Info {
    ForgetsDebts = "raymond-k-forgets-debts" {
        flaw: "a request forgets which REPLYs to earlier ones are missing, so a late one is taken for one to this request",
        breaks: Breaks::Safety,
        shown_by: "-n 4 --capacity 2 --latency uniform:0.1..2",
        refuted_by: "-n 3 --capacity 2 --requests 1,1,2",
    }
    CountsItself = "raymond-k-counts-itself" {
        flaw: "a node counts itself among the N−k that must have replied",
        breaks: Breaks::Safety,
        shown_by: "-n 4 --capacity 2",
        refuted_by: "-n 4 --capacity 2 --requests 0,1,1,1",
    }
    NoClockUpdate = "raymond-k-no-clock-update" {
        flaw: "the clock does not advance on receipt",
        breaks: Breaks::Safety,
        shown_by: "-n 4 --capacity 2 --latency uniform:0.1..2 --think exp:2",
        refuted_by: "-n 3 --capacity 2 --requests 1,2,1",
    }
} }

impl Mutex for RaymondK {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let node = |me| RaymondK {
            me,
            flaw,
            phase: Phase::Idle,
            capacity: setup.capacity() as u32,
            clock: setup.clock(me),
            stamp: 0,
            owed: vec![0; setup.nodes()],
            debtors: 0,
            deferred: vec![0; setup.nodes()],
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn stage(name: &str, n: usize, capacity: usize) -> Stage<RaymondK> {
        Stage::new(name, &Setup::new(n).unwrap().with_capacity(capacity).unwrap())
    }

    /// The paper's case: k enter together, the next one when one of them leaves.
    #[test]
    fn k_are_inside_together() {
        let mut stage = stage("raymond-k", 4, 2);
        for node in 0..4 {
            stage.request(node);
        }
        stage.flush();
        assert_eq!(stage.inside(), [0, 1]);
        stage.leave(1);
        assert_eq!((stage.inside(), stage.entries()), (vec![0, 2], &[0, 1, 2][..]));
        stage.leave(0);
        assert_eq!(stage.inside(), [2, 3]);
    }

    /// 2N−k−1 messages on the way in; what was deferred comes as one message, however many requests it answers.
    #[test]
    fn deferred_replies_travel_together() {
        let mut stage = stage("raymond-k", 3, 2);
        stage.ask([0]);
        let before = stage.sent();
        for _ in 0..5 {
            stage.ask([2]);
            stage.release(2);
        }
        assert_eq!(stage.sent() - before, 5 * (2 * 3 - 2 - 1));
        stage.release(0);
        assert_eq!(stage.oldest(0, 2), Msg::Reply { count: 5 });
        stage.flush();
        assert_eq!(stage.sent() - before, 5 * 3 + 1);
    }

    /// P3 entered without P1's REPLY to its first request. That comes late, and tells nothing about P3's
    /// second request, to which P1, inside again, has not replied. Returns who is inside at the end.
    fn a_late_reply(name: &str) -> Vec<usize> {
        let mut stage = stage(name, 3, 2);
        stage.ask([0]);
        stage.ask([2]);
        stage.release(2);
        stage.release(0);
        // Under way: P1's REPLY to P3's first request.
        assert_eq!(stage.in_flight(0, 2), 1);
        for node in [0, 1] {
            stage.request(node);
            stage.deliver(node, 1 - node);
        }
        stage.deliver(1, 0);
        assert_eq!(stage.inside(), [0]);
        stage.request(2);
        stage.deliver(0, 2);
        stage.inside()
    }

    #[test]
    fn a_late_reply_is_counted_off() {
        assert_eq!(a_late_reply("raymond-k"), [0]);
        assert_eq!(a_late_reply("raymond-k-forgets-debts"), [0, 2]);
    }

    #[test]
    fn more_replies_than_are_owed_are_refused() {
        let mut stage = stage("raymond-k", 3, 2);
        stage.request(0);
        for count in [0, 2] {
            let refused = stage.inject(1, 0, Msg::Reply { count });
            assert!(matches!(refused, Err(Refused::Unexpected(_))), "{count}");
        }
        assert_eq!(stage.inject(1, 0, Msg::Reply { count: 1 }), Ok(()));
    }

    #[test]
    fn a_section_for_all_is_no_section() {
        let setup = Setup::new(3).unwrap();
        assert!(setup.clone().with_capacity(0).is_err());
        let all = setup.with_capacity(3).unwrap_err().to_string();
        assert!(all.starts_with("3 of 3 nodes inside at once"), "{all}");
    }
}
