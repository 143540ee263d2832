//! A comparison as one self-contained page.

use skeptron_core::catalogue::{Family, Info};
use skeptron_markup::escaped;

use super::super::table::number;
use super::Diagram;
use super::measure::{Figure, Row};
use super::plot::{LogY, Plot, Point, Series};
use look::Look;

mod look;
mod table;
#[cfg(test)]
mod tests;

/// What a page is made of.
pub(super) struct Page<'a> {
    pub(super) algorithms: &'a [&'static Info],
    pub(super) nodes: &'a [usize],
    pub(super) rows: &'a [Row],
    pub(super) diagrams: &'a [Diagram],
    /// What all runs have in common, in words.
    pub(super) settings: &'a str,
    /// Makes the same page again.
    pub(super) command: &'a str,
}

/// A plot to draw: the figure, its axis, and what there is to see.
struct View {
    figure: Figure,
    heading: &'static str,
    y_label: &'static str,
    log_y: LogY,
    text: &'static str,
}

const VIEWS: [View; 6] = [
    View {
        figure: Figure::MessagesSaturated,
        heading: "Messages per entry, saturated",
        y_label: "messages per entry",
        log_y: LogY::Always,
        text: "Everybody asks again as soon as it has left. This is where the families part: asking \
               everybody costs in proportion to N, a quorum to its size, and a token that is handed \
               along a tree or a line of requesters about the same at any N.",
    },
    View {
        figure: Figure::MessagesUniform,
        heading: "Messages per entry, one requester at a time",
        y_label: "messages per entry",
        log_y: LogY::Always,
        text: "A uniformly chosen node asks, enters and leaves; the next one asks 100 units later. A \
               token that circulates for ever (token-ring) is counted during these 100 units, too.",
    },
    View {
        figure: Figure::MessagesFirst,
        heading: "Messages of a lone requester’s first entry",
        y_label: "messages",
        log_y: LogY::Always,
        text: "Nobody else wants in. The requester is the node with the highest id, neither \
               coordinator nor first holder of a token.",
    },
    View {
        figure: Figure::ClientDelayFirst,
        heading: "Client delay of that entry",
        y_label: "request to entry, in units of T",
        log_y: LogY::IfFar,
        text: "From the request to the entry when there is nobody to wait for: a question and its \
               answer take 2 T. On a tree the token comes hop by hop, on a ring from wherever it is.",
    },
    View {
        figure: Figure::SyncDelay,
        heading: "Synchronisation delay, saturated",
        y_label: "exit to next entry, in units of T",
        log_y: LogY::IfFar,
        text: "From an exit to the next entry while somebody waits. It is at best 1 T, one message \
               from the one who leaves to the one who enters; whoever must ask a third node pays 2 T.",
    },
    View {
        figure: Figure::Throughput,
        heading: "Throughput, saturated",
        y_label: "entries per unit of time",
        log_y: LogY::IfFar,
        text: "The law is 1 / (synchronisation delay + E), with E the time inside.",
    },
];

impl Page<'_> {
    pub(super) fn html(&self) -> String {
        let title = "Distributed mutual exclusion: claimed and measured";
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{title}</title>\n<style>\n{}{}</style>\n</head>\n<body>\n<main>\n\
             <h1>{title}</h1>\n{}{}{}{}{}</main>\n</body>\n</html>\n",
            include_str!("html/page.css"),
            look::sheet(self.algorithms),
            self.introduction(),
            self.legend(),
            self.plots(),
            self.figures(),
            self.diagrams(),
        )
    }

    fn introduction(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(usize::to_string).collect();
        let count = |sign: &str| self.rows.iter().filter(|row| row.verdict() == sign).count();
        let judged = self.rows.iter().filter(|row| row.holds.is_some()).count();
        let verdict = if judged == 0 {
            "The claims are for latency and section 1; under these settings they are shown, but \
             not judged."
                .to_string()
        } else {
            let failed = match count("✗") {
                0 => "<strong>none fails</strong>".to_string(),
                1 => "<strong class=\"outside\">1 does not hold</strong>".to_string(),
                n => format!("<strong class=\"outside\">{n} do not hold</strong>"),
            };
            format!(
                "Of {judged} claims, {} are met exactly, {} within 2 % or the interval, {} keep \
                 their bounds, and {failed}.",
                count("="),
                count("≈"),
                count("✓"),
            )
        };
        let algorithms = match self.algorithms {
            [one] => escaped(one.title),
            several => format!("{} algorithms", several.len()),
        };
        format!(
            "<p class=\"lead\">{algorithms}, simulated with N = {} nodes, each with a lone \
             requester, with one requester at a time, and saturated; every figure beside the one \
             that was published. Settings: {}. Times are in units of the message latency T. \
             {verdict}</p>\n<pre class=\"command\"><code>{}</code></pre>\n",
            nodes.join(", "),
            escaped(self.settings),
            escaped(self.command)
        )
    }

    fn legend(&self) -> String {
        let families = [Family::Central, Family::Permission, Family::Quorum, Family::Token];
        let mut items = String::new();
        for family in families {
            let members: Vec<_> = self.algorithms.iter().filter(|i| i.family == family).collect();
            if members.is_empty() {
                continue;
            }
            items += &format!("<div>\n<h3>{}</h3>\n<ul>\n", escaped(look::family(family)));
            for info in members {
                let look = Look::of(info);
                items += &format!(
                    "<li class=\"{}\">{}<span><b>{}</b> <small>{}</small></span></li>\n",
                    look.class,
                    look.shape.icon(&look.class, look.dash),
                    escaped(info.name),
                    escaped(info.paper)
                );
            }
            items += "</ul>\n</div>\n";
        }
        format!(
            "<section>\n<h2>Algorithms</h2>\n<div class=\"legend\">\n{items}</div>\n\
             <p class=\"hint\">A broad pale line is the published formula, a pale area lies between \
             published bounds, a whisker is a 95 % interval. Where lines coincide they take turns, \
             and markers of equal values stand side by side. Point at a line, a name or a marker to \
             single it out.</p>\n</section>\n"
        )
    }

    fn plots(&self) -> String {
        let figure = |view: &View| {
            format!(
                "<figure>\n<h3>{}</h3>\n{}<figcaption>{}</figcaption>\n</figure>\n",
                escaped(view.heading),
                self.plot(view).svg(),
                escaped(view.text)
            )
        };
        let figures: String = VIEWS.iter().map(figure).collect();
        format!("<section>\n<h2>Plots over N</h2>\n{figures}</section>\n")
    }

    fn plot(&self, view: &View) -> Plot {
        let mut nodes = self.nodes.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        Plot {
            title: view.heading.into(),
            x_label: "nodes N",
            y_label: view.y_label,
            x_ticks: nodes.iter().map(|&n| n as f64).collect(),
            log_y: view.log_y,
            series: self.algorithms.iter().map(|i| self.series(i, &nodes, view.figure)).collect(),
        }
    }

    fn series(&self, info: &Info, nodes: &[usize], figure: Figure) -> Series {
        let look = Look::of(info);
        let rows = nodes.iter().filter_map(|&n| Row::find(self.rows, info.name, n, figure));
        let mut series = Series {
            class: look.class,
            label: info.name.into(),
            shape: look.shape,
            dash: look.dash,
            points: Vec::new(),
            expected: Vec::new(),
            band: Vec::new(),
        };
        for row in rows {
            let x = row.nodes as f64;
            if let Some(measured) = row.measured {
                let (y, spread) = (measured.mean, measured.half_width);
                series.points.push(Point { x, y, spread, tooltip: tooltip(row) });
            }
            if let Some(claim) = &row.claim {
                match claim.typical {
                    Some(typical) => series.expected.push((x, typical)),
                    None => series.band.push((x, claim.low, claim.high)),
                }
            }
        }
        series
    }

    fn diagrams(&self) -> String {
        let figure = |Diagram { info, svg, command }: &Diagram| {
            let idea = info.idea.split_inclusive(". ").next().unwrap_or_default().trim_end();
            format!(
                "<figure class=\"diagram\">\n<h3>{}</h3>\n<p>{}</p>\n\
                 <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{} in space and time\">\
                 \n{svg}</div>\n<figcaption><code>{}</code></figcaption>\n</figure>\n",
                escaped(info.title),
                escaped(idea),
                escaped(info.title),
                escaped(command)
            )
        };
        let figures: String = self.diagrams.iter().map(figure).collect();
        format!(
            "<section>\n<h2>In space and time</h2>\n<p>A short run of each: four nodes, a few \
             entries, messages that take 0.6 to 1.4 units. Point at an arrow or a bar to see what \
             it is.</p>\n{figures}</section>\n"
        )
    }
}

fn tooltip(row: &Row) -> String {
    let mut text = format!("{}, N = {}: {}", row.algorithm, row.nodes, measured(row));
    if let Some(claim) = &row.claim {
        text += &format!("\nclaim {} = {}", claim.text, table::values(claim));
    }
    let sign = row.verdict();
    if !sign.is_empty() {
        text += &format!("  {sign}");
    }
    text
}

/// The mean with its interval, if it has one.
fn measured(row: &Row) -> String {
    match row.measured {
        None => "–".into(),
        Some(estimate) if estimate.half_width < 5e-4 => number(estimate.mean),
        Some(estimate) => format!("{} ± {}", number(estimate.mean), number(estimate.half_width)),
    }
}
