//! From a question to its answer.

use std::fmt;
use std::time::Instant;

use serde::Serialize;

use super::counterexample::{self, Counterexample};
use super::scenario::{Scenario, ScenarioError};
use super::world::World;
use crate::check::Options;
use crate::explorer::{Limits, explore};
use crate::model::Model as _;
use crate::property::Property;

/// What the exploration of a cluster came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// What was explored, in words.
    pub scenario: String,
    /// Distinct states.
    pub states: u64,
    /// Steps from one state to another.
    pub transitions: u64,
    /// How many steps lead to the last states that were explored.
    pub depth: usize,
    /// Whether there is nothing else to explore.
    pub complete: bool,
    /// Whether the memory ended the search.
    pub out_of_memory: bool,
    /// What was judged.
    pub verdicts: Vec<Verdict>,
    /// How long it took.
    pub seconds: f64,
    /// The most memory that the search took, in bytes.
    pub peak_bytes: usize,
}

/// What is known of one property of a cluster.
pub type Verdict = crate::Verdict<Counterexample>;

impl Report {
    /// Whether everything holds, as far as it is known.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.violation().is_none()
    }

    /// The violation with the fewest steps.
    #[must_use]
    pub fn violation(&self) -> Option<(Property, &Counterexample)> {
        Verdict::shortest(&self.verdicts, |counterexample| counterexample.steps.len())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { scenario, states, transitions, depth, seconds, .. } = self;
        write!(
            f,
            "{scenario}: {states} states, {transitions} steps, depth {depth}, {seconds:.1} s: "
        )?;
        match self.violation() {
            Some((property, counterexample)) => {
                writeln!(f, "{property} violated ({})", property.meaning())?;
                write!(f, "{counterexample}")
            }
            None if self.complete => f.write_str("no violation"),
            None if self.out_of_memory => f.write_str("no violation before the memory was full"),
            None => f.write_str("no violation before it was stopped"),
        }
    }
}

/// Explores every interleaving of `scenario` and judges each. `Options::reduction` makes no difference.
///
/// # Errors
/// If the scenario cannot be explored.
pub fn check(scenario: &Scenario, options: &Options<'_>) -> Result<Report, ScenarioError> {
    scenario.check()?;
    let began = Instant::now();
    let world = World::new(scenario).map_err(|why| ScenarioError::Layout(why.to_string()))?;
    let Options { threads, max_memory, keep_going, progress, stop, .. } = *options;
    let limits = Limits { threads, reduction: false, max_memory, keep_going, progress, stop };
    let mut found = explore(&world, &limits);
    found.memories.clear();
    let verdict = |property| {
        let moves = found.moves_to(property);
        let counterexample = moves.map(|moves| counterexample::tell(&world, property, &moves));
        let holds = match counterexample {
            Some(_) => Some(false),
            None => found.complete.then_some(true),
        };
        Verdict { property, holds, counterexample }
    };
    Ok(Report {
        scenario: scenario.to_string(),
        states: found.states,
        transitions: found.transitions,
        depth: found.depth,
        complete: found.complete,
        out_of_memory: found.out_of_memory,
        verdicts: world.judged().iter().map(verdict).collect(),
        seconds: began.elapsed().as_secs_f64(),
        peak_bytes: found.peak_bytes,
    })
}
