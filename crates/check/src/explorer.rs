//! The search: breadth first, level by level, on all cores.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use rustc_hash::FxHashSet;

use crate::check::is_set;
use crate::expand::{Expander, Shortest};
use crate::level::{Links, Numbering, Origin, Rows, Table};
use crate::model::{Coded as _, Model, Row as _};
use crate::property::{Properties, Property};
use crate::walk::Walked;

/// How a search is done; never what it finds, as long as it ends.
pub(crate) struct Limits<'a> {
    pub(crate) threads: usize,
    /// Whether messages that are absorbed are taken first, alone.
    pub(crate) reduction: bool,
    pub(crate) max_memory: usize,
    /// Whether to go on after the first violation, until every property is decided.
    pub(crate) keep_going: bool,
    pub(crate) progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the search soon after it becomes true.
    pub(crate) stop: Option<&'a AtomicBool>,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Distinct states so far.
    pub states: u64,
    /// How many steps lead to those at work.
    pub depth: usize,
    /// Seconds since the beginning.
    pub seconds: f64,
    /// How much of what is at work has been done, and how much it is: on disk states of the level, else walks.
    pub level: Option<(u64, u64)>,
}

/// What a search came to.
pub(crate) struct Found<'a, G: Model + 'a> {
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    /// The deepest level that was explored completely.
    pub(crate) depth: usize,
    pub(crate) complete: bool,
    pub(crate) out_of_memory: bool,
    pub(crate) reduced: bool,
    pub(crate) peak_bytes: usize,
    /// The most that it took on disk.
    pub(crate) disk_bytes: u64,
    /// How long it took before it was resumed.
    pub(crate) earlier_seconds: f64,
    /// For each property the moves that lead to its first violation.
    pub(crate) runs: Runs,
    /// Whether some state was met again in another number of steps: only then can a run go in circles.
    pub(crate) met_again: bool,
    /// What random walks came to, if these were taken.
    pub(crate) walked: Option<Walked>,
    /// What the threads remember.
    pub(crate) memories: Vec<G::Memory<'a>>,
}

/// Moves by number, for each property that is violated.
pub(crate) type Runs = [Option<Vec<u16>>; Property::ALL.len()];

impl<'a, G: Model + 'a> Found<'a, G> {
    /// Nothing yet.
    pub(crate) fn new(reduced: bool) -> Self {
        Found {
            states: 0,
            transitions: 0,
            depth: 0,
            complete: false,
            out_of_memory: false,
            reduced,
            peak_bytes: 0,
            disk_bytes: 0,
            earlier_seconds: 0.0,
            runs: Default::default(),
            met_again: false,
            walked: None,
            memories: Vec::new(),
        }
    }

    /// The moves that lead to the first violation of `property`.
    pub(crate) fn moves_to(&self, property: Property) -> Option<Vec<G::Move>> {
        let codes = self.runs[property as usize].as_ref()?;
        Some(codes.iter().copied().map(G::Move::of_code).collect())
    }

    /// What is violated.
    pub(crate) fn violated(&self) -> Properties {
        Property::ALL.into_iter().filter(|&p| self.runs[p as usize].is_some()).collect()
    }
}

/// The moves to each finding, by the links of every level.
fn runs_to(findings: &Shortest, archive: &[Links]) -> Runs {
    findings.0.map(|found| {
        let (depth, finding) = found?;
        let mut codes: Vec<u16> = finding.step.into_iter().collect();
        let mut number = finding.number as usize;
        for level in archive[1..=depth].iter().rev() {
            codes.push(level.steps[number]);
            number = level.parents[number] as usize;
        }
        codes.reverse();
        Some(codes)
    })
}

/// Explores everything that can happen in a model.
pub(crate) fn explore<'a, G: Model>(model: &'a G, limits: &Limits<'_>) -> Found<'a, G> {
    let shared = Shared {
        model,
        limits,
        began: Instant::now(),
        states: AtomicU64::new(1),
        full: AtomicBool::new(false),
    };
    let mut workers: Vec<Worker<'_, G>> =
        (0..limits.threads.max(1)).map(|_| Worker::new(model, limits)).collect();
    let mut found = Found::new(limits.reduction);
    let mut findings = Shortest::default();
    let mut archive: Vec<Links> = Vec::new();

    // The first level: where everything begins.
    let fingerprint = model.fingerprint(&mut workers[0].expander.memory, model.start());
    let table = Table::new();
    let origin = Origin { parent_fingerprint: 0, step: 0, parent: 0 };
    let place = table.insert(fingerprint, origin).expect("the table is empty");
    let mut rows = vec![Rows::default()];
    rows[0].push(model, model.start(), place, fingerprint);
    let (mut numbering, links, _) = table.close();
    let mut archive_bytes = links.bytes();
    archive.push(links);
    // Where a state tells its depth, states of different levels differ.
    let mut seen = (!model.knows_depth()).then(|| FxHashSet::from_iter([fingerprint]));

    loop {
        let depth = archive.len() - 1;
        let level = Level {
            rows: &rows,
            numbering: &numbering,
            next: Table::new(),
            seen: seen.as_ref(),
            at: AtomicUsize::new(0),
            depth,
            kept_bytes: archive_bytes + rows.iter().map(Rows::bytes).sum::<usize>(),
        };
        let size: usize = rows.iter().map(Rows::len).sum();
        let threads = if size < 256 { 1 } else { workers.len() };
        thread::scope(|scope| {
            let (first, others) = workers[..threads].split_first_mut().expect("one at least");
            for worker in others {
                let (shared, level) = (&shared, &level);
                scope.spawn(move || worker.expand(shared, level, false));
            }
            first.expand(&shared, &level, true);
        });
        let workers_bytes: usize =
            workers.iter().map(|worker| G::memory_bytes(&worker.expander.memory)).sum();
        let bytes = level.kept_bytes
            + level.next.bytes()
            + workers.iter().map(|worker| worker.next.bytes()).sum::<usize>()
            + workers_bytes
            + model.bytes()
            + seen.as_ref().map_or(0, |seen| 9 * seen.capacity());
        found.peak_bytes = found.peak_bytes.max(bytes);
        for worker in &mut workers {
            found.transitions += std::mem::take(&mut worker.expander.transitions);
            found.met_again |= worker.met_again;
            findings.add(depth, &mut worker.expander.findings);
        }
        // Full memory does not matter if that was all.
        let all_taken = level.at.load(Ordering::Relaxed) >= size;
        let Level { next, .. } = level;
        let (new_numbering, links, fingerprints) = next.close();
        let is_last = all_taken && links.parents.is_empty();
        let is_full = shared.full.load(Ordering::Relaxed);
        let stopped = (is_full || is_set(limits.stop)) && !is_last;
        if all_taken {
            found.depth = depth;
        }
        found.out_of_memory = stopped && is_full;
        found.complete = !stopped && links.parents.is_empty();
        let enough = is_enough(model, limits, findings.violated());
        if stopped || links.parents.is_empty() || enough {
            break;
        }
        numbering = new_numbering;
        archive_bytes += links.bytes();
        archive.push(links);
        if let Some(seen) = &mut seen {
            seen.extend(fingerprints);
        }
        rows = workers.iter_mut().map(|worker| std::mem::take(&mut worker.next)).collect();
    }
    found.states = shared.states.load(Ordering::Relaxed);
    found.runs = runs_to(&findings, &archive);
    found.memories = workers.into_iter().map(|worker| worker.expander.memory).collect();
    found
}

/// Whether nothing more needs to be searched once these are violated.
pub(crate) fn is_enough<G: Model>(model: &G, limits: &Limits<'_>, violated: Properties) -> bool {
    !limits.keep_going && !violated.is_empty() || violated == model.judged()
}

/// What all threads see.
struct Shared<'a, 's, G: Model> {
    model: &'a G,
    limits: &'s Limits<'s>,
    began: Instant,
    states: AtomicU64,
    /// Whether the memory is full.
    full: AtomicBool,
}

/// A level that is being expanded.
struct Level<'a> {
    rows: &'a [Rows],
    numbering: &'a Numbering,
    next: Table,
    seen: Option<&'a FxHashSet<u64>>,
    at: AtomicUsize,
    depth: usize,
    kept_bytes: usize,
}

/// A thread's own things.
struct Worker<'a, G: Model + 'a> {
    expander: Expander<'a, G>,
    next: Rows,
    met_again: bool,
}

/// How many states a thread takes at a time.
const CHUNK: usize = 64;

impl<'a, G: Model> Worker<'a, G> {
    fn new(model: &'a G, limits: &Limits<'_>) -> Self {
        let expander = Expander::new(model, limits.reduction);
        Worker { expander, next: Rows::default(), met_again: false }
    }

    /// Takes states of the level until none is left.
    fn expand(&mut self, shared: &Shared<'a, '_, G>, level: &Level<'_>, speaks: bool) {
        let mut chunks = 0u64;
        loop {
            let mut start = level.at.fetch_add(CHUNK, Ordering::Relaxed);
            let mut part = 0;
            while part < level.rows.len() && start >= level.rows[part].len() {
                start -= level.rows[part].len();
                part += 1;
            }
            if part == level.rows.len() {
                break;
            }
            for index in start..start + CHUNK {
                // A chunk may reach into the next thread's part.
                let (mut part, mut index) = (part, index);
                while part < level.rows.len() && index >= level.rows[part].len() {
                    index -= level.rows[part].len();
                    part += 1;
                }
                if part == level.rows.len() {
                    break;
                }
                let (row, place, fingerprint) = level.rows[part].get(index);
                self.expander.state.decode(shared.model.nodes(), row);
                self.expand_state(shared, level, level.numbering.number(place), fingerprint);
            }
            chunks += 1;
            if chunks.is_multiple_of(64) {
                self.watch(shared, level, speaks);
            }
            if shared.full.load(Ordering::Relaxed) || is_set(shared.limits.stop) {
                break;
            }
        }
        if speaks {
            self.watch(shared, level, speaks);
        }
    }

    /// Looks after the memory and tells how far it is.
    fn watch(&self, shared: &Shared<'_, '_, G>, level: &Level<'_>, speaks: bool) {
        // Other threads have found about as much as this one.
        let threads = shared.limits.threads.max(1);
        let mine = self.next.bytes() + G::memory_bytes(&self.expander.memory);
        let bytes = level.kept_bytes
            + level.next.bytes()
            + threads * mine
            + shared.model.bytes()
            + level.seen.map_or(0, |seen| 9 * seen.capacity());
        if bytes > shared.limits.max_memory {
            shared.full.store(true, Ordering::Relaxed);
        }
        if let (true, Some(progress)) = (speaks, shared.limits.progress) {
            progress(Progress {
                states: shared.states.load(Ordering::Relaxed),
                depth: level.depth,
                seconds: shared.began.elapsed().as_secs_f64(),
                level: None,
            });
        }
    }

    fn expand_state(
        &mut self,
        shared: &Shared<'a, '_, G>,
        level: &Level<'_>,
        number: u32,
        fingerprint: u64,
    ) {
        let (model, reduction) = (shared.model, shared.limits.reduction);
        let Worker { expander, next: rows, met_again } = self;
        expander.expand(model, reduction, number.into(), fingerprint, |next, step, successor| {
            if level.seen.is_some_and(|seen| seen.contains(&next)) {
                *met_again = true;
                return;
            }
            let origin = Origin { parent_fingerprint: fingerprint, step, parent: number };
            if let Some(place) = level.next.insert(next, origin) {
                shared.states.fetch_add(1, Ordering::Relaxed);
                rows.push(model, successor, place, next);
            }
        });
    }
}
