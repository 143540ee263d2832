//! Maekawa (spec 2.5): ask a quorum; any two quorums meet in an arbiter that grants one at a time.

use serde::{Deserialize, Serialize};

use super::permission::{CLOCK, Flaw, Node};
pub use super::permission::{Msg, Word};
use super::{Entered, Lock, Mutex};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{
    AsksNobody, AsksOthers, ConstantLatency, Everybody, Fifo, Lone, Saturated,
};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{
    Claim, Counter, Formula, Input, Never, NodeSet, Outbox, Protocol, Refused, Setup, SetupError,
};

const SOUND: Info = Info {
    name: "maekawa",
    title: "Maekawa",
    paper: "M. Maekawa: A √N algorithm for mutual exclusion in decentralized systems. ACM TOCS 3(2), 1985",
    family: Family::Quorum,
    channel: Order::Any,
    layout: Layout::Quorums,
    memory: Formula("NN/8 + 256N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("3(K-1)"), &[Lone, Fifo]),
            Published::new(
                Messages,
                Claim::exactly("4(K-1)"),
                &[Saturated, Everybody, ConstantLatency],
            ),
            Published::new(Messages, Claim::between("3(K-1)", "7(K-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, AsksOthers, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, AsksNobody]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[Saturated, ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "A node that wants in asks only the members of its quorum, and each member grants one request \
           at a time. As any two quorums have a member in common, two nodes never have all their grants \
           at once. Grants taken one by one can deadlock; so an arbiter asks for its grant back when an \
           older request comes, and whoever knows that it is not next gives it.",
    rules: &[
        "Request: stamp the wish, once, and send REQUEST to the quorum; enter when all are LOCKED.",
        "REQUEST r at a free arbiter: LOCKED to r's node.",
        "REQUEST r at one busy with c: queue r by (t, id). If r is older than c and than all queued, \
         INQUIRE to c's node, once per grant, and FAILED to the request that was the oldest queued one \
         until now; else FAILED to r's node.",
        "An arbiter is in the failed set from its FAILED, or from getting its grant back, to its LOCKED.",
        "INQUIRE: ignored inside. With a failed set that is not empty, RELINQUISH; else remember it and \
         act on the next FAILED, for all that are remembered.",
        "RELINQUISH: c goes back into the queue; LOCKED to the oldest.",
        "Exit: RELEASE to the quorum; each arbiter sends LOCKED to its oldest queued request, if any.",
    ],
    fires: &[
        "1 request | | {me} asks {candidate.asks} with the stamp {candidate.stamp'}",
        "1 LOCKED | {enters} = yes | all of {candidate.asks} are LOCKED, so {me} enters",
        "1 LOCKED | | LOCKED so far: {candidate.locked'} of {candidate.asks}",
        "2 REQUEST | {arbiter.grant} = –; {sent} ∋ LOCKED | {me} has granted nobody, so {from} is LOCKED",
        "3 REQUEST | {arbiter.grant} < {message.stamp} {from}; {sent} ∋ FAILED | {<}: the grant {arbiter.grant} is older, so {from} gets FAILED",
        "3 REQUEST | {message.stamp} {from} < {arbiter.grant}; {sent} ∋ INQUIRE | {<}: {from} is older than the grant {arbiter.grant}, so {me} asks for it back by INQUIRE",
        "3 REQUEST | {arbiter.grant} ≠ –; {sent} ∋ FAILED | an older request is queued: {arbiter.queue'}",
        "3 REQUEST | {arbiter.grant} ∋ {me} | {me} is its own arbiter and has granted itself: {arbiter.grant}",
        "3 REQUEST | {arbiter.grant} ≠ –; {arbiter.queue} ∋ {me} | the oldest queued one until now was {me} itself: {arbiter.queue}",
        "4 FAILED | | the failed set of {me} is {candidate.failed'}",
        "4 LOCKED | {candidate.failed} ∋ {from} |",
        "5 INQUIRE | {candidate.phase} ≠ waiting | {me} is {candidate.phase}, so it ignores the INQUIRE",
        "5 INQUIRE | {candidate.failed} ≠ {}; {sent} ∋ RELINQUISH | {candidate.failed} said FAILED, so {me} gives the grant back",
        "5 INQUIRE | {candidate.failed} = {}; {candidate.inquired'} ∋ {from} | nobody said FAILED, so {me} keeps the grant and remembers the INQUIRE",
        "5 INQUIRE | {sent} ∌ RELINQUISH | the INQUIRE is about another grant or another request",
        "5 FAILED | {sent} ∋ RELINQUISH | {candidate.inquired} asked for their grants back",
        "5 LOCKED | {sent} ∋ RELINQUISH | {candidate.inquired} asked for their grants back, and {candidate.failed} said FAILED",
        "6 RELINQUISH | | {arbiter.grant} goes back into the queue; the oldest is {arbiter.grant'}",
        "7 release | |",
        "7 RELEASE | {arbiter.queue} = []; {arbiter.grant'} = – | nobody is queued, so {me} is free",
        "7 RELEASE | {arbiter.grant'} ≠ – | the oldest queued request is {arbiter.grant'}",
    ],
    variables: &[
        Variable::new("candidate.phase", "state", "idle, waiting or inside"),
        Variable::clock("C", CLOCK),
        Variable::new(
            "candidate.stamp",
            "T",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new("candidate.asks", "quorum", "whom it asks"),
        Variable::new("candidate.locked", "LOCKED", "whose grant it has"),
        Variable::new("candidate.failed", "FAILED", "who said that others come first"),
        Variable::new("candidate.inquired", "INQUIRE", "who asks for its grant back"),
        Variable::new("arbiter.grant", "granted-to", "whose request has its own grant"),
        Variable::new("arbiter.queue", "queue", "who waits for its own grant, the oldest first"),
    ],
    notes: &[
        "Needs no FIFO channels, since every message carries the stamp of the request it is about: an \
         INQUIRE may come before its LOCKED or after the RELEASE, a FAILED after the LOCKED.",
        "The published rules lack the FAILED to the displaced request and deadlock without it.",
        "K counts the node itself; where it is not in its own quorum the cost is 3K. 5(K−1), often \
         quoted as the worst case, is no bound.",
        "The delay between two entries is 2T, but T where the common arbiter is one of the two.",
        "Survives crashes of idle nodes in nobody's quorum; the crash of an arbiter stops all who ask it, \
         and a node that crashes inside or waiting keeps the grants that it has.",
        "Clocks travel in every message, or nodes that are nobody's arbiter get more than their share.",
    ],
    broken: None,
};

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Maekawa(Node);

impl Protocol for Maekawa {
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
    Published = "maekawa-1985" {
        flaw: "as published: a request that is no longer the oldest queued one is not told FAILED",
        breaks: Breaks::Liveness,
        shown_by: "-n 7 --quorum projective --latency uniform:0.1..2",
        refuted_by: "-n 7 --quorum fano --requests 2,0,0,0,1,1,1",
    }
    Naive = "maekawa-naive" {
        flaw: "no FAILED, INQUIRE and RELINQUISH: grants are never given back",
        breaks: Breaks::Liveness,
        shown_by: "-n 13 --quorum maekawa-13 --requesters P7,P8,P11 --latency uniform:0.1..2",
        refuted_by: "-n 13 --quorum maekawa-13 --requesters P7,P8,P11 --requests 1",
    }
    StickyFailed = "maekawa-sticky-failed" {
        flaw: "FAILED is a flag that LOCKED does not clear, and an INQUIRE is answered by it alone",
        breaks: Breaks::Safety,
        shown_by: "-n 2 --quorum singleton --latency uniform:0.1..2",
        refuted_by: "-n 2 --quorum singleton --requests 2",
    }
    StaleInquire = "maekawa-stale-inquire" {
        flaw: "an INQUIRE is matched by the node, not by the stamp of the request",
        breaks: Breaks::Refused,
        shown_by: "-n 7 --quorum projective --latency exp:1 --section 0.1",
        refuted_by: "-n 4 --quorum grid --requests 1,0,0,2",
    }
    Untagged = "maekawa-untagged" {
        flaw: "no message says which request it is about: an answer counts for the present request, a \
               grant that comes back for the present grant of its node",
        breaks: Breaks::Safety,
        shown_by: "-n 3 --quorum singleton --requesters P2,P3 --latency exp:1 --section 0.1",
        refuted_by: "-n 3 --quorum singleton --requests 0,2,2 --judge exclusion",
    }
    OneInquiry = "maekawa-one-inquiry" {
        flaw: "FAILED gives back one of the grants that were inquired about, not all",
        breaks: Breaks::Liveness,
        shown_by: "-n 7 --quorum projective --latency uniform:0.1..2",
        refuted_by: "-n 3 --quorum all --requests 1,1,0",
    }
    IdFirst = "maekawa-id-first" {
        flaw: "requests are ordered by (id, sequence number) instead of (clock, id)",
        breaks: Breaks::Starvation,
        shown_by: "-n 3 --quorum all",
        refuted_by: "-n 3 --quorum all --judge starvation",
    }
    NeverFree = "maekawa-never-free" {
        flaw: "a RELEASE with nobody in the queue does not free the arbiter",
        breaks: Breaks::Liveness,
        shown_by: "-n 2 --quorum all --think exp:5",
        refuted_by: "-n 2 --quorum all --requests 1",
    }
} }

impl Mutex for Maekawa {
    const VARIANTS: &'static [Info] = VARIANTS;

    /// Maekawa's is the case `R_i = I_i = S_i`.
    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let missing = SetupError::Missing { algorithm: SOUND.name, what: "quorum system" };
        let quorums = setup.quorums().ok_or(missing)?;
        let sets: Vec<NodeSet> = quorums.iter().map(|set| set.iter().copied().collect()).collect();
        Ok(Node::system(&sets, &sets, setup, flaw).into_iter().map(Maekawa).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;
    use crate::mutex::stage::Stage;
    use crate::topology::Quorums;

    fn setup(sets: &[&[usize]]) -> Setup {
        let set = |set: &&[usize]| set.iter().map(|&i| NodeId::new(i)).collect();
        let quorums = Quorums::new(sets.iter().map(set).collect()).unwrap();
        Setup::new(sets.len()).unwrap().with_quorums(quorums).unwrap()
    }

    fn stage(sets: &[&[usize]]) -> Stage<Maekawa> {
        Stage::new("maekawa", &setup(sets))
    }

    /// Plays a stretch of a scene in which nothing is to be said.
    fn silently(stage: &mut Stage<Maekawa>, play: impl FnOnce(&mut Stage<Maekawa>)) {
        let sent = stage.sent();
        play(stage);
        assert_eq!(stage.sent(), sent);
    }

    const PAIRS: &[&[usize]] = &[&[0, 1], &[1, 2], &[2, 0]];

    /// The arbiters 0 and 1, asked by 2 and 3.
    const TWO_ARBITERS: &[&[usize]] = &[&[0], &[0], &[0, 1], &[0, 1]];

    /// The arbiters 0, 1 and 2: 3 asks one of them, 4 two, 5 all.
    const THREE_ARBITERS: &[&[usize]] = &[&[0], &[0], &[0], &[0], &[0, 1], &[0, 1, 2]];

    /// S_i = {i, i+1, i+3} mod 7.
    const FANO: &[&[usize]] =
        &[&[0, 1, 3], &[1, 2, 4], &[2, 3, 5], &[3, 4, 6], &[4, 5, 0], &[5, 6, 1], &[6, 0, 2]];

    /// The 13-node example of the spec, counted from 0.
    const THIRTEEN: &[&[usize]] = &[
        &[0, 1, 2, 3],
        &[1, 4, 7, 10],
        &[2, 5, 7, 12],
        &[3, 5, 9, 10],
        &[0, 4, 5, 6],
        &[1, 5, 8, 11],
        &[1, 6, 9, 12],
        &[0, 7, 8, 9],
        &[2, 6, 8, 10],
        &[2, 4, 9, 11],
        &[0, 10, 11, 12],
        &[3, 6, 7, 11],
        &[3, 4, 8, 12],
    ];

    /// The lectures' example: 7, 8 and 11 (from 1) each hold an arbiter that another one needs. The
    /// youngest yields, then all are served, the oldest first.
    #[test]
    fn three_who_block_each_other_are_served_by_age() {
        let mut stage = stage(THIRTEEN);
        for requester in [6, 7, 10] {
            stage.request(requester);
        }
        for (from, to) in [(6, 9), (7, 0), (10, 12), (7, 9), (10, 0), (6, 12)] {
            stage.deliver(from, to);
        }
        for entered in [6, 7, 10] {
            stage.flush();
            assert_eq!(stage.inside(), [entered]);
            stage.release(entered);
        }
    }

    /// 3(K−1) without conflict; a node outside its own quorum pays for every member.
    #[test]
    fn a_lone_request_costs_three_messages_per_other_member() {
        for sets in [&[&[0][..]], PAIRS, FANO, THIRTEEN, TWO_ARBITERS] {
            for (node, set) in sets.iter().enumerate() {
                let mut stage = stage(sets);
                stage.ask([node]);
                stage.leave(node);
                assert_eq!(stage.entries(), [node]);
                assert_eq!(stage.sent(), 3 * set.iter().filter(|&&member| member != node).count());
            }
        }
    }

    /// Pitfall: whoever was the oldest queued request must learn that it no longer is.
    #[test]
    fn the_displaced_oldest_request_is_told_failed() {
        let mut stage = stage(&[&[0], &[0], &[0], &[0], &[0]]);
        for requester in 1..5 {
            stage.request(requester);
        }
        stage.deliver(3, 0);
        assert_eq!(stage.oldest(0, 3).word, Word::Locked);
        stage.deliver(0, 3);
        // Younger than the grant: told at once, so not again when displaced.
        stage.deliver(4, 0);
        assert_eq!(stage.oldest(0, 4).word, Word::Failed);
        stage.deliver(0, 4);
        stage.deliver(2, 0);
        assert_eq!(stage.oldest(0, 3).word, Word::Inquire);
        stage.deliver(0, 3);
        // One INQUIRE per grant; the displaced one is told instead.
        stage.deliver(1, 0);
        let told = Msg { word: Word::Failed, stamp: 1, clock: 1 };
        assert_eq!(stage.oldest(0, 2), told);
        assert_eq!(stage.sent(), 4 + 4);
    }

    /// Pitfall: a FAILED that the arbiter's LOCKED does not take back gives grants away for nothing,
    /// in the end inside the section.
    #[test]
    fn a_locked_takes_the_failed_back() {
        let mut stage = stage(THREE_ARBITERS);
        for requester in [3, 4, 5] {
            stage.request(requester);
        }
        for (from, to) in [(3, 0), (0, 3), (5, 0), (0, 5)] {
            stage.deliver(from, to);
        }
        stage.release(3);
        // 5 was told FAILED by 0; now it gets the grants of 0 and 1, and 4 makes 1 inquire.
        for (from, to) in [(3, 0), (0, 5), (5, 1), (1, 5), (4, 1)] {
            stage.deliver(from, to);
        }
        assert_eq!(stage.oldest(1, 5).word, Word::Inquire);
        silently(&mut stage, |stage| stage.deliver(1, 5));
        stage.deliver(5, 2);
        silently(&mut stage, |stage| stage.deliver(2, 5));
        assert_eq!(stage.inside(), [5]);
        // Inside, an INQUIRE is ignored.
        stage.deliver(4, 0);
        assert_eq!(stage.oldest(0, 5).word, Word::Inquire);
        silently(&mut stage, |stage| stage.deliver(0, 5));
        stage.leave(5);
        assert_eq!(stage.entries(), [3, 5, 4]);
    }

    /// Pitfall: the next FAILED gives back the grants of all remembered arbiters.
    #[test]
    fn a_failed_acts_on_all_remembered_inquiries() {
        let all: &[usize] = &[0, 1, 2];
        let mut stage = stage(&[all, all, all, all, all]);
        stage.request(3);
        stage.request(4);
        for (from, to) in [(3, 0), (4, 1), (1, 4), (3, 1), (1, 4), (4, 2), (2, 4), (3, 2), (2, 4)] {
            stage.deliver(from, to);
        }
        stage.deliver(4, 0);
        assert_eq!(stage.oldest(0, 4).word, Word::Failed);
        stage.deliver(0, 4);
        assert_eq!(stage.oldest(4, 1).word, Word::Relinquish);
        assert_eq!(stage.oldest(4, 2).word, Word::Relinquish);
        stage.flush();
        assert_eq!(stage.entries(), [3]);
    }

    /// Pitfall: an INQUIRE that overtakes its LOCKED waits for it.
    #[test]
    fn an_inquire_before_its_locked_is_remembered() {
        let mut stage = stage(TWO_ARBITERS);
        stage.request(2);
        stage.request(3);
        for (from, to) in [(2, 0), (3, 0), (0, 3), (3, 1), (2, 1)] {
            stage.deliver(from, to);
        }
        silently(&mut stage, |stage| stage.deliver_nth(1, 3, 1).unwrap());
        stage.deliver(1, 3);
        assert_eq!(stage.oldest(3, 1).word, Word::Relinquish);
        stage.flush();
        assert_eq!(stage.entries(), [2]);
    }

    /// Pitfall: an INQUIRE that comes after the RELEASE is not about the next request.
    #[test]
    fn a_late_inquire_does_not_touch_the_next_request() {
        let mut stage = stage(TWO_ARBITERS);
        stage.request(2);
        stage.request(3);
        for (from, to) in [(3, 0), (3, 1), (0, 3), (1, 3), (2, 1)] {
            stage.deliver(from, to);
        }
        assert_eq!(stage.oldest(1, 3).word, Word::Inquire);
        stage.release(3);
        for (from, to) in [(3, 0), (2, 0), (3, 1), (0, 2), (1, 2)] {
            stage.deliver(from, to);
        }
        stage.release(2);
        stage.request(3);
        // Of its second request 3 has the grant of 1 and a FAILED of 0, so it would yield.
        stage.deliver(2, 1);
        stage.deliver(3, 1);
        stage.deliver_nth(1, 3, 1).unwrap();
        stage.deliver(3, 0);
        assert_eq!(stage.oldest(0, 3).word, Word::Failed);
        stage.deliver(0, 3);
        silently(&mut stage, |stage| stage.deliver(1, 3));
        stage.flush();
        assert_eq!(stage.entries(), [3, 2, 3]);
    }

    /// Pitfall: a FAILED that its arbiter's LOCKED has overtaken says nothing any more.
    #[test]
    fn a_failed_after_the_locked_is_stale() {
        let mut stage = stage(THREE_ARBITERS);
        for requester in [3, 4, 5] {
            stage.request(requester);
        }
        for (from, to) in [(3, 0), (0, 3), (5, 0)] {
            stage.deliver(from, to);
        }
        stage.release(3);
        stage.deliver(3, 0);
        stage.deliver_nth(0, 5, 1).unwrap();
        stage.deliver(0, 5);
        for (from, to) in [(5, 1), (1, 5), (4, 1)] {
            stage.deliver(from, to);
        }
        silently(&mut stage, |stage| stage.deliver(1, 5));
    }

    /// A REQUEST that overtakes its sender's RELEASE waits behind the grant that is on its way back.
    #[test]
    fn a_request_may_overtake_the_release() {
        let mut stage = stage(TWO_ARBITERS);
        stage.ask([2]);
        stage.release(2);
        stage.request(2);
        stage.deliver_nth(2, 0, 1).unwrap();
        stage.flush();
        assert_eq!(stage.entries(), [2, 2]);
    }

    /// Clocks advance on every message: 3 hears of 2's requests only through the arbiters.
    #[test]
    fn nobodys_arbiter_keeps_up_with_the_time() {
        let mut stage = stage(TWO_ARBITERS);
        for requester in [2, 2, 2, 3, 3] {
            stage.ask([requester]);
            stage.leave(requester);
        }
        stage.request(3);
        assert_eq!(stage.oldest(3, 0).stamp, 5);
    }

    #[test]
    fn what_no_correct_peer_says_is_refused() {
        let mut stage = stage(TWO_ARBITERS);
        stage.request(3);
        stage.request(2);
        for (from, to) in [(3, 0), (0, 3), (2, 0), (0, 3)] {
            stage.deliver(from, to);
        }
        // 3 has the grant of 0, which inquired for 2 and has 2 in its queue.
        let say = |word, stamp, clock| Msg { word, stamp, clock };
        stage.refuses([
            (9, 0, say(Word::Request, 1, 1)),
            (0, 0, say(Word::Request, 1, 1)),
            (2, 0, say(Word::Request, 2, 2)),
            (3, 0, say(Word::Request, 1, 1)),
            (0, 1, say(Word::Request, 1, 1)),
            (1, 0, say(Word::Request, u64::MAX, u64::MAX)),
            (1, 0, say(Word::Request, 2, 1)),
            (2, 0, say(Word::Release, 1, 1)),
            (3, 0, say(Word::Release, 0, 1)),
            (3, 0, say(Word::Relinquish, 2, 2)),
            (3, 1, say(Word::Relinquish, 1, 1)),
            (0, 3, say(Word::Locked, 1, 1)),
            (1, 3, say(Word::Locked, 0, 1)),
            (2, 3, say(Word::Locked, 1, 1)),
            (0, 3, say(Word::Inquire, 1, 1)),
            (1, 3, say(Word::Inquire, 2, 2)),
            (1, 3, say(Word::Failed, 2, 2)),
            (2, 3, say(Word::Failed, 1, 1)),
            (0, 1, say(Word::Failed, 1, 1)),
        ]);
        stage.flush();
        assert_eq!(stage.entries(), [2]);
    }
}
