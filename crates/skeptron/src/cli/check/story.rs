//! Counterexamples as runs.

use skeptron_check::{Counterexample, Property};
use skeptron_core::SetupError;
use skeptron_sim::trace::{Header, Record, TICKS_PER_UNIT, Trace, What};

use super::trace::{self, Story};
use super::{Question, campaign};

impl Question {
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
