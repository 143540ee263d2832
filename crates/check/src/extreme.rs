//! The dearest run: the extreme of a figure over all interleavings of a small system.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;
use skeptron_core::catalogue::Info;
use skeptron_core::claims::Quantity;
use skeptron_core::mutex::foreign;

use crate::check::Options;
use crate::counterexample::{Counterexample, tell};
use crate::explorer::{Limits, explore};
use crate::property::{Properties, Property};
use crate::scenario::{Scenario, ScenarioError};
use crate::world::{Watch, World};

/// A figure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measure {
    /// Messages of the whole run, in which everybody is served.
    Messages,
    /// Request to entry, in messages that come one after another; time inside does not count.
    Delay,
    /// How many others enter during one wait.
    Bypass,
}

/// Which extreme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// The largest value.
    Maximise,
    /// The smallest value.
    Minimise,
}

/// What is measured, of whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    Messages,
    /// Of one node: its wait is followed through all messages.
    Delay(u8),
    Bypass,
}

impl Figure {
    pub(crate) fn delay_of(self) -> Option<u8> {
        match self {
            Figure::Delay(node) => Some(node),
            _ => None,
        }
    }
}

/// A figure whose extreme is looked for: first its value, then a run that has it.
#[derive(Debug)]
pub(crate) struct Sought {
    pub(crate) figure: Figure,
    goal: Goal,
    best: AtomicU32,
    /// The value, once it is known.
    target: Option<u32>,
}

impl Sought {
    fn new(figure: Figure, goal: Goal, target: Option<u32>) -> Self {
        let none = match goal {
            Goal::Maximise => 0,
            Goal::Minimise => u32::MAX,
        };
        Sought { figure, goal, best: AtomicU32::new(none), target }
    }

    /// A run has this value. True if that is the one that is looked for.
    pub(crate) fn note(&self, value: u32) -> bool {
        match (self.target, self.goal) {
            (Some(target), _) => return value == target,
            (None, Goal::Maximise) => self.best.fetch_max(value, Ordering::Relaxed),
            (None, Goal::Minimise) => self.best.fetch_min(value, Ordering::Relaxed),
        };
        false
    }
}

/// The extreme of a figure, and a shortest run that has it.
#[derive(Clone, Debug, Serialize)]
pub struct Extreme {
    /// Of what.
    pub measure: Measure,
    /// Which one.
    pub goal: Goal,
    /// Its value; none if there was none before the search ended.
    pub value: Option<u32>,
    /// How many entries the runs have.
    pub entries: usize,
    /// A run with that value.
    pub run: Option<Counterexample>,
    /// Distinct states of the largest search.
    pub states: u64,
    /// Whether there is nothing else to explore: else there may be runs with more extreme values.
    pub complete: bool,
    /// How long it took.
    pub seconds: f64,
}

/// Finds the extreme of a figure over all runs of `scenario`.
///
/// # Errors
/// If the scenario cannot be explored, or the figure has no bound in it.
pub fn extreme(
    info: &Info,
    scenario: &Scenario,
    (goal, measure): (Goal, Measure),
    options: &Options<'_>,
) -> Result<Extreme, ScenarioError> {
    if !scenario.faults.is_none() {
        return Err(ScenarioError::ExtremeWithFaults);
    }
    if !scenario.after.is_empty() {
        return Err(ScenarioError::ExtremeAfter);
    }
    if measure == Measure::Messages && info.claims.most(Quantity::Messages).is_none() {
        return Err(ScenarioError::EndlessMessages(info.name));
    }
    let found = Find { info, scenario, goal, measure, options }.answer();
    foreign::check(info)?;
    found
}

struct Find<'a> {
    info: &'a Info,
    scenario: &'a Scenario,
    goal: Goal,
    measure: Measure,
    options: &'a Options<'a>,
}

impl Find<'_> {
    fn answer(&self) -> Result<Extreme, ScenarioError> {
        let began = Instant::now();
        let asking = NodeId::all(self.scenario.setup.nodes()).zip(&self.scenario.requests);
        let figures: Vec<Figure> = match self.measure {
            Measure::Messages => vec![Figure::Messages],
            Measure::Bypass => vec![Figure::Bypass],
            Measure::Delay => asking
                .filter(|(_, requests)| **requests > 0)
                .map(|(node, _)| Figure::Delay(node.index() as u8))
                .collect(),
        };
        let mut found = Extreme {
            measure: self.measure,
            goal: self.goal,
            value: None,
            entries: self.scenario.total_requests(),
            run: None,
            states: 0,
            complete: true,
            seconds: 0.0,
        };
        let mut best = None;
        for figure in figures {
            let world = self.world(figure, None)?;
            let searched = explore(&world, &self.limits());
            found.states = found.states.max(searched.states);
            found.complete &= searched.complete;
            let sought = world.watch.figure.as_ref().expect("it was given");
            let value = sought.best.load(Ordering::Relaxed);
            let is_better = match (self.goal, found.value) {
                (_, None) => value != u32::MAX,
                (Goal::Maximise, Some(known)) => value > known,
                (Goal::Minimise, Some(known)) => value < known,
            };
            if is_better {
                found.value = Some(value);
                best = Some(figure);
            }
        }
        if let (Some(figure), Some(value)) = (best, found.value) {
            let world = self.world(figure, Some(value))?;
            let searched = explore(&world, &self.limits());
            let moves = searched.moves_to(Property::Extreme);
            found.run = moves.map(|moves| tell(&world, Property::Extreme, &moves, None));
        }
        found.seconds = began.elapsed().as_secs_f64();
        Ok(found)
    }

    fn world(&self, figure: Figure, target: Option<u32>) -> Result<World, ScenarioError> {
        let only = Properties::from_iter([Property::Extreme]);
        let watch = Watch {
            bypass: (figure == Figure::Bypass).then_some(u8::MAX - 1),
            figure: Some(Sought::new(figure, self.goal, target)),
            ..Watch::default()
        };
        let scenario = self.scenario.begun_there();
        let mut world = World::new(self.info, &scenario, watch, Some(only))?;
        // Only where it is asked for is the number of messages worth its states.
        if figure != Figure::Messages {
            world.counts_messages = false;
        }
        Ok(world)
    }

    fn limits(&self) -> Limits<'_> {
        let Options { threads, max_memory, progress, stop, .. } = *self.options;
        // What makes no difference to who gets in may make one to when.
        Limits { threads, reduction: false, max_memory, keep_going: false, progress, stop }
    }
}
