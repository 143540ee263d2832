//! Sessions and handshakes, pure: what is delivered is what was sent, whatever the network does.

use super::weather::{Chance, Network, Weather, for_seeds};
use super::*;
use crate::link::handshake::{Refusal, Stranger, Terms, check_preamble, preamble};
use crate::link::session::{Broken, Frame, Session, SessionLimits, Taken};
use crate::wire::decode;

const LIMITS: SessionLimits =
    SessionLimits { frame_bytes: 1 << 20, congested_bytes: 2_000, resend_bytes: 10_000 };

/// No storm takes longer to get everything across.
const MOST_STEPS: usize = 2_000_000;

#[test]
fn what_was_sent_is_delivered_once_and_in_order() {
    for_seeds(150, |seed| {
        let mut network = Network::new(3, Weather::STORM, LIMITS, seed);
        let (mut sent, mut received) = ([[0; 3]; 3], [[0; 3]; 3]);
        for step in 0.. {
            assert!(step < MOST_STEPS, "the link does not come through");
            let (from, to) = (step % 3, (step / 3) % 3);
            let wanted = from != to && sent[from][to] < 100;
            if wanted && !network.session(from, to).is_congested() {
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

/// Both are so far behind that neither would listen: they must not wait for each other.
#[test]
fn two_that_are_both_behind_catch_up() {
    for_seeds(50, |seed| {
        let mut network = Network::new(2, Weather::CALM, LIMITS, seed);
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
fn each_difference_is_named() {
    let addresses = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"].map(String::from);
    let terms = |node: usize, change: &dyn Fn(&mut Config)| {
        let mut config = config(node, &addresses);
        change(&mut config);
        let view = Fixed::new(config.members.clone()).views().borrow().clone();
        Terms::new(&config, &view, 7)
    };
    let (me, you) = (NodeId::new(0), NodeId::new(1));
    let same = |_: &mut Config| {};
    let mine = terms(0, &same);
    let refusal = |theirs: Terms, to: NodeId, epoch: u64, known: Option<u64>| {
        mine.check(&theirs.hello(to, epoch, 0), 1, |_| known).err()
    };
    assert_eq!(refusal(terms(1, &same), me, 1, None), None);
    assert_eq!(refusal(terms(1, &same), me, 1, Some(7)), None);
    assert_eq!(refusal(terms(1, &same), me, 1, Some(8)), Some(Refusal::Restarted { you }));
    let epoch = Refusal::Epoch { me, mine: 1, you, yours: 2 };
    assert_eq!(refusal(terms(1, &same), me, 2, None), Some(epoch));
    assert_eq!(refusal(terms(1, &same), you, 1, None), Some(Refusal::Somebody { me, meant: you }));
    assert_eq!(refusal(terms(0, &same), me, 1, None), Some(Refusal::Caller { me, you: me }));
    let other_cluster = |config: &mut Config| config.cluster = "other".into();
    let (ours, theirs) = ("skeptron".into(), "other".into());
    let cluster = Refusal::Cluster { me, mine: ours, yours: theirs };
    assert_eq!(refusal(terms(1, &other_cluster), me, 1, None), Some(cluster));
    let moved = |config: &mut Config| config.members[2] = "127.0.0.1:4".into();
    assert_eq!(refusal(terms(1, &moved), me, 1, None), Some(Refusal::Members { me, you }));
    let prefixed = |config: &mut Config| {
        let raymond = Plan::named("raymond", 3).unwrap();
        config.plans = config.plans.clone().with_prefix("jobs/", raymond);
    };
    assert_eq!(refusal(terms(1, &prefixed), me, 1, None), Some(Refusal::Plans { me, you }));
    for info in skeptron_core::catalogue::sound() {
        let other = |config: &mut Config| {
            config.plans = Plans::new(Plan::named(info.name, 3).unwrap());
        };
        let differs = (info.name != Plan::DEFAULT).then_some(Refusal::Plans { me, you });
        assert_eq!(refusal(terms(1, &other), me, 1, None), differs, "{}", info.name);
    }
    let words = Refusal::Restarted { you }.to_string();
    assert!(words.contains("restart all nodes"), "{words}");
}

#[test]
fn strangers_are_told_apart_from_other_versions() {
    assert_eq!(check_preamble(preamble()), Ok(()));
    assert_eq!(check_preamble(*b"GET / HTTP"), Err(Stranger::NoNode));
    let mut newer = preamble();
    newer[8] = 9;
    assert_eq!(check_preamble(newer), Err(Stranger::Version { theirs: 9 }));
}
