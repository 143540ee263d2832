//! `skeptron check --maximise` and `--minimise`: the dearest or the cheapest run.

use std::io::{self, Write};

use anyhow::{Result, bail};
use skeptron_check::{Extreme, Goal, Measure, Options, Property, extreme};
use skeptron_core::NodeId;
use skeptron_core::catalogue::Order;
use skeptron_core::claims::Quantity;

use super::super::table::{counted_in_thousands, folded, number};
use super::super::{Verdict, interrupt, traces};
use super::{CheckArgs, Question, diagram, memory, print, progress};
use crate::ask::Request as _;

impl CheckArgs {
    /// Finds the dearest or the cheapest run and shows it.
    pub(super) fn run_extreme(
        &self,
        question: &Question,
        goal: Goal,
        measure: Measure,
        files: Vec<traces::TraceFile>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let Question::Mutex(info, scenario) = question else {
            bail!("--maximise and --minimise are for mutual exclusion; leave them out")
        };
        let bar = progress::Bar::new();
        let show = |progress| bar.show(progress);
        let options = Options {
            threads: self.threads()?,
            max_memory: self.max_memory.unwrap_or_else(memory::most_of_what_is_free),
            progress: bar.is_seen().then_some(&show),
            stop: Some(interrupt::listen()),
            ..Options::default()
        };
        let found = extreme(info, scenario, (goal, measure), &options);
        bar.clear();
        let found = found?;
        match &found.run {
            Some(run) => {
                let trace = question.trace(Property::Extreme, run, Some(self.ask.command()))?;
                traces::write(&trace, files)?;
            }
            None => traces::discard(files)?,
        }
        if self.json {
            let json = json_of(question, &found, self.ask.command());
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        } else {
            print_extreme(question, &found, out)?;
            if let Some(run) = &found.run {
                writeln!(out)?;
                diagram::draw(question, Property::Extreme, run, out)?;
            }
        }
        let verdict = if found.complete { Verdict::Fine } else { Verdict::Incomplete };
        Ok(interrupt::verdict("what was not explored is unknown", verdict))
    }
}

/// The extreme of a figure as JSON.
fn json_of(question: &Question, found: &Extreme, command: String) -> serde_json::Value {
    let Question::Mutex(_, scenario) = question else { return serde_json::Value::Null };
    let mut json = serde_json::json!({
        "algorithm": question.name(), "nodes": question.setup().nodes(), "requests": scenario.requests,
        "order": question.order(), "bound": bound(question, found), "command": command,
    });
    if let (Some(json), Ok(serde_json::Value::Object(found))) =
        (json.as_object_mut(), serde_json::to_value(found))
    {
        json.extend(found);
    }
    json
}

/// What is published of the messages of these entries, at most.
fn bound(question: &Question, found: &Extreme) -> Option<f64> {
    let Question::Mutex(info, scenario) = question else { return None };
    let most =
        info.claims.most(Quantity::Messages).filter(|_| found.measure == Measure::Messages)?;
    let of_node = |(node, &requests): (NodeId, &u8)| {
        most.value(&scenario.setup.figures(&[node])) * f64::from(requests)
    };
    let nodes = NodeId::all(scenario.setup.nodes());
    Some(nodes.zip(&scenario.requests).map(of_node).sum())
}

/// The extreme of a figure as text.
fn print_extreme(question: &Question, found: &Extreme, out: &mut impl Write) -> io::Result<()> {
    let Question::Mutex(_, scenario) = question else { return Ok(()) };
    let channels = match question.order() {
        Order::Fifo => "FIFO channels",
        Order::Any => "channels in any order",
    };
    let said = format!(
        "{} · {} · {} · {channels} · every interleaving",
        question.name(),
        counted_in_thousands(question.setup().nodes() as u64, "node"),
        print::requests(&scenario.requests),
    );
    writeln!(out, "{}", folded(&said))?;
    let which = match found.goal {
        Goal::Maximise => "most",
        Goal::Minimise => "fewest",
    };
    let what = match found.measure {
        Measure::Messages => "messages of a run in which everybody is served",
        Measure::Delay => "messages one after another from a request to its entry",
        Measure::Bypass => "entries of others during one wait",
    };
    let value = found.value.map_or_else(|| "none".to_string(), |value| value.to_string());
    let entries = found.entries as u64;
    let each = match (found.measure, found.value) {
        (Measure::Messages, Some(value)) => format!(
            " for {}: {} per entry",
            counted_in_thousands(entries, "request"),
            number(f64::from(value) / entries as f64)
        ),
        _ => String::new(),
    };
    let published = match bound(question, found).filter(|_| found.goal == Goal::Maximise) {
        Some(most) => format!("; published are at most {}", number(most)),
        None => String::new(),
    };
    writeln!(out, "{}", folded(&format!("{which} {what}: {value}{each}{published}")))?;
    let complete = if found.complete {
        "complete: no interleaving has another extreme"
    } else {
        "incomplete: the search ended early, so others may be more extreme"
    };
    let states = counted_in_thousands(found.states, "state");
    writeln!(out, "{states}, {}; {complete}", print::duration(found.seconds))
}
