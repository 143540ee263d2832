//! `skeptron compare`.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use indicatif::ParallelProgressIterator as _;
use rayon::prelude::*;
use skeptron_core::catalogue::{self, Info};

use super::sim::{SimArgs, progress_bar, quoted};
use super::system::SystemArgs;
use super::{Verdict, names, textbook};
use measure::{Job, Row};

mod html;
mod measure;
mod plot;
mod print;

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  skeptron compare
  skeptron compare raymond naimi-trehel -n 10,100,1000
  skeptron compare --html report.html      plots over N and a space-time diagram of each
  skeptron compare --csv > figures.csv

Each algorithm runs with a lone requester (first entry, then re-entry), with one uniformly chosen
requester at a time, and saturated. The claims hold exactly for constant latency 1.

Exit codes: 0 every claim holds, 1 one does not, 2 bad input.")]
pub(crate) struct CompareArgs {
    /// Which algorithms [default: all correct ones]
    algorithms: Vec<String>,
    /// How many nodes, several separated by commas
    /// [default: 4,16,64; with --html 2,4,8,16,32,64,128]
    #[arg(short = 'n', long, value_delimiter = ',', value_name = "N,…")]
    nodes: Vec<usize>,
    /// How long a message takes, as in `sim`; the claims are for the constant 1
    #[arg(long, default_value = "1", value_name = "DIST")]
    latency: String,
    /// How long a node stays inside
    #[arg(long, default_value = "1", value_name = "DIST")]
    section: String,
    /// How many entries to measure where figures converge [default: 20 per node, 400 … 4000]
    #[arg(long, value_name = "M")]
    entries: Option<u64>,
    /// How many independent seeds where there is chance
    #[arg(long, default_value_t = 10, value_name = "K")]
    seeds: u64,
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
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let algorithms = self.algorithms()?;
        let nodes = self.node_counts()?;
        ensure!(self.seeds > 0, "--seeds is 0; at least one run is needed");
        // Made before a long run rather than missed after it.
        let page_file = self.html.as_ref().map(create).transpose()?;
        let jobs: Vec<Job> = algorithms
            .iter()
            .flat_map(|&info| nodes.iter().map(move |&nodes| (info, nodes)))
            .flat_map(|(info, nodes)| Job::all(info, nodes))
            .collect();
        let progress = progress_bar(jobs.len() as u64);
        let rows: Vec<Vec<Row>> = jobs
            .par_iter()
            .progress_with(progress.clone())
            .map(|job| job.measure(&self))
            .collect::<Result<_>>()?;
        progress.finish_and_clear();
        let rows: Vec<Row> = rows.into_iter().flatten().collect();
        // Before the table: who reads that may stop early.
        if let Some((name, mut file)) = page_file {
            let diagrams =
                algorithms.iter().map(|info| diagram(info)).collect::<Result<Vec<_>>>()?;
            let page = html::Page {
                algorithms: &algorithms,
                nodes: &nodes,
                rows: &rows,
                diagrams: &diagrams,
                settings: &self.settings(),
                command: &self.command(&nodes),
            };
            file.write_all(page.html().as_bytes()).context(name)?;
        }
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
        } else if self.csv {
            print::csv(&rows, out)?;
        } else {
            print::table(&algorithms, &nodes, &rows, out)?;
        }
        let missed = rows.iter().any(|row| row.holds == Some(false));
        Ok(if missed { Verdict::Violated } else { Verdict::Fine })
    }

    fn algorithms(&self) -> Result<Vec<&'static Info>> {
        if self.algorithms.is_empty() {
            return Ok(catalogue::sound().collect());
        }
        let known = |name: &String| {
            let info = names::mutex(name)?;
            match info.broken {
                None => Ok(info),
                Some(_) => bail!("{name} is broken on purpose and has no figures to compare"),
            }
        };
        self.algorithms.iter().map(known).collect()
    }

    fn node_counts(&self) -> Result<Vec<usize>> {
        if let Some(nodes) = self.nodes.iter().find(|&&nodes| nodes < 2) {
            bail!("-n {nodes}: comparing needs at least 2 nodes");
        }
        Ok(match (self.nodes.is_empty(), &self.html) {
            (false, _) => self.nodes.clone(),
            (true, None) => vec![4, 16, 64],
            (true, Some(_)) => vec![2, 4, 8, 16, 32, 64, 128],
        })
    }

    /// What all runs have in common, in words.
    fn settings(&self) -> String {
        format!(
            "latency {}, section {}, FIFO channels, {} seeds where there is chance",
            self.latency, self.section, self.seeds
        )
    }

    /// The command that makes the same page again.
    fn command(&self, nodes: &[usize]) -> String {
        let nodes: Vec<String> = nodes.iter().map(usize::to_string).collect();
        let mut words = vec!["skeptron".to_string(), "compare".into()];
        words.extend(self.algorithms.iter().cloned());
        words.extend(["-n".into(), nodes.join(",")]);
        let mut option = |name: &str, value: &str, default: &str| {
            if value != default {
                words.extend([name.to_string(), value.to_string()]);
            }
        };
        option("--latency", &self.latency, "1");
        option("--section", &self.section, "1");
        option("--entries", &self.entries.map(|m| m.to_string()).unwrap_or_default(), "");
        option("--seeds", &self.seeds.to_string(), "");
        let path = self.html.as_ref().map(|path| path.display().to_string());
        option("--html", &path.unwrap_or_default(), "");
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The options of a `sim` with these settings.
    fn sim(&self, info: &Info, nodes: usize) -> Result<SimArgs> {
        let mut args = SimArgs::parse(info.name)?;
        args.system = SystemArgs { nodes: Some(nodes), ..SystemArgs::default() };
        args.latency.clone_from(&self.latency);
        args.section = Some(self.section.clone());
        Ok(args)
    }
}

fn create(path: &PathBuf) -> Result<(String, File)> {
    let name = format!("--html {}", path.display());
    let file = File::create(path).with_context(|| name.clone())?;
    Ok((name, file))
}

/// A short run of an algorithm as a space-time diagram.
struct Diagram {
    info: &'static Info,
    svg: String,
    /// Makes the same run again.
    command: String,
}

fn diagram(info: &'static Info) -> Result<Diagram> {
    let mut trace = textbook::run_of(info)?.trace()?;
    // The page says it, where one can copy it.
    let command = trace.header.command.take().unwrap_or_default();
    let mut svg = Vec::new();
    trace.write(skeptron_sim::trace::Format::Svg, &mut svg)?;
    Ok(Diagram { info, svg: String::from_utf8(svg)?, command })
}
