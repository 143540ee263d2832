//! What all SVG pictures have in common: title, caption, legend.

use skeptron_markup::{Canvas, Point, escaped};
use skeptron_quorum::System;

use super::example::{Example, Mark, Shown, set};
use super::node::{Draw as _, Form};
use super::style::SHEET;

/// A picture without its frame.
pub(super) struct Drawing {
    pub(super) canvas: Canvas,
    pub(super) width: f64,
    pub(super) height: f64,
    /// What one sees, in a sentence.
    pub(super) caption: String,
}

/// Room around everything.
const MARGIN: f64 = 28.0;
/// Narrower pictures are put in the middle.
const LEAST_WIDTH: f64 = 600.0;
const HEADING: f64 = 42.0;
const CAPTION_LINE: f64 = 19.0;
/// A character of text, in a wide font.
const CHARACTER: f64 = 7.4;
const LEGEND_LINE: f64 = 30.0;

/// The whole document.
pub(super) fn document(system: &System, example: &Example, drawing: Drawing) -> String {
    let inner = drawing.width.max(LEAST_WIDTH);
    let width = (inner + 2.0 * MARGIN).ceil();
    let left = (width - drawing.width) / 2.0;
    let caption = wrapped(&drawing.caption, (inner / CHARACTER) as usize);
    let top = MARGIN + HEADING + CAPTION_LINE * caption.len() as f64;
    let legend_top = top + drawing.height + MARGIN;
    let mut legend = Canvas::default();
    let lines = entries(&mut legend, example, legend_top, inner);
    let height = (legend_top + LEGEND_LINE * lines as f64 + MARGIN / 2.0).ceil();

    let title = title(system);
    let mut heading = Canvas::default();
    let shown_title = shortened(&title, (inner / 9.6) as usize);
    heading.text("title", Point::new(MARGIN, MARGIN + 14.0), &shown_title);
    for (line, text) in (1..).zip(&caption) {
        let y = MARGIN + 18.0 + CAPTION_LINE * f64::from(line);
        heading.text("dim", Point::new(MARGIN, y), text);
    }

    let told: Vec<String> = named(example).map(|(_, shown)| described(&shown, 400)).collect();
    let description = format!("{}. {}", drawing.caption, told.join("; "));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"qs\" width=\"{width}\" \
         height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n\
         <style>\n{SHEET}</style>\n<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n\
         {}<g transform=\"translate({left:.1} {top:.1})\">\n{}</g>\n{}</svg>\n",
        escaped(&title),
        escaped(&description),
        heading.text,
        drawing.canvas.text,
        legend.text
    )
}

fn title(system: &System) -> String {
    let nodes = system.nodes();
    format!("{}: {nodes} {}", system.name(), if nodes == 1 { "node" } else { "nodes" })
}

/// The two quorums and what they have in common.
fn named(example: &Example) -> impl Iterator<Item = (Mark, Shown)> {
    let shown = example.shown().map(|(mark, shown)| (mark, shown.clone()));
    shown.chain(example.common().map(|common| (Mark::Both, common)))
}

/// Writes the legend; how many lines it has.
fn entries(canvas: &mut Canvas, example: &Example, top: f64, width: f64) -> usize {
    let mut y = top;
    let mut lines = 0;
    for (mark, shown) in named(example) {
        let centre = Point::new(MARGIN + 12.0, y);
        canvas.put(format_args!("<g class=\"key {}\">", mark.class()));
        canvas.marked(mark, Form::Disc(if mark == Mark::Both { 7.5 } else { 9.0 }), centre);
        canvas.put(format_args!("</g>"));
        let room = ((width - 40.0) / CHARACTER) as usize;
        canvas.text("", Point::new(MARGIN + 34.0, y + 4.5), &described(&shown, room));
        y += LEGEND_LINE;
        lines += 1;
    }
    lines
}

/// `S₁ = {1, 2, 4}`
pub(super) fn described(shown: &Shown, room: usize) -> String {
    let around = shown.name.chars().count() + shown.remark.len() + 3;
    let members = set(&shown.members, room.saturating_sub(around));
    format!("{} = {members}{}", shown.name, shown.remark)
}

/// The words in lines of at most so many characters, unless one is longer.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

fn shortened(text: &str, room: usize) -> String {
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room.saturating_sub(1)).chain(['…']).collect()
}
