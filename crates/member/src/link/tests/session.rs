//! Sessions and handshakes, pure: what is delivered is what was sent, whatever the network does.

use super::chance::{Chance, for_seeds};
use super::weather::{Delivery, Network, Weather, impatient};
use super::*;
use crate::Limits;
use crate::link::handshake::{
    HandshakeRefusal, Stranger, Terms, VERSION, check_preamble, preamble,
};
use crate::link::session::{Broken, Frame, Session, SessionLimits, Taken};
use crate::view::View;
use crate::wire::decode;

const LIMITS: SessionLimits =
    SessionLimits { frame_bytes: 1 << 20, congested_bytes: 2_000, resend_bytes: 10_000 };

/// The same for whole links, which soon give up a silent peer.
fn link_limits() -> Limits {
    let SessionLimits { frame_bytes, congested_bytes, resend_bytes } = LIMITS;
    Limits { frame_bytes, congested_bytes, resend_bytes, ..impatient() }
}

/// No storm takes longer to get everything across.
const MOST_STEPS: usize = 2_000_000;

#[test]
fn what_was_sent_is_delivered_once_and_in_order() {
    for_seeds(150, |seed| {
        let mut network = Network::new(3, Weather::STORM, &link_limits(), seed);
        let (mut sent, mut received) = ([[0; 3]; 3], [[0; 3]; 3]);
        for step in 0.. {
            assert!(step < MOST_STEPS, "the link does not come through");
            let (from, to) = (step % 3, (step / 3) % 3);
            let wanted = from != to && sent[from][to] < 100;
            if wanted && !network.link(from, to).is_congested() {
                sent[from][to] += 1;
                network.send(from, to, sent[from][to], b"more bytes");
            }
            if let Some(delivery) = network.step() {
                let last = &mut received[delivery.to][delivery.from];
                assert_eq!(delivery.fence, *last + 1, "P{} to P{}", delivery.from, delivery.to);
                *last += 1;
            }
            let all = sent.iter().flatten().sum::<u64>();
            if all == 600 && network.is_quiet() {
                break;
            }
        }
        assert_eq!(received.iter().flatten().sum::<u64>(), 600, "acknowledged but not delivered");
    });
}

/// What arrives is what the present life of the sender has sent to the present life of the receiver,
/// as far as each of them knows, from the first message on and without a gap.
#[test]
fn nothing_is_carried_over_from_one_life_to_the_next() {
    const NODES: usize = 3;
    for_seeds(100, |seed| {
        let mut network = Network::new(NODES, Weather::STORM, &link_limits(), seed);
        let mut chance = Chance::new(!seed);
        let (mut sent, mut received) = ([[0u64; NODES]; NODES], [[0u64; NODES]; NODES]);
        for step in 0.. {
            assert!(step < MOST_STEPS, "the links do not come through");
            let is_over = step > 20_000;
            let (node, peer) = (step % NODES, (step / NODES) % NODES);
            if node != peer {
                if !is_over && chance.happens(1) {
                    network.restart(node);
                    (sent[node], received[node]) = ([0; NODES], [0; NODES]);
                }
                if (is_over || chance.happens(5)) && network.learn(node, peer) {
                    (sent[node][peer], received[node][peer]) = (0, 0);
                }
                if !is_over && chance.happens(100) && !network.link(node, peer).is_congested() {
                    sent[node][peer] += 1;
                    network.send(node, peer, sent[node][peer], &network.life(node).to_le_bytes());
                }
            }
            if let Some(Delivery { from, to, fence, message }) = network.step() {
                received[to][from] += 1;
                assert_eq!(fence, received[to][from], "P{from} to P{to}");
                let life = u64::from_le_bytes(message.try_into().unwrap());
                assert_eq!(Some(life), network.link(to, from).incarnation());
            }
            if step > 20_100 && network.is_quiet() {
                break;
            }
        }
        for (from, to) in (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))) {
            assert_eq!(received[to][from], sent[from][to], "P{from} to P{to}");
        }
    });
}

/// Both are so far behind that neither would listen: they must not wait for each other.
#[test]
fn two_that_are_both_behind_catch_up() {
    for_seeds(50, |seed| {
        let mut network = Network::new(2, Weather::CALM, &link_limits(), seed);
        for number in 1..=2_000 {
            network.send(0, 1, number, &[0; 30]);
            network.send(1, 0, number, &[0; 30]);
        }
        let mut received = [0; 2];
        let mut steps = 0;
        while !network.is_quiet() {
            steps += 1;
            assert!(steps < MOST_STEPS, "they wait for each other: {received:?}");
            if let Some(delivery) = network.step() {
                received[delivery.to] += 1;
                assert_eq!(delivery.fence, received[delivery.to]);
            }
        }
        assert_eq!(received, [2_000; 2]);
    });
}

/// A peer that asks and asks, and acknowledges nothing, is soon not listened to.
#[test]
fn whoever_does_not_listen_is_not_listened_to() {
    let mut session = Session::new(LIMITS);
    let (mut answers, mut later) = (0, 0);
    for sequence in 1..100_000 {
        let frame = Frame::Data { sequence, acknowledged: 0, envelope: numbered(sequence) };
        match session.take(&frame, 20).unwrap() {
            Taken::Now => {
                answers += 1;
                session.send(&padded(sequence, &[0; 1000])).unwrap();
            }
            Taken::Later => later += 1,
            Taken::Before => panic!("every sequence number is new"),
        }
    }
    assert!(answers < 500 && later > 99_000, "{answers} answered, {later} turned away");
    assert!(session.unacknowledged_bytes() < 300_000, "{}", session.unacknowledged_bytes());
    let acknowledged = session.acknowledged() + answers;
    let beat = Frame::Beat { sent: 99_999, acknowledged };
    assert_eq!(session.take(&beat, 5), Err(Broken::CaughtUp));
    session.resume(acknowledged).unwrap();
    let sequence = session.received() + 1;
    let frame = Frame::Data { sequence, acknowledged, envelope: numbered(sequence) };
    assert_eq!(session.take(&frame, 20), Ok(Taken::Now), "nothing is lost");
}

#[test]
fn gaps_and_lies_break_the_connection_and_change_nothing() {
    let mut session = Session::new(LIMITS);
    session.send(&numbered(1)).unwrap();
    let data =
        |sequence, acknowledged| Frame::Data { sequence, acknowledged, envelope: numbered(0) };
    assert_eq!(session.take(&data(2, 0), 9), Err(Broken::Gap { got: 2, expected: 1 }));
    let lie = Broken::NeverSent { acknowledged: 2, sent: 1 };
    assert_eq!(session.take(&data(1, 2), 9), Err(lie));
    assert_eq!(session.resume(2), Err(lie));
    let lost_tail = Frame::Beat { sent: 1, acknowledged: 0 };
    assert_eq!(session.take(&lost_tail, 9), Err(Broken::Gap { got: 1, expected: 1 }));
    assert_eq!((session.received(), session.unacknowledged()), (0, 1));
    assert_eq!(session.take(&data(1, 1), 9), Ok(Taken::Now));
    assert_eq!(session.take(&data(1, 0), 9), Ok(Taken::Before));
    assert_eq!((session.received(), session.unacknowledged()), (1, 0));
}

#[test]
fn what_a_session_writes_is_what_a_frame_says() {
    let mut session = Session::new(LIMITS);
    session.send(&padded(7, b"token")).unwrap();
    let mut bytes = Vec::new();
    session.next_bytes(&mut bytes, 1);
    let written: Frame<'_> = decode(&bytes[4..]).unwrap();
    let envelope = padded(7, b"token");
    assert_eq!(written, Frame::Data { sequence: 1, acknowledged: 0, envelope });
}

#[test]
fn a_frame_that_is_too_long_is_not_sent() {
    let mut session = Session::new(SessionLimits { frame_bytes: 100, ..LIMITS });
    assert!(session.send(&padded(1, &[0; 200])).is_err());
    assert_eq!(session.unacknowledged(), 0);
    session.send(&padded(1, &[0; 20])).unwrap();
    assert_eq!(session.unacknowledged(), 1);
}

/// Any frames in any order: never a panic, and nothing taken out of order.
#[test]
fn a_session_survives_any_frames() {
    for_seeds(200, |seed| {
        let mut chance = Chance::new(seed);
        let mut session = Session::new(LIMITS);
        for _ in 0..500 {
            let (sequence, acknowledged) = match chance.below(4) {
                0 => (chance.bits(), chance.bits()),
                1 => (u64::MAX, 0),
                _ => (chance.below(20) as u64, chance.below(20) as u64),
            };
            let frame = match chance.below(3) {
                0 => Frame::Beat { sent: sequence, acknowledged },
                _ => Frame::Data { sequence, acknowledged, envelope: numbered(1) },
            };
            let before = session.received();
            let taken = session.take(&frame, chance.below(1 << 20));
            let now = u64::from(taken == Ok(Taken::Now));
            assert_eq!(session.received(), before + now);
            match chance.below(6) {
                0 => drop(session.send(&numbered(1)).unwrap()),
                1 => session.next_bytes(&mut Vec::new(), chance.below(200)),
                2 => session.beat(&mut Vec::new()),
                3 => drop(session.resume(chance.below(20) as u64)),
                _ => {}
            }
        }
    });
}

#[test]
fn a_peer_that_forgot_what_it_had_acknowledged_is_refused() {
    let mut session = Session::new(LIMITS);
    for number in 1..=3 {
        session.send(&numbered(number)).unwrap();
    }
    session.resume(2).unwrap();
    session.resume(2).unwrap();
    let forgotten = Broken::Forgotten { received: 0, acknowledged: 2 };
    assert_eq!(session.resume(0), Err(forgotten));
    assert_eq!(session.unacknowledged(), 1);
}

#[test]
fn each_difference_is_named() {
    let (me, you) = (member(1), member(2));
    let view = View::of_addresses(1, addresses(3));
    let terms = |me, plans: &Plans| Terms::new("skeptron", me, 7, plans);
    let mine = terms(me, &plans());
    let yours = || terms(you, &plans());
    let refusal =
        |theirs: Terms, to, known| mine.check(&theirs.hello(to, &view, 0), &view, known).err();
    assert_eq!(refusal(yours(), me, None), None);
    assert_eq!(refusal(yours(), me, Some(7)), None);
    assert_eq!(refusal(yours(), me, Some(8)), Some(HandshakeRefusal::Restarted { you }));
    assert_eq!(refusal(yours(), you, None), Some(HandshakeRefusal::Somebody { me, meant: you }));
    assert_eq!(
        refusal(terms(me, &plans()), me, None),
        Some(HandshakeRefusal::Caller { me, you: me })
    );
    let stranger = terms(member(4), &plans());
    assert_eq!(refusal(stranger, me, None), Some(HandshakeRefusal::Caller { me, you: member(4) }));
    let other_cluster = Terms::new("other", you, 7, &plans());
    let cluster = HandshakeRefusal::Cluster { me, mine: "skeptron".into(), yours: "other".into() };
    assert_eq!(refusal(other_cluster, me, None), Some(cluster));
    let prefixed = plans().with_prefix("jobs/", Plan::named("raymond").unwrap());
    assert_eq!(refusal(terms(you, &prefixed), me, None), Some(HandshakeRefusal::Plans { me, you }));
    for info in skeptron_core::catalogue::for_clusters() {
        let other = Plans::new(Plan::named(info.name).unwrap());
        let differs = (info.name != Plan::DEFAULT).then_some(HandshakeRefusal::Plans { me, you });
        assert_eq!(refusal(terms(you, &other), me, None), differs, "{}", info.name);
    }
    let words = HandshakeRefusal::Restarted { you }.to_string();
    assert!(words.contains("restart all nodes"), "{words}");
}

#[test]
fn views_may_differ_if_their_epochs_do() {
    let (me, you) = (member(1), member(2));
    let (mine, yours) = (Terms::new("c", me, 6, &plans()), Terms::new("c", you, 7, &plans()));
    let view = View::of_addresses(1, addresses(3));
    let mut other = view.clone();
    other.members[2].address = "127.0.0.1:4".into();
    let check = |theirs: &View| mine.check(&yours.hello(me, theirs, 0), &view, None);
    assert_eq!(check(&other), Err(HandshakeRefusal::Members { me, you }));
    other.epoch = 2;
    assert_eq!(check(&other), Ok(()), "one of the two will learn of the other's view");
}

#[test]
fn a_life_that_the_view_does_not_name_is_told_to_wait() {
    let (me, you) = (member(1), member(2));
    let (mine, yours) = (Terms::new("c", me, 6, &plans()), Terms::new("c", you, 7, &plans()));
    let mut view = View::of_addresses(5, addresses(2));
    view.members[1].incarnation = Some(8);
    let refused = mine.check(&yours.hello(me, &view, 0), &view, Some(8));
    assert_eq!(refused, Err(HandshakeRefusal::NotInView { me, you, epoch: 5 }));
}

#[test]
fn strangers_are_told_apart_from_other_versions() {
    assert_eq!(check_preamble(preamble()), Ok(()));
    assert_eq!(check_preamble(*b"GET / HTTP"), Err(Stranger::NoNode));
    let of = |version: u16| {
        let mut bytes = preamble();
        bytes[8..].copy_from_slice(&version.to_le_bytes());
        check_preamble(bytes)
    };
    assert_eq!(of(VERSION + 1), Ok(()), "the next minor version");
    for theirs in [VERSION + 2, VERSION + 0x100, 2] {
        assert_eq!(of(theirs), Err(Stranger::Version { theirs }));
    }
}
