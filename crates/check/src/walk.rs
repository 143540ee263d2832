//! Random walks: samples of what a system does that is too large for any search. They find violations; they prove nothing.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::check::is_set;
use crate::explorer::{Found, Limits, Progress, is_enough};
use crate::model::{Coded as _, Enabled, Model, Row as _, mix};
use crate::property::{Properties, Property};

/// Which walks to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walks {
    /// How many there are.
    pub count: u64,
    /// How many steps each has at most.
    pub most_steps: usize,
    /// Decides every walk, together with the walk's number.
    pub seed: u64,
    /// Which of so many processes this is, counted from 0: each takes every so manieth walk.
    pub shard: (u64, u64),
}

impl Walks {
    /// The numbers of the walks to take, from one of them on.
    fn numbers(&self, from: u64) -> impl Iterator<Item = u64> {
        let (place, of) = self.shard;
        (place + from * of..self.count).step_by(of as usize)
    }

    fn tenth(&self, number: u64) -> usize {
        (u128::from(number) * 10 / u128::from(self.count.max(1))) as usize
    }
}

/// What walks came to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Walked {
    /// How many were taken.
    pub walks: u64,
    /// How many of these were as long as allowed, so that more could have followed.
    pub cut_short: u64,
    /// Which share of the last tenth's steps led to a state that no earlier walk had seen.
    pub new_states: f64,
}

/// How many walks are taken before somebody looks whether that is enough. What they find is the same on any number
/// of threads.
const BATCH: usize = 1024;

/// How many parts the table of states has, so that threads rarely meet.
const SHARDS: usize = 64;

/// Takes walks from the start of a model.
pub(crate) fn walk<'a, G: Model>(model: &'a G, limits: &Limits<'_>, walks: &Walks) -> Found<'a, G> {
    let began = Instant::now();
    let seen = Seen::default();
    let mut walkers: Vec<Walker<'_, G>> =
        (0..limits.threads.max(1)).map(|_| Walker::new(model)).collect();
    let mut found = Found::new(false);
    let mut shortest = Shortest::default();
    let mut tally = Tally::default();
    loop {
        let batch: Vec<u64> = walks.numbers(tally.walks).take(BATCH).collect();
        if batch.is_empty() || is_set(limits.stop) {
            break;
        }
        let at = AtomicU64::new(0);
        thread::scope(|scope| {
            for walker in &mut walkers {
                let (batch, at, seen) = (&batch, &at, &seen);
                scope.spawn(move || {
                    while let Some(&number) = batch.get(at.fetch_add(1, Ordering::Relaxed) as usize)
                    {
                        if is_set(limits.stop) {
                            break;
                        }
                        walker.walk(model, walks, number, seen);
                    }
                });
            }
        });
        for walker in &mut walkers {
            tally.add(std::mem::take(&mut walker.tally));
            shortest.add(std::mem::take(&mut walker.shortest));
        }
        let memory: usize = walkers.iter().map(|walker| G::memory_bytes(&walker.memory)).sum();
        let bytes = memory + model.bytes() + seen.bytes();
        found.peak_bytes = found.peak_bytes.max(bytes);
        let states = seen.len();
        if let Some(progress) = limits.progress {
            let seconds = began.elapsed().as_secs_f64();
            let level = Some((tally.walks, walks.numbers(0).count() as u64));
            progress(Progress { states, depth: tally.longest, seconds, level });
        }
        found.out_of_memory = bytes > limits.max_memory;
        if found.out_of_memory || is_enough(model, limits, shortest.violated()) {
            break;
        }
    }
    let first = seen.first_by_tenth(walks);
    let last = tally.steps.iter().rposition(|&steps| steps > 0).unwrap_or_default();
    found.states = seen.len();
    found.transitions = tally.steps.iter().sum();
    found.depth = tally.longest;
    found.runs = shortest.0.map(|run| run.map(|(moves, _)| moves));
    found.walked = Some(Walked {
        walks: tally.walks,
        cut_short: tally.cut_short,
        new_states: first[last] as f64 / tally.steps[last].max(1) as f64,
    });
    found
}

/// The states that were seen, each with the first walk that came there. Of walks at the same time the one with the
/// smallest number counts, so that the result does not depend on which thread was first.
struct Seen([Mutex<FxHashMap<u64, u64>>; SHARDS]);

impl Default for Seen {
    fn default() -> Self {
        Seen(std::array::from_fn(|_| Mutex::default()))
    }
}

impl Seen {
    fn note(&self, fingerprint: u64, walk: u64) {
        let shard = &self.0[(fingerprint >> 58) as usize];
        let mut shard = shard.lock().expect("no thread panics while it holds this lock");
        shard.entry(fingerprint).and_modify(|first| *first = walk.min(*first)).or_insert(walk);
    }

    fn shards(&self) -> impl Iterator<Item = std::sync::MutexGuard<'_, FxHashMap<u64, u64>>> {
        self.0.iter().map(|shard| shard.lock().expect("no thread panics while it holds this lock"))
    }

    fn len(&self) -> u64 {
        self.shards().map(|shard| shard.len() as u64).sum()
    }

    fn bytes(&self) -> usize {
        self.shards().map(|shard| 17 * shard.capacity()).sum()
    }

    /// How many states each tenth of the walks was the first to see.
    fn first_by_tenth(&self, walks: &Walks) -> [u64; 10] {
        let mut first = [0; 10];
        for shard in self.shards() {
            shard.values().for_each(|&walk| first[walks.tenth(walk)] += 1);
        }
        first
    }
}

/// What some walks took.
#[derive(Default)]
struct Tally {
    walks: u64,
    /// Of each tenth of the walks.
    steps: [u64; 10],
    cut_short: u64,
    longest: usize,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.walks += other.walks;
        self.steps.iter_mut().zip(other.steps).for_each(|(mine, its)| *mine += its);
        self.cut_short += other.cut_short;
        self.longest = self.longest.max(other.longest);
    }
}

/// For each property the shortest walk that violates it, and of several the first.
#[derive(Default)]
struct Shortest([Option<(Vec<u16>, u64)>; Property::ALL.len()]);

impl Shortest {
    fn add(&mut self, other: Shortest) {
        for (mine, its) in self.0.iter_mut().zip(other.0) {
            let both = mine.take().into_iter().chain(its);
            *mine = both.min_by_key(|(moves, number)| (moves.len(), *number));
        }
    }

    fn violated(&self) -> Properties {
        Property::ALL.into_iter().filter(|&p| self.0[p as usize].is_some()).collect()
    }
}

/// A thread's own things.
struct Walker<'a, G: Model + 'a> {
    memory: G::Memory<'a>,
    state: G::State,
    moves: Vec<G::Move>,
    tally: Tally,
    shortest: Shortest,
}

impl<'a, G: Model> Walker<'a, G> {
    fn new(model: &'a G) -> Self {
        Walker {
            memory: model.memory(false),
            state: model.start().clone(),
            moves: Vec::new(),
            tally: Tally::default(),
            shortest: Shortest::default(),
        }
    }

    /// One walk: it ends where nothing more can happen, or at the first violation.
    fn walk(&mut self, model: &'a G, walks: &Walks, number: u64, seen: &Seen) {
        self.state.copy_from(model.start(), model.nodes());
        let mut taken: Vec<u16> = Vec::new();
        let is_cut = loop {
            seen.note(model.fingerprint(&mut self.memory, &self.state), number);
            let enabled = model.moves(&mut self.memory, &self.state, &mut self.moves);
            let mut violated = Properties::default();
            if enabled != Enabled::More {
                violated = model.judge_rest(&mut self.memory, &self.state, enabled);
            }
            if violated.is_empty() && taken.len() < walks.most_steps && !self.moves.is_empty() {
                let step = self.moves[drawn(walks.seed, number, taken.len(), self.moves.len())];
                taken.push(step.code());
                violated = model.take(&mut self.memory, &mut self.state, step);
                if violated.is_empty() {
                    continue;
                }
            }
            self.find(violated, &taken, number);
            break violated.is_empty() && !self.moves.is_empty();
        };
        self.tally.walks += 1;
        self.tally.steps[walks.tenth(number)] += taken.len() as u64;
        self.tally.cut_short += u64::from(is_cut);
        self.tally.longest = self.tally.longest.max(taken.len());
    }

    fn find(&mut self, violated: Properties, taken: &[u16], number: u64) {
        let mut new = Shortest::default();
        for property in violated.iter() {
            new.0[property as usize] = Some((taken.to_vec(), number));
        }
        self.shortest.add(new);
    }
}

/// Which of so many moves a walk takes at a step.
fn drawn(seed: u64, walk: u64, step: usize, moves: usize) -> usize {
    let bits = mix(mix(seed, walk), step as u64);
    ((u128::from(bits) * moves as u128) >> 64) as usize
}
