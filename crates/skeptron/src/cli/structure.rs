//! `skeptron structure`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Subcommand};
use serde::Deserialize;
use skeptron_core::NodeId;
use skeptron_core::topology::{Structure, StructureError};
use skeptron_quorum_analysis::structure::Rates;

use super::sim::quoted;
use super::system::{MOST_STRUCTURED, STRUCTURES, SystemArgs};
use super::{Verdict, names};

mod optimise;
mod print;
mod report;

pub(crate) use optimise::OptimiseArgs;
pub(crate) use report::Report;
use report::Violation;

/// How many nodes if nothing says otherwise.
const DEFAULT_NODES: usize = 5;

#[derive(Args, Debug, Default)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  skeptron structure sanders-4                             the published one of four nodes
  skeptron structure maekawa --quorum grid -n 9            derived from quorums
  skeptron structure star:P2 --rates 1,5,1                 where P2 asks most
  skeptron structure mine.json                             is it valid, and what does it cost?
  skeptron structure optimise --rates 4,3,2,1 --busiest 0.5 --save best.json
  skeptron sim sanders --structure best.json

A file is JSON with one list of nodes, counted from 1, for each node, as in
  {\"request\": [[1,2],[1,2]], \"inform\": [[1],[2]]}
and whatever --json prints can be read as a file.

Exit codes: 0 valid, 1 invalid, 2 bad input.")]
pub(crate) struct StructureArgs {
    /// lamport, ricart-agrawala, maekawa, sanders-4, star or star:NODE, or a JSON file with `request`
    /// and `inform` lists [default with --quorum: maekawa]
    #[arg(value_name = "PRESET|FILE")]
    pub(crate) what: Option<String>,
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
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
}

/// How to say what was found, and where to keep it.
#[derive(Args, Debug, Default)]
pub(crate) struct OutputArgs {
    /// Print the delay of every pair, however many there are
    #[arg(long)]
    delays: bool,
    /// Write the structure to a file that `sim` and `check` read as --structure
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl OutputArgs {
    fn say(&self, report: &Report, out: &mut impl Write) -> Result<()> {
        if self.json {
            Ok(writeln!(out, "{}", serde_json::to_string_pretty(report)?)?)
        } else {
            print::report(report, out)
        }
    }

    fn save(&self, structure: &Structure) -> Result<()> {
        let Some(path) = &self.save else { return Ok(()) };
        let text = serde_json::to_string(structure)? + "\n";
        fs::write(path, text).with_context(|| format!("--save {}", path.display()))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Search the structure with the fewest expected messages for given request rates
    #[command(visible_alias = "optimize")]
    Optimise(optimise::OptimiseArgs),
}

/// What was asked for: a structure, or what a file has in its place.
enum Found {
    Valid(Structure),
    Invalid(Lists, StructureError),
}

/// The lists of a file, valid or not.
#[derive(Clone, Deserialize)]
struct Lists {
    request: Vec<Vec<NodeId>>,
    inform: Vec<Vec<NodeId>>,
}

impl Found {
    fn report(self, name: &str, rates: Option<Rates>, all_delays: bool) -> Result<Report> {
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

impl StructureArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        if let Some(Task::Optimise(args)) = self.task {
            return args.run(out);
        }
        let rates = self.rates.as_deref().map(rates).transpose()?;
        let name = self.name()?;
        let found = self.find(name, rates.as_ref())?;
        match &found {
            Found::Valid(structure) => self.output.save(structure)?,
            Found::Invalid(_, error) => {
                ensure!(self.output.save.is_none(), "an invalid structure is not saved: {error}");
            }
        }
        let report = found.report(name, rates, self.output.delays)?;
        self.output.say(&report, out)?;
        Ok(if report.valid { Verdict::Fine } else { Verdict::Violated })
    }

    /// What there is to say, of a file with that text if there is one.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub(crate) fn report(&self, text: Option<&str>) -> Result<Report> {
        let rates = self.rates.as_deref().map(rates).transpose()?;
        match text {
            Some(text) => self.read("text", text)?.report("text", rates, false),
            None => {
                let name = self.name()?;
                self.find(name, rates.as_ref())?.report(name, rates, false)
            }
        }
    }

    /// The command that asks the same; what a file says is taken from `mine.json`.
    pub(crate) fn command(&self, is_file: bool) -> String {
        let what = if is_file { Some("mine.json") } else { self.what.as_deref() };
        let given = [
            ("", what.map(str::to_string)),
            ("-n", self.nodes.map(|nodes| nodes.to_string())),
            ("--quorum", self.quorum.clone()),
            ("--rates", self.rates.clone()),
        ];
        let word = |(option, value): (&str, Option<String>)| {
            Some(format!("{option} {}", quoted(&value?)).trim_start().to_string())
        };
        let words = ["skeptron structure".to_string()];
        words.into_iter().chain(given.into_iter().filter_map(word)).collect::<Vec<_>>().join(" ")
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

    fn find(&self, name: &str, rates: Option<&Rates>) -> Result<Found> {
        let is_preset = STRUCTURES.contains(&name) || name.starts_with("star:");
        if !is_preset && Path::new(name).exists() {
            ensure!(self.quorum.is_none(), "--quorum goes with maekawa, not with a file");
            let text = fs::read_to_string(name).with_context(|| name.to_string())?;
            return self.read(name, &text);
        }
        ensure!(
            is_preset,
            "there is no information structure `{name}`; there are {}, or a file, and no file has that \
             name{}",
            STRUCTURES.join(", "),
            names::did_you_mean(name, STRUCTURES.into_iter().chain(["optimise"]))
        );
        let system = SystemArgs {
            nodes: self.nodes,
            quorum: self.quorum.clone(),
            structure: Some(name.to_string()),
            ..SystemArgs::default()
        };
        let default = rates.map_or(DEFAULT_NODES, Rates::nodes);
        let setup = system.setup(names::mutex("sanders")?, default)?;
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
