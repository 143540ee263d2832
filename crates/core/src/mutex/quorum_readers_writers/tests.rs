use super::*;
use crate::mutex::stage::Stage;
use crate::topology::{ReadWrite, ReadWriteKind};

fn stage(
    name: &str,
    kind: ReadWriteKind,
    n: usize,
    readers: &[usize],
) -> Stage<QuorumReadersWriters> {
    let readers = readers.iter().map(|&reader| NodeId::new(reader)).collect();
    let system = ReadWrite::of_kind(kind, n, readers).unwrap();
    Stage::new(name, &Setup::new(n).unwrap().with_read_write(system).unwrap())
}

const SOUND_ONE: &str = "quorum-readers-writers";

#[test]
fn readers_are_inside_together_and_a_writer_alone() {
    for (name, kind) in ReadWriteKind::ALL {
        let mut stage = stage(SOUND_ONE, kind, 4, &[0, 1, 2]);
        for node in 0..4 {
            stage.ask([node]);
        }
        assert_eq!(stage.inside(), [0, 1, 2], "{name}");
        for node in 0..3 {
            stage.release(node);
        }
        stage.flush();
        assert_eq!(stage.inside(), [3], "{name}");
    }
}

/// A reader that asks after a writer waits behind it, though other readers are inside.
fn a_late_reader(name: &str) -> Vec<usize> {
    let mut stage = stage(name, ReadWriteKind::Majority, 3, &[0, 1]);
    for node in [0, 2, 1] {
        stage.ask([node]);
    }
    stage.inside()
}

#[test]
fn a_waiting_writer_stops_new_readers() {
    assert_eq!(a_late_reader(SOUND_ONE), [0]);
    assert_eq!(a_late_reader("quorum-readers-writers-readers-first"), [0, 1]);
}

/// With read-one, reading costs nothing.
#[test]
fn readers_that_ask_themselves_send_nothing() {
    let mut stage = stage(SOUND_ONE, ReadWriteKind::ReadOne, 5, &[0, 1, 2, 3]);
    for node in 0..4 {
        stage.request(node);
    }
    assert_eq!((stage.inside().len(), stage.sent()), (4, 0));
}

/// Each of two writers has one of the two grants: the younger one gives its own back.
fn two_writers(name: &str) -> Vec<usize> {
    let mut stage = stage(name, ReadWriteKind::Majority, 2, &[]);
    stage.ask([0, 1]);
    stage.inside()
}

#[test]
fn the_younger_writer_yields() {
    assert_eq!(two_writers(SOUND_ONE), [0]);
    assert_eq!(two_writers("quorum-readers-writers-no-inquiry"), [0usize; 0]);
}

/// P2 asks first but P1's request is older by its id: P2 gives its own grant up for it.
#[test]
fn an_older_request_gets_the_grant() {
    // P2 writes and asks P2 and P3; P1 writes and asks P1 and P2; P3 writes and asks P3 and P1.
    let mut stage = stage(SOUND_ONE, ReadWriteKind::Majority, 3, &[]);
    stage.request(1);
    stage.deliver(1, 2);
    stage.request(0);
    stage.deliver(0, 1);
    assert_eq!(stage.in_flight(1, 0), 1, "P2's own request came first, but P1's is older");
    stage.flush();
    assert_eq!(stage.entries().len(), 1);
    let first = stage.entries()[0];
    stage.leave(first);
    assert_eq!(stage.entries().len(), 2);
}

#[test]
fn what_no_correct_peer_says_is_refused() {
    let mut stage = stage(SOUND_ONE, ReadWriteKind::Majority, 3, &[0]);
    let say = |word| Msg { word, stamp: 1, clock: 1 };
    for (from, to, word) in [
        (1, 0, Word::Read),
        (0, 1, Word::Write),
        (0, 1, Word::Release),
        (0, 1, Word::Relinquish),
        (1, 0, Word::Locked),
        (1, 0, Word::Inquire),
    ] {
        let refused = stage.inject(from, to, say(word));
        assert!(matches!(refused, Err(Refused::Unexpected(_))), "{word:?}");
    }
}
