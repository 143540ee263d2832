//! Runs for the tests of the formats and of replay: a small driver, apart from the simulator's. `tests/all` includes
//! this file, too, and has a `trace` at its root for it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use skeptron_core::catalogue::Order;
use skeptron_core::monitor::{Exclusion, Fence};
use skeptron_core::mutex::{Mutex, ricart_agrawala::RicartAgrawala};
use skeptron_core::{Effect, Input, Lock, NodeId, Outbox, Protocol, Setup};

use crate::trace::{Header, Loss, Record, TICKS_PER_UNIT, Ticks, Trace, VERSION, What};

/// Ricart–Agrawala with everything that can happen to it.
pub(crate) struct Scene {
    pub(crate) algorithm: &'static str,
    pub(crate) nodes: usize,
    /// How many of the nodes ask, the first ones.
    pub(crate) requesters: usize,
    /// How often each asks.
    pub(crate) entries: u32,
    pub(crate) section: Ticks,
    pub(crate) latency: fn(u64) -> Ticks,
    /// Messages that are lost, and those of which there is a copy.
    pub(crate) lose: &'static [u64],
    pub(crate) copy: &'static [u64],
    /// What else happens: when, to whom (counted from 1), what.
    pub(crate) script: &'static [(Ticks, usize, Act)],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Act {
    Request,
    Release,
    Arrive(u64),
    Crash,
    Restart,
    Pause,
    Resume,
}

impl Scene {
    /// Everybody asks twice; messages take one unit, the section half of one.
    pub(crate) fn new(nodes: usize) -> Self {
        Scene {
            algorithm: "ricart-agrawala",
            nodes,
            requesters: nodes,
            entries: 2,
            section: TICKS_PER_UNIT / 2,
            latency: |_| TICKS_PER_UNIT,
            lose: &[],
            copy: &[],
            script: &[],
        }
    }

    /// One of everything.
    pub(crate) fn faulty() -> Self {
        Scene {
            latency: |id| 700 + id * 330 % 800,
            copy: &[3],
            lose: &[21],
            script: &[
                (3_300, 3, Act::Pause),
                (5_200, 3, Act::Resume),
                (7_700, 2, Act::Crash),
                (10_500, 2, Act::Restart),
                (10_700, 2, Act::Request),
            ],
            ..Scene::new(3)
        }
    }

    pub(crate) fn play(&self) -> Trace {
        let setup = Setup::new(self.nodes).unwrap();
        let mut play = Play {
            scene: self,
            nodes: RicartAgrawala::build(self.algorithm, &setup).unwrap(),
            fences: vec![Fence::default(); self.nodes],
            left: vec![self.entries; self.nodes],
            up: vec![true; self.nodes],
            held: vec![None; self.nodes],
            flying: BTreeMap::new(),
            next_id: 0,
            queue: BinaryHeap::new(),
            exclusion: Exclusion::default(),
            records: Vec::new(),
        };
        for node in NodeId::all(self.requesters) {
            play.later(0, node, Act::Request);
        }
        for &(t, node, act) in self.script {
            play.later(t, NodeId::new(node - 1), act);
        }
        play.run(&setup);
        let header = Header {
            skeptron: VERSION,
            algorithm: self.algorithm.into(),
            setup,
            order: Order::Any,
            ticks_per_unit: TICKS_PER_UNIT,
            bounds: None,
            command: None,
        };
        Trace { header, records: play.records }
    }
}

type Flight = (NodeId, NodeId, <RicartAgrawala as Protocol>::Message, u64);

struct Play<'a> {
    scene: &'a Scene,
    nodes: Vec<RicartAgrawala>,
    fences: Vec<Fence>,
    left: Vec<u32>,
    up: Vec<bool>,
    /// What arrived while the node is paused.
    held: Vec<Option<Vec<Act>>>,
    flying: BTreeMap<u64, Flight>,
    next_id: u64,
    queue: BinaryHeap<Reverse<(Ticks, usize, NodeId, Act)>>,
    exclusion: Exclusion,
    records: Vec<Record>,
}

impl Play<'_> {
    fn later(&mut self, t: Ticks, node: NodeId, act: Act) {
        let turn = self.queue.len() + 1000 * self.records.len();
        self.queue.push(Reverse((t, turn, node, act)));
    }

    fn run(&mut self, setup: &Setup) {
        while let Some(Reverse((t, _, node, act))) = self.queue.pop() {
            let i = node.index();
            match act {
                Act::Crash => {
                    self.up[i] = false;
                    self.left[i] = 0;
                    self.held[i] = None;
                    self.exclusion.leave(node);
                    self.record(t, node, What::Crash);
                }
                Act::Restart => {
                    self.up[i] = true;
                    self.fences[i] = Fence::default();
                    self.nodes[i] =
                        RicartAgrawala::build(self.scene.algorithm, setup).unwrap().swap_remove(i);
                    self.record(t, node, What::Restart);
                }
                Act::Resume => {
                    self.record(t, node, What::Resume);
                    for act in self.held[i].take().unwrap() {
                        self.take(t, node, act);
                    }
                }
                Act::Pause => {
                    self.record(t, node, What::Pause);
                    self.held[i] = Some(Vec::new());
                }
                act => match &mut self.held[i] {
                    Some(held) => held.push(act),
                    None => self.take(t, node, act),
                },
            }
        }
    }

    fn take(&mut self, t: Ticks, node: NodeId, act: Act) {
        let i = node.index();
        let input = match act {
            Act::Arrive(id) => {
                let (from, _, message, fence) = self.flying.remove(&id).unwrap();
                if !self.up[i] {
                    return self.record(t, from, What::Lose { id, cause: Loss::Down });
                }
                self.record(t, node, What::Deliver { id });
                self.fences[i].receive(fence);
                Input::Deliver { from, message }
            }
            _ if !self.up[i] => return,
            Act::Request => {
                self.record(t, node, What::Request);
                Input::Command(Lock::Request)
            }
            _ => {
                self.exclusion.leave(node);
                self.record(t, node, What::Release);
                Input::Command(Lock::Release)
            }
        };
        let mut out = Outbox::new();
        if let Err(why) = self.nodes[i].step(input, &mut out) {
            self.record(t, node, What::Refuse { why: why.to_string() });
        }
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.send(t, node, to, message),
                Effect::Broadcast { message } => {
                    for to in NodeId::all(self.scene.nodes).filter(|&to| to != node) {
                        self.send(t, node, to, message.clone());
                    }
                }
                Effect::Emit(_) => self.enter(t, node),
                Effect::Arm { .. } | Effect::Disarm(_) => unreachable!("it has no timers"),
            }
        }
        if act == Act::Release && self.left[i] > 0 {
            self.later(t + self.scene.section, node, Act::Request);
        }
    }

    fn enter(&mut self, t: Ticks, node: NodeId) {
        let i = node.index();
        let fence = self.fences[i].enter();
        self.record(t, node, What::Enter { fence });
        if let Some(other) = self.exclusion.enter(node) {
            let detail = format!("{other} is inside");
            self.record(t, node, What::Violation { property: "exclusion".into(), detail });
        }
        self.left[i] = self.left[i].saturating_sub(1);
        self.later(t + self.scene.section, node, Act::Release);
    }

    fn send(
        &mut self,
        t: Ticks,
        from: NodeId,
        to: NodeId,
        message: <RicartAgrawala as Protocol>::Message,
    ) {
        use skeptron_core::Message;
        let id = self.fly(t, (from, to, message.clone(), self.fences[from.index()].attach()));
        let label = message.label().into();
        let value = serde_json::to_value(&message).unwrap();
        self.record(t, from, What::Send { id, to, label, message: value.into() });
        if self.scene.lose.contains(&id) {
            self.flying.remove(&id);
            self.queue.retain(|Reverse((_, _, _, act))| *act != Act::Arrive(id));
            self.record(t, from, What::Lose { id, cause: Loss::Chance });
        }
        if self.scene.copy.contains(&id) {
            let flight = self.flying[&id].clone();
            let copy = self.fly(t + 250, flight);
            self.record(t, from, What::Duplicate { id: copy, of: id });
        }
    }

    fn fly(&mut self, t: Ticks, flight: Flight) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.later(t + (self.scene.latency)(id), flight.1, Act::Arrive(id));
        self.flying.insert(id, flight);
        id
    }

    fn record(&mut self, t: Ticks, node: NodeId, what: What) {
        self.records.push(Record { t, node, what });
    }
}
