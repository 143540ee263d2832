//! What can be asked beyond what an algorithm promises: properties by name, and the dearest run.

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use skeptron_check::{Goal, Judging, Measure, Options, Predicate, Property, extreme};
use skeptron_sim::trace::Trace;

use super::super::{Files, Request as _};
use super::{CheckRequest, Question};

/// A figure whose extreme is looked for, as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Dearness {
    /// All messages of a run.
    Messages,
    /// Request to entry, in messages one after another.
    Delay,
    /// Entries of others during one wait.
    Bypass,
}

impl From<Dearness> for Measure {
    fn from(dearness: Dearness) -> Self {
        match dearness {
            Dearness::Messages => Measure::Messages,
            Dearness::Delay => Measure::Delay,
            Dearness::Bypass => Measure::Bypass,
        }
    }
}

/// What can be asked of mutual exclusion by name.
const JUDGED: [Property; 12] = [
    Property::Exclusion,
    Property::Progress,
    Property::Starvation,
    Property::Order,
    Property::OrderByTime,
    Property::Bypass,
    Property::Fence,
    Property::Messages,
    Property::Rest,
    Property::Refused,
    Property::Closure,
    Property::Convergence,
];

/// The name of a property, for clap.
pub(super) fn property(text: &str) -> Result<String, String> {
    named(text).map(|property| property.name().to_string())
}

fn named(text: &str) -> Result<Property, String> {
    JUDGED.into_iter().find(|property| property.name() == text.trim()).ok_or_else(|| {
        let known: Vec<&str> = JUDGED.iter().map(|property| property.name()).collect();
        format!("there are {}", known.join(", "))
    })
}

/// With more states than this starvation is judged only if that is asked for.
const ENDLESS_STATES: usize = 300_000;

/// What is said of every state by name: of which algorithms, under which name, and what it says. Those of
/// Singhal's algorithm are the lemmas and theorems of the lectures, as we read them.
const INVARIANTS: [(&str, &str, &str); 8] = [
    ("singhal", "no-false-R", "forall i, j: j in i.token.requesting => j.phase == waiting"),
    // The staircase, before anybody has asked.
    ("singhal", "L4.1.1", "(forall i, j: i.sn[j] == 0) => forall i, j: (j in i.ask) == (j < i)"),
    ("singhal", "L4.1.2", "forall i: !(i in i.ask)"),
    ("singhal", "L4.1.3", "forall i, j: i.token != none && j.token != none => i == j"),
    ("singhal", "L4.1.4", "quiet => forall i, j: i == j || i in j.ask || j in i.ask"),
    ("singhal", "L4.1.5", "quiet => forall i, j: j.token != none => i == j || j in i.ask"),
    ("singhal", "S4.2", "silent && (exists i: i.phase == waiting) => exists i: i.phase == inside"),
    ("singhal", "S4.3", "quiet => forall i, j: i == j || size(i.ask) != size(j.ask)"),
];

impl CheckRequest {
    /// What must hold in every state, if that is said: by name or as a predicate.
    pub(crate) fn predicate(&self) -> Result<Option<Predicate>> {
        let Some(text) = &self.invariant else { return Ok(None) };
        let algorithm = self.algorithm.as_deref().unwrap_or_default();
        let named = INVARIANTS
            .iter()
            .find(|(family, name, _)| name == text && algorithm.starts_with(family));
        let text = named.map_or(text.as_str(), |(_, _, said)| said);
        let predicate = Predicate::parse(text).with_context(|| format!("--invariant `{text}`"))?;
        Ok(Some(predicate))
    }

    /// Which extreme is looked for, if one is.
    pub(crate) fn dearest(&self) -> Option<(Goal, Measure)> {
        let most = self.maximise.map(|figure| (Goal::Maximise, figure.into()));
        most.or_else(|| self.minimise.map(|figure| (Goal::Minimise, figure.into())))
    }

    /// Which properties are to be judged alone, if that is said.
    pub(crate) fn judged(&self) -> Result<Option<Vec<Property>>> {
        let named = |name: &String| named(name).map_err(|known| anyhow!("--judge {name}: {known}"));
        let mut judged = self.judge.iter().map(named).collect::<Result<Vec<_>>>()?;
        ensure!(
            self.bypass.is_some() || !judged.contains(&Property::Bypass),
            "--judge bypass needs a bound; say it with --bypass B"
        );
        if !judged.is_empty() && self.bypass.is_some() {
            judged.push(Property::Bypass);
        }
        // Whoever asks for an invariant alone wants to know about that alone.
        Ok((!judged.is_empty() || self.invariant.is_some()).then_some(judged))
    }

    pub(crate) fn judging<'a>(
        &self,
        only: Option<&'a [Property]>,
        invariant: Option<&'a Predicate>,
    ) -> Judging<'a> {
        let is_asked = only.is_some_and(|only| only.contains(&Property::Starvation));
        let most = if is_asked { usize::MAX } else { ENDLESS_STATES };
        Judging { only, bypass: self.bypass, endless_states: Some(most), invariant }
    }

    /// Refuses what can be asked of mutual exclusion alone.
    pub(crate) fn refuse_questions(&self, of: &str) -> Result<()> {
        let given = [
            ("--judge", !self.judge.is_empty()),
            ("--bypass", self.bypass.is_some()),
            ("--invariant", self.invariant.is_some()),
            ("--maximise", self.maximise.is_some()),
            ("--minimise", self.minimise.is_some()),
        ];
        for (option, is_given) in given {
            ensure!(!is_given, "{option} is for mutual exclusion, not for {of}; leave it out");
        }
        Ok(())
    }

    /// The run that answers these options, if one does: the dearest or the cheapest, or the shortest that
    /// violates something.
    ///
    /// # Errors
    /// If something is unknown, malformed or impossible.
    pub(crate) fn answering_run(&self, options: Options, files: Files) -> Result<Option<Trace>> {
        let question = self.question(files)?;
        let (only, invariant) = (self.judged()?, self.predicate()?);
        let judging = self.judging(only.as_deref(), invariant.as_ref());
        let (walks, disk) = (self.random_walks()?, self.on_disk(files)?);
        let options = Options { judging, walks, disk, ..options };
        let found = match (self.dearest(), &question) {
            (Some(goal), Question::Mutex(info, scenario)) => {
                let run = extreme(info, scenario, goal, &options)?.run;
                run.map(|run| (Property::Extreme, run))
            }
            _ => {
                let report = question.answer(&options)?;
                report.violation().map(|(property, run)| (property, run.clone()))
            }
        };
        let trace = |(property, run)| question.trace(property, &run, Some(self.command()));
        Ok(found.map(trace).transpose()?)
    }
}
