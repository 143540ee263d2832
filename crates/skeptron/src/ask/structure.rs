//! What can be asked of an information structure.

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;
use skeptron_core::topology::{Structure, StructureError};
use skeptron_quorum_analysis::structure::{Demands, Rates, optimise};
use ts_rs::TS;

use super::system::{MOST_STRUCTURED, STRUCTURES, SystemArgs};
use super::{Files, Request, names};
pub use report::{Delay, Delays, Load, Messages, Optimal, Report, Violation};

mod report;

/// How many nodes if nothing says otherwise.
const DEFAULT_NODES: usize = 5;
/// Where the command line finds what was given as text.
const FILE: &str = "mine.json";

/// What `skeptron structure` is asked.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct StructureRequest {
    /// lamport, ricart-agrawala, maekawa, sanders-4, star or star:NODE, or a JSON file with `request`
    /// and `inform` lists [default with --quorum: maekawa]
    #[arg(value_name = "PRESET|FILE")]
    pub(crate) what: Option<String>,
    /// What a file says, where it is not read
    #[arg(skip)]
    pub(crate) text: Option<String>,
    /// How many nodes [default: as many as the layout or the rates have, or 5]
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = names::whole::<usize>)]
    pub(crate) nodes: Option<usize>,
    /// The quorums of `maekawa`, as for `skeptron sim maekawa`: a kind or a file [default: cyclic]
    #[arg(long, value_name = "KIND|FILE")]
    pub(crate) quorum: Option<String>,
    /// How often each node asks, as in 5,1,1,1; only the ratios matter [default: all equally]
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) rates: Option<String>,
}

/// What `skeptron structure optimise` is asked.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize, TS)]
#[serde(default, deny_unknown_fields)]
#[ts(optional_fields)]
pub struct OptimiseRequest {
    /// How often each node asks, as in 5,1,1,1; only the ratios matter
    #[arg(long, value_name = "LIST", allow_hyphen_values = true)]
    pub(crate) rates: Option<String>,
    /// No node may be asked by others for more than this share of all entries
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true, value_parser = names::real)]
    pub(crate) busiest: Option<f64>,
    /// The synchronisation delay between nodes, weighted by how often they ask, may be at most so many
    /// latencies in the mean; it is between 1 and 2
    #[arg(long, value_name = "T", allow_negative_numbers = true, value_parser = names::real)]
    pub(crate) delay: Option<f64>,
}

impl Request for StructureRequest {
    const COMMAND: &'static str = "structure";

    fn in_full(&self) -> Self {
        let what = self.what.clone().or_else(|| self.text.is_some().then(|| FILE.into()));
        StructureRequest { what, text: None, ..self.clone() }
    }
}

impl Request for OptimiseRequest {
    const COMMAND: &'static str = "structure optimise";
}

impl OptimiseRequest {
    /// The best structure, and what there is to say of it.
    ///
    /// # Errors
    /// If the rates are malformed, or nothing meets the demands.
    pub(crate) fn search(&self, all_delays: bool) -> Result<(Structure, Report)> {
        let rates = rates(self.rates.as_deref().unwrap_or_default())?;
        let demands = Demands { busiest: self.busiest, delay: self.delay };
        let found = optimise(&rates, &demands)?;
        let mut report = Report::of("optimised", &found.structure, &rates, all_delays);
        report.optimal = Some(Optimal {
            proved: found.is_proved(),
            lower_bound: found.lower_bound,
            busiest: demands.busiest,
            delay: demands.delay,
        });
        Ok((found.structure, report))
    }
}

/// What was asked for: a structure, or what a file has in its place.
pub(crate) enum Found {
    Valid(Structure),
    Invalid(Lists, StructureError),
}

/// The lists of a file, valid or not.
#[derive(Clone, Deserialize)]
pub(crate) struct Lists {
    request: Vec<Vec<NodeId>>,
    inform: Vec<Vec<NodeId>>,
}

impl Found {
    /// How many nodes it is for.
    pub(crate) fn nodes(&self) -> usize {
        match self {
            Found::Valid(structure) => structure.nodes(),
            Found::Invalid(lists, _) => lists.request.len(),
        }
    }

    /// What there is to say of it, by that name.
    ///
    /// # Errors
    /// If the rates are not one for each node.
    pub(crate) fn report(
        self,
        name: &str,
        rates: Option<Rates>,
        all_delays: bool,
    ) -> Result<Report> {
        match self {
            Found::Valid(structure) => {
                let rates = matching(rates, structure.nodes())?;
                Ok(Report::of(name, &structure, &rates, all_delays))
            }
            Found::Invalid(lists, error) => {
                matching(rates, lists.request.len())?;
                let violation = Violation::of(&error, &lists);
                Ok(Report::of_invalid(name, lists, violation))
            }
        }
    }
}

impl StructureRequest {
    /// The structure, or what a file has in its place; its name, and the rates.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub(crate) fn found(&self, files: Files) -> Result<(Found, &str, Option<Rates>)> {
        let rates = self.rates.as_deref().map(rates).transpose()?;
        if let Some(text) = &self.text {
            return Ok((self.read(FILE, text)?, FILE, rates));
        }
        let name = self.name()?;
        Ok((self.find(name, rates.as_ref(), files)?, name, rates))
    }

    /// About how many nodes it may be, before anything of that size is built.
    ///
    /// # Errors
    /// If the layout is unknown.
    pub(crate) fn size(&self, files: Files) -> Result<usize> {
        let system = self.system(self.what.as_deref());
        let listed = self.rates.as_ref().map(|rates| rates.split(',').count());
        let known = [self.nodes, system.nodes_of_layout(files)?, listed];
        Ok(known.into_iter().flatten().max().unwrap_or(0))
    }

    fn system(&self, name: Option<&str>) -> SystemArgs {
        SystemArgs {
            nodes: self.nodes,
            quorum: self.quorum.clone(),
            structure: name.map(String::from),
            ..SystemArgs::default()
        }
    }

    fn name(&self) -> Result<&str> {
        match (&self.what, &self.quorum) {
            (Some(name), _) => Ok(name),
            (None, Some(_)) => Ok("maekawa"),
            (None, None) => {
                bail!(
                    "which structure? there are {}, or a file (see --help)",
                    STRUCTURES.join(", ")
                )
            }
        }
    }

    fn find(&self, name: &str, rates: Option<&Rates>, files: Files) -> Result<Found> {
        let is_preset = STRUCTURES.contains(&name) || name.starts_with("star:");
        if !is_preset && files.has(name) {
            ensure!(self.quorum.is_none(), "--quorum goes with maekawa, not with a file");
            return self.read(name, &files.read(name)?);
        }
        ensure!(
            is_preset,
            "there is no information structure `{name}`; there are {}{}{}",
            STRUCTURES.join(", "),
            files.or_a_file(),
            names::did_you_mean(name, STRUCTURES.into_iter().chain(["optimise"]))
        );
        let default = rates.map_or(DEFAULT_NODES, Rates::nodes);
        let setup = self.system(Some(name)).setup(names::mutex("sanders")?, default, files)?;
        let structure = setup.structure().context("sanders is laid out on a structure")?;
        Ok(Found::Valid(structure.clone()))
    }

    /// A file that is no structure is bad input; one that breaks a rule is judged.
    fn read(&self, path: &str, text: &str) -> Result<Found> {
        let lists: Lists = serde_json::from_str(text).with_context(|| path.to_string())?;
        let nodes = lists.request.len();
        ensure!(
            nodes > 0 || !lists.inform.is_empty(),
            "{path}: a structure needs at least one node"
        );
        ensure!(
            nodes <= MOST_STRUCTURED,
            "{path}: {nodes} nodes are too many; at most {MOST_STRUCTURED}"
        );
        if let Some(wanted) = self.nodes.filter(|&wanted| wanted != nodes) {
            bail!("{path}: the information structure is for {nodes} nodes, not {wanted}");
        }
        match Structure::of_lists(lists.request.clone(), lists.inform.clone()) {
            Ok(structure) => Ok(Found::Valid(structure)),
            Err(error @ (StructureError::Lengths { .. } | StructureError::UnknownNode { .. })) => {
                Err(error).with_context(|| path.to_string())
            }
            Err(error) => Ok(Found::Invalid(lists, error)),
        }
    }
}

/// Rates as they are typed.
fn rates(text: &str) -> Result<Rates> {
    let rate = |word: &str| match names::real(word.trim()) {
        Ok(rate) => Ok(rate),
        Err(_) => bail!("--rates: `{word}` is no number; give one for each node, as in 5,1,1,1"),
    };
    let rates = text.split(',').map(rate).collect::<Result<Vec<f64>>>()?;
    Rates::new(rates).context("--rates")
}

/// One rate for each node.
fn matching(rates: Option<Rates>, nodes: usize) -> Result<Rates> {
    let rates = match rates {
        Some(rates) => rates,
        None => Rates::equal(nodes)?,
    };
    let given = rates.nodes();
    ensure!(given == nodes, "--rates: {given} rates for {nodes} nodes; give one for each node");
    Ok(rates)
}
