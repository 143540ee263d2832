//! Which assumption each algorithm really needs: a table of searches.

use anyhow::Result;
use skeptron_check::{Property, Report};
use skeptron_core::catalogue::{self, Layout, Order};
use skeptron_sim::trace::Trace;

use super::super::{Files, Request as _};
use super::{CheckRequest, Question};

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
    pub(crate) lines: Vec<Line>,
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
    pub(crate) asked: CheckRequest,
    pub(crate) report: Report,
    /// What the spec says: whether everything holds.
    pub(crate) claimed: Option<bool>,
    /// The shortest way to each violation.
    pub(crate) traces: Vec<(Property, Trace)>,
}

/// Searches what one cell asks.
pub(crate) type Search<'a> = dyn Fn(&CheckRequest, &Question) -> Result<Report> + 'a;

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
    pub(crate) fn steps(&self, property: Property) -> usize {
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
        Property::Convergence => "no recovery",
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
        // It does without k−1 answers, and with two of three at once one loss is one of those.
        ("one loss", "raymond-k") => None,
        ("one loss", name) if catalogue::find(name).is_some() => Some(false),
        (_, "ricart-agrawala" | "token-ring") if condition.crashes => Some(false),
        (_, "agrawal-el-abbadi") if condition.crashes => Some(true),
        ("idle stops", "central") => Some(line.who == "client"),
        ("idle stops", "suzuki-kasami") => Some(true),
        _ => None,
    }
}

impl Line {
    /// Whether it says something of that.
    pub(crate) fn has(&self, condition: &Condition) -> bool {
        condition.crashes || !self.only_crashes
    }
}

impl Table {
    /// The table that `--all` asks for.
    pub(crate) fn new(asked: &CheckRequest) -> Self {
        if asked.elections { Self::of_elections(asked) } else { Self::of_mutexes(asked) }
    }

    fn of_mutexes(asked: &CheckRequest) -> Self {
        let requests = asked.requests.as_deref().unwrap_or(DEFAULT_REQUESTS);
        let nodes = asked.system.nodes.unwrap_or_else(|| match requests.split(',').count() {
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

    fn of_elections(asked: &CheckRequest) -> Self {
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
            nodes: asked.system.nodes.unwrap_or(super::DEFAULT_NODES),
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
        let asked = CheckRequest::parse(&options)?;
        let question = asked.question(Files::None)?;
        let report = search(&asked, &question)?;
        let mut traces = Vec::new();
        for verdict in &report.verdicts {
            if let Some(counterexample) = &verdict.counterexample {
                let command = Some(asked.command());
                let trace = question.trace(verdict.property, counterexample, command)?;
                traces.push((verdict.property, trace));
            }
        }
        Ok(Cell { asked, report, claimed: claimed(line, condition), traces })
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
const DEFAULT_REQUESTS: &str = "1,1,2";
