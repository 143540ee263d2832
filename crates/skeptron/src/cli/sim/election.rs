//! Elections: what the options mean, one run, and many.

use std::io::Write;

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_core::NodeId;
use skeptron_core::catalogue::ElectionInfo;
use skeptron_sim::election::{Detector, Initiator, Outcome, Report, Scenario, run};
use skeptron_sim::trace::{Ticks, Trace};
use skeptron_sim::{Faults, Hand, Latency, Options};

use super::super::estimate::Estimate;
use super::super::{Verdict, interrupt, names};
use super::{DEFAULT_NODES, SimArgs, faults, seeds};

pub(crate) mod print;

/// What the options mean if they are left out.
const DETECTOR: &str = "perfect:2";
const UNTIL: &str = "100";
/// How long a false suspicion lasts in the mean if nothing says otherwise.
const LASTING: &str = "5";

impl SimArgs {
    /// What these options describe, for an election.
    ///
    /// # Errors
    /// If something is unknown, malformed, impossible, or for mutual exclusion only.
    pub fn election(&self, info: &'static ElectionInfo) -> Result<Scenario> {
        self.refuse_options_of_mutexes(info)?;
        let setup = self.system.setup(info, DEFAULT_NODES)?;
        let nodes = setup.nodes();
        let faults = faults::parse(self)?;
        let detector = detector(self.detector.as_deref().unwrap_or(DETECTOR))?;
        let suspicious = can_suspect(&faults, detector);
        let scenario = Scenario {
            seed: self.seed,
            initiators: initiators(self.initiators.as_deref(), nodes, suspicious)?,
            detector,
            bound: self.bound.as_deref().map(|text| time("--bound", text)).transpose()?,
            latency: Latency::parse(&self.latency, nodes).context("--latency")?,
            order: self.order.into(),
            faults,
            hand: Hand::default(),
            until: time("--until", self.until.as_deref().unwrap_or(UNTIL))?,
            setup,
        };
        scenario.check(info)?;
        Ok(scenario)
    }

    fn refuse_options_of_mutexes(&self, info: &ElectionInfo) -> Result<()> {
        let instead = "use --initiators to say who calls, and when";
        let nothing = "leave it out";
        let given = [
            ("--requesters", self.requesters.is_some(), instead),
            ("--workload", self.workload.is_some(), instead),
            ("--think", self.think.is_some(), instead),
            ("--section", self.section.is_some(), nothing),
            ("--entries", self.entries.is_some(), nothing),
            ("--warmup", self.warmup.is_some(), nothing),
        ];
        for (option, is_given, remedy) in given {
            ensure!(!is_given, "{} elects a leader and takes no {option}; {remedy}", info.name);
        }
        Ok(())
    }

    pub(super) fn run_election(
        &self,
        info: &'static ElectionInfo,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let scenario = self.election(info)?;
        match &self.seeds {
            Some(range) => {
                self.run_election_seeds(info, &scenario, super::parse_seeds(range)?, out)
            }
            None => self.run_one_election(info, &scenario, out),
        }
    }

    fn run_one_election(
        &self,
        info: &'static ElectionInfo,
        scenario: &Scenario,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let files = self.trace_files()?;
        let Outcome { report, trace, .. } = run(info, scenario, &self.options(self.records()))?;
        let relation = self.show_run(trace, files, out)?;
        if self.json {
            super::print::json(&report, None, relation, out)?;
        } else {
            print::report(info, scenario, &report, out)?;
        }
        self.verdict(report.is_fine(), &report.violations, out)
    }

    /// What happens in the election that these options describe.
    pub(super) fn election_trace(&self, info: &'static ElectionInfo) -> Result<Trace> {
        let scenario = self.election(info)?;
        let outcome = run(info, &scenario, &self.options(true))?;
        outcome.trace.context("a recorded run has a trace")
    }

    fn run_election_seeds(
        &self,
        info: &'static ElectionInfo,
        scenario: &Scenario,
        range: std::ops::RangeInclusive<u64>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let options = Options { stop: Some(interrupt::listen().clone()), ..self.options(false) };
        let planned = seeds::count(&range);
        let reports = seeds::reports(range, |seed| {
            Ok(run(info, &Scenario { seed, ..scenario.clone() }, &options)?.report)
        })?;
        let estimate = |figure: fn(&Report) -> Option<f64>| {
            Estimate::of(&reports.iter().filter_map(figure).collect::<Vec<_>>())
        };
        let mut figures = vec![("messages", estimate(|r| Some(r.messages.total as f64)))];
        // A run that ends without a leader has no time.
        if reports.iter().any(|report| report.time.is_some()) {
            figures.push(("time", estimate(|r| r.time)));
        }
        figures.push(("calls", estimate(|r| Some(r.calls as f64))));
        figures.push(("leaders named", estimate(|r| Some(r.leaders.len() as f64))));
        let failed = reports.iter().filter(|report| !report.is_fine());
        let failures: Vec<seeds::Failure> = failed
            .map(|report| seeds::Failure {
                seed: report.seed,
                violations: &report.violations,
                stalled: None,
                command: self.command_of(report.seed),
            })
            .collect();
        let summary = seeds::Summary {
            algorithm: info.name,
            nodes: scenario.setup.nodes(),
            runs: reports.len(),
            planned,
            figures: &figures,
            failures: &failures,
        };
        summary.write(self.json, out)
    }
}

/// Whether anybody can ever be suspected.
fn can_suspect(faults: &Faults, detector: Detector) -> bool {
    faults.crashes.is_some()
        || faults.planned.iter().any(|planned| planned.fault.is_crash())
        || matches!(detector, Detector::Imperfect { .. })
}

/// Who calls: `all`, or a list of nodes, each with a time or without. Without one a node calls when it
/// suspects its leader; if nobody can ever be suspected, at once.
fn initiators(text: Option<&str>, nodes: usize, suspicious: bool) -> Result<Vec<Initiator>> {
    let otherwise = (!suspicious).then_some(0);
    let text = match text {
        Some(text) => text,
        None if suspicious => "all",
        None => "1",
    };
    if text == "none" {
        return Ok(Vec::new());
    }
    let mut initiators = Vec::new();
    for word in text.split(',') {
        let context = || format!("--initiators {text}");
        let (who, at) = match word.split_once('@') {
            Some((who, at)) => (who, Some(super::constant(at).with_context(context)?)),
            None => (word, otherwise),
        };
        if who.trim() == "all" {
            initiators.extend(NodeId::all(nodes).map(|node| Initiator { node, at }));
        } else {
            initiators.push(Initiator { node: names::node(who).with_context(context)?, at });
        }
    }
    Ok(initiators)
}

/// `perfect:DELAY` or `imperfect:DELAY,RATE,LASTING`.
fn detector(text: &str) -> Result<Detector> {
    let context = || format!("--detector {text}");
    let number = |number: &str| match number.trim().parse::<f64>() {
        Ok(number) => Ok(number),
        Err(_) => bail!("`{number}` is no number"),
    };
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "perfect" => Ok(Detector::Perfect { delay: super::constant(rest).with_context(context)? }),
        "imperfect" => {
            let parts: Vec<&str> = rest.split(',').collect();
            let (delay, rate, lasting) = match *parts {
                [delay, rate] => (delay, rate, LASTING),
                [delay, rate, lasting] => (delay, rate, lasting),
                _ => bail!(
                    "{}: write imperfect:DELAY,RATE or imperfect:DELAY,RATE,LASTING",
                    context()
                ),
            };
            Ok(Detector::Imperfect {
                delay: super::constant(delay).with_context(context)?,
                rate: number(rate).with_context(context)?,
                lasting: number(lasting).with_context(context)?,
            })
        }
        _ => bail!(
            "{}: there is no such detector; write perfect:DELAY or imperfect:DELAY,RATE{}",
            context(),
            names::did_you_mean(kind, ["perfect", "imperfect"].into_iter())
        ),
    }
}

fn time(option: &str, text: &str) -> Result<Ticks> {
    super::constant(text).with_context(|| format!("{option} {text}"))
}
