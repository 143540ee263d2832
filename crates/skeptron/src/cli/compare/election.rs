//! `skeptron compare --elections`.

use std::io::Write;

use anyhow::{Context as _, Result, bail};
use indicatif::ParallelProgressIterator as _;
use rayon::prelude::*;
use skeptron_core::catalogue::{self, Algorithm, ElectionInfo};

use super::super::sim::progress_bar;
use super::super::{Verdict, names, textbook};
use super::{CompareArgs, create, drawn, sound};
use measure::{Job, Row};

mod html;
mod measure;
mod print;

/// Measures every case of the elections that were named.
pub(super) fn run(args: &CompareArgs, out: &mut impl Write) -> Result<Verdict> {
    let algorithms = algorithms(&args.algorithms)?;
    let nodes = args.node_counts();
    // Made before a long run rather than missed after it.
    let page_file = args.html.as_ref().map(create).transpose()?;
    let jobs = Job::all(&algorithms, &nodes);
    let progress = progress_bar(jobs.len() as u64);
    let rows: Vec<Vec<Row>> = jobs
        .par_iter()
        .progress_with(progress.clone())
        .map(|job| job.measure(args.seeds()))
        .collect::<Result<_>>()?;
    progress.finish_and_clear();
    let rows: Vec<Row> = rows.into_iter().flatten().collect();
    // Before the table: who reads that may stop early.
    if let Some((name, mut file)) = page_file {
        let diagram = |info: &&'static ElectionInfo| drawn(info, textbook::election_of(info)?);
        let page = html::Page {
            algorithms: &algorithms,
            nodes: &nodes,
            rows: &rows,
            diagrams: &algorithms.iter().map(diagram).collect::<Result<Vec<_>>>()?,
            seeds: args.seeds(),
            command: &args.command(&nodes),
        };
        file.write_all(page.html().as_bytes()).context(name)?;
    }
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    } else if args.csv {
        print::csv(&rows, out)?;
    } else {
        print::table(&algorithms, &nodes, &rows, out)?;
    }
    let missed = rows.iter().any(|row| row.judged.holds == Some(false));
    Ok(if missed { Verdict::Violated } else { Verdict::Fine })
}

fn algorithms(names: &[String]) -> Result<Vec<&'static ElectionInfo>> {
    if names.is_empty() {
        return Ok(catalogue::sound_elections().collect());
    }
    let known = |name: &String| match names::algorithm(name)? {
        Algorithm::Election(info) => sound(info),
        Algorithm::Mutex(_) => bail!("{name} elects nobody; leave --elections out"),
    };
    names.iter().map(known).collect()
}
