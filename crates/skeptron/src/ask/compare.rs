//! What can be compared: claims beside measurements.

use anyhow::{Result, bail, ensure};
use clap::Args;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use skeptron_core::catalogue::{self, Algorithm, Entry, Info, Layout};
use ts_rs::TS;

use super::{Files, Request, SimOptions, SystemArgs, names, unasked};
pub(crate) use audience::Audience;
pub use curve::{CompareCurve, CurvePoint};
pub use estimate::Estimate;
pub use judged::{Claimed, CompareRow, Judged, NotCompared};
pub(crate) use measure::{Figure, Job, Row};

mod audience;
mod curve;
pub(crate) mod election;
mod estimate;
mod judged;
mod measure;

/// What `skeptron compare` is asked.
#[derive(Args, Clone, Debug, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct CompareRequest {
    /// Compare elections
    #[arg(long, conflicts_with_all = ["latency", "section", "entries"])]
    #[ts(as = "Option<_>")]
    pub(crate) elections: bool,
    /// Which algorithms [default: all correct ones]
    #[ts(as = "Option<_>")]
    pub(crate) algorithms: Vec<String>,
    /// How many nodes, several separated by commas
    /// [default: 4,16,64; of elections 4,8,16; with --html 2,4,8,16,32,64,128]
    #[arg(short = 'n', long, value_delimiter = ',', value_name = "N,…")]
    pub(crate) nodes: Vec<usize>,
    /// Quorums for `maekawa`, `sanders` and `cao-singhal`, as in `sim` [default: cyclic]
    #[arg(long, value_name = "KIND|FILE", conflicts_with = "elections")]
    pub(crate) quorum: Option<String>,
    /// Tree for `raymond` and `neilsen-mizuno`, as in `sim` [default: balanced:2]
    #[arg(long, value_name = "KIND|FILE", conflicts_with = "elections")]
    pub(crate) tree: Option<String>,
    /// How long a message takes, as in `sim`; many claims are for a constant
    #[arg(long, default_value = "1", value_name = "DIST")]
    #[ts(as = "Option<_>")]
    pub(crate) latency: String,
    /// How long a node stays inside
    #[arg(long, default_value = "1", value_name = "DIST")]
    #[ts(as = "Option<_>")]
    pub(crate) section: String,
    /// How many entries to measure where figures converge [default: 20 per node, 400 … 4000]
    #[arg(long, value_name = "M")]
    pub(crate) entries: Option<u64>,
    /// How many independent seeds where there is chance [default: 10; of elections 1000]
    #[arg(long, value_name = "K")]
    pub(crate) seeds: Option<u64>,
}

impl Default for CompareRequest {
    fn default() -> Self {
        unasked()
    }
}

impl Request for CompareRequest {
    const COMMAND: &'static str = "compare";

    fn in_full(&self) -> Self {
        CompareRequest { nodes: self.node_counts(), seeds: Some(self.seeds()), ..self.clone() }
    }
}

impl CompareRequest {
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
    pub(crate) fn measure(
        &self,
        jobs: &[Job],
        audience: &Audience<'_, Row>,
        files: Files,
    ) -> Result<Vec<Row>> {
        audience.attend(jobs, |job| job.measure(self, audience.stop, files))
    }

    /// What is claimed between the sizes that are measured.
    ///
    /// # Errors
    /// As [`CompareRequest::jobs`].
    pub(crate) fn curves(&self, files: Files) -> Result<Vec<CompareCurve>> {
        let sizes = curve::sizes(&self.node_counts());
        let curves = |info: &'static Info| {
            let mut curves = Vec::new();
            for &nodes in &sizes {
                for job in Job::all(info, nodes) {
                    // Between the sizes that are measured there may be no such layout.
                    let Ok(claims) = job.claims(self, files) else { continue };
                    for (figure, claimed) in claims {
                        let point = (nodes, claimed);
                        CompareCurve::add(&mut curves, (info.name, None), figure.name(), point);
                    }
                }
            }
            curves
        };
        let all: Vec<Vec<CompareCurve>> = self.algorithms()?.into_par_iter().map(curves).collect();
        Ok(all.into_iter().flatten().collect())
    }

    /// Those that are compared.
    ///
    /// # Errors
    /// If one is unknown, broken, or elects.
    pub(crate) fn algorithms(&self) -> Result<Vec<&'static Info>> {
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

    /// The sizes that are measured.
    pub(crate) fn node_counts(&self) -> Vec<usize> {
        match (&self.nodes[..], self.elections) {
            ([], false) => vec![4, 16, 64],
            ([], true) => vec![4, 8, 16],
            (given, _) => given.to_vec(),
        }
    }

    /// How many seeds where there is chance: an election is short, and its mean has to be told from
    /// others.
    pub(crate) fn seeds(&self) -> u64 {
        self.seeds.unwrap_or(if self.elections { 1000 } else { 10 })
    }

    /// The options of a `sim` with these settings.
    fn sim(&self, info: &Info, nodes: usize) -> SimOptions {
        // Only where the algorithm has one: others would refuse it.
        let (quorum, tree) = match info.layout {
            Layout::Quorums | Layout::Structure => (self.quorum.clone(), None),
            Layout::Tree => (None, self.tree.clone()),
            _ => (None, None),
        };
        SimOptions {
            algorithm: Some(info.name.into()),
            system: SystemArgs { nodes: Some(nodes), quorum, tree, ..SystemArgs::default() },
            latency: self.latency.clone(),
            section: Some(self.section.clone()),
            ..SimOptions::default()
        }
    }
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
