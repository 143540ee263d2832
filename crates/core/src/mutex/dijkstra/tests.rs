use super::*;
use crate::mutex::stage::Stage;
use crate::{Input, Protocol as _};

fn stage(n: usize, beginnings: &[u64]) -> Stage<Dijkstra> {
    let setup = Setup::new(n).unwrap().with_beginnings(beginnings.to_vec()).unwrap();
    Stage::new("dijkstra", &setup)
}

/// The number of a beginning with the number `s` at the node, and that one in its channel.
fn beginning(n: u64, s: u64, in_channel: Option<u64>) -> u64 {
    s + n * in_channel.map_or(0, |value| value + 1)
}

fn values(stage: &Stage<Dijkstra>) -> Vec<u32> {
    stage.nodes.iter().map(|node| node.s).collect()
}

/// Begun well, the bottom takes the next number, and the others follow one after another.
#[test]
fn the_privilege_goes_round() {
    let mut stage = stage(3, &[]);
    (0..3).for_each(|node| stage.request(node));
    stage.deliver(2, 0);
    assert_eq!((stage.inside(), values(&stage)), (vec![0], vec![1, 0, 0]));
    // What the others repeat meanwhile is no news.
    stage.deliver(0, 1);
    stage.deliver(1, 2);
    stage.deliver(1, 2);
    assert_eq!(stage.inside(), [0]);
    for (from, to) in [(0, 1), (1, 2)] {
        stage.release(from);
        stage.deliver(from, to);
        assert_eq!(stage.inside(), [to]);
    }
    assert_eq!(values(&stage), [1, 1, 1]);
}

#[test]
fn alone_a_node_is_always_privileged() {
    let mut stage = stage(1, &[]);
    for _ in 0..2 {
        stage.request(0);
        assert_eq!(stage.inside(), [0]);
        stage.release(0);
    }
    assert_eq!(stage.sent(), 0);
}

/// All three numbers differ from what is heard, so two are inside at once; a few rounds later the bottom has a
/// number that nobody else has.
#[test]
fn from_many_privileges_to_one() {
    let n = 3;
    let begun = [(0, Some(1)), (0, Some(1)), (0, Some(2))];
    let begun = begun.map(|(s, value)| beginning(n, s, value));
    let mut stage = stage(3, &begun);
    stage.request(1);
    stage.request(2);
    stage.deliver(0, 1);
    stage.deliver(1, 2);
    assert_eq!(stage.inside(), [1, 2], "nothing is promised yet");
    stage.release(1);
    stage.leave(2);
    (0..3).for_each(|node| stage.request(node));
    for entries in 3..9 {
        stage.flush();
        let [node] = stage.inside()[..] else { panic!("{:?} are inside", stage.inside()) };
        assert_eq!(stage.entries().len(), entries);
        stage.release(node);
        stage.request(node);
    }
}

#[test]
fn beginnings_are_numbered() {
    assert_eq!(Dijkstra::beginnings("dijkstra", 3), 3 * 4);
    assert_eq!(Dijkstra::beginnings("dijkstra-small-k", 3), 2 * 3);
    assert_eq!(Dijkstra::beginnings("dijkstra", 1), 1);
    let setup = Setup::new(2).unwrap().with_beginnings(vec![0, 6]).unwrap();
    let error = Dijkstra::build("dijkstra", &setup).unwrap_err();
    assert_eq!(
        error.to_string(),
        "P2 cannot begin in state 6; its states are numbered from 0 to 5"
    );
}

/// Legitimate is one privilege, wherever it is.
#[test]
fn one_privilege_is_legitimate() {
    let is_legitimate = |begun: [(u64, Option<u64>); 3]| {
        let begun = begun.map(|(s, value)| beginning(3, s, value));
        let setup = Setup::new(3).unwrap().with_beginnings(begun.to_vec()).unwrap();
        let nodes = Dijkstra::build("dijkstra", &setup).unwrap();
        let mut out = Outbox::new();
        let mut started = nodes.clone();
        let mut sent = Vec::new();
        for node in &mut started {
            node.step(Input::Start, &mut out).unwrap();
            for effect in out.drain() {
                let crate::Effect::Send { to, message } = effect else { panic!("{effect:?}") };
                sent.push((node.me, to, message));
            }
        }
        let nodes: Vec<&Dijkstra> = started.iter().collect();
        let sent: Vec<_> = sent.iter().map(|(from, to, message)| (*from, *to, message)).collect();
        Dijkstra::is_legitimate(&nodes, &sent)
    };
    // All the same: it is the bottom's.
    assert!(is_legitimate([(1, Some(1)), (1, None), (1, Some(1))]));
    // It is on its way to P2, or to P3.
    assert!(is_legitimate([(2, Some(2)), (0, Some(0)), (0, None)]));
    assert!(is_legitimate([(2, None), (2, Some(2)), (0, Some(0))]));
    // Nothing is under way.
    assert!(!is_legitimate([(1, None), (1, None), (1, None)]));
    // P2's and P3's; the one that an old number in a channel is.
    assert!(!is_legitimate([(2, Some(2)), (1, Some(1)), (0, Some(0))]));
    assert!(!is_legitimate([(1, Some(1)), (1, Some(0)), (1, Some(1))]));
}

#[test]
fn what_no_correct_peer_can_have_sent_is_refused() {
    let mut stage = stage(3, &[]);
    for (from, to, s) in [
        (0, 2, 0), // not of the predecessor
        (7, 1, 0), // of nobody
        (2, 2, 0), // of the node itself
        (0, 1, 3), // no number
    ] {
        let refused = stage.inject(from, to, Msg::State { s });
        assert!(matches!(refused, Err(Refused::Unexpected(_))), "{from} {to}");
    }
}
