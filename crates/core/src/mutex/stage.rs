//! A stage on which tests play scenes with the nodes of one algorithm: by hand, message by message,
//! or all of them at once.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use super::{Lock, Mutex};
use crate::catalogue::{Breaks, Info, Order};
use crate::{Effect, Input, NodeId, Outbox, Refused, Setup};

/// Nodes, the messages in flight between them, and what happened so far. Nodes are numbered from 0,
/// as in the spec's traces.
#[derive(Clone)]
pub(crate) struct Stage<P: Mutex> {
    pub(crate) nodes: Vec<P>,
    /// In flight from `i` to `j` at `i * n + j`, oldest first.
    links: Vec<VecDeque<P::Message>>,
    inside: BTreeSet<usize>,
    entries: Vec<usize>,
    sent: usize,
}

impl<P: Mutex> Stage<P> {
    /// A system in its initial state, started.
    pub(crate) fn new(name: &str, setup: &Setup) -> Self {
        let nodes = P::build(name, setup).unwrap();
        let links = vec![VecDeque::new(); nodes.len() * nodes.len()];
        let mut stage =
            Stage { nodes, links, inside: BTreeSet::new(), entries: Vec::new(), sent: 0 };
        for node in 0..stage.nodes.len() {
            stage.step(node, Input::Start).unwrap();
        }
        stage
    }

    fn step(&mut self, node: usize, input: Input<P>) -> Result<(), Refused> {
        let mut out = Outbox::new();
        let before = self.nodes[node].clone();
        let result = self.nodes[node].step(input, &mut out);
        if result.is_err() {
            assert_eq!(self.nodes[node], before, "refused means unchanged");
            assert!(out.effects().is_empty(), "refused means nothing to do");
        }
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.post(node, to.index(), message),
                Effect::Broadcast { message } => {
                    for to in (0..self.nodes.len()).filter(|&to| to != node) {
                        self.post(node, to, message.clone());
                    }
                }
                Effect::Emit(_) => {
                    self.entries.push(node);
                    assert!(self.inside.insert(node), "a node enters once per request");
                }
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        result
    }

    fn post(&mut self, from: usize, to: usize, message: P::Message) {
        assert_ne!(from, to, "a node's word to itself is a local step");
        self.sent += 1;
        let n = self.nodes.len();
        self.links[from * n + to].push_back(message);
    }

    /// The application of `node` wants in.
    pub(crate) fn request(&mut self, node: usize) {
        self.step(node, Input::Command(Lock::Request)).unwrap();
    }

    /// The application of `node` leaves.
    pub(crate) fn release(&mut self, node: usize) {
        assert!(self.inside.remove(&node), "P{} is not inside", node + 1);
        self.step(node, Input::Command(Lock::Release)).unwrap();
    }

    /// Delivers the oldest message from `from` to `to`.
    pub(crate) fn deliver(&mut self, from: usize, to: usize) {
        self.deliver_nth(from, to, 0).unwrap();
    }

    /// Delivers a message out of order: the `k`-th oldest one.
    pub(crate) fn deliver_nth(&mut self, from: usize, to: usize, k: usize) -> Result<(), Refused> {
        let n = self.nodes.len();
        let message = self.links[from * n + to].remove(k).expect("a message is in flight there");
        self.inject(from, to, message)
    }

    /// Delivers a message that was never sent.
    pub(crate) fn inject(
        &mut self,
        from: usize,
        to: usize,
        message: P::Message,
    ) -> Result<(), Refused> {
        self.step(to, Input::Deliver { from: NodeId::new(from), message })
    }

    /// The oldest message in flight from `from` to `to`.
    pub(crate) fn oldest(&self, from: usize, to: usize) -> P::Message {
        self.links[from * self.nodes.len() + to]
            .front()
            .expect("a message is in flight there")
            .clone()
    }

    /// How many messages are in flight from `from` to `to`.
    pub(crate) fn in_flight(&self, from: usize, to: usize) -> usize {
        self.links[from * self.nodes.len() + to].len()
    }

    /// Delivers everything, in rounds over the links, until nothing is in flight (or, where a token
    /// circulates for ever, for a good while).
    pub(crate) fn flush(&mut self) {
        for _ in 0..100 {
            for link in 0..self.links.len() {
                if !self.links[link].is_empty() {
                    self.deliver(link / self.nodes.len(), link % self.nodes.len());
                }
            }
        }
    }

    /// Who entered, in order.
    pub(crate) fn entries(&self) -> &[usize] {
        &self.entries
    }

    /// Who is inside.
    pub(crate) fn inside(&self) -> Vec<usize> {
        self.inside.iter().copied().collect()
    }

    /// How many messages were sent.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    /// Tries every interleaving in which node `i` asks `requests[i]` times. Returns the number of
    /// states, or what went wrong with the steps that led there.
    ///
    /// Where a token circulates for ever a dead end never comes; there only safety is judged.
    pub(crate) fn explore(
        name: &str,
        setup: &Setup,
        requests: &[usize],
        order: Order,
    ) -> Result<usize, (Breaks, String)> {
        let start = World {
            stage: Self::new(name, setup),
            left: requests.to_vec(),
            waiting: BTreeSet::new(),
        };
        let mut seen = BTreeSet::from([start.fingerprint(order)]);
        let mut trail: Vec<(usize, Move)> = Vec::new();
        let mut frontier = VecDeque::from([(usize::MAX, start)]);
        let story = |trail: &[(usize, Move)], mut at: usize| {
            let mut steps = Vec::new();
            while let Some((before, step)) = trail.get(at) {
                steps.push(format!("{step:?}"));
                at = *before;
            }
            steps.reverse();
            steps.join("\n")
        };
        while let Some((id, world)) = frontier.pop_front() {
            let moves = world.moves(order);
            if moves.is_empty() && !world.waiting.is_empty() {
                let stuck = format!("{:?} wait for ever:\n{}", world.waiting, story(&trail, id));
                return Err((Breaks::Liveness, stuck));
            }
            for step in moves {
                let mut next = world.clone();
                let result = next.take(step);
                trail.push((id, step));
                if let Err(refused) = result {
                    return Err((
                        Breaks::Refused,
                        format!("{refused}:\n{}", story(&trail, trail.len() - 1)),
                    ));
                }
                if next.stage.inside.len() > 1 {
                    return Err((
                        Breaks::Safety,
                        format!("two inside:\n{}", story(&trail, trail.len() - 1)),
                    ));
                }
                if seen.insert(next.fingerprint(order)) {
                    frontier.push_back((trail.len() - 1, next));
                } else {
                    trail.pop();
                }
            }
        }
        Ok(seen.len())
    }

    /// Tries `runs` random interleavings instead, where all of them are too many.
    pub(crate) fn wander(
        name: &str,
        setup: &Setup,
        requests: &[usize],
        order: Order,
        runs: u64,
    ) -> Result<(), (Breaks, String)> {
        let start = World {
            stage: Self::new(name, setup),
            left: requests.to_vec(),
            waiting: BTreeSet::new(),
        };
        for run in 0..runs {
            // Knuth's MMIX generator; its high bits are the good ones.
            let mut chance = run;
            let mut world = start.clone();
            let mut story = Vec::new();
            loop {
                let moves = world.moves(order);
                if moves.is_empty() {
                    break;
                }
                chance = chance
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                let step = moves[(chance >> 33) as usize % moves.len()];
                story.push(format!("{step:?}"));
                if let Err(refused) = world.take(step) {
                    return Err((Breaks::Refused, format!("{refused}:\n{}", story.join("\n"))));
                }
                if world.stage.inside.len() > 1 {
                    return Err((Breaks::Safety, format!("two inside:\n{}", story.join("\n"))));
                }
            }
            if !world.waiting.is_empty() {
                let stuck = format!("{:?} wait for ever:\n{}", world.waiting, story.join("\n"));
                return Err((Breaks::Liveness, stuck));
            }
        }
        Ok(())
    }

    /// Asserts that a broken variant is refuted as it says, on a layout of that many nodes. Not for
    /// those that break the order, which no state shows: they have their scenes.
    pub(crate) fn refute(info: &Info, layout: impl FnOnce(usize) -> Setup) {
        let broken = info.broken.unwrap();
        let words: Vec<&str> = broken.refuted_by.split(' ').collect();
        let value = |option| words.iter().position(|&word| word == option).map(|at| words[at + 1]);
        let n = value("-n").unwrap().parse().unwrap();
        let requests = value("--requests").unwrap().split(',').map(|r| r.parse().unwrap());
        let requests: Vec<usize> = requests.cycle().take(n).collect();
        let order = if value("--order") == Some("any") { Order::Any } else { Order::Fifo };
        let found = Self::explore(info.name, &layout(n), &requests, order);
        let (breaks, story) = found.expect_err(info.name);
        assert_eq!(breaks, broken.breaks, "{}: {story}", info.name);
    }
}

/// A stage with applications that ask a bounded number of times.
#[derive(Clone)]
struct World<P: Mutex> {
    stage: Stage<P>,
    left: Vec<usize>,
    waiting: BTreeSet<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Request(usize),
    Release(usize),
    Deliver { from: usize, to: usize, nth: usize },
}

impl<P: Mutex> World<P> {
    fn moves(&self, order: Order) -> Vec<Move> {
        let n = self.left.len();
        let idle = |&i: &usize| !self.waiting.contains(&i) && !self.stage.inside.contains(&i);
        let requests = (0..n).filter(idle).filter(|&i| self.left[i] > 0).map(Move::Request);
        let releases = self.stage.inside.iter().copied().map(Move::Release);
        let deliveries = self.stage.links.iter().enumerate().flat_map(|(link, queue)| {
            let heads = if order == Order::Fifo { queue.len().min(1) } else { queue.len() };
            (0..heads).map(move |nth| Move::Deliver { from: link / n, to: link % n, nth })
        });
        requests.chain(releases).chain(deliveries).collect()
    }

    fn take(&mut self, step: Move) -> Result<(), Refused> {
        let entries = self.stage.entries.len();
        let result = match step {
            Move::Request(i) => {
                self.left[i] -= 1;
                self.waiting.insert(i);
                self.stage.step(i, Input::Command(Lock::Request))
            }
            Move::Release(i) => {
                self.stage.inside.remove(&i);
                self.stage.step(i, Input::Command(Lock::Release))
            }
            Move::Deliver { from, to, nth } => self.stage.deliver_nth(from, to, nth),
        };
        for entered in &self.stage.entries[entries..] {
            self.waiting.remove(entered);
        }
        result
    }

    /// Equal for worlds with equal futures: what happened before does not count, nor does the order
    /// in an unordered channel.
    fn fingerprint(&self, order: Order) -> u64 {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let links: Vec<Vec<u64>> = self
            .stage
            .links
            .iter()
            .map(|queue| {
                let mut hashes: Vec<u64> =
                    queue.iter().map(|message| hasher.hash_one(message)).collect();
                if order == Order::Any {
                    hashes.sort_unstable();
                }
                hashes
            })
            .collect();
        hasher.hash_one((&self.stage.nodes, links, &self.stage.inside, &self.left, &self.waiting))
    }
}
