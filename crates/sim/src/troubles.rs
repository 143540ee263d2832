//! What goes wrong, and how the nodes and the network are because of it.

use std::collections::BTreeMap;

use skeptron_core::{NodeId, NodeSet};

use crate::chance::{Chance, Purpose};
use crate::distribution::ticks;
use crate::engine::{Control, World};
use crate::faults::{Cut, Fault, Faults, PlannedFault, RandomFault};
use crate::trace::{Loss, Ticks, What};

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Up,
    Paused,
    Down,
}

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    Crashes(NodeId),
    Restarts(NodeId),
    Pauses(NodeId),
    Resumes(NodeId),
}

/// A fault on the agenda. It owns nothing, so that an event need not be dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// The planned one with this number begins.
    Begin(usize),
    /// One of that node, or of the network, may end.
    End(Option<NodeId>),
    /// Time for the next one by chance.
    ByChance(Purpose),
}

impl Trouble {
    /// For the trace hash: its number, whom it concerns, and details.
    pub(crate) fn code(&self, numbers: &[u64; 3]) -> (u64, NodeId, u64) {
        let [begin, end, by_chance] = *numbers;
        match self {
            Trouble::Begin(_) => (begin, NodeId::new(0), 0),
            Trouble::End(node) => (end, node.unwrap_or(NodeId::new(0)), u64::from(node.is_some())),
            Trouble::ByChance(purpose) => (by_chance, NodeId::new(*purpose as usize), 0),
        }
    }
}

/// Plans what goes wrong.
pub(crate) fn plan<W: World>(world: &mut W, nodes: &mut dyn Control<W>) {
    for (number, fault) in world.environment().troubles.planned.iter().enumerate() {
        nodes.plan_trouble(fault.from, Trouble::Begin(number));
    }
    for purpose in [Purpose::Crash, Purpose::Pause, Purpose::Partition] {
        plan_by_chance(world, nodes, purpose);
    }
}

fn plan_by_chance<W: World>(world: &mut W, nodes: &mut dyn Control<W>, purpose: Purpose) {
    let env = world.environment();
    if let Some(at) = env.troubles.next_random(purpose, env.now)
        && world.may_go_wrong(at)
    {
        nodes.plan_trouble(at, Trouble::ByChance(purpose));
    }
}

/// A fault begins or ends now.
#[cold]
pub(crate) fn happen<W: World>(world: &mut W, nodes: &mut dyn Control<W>, trouble: Trouble) {
    let now = world.environment().now;
    match trouble {
        Trouble::Begin(number) => {
            let PlannedFault { fault, until, .. } =
                world.environment().troubles.planned[number].clone();
            begin(world, nodes, fault, until);
        }
        Trouble::End(whom) => {
            let turned = world.environment().troubles.end(whom, now);
            turn(world, nodes, turned);
        }
        Trouble::ByChance(purpose) if world.may_go_wrong(now) => {
            if let Some((fault, until)) = world.environment().troubles.draw(purpose, now) {
                begin(world, nodes, fault, until);
            }
            plan_by_chance(world, nodes, purpose);
        }
        Trouble::ByChance(_) => {}
    }
}

/// A fault begins.
pub(crate) fn begin<W: World>(
    world: &mut W,
    nodes: &mut dyn Control<W>,
    fault: Fault,
    until: Option<Ticks>,
) {
    let (whom, turned) = world.environment().troubles.begin(fault, until);
    turn(world, nodes, turned);
    if let Some(until) = until {
        nodes.plan_trouble(until, Trouble::End(whom));
    }
}

/// Something comes from outside, and perhaps something becomes of a node.
pub(crate) fn turn<W: World>(world: &mut W, nodes: &mut dyn Control<W>, turn: Option<Turn>) {
    world.disturb();
    let env = world.environment();
    match turn {
        Some(Turn::Crashes(node)) => {
            env.record(node, || What::Crash);
            world.crash(nodes, node);
        }
        Some(Turn::Restarts(node)) => {
            env.record(node, || What::Restart);
            world.restart(nodes, node);
        }
        Some(Turn::Pauses(node)) => env.record(node, || What::Pause),
        Some(Turn::Resumes(node)) => {
            env.record(node, || What::Resume);
            let now = env.now;
            nodes.release(world, node);
            nodes.resume_alarms(node, now);
            world.resume(nodes, node);
        }
        None => {}
    }
}

/// The state of everything that can go wrong.
#[derive(Debug)]
pub(crate) struct Troubles {
    planned: Vec<PlannedFault>,
    health: Vec<Health>,
    /// Counts crashes, so that what was planned before one is not done after it.
    lives: Vec<u32>,
    /// Cuts of the network, and when each is mended.
    cuts: Vec<(Option<Ticks>, Cut)>,
    /// When the present fault of a node ends.
    until: BTreeMap<NodeId, Ticks>,
    /// Whether messages may be lost or delivered twice now: asked for every message.
    befall_messages: bool,
    loss: (f64, Chance),
    duplication: (f64, Chance),
    random: [(Purpose, Option<RandomFault>, Chance); 3],
}

impl Troubles {
    pub(crate) fn new(faults: &Faults, nodes: usize, seed: u64) -> Self {
        let chance = |purpose| Chance::new(seed, purpose);
        let random = |purpose, fault| (purpose, fault, chance(purpose));
        let mut troubles = Troubles {
            health: vec![Health::Up; nodes],
            lives: vec![0; nodes],
            planned: faults.planned.clone(),
            cuts: Vec::new(),
            until: BTreeMap::new(),
            befall_messages: false,
            loss: (faults.loss, chance(Purpose::Loss)),
            duplication: (faults.duplicate, chance(Purpose::Duplication)),
            random: [
                random(Purpose::Crash, faults.crashes),
                random(Purpose::Pause, faults.pauses),
                random(Purpose::Partition, faults.partitions),
            ],
        };
        troubles.look();
        troubles
    }

    #[inline(always)]
    pub(crate) fn health(&self, node: NodeId) -> Health {
        self.health[node.index()]
    }

    pub(crate) fn is_down(&self, node: NodeId) -> bool {
        self.health(node) == Health::Down
    }

    /// How often `node` has crashed.
    pub(crate) fn life(&self, node: NodeId) -> u32 {
        self.lives[node.index()]
    }

    /// Whether `node` lives and has not crashed since it was in that life.
    pub(crate) fn is_same_life(&self, node: NodeId, life: u32) -> bool {
        self.life(node) == life && !self.is_down(node)
    }

    /// Whether messages may be lost or delivered twice now.
    #[inline(always)]
    pub(crate) fn befall_messages(&self) -> bool {
        self.befall_messages
    }

    /// Looks anew whether they may.
    fn look(&mut self) {
        self.befall_messages =
            self.loss.0 > 0.0 || self.duplication.0 > 0.0 || !self.cuts.is_empty();
    }

    /// Whether a message is lost on its way, and to what.
    pub(crate) fn loses(&mut self, from: NodeId, to: NodeId) -> Option<Loss> {
        let (probability, chance) = &mut self.loss;
        if *probability > 0.0 && chance.happens(*probability) {
            return Some(Loss::Chance);
        }
        let cut = self.cuts.iter().any(|(_, cut)| cut.separates(from, to));
        cut.then_some(Loss::Partition)
    }

    /// Whether a message is delivered twice.
    pub(crate) fn duplicates(&mut self) -> bool {
        let (probability, chance) = &mut self.duplication;
        *probability > 0.0 && chance.happens(*probability)
    }

    /// From now on no message is lost or delivered twice by chance.
    pub(crate) fn spare_messages(&mut self) {
        (self.loss.0, self.duplication.0) = (0.0, 0.0);
        self.look();
    }

    /// Whether some way is cut.
    pub(crate) fn is_cut(&self) -> bool {
        !self.cuts.is_empty()
    }

    /// Every way is open again.
    pub(crate) fn mend(&mut self) {
        self.cuts.clear();
        self.look();
    }

    /// A fault begins. Also says whose [`Troubles::end`] may come at `until`.
    pub(crate) fn begin(
        &mut self,
        fault: Fault,
        until: Option<Ticks>,
    ) -> (Option<NodeId>, Option<Turn>) {
        match fault {
            Fault::Crash(node) => (Some(node), self.crash(node, until)),
            Fault::Pause(node) => (Some(node), self.pause(node, until)),
            Fault::Cut(cut) => {
                self.cuts.push((until, cut));
                self.look();
                (None, None)
            }
        }
    }

    fn crash(&mut self, node: NodeId, until: Option<Ticks>) -> Option<Turn> {
        let i = node.index();
        if self.health[i] == Health::Down {
            return None;
        }
        self.health[i] = Health::Down;
        self.lasts(node, until);
        self.lives[i] += 1;
        Some(Turn::Crashes(node))
    }

    /// A pause within a pause makes it longer, if it ends later.
    fn pause(&mut self, node: NodeId, until: Option<Ticks>) -> Option<Turn> {
        let i = node.index();
        match self.health[i] {
            Health::Up => {
                self.health[i] = Health::Paused;
                self.lasts(node, until);
                return Some(Turn::Pauses(node));
            }
            Health::Paused => {
                let before = self.until.get(&node).copied();
                self.lasts(node, before.zip(until).map(|(a, b)| a.max(b)));
            }
            Health::Down => {}
        }
        None
    }

    /// What is the matter with `node` lasts until then, or for ever.
    fn lasts(&mut self, node: NodeId, until: Option<Ticks>) {
        match until {
            Some(until) => self.until.insert(node, until),
            None => self.until.remove(&node),
        };
    }

    /// Ends what ends now, at that node or in the network: the end of a fault that another one has
    /// replaced finds nothing to do.
    pub(crate) fn end(&mut self, whom: Option<NodeId>, now: Ticks) -> Option<Turn> {
        let Some(node) = whom else {
            self.cuts.retain(|(until, _)| *until != Some(now));
            self.look();
            return None;
        };
        if self.until.get(&node) == Some(&now) { self.relieve(node) } else { None }
    }

    /// Ends whatever is the matter with `node`.
    pub(crate) fn relieve(&mut self, node: NodeId) -> Option<Turn> {
        let i = node.index();
        self.until.remove(&node);
        match std::mem::replace(&mut self.health[i], Health::Up) {
            Health::Down => Some(Turn::Restarts(node)),
            Health::Paused => Some(Turn::Resumes(node)),
            Health::Up => None,
        }
    }

    /// When the next fault of that kind begins, if one does.
    pub(crate) fn next_random(&mut self, purpose: Purpose, now: Ticks) -> Option<Ticks> {
        let (_, fault, chance) = self.random.iter_mut().find(|(p, ..)| *p == purpose)?;
        fault.map(|fault| now + ticks(chance.exponential() / fault.rate))
    }

    /// What that fault is and when it ends; `None` if it befalls a node that is not up.
    pub(crate) fn draw(&mut self, purpose: Purpose, now: Ticks) -> Option<(Fault, Option<Ticks>)> {
        let n = self.health.len();
        let (_, fault, chance) = self.random.iter_mut().find(|(p, ..)| *p == purpose)?;
        let lasting = fault.and_then(|fault| fault.lasting);
        let end = lasting.map(|mean| now + ticks(mean * chance.exponential()));
        if purpose == Purpose::Partition {
            let from: NodeSet = NodeId::all(n).filter(|_| chance.happens(0.5)).collect();
            let to = NodeId::all(n).filter(|&node| !from.contains(node)).collect();
            return Some((Fault::Cut(Cut { from, to, both_ways: chance.happens(0.5) }), end));
        }
        let node = NodeId::new(chance.below(n as u64) as usize);
        let fault = if purpose == Purpose::Crash { Fault::Crash(node) } else { Fault::Pause(node) };
        (self.health[node.index()] == Health::Up).then_some((fault, end))
    }
}
