//! What the options of a run say of an election.

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_core::NodeId;
use skeptron_core::catalogue::ElectionInfo;
use skeptron_sim::election::{Detector, Initiator, Scenario};
use skeptron_sim::trace::Ticks;
use skeptron_sim::{Faults, Hand};

use super::super::{Files, names};
use super::{DEFAULT_NODES, SimOptions, faults};

/// What the options mean if they are left out.
const UNTIL: &str = "100";
/// How long a false suspicion lasts in the mean if nothing says otherwise.
const LASTING: &str = "5";

impl SimOptions {
    /// What these options describe, for an election.
    ///
    /// # Errors
    /// If something is unknown, malformed, impossible, or for mutual exclusion only.
    pub fn election(&self, info: &'static ElectionInfo, files: Files) -> Result<Scenario> {
        self.refuse_options_of_mutexes(info)?;
        let setup = self.system.setup(info, DEFAULT_NODES, files)?;
        let nodes = setup.nodes();
        let faults = faults::parse(self)?;
        let detector = self.detector()?;
        let suspicious = can_suspect(&faults, detector);
        let scenario = Scenario {
            seed: self.seed,
            initiators: initiators(self.initiators.as_deref(), nodes, suspicious)?,
            detector,
            bound: self.bound.as_deref().map(|text| time("--bound", text)).transpose()?,
            latency: files.latency(&self.latency, nodes).context("--latency")?,
            order: self.order.into(),
            faults,
            hand: Hand::default(),
            until: time("--until", self.until.as_deref().unwrap_or(UNTIL))?,
            setup,
        };
        scenario.check(info)?;
        Ok(scenario)
    }

    /// What the nodes are told of crashes.
    pub(super) fn detector(&self) -> Result<Detector> {
        self.detector.as_deref().map_or(Ok(Detector::default()), detector)
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
