//! The search: breadth first, level by level, on all cores.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use rustc_hash::FxHashSet;

use crate::check::is_set;
use crate::level::{Links, Numbering, Origin, Rows, Table};
use crate::model::{Enabled, Model};
use crate::property::{Properties, Property};

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
}

/// Where a violation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Of the state in which it is, or from which one more step leads there. It decides between
    /// several, so that the result does not depend on which thread was first.
    fingerprint: u64,
    step: Option<u16>,
    number: u32,
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
    /// For each property its first violation: how many steps lead to the state, and the rest.
    findings: [Option<(usize, Finding)>; Property::ALL.len()],
    archive: Vec<Links>,
    /// Whether some state was met again in another number of steps: only then can a run go in circles.
    pub(crate) met_again: bool,
    /// What the threads remember.
    pub(crate) memories: Vec<G::Memory<'a>>,
}

impl<'a, G: Model + 'a> Found<'a, G> {
    /// The moves that lead to the first violation of `property`.
    pub(crate) fn moves_to(&self, property: Property) -> Option<Vec<G::Move>> {
        let (depth, finding) = self.findings[property as usize]?;
        let mut codes: Vec<u16> = finding.step.into_iter().collect();
        let mut number = finding.number as usize;
        for level in self.archive[1..=depth].iter().rev() {
            codes.push(level.steps[number]);
            number = level.parents[number] as usize;
        }
        Some(codes.into_iter().rev().map(G::of_code).collect())
    }

    /// What is violated.
    pub(crate) fn violated(&self) -> Properties {
        Property::ALL.into_iter().filter(|&p| self.findings[p as usize].is_some()).collect()
    }
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
    let mut found = Found {
        states: 0,
        transitions: 0,
        depth: 0,
        complete: false,
        out_of_memory: false,
        reduced: limits.reduction,
        peak_bytes: 0,
        findings: Default::default(),
        archive: Vec::new(),
        met_again: false,
        memories: Vec::new(),
    };

    // The first level: where everything begins.
    let fingerprint = model.fingerprint(&mut workers[0].memory, model.start());
    let table = Table::new();
    let origin = Origin { parent_fingerprint: 0, step: 0, parent: 0 };
    let place = table.insert(fingerprint, origin).expect("the table is empty");
    let mut rows = vec![Rows::default()];
    rows[0].push(model, model.start(), place, fingerprint);
    let (mut numbering, links, _) = table.close();
    let mut archive_bytes = links.bytes();
    found.archive.push(links);
    // Where a state tells its depth, states of different levels differ.
    let mut seen = (!model.knows_depth()).then(|| FxHashSet::from_iter([fingerprint]));

    loop {
        let depth = found.archive.len() - 1;
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
            workers.iter().map(|worker| G::memory_bytes(&worker.memory)).sum();
        let bytes = level.kept_bytes
            + level.next.bytes()
            + workers.iter().map(|worker| worker.next.bytes()).sum::<usize>()
            + workers_bytes
            + model.bytes()
            + seen.as_ref().map_or(0, |seen| 9 * seen.capacity());
        found.peak_bytes = found.peak_bytes.max(bytes);
        for worker in &mut workers {
            found.transitions += std::mem::take(&mut worker.transitions);
            found.met_again |= worker.met_again;
            for (known, new) in found.findings.iter_mut().zip(&mut worker.findings) {
                let new = new.take().map(|new| (depth, new));
                // A violation of an earlier level is shorter.
                *known = match (*known, new) {
                    (Some(old), Some(new)) => Some(old.min(new)),
                    (old, new) => old.or(new),
                };
            }
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
        let enough = !limits.keep_going && !found.violated().is_empty()
            || found.violated() == model.judged();
        if stopped || links.parents.is_empty() || enough {
            break;
        }
        numbering = new_numbering;
        archive_bytes += links.bytes();
        found.archive.push(links);
        if let Some(seen) = &mut seen {
            seen.extend(fingerprints);
        }
        rows = workers.iter_mut().map(|worker| std::mem::take(&mut worker.next)).collect();
    }
    found.states = shared.states.load(Ordering::Relaxed);
    found.memories = workers.into_iter().map(|worker| worker.memory).collect();
    found
}

/// What all threads see.
struct Shared<'a, G: Model> {
    model: &'a G,
    limits: &'a Limits<'a>,
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
    memory: G::Memory<'a>,
    state: G::State,
    successor: G::State,
    moves: Vec<G::Move>,
    next: Rows,
    transitions: u64,
    met_again: bool,
    findings: [Option<Finding>; Property::ALL.len()],
}

/// How many states a thread takes at a time.
const CHUNK: usize = 64;

impl<'a, G: Model> Worker<'a, G> {
    fn new(model: &'a G, limits: &Limits<'_>) -> Self {
        Worker {
            memory: model.memory(limits.reduction),
            state: model.start().clone(),
            successor: model.start().clone(),
            moves: Vec::new(),
            next: Rows::default(),
            transitions: 0,
            met_again: false,
            findings: Default::default(),
        }
    }

    /// Takes states of the level until none is left.
    fn expand(&mut self, shared: &Shared<'_, G>, level: &Level<'_>, speaks: bool) {
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
                shared.model.decode(&mut self.state, row);
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
    fn watch(&self, shared: &Shared<'_, G>, level: &Level<'_>, speaks: bool) {
        // Other threads have found about as much as this one.
        let threads = shared.limits.threads.max(1);
        let mine = self.next.bytes() + G::memory_bytes(&self.memory);
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
            });
        }
    }

    fn expand_state(
        &mut self,
        shared: &Shared<'_, G>,
        level: &Level<'_>,
        number: u32,
        fingerprint: u64,
    ) {
        let model = shared.model;
        let enabled = model.moves(&mut self.memory, &self.state, &mut self.moves);
        if enabled != Enabled::More {
            let violated = model.judge_rest(&mut self.memory, &self.state, enabled);
            self.find(violated, Finding { fingerprint, step: None, number });
        }
        if shared.limits.reduction {
            model.reduce(&mut self.memory, &self.state, &mut self.moves);
        }
        for i in 0..self.moves.len() {
            let step = self.moves[i];
            model.copy(&self.state, &mut self.successor);
            let violated = model.take(&mut self.memory, &mut self.successor, step);
            self.transitions += 1;
            if !violated.is_empty() {
                self.find(violated, Finding { fingerprint, step: Some(G::code(step)), number });
            }
            let next = model.fingerprint(&mut self.memory, &self.successor);
            if level.seen.is_some_and(|seen| seen.contains(&next)) {
                self.met_again = true;
                continue;
            }
            let origin =
                Origin { parent_fingerprint: fingerprint, step: G::code(step), parent: number };
            if let Some(place) = level.next.insert(next, origin) {
                shared.states.fetch_add(1, Ordering::Relaxed);
                self.next.push(model, &self.successor, place, next);
            }
        }
    }

    fn find(&mut self, violated: Properties, finding: Finding) {
        for property in violated.iter() {
            let known = &mut self.findings[property as usize];
            *known = Some(known.map_or(finding, |known| known.min(finding)));
        }
    }
}
