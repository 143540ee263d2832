//! The algorithms over links over a hostile network: each assumes channels that lose and repeat
//! nothing and keep the order, and the links are such channels.

use std::collections::VecDeque;

use skeptron_core::catalogue::{self, Info};
use skeptron_core::monitor::{Exclusion, Fence, FenceMonitor, Progress};
use skeptron_core::mutex::{self, Mutex, Visitor};
use skeptron_core::{Effect, Input, Lock, NodeId, Outbox, Setup};

use super::chance::{Chance, for_seeds};
use super::weather::{Delivery, Network, Weather, impatient};
use super::*;

/// Entries that each node wants.
const ENTRIES: u32 = 4;

/// No run takes longer.
const MOST_STEPS: usize = 400_000;

/// How a run went wrong.
#[derive(Debug)]
enum Wrong {
    /// Two nodes inside.
    Exclusion,
    /// A fence that is not higher than the one before.
    Fence,
    /// Somebody waits for ever.
    Stall,
    /// A message that no correct node would have sent.
    Refused,
}

/// What is between the nodes.
enum Channels {
    /// Links over the network.
    Links(Network),
    /// The network itself.
    Bare { weather: Weather, chance: Chance, nodes: usize, flying: VecDeque<Delivery> },
}

impl Channels {
    fn new(nodes: usize, over_links: bool, seed: u64) -> Self {
        let weather = Weather::STORM;
        if over_links {
            Channels::Links(Network::new(nodes, weather, &impatient(), seed))
        } else {
            Channels::Bare { weather, chance: Chance::new(seed), nodes, flying: VecDeque::new() }
        }
    }

    fn send(&mut self, from: usize, to: usize, fence: u64, message: Vec<u8>) {
        match self {
            Channels::Links(network) => network.send(from, to, fence, &message),
            Channels::Bare { weather, chance, flying, .. } => {
                let copies = match () {
                    () if chance.happens(weather.loss) => 0,
                    () if chance.happens(weather.duplication) => 2,
                    () => 1,
                };
                let delivery = Delivery { from, to, fence, message };
                flying.extend(std::iter::repeat_n(delivery, copies));
            }
        }
    }

    fn step(&mut self) -> Option<Delivery> {
        match self {
            Channels::Links(network) => network.step(),
            Channels::Bare { weather, chance, flying, .. } => {
                let overtakes = chance.happens(weather.reordering) && !flying.is_empty();
                let place = if overtakes { chance.below(flying.len()) } else { 0 };
                flying.remove(place)
            }
        }
    }

    fn nodes(&self) -> usize {
        match self {
            Channels::Links(network) => network.nodes(),
            Channels::Bare { nodes, .. } => *nodes,
        }
    }
}

/// One run of one algorithm.
struct System<P: Mutex> {
    nodes: Vec<P>,
    fences: Vec<Fence>,
    /// Entries that each node still wants.
    wanted: Vec<u32>,
    inside: Vec<bool>,
    channels: Channels,
    exclusion: Exclusion,
    fence_monitor: FenceMonitor,
    progress: Progress,
    out: Outbox<P>,
}

impl<P: Mutex> System<P> {
    fn run(mut self, chance: &mut Chance) -> Result<(), Wrong> {
        for node in 0..self.nodes.len() {
            self.input(node, Input::Start)?;
        }
        for _ in 0..MOST_STEPS {
            if let Some(Delivery { from, to, fence, message }) = self.channels.step() {
                self.fences[to].receive(fence);
                let message = postcard::from_bytes(&message).unwrap();
                self.input(to, Input::Deliver { from: NodeId::new(from), message })?;
            }
            let node = chance.below(self.nodes.len());
            if chance.happens(100) {
                self.use_node(node)?;
            }
            if self.wanted.iter().all(|&wanted| wanted == 0) && self.exclusion.is_free() {
                return Ok(());
            }
        }
        Err(Wrong::Stall)
    }

    /// Its application asks for the lock or gives it back, if it can.
    fn use_node(&mut self, node: usize) -> Result<(), Wrong> {
        let id = NodeId::new(node);
        if self.inside[node] {
            self.inside[node] = false;
            self.exclusion.leave(id);
            self.input(node, Input::Command(Lock::Release))
        } else if self.wanted[node] > 0 && !self.progress.is_waiting(id) {
            self.progress.request(id);
            self.input(node, Input::Command(Lock::Request))
        } else {
            Ok(())
        }
    }

    fn input(&mut self, node: usize, input: Input<P>) -> Result<(), Wrong> {
        self.nodes[node].step(input, &mut self.out).map_err(|_| Wrong::Refused)?;
        let mut out = std::mem::take(&mut self.out);
        for effect in out.drain() {
            match effect {
                Effect::Send { to, message } => self.send(node, to.index(), &message),
                Effect::Broadcast { message } => {
                    for to in (0..self.channels.nodes()).filter(|&to| to != node) {
                        self.send(node, to, &message);
                    }
                }
                Effect::Emit(_entered) => self.enter(node)?,
                Effect::Arm { .. } | Effect::Disarm(_) => unreachable!("it has no timers"),
            }
        }
        self.out = out;
        Ok(())
    }

    fn send(&mut self, from: usize, to: usize, message: &P::Message) {
        let fence = self.fences[from].attach();
        self.channels.send(from, to, fence, postcard::to_stdvec(message).unwrap());
    }

    fn enter(&mut self, node: usize) -> Result<(), Wrong> {
        let id = NodeId::new(node);
        self.progress.enter(id);
        self.inside[node] = true;
        self.wanted[node] = self.wanted[node].saturating_sub(1);
        if self.exclusion.enter(id).is_some() {
            return Err(Wrong::Exclusion);
        }
        match self.fence_monitor.enter(self.fences[node].enter()) {
            Some(_) => Err(Wrong::Fence),
            None => Ok(()),
        }
    }
}

struct Run<'a> {
    info: &'a Info,
    setup: Setup,
    over_links: bool,
    seed: u64,
}

impl Visitor for Run<'_> {
    type Output = Result<(), Wrong>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let n = self.setup.nodes();
        let system = System::<P> {
            nodes: P::build(self.info.name, &self.setup).unwrap(),
            fences: vec![Fence::default(); n],
            wanted: vec![ENTRIES; n],
            inside: vec![false; n],
            channels: Channels::new(n, self.over_links, self.seed),
            exclusion: Exclusion::default(),
            fence_monitor: FenceMonitor::default(),
            progress: Progress::new(n),
            out: Outbox::new(),
        };
        system.run(&mut Chance::new(!self.seed))
    }
}

fn run(info: &Info, over_links: bool, seed: u64) -> Result<(), Wrong> {
    let setup = Plan::named(info.name).unwrap().setup(3 + (seed % 3) as usize).unwrap();
    mutex::dispatch(info, Run { info, setup, over_links, seed })
}

#[test]
fn every_algorithm_keeps_its_promises_over_links() {
    for info in catalogue::for_clusters() {
        for_seeds(40, |seed| {
            if let Err(wrong) = run(info, true, seed) {
                panic!("{} over links: {wrong:?}", info.name);
            }
        });
    }
}

/// The same weather without links is too much for them; otherwise the test above would say nothing.
#[test]
fn without_links_the_same_weather_breaks_them() {
    for info in catalogue::for_clusters() {
        let broken = (0..40).filter(|&seed| run(info, false, seed).is_err()).count();
        assert!(broken > 0, "{} survived the bare network", info.name);
    }
}
