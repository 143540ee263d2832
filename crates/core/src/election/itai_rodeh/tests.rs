use super::*;
use crate::NodeId;
use crate::election::stage::{Stage, orders};
use crate::election::storm::{self, GALE, SQUALL};
use crate::topology::Ring;

fn stage(ring: Ring) -> Stage<ItaiRodeh> {
    Stage::on_ring("itai-rodeh", ring)
}

/// Everybody calls and draws what is laid ready at its place in the ring. Returns the kinds of the messages, the place
/// of the leader, and the time until the last one knows.
fn elect(ring: &Ring, draws: &[Vec<u32>]) -> (Vec<&'static str>, usize, usize) {
    let mut stage = stage(ring.clone());
    for (node, drawn) in ring.order().iter().zip(draws) {
        stage.chance[node.index()].extend(drawn);
    }
    ring.order().iter().for_each(|node| stage.call(node.index()));
    // The leader gets word of itself one bound after the last of the others.
    let time = stage.settle() as usize - 1;
    let leaders = stage.leaders();
    assert!(leaders.iter().all(|leader| *leader == leaders[0]), "one leader: {leaders:?}");
    assert!(stage.nodes.iter().all(|node| node.epoch.round == 1), "one round is enough");
    let place = ring.order().iter().position(|node| Some(node.index()) == leaders[0]).unwrap();
    (stage.sent().to_vec(), place, time)
}

/// All that `n` nodes can draw at once.
fn all_draws(n: usize) -> impl Iterator<Item = Vec<u32>> {
    let base = n as u32;
    let digit = move |code: u32, i: u32| 1 + code / base.pow(i) % base;
    (0..base.pow(base)).map(move |code| (0..base).map(|i| digit(code, i)).collect())
}

#[test]
fn one_candidate_costs_two_rounds() {
    for n in 2..=12 {
        let mut stage = stage(Ring::ascending(n));
        stage.chance[0].push_back(1);
        stage.call(0);
        assert_eq!(stage.settle() as usize, 2 * n);
        assert_eq!(stage.sent().len(), 2 * n);
        assert!(stage.leaders().iter().all(|&leader| leader == Some(0)));
    }
}

/// The only highest number wins in one phase of N bounds, whatever the others have drawn.
#[test]
fn the_only_highest_number_wins() {
    for n in 2..=4 {
        for drawn in all_draws(n) {
            let highest = drawn.iter().max().unwrap();
            let tied = drawn.iter().filter(|number| *number == highest).count();
            if tied > 1 {
                continue;
            }
            let draws: Vec<_> = drawn.iter().map(|&number| vec![number]).collect();
            let (_, place, time) = elect(&Ring::ascending(n), &draws);
            assert_eq!(
                (place, time),
                (drawn.iter().position(|n| n == highest).unwrap(), 2 * n - 1)
            );
        }
    }
}

/// Only the tied draw again, and each phase takes N bounds: what follows a tie of `j` is what `j` candidates do. So the
/// number of phases is that of the published chain, in which `j` of `a` candidates stay with the probability that so
/// many draw the highest number.
#[test]
fn the_tied_draw_again_and_nobody_else() {
    let n = 3;
    for first in all_draws(n) {
        let highest = *first.iter().max().unwrap();
        let tied: Vec<usize> = (0..n).filter(|&i| first[i] == highest).collect();
        if tied.len() == 1 {
            continue;
        }
        for winner in &tied {
            let again = |i: usize| vec![first[i], 1 + u32::from(i == *winner)];
            let draws: Vec<_> = (0..n).map(again).collect();
            let mut stage = stage(Ring::ascending(n));
            for (node, drawn) in draws.iter().enumerate() {
                stage.chance[node].extend(drawn);
            }
            (0..n).for_each(|node| stage.call(node));
            assert_eq!(stage.settle() as usize, 2 * n + n, "two phases and the result");
            assert_eq!(stage.leaders(), [Some(*winner); 3]);
            let left: Vec<usize> = stage.chance.iter().map(|left| left.len()).collect();
            let expected: Vec<usize> = (0..n).map(|i| usize::from(!tied.contains(&i))).collect();
            assert_eq!(left, expected, "who lost has not drawn again");
        }
    }
}

/// Nothing depends on ids: in every order of the ring the same happens at the same places.
#[test]
fn permuting_the_ids_changes_nothing() {
    let draws = [vec![4, 2], vec![1], vec![4, 3], vec![3]];
    let expected = elect(&Ring::ascending(4), &draws);
    assert_eq!(expected.1, 2);
    for ring in orders(4) {
        // A ring read from another place is the same ring: the draws stay with the places.
        assert_eq!(elect(&ring, &draws), expected, "{ring:?}");
    }
}

#[test]
fn a_dead_candidate_is_replaced() {
    let mut stage = stage(Ring::ascending(4));
    stage.chance.iter_mut().for_each(|numbers| numbers.extend([2, 3, 4, 1]));
    stage.call(3);
    stage.tick();
    stage.crash(3);
    stage.suspect(3);
    stage.settle();
    let leaders = stage.leaders();
    assert!(leaders[0].is_some() && leaders[..3].iter().all(|leader| *leader == leaders[0]));
    assert_ne!(leaders[0], Some(3));
}

#[test]
fn a_lost_number_is_missed() {
    let mut stage = stage(Ring::ascending(3));
    stage.chance[2].extend([2, 1]);
    stage.chance[0].push_back(3);
    stage.call(2);
    stage.deliver(2, 0);
    stage.lose(0, 1);
    stage.settle();
    assert_eq!(stage.leaders(), [Some(0); 3]);
    assert_eq!(stage.named(0).unwrap().epoch.round, 2);
}

#[test]
fn what_no_correct_peer_can_have_sent_is_refused() {
    let id = |id, hops| Msg::Id { round: 1, id, hops, marked: false };
    stage(Ring::ascending(3)).refuses(
        1,
        [
            (7, id(1, 1)),
            (1, id(1, 1)),
            (0, id(0, 1)),
            (0, id(4, 1)),
            (0, id(1, 0)),
            (0, id(1, 4)),
            (0, Msg::Elected { round: 1, hops: 0 }),
            (0, Msg::Elected { round: 1, hops: 4 }),
            (0, Msg::Elected { round: u32::MAX, hops: 1 }),
        ],
    );
}

#[test]
fn a_number_that_nobody_asked_for_is_refused() {
    let mut node = stage(Ring::ascending(3)).nodes.swap_remove(0);
    let mut out = Outbox::new();
    let drawn = |number| Input::Command(Notice::Drawn(number));
    assert_eq!(node.step(drawn(1), &mut out), Err(NOT_DRAWN));
    node.step(Input::Command(Notice::Call), &mut out).unwrap();
    assert_eq!(node.draws(), Some(3));
    for other in [0, 4] {
        assert_eq!(node.step(drawn(other), &mut out), Err(NOT_DRAWN), "it has asked for 1, 2 or 3");
    }
    let message = Msg::Id { round: 1, id: 1, hops: 1, marked: false };
    let early = Input::Deliver { from: NodeId::new(2), message };
    assert!(node.step(early, &mut out).is_err(), "the number comes first");
    node.step(drawn(3), &mut out).unwrap();
    assert_eq!((node.draws(), node.id), (None, Some(3)));
}

#[test]
fn it_survives_storms() {
    storm::survives::<ItaiRodeh>("itai-rodeh", SQUALL, 10_000);
    storm::survives::<ItaiRodeh>("itai-rodeh", GALE, 10_000);
}

#[test]
fn broken_variants_break_in_storms() {
    storm::refutes_the_broken::<ItaiRodeh>(SQUALL, 20_000);
}
