//! Our systems as quoracle writes them.

use std::time::Duration;

use quoracle::{
    Distribution, Expr, Node, Objective, QuorumSystem, Strategy, StrategyLimits, choose,
};
use skeptron_quorum::gates::{Gate, Part};
use skeptron_quorum::{Construction, Shape, System, build};

/// A construction as it is typed, with the number of nodes where it needs one.
pub(crate) fn system(text: &str) -> System {
    let (name, nodes) = text.split_once(' ').unwrap_or((text, ""));
    let construction: Construction = name.parse().expect(text);
    let nodes = nodes.parse().ok().or(construction.nodes()).expect(text);
    build(&construction, nodes).expect(text)
}

/// What nodes are like, for quoracle.
pub(crate) struct Nodes {
    nodes: Vec<Node<usize>>,
}

impl Nodes {
    pub(crate) fn new(capacities: &[f64], latencies: &[f64]) -> Self {
        let figures = capacities.iter().zip(latencies).enumerate();
        let node = |(i, (&capacity, &latency)): (usize, (&f64, &f64))| {
            let latency = Duration::from_secs_f64(latency);
            Node::new(i).with_capacity(capacity).expect("a capacity above 0").with_latency(latency)
        };
        Nodes { nodes: figures.map(node).collect() }
    }

    fn node(&self, i: usize) -> Expr<usize> {
        self.nodes[i].clone().into()
    }

    /// The system, for writes. The only read quorum is everybody, so that nothing but the writes is
    /// left to optimise.
    pub(crate) fn quorum_system(&self, system: &System) -> QuorumSystem<usize> {
        let everybody = (0..system.nodes()).map(|i| self.node(i)).collect();
        let reads = choose(system.nodes(), everybody).expect("there is a node");
        QuorumSystem::new(reads, self.expression(system)).expect("everybody meets everybody")
    }

    /// Gates of equal votes are quoracle's own form; of anything else it gets the minimal quorums.
    fn expression(&self, system: &System) -> Expr<usize> {
        if let Shape::Gates(gates) = system.shape()
            && gates.gates().iter().all(|gate| gate.members.iter().all(|member| member.weight == 1))
        {
            let choice = |gate: &Gate, parts| choose(gate.need as usize, parts).expect("a choice");
            return gates.fold(|node| self.node(node.index()), choice);
        }
        if let Shape::Gates(gates) = system.shape()
            && let [_, .., last] = gates.gates()
            && last.members.iter().any(|member| matches!(member.part, Part::Gate(_)))
        {
            return gates.fold(|node| self.node(node.index()), wall_row);
        }
        let quorums = system.quorums(10_000).expect("a small system");
        let all_of = |quorum: &Vec<_>| {
            let members: Vec<Expr<usize>> =
                quorum.iter().map(|node: &skeptron_core::NodeId| self.node(node.index())).collect();
            choose(members.len(), members).expect("a quorum has members")
        };
        choose(1, quorums.iter().map(all_of).collect()).expect("a system has quorums")
    }
}

/// The whole row, or one of it and what the rows above ask for.
fn wall_row(gate: &Gate, mut parts: Vec<Expr<usize>>) -> Expr<usize> {
    let above = match gate.members.last().map(|member| member.part) {
        Some(Part::Gate(_)) => parts.pop(),
        _ => None,
    };
    let row = choose(parts.len(), parts.clone()).expect("a row has nodes");
    match above {
        Some(above) => row + choose(1, parts).expect("a row has nodes") * above,
        None => row,
    }
}

/// quoracle's best strategy where there are only writes.
pub(crate) fn strategy(
    system: &QuorumSystem<usize>,
    objective: Objective,
    limits: &StrategyLimits,
) -> Strategy<usize> {
    system.strategy(objective, Some(&only_writes()), None, limits, 0).expect("a strategy")
}

pub(crate) fn only_writes() -> Distribution {
    Distribution::fixed(0.0).expect("a fraction")
}
