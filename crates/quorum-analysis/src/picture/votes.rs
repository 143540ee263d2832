//! All votes as one bar: who has more than half of it leaves less than half to everybody else.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;
use skeptron_quorum::gates::{Gate, Part};

use super::PictureError;
use super::example::{Example, Mark, Shown};
use super::form::votes;
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::text::{cell, trimmed};

/// As text.
const TEXT_ROOM: &str = "60 nodes";
const MOST_TEXT_NODES: usize = 60;
/// The longest bar of text.
const LONGEST: u64 = 60;

const WIDTH: f64 = 860.0;
const BAR: f64 = 58.0;
/// Where the bar begins, below the first brace.
const TOP: f64 = 62.0;

/// What each node counts.
fn weights(system: &System) -> Vec<u64> {
    let mut weights = vec![0; system.nodes()];
    let members = votes(system).into_iter().flat_map(|gate| &gate.members);
    for member in members {
        if let Part::Node(node) = member.part {
            weights[node.index()] = member.weight;
        }
    }
    weights
}

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    let weights = weights(system);
    let total = weights.iter().sum::<u64>().max(1);
    let scale = WIDTH / total as f64;
    let mut bar = Bar { canvas: Canvas::default(), spans: [None; 2], x: 0.0 };
    let tells_weights = weights.iter().any(|&weight| weight > 1);
    for node in in_order(example, &weights) {
        let weight = weights[node.index()];
        bar.segment(example, node, scale * weight as f64);
        if tells_weights {
            bar.weight(example.mark(node), weight, scale * weight as f64);
        }
    }
    for ((mark, shown), span) in example.shown().zip(bar.spans) {
        let votes: u64 = shown.members.iter().map(|node| weights[node.index()]).sum();
        let label = format!("{}: {votes} of {total} votes", shown.name);
        bar.brace(mark, span.unwrap_or((0.0, 0.0)), &label);
    }
    bar.half();
    let need = votes(system).map_or(0, |gate| gate.need);
    let silent = silent(&weights);
    let caption = if tells_weights {
        format!("A segment is as wide as its node’s votes; {need} of {total} are enough{silent}")
    } else {
        format!("Every segment is a node with one vote; {need} of {total} are enough{silent}")
    };
    Drawing { canvas: bar.canvas, width: WIDTH, height: TOP + BAR + TOP, caption }
}

/// `; 2 nodes have none`
fn silent(weights: &[u64]) -> String {
    match weights.iter().filter(|&&weight| weight == 0).count() {
        0 => String::new(),
        1 => "; one node has none".into(),
        count => format!("; {count} nodes have none"),
    }
}

/// Voters such that each of the two quorums is in one piece.
fn in_order(example: &Example, weights: &[u64]) -> Vec<NodeId> {
    let order = |node: &NodeId| match example.mark(*node) {
        Mark::First => 0,
        Mark::Both => 1,
        Mark::Second => 2,
        Mark::Plain => 3,
    };
    let mut voters: Vec<_> =
        NodeId::all(weights.len()).filter(|node| weights[node.index()] > 0).collect();
    voters.sort_by_key(order);
    voters
}

/// The bar while it grows to the right.
struct Bar {
    canvas: Canvas,
    /// From where to where the two quorums reach.
    spans: [Option<(f64, f64)>; 2],
    x: f64,
}

impl Bar {
    fn segment(&mut self, example: &Example, node: NodeId, width: f64) {
        let centre = Point::new(self.x + width / 2.0, TOP + BAR / 2.0);
        let inset = if width > 16.0 { 8.0 } else { width * 0.2 };
        self.canvas.node(example, node, Form::Brick(width - inset, BAR - 8.0), centre);
        for (span, (_, shown)) in self.spans.iter_mut().zip(example.shown()) {
            if shown.contains(node) {
                let from = span.map_or(self.x, |(from, _)| from);
                *span = Some((from, self.x + width));
            }
        }
        self.x += width;
    }

    /// What the last segment, of this width, counts.
    fn weight(&mut self, mark: Mark, weight: u64, width: f64) {
        let votes = format!("{weight} {}", if weight == 1 { "vote" } else { "votes" });
        let short = weight.to_string();
        let room = |text: &str| width > text.len() as f64 * 6.4 + 12.0;
        let text = if room(&votes) { votes } else { short };
        if room(&text) {
            self.canvas.put(format_args!("<g class=\"{}\">", mark.class()));
            let below = Point::new(self.x - width / 2.0, TOP + BAR - 9.0);
            self.canvas.sized_text("number", below, 10.0, &text);
            self.canvas.put(format_args!("</g>"));
        }
    }

    /// Above the bar for the first quorum, below it for the second.
    fn brace(&mut self, mark: Mark, (from, to): (f64, f64), label: &str) {
        let class = mark.class();
        let (y, tick, text) = match mark {
            Mark::First => (TOP - 18.0, 10.0, Point::new(from + 3.0, TOP - 28.0)),
            _ => (TOP + BAR + 18.0, -10.0, Point::new(to - 3.0, TOP + BAR + 38.0)),
        };
        let side = if mark == Mark::First { "" } else { " end" };
        let (from, to) = (from + 3.0, to - 3.0);
        let foot = y + tick;
        self.canvas.path(
            &format!("brace {class}"),
            format_args!("M{from:.1} {foot:.1}V{y:.1}H{to:.1}V{foot:.1}"),
        );
        self.canvas.text(&format!("{class}{side}"), text, label);
    }

    fn half(&mut self) {
        // Not through the bar, where the number of a node may be.
        let (x, above, below) = (WIDTH / 2.0, TOP - 30.0, TOP + BAR);
        self.canvas.path("half", format_args!("M{x:.1} {above:.1}V{TOP:.1}M{x:.1} {below:.1}v14"));
        self.canvas.text("tick", Point::new(x, TOP - 36.0), "half");
    }
}

/// A bar for each node.
pub(super) fn write(system: &System, example: &Example) -> Result<String, PictureError> {
    let nodes = system.nodes();
    if nodes > MOST_TEXT_NODES {
        return Err(PictureError::TooLargeForText { room: TEXT_ROOM });
    }
    let weights = weights(system);
    let heaviest = weights.iter().copied().max().unwrap_or(1);
    let total: u64 = weights.iter().sum();
    // Whole characters for a vote as long as there is room.
    let length = |weight: u64| match heaviest {
        0..=LONGEST => weight,
        _ => (weight * LONGEST).div_ceil(heaviest),
    };
    let mut lines = String::new();
    for node in NodeId::all(nodes) {
        let weight = weights[node.index()];
        let bar = "█".repeat(length(weight) as usize);
        lines += &format!("{} {bar} {weight}\n", cell(example, node));
    }
    let need = votes(system).map_or(0, |gate: &Gate| gate.need);
    let indent = example.digits + 3;
    lines += &format!("{:indent$}{need} of {total} votes are enough\n", "");
    for (_, Shown { name, members, .. }) in example.shown() {
        let votes: u64 = members.iter().map(|node| weights[node.index()]).sum();
        lines += &format!("{:indent$}{name} has {votes}\n", "");
    }
    Ok(trimmed(&lines))
}
