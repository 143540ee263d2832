//! `skeptron check --all`: which assumption each algorithm really needs.

use std::io::Write;

use anyhow::Result;
use serde_json::{Value, json};
use skeptron_check::{Property, Report};
use skeptron_core::catalogue::{self, Layout, Order};
use skeptron_sim::trace::Trace;

use super::super::Verdict;
use super::super::interrupt;
use super::super::output::OutputFile;
use super::super::sim::progress_bar;
use super::{CheckArgs, Question, memory};

mod html;

/// What may happen to a system.
pub(crate) struct Condition {
    pub(crate) heading: &'static str,
    /// Its options.
    words: &'static str,
    /// Whether nodes stop.
    crashes: bool,
}

const OF_MUTEXES: [Condition; 7] = [
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

/// Somebody calls without need; who suspects its leader calls besides, which is enough where detectors
/// are wrong.
const OF_ELECTIONS: [Condition; 7] = [
    Condition { heading: "no fault", words: "--calls 1", crashes: false },
    Condition { heading: "one crash", words: "--calls 1 --crashes 1", crashes: true },
    Condition { heading: "unordered", words: "--calls 1 --crashes 1 --order any", crashes: true },
    Condition { heading: "early alarm", words: "--calls 1 --premature 1", crashes: false },
    Condition { heading: "false suspicion", words: "--calls 0 --suspicions 1", crashes: false },
    Condition { heading: "one loss", words: "--calls 1 --loss 1", crashes: false },
    Condition { heading: "one duplicate", words: "--calls 1 --duplicate 1", crashes: false },
];

/// Which algorithms of which kind, and what may happen to them.
pub(crate) struct Table {
    pub(crate) conditions: &'static [Condition; 7],
    lines: Vec<Line>,
    nodes: usize,
    /// The options that say what users do.
    workload: String,
}

/// A line of the table. Where one node is not like the others, it has a line of its own.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    channel: Order,
    pub(crate) who: &'static str,
    victims: Option<String>,
    /// Whether it says only what crashes do.
    only_crashes: bool,
}

/// What came of one algorithm under one condition.
pub(crate) struct Cell {
    /// The question on its own.
    pub(crate) args: CheckArgs,
    pub(crate) report: Report,
    /// What the spec says: whether everything holds.
    pub(crate) claimed: Option<bool>,
    /// The shortest way to each violation.
    pub(crate) traces: Vec<(Property, Trace)>,
}

/// Searches what one cell asks.
pub(crate) type Search<'a> = dyn Fn(&CheckArgs, &Question) -> Result<Report> + 'a;

impl Cell {
    pub(crate) fn holds(&self) -> Option<bool> {
        match self.report.holds() {
            false => Some(false),
            true => self.report.complete.then_some(true),
        }
    }

    /// Whether it is as the spec says, where that says anything.
    pub(crate) fn agrees(&self) -> bool {
        self.claimed.is_none() || self.holds().is_none() || self.claimed == self.holds()
    }

    /// How many steps break a property; 0 if it holds.
    fn steps(&self, property: Property) -> usize {
        let found = self.report.verdict(property).and_then(|v| v.counterexample.as_ref());
        found.map_or(0, |counterexample| counterexample.steps.len())
    }

    /// What breaks, with the length of the shortest trace. Fences that do not rise are worth a word
    /// only where exclusion holds, which is never.
    pub(crate) fn text(&self) -> String {
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
        Property::Agreement => "two leaders",
        Property::Validity => "wrong leader",
        Property::Termination => "no leader",
        other => other.name(),
    }
}

/// What the specs and the channel that each algorithm needs say: whether everything holds. `None` where
/// they say nothing.
fn claimed(line: &Line, condition: &Condition) -> Option<bool> {
    match (condition.heading, line.name) {
        ("FIFO" | "no fault" | "one crash", _) => Some(true),
        ("unordered", _) => Some(line.channel == Order::Any),
        ("early alarm", "bully") => Some(false),
        ("early alarm" | "false suspicion", "invitation") => Some(true),
        ("one loss", name) if catalogue::find(name).is_some() => Some(false),
        (_, "ricart-agrawala" | "token-ring") if condition.crashes => Some(false),
        ("idle stops", "central") => Some(line.who == "client"),
        ("idle stops", "suzuki-kasami") => Some(true),
        _ => None,
    }
}

impl Line {
    fn has(&self, condition: &Condition) -> bool {
        condition.crashes || !self.only_crashes
    }
}

impl Table {
    /// The table that `--all` asks for.
    pub(crate) fn new(args: &CheckArgs) -> Self {
        if args.elections { Self::of_elections(args) } else { Self::of_mutexes(args) }
    }

    fn of_mutexes(args: &CheckArgs) -> Self {
        let requests = args.requests.as_deref().unwrap_or(DEFAULT_REQUESTS);
        let nodes = args.system.nodes.unwrap_or_else(|| match requests.split(',').count() {
            1 => super::DEFAULT_NODES,
            listed => listed,
        });
        let mut lines = Vec::new();
        for info in catalogue::sound() {
            let plain = Line {
                name: info.name,
                channel: info.channel,
                who: "",
                victims: None,
                only_crashes: false,
            };
            if info.layout == Layout::Coordinator && nodes > 1 {
                let clients: Vec<String> = (2..=nodes).map(|i| format!("P{i}")).collect();
                let victims = Some(clients.join(","));
                lines.push(Line { who: "client", victims, ..plain });
                let victims = Some("P1".to_string());
                lines.push(Line { who: "coordinator", victims, only_crashes: true, ..plain });
            } else {
                lines.push(plain);
            }
        }
        let workload = format!("--requests {requests}");
        Table { conditions: &OF_MUTEXES, lines, nodes, workload }
    }

    fn of_elections(args: &CheckArgs) -> Self {
        let sound = catalogue::elections().filter(|info| info.broken.is_none());
        let line = |info: &'static catalogue::ElectionInfo| Line {
            name: info.name,
            channel: info.channel,
            who: "",
            victims: None,
            only_crashes: false,
        };
        Table {
            conditions: &OF_ELECTIONS,
            lines: sound.map(line).collect(),
            nodes: args.system.nodes.unwrap_or(super::DEFAULT_NODES),
            workload: String::new(),
        }
    }

    /// Its cells; where a line says only what crashes do, the others are empty.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&Line, &'static Condition)> {
        let of_line = |line| self.conditions.iter().map(move |condition| (line, condition));
        self.lines.iter().flat_map(of_line).filter(|(line, condition)| line.has(condition))
    }

    /// What comes of a line under a condition.
    ///
    /// # Errors
    /// If the table is for a system that cannot be.
    pub(crate) fn cell(
        &self,
        line: &Line,
        condition: &Condition,
        search: &Search<'_>,
    ) -> Result<Cell> {
        let Table { nodes, workload, .. } = self;
        let mut options =
            format!("{} -n {nodes} {workload} --keep-going {}", line.name, condition.words);
        if let (true, Some(victims)) = (condition.crashes, &line.victims) {
            options.push_str(&format!(" --victims {victims}"));
        }
        let args = CheckArgs::parse(&options)?;
        let question = args.question()?;
        let report = search(&args, &question)?;
        let mut traces = Vec::new();
        for verdict in &report.verdicts {
            if let Some(counterexample) = &verdict.counterexample {
                let command = Some(args.command());
                let trace = question.trace(verdict.property, counterexample, command)?;
                traces.push((verdict.property, trace));
            }
        }
        Ok(Cell { args, report, claimed: claimed(line, condition), traces })
    }

    /// The system in words: `3 nodes, requests 1,1,2`.
    pub(crate) fn system(&self) -> String {
        match self.workload.strip_prefix("--") {
            Some(workload) => format!("{} nodes, {workload}", self.nodes),
            None => format!("{} nodes", self.nodes),
        }
    }
}

/// Of three nodes the last asks twice: enough for a late message of its first request to meet its
/// second one.
pub(super) const DEFAULT_REQUESTS: &str = "1,1,2";

/// Makes the whole table.
pub(super) fn run(args: &CheckArgs, out: &mut impl Write) -> Result<Verdict> {
    let table = Table::new(args);
    // The page is made before the long work rather than missed after it.
    let page = args.html.as_ref().map(|path| OutputFile::create("--html", path)).transpose()?;
    let threads = args.threads()?;
    let search = |one: &CheckArgs, question: &Question| {
        let max_memory = args.max_memory.unwrap_or_else(memory::most_of_what_is_free);
        one.search(question, threads, max_memory)
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
    let command = command(args);
    if interrupt::came() {
        // What was searched last was not searched to its end.
        rows.pop();
    } else if let Some(file) = page {
        let text = html::page(&table, &rows, &command);
        file.write(|out| out.write_all(text.as_bytes()))?;
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

/// The command that makes the same table again.
pub(crate) fn command(args: &CheckArgs) -> String {
    let mut words = vec!["skeptron check --all".to_string()];
    if args.elections {
        words.push("--elections".into());
    }
    if let Some(nodes) = args.system.nodes {
        words.push(format!("-n {nodes}"));
    }
    if let Some(requests) = &args.requests {
        words.push(format!("--requests {requests}"));
    }
    words.join(" ")
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
        writeln!(out, "(!) {}: the spec says that {claim}: {}", name(line), cell.args.command())?;
    }
    if let Some((_, shortest)) = all().find(|(_, cell)| !cell.traces.is_empty()) {
        writeln!(out, "one of them in full: {}", shortest.args.command())?;
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
                "command": cell.args.command(),
            })
        })
        .collect()
}
