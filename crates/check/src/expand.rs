//! The successors of one state, as every search computes them.

use crate::model::{Coded as _, Enabled, Model, Row as _};
use crate::property::{Properties, Property};

/// Where a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Of the state in which it is, or from which one more step leads there. It decides between
    /// several, so that the result does not depend on which thread was first.
    pub(crate) fingerprint: u64,
    pub(crate) step: Option<u16>,
    /// The state's number in its level.
    pub(crate) number: u64,
}

/// For each property the violation that counts.
pub(crate) type Findings = [Option<Finding>; Property::ALL.len()];

/// A thread's own things.
pub(crate) struct Expander<'a, G: Model + 'a> {
    pub(crate) memory: G::Memory<'a>,
    /// The state to expand.
    pub(crate) state: G::State,
    successor: G::State,
    moves: Vec<G::Move>,
    pub(crate) transitions: u64,
    pub(crate) findings: Findings,
}

impl<'a, G: Model> Expander<'a, G> {
    pub(crate) fn new(model: &'a G, records: bool) -> Self {
        Expander {
            memory: model.memory(records),
            state: model.start().clone(),
            successor: model.start().clone(),
            moves: Vec::new(),
            transitions: 0,
            findings: Default::default(),
        }
    }

    /// Judges the state and hands on each successor: its fingerprint, the step to it, and itself.
    #[inline]
    pub(crate) fn expand(
        &mut self,
        model: &'a G,
        reduction: bool,
        number: u64,
        fingerprint: u64,
        mut reach: impl FnMut(u64, u16, &G::State),
    ) {
        let enabled = model.moves(&mut self.memory, &self.state, &mut self.moves);
        if enabled != Enabled::More {
            let violated = model.judge_rest(&mut self.memory, &self.state, enabled);
            self.find(violated, Finding { fingerprint, step: None, number });
        }
        if reduction {
            model.reduce(&mut self.memory, &self.state, &mut self.moves);
        }
        for i in 0..self.moves.len() {
            let step = self.moves[i];
            self.successor.copy_from(&self.state, model.nodes());
            let violated = model.take(&mut self.memory, &mut self.successor, step);
            self.transitions += 1;
            if !violated.is_empty() {
                self.find(violated, Finding { fingerprint, step: Some(step.code()), number });
            }
            let next = model.fingerprint(&mut self.memory, &self.successor);
            reach(next, step.code(), &self.successor);
        }
    }

    fn find(&mut self, violated: Properties, finding: Finding) {
        for property in violated.iter() {
            let known = &mut self.findings[property as usize];
            *known = Some(known.map_or(finding, |known| known.min(finding)));
        }
    }
}

/// The violations found so far and the numbers of steps to their states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shortest(pub(crate) [Option<(usize, Finding)>; Property::ALL.len()]);

impl Shortest {
    /// Adds what was found in a level. A violation of an earlier level is shorter.
    pub(crate) fn add(&mut self, depth: usize, new: &mut Findings) {
        for (known, new) in self.0.iter_mut().zip(new) {
            let new = new.take().map(|new| (depth, new));
            *known = match (*known, new) {
                (Some(old), Some(new)) => Some(old.min(new)),
                (old, new) => old.or(new),
            };
        }
    }

    /// What is violated.
    pub(crate) fn violated(&self) -> Properties {
        Property::ALL.into_iter().filter(|&p| self.0[p as usize].is_some()).collect()
    }
}
