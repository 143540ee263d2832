//! Gates are non-dominated exactly if every gate that matters is.
//!
//! If of every set of a gate's members and its complement exactly one passes, and the same holds inside the
//! members, then it holds of the whole. If not, there is a witness. Either the votes of a gate can be a
//! draw, so that neither side passes: take everybody on one side. Or there is a witness inside a member, and
//! others with which that member decides: take these others as a whole. Then the gate passes exactly if that
//! member does, and the same holds of the complement.

use skeptron_core::NodeId;
use skeptron_quorum::gates::{Gate, Gates, Part};

/// A minimal set of nodes that meets every quorum but contains none, if there is one.
pub(super) fn witness(gates: &Gates) -> Option<Vec<NodeId>> {
    let is_dominated = dominated(gates);
    let mut number = gates.gates().len() - 1;
    if !is_dominated[number] {
        return None;
    }
    let mut is_in = vec![false; gates.nodes()];
    // From the whole down to the gate that can be a draw.
    loop {
        let gate = &gates.gates()[number];
        if let Some(side) = draw(gate) {
            take(gates, gate, &side, &mut is_in);
            return minimal(gates, &is_in);
        }
        let inside = (0..gate.members.len()).find_map(|own| match gate.members[own].part {
            Part::Gate(inner) if is_dominated[inner] => Some((inner, partners(gate, own)?)),
            _ => None,
        });
        let (inner, others) = inside.expect("a gate is dominated for a reason");
        take(gates, gate, &others, &mut is_in);
        number = inner;
    }
}

/// For each gate whether what passes it is dominated.
fn dominated(gates: &Gates) -> Vec<bool> {
    let mut is_dominated: Vec<bool> = Vec::with_capacity(gates.gates().len());
    for gate in gates.gates() {
        let inside = |own: usize| match gate.members[own].part {
            Part::Gate(inner) => is_dominated[inner] && partners(gate, own).is_some(),
            Part::Node(_) => false,
        };
        let result = (0..gate.members.len()).any(inside) || draw(gate).is_some();
        is_dominated.push(result);
    }
    is_dominated
}

/// Members that are not enough, and neither are the others.
fn draw(gate: &Gate) -> Option<Vec<usize>> {
    let all: Vec<usize> = (0..gate.members.len()).collect();
    weighing(gate, &all, gate.weight() - gate.need + 1)
}

/// Others that are enough with this member, but not without; none if its vote never decides.
fn partners(gate: &Gate, own: usize) -> Option<Vec<usize>> {
    let others: Vec<usize> = (0..gate.members.len()).filter(|&index| index != own).collect();
    weighing(gate, &others, gate.need.saturating_sub(gate.members[own].weight))
}

/// Some of `members` that weigh at least so much together and yet less than the gate needs.
fn weighing(gate: &Gate, members: &[usize], least: u64) -> Option<Vec<usize>> {
    // Who came last where a weight was first reached; whoever came before has a smaller index.
    let mut last: Vec<Option<usize>> = vec![None; gate.need as usize];
    let is_reached = |last: &[Option<usize>], sum: u64| sum == 0 || last[sum as usize].is_some();
    let mut most = 0;
    for &index in members.iter().filter(|&&index| gate.members[index].weight > 0) {
        let weight = gate.members[index].weight;
        most = (most + weight).min(gate.need - 1);
        for sum in (weight..=most).rev() {
            if !is_reached(&last, sum) && is_reached(&last, sum - weight) {
                last[sum as usize] = Some(index);
            }
        }
    }
    let mut weight = (least..gate.need).find(|&sum| is_reached(&last, sum))?;
    let mut chosen = Vec::new();
    while weight > 0 {
        let index = last[weight as usize].expect("the way to a known weight is known");
        chosen.push(index);
        weight -= gate.members[index].weight;
    }
    Some(chosen)
}

/// Takes everybody in these members.
fn take(gates: &Gates, gate: &Gate, members: &[usize], is_in: &mut [bool]) {
    let mut open: Vec<Part> = members.iter().map(|&index| gate.members[index].part).collect();
    while let Some(part) = open.pop() {
        match part {
            Part::Node(node) => is_in[node.index()] = true,
            Part::Gate(number) => {
                open.extend(gates.gates()[number].members.iter().map(|member| member.part));
            }
        }
    }
}

/// As few of a set that meets every quorum as still do, gate by gate; none if it does not.
fn minimal(gates: &Gates, is_in: &[bool]) -> Option<Vec<NodeId>> {
    let leaf = |node: NodeId| is_in[node.index()].then(|| vec![node]);
    let mut witness = gates.fold(leaf, |gate, mut parts| {
        let missed = gate.weight() - gate.need + 1;
        let stopped = |parts: &[Option<Vec<NodeId>>]| -> u64 {
            let stopped = gate.members.iter().zip(parts).filter(|(_, part)| part.is_some());
            stopped.map(|(member, _)| member.weight).sum()
        };
        let mut weight = stopped(&parts);
        if weight < missed {
            return None;
        }
        let mut lightest_first: Vec<usize> = (0..parts.len()).collect();
        lightest_first.sort_by_key(|&index| gate.members[index].weight);
        for index in lightest_first {
            let without = weight.checked_sub(gate.members[index].weight);
            if let Some(without) = without.filter(|&w| w >= missed && parts[index].is_some()) {
                parts[index] = None;
                weight = without;
            }
        }
        Some(parts.into_iter().flatten().flatten().collect())
    })?;
    witness.sort_unstable();
    Some(witness)
}
