//! `skeptron compare`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use skeptron_core::catalogue::{Entry, Info};

use super::output::OutputFile;
use super::sim::progress_bar;
use super::{Verdict, interrupt, textbook};
use crate::ask::compare::Audience;
use crate::ask::{CompareRequest, Files, Request as _, SimOptions, quoted};

mod election;
mod html;
mod plot;
mod print;

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  skeptron compare
  skeptron compare raymond naimi-trehel -n 10,100,1000
  skeptron compare --html report.html      plots over N and a space-time diagram of each
  skeptron compare maekawa raymond --quorum grid --tree star
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
            let diagrams =
                algorithms.iter().map(|info| diagram(info)).collect::<Result<Vec<_>>>()?;
            let page = html::Page {
                algorithms: &algorithms,
                nodes: &nodes,
                rows: &rows,
                diagrams: &diagrams,
                settings: &self.settings(),
                command: &self.command(),
            };
            file.write(|out| out.write_all(page.html().as_bytes()))?;
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
        let layouts = [("quorums", &self.ask.quorum), ("tree", &self.ask.tree)];
        let chosen =
            |(what, kind): (&str, &Option<String>)| Some(format!("{what} {}, ", kind.as_ref()?));
        format!(
            "{}latency {}, section {}, FIFO channels, {} seeds where there is chance",
            layouts.into_iter().filter_map(chosen).collect::<String>(),
            self.ask.latency,
            self.ask.section,
            self.ask.seeds()
        )
    }

    /// The command that makes the same comparison again.
    fn command(&self) -> String {
        let html = self.html.as_ref().map(|path| quoted(&path.display().to_string()));
        let html = html.map_or(String::new(), |path| format!(" --html {path}"));
        self.ask.command() + &html
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
struct Diagram {
    title: &'static str,
    idea: &'static str,
    svg: String,
    /// Makes the same run again.
    command: String,
}

fn diagram(info: &'static Info) -> Result<Diagram> {
    drawn(info, textbook::run_of(info)?)
}

fn drawn<C>(info: &Entry<C>, run: SimOptions) -> Result<Diagram> {
    let mut trace = run.trace(Files::Disk)?;
    // The page says it, where one can copy it.
    let command = trace.header.command.take().unwrap_or_default();
    let mut svg = Vec::new();
    trace.write(skeptron_sim::trace::Format::Svg, &mut svg)?;
    Ok(Diagram { title: info.title, idea: info.idea, svg: String::from_utf8(svg)?, command })
}
