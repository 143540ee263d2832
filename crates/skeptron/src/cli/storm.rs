//! `skeptron storm`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, Subcommand};
use indicatif::ParallelProgressIterator as _;
use rayon::prelude::*;
use serde::Serialize;
use skeptron_core::catalogue;
use skeptron_world::{Faults, Figures, Mutant, Options, Outcome, Survived, Violation};

use super::sim::{parse_seeds, progress_bar};
use super::table::{counted_in_thousands, folded, table};
use super::traces::{self, PictureArgs};
use super::work::{Shard, pool};
use super::{Verdict, interrupt, names};
use crate::ask::{Request, unasked};

mod merge;

/// More of anything than a run gets through in reasonable time.
const MOST_MEMBERS: usize = 100;
const MOST_CLIENTS: usize = 1000;
const MOST_ENTRIES: usize = 10_000;

#[derive(Args, Clone, Debug, Serialize)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
#[command(after_help = "Examples:
  skeptron storm --seeds 1..1000                          what a fixed membership survives
  skeptron storm --seeds 1..1000 --algorithm maekawa -n 5
  skeptron storm --seeds 1..1000 --faults all             what a cluster with views survives
  skeptron storm --seeds 1..100 --faults all -n 7 --voters 5 --algorithm raymond
  skeptron storm --seeds 1..1 --faults views,crashes -n 100 --algorithm naimi-trehel --json
  skeptron storm --seeds 1..50 --flaw keepers-ignored --faults fixed,views --trace bad.jsonl
  skeptron sim --replay bad.jsonl                         what that lock's algorithm did
  skeptron storm --seeds 1..1000 --faults all --elections who leads, as observers everywhere see it
  skeptron storm --seeds 1..1000 --faults all --kinds     readers, writers and semaphores
  skeptron storm --seeds 1..1000 --shard 2/8 --json > 2.json   an eighth of the runs, on one of eight machines
  skeptron storm merge *.json                             all eight together

Whole members with their links, sessions and clients run in a simulated world; a seed determines
everything. With `views` the first members are voters that decide who belongs to the cluster. At no
time may two believe that they hold the same lock, and fences must rise; once the faults end,
everybody must be served and nothing may be left behind. With --elections every leader must be seen
by an observer at every member that was there.

Exit codes: 0 everything holds, 1 a seed failed, 2 bad input.")]
/// Options of `skeptron storm`.
pub(crate) struct StormArgs {
    /// Which seeds, as in 1..500 (both ends count)
    #[arg(long, value_name = "FROM..TO", default_value = "1..100")]
    pub seeds: String,
    /// How many members
    #[arg(short = 'n', long, value_name = "N", default_value_t = 3)]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    pub members: usize,
    /// How many of them decide views: 1, 3 or 5 [default: 3, or 1 of fewer than 3 members]
    #[arg(long, value_name = "V")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    pub voters: Option<usize>,
    /// How many clients they have together
    #[arg(long, value_name = "C", default_value_t = 4)]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    pub clients: usize,
    /// How often each client enters
    #[arg(long, value_name = "E", default_value_t = 200)]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<u32>)]
    pub entries: u32,
    /// Which algorithm guards the locks: a name, or all sound ones
    #[arg(long, value_name = "NAME|all", default_value = "all")]
    pub algorithm: String,
    /// What goes wrong: loss, duplication, reordering, resets, pauses, partitions, slow, drift,
    /// interleaving, and with views: crashes, disk, power, leaves, names (ever new ones),
    /// unlocks, clocks (beyond the bound; only fences are judged); `fixed` is what a fixed membership survives, `all` everything but clocks;
    /// `none`
    #[arg(long, value_name = "LIST", default_value = "fixed")]
    pub faults: String,
    /// Let clients with sessions campaign, and let observers at every member see who leads
    #[arg(long)]
    pub elections: bool,
    /// Let clients hold locks beside others, as readers or with permits, and upgrade and downgrade
    #[arg(long)]
    pub kinds: bool,
    /// No session stays where it is by going through another member: sessions move more often
    #[arg(long)]
    pub no_relays: bool,
    /// Leave out one rule of the members or of the view service, to see that it is noticed; docs/storm.md has the names
    #[arg(long, value_name = "NAME")]
    pub flaw: Option<String>,
    /// On how many threads [default: one per core]
    #[arg(long, value_name = "K")]
    #[arg(allow_negative_numbers = true, value_parser = names::whole::<usize>)]
    #[serde(skip)]
    pub threads: Option<usize>,
    /// Only every N-th run, beginning with the K-th; `skeptron storm merge` adds up what the shards print with --json
    #[arg(long, value_name = "K/N")]
    #[serde(skip)]
    pub shard: Option<Shard>,

    /// Write what the algorithm of one lock did in the first seed that failed, or else in the first
    /// one; the extension decides as for `skeptron sim`; may be given several times
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    #[serde(skip)]
    pub trace: Vec<PathBuf>,
    /// As JSON
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub json: bool,
    #[command(subcommand)]
    #[serde(skip)]
    task: Option<Task>,
}

#[derive(Clone, Debug, Subcommand)]
enum Task {
    /// Add up the shards of a storm
    Merge(merge::MergeArgs),
}

impl Default for StormArgs {
    fn default() -> Self {
        unasked()
    }
}

impl Request for StormArgs {
    const COMMAND: &'static str = "storm";
    const ALWAYS: &'static [&'static str] = &["seeds", "algorithm"];
}

/// All runs together.
#[derive(Clone, Debug, Default)]
struct Total {
    runs: u64,
    failed: u64,
    entries: u64,
    events: u64,
    virtual_nanos: u64,
    /// Of all runs, in whatever order they were made.
    hash: u64,
    survived: Survived,
    figures: Figures,
    /// The first that failed, with the place of its algorithm.
    first: Option<(usize, Violation)>,
}

impl Total {
    fn of(algorithm: usize, outcome: Outcome) -> Self {
        let failed = u64::from(outcome.violation.is_some());
        Total {
            runs: 1,
            failed,
            entries: outcome.entries,
            events: outcome.events,
            virtual_nanos: outcome.virtual_nanos,
            hash: outcome.hash,
            survived: outcome.survived,
            figures: outcome.figures,
            first: outcome.violation.map(|violation| (algorithm, violation)),
        }
    }

    fn and(mut self, other: Total) -> Self {
        self.runs += other.runs;
        self.failed += other.failed;
        self.entries += other.entries;
        self.events += other.events;
        self.virtual_nanos += other.virtual_nanos;
        self.hash = self.hash.wrapping_add(other.hash);
        self.survived.add(&other.survived);
        self.figures.add(&other.figures);
        let place = |first: &(usize, Violation)| (first.0, first.1.seed);
        self.first = match (self.first, other.first) {
            (Some(mine), Some(theirs)) => {
                Some(if place(&mine) <= place(&theirs) { mine } else { theirs })
            }
            (mine, theirs) => mine.or(theirs),
        };
        self
    }
}

impl StormArgs {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<Verdict> {
        if let Some(Task::Merge(merge)) = &self.task {
            return merge.run(out);
        }
        let seeds = parse_seeds(&self.seeds)?;
        let questions = self.questions()?;
        let pool = pool(self.threads)?;
        let files = traces::create(&self.trace, PictureArgs::default(), None)?;

        let runs = (0..questions.len())
            .flat_map(|place| seeds.clone().map(move |seed| (place, seed)))
            .enumerate();
        let is_mine = |number: usize| self.shard.is_none_or(|shard| shard.has(number));
        let runs: Vec<(usize, u64)> =
            runs.filter(|(number, _)| is_mine(*number)).map(|(_, run)| run).collect();
        let progress = progress_bar(runs.len() as u64);
        let stop = interrupt::listen();
        let begin = Instant::now();
        let total = pool.install(|| {
            // A run that has begun is finished.
            let total = |&(place, seed): &(usize, u64)| {
                let is_wanted = !stop.load(Ordering::Relaxed);
                is_wanted.then(|| Total::of(place, skeptron_world::run(&questions[place], seed)))
            };
            let runs = runs.par_iter().progress_with(progress.clone()).filter_map(total);
            runs.reduce(Total::default, Total::and)
        });
        progress.finish_and_clear();
        let took = Some((pool.current_num_threads(), begin.elapsed()));

        let (place, seed) = match &total.first {
            Some((place, violation)) => (*place, violation.seed),
            None => (0, *seeds.start()),
        };
        let command = self.command_of(&questions[place].algorithm, seed);
        let print = if self.json { Self::write_json } else { Self::write_table };
        print(self, &total, took, &command, out)?;
        if total.first.is_none() && interrupt::came() {
            drop(files);
        } else if !files.is_empty() {
            let recorded = Some(command.clone());
            match skeptron_world::run_recorded(&questions[place], seed, recorded).1 {
                Some(trace) => traces::write(&trace, files)?,
                None => {
                    traces::discard(files)?;
                    bail!("--trace: seed {seed} leaves no trace that could be replayed");
                }
            }
        }
        let verdict = if total.failed == 0 { Verdict::Fine } else { Verdict::Violated };
        let so_far = format!("{} of {} runs were made", total.runs, runs.len());
        Ok(interrupt::verdict(&so_far, verdict))
    }

    /// What is run, once for each algorithm.
    fn questions(&self) -> Result<Vec<Options>> {
        let within = |what: &str, number: usize, most: usize| -> Result<()> {
            ensure!(
                (1..=most).contains(&number),
                "--{what} is {number}; from 1 to {most} are possible"
            );
            Ok(())
        };
        within("members", self.members, MOST_MEMBERS)?;
        within("clients", self.clients, MOST_CLIENTS)?;
        within("entries", self.entries as usize, MOST_ENTRIES)?;
        let faults: Faults = match self.faults.parse() {
            Ok(faults) => faults,
            Err(why) => bail!("--faults is `{}`; {why}", self.faults),
        };
        let mutant: Option<Mutant> = match self.flaw.as_deref().map(str::parse).transpose() {
            Ok(mutant) => mutant,
            Err(why) => bail!("--flaw: {why}"),
        };
        let algorithms: Vec<&str> = match self.algorithm.as_str() {
            "all" => catalogue::for_clusters().map(|info| info.name).collect(),
            name => vec![names::mutex(name)?.name],
        };
        let question = |algorithm: &str| {
            let options = Options {
                members: self.members,
                voters: self.voters,
                clients: self.clients,
                entries: self.entries,
                algorithm: algorithm.to_string(),
                faults,
                elections: self.elections,
                kinds: self.kinds,
                relays: !self.no_relays,
                mutant,
            };
            options.check().with_context(|| format!("{algorithm} on {} members", self.members))?;
            Ok(options)
        };
        algorithms.into_iter().map(question).collect()
    }

    /// What makes one of the runs again.
    fn command_of(&self, algorithm: &str, seed: u64) -> String {
        let (seeds, algorithm) = (format!("{seed}..{seed}"), algorithm.into());
        StormArgs { seeds, algorithm, ..self.clone() }.command()
    }

    fn write_table(
        &self,
        total: &Total,
        took: Option<(usize, Duration)>,
        command: &str,
        out: &mut dyn Write,
    ) -> Result<()> {
        let speed = took.map_or(String::new(), |(threads, took)| {
            let seconds = took.as_secs_f64().max(1e-9);
            let a_second = total.runs as f64 / seconds;
            format!(
                " in {seconds:.1} s on {}: {a_second:.1} runs/s, {:.0} an hour and core",
                counted_in_thousands(threads as u64, "thread"),
                a_second * 3600.0 / threads as f64,
            )
        });
        let said = format!(
            "{} · {} · {} · {}{speed}",
            self.algorithm,
            counted_in_thousands(self.members as u64, "member"),
            counted_in_thousands(self.clients as u64, "client"),
            counted_in_thousands(total.runs, "run"),
        );
        writeln!(out, "{}", folded(&said))?;
        let mut rows = table(["what happened", "times"]);
        rows.add_row(["entries".to_string(), total.entries.to_string()]);
        for (what, times) in total.survived.listed().into_iter().filter(|(_, times)| *times > 0) {
            rows.add_row([what.to_string(), times.to_string()]);
        }
        for (what, number) in total.figures.messages().into_iter().filter(|(_, n)| *n > 0) {
            rows.add_row([what.to_string(), number.to_string()]);
        }
        writeln!(out, "{rows}")?;
        let simulated = total.virtual_nanos as f64 / 1e9;
        for (what, span) in total.figures.spans().into_iter().filter(|(_, span)| span.times > 0) {
            let millis = |nanos: u64| nanos as f64 / 1e6;
            let (mean, longest) = (millis(span.mean_nanos()), millis(span.longest_nanos));
            let times = counted_in_thousands(span.times, "time");
            writeln!(out, "{what}: {times}, mean {mean:.1} ms, longest {longest:.1} ms")?;
        }
        let (events, hash) = (total.events, total.hash);
        writeln!(out, "{events} events in {simulated:.0} simulated seconds, hash {hash:016x}")?;
        writeln!(out, "{} of {} failed", total.failed, counted_in_thousands(total.runs, "run"))?;
        if let Some((_, violation)) = &total.first {
            writeln!(out, "{violation}")?;
            writeln!(out, "again: {command}")?;
        }
        Ok(())
    }

    fn write_json(
        &self,
        total: &Total,
        took: Option<(usize, Duration)>,
        command: &str,
        out: &mut dyn Write,
    ) -> Result<()> {
        if self.shard.is_some() {
            return self.write_shard(total, command, out);
        }
        let first = total.first.as_ref().map(
            |(_, violation)| serde_json::json!({ "violation": violation, "command": command }),
        );
        let (threads, took) = took.unwrap_or_default();
        let seconds = took.as_secs_f64().max(1e-9);
        let report = serde_json::json!({
            "seeds": self.seeds, "algorithm": self.algorithm, "members": self.members,
            "voters": self.voters, "clients": self.clients, "entries_per_client": self.entries, "faults": self.faults,
            "elections": self.elections, "kinds": self.kinds, "relays": !self.no_relays, "flaw": self.flaw,
            "runs": total.runs, "failed": total.failed, "first_failure": first,
            "hash": format!("{:016x}", total.hash),
            "entries": total.entries, "events": total.events, "survived": total.survived,
            "figures": total.figures,
            "virtual_seconds": total.virtual_nanos as f64 / 1e9, "seconds": seconds,
            "threads": threads, "runs_per_second": total.runs as f64 / seconds,
            "seeds_per_hour_and_core": total.runs as f64 / seconds * 3600.0 / threads as f64,
        });
        Ok(writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?)
    }
}
