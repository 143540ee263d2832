//! The paper's rules, and the runs that they do not survive.

use super::*;
use crate::mutex::stage::Stage;

fn stage(name: &str, n: usize) -> Stage<LodhaKshemkalyani> {
    Stage::new(name, &Setup::new(n).unwrap())
}

/// N requests that are all concurrent: each costs N − 1 REQUESTs and, but for the last, a FLUSH.
#[test]
fn concurrent_requests_answer_each_other() {
    let mut stage = stage("lodha-kshemkalyani", 4);
    (0..4).for_each(|node| stage.request(node));
    stage.flush();
    for node in 0..4 {
        assert_eq!(stage.inside(), [node]);
        stage.leave(node);
    }
    assert_eq!(stage.sent(), 4 * 3 + 3);
}

/// A request alone costs what Ricart–Agrawala's does.
#[test]
fn a_lone_request_is_answered_by_all() {
    let mut stage = stage("lodha-kshemkalyani", 4);
    for _ in 0..2 {
        stage.ask([3]);
        stage.release(3);
    }
    assert_eq!((stage.entries(), stage.sent()), (&[3, 3][..], 2 * 2 * 3));
}

/// A request that was made after the other was heard of is deferred and gets a REPLY.
#[test]
fn a_later_request_is_deferred() {
    let mut stage = stage("lodha-kshemkalyani", 2);
    stage.request(0);
    stage.deliver(0, 1);
    stage.ask([1]);
    assert_eq!(stage.inside(), [0]);
    assert!(stage.nodes[0].deferred.contains(NodeId::new(1)));
    stage.release(0);
    assert_eq!(stage.oldest(0, 1), Msg::Reply { last: 1, clock: 2 });
    stage.flush();
    assert_eq!(stage.inside(), [1]);
}

/// All three ask at once, and P1's REQUEST to P3 is slow: P1 and P2 have left before it arrives.
fn a_request_after_its_flush(name: &str) -> Vec<usize> {
    let mut stage = stage(name, 3);
    (0..3).for_each(|node| stage.request(node));
    for (from, to) in [(1, 0), (2, 0), (0, 1), (2, 1), (1, 2)] {
        stage.deliver(from, to);
    }
    stage.release(0);
    stage.deliver(0, 1);
    stage.release(1);
    stage.deliver(1, 2);
    assert_eq!((stage.entries(), stage.in_flight(0, 2)), (&[0, 1][..], 1));
    stage.flush();
    stage.entries().to_vec()
}

/// The published rules wait for ever for a request that was served.
#[test]
fn a_served_request_is_not_queued() {
    assert_eq!(a_request_after_its_flush("lodha-kshemkalyani"), [0, 1, 2]);
    assert_eq!(a_request_after_its_flush("lodha-kshemkalyani-2000"), [0, 1]);
}

/// P3's REQUEST takes the place of the REPLY to P2, which waits for P1 and P3 to be known as served.
fn a_request_instead_of_a_reply(name: &str) -> Vec<usize> {
    let mut stage = stage(name, 3);
    stage.request(0);
    stage.request(2);
    stage.deliver(2, 0);
    stage.deliver(2, 1);
    stage.request(1);
    stage.deliver(1, 0);
    stage.release(0);
    for (from, to) in [(0, 1), (0, 2), (0, 2), (1, 2)] {
        stage.deliver(from, to);
    }
    stage.release(2);
    stage.ask([2]);
    stage.entries().to_vec()
}

#[test]
fn a_request_tells_what_a_reply_would() {
    assert_eq!(a_request_instead_of_a_reply("lodha-kshemkalyani"), [0, 2, 1]);
    assert_eq!(a_request_instead_of_a_reply("lodha-kshemkalyani-bare-request"), [0, 2]);
}

/// P1's FLUSH for P3's first request reaches P3 when it waits with its second one, of which P1, who waits
/// again, has not heard.
fn a_flush_in_the_next_wait(name: &str) -> Vec<usize> {
    let mut stage = stage(name, 3);
    stage.request(0);
    stage.deliver(0, 1);
    stage.deliver(1, 0);
    stage.request(1);
    stage.deliver(1, 2);
    stage.deliver(2, 1);
    stage.request(2);
    stage.deliver(2, 0);
    stage.release(0);
    stage.request(0);
    for (from, to) in [(1, 0), (0, 1)] {
        stage.deliver(from, to);
    }
    stage.release(1);
    for (from, to) in [(2, 1), (0, 2), (1, 2)] {
        stage.deliver(from, to);
    }
    stage.release(2);
    stage.request(2);
    for (from, to) in [(2, 0), (2, 1), (0, 2), (1, 2)] {
        stage.deliver(from, to);
    }
    stage.inside()
}

#[test]
fn a_flush_is_no_answer() {
    assert_eq!(a_flush_in_the_next_wait("lodha-kshemkalyani"), [0]);
    assert_eq!(a_flush_in_the_next_wait("lodha-kshemkalyani-flush-answers"), [0, 2]);
}

/// Pitfall: without FIFO channels a REQUEST before the REPLY of its sender looks concurrent, and the REPLY that
/// its sender waits for is not sent.
#[test]
fn a_request_that_overtakes_a_reply_is_never_answered() {
    let mut stage = stage("lodha-kshemkalyani-without-fifo", 3);
    stage.request(0);
    stage.deliver(0, 1);
    stage.deliver(1, 0);
    stage.deliver(0, 2);
    stage.request(2);
    stage.deliver_nth(2, 0, 1).unwrap();
    stage.leave(0);
    assert_eq!((stage.entries(), stage.inside()), (&[0][..], vec![]));
}

#[test]
fn what_no_correct_node_sends_is_refused() {
    let mut stage = stage("lodha-kshemkalyani", 3);
    let reply = |last, clock| Msg::Reply { last, clock };
    let flush = |last, clock| Msg::Flush { last, clock };
    let request = |t, last| Msg::Request { t, last };
    assert!(stage.inject(1, 0, reply(0, 0)).is_err(), "nobody asked");
    assert!(stage.inject(1, 0, flush(1, 1)).is_err(), "nobody asked");
    stage.request(0);
    assert!(stage.inject(1, 0, reply(2, 1)).is_err(), "a stamp beyond the clock");
    assert!(stage.inject(1, 0, reply(0, u64::MAX)).is_err());
    assert!(stage.inject(1, 0, flush(0, 1)).is_err(), "of no request");
    assert!(stage.inject(1, 0, request(u64::MAX, 0)).is_err());
    assert!(stage.inject(1, 0, request(3, 3)).is_err(), "the same request again");
    stage.deliver(0, 1);
    let real = stage.oldest(1, 0);
    stage.deliver(1, 0);
    assert!(stage.inject(1, 0, real).is_err(), "a replay");
    stage.request(1);
    let later = stage.oldest(1, 0);
    stage.deliver(1, 0);
    assert!(stage.inject(1, 0, later).is_err(), "a replay of what was deferred");
}
