//! `skeptron compare --elections`.

use std::io::Write;

use anyhow::{Result, bail};
use skeptron_core::catalogue::{self, Algorithm, ElectionInfo};

use super::super::{Verdict, interrupt, names, textbook};
use super::audience::{Audience, at_terminal};
use super::curve::{Curve, sizes};
use super::{CompareArgs, create, drawn, sound};
pub(crate) use measure::{Job, Row};

mod html;
mod measure;
mod print;

/// Measures every case of the elections that were named.
pub(super) fn run(args: &CompareArgs, out: &mut impl Write) -> Result<Verdict> {
    let algorithms = algorithms(&args.algorithms)?;
    let nodes = args.node_counts();
    // Made before a long run rather than missed after it.
    let page_file = args.html.as_deref().map(create).transpose()?;
    let jobs = Job::all(&algorithms, &nodes);
    let rows = at_terminal(jobs.len(), |audience| measure(args, &jobs, audience))?;
    // Before the table: who reads that may stop early.
    if let Some(file) = page_file.filter(|_| !interrupt::came()) {
        let diagram = |info: &&'static ElectionInfo| drawn(info, textbook::election_of(info)?);
        let page = html::Page {
            algorithms: &algorithms,
            nodes: &nodes,
            rows: &rows,
            diagrams: &algorithms.iter().map(diagram).collect::<Result<Vec<_>>>()?,
            seeds: args.seeds(),
            command: &args.command(&nodes),
        };
        file.write(|out| out.write_all(page.html().as_bytes()))?;
    }
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
    } else if args.csv {
        print::csv(&rows, out)?;
    } else {
        print::table(&algorithms, &nodes, &rows, out)?;
    }
    let missed = rows.iter().any(|row| row.judged.holds == Some(false));
    let verdict = if missed { Verdict::Violated } else { Verdict::Fine };
    Ok(interrupt::verdict(args.so_far(), verdict))
}

/// The situations to run.
///
/// # Errors
/// If an algorithm is unknown, broken, or elects nobody.
pub(crate) fn jobs(args: &CompareArgs) -> Result<Vec<Job>> {
    Ok(Job::all(&algorithms(&args.algorithms)?, &args.node_counts()))
}

/// Runs them.
///
/// # Errors
/// If an election goes wrong, or the audience ends it.
pub(crate) fn measure(
    args: &CompareArgs,
    jobs: &[Job],
    audience: &Audience<'_, Row>,
) -> Result<Vec<Row>> {
    audience.attend(jobs, |job| job.measure(args.seeds(), audience.stop))
}

/// What is claimed between the sizes that are measured.
///
/// # Errors
/// As [`jobs`].
pub(crate) fn curves(args: &CompareArgs) -> Result<Vec<Curve>> {
    let mut curves = Vec::new();
    for job in Job::all(&algorithms(&args.algorithms)?, &sizes(&args.node_counts())) {
        let (algorithm, case) = job.subject();
        for (figure, claimed) in job.claims() {
            let point = (job.nodes(), claimed);
            Curve::add(&mut curves, (algorithm, Some(case)), figure.name(), point);
        }
    }
    Ok(curves)
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
