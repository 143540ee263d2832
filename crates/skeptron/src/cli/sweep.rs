//! `skeptron sweep`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use super::table::{counted, counted_in_thousands};
use super::work::{Shard, pool};
use super::{Verdict, interrupt, names};
use crate::ask::Files;
use crate::ask::sweep::{Sweep, Table};
use folder::{Begun, Folder, Runs};
use print::Made;

mod folder;
mod page;
mod print;
mod run;

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
#[command(after_help = "Examples:
  skeptron sweep wan.toml                          runs it; again, if it was stopped
  skeptron sweep wan.toml --dry-run                which runs there would be
  skeptron sweep wan.toml --out results --shard 2/8
  skeptron sweep merge results                     when all eight have ended
  skeptron sweep merge a/wan.sweep b/wan.sweep --out all

A file is TOML. Its keys are the options of `skeptron sim`; a list is an axis of the grid:
  algorithm = [\"ricart-agrawala\", \"maekawa\", \"raymond\"]
  nodes = [4, 16, 64]
  latency = [\"1\", \"exp:1\", \"wan:aws-10\"]
  quorum = [\"grid\", \"cyclic\"]     # only for those that have quorums
  entries = 500
  seeds = 20                       # or \"21..40\"
Several [[grid]] have what is above them and options of their own. docs/sweeps.md has the rest.

The folder gets runs.csv, a line for each run as soon as it has ended; at the end table.csv and
table.parquet with means and 95 % intervals over the seeds, and report.html with plots. What is in
runs.csv is not run again, also after a crash.

Exit codes: 0 fine, 1 a property was violated or a run stalled, 2 bad input.")]
pub(crate) struct SweepArgs {
    /// Which grid: a TOML file
    #[arg(value_name = "FILE", required = true)]
    file: Option<PathBuf>,
    /// The folder of the results [default: that of FILE, with .sweep in the place of .toml]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only every N-th run, beginning with the K-th; `skeptron sweep merge` puts the shards together
    #[arg(long, value_name = "K/N")]
    shard: Option<Shard>,
    /// On how many threads [default: one per core]
    #[arg(long, value_name = "K")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    threads: Option<usize>,
    /// Say what would be run, and run nothing
    #[arg(long)]
    dry_run: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Put the shards of a sweep together: the same files as of a sweep that ran as a whole
    Merge(MergeArgs),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  skeptron sweep merge results
  skeptron sweep merge host1/wan.sweep host2/wan.sweep --out all

Exit codes: 0 fine, 1 a property was violated or a run stalled, 2 bad input, or runs are missing.")]
struct MergeArgs {
    /// Folders with runs of the same sweep
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The folder of the results [default: the first]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

impl SweepArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        match (&self.task, &self.file) {
            (Some(Task::Merge(merge)), _) => merge.run(out),
            (None, Some(file)) => self.sweep(file, out),
            (None, None) => bail!("which file? `skeptron sweep --help` shows what one says"),
        }
    }

    fn sweep(&self, file: &Path, out: &mut impl Write) -> Result<Verdict> {
        let text = Files::Disk.read(&file.display().to_string())?;
        let sweep = Sweep::parse(&file.display().to_string(), &text)?;
        let is_mine = |run: &usize| self.shard.is_none_or(|shard| shard.has(*run));
        let mine: Vec<usize> = (0..sweep.runs()).filter(is_mine).collect();
        if self.dry_run {
            print::plan(&sweep, &mine, self.json, out)?;
            return Ok(Verdict::Fine);
        }
        let pool = pool(self.threads)?;
        let path = self.out.clone().unwrap_or_else(|| file.with_extension("sweep"));
        let folder = Folder::open(&path, &Begun::new(file, text, &sweep)?)?;
        let mut runs = Runs::new(&sweep);
        folder.read(&mut runs)?;
        let todo: Vec<usize> = mine.iter().copied().filter(|&run| !runs.has(run)).collect();
        let before = mine.len() - todo.len();
        let begin = Instant::now();
        let name = file.display().to_string();
        pool.install(|| run::all(&name, &mut runs, &todo, &folder.journal(self.shard)?))?;
        let took = begin.elapsed();
        let now = todo.iter().filter(|&&run| runs.has(run)).count();
        if now < todo.len() {
            let so_far = format!(
                "{} of {} are made; the same command makes the others",
                before + now,
                counted_in_thousands(mine.len() as u64, "run")
            );
            return Ok(interrupt::verdict(&so_far, Verdict::Incomplete));
        }
        folder.finish(&runs, self.shard)?;
        if let Some(shard) = self.shard {
            print::shard(shard, (before, now), &folder, self.json, out)?;
            return Ok(Verdict::Fine);
        }
        let made = Made { before, now, dropped: runs.dropped, took: Some(took) };
        results(&sweep, &runs, &folder, &made, self.json, out)
    }
}

impl MergeArgs {
    fn run(&self, out: &mut impl Write) -> Result<Verdict> {
        let first = &self.folders[0];
        let begun = Begun::read(first)?;
        for other in &self.folders[1..] {
            Begun::read(other)?.is_same_as(&begun, other, first)?;
        }
        let sweep = begun.sweep()?;
        let folder = Folder::open(self.out.as_ref().unwrap_or(first), &begun)?;
        let mut runs = Runs::new(&sweep);
        for path in &self.folders {
            Folder::open(path, &begun)?.read(&mut runs)?;
        }
        let missing: Vec<usize> = (0..sweep.runs()).filter(|&run| !runs.has(run)).collect();
        if let Some(&run) = missing.first() {
            bail!(
                "{} of {} missing, the first is run {run} (`{}`): run the shards that have not ended again, \
                 or the whole sweep with --out {}, which makes only these",
                missing.len(),
                counted(sweep.runs() as u64, "run")
                    + if sweep.runs() == 1 { " is" } else { " are" },
                sweep.command(run)?,
                folder.path().display()
            );
        }
        folder.finish(&runs, None)?;
        let made = Made { before: sweep.runs(), now: 0, dropped: runs.dropped, took: None };
        results(&sweep, &runs, &folder, &made, self.json, out)
    }
}

/// Writes and prints what came of a whole sweep.
fn results(
    sweep: &Sweep,
    runs: &Runs<'_>,
    folder: &Folder,
    made: &Made,
    json: bool,
    out: &mut impl Write,
) -> Result<Verdict> {
    let table = Table::new(sweep, &runs.measured()?)?;
    folder.write(sweep, &table)?;
    print::results(sweep, &table, folder, made, json, out)?;
    Ok(if table.failed.is_empty() { Verdict::Fine } else { Verdict::Violated })
}
