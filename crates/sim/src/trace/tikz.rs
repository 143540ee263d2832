//! A space-time diagram in TikZ: a LaTeX document of its own, made to be read and changed by hand.

use std::io::{self, Write};
use std::ops::Range;

use skeptron_core::NodeId;
use skeptron_markup::kinds::Role;

use super::timeline::{Arrow, Doing, End, Timeline};
use super::{Header, Loss, Record, Ticks, Trace, What, svg, wording};

/// Centimetres between two nodes, and for the time that a message usually takes.
const GAP: f64 = 1.5;
const TRANSIT: f64 = 2.2;

/// TeX knows no length beyond 575 cm.
const WIDEST: f64 = 500.0;

/// How lines look; to be changed by whoever wants another look.
const STYLES: &str = r"\begin{tikzpicture}[
  font=\sffamily\footnotesize,
  life/.style={gray},
  waiting/.style={line width=3pt, black!20},
  inside/.style={line width=7pt, black!80},
  paused/.style={line width=3pt, black!45, dash pattern=on 2pt off 1pt},
  down/.style={line width=2pt, white},
  message/.style={-{Latex[length=2mm]}, line width=0.6pt},
  copy/.style={dashed},
  says/.style={sloped, above, inner sep=1pt, font=\sffamily\scriptsize},
  event/.style={above, inner sep=4pt, font=\sffamily\tiny},
  bad/.style={red!75!black, dashed, line width=0.7pt}]";

pub(super) fn write(trace: &Trace, part: Range<usize>, out: &mut dyn Write) -> io::Result<()> {
    let timeline = Timeline::within(trace, part.clone());
    let drawing = Drawing::new(&trace.header, &timeline);
    writeln!(out, "% {}", wording::title(&trace.header))?;
    if let Some(command) = &trace.header.command {
        writeln!(out, "% {}", command.replace('\n', " "))?;
    }
    writeln!(out, "\\documentclass[tikz]{{standalone}}")?;
    writeln!(out, "\\usepackage[utf8]{{inputenc}}\n\\usetikzlibrary{{arrows.meta}}")?;
    writeln!(out, "\\begin{{document}}")?;
    for (label, _) in &drawing.kinds {
        let colour = Role::of(label).look().light[1..].to_uppercase();
        writeln!(out, "\\definecolor{{{}}}{{HTML}}{{{colour}}}", name(label))?;
    }
    writeln!(out, "{STYLES}")?;
    drawing.lines(out)?;
    drawing.spans(out)?;
    drawing.arrows(out)?;
    drawing.events(&trace.records[part], out)?;
    writeln!(out, "\\end{{tikzpicture}}\n\\end{{document}}")
}

/// The name of the colour of a kind of message.
fn name(label: &str) -> String {
    let letters: String = label.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("sk{}", letters.to_lowercase())
}

struct Drawing<'a> {
    header: &'a Header,
    timeline: &'a Timeline<'a>,
    nodes: usize,
    /// Name and number.
    kinds: Vec<(&'a str, usize)>,
    transit: Ticks,
    /// Centimetres for a tick.
    scale: f64,
}

impl<'a> Drawing<'a> {
    fn new(header: &'a Header, timeline: &'a Timeline<'a>) -> Self {
        let transit = timeline.transit(header.ticks_per_unit.max(1));
        let duration = timeline.end.saturating_sub(timeline.begin).max(1) as f64;
        let scale = (TRANSIT / transit as f64).min(WIDEST / duration);
        let (nodes, kinds) = (header.setup.nodes(), svg::kinds(header, timeline));
        Drawing { header, timeline, nodes, kinds, transit, scale }
    }

    fn x(&self, t: Ticks) -> f64 {
        (t as f64 - self.timeline.begin as f64) * self.scale
    }

    fn y(&self, node: NodeId) -> f64 {
        -(node.index() as f64) * GAP
    }

    /// Where the lines of the nodes end, and where the axis is.
    fn right(&self) -> f64 {
        self.x(self.timeline.end) + 0.4
    }

    fn low(&self) -> f64 {
        -(self.nodes as f64 - 0.3) * GAP
    }

    fn lines(&self, out: &mut dyn Write) -> io::Result<()> {
        let (right, low) = (self.right(), self.low());
        for node in NodeId::all(self.nodes) {
            let y = self.y(node);
            writeln!(
                out,
                "\\draw[life] (0,{y:.2}) node[left, black] {{{node}}} -- ({right:.2},{y:.2});"
            )?;
        }
        let time = wording::short_units(self.timeline.begin, self.header);
        writeln!(
            out,
            "\\draw[life, ->] (0,{low:.2}) node[below] {{{time}}} -- ({right:.2},{low:.2}) node[below] {{{}}};",
            wording::short_units(self.timeline.end, self.header)
        )
    }

    fn spans(&self, out: &mut dyn Write) -> io::Result<()> {
        for span in self.timeline.spans.iter().filter(|span| span.node.index() < self.nodes) {
            let (from, y) = (self.x(span.from), self.y(span.node));
            let to = self.x(span.to).max(from + 0.02);
            let (style, text) = match span.doing {
                Doing::Waiting => ("waiting", None),
                Doing::Inside { fence } => ("inside", Some(fence.to_string())),
                Doing::Leading { epoch } => ("inside", Some(epoch.to_string())),
                Doing::Paused => ("paused", None),
                Doing::Down => ("down", None),
            };
            writeln!(out, "\\draw[{style}] ({from:.2},{y:.2}) -- ({to:.2},{y:.2});")?;
            if let Some(text) = text.filter(|text| to - from > 0.15 * text.len() as f64) {
                let x = f64::midpoint(from, to);
                writeln!(
                    out,
                    "\\node[white, font=\\sffamily\\tiny] at ({x:.2},{y:.2}) {{{text}}};"
                )?;
            }
        }
        Ok(())
    }

    fn arrows(&self, out: &mut dyn Write) -> io::Result<()> {
        let drawn =
            |arrow: &&Arrow| arrow.from.index() < self.nodes && arrow.to.index() < self.nodes;
        for arrow in self.timeline.arrows.iter().filter(drawn) {
            let (t, reach) = match arrow.end {
                End::Delivered(t) => (t, 1.0),
                End::Lost(t, Loss::Down) => (t, 0.9),
                End::Lost(..) | End::UnderWay => (arrow.sent.saturating_add(self.transit / 2), 0.5),
            };
            let (x1, y1) = (self.x(arrow.sent), self.y(arrow.from));
            let (x2, y2) = (self.x(t), y1 + (self.y(arrow.to) - y1) * reach);
            let name = name(arrow.label);
            let copy = if arrow.copy { ", copy" } else { "" };
            let (head, sign) = match arrow.end {
                End::Delivered(_) => ("", ""),
                End::Lost(..) => (", -", " node[red] {$\\times$}"),
                End::UnderWay => (", -", ""),
            };
            let says = escaped(&self.timeline.name(arrow));
            writeln!(
                out,
                "\\draw[message, {name}{copy}{head}] ({x1:.2},{y1:.2}) -- node[says] {{{says}}} \
                 ({x2:.2},{y2:.2}){sign};"
            )?;
        }
        Ok(())
    }

    fn events(&self, records: &[Record], out: &mut dyn Write) -> io::Result<()> {
        let (top, low) = (GAP * 0.5, self.low());
        for record in records.iter().filter(|record| record.node.index() < self.nodes) {
            let (x, y) = (self.x(record.t), self.y(record.node));
            let told = || escaped(&wording::event(&record.what, self.timeline));
            match &record.what {
                What::Crash => {
                    writeln!(out, "\\node[font=\\large] at ({x:.2},{y:.2}) {{$\\times$}};")?
                }
                What::Violation { .. } => {
                    writeln!(out, "\\draw[bad] ({x:.2},{top:.2}) -- ({x:.2},{low:.2});")?;
                    let (node, told) = (record.node, told());
                    writeln!(
                        out,
                        "\\node[bad, above left] at ({x:.2},{top:.2}) {{{node} {told}}};"
                    )?;
                }
                What::Elect { .. } | What::Suspect { .. } | What::Call | What::Restart => {
                    writeln!(out, "\\node[event] at ({x:.2},{y:.2}) {{{}}};", told())?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Text in which TeX finds no command, and which its usual fonts have.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '\\' => "\\textbackslash{}".into(),
        '{' | '}' | '$' | '&' | '#' | '_' | '%' => format!("\\{c}"),
        '^' => "\\textasciicircum{}".into(),
        '~' => "\\textasciitilde{}".into(),
        '→' => "$\\to$".into(),
        '←' => "$\\leftarrow$".into(),
        '–' => "--".into(),
        '…' => "\\dots{}".into(),
        '<' | '>' | '|' => format!("${c}$"),
        c if c.is_control() => " ".into(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample::Scene;
    use crate::trace::{Format, Picture, Steps};

    fn drawn(scene: &Scene, steps: Option<Steps>) -> String {
        let mut out = Vec::new();
        let picture = Picture { steps, ..Picture::default() };
        scene.play().write_picture(Format::Tikz, picture, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_message_is_an_arrow_with_what_it_says() {
        let tex = drawn(&Scene::new(2), None);
        assert_eq!(tex.matches("\\draw[message").count(), 8, "{tex}");
        assert!(tex.contains("node[says] {REQUEST 1}"), "{tex}");
        assert_eq!(tex.matches("\\draw[inside]").count(), 4);
    }

    /// Braces pair, environments end, and every path ends with a semicolon: as far as that TeX reads it.
    #[test]
    fn a_document_is_whole() {
        for scene in [Scene::new(3), Scene::faulty()] {
            let tex = drawn(&scene, None);
            let count = |text: &str| tex.matches(text).count();
            let escaped = |brace: &str| count(&format!("\\{brace}"));
            assert_eq!(count("{") - escaped("{"), count("}") - escaped("}"));
            assert_eq!(count("\\begin{"), count("\\end{"));
            let paths = tex
                .lines()
                .filter(|l| ["\\draw", "\\node", "\\clip"].iter().any(|c| l.starts_with(c)));
            for line in paths {
                assert!(line.ends_with(';'), "{line}");
            }
            assert!(!tex.contains("NaN") && !tex.contains("inf)"));
        }
    }

    #[test]
    fn some_steps_begin_where_the_first_of_them_is() {
        let tex = drawn(&Scene::new(2), Some(Steps { from: 3, to: 6 }));
        let all = drawn(&Scene::new(2), None);
        let arrows = |tex: &str| tex.matches("\\draw[message").count();
        assert!(arrows(&tex) > 0 && arrows(&tex) < arrows(&all), "{tex}");
    }

    #[test]
    fn text_is_no_command() {
        assert_eq!(escaped("50% {a_b} → \\x"), "50\\% \\{a\\_b\\} $\\to$ \\textbackslash{}x");
    }
}
