//! What all constructions have in common.

use skeptron_core::NodeId;
use skeptron_core::topology::Quorums;

use super::*;

/// One of each kind that a number of nodes is enough for.
pub(crate) const PLAIN: [Construction; 12] = [
    Construction::Singleton,
    Construction::All,
    Construction::Majority,
    Construction::Grid,
    Construction::Cyclic,
    Construction::Projective(None),
    Construction::Triangle,
    Construction::Wall(None),
    Construction::Tree(None),
    Construction::Hierarchical(None),
    Construction::Maekawa13,
    Construction::Fano,
];

/// Quorums with members counted from 1, as the spec writes them.
pub(crate) fn listed(quorums: &Quorums) -> Vec<Vec<usize>> {
    quorums.iter().map(|set| set.iter().map(|node| node.index() + 1).collect()).collect()
}

/// How many quorums each node is in.
pub(crate) fn degrees(quorums: &Quorums) -> Vec<usize> {
    let mut degrees = vec![0; quorums.nodes()];
    for member in quorums.iter().flatten() {
        degrees[member.index()] += 1;
    }
    degrees
}

/// Conditions 1 (checked by `Quorums`) and 2.
#[test]
fn every_construction_intersects_and_has_its_own_node() {
    for construction in PLAIN {
        let mut built = 0;
        for nodes in 1..=200 {
            let quorums = match quorums(&construction, nodes) {
                Ok(quorums) => quorums,
                Err(QuorumError::WrongSize { .. } | QuorumError::NoSuchSize { .. }) => continue,
                Err(error) => panic!("{construction} {nodes}: {error}"),
            };
            built += 1;
            assert_eq!(quorums.nodes(), nodes);
            for node in NodeId::all(nodes).filter(|_| construction != Construction::Singleton) {
                // The top node of the wall 1, 1, … is never needed.
                let is_idle = construction == Construction::Wall(None) && nodes == 2;
                assert!(quorums.of(node).contains(&node) || is_idle, "{construction} {nodes}");
            }
        }
        let defined = match construction {
            Construction::Tree(_) => 7,
            Construction::Hierarchical(_) => 5,
            Construction::Maekawa13 | Construction::Fano => 1,
            _ => 200,
        };
        assert_eq!(built, defined, "{construction}");
    }
}

/// Conditions 3 and 4.
#[test]
fn sizes_and_degrees_are_as_claimed() {
    for nodes in 1..=200 {
        for (construction, size) in
            [(Construction::All, nodes), (Construction::Majority, nodes / 2 + 1)]
        {
            let quorums = quorums(&construction, nodes).unwrap();
            assert!(quorums.iter().all(|set| set.len() == size), "{construction} {nodes}");
            assert_eq!(degrees(&quorums), vec![size; nodes], "{construction} {nodes}");
        }
        let singleton = quorums(&Construction::Singleton, nodes).unwrap();
        assert_eq!(listed(&singleton), vec![vec![1]; nodes]);
    }
    for height in 0..=5 {
        let nodes = 3_usize.pow(height);
        let hierarchy = quorums(&Construction::Hierarchical(None), nodes).unwrap();
        assert!(hierarchy.iter().all(|set| set.len() == 1 << height), "{height}");
        assert_eq!(degrees(&hierarchy), vec![1 << height; nodes], "{height}");
    }
    assert_eq!(
        listed(&quorums(&Construction::Majority, 4).unwrap()),
        [[1, 2, 3], [2, 3, 4], [1, 3, 4], [1, 2, 4]],
        "a node takes itself and its successors"
    );
}

#[test]
fn names_are_read_as_they_are_written() {
    let with_parameters = [
        Construction::Weighted(vec![3, 0, 1]),
        Construction::Projective(Some(4)),
        Construction::Wall(Some(vec![1, 2, 3])),
        Construction::Tree(Some(2)),
        Construction::Hierarchical(Some(0)),
    ];
    for construction in PLAIN.into_iter().chain(with_parameters) {
        assert!(Construction::NAMES.contains(&construction.name()));
        assert_eq!(construction.to_string().parse(), Ok(construction));
    }
    for (text, message) in [
        (
            "gird",
            "there is no quorum construction named `gird`; there are singleton, all, majority, \
             weighted, grid, cyclic, projective, triangle, wall, tree, hierarchical, maekawa-13, fano",
        ),
        ("grid:3", "`grid` takes nothing after a colon; leave it out"),
        ("tree:x", "`x` in `tree:x` must be a whole number from 0 up"),
        ("wall:1,,2", "`` in `wall:1,,2` must be a whole number from 0 up"),
        ("weighted", "`weighted` needs the weight of each node, as in weighted:3,1,1"),
    ] {
        assert_eq!(text.parse::<Construction>().unwrap_err().to_string(), message);
    }
}

#[test]
fn the_default_fits_every_size() {
    for nodes in [1, 2, 3, 20, 1_000] {
        assert!(build(&default_for(nodes), nodes).is_ok());
    }
}

#[test]
fn errors_name_cause_and_remedy() {
    let message = |construction, nodes| build(&construction, nodes).unwrap_err().to_string();
    for construction in PLAIN {
        assert_eq!(message(construction, 0), "a quorum system needs at least one node");
    }
    assert_eq!(
        message(Construction::All, 1_001),
        "`all` is built for at most 1000 nodes, not 1001; take fewer nodes or `cyclic`"
    );
    assert_eq!(
        message(Construction::Cyclic, usize::MAX),
        "`cyclic` is built for at most 10000 nodes, not so many; take fewer nodes"
    );
    assert_eq!(
        message(Construction::Fano, 8),
        "`fano` is a system of 7 nodes, not 8; take 7 nodes, or `cyclic`, which fits every N"
    );
    assert_eq!(
        message(Construction::Wall(Some(vec![1, 2])), 4),
        "`wall:1,2` is a system of 3 nodes, not 4; take 3 nodes, or `cyclic`, which fits every N"
    );
    assert_eq!(
        message(Construction::Tree(None), 5),
        "`tree` needs 2^(h+1) − 1 nodes, not 5; take 3 or 7 nodes, or `cyclic`, which fits every N"
    );
    assert_eq!(
        message(Construction::Hierarchical(None), 80),
        "`hierarchical` needs 3^h nodes, not 80; take 27 or 81 nodes, or `cyclic`, which fits every N"
    );
    assert_eq!(
        message(Construction::Weighted(vec![0, 0]), 2),
        "the weights add up to nothing; give at least one node a weight above 0"
    );
    assert_eq!(
        message(Construction::Wall(Some(vec![1, 0, 2])), 3),
        "row 2 of the wall is empty; every row needs at least one node"
    );
    assert_eq!(
        message(Construction::Wall(Some(vec![2; 251])), 502),
        "the wall has 251 rows, and at most 250 are possible; take wider ones"
    );
}

mod gates {
    use super::*;

    /// Small systems of every form of gates.
    fn systems() -> Vec<System> {
        let texts = [
            "singleton",
            "all",
            "majority",
            "weighted:3,1,1,1,1",
            "weighted:5,4,3,2,2,1",
            "weighted:0,7,1,3,3",
            "wall:1,2,3,4",
            "wall:2,2,1,3",
            "wall:4",
            "tree:0",
            "tree:1",
            "tree:2",
            "hierarchical:0",
            "hierarchical:1",
            "hierarchical:2",
        ];
        let build = |text: &str| {
            let construction: Construction = text.parse().unwrap();
            build(&construction, construction.nodes().unwrap_or(5)).unwrap()
        };
        texts.map(build).into()
    }

    fn gates(system: &System) -> &crate::gates::Gates {
        let Shape::Gates(gates) = system.shape() else { panic!("{}", system.name()) };
        gates
    }

    /// Against the definition: the sets that pass and of which nobody can be left out.
    #[test]
    fn quorums_are_the_minimal_sets_that_pass() {
        for system in systems() {
            let gates = gates(&system);
            let nodes = system.nodes();
            let passes = |set: u32| gates.is_live(|node| set >> node.index() & 1 == 1);
            let minimal = |&set: &u32| {
                let mut members = (0..nodes).filter(|i| set >> i & 1 == 1);
                passes(set) && members.all(|i| !passes(set & !(1 << i)))
            };
            let mut expected: Vec<Vec<NodeId>> = (0_u32..1 << nodes)
                .filter(minimal)
                .map(|set| NodeId::all(nodes).filter(|i| set >> i.index() & 1 == 1).collect())
                .collect();
            expected.sort();
            let name = system.name();
            assert_eq!(gates.listed(1_000).as_ref(), Some(&expected), "{name}");
            assert_eq!(gates.listed(expected.len() - 1), None, "{name}");
            for quorum in system.assignment().iter() {
                assert!(expected.iter().any(|known| known == quorum), "{name}");
            }
            let decides = |node| expected.iter().any(|quorum| quorum.contains(&node));
            for node in NodeId::all(nodes) {
                let has_own = system.assignment().of(node).contains(&node);
                assert!(has_own == decides(node), "{name} {node}");
            }
            let costs = |node: NodeId| ((node.index() * 7 + 3) % 11) as f64;
            let cost = |quorum: &Vec<NodeId>| quorum.iter().copied().map(costs).sum::<f64>();
            let (least, cheapest) = gates.cheapest(costs);
            assert_eq!(cost(&cheapest), least, "{name}");
            assert_eq!(expected.iter().map(cost).min_by(f64::total_cmp), Some(least), "{name}");
            // Whoever is left of what meets every quorum holds none.
            let (_, meeting) = gates.dual().cheapest(|node| 1.0 + costs(node));
            assert!(!gates.is_live(|node| !meeting.contains(&node)), "{name}");
            for one in &meeting {
                assert!(gates.is_live(|node| node == *one || !meeting.contains(&node)), "{name}");
            }
        }
    }

    /// A turn is a symmetry, and over a full turn everybody comes to each place of its class alike.
    #[test]
    fn turns_are_symmetries_that_spread_evenly() {
        for system in systems() {
            let (gates, nodes, name) = (gates(&system), system.nodes(), system.name());
            let (classes, turning) =
                (gates.classes(&vec![0; nodes]), gates.turning(&vec![0; nodes]));
            let quorums = gates.listed(1_000).unwrap();
            let turns = (1..=nodes).product::<usize>();
            let mut visits = vec![vec![0; nodes]; nodes];
            for turn in 0..turns.min(5_040) {
                let turn_now = turn * (turns / turns.min(5_040));
                let place = |node| turning.place(node, turn_now, turns);
                let places: Vec<_> = NodeId::all(nodes).map(place).collect();
                for (node, place) in places.iter().enumerate() {
                    visits[node][place.index()] += 1;
                }
                if turn % 97 == 0 {
                    let moved = |quorum: &Vec<NodeId>| {
                        let mut moved: Vec<_> = quorum.iter().map(|n| places[n.index()]).collect();
                        moved.sort();
                        moved
                    };
                    let mut moved: Vec<_> = quorums.iter().map(moved).collect();
                    moved.sort();
                    assert_eq!(moved, quorums, "{name}");
                }
            }
            for (node, visits) in visits.iter().enumerate() {
                let alike = classes.iter().filter(|&&class| class == classes[node]).count();
                for (place, &count) in visits.iter().enumerate() {
                    let share =
                        if classes[place] == classes[node] { turns.min(5_040) / alike } else { 0 };
                    assert_eq!(count, share, "{name} {node} {place}");
                }
            }
        }
    }

    #[test]
    fn classes_are_what_one_would_say() {
        let classes = |text: &str| {
            let construction: Construction = text.parse().unwrap();
            let system = build(&construction, construction.nodes().unwrap_or(5)).unwrap();
            gates(&system).classes(&vec![0; system.nodes()])
        };
        assert_eq!(classes("majority"), [0; 5]);
        assert_eq!(classes("weighted:3,1,3,1"), [0, 1, 0, 1]);
        assert_eq!(classes("wall:1,2,3"), [0, 1, 1, 2, 2, 2]);
        // Of a root with two leaves any two are enough: the three are alike.
        assert_eq!(classes("tree:2"), [0, 1, 1, 1, 1, 1, 1]);
        assert_eq!(classes("hierarchical:2"), [0; 9]);
    }
}
