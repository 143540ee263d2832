use super::*;
use crate::mutex::stage::Stage;

fn stage(nodes: usize) -> Stage<AgrawalElAbbadi> {
    Stage::new("agrawal-el-abbadi", &Setup::new(nodes).unwrap())
}

fn ids(nodes: &[usize]) -> NodeSet {
    nodes.iter().map(|&node| NodeId::new(node - 1)).collect()
}

/// The quorum of a node, counted from 1, when some have crashed.
fn quorum(nodes: usize, me: usize, crashed: &[usize]) -> Option<NodeSet> {
    let setup = Setup::new(nodes).unwrap();
    let mut all = AgrawalElAbbadi::build("agrawal-el-abbadi", &setup).unwrap();
    let mut node = all.swap_remove(me - 1);
    node.crashed = ids(crashed);
    node.quorum()
}

/// Figure 1 of the paper, a complete tree of fifteen, counted as here.
#[test]
fn a_crashed_node_is_substituted_by_a_path_from_each_child() {
    assert_eq!(quorum(15, 8, &[]), Some(ids(&[1, 2, 4, 8])));
    assert_eq!(quorum(15, 11, &[]), Some(ids(&[1, 2, 5, 11])));
    assert_eq!(quorum(15, 8, &[2]), Some(ids(&[1, 4, 8, 5, 10])));
    assert_eq!(quorum(15, 8, &[1]), Some(ids(&[2, 4, 8, 3, 6, 12])));
    assert_eq!(quorum(15, 8, &[1, 2, 3]), Some(ids(&[4, 8, 5, 10, 6, 12, 7, 14])));
    // A leaf has no substitute, but there is another way down.
    assert_eq!(quorum(15, 4, &[8]), Some(ids(&[1, 2, 4, 9])));
    assert_eq!(quorum(15, 4, &[8, 9]), Some(ids(&[1, 2, 5, 10])));
    assert_eq!(quorum(15, 1, &[2, 8, 9]), Some(ids(&[1, 3, 6, 12])));
}

#[test]
fn there_is_no_quorum_when_a_whole_path_has_crashed() {
    assert_eq!(quorum(7, 4, &[1, 2]), Some(ids(&[4, 5, 3, 6])));
    assert_eq!(quorum(7, 4, &[1, 3, 7]), None);
    assert_eq!(quorum(3, 2, &[1, 3]), None);
    assert_eq!(quorum(1, 1, &[]), Some(ids(&[1])));
    // With one child, that child alone substitutes its parent.
    assert_eq!(quorum(4, 4, &[2]), Some(ids(&[1, 4])));
    assert_eq!(quorum(4, 2, &[4]), Some(ids(&[1, 3])));
}

/// Whoever has crashed when they were chosen, and whoever believes it already: any two quorums meet.
#[test]
fn any_two_quorums_meet() {
    for nodes in 1..=7 {
        let chosen = |me: usize| {
            (0..1 << nodes).filter_map(move |crashed: usize| {
                let crashed: Vec<usize> =
                    (1..=nodes).filter(|i| crashed >> (i - 1) & 1 != 0).collect();
                quorum(nodes, me, &crashed)
            })
        };
        let mut quorums: Vec<NodeSet> = Vec::new();
        for quorum in (1..=nodes).flat_map(chosen) {
            if !quorums.contains(&quorum) {
                quorums.push(quorum);
            }
        }
        for quorum in &quorums {
            assert!(quorums.iter().all(|other| quorum.intersects(other)), "{nodes}: {quorum:?}");
        }
    }
}

/// ⌈log₂(N+1)⌉ members in a complete tree, and ⌈(N+1)/2⌉ when all but the leaves have crashed.
#[test]
fn quorums_have_the_published_sizes() {
    for height in 1..=10 {
        let nodes = (1 << height) - 1;
        for me in [1, nodes / 2 + 1, nodes] {
            assert_eq!(quorum(nodes, me, &[]).unwrap().len(), height);
            assert_eq!(path_length(nodes, NodeId::new(me - 1)), height);
            let inner: Vec<usize> = (1..nodes.div_ceil(2)).collect();
            assert_eq!(quorum(nodes, me, &inner).unwrap().len(), nodes.div_ceil(2));
        }
    }
}

#[test]
fn the_length_of_a_path_is_the_size_of_the_quorum() {
    for (nodes, me) in (1..=40).flat_map(|nodes| (1..=nodes).map(move |me| (nodes, me))) {
        let length = path_length(nodes, NodeId::new(me - 1));
        assert_eq!(
            quorum(nodes, me, &[]).map(|quorum| quorum.len()),
            Some(length),
            "{nodes}, {me}"
        );
    }
}

/// The root crashes while one waits for it and another is inside with its grant.
#[test]
fn who_waits_goes_on_with_a_substitute() {
    let mut stage = stage(3);
    stage.ask([1]);
    assert_eq!(stage.inside(), [1]);
    stage.request(2);
    stage.crash(0);
    stage.suspect(2, 0);
    stage.suspect(1, 0);
    stage.flush();
    assert_eq!(stage.inside(), [1]);
    stage.leave(1);
    assert_eq!(stage.entries(), [1, 2]);
}

/// A holder crashes: its grant is taken back, also if its word comes later.
#[test]
fn the_grant_of_a_crashed_holder_is_free() {
    let mut stage = stage(3);
    stage.ask([1]);
    stage.ask([2]);
    stage.release(1);
    stage.request(1);
    stage.crash(1);
    stage.suspect(0, 1);
    stage.suspect(2, 1);
    assert_eq!(stage.oldest(0, 2).word, Word::Locked);
    stage.flush();
    assert_eq!(stage.entries(), [1, 2]);
    stage.release(2);
    stage.ask([0]);
    assert_eq!(stage.entries(), [1, 2, 0]);
}

/// An INQUIRE was sent on account of a request whose node then crashes: what comes back is as awaited.
#[test]
fn a_grant_comes_back_that_nobody_needs_any_more() {
    let mut stage = stage(3);
    for requester in [1, 2] {
        stage.request(requester);
    }
    // P3 is granted by P1 before the older request of P2 comes, which makes P1 inquire.
    stage.deliver(2, 0);
    stage.deliver(1, 0);
    assert_eq!(stage.oldest(0, 2).word, Word::Locked);
    stage.crash(1);
    stage.suspect(0, 1);
    stage.suspect(2, 1);
    stage.flush();
    assert_eq!(stage.inside(), [2]);
    stage.release(2);
    stage.ask([0]);
    assert_eq!(stage.entries(), [2, 0]);
}

/// It is told once of each crash, and never of its own.
#[test]
fn a_second_notice_changes_nothing() {
    let mut stage = stage(3);
    stage.suspect(1, 0);
    let before = stage.nodes[1].clone();
    for whom in [0, 1, 9] {
        stage.suspect(1, whom);
    }
    assert_eq!(stage.nodes[1], before);
}

/// Random schedules on channels without order, with a crash of one node at any moment, told to each of the others at any
/// later one: never two inside, and all others are served.
#[test]
fn whoever_crashes_the_others_go_on() {
    for seed in 0..10_000 {
        let mut chance: u64 = seed;
        let mut below = |limit: usize| {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (chance >> 33) as usize % limit
        };
        let n = 3 + below(6);
        let mut stage = stage(n);
        let mut left = vec![3; n];
        let mut waits = vec![false; n];
        let (victim, at) = (below(n), below(40 * n));
        let mut untold: Vec<usize> = Vec::new();
        for step in 0.. {
            if step == at {
                stage.crash(victim);
                (left[victim], waits[victim]) = (0, false);
                untold = (0..n).filter(|&node| node != victim).collect();
            }
            let inside = stage.inside();
            assert!(inside.len() <= 1, "{seed}: {inside:?}");
            inside.iter().for_each(|&node| waits[node] = false);
            let links = (0..n * n).filter(|link| stage.in_flight(link / n, link % n) > 0);
            let links: Vec<usize> = links.collect();
            let idle = |&node: &usize| left[node] > 0 && !waits[node] && !inside.contains(&node);
            let idle: Vec<usize> = (0..n).filter(idle).collect();
            let choices = [links.len(), idle.len(), inside.len(), untold.len()];
            if choices.iter().sum::<usize>() == 0 && step > at {
                break;
            }
            let mut choice = below(choices.iter().sum::<usize>().max(1));
            if choice < links.len() {
                let (from, to) = (links[choice] / n, links[choice] % n);
                let nth = below(stage.in_flight(from, to));
                stage.deliver_nth(from, to, nth).unwrap();
                continue;
            }
            choice -= links.len();
            if choice < idle.len() {
                let node = idle[choice];
                left[node] -= 1;
                waits[node] = true;
                stage.request(node);
            } else if choice < idle.len() + inside.len() {
                stage.release(inside[0]);
            } else if let Some(place) = choice.checked_sub(idle.len() + inside.len())
                && place < untold.len()
            {
                let told = untold.swap_remove(place);
                stage.suspect(told, victim);
            }
        }
        assert!(waits.iter().all(|waits| !waits), "{seed}: {waits:?} wait for ever");
    }
}
