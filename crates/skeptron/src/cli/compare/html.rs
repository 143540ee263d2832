//! A comparison as one self-contained page.

use skeptron_core::catalogue::Info;
use skeptron_markup::escaped;

use super::Diagram;
use super::plot::{LogY, Plot, Series};
use crate::ask::compare::{Figure, Judged, Row};
use look::Look;

pub(super) mod frame;
pub(super) mod look;
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

const VIEWS: [View; 8] = [
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
    View {
        figure: Figure::LongestBypass,
        heading: "Longest bypass, saturated",
        y_label: "entries of others during one wait",
        log_y: LogY::IfFar,
        text: "How many entries of others one node had to watch while it waited. Whoever serves in turn \
               lets N − 1 others pass; more means that somebody was overtaken.",
    },
    View {
        figure: Figure::LoadBalance,
        heading: "Load balance, saturated",
        y_label: "busiest node over the mean",
        log_y: LogY::IfFar,
        text: "Messages that the busiest node sent and received, over the mean of all nodes: 1 is even, \
               N/2 is one node that has a part in everything.",
    },
];

impl Page<'_> {
    pub(super) fn html(&self) -> String {
        let parts = [
            self.introduction(),
            frame::legend(self.algorithms),
            self.plots(),
            self.figures(),
            frame::diagrams(
                self.diagrams,
                "A short run of each: four nodes, a few entries, messages that take 0.6 to 1.4 units. \
                 Point at an arrow or a bar to see what it is.",
            ),
        ];
        let title = "Distributed mutual exclusion: claimed and measured";
        frame::document(title, &look::sheet(self.algorithms), &parts.concat())
    }

    fn introduction(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(usize::to_string).collect();
        let judged: Vec<&Judged> = self.rows.iter().map(|row| &row.judged).collect();
        let verdict = frame::verdict(&judged)
            .unwrap_or_else(|| "None of the claims is made for these settings.".into());
        format!(
            "<p class=\"lead\">{}, simulated with N = {} nodes, each with a lone \
             requester, with one requester at a time, and saturated; every figure beside the one \
             that was published. Settings: {}. Times are in units of the message latency T. \
             {verdict}</p>\n<pre class=\"command\"><code>{}</code></pre>\n",
            frame::subject(self.algorithms),
            nodes.join(", "),
            escaped(self.settings),
            escaped(self.command)
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
        let mut series = Look::of(info).series(info.name);
        for &n in nodes {
            if let Some(judged) = Row::find(self.rows, info.name, n, figure) {
                frame::add_point(&mut series, n, info.name, judged);
            }
        }
        series
    }
}
