//! A run: everything that exists in it, and what happens next.

mod verdict;

use std::sync::Arc;

use skeptron_core::NodeId;
use skeptron_member::clock::{Drift, MonoTime};
use skeptron_member::link::handshake::Terms;
use skeptron_member::plan::{Plan, Plans};
use skeptron_member::view::View;
use skeptron_member::{Fence, Halt, Limits, MemberCore, Pace, Settings, Timer};
use skeptron_sim::trace::Trace;

use crate::chance::{Chance, Purpose};
use crate::clients::Client;
use crate::clock::{Clock, MICROSECOND, MILLISECOND, NEVER, SECOND, Time};
use crate::faults::FaultKind;
use crate::judge::Judge;
use crate::machine::{CollectedEffects, DeferredEffect, Life, Machine, Waiter, judged};
use crate::names::{self, Naming};
use crate::network::{Path, Quality};
use crate::observers::Elections;
use crate::options::{Mutant, Options};
use crate::outcome::{Figures, Outcome, Property, Survived, Violation};
use crate::queue::Queue;
use crate::recorder::Recorder;
use crate::relay::Relays;
use crate::service::Service;
use crate::sessions::{Reply, Request};
use crate::storm::Trouble;
use crate::trace_hash::TraceHash;

/// After so long the faults end, whether everybody is done or not, if the membership is fixed.
const STORM: Time = 20 * SECOND;
/// Once healed, somebody gets on within this time until everybody is done.
const PATIENCE: Time = 30 * SECOND;
/// When everybody is done, this long is waited for the last words to arrive.
const SETTLING: Time = 3 * SECOND;
/// A run that takes more than this gets nowhere.
const MOST_EVENTS: u64 = 20_000_000;
/// The bound on clocks' rates. Larger than usual, so that what depends on it shows.
const RHO_PPM: u32 = 10_000;
/// So many times further off are clocks that do not keep to the bound.
const BEYOND_RHO: i64 = 30;

/// What happens.
#[derive(Debug)]
pub(crate) enum Event {
    /// A packet arrives.
    Arrival { from: usize, to: usize, number: u64 },
    /// An end of a link has something to do.
    Poll { at: usize, peer: usize },
    /// A timer of a core rings.
    Ring { at: usize, incarnation: u64, timer: Timer },
    /// A client acts.
    Client { client: usize, goal: u64, what: Wake },
    /// A client's request arrives at its member.
    Request(Box<Request>),
    /// A member's reply arrives at its client.
    Reply(Box<Reply>),
    /// Something of a client is put on the link between two members.
    Pass { at: usize, to: usize, number: u64 },
    /// A member does not wait any longer for another one's word on a session that wants to move.
    HomeSilent { at: usize, number: u64 },
    /// Something goes wrong.
    Storm,
    /// Something that went wrong is mended.
    Mend(Trouble),
    /// A member starts.
    Boot { at: usize },
    /// A voter's clock ticks.
    Tick { at: usize, boot: u64 },
    /// A voter's write is durable.
    Written { at: usize, boot: u64 },
    /// A member must renew its lease, or has lost it.
    Renew { at: usize, boot: u64 },
    /// A member that wanted to leave can.
    Leave { at: usize, incarnation: u64 },
    /// An observer goes to another member.
    Observer(usize),
}

/// Why a client acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// Its time has come.
    Next,
    /// It has waited long enough.
    GiveUp,
    /// No reply has come.
    Retry,
    /// Its session needs a sign of life.
    KeepAlive,
    /// It releases what it has released before.
    ReleaseAgain { lock: usize, fence: Fence },
}

/// Everything in a run.
pub(crate) struct World {
    pub(crate) options: Options,
    pub(crate) seed: u64,
    pub(crate) now: Time,
    pub(crate) queue: Queue<Event>,
    pub(crate) chance: Chance,
    pub(crate) network_chance: Chance,
    pub(crate) storm_chance: Chance,
    pub(crate) view_chance: Chance,
    pub(crate) interleaving_chance: Chance,
    pub(crate) settings: Settings,
    pub(crate) drift: Drift,
    pub(crate) names: Arc<[String]>,
    pub(crate) naming: Naming,
    pub(crate) sites: Vec<Machine>,
    pub(crate) clients: Vec<Client>,
    /// By sender and receiver.
    pub(crate) paths: Vec<Path>,
    pub(crate) quality: Quality,
    pub(crate) connections: u64,
    pub(crate) relays: Relays,
    /// Who decides views; none if the membership is fixed.
    pub(crate) service: Option<Service>,
    /// The view of a fixed membership.
    pub(crate) fixed: Arc<View>,
    pub(crate) judges: Vec<Judge>,
    pub(crate) elections: Elections,
    pub(crate) survived: Survived,
    pub(crate) figures: Figures,
    pub(crate) hash: TraceHash,
    /// Of which lock the steps are recorded.
    recorded: Option<usize>,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) interleaving_ppm: u32,
    /// How deep deliveries are within deliveries.
    pub(crate) depth: u32,
    /// Whether the faults are over.
    pub(crate) healed: bool,
    /// Since when.
    pub(crate) healed_at: Option<Time>,
    /// Whether everybody was done and nothing was left behind: then a member leaves once more.
    pub(crate) at_rest: bool,
    /// When a client last got on.
    pub(crate) last_progress: Time,
    pub(crate) entries: u64,
    pub(crate) violation: Option<Violation>,
    pub(crate) scratch: Vec<u8>,
}

/// Makes the run of this seed. The options must pass [`Options::check`].
#[must_use]
pub fn run(options: &Options, seed: u64) -> Outcome {
    World::new(options, seed, None).run().0
}

/// Makes the run of this seed and tells the history of one lock as a trace of its algorithm: the lock
/// of the violation if there is one, else the first. `command` is noted in the trace.
#[must_use]
pub fn run_recorded(
    options: &Options,
    seed: u64,
    command: Option<String>,
) -> (Outcome, Option<Trace>) {
    let lock = run(options, seed).violation.and_then(|violation| violation.lock);
    let (names, _) = names::all(options, seed);
    let recorded = lock.and_then(|lock| names.iter().position(|name| *name == lock)).unwrap_or(0);
    let (outcome, recorder) = World::new(options, seed, Some(recorded)).run();
    let trace = recorder.and_then(|recorder| {
        recorder.into_trace(&options.algorithm, command, outcome.violation.as_ref())
    });
    (outcome, trace)
}

impl World {
    fn new(options: &Options, seed: u64, recorded: Option<usize>) -> Self {
        let mut chance = Chance::new(seed, Purpose::World, 0);
        let faults = options.faults;
        let (names, naming) = names::all(options, seed);
        let names: Arc<[String]> = names.into();
        let plan = Plan::named(&options.algorithm).expect("the options have been checked");
        let settings = Settings {
            plans: Plans::new(plan),
            handovers: chance.pick(&[0, 2, 64]),
            pace: Pace::default(),
            limits: Limits {
                backoff_first: std::time::Duration::from_millis(5),
                backoff_longest: std::time::Duration::from_millis(100),
                silence: std::time::Duration::from_millis(300),
                locks: naming.most.unwrap_or(Limits::default().locks),
                ..Limits::default()
            },
            flaw: options.mutant.and_then(Mutant::of_member),
        };
        let drift = Drift { ppm: RHO_PPM };
        let clock = |chance: &mut Chance| {
            let began = chance.below(1000) * SECOND;
            let off = i64::from(RHO_PPM);
            let ppm = match chance.below(3) {
                0 => off - chance.below(10) as i64,
                1 => chance.below(10) as i64 - off,
                _ => chance.below(2 * off as u64) as i64 - off,
            };
            let times = if faults.has(FaultKind::Clocks) { BEYOND_RHO } else { 1 };
            let drifts = faults.has(FaultKind::Drift) || faults.has(FaultKind::Clocks);
            Clock::new(began, if drifts { times * ppm } else { 0 })
        };
        let addresses = (0..options.members).map(|place| format!("member-{}:1", place + 1));
        let fixed = Arc::new(View::of_addresses(1, addresses.collect()));
        let incarnations: Vec<u64> = (0..options.members).map(|_| chance.bits()).collect();
        let sites = (0..options.members).map(|place| Machine::new(place, clock(&mut chance)));
        let sites: Vec<Machine> = sites.collect();
        let clients = (0..options.clients).map(|place| {
            let clock = clock(&mut chance);
            Client::new(seed, place, clock, options)
        });
        let clients: Vec<Client> = clients.collect();
        let rate = |kind, chance: &mut Chance, of: &[u32]| {
            let ppm = chance.pick(of);
            if faults.has(kind) { ppm } else { 0 }
        };
        let quality = Quality {
            loss: rate(FaultKind::Loss, &mut chance, &[0, 1_000, 10_000, 30_000]),
            duplication: rate(FaultKind::Duplication, &mut chance, &[0, 1_000, 20_000]),
            reordering: rate(FaultKind::Reordering, &mut chance, &[0, 1_000, 10_000]),
            latency: chance.pick(&[20, 100, 400]) * MICROSECOND,
            jitter: chance.pick(&[10, 200, 2_000]) * MICROSECOND,
        };
        let interleaving_ppm = rate(FaultKind::Interleaving, &mut chance, &[0, 100_000, 500_000]);
        let recorder = recorded.map(|_| Recorder::default());
        let mut view_chance = Chance::new(seed, Purpose::Views, 0);
        let service = faults.has(FaultKind::Views).then(|| {
            let flaw = options.mutant.and_then(Mutant::of_views);
            Service::new(options.voters(), faults, flaw, drift, &mut view_chance)
        });
        let mut world = World {
            options: options.clone(),
            seed,
            now: 0,
            queue: Queue::default(),
            chance,
            network_chance: Chance::new(seed, Purpose::Network, 0),
            storm_chance: Chance::new(seed, Purpose::Storm, 0),
            view_chance,
            interleaving_chance: Chance::new(seed, Purpose::Interleaving, 0),
            settings,
            drift,
            judges: vec![Judge::default(); names.len()],
            elections: Elections::new(seed, options, names.len(), naming.usual),
            names,
            naming,
            sites,
            clients,
            paths: std::iter::repeat_with(Path::default)
                .take(options.members * options.members)
                .collect(),
            quality,
            connections: 0,
            relays: Relays::default(),
            service,
            fixed,
            survived: Survived::default(),
            figures: Figures::default(),
            hash: TraceHash::new(seed),
            recorded,
            recorder,
            interleaving_ppm,
            depth: 0,
            healed: false,
            healed_at: None,
            at_rest: false,
            last_progress: 0,
            entries: 0,
            violation: None,
            scratch: Vec::new(),
        };
        world.begin(&incarnations);
        world
    }

    fn begin(&mut self, incarnations: &[u64]) {
        if let Some(service) = &self.service {
            for (place, site) in self.sites.iter_mut().enumerate() {
                site.disk = service.first_disk(place);
                let at = self.view_chance.below(100 * MILLISECOND);
                self.queue.plan(at, Event::Boot { at: place });
            }
        } else {
            let view = Arc::clone(&self.fixed);
            self.note_view(&view);
            for (place, &incarnation) in incarnations.iter().enumerate() {
                self.start_life(place, incarnation, Arc::clone(&view));
            }
        }
        for client in 0..self.clients.len() {
            let after = self.clients[client].chance.below(5 * MILLISECOND);
            self.plan_client(client, after, Wake::Next);
        }
        self.plan_observers();
        self.plan_storm();
    }

    pub(crate) fn note_view(&mut self, view: &View) {
        if let Some(recorder) = &mut self.recorder {
            recorder.view(view.epoch, view.members.len());
        }
    }

    /// A member begins a life in a view that it belongs to.
    pub(crate) fn start_life(&mut self, place: usize, incarnation: u64, view: Arc<View>) {
        let id = self.sites[place].id;
        let core = match MemberCore::new(id, self.settings.clone(), Arc::clone(&view)) {
            Ok(core) => core,
            Err(halt) => {
                return self.violate(Property::Halted, None, Some(place), halt.to_string());
            }
        };
        let terms = Terms::new("world", id, incarnation, &self.settings.plans);
        let effects = CollectedEffects {
            ends: std::iter::repeat_with(|| None).take(self.sites.len()).collect(),
            deferred: Vec::new(),
            names: Arc::clone(&self.names),
            recorded: self.recorded,
            told: 0,
            messages: 0,
        };
        let places = vec![None; self.clients.len()];
        let life = Life { incarnation, core, terms, view, effects, places };
        let (epoch, alone) = (life.view.epoch, life.view.members.len() == 1);
        self.sites[place].life = Some(life);
        self.update_links(place);
        self.with_core(place, |core, _, out| core.open(out));
        self.begin_observers(place);
        if alone {
            self.met(place, epoch);
        }
    }

    /// Makes the run.
    fn run(mut self) -> (Outcome, Option<Recorder>) {
        let mut events = 0u64;
        let mut settled_at = NEVER;
        let patience = if self.service.is_some() { PATIENCE } else { SETTLING };
        let storm = self.service.as_ref().map_or(STORM, |service| service.storm);
        while self.violation.is_none()
            && let Some((at, event)) = self.queue.next()
        {
            debug_assert!(at >= self.now, "time does not go back");
            self.now = at;
            events += 1;
            if !self.healed && (self.now > storm || self.all_done()) {
                self.heal();
            }
            if self.healed {
                if settled_at == NEVER && self.all_done() {
                    settled_at = self.now + SETTLING;
                } else if self.now > settled_at {
                    let left = self.left_behind();
                    match left {
                        None if self.at_rest || !self.options.faults.has(FaultKind::Leaves) => {
                            break;
                        }
                        // One that began to leave while things went wrong may be about to.
                        None if self.is_anybody_leaving() => settled_at = self.now + SETTLING,
                        None => {
                            self.at_rest = true;
                            settled_at = self.now + SETTLING;
                            let place = self.view_chance.index(self.sites.len());
                            self.begin_to_leave(place);
                        }
                        // An idle token that never rests is on its way now and then, and a lease may have
                        // to be waited for.
                        Some(_) if self.now < settled_at + patience => {}
                        Some((property, place, detail)) => {
                            self.violate(property, None, Some(place), detail);
                        }
                    }
                } else if settled_at == NEVER
                    && self.now > self.last_progress + PATIENCE
                    && self.must_progress()
                {
                    self.judge_stall();
                } else if settled_at == NEVER && self.now > self.last_progress + PATIENCE {
                    break;
                }
            }
            if events > MOST_EVENTS {
                let detail = format!("{MOST_EVENTS} events happened and not everybody is done");
                self.violate(Property::Progress, None, None, detail);
                break;
            }
            self.happen(event);
        }
        for place in 0..self.sites.len() {
            self.count_messages(place);
        }
        let outcome = Outcome {
            seed: self.seed,
            events,
            entries: self.entries,
            virtual_nanos: self.now,
            survived: self.survived,
            figures: self.figures,
            hash: self.hash.value(),
            violation: self.violation,
        };
        (outcome, self.recorder)
    }

    fn happen(&mut self, event: Event) {
        if let Some(until) = self.paused_until(&event) {
            return self.queue.plan(until, event);
        }
        match event {
            Event::Arrival { from, to, number } => {
                self.hash.mix(1 + self.now, (from << 8 | to) as u64);
                let path = self.path(from, to);
                if let Some(packet) = self.paths[path].take(number) {
                    self.arrive(from, to, packet);
                }
            }
            Event::Poll { at, peer } => self.poll(at, peer),
            Event::Ring { at, incarnation, timer } => {
                if self.lives(at, incarnation) {
                    self.hash.mix(2 + self.now, at as u64);
                    self.with_core(at, |core, now, out| core.expire(now, &timer, out));
                }
            }
            Event::Client { client, goal, what } => {
                self.hash.mix(3 + self.now, client as u64);
                self.wake_client(client, goal, what);
            }
            Event::Request(request) => {
                self.hash.mix(4 + self.now, request.client as u64);
                self.serve_request(*request);
            }
            Event::Reply(reply) => {
                self.hash.mix(5 + self.now, reply.client as u64);
                self.take_reply(*reply);
            }
            Event::Pass { at, to, number } => self.put_on_link(at, to, number),
            Event::HomeSilent { number, .. } => self.move_after_all(number),
            Event::Storm => self.storm(),
            Event::Mend(trouble) => self.mend(trouble),
            Event::Boot { at } => self.boot(at),
            Event::Tick { at, boot } => self.tick(at, boot),
            Event::Written { at, boot } => self.written(at, boot),
            Event::Renew { at, boot } => self.renew(at, boot),
            Event::Leave { at, incarnation } => self.leave(at, incarnation),
            Event::Observer(observer) => self.move_observer(observer),
        }
    }

    /// Until when whoever it happens to stands still, if it does.
    fn paused_until(&self, event: &Event) -> Option<Time> {
        let site = |place: usize| self.sites[place].paused_until;
        let until = match event {
            Event::Arrival { to: at, .. }
            | Event::Poll { at, .. }
            | Event::Ring { at, .. }
            | Event::Tick { at, .. }
            | Event::Written { at, .. }
            | Event::Renew { at, .. }
            | Event::Pass { at, .. }
            | Event::HomeSilent { at, .. }
            | Event::Leave { at, .. } => site(*at),
            Event::Client { client, .. } => {
                let client = &self.clients[*client];
                let with_member = if client.is_embedded { site(client.at) } else { 0 };
                client.paused_until.max(with_member)
            }
            Event::Request(request) => site(request.to),
            Event::Reply(reply) => self.clients[reply.client].paused_until,
            Event::Storm | Event::Mend(_) | Event::Boot { .. } | Event::Observer(_) => 0,
        };
        (until > self.now).then_some(until)
    }

    fn is_anybody_leaving(&self) -> bool {
        self.sites.iter().filter_map(|site| site.life.as_ref()).any(|life| life.core.is_leaving())
    }

    /// Whether this life of a member goes on.
    pub(crate) fn lives(&self, place: usize, incarnation: u64) -> bool {
        self.sites[place].life.as_ref().is_some_and(|life| life.incarnation == incarnation)
    }

    pub(crate) fn path(&self, from: usize, to: usize) -> usize {
        from * self.sites.len() + to
    }

    /// What a member's clock shows.
    pub(crate) fn clock(&self, place: usize) -> MonoTime {
        self.sites[place].clock.read(self.now)
    }

    /// Calls the core of a member and does what it wants done. None if the member is down.
    pub(crate) fn with_core<T>(
        &mut self,
        place: usize,
        call: impl FnOnce(&MemberCore<Waiter>, MonoTime, &mut CollectedEffects) -> T,
    ) -> Option<T> {
        let now = self.clock(place);
        let life = self.sites[place].life.as_mut()?;
        let result = call(&life.core, now, &mut life.effects);
        self.interleave(place);
        self.perform(place);
        Some(result)
    }

    /// Between a call of the core and the leaving of what it sent, another link may deliver.
    fn interleave(&mut self, place: usize) {
        if self.depth >= 3 || !self.interleaving_chance.happens(self.interleaving_ppm) {
            return;
        }
        let from = self.interleaving_chance.index(self.sites.len());
        let path = self.path(from, place);
        if from != place
            && let Some(packet) = self.paths[path].take_first_frame()
        {
            self.survived.interleavings += 1;
            self.depth += 1;
            self.arrive(from, place, packet);
            self.depth -= 1;
        }
    }

    /// Does what a core wants done.
    fn perform(&mut self, place: usize) {
        let Some(life) = &mut self.sites[place].life else { return };
        self.hash.mix(7, life.effects.told);
        let mut deferred = std::mem::take(&mut life.effects.deferred);
        for deed in deferred.drain(..) {
            self.perform_one(place, deed);
        }
        // Nothing is lost that was wanted meanwhile, and the memory is used again.
        if let Some(life) = &mut self.sites[place].life {
            if life.effects.deferred.is_empty() {
                life.effects.deferred = deferred;
            } else {
                return self.perform(place);
            }
        }
        self.flush(place);
    }

    fn perform_one(&mut self, place: usize, deed: DeferredEffect) {
        match deed {
            DeferredEffect::Granted { waiter, lock, fence } => {
                self.granted(place, waiter, lock, fence)
            }
            DeferredEffect::NotServed { waiter, why } => self.not_served(place, waiter, why),
            DeferredEffect::Arm { timer, after } => {
                let site = &self.sites[place];
                let Some(life) = &site.life else { return };
                let at = site.clock.when(site.clock.read(self.now).after(after)).max(self.now);
                let incarnation = life.incarnation;
                self.queue.plan(at, Event::Ring { at: place, incarnation, timer });
            }
            DeferredEffect::Entered { lock, fence, mode } => {
                self.judge_entry(place, lock, (fence, mode))
            }
            DeferredEffect::Changed { lock, before, fence, mode } => {
                self.judge_change(place, lock, before, (fence, mode));
            }
            DeferredEffect::Left { lock, fence } => self.judges[lock].members.end(fence),
            DeferredEffect::Refused { lock, why } => {
                self.violate(Property::Refused, lock, Some(place), why)
            }
            DeferredEffect::Leadership { lock, round, leadership } => {
                self.tell_observers(place, lock, round, &leadership);
            }
            DeferredEffect::SessionExpired => self.survived.sessions_expired += 1,
            DeferredEffect::Broken { lock, fence } => self.broken(place, lock, fence),
            DeferredEffect::Forgot { names } => self.survived.names_forgotten += names as u64,
            DeferredEffect::NeedView => self.administer(skeptron_views::voter::Admin::Renumber),
            DeferredEffect::Met { epoch } => self.met(place, epoch),
            DeferredEffect::Relay { number } => self.take_relay(place, number),
            DeferredEffect::Halted { why } => self.halted(place, &why),
            DeferredEffect::Step(step) => {
                let now = self.now;
                if let Some(recorder) = &mut self.recorder {
                    recorder.step(now, step);
                }
            }
        }
    }
}
