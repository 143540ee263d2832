use super::*;
use crate::election::stage::Stage;
use crate::election::storm::{self, GALE, SQUALL, Weather};
use crate::topology::{Graph, Tree};

fn node(i: usize) -> NodeId {
    NodeId::new(i)
}

fn graph(n: usize, links: impl IntoIterator<Item = (usize, usize)>) -> Graph {
    Graph::of_links(n, links.into_iter().map(|(a, b)| (node(a), node(b)))).unwrap()
}

fn line(n: usize) -> Graph {
    graph(n, (1..n).map(|i| (i - 1, i)))
}

fn circle(n: usize) -> Graph {
    graph(n, (1..n).map(|i| (i - 1, i)).chain((n > 2).then_some((0, n - 1))))
}

/// Rows of three.
fn grid(n: usize) -> Graph {
    let across = (1..n).filter(|i| i % 3 > 0).map(|i| (i - 1, i));
    graph(n, across.chain((3..n).map(|i| (i - 3, i))))
}

fn complete(n: usize) -> Graph {
    graph(n, (0..n).flat_map(|i| (0..i).map(move |j| (i, j))))
}

fn broken(name: &str, graph: Graph) -> Stage<SpanningTree> {
    Stage::new(name, &Setup::new(graph.nodes()).unwrap().with_graph(graph).unwrap())
}

fn stage(graph: Graph) -> Stage<SpanningTree> {
    broken("spanning-tree", graph)
}

fn tree(stage: &Stage<SpanningTree>) -> Tree {
    Tree::new(stage.nodes.iter().map(SpanningTree::parent).collect()).unwrap()
}

/// 2 messages on each link for the wave, and N−1 that tell of it, whoever begins.
#[test]
fn one_initiator_takes_two_messages_on_each_link_and_makes_a_tree() {
    for n in 2..=20 {
        for graph in [line(n), circle(n), grid(n), complete(n)] {
            for caller in 0..n {
                let mut stage = stage(graph.clone());
                stage.call(caller);
                stage.settle();
                assert_eq!(stage.sent().len(), 2 * graph.links() + n - 1);
                assert_eq!(stage.leaders(), vec![Some(caller); n]);
                let tree = tree(&stage);
                assert_eq!(tree.root(), node(caller));
                for (at, up) in NodeId::all(n).filter_map(|at| Some((at, tree.parent(at)?))) {
                    assert!(graph.of(at).contains(&up), "{at} is not linked to {up}");
                }
            }
        }
    }
}

/// There and back over the longest way, and there again.
#[test]
fn the_time_is_three_times_the_distance() {
    for n in 2..=20 {
        let mut far = stage(line(n));
        far.call(0);
        assert_eq!(far.settle(), 3 * (n as u32 - 1));
        let mut near = Stage::<SpanningTree>::new("spanning-tree", &Setup::new(n).unwrap());
        near.call(0);
        assert_eq!(near.settle(), if n == 2 { 3 } else { 4 });
        assert_eq!(near.sent().len(), n * (n - 1) + n - 1, "without a graph it is complete");
    }
}

/// How often a node changes its wave depends on the order in which they come.
#[test]
fn if_all_begin_the_highest_wins() {
    for n in 2..=20 {
        let mut stage = stage(complete(n));
        (0..n).for_each(|caller| stage.call(caller));
        assert_eq!(stage.settle(), if n == 2 { 3 } else { 4 });
        assert_eq!(stage.leaders(), vec![Some(n - 1); n]);
        let sent = stage.sent().len();
        assert!(
            (2 * n * (n - 1)..=n * n * (n - 1) / 2 + 2 * (n - 1)).contains(&sent),
            "{n} {sent}"
        );
        // Here they come in ascending order.
        assert_eq!(sent, n * n * (n - 1) / 2 + 2 * (n - 1));
    }
}

#[test]
fn the_highest_of_the_initiators_wins_on_every_network() {
    for graph in [line(7), circle(7), grid(7), complete(7)] {
        let mut stage = stage(graph);
        for caller in [1, 4, 2] {
            stage.call(caller);
        }
        stage.settle();
        assert_eq!(stage.leaders(), [Some(4); 7]);
        assert_eq!(tree(&stage).root(), node(4));
    }
}

/// The parents of the living are a tree again, and nobody in it is dead.
#[test]
fn a_crash_anywhere_at_any_time_leaves_a_tree_of_the_living() {
    for victim in 0..9 {
        for moment in 0..20 {
            let mut stage = stage(grid(9));
            stage.call(4);
            (0..moment).for_each(|_| stage.tick());
            stage.crash(victim);
            stage.tick();
            stage.suspect(victim);
            stage.settle();
            let leader = stage.named((victim + 1) % 9).unwrap().leader;
            let mut parents: Vec<_> = stage.nodes.iter().map(SpanningTree::parent).collect();
            parents[victim] = Some(leader);
            assert!(!parents.contains(&Some(node(victim))));
            assert_eq!(Tree::new(parents).unwrap().root(), leader);
            assert!((0..9).all(|i| i == victim || stage.leaders()[i] == Some(leader.index())));
        }
    }
}

#[test]
fn a_network_that_is_cut_in_two_has_two_leaders() {
    let mut stage = stage(line(5));
    stage.call(4);
    stage.settle();
    stage.crash(2);
    stage.suspect(2);
    stage.settle();
    assert_eq!(stage.leaders(), [Some(1), Some(1), None, Some(3), Some(3)]);
    stage.restart(2);
    stage.trust(2);
    stage.settle();
    assert_eq!(stage.leaders(), [stage.leaders()[0]; 5]);
    tree(&stage);
}

/// It came back before anybody noticed, and what was sent to it in between is lost.
#[test]
fn who_returns_unnoticed_is_told_of_the_wave_again() {
    let mut stage = stage(line(2));
    stage.call(1);
    stage.crash(0);
    stage.restart(0);
    stage.settle();
    assert_eq!(stage.leaders(), [Some(1); 2]);
}

/// Pitfall: whoever answers before those behind it have leaves them untold.
#[test]
fn an_echo_waits_for_all_behind() {
    let mut stage = broken("spanning-tree-echoes-at-once", line(4));
    stage.call(0);
    stage.settle();
    assert_eq!(stage.leaders()[3], None);
}

/// Pitfall: two waves of which neither dies.
#[test]
fn of_two_waves_one_must_die() {
    let mut stage = broken("spanning-tree-keeps-first", line(2));
    stage.call(0);
    stage.call(1);
    stage.settle();
    assert_eq!(stage.leaders(), [None, None]);
}

#[test]
fn what_no_correct_peer_can_have_sent_is_refused() {
    let mut stage = stage(line(3));
    let wave = |round, by| Epoch { round, by: node(by) };
    let explorer = |wave, returned| Msg::Explorer { wave, returned };
    stage.refuses(
        0,
        [
            (2, explorer(wave(1, 2), false)),
            (7, explorer(wave(1, 2), false)),
            (0, explorer(wave(1, 2), false)),
            (1, explorer(wave(1, 7), false)),
            (1, explorer(wave(1, 0), false)),
            (1, explorer(wave(1, 2), true)),
            (1, explorer(wave(u32::MAX, 1), false)),
            (1, Msg::Echo(wave(1, 2))),
            (1, Msg::Leader(wave(1, 2))),
            (1, Msg::Leader(wave(0, 0))),
        ],
    );
}

#[test]
fn it_survives_storms_on_any_network() {
    let doubtful = |weather| Weather { doubts: 5, ..weather };
    for weather in [SQUALL, GALE, doubtful(SQUALL), doubtful(GALE)] {
        storm::survives::<SpanningTree>("spanning-tree", weather, 5_000);
    }
    let many = Weather { most_nodes: 12, crashes: 6, ..doubtful(GALE) };
    storm::survives::<SpanningTree>("spanning-tree", many, 1_000);
}

#[test]
fn broken_variants_break_in_storms() {
    storm::refutes_the_broken::<SpanningTree>(SQUALL, 5_000);
}
