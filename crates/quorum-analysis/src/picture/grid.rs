//! A grid, row by row: a quorum is a cross.

use skeptron_core::NodeId;
use skeptron_markup::{Canvas, Point};
use skeptron_quorum::System;

use super::PictureError;
use super::example::Example;
use super::form::grid_width;
use super::frame::Drawing;
use super::node::{Draw as _, Form};
use super::text::{COLUMNS, cell, cell_width, digits, trimmed};

/// As text.
const ROOM: &str = "grids of 20 columns";

pub(super) fn draw(system: &System, example: &Example) -> Drawing {
    let (nodes, columns) = (system.nodes(), grid_width(system).unwrap_or(1));
    let rows = nodes.div_ceil(columns);
    let pitch = (900.0 / columns as f64).clamp(9.0, 56.0);
    let side = pitch * 0.78;
    let mut canvas = Canvas::default();
    for node in NodeId::all(nodes) {
        let (row, column) = (node.index() / columns, node.index() % columns);
        let centre = Point::new((column as f64 + 0.5) * pitch, (row as f64 + 0.5) * pitch);
        canvas.node(example, node, Form::Brick(side, side), centre);
    }
    Drawing {
        canvas,
        width: columns as f64 * pitch,
        height: rows as f64 * pitch,
        caption: "A quorum is the own row and the own column: a full row crosses every column"
            .into(),
    }
}

pub(super) fn write(system: &System, example: &Example) -> Result<String, PictureError> {
    let (nodes, columns) = (system.nodes(), grid_width(system).unwrap_or(1));
    if columns * cell_width(nodes) > COLUMNS {
        return Err(PictureError::TooLargeForText { room: ROOM });
    }
    let mut lines = String::new();
    for node in NodeId::all(nodes) {
        lines += &cell(example, node, digits(nodes));
        if (node.index() + 1).is_multiple_of(columns) {
            lines.push('\n');
        }
    }
    Ok(trimmed(&lines))
}
