//! Storms: random schedules with crashes, returns, late detectors and lost messages, to find quickly
//! what the checker would find slowly. A failure names its seed and tells its story.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Elected, Election, Notice};
use crate::catalogue::{Breaks, ElectionInfo, Layout, Order};
use crate::monitor::{Leadership, LeadershipViolation};
use crate::topology::{Graph, Ring};
use crate::{Effect, Input, NodeId, NodeSet, Outbox, Setup};

/// Moments in one bound.
const BOUND: u64 = 8;
/// A run that takes more steps never comes to rest.
const MOST_STEPS: usize = 8_000;

/// What may happen in a storm. Crashes come between any two steps; messages take up to one bound; each
/// detector takes its own time, up to four bounds.
#[derive(Clone, Copy)]
pub(crate) struct Weather {
    /// The largest system.
    pub(crate) most_nodes: usize,
    /// How many crashes at most.
    pub(crate) crashes: usize,
    /// Whether who crashed may come back.
    pub(crate) returns: bool,
    /// Whether all who are alive must name the same one in the end if everybody is back.
    pub(crate) reunites: bool,
    /// Whether all who are alive must name the same one in the end if any of them has named one.
    pub(crate) unites: bool,
    /// How many messages are lost at most.
    pub(crate) losses: u64,
    /// How many alarms ring early at most.
    pub(crate) premature: u64,
    /// How many suspicions are false at most; each is withdrawn.
    pub(crate) doubts: u64,
    /// Whether messages overtake each other in every storm, not in every other one, if the algorithm claims such channels.
    pub(crate) overtakes: bool,
}

impl Weather {
    const fn new(most_nodes: usize, crashes: usize) -> Self {
        Weather {
            most_nodes,
            crashes,
            returns: true,
            reunites: true,
            unites: false,
            losses: 0,
            premature: 0,
            doubts: 0,
            overtakes: false,
        }
    }
}

/// One crash, and perhaps a return.
pub(crate) const SQUALL: Weather = Weather::new(5, 1);

/// Several crashes and returns.
pub(crate) const GALE: Weather = Weather::new(6, 3);

/// Detectors see what is not there, and somebody may crash, too.
pub(crate) const FOG: Weather = Weather { doubts: 3, ..Weather::new(5, 1) };

/// Plays `runs` storms, or as many as the environment says in `SKEPTRON_RUNS`; whatever is violated in
/// one is an error that tells its story.
pub(crate) fn survives<P: Election>(name: &str, weather: Weather, runs: u64) {
    let wanted = std::env::var("SKEPTRON_RUNS").ok();
    let runs = wanted.map_or(runs, |runs| runs.parse().expect("a number of runs"));
    for seed in 0..runs {
        if let Err(breaks) = Storm::<P>::new(name, weather, seed, false).run() {
            let mut again = Storm::<P>::new(name, weather, seed, true);
            let _ = again.run();
            let story: String = again.story.split_inclusive('\n').take(200).collect();
            panic!("{name}, seed {seed}: {breaks:?} is violated\n{story}");
        }
    }
}

/// The tests in storms of an election on the ring.
macro_rules! storms {
    ($algorithm:ident) => {
        #[test]
        fn it_survives_storms() {
            for weather in [storm::SQUALL, storm::GALE, storm::FOG] {
                storm::survives::<$algorithm>($algorithm::VARIANTS[0].name, weather, 10_000);
            }
        }

        #[test]
        fn broken_variants_break_in_storms() {
            storm::refutes_the_broken::<$algorithm>(storm::SQUALL, 20_000);
        }
    };
}
pub(crate) use storms;

/// Every broken variant violates in one of `runs` storms what its entry says.
pub(crate) fn refutes_the_broken<P: Election>(weather: Weather, runs: u64) {
    for info in P::VARIANTS {
        let Some(broken) = info.broken else { continue };
        let violated = |seed| Storm::<P>::new(info.name, weather, seed, false).run().err();
        let shown = (0..runs).any(|seed| violated(seed) == Some(broken.breaks));
        assert!(shown, "{} does not violate {:?}", info.name, broken.breaks);
    }
}

/// What happens in a storm, from its seed.
#[derive(Clone)]
struct Chance(skeptron_testing::Chance);

impl Chance {
    fn new(seed: u64) -> Self {
        Chance(skeptron_testing::Chance::new(seed))
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit.max(1))
    }

    /// Nothing is drawn where there is no choice, so that a kind of trouble which a storm has not leaves
    /// all else as it was.
    fn up_to(&mut self, most: u64) -> u64 {
        if most == 0 { 0 } else { self.below(most + 1) }
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
}

/// What is going to happen. Of two things at one moment an alarm comes last.
enum Coming<P: Election> {
    Deliver {
        from: usize,
        to: usize,
        message: P::Message,
    },
    Notice {
        node: usize,
        notice: Notice,
    },
    /// A false suspicion.
    Doubt {
        node: usize,
        other: NodeId,
    },
    Return(usize),
    Ring {
        node: usize,
        timer: P::Timer,
    },
}

/// When, whether it is an alarm, and in which order it was planned.
type Moment = (u64, bool, u64);

struct Storm<P: Election> {
    chance: Chance,
    weather: Weather,
    order: Order,
    /// Which ways a message may take: 0 at once, 1 within the bound, 2 all of it.
    winds: u64,
    /// How many messages may still be lost.
    losses: u64,
    /// How many alarms may still ring early.
    premature: u64,
    /// How long a detector may take.
    patience: u64,
    /// After how many steps somebody crashes.
    crash_at: Vec<usize>,
    nodes: Vec<P>,
    /// The network, if the algorithm runs on one.
    graph: Option<Graph>,
    up: Vec<bool>,
    /// Who has been down at any time.
    fallen: NodeSet,
    initiators: NodeSet,
    /// Who was given a call and not crashed since.
    called: NodeSet,
    suspected: Vec<NodeSet>,
    named: Vec<Option<Elected>>,
    coming: BTreeMap<Moment, Coming<P>>,
    /// When the last message between two nodes arrives.
    latest: Vec<u64>,
    now: u64,
    planned: u64,
    judge: Leadership,
    trouble: Option<Breaks>,
    /// Whether somebody crashed after the first call.
    disturbed: bool,
    telling: bool,
    story: String,
}

impl<P: Election> Storm<P> {
    fn new(name: &str, weather: Weather, seed: u64, telling: bool) -> Self {
        let mut chance = Chance::new(seed);
        let info: &ElectionInfo =
            P::VARIANTS.iter().find(|info| info.name == name).expect("a variant");
        let n = 1 + chance.below(weather.most_nodes as u64) as usize;
        let crashes = chance.below(weather.crashes as u64 + 1);
        let any = info.channel == Order::Any && (chance.coin() || weather.overtakes);
        let setup = setup(n, &mut chance);
        let mut storm = Storm {
            weather,
            order: if any { Order::Any } else { Order::Fifo },
            winds: chance.below(3),
            losses: chance.up_to(weather.losses),
            premature: chance.up_to(weather.premature),
            patience: chance.below(5) * BOUND,
            crash_at: (0..crashes).map(|_| chance.below(15 * n as u64) as usize).collect(),
            nodes: P::build(name, &setup).expect("the setup has every layout"),
            graph: setup.graph().filter(|_| info.layout == Layout::Graph).cloned(),
            up: vec![true; n],
            fallen: NodeSet::new(),
            initiators: NodeSet::new(),
            called: NodeSet::new(),
            suspected: vec![NodeSet::new(); n],
            named: vec![None; n],
            coming: BTreeMap::new(),
            latest: vec![0; n * n],
            now: 0,
            planned: 0,
            judge: Leadership::new(n, info.claims.highest),
            trouble: None,
            disturbed: false,
            telling,
            story: String::new(),
            chance,
        };
        storm.tell(|| format!("{setup:?}"));
        storm.assemble(n);
        storm
    }

    /// Who calls, and when.
    fn assemble(&mut self, n: usize) {
        for node in 0..n {
            self.step(node, Input::Start);
        }
        let first = self.chance.below(n as u64) as usize;
        for node in 0..n {
            if node == first || self.chance.coin() {
                self.initiators.insert(NodeId::new(node));
                if self.chance.below(4) > 0 {
                    let wait = if self.chance.coin() { 0 } else { self.chance.below(6 * BOUND) };
                    self.plan(wait, Coming::Notice { node, notice: Notice::Call });
                }
            }
        }
        for _ in 0..self.chance.up_to(self.weather.doubts) {
            let (node, wait) =
                (self.chance.below(n as u64) as usize, self.chance.below(20 * BOUND));
            let other = NodeId::new(self.chance.below(n as u64) as usize);
            self.plan(wait, Coming::Doubt { node, other });
        }
    }

    fn run(&mut self) -> Result<(), Breaks> {
        for step in 0..MOST_STEPS {
            let before = self.crash_at.len();
            self.crash_at.retain(|&at| at != step);
            for _ in self.crash_at.len()..before {
                self.crash();
            }
            let Some((moment, coming)) = self.coming.pop_first() else {
                if self.crash_at.is_empty() {
                    return self.at_rest();
                }
                continue;
            };
            self.now = moment.0;
            self.happen(coming);
            if let Some(trouble) = self.trouble {
                return Err(trouble);
            }
        }
        Err(Breaks::Termination)
    }

    fn happen(&mut self, coming: Coming<P>) {
        match coming {
            Coming::Deliver { from, to, message } if self.up[to] => {
                self.step(to, Input::Deliver { from: NodeId::new(from), message });
            }
            Coming::Deliver { .. } => {}
            Coming::Notice { node, notice } if self.up[node] => self.notice(node, notice),
            Coming::Notice { .. } => {}
            Coming::Doubt { node, other } => self.doubt(node, other),
            Coming::Return(node) => self.come_back(node),
            Coming::Ring { node, timer } => self.step(node, Input::Expire(timer)),
        }
    }

    fn doubt(&mut self, node: usize, other: NodeId) {
        let both_up = self.up[node] && self.up[other.index()] && other.index() != node;
        if both_up && self.suspected[node].insert(other) {
            // Who is suspected need not win, as if it had just come back.
            self.judge.restart(other);
            self.suspicion(node, other);
            let wait = self.chance.below(10 * BOUND);
            self.plan(wait, Coming::Notice { node, notice: Notice::Trust(other) });
        }
    }

    fn suspicion(&mut self, node: usize, other: NodeId) {
        self.step(node, Input::Command(Notice::Suspect(other)));
        if self.leader_of(node) == Some(other) {
            self.call(node);
        }
    }

    /// A detector that is told what is no longer true, or what it knows, says nothing.
    fn notice(&mut self, node: usize, notice: Notice) {
        match notice {
            Notice::Call => {
                self.called.insert(NodeId::new(node));
                self.step(node, Input::Command(notice));
            }
            Notice::Suspect(other) => {
                if !self.up[other.index()] && self.suspected[node].insert(other) {
                    self.suspicion(node, other);
                }
            }
            Notice::Drawn(_) => unreachable!("numbers are drawn at once"),
            Notice::Trust(other) => {
                if self.up[other.index()] && self.suspected[node].remove(other) {
                    self.step(node, Input::Command(notice));
                    self.judge_trust(other);
                }
            }
        }
    }

    fn call(&mut self, node: usize) {
        if self.initiators.contains(NodeId::new(node)) {
            self.plan(0, Coming::Notice { node, notice: Notice::Call });
        }
    }

    fn leader_of(&self, node: usize) -> Option<NodeId> {
        let named = self.named[node].map(|elected| elected.leader);
        let never_down = !self.fallen.contains(NodeId::new(node));
        named.or(never_down.then(|| NodeId::new(self.nodes.len() - 1)))
    }

    /// Everything in flight to the victim is lost, and perhaps some of what it has sent.
    fn crash(&mut self) {
        let n = self.nodes.len();
        let victim = self.chance.below(n as u64) as usize;
        if !self.up[victim] {
            return;
        }
        let node = NodeId::new(victim);
        self.tell(|| format!("{node} crashes"));
        self.up[victim] = false;
        self.fallen.insert(node);
        self.disturbed |= !self.called.is_empty();
        self.called.remove(node);
        self.named[victim] = None;
        self.suspected[victim].clear();
        self.judge.crash(node);
        let (loss, chance) = (self.chance.below(3), &mut self.chance);
        self.coming.retain(|_, coming| match coming {
            Coming::Deliver { to, .. } if *to == victim => false,
            Coming::Deliver { from, .. } if *from == victim => match loss {
                0 => true,
                1 => chance.coin(),
                _ => false,
            },
            Coming::Ring { node, .. } | Coming::Notice { node, .. } => *node != victim,
            _ => true,
        });
        self.detect(Notice::Suspect(node));
        if self.weather.returns && self.chance.coin() {
            let bounds = [1, 3, 10, 60, 200][self.chance.below(5) as usize];
            let wait = self.chance.below(bounds * BOUND);
            self.plan(wait, Coming::Return(victim));
        }
    }

    /// Every detector notices in its own time.
    fn detect(&mut self, notice: Notice) {
        for node in (0..self.nodes.len()).filter(|&node| self.up[node]).collect::<Vec<_>>() {
            let wait = self.chance.below(self.patience + 1);
            self.plan(wait, Coming::Notice { node, notice });
        }
    }

    fn come_back(&mut self, node: usize) {
        let id = NodeId::new(node);
        self.tell(|| format!("{id} comes back"));
        self.up[node] = true;
        self.nodes[node] = self.nodes[node].recovered();
        self.judge.restart(id);
        self.judge_trust(id);
        for other in NodeId::all(self.nodes.len()) {
            let wait = self.chance.below(self.patience + 1);
            if other != id && self.up[other.index()] {
                let notice = Notice::Trust(id);
                self.plan(wait, Coming::Notice { node: other.index(), notice });
            } else if other != id {
                self.plan(wait, Coming::Notice { node, notice: Notice::Suspect(other) });
            }
        }
        self.step(node, Input::Start);
        self.notice(node, Notice::Call);
    }

    fn judge_trust(&mut self, node: NodeId) {
        let suspects = |other: usize| self.up[other] && self.suspected[other].contains(node);
        if self.up[node.index()] && !(0..self.nodes.len()).any(suspects) {
            self.judge.trusted(node);
        }
    }

    fn step(&mut self, node: usize, input: Input<P>) {
        let id = NodeId::new(node);
        let said = self.telling.then(|| format!("{input:?}"));
        let mut out = Outbox::new();
        let before = self.nodes[node].epoch();
        let result = self.nodes[node].step(input, &mut out);
        self.tell(|| {
            format!("{id} {} -> {result:?} {:?}", said.unwrap_or_default(), out.effects())
        });
        if result.is_err() {
            self.trouble = Some(Breaks::Refused);
        }
        assert!(self.nodes[node].epoch() >= before, "epochs never fall");
        self.judge.reached(self.nodes[node].epoch());
        for effect in out.drain().collect::<Vec<_>>() {
            self.effect(node, effect);
        }
        if let Some(most) = self.nodes[node].draws() {
            let drawn = 1 + self.chance.below(u64::from(most)) as u32;
            self.step(node, Input::Command(Notice::Drawn(drawn)));
        }
    }

    fn effect(&mut self, node: usize, effect: Effect<P>) {
        match effect {
            Effect::Send { to, message } => self.post(node, to.index(), message),
            Effect::Broadcast { message } => {
                for to in (0..self.nodes.len()).filter(|&to| to != node) {
                    self.post(node, to, message.clone());
                }
            }
            Effect::Arm { timer, after } => {
                self.disarm(node, &timer);
                let mut wait = u64::from(after) * BOUND;
                if self.premature > 0 && self.chance.coin() {
                    self.premature -= 1;
                    wait = self.chance.below(wait);
                }
                self.plan(wait, Coming::Ring { node, timer });
            }
            Effect::Disarm(timer) => self.disarm(node, &timer),
            Effect::Emit(elected) => {
                self.named[node] = Some(elected);
                match self.judge.named(elected) {
                    None => {}
                    Some(LeadershipViolation::Other(_)) => self.trouble = Some(Breaks::Agreement),
                    Some(discord) => {
                        self.tell(|| format!("{discord:?}"));
                        self.trouble = Some(Breaks::Validity);
                    }
                }
                if self.suspected[node].contains(elected.leader) {
                    self.call(node);
                }
            }
        }
    }

    fn post(&mut self, from: usize, to: usize, message: P::Message) {
        assert_ne!(from, to, "a node's word to itself is a local step");
        // Who is down now may be back when it arrives; drivers differ in whether it then gets it.
        if !self.up[to] && self.chance.coin() {
            return;
        }
        if self.losses > 0 && self.chance.below(4) == 0 {
            self.losses -= 1;
            return self.tell(|| "the last message is lost".into());
        }
        let link = from * self.nodes.len() + to;
        let way = match self.winds {
            0 => self.chance.below(BOUND + 1),
            1 => BOUND * self.chance.below(2),
            _ => BOUND,
        };
        let mut arrival = self.now + way;
        if self.order == Order::Fifo {
            arrival = arrival.max(self.latest[link]);
        }
        self.latest[link] = arrival;
        self.plan(arrival - self.now, Coming::Deliver { from, to, message });
    }

    fn disarm(&mut self, node: usize, timer: &P::Timer) {
        self.coming.retain(|_, coming| {
            !matches!(coming, Coming::Ring { node: of, timer: armed } if *of == node && armed == timer)
        });
    }

    fn plan(&mut self, wait: u64, coming: Coming<P>) {
        self.planned += 1;
        let alarm = matches!(coming, Coming::Ring { .. });
        self.coming.insert((self.now + wait, alarm, self.planned), coming);
    }

    fn tell(&mut self, line: impl FnOnce() -> String) {
        if self.telling {
            let (bounds, moments) = (self.now / BOUND, self.now % BOUND);
            writeln!(self.story, "{bounds}.{moments} {}", line()).expect("a string takes text");
        }
    }

    /// Termination: an initiator that called names somebody who is alive; and if nobody crashed since the first
    /// call, all name the same.
    fn at_rest(&mut self) -> Result<(), Breaks> {
        let alive: Vec<usize> = (0..self.nodes.len()).filter(|&node| self.up[node]).collect();
        let leaders: Vec<_> = alive.iter().map(|&node| self.leader_of(node)).collect();
        self.tell(|| format!("at rest {alive:?} name {leaders:?}"));
        let is_up = |leader: &Option<NodeId>| leader.is_some_and(|leader| self.up[leader.index()]);
        let waits = |node: NodeId| self.called.contains(node) && self.initiators.contains(node);
        let served = alive
            .iter()
            .zip(&leaders)
            .all(|(&node, leader)| !waits(NodeId::new(node)) || is_up(leader));
        let reunited = self.weather.reunites && alive.len() == self.nodes.len();
        let all_same =
            leaders.windows(2).all(|pair| pair[0] == pair[1]) && leaders.iter().all(is_up);
        let same = match &self.graph {
            Some(graph) => self.spans(graph, &alive),
            None if self.weather.unites && alive.iter().any(|&node| self.named[node].is_some()) => {
                all_same
            }
            None => self.called.is_empty() || self.disturbed && !reunited || all_same,
        };
        if served && same { Ok(()) } else { Err(Breaks::Termination) }
    }

    /// Whether the living name the same leader, and their parents lead to it, if they are connected and
    /// any of them has named one.
    fn spans(&self, graph: &Graph, alive: &[usize]) -> bool {
        let elected = alive.iter().find_map(|&node| self.named[node]);
        let (Some(elected), true) = (elected, self.connected(graph, alive)) else { return true };
        let leads_up = |node: usize| {
            let up = |&at: &NodeId| {
                let parent = self.nodes[at.index()].parent();
                parent.filter(|&parent| self.up[parent.index()] && graph.of(at).contains(&parent))
            };
            let way = std::iter::successors(Some(NodeId::new(node)), up).take(alive.len());
            way.last() == Some(elected.leader)
        };
        let root = self.nodes[elected.leader.index()].parent().is_none();
        root && alive.iter().all(|&node| self.named[node] == Some(elected) && leads_up(node))
    }

    /// Whether the living can all reach each other over the living.
    fn connected(&self, graph: &Graph, alive: &[usize]) -> bool {
        let mut reached = NodeSet::new();
        let mut ahead: Vec<NodeId> = alive.iter().take(1).map(|&node| NodeId::new(node)).collect();
        while let Some(node) = ahead.pop() {
            if self.up[node.index()] && reached.insert(node) {
                ahead.extend(graph.of(node));
            }
        }
        reached.len() == alive.len()
    }
}

/// A system on a ring in any order and on any connected network.
fn setup(n: usize, chance: &mut Chance) -> Setup {
    let graph = graph(n, &mut chance.clone());
    let mut order: Vec<NodeId> = NodeId::all(n).collect();
    for i in (1..n).rev() {
        order.swap(i, chance.below(i as u64 + 1) as usize);
    }
    let ring = Ring::new(order).expect("every node stands in it once");
    let setup = Setup::new(n).and_then(|setup| setup.with_ring(ring));
    setup.and_then(|setup| setup.with_graph(graph)).expect("both are for n nodes")
}

/// Anything from a tree to a complete network.
fn graph(n: usize, chance: &mut Chance) -> Graph {
    let density = chance.below(4);
    let mut links = Vec::new();
    for i in 1..n {
        let first = chance.below(i as u64) as usize;
        let linked = |j: &usize| *j == first || chance.below(3) < density;
        links.extend((0..i).filter(linked).map(|j| (NodeId::new(i), NodeId::new(j))));
    }
    Graph::of_links(n, links).expect("everybody is linked to somebody before")
}
