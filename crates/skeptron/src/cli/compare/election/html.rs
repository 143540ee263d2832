//! A comparison of elections as one self-contained page.

use skeptron_core::catalogue::ElectionInfo;
use skeptron_core::election::Case;
use skeptron_markup::escaped;

use super::super::Diagram;
use super::super::html::frame;
use super::super::html::look::{self, Coloured, Look};
use super::super::plot::marker::Shape;
use super::super::plot::{LogY, Plot, Series};
use crate::ask::compare::Judged;
use crate::ask::compare::election::{Figure, Row};

#[cfg(test)]
mod tests;

/// What a page is made of.
pub(super) struct Page<'a> {
    pub(super) algorithms: &'a [&'static ElectionInfo],
    pub(super) nodes: &'a [usize],
    pub(super) rows: &'a [Row],
    pub(super) diagrams: &'a [Diagram],
    /// How many random rings make a mean.
    pub(super) seeds: u64,
    /// Makes the same page again.
    pub(super) command: &'a str,
}

/// A plot with one line per algorithm: of its cases, the one that is extreme at each N.
struct View {
    heading: &'static str,
    y_label: &'static str,
    /// Messages, else time.
    messages: bool,
    most: bool,
    text: &'static str,
}

const VIEWS: [View; 3] = [
    View {
        heading: "Messages, the costliest case of each",
        y_label: "messages",
        messages: true,
        most: true,
        text: "All kinds of messages, in whichever of its published situations takes most. This is \
               where they part: up to N³ where all flood a complete network, N² where everybody asks \
               everybody, N log N where ids on a ring go no farther than they have to, and in proportion \
               to N where a list goes round twice.",
    },
    View {
        heading: "Messages, the cheapest case of each",
        y_label: "messages",
        messages: true,
        most: false,
        text: "The same in whichever situation takes least: in proportion to N for most, since \
               everybody has to hear of the leader.",
    },
    View {
        heading: "Time, the longest case of each",
        y_label: "call to everybody knows, in units of T",
        messages: false,
        most: true,
        text: "Who asks everybody at once is done in a few T, whatever N is; a ring takes its rounds.",
    },
];

/// Okabe and Ito's colours for the cases of one algorithm, on light and on dark ground.
const CASES: [(&str, &str); 8] = [
    ("#009e73", "#2fc598"),
    ("#d55e00", "#f0813d"),
    ("#0072b2", "#4aa8e0"),
    ("#b9528f", "#e39cc4"),
    ("#c98f00", "#f0b429"),
    ("#23272e", "#eceff3"),
    ("#39a0dc", "#a9dbf8"),
    ("#7d7a00", "#e6dc4e"),
];

impl Page<'_> {
    pub(super) fn html(&self) -> String {
        let cases = CASES.iter().enumerate().map(|(i, &(on_light, on_dark))| Coloured {
            class: case_class(i),
            on_light,
            on_dark,
        });
        let cases: Vec<Coloured> = cases.collect();
        let sheet = look::sheet(self.algorithms) + &look::rules(&cases);
        let parts = [
            self.introduction(),
            frame::legend(self.algorithms),
            self.overview(),
            self.cases(),
            self.figures(),
            frame::diagrams(
                self.diagrams,
                "A short run of each. Point at an arrow or a sign to see what it is.",
            ),
        ];
        frame::document("Elections: claimed and measured", &sheet, &parts.concat())
    }

    fn introduction(&self) -> String {
        let nodes: Vec<String> = self.nodes.iter().map(usize::to_string).collect();
        let judged: Vec<&Judged> = self.rows.iter().map(|row| &row.judged).collect();
        format!(
            "<p class=\"lead\">{}, simulated with N = {} nodes in each situation for which figures \
             were published, every figure beside the published one. Messages take 1 T, which is also \
             the bound that timers count in; means are over {} random rings. {}</p>\n\
             <pre class=\"command\"><code>{}</code></pre>\n",
            frame::subject(self.algorithms),
            nodes.join(", "),
            self.seeds,
            frame::verdict(&judged).unwrap_or_default(),
            escaped(self.command)
        )
    }

    /// The marks of the horizontal axis.
    fn sizes(&self) -> Vec<usize> {
        let mut nodes = self.nodes.to_vec();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    fn plot(&self, title: &str, y_label: &'static str, series: Vec<Series>) -> Plot {
        Plot {
            title: title.into(),
            x_label: "nodes N",
            y_label,
            x_ticks: self.sizes().iter().map(|&n| n as f64).collect(),
            log_y: LogY::IfFar,
            series,
        }
    }

    fn overview(&self) -> String {
        let figure = |view: &View| {
            let series = self.algorithms.iter().map(|info| self.extremes(info, view)).collect();
            figure(view.heading, &self.plot(view.heading, view.y_label, series), view.text)
        };
        let figures: String = VIEWS.iter().map(figure).collect();
        format!("<section>\n<h2>All of them over N</h2>\n{figures}</section>\n")
    }

    fn extremes(&self, info: &ElectionInfo, view: &View) -> Series {
        let mut series = Look::of(info).series(info.name);
        for n in self.sizes() {
            let figures = info.claims.cases.iter().filter_map(|case| {
                let judged = self.of_all_kinds(info, case, n, view.messages)?;
                Some((case.name, judged, judged.measured?.mean))
            });
            let extreme = figures.reduce(|best, other| {
                let beyond = if view.most { other.2 > best.2 } else { other.2 < best.2 };
                if beyond { other } else { best }
            });
            if let Some((case, judged, _)) = extreme {
                frame::add_point(&mut series, n, &format!("{}, {case}", info.name), judged);
            }
        }
        series
    }

    /// Messages of all kinds, or time: what can be compared between algorithms.
    fn of_all_kinds(
        &self,
        info: &ElectionInfo,
        case: &Case,
        n: usize,
        messages: bool,
    ) -> Option<&Judged> {
        let figure = match (messages, case.counted) {
            (false, _) => Figure::Time,
            (true, []) => Figure::Messages,
            (true, _) => Figure::AllMessages,
        };
        Row::find(self.rows, info.name, case.name, n, figure)
    }

    /// A plot per algorithm with one line per case.
    fn cases(&self) -> String {
        let figure = |info: &&'static ElectionInfo| {
            let series = info.claims.cases.iter().enumerate().map(|(place, case)| {
                let mut series = case_look(place).series(case.name);
                for n in self.sizes() {
                    let found = Row::find(self.rows, info.name, case.name, n, Figure::Messages);
                    if let Some(judged) = found {
                        frame::add_point(&mut series, n, case.name, judged);
                    }
                }
                series
            });
            let plot = self.plot(info.title, "messages that the claim counts", series.collect());
            let said =
                info.claims.cases.iter().map(|case| format!("{}: {}.", case.name, case.when));
            figure(info.title, &plot, &said.collect::<Vec<_>>().join(" "))
        };
        let figures: String = self.algorithms.iter().map(figure).collect();
        format!("<section>\n<h2>Best, average and worst</h2>\n{figures}</section>\n")
    }

    fn figures(&self) -> String {
        let groups: String = self.algorithms.iter().map(|info| self.group(info)).collect();
        frame::figures("N nodes, H harmonic number.", self.nodes, &groups)
    }

    fn group(&self, info: &ElectionInfo) -> String {
        let mut rows = String::new();
        for case in info.claims.cases {
            for figure in Figure::ALL {
                let found = |&n: &usize| Row::find(self.rows, info.name, case.name, n, figure);
                let found: Vec<Option<&Judged>> = self.nodes.iter().map(found).collect();
                if found.iter().any(Option::is_some) {
                    rows += &frame::row(&format!("{}: {}", case.name, figure.title(case)), &found);
                }
            }
        }
        frame::group(info, self.nodes.len(), &rows)
    }
}

fn figure(heading: &str, plot: &Plot, text: &str) -> String {
    format!(
        "<figure>\n<h3>{}</h3>\n{}<figcaption>{}</figcaption>\n</figure>\n",
        escaped(heading),
        plot.svg(),
        escaped(text)
    )
}

fn case_class(place: usize) -> String {
    format!("k-{}", place % CASES.len())
}

/// How the line of a case looks.
fn case_look(place: usize) -> Look {
    Look { class: case_class(place), shape: Shape::nth(place), dash: "" }
}
