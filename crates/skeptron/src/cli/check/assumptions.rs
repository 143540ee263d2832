//! `skeptron check --all`: which assumption each algorithm really needs.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};

use super::super::Verdict;
use super::super::interrupt;
use super::super::output::OutputFile;
use super::super::sim::progress_bar;
use super::{CheckArgs, Question, Shard, memory, search};
use crate::ask::check::assumptions::{Cell, Condition, Line, Table};
use crate::ask::{CheckRequest, Request as _};
use crate::lab::{assumptions, standalone};

/// Makes the whole table.
pub(super) fn run(args: &CheckArgs, out: &mut impl Write) -> Result<Verdict> {
    let table = Table::new(&args.ask);
    // The page is made before the long work rather than missed after it.
    let page = args.html.as_ref().map(|path| OutputFile::create("--html", path)).transpose()?;
    let threads = args.threads()?;
    let search = |asked: &CheckRequest, question: &Question| {
        let max_memory = args.max_memory.unwrap_or_else(memory::most_of_what_is_free);
        search(asked, question, Shard::WHOLE, threads, max_memory)
    };
    let bar = progress_bar((table.lines.len() * table.conditions.len()) as u64);
    let mut rows: Vec<(&Line, Vec<Option<Cell>>)> = Vec::new();
    for line in table.lines.iter().take_while(|_| !interrupt::came()) {
        let mut cells = Vec::new();
        for condition in table.conditions {
            let asked = line.has(condition) && !interrupt::came();
            cells.push(asked.then(|| table.cell(line, condition, &search)).transpose()?);
            bar.inc(1);
        }
        rows.push((line, cells));
    }
    bar.finish_and_clear();
    let command = args.ask.command();
    if interrupt::came() {
        // What was searched last was not searched to its end.
        rows.pop();
    } else if let Some(file) = page {
        let page = standalone::of_assumptions(&assumptions::report(&table, &rows, command)?)?;
        file.write(|out| out.write_all(page.as_bytes()))?;
    }
    if args.json {
        let value: Vec<Value> =
            rows.iter().flat_map(|(line, cells)| as_json(table.conditions, line, cells)).collect();
        let value = Value::Array(value);
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    } else {
        print(&table, &rows, out)?;
    }
    let agrees = rows.iter().flat_map(|(_, cells)| cells).flatten().all(Cell::agrees);
    let verdict = if agrees { Verdict::Fine } else { Verdict::Violated };
    let so_far = format!(
        "{} of {} lines were finished{}",
        rows.len(),
        table.lines.len(),
        if args.html.is_some() { ", and no page was written" } else { "" }
    );
    Ok(interrupt::verdict(&so_far, verdict))
}

fn name(line: &Line) -> String {
    match line.who {
        "" => line.name.into(),
        who => format!("{}, {who}", line.name),
    }
}

fn print(table: &Table, rows: &[(&Line, Vec<Option<Cell>>)], out: &mut impl Write) -> Result<()> {
    let said = format!(
        "what holds if an assumption is dropped · {} · a number is the length of the shortest run that \
         breaks it",
        table.system()
    );
    writeln!(out, "{}", super::super::table::folded(&said))?;
    let [a, b, c, d, e, f, g] = table.conditions.each_ref().map(|condition| condition.heading);
    let mut shown = super::super::table::table(["algorithm", a, b, c, d, e, f, g]);
    // Seven verdicts beside each other are wider than a page; broken words would be worse.
    shown.set_content_arrangement(comfy_table::ContentArrangement::Disabled);
    for (line, cells) in rows {
        let texts = cells.iter().map(|cell| match cell {
            None => String::new(),
            Some(cell) if cell.agrees() => cell.text(),
            Some(cell) => format!("{}\n(!)", cell.text()),
        });
        shown.add_row([name(line)].into_iter().chain(texts));
    }
    writeln!(out, "{shown}")?;
    let all =
        || rows.iter().flat_map(|(line, cells)| cells.iter().flatten().map(move |c| (line, c)));
    for (line, cell) in all().filter(|(_, cell)| !cell.agrees()) {
        let claim =
            if cell.claimed == Some(true) { "everything holds" } else { "something breaks" };
        writeln!(out, "(!) {}: the spec says that {claim}: {}", name(line), cell.asked.command())?;
    }
    if let Some((_, shortest)) = all().find(|(_, cell)| !cell.traces.is_empty()) {
        writeln!(out, "one of them in full: {}", shortest.asked.command())?;
    }
    Ok(())
}

fn as_json(conditions: &[Condition], line: &Line, cells: &[Option<Cell>]) -> Vec<Value> {
    let cells = cells
        .iter()
        .zip(conditions)
        .filter_map(|(cell, condition)| Some((cell.as_ref()?, condition)));
    cells
        .map(|(cell, condition)| {
            json!({
                "algorithm": line.name,
                "who": (!line.who.is_empty()).then_some(line.who),
                "condition": condition.heading,
                "holds": cell.holds(),
                "claimed": cell.claimed,
                "complete": cell.report.complete,
                "states": cell.report.states,
                "properties": cell.report.verdicts.iter().map(|verdict| json!({
                    "name": verdict.property.name(),
                    "holds": verdict.holds,
                    "trace_length": verdict.counterexample.as_ref().map(|c| c.steps.len()),
                })).collect::<Vec<_>>(),
                "command": cell.asked.command(),
            })
        })
        .collect()
}
