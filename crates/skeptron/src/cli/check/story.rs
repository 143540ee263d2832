//! Counterexamples as runs.

use skeptron_check::{Counterexample, Property};
use skeptron_sim::replay::ReplayError;
use skeptron_sim::trace::{Header, Record, TICKS_PER_UNIT, Trace, What};

use super::Question;
use super::trace::{self, Story};

impl Question {
    /// The steps of a counterexample, taken again.
    pub(super) fn follow(&self, counterexample: &Counterexample) -> Result<Story, ReplayError> {
        let steps = &counterexample.steps;
        match self {
            Question::Mutex(..) => trace::follow(self.header(), steps),
            Question::Election(_, scenario) => {
                trace::follow_election(self.header(), scenario, steps)
            }
        }
    }

    /// Of the runs of this system.
    fn header(&self) -> Header {
        Header::of(self.name(), self.setup(), self.order())
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
    ) -> Result<Trace, ReplayError> {
        let Story { mut records, .. } = self.follow(counterexample)?;
        let header = Header { command, ..self.header() };
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
