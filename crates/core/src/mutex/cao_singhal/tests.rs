use super::*;
use crate::mutex::stage::Stage;
use crate::topology::Quorums;

fn stage_of(name: &str, sets: &[&[usize]]) -> Stage<CaoSinghal> {
    let set = |set: &&[usize]| set.iter().map(|&i| NodeId::new(i)).collect();
    let quorums = Quorums::new(sets.iter().map(set).collect()).unwrap();
    Stage::new(name, &Setup::new(sets.len()).unwrap().with_quorums(quorums).unwrap())
}

fn stage(sets: &[&[usize]]) -> Stage<CaoSinghal> {
    stage_of("cao-singhal", sets)
}

/// One arbiter, 0, which all ask.
const STAR: &[&[usize]] = &[&[0], &[0], &[0], &[0]];

/// The arbiters 0 and 1, asked by 2, 3 and 4.
const TWO_ARBITERS: &[&[usize]] = &[&[0], &[0], &[0, 1], &[0, 1], &[0, 1]];

/// S_i = {i, i+1, i+3} mod 7.
const FANO: &[&[usize]] =
    &[&[0, 1, 3], &[1, 2, 4], &[2, 3, 5], &[3, 4, 6], &[4, 5, 0], &[5, 6, 1], &[6, 0, 2]];

fn words(stage: &Stage<CaoSinghal>, from: usize, to: usize) -> (Word, Option<usize>) {
    let message = stage.oldest(from, to);
    (message.word, message.next.map(|next| next.node.index()))
}

/// The paper's idea: the permission goes from the holder to the next in one message, while the RELEASE that
/// says so is still on its way.
#[test]
fn the_permission_is_passed_without_its_arbiter() {
    let mut stage = stage(STAR);
    stage.ask([1]);
    stage.request(2);
    stage.deliver(2, 0);
    assert_eq!(words(&stage, 0, 1), (Word::Transfer, Some(2)));
    stage.flush();
    stage.release(1);
    assert_eq!(words(&stage, 1, 0), (Word::Release, Some(2)));
    stage.deliver(1, 2);
    assert_eq!(stage.inside(), [2]);
    // REQUEST and REPLY of 1; REQUEST, FAIL and TRANSFER; RELEASE and REPLY.
    assert_eq!(stage.sent(), 2 + 3 + 2);
}

/// 3(K−1) without conflict.
#[test]
fn a_lone_request_costs_three_messages_per_other_member() {
    for sets in [&[&[0][..]], STAR, TWO_ARBITERS, FANO] {
        for (node, set) in sets.iter().enumerate() {
            let mut stage = stage(sets);
            stage.ask([node]);
            stage.leave(node);
            assert_eq!(stage.entries(), [node]);
            assert_eq!(stage.sent(), 3 * set.iter().filter(|&&member| member != node).count());
        }
    }
}

/// A TRANSFER that comes after the exit is ignored; the arbiter gives its permission itself.
#[test]
fn a_late_transfer_is_ignored() {
    let mut stage = stage(STAR);
    stage.ask([1]);
    stage.request(2);
    stage.deliver(2, 0);
    stage.release(1);
    assert_eq!(words(&stage, 1, 0), (Word::Release, None));
    stage.deliver(0, 1);
    stage.deliver(1, 0);
    stage.flush();
    assert_eq!(stage.entries(), [1, 2]);
}

/// The last TRANSFER of an arbiter counts: an older request came after the one that was next.
#[test]
fn an_older_request_takes_the_place_of_the_next() {
    let mut stage = stage(STAR);
    stage.ask([3]);
    stage.request(1);
    stage.request(2);
    stage.deliver(2, 0);
    stage.deliver(1, 0);
    stage.flush();
    stage.release(3);
    assert_eq!(words(&stage, 3, 0), (Word::Release, Some(1)));
    assert_eq!(stage.in_flight(3, 2), 0);
    stage.flush();
    stage.leave(1);
    assert_eq!(stage.entries(), [3, 1, 2]);
}

/// Pitfall: who got the permission from its predecessor may leave before the predecessor's RELEASE is there.
#[test]
fn an_early_release_waits_for_the_one_before() {
    let mut stage = stage(STAR);
    stage.ask([1]);
    for node in [2, 3] {
        stage.request(node);
        stage.deliver(node, 0);
    }
    for to in [1, 2, 3] {
        stage.deliver(0, to);
    }
    stage.release(1);
    stage.deliver(1, 2);
    stage.release(2);
    // 2's RELEASE, and even its next REQUEST, overtake the RELEASE of 1.
    stage.request(2);
    stage.deliver_nth(2, 0, 1).unwrap();
    stage.deliver(2, 0);
    assert_eq!(stage.in_flight(0, 3), 0);
    stage.deliver(1, 0);
    assert_eq!(words(&stage, 0, 3), (Word::Reply, Some(2)));
    stage.flush();
    assert_eq!(stage.inside(), [3]);
    stage.leave(3);
    assert_eq!(stage.entries(), [1, 2, 3, 2]);
}

/// An INQUIRE makes a node that knows of a FAIL give the permission back, and forget to whom it was to go.
#[test]
fn who_yields_forgets_the_transfer() {
    let mut stage = stage(TWO_ARBITERS);
    for requester in [2, 3, 4] {
        stage.request(requester);
    }
    // 4 has the permission of 0, 3 that of 1; both are younger than 2.
    for (from, to) in [(4, 0), (0, 4), (3, 1), (1, 3), (4, 1), (1, 4), (1, 3)] {
        stage.deliver(from, to);
    }
    stage.deliver(3, 0);
    assert_eq!(words(&stage, 0, 4), (Word::Inquire, Some(3)));
    stage.deliver(0, 4);
    assert_eq!(words(&stage, 4, 0), (Word::Yield, None));
    assert!(stage.nodes[4].passes.is_empty());
    for entered in [2, 3, 4] {
        stage.flush();
        assert_eq!(stage.inside(), [entered]);
        stage.release(entered);
    }
}

/// Pitfall: who was passed a permission while an older request came is inquired in its turn.
#[test]
fn an_older_request_than_the_passed_one_is_inquired_for() {
    let mut stage = stage(TWO_ARBITERS);
    stage.ask([4]);
    stage.request(2);
    stage.request(3);
    // 3 is next at 0, and 4 has left when 2's older request comes.
    for (from, to) in [(3, 0), (0, 4)] {
        stage.deliver(from, to);
    }
    stage.release(4);
    for (from, to) in [(4, 3), (2, 0), (4, 0)] {
        stage.deliver(from, to);
    }
    assert_eq!(words(&stage, 0, 3), (Word::Fail, None));
    stage.deliver(0, 3);
    assert_eq!(words(&stage, 0, 3), (Word::Inquire, Some(2)));
    stage.flush();
    stage.leave(stage.inside()[0]);
    assert_eq!(stage.entries(), [4, 2, 3]);
}

/// All ask at once on the plane of order 2, where each waits for others.
#[test]
fn everybody_on_the_plane_is_served() {
    let mut stage = stage(FANO);
    for node in 0..7 {
        stage.request(node);
    }
    for _ in 0..7 {
        stage.flush();
        let inside = stage.inside();
        assert_eq!(inside.len(), 1);
        stage.release(inside[0]);
    }
    stage.flush();
    let mut served = stage.entries().to_vec();
    served.sort_unstable();
    assert_eq!(served, [0, 1, 2, 3, 4, 5, 6]);
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
    // 3 has the permission of 0, which inquired for 2 and has 2 in its queue.
    let say = |word, stamp, arbiter: usize, clock| {
        let arbiter = NodeId::new(arbiter);
        Msg { word, stamp, arbiter, next: None, clock }
    };
    let beyond = Some(Timestamp::new(9, NodeId::new(2)));
    let nobody = Some(Timestamp::new(1, NodeId::new(9)));
    stage.refuses([
        (9, 0, say(Word::Request, 1, 0, 1)),
        (1, 0, say(Word::Request, 1, 1, 1)),
        (2, 0, say(Word::Request, 1, 0, 1)),
        (3, 0, say(Word::Request, 1, 0, 1)),
        (0, 1, say(Word::Request, 1, 1, 1)),
        (1, 0, say(Word::Request, u64::MAX, 0, u64::MAX)),
        (1, 0, say(Word::Request, 2, 0, 1)),
        (4, 0, say(Word::Release, 1, 0, 1)),
        (3, 0, say(Word::Release, 0, 0, 1)),
        (3, 0, Msg { next: beyond, ..say(Word::Release, 1, 0, 1) }),
        (3, 0, Msg { next: nobody, ..say(Word::Release, 1, 0, 1) }),
        (2, 0, say(Word::Yield, 1, 0, 1)),
        (3, 1, say(Word::Yield, 1, 1, 1)),
        (0, 3, say(Word::Reply, 1, 0, 1)),
        (2, 3, say(Word::Reply, 1, 0, 1)),
        (2, 3, say(Word::Reply, 1, 4, 1)),
        (1, 3, say(Word::Reply, 0, 1, 1)),
        (0, 3, say(Word::Inquire, 1, 0, 1)),
        (2, 3, say(Word::Inquire, 1, 2, 1)),
        (1, 3, say(Word::Inquire, 2, 1, 2)),
        (1, 3, say(Word::Fail, 1, 0, 1)),
        (1, 3, say(Word::Fail, 2, 1, 2)),
        (1, 3, say(Word::Transfer, 1, 1, 1)),
        (
            2,
            3,
            Msg { next: Some(Timestamp::new(1, NodeId::new(2))), ..say(Word::Transfer, 1, 2, 1) },
        ),
    ]);
    stage.flush();
    assert_eq!(stage.entries(), [2]);
}

/// A second request while two are known at the arbiter cannot be.
#[test]
fn a_node_has_two_requests_at_an_arbiter_at_most() {
    let mut stage = stage(STAR);
    stage.ask([1]);
    stage.release(1);
    stage.request(1);
    stage.deliver_nth(1, 0, 1).unwrap();
    let third = Msg { stamp: 3, clock: 3, ..stage.oldest(1, 0) };
    assert!(stage.inject(1, 0, Msg { word: Word::Request, ..third }).is_err());
    stage.flush();
    assert_eq!(stage.entries(), [1, 1]);
}
