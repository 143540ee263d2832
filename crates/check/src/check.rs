//! From a question to its answer: which searches are needed, and what they prove.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustc_hash::FxHashSet;
use serde::Serialize;
use skeptron_core::Arbitration;
use skeptron_core::catalogue::{Info, Layout};
use skeptron_core::mutex::foreign;

use crate::beginning::node_table;
use crate::counterexample::{Counterexample, tell, tell_already, tell_starving};
use crate::cycles::endless_runs;
use crate::disk::{self, Disk, DiskError, Folder};
use crate::explorer::{Found, Limits, Progress, explore};
use crate::graph::Unfinished;
use crate::local::{Event, LocalId};
use crate::memory::Memory;
use crate::model::Model;
use crate::predicate::{Predicate, Snapshot};
use crate::property::{Properties, Property};
use crate::reduction::certify;
use crate::scenario::{Scenario, ScenarioError};
use crate::searches::Searches;
use crate::starvation::{Searched, starving_run};
use crate::walk::{Walked, Walks, walk};
use crate::world::{Endless, Watch, World};

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
    /// What is judged of mutual exclusion.
    pub judging: Judging<'a>,
    /// Random walks instead of a search.
    pub walks: Option<Walks>,
    /// Where to keep what does not fit into memory. Without it everything is kept in memory.
    pub disk: Option<Disk<'a>>,
}

/// What is judged of mutual exclusion, beyond or instead of what the algorithm promises.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judging<'a> {
    /// These alone, also where they are not promised.
    pub only: Option<&'a [Property]>,
    /// The most entries of others during one wait, for [`Property::Bypass`].
    pub bypass: Option<u8>,
    /// How many states there may be with requests without end, for [`Property::Starvation`]. With more
    /// it stays undecided.
    pub endless_states: Option<usize>,
    /// What must hold in every state, for [`Property::Invariant`].
    pub invariant: Option<&'a Predicate>,
}

impl Judging<'_> {
    fn asks(&self, property: Property) -> bool {
        match (self.only, property) {
            (_, Property::Invariant) => self.invariant.is_some(),
            (Some(only), _) => only.contains(&property),
            (None, Property::Starvation) => self.endless_states.is_some(),
            (None, Property::Bypass) => self.bypass.is_some(),
            (None, _) => false,
        }
    }
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
            judging: Judging::default(),
            walks: None,
            disk: None,
        }
    }
}

/// What the exploration of a system came to.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// In how many states the system begins.
    pub starts: u64,
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
    /// The most that it took on disk.
    pub disk_bytes: u64,
    /// How many states there are with requests without end, where that was asked.
    pub endless_states: usize,
    /// What random walks came to, if these were taken instead of a search.
    pub walked: Option<Walked>,
}

/// What is known of one property.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict<C = Counterexample> {
    /// Which one.
    pub property: Property,
    /// Whether it holds; `None` if the search ended before that was known.
    pub holds: Option<bool>,
    /// The shortest way to violate it.
    pub counterexample: Option<C>,
}

impl<C> Verdict<C> {
    /// The violation with the fewest steps.
    pub(crate) fn shortest(
        verdicts: &[Self],
        steps: impl Fn(&C) -> usize,
    ) -> Option<(Property, &C)> {
        let violated =
            verdicts.iter().filter_map(|v| Some((v.property, v.counterexample.as_ref()?)));
        violated.min_by_key(|(_, counterexample)| steps(counterexample))
    }
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
        Verdict::shortest(&self.verdicts, |counterexample| counterexample.steps.len())
    }

    /// What is known of `property`; `None` if it was not judged.
    #[must_use]
    pub fn verdict(&self, property: Property) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.property == property)
    }

    pub(crate) fn of<G: Model>(
        found: &Found<'_, G>,
        verdicts: Vec<Verdict>,
        began: Instant,
    ) -> Self {
        Report {
            starts: 1,
            states: found.states,
            transitions: found.transitions,
            depth: found.depth,
            complete: found.complete,
            out_of_memory: found.out_of_memory,
            reduction: found.reduced,
            verdicts,
            seconds: began.elapsed().as_secs_f64(),
            peak_bytes: found.peak_bytes,
            disk_bytes: found.disk_bytes,
            endless_states: 0,
            walked: found.walked,
        }
    }

    /// Of a question that needs no search with bounded requests.
    pub(crate) fn nothing(began: Instant) -> Self {
        Report {
            starts: 1,
            states: 0,
            transitions: 0,
            depth: 0,
            complete: true,
            out_of_memory: false,
            reduction: false,
            verdicts: Vec::new(),
            seconds: began.elapsed().as_secs_f64(),
            peak_bytes: 0,
            disk_bytes: 0,
            endless_states: 0,
            walked: None,
        }
    }
}

/// What a search says of each property; `tell` tells how some moves violate one.
pub(crate) fn verdicts<G: Model>(
    judged: Properties,
    found: &Found<'_, G>,
    tell: impl Fn(Property, &[G::Move]) -> Counterexample,
) -> Vec<Verdict> {
    let shortest = !found.reduced && found.walked.is_none();
    let verdict = |property| {
        let moves = found.moves_to(property);
        let counterexample =
            moves.map(|moves| Counterexample { shortest, ..tell(property, &moves) });
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
    let question = || {
        let Judging { only, bypass, invariant, .. } = options.judging;
        serde_json::json!({
            "algorithm": info.name, "scenario": scenario, "reduction": options.reduction,
            "keep_going": options.keep_going, "judge": only, "bypass": bypass,
            "invariant": invariant.map(|predicate| format!("{predicate:?}")),
        })
    };
    if options.disk.is_some() {
        if foreign::find(info.name).is_some() {
            return Err(DiskError::Program(info.name.into()).into());
        }
        // What cannot be explored leaves no folder behind.
        World::new(info, scenario, Watch::default(), None)?;
    }
    let folder = options.disk.map(|disk| Folder::open(&disk, &question())).transpose()?;
    let asked = Check { info, scenario, options, folder, earlier_seconds: Cell::new(0.0) };
    let report = asked.answer();
    foreign::check(info)?;
    report
}

struct Check<'a> {
    info: &'a Info,
    scenario: &'a Scenario,
    options: &'a Options<'a>,
    /// Where searches are on disk.
    folder: Option<Folder>,
    /// How long they took before they were resumed.
    earlier_seconds: Cell<f64>,
}

impl Check<'_> {
    fn answer(&self) -> Result<Report, ScenarioError> {
        let began = Instant::now();
        let mut searches = Searches { report: None, began };
        let only = self.options.judging.only;
        let together = only.map(|only| {
            only.iter().copied().filter(|property| TOGETHER.contains(property)).collect()
        });
        let world = World::new(self.info, self.scenario, Watch::default(), together)?;
        if only.is_some() && world.judged.contains(Property::Messages) && !world.counts_messages {
            return Err(ScenarioError::EndlessMessages(self.info.name));
        }
        if !world.already.is_empty() && !self.options.keep_going {
            searches.told(verdicts_already(&world));
        } else if !world.judged.is_empty() {
            let found = self.search(&world)?;
            let mut answer = Answer { world: &world, found: &found, verdicts: Vec::new() };
            answer.judge();
            if !world.counts_messages {
                answer.judge_cycles(self.options);
            }
            let mut verdicts = answer.verdicts;
            for known in verdicts_already(&world).into_iter().filter(|v| v.holds.is_some()) {
                verdicts.retain(|verdict| verdict.property != known.property);
                verdicts.push(known);
            }
            let judges_fences = match self.options.judging.only {
                Some(only) => only.contains(&Property::Fence),
                // Entries that share the section are not ordered.
                None => world.admission.is_exclusive(),
            };
            if judges_fences {
                verdicts.push(self.fence(&world, &found)?);
            }
            searches.add(&found, verdicts);
            searches.begin(&world);
        }
        let asks = |property| self.options.judging.asks(property);
        // With --judge fence alone nothing was searched that could prove it.
        if world.judged.is_empty() && asks(Property::Fence) {
            self.apart(Watch { fences: true, ..Watch::default() }, Property::Fence, &mut searches)?;
        }
        if asks(Property::OrderByTime) {
            let watch = Watch { by_time: true, ..Watch::default() };
            self.apart(watch, Property::OrderByTime, &mut searches)?;
        }
        if let Some(predicate) = self.options.judging.invariant {
            let invariant = Some(Arc::new(predicate.clone()));
            let watch = Watch { invariant, ..Watch::default() };
            self.check_invariant(predicate)?;
            self.apart(watch, Property::Invariant, &mut searches)?;
        }
        if asks(Property::Bypass) {
            let bypass = self.options.judging.bypass;
            let watch = Watch { bypass, ..Watch::default() };
            self.apart(watch, Property::Bypass, &mut searches)?;
        }
        let mut report = searches.report.unwrap_or_else(|| Report::nothing(began));
        report.seconds = self.earlier_seconds.get() + began.elapsed().as_secs_f64();
        if asks(Property::Starvation) {
            self.judge_starvation(&mut report)?;
        }
        report.verdicts.sort_by_key(|verdict| verdict.property);
        Ok(report)
    }
}

/// What one search judges. Each of the others needs states of its own.
const TOGETHER: [Property; 8] = [
    Property::Exclusion,
    Property::Progress,
    Property::Order,
    Property::Messages,
    Property::Rest,
    Property::Refused,
    Property::Closure,
    Property::Convergence,
];

/// With so many messages in flight on a link nobody asks, where requests have no end.
pub(crate) const PER_LINK: usize = 2;

impl Check<'_> {
    fn limits(&self, reduction: bool) -> Limits<'_> {
        let Options { threads, max_memory, keep_going, progress, stop, .. } = *self.options;
        Limits { threads, reduction, max_memory, keep_going, progress, stop }
    }

    /// One search, in memory or in a folder of that name.
    fn explore<'w>(
        &self,
        world: &'w World,
        reduction: bool,
        name: &str,
    ) -> Result<Found<'w, World>, ScenarioError> {
        let limits = self.limits(reduction);
        if let Some(walks) = &self.options.walks {
            return Ok(walk(world, &limits, walks));
        }
        let Some(folder) = &self.folder else { return Ok(explore(world, &limits)) };
        let found = disk::explore(world, &limits, folder, name)?;
        self.earlier_seconds.update(|seconds| seconds + found.earlier_seconds);
        Ok(found)
    }

    /// Searches, reduced if that is wanted and proves right. What a reduced search finds is real but
    /// perhaps not the shortest, so then everything is searched, no further than needed.
    fn search<'w>(&self, world: &'w World) -> Result<Found<'w, World>, ScenarioError> {
        let mut fallback = None;
        if self.options.reduction && self.options.walks.is_none() {
            let mut reduced = self.explore(world, true, "reduced")?;
            if !reduced.violated().is_empty() {
                fallback = Some(reduced);
            } else if reduced.complete {
                let memories = std::mem::take(&mut reduced.memories).into_iter();
                let taken: FxHashSet<(LocalId, Event)> =
                    memories.flat_map(Memory::into_taken).collect();
                let mut memory = world.memory(false);
                if certify(world, &mut memory, &taken, reduced.states, self.options) {
                    return Ok(reduced);
                }
            } else if self.folder.is_some() {
                // It goes on when it is resumed.
                return Ok(reduced);
            }
        }
        let full = self.explore(world, false, "all")?;
        let missed = !full.complete && full.violated().is_empty();
        Ok(fallback.filter(|_| missed).unwrap_or(full))
    }

    /// If nobody can ever enter while somebody is inside, every entry follows the exit before it by
    /// messages, and these carry the fence. Where others go on without the crashed, these messages are those of nodes that are left, and
    /// only their fences count. Otherwise fences must be watched.
    fn fence(&self, world: &World, found: &Found<'_, World>) -> Result<Verdict, ScenarioError> {
        let property = Property::Fence;
        let unknown = Verdict { property, holds: None, counterexample: None };
        let was_broken = world.already.iter().any(|known| known.property == Property::Exclusion);
        let is_exclusive = world.admission.is_exclusive();
        if is_exclusive && !was_broken && !found.violated().contains(Property::Exclusion) {
            let holds = found.complete.then_some(true);
            return Ok(Verdict { holds, ..unknown });
        }
        if is_exclusive && !self.options.keep_going {
            return Ok(unknown);
        }
        let watch = Watch { fences: true, ..Watch::default() };
        let mut searches = Searches { report: None, began: Instant::now() };
        self.apart(watch, property, &mut searches)?;
        Ok(searches.report.and_then(|mut report| report.verdicts.pop()).unwrap_or(unknown))
    }

    /// Whether what must hold in every state can be asked of the first one, and holds there.
    fn check_invariant(&self, predicate: &Predicate) -> Result<(), ScenarioError> {
        let node_table = node_table(self.info, &self.scenario.setup, false)?;
        let values = (0..node_table.len()).map(|node| node_table.value(node as u32));
        let values: Vec<serde_json::Value> = values.collect();
        let nodes: Vec<&serde_json::Value> = values.iter().collect();
        match predicate.holds(Snapshot { nodes: &nodes, is_silent: true })? {
            true => Ok(()),
            false => Err(ScenarioError::FalseFromTheStart),
        }
    }

    /// Judges one property in a search of its own, from the state in which the setup begins. What the reduction leaves out changes nothing about
    /// who gets in, but about when: so nothing is left out.
    fn apart(
        &self,
        watch: Watch,
        property: Property,
        searches: &mut Searches,
    ) -> Result<(), ScenarioError> {
        let only = Properties::from_iter([property]);
        let scenario = self.scenario.begun_there();
        let world = World::new(self.info, &scenario, watch, Some(only))?;
        if !world.already.is_empty() {
            searches.told(verdicts_already(&world));
            return Ok(());
        }
        let found = self.explore(&world, false, property.name())?;
        let mut answer = Answer { world: &world, found: &found, verdicts: Vec::new() };
        answer.judge();
        searches.add(&found, answer.verdicts);
        Ok(())
    }

    /// Judges starvation: where that was asked for anyway, else where it can be judged and nothing else
    /// has been violated.
    fn judge_starvation(&self, report: &mut Report) -> Result<(), ScenarioError> {
        let (setup, info) = (&self.scenario.setup, self.info);
        let is_asked = self.options.judging.only.is_some();
        let rule = setup.arbitration();
        let compares = info.layout == Layout::Arbitration && rule == Arbitration::SmallestSequence;
        let obstacle = match () {
            () if self.scenario.is_faulty() => Some(ScenarioError::StarvationWithFaults),
            () if self.options.walks.is_some() => Some(ScenarioError::StarvationByWalks),
            () if compares => Some(ScenarioError::StarvationWithRule(rule)),
            () => None,
        };
        match obstacle {
            Some(obstacle) if is_asked => return Err(obstacle),
            Some(_) => return Ok(()),
            None if !is_asked && !report.holds() && !self.options.keep_going => return Ok(()),
            None => {}
        }
        let (verdict, states) = self.starvation()?;
        report.endless_states = states;
        if is_asked || verdict.holds.is_some() {
            report.verdicts.push(verdict);
        }
        Ok(())
    }

    /// Whether somebody waits for ever while the others ask without end, and in how many states that was
    /// looked for.
    fn starvation(&self) -> Result<(Verdict, usize), ScenarioError> {
        let property = Property::Starvation;
        let world = |normal| {
            let endless = Some(Endless { per_link: PER_LINK, normal });
            let scenario = self.scenario.begun_there();
            World::new(self.info, &scenario, Watch { endless, ..Watch::default() }, None)
        };
        let unknown = Verdict { property, holds: None, counterexample: None };
        let normal = world(true)?;
        let most = self.options.judging.endless_states.unwrap_or(usize::MAX);
        let most = most.min(self.options.max_memory / (16 * normal.nodes + 200));
        let Ok(Searched { found, states }) = starving_run(&normal, most, self.options.stop) else {
            return Ok((unknown, most));
        };
        let Some(run) = found else {
            return Ok((Verdict { holds: Some(true), ..unknown }, states));
        };
        // What was found for clocks in their normal form must be so for clocks that grow.
        let counterexample = tell_starving(&world(false)?, &run);
        let holds = counterexample.is_some().then_some(false);
        Ok((Verdict { property, holds, counterexample }, states))
    }
}

/// What the run before the search says of what is judged: it has violated some of it.
fn verdicts_already(world: &World) -> Vec<Verdict> {
    let verdict = |property| {
        let known = world.already.iter().find(|known| known.property == property);
        let counterexample = known.map(|known| tell_already(world, known));
        let holds = counterexample.is_some().then_some(false);
        Verdict { property, holds, counterexample }
    };
    world.judged.iter().map(verdict).collect()
}

/// Puts together what a search found.
struct Answer<'a> {
    world: &'a World,
    found: &'a Found<'a, World>,
    verdicts: Vec<Verdict>,
}

impl Answer<'_> {
    fn judge(&mut self) {
        let tell = |property, moves: &[_]| tell(self.world, property, moves, None);
        self.verdicts = verdicts(self.world.judged, self.found, tell);
    }

    /// Where messages never end, progress and convergence are a matter of fair cycles.
    fn judge_cycles(&mut self, options: &Options<'_>) {
        let judged = [Property::Progress, Property::Convergence];
        let is_open = |v: &&mut Verdict| judged.contains(&v.property) && v.holds == Some(true);
        let mut open: Vec<&mut Verdict> = self.verdicts.iter_mut().filter(is_open).collect();
        if open.is_empty() {
            return;
        }
        // About what a state takes: a row, its number by fingerprint, the way to it and from it.
        let bytes = 16 * self.world.nodes + 200;
        let endless = endless_runs(self.world, options.max_memory / bytes, options.stop);
        for verdict in &mut open {
            let property = verdict.property;
            let round = match &endless {
                Err(Unfinished) => {
                    verdict.holds = None;
                    continue;
                }
                Ok(endless) if property == Property::Progress => &endless.wait,
                Ok(endless) => &endless.illegitimate,
            };
            if let Some((moves, begins)) = round {
                let told = tell(self.world, property, moves, Some(*begins));
                // The way to it is; with the round another one may be shorter.
                let told = Counterexample { shortest: false, ..told };
                **verdict = Verdict { property, holds: Some(false), counterexample: Some(told) };
            }
        }
    }
}
