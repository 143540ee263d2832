//! `skeptron compare`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use skeptron_core::catalogue::{Entry, Info};

use super::output::OutputFile;
use super::sim::progress_bar;
use super::{Verdict, interrupt, names, textbook};
use crate::ask::compare::{Audience, CompareCurve, CompareRow};
use crate::ask::{CompareRequest, Files, Request as _, SimOptions};
use crate::lab::standalone;
use crate::lab::wire::{CompareDiagram, CompareReport, CompareResult};

mod election;
mod print;

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  skeptron compare
  skeptron compare raymond naimi-trehel -n 10,100,1000
  skeptron compare --html report.html      plots over N and a space-time diagram of each
  skeptron compare maekawa raymond --quorum grid --tree star
  skeptron compare ricart-agrawala ./my_mutex.py -n 4,8     your own beside one of ours
  skeptron compare --csv > figures.csv
  skeptron compare --elections             best, average and worst case of each election
  skeptron compare --elections bully ring -n 4,8,16,32 --html elections.html

For mutual exclusion each algorithm runs with a lone requester (first entry, then re-entry), with one uniformly chosen
requester at a time, and saturated. A claim is judged where its conditions hold (`skeptron explain
NAME`); where they do not, it is said which. An election runs
in each situation for which figures are published (`skeptron explain NAME`), over random rings where
the figure is a mean.

Exit codes: 0 every claim holds, 1 one does not, 2 bad input.")]
pub(crate) struct CompareArgs {
    #[command(flatten)]
    ask: CompareRequest,
    /// As JSON
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// As comma-separated values
    #[arg(long)]
    csv: bool,
    /// Also write a self-contained report with plots and diagrams
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl CompareArgs {
    pub(crate) fn run(mut self, out: &mut impl Write) -> Result<Verdict> {
        self.ask.check()?;
        names::start_programs(&self.ask.algorithms)?;
        // A plot wants more points than a table.
        if self.html.is_some() && self.ask.nodes.is_empty() {
            self.ask.nodes = vec![2, 4, 8, 16, 32, 64, 128];
        }
        if self.ask.elections { election::run(&self, out) } else { self.run_mutexes(out) }
    }

    /// What is said of a comparison that was not finished.
    fn so_far(&self) -> &'static str {
        match self.html {
            Some(_) => "figures that were not measured are missing, and no page was written",
            None => "figures that were not measured are missing",
        }
    }

    fn run_mutexes(&self, out: &mut impl Write) -> Result<Verdict> {
        let algorithms = self.ask.algorithms()?;
        let nodes = self.ask.node_counts();
        // Made before a long run rather than missed after it.
        let page_file = self.html.as_deref().map(create).transpose()?;
        let jobs = self.ask.jobs()?;
        let rows =
            at_terminal(jobs.len(), |audience| self.ask.measure(&jobs, audience, Files::Disk))?;
        // Before the table: who reads that may stop early.
        if let Some(file) = page_file.filter(|_| !interrupt::came()) {
            let diagram = |info: &&'static Info| drawn(info, textbook::run_of(info)?);
            let diagrams = algorithms.iter().map(diagram).collect::<Result<_>>()?;
            self.write_page(file, &rows, (self.ask.curves(Files::Disk)?, diagrams))?;
        }
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        } else if self.csv {
            print::csv(&rows, out)?;
        } else {
            print::table(&algorithms, &nodes, &rows, out)?;
        }
        let missed = rows.iter().any(|row| row.judged.holds == Some(false));
        let verdict = if missed { Verdict::Violated } else { Verdict::Fine };
        Ok(interrupt::verdict(self.so_far(), verdict))
    }

    /// What all runs have in common, in words.
    fn settings(&self) -> String {
        let seeds = self.ask.seeds();
        if self.ask.elections {
            return format!(
                "latency 1, which is also the bound that timers count in, means over {seeds} random rings"
            );
        }
        let layouts = [("quorums", &self.ask.quorum), ("tree", &self.ask.tree)];
        let chosen =
            |(what, kind): (&str, &Option<String>)| Some(format!("{what} {}, ", kind.as_ref()?));
        format!(
            "{}latency {}, section {}, FIFO channels, {seeds} seeds where there is chance",
            layouts.into_iter().filter_map(chosen).collect::<String>(),
            self.ask.latency,
            self.ask.section,
        )
    }

    fn write_page<F: Clone + Serialize>(
        &self,
        file: OutputFile,
        rows: &[CompareRow<F>],
        (curves, diagrams): (Vec<CompareCurve>, Vec<CompareDiagram>),
    ) -> Result<()> {
        let result = CompareResult { rows: rows.to_vec(), curves, command: self.ask.command() };
        let (elections, settings) = (self.ask.elections, self.settings());
        let report = CompareReport { elections, settings, result, diagrams };
        let page = standalone::of_comparison(&report)?;
        file.write(|out| out.write_all(page.as_bytes()))
    }
}

/// Whoever sits at the terminal: a bar shows how many of the jobs are done, and Ctrl-C ends the work
/// with the rows that there are.
fn at_terminal<R>(
    jobs: usize,
    work: impl FnOnce(&Audience<'_, R>) -> Result<Vec<R>>,
) -> Result<Vec<R>> {
    let bar = progress_bar(jobs as u64);
    let rows = work(&Audience { hears: &|_| bar.inc(1), stop: interrupt::listen() });
    bar.finish_and_clear();
    rows
}

fn create(path: &Path) -> Result<OutputFile> {
    OutputFile::create("--html", path)
}

/// A short run of an algorithm as a space-time diagram.
fn drawn<C>(info: &Entry<C>, run: SimOptions) -> Result<CompareDiagram> {
    let mut trace = run.trace(Files::Disk)?;
    // The page says it, where one can copy it.
    let command = trace.header.command.take().unwrap_or_default();
    let mut svg = Vec::new();
    trace.write(skeptron_sim::trace::Format::Svg, &mut svg)?;
    Ok(CompareDiagram { algorithm: info.name.into(), svg: String::from_utf8(svg)?, command })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use skeptron_core::catalogue;

    use super::*;

    #[derive(clap::Parser)]
    struct Compare {
        #[command(flatten)]
        args: CompareArgs,
    }

    /// What a page of these options carries, and what is printed beside it.
    fn made(options: &str) -> (Value, Value) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report.html");
        let words = ["compare", "--json", "--html", path.to_str().unwrap()];
        let words = words.into_iter().chain(options.split(' '));
        let Compare { args } = <Compare as clap::Parser>::parse_from(words);
        let mut printed = Vec::new();
        args.run(&mut printed).unwrap();
        let page = std::fs::read_to_string(path).unwrap();
        let (_, answers) = page.split_once("id=\"answers\">").unwrap();
        let (answers, _) = answers.split_once("</script>").unwrap();
        let mut answers: Value = serde_json::from_str(answers).unwrap();
        (answers["/lab/compare"].take(), serde_json::from_slice(&printed).unwrap())
    }

    #[test]
    fn a_report_carries_the_figures_that_are_printed_and_a_diagram_of_each_algorithm() {
        for options in [
            "central raymond -n 2,4 --entries 40 --seeds 2",
            "--elections bully ring -n 3 --seeds 2",
        ] {
            let (report, printed) = made(options);
            assert_eq!(report["result"]["rows"], printed, "{options}");
            assert!(!report["result"]["curves"].as_array().unwrap().is_empty());
            let diagrams = report["diagrams"].as_array().unwrap();
            assert_eq!(diagrams.len(), 2);
            for diagram in diagrams {
                let command = format!("skeptron sim {} ", diagram["algorithm"].as_str().unwrap());
                assert!(diagram["command"].as_str().unwrap().starts_with(&command), "{command}");
                skeptron_markup::elements(diagram["svg"].as_str().unwrap()).unwrap();
            }
        }
    }

    /// Several diagrams share the page, so none may have names or rules that reach beyond it.
    #[test]
    fn diagrams_do_not_disturb_each_other() {
        for info in catalogue::sound().take(3) {
            let CompareDiagram { svg, .. } = drawn(info, textbook::run_of(info).unwrap()).unwrap();
            assert!(!svg.contains(" id="));
            let sheet = svg.split("<style>").nth(1).unwrap().split("</style>").next().unwrap();
            let selectors = sheet.split('}').filter_map(|rule| Some(rule.rsplit_once('{')?.0));
            for selector in selectors.flat_map(|list| list.split(',')) {
                let inner = selector.rsplit_once('{').map_or(selector, |(_, inner)| inner).trim();
                assert!(inner.starts_with(".sk "), "{inner}");
            }
        }
    }
}
