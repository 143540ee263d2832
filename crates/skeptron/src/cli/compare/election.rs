//! `skeptron compare --elections`.

use std::io::Write;

use anyhow::Result;
use skeptron_core::catalogue::ElectionInfo;

use super::super::{Verdict, interrupt, textbook};
use super::{CompareArgs, at_terminal, create, drawn};
use crate::ask::compare::election::{Job, algorithms, curves, measure};

mod print;

/// Measures every case of the elections that were named.
pub(super) fn run(args: &CompareArgs, out: &mut impl Write) -> Result<Verdict> {
    let algorithms = algorithms(&args.ask.algorithms)?;
    let nodes = args.ask.node_counts();
    // Made before a long run rather than missed after it.
    let page_file = args.html.as_deref().map(create).transpose()?;
    let jobs = Job::all(&algorithms, &nodes);
    let rows = at_terminal(jobs.len(), |audience| measure(&args.ask, &jobs, audience))?;
    // Before the table: who reads that may stop early.
    if let Some(file) = page_file.filter(|_| !interrupt::came()) {
        let diagram = |info: &&'static ElectionInfo| drawn(info, textbook::election_of(info)?);
        let diagrams = algorithms.iter().map(diagram).collect::<Result<_>>()?;
        args.write_page(file, &rows, (curves(&args.ask)?, diagrams))?;
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
