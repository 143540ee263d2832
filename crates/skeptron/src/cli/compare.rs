//! `skeptron compare`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use clap::Args;
use rayon::prelude::*;
use skeptron_core::catalogue::{self, Algorithm, Entry, Info, Layout};

use super::output::OutputFile;
use super::sim::{SimArgs, quoted};
use super::system::SystemArgs;
use super::{Verdict, interrupt, names, textbook};
pub(crate) use audience::Audience;
use audience::at_terminal;
pub(crate) use curve::Curve;
pub(crate) use judged::{Claimed, Judged, NotCompared};
pub(crate) use measure::{Job, Row};

mod audience;
mod curve;
pub(crate) mod election;
mod html;
mod judged;
mod measure;
mod plot;
mod print;

#[derive(Args, Clone, Debug, Default)]
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
    /// Which algorithms [default: all correct ones]
    pub(crate) algorithms: Vec<String>,
    /// Compare elections
    #[arg(long, conflicts_with_all = ["latency", "section", "entries"])]
    pub(crate) elections: bool,
    /// How many nodes, several separated by commas
    /// [default: 4,16,64; of elections 4,8,16; with --html 2,4,8,16,32,64,128]
    #[arg(short = 'n', long, value_delimiter = ',', value_name = "N,…")]
    pub(crate) nodes: Vec<usize>,
    /// Quorums for `maekawa` and `sanders`, as in `sim` [default: cyclic]
    #[arg(long, value_name = "KIND|FILE", conflicts_with = "elections")]
    pub(crate) quorum: Option<String>,
    /// Tree for `raymond`, as in `sim` [default: balanced:2]
    #[arg(long, value_name = "KIND|FILE", conflicts_with = "elections")]
    pub(crate) tree: Option<String>,
    /// How long a message takes, as in `sim`; many claims are for a constant
    #[arg(long, default_value = "1", value_name = "DIST")]
    pub(crate) latency: String,
    /// How long a node stays inside
    #[arg(long, default_value = "1", value_name = "DIST")]
    pub(crate) section: String,
    /// How many entries to measure where figures converge [default: 20 per node, 400 … 4000]
    #[arg(long, value_name = "M")]
    pub(crate) entries: Option<u64>,
    /// How many independent seeds where there is chance [default: 10; of elections 1000]
    #[arg(long, value_name = "K")]
    pub(crate) seeds: Option<u64>,
    /// As JSON
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// As comma-separated values
    #[arg(long)]
    pub(crate) csv: bool,
    /// Also write a self-contained report with plots and diagrams
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl CompareArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        self.check()?;
        if self.elections { election::run(&self, out) } else { self.run_mutexes(out) }
    }

    /// What is said of a comparison that was not finished.
    fn so_far(&self) -> &'static str {
        match self.html {
            Some(_) => "figures that were not measured are missing, and no page was written",
            None => "figures that were not measured are missing",
        }
    }

    fn run_mutexes(&self, out: &mut impl Write) -> Result<Verdict> {
        let algorithms = self.algorithms()?;
        let nodes = self.node_counts();
        // Made before a long run rather than missed after it.
        let page_file = self.html.as_deref().map(create).transpose()?;
        let jobs = self.jobs()?;
        let rows = at_terminal(jobs.len(), |audience| self.measure(&jobs, audience))?;
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
                command: &self.command(&nodes),
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

    /// Whether the numbers make sense.
    ///
    /// # Errors
    /// If there is nothing to compare.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(nodes) = self.nodes.iter().find(|&&nodes| nodes < 2) {
            bail!("-n {nodes}: comparing needs at least 2 nodes");
        }
        ensure!(self.seeds() > 0, "--seeds is 0; at least one run is needed");
        Ok(())
    }

    /// The scenarios to run, of mutual exclusion.
    ///
    /// # Errors
    /// If an algorithm is unknown, broken, or elects.
    pub(crate) fn jobs(&self) -> Result<Vec<Job>> {
        let nodes = self.node_counts();
        let algorithms = self.algorithms()?.into_iter();
        let pairs = algorithms.flat_map(|info| nodes.iter().map(move |&nodes| (info, nodes)));
        Ok(pairs.flat_map(|(info, nodes)| Job::all(info, nodes)).collect())
    }

    /// Runs them.
    ///
    /// # Errors
    /// If a setting is malformed, or the audience ends it.
    pub(crate) fn measure(&self, jobs: &[Job], audience: &Audience<'_, Row>) -> Result<Vec<Row>> {
        audience.attend(jobs, |job| job.measure(self, audience.stop))
    }

    /// What is claimed between the sizes that are measured.
    ///
    /// # Errors
    /// As [`CompareArgs::jobs`].
    pub(crate) fn curves(&self) -> Result<Vec<Curve>> {
        let sizes = curve::sizes(&self.node_counts());
        let curves = |info: &'static Info| {
            let mut curves = Vec::new();
            for &nodes in &sizes {
                for job in Job::all(info, nodes) {
                    // Between the sizes that are measured there may be no such layout.
                    let Ok(claims) = job.claims(self) else { continue };
                    for (figure, claimed) in claims {
                        let point = (nodes, claimed);
                        Curve::add(&mut curves, (info.name, None), figure.name(), point);
                    }
                }
            }
            curves
        };
        let all: Vec<Vec<Curve>> = self.algorithms()?.into_par_iter().map(curves).collect();
        Ok(all.into_iter().flatten().collect())
    }

    fn algorithms(&self) -> Result<Vec<&'static Info>> {
        if self.algorithms.is_empty() {
            return Ok(catalogue::sound().collect());
        }
        let known = |name: &String| match names::algorithm(name)? {
            Algorithm::Mutex(info) => sound(info),
            Algorithm::Election(_) => {
                bail!("{name} elects a leader; compare it with others by --elections")
            }
        };
        self.algorithms.iter().map(known).collect()
    }

    pub(crate) fn node_counts(&self) -> Vec<usize> {
        match (&self.nodes[..], &self.html, self.elections) {
            ([], Some(_), _) => vec![2, 4, 8, 16, 32, 64, 128],
            ([], None, false) => vec![4, 16, 64],
            ([], None, true) => vec![4, 8, 16],
            (given, ..) => given.to_vec(),
        }
    }

    /// How many seeds where there is chance: an election is short, and its mean has to be told from
    /// others.
    pub(crate) fn seeds(&self) -> u64 {
        self.seeds.unwrap_or(if self.elections { 1000 } else { 10 })
    }

    /// What all runs have in common, in words.
    fn settings(&self) -> String {
        let layouts = [("quorums", &self.quorum), ("tree", &self.tree)];
        let chosen =
            |(what, kind): (&str, &Option<String>)| Some(format!("{what} {}, ", kind.as_ref()?));
        format!(
            "{}latency {}, section {}, FIFO channels, {} seeds where there is chance",
            layouts.into_iter().filter_map(chosen).collect::<String>(),
            self.latency,
            self.section,
            self.seeds()
        )
    }

    /// The command that makes the same comparison again.
    pub(crate) fn command(&self, nodes: &[usize]) -> String {
        let nodes: Vec<String> = nodes.iter().map(usize::to_string).collect();
        let mut words = vec!["skeptron".to_string(), "compare".into()];
        words.extend(self.elections.then(|| "--elections".into()));
        words.extend(self.algorithms.iter().cloned());
        words.extend(["-n".into(), nodes.join(",")]);
        let mut option = |name: &str, value: &str, default: &str| {
            if value != default {
                words.extend([name.to_string(), value.to_string()]);
            }
        };
        option("--quorum", self.quorum.as_deref().unwrap_or_default(), "");
        option("--tree", self.tree.as_deref().unwrap_or_default(), "");
        option("--latency", &self.latency, "1");
        option("--section", &self.section, "1");
        option("--entries", &self.entries.map(|m| m.to_string()).unwrap_or_default(), "");
        option("--seeds", &self.seeds().to_string(), "");
        let path = self.html.as_ref().map(|path| path.display().to_string());
        option("--html", &path.unwrap_or_default(), "");
        words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
    }

    /// The options of a `sim` with these settings.
    fn sim(&self, info: &Info, nodes: usize) -> Result<SimArgs> {
        let mut args = SimArgs::parse(info.name)?;
        // Only where the algorithm has one: others would refuse it.
        let (quorum, tree) = match info.layout {
            Layout::Quorums | Layout::Structure => (self.quorum.clone(), None),
            Layout::Tree => (None, self.tree.clone()),
            _ => (None, None),
        };
        args.system = SystemArgs { nodes: Some(nodes), quorum, tree, ..SystemArgs::default() };
        args.latency.clone_from(&self.latency);
        args.section = Some(self.section.clone());
        Ok(args)
    }
}

fn create(path: &Path) -> Result<OutputFile> {
    OutputFile::create("--html", path)
}

/// The algorithm, if it has figures that hold.
fn sound<C>(info: &'static Entry<C>) -> Result<&'static Entry<C>> {
    ensure!(
        info.broken.is_none(),
        "{} is broken on purpose and has no figures to compare",
        info.name
    );
    Ok(info)
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

fn drawn<C>(info: &Entry<C>, run: SimArgs) -> Result<Diagram> {
    let mut trace = run.trace()?;
    // The page says it, where one can copy it.
    let command = trace.header.command.take().unwrap_or_default();
    let mut svg = Vec::new();
    trace.write(skeptron_sim::trace::Format::Svg, &mut svg)?;
    Ok(Diagram { title: info.title, idea: info.idea, svg: String::from_utf8(svg)?, command })
}
