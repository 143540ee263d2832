//! Sanders (spec 2.6): the general permission-based algorithm, over any information structure.

use serde::{Deserialize, Serialize};

use super::permission::{CLOCK, Flaw, Node};
pub use super::permission::{Msg, Word};
use super::{Entered, Lock, Mutex};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{AsksNobody, AsksOthers, ConstantLatency, Fifo, Lone, Saturated};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{
    Claim, Counter, Formula, Input, Never, NodeId, NodeSet, Outbox, Protocol, Refused, Setup,
    SetupError,
};

const SOUND: Info = Info {
    name: "sanders",
    title: "Sanders",
    paper: "B. A. Sanders: The information structure of distributed mutual exclusion algorithms. ACM TOCS 5(3), 1987",
    family: Family::Permission,
    channel: Order::Any,
    layout: Layout::Structure,
    memory: Formula("NN/2 + 256N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("L"), &[Lone, Fifo]),
            Published::new(Messages, Claim::between("L", "U"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, AsksOthers, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, AsksNobody]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[Saturated, ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Permission-based algorithms differ in whom a node asks (R_i) and whom it tells on exit (I_i); \
           with both as parameters they are one algorithm. An arbiter that will be told of the exit \
           grants one at a time, one that will not be told just grants. Lamport's, Ricart and Agrawala's \
           and Maekawa's structures are special cases, and new ones can be written down.",
    rules: &[
        "Request: stamp the wish, once, and send REQUEST to R_i; enter when all of R_i are LOCKED.",
        "Arbiter s, free: LOCKED to the oldest queued request. It becomes busy only if that requester is \
         in St_s = { j : s ∈ I_j }; repeat while it is free and the queue is not empty.",
        "Exit: RELEASE to I_i, whose members are free again.",
        "Deadlocks are resolved with FAILED, INQUIRE and RELINQUISH as in Maekawa's algorithm.",
    ],
    fires: &[
        "1 request | | {me} asks {candidate.asks} with the stamp {candidate.stamp'}",
        "1 LOCKED | {enters} = yes | all of {candidate.asks} are LOCKED, so {me} enters",
        "1 LOCKED | | LOCKED so far: {candidate.locked'} of {candidate.asks}",
        "2 REQUEST | {arbiter.grant} = –; {sent} ∋ LOCKED; {arbiter.status} ∋ {from} | {me} is free, so {from} is LOCKED; {from} is in St, so {me} is busy now",
        "2 REQUEST | {arbiter.grant} = –; {sent} ∋ LOCKED | {me} is free, so {from} is LOCKED; {from} is not in St, so {me} stays free",
        "2 RELEASE | {sent} ∋ LOCKED | the oldest of {arbiter.queue} is LOCKED",
        "2 RELINQUISH | {sent} ∋ LOCKED | the oldest is LOCKED",
        "3 release | | {me} tells {candidate.tells}",
        "3 RELEASE | |",
        "4 REQUEST | {arbiter.grant} < {message.stamp} {from}; {sent} ∋ FAILED | {<}: the grant {arbiter.grant} is older, so {from} gets FAILED",
        "4 REQUEST | {message.stamp} {from} < {arbiter.grant}; {sent} ∋ INQUIRE | {<}: {from} is older than the grant {arbiter.grant}, so {me} asks for it back by INQUIRE",
        "4 REQUEST | {arbiter.grant} ≠ –; {sent} ∋ FAILED | an older request is queued: {arbiter.queue'}",
        "4 REQUEST | {arbiter.grant} ∋ {me} | {me} has granted itself: {arbiter.grant}",
        "4 REQUEST | {arbiter.grant} ≠ –; {arbiter.queue} ∋ {me} | the oldest queued one until now was {me} itself",
        "4 FAILED, LOCKED | {sent} ∋ RELINQUISH | {candidate.inquired} asked for their grants back",
        "4 FAILED | | FAILED so far: {candidate.failed'}",
        "4 INQUIRE | {candidate.phase} ≠ waiting | {me} is {candidate.phase}, so it ignores the INQUIRE",
        "4 INQUIRE | {sent} ∋ RELINQUISH | {candidate.failed} said FAILED, so {me} gives the grant back",
        "4 INQUIRE | | {me} keeps the grant and remembers the INQUIRE",
        "4 RELINQUISH | | {arbiter.grant} goes back into the queue",
    ],
    variables: &[
        Variable::new("candidate.phase", "state", "idle, waiting or inside"),
        Variable::clock("C", CLOCK),
        Variable::new(
            "candidate.stamp",
            "T",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new("candidate.asks", "R", "the request set: whom it asks"),
        Variable::new("candidate.tells", "I", "the inform set: whom it tells on exit"),
        Variable::new("arbiter.status", "St", "the status set: whose exits it is told of"),
        Variable::new("candidate.locked", "GRANT", "whose grant it has"),
        Variable::new("candidate.failed", "FAIL", "who said that others come first"),
        Variable::new("candidate.inquired", "INQUIRE", "who asks for its grant back"),
        Variable::new("arbiter.grant", "granted-to", "whose request has its own grant"),
        Variable::new("arbiter.queue", "queue", "who waits for its own grant, the oldest first"),
    ],
    notes: &[
        "A structure is valid iff i ∈ I_i ⊆ R_i for every i, and for all i, j: I_i and I_j meet, or each \
         of the two asks the other.",
        "The messages have Maekawa's names; Sanders' GRANT, FAIL and YIELD are LOCKED, FAILED and \
         RELINQUISH.",
        "Clocks travel in every message: with clocks in REQUESTs alone, nodes that are nobody's arbiter \
         get twice the share.",
        "Needs no FIFO channels, since every message carries the stamp of the request it is about.",
        "The published delay is 2T where I_i and I_j meet, else T; as a node's word to itself is free, it \
         is shorter where the slowest shared arbiter is one of the two.",
        "The crash of an arbiter stops all who ask it.",
    ],
    broken: None,
};

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sanders(Node);

impl Protocol for Sanders {
    type Command = Lock;
    type Message = Msg;
    type Timer = Never;
    type Event = Entered;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.0.step(input, out)
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.0.counters(each);
    }
}

variants! { Info {
    Naive = "sanders-naive" {
        flaw: "as the lecture prints it: no FAILED, INQUIRE and RELINQUISH, grants are never given back",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --structure maekawa --latency uniform:0.1..2",
        refuted_by: "-n 3 --structure maekawa --requests 1",
    }
    AlwaysBusy = "sanders-always-busy" {
        flaw: "an arbiter becomes busy also for a requester that will not tell it on exit",
        breaks: Breaks::Liveness,
        shown_by: "-n 2 --structure ricart-agrawala",
        refuted_by: "-n 2 --structure ricart-agrawala --requests 1",
    }
} }

impl Mutex for Sanders {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let missing = SetupError::Missing { algorithm: SOUND.name, what: "information structure" };
        let structure = setup.structure().ok_or(missing)?;
        let nodes = || NodeId::all(structure.nodes());
        let asks: Vec<NodeSet> = nodes().map(|i| structure.request(i).clone()).collect();
        let tells: Vec<NodeSet> = nodes().map(|i| structure.inform(i).clone()).collect();
        Ok(Node::system(&asks, &tells, setup, flaw).into_iter().map(Sanders).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;
    use crate::topology::{Quorums, Structure};

    fn setup(structure: Structure) -> Setup {
        Setup::new(structure.nodes()).unwrap().with_structure(structure).unwrap()
    }

    fn majority() -> Structure {
        Structure::maekawa(&serde_json::from_str::<Quorums>("[[1,2],[2,3],[3,1]]").unwrap())
    }

    fn presets() -> [Structure; 4] {
        let (lamport, ricart_agrawala) = (Structure::lamport(3), Structure::ricart_agrawala(3));
        [lamport, ricart_agrawala, majority(), Structure::four_nodes()]
    }

    fn stage(structure: Structure) -> Stage<Sanders> {
        Stage::new("sanders", &setup(structure))
    }

    /// The published example: 1 and 2 (from 1) ask each other, 3 and 4 ask both.
    #[test]
    fn the_four_nodes_are_served_by_age() {
        let mut stage = stage(Structure::four_nodes());
        for requester in 0..4 {
            stage.request(requester);
        }
        for entered in 0..4 {
            stage.flush();
            assert_eq!(stage.inside(), [entered]);
            stage.release(entered);
        }
    }

    /// The lower bound is what a lone entry costs, exactly, for every node; also for one node alone.
    #[test]
    fn a_lone_request_costs_the_lower_bound() {
        for structure in presets().into_iter().chain([Structure::lamport(1)]) {
            for i in NodeId::all(structure.nodes()) {
                let mut stage = stage(structure.clone());
                for round in 1..3 {
                    stage.ask([i.index()]);
                    assert_eq!(stage.inside(), [i.index()]);
                    stage.leave(i.index());
                    assert_eq!(stage.sent(), round * structure.message_bounds(i).0);
                }
            }
        }
    }

    /// Pitfall: an arbiter that will not be told of the exit must not become busy.
    #[test]
    fn an_arbiter_is_busy_only_for_who_tells_it() {
        let mut stage = stage(Structure::four_nodes());
        stage.request(0);
        stage.deliver(0, 1);
        stage.request(2);
        stage.deliver(2, 1);
        assert_eq!(stage.oldest(1, 2).word, Word::Locked);
        stage.deliver(2, 0);
        assert_eq!(stage.oldest(0, 2).word, Word::Failed);
        stage.flush();
        stage.leave(0);
        assert_eq!(stage.entries(), [0, 2]);
    }

    /// Pitfall: an arbiter that stays free grants on, or the others wait for an exit that it never
    /// hears of.
    #[test]
    fn an_arbiter_grants_on_while_it_is_free() {
        let mut stage = stage(Structure::ricart_agrawala(3));
        stage.ask([0]);
        stage.request(1);
        stage.request(2);
        stage.deliver(1, 0);
        stage.deliver(2, 0);
        stage.deliver(0, 1);
        stage.deliver(0, 2);
        stage.release(0);
        assert_eq!(stage.oldest(0, 1).word, Word::Locked);
        assert_eq!(stage.oldest(0, 2).word, Word::Locked);
    }

    /// Pitfall: clocks advance on every message, or nodes that are nobody's arbiter, as 3 and 4
    /// (from 1), get twice the share.
    #[test]
    fn nobodys_arbiter_keeps_up_with_the_time() {
        let mut stage = stage(Structure::four_nodes());
        for requester in [3, 3, 3, 2] {
            stage.ask([requester]);
            stage.leave(requester);
        }
        stage.request(2);
        assert_eq!(stage.oldest(2, 0).stamp, 4);
    }

    /// An arbiter that is not told on exit has no grant to ask for.
    #[test]
    fn an_inquire_from_one_who_is_not_told_is_refused() {
        let mut stage = stage(Structure::four_nodes());
        stage.request(0);
        let inquire = Msg { word: Word::Inquire, stamp: 1, clock: 1 };
        assert!(matches!(stage.inject(1, 0, inquire), Err(Refused::Unexpected(_))));
    }
}
