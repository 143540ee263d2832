//! `skeptron structure`.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Subcommand};
use skeptron_core::topology::Structure;

use super::Verdict;
use crate::ask::structure::{Found, Report};
use crate::ask::{Files, StructureRequest};

mod optimise;
mod print;

#[derive(Args, Debug)]
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
    #[command(flatten)]
    ask: StructureRequest,
    #[command(flatten)]
    output: OutputArgs,
    #[command(subcommand)]
    task: Option<Task>,
}

/// How to say what was found, and where to keep it.
#[derive(Args, Debug)]
struct OutputArgs {
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
enum Task {
    /// Search the structure with the fewest expected messages for given request rates
    #[command(visible_alias = "optimize")]
    Optimise(optimise::OptimiseArgs),
}

impl StructureArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        if let Some(Task::Optimise(args)) = self.task {
            return args.run(out);
        }
        let (found, name, rates) = self.ask.found(Files::Disk)?;
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
}
