//! Members with clocks of their own, a network that delays and loses, and one store: nobody may
//! believe in the lease of a life that was removed.

use std::collections::BTreeMap;

use skeptron_testing::Chance;

use super::super::member::Flaw;
use super::*;

const MILLI: u64 = 1_000_000;
/// When the faults end.
const MENDED: u64 = 40_000 * MILLI;
/// When all must be members.
const END: u64 = 60_000 * MILLI;
/// What clocks are off by, at most.
const RHO_PPM: u64 = 20_000;

enum Event {
    Arrives { member: usize, number: u64, txn: Txn },
    Answered { member: usize, number: u64, answer: Answer },
    Timer { member: usize, round: u64 },
    Pause { member: usize, until: u64 },
}

struct Actor {
    machine: EtcdMember,
    rate_ppm: u64,
    life: u64,
    until: MonoTime,
    round: u64,
    paused: u64,
}

struct World {
    chance: Chance,
    now: u64,
    queue: BTreeMap<(u64, u64), Event>,
    count: u64,
    store: Store,
    actors: Vec<Actor>,
    violation: Option<String>,
    lives: u64,
}

impl World {
    fn new(seed: u64, drift: Drift, flaw: Option<Flaw>) -> Self {
        let settings = LeaseSettings { lease: Duration::from_secs(2), drift };
        let mut world = World {
            chance: Chance::new(seed),
            now: 0,
            queue: BTreeMap::new(),
            count: 0,
            store: Store::default(),
            actors: Vec::new(),
            violation: None,
            lives: 0,
        };
        for _ in 0..3 {
            let machine = EtcdMember::new(settings, 1).with_flaw(flaw);
            let rate_ppm = 1_000_000 - RHO_PPM + world.below(2 * RHO_PPM + 1);
            let until = MonoTime::default();
            world.actors.push(Actor { machine, rate_ppm, life: 0, until, round: 0, paused: 0 });
        }
        for member in 0..3 {
            world.enter(member);
            for _ in 0..4 {
                let (from, long) = (world.below(MENDED), world.below(5000 * MILLI));
                world.plan(from, Event::Pause { member, until: from + long });
            }
        }
        world
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.chance.below(bound)
    }

    fn plan(&mut self, when: u64, event: Event) {
        self.count += 1;
        self.queue.insert((when, self.count), event);
    }

    /// When a message sent now arrives, if it does.
    fn arrival(&mut self) -> Option<u64> {
        let is_mended = self.now >= MENDED;
        match self.below(100) {
            0..10 if !is_mended => None,
            10..25 if !is_mended => Some(self.now + self.below(3000 * MILLI)),
            _ => Some(self.now + MILLI + self.below(20 * MILLI)),
        }
    }

    fn local(&self, member: usize) -> MonoTime {
        let rate = u128::from(self.actors[member].rate_ppm);
        MonoTime::from_nanos(u64::try_from(u128::from(self.now) * rate / 1_000_000).unwrap())
    }

    fn enter(&mut self, member: usize) {
        self.lives += 1;
        self.actors[member].life = self.lives;
        self.actors[member].until = MonoTime::default();
        let join = join(member as u32 + 1, self.lives);
        self.handle(member, Input::Enter(join));
    }

    fn handle(&mut self, member: usize, input: Input) {
        let now = self.local(member);
        let mut out = Vec::new();
        self.actors[member].machine.handle(now, input, &mut out);
        let mut is_over = false;
        for effect in out {
            match effect {
                Effect::Send { number, txn, .. } => {
                    if let Some(when) = self.arrival() {
                        self.plan(when, Event::Arrives { member, number, txn });
                    }
                }
                Effect::Prolonged(until) => {
                    self.actors[member].until = until;
                    self.judge(member);
                }
                Effect::Over(_) => is_over = true,
                Effect::Installed(_) | Effect::Decided { .. } | Effect::Waits(_) => {}
            }
        }
        if is_over {
            return self.enter(member);
        }
        let actor = &mut self.actors[member];
        actor.round += 1;
        let (round, next) = (actor.round, actor.machine.next());
        if next != MonoTime::NEVER {
            let when = u128::from(next.nanos()) * 1_000_000 / u128::from(actor.rate_ppm) + 1;
            let when = u64::try_from(when).unwrap().max(self.now + 1);
            self.plan(when, Event::Timer { member, round });
        }
    }

    fn judge(&mut self, member: usize) {
        let actor = &self.actors[member];
        if self.local(member) < actor.until && !self.store.lives.contains_key(&actor.life) {
            let life = actor.life;
            self.violation = Some(format!("life {life} believes at {} and is removed", self.now));
        }
    }

    fn run(mut self) -> Result<(), String> {
        while let Some(((when, _), event)) = self.queue.pop_first() {
            if when > END || self.violation.is_some() {
                break;
            }
            self.now = when;
            match event {
                Event::Arrives { member, number, txn } => {
                    let answer = self.store.apply(&txn);
                    (0..3).for_each(|member| self.judge(member));
                    if let Some(when) = self.arrival() {
                        self.plan(when, Event::Answered { member, number, answer });
                    }
                }
                Event::Pause { member, until } => self.actors[member].paused = until,
                Event::Answered { member, .. } | Event::Timer { member, .. }
                    if self.actors[member].paused > when =>
                {
                    let later = self.actors[member].paused;
                    self.plan(later, event);
                }
                Event::Answered { member, number, answer } => {
                    self.handle(member, Input::Answer { number, answer });
                }
                Event::Timer { member, round } => {
                    if round == self.actors[member].round {
                        self.handle(member, Input::Timer);
                    }
                }
            }
        }
        let believing = (0..3).filter(|&it| self.local(it) < self.actors[it].until).count();
        match self.violation {
            Some(violation) => Err(violation),
            None if believing < 3 => Err(format!("only {believing} are members in the end")),
            None => Ok(()),
        }
    }
}

fn judged(seeds: u64, drift: Drift, flaw: Option<Flaw>) -> Result<(), String> {
    let run =
        |seed| World::new(seed, drift, flaw).run().map_err(|why| format!("seed {seed}: {why}"));
    (0..seeds).try_for_each(run)
}

const DRIFT: Drift = Drift { ppm: RHO_PPM as u32 };

#[test]
fn nobody_believes_in_the_lease_of_a_removed_life_and_all_come_back() {
    assert_eq!(judged(500, DRIFT, None), Ok(()));
}

#[test]
fn every_rule_is_needed() {
    for flaw in [Flaw::CountsFromAnswer, Flaw::RemovesUnseen, Flaw::WaitsTooShort] {
        let found = judged(2000, DRIFT, Some(flaw)).expect_err("this rule can be left out");
        assert!(found.contains("is removed"), "{flaw:?}: {found}");
    }
}

#[test]
fn clocks_beyond_the_bound_are_noticed() {
    let found = judged(5000, Drift { ppm: 0 }, None).expect_err("the bound on drift is of no use");
    assert!(found.contains("is removed"), "{found}");
}
