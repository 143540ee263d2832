//! The rules of one end of a link, on virtual time.

use std::time::Duration;

use super::*;
use crate::Limits;
use crate::clock::MonoTime;
use crate::link::handshake::{Hello, Terms};
use crate::link::session::{Broken, Frame, Taken};
use crate::link::{Link, LinkError};
use crate::view::View;
use crate::wire::{LENGTH_BYTES, decode};

const LIFE: u64 = 7;

fn limits() -> Limits {
    Limits {
        backoff_first: Duration::from_millis(10),
        backoff_longest: Duration::from_millis(100),
        silence: Duration::from_millis(300),
        ..Limits::default()
    }
}

fn at(milliseconds: u64) -> MonoTime {
    MonoTime::default().after(Duration::from_millis(milliseconds))
}

/// The end at P2 of the link to P1, which it dials.
fn link() -> Link {
    Link::new(member(2), member(1), None, &limits())
}

/// What P1 says in this life.
fn hello(incarnation: u64, received: u64) -> Hello {
    let terms = Terms::new("test", member(1), incarnation, &plans());
    terms.hello(member(2), &View::of_addresses(1, addresses(2)), received)
}

fn connected(now: MonoTime) -> Link {
    let mut link = link();
    link.connected(now, &hello(LIFE, 0)).unwrap();
    link
}

fn data(sequence: u64) -> Frame<'static> {
    Frame::Data { sequence, acknowledged: 0, envelope: numbered(sequence) }
}

fn beat(acknowledged: u64) -> Frame<'static> {
    Frame::Beat { sent: 0, acknowledged }
}

/// What is due now, if anything.
fn due(link: &mut Link, now: MonoTime) -> Option<Frame<'static>> {
    let mut out = Vec::new();
    link.poll(now, &mut out).unwrap();
    match decode(out.get(LENGTH_BYTES..)?).unwrap() {
        Frame::Beat { sent, acknowledged } => Some(Frame::Beat { sent, acknowledged }),
        Frame::Data { .. } => panic!("only beats are due"),
    }
}

/// Does what a driver does until the link gives up; when that is, and why.
fn given_up(
    link: &mut Link,
    mut each_beat: impl FnMut(&mut Link, MonoTime),
) -> (MonoTime, LinkError) {
    loop {
        let now = link.deadline();
        assert!(now < at(10_000), "it never gives up");
        if let Err(why) = link.poll(now, &mut Vec::new()) {
            return (now, why);
        }
        each_beat(link, now);
    }
}

#[test]
fn the_higher_member_dials() {
    let link = |me, peer| Link::new(member(me), member(peer), None, &limits());
    assert!(link(2, 1).dials() && !link(1, 2).dials());
    assert_eq!(link(2, 1).next_dial(), at(0), "at once");
    assert_eq!(link(1, 2).next_dial(), MonoTime::NEVER);
}

#[test]
fn the_wait_between_dials_doubles_up_to_the_longest() {
    let mut link = link();
    let mut now = at(0);
    let mut waits = Vec::new();
    for _ in 0..6 {
        link.dial_failed(now);
        waits.push(link.next_dial().since(now).as_millis());
        now = link.next_dial();
    }
    assert_eq!(waits, [10, 20, 40, 80, 100, 100]);
}

#[test]
fn a_peer_that_makes_sense_is_dialled_soon_again() {
    let mut link = link();
    for _ in 0..5 {
        link.dial_failed(at(0));
    }
    link.connected(at(200), &hello(LIFE, 0)).unwrap();
    assert_eq!(link.next_dial(), MonoTime::NEVER);
    link.disconnected(at(300));
    assert_eq!(link.next_dial(), at(400), "a handshake alone proves little");
    link.connected(at(400), &hello(LIFE, 0)).unwrap();
    link.take(at(401), &beat(0), 3).unwrap();
    link.disconnected(at(500));
    assert_eq!(link.next_dial(), at(510));
}

#[test]
fn what_was_taken_is_acknowledged_after_a_delay() {
    let mut link = connected(at(0));
    assert_eq!(link.take(at(10), &data(1), 9), Ok(Taken::Now));
    assert_eq!(link.take(at(15), &data(2), 9), Ok(Taken::Now));
    assert_eq!(link.deadline(), at(30), "the first counts");
    assert_eq!(due(&mut link, at(29)), None);
    assert_eq!(due(&mut link, at(30)), Some(Frame::Beat { sent: 0, acknowledged: 2 }));
    assert_eq!(due(&mut link, at(31)), None);
    assert_eq!(link.deadline(), at(100), "the next beat");
}

#[test]
fn what_is_sent_acknowledges_too() {
    let mut link = connected(at(0));
    link.take(at(10), &data(1), 9).unwrap();
    link.send(&numbered(1)).unwrap();
    assert_eq!(due(&mut link, at(50)), None);
    link.take(at(60), &data(2), 9).unwrap();
    assert_eq!(link.deadline(), at(80), "the delay begins anew");
}

#[test]
fn much_that_was_taken_is_acknowledged_at_once() {
    let mut link = connected(at(0));
    for sequence in 1..=64 {
        assert!(link.deadline() > at(10));
        link.take(at(10), &data(sequence), 9).unwrap();
    }
    assert_eq!(link.deadline(), at(10));
    assert_eq!(due(&mut link, at(10)), Some(Frame::Beat { sent: 0, acknowledged: 64 }));
    link.take(at(11), &data(65), 1 << 20).unwrap();
    assert_eq!(link.deadline(), at(11), "bytes count, too");
}

#[test]
fn nothing_is_added_to_a_connection_that_takes_no_more() {
    let mut link = connected(at(0));
    link.take(at(10), &data(1), 9).unwrap();
    link.poll_blocked(at(30)).unwrap();
    assert_eq!(link.deadline(), at(50), "asked again, but not at once");
    assert_eq!(due(&mut link, at(50)), Some(Frame::Beat { sent: 0, acknowledged: 1 }));
}

#[test]
fn a_silent_peer_is_given_up() {
    let mut link = connected(at(0));
    link.take(at(50), &beat(0), 3).unwrap();
    let (when, why) = given_up(&mut link, |_, _| {});
    assert_eq!((when, why), (at(400), LinkError::Silent(limits().silence)));
    link.disconnected(when);
    assert_eq!(link.deadline(), MonoTime::NEVER);
    assert_eq!(link.next_dial(), when.after(limits().backoff_first));
}

#[test]
fn a_peer_that_speaks_is_not_given_up() {
    let mut link = connected(at(0));
    for _ in 0..50 {
        let now = link.deadline();
        link.poll(now, &mut Vec::new()).unwrap();
        // Bytes of a long frame count before it is complete.
        link.heard();
    }
    assert!(link.is_connected());
}

#[test]
fn a_deaf_peer_is_given_up() {
    let mut link = connected(at(0));
    link.send(&numbered(1)).unwrap();
    let (when, why) = given_up(&mut link, |link, now| {
        link.take(now, &beat(0), 3).unwrap();
    });
    assert_eq!((when, why), (at(400), LinkError::Deaf(limits().silence)));
}

#[test]
fn a_slow_peer_is_not_deaf() {
    let mut link = connected(at(0));
    for number in 1..=50 {
        link.send(&numbered(number)).unwrap();
    }
    for acknowledged in 1..=49 {
        for _ in 0..2 {
            let now = link.deadline();
            link.poll(now, &mut Vec::new()).unwrap();
            link.take(now, &beat(acknowledged), 3).unwrap();
        }
    }
    assert_eq!(link.unacknowledged(), 1);
}

/// A machine that slept for an hour: the peer had no chance to be heard.
#[test]
fn a_late_poll_counts_as_one_beat() {
    let mut link = connected(at(0));
    assert!(due(&mut link, at(3_600_000)).is_some());
    assert_eq!(link.deadline(), at(3_600_100));
}

#[test]
fn a_hello_of_another_life_is_refused() {
    let mut link = connected(at(0));
    link.disconnected(at(10));
    let refused = link.connected(at(20), &hello(LIFE + 1, 0));
    assert_eq!(refused, Err(LinkError::OtherLife(member(1))));
    assert!(!link.is_connected());
    link.connected(at(30), &hello(LIFE, 0)).unwrap();
    let mut named = Link::new(member(2), member(1), Some(LIFE), &limits());
    assert!(named.connected(at(0), &hello(LIFE + 1, 0)).is_err());
    named.connected(at(0), &hello(LIFE, 0)).unwrap();
}

#[test]
fn what_was_not_acknowledged_goes_out_again() {
    let mut link = connected(at(0));
    for number in 1..=3 {
        assert_eq!(link.send(&numbered(number)), Ok(number));
    }
    let mut first = Vec::new();
    link.next_bytes(&mut first, usize::MAX);
    assert!(!link.has_next());
    link.disconnected(at(10));
    link.connected(at(20), &hello(LIFE, 2)).unwrap();
    let mut again = Vec::new();
    link.next_bytes(&mut again, usize::MAX);
    assert!(first.ends_with(&again) && !again.is_empty());
    assert_eq!(link.unacknowledged(), 1);
    let lie = Broken::NeverSent { acknowledged: 9, sent: 3 };
    assert_eq!(link.connected(at(30), &hello(LIFE, 9)), Err(lie.into()));
}

#[test]
fn another_life_begins_a_new_session() {
    let mut link = connected(at(0));
    for number in 1..=3 {
        link.send(&numbered(number)).unwrap();
    }
    link.take(at(10), &data(1), 9).unwrap();
    for _ in 0..5 {
        link.dial_failed(at(10));
    }
    assert!(link.replace(Some(LIFE + 1)));
    assert_eq!(link.incarnation(), Some(LIFE + 1));
    assert_eq!((link.unacknowledged(), link.received()), (0, 0));
    assert!(!link.is_connected() && !link.has_next());
    assert_eq!(link.next_dial(), at(0), "at once");
    assert_eq!(link.take(at(20), &data(2), 9), Err(LinkError::NotConnected));
    assert!(link.connected(at(20), &hello(LIFE, 0)).is_err(), "the former life is over");
    assert_eq!(link.send(&numbered(1)), Ok(1), "numbers begin anew");
    link.connected(at(30), &hello(LIFE + 1, 0)).unwrap();
    assert_eq!(link.take(at(40), &data(1), 9), Ok(Taken::Now));
}

#[test]
fn the_same_life_goes_on() {
    let mut link = connected(at(0));
    link.send(&numbered(1)).unwrap();
    assert!(!link.replace(Some(LIFE)));
    assert!(!link.replace(None), "whichever came first goes on");
    assert!(link.is_connected());
    assert_eq!((link.unacknowledged(), link.incarnation()), (1, Some(LIFE)));
}

#[test]
fn what_was_queued_for_whoever_comes_first_is_for_the_life_that_a_view_names() {
    let mut link = link();
    link.send(&numbered(1)).unwrap();
    assert!(!link.replace(Some(LIFE)));
    assert_eq!((link.unacknowledged(), link.incarnation()), (1, Some(LIFE)));
    assert!(link.connected(at(0), &hello(LIFE + 1, 0)).is_err());
}
