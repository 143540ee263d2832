//! What `skeptron check` is asked: a system of either kind and what may happen to it.

use anyhow::Result;
use skeptron_check::{
    Counterexample, ElectionScenario, Options, Property, Report, Scenario, ScenarioError, check,
    check_election,
};
use skeptron_core::catalogue::{ElectionInfo, Info, Order};
use skeptron_core::{Setup, SetupError};
use skeptron_sim::trace::{Header, Record, TICKS_PER_UNIT, Trace, What};

use super::campaign;
use super::trace::{self, Story};

/// A system of either kind, and what may happen to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// Is the section safe, and who gets in?
    Mutex(&'static Info, Scenario),
    /// Who leads?
    Election(&'static ElectionInfo, ElectionScenario),
}

impl Question {
    /// The algorithm's name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Question::Mutex(info, _) => info.name,
            Question::Election(info, _) => info.name,
        }
    }

    /// The channel that the algorithm needs.
    pub(super) fn channel(&self) -> Order {
        match self {
            Question::Mutex(info, _) => info.channel,
            Question::Election(info, _) => info.channel,
        }
    }

    /// The channel that it gets.
    pub(super) fn order(&self) -> Order {
        match self {
            Question::Mutex(_, scenario) => scenario.order,
            Question::Election(_, scenario) => scenario.order,
        }
    }

    /// The system.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        match self {
            Question::Mutex(_, scenario) => &scenario.setup,
            Question::Election(_, scenario) => &scenario.setup,
        }
    }

    /// How many steps had been taken before the search began.
    pub(crate) fn begun(&self) -> usize {
        match self {
            Question::Mutex(_, scenario) => scenario.after.len(),
            Question::Election(..) => 0,
        }
    }

    /// What can be judged of it.
    #[must_use]
    pub fn properties(&self) -> &'static [Property] {
        match self {
            Question::Mutex(..) => Property::MUTEX,
            Question::Election(..) => Property::ELECTION,
        }
    }

    /// Explores it.
    ///
    /// # Errors
    /// If the scenario cannot be explored.
    pub fn answer(&self, options: &Options<'_>) -> Result<Report, ScenarioError> {
        match self {
            Question::Mutex(info, scenario) => check(info, scenario, options),
            Question::Election(info, scenario) => check_election(info, scenario, options),
        }
    }

    /// The steps of a counterexample, taken again.
    pub(super) fn follow(&self, counterexample: &Counterexample) -> Result<Story, SetupError> {
        let steps = &counterexample.steps;
        match self {
            Question::Mutex(info, scenario) => trace::follow(info, scenario, steps),
            Question::Election(info, scenario) => campaign::follow(info, scenario, steps),
        }
    }

    /// The run in which `property` is violated. One step takes one unit of time; what the nodes do when
    /// they start happens at 0.
    ///
    /// # Errors
    /// If the nodes cannot be built.
    pub fn trace(
        &self,
        property: Property,
        counterexample: &Counterexample,
        command: Option<String>,
    ) -> Result<Trace, SetupError> {
        let Story { mut records, .. } = self.follow(counterexample)?;
        let header = Header { command, ..Header::of(self.name(), self.setup(), self.order()) };
        // A run that is only dear violates nothing.
        if property == Property::Extreme {
            return Ok(Trace { header, records });
        }
        records.push(Record {
            t: counterexample.steps.len() as u64 * TICKS_PER_UNIT,
            node: counterexample.node,
            what: What::Violation {
                property: property.name().into(),
                detail: counterexample.detail.clone(),
            },
        });
        Ok(Trace { header, records })
    }
}
