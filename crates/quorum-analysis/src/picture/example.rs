//! The two quorums that a picture shows.

use std::cmp::Reverse;

use skeptron_core::{NodeId, NodeSet};
use skeptron_quorum::System;

use super::{Picture, form};

/// A quorum with its name.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) name: String,
    /// Who asks it, if anybody does.
    pub(super) owner: Option<NodeId>,
    pub(super) members: Vec<NodeId>,
    set: NodeSet,
    /// What there is to say about it besides who is in it.
    pub(super) remark: &'static str,
}

/// One quorum, and another that has as little as possible in common with it.
pub(super) struct Example {
    pub(super) first: Shown,
    /// None where all nodes ask the same.
    pub(super) second: Option<Shown>,
    /// How long the numbers of the nodes are, so that all can be of one size.
    pub(super) digits: usize,
}

/// In which of the two a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Plain,
    First,
    Second,
    Both,
}

impl Shown {
    fn new(name: String, owner: Option<NodeId>, members: Vec<NodeId>) -> Self {
        let set = members.iter().copied().collect();
        Shown { name, owner, members, set, remark: "" }
    }

    /// `S_i` as it is assigned.
    fn of(system: &System, node: NodeId) -> Self {
        Shown::new(name_of(node), Some(node), system.assignment().of(node).to_vec())
    }

    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.set.contains(node)
    }
}

impl Example {
    pub(super) fn of(system: &System, picture: Picture, highlight: Option<NodeId>) -> Self {
        let node = highlight.unwrap_or_else(|| telling(system, picture));
        let first = Shown::of(system, node);
        let second = match form::gates(system) {
            // A matrix has only quorums that somebody asks.
            Some(_) if picture != Picture::Matrix => voted(system, picture, &first),
            _ => listed(system, node, &first).map(|other| Shown::of(system, other)),
        };
        Example { first, second, digits: system.nodes().to_string().len() }
    }

    pub(super) fn mark(&self, node: NodeId) -> Mark {
        let in_second = self.second.as_ref().is_some_and(|second| second.contains(node));
        match (self.first.contains(node), in_second) {
            (false, false) => Mark::Plain,
            (true, false) => Mark::First,
            (false, true) => Mark::Second,
            (true, true) => Mark::Both,
        }
    }

    /// Who is in both, if there is a second one.
    pub(super) fn common(&self) -> Option<Shown> {
        let second = self.second.as_ref()?;
        let members = self.first.members.iter().copied().filter(|&node| second.contains(node));
        let name = format!("{} ∩ {}", self.first.name, second.name);
        Some(Shown::new(name, None, members.collect()))
    }

    /// The two, each with the mark of those who are only in it.
    pub(super) fn shown(&self) -> impl Iterator<Item = (Mark, &Shown)> {
        let second = self.second.iter().map(|second| (Mark::Second, second));
        std::iter::once((Mark::First, &self.first)).chain(second)
    }
}

impl Mark {
    /// The class that colours it.
    pub(super) fn class(self) -> &'static str {
        match self {
            Mark::Plain => "plain",
            Mark::First => "a",
            Mark::Second => "b",
            Mark::Both => "both",
        }
    }
}

/// The node whose quorum is shown if nobody asked for another.
fn telling(system: &System, picture: Picture) -> NodeId {
    match picture {
        // Not at the edge, where a cross does not look like one.
        Picture::Grid => {
            let width = form::grid_width(system).unwrap_or(1);
            NodeId::new(system.nodes().div_ceil(width) / 4 * width + width / 4)
        }
        Picture::Wall => with_middle_row(system),
        Picture::Triangle => NodeId::new(system.nodes() / 3),
        Picture::Plane | Picture::Circle => with_wide_quorum(system),
        _ => NodeId::new(0),
    }
}

/// The node whose quorum has a full row as near to the middle of the wall as any.
fn with_middle_row(system: &System) -> NodeId {
    let rows = form::wall_rows(system).unwrap_or_default();
    let mut start = 0;
    let mut spans = Vec::with_capacity(rows.len());
    for width in rows {
        spans.push(start..start + width);
        start += width;
    }
    let off_middle = |node: &NodeId| {
        let quorum = system.assignment().of(*node);
        let is_full = |row: &std::ops::Range<usize>| {
            quorum.iter().filter(|member| row.contains(&member.index())).count() == row.len()
        };
        spans.iter().position(is_full).unwrap_or(0).abs_diff(spans.len() / 2)
    };
    NodeId::all(system.nodes()).min_by_key(off_middle).unwrap_or(NodeId::new(0))
}

/// A node whose quorum is spread over the circle, so that one sees its corners.
fn with_wide_quorum(system: &System) -> NodeId {
    let least_gap = |node: &NodeId| {
        let quorum = system.assignment().of(*node);
        let next = quorum.iter().cycle().skip(1);
        let gap = |(a, b): (&NodeId, &NodeId)| {
            (b.index() + system.nodes() - a.index() - 1) % system.nodes()
        };
        Reverse(quorum.iter().zip(next).map(gap).min())
    };
    NodeId::all(system.nodes()).min_by_key(least_gap).unwrap_or(NodeId::new(0))
}

/// Of the quorums of others, one that has least in common with the first.
fn listed(system: &System, node: NodeId, first: &Shown) -> Option<NodeId> {
    let others = NodeId::all(system.nodes());
    let others = others.filter(|&other| system.assignment().of(other) != first.members);
    others.min_by_key(|&other| {
        let quorum = system.assignment().of(other);
        let common = quorum.iter().filter(|&&member| first.contains(member)).count();
        (common, nearness(system, node, other))
    })
}

/// Small for a node that is well apart from the other, so that their quorums are, too.
fn nearness(system: &System, node: NodeId, other: NodeId) -> (Reverse<usize>, usize) {
    let nodes = system.nodes();
    match form::grid_width(system) {
        Some(width) => {
            let rows = (node.index() / width).abs_diff(other.index() / width);
            let columns = (node.index() % width).abs_diff(other.index() % width);
            (Reverse(rows.min(columns)), 2 * nodes - rows - columns)
        }
        // About a third of the circle further on.
        None => {
            let further = (other.index() + nodes - node.index()) % nodes;
            (Reverse(0), further.abs_diff(nodes.div_ceil(3)))
        }
    }
}

/// Among all quorums, however many, one with least in common with the first; of a tree, one without the
/// root.
fn voted(system: &System, picture: Picture, first: &Shown) -> Option<Shown> {
    let gates = form::gates(system)?;
    let is_tree = picture == Picture::Tree;
    // One more common node outweighs all others, and a root all nodes.
    let dear = (system.nodes() + 1) as f64;
    let (_, members) = gates.cheapest(|node| match node.index() {
        0 if is_tree => dear * dear,
        _ if first.contains(node) => dear,
        _ => 1.0,
    });
    if members == first.members {
        return None;
    }
    let mut asks_it = NodeId::all(system.nodes());
    let asks_it = asks_it.find(|&node| system.assignment().of(node) == members);
    let name = asks_it.map_or_else(|| "Q".to_owned(), name_of);
    let mut second = Shown::new(name, asks_it, members);
    if is_tree && !second.contains(NodeId::new(0)) {
        second.remark = ", without the root";
    }
    Some(second)
}

/// `S₇`
pub(super) fn name_of(node: NodeId) -> String {
    let digits = (node.index() + 1).to_string();
    let small =
        |digit: char| ['₀', '₁', '₂', '₃', '₄', '₅', '₆', '₇', '₈', '₉'][digit as usize - 48];
    std::iter::once('S').chain(digits.chars().map(small)).collect()
}

/// `{1, 2, 4}`, with what does not fit into so many characters counted instead.
pub(super) fn set(members: &[NodeId], room: usize) -> String {
    let numbers: Vec<String> = members.iter().map(|node| (node.index() + 1).to_string()).collect();
    let whole = format!("{{{}}}", numbers.join(", "));
    if whole.len() <= room {
        return whole;
    }
    let count = format!(", …}}, {} nodes", numbers.len());
    let mut part = format!("{{{}", numbers[0]);
    for number in &numbers[1..] {
        if part.len() + number.len() + count.len() > room {
            break;
        }
        part += &format!(", {number}");
    }
    part + &count
}
