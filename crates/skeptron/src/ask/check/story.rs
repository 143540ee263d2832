//! Counterexamples as runs.

use skeptron_check::{Counterexample, Property};
use skeptron_core::NodeId;
use skeptron_sim::replay::{Completion, ReplayError};
use skeptron_sim::trace::{Bounds, Header, Record, TICKS_PER_UNIT, Trace, What};
use skeptron_sim::value::Value;

use super::Question;
use super::trace::{self, ReplayedSteps};

impl Question {
    /// The steps of a counterexample, taken again.
    pub(crate) fn follow(
        &self,
        counterexample: &Counterexample,
    ) -> Result<ReplayedSteps, ReplayError> {
        let (steps, header) = (&counterexample.steps, self.header(counterexample)?);
        match self {
            Question::Mutex(..) => trace::follow(header, steps),
            Question::Election(_, scenario) => trace::follow_election(header, scenario, steps),
        }
    }

    /// The nodes in their initial states.
    pub(crate) fn initial(&self) -> Result<Vec<Value>, ReplayError> {
        let nodes = self.setup().nodes();
        let run = Completion::new(Header::of(self.name(), self.setup(), self.order()))?;
        Ok(NodeId::all(nodes).filter_map(|node| run.state(node)).collect())
    }

    /// Of a run of this system, which begins where it does.
    fn header(&self, counterexample: &Counterexample) -> Result<Header, ReplayError> {
        let mut setup = self.setup().clone();
        if !counterexample.beginnings.is_empty() {
            setup = setup.with_beginnings(counterexample.beginnings.clone())?;
        }
        // One step takes one unit, and that a bound passes is a step.
        let in_steps = Bounds { length: TICKS_PER_UNIT, steps_from: Some(0) };
        let bounds = matches!(self, Question::Election(..)).then_some(in_steps);
        Ok(Header { bounds, ..Header::of(self.name(), &setup, self.order()) })
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
        let ReplayedSteps { mut records, .. } = self.follow(counterexample)?;
        let header = Header { command, ..self.header(counterexample)? };
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
