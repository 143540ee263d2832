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
            // Of these, as few as still meet every quorum.
            let cost = |node: NodeId| if is_in[node.index()] { 1.0 } else { f64::INFINITY };
            return Some(gates.dual().cheapest(cost).1);
        }
        let inside = (0..gate.members.len()).find_map(|own| match gate.members[own].part {
            Part::Gate(inner) if is_dominated[inner] => Some((inner, gate.partners(own)?)),
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
            Part::Gate(inner) => is_dominated[inner] && gate.partners(own).is_some(),
            Part::Node(_) => false,
        };
        let result = (0..gate.members.len()).any(inside) || draw(gate).is_some();
        is_dominated.push(result);
    }
    is_dominated
}

/// Members that are not enough, and neither are the others.
fn draw(gate: &Gate) -> Option<Vec<usize>> {
    gate.weighing(|_| true, gate.weight() - gate.need + 1)
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
