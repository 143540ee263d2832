//! Shards of a storm: what each prints for the others, and all of them together.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use skeptron_world::{Figures, Survived, Violation};

use super::super::Verdict;
use super::super::sim::parse_seeds;
use super::super::work::Shard;
use super::{StormArgs, Total};
use crate::ask::Request as _;

#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  skeptron storm --seeds 1..1000 --shard 1/2 --json > 1.json
  skeptron storm --seeds 1..1000 --shard 2/2 --json > 2.json
  skeptron storm merge 1.json 2.json

Exit codes: 0 everything holds, 1 a seed failed, 2 bad input, or a shard is missing.")]
pub(super) struct MergeArgs {
    /// What `skeptron storm --shard K/N --json` printed, of all shards
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// As JSON, as one shard that made all runs
    #[arg(long)]
    json: bool,
}

/// What a shard found. There are no times in it: the same shard prints the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Report {
    /// The command of the whole storm.
    storm: String,
    shard: String,
    runs: u64,
    failed: u64,
    first_failure: Option<Failure>,
    hash: String,
    entries: u64,
    events: u64,
    virtual_nanos: u64,
    survived: Survived,
    figures: Figures,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Failure {
    /// The place of its algorithm.
    place: usize,
    violation: Violation,
    /// Makes the run again.
    command: String,
}

impl StormArgs {
    /// As JSON for [`MergeArgs`].
    pub(super) fn write_shard(
        &self,
        total: &Total,
        command: &str,
        out: &mut dyn Write,
    ) -> Result<()> {
        let failure = |(place, violation): &(usize, Violation)| Failure {
            place: *place,
            violation: violation.clone(),
            command: command.into(),
        };
        let report = Report {
            storm: self.command(),
            shard: self.shard.map_or_else(String::new, |shard| shard.to_string()),
            runs: total.runs,
            failed: total.failed,
            first_failure: total.first.as_ref().map(failure),
            hash: format!("{:016x}", total.hash),
            entries: total.entries,
            events: total.events,
            virtual_nanos: total.virtual_nanos,
            survived: total.survived,
            figures: total.figures,
        };
        Ok(writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?)
    }
}

impl Report {
    fn total(&self) -> Result<Total> {
        Ok(Total {
            runs: self.runs,
            failed: self.failed,
            entries: self.entries,
            events: self.events,
            virtual_nanos: self.virtual_nanos,
            hash: u64::from_str_radix(&self.hash, 16)?,
            survived: self.survived,
            figures: self.figures,
            first: self.first_failure.clone().map(|it| (it.place, it.violation)),
        })
    }
}

impl MergeArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<Verdict> {
        let mut reports: Vec<(Shard, Report)> = Vec::new();
        for path in &self.files {
            let name = || path.display().to_string();
            let text = fs::read_to_string(path).with_context(name)?;
            let what = "this is not what `skeptron storm --shard K/N --json` prints";
            let report: Report = serde_json::from_str(&text).context(what).with_context(name)?;
            let shard: Shard =
                report.shard.parse().map_err(anyhow::Error::msg).with_context(name)?;
            if let Some((other, first)) = reports.first() {
                ensure!(
                    first.storm == report.storm && other.of() == shard.of(),
                    "{}: it is a shard {shard} of `{}`, others are of `{}`, {other}",
                    name(),
                    report.storm,
                    first.storm
                );
            }
            ensure!(
                reports.iter().all(|(other, _)| *other != shard),
                "{}: shard {shard} is there twice",
                name()
            );
            reports.push((shard, report));
        }
        let Some((first, Report { storm, .. })) = reports.first() else { bail!("which shards?") };
        let missing = first.all().find(|shard| reports.iter().all(|(other, _)| other != shard));
        if let Some(shard) = missing {
            bail!("shard {shard} is missing; run `{storm} --shard {shard} --json`");
        }
        let words = storm.split_once(" storm").map_or("", |(_, words)| words);
        let asked = StormArgs { shard: Some(Shard::WHOLE), ..StormArgs::parse(words)? };
        let totals: Vec<Total> =
            reports.iter().map(|(_, report)| report.total()).collect::<Result<_>>()?;
        let total = totals.into_iter().fold(Total::default(), Total::and);
        let seeds = parse_seeds(&asked.seeds)?;
        let planned = asked.questions()?.len() as u64 * (seeds.end() - seeds.start() + 1);
        ensure!(
            total.runs == planned,
            "only {} of {planned} runs were made: a shard was interrupted; run it again",
            total.runs
        );
        let failures = reports.iter().filter_map(|(_, report)| report.first_failure.as_ref());
        let first = failures.min_by_key(|failure| (failure.place, failure.violation.seed));
        let command = first.map_or("", |failure| &failure.command);
        let print = if self.json { StormArgs::write_json } else { StormArgs::write_table };
        print(&asked, &total, None, command, out)?;
        Ok(if total.failed == 0 { Verdict::Fine } else { Verdict::Violated })
    }
}
