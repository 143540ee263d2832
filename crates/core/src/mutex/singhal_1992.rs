//! Singhal's dynamic information structure (1992): whom a node asks follows from who asked it last.

use serde::{Deserialize, Serialize};

use super::ricart_agrawala::Msg;
use super::{Entered, Mutex, Phase, Rules, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, OwnClock, Variable, variants};
use crate::claims::Condition::{
    Again, AsksNobody, AsksOthers, ConstantLatency, Everybody, First, Lone, OneAtATime, Saturated,
};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{Claim, Counter, Formula, NodeId, NodeSet, Outbox, Refused, Setup, SetupError};

const SOUND: Info = Info {
    name: "singhal-1992",
    title: "Singhal (dynamic information structure)",
    paper: "M. Singhal: A dynamic information-structure mutual exclusion algorithm for distributed systems. IEEE TPDS 3(1), 1992. The rules are as described in secondary sources",
    family: Family::Permission,
    channel: Order::Any,
    layout: Layout::None,
    memory: Formula("NN/4 + 64N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("2(i-1)"), &[First]),
            Published::new(Messages, Claim::exactly("0"), &[Again]),
            Published::new(
                Messages,
                Claim::exactly("2(N-1)"),
                &[Saturated, Everybody, ConstantLatency],
            ),
            Published::new(Messages, Claim::between("0", "2(N-1)").typically("N-1"), &[OneAtATime]),
            Published::new(Messages, Claim::between("0", "2(N-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[First, AsksOthers, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, AsksNobody]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Again]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Each node has a request set R of those it has to ask, and an inform set I of those it tells when it \
           leaves. The sets change with the use: whom a node answers it has to ask from then on, and who \
           has answered it need not be asked again. Of two nodes one always asks the other, and \
           those who enter often ask those who enter often, not everybody.",
    rules: &[
        "Start: R of each node is everybody with a smaller id, and I is itself (the staircase).",
        "Request: stamp the wish with the own clock, once, and send REQUEST(t) to all in R.",
        "REQUEST at a node that is inside, or wants in with a smaller (t, id): put its sender into I.",
        "REQUEST at a node that wants in with a larger (t, id): REPLY; if the sender is not in R, put it there \
         and send it the own REQUEST, with its original stamp.",
        "REQUEST at any other node: REPLY and put the sender into R.",
        "REPLY: take its sender out of R. Enter when R is empty.",
        "Exit: send REPLY to all in I, and move them to R.",
    ],
    fires: &[
        "2 request | {request_set} = {} | R is empty, so nobody is asked",
        "2 request | {request_set} ≠ {} | R is {request_set}; the stamp is {stamp'}",
        "3 REQUEST | {phase} = inside; {sent} ∌ REPLY | {me} is inside, so {from} goes into I",
        "3 REQUEST | {phase} = waiting; {stamp} {me} < {message.t} {from}; {sent} ∌ REPLY | {<}, so {from} goes into I",
        "4 REQUEST | {phase} = waiting; {message.t} {from} < {stamp} {me}; {request_set} ∋ {from}; {sent} ∋ REPLY | {<}, so {me} replies at once; it has asked {from} already",
        "4 REQUEST | {phase} = waiting; {message.t} {from} < {stamp} {me}; {request_set'} ∋ {from}; {sent} ∋ REPLY; {sent} ∋ REQUEST | {<}, so {me} replies at once, and now has to ask {from}",
        "5 REQUEST | {phase} = idle; {sent} ∋ REPLY; {request_set'} ∋ {from} | {me} does not want in, so it replies at once and has to ask {from} next time",
        "6 REPLY, request | {enters} = yes | R is empty, so {me} enters",
        "6 REPLY | {enters} = no | R is {request_set'}, so {me} waits",
        "7 release | {inform_set} = {} | nobody else is in I",
        "7 release | {inform_set} ≠ {} | {me} replies to {inform_set} and has to ask them next time",
    ],
    variables: &[
        Variable::new("phase", "Requesting, Executing", "idle, waiting or inside"),
        Variable::clock(
            "C",
            OwnClock {
                counts: "Only a request counts.",
                receipt: "A REQUEST or REPLY of a sender with clock c makes it max(C, c).",
                why: "Stamps only decide between two requests that meet at a node, and each is then \
                     later than all that its node has heard of before.",
            },
        ),
        Variable::new(
            "stamp",
            "C of the request",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new(
            "request_set",
            "R",
            "whom it has to ask; while it waits, who has not answered",
        ),
        Variable::new("inform_set", "I", "whom it tells at the exit, without itself"),
    ],
    notes: &[
        "For every pair of nodes one is in the other's R, or a message that decides it is on its way: one may \
         think of one token for each pair. These are the rules of Carvalho and Roucairol, found again \
         as a request set that changes; only the start differs: there nobody has a permission, here of \
         each pair the smaller id has it, which saves half of the first messages.",
        "Requests one at a time from anywhere cost N−1 on average, as published: of two nodes either one may \
         have been the last to enter.",
        "The paper expects 3(N−1)/2 messages under heavy load, from the assumption that a node that waits \
         is asked by half of the others. When everybody asks again at once it is 2(N−1): between two \
         entries of a node every other one enters, so it has to ask all of them.",
        "Needs no FIFO channels: a REQUEST that overtakes a REPLY of its sender is always the younger.",
        "Stamps do not order its entries: whose R is empty enters before an older REQUEST comes.",
        "Survives no crash of a node that is in somebody's R.",
        "A node that waits and yields must ask the one that it yields to, with the stamp of its request \
         and not with its clock, as descriptions of the rules may be read.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// Instead of the staircase, everybody asks P1.
    AsksFirst,
    /// A waiting node that yields does not ask in return.
    NoRequestBack,
    /// Whom a node tells at its exit it does not ask next time.
    KeepsSets,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Singhal1992 {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// The paper's `Requesting` and `Executing`.
    phase: Phase,
    /// The highest clock value seen, the paper's `C`.
    clock: LamportClock,
    /// The stamp of the current request; kept when idle.
    stamp: u64,
    /// The paper's `R` without ourselves. While we wait, exactly these have a REQUEST of ours to answer.
    request_set: NodeSet,
    /// The paper's `I` without ourselves.
    inform_set: NodeSet,
}

impl Rules for Singhal1992 {
    /// REQUEST: I want in, and have to ask you. REPLY: you may, and need not ask me again until you have answered me.
    type Message = Msg;

    /// Step 1 of the paper.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        self.stamp = self.clock.tick();
        for node in self.request_set.iter() {
            out.send(node, Msg::Request { t: self.stamp });
        }
        self.enter_if_answered(out);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { t } => self.on_request(Timestamp::new(t, from), out),
            Msg::Reply { t } => self.on_reply(from, t, out),
        }
    }

    /// Step 3 of the paper.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        for node in self.inform_set.iter() {
            out.send(node, Msg::Reply { t: self.clock.now() });
        }
        if self.flaw != Flaw::KeepsSets {
            self.request_set.extend(self.inform_set.iter());
        }
        self.inform_set.clear();
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

impl Singhal1992 {
    /// The paper's handler of REQUEST, with its three cases.
    fn on_request(&mut self, theirs: Timestamp, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(theirs.clock)?;
        if self.inform_set.contains(theirs.node) {
            return Err(Refused::Unexpected("a second REQUEST before the first was answered"));
        }
        self.clock.witness(theirs.clock);
        let ours = Timestamp::new(self.stamp, self.me);
        if self.phase == Phase::Inside || self.phase == Phase::Waiting && ours < theirs {
            self.inform_set.insert(theirs.node);
            return Ok(());
        }
        out.send(theirs.node, Msg::Reply { t: self.clock.now() });
        let is_new = self.request_set.insert(theirs.node);
        if self.phase == Phase::Waiting && is_new && self.flaw != Flaw::NoRequestBack {
            out.send(theirs.node, Msg::Request { t: self.stamp });
        }
        Ok(())
    }

    /// The paper's handler of REPLY.
    fn on_reply(&mut self, from: NodeId, t: u64, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(t)?;
        if self.phase != Phase::Waiting || !self.request_set.remove(from) {
            return Err(Refused::Unexpected("a REPLY that was not asked for"));
        }
        self.clock.witness(t);
        self.enter_if_answered(out);
        Ok(())
    }

    /// Enter when nobody is left to answer.
    fn enter_if_answered(&mut self, out: &mut Outbox<Self>) {
        if self.request_set.is_empty() {
            self.phase = Phase::Inside;
            out.emit(Entered);
        }
    }
}

variants! { Info {
    AsksFirst = "singhal-1992-asks-first" {
        flaw: "in the beginning everybody asks P1, instead of everybody with a smaller id",
        breaks: Breaks::Safety,
        shown_by: "-n 3",
        refuted_by: "-n 3 --requests 0,1,1",
    }
    NoRequestBack = "singhal-1992-no-request-back" {
        flaw: "a waiting node that yields puts the other one into R, but sends it no REQUEST",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..2",
        refuted_by: "-n 3 --requests 1,1,2",
    }
    KeepsSets = "singhal-1992-keeps-sets" {
        flaw: "who is told at the exit is not put into R",
        breaks: Breaks::Safety,
        shown_by: "-n 2",
        refuted_by: "-n 2 --requests 2,1",
    }
} }

impl Mutex for Singhal1992 {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let node = |me: NodeId| Singhal1992 {
            me,
            n: setup.nodes() as u32,
            flaw,
            phase: Phase::Idle,
            clock: setup.clock(me),
            stamp: 0,
            request_set: match flaw {
                Flaw::AsksFirst => NodeId::all(me.index().min(1)).collect(),
                _ => NodeId::all(me.index()).collect(),
            },
            inform_set: NodeSet::new(),
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn stage(name: &str, n: usize) -> Stage<Singhal1992> {
        Stage::new(name, &Setup::new(n).unwrap())
    }

    fn once(stage: &mut Stage<Singhal1992>, node: usize) -> usize {
        let before = stage.sent();
        stage.ask([node]);
        assert_eq!(stage.inside(), [node]);
        stage.leave(node);
        stage.sent() - before
    }

    fn asked(stage: &Stage<Singhal1992>) -> Vec<Vec<usize>> {
        let set = |node: &Singhal1992| node.request_set.iter().map(NodeId::index).collect();
        stage.nodes.iter().map(set).collect()
    }

    /// The paper's picture: a staircase in the beginning, and in each idle system the same staircase with
    /// the nodes in the order of their last entries.
    #[test]
    fn the_staircase_is_rearranged_by_use() {
        let mut stage = stage("singhal-1992", 4);
        assert_eq!(asked(&stage), [vec![], vec![0], vec![0, 1], vec![0, 1, 2]]);
        assert_eq!(once(&mut stage, 2), 2 * 2);
        assert_eq!(asked(&stage), [vec![2], vec![0, 2], vec![], vec![0, 1, 2]]);
        assert_eq!(once(&mut stage, 3), 2 * 3);
        assert_eq!(asked(&stage), [vec![2, 3], vec![0, 2, 3], vec![3], vec![]]);
        assert_eq!(once(&mut stage, 3), 0);
        assert_eq!(once(&mut stage, 2), 2, "only P4 has entered since");
    }

    /// P3 waits for P1's answer when an older request of P2, which it need not ask, arrives.
    fn a_yielding_node(name: &str) -> Stage<Singhal1992> {
        let mut stage = stage(name, 3);
        once(&mut stage, 2);
        once(&mut stage, 0);
        stage.request(1);
        stage.request(2);
        stage.deliver(1, 2);
        stage
    }

    /// Pitfall: who yields has to ask, with its original stamp.
    #[test]
    fn a_yielding_node_asks_in_return() {
        let mut stage = a_yielding_node("singhal-1992");
        let original = stage.oldest(2, 0);
        stage.deliver(2, 1);
        assert_eq!(stage.oldest(2, 1), original);
        stage.flush();
        assert_eq!(stage.inside(), [1]);
        stage.leave(1);
        assert_eq!(stage.inside(), [2]);
    }

    #[test]
    fn a_yielding_node_that_does_not_ask_waits_for_ever() {
        let mut stage = a_yielding_node("singhal-1992-no-request-back");
        stage.flush();
        stage.leave(1);
        assert_eq!(stage.inside(), [0; 0]);
    }

    #[test]
    fn without_the_staircase_two_do_not_ask_each_other() {
        let mut stage = stage("singhal-1992-asks-first", 3);
        stage.ask([1, 2]);
        assert_eq!(stage.inside(), [1, 2]);
    }

    /// Of the pair that it was in one node always has to ask: no two have the right to enter unasked.
    #[test]
    fn of_two_idle_nodes_one_has_to_ask_the_other() {
        let mut stage = stage("singhal-1992", 5);
        for node in [3, 1, 4, 1, 0, 2, 4, 3] {
            once(&mut stage, node);
            let sets = asked(&stage);
            for (i, j) in (0..5).flat_map(|j| (0..j).map(move |i| (i, j))) {
                assert!(sets[i].contains(&j) != sets[j].contains(&i), "P{} and P{}", i + 1, j + 1);
            }
        }
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let mut stage = stage("singhal-1992", 3);
        let reply = |t| Msg::Reply { t };
        stage.request(0);
        stage.request(2);
        stage.deliver(2, 0);
        stage.refuses([
            (2, 0, Msg::Request { t: 9 }), // asked already and is in I
            (1, 0, Msg::Request { t: u64::MAX }),
            (1, 0, reply(1)), // was not asked
            (1, 2, reply(u64::MAX)),
            (9, 0, reply(1)), // of nobody
        ]);
    }
}
