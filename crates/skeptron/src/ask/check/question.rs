//! What is searched: a system of either kind and what may happen to it.

use skeptron_check::{
    ElectionScenario, Options, Property, Report, Scenario, ScenarioError, check, check_election,
};
use skeptron_core::Setup;
use skeptron_core::catalogue::{ElectionInfo, Info, Order};
use skeptron_core::monitor::Admission;

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
    pub(crate) fn channel(&self) -> Order {
        match self {
            Question::Mutex(info, _) => info.channel,
            Question::Election(info, _) => info.channel,
        }
    }

    /// The channel that it gets.
    pub(crate) fn order(&self) -> Order {
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

    /// Who may be inside together.
    pub(crate) fn admission(&self) -> Admission {
        match self {
            Question::Mutex(info, scenario) => info.admission(&scenario.setup),
            Question::Election(..) => Admission::ONE,
        }
    }

    /// Whether numbers are drawn at random.
    pub(crate) fn is_randomised(&self) -> bool {
        matches!(self, Question::Election(info, _) if info.is_randomised())
    }

    /// How many steps had been taken before the search began.
    pub(crate) fn begun(&self) -> usize {
        match self {
            Question::Mutex(_, scenario) => scenario.after.len(),
            Question::Election(_, scenario) => scenario.after.len(),
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
}
