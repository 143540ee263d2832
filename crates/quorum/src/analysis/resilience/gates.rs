//! The fewest crashes that stop the gates: gate by gate, a knapsack of members to stop.

use skeptron_core::NodeId;

use crate::gates::{Gate, Gates};

/// A smallest set of nodes that meets every quorum.
pub(super) fn transversal(gates: &Gates) -> Vec<NodeId> {
    gates.fold(|node| vec![node], stopped)
}

/// A smallest set that stops a gate, from such sets of its members: those that are stopped must leave less
/// than is needed.
fn stopped(gate: &Gate, parts: Vec<Vec<NodeId>>) -> Vec<NodeId> {
    let costs: Vec<usize> = parts.iter().map(Vec::len).collect();
    let chosen = cheapest(gate, &costs);
    chosen.into_iter().flat_map(|index| parts[index].iter().copied()).collect()
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
