//! What can be asked of a quorum system.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;
use skeptron_quorum::{Construction, Family, System, parse_file};
use skeptron_quorum_analysis::best::Built;
use skeptron_quorum_analysis::failure::Sampling;
use skeptron_quorum_analysis::picture::{self, Picture};
use skeptron_quorum_analysis::report::Question;
use ts_rs::TS;

use super::{Files, Request, names, unasked};
pub(crate) use answer::Subject;
pub use answer::{Answer, Compared};
use source::Source;

mod answer;
pub(crate) mod source;

/// With which probability a node has failed if nothing else is said.
const DEFAULT_P: f64 = 0.1;
/// Where the command line finds what was given as text.
const FILE: &str = "my.quorums";

/// What `skeptron quorum` is asked.
#[derive(Args, Clone, Debug, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct QuorumRequest {
    /// A construction (see below), `best`, or a file
    #[arg(value_name = "KIND|FILE")]
    pub(crate) kind: Option<String>,
    /// What a file says, where it is not read
    #[arg(skip)]
    pub(crate) text: Option<String>,
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
    /// With which probability each node has failed, for the failure probability
    #[arg(long, value_name = "P", default_value_t = DEFAULT_P, allow_negative_numbers = true)]
    #[arg(value_parser = names::real, help_heading = "Analysis")]
    #[ts(as = "Option<_>")]
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
    #[ts(as = "Option<_>")]
    pub(crate) samples: u64,
    /// Seed of these samples
    #[arg(long, value_name = "S", default_value_t = Sampling::default().seed)]
    #[arg(value_parser = names::whole::<u64>, help_heading = "Analysis")]
    #[ts(as = "Option<_>")]
    pub(crate) seed: u64,
    /// Which picture: matrix, grid, wall, tree, hierarchy, triangle, plane, circle, votes, or none
    /// [default: what suits the system]
    #[arg(long, value_name = "PICTURE", help_heading = "Output")]
    pub(crate) picture: Option<String>,
    /// Whose quorum the picture shows [default: one that shows it well]
    #[arg(long, value_name = "NODE", help_heading = "Output")]
    pub(crate) of: Option<String>,
}

impl Default for QuorumRequest {
    fn default() -> Self {
        unasked()
    }
}

impl Request for QuorumRequest {
    const COMMAND: &'static str = "quorum";

    fn in_full(&self) -> Self {
        let kind = self.kind.clone().or_else(|| self.text.is_some().then(|| FILE.into()));
        QuorumRequest { kind, text: None, ..self.clone() }
    }
}

impl QuorumRequest {
    /// What is asked about.
    ///
    /// # Errors
    /// If there is no such system.
    pub(crate) fn subject(&self, files: Files) -> Result<Subject> {
        ensure!(self.samples > 0, "--samples is 0; at least one is needed");
        if let Some(family) = self.pasted()? {
            return Subject::of_file(FILE, family);
        }
        match &self.source(files)? {
            // Read once: it may be a pipe.
            Source::File(path) => Subject::of_file(path, source::family(path, self.nodes, files)?),
            source @ Source::Best => Ok(Subject::All(Built::of(self.nodes_of(source, files)?))),
            source => Ok(Subject::System(source.system(self.nodes_of(source, files)?, files)?)),
        }
    }

    /// The sets of the text, if there is one, whether they meet or not.
    ///
    /// # Errors
    /// If it is malformed, or for another number of nodes.
    pub(crate) fn pasted(&self) -> Result<Option<Family>> {
        let Some(text) = &self.text else { return Ok(None) };
        let family = parse_file(text, self.nodes).context(FILE)?;
        let (own, wanted) = (family.nodes(), self.nodes.unwrap_or(family.nodes()));
        ensure!(wanted == own, "the quorums are for {own} nodes, not {wanted}; leave out -n");
        Ok(Some(family))
    }

    /// How many nodes are asked about; of a text, as many as the rest says.
    ///
    /// # Errors
    /// If nothing says it.
    pub(crate) fn size(&self, files: Files) -> Result<usize> {
        match self.text {
            Some(_) => Ok(self.nodes.unwrap_or(0)),
            None => self.nodes_of(&self.source(files)?, files),
        }
    }

    fn nodes_of(&self, source: &Source, files: Files) -> Result<usize> {
        let own = || source.nodes(files).transpose();
        self.nodes.map(Ok).or_else(own).unwrap_or_else(|| {
            Err(anyhow!("how many nodes? add -n, as in `skeptron quorum {} -n 13`", self.typed()))
        })
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

    fn typed(&self) -> &str {
        self.kind.as_deref().unwrap_or_default()
    }

    /// The kind with its parameters.
    fn source(&self, files: Files) -> Result<Source> {
        let typed = self.typed();
        let source = match (typed, &self.weights) {
            ("weighted", Some(weights)) => {
                Source::Construction(Construction::Weighted(weights.clone()))
            }
            ("weighted", None) => bail!(
                "`weighted` needs the weight of each node: add --weights, as in --weights 3,1,1"
            ),
            _ => Source::parse(typed, files)?,
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
