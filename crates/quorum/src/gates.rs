//! Quorum systems built of weighted votes in which every node votes once.
//!
//! A gate passes if its members that pass have enough weight together; a member is a node, which
//! passes if it is alive, or another gate. Votes, walls, trees and hierarchies are all of this form
//! (Neilsen & Mizuno's composition of coteries), and because no node occurs twice its parts fail
//! independently: whatever is asked about such a system is answered gate by gate, without listing its
//! quorums.

use std::collections::BTreeMap;

use num_bigint::BigUint;
use skeptron_core::NodeId;

/// A system of gates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gates {
    nodes: usize,
    /// Members come before the gates they are in; the last gate is the whole system.
    gates: Vec<Gate>,
}

/// Passes if the members that pass weigh at least `need` together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// More than half of the weight, so that two sets that pass have a member in common.
    pub need: u64,
    /// Who votes.
    pub members: Vec<Member>,
}

/// One vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// What it counts.
    pub weight: u64,
    /// Whose vote it is.
    pub part: Part,
}

/// Who votes in a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A node: passes if it is alive.
    Node(NodeId),
    /// The gate with this number.
    Gate(usize),
}

impl Gate {
    /// The weight of all members.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.members.iter().map(|member| member.weight).sum()
    }

    /// A vote of equals.
    fn of_equals(need: u64, parts: impl IntoIterator<Item = Part>) -> Self {
        let members = parts.into_iter().map(|part| Member { weight: 1, part }).collect();
        Gate { need, members }
    }
}

impl Gates {
    /// Everybody has one vote, `need` are enough.
    pub(crate) fn votes(nodes: usize, need: usize) -> Self {
        Self::weighted(&vec![1; nodes], need as u64)
    }

    /// Node `i` has `weights[i]` votes.
    pub(crate) fn weighted(weights: &[u64], need: u64) -> Self {
        let member = |(node, &weight)| Member { weight, part: Part::Node(node) };
        let members = NodeId::all(weights.len()).zip(weights).map(member).collect();
        Self::checked(weights.len(), vec![Gate { need, members }])
    }

    /// One full row and one node of each row below it: row by row from the top, either the whole row
    /// is there, or one node of it and what is asked of the rows above.
    pub(crate) fn wall(rows: &[usize]) -> Self {
        let mut gates: Vec<Gate> = Vec::with_capacity(rows.len());
        let mut nodes = 0;
        for &width in rows {
            let row = (nodes..nodes + width).map(|i| Part::Node(NodeId::new(i)));
            let mut gate = Gate::of_equals(width as u64, row);
            if let Some(above) = gates.len().checked_sub(1) {
                let part = Part::Gate(above);
                gate.members.push(Member { weight: width as u64 - 1, part });
            }
            gates.push(gate);
            nodes += width;
        }
        Self::checked(nodes, gates)
    }

    /// A complete binary tree, nodes in the order of a heap: a root with the quorum of one subtree, or
    /// the quorums of both (Agrawal & El Abbadi 1991). That is two of the three.
    pub(crate) fn tree(height: u32) -> Self {
        let (nodes, inner) = ((2 << height) - 1, (1 << height) - 1);
        // Node i has its children at 2i + 1 and 2i + 2; the gate of inner node i is number inner−1−i.
        let subtree = |i: usize| match i < inner {
            true => Part::Gate(inner - 1 - i),
            false => Part::Node(NodeId::new(i)),
        };
        let gate = |i: usize| {
            let root = Part::Node(NodeId::new(i));
            Gate::of_equals(2, [root, subtree(2 * i + 1), subtree(2 * i + 2)])
        };
        match inner {
            0 => Self::votes(1, 1),
            _ => Self::checked(nodes, (0..inner).rev().map(gate).collect()),
        }
    }

    /// Majorities of three majorities of three … (Kumar 1991).
    pub(crate) fn hierarchy(height: u32) -> Self {
        if height == 0 {
            return Self::votes(1, 1);
        }
        let nodes = 3_usize.pow(height);
        let mut parts: Vec<Part> = NodeId::all(nodes).map(Part::Node).collect();
        let mut gates = Vec::new();
        while parts.len() > 1 {
            let above = gates.len()..gates.len() + parts.len() / 3;
            gates.extend(parts.chunks(3).map(|three| Gate::of_equals(2, three.iter().copied())));
            parts = above.map(Part::Gate).collect();
        }
        Self::checked(nodes, gates)
    }

    fn checked(nodes: usize, gates: Vec<Gate>) -> Self {
        debug_assert!(gates.iter().all(|gate| 2 * gate.need > gate.weight()));
        debug_assert!(gates.iter().all(|gate| gate.need <= gate.weight()));
        Gates { nodes, gates }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The gates, members before the gates they are in; the last one is the whole system.
    #[must_use]
    pub fn gates(&self) -> &[Gate] {
        &self.gates
    }

    /// Computes something of the whole from the same of its parts: `leaf` says it for a node, `gate`
    /// makes it from what the members have, in their order.
    pub fn fold<T>(
        &self,
        mut leaf: impl FnMut(NodeId) -> T,
        mut gate: impl FnMut(&Gate, Vec<T>) -> T,
    ) -> T {
        let mut done: Vec<Option<T>> = Vec::with_capacity(self.gates.len());
        for each in &self.gates {
            let parts = each.members.iter().map(|member| match member.part {
                Part::Node(node) => leaf(node),
                // Every gate but the last is a member exactly once.
                Part::Gate(number) => done[number].take().expect("a gate is used once"),
            });
            let parts = parts.collect();
            done.push(Some(gate(each, parts)));
        }
        done.pop().flatten().expect("there is a last gate")
    }

    /// Whether the live nodes hold a quorum.
    pub fn is_live(&self, mut alive: impl FnMut(NodeId) -> bool) -> bool {
        self.fold(&mut alive, |gate, parts| {
            let passing = gate.members.iter().zip(parts).filter(|(_, passes)| *passes);
            passing.map(|(member, _)| member.weight).sum::<u64>() >= gate.need
        })
    }

    /// Which nodes are alike, that is, can be exchanged by a symmetry of the system: a class for each
    /// node, counted from 0 in the order in which they first occur.
    #[must_use]
    pub fn classes(&self) -> Vec<usize> {
        let alike = self.alike();
        // The class of a gate or node: the class of the gate above it and its group there.
        let mut known = BTreeMap::new();
        let mut gate_class = vec![0; self.gates.len()];
        let mut node_class = vec![usize::MAX; self.nodes];
        for (number, gate) in self.gates.iter().enumerate().rev() {
            for (member, group) in gate.members.iter().zip(&alike[number]) {
                let next = known.len() + 1;
                let class = *known.entry((gate_class[number], *group)).or_insert(next);
                match member.part {
                    Part::Node(node) => node_class[node.index()] = class,
                    Part::Gate(inner) => gate_class[inner] = class,
                }
            }
        }
        let mut order = BTreeMap::new();
        let mut renumber = |class| {
            let next = order.len();
            *order.entry(class).or_insert(next)
        };
        node_class.into_iter().map(&mut renumber).collect()
    }

    /// For each gate and each of its members a number that alike members of alike gates share: same
    /// weight, and parts of the same form.
    fn alike(&self) -> Vec<Vec<usize>> {
        let mut forms = BTreeMap::new();
        let mut form_of_gate = Vec::with_capacity(self.gates.len());
        let mut groups_of_form = BTreeMap::new();
        let mut alike = Vec::with_capacity(self.gates.len());
        for gate in &self.gates {
            // A node has form 0.
            let form = |member: &Member| match member.part {
                Part::Node(_) => 0,
                Part::Gate(number) => form_of_gate[number],
            };
            let votes: Vec<(u64, usize)> =
                gate.members.iter().map(|member| (member.weight, form(member))).collect();
            let groups = votes.iter().map(|vote| {
                let next = groups_of_form.len();
                *groups_of_form.entry(*vote).or_insert(next)
            });
            alike.push(groups.collect());
            let mut sorted = votes.clone();
            sorted.sort_unstable();
            let next = forms.len() + 1;
            form_of_gate.push(*forms.entry((gate.need, sorted)).or_insert(next));
        }
        alike
    }

    /// The symmetry at `turn / turns` of a full turn: in every gate, alike members move on by that part
    /// of their number, and what is left of the turn turns each of them inside. Where each node goes.
    ///
    /// Over a full turn every node goes equally long to each node that is alike.
    #[must_use]
    pub fn turned(&self, turn: usize, turns: usize) -> Vec<NodeId> {
        let alike = self.alike();
        let mut places = vec![NodeId::new(0); self.nodes];
        let last = self.gates.len() - 1;
        let mut open = vec![(last, last, turn % turns)];
        while let Some((from, to, turn)) = open.pop() {
            let mut groups: BTreeMap<usize, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
            for (index, group) in alike[from].iter().enumerate() {
                groups.entry(*group).or_default().0.push(index);
            }
            for (index, group) in alike[to].iter().enumerate() {
                groups.entry(*group).or_default().1.push(index);
            }
            for (sources, targets) in groups.into_values() {
                let (step, rest) = (turn * sources.len() / turns, turn * sources.len() % turns);
                for (index, &source) in sources.iter().enumerate() {
                    let target = targets[(index + step) % targets.len()];
                    let parts = (
                        self.gates[from].members[source].part,
                        self.gates[to].members[target].part,
                    );
                    match parts {
                        (Part::Node(node), Part::Node(place)) => places[node.index()] = place,
                        (Part::Gate(from), Part::Gate(to)) => open.push((from, to, rest)),
                        _ => unreachable!("alike members have parts of the same form"),
                    }
                }
            }
        }
        places
    }

    /// A quorum that costs least if each node costs what `cost` says (not less than nothing), and its
    /// cost.
    #[must_use]
    pub fn cheapest(&self, cost: impl Fn(NodeId) -> f64) -> (f64, Vec<NodeId>) {
        let (costs, chosen) = self.choices(&cost);
        let last = self.gates.len() - 1;
        (costs[last], self.expand(&chosen, Part::Gate(last)))
    }

    /// A quorum with `node` in it that is minimal, and among those about the cheapest; none if the node
    /// is in no minimal quorum, because its vote never decides.
    #[must_use]
    pub fn cheapest_with(&self, node: NodeId, cost: impl Fn(NodeId) -> f64) -> Option<Vec<NodeId>> {
        let (costs, chosen) = self.choices(&cost);
        let mut quorum = vec![node];
        let mut inner = Part::Node(node);
        // Only gates further on can contain what has been found.
        for (number, gate) in self.gates.iter().enumerate() {
            let Some(own) = gate.members.iter().position(|member| member.part == inner) else {
                continue;
            };
            let price = |index: usize| match gate.members[index].part {
                Part::Node(node) => cost(node),
                Part::Gate(number) => costs[number],
            };
            for index in gate.partners(own, price)? {
                quorum.extend(self.expand(&chosen, gate.members[index].part));
            }
            inner = Part::Gate(number);
        }
        quorum.sort_unstable();
        Some(quorum)
    }

    /// What each gate costs at least, and which of its members to take for that.
    fn choices(&self, cost: &impl Fn(NodeId) -> f64) -> (Vec<f64>, Vec<Vec<usize>>) {
        let mut costs = Vec::with_capacity(self.gates.len());
        let mut chosen = Vec::with_capacity(self.gates.len());
        for gate in &self.gates {
            let price = |index: usize| match gate.members[index].part {
                Part::Node(node) => cost(node),
                Part::Gate(number) => costs[number],
            };
            let all: Vec<_> = (0..gate.members.len()).collect();
            let (least, members) =
                gate.cover(&all, gate.need, u64::MAX, price).expect("all members are enough");
            costs.push(least);
            chosen.push(members);
        }
        (costs, chosen)
    }

    fn expand(&self, chosen: &[Vec<usize>], part: Part) -> Vec<NodeId> {
        let (mut nodes, mut open) = (Vec::new(), vec![part]);
        while let Some(part) = open.pop() {
            match part {
                Part::Node(node) => nodes.push(node),
                Part::Gate(number) => {
                    let members = &self.gates[number].members;
                    open.extend(chosen[number].iter().map(|&index| members[index].part));
                }
            }
        }
        nodes.sort_unstable();
        nodes
    }

    /// How many minimal quorums of each size there are; the index is the size.
    #[must_use]
    pub fn sizes(&self) -> Vec<BigUint> {
        let one = || vec![BigUint::ZERO, BigUint::from(1_u8)];
        self.fold(|_| one(), |gate, parts| gate.sizes(&parts))
    }

    /// All minimal quorums; none if there are more than `limit`.
    #[must_use]
    pub fn listed(&self, limit: usize) -> Option<Vec<Vec<NodeId>>> {
        let count: BigUint = self.sizes().iter().sum();
        if count > BigUint::from(limit) {
            return None;
        }
        let mut quorums = self.fold(
            |node| vec![vec![node]],
            |gate, parts| {
                let mut quorums = Vec::new();
                for coalition in gate.coalitions() {
                    let mut joined = vec![Vec::new()];
                    for member in coalition {
                        let with = |start: &Vec<NodeId>| {
                            let start = start.clone();
                            parts[member].iter().map(move |more| [&start[..], &more[..]].concat())
                        };
                        joined = joined.iter().flat_map(with).collect();
                    }
                    quorums.extend(joined);
                }
                quorums
            },
        );
        for quorum in &mut quorums {
            quorum.sort_unstable();
        }
        quorums.sort_unstable();
        Some(quorums)
    }
}

impl Gate {
    /// The cheapest of `members` that weigh from `least` to `most` together, and their cost.
    fn cover(
        &self,
        members: &[usize],
        least: u64,
        most: u64,
        price: impl Fn(usize) -> f64,
    ) -> Option<(f64, Vec<usize>)> {
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for &member in members {
            groups.entry(self.members[member].weight).or_default().push(member);
        }
        // Of members of one weight the cheapest are taken first, so a choice is a number for each
        // weight. `best[weight]` is the cheapest way to it; above what is needed weights are one.
        let top = least.min(most);
        let mut best: BTreeMap<u64, (f64, Vec<usize>)> = BTreeMap::from([(0, (0.0, Vec::new()))]);
        for (weight, mut group) in groups {
            group.sort_by(|&a, &b| price(a).total_cmp(&price(b)));
            let costs: Vec<f64> = group
                .iter()
                .scan(0.0, |sum, &member| {
                    *sum += price(member);
                    Some(*sum)
                })
                .collect();
            let mut next = best.clone();
            for (&have, (paid, taken)) in &best {
                for (count, cost) in (1..).zip(&costs) {
                    let Some(sum) = have.checked_add(weight * count).filter(|&sum| sum <= most)
                    else {
                        break;
                    };
                    let reached = if most == u64::MAX { sum.min(top) } else { sum };
                    let total = paid + cost;
                    if next.get(&reached).is_none_or(|(known, _)| total < *known) {
                        let members = [&taken[..], &group[..count as usize]].concat();
                        next.insert(reached, (total, members));
                    }
                    if sum >= least {
                        break;
                    }
                }
            }
            best = next;
            if most == u64::MAX {
                // Who weighs less and costs more than another is never the better start.
                let mut least = f64::INFINITY;
                let is_wanted = |(_, (cost, _)): &(u64, (f64, Vec<usize>))| {
                    let is_wanted = *cost <= least;
                    least = least.min(*cost);
                    is_wanted
                };
                best = best.into_iter().rev().filter(is_wanted).collect();
            }
        }
        best.into_iter()
            .filter(|(weight, _)| *weight >= least)
            .map(|(_, choice)| choice)
            .min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// The other members of a minimal coalition with `own` in it; none if its vote never decides.
    fn partners(&self, own: usize, price: impl Fn(usize) -> f64) -> Option<Vec<usize>> {
        let weight = self.members[own].weight;
        let others: Vec<_> = (0..self.members.len()).filter(|&index| index != own).collect();
        // Without the own vote it must not be enough.
        let least = self.need.saturating_sub(weight);
        let (_, mut partners) = self.cover(&others, least, self.need - 1, &price)?;
        partners.sort_by(|&a, &b| price(b).total_cmp(&price(a)));
        let mut sum =
            weight + partners.iter().map(|&index| self.members[index].weight).sum::<u64>();
        partners.retain(|&index| {
            let without = sum - self.members[index].weight;
            if without >= self.need {
                sum = without;
            }
            without < self.need
        });
        Some(partners)
    }

    /// How many minimal quorums of each size there are, if `parts` says so for each member.
    fn sizes(&self, parts: &[Vec<BigUint>]) -> Vec<BigUint> {
        let mut found: Vec<BigUint> = Vec::new();
        // How many ways there are to a weight with a number of nodes; lighter members come later.
        let mut ways = BTreeMap::from([((0, 0), BigUint::from(1_u8))]);
        let mut rest = self.weight();
        for index in self.by_weight() {
            let weight = self.members[index].weight;
            rest -= weight;
            // Who does not vote must not be missed.
            let mut next = ways.clone();
            next.retain(|(have, _), _| have + rest >= self.need);
            for ((have, size), count) in &ways {
                for (more, times) in parts[index].iter().enumerate().filter(|(_, n)| n.bits() > 0) {
                    let (sum, size) = (have + weight, size + more);
                    if sum < self.need {
                        *next.entry((sum, size)).or_default() += count * times;
                    } else if weight > 0 {
                        // The lightest decides: so does every other.
                        found.resize(found.len().max(size + 1), BigUint::ZERO);
                        found[size] += count * times;
                    }
                }
            }
            ways = next;
        }
        found
    }

    /// The sets of members that are enough and of which none can be left out.
    fn coalitions(&self) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        let mut open: Vec<(u64, Vec<usize>)> = vec![(0, Vec::new())];
        let mut rest = self.weight();
        for index in self.by_weight().into_iter().filter(|&index| self.members[index].weight > 0) {
            let weight = self.members[index].weight;
            rest -= weight;
            let mut next = Vec::new();
            for (have, members) in open {
                let with = [&members[..], &[index]].concat();
                if have + weight >= self.need {
                    found.push(with);
                } else {
                    next.push((have + weight, with));
                }
                // Who does not vote must not be missed.
                if have + rest >= self.need {
                    next.push((have, members));
                }
            }
            open = next;
        }
        found
    }

    /// The members from the heaviest to the lightest.
    fn by_weight(&self) -> Vec<usize> {
        let mut members: Vec<_> = (0..self.members.len()).collect();
        members.sort_by_key(|&index| std::cmp::Reverse(self.members[index].weight));
        members
    }
}
