//! The view service in the world: a voter in each of the first members, on a disk that loses what was not
//! synced, and letters between voters and members that may get lost, late or doubled.

use std::collections::VecDeque;
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::{Drift, MonoTime};
use skeptron_views::disk::MemoryDisk;
use skeptron_views::flaw::Flaw;
use skeptron_views::log::{Expected, VoterLog};
use skeptron_views::member::Input;
use skeptron_views::protocol::{Answer, Request};
use skeptron_views::views::LeaseSettings;
use skeptron_views::voter::{self, Admin, Effect, Identity, TICK, Voter, Write, first_records};

use crate::chance::Chance;
use crate::clock::{MICROSECOND, MILLISECOND, SECOND, Time};
use crate::faults::{FaultKind, Faults};
use crate::history::History;
use crate::network::{Packet, PacketBody};
use crate::outcome::Property;
use crate::world::{Event, World};

const CLUSTER: u128 = 0x5eed;
/// Short, so that snapshots are made and sent in a run.
const KEEP_ENTRIES: usize = 24;

/// The view service of a run.
#[derive(Debug)]
pub(crate) struct Service {
    /// The members that vote.
    pub(crate) voters: Vec<MemberId>,
    pub(crate) settings: LeaseSettings,
    pub(crate) flaw: Option<Flaw>,
    pub(crate) history: History,
    /// What a letter between voters takes beside the way, at most.
    voter_delay: Time,
    /// What a write takes at most.
    disk_delay: Time,
    /// The share of letters that take very long.
    late_ppm: u32,
    /// After so long the faults end.
    pub(crate) storm: Time,
    /// At most so long lies between two faults.
    pub(crate) calm_between: Time,
    /// Nobody may enter before, because leases of before a power loss may run.
    pub(crate) quiet_until: Time,
    effects: Vec<Effect>,
}

/// What voters and members send each other.
#[derive(Clone, Debug)]
pub(crate) enum ServiceMessage {
    Voter(skeptron_views::Packet),
    Request(Request),
    Answer(Answer),
}

/// A voter that runs.
pub(crate) struct SimulatedVoter {
    pub(crate) voter: Voter,
    log: VoterLog<MemoryDisk>,
    /// Not yet durable; the first one is under way.
    writes: VecDeque<(u64, Write)>,
}

/// How a member stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Everything that was begun is finished.
    Clean,
    /// In the middle of whatever it does.
    Crash,
}

impl Service {
    pub(crate) fn new(
        voters: usize,
        faults: Faults,
        flaw: Option<Flaw>,
        drift: Drift,
        chance: &mut Chance,
    ) -> Self {
        let slow = faults.has(FaultKind::Slow);
        let delay = chance.pick(&[0, 0, 20, 150, 350]) * MILLISECOND;
        let disk = chance.pick(&[300, 5_000, 60_000]) * MICROSECOND;
        let lease = Duration::from_millis(chance.pick(&[700, 1500, 3000]));
        Service {
            voters: (0..voters).map(MemberId::at).collect(),
            settings: LeaseSettings { lease, drift },
            flaw,
            history: History::default(),
            voter_delay: if slow { delay } else { 0 },
            disk_delay: if slow { disk } else { 300 * MICROSECOND },
            late_ppm: if slow { 5_000 } else { 0 },
            storm: chance.pick(&[8, 12, 20]) * SECOND,
            calm_between: chance.pick(&[200, 800, 2500]) * MILLISECOND,
            quiet_until: 0,
            effects: Vec::new(),
        }
    }

    /// The disk of a voter before its first start, or of a member that does not vote.
    pub(crate) fn first_disk(&self, place: usize) -> MemoryDisk {
        let disk = MemoryDisk::default();
        let Some(&member) = self.voters.get(place) else { return disk };
        let identity = Identity { cluster: CLUSTER, member, raft: place as u64 + 1 };
        let records = first_records(CLUSTER, self.settings, &self.voters);
        VoterLog::create(disk, identity, &records).expect("the disk is empty").into_disk()
    }

    /// The faults are over.
    pub(crate) fn heal(&mut self) {
        (self.voter_delay, self.disk_delay, self.late_ppm) = (0, 300 * MICROSECOND, 0);
    }
}

impl World {
    /// Sends a letter, whatever becomes of it.
    pub(crate) fn post(&mut self, from: usize, to: usize, letter: ServiceMessage) {
        let Some(service) = &self.service else { return };
        let (voter_delay, late_ppm) = (service.voter_delay, service.late_ppm);
        let is_voters = matches!(letter, ServiceMessage::Voter(_));
        match letter {
            ServiceMessage::Voter(_) => self.figures.voter_packets += 1,
            ServiceMessage::Request(_) => self.figures.requests += 1,
            ServiceMessage::Answer(_) => self.figures.answers += 1,
        }
        let path = self.path(from, to);
        let packet =
            |letter| Packet { connection: 0, word: PacketBody::ServiceMessage(Box::new(letter)) };
        if from == to {
            let number = self.paths[path].put(packet(letter));
            return self.queue.plan(self.now + 1, Event::Arrival { from, to, number });
        }
        let chance = &mut self.view_chance;
        if self.paths[path].cuts > 0 || chance.happens(self.quality.loss) {
            self.survived.lost += 1;
            return;
        }
        let copy = chance.happens(self.quality.duplication).then(|| letter.clone());
        self.survived.duplicated += u64::from(copy.is_some());
        for letter in std::iter::once(letter).chain(copy) {
            let quality = self.quality;
            let chance = &mut self.view_chance;
            let mut extra = if is_voters { chance.below(voter_delay + 1) } else { 0 };
            if chance.happens(late_ppm) {
                extra = chance.below(2500 * MILLISECOND);
            }
            let at = self.paths[path].arrival(self.now, &quality, false, chance) + extra;
            let number = self.paths[path].put(packet(letter));
            self.queue.plan(at, Event::Arrival { from, to, number });
        }
    }

    pub(crate) fn take_letter(&mut self, from: usize, to: usize, letter: ServiceMessage) {
        let sender = MemberId::at(from);
        match letter {
            ServiceMessage::Answer(answer) => {
                self.tell_membership(to, Input::Answer { from: sender, answer });
            }
            ServiceMessage::Voter(packet) => {
                self.with_voter(to, |voter, now, out| voter.receive(now, sender, packet, out));
            }
            ServiceMessage::Request(request) => {
                self.with_voter(to, |voter, now, out| voter.request(now, sender, request, out));
            }
        }
    }

    /// A member starts: its voter goes on from its disk, and a new life asks to enter.
    pub(crate) fn boot(&mut self, place: usize) {
        let now = self.clock(place);
        let Some(service) = &self.service else { return };
        let options = voter::Options {
            seed: self.seed,
            keep_entries: KEEP_ENTRIES,
            flaw: service.flaw,
            ..voter::Options::default()
        };
        let is_voter = place < service.voters.len();
        let site = &mut self.sites[place];
        site.boot += 1;
        site.paused_until = 0;
        let boot = site.boot;
        if is_voter {
            let expected = Expected { cluster: Some(CLUSTER), member: site.id };
            let mut out = Vec::new();
            let seat = VoterLog::open(std::mem::take(&mut site.disk), expected)
                .map_err(|error| error.to_string())
                .and_then(|(log, found)| {
                    let start = Voter::start(now, found.identity, options, found.records, &mut out);
                    let voter = start.map_err(|error| error.to_string())?;
                    Ok(SimulatedVoter { voter, log, writes: VecDeque::new() })
                });
            match seat {
                Ok(seat) => site.voter = Some(seat),
                Err(why) => return self.violate(Property::Halted, None, Some(place), why),
            }
            self.perform_voter(place, &mut out);
            let first = self.now + self.view_chance.below(TICK.as_nanos() as Time);
            self.queue.plan(first, Event::Tick { at: place, boot });
        }
        self.begin_membership(place);
    }

    /// A member stops; it comes back after a while.
    pub(crate) fn stop(&mut self, place: usize, how: Stop, down: Time) {
        self.end_life(place);
        let site = &mut self.sites[place];
        site.boot += 1;
        site.membership = None;
        let tears = self.options.faults.has(FaultKind::Disk);
        if let Some(SimulatedVoter { mut log, mut writes, .. }) = site.voter.take() {
            let chance = &mut self.view_chance;
            let first = if how == Stop::Clean { writes.len() } else { 0 };
            for (_, write) in writes.drain(..first) {
                log.write(&write).expect("the simulated disk works");
            }
            if let Some((_, write)) = writes.pop_front() {
                if tears {
                    log.disk_mut().fail_after(chance.below(5) as u32);
                    // Whatever of it was done before the crash.
                    let _ = log.write(&write);
                } else if chance.below(2) == 0 {
                    log.write(&write).expect("the simulated disk works");
                }
            }
            site.disk = log.into_disk();
            if tears && how == Stop::Crash {
                site.disk.crash(|n| chance.below(n));
            }
        }
        self.queue.plan(self.now + down, Event::Boot { at: place });
    }

    pub(crate) fn is_up(&self, place: usize) -> bool {
        self.sites[place].membership.is_some()
    }

    pub(crate) fn tick(&mut self, place: usize, boot: u64) {
        if self.sites[place].boot == boot {
            let next = self.now + TICK.as_nanos() as Time;
            self.queue.plan(next, Event::Tick { at: place, boot });
            self.with_voter(place, Voter::tick);
        }
    }

    /// The write that is under way is durable.
    pub(crate) fn written(&mut self, place: usize, boot: u64) {
        let site = &mut self.sites[place];
        let Some(seat) = site.voter.as_mut().filter(|_| site.boot == boot) else { return };
        let Some((number, write)) = seat.writes.pop_front() else { return };
        seat.log.write(&write).expect("the simulated disk works");
        let is_idle = seat.writes.is_empty();
        self.with_voter(place, |voter, now, out| voter.persisted(now, number, out));
        if !is_idle {
            self.begin_write(place);
        }
    }

    fn begin_write(&mut self, place: usize) {
        let Some(service) = &self.service else { return };
        let most = service.disk_delay;
        let boot = self.sites[place].boot;
        let at = self.now + 100 * MICROSECOND + self.view_chance.below(most);
        self.queue.plan(at, Event::Written { at: place, boot });
    }

    fn with_voter(
        &mut self,
        place: usize,
        call: impl FnOnce(&mut Voter, MonoTime, &mut Vec<Effect>),
    ) {
        let now = self.clock(place);
        let Some(service) = &mut self.service else { return };
        let Some(seat) = &mut self.sites[place].voter else { return };
        let mut out = std::mem::take(&mut service.effects);
        call(&mut seat.voter, now, &mut out);
        self.perform_voter(place, &mut out);
        if let Some(service) = &mut self.service {
            service.effects = out;
        }
    }

    fn perform_voter(&mut self, place: usize, effects: &mut Vec<Effect>) {
        for effect in effects.drain(..) {
            match effect {
                Effect::Send { to, packet } => {
                    self.post(place, to.place(), ServiceMessage::Voter(packet));
                }
                Effect::Answer { to, answer } => {
                    self.post(place, to.place(), ServiceMessage::Answer(answer));
                }
                Effect::Persist { number, write } => {
                    let Some(seat) = &mut self.sites[place].voter else { return };
                    seat.writes.push_back((number, write));
                    if seat.writes.len() == 1 {
                        self.begin_write(place);
                    }
                }
                Effect::Decided { view, outcomes, .. } => self.decided(&view, &outcomes),
                Effect::Halt(reason) => {
                    self.violate(Property::Halted, None, Some(place), reason.to_string());
                }
            }
        }
    }

    /// The voter that leads, if one does; that of the newest term if several believe so.
    pub(crate) fn leader(&self) -> Option<usize> {
        let voter = |place: usize| self.sites[place].voter.as_ref().map(|seat| &seat.voter);
        let voters = self.service.as_ref().map_or(0, |service| service.voters.len());
        (0..voters)
            .filter(|&place| voter(place).is_some_and(Voter::leads))
            .max_by_key(|&place| voter(place).map(Voter::term))
    }

    /// An administrator orders something; it may be refused.
    pub(crate) fn administer(&mut self, order: Admin) {
        let leads = self.leader().filter(|&place| self.sites[place].paused_until <= self.now);
        if let Some(leader) = leads {
            self.with_voter(leader, |voter, now, out| {
                let _ = voter.administer(now, order, out);
            });
        }
    }
}
