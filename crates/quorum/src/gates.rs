//! Quorum systems built of weighted votes in which every node votes once.
//!
//! A gate passes if its members that pass have enough weight together; a member is a node, which
//! passes if it is alive, or another gate. Votes, walls, trees and hierarchies are all of this form
//! (Neilsen & Mizuno's composition of coteries), and because no node occurs twice its parts fail
//! independently: whatever is asked about such a system is answered gate by gate, without listing its
//! quorums.

use std::collections::BTreeMap;

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

    /// Others that are enough with this member, but not without; none if its vote never decides.
    #[must_use]
    pub fn partners(&self, own: usize) -> Option<Vec<usize>> {
        let least = self.need.saturating_sub(self.members[own].weight);
        self.weighing(|index| index != own, least)
    }

    /// Some of those members that `may` be taken, which weigh at least so much together and yet less than
    /// is needed.
    #[must_use]
    pub fn weighing(&self, may: impl Fn(usize) -> bool, least: u64) -> Option<Vec<usize>> {
        // Who came last where a weight was first reached; whoever came before has a smaller index.
        let mut last: Vec<Option<usize>> = vec![None; self.need as usize];
        let is_reached =
            |last: &[Option<usize>], sum: u64| sum == 0 || last[sum as usize].is_some();
        let mut most = 0;
        for (index, member) in self.members.iter().enumerate() {
            if member.weight == 0 || !may(index) {
                continue;
            }
            most = (most + member.weight).min(self.need - 1);
            for sum in (member.weight..=most).rev() {
                if !is_reached(&last, sum) && is_reached(&last, sum - member.weight) {
                    last[sum as usize] = Some(index);
                }
            }
        }
        let mut weight = (least..self.need).find(|&sum| is_reached(&last, sum))?;
        let mut chosen = Vec::new();
        while weight > 0 {
            let index = last[weight as usize].expect("the way to a known weight is known");
            chosen.push(index);
            weight -= self.members[index].weight;
        }
        Some(chosen)
    }

    /// A vote of equals.
    fn of_equals(need: u64, parts: impl IntoIterator<Item = Part>) -> Self {
        let members = parts.into_iter().map(|part| Member { weight: 1, part }).collect();
        Gate { need, members }
    }
}

impl Gates {
    /// Everybody has one vote, `need` are enough.
    #[must_use]
    pub fn votes(nodes: usize, need: usize) -> Self {
        Self::weighted(&vec![1; nodes], need as u64)
    }

    /// Node `i` has `weights[i]` votes.
    #[must_use]
    pub fn weighted(weights: &[u64], need: u64) -> Self {
        let member = |(node, &weight)| Member { weight, part: Part::Node(node) };
        let members = NodeId::all(weights.len()).zip(weights).map(member).collect();
        Self::checked(weights.len(), vec![Gate { need, members }])
    }

    /// One full row and one node of each row below it: row by row from the top, either the whole row
    /// is there, or one node of it and what is asked of the rows above.
    #[must_use]
    pub fn wall(rows: &[usize]) -> Self {
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
    #[must_use]
    pub fn tree(height: u32) -> Self {
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
    #[must_use]
    pub fn hierarchy(height: u32) -> Self {
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

    /// Which nodes are alike, that is, can be exchanged by a symmetry of the system that keeps the label
    /// of each node: a class for each node, counted from 0 in the order in which they first occur.
    #[must_use]
    pub fn classes(&self, labels: &[usize]) -> Vec<usize> {
        let alike = self.alike(labels);
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
    fn alike(&self, labels: &[usize]) -> Vec<Vec<usize>> {
        let mut forms = BTreeMap::new();
        let mut form_of_gate = Vec::with_capacity(self.gates.len());
        let mut groups_of_form = BTreeMap::new();
        let mut alike = Vec::with_capacity(self.gates.len());
        for gate in &self.gates {
            // Of a node its label, of a gate its number among those seen.
            let form = |member: &Member| match member.part {
                Part::Node(node) => (false, labels[node.index()]),
                Part::Gate(number) => (true, form_of_gate[number]),
            };
            let votes: Vec<(u64, (bool, usize))> =
                gate.members.iter().map(|member| (member.weight, form(member))).collect();
            let groups = votes.iter().map(|vote| {
                let next = groups_of_form.len();
                *groups_of_form.entry(*vote).or_insert(next)
            });
            alike.push(groups.collect());
            let mut sorted = votes.clone();
            sorted.sort_unstable();
            let next = forms.len();
            form_of_gate.push(*forms.entry((gate.need, sorted)).or_insert(next));
        }
        alike
    }

    /// The symmetries by which alike nodes of the same label take turns.
    #[must_use]
    pub fn turning(&self, labels: &[usize]) -> Turning<'_> {
        Turning::new(self, labels)
    }

    /// The gates that pass if everything else does not: their quorums are the smallest sets that meet
    /// every quorum.
    #[must_use]
    pub fn dual(&self) -> Self {
        let dual = |gate: &Gate| Gate { need: gate.weight() - gate.need + 1, ..gate.clone() };
        Gates { nodes: self.nodes, gates: self.gates.iter().map(dual).collect() }
    }

    /// A quorum that costs least if each node costs what `cost` says (not less than nothing), and its
    /// cost.
    #[must_use]
    pub fn cheapest(&self, cost: impl Fn(NodeId) -> f64) -> (f64, Vec<NodeId>) {
        let (costs, chosen) = self.choices(&cost);
        let last = self.gates.len() - 1;
        (costs[last], self.expand(&chosen, Part::Gate(last)))
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
            let (least, members) = gate.cheapest(price);
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

    /// All minimal quorums; none if there are more than `limit`.
    #[must_use]
    pub fn listed(&self, limit: usize) -> Option<Vec<Vec<NodeId>>> {
        // A part that is in a quorum has no more quorums than the whole.
        let leaf = |node| Some(vec![vec![node]]);
        let mut quorums = self.fold(leaf, |gate, parts: Vec<Option<Vec<Vec<NodeId>>>>| {
            let mut quorums = Vec::new();
            for coalition in gate.coalitions(limit)? {
                let mut joined = vec![Vec::new()];
                for member in coalition {
                    let part = parts[member].as_ref()?;
                    if joined.len() * part.len() > limit {
                        return None;
                    }
                    let with = |start: &Vec<NodeId>| {
                        let start = start.clone();
                        part.iter().map(move |more| [&start[..], &more[..]].concat())
                    };
                    joined = joined.iter().flat_map(with).collect();
                }
                quorums.extend(joined);
            }
            (quorums.len() <= limit).then_some(quorums)
        })?;
        for quorum in &mut quorums {
            quorum.sort_unstable();
        }
        quorums.sort_unstable();
        Some(quorums)
    }
}

/// Symmetries of a system, in order as the turns of a wheel: at `turn / turns` of a full turn, alike
/// members of every gate move on by that part of their number, and what is left of the turn turns each of
/// them inside. Over a full turn every node goes equally long to each node that is alike.
#[derive(Clone, Debug)]
pub struct Turning<'a> {
    gates: &'a Gates,
    /// For each gate its groups of alike members.
    groups: Vec<BTreeMap<usize, Vec<usize>>>,
    /// For each gate and member its group and its place there.
    places: Vec<Vec<(usize, usize)>>,
    /// For each gate, in which gate it is which member.
    gate_above: Vec<(usize, usize)>,
    /// The same for each node.
    node_above: Vec<(usize, usize)>,
}

impl<'a> Turning<'a> {
    fn new(gates: &'a Gates, labels: &[usize]) -> Self {
        let mut groups = Vec::with_capacity(gates.gates.len());
        let mut places = Vec::with_capacity(gates.gates.len());
        let mut gate_above = vec![(0, 0); gates.gates.len()];
        let mut node_above = vec![(0, 0); gates.nodes];
        for (number, (gate, alike)) in gates.gates.iter().zip(gates.alike(labels)).enumerate() {
            let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            let mut place = Vec::with_capacity(alike.len());
            for (index, (member, group)) in gate.members.iter().zip(alike).enumerate() {
                let group_members = members.entry(group).or_default();
                place.push((group, group_members.len()));
                group_members.push(index);
                match member.part {
                    Part::Node(node) => node_above[node.index()] = (number, index),
                    Part::Gate(inner) => gate_above[inner] = (number, index),
                }
            }
            groups.push(members);
            places.push(place);
        }
        Turning { gates, groups, places, gate_above, node_above }
    }

    /// Where this turn brings a node.
    #[must_use]
    pub fn place(&self, node: NodeId, turn: usize, turns: usize) -> NodeId {
        let last = self.gates.gates.len() - 1;
        let mut way = vec![self.node_above[node.index()]];
        while let Some(&(gate, _)) = way.last().filter(|(gate, _)| *gate != last) {
            way.push(self.gate_above[gate]);
        }
        let (mut to, mut turn) = (last, turn % turns);
        for (from, member) in way.into_iter().rev() {
            let (group, place) = self.places[from][member];
            let targets = &self.groups[to][&group];
            let moved = turn * targets.len();
            let target = targets[(place + moved / turns) % targets.len()];
            turn = moved % turns;
            match self.gates.gates[to].members[target].part {
                Part::Node(node) => return node,
                Part::Gate(inner) => to = inner,
            }
        }
        unreachable!("the way ends at a node")
    }

    /// Where this turn brings a quorum, members in ascending order.
    #[must_use]
    pub fn quorum(&self, quorum: &[NodeId], turn: usize, turns: usize) -> Vec<NodeId> {
        let mut moved: Vec<_> = quorum.iter().map(|&node| self.place(node, turn, turns)).collect();
        moved.sort_unstable();
        moved
    }
}

impl Gate {
    /// The members that are enough and cost least together, and what they cost.
    fn cheapest(&self, price: impl Fn(usize) -> f64) -> (f64, Vec<usize>) {
        let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, member) in self.members.iter().enumerate().filter(|(_, m)| m.weight > 0) {
            groups.entry(member.weight).or_default().push(index);
        }
        // `best[w]` is the least cost of weight w, where what is needed stands for more as well. Of
        // members of one weight the cheapest are taken first, so a choice is a number for each weight.
        let need = self.need as usize;
        let mut best = vec![f64::INFINITY; need + 1];
        best[0] = 0.0;
        let mut choices = Vec::with_capacity(groups.len());
        for (weight, mut group) in groups {
            let weight = usize::try_from(weight).unwrap_or(usize::MAX);
            group.sort_by(|&a, &b| price(a).total_cmp(&price(b)));
            let mut taken = vec![0_u32; need + 1];
            let mut before_need = need;
            // From the top, so that nobody votes twice.
            let mut least_above = best[need];
            for have in (0..need).rev() {
                let mut total = best[have];
                // Whatever weighs more and costs no more is the better start.
                if total >= least_above {
                    continue;
                }
                least_above = total;
                for (count, &member) in (1..).zip(&group) {
                    total += price(member);
                    let sum = have.saturating_add(weight.saturating_mul(count)).min(need);
                    if total < best[sum] {
                        best[sum] = total;
                        taken[sum] = count as u32;
                        if sum == need {
                            before_need = have;
                        }
                    }
                    if sum == need {
                        break;
                    }
                }
            }
            choices.push((weight, group, taken, before_need));
        }
        let (mut members, mut at) = (Vec::new(), need);
        for (weight, group, taken, before_need) in choices.into_iter().rev() {
            let count = taken[at] as usize;
            members.extend_from_slice(&group[..count]);
            at = match count {
                0 => at,
                _ if at == need => before_need,
                _ => at - weight * count,
            };
        }
        (best[need], members)
    }

    /// The sets of members that are enough and of which none can be left out; none if there are more than
    /// `limit`.
    fn coalitions(&self, limit: usize) -> Option<Vec<Vec<usize>>> {
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
            // Whatever is open becomes at least one of them.
            if found.len() + open.len() > limit {
                return None;
            }
        }
        Some(found)
    }

    /// The members from the heaviest to the lightest.
    #[must_use]
    pub fn by_weight(&self) -> Vec<usize> {
        let mut members: Vec<_> = (0..self.members.len()).collect();
        members.sort_by_key(|&index| std::cmp::Reverse(self.members[index].weight));
        members
    }
}
