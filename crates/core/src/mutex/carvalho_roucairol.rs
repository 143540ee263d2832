//! Carvalho–Roucairol (spec 2.4): a permission stays valid until one gives it away.

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, OwnClock, Variable, variants};
use crate::claims::Condition::{Again, ConstantLatency, Everybody, First, OneAtATime, Saturated};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{
    Claim, Counter, Formula, Message, NodeId, NodeSet, Outbox, Refused, Setup, SetupError,
};

const SOUND: Info = Info {
    name: "carvalho-roucairol",
    title: "Carvalho–Roucairol",
    paper: "O. S. F. Carvalho, G. Roucairol: On mutual exclusion in computer networks. CACM 26(2), 1983",
    family: Family::Permission,
    channel: Order::Any,
    layout: Layout::None,
    memory: Formula("NN/4 + 64N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("2(N-1)"), &[First]),
            Published::new(Messages, Claim::exactly("0"), &[Again]),
            Published::new(
                Messages,
                Claim::exactly("2(N-1)"),
                &[Saturated, Everybody, ConstantLatency],
            ),
            Published::new(Messages, Claim::between("0", "2(N-1)").typically("N-1"), &[OneAtATime]),
            Published::new(Messages, Claim::between("0", "2(N-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[First, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Again]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Ricart–Agrawala, in which an answer is a permission that lasts: a node that has the \
           permission of another one need not ask it again until it has answered that one itself. \
           One may think of one token for each pair of nodes; whoever has all of its N−1 tokens \
           may enter.",
    rules: &[
        "Request: stamp the wish with the own clock, once, and send REQUEST(t) to those whose \
         permission is missing.",
        "REQUEST at a node that is inside, or wants in with a smaller (t, id): defer the REPLY.",
        "REQUEST at any other node: give up the sender's permission and REPLY; a node that wants \
         in and had that permission sends its own REQUEST after it, with its original stamp.",
        "Enter when no permission is missing.",
        "Exit: give up the permissions of the deferred and send them their REPLYs.",
    ],
    fires: &[
        "1 request | {missing} = {} | no permission is missing, so nobody is asked",
        "1 request | | the permission of {missing} is missing; the stamp is {stamp'}",
        "2 REQUEST | {phase} = inside; {sent} ∌ REPLY | {me} is inside, so it defers",
        "2 REQUEST | {phase} = waiting; {stamp} {me} < {message.t} {from}; {sent} ∌ REPLY | {<}, so {me} defers",
        "3 REQUEST | {phase} = idle; {sent} ∋ REPLY; {missing'} ∋ {from} | {me} does not want in, so it replies at once",
        "3 REQUEST | {message.t} {from} < {stamp} {me}; {missing} ∋ {from}; {sent} ∋ REPLY | {<}, so {me} replies at once",
        "3 REQUEST | {message.t} {from} < {stamp} {me}; {missing'} ∋ {from}; {sent} ∋ REPLY; {sent} ∋ REQUEST | {<}, so {me} gives up the permission of {from} and asks for it again",
        "4 REPLY, request | {enters} = yes | every permission is here, so {me} enters",
        "4 REPLY | {enters} = no | the permission of {missing'} is missing, so {me} waits",
        "5 release | {deferred} = {} | nobody was deferred: {me} keeps all permissions",
        "5 release | | {me} replies to {deferred}",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::clock(
            "Highest_Sequence_Number",
            OwnClock {
                counts: "Only a request counts.",
                receipt: "A REQUEST stamped t makes it max(C, t); a REPLY has no stamp.",
                why: "Stamps only decide between two requests that meet at a node, and each is then \
                     later than all that its node was asked before.",
            },
        ),
        Variable::new(
            "stamp",
            "Our_Sequence_Number",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new("missing", "not A", "whose permission is missing"),
        Variable::new("deferred", "Reply_Deferred", "who gets its answer at the exit"),
    ],
    notes: &[
        "In the beginning nobody has a permission. A lone node that enters again pays nothing.",
        "Requests one at a time from anywhere cost N−1 on average: of two nodes either one may \
         have been the last to enter.",
        "Needs no FIFO channels: a REQUEST that overtakes a REPLY of its sender is always the \
         younger.",
        "Stamps do not order its entries: who has all permissions enters before an older REQUEST \
         comes.",
        "Survives no crash of a node whose permission is missing.",
        "A node that waits and yields must give the permission up and ask for it again.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// A waiting node that yields keeps the permission it has from the other one.
    KeepsPermission,
    /// A waiting node that yields gives the permission up and does not ask for it again.
    ForgetsToAsk,
    /// Both nodes of each pair begin with the other's permission.
    StartsWithAll,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CarvalhoRoucairol {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    phase: Phase,
    /// The highest clock value seen, the paper's `Highest_Sequence_Number`.
    clock: LamportClock,
    /// The stamp of the current request, the paper's `Our_Sequence_Number`; kept when idle.
    stamp: u64,
    /// Whose permission we do not have: the nodes `j` for which the paper's `A(j)` is false. While
    /// we wait, exactly these have a REQUEST of ours to answer.
    missing: NodeSet,
    /// Who gets its answer when we leave, the paper's `Reply_Deferred`.
    deferred: NodeSet,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want in and lack your permission.
    Request {
        /// Since when.
        t: u64,
    },
    /// You have my permission until you answer a REQUEST of mine.
    Reply,
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Reply = "REPLY" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { t } => t.to_string(),
            Msg::Reply => String::new(),
        }
    }

    fn counters(&mut self, _from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        if let Msg::Request { t } = self {
            each(Counter::Clock, t);
        }
    }
}

impl Rules for CarvalhoRoucairol {
    type Message = Msg;

    /// A request goes only to nodes whose permission is missing.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        self.stamp = self.clock.tick();
        for node in self.missing.iter() {
            out.send(node, Msg::Request { t: self.stamp });
        }
        self.enter_if_permitted(out);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { t } => self.on_request(Timestamp::new(t, from), out),
            Msg::Reply => self.on_reply(from, out),
        }
    }

    /// The deferred REPLYs leave at the own exit, and the permissions with them.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        for node in self.deferred.iter() {
            self.missing.insert(node);
            out.send(node, Msg::Reply);
        }
        self.deferred.clear();
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }

    /// A REPLY is noted; no answer of ours depends on it.
    fn absorbs(&self, _: NodeId, message: &Msg) -> bool {
        *message == Msg::Reply
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.clock.counters_with(&mut self.stamp, each);
    }
}

impl CarvalhoRoucairol {
    /// A receiver answers REPLY unless it is inside, or wants in with a smaller (t,id).
    fn on_request(&mut self, theirs: Timestamp, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(theirs.clock)?;
        if self.deferred.contains(theirs.node) {
            return Err(Refused::Unexpected("a second REQUEST before the first was answered"));
        }
        self.clock.witness(theirs.clock);
        let ours = Timestamp::new(self.stamp, self.me);
        if self.phase == Phase::Inside || self.phase == Phase::Waiting && ours < theirs {
            self.deferred.insert(theirs.node);
        } else if self.phase == Phase::Waiting {
            self.yield_to(theirs.node, out);
        } else {
            self.missing.insert(theirs.node);
            out.send(theirs.node, Msg::Reply);
        }
        Ok(())
    }

    /// A node that is requesting and yields to an older request gives up that permission and must
    /// send its own REQUEST to that node again, with its original timestamp.
    fn yield_to(&mut self, node: NodeId, out: &mut Outbox<Self>) {
        out.send(node, Msg::Reply);
        let given_up = self.flaw != Flaw::KeepsPermission && self.missing.insert(node);
        if given_up && self.flaw != Flaw::ForgetsToAsk {
            out.send(node, Msg::Request { t: self.stamp });
        }
    }

    /// A REPLY from j stays valid until i itself replies to j.
    fn on_reply(&mut self, from: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if self.phase != Phase::Waiting || !self.missing.remove(from) {
            return Err(Refused::Unexpected("a REPLY that was not asked for"));
        }
        self.enter_if_permitted(out);
        Ok(())
    }

    /// Enter with the permission of everybody.
    fn enter_if_permitted(&mut self, out: &mut Outbox<Self>) {
        if self.missing.is_empty() {
            self.phase = Phase::Inside;
            out.emit(Entered);
        }
    }
}

variants! { Info {
    KeepsPermission = "carvalho-roucairol-keeps-permission" {
        flaw: "a waiting node that yields keeps the permission it has from the other one",
        breaks: Breaks::Safety,
        shown_by: "-n 3 --latency uniform:0.1..2",
        refuted_by: "-n 3 --requests 1,1,2",
    }
    ForgetsToAsk = "carvalho-roucairol-forgets-to-ask" {
        flaw: "a waiting node that yields does not ask for the permission again",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..2",
        refuted_by: "-n 3 --requests 1,1,2",
    }
    StartsWithAll = "carvalho-roucairol-starts-with-all" {
        flaw: "everybody begins with everybody's permission",
        breaks: Breaks::Safety,
        shown_by: "-n 2",
        refuted_by: "-n 2 --requests 1",
    }
} }

impl Mutex for CarvalhoRoucairol {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let node = |me| CarvalhoRoucairol {
            me,
            n: setup.nodes() as u32,
            flaw,
            phase: Phase::Idle,
            clock: setup.clock(me),
            stamp: 0,
            missing: match flaw {
                Flaw::StartsWithAll => NodeSet::new(),
                _ => NodeSet::others(setup.nodes(), me),
            },
            deferred: NodeSet::new(),
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn stage(n: usize) -> Stage<CarvalhoRoucairol> {
        Stage::new("carvalho-roucairol", &Setup::new(n).unwrap())
    }

    fn once(stage: &mut Stage<CarvalhoRoucairol>, node: usize) {
        stage.ask([node]);
        assert_eq!(stage.inside(), [node]);
        stage.leave(node);
    }

    /// The lectures' example: the first entry costs as much as with Ricart–Agrawala, the next ones
    /// nothing, and another node asks only those who have entered since.
    #[test]
    fn a_permission_stays_valid_until_it_is_given_away() {
        let mut stage = stage(3);
        once(&mut stage, 2);
        assert_eq!(stage.sent(), 4);
        once(&mut stage, 2);
        assert_eq!(stage.sent(), 4);
        once(&mut stage, 0);
        assert_eq!(stage.sent(), 8);
        once(&mut stage, 2);
        assert_eq!(stage.sent(), 10, "only P1 has entered since");
    }

    /// A waits with B's permission for C's when an older request of B arrives.
    fn a_yielding_node(name: &str) -> Stage<CarvalhoRoucairol> {
        let (a, b, c) = (2, 1, 0);
        let mut stage = Stage::new(name, &Setup::new(3).unwrap());
        once(&mut stage, a);
        once(&mut stage, c);
        stage.request(b);
        stage.request(a);
        stage.deliver(b, a);
        stage
    }

    /// Pitfall: a node that waits and yields keeps the permission, or does not ask again.
    #[test]
    fn a_yielding_node_gives_the_permission_up_and_asks_again() {
        let mut stage = a_yielding_node("carvalho-roucairol");
        let original = stage.oldest(2, 0);
        stage.deliver(2, 1);
        assert_eq!(stage.oldest(2, 1), original, "it asks with its original stamp");
        stage.flush();
        assert_eq!(stage.inside(), [1]);
        stage.leave(1);
        assert_eq!(stage.inside(), [2]);
    }

    #[test]
    fn a_yielding_node_that_keeps_the_permission_is_not_alone() {
        let mut stage = a_yielding_node("carvalho-roucairol-keeps-permission");
        stage.flush();
        assert_eq!(stage.inside(), [1, 2]);
    }

    #[test]
    fn a_yielding_node_that_forgets_to_ask_waits_for_ever() {
        let mut stage = a_yielding_node("carvalho-roucairol-forgets-to-ask");
        stage.flush();
        stage.leave(1);
        assert_eq!(stage.inside(), [0; 0]);
    }

    /// Pitfall: all permissions present in the beginning.
    #[test]
    fn nobody_starts_with_a_permission() {
        let mut stage = stage(2);
        stage.request(0);
        stage.request(1);
        assert_eq!(stage.inside(), [0; 0]);
        stage.flush();
        assert_eq!(stage.inside(), [0]);
    }

    /// Why it claims no order: the last entry happens after the request of P1 was known to P2, and
    /// overtakes it.
    #[test]
    fn a_kept_permission_overtakes_an_older_request() {
        let mut stage = stage(3);
        once(&mut stage, 2);
        once(&mut stage, 1);
        stage.request(0);
        stage.deliver(0, 1);
        stage.request(2);
        stage.deliver(2, 1);
        stage.deliver(1, 2);
        stage.release(2);
        stage.request(2);
        assert_eq!(stage.entries(), [2, 1, 2, 2]);
        stage.leave(2);
        assert_eq!(stage.inside(), [0]);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let mut stage = stage(3);
        stage.request(0);
        stage.request(1);
        stage.deliver(1, 0);
        stage.deliver(0, 2);
        stage.deliver(2, 0);
        stage.refuses([
            (1, 0, Msg::Request { t: 1 }),        // asked already and is deferred
            (1, 0, Msg::Request { t: 9 }),        // the same
            (2, 0, Msg::Request { t: u64::MAX }), // no clock goes that far
            (2, 0, Msg::Reply),                   // answered already
            (0, 2, Msg::Reply),                   // was not asked
            (9, 0, Msg::Reply),                   // of nobody
        ]);
    }
}
