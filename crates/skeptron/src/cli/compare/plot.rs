//! Line plots as SVG. Colours come from the style sheet of the page: a series has only a class.

use skeptron_markup::escaped;

use std::fmt::Write as _;

use marker::Shape;
use scale::Scale;

pub(super) mod marker;
mod place;
pub(super) mod scale;

/// One line with its markers.
pub(super) struct Series {
    /// Colours it.
    pub(super) class: String,
    /// Stands at the end of the line.
    pub(super) label: String,
    pub(super) shape: Shape,
    /// A `stroke-dasharray`; none if empty.
    pub(super) dash: &'static str,
    pub(super) points: Vec<Point>,
    /// What is expected, drawn thin behind.
    pub(super) expected: Vec<(f64, f64)>,
    /// From where to where is allowed, drawn light behind: `(x, low, high)`.
    pub(super) band: Vec<(f64, f64, f64)>,
}

/// One measurement.
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Half the length of the whisker.
    pub(super) spread: f64,
    pub(super) tooltip: String,
}

/// Series over the same axes.
pub(super) struct Plot {
    /// For whoever cannot see it.
    pub(super) title: String,
    pub(super) x_label: &'static str,
    pub(super) y_label: &'static str,
    /// The marks of the horizontal axis, which is logarithmic.
    pub(super) x_ticks: Vec<f64>,
    pub(super) log_y: LogY,
    pub(super) series: Vec<Series>,
}

/// Whether the vertical axis is logarithmic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogY {
    Always,
    /// Where the largest value is many times the smallest.
    IfFar,
}

const WIDTH: f64 = 920.0;
const LEFT: f64 = 66.0;
/// Where the axes end and the labels begin.
const RIGHT: f64 = WIDTH - 186.0;
const TOP: f64 = 14.0;
const BOTTOM: f64 = 54.0;
/// Room within the axes beside the first and last mark, for markers that stand side by side.
const PADDING: f64 = 36.0;
const LINE_HEIGHT: f64 = 17.0;
/// How far apart markers of equal values stand.
const BEAD: f64 = 10.5;
/// The length of one colour where lines coincide.
const STRIPE: f64 = 9.0;

impl Plot {
    pub(super) fn svg(&self) -> String {
        Drawing::of(self).svg()
    }
}

/// A plot with everything in its place.
struct Drawing<'a> {
    plot: &'a Plot,
    x: Scale,
    y: Scale,
    height: f64,
    /// The pixels of each series' points.
    lines: Vec<Vec<(f64, f64)>>,
}

impl<'a> Drawing<'a> {
    fn of(plot: &'a Plot) -> Self {
        let labels = plot.series.len() as f64 * LINE_HEIGHT + 24.0;
        let height = TOP + BOTTOM + labels.max(330.0);
        let x = Scale::log(&plot.x_ticks, LEFT + PADDING, RIGHT - PADDING).tight();
        let values = plot.series.iter().flat_map(|series| {
            let measured = series.points.iter().flat_map(|p| [p.y, p.y - p.spread, p.y + p.spread]);
            measured.chain(series.expected.iter().map(|&(_, y)| y))
        });
        let mut values: Vec<f64> = values.filter(|y| y.is_finite()).map(|y| y.max(0.0)).collect();
        let (from, to) = (height - BOTTOM, TOP);
        let y = if plot.log_y == LogY::Always || scale::is_far(&values) {
            // The bands are only seen whole where there is a place for all their values.
            let bands = plot.series.iter().flat_map(|series| &series.band);
            values.extend(bands.flat_map(|&(_, low, high)| [low, high]));
            Scale::log(&values, from, to)
        } else {
            Scale::from_zero(&values, from, to)
        };
        let place =
            |series: &Series| series.points.iter().map(|p| (x.at(p.x), y.at(p.y))).collect();
        let lines = plot.series.iter().map(place).collect();
        Drawing { plot, x, y, height, lines }
    }

    fn svg(&self) -> String {
        let mut out = String::new();
        let (height, title) = (self.height, escaped(&self.plot.title));
        let _ = writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" \
             role=\"img\" aria-label=\"{title}\">"
        );
        self.axes(&mut out);
        self.expectations(&mut out);
        self.lines(&mut out);
        self.labels(&mut out);
        self.markers(&mut out);
        out.push_str("</svg>\n");
        out
    }

    fn axes(&self, out: &mut String) {
        let bottom = self.height - BOTTOM;
        let mut last = f64::NEG_INFINITY;
        for &tick in &self.plot.x_ticks {
            let x = self.x.at(tick);
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {TOP}V{bottom:.1}\"/>");
            let _ = writeln!(out, "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v5\"/>");
            if x - last > 26.0 {
                let y = bottom + 19.0;
                let _ =
                    writeln!(out, "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\">{tick}</text>");
                last = x;
            }
        }
        for tick in self.y.ticks() {
            let y = self.y.at(tick.value);
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>");
            if tick.named {
                let (x, y) = (LEFT - 8.0, y + 4.0);
                let value = tick.value;
                let _ = writeln!(
                    out,
                    "<text class=\"tick side\" x=\"{x:.1}\" y=\"{y:.1}\">{value}</text>"
                );
            }
        }
        let _ = match self.y.zero_lane() {
            // The axis is broken off: there is no way down to 0.
            Some((zero, lane)) => writeln!(
                out,
                "<path class=\"axis\" d=\"M{LEFT} {TOP}V{:.1}M{LEFT} {:.1}V{bottom:.1}H{RIGHT}\"/>\n\
                 <path class=\"axis\" d=\"M{:.1} {:.1}l12 -5M{:.1} {:.1}l12 -5\"/>\n\
                 <path class=\"zero\" d=\"M{LEFT} {zero:.1}H{RIGHT}\"/>\n\
                 <text class=\"tick side\" x=\"{:.1}\" y=\"{:.1}\">0</text>",
                lane - 3.0,
                lane + 3.0,
                LEFT - 6.0,
                lane - 0.5,
                LEFT - 6.0,
                lane + 5.5,
                LEFT - 8.0,
                zero + 4.0,
            ),
            None => writeln!(out, "<path class=\"axis\" d=\"M{LEFT} {TOP}V{bottom:.1}H{RIGHT}\"/>"),
        };
        let (x, y) = ((LEFT + RIGHT) / 2.0, self.height - 12.0);
        let _ = writeln!(
            out,
            "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n\
             <text class=\"name\" transform=\"translate(16 {:.1}) rotate(-90)\">{}</text>",
            escaped(self.plot.x_label),
            (TOP + bottom) / 2.0,
            escaped(self.plot.y_label),
        );
    }

    /// Bands and expected values, cut off at the axes.
    fn expectations(&self, out: &mut String) {
        let (width, height) = (RIGHT - LEFT, self.height - BOTTOM - TOP);
        let _ = writeln!(
            out,
            "<svg x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"{LEFT} {TOP} {width} {height}\">"
        );
        let at = |x: f64, y: f64| (self.x.at(x), self.y.at(y));
        for series in &self.plot.series {
            let class = &series.class;
            if !series.band.is_empty() {
                let low = series.band.iter().map(|&(x, low, _)| at(x, low));
                let high = series.band.iter().rev().map(|&(x, _, high)| at(x, high));
                let _ = writeln!(
                    out,
                    "<path class=\"band {class}\" d=\"{}Z\"/>",
                    path(low.chain(high))
                );
            }
            if series.expected.len() > 1 {
                let line = path(series.expected.iter().map(|&(x, y)| at(x, y)));
                let _ = writeln!(out, "<path class=\"expected {class}\" d=\"{line}\"/>");
            }
        }
        out.push_str("</svg>\n");
    }

    fn lines(&self, out: &mut String) {
        for (i, (series, line)) in self.plot.series.iter().zip(&self.lines).enumerate() {
            let _ = writeln!(out, "<g class=\"series {}\">", series.class);
            for piece in place::pieces(&self.lines, i) {
                let points = &line[piece.from..=piece.to];
                let d = path(points.iter().copied());
                let dash = match piece.company {
                    1 if series.dash.is_empty() => String::new(),
                    1 => format!(" stroke-dasharray=\"{}\"", series.dash),
                    // Each in turn.
                    company => format!(
                        " stroke-dasharray=\"{STRIPE} {}\" stroke-dashoffset=\"{}\"",
                        STRIPE * (company - 1) as f64,
                        -STRIPE * piece.rank as f64
                    ),
                };
                let _ = writeln!(out, "<path class=\"line\" d=\"{d}\"{dash}/>");
            }
            let _ = writeln!(out, "<path class=\"hit\" d=\"{}\"/>", path(line.iter().copied()));
            out.push_str("</g>\n");
        }
    }

    /// The name of each series beside its end, pushed apart where they would overlap.
    fn labels(&self, out: &mut String) {
        let ends = self.plot.series.iter().zip(&self.lines);
        let ends: Vec<_> = ends.filter_map(|(s, line)| Some((s, *line.last()?))).collect();
        let wanted: Vec<f64> = ends.iter().map(|&(_, (_, y))| y).collect();
        let bottom = self.height - BOTTOM + 24.0;
        let places = place::spread(&wanted, LINE_HEIGHT, TOP - 2.0, bottom);
        for ((series, (x, y)), label) in ends.into_iter().zip(places) {
            let (edge, icon, text) = (RIGHT + 3.0, RIGHT + 34.0, RIGHT + 46.0);
            let _ = writeln!(
                out,
                "<g class=\"series {}\"><path class=\"leader\" \
                 d=\"M{x:.1} {y:.1}H{edge:.1}L{:.1} {label:.1}\"/>\
                 <path class=\"marker {}\" d=\"{}\"/>\
                 <text class=\"label\" x=\"{text:.1}\" y=\"{:.1}\">{}</text></g>",
                series.class,
                icon - 8.0,
                series.shape.class(),
                series.shape.path(icon, label),
                label + 4.0,
                escaped(&series.label),
            );
        }
    }

    fn markers(&self, out: &mut String) {
        let room = self.plot.x_ticks.windows(2).map(|pair| self.x.at(pair[1]) - self.x.at(pair[0]));
        let room = room.fold(2.0 * PADDING, f64::min);
        let beads = place::beads(&self.lines, BEAD, 0.9 * room);
        for (i, series) in self.plot.series.iter().enumerate() {
            let _ = writeln!(out, "<g class=\"series {}\">", series.class);
            for (j, point) in series.points.iter().enumerate() {
                let (x, y) = beads[i][j];
                let (high, low) = (
                    self.y.at(point.y + point.spread),
                    self.y.at((point.y - point.spread).max(0.0)),
                );
                if low - high > 6.0 {
                    let _ = writeln!(
                        out,
                        "<path class=\"whisker\" d=\"M{x:.1} {high:.1}V{low:.1}M{:.1} {high:.1}h6\
                         M{:.1} {low:.1}h6\"/>",
                        x - 3.0,
                        x - 3.0
                    );
                }
                let _ = writeln!(
                    out,
                    "<path class=\"marker {}\" d=\"{}\"><title>{}</title></path>",
                    series.shape.class(),
                    series.shape.path(x, y),
                    escaped(&point.tooltip)
                );
            }
            out.push_str("</g>\n");
        }
    }
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut d = String::new();
    for (x, y) in points {
        let _ = write!(d, "{}{x:.1} {y:.1}", if d.is_empty() { 'M' } else { 'L' });
    }
    d
}
