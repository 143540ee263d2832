//! POST /lab/assumptions: which assumption each algorithm really needs, as `skeptron check --all`.

use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use skeptron_sim::trace::svg;

use super::body::Asked;
use super::check::{allowed, search, text};
use super::job::{EventSender, Jobs, Task};
use super::refusal::Refusal;
use super::wire::{
    AssumptionCell, AssumptionDiagram, AssumptionLine, AssumptionTable, AssumptionsReport,
    AssumptionsResult, CheckedProperty, Progress,
};
use crate::ask::check::assumptions::{Cell, Condition, Line, Table};
use crate::ask::{CheckRequest, Given, Request as _};

/// The whole table takes minutes, but each cell is there as soon as it is known.
const WITHIN: Duration = Duration::from_secs(900);

pub(super) fn router() -> Router<Jobs> {
    Router::new().route("/lab/assumptions", post(assumptions))
}

async fn assumptions(
    State(jobs): State<Jobs>,
    Asked(asked): Asked<CheckRequest>,
) -> Result<Response, Refusal> {
    Ok(stream(&jobs, allowed(CheckRequest { all: true, ..asked })?))
}

/// The table that is asked for.
pub(super) fn stream(jobs: &Jobs, asked: CheckRequest) -> Response {
    let task = Task { within: WITHIN, ..Task::new(asked.command()) };
    jobs.stream(task, move |sender| fill(&asked, sender))
}

/// Finds out one cell after another.
fn fill(asked: &CheckRequest, sender: &EventSender) -> Result<AssumptionsResult> {
    let table = Table::new(asked);
    sender.tell("table", &frame(&table, asked.command()))?;
    let (total, mut surprises) = (table.places().count(), 0);
    for (done, (line, condition)) in table.places().enumerate() {
        let label = format!("{}, {}", line.name, condition.heading);
        sender.progress(&Progress { done, total, label });
        let cell = table.cell(line, condition, &|asked, question| {
            let report = search(asked, question, sender.stop(), &|_| {})?;
            // What was not explored to its end is not told.
            sender.check()?;
            Ok(report)
        })?;
        surprises += usize::from(!cell.agrees());
        sender.tell("cell", &told(line, condition, &cell)?)?;
    }
    Ok(AssumptionsResult { cells: total, surprises, command: asked.command() })
}

/// The whole table with a diagram of everything that breaks, as a page shows it that needs no server.
///
/// # Errors
/// If a run cannot be written.
pub(crate) fn report(
    table: &Table,
    rows: &[(&Line, Vec<Option<Cell>>)],
    command: String,
) -> Result<AssumptionsReport> {
    let (mut cells, mut diagrams) = (Vec::new(), Vec::new());
    for (line, searched) in rows {
        let searched = searched.iter().zip(table.conditions);
        for (cell, condition) in searched.filter_map(|(cell, of)| Some((cell.as_ref()?, of))) {
            cells.push(told(line, condition, cell)?);
            diagrams.extend(cell.traces.iter().map(|(property, trace)| AssumptionDiagram {
                cell: cells.len() - 1,
                property: property.name().into(),
                steps: cell.steps(*property),
                svg: svg::draw(trace, &svg::Options::default()),
            }));
        }
    }
    let surprises = cells.iter().filter(|cell| !cell.agrees).count();
    Ok(AssumptionsReport { table: frame(table, command), cells, surprises, diagrams })
}

fn frame(table: &Table, command: String) -> AssumptionTable {
    let mut lines: Vec<AssumptionLine> = table.places().map(|(line, _)| named(line)).collect();
    lines.dedup();
    let conditions = table.conditions.iter().map(|condition| condition.heading.into()).collect();
    AssumptionTable { system: table.system(), conditions, lines, command }
}

fn named(line: &Line) -> AssumptionLine {
    let who = (!line.who.is_empty()).then(|| line.who.to_string());
    AssumptionLine { algorithm: line.name.into(), who }
}

fn told(line: &Line, condition: &Condition, cell: &Cell) -> Result<AssumptionCell> {
    let AssumptionLine { algorithm, who } = named(line);
    let soonest = cell.report.violation().map(|(property, _)| property);
    let trace = cell.traces.iter().find(|(property, _)| Some(*property) == soonest);
    let mut run = trace.map(|(_, trace)| text(trace)).transpose()?;
    let properties = cell.report.verdicts.iter().map(|verdict| CheckedProperty {
        name: verdict.property.name().into(),
        holds: verdict.holds,
        trace_length: verdict.counterexample.as_ref().map(|found| found.steps.len()),
        trace: (Some(verdict.property) == soonest).then(|| run.take()).flatten(),
    });
    Ok(AssumptionCell {
        algorithm,
        who,
        condition: condition.heading.into(),
        holds: cell.holds(),
        claimed: cell.claimed,
        agrees: cell.agrees(),
        complete: cell.report.complete,
        states: cell.report.states,
        text: cell.text().replace('\u{a0}', " "),
        properties: properties.collect(),
        command: cell.asked.command(),
        request: Given(cell.asked.clone()),
    })
}
