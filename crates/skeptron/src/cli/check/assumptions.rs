//! `skeptron check --all`: which assumption each algorithm really needs.

use std::fs;
use std::io::Write;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use skeptron_check::{Property, Report};
use skeptron_core::catalogue::{self, Info, Layout};
use skeptron_sim::trace::Trace;

use super::super::Verdict;
use super::super::sim::progress_bar;
use super::super::table::table;
use super::{CheckArgs, memory, trace};

mod html;

/// What may happen to a system.
struct Condition {
    heading: &'static str,
    /// Its options.
    words: &'static str,
    /// Whether nodes stop.
    crashes: bool,
}

const CONDITIONS: [Condition; 7] = [
    Condition { heading: "FIFO", words: "", crashes: false },
    Condition { heading: "unordered", words: "--order any", crashes: false },
    Condition { heading: "one loss", words: "--loss 1", crashes: false },
    Condition { heading: "one duplicate", words: "--duplicate 1", crashes: false },
    Condition { heading: "idle stops", words: "--crashes 1 --crash-when idle", crashes: true },
    Condition {
        heading: "waiting stops",
        words: "--crashes 1 --crash-when waiting",
        crashes: true,
    },
    Condition {
        heading: "holding stops",
        words: "--crashes 1 --crash-when holding",
        crashes: true,
    },
];

/// A line of the table. Where one node is not like the others, it has a line of its own.
struct Line {
    info: &'static Info,
    who: &'static str,
    victims: Option<String>,
    /// Whether it says only what crashes do.
    only_crashes: bool,
}

/// What came of one algorithm under one condition.
struct Cell {
    command: String,
    report: Report,
    /// What the spec says: whether everything holds.
    claimed: Option<bool>,
    /// The shortest way to each violation.
    traces: Vec<(Property, Trace)>,
}

impl Cell {
    fn holds(&self) -> Option<bool> {
        match self.report.holds() {
            false => Some(false),
            true => self.report.complete.then_some(true),
        }
    }

    /// Whether it is as the spec says, where that says anything.
    fn agrees(&self) -> bool {
        self.claimed.is_none() || self.holds().is_none() || self.claimed == self.holds()
    }

    /// How many steps break a property; 0 if it holds.
    fn steps(&self, property: Property) -> usize {
        let found = self.report.verdict(property).and_then(|v| v.counterexample.as_ref());
        found.map_or(0, |counterexample| counterexample.steps.len())
    }

    /// What breaks, with the length of the shortest trace. Fences that do not rise are worth a word
    /// only where exclusion holds, which is never.
    fn text(&self) -> String {
        let broken: Vec<String> = self
            .report
            .verdicts
            .iter()
            .filter(|verdict| verdict.property != Property::Fence)
            .filter_map(|verdict| {
                let length = verdict.counterexample.as_ref()?.steps.len();
                // Kept together in a narrow column.
                Some(format!("{} {length}", word(verdict.property)).replace(' ', "\u{a0}"))
            })
            .collect();
        match (&broken[..], self.report.complete) {
            ([], true) => "holds".into(),
            ([], false) => format!("undecided (depth {})", self.report.depth),
            (broken, _) => broken.join("\n"),
        }
    }
}

/// A violation in a word or two.
fn word(property: Property) -> &'static str {
    match property {
        Property::Exclusion => "two inside",
        Property::Progress => "deadlock",
        other => other.name(),
    }
}

/// What spec 2.12 and the channel that each algorithm needs say: whether everything holds. `None` where
/// they say nothing.
fn claimed(line: &Line, condition: usize) -> Option<bool> {
    let name = line.info.name;
    match (CONDITIONS[condition].heading, name) {
        ("FIFO", _) => Some(true),
        ("unordered", _) => Some(line.info.channel == catalogue::Order::Any),
        ("one loss", _) => Some(false),
        (_, "ricart-agrawala" | "token-ring") if CONDITIONS[condition].crashes => Some(false),
        ("idle stops", "central") => Some(line.who == "client"),
        ("idle stops", "suzuki-kasami") => Some(true),
        _ => None,
    }
}

fn lines(nodes: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for info in catalogue::sound() {
        let plain = Line { info, who: "", victims: None, only_crashes: false };
        if info.layout == Layout::Coordinator && nodes > 1 {
            let clients: Vec<String> = (2..=nodes).map(|i| format!("P{i}")).collect();
            let victims = Some(clients.join(","));
            lines.push(Line { who: "client", victims, ..plain });
            let victims = Some("P1".to_string());
            lines.push(Line { info, who: "coordinator", victims, only_crashes: true });
        } else {
            lines.push(plain);
        }
    }
    lines
}

/// Of three nodes the last asks twice: enough for a late message of its first request to meet its
/// second one.
pub(super) const DEFAULT_REQUESTS: &str = "1,1,2";

/// Makes the whole table.
pub(super) fn run(args: &CheckArgs, out: &mut impl Write) -> Result<Verdict> {
    let requests = if args.requests == "1" { DEFAULT_REQUESTS } else { &args.requests };
    let nodes = args.system.nodes.unwrap_or_else(|| match requests.split(',').count() {
        1 => super::DEFAULT_NODES,
        listed => listed,
    });
    // The page is made before the long work rather than missed after it.
    let page = args.html.as_ref().map(|path| {
        let name = format!("--html {}", path.display());
        fs::File::create(path).with_context(|| name.clone()).map(|file| (file, name))
    });
    let page = page.transpose()?;
    let lines = lines(nodes);
    let bar = progress_bar((lines.len() * CONDITIONS.len()) as u64);
    let mut rows: Vec<(&Line, Vec<Option<Cell>>)> = Vec::new();
    for line in &lines {
        let mut cells = Vec::new();
        for (i, condition) in CONDITIONS.iter().enumerate() {
            let skipped = line.only_crashes && !condition.crashes;
            cells.push(if skipped { None } else { Some(cell(args, nodes, requests, line, i)?) });
            bar.inc(1);
        }
        rows.push((line, cells));
    }
    bar.finish_and_clear();
    let command = command(args);
    if let Some((mut file, name)) = page {
        let text = html::page(&rows, nodes, requests, &command);
        file.write_all(text.as_bytes()).context(name)?;
    }
    if args.json {
        let value =
            Value::Array(rows.iter().flat_map(|(line, cells)| as_json(line, cells)).collect());
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    } else {
        print(&rows, nodes, requests, out)?;
    }
    let agrees = rows.iter().flat_map(|(_, cells)| cells).flatten().all(Cell::agrees);
    Ok(if agrees { Verdict::Fine } else { Verdict::Violated })
}

fn command(args: &CheckArgs) -> String {
    let mut words = vec!["skeptron check --all".to_string()];
    if let Some(nodes) = args.system.nodes {
        words.push(format!("-n {nodes}"));
    }
    if args.requests != "1" {
        words.push(format!("--requests {}", args.requests));
    }
    words.join(" ")
}

fn cell(
    args: &CheckArgs,
    nodes: usize,
    requests: &str,
    line: &Line,
    condition: usize,
) -> Result<Cell> {
    let Condition { words, crashes, .. } = CONDITIONS[condition];
    let mut options =
        format!("{} -n {nodes} --requests {requests} --keep-going {words}", line.info.name);
    if let (true, Some(victims)) = (crashes, &line.victims) {
        options.push_str(&format!(" --victims {victims}"));
    }
    let one = CheckArgs::parse(&options)?;
    let (info, scenario) = one.scenario()?;
    let max_memory = args.max_memory.unwrap_or_else(memory::most_of_what_is_free);
    let report = one.search(info, &scenario, args.threads()?, max_memory)?;
    let mut traces = Vec::new();
    for verdict in &report.verdicts {
        if let Some(counterexample) = &verdict.counterexample {
            let command = Some(one.command());
            let trace = trace::trace(info, &scenario, verdict.property, counterexample, command)?;
            traces.push((verdict.property, trace));
        }
    }
    Ok(Cell { command: one.command(), report, claimed: claimed(line, condition), traces })
}

fn name(line: &Line) -> String {
    match line.who {
        "" => line.info.name.into(),
        who => format!("{}, {who}", line.info.name),
    }
}

fn print(
    rows: &[(&Line, Vec<Option<Cell>>)],
    nodes: usize,
    requests: &str,
    out: &mut impl Write,
) -> Result<()> {
    writeln!(
        out,
        "what holds if an assumption is dropped · {nodes} nodes, requests {requests} · a number is the \
         length of the shortest run that breaks it"
    )?;
    let [a, b, c, d, e, f, g] = CONDITIONS.map(|condition| condition.heading);
    let mut shown = table(["algorithm", a, b, c, d, e, f, g]);
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
        writeln!(out, "(!) {}: the spec says that {claim}: {}", name(line), cell.command)?;
    }
    if let Some((_, shortest)) = all().find(|(_, cell)| !cell.traces.is_empty()) {
        writeln!(out, "one of them in full: {}", shortest.command)?;
    }
    Ok(())
}

fn as_json(line: &Line, cells: &[Option<Cell>]) -> Vec<Value> {
    let cells = cells
        .iter()
        .zip(&CONDITIONS)
        .filter_map(|(cell, condition)| Some((cell.as_ref()?, condition)));
    cells
        .map(|(cell, condition)| {
            json!({
                "algorithm": line.info.name,
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
                "command": cell.command,
            })
        })
        .collect()
}
