//! What is shown of a recorded run: its trace and timeline, the clocks of the lectures at its events, and
//! whether one event happened before another one.

use std::io::{self, Write};

use anyhow::{Context as _, Result};
use clap::Args;
use skeptron_sim::trace::{Causality, ClockKind, Event, EventName, Hop, Relation, Trace, relation};

use super::super::table::{folded, number};
use super::super::traces::{self, TraceFile};
use super::SimArgs;
use crate::ask::Request as _;

/// What is asked about clocks.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct ClockArgs {
    /// Show the clocks of the lectures at every event, in --timeline and --trace: lamport (+1 on every event,
    /// max+1 on a receipt), vector, or both; whatever clock the algorithm has itself
    #[arg(long, value_name = "KIND", help_heading = "Output", conflicts_with = "modes")]
    pub show_clocks: Option<ClockKind>,
    /// Say whether one event happened before another one, and by which messages; P2.5 is the fifth event of
    /// P2, P2.enter its first entry, P2.enter.3 its third
    #[arg(long, value_name = "A,B", help_heading = "Output", value_parser = two)]
    #[arg(conflicts_with_all = ["seeds", "modes"])]
    pub happened_before: Option<[EventName; 2]>,
}

fn two(text: &str) -> Result<[EventName; 2], String> {
    let (a, b) = text.split_once(',').ok_or("write two events, as in P1.request,P2.enter")?;
    let name = |text: &str| text.parse::<EventName>().map_err(|error| error.to_string());
    Ok([name(a)?, name(b)?])
}

impl ClockArgs {
    /// How the two events that are asked about stand to each other in this run.
    fn relation(&self, trace: &Trace) -> Result<Option<Relation>> {
        let Some([a, b]) = &self.happened_before else { return Ok(None) };
        relation(trace, a, b).map(Some).context("--happened-before")
    }
}

impl SimArgs {
    pub(super) fn trace_files(&self) -> Result<Vec<TraceFile>> {
        traces::create(&self.trace, self.picture, self.clocks.show_clocks)
    }

    /// Whether what happens must be recorded.
    pub(super) fn records(&self) -> bool {
        self.timeline || !self.trace.is_empty() || self.clocks.happened_before.is_some()
    }

    /// Tells what happened in a run, if it was recorded, and how to make it happen again. Returns how two
    /// events stand to each other, if that is asked; where JSON is expected, it is not told.
    pub(super) fn show_run(
        &self,
        trace: Option<Trace>,
        files: Vec<TraceFile>,
        out: &mut impl Write,
    ) -> Result<Option<Relation>> {
        let Some(mut trace) = trace else { return Ok(None) };
        trace.header.command = Some(self.ask.command());
        self.show_trace(&trace, files, out)
    }

    pub(super) fn show_trace(
        &self,
        trace: &Trace,
        files: Vec<TraceFile>,
        out: &mut impl Write,
    ) -> Result<Option<Relation>> {
        let relation = self.clocks.relation(trace)?;
        traces::write(trace, files)?;
        if self.timeline {
            traces::print(trace, self.clocks.show_clocks, out)?;
            writeln!(out)?;
        }
        if let Some(relation) = relation.as_ref().filter(|_| !self.json) {
            tell(relation, trace, out)?;
            writeln!(out)?;
        }
        Ok(relation)
    }
}

/// Says how two events of a run stand to each other.
fn tell(relation: &Relation, trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let unit = trace.header.ticks_per_unit as f64;
    let Relation { a, b, by, .. } = relation;
    for event in [a, b] {
        let counts: Vec<String> = event.vector.counts().iter().map(u64::to_string).collect();
        let (what, at) = (&event.what, number(event.t as f64 / unit));
        let (lamport, counts) = (event.lamport, counts.join(","));
        let said = format!("{} {what} at {at}: Lamport {lamport}, vector ({counts})", event.name);
        writeln!(out, "{}", folded(&said))?;
    }
    let said = match relation.relation {
        Causality::Same => format!("{} and {} are one event", a.name, b.name),
        Causality::Before => before(a, b, by),
        Causality::After => before(b, a, by),
        Causality::Concurrent => format!(
            "{} and {} are concurrent: neither happened before the other; {}",
            a.name,
            b.name,
            match a.lamport == b.lamport {
                true => "their Lamport clocks are equal",
                false => "that one Lamport clock is smaller does not mean that it did",
            }
        ),
    };
    writeln!(out, "{}", folded(&said))
}

fn before(a: &Event, b: &Event, by: &[Hop]) -> String {
    let hop = |hop: &Hop| format!("{} from {} to {}", hop.label, hop.sent, hop.received);
    let by = match by.iter().map(hop).collect::<Vec<_>>().join(", then ") {
        none if none.is_empty() => "at the same node".to_string(),
        messages => format!("by {messages}"),
    };
    format!("{} happened before {}: {by}", a.name, b.name)
}
