//! A crumbling wall: rows of bricks, each row in the middle.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::PictureError;
use super::example::Example;
use super::form::wall_rows;
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::text::{COLUMNS, cell, cell_width, digits, trimmed};

/// As SVG.
pub(super) const ROOM: &str = "walls of 100 rows of 100 nodes";
const MOST: usize = 100;
/// As text.
const TEXT_ROOM: &str = "walls of 60 rows of 20 nodes";
const MOST_TEXT_ROWS: usize = 60;

pub(super) fn has_room(system: &System) -> bool {
    wall_rows(system).is_some_and(|rows| rows.len() <= MOST && widest(&rows) <= MOST)
}

fn widest(rows: &[usize]) -> usize {
    rows.iter().copied().max().unwrap_or(0)
}

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    let rows = wall_rows(system).unwrap_or_default();
    let widest = widest(&rows) as f64;
    let pitch = (900.0 / widest).clamp(9.0, 84.0);
    let (width, height) = (widest * pitch, (pitch * 0.62).clamp(9.0, 52.0));
    let form = Form::Brick(pitch * 0.88, height * 0.78);
    let mut canvas = Canvas::default();
    let mut nodes = NodeId::all(system.nodes());
    for (row, &length) in rows.iter().enumerate() {
        let left = (width - length as f64 * pitch) / 2.0;
        for (place, node) in nodes.by_ref().take(length).enumerate() {
            let x = left + (place as f64 + 0.5) * pitch;
            canvas.node(example, node, form, Point::new(x, (row as f64 + 0.5) * height));
        }
    }
    Drawing {
        canvas,
        width,
        height: rows.len() as f64 * height,
        caption:
            "A quorum is one full row and one node of each row below it, so that the one whose \
                  full row is higher has a node in that of the other"
                .into(),
    }
}

pub(super) fn write(system: &System, example: &Example) -> Result<String, PictureError> {
    let rows = wall_rows(system).unwrap_or_default();
    let nodes = system.nodes();
    let width = widest(&rows) * cell_width(nodes);
    if width > COLUMNS || rows.len() > MOST_TEXT_ROWS {
        return Err(PictureError::TooLargeForText { room: TEXT_ROOM });
    }
    let mut lines = String::new();
    let mut all = NodeId::all(nodes);
    for length in rows {
        let bricks: String =
            all.by_ref().take(length).map(|node| cell(example, node, digits(nodes))).collect();
        lines += &format!("{bricks:^width$}\n");
    }
    Ok(trimmed(&lines))
}
