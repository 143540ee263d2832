//! The fewest crashes that stop the gates: gate by gate, a knapsack of members to stop.

use skeptron_core::NodeId;
use skeptron_quorum::gates::{Gate, Gates, Part};

/// A smallest set of nodes that meets every quorum.
pub(super) fn transversal(gates: &Gates) -> Vec<NodeId> {
    let gates = gates.gates();
    // What it takes to stop each gate, and which of its members are stopped for that.
    let mut costs: Vec<usize> = Vec::with_capacity(gates.len());
    let mut stopped: Vec<usize> = Vec::with_capacity(gates[gates.len() - 1].members.len());
    let mut ends: Vec<usize> = Vec::with_capacity(gates.len());
    for gate in gates {
        let cost = |index: usize| match gate.members[index].part {
            Part::Node(_) => 1,
            Part::Gate(number) => costs[number],
        };
        let start = stopped.len();
        match common_weight(gate) {
            Some(weight) => stop_equals(gate, weight, cost, &mut stopped),
            None => {
                let costs: Vec<usize> = (0..gate.members.len()).map(cost).collect();
                stopped.extend(cheapest(gate, &costs));
            }
        }
        let total = stopped[start..].iter().map(|&index| cost(index)).sum();
        costs.push(total);
        ends.push(stopped.len());
    }
    let last = gates.len() - 1;
    let mut nodes = Vec::with_capacity(costs[last]);
    // From here on it is only asked which gates are to be stopped: their cost becomes 0.
    costs[last] = 0;
    for number in (0..=last).rev() {
        if costs[number] > 0 {
            continue;
        }
        let start = if number == 0 { 0 } else { ends[number - 1] };
        for &index in &stopped[start..ends[number]] {
            match gates[number].members[index].part {
                Part::Node(node) => nodes.push(node),
                Part::Gate(inner) => costs[inner] = 0,
            }
        }
    }
    nodes
}

/// The weight of all members that have any, if it is the same.
fn common_weight(gate: &Gate) -> Option<u64> {
    let mut weights = gate.members.iter().map(|member| member.weight).filter(|&weight| weight > 0);
    let first = weights.next()?;
    weights.all(|weight| weight == first).then_some(first)
}

/// Of equals the cheapest are stopped.
fn stop_equals(gate: &Gate, weight: u64, cost: impl Fn(usize) -> usize, stopped: &mut Vec<usize>) {
    let start = stopped.len();
    let voters = gate.members.iter().enumerate().filter(|(_, member)| member.weight > 0);
    stopped.extend(voters.map(|(index, _)| index));
    stopped[start..].sort_by_key(|&index| cost(index));
    let votes = stopped.len() - start;
    // So many of them are not enough.
    let harmless = (gate.need.div_ceil(weight) - 1) as usize;
    stopped.truncate(start + votes - harmless);
}

/// Of the members with these costs the cheapest whose weight is missed.
fn cheapest(gate: &Gate, costs: &[usize]) -> Vec<usize> {
    let missed = gate.weight() - gate.need + 1;
    let most = good_cost(gate, costs, missed);
    // The heaviest that can be stopped at each cost, member by member, and who is stopped for that.
    let mut heaviest = vec![0; most + 1];
    let mut is_stopped = vec![vec![false; most + 1]; costs.len()];
    for (index, (member, &cost)) in gate.members.iter().zip(costs).enumerate() {
        for paid in (cost..=most).rev() {
            let with = heaviest[paid - cost] + member.weight;
            if with > heaviest[paid] {
                heaviest[paid] = with;
                is_stopped[index][paid] = true;
            }
        }
    }
    let least = heaviest.iter().position(|&weight| weight >= missed);
    let mut paid = least.expect("the good cost is enough");
    let mut chosen = Vec::new();
    for index in (0..costs.len()).rev() {
        if is_stopped[index][paid] {
            chosen.push(index);
            paid -= costs[index];
        }
    }
    chosen
}

/// What it costs to stop the members that weigh most for their cost: a bound for the table.
fn good_cost(gate: &Gate, costs: &[usize], missed: u64) -> usize {
    let weight = |index: usize| gate.members[index].weight;
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by(|&a, &b| {
        (weight(b) * costs[a] as u64).cmp(&(weight(a) * costs[b] as u64)).then(a.cmp(&b))
    });
    let (mut stopped, mut paid) = (0, 0);
    for index in order {
        if stopped >= missed {
            break;
        }
        stopped += weight(index);
        paid += costs[index];
    }
    paid
}
