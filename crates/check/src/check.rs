//! From a question to its answer: which searches are needed, and what they prove.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustc_hash::FxHashSet;
use serde::Serialize;
use skeptron_core::catalogue::Info;
use skeptron_core::mutex::{Mutex, Visitor, dispatch};

use crate::cycles::unfair_run;
use crate::explorer::{Found, Limits, Progress, explore};
use crate::game::Game;
use crate::graph::Unfinished;
use crate::local::{CellId, Event, Memory};
use crate::property::{Properties, Property};
use crate::reduction::certify;
use crate::scenario::{Scenario, ScenarioError};
use crate::story::{Counterexample, tell};
use crate::world::World;

/// How to search.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How many threads.
    pub threads: usize,
    /// About how many bytes the search may take.
    pub max_memory: usize,
    /// Whether to leave out interleavings that provably make no difference.
    pub reduction: bool,
    /// Whether to go on after the first violation, until every property is decided.
    pub keep_going: bool,
    /// Is told now and then how far the search is.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the search soon after it becomes true; what is not known by then stays undecided.
    pub stop: Option<&'a AtomicBool>,
}

impl Options<'_> {
    pub(crate) fn is_stopped(&self) -> bool {
        is_set(self.stop)
    }
}

pub(crate) fn is_set(stop: Option<&AtomicBool>) -> bool {
    stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
}

impl Default for Options<'_> {
    /// All cores, 4 GiB, reduced, up to the first violation.
    fn default() -> Self {
        Options {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            max_memory: 4 << 30,
            reduction: true,
            keep_going: false,
            progress: None,
            stop: None,
        }
    }
}

/// What the exploration of a system came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
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
    /// Whether interleavings were left out.
    pub reduction: bool,
    /// What was judged.
    pub verdicts: Vec<Verdict>,
    /// How long it took.
    pub seconds: f64,
    /// The most memory that the search took, in bytes.
    pub peak_bytes: usize,
}

/// What is known of one property.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Which one.
    pub property: Property,
    /// Whether it holds; `None` if the search ended before that was known.
    pub holds: Option<bool>,
    /// The shortest way to violate it.
    pub counterexample: Option<Counterexample>,
}

impl Report {
    /// Whether everything holds, as far as it is known.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.violation().is_none()
    }

    /// The violation with the shortest trace.
    #[must_use]
    pub fn violation(&self) -> Option<(Property, &Counterexample)> {
        let shown = |verdict: &'_ Verdict| verdict.counterexample.is_some();
        let shortest = self
            .verdicts
            .iter()
            .filter(|verdict| shown(verdict))
            .min_by_key(|verdict| verdict.counterexample.as_ref().map(|c| c.steps.len()));
        shortest.and_then(|v| Some((v.property, v.counterexample.as_ref()?)))
    }

    /// What is known of `property`; `None` if it was not judged.
    #[must_use]
    pub fn verdict(&self, property: Property) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.property == property)
    }

    pub(crate) fn of<G: Game>(
        found: &Found<'_, G>,
        verdicts: Vec<Verdict>,
        began: Instant,
    ) -> Self {
        Report {
            states: found.states,
            transitions: found.transitions,
            depth: found.depth,
            complete: found.complete,
            out_of_memory: found.out_of_memory,
            reduction: found.reduced,
            verdicts,
            seconds: began.elapsed().as_secs_f64(),
            peak_bytes: found.peak_bytes,
        }
    }
}

/// What a search says of each property; `tell` tells how some moves violate one.
pub(crate) fn verdicts<G: Game>(
    judged: Properties,
    found: &Found<'_, G>,
    tell: impl Fn(Property, &[G::Move]) -> Counterexample,
) -> Vec<Verdict> {
    let verdict = |property| {
        let moves = found.moves_to(property);
        let counterexample = moves
            .map(|moves| Counterexample { shortest: !found.reduced, ..tell(property, &moves) });
        let holds = match counterexample {
            Some(_) => Some(false),
            None => found.complete.then_some(true),
        };
        Verdict { property, holds, counterexample }
    };
    judged.iter().map(verdict).collect()
}

/// Explores every interleaving of `scenario` and judges each.
///
/// # Errors
/// If the scenario cannot be explored.
pub fn check(
    info: &Info,
    scenario: &Scenario,
    options: &Options<'_>,
) -> Result<Report, ScenarioError> {
    dispatch(info, Check { info, scenario, options })
}

struct Check<'a> {
    info: &'a Info,
    scenario: &'a Scenario,
    options: &'a Options<'a>,
}

impl Visitor for Check<'_> {
    type Output = Result<Report, ScenarioError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let began = Instant::now();
        let world = World::<P>::new(self.info, self.scenario, false)?;
        let found = self.search(&world);
        let mut answer = Answer { world: &world, found: &found, verdicts: Vec::new() };
        answer.judge();
        if !world.counts_messages {
            answer.judge_cycles(self.options);
        }
        let mut verdicts = answer.verdicts;
        let fence = self.fence(&found)?;
        verdicts.push(fence);
        verdicts.sort_by_key(|verdict| verdict.property);
        Ok(Report::of(&found, verdicts, began))
    }
}

impl Check<'_> {
    fn limits(&self, reduction: bool) -> Limits<'_> {
        let Options { threads, max_memory, keep_going, progress, stop, .. } = *self.options;
        Limits { threads, reduction, max_memory, keep_going, progress, stop }
    }

    /// Searches, reduced if that is wanted and proves right. What a reduced search finds is real but
    /// perhaps not the shortest, so then everything is searched, no further than needed.
    fn search<'w, P: Mutex>(&self, world: &'w World<P>) -> Found<'w, World<P>> {
        let mut fallback = None;
        if self.options.reduction {
            let mut reduced = explore(world, &self.limits(true));
            if !reduced.violated().is_empty() {
                fallback = Some(reduced);
            } else if reduced.complete {
                let memories = std::mem::take(&mut reduced.memories).into_iter();
                let taken: FxHashSet<(CellId, Event)> =
                    memories.flat_map(Memory::into_taken).collect();
                let mut memory = world.memory(false);
                if certify(world, &mut memory, &taken, reduced.states, self.options) {
                    return reduced;
                }
            }
        }
        let full = explore(world, &self.limits(false));
        let missed = !full.complete && full.violated().is_empty();
        fallback.filter(|_| missed).unwrap_or(full)
    }

    /// If nobody can ever enter while somebody is inside, every entry follows the exit before it by
    /// messages, and these carry the fence. Otherwise fences must be watched.
    fn fence<P: Mutex>(&self, found: &Found<'_, World<P>>) -> Result<Verdict, ScenarioError> {
        let property = Property::Fence;
        let unknown = Verdict { property, holds: None, counterexample: None };
        if !found.violated().contains(Property::Exclusion) {
            let holds = found.complete.then_some(true);
            return Ok(Verdict { holds, ..unknown });
        }
        if !self.options.keep_going {
            return Ok(unknown);
        }
        let mut world = World::<P>::new(self.info, self.scenario, true)?;
        world.judged = Properties::from_iter([property]);
        let found = explore(&world, &self.limits(false));
        let mut answer = Answer { world: &world, found: &found, verdicts: Vec::new() };
        answer.judge();
        Ok(answer.verdicts.pop().unwrap_or(unknown))
    }
}

/// Puts together what a search found.
struct Answer<'a, P: Mutex> {
    world: &'a World<P>,
    found: &'a Found<'a, World<P>>,
    verdicts: Vec<Verdict>,
}

impl<P: Mutex> Answer<'_, P> {
    fn judge(&mut self) {
        let tell = |property, moves: &[_]| tell(self.world, property, moves, None);
        self.verdicts = verdicts(self.world.judged, self.found, tell);
    }

    /// Where messages never end, progress is a matter of fair cycles.
    fn judge_cycles(&mut self, options: &Options<'_>) {
        let Some(verdict) =
            self.verdicts.iter_mut().find(|verdict| verdict.property == Property::Progress)
        else {
            return;
        };
        if verdict.holds != Some(true) {
            return;
        }
        // About what a state takes: a row, its number by fingerprint, the way to it and from it.
        let bytes = 16 * self.world.nodes + 200;
        let stop = options.stop;
        match unfair_run(self.world, options.max_memory / bytes, stop) {
            Ok(None) => {}
            Ok(Some((moves, begins))) => {
                let told = tell(self.world, Property::Progress, &moves, Some(begins));
                // The way to it is; with the round another one may be shorter.
                let told = Counterexample { shortest: false, ..told };
                *verdict = Verdict {
                    property: Property::Progress,
                    holds: Some(false),
                    counterexample: Some(told),
                };
            }
            Err(Unfinished) => verdict.holds = None,
        }
    }
}
