//! `skeptron quorum`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Args;
use indicatif::ProgressBar;
use skeptron_core::NodeId;
use skeptron_quorum::{Construction, System};
use skeptron_quorum_analysis::best::Built;
use skeptron_quorum_analysis::failure::Sampling;
use skeptron_quorum_analysis::picture::{self, Picture};
use skeptron_quorum_analysis::report::Question;

use super::sim::quoted;
use super::{Verdict, names};
pub(crate) use answer::{Answer, Subject};
use source::Source;

mod answer;
mod print;
pub(crate) mod source;

/// With which probability a node has failed if nothing else is said.
pub(crate) const DEFAULT_P: f64 = 0.1;

#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "Examples:
  skeptron quorum projective -n 13           Maekawa's planes; folded where N has none
  skeptron quorum projective --order 4       exactly the plane of order 4: 21 nodes
  skeptron quorum wall --rows 1,2,3,4 --svg wall.svg
  skeptron quorum weighted --weights 3,1,1,1,1 --p 0.05
  skeptron quorum best -n 20                 all constructions side by side
  skeptron quorum my.quorums --json          any system, from a file
  skeptron quorum --check my.quorums         do they meet?
  skeptron sim maekawa --quorum wall:1,2,3,4 the same names, with a colon, in `sim` and `check`

Constructions: singleton, all, majority, weighted, grid, cyclic, projective, triangle, wall, tree,
hierarchical, maekawa-13, fano.

A file has a line of members for each node (`1: 1 2 4`, or the members alone), or a line `nodes 7`
and then any quorums, a line each; or JSON: [[1,2],[2,3],[1,3]] or what --json writes.

Exit codes: 0 fine, 1 two quorums do not meet, 2 bad input.")]
pub(crate) struct QuorumArgs {
    /// A construction (see below), `best`, or a file
    #[arg(value_name = "KIND|FILE", required_unless_present = "check")]
    pub(crate) kind: Option<String>,
    /// How many nodes, where the rest does not say it
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = names::whole::<usize>)]
    pub(crate) nodes: Option<usize>,
    /// Widths of the rows of a `wall`, from the top
    #[arg(long, value_name = "W,…", value_delimiter = ',', allow_negative_numbers = true)]
    #[arg(value_parser = names::whole::<usize>, help_heading = "Construction")]
    pub(crate) rows: Option<Vec<usize>>,
    /// Weights of the nodes in `weighted`
    #[arg(long, value_name = "W,…", value_delimiter = ',', allow_negative_numbers = true)]
    #[arg(value_parser = names::whole::<u64>, help_heading = "Construction")]
    pub(crate) weights: Option<Vec<u64>>,
    /// Height of a `tree` or of `hierarchical`
    #[arg(long, value_name = "H", allow_negative_numbers = true)]
    #[arg(value_parser = names::whole::<u32>, help_heading = "Construction")]
    pub(crate) height: Option<u32>,
    /// Order of the plane in `projective`: a prime power
    #[arg(long, value_name = "Q", allow_negative_numbers = true)]
    #[arg(value_parser = names::whole::<usize>, help_heading = "Construction")]
    pub(crate) order: Option<usize>,
    /// Only check whether the quorums of this file meet, and conditions 2–4
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kind", "rows", "weights", "height", "order"])]
    pub(crate) check: Option<String>,
    /// With which probability each node has failed, for the failure probability
    #[arg(long, value_name = "P", default_value_t = DEFAULT_P, allow_negative_numbers = true)]
    #[arg(value_parser = names::real, help_heading = "Analysis")]
    pub(crate) p: f64,
    /// How many requests each node can serve in a unit of time: gives the capacity
    #[arg(long, value_name = "C,…", value_delimiter = ',', allow_negative_numbers = true)]
    #[arg(value_parser = names::real, help_heading = "Analysis")]
    pub(crate) capacities: Option<Vec<f64>>,
    /// How long each node takes to answer: gives the expected latency
    #[arg(long, value_name = "T,…", value_delimiter = ',', allow_negative_numbers = true)]
    #[arg(value_parser = names::real, help_heading = "Analysis")]
    pub(crate) latencies: Option<Vec<f64>>,
    /// How many samples where the failure probability cannot be computed
    #[arg(long, value_name = "M", default_value_t = Sampling::default().samples)]
    #[arg(value_parser = names::whole::<u64>, help_heading = "Analysis")]
    pub(crate) samples: u64,
    /// Seed of these samples
    #[arg(long, value_name = "S", default_value_t = Sampling::default().seed)]
    #[arg(value_parser = names::whole::<u64>, help_heading = "Analysis")]
    pub(crate) seed: u64,
    /// Which picture: matrix, grid, wall, tree, hierarchy, triangle, plane, circle, votes, or none
    /// [default: what suits the system]
    #[arg(long, value_name = "PICTURE", help_heading = "Output")]
    pub(crate) picture: Option<String>,
    /// Whose quorum the picture shows [default: one that shows it well]
    #[arg(long, value_name = "NODE", help_heading = "Output")]
    pub(crate) of: Option<String>,
    /// Write the picture to a file, as SVG
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) svg: Option<PathBuf>,
    /// All quorums and the whole strategy, however long
    #[arg(long, help_heading = "Output")]
    pub(crate) all: bool,
    /// As JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

impl QuorumArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        if let Some(path) = &self.check {
            return self.check(path, out);
        }
        ensure!(self.samples > 0, "--samples is 0; at least one is needed");
        let subject = self.subject()?;
        let system = subject.system()?;
        // Before long work rather than after it.
        let text = system.map_or(Ok(String::new()), |system| self.draw(system))?;
        // Large systems take seconds each.
        let spinner = ProgressBar::new_spinner();
        spinner.enable_steady_tick(Duration::from_millis(100));
        let say = |name: &str| spinner.set_message(name.to_owned());
        let answer = subject.analyse(&self.question(), say);
        spinner.finish_and_clear();
        self.say(&answer?, &text, out)
    }

    /// What is asked about.
    ///
    /// # Errors
    /// If there is no such system.
    pub(crate) fn subject(&self) -> Result<Subject> {
        match &self.source()? {
            // Read once: it may be a pipe.
            Source::File(path) => Subject::of_file(path, source::family(path, self.nodes)?),
            source @ Source::Best => Ok(Subject::All(Built::of(self.nodes_of(source)?))),
            source => Ok(Subject::System(source.system(self.nodes_of(source)?)?)),
        }
    }

    fn say(&self, answer: &Answer, picture: &str, out: &mut impl Write) -> Result<Verdict> {
        let verdict = match answer.report.conditions.violation {
            Some(_) => Verdict::Violated,
            None => Verdict::Fine,
        };
        if self.json {
            writeln!(out, "{}", print::compact(answer)?)?;
            return Ok(verdict);
        }
        if let Some(compared) = &answer.compared {
            print::comparison(answer.report.nodes, compared, self.p, out)?;
            writeln!(out)?;
        }
        print::report(&answer.report, self.all, out)?;
        if !picture.is_empty() {
            write!(out, "\n{picture}")?;
        }
        Ok(verdict)
    }

    /// How many nodes are asked about.
    ///
    /// # Errors
    /// If nothing says it.
    pub(crate) fn size(&self) -> Result<usize> {
        self.nodes_of(&self.source()?)
    }

    fn nodes_of(&self, source: &Source) -> Result<usize> {
        let own = || source.nodes().transpose();
        self.nodes.map(Ok).or_else(own).unwrap_or_else(|| {
            Err(anyhow!("how many nodes? add -n, as in `skeptron quorum {} -n 13`", self.typed()))
        })
    }

    /// Writes the picture to its file, and returns it as text. What does not fit a terminal is left out
    /// unless that is what was asked for.
    fn draw(&self, system: &System) -> Result<String> {
        let Some((picture, highlight)) = self.picture(system)? else {
            ensure!(self.svg.is_none(), "--svg needs a picture; leave out --picture none");
            return Ok(String::new());
        };
        let chosen = self.picture.is_some();
        if let Some(path) = &self.svg {
            let svg = picture::svg(system, picture, highlight)?;
            fs::write(path, svg).with_context(|| path.display().to_string())?;
        }
        match picture::text(system, picture, highlight) {
            // Long ones would push the figures off the screen.
            Ok(text) if !chosen && text.lines().count() > 24 => Ok(String::new()),
            Ok(text) => Ok(text),
            Err(error) if chosen && self.svg.is_none() => Err(anyhow!("{error}, with --svg FILE")),
            Err(_) => Ok(String::new()),
        }
    }

    /// Which picture to draw, and whose quorum to show in it; `None` if none is wanted.
    ///
    /// # Errors
    /// If it is unknown, or does not fit the system.
    pub(crate) fn picture(&self, system: &System) -> Result<Option<(Picture, Option<NodeId>)>> {
        let highlight = self.highlight(system.nodes())?;
        let picture = match self.picture.as_deref() {
            Some("none") => return Ok(None),
            Some(name) => name.parse::<Picture>().map_err(|unknown| {
                let known = Picture::ALL.into_iter().map(Picture::name);
                anyhow!("{unknown}{}", names::did_you_mean(name, known))
            })?,
            None => picture::best_for(system),
        };
        picture::fits(system, picture)?;
        Ok(Some((picture, highlight)))
    }

    fn check(&self, path: &str, out: &mut impl Write) -> Result<Verdict> {
        let family = source::family(path, self.nodes)?;
        let checked = print::Checked::of(path, &family);
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&checked)?)?;
        } else {
            checked.print(out)?;
        }
        Ok(if checked.conditions.intersecting { Verdict::Fine } else { Verdict::Violated })
    }

    /// The command that asks the same; what a file says is taken from `my.quorums`.
    pub(crate) fn command(&self) -> String {
        fn list<T: ToString>(values: &Option<Vec<T>>) -> Option<String> {
            let words = |values: &Vec<T>| values.iter().map(T::to_string).collect::<Vec<_>>();
            values.as_ref().map(|values| words(values).join(","))
        }
        let given = [
            ("-n", self.nodes.map(|nodes| nodes.to_string())),
            ("--rows", list(&self.rows)),
            ("--weights", list(&self.weights)),
            ("--height", self.height.map(|height| height.to_string())),
            ("--order", self.order.map(|order| order.to_string())),
            ("--p", (self.p != DEFAULT_P).then(|| self.p.to_string())),
            ("--capacities", list(&self.capacities)),
            ("--latencies", list(&self.latencies)),
            ("--picture", self.picture.clone()),
            ("--of", self.of.clone()),
        ];
        let kind = self.kind.as_deref().unwrap_or("my.quorums");
        let mut words = vec!["skeptron".to_string(), "quorum".into(), quoted(kind)];
        for (option, value) in given {
            words.extend(value.map(|value| format!("{option} {}", quoted(&value))));
        }
        words.join(" ")
    }

    fn typed(&self) -> &str {
        self.kind.as_deref().unwrap_or_default()
    }

    /// The kind with its parameters.
    fn source(&self) -> Result<Source> {
        let typed = self.typed();
        let source = match (typed, &self.weights) {
            ("weighted", Some(weights)) => {
                Source::Construction(Construction::Weighted(weights.clone()))
            }
            ("weighted", None) => bail!(
                "`weighted` needs the weight of each node: add --weights, as in --weights 3,1,1"
            ),
            _ => Source::parse(typed)?,
        };
        let source = match source {
            Source::Construction(Construction::Wall(None)) => {
                Source::Construction(Construction::Wall(self.rows.clone()))
            }
            Source::Construction(Construction::Tree(None)) => {
                Source::Construction(Construction::Tree(self.height))
            }
            Source::Construction(Construction::Hierarchical(None)) => {
                Source::Construction(Construction::Hierarchical(self.height))
            }
            Source::Construction(Construction::Projective(None)) => {
                Source::Construction(Construction::Projective(self.order))
            }
            other => other,
        };
        let name = match &source {
            Source::Construction(construction) => construction.name(),
            Source::Best => "best",
            Source::File(_) => "a file",
        };
        for (option, is_given, takers) in [
            ("--rows", self.rows.is_some(), &["wall"][..]),
            ("--weights", self.weights.is_some(), &["weighted"]),
            ("--height", self.height.is_some(), &["tree", "hierarchical"]),
            ("--order", self.order.is_some(), &["projective"]),
        ] {
            ensure!(
                !is_given || takers.contains(&name),
                "{typed} takes no {option}; it goes with {}",
                takers.join(" and ")
            );
            ensure!(
                !is_given || !typed.contains(':'),
                "`{typed}` says it already; leave out {option}"
            );
        }
        Ok(source)
    }

    /// What to find out.
    pub(crate) fn question(&self) -> Question {
        Question {
            p: self.p,
            sampling: Sampling { samples: self.samples, seed: self.seed },
            capacities: self.capacities.clone(),
            latencies: self.latencies.clone(),
        }
    }

    fn highlight(&self, nodes: usize) -> Result<Option<NodeId>> {
        let Some(text) = &self.of else { return Ok(None) };
        let node = names::node(text).context("--of")?;
        ensure!(node.index() < nodes, "--of names {node}, but there are only {nodes} nodes");
        Ok(Some(node))
    }
}
