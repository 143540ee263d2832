//! Voters and members in one thread: time, network, disks and chance come from one seed.

#![allow(unreachable_pub, missing_docs)]

mod faults;
mod judge;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::Duration;

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use skeptron_member::MemberId;
use skeptron_member::clock::{Drift, MonoTime};
use skeptron_member::view::Lease;
use skeptron_views::Packet;
use skeptron_views::disk::MemoryDisk;
use skeptron_views::flaw::Flaw;
use skeptron_views::log::{Expected, VoterLog};
use skeptron_views::member::{self, Membership};
use skeptron_views::protocol::{Answer, Request};
use skeptron_views::views::{Join, LeaseSettings};
use skeptron_views::voter::{
    self, Admin, AdminAccepted, Identity, Options, TICK, Voter, Write, first_records,
};

pub use judge::Judge;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1000 * MS;
pub const CLUSTER: u128 = 0x5eed;

/// What a run is made of, beside its seed.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub voters: usize,
    pub nodes: usize,
    /// How long faults happen; then everything is mended for `calm`.
    pub faults: u64,
    pub calm: u64,
    pub flaw: Option<Flaw>,
    /// How far clocks are off, and how far the settings say.
    pub drift_ppm: u32,
    pub rho_ppm: u32,
    pub apply_every: u64,
    pub keep_entries: usize,
    /// How long packets between voters take at most, instead of a choice of the seed.
    pub voter_delay: Option<u64>,
    /// Whether voters lose their disks and are replaced.
    pub replaces: bool,
}

pub const THREE: Scenario = Scenario {
    voters: 3,
    nodes: 5,
    faults: 20 * SECOND,
    calm: 14 * SECOND,
    flaw: None,
    drift_ppm: 1000,
    rho_ppm: 1000,
    apply_every: 0,
    keep_entries: 24,
    voter_delay: None,
    replaces: false,
};

#[derive(Clone, Debug)]
enum Mail {
    Voter(Vec<u8>),
    Request(Request),
    Answer(Answer),
}

#[derive(Clone, Debug)]
enum Event {
    Tick {
        node: usize,
        life: u64,
    },
    Disk {
        node: usize,
        life: u64,
    },
    Mail {
        from: usize,
        to: usize,
        mail: Box<Mail>,
    },
    Fault,
    Mend {
        from: usize,
        to: usize,
    },
    Restart(usize),
    Wake(usize),
    /// Begins the voter with this raft id, once its seat is decided.
    Replace {
        node: usize,
        raft: u64,
    },
}

/// How the network and the disks of this seed are.
#[derive(Clone, Copy, Debug)]
struct Weather {
    loss_percent: u64,
    voter_delay: u64,
    disk_delay: u64,
}

pub struct Node {
    pub voter: Option<Voter>,
    log: Option<VoterLog<MemoryDisk>>,
    disk: MemoryDisk,
    writes: VecDeque<(u64, Write)>,
    pub member: Option<Membership>,
    pub up: bool,
    paused: bool,
    life: u64,
    offset: u64,
    rate_ppm: i64,
    backlog: Vec<Event>,
}

pub struct World {
    pub scenario: Scenario,
    seed: u64,
    pub now: u64,
    serial: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    events: BTreeMap<u64, Event>,
    pub nodes: Vec<Node>,
    chance: Pcg64Mcg,
    /// How many faults cut the link, by sender and receiver.
    cut: Vec<u32>,
    weather: Weather,
    calm: bool,
    incarnations: u64,
    pub judge: Judge,
    pub largest_term: u64,
    pub replaced: u64,
    pub handled: u64,
    pub hash: u64,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub struct Report {
    pub violation: Option<String>,
    pub events: u64,
    pub hash: u64,
    pub removed: usize,
    pub epochs: u64,
    pub terms: u64,
    pub replaced: u64,
    pub aways: u64,
    pub backs: u64,
}

pub fn id(place: usize) -> MemberId {
    MemberId::at(place)
}

impl World {
    pub fn new(seed: u64, scenario: Scenario) -> Self {
        let calm = Weather { loss_percent: 0, voter_delay: 2 * MS, disk_delay: MS / 3 };
        let mut world = World {
            scenario,
            seed,
            now: 0,
            serial: 0,
            queue: BinaryHeap::new(),
            events: BTreeMap::new(),
            nodes: Vec::new(),
            chance: Pcg64Mcg::new((u128::from(seed) << 1) | 1),
            cut: vec![0; scenario.nodes * scenario.nodes],
            weather: calm,
            calm: true,
            incarnations: 0,
            judge: Judge::default(),
            largest_term: 0,
            replaced: 0,
            handled: 0,
            hash: 0xcbf2_9ce4_8422_2325,
        };
        for _ in 0..20 {
            world.chance.next_u64();
        }
        let voters: Vec<MemberId> = (0..scenario.voters).map(id).collect();
        let drift = Drift { ppm: scenario.rho_ppm };
        let settings = LeaseSettings { lease: Duration::from_secs(3), drift };
        for place in 0..scenario.nodes {
            let range = u64::from(scenario.drift_ppm);
            let rate_ppm = world.below(2 * range + 1) as i64 - range as i64;
            let offset = world.below(1000 * SECOND);
            let mut disk = MemoryDisk::default();
            if place < scenario.voters {
                let identity =
                    Identity { cluster: CLUSTER, member: id(place), raft: place as u64 + 1 };
                let records = first_records(CLUSTER, settings, &voters);
                disk = VoterLog::create(disk, identity, &records).unwrap().into_disk();
            }
            world.nodes.push(Node {
                voter: None,
                log: None,
                disk,
                writes: VecDeque::new(),
                member: None,
                up: false,
                paused: false,
                life: 0,
                offset,
                rate_ppm,
                backlog: Vec::new(),
            });
            world.boot(place);
        }
        world
    }

    /// Faults, then calm; everybody must be back at the end.
    pub fn run(seed: u64, scenario: Scenario) -> Report {
        let mut world = World::new(seed, scenario);
        world.calm = false;
        let pick = |world: &mut World, from: [u64; 3]| from[world.below(3) as usize];
        world.weather = Weather {
            loss_percent: pick(&mut world, [0, 2, 8]),
            voter_delay: pick(&mut world, [2 * MS, 20 * MS, 150 * MS]),
            disk_delay: pick(&mut world, [MS / 3, 5 * MS, 60 * MS]),
        };
        if let Some(delay) = scenario.voter_delay {
            world.weather.voter_delay = delay;
        }
        world.at(500 * MS, Event::Fault);
        world.run_until(scenario.faults);
        world.mend_all();
        world.run_until(scenario.faults + scenario.calm);
        // A voter that applies slowly keeps everybody waiting; only safety is judged then.
        if scenario.apply_every == 0 {
            world.judge_progress();
        }
        Report {
            violation: world.judge.violation.take(),
            events: world.handled,
            hash: world.hash,
            removed: world.judge.removed.len(),
            epochs: world.judge.newest_epoch(),
            terms: world.largest_term,
            replaced: world.replaced,
            aways: world.judge.aways,
            backs: world.judge.backs,
        }
    }

    pub fn run_until(&mut self, end: u64) {
        while let Some(&Reverse((time, serial))) = self.queue.peek() {
            if time > end || self.judge.violation.is_some() {
                break;
            }
            self.queue.pop();
            self.now = time;
            self.handled += 1;
            let event = self.events.remove(&serial).unwrap();
            self.handle(event);
        }
        self.now = self.now.max(end);
    }

    pub fn cut(&mut self, from: usize, to: usize) {
        self.cut[from * self.scenario.nodes + to] += 1;
    }

    pub fn local(&self, node: usize) -> MonoTime {
        let Node { offset, rate_ppm, .. } = self.nodes[node];
        let drifted = i128::from(self.now) * i128::from(rate_ppm) / 1_000_000;
        MonoTime::from_nanos((i128::from(offset) + i128::from(self.now) + drifted) as u64)
    }

    /// The life in whose lease a node believes now.
    pub fn believes(&self, node: usize) -> Option<u64> {
        let member = self.nodes[node].member.as_ref().filter(|_| self.nodes[node].up)?;
        match member.lease() {
            Lease::Until(until) if self.local(node) < until => Some(member.incarnation()),
            _ => None,
        }
    }

    pub fn leader(&self) -> Option<usize> {
        let leads = |node: &Node| node.up && node.voter.as_ref().is_some_and(Voter::leads);
        (0..self.scenario.voters)
            .filter(|&place| leads(&self.nodes[place]))
            .max_by_key(|&place| self.nodes[place].voter.as_ref().map(Voter::term))
    }

    pub fn administer(&mut self, order: Admin) -> Option<AdminAccepted> {
        let leader = self.leader().filter(|&leader| !self.nodes[leader].paused)?;
        let now = self.local(leader);
        let mut out = Vec::new();
        let voter = self.nodes[leader].voter.as_mut().unwrap();
        let accepted = voter.administer(now, order, &mut out).ok();
        self.perform(leader, out);
        accepted
    }

    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.chance.next_u64()) * u128::from(n)) >> 64) as u64
    }

    fn at(&mut self, time: u64, event: Event) {
        self.serial += 1;
        self.queue.push(Reverse((time, self.serial)));
        self.events.insert(self.serial, event);
    }

    fn note(&mut self, number: u64) {
        self.hash = (self.hash ^ number).wrapping_mul(0x0100_0000_01b3);
    }

    fn boot(&mut self, place: usize) {
        let now = self.local(place);
        let Scenario { flaw, apply_every, keep_entries, voters, .. } = self.scenario;
        let node = &mut self.nodes[place];
        (node.up, node.paused) = (true, false);
        node.life += 1;
        node.backlog.clear();
        node.writes.clear();
        let life = node.life;
        if place < voters {
            let expected = Expected { cluster: Some(CLUSTER), member: id(place) };
            let options = Options { seed: self.seed, keep_entries, flaw, apply_every };
            let mut out = Vec::new();
            let started = VoterLog::open(std::mem::take(&mut node.disk), expected)
                .map_err(|error| error.to_string())
                .and_then(|(log, found)| {
                    node.log = Some(log);
                    Voter::start(now, found.identity, options, found.records, &mut out)
                        .map_err(|error| error.to_string())
                });
            match started {
                Ok(voter) => node.voter = Some(voter),
                Err(error) => self.judge.fail(format!("voter {place} does not start: {error}")),
            }
            self.perform(place, out);
        }
        self.begin_life(place);
        let first = self.now + self.below(TICK.as_nanos() as u64);
        self.at(first, Event::Tick { node: place, life });
    }

    fn begin_life(&mut self, place: usize) {
        self.incarnations += 1;
        let join = Join {
            id: id(place),
            incarnation: (self.incarnations << 8) | place as u64,
            address: format!("host{place}:1"),
            api: Vec::new(),
            plans: 1,
            algorithms: String::new(),
            has_folder: true,
            version: 1,
        };
        let voters = (0..self.scenario.voters).map(id).collect();
        let member = Membership::new(join, voters).with_flaw(self.scenario.flaw);
        self.nodes[place].member = Some(member);
    }

    fn mend_all(&mut self) {
        self.calm = true;
        self.weather = Weather { loss_percent: 0, voter_delay: 2 * MS, disk_delay: MS / 3 };
        self.cut.fill(0);
        for place in 0..self.scenario.nodes {
            if !self.nodes[place].up {
                self.boot(place);
            }
            self.wake(place);
        }
    }

    fn wake(&mut self, place: usize) {
        self.nodes[place].paused = false;
        for event in std::mem::take(&mut self.nodes[place].backlog) {
            self.handle(event);
        }
    }

    fn post(&mut self, from: usize, to: usize, mail: Mail) {
        let lost = self.below(100) < self.weather.loss_percent;
        let slow = !self.calm && self.below(200) == 0;
        let twice = !self.calm && self.below(100) == 0;
        if from == to {
            let time = self.now + 1;
            return self.at(time, Event::Mail { from, to, mail: Box::new(mail) });
        }
        if self.cut[from * self.scenario.nodes + to] > 0 || lost {
            return;
        }
        let usual = if matches!(mail, Mail::Voter(_)) { self.weather.voter_delay } else { 2 * MS };
        for _ in 0..=usize::from(twice) {
            let extra = if slow { self.below(2500 * MS) } else { 0 };
            let time = self.now + MS / 10 + self.below(usual) + extra;
            self.at(time, Event::Mail { from, to, mail: Box::new(mail.clone()) });
        }
    }

    fn handle(&mut self, event: Event) {
        let target = match &event {
            Event::Tick { node, .. } | Event::Disk { node, .. } => Some(*node),
            Event::Mail { to, .. } => Some(*to),
            _ => None,
        };
        if let Some(place) = target
            && self.nodes[place].paused
        {
            self.nodes[place].backlog.push(event);
            return;
        }
        match event {
            Event::Tick { node, life } => self.tick(node, life),
            Event::Disk { node, life } => self.write(node, life),
            Event::Mail { from, to, mail } => self.deliver(from, to, *mail),
            Event::Fault => self.fault(),
            Event::Mend { from, to } => {
                let cut = &mut self.cut[from * self.scenario.nodes + to];
                *cut = cut.saturating_sub(1);
            }
            Event::Restart(place) if !self.nodes[place].up => self.boot(place),
            Event::Wake(place) if self.nodes[place].paused => self.wake(place),
            Event::Restart(_) | Event::Wake(_) => {}
            Event::Replace { node, raft } => self.replace(node, raft),
        }
    }

    fn tick(&mut self, place: usize, life: u64) {
        if self.nodes[place].life != life {
            return;
        }
        let next = self.now + TICK.as_nanos() as u64;
        self.at(next, Event::Tick { node: place, life });
        let suspects = self.suspects(place);
        self.tell_member(place, member::Input::Suspects(suspects));
        self.tell_member(place, member::Input::Timer);
        let now = self.local(place);
        let mut out = Vec::new();
        if let Some(voter) = &mut self.nodes[place].voter {
            voter.tick(now, &mut out);
        }
        self.perform(place, out);
    }

    fn write(&mut self, place: usize, life: u64) {
        let node = &mut self.nodes[place];
        if node.life != life {
            return;
        }
        let Some((number, write)) = node.writes.pop_front() else { return };
        node.log.as_mut().unwrap().write(&write).unwrap();
        let now = self.local(place);
        let mut out = Vec::new();
        let voter = self.nodes[place].voter.as_mut().unwrap();
        voter.persisted(now, number, &mut out);
        self.perform(place, out);
        self.begin_write(place);
    }

    fn begin_write(&mut self, place: usize) {
        if self.nodes[place].writes.is_empty() {
            return;
        }
        let life = self.nodes[place].life;
        let time = self.now + MS / 10 + self.below(self.weather.disk_delay);
        self.at(time, Event::Disk { node: place, life });
    }

    fn deliver(&mut self, from: usize, to: usize, mail: Mail) {
        if !self.nodes[to].up {
            return;
        }
        self.note(self.now ^ ((to as u64) << 56) ^ ((from as u64) << 48));
        let now = self.local(to);
        let mut out = Vec::new();
        match mail {
            Mail::Answer(answer) => {
                self.tell_member(to, member::Input::Answer { from: id(from), answer });
            }
            Mail::Voter(bytes) => {
                let packet = Packet::decode(&bytes).unwrap();
                if let Some(voter) = &mut self.nodes[to].voter {
                    voter.receive(now, id(from), packet, &mut out);
                }
            }
            Mail::Request(request) => {
                if let Some(voter) = &mut self.nodes[to].voter {
                    voter.request(now, id(from), request, &mut out);
                }
            }
        }
        self.perform(to, out);
    }

    fn tell_member(&mut self, place: usize, input: member::Input) {
        let now = self.local(place);
        let Some(member) = &mut self.nodes[place].member else { return };
        let incarnation = member.incarnation();
        let mut out = Vec::new();
        member.handle(now, input, &mut out);
        for effect in out {
            match effect {
                member::Effect::Send { to, request } => {
                    self.post(place, to.place(), Mail::Request(request));
                }
                member::Effect::Installed(view) => self.judge.installed(place, incarnation, &view),
                member::Effect::Voters(_) | member::Effect::Prolonged(_) => {}
                member::Effect::Over(end) => {
                    self.judge.over(incarnation);
                    if end == member::End::Left {
                        self.nodes[place].member = None;
                        self.crash(place);
                        let restart = self.now + self.below(1000 * MS);
                        self.at(restart, Event::Restart(place));
                        return;
                    }
                    self.begin_life(place);
                }
            }
        }
        self.judge_belief(place);
    }

    fn perform(&mut self, place: usize, effects: Vec<voter::Effect>) {
        for effect in effects {
            match effect {
                voter::Effect::Send { to, packet } => {
                    self.largest_term = self.largest_term.max(packet.term().unwrap_or(0));
                    self.post(place, to.place(), Mail::Voter(packet.encode()));
                }
                voter::Effect::Answer { to, answer } => {
                    self.post(place, to.place(), Mail::Answer(answer));
                }
                voter::Effect::Persist { number, write } => {
                    self.nodes[place].writes.push_back((number, write));
                    if self.nodes[place].writes.len() == 1 {
                        self.begin_write(place);
                    }
                }
                voter::Effect::Decided { view, outcomes, .. } => {
                    self.note(view.epoch);
                    self.judge.decided(self.now, &view, &outcomes);
                    for node in 0..self.scenario.nodes {
                        self.judge_belief(node);
                    }
                }
                voter::Effect::Halt(reason) => self.judge.fail(format!("voter {place}: {reason}")),
            }
        }
    }

    /// Nobody may believe in the lease of a life that was removed.
    fn judge_belief(&mut self, place: usize) {
        let (now, life) = (self.now, self.believes(place));
        self.judge.belief(now, place, life);
        if let Some(member) = &self.nodes[place].member
            && self.nodes[place].up
            && matches!(member.lease(), Lease::Until(_))
            && life.is_none()
        {
            self.judge.over(member.incarnation());
        }
    }

    fn judge_progress(&mut self) {
        if self.judge.violation.is_some() {
            return;
        }
        let newest = self.judge.newest().cloned();
        for place in 0..self.scenario.nodes {
            if self.believes(place).is_none() {
                let calm = self.scenario.calm / SECOND;
                let name = id(place);
                self.judge.fail(format!("{name} has no lease {calm} s after all was mended"));
            }
            let member = self.nodes[place].member.as_ref();
            if member.and_then(Membership::view) != newest.as_ref() {
                self.judge.fail(format!("{} does not know the newest view", id(place)));
            }
        }
        if newest
            .is_none_or(|view| view.members.len() != self.scenario.nodes || !view.away.is_empty())
        {
            self.judge.fail("not everybody is a member after all was mended".into());
        }
    }
}
