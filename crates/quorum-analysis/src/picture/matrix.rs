//! The incidence matrix: a row for the quorum of each node, a column for each node.

use std::fmt::Write as _;

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::PictureError;
use super::example::{Example, Mark, name_of};
use super::frame::Drawing;
use super::text::trimmed;

/// As text.
const TEXT_ROOM: &str = "a matrix of 60 nodes";
const MOST_TEXT_NODES: usize = 60;
/// Larger ones are pictures of densities.
const MOST_DOTS: usize = 200;
/// Of a density: so many shades.
const SHADES: usize = 8;

/// How many quorums each node is in.
fn degrees(system: &System) -> Vec<usize> {
    let mut degrees = vec![0; system.nodes()];
    for member in system.assignment().iter().flatten() {
        degrees[member.index()] += 1;
    }
    degrees
}

fn caption(system: &System) -> String {
    let sizes: Vec<usize> = system.assignment().iter().map(<[NodeId]>::len).collect();
    let (sizes, degrees) = (range(&sizes), range(&degrees(system)));
    format!("Row i is the quorum of node i. {sizes} in a quorum; {degrees} quorums for a node")
}

/// `4`, or `3 to 5`
fn range(numbers: &[usize]) -> String {
    let (least, most) = (numbers.iter().min().unwrap_or(&0), numbers.iter().max().unwrap_or(&0));
    if least == most { least.to_string() } else { format!("{least} to {most}") }
}

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    if system.nodes() > MOST_DOTS {
        return density(system, example);
    }
    let mut sheet = Sheet::of(system.nodes());
    bands(&mut sheet.canvas, example, sheet.edge, sheet.pitch, system.nodes());
    sheet.rules();
    sheet.dots(system, example);
    sheet.numbers(system);
    let side = sheet.edge + sheet.side() + sheet.edge;
    Drawing { canvas: sheet.canvas, width: side, height: side, caption: caption(system) }
}

/// The rows of the two quorums, and the columns in which they meet; never too narrow to be seen.
fn bands(canvas: &mut Canvas, example: &Example, edge: f64, pitch: f64, nodes: usize) {
    let (side, breadth) = (nodes as f64 * pitch, pitch.max(3.0));
    let thin = if pitch < breadth { " thin" } else { "" };
    let start = |node: NodeId| edge + node.index() as f64 * pitch;
    for (mark, shown) in example.shown() {
        let (Some(row), class) = (shown.owner, mark.class()) else {
            continue;
        };
        let y = start(row);
        canvas.put(format_args!(
            "<rect class=\"band {class}{thin}\" x=\"{edge:.1}\" y=\"{y:.1}\" width=\"{side:.1}\" \
             height=\"{breadth:.1}\"/>"
        ));
    }
    for &node in example.common().iter().flat_map(|common| &common.members) {
        let x = start(node);
        canvas.put(format_args!(
            "<rect class=\"band{thin}\" x=\"{x:.1}\" y=\"{edge:.1}\" width=\"{breadth:.1}\" \
             height=\"{side:.1}\"/>"
        ));
    }
}

/// A matrix with a dot for each member.
struct Sheet {
    canvas: Canvas,
    nodes: usize,
    pitch: f64,
    /// Room for the numbers on each side.
    edge: f64,
}

impl Sheet {
    fn of(nodes: usize) -> Self {
        let pitch = (880.0 / nodes as f64).clamp(4.5, 30.0);
        Sheet { canvas: Canvas::default(), nodes, pitch, edge: 40.0 }
    }

    fn side(&self) -> f64 {
        self.nodes as f64 * self.pitch
    }

    /// The upper left corner of a row or column.
    fn start(&self, index: usize) -> f64 {
        self.edge + index as f64 * self.pitch
    }

    fn centre(&self, row: NodeId, column: NodeId) -> Point {
        let half = self.pitch / 2.0;
        Point::new(self.start(column.index()) + half, self.start(row.index()) + half)
    }

    /// Lines between rows and columns; where they would be too dense, every tenth.
    fn rules(&mut self) {
        let (from, to) = (self.edge, self.edge + self.side());
        let step = if self.pitch >= 12.0 { 1 } else { 10 };
        for index in (0..=self.nodes).step_by(step) {
            let at = self.start(index);
            self.canvas.path("grid", format_args!("M{at:.1} {from:.1}V{to:.1}"));
            self.canvas.path("grid", format_args!("M{from:.1} {at:.1}H{to:.1}"));
        }
    }

    /// The diagonal has a frame, with a dot in it if the node is in its own quorum.
    fn dots(&mut self, system: &System, example: &Example) {
        let radius = self.pitch * 0.33;
        for row in NodeId::all(self.nodes) {
            let quorum = system.assignment().of(row);
            let mut dots = String::new();
            for &member in quorum {
                let Point { x, y } = self.centre(row, member);
                let (left, width) = (x - radius, 2.0 * radius);
                let _ = write!(
                    dots,
                    "M{left:.1} {y:.1}a{radius:.2} {radius:.2} 0 1 1 {width:.2} 0a{radius:.2} \
                     {radius:.2} 0 1 1 -{width:.2} 0Z"
                );
            }
            let mark = example.shown().find(|(_, shown)| shown.owner == Some(row));
            let class = mark.map_or("dots", |(mark, _)| match mark {
                Mark::First => "dots a",
                _ => "dots b",
            });
            self.canvas.path(class, format_args!("{dots}"));
            let Point { x, y } = self.centre(row, row);
            let (half, side) = (self.pitch * 0.44, self.pitch * 0.88);
            let (left, top) = (x - half, y - half);
            self.canvas
                .path("own", format_args!("M{left:.1} {top:.1}h{side:.1}v{side:.1}h-{side:.1}Z"));
        }
    }

    /// Of the nodes above and at the left, of the members at the right, of the degrees below.
    fn numbers(&mut self, system: &System) {
        let degrees = degrees(system);
        let wide = self.nodes.to_string().len() as f64 * 6.6 + 3.0;
        let step = [1, 2, 5, 10, 20].into_iter().find(|&step| step as f64 * self.pitch >= wide);
        let step = step.unwrap_or(50);
        let (near, far) = (self.edge - 7.0, self.edge + self.side());
        // P1, and then whole steps.
        let shown = |node: &NodeId| node.index() == 0 || (node.index() + 1).is_multiple_of(step);
        for node in NodeId::all(self.nodes).filter(shown) {
            let number = (node.index() + 1).to_string();
            let at = self.centre(node, node);
            let size = system.assignment().of(node).len().to_string();
            self.canvas.text("tick", Point::new(at.x, near), &number);
            self.canvas.text("tick end", Point::new(near, at.y + 4.0), &number);
            self.canvas.text("tick size", Point::new(far + 16.0, at.y + 4.0), &size);
            let degree = degrees[node.index()].to_string();
            self.canvas.text("tick degree", Point::new(at.x, far + 17.0), &degree);
        }
        self.canvas.text("tick", Point::new(far + 16.0, near), "size");
        self.canvas.text("tick end", Point::new(near, far + 17.0), "degree");
    }
}

/// A matrix in which a cell stands for several rows and columns, darker for more members.
fn density(system: &System, example: &Example) -> Drawing {
    let nodes = system.nodes();
    let merged = nodes.div_ceil(MOST_DOTS);
    let cells = nodes.div_ceil(merged);
    let mut counts = vec![0_usize; cells * cells];
    for (row, quorum) in system.assignment().iter().enumerate() {
        for member in quorum {
            counts[row / merged * cells + member.index() / merged] += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let pitch = 880.0 / cells as f64;
    let mut shades = vec![String::new(); SHADES];
    for (place, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let (x, y) = ((place % cells) as f64 * pitch, (place / cells) as f64 * pitch);
        let shade = (count * SHADES).div_ceil(most) - 1;
        let _ = write!(shades[shade], "M{x:.1} {y:.1}h{pitch:.1}v{pitch:.1}h-{pitch:.1}Z");
    }
    let mut canvas = Canvas::default();
    bands(&mut canvas, example, 0.0, 880.0 / (cells * merged) as f64, nodes);
    for (shade, cells) in (1..).zip(shades) {
        let opacity = shade as f64 / SHADES as f64;
        canvas.put(format_args!("<path class=\"dots\" opacity=\"{opacity:.2}\" d=\"{cells}\"/>"));
    }
    canvas.path("own", format_args!("M0 0H880V880H0Z"));
    let caption = format!(
        "{}. A cell is {merged} × {merged} nodes, darker for more members",
        caption(system)
    );
    Drawing { canvas, width: 880.0, height: 880.0, caption }
}

pub(super) fn write(system: &System, example: &Example) -> Result<String, PictureError> {
    let nodes = system.nodes();
    if nodes > MOST_TEXT_NODES {
        return Err(PictureError::TooLargeForText { room: TEXT_ROOM });
    }
    let width = example.digits + 1;
    // Blanks between the columns as long as there is room.
    let gap = if nodes <= 36 { " " } else { "" };
    let mut lines = columns("", width, gap, (1..=nodes).collect());
    for (row, quorum) in NodeId::all(nodes).zip(system.assignment().iter()) {
        let dot = |column: NodeId| match (quorum.contains(&column), row == column) {
            (true, true) => "◉",
            (true, false) => "●",
            (false, true) => "○",
            (false, false) => "·",
        };
        let dots: String =
            NodeId::all(nodes).map(|column| format!("{gap}{}", dot(column))).collect();
        let mark = example.shown().find(|(_, shown)| shown.owner == Some(row));
        let sign = match mark {
            Some((Mark::First, _)) => "  [ ]",
            Some(_) => "  ( )",
            None => "",
        };
        lines += &format!("{:>width$} {dots}  {}{sign}\n", name_of(row), quorum.len());
    }
    lines += &columns("degree", width, gap, degrees(system));
    Ok(trimmed(&lines))
}

/// A number over or under each column, its digits one below the other.
fn columns(name: &str, indent: usize, gap: &str, numbers: Vec<usize>) -> String {
    let height = numbers.iter().max().map_or(1, |most| most.to_string().len());
    let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:>height$}")).collect();
    let mut lines = String::new();
    for line in 0..height {
        let digits: String =
            numbers.iter().map(|number| format!("{gap}{}", &number[line..=line])).collect();
        let name = if line + 1 == height { name } else { "" };
        lines += &format!("{:indent$} {digits}  {name}\n", "");
    }
    lines
}
