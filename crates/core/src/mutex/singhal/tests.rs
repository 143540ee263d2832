//! The rules one by one, then every interleaving of small systems.

use super::*;
use crate::mutex::stage::Stage;

const REQUEST: Msg = Msg::Request { sn: 1 };

fn stage(n: usize) -> Stage<Singhal> {
    Stage::new("singhal", &Setup::new(n).unwrap())
}

fn set(nodes: &[usize]) -> NodeSet {
    nodes.iter().copied().map(NodeId::new).collect()
}

/// The staircase: P1 is asked by all, the last one asks all. Then that one is, by all.
#[test]
fn a_lone_requester_asks_its_list_once_and_then_nobody() {
    let mut stage = stage(5);
    stage.ask([4]);
    assert_eq!((stage.entries(), stage.sent()), (&[4][..], 5));
    stage.release(4);
    stage.request(4);
    stage.release(4);
    assert_eq!((stage.entries(), stage.sent()), (&[4, 4][..], 5));
    assert_eq!(stage.nodes[4].ask, set(&[]));
    stage.ask([0]);
    assert_eq!((stage.inside(), stage.sent()), (vec![0], 7));
}

/// Pitfall: a holder that asks and stays H passes the token on while it is inside.
#[test]
fn the_token_does_not_leave_a_holder_that_is_inside() {
    let mut stage = stage(2);
    stage.request(0);
    assert_eq!(stage.inside(), [0]);
    stage.ask([1]);
    assert_eq!(stage.inside(), [0]);
    stage.leave(0);
    assert_eq!(stage.entries(), [0, 1]);
}

/// Pitfall: without a REQUEST in return P3, who gets the token first, never hears of P2.
#[test]
fn who_waits_asks_a_new_requester_in_return() {
    let mut stage = stage(3);
    stage.request(1);
    stage.request(2);
    stage.deliver(2, 0);
    stage.deliver(0, 2);
    stage.deliver(2, 1);
    assert_eq!(stage.oldest(1, 2), REQUEST);
    stage.deliver(1, 2);
    assert_eq!(stage.inside(), [2]);
    stage.leave(2);
    assert_eq!(stage.entries(), [2, 1]);
}

/// Pitfall: if everybody asked P1 only, P3 would not find the token at P2.
#[test]
fn the_staircase_leads_to_the_holder() {
    let mut stage = stage(3);
    stage.ask([1]);
    stage.release(1);
    stage.ask([2]);
    assert_eq!(stage.entries(), [1, 2]);
}

/// The spec's run: P2 holds the idle token when an outdated REQUEST of P3, who waits, arrives.
fn outdated_request(name: &str) -> Stage<Singhal> {
    let mut stage = Stage::<Singhal>::new(name, &Setup::new(3).unwrap());
    stage.request(1);
    stage.request(2);
    stage.deliver(2, 0);
    stage.request(0);
    stage.deliver(0, 2);
    stage.release(2);
    stage.deliver(0, 2);
    stage.request(2);
    stage.deliver(2, 0);
    stage.release(0);
    stage.deliver(1, 0);
    stage.deliver(2, 0);
    stage.deliver(0, 1);
    stage.release(1);
    assert_eq!(stage.entries(), [2, 0, 1]);
    assert_eq!((stage.nodes[1].sn[2], stage.nodes[2].sn[2]), (1, 2));
    assert_eq!(stage.oldest(2, 1), REQUEST);
    stage.deliver(2, 1);
    stage
}

#[test]
fn as_published_an_outdated_request_deadlocks() {
    let mut stage = outdated_request("singhal-1989");
    let sent = stage.sent();
    stage.flush();
    assert_eq!((stage.entries(), stage.sent()), (&[2, 0, 1][..], sent));
    assert_eq!(stage.nodes[2].phase, Phase::Waiting);
    // The lectures' order of idle nodes: of these two, neither asks the other.
    assert_eq!(stage.nodes[1].ask, set(&[]));
    assert_eq!(stage.nodes[2].ask, set(&[0]));
}

#[test]
fn repaired_an_outdated_request_is_answered() {
    let mut stage = outdated_request("singhal");
    assert_eq!(stage.oldest(1, 2), Msg::Inform);
    stage.deliver(1, 2);
    assert_eq!(stage.oldest(2, 1), Msg::Request { sn: 2 });
    stage.flush();
    assert_eq!(stage.entries(), [2, 0, 1, 2]);
}

/// The numbers of a message are checked before they are believed.
#[test]
fn what_no_correct_node_sends_is_refused() {
    let mut stage = stage(3);
    let token = |sn: &[u64], requesting: &[usize]| {
        Msg::Token(Box::new(Token { sn: sn.to_vec(), requesting: set(requesting) }))
    };
    assert!(stage.inject(0, 2, token(&[0, 0, 0], &[2])).is_err(), "nobody asked");
    assert!(stage.inject(0, 2, Msg::Inform).is_err(), "nobody asked");
    stage.request(2);
    for wrong in [
        token(&[0, 0], &[2]),
        token(&[0, 0, 1], &[2, 3]),
        token(&[0, 0, 1], &[1]),
        token(&[0, 0, 2], &[2]),
        token(&[0, u64::MAX, 1], &[2]),
        Msg::Request { sn: 0 },
        Msg::Request { sn: u64::MAX },
    ] {
        assert!(stage.inject(0, 2, wrong.clone()).is_err(), "{wrong:?}");
    }
    assert!(stage.inject(0, 2, token(&[0, 0, 1], &[2])).is_ok());
}

#[test]
fn the_arbitration_rule_chooses() {
    use Arbitration::*;
    for (rule, requesting, next) in [
        (RoundRobin, &[0, 1, 4][..], 4),
        (RoundRobin, &[0, 1], 0),
        (SmallestSequence, &[0, 1, 4], 0),
        (SmallestSequence, &[1, 4], 4),
        (Nearest, &[0, 1, 4], 1),
        (Nearest, &[1, 3], 3),
        (Nearest, &[0, 4], 4),
    ] {
        let setup = Setup::new(6).unwrap().with_arbitration(rule);
        let mut node = Singhal::build("singhal", &setup).unwrap().remove(2);
        let token = Token { sn: vec![3, 5, 0, 5, 5, 0], requesting: set(requesting) };
        node.token = Some(Box::new(token));
        assert_eq!(node.successor(), Some(NodeId::new(next)), "{rule} {requesting:?}");
    }
}

#[test]
fn nearest_can_starve_the_distant() {
    let setup = Setup::new(6).unwrap().with_arbitration(Arbitration::Nearest);
    let mut stage = Stage::<Singhal>::new("singhal", &setup);
    stage.request(0);
    stage.request(3);
    for _ in 0..10 {
        for (inside, next) in [(0, 1), (1, 0)] {
            stage.ask([next]);
            stage.leave(inside);
            assert_eq!(stage.inside(), [next]);
        }
    }
    assert_eq!(stage.nodes[3].phase, Phase::Waiting);
}

/// Random runs: the token never has a false R. When all is quiet again everybody was served, of
/// any two nodes one asks the other, and all ask the holder.
#[test]
fn the_token_never_has_a_false_r() {
    let n = 5;
    for seed in 0..60_u64 {
        let order = if seed % 2 == 0 { Order::Fifo } else { Order::Any };
        let mut state = seed;
        let mut below = |limit: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % limit
        };
        let mut stage = stage(n);
        for _ in 0..2000 {
            let (from, to) = (below(n), below(n));
            let in_flight = stage.in_flight(from, to);
            match stage.nodes[to].phase {
                Phase::Idle if from == to => stage.request(to),
                Phase::Inside if from == to => stage.release(to),
                _ if in_flight == 0 => continue,
                _ if order == Order::Fifo => stage.deliver(from, to),
                _ => stage.deliver_nth(from, to, below(in_flight)).unwrap(),
            }
            for token in stage.nodes.iter().filter_map(|node| node.token.as_ref()) {
                for node in token.requesting.iter().map(NodeId::index) {
                    assert_eq!(stage.nodes[node].phase, Phase::Waiting);
                    assert_eq!(stage.nodes[node].sn[node], token.sn[node]);
                }
            }
        }
        stage.flush();
        while let [inside] = stage.inside()[..] {
            stage.leave(inside);
        }
        let asks = |i: usize, j: usize| stage.nodes[i].ask.contains(NodeId::new(j));
        for (i, j) in (0..n * n).map(|pair| (pair / n, pair % n)).filter(|(i, j)| i != j) {
            assert_eq!(stage.nodes[i].phase, Phase::Idle);
            assert!(asks(i, j) || asks(j, i));
            assert!(stage.nodes[j].token.is_none() || asks(i, j));
        }
    }
}
