//! The rules against a model of etcd.

mod world;

use std::collections::BTreeMap;
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::{Drift, MonoTime};
use skeptron_views::views::{Join, JoinRefused, LeaseSettings, Views};

use super::member::{Effect, End, EtcdMember, Input};
use super::txn::{Answer, Compare, Seen, Txn, Write};

/// What etcd does with these transactions.
#[derive(Clone, Debug, Default)]
struct Store {
    revision: u64,
    view: Option<(u64, Views)>,
    lives: BTreeMap<u64, u64>,
}

impl Store {
    fn apply(&mut self, txn: &Txn) -> Answer {
        let life = |life: u64| self.lives.get(&life).copied().unwrap_or(0);
        let view = self.view.as_ref().map_or(0, |(revision, _)| *revision);
        let holds = |compare: &Compare| match *compare {
            Compare::IsAlive(it) => life(it) > 0,
            Compare::LifeAt { life: it, revision } => life(it) == revision,
            Compare::ViewAt(revision) => view == revision,
        };
        let succeeded = txn.compares.iter().all(holds);
        if succeeded && !txn.writes.is_empty() {
            self.revision += 1;
            for write in &txn.writes {
                match write {
                    Write::View(views) => self.view = Some((self.revision, (**views).clone())),
                    Write::Renew { life, .. } => drop(self.lives.insert(*life, self.revision)),
                    Write::End(life) => drop(self.lives.remove(life)),
                }
            }
        }
        let view = match &self.view {
            None => Seen::Absent,
            Some((revision, _)) if *revision <= txn.known_view => Seen::Known,
            Some((revision, views)) => {
                Seen::Newer { revision: *revision, views: Box::new(views.clone()) }
            }
        };
        Answer { succeeded, revision: self.revision, view, lives: self.lives.clone() }
    }

    fn members(&self) -> Vec<u64> {
        let members = self.view.iter().flat_map(|(_, views)| &views.view().members);
        members.filter_map(|member| member.incarnation).collect()
    }
}

/// Three seconds less six milliseconds.
const SETTINGS: LeaseSettings =
    LeaseSettings { lease: Duration::from_secs(3), drift: Drift { ppm: 1000 } };

fn at(millis: u64) -> MonoTime {
    MonoTime::from_nanos(millis * 1_000_000)
}

fn join(number: u32, incarnation: u64) -> Join {
    let (id, address) = (MemberId::new(number).unwrap(), format!("10.0.0.{number}:1"));
    let (algorithms, has_folder) = ("raymond".to_string(), false);
    Join { id, incarnation, address, api: Vec::new(), plans: 7, algorithms, has_folder, version: 1 }
}

/// One member whose requests are answered at once, unless somebody wants otherwise.
struct Alone {
    member: EtcdMember,
}

impl Alone {
    fn new() -> Self {
        Alone { member: EtcdMember::new(SETTINGS, 1) }
    }

    fn handle(&mut self, millis: u64, input: Input) -> Vec<Effect> {
        let mut out = Vec::new();
        self.member.handle(at(millis), input, &mut out);
        out
    }

    /// Handles the input and whatever follows at that moment; the effects but for requests.
    fn run(&mut self, store: &mut Store, millis: u64, input: Input) -> Vec<Effect> {
        let (mut effects, mut others) = (self.handle(millis, input), Vec::new());
        while !effects.is_empty() {
            for effect in std::mem::take(&mut effects) {
                match effect {
                    Effect::Send { number, txn, .. } => {
                        let answer = store.apply(&txn);
                        effects.extend(self.handle(millis, Input::Answer { number, answer }));
                    }
                    other => others.push(other),
                }
            }
        }
        others
    }

    fn enter(&mut self, store: &mut Store, millis: u64, join: Join) -> Vec<Effect> {
        self.run(store, millis, Input::Enter(join))
    }
}

fn requests(effects: Vec<Effect>) -> Vec<(u64, usize, Txn)> {
    let request = |effect| match effect {
        Effect::Send { number, endpoint, txn } => Some((number, endpoint, txn)),
        _ => None,
    };
    effects.into_iter().filter_map(request).collect()
}

fn until(effects: &[Effect]) -> Option<MonoTime> {
    effects.iter().rev().find_map(|effect| match effect {
        Effect::Prolonged(until) => Some(*until),
        _ => None,
    })
}

#[test]
fn the_first_member_begins_the_cluster() {
    let mut store = Store::default();
    let effects = Alone::new().enter(&mut store, 0, join(1, 10));
    assert_eq!(until(&effects), Some(at(0).after(SETTINGS.hold())));
    assert_eq!((store.members(), store.lives.len()), (vec![10], 1));
    assert_eq!(store.view.unwrap().1.view().epoch, 1);
}

#[test]
fn a_lease_counts_from_when_its_renewal_was_sent_and_once_over_it_stays_over() {
    let (mut store, mut first) = (Store::default(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    let (number, _, txn) = requests(first.handle(500, Input::Timer)).remove(0);
    let answer = store.apply(&txn);
    let effects = first.handle(700, Input::Answer { number, answer });
    assert_eq!(until(&effects), Some(at(500).after(SETTINGS.hold())));
    let (number, _, txn) = requests(first.handle(1000, Input::Timer)).remove(0);
    let answer = store.apply(&txn);
    let effects = first.handle(3499, Input::Answer { number, answer });
    assert_eq!(effects[0], Effect::Over(End::RanOut));
    assert_eq!((effects.len(), first.member.next()), (1, MonoTime::NEVER));
}

#[test]
fn an_unanswered_request_goes_to_the_next_endpoint_after_a_tenth() {
    let (mut store, mut first) = (Store::default(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    let to = |effects| requests(effects).iter().map(|(_, to, _)| *to).collect::<Vec<_>>();
    assert_eq!(first.member.next(), at(0).after(SETTINGS.hold() / 6));
    assert_eq!(to(first.handle(500, Input::Timer)), [0]);
    assert_eq!(to(first.handle(790, Input::Timer)), [] as [usize; 0]);
    assert_eq!(to(first.handle(800, Input::Timer)), [1]);
    assert_eq!(to(first.handle(1100, Input::Timer)), [2]);
}

#[test]
fn a_joining_member_waits_until_all_others_were_seen_to_renew() {
    let (mut store, mut first, mut second) = (Store::default(), Alone::new(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    assert_eq!(second.enter(&mut store, 100, join(2, 20)), []);
    second.run(&mut store, 400, Input::Timer);
    assert_eq!(store.members(), [10], "nobody knows yet whether P1 lives");
    first.run(&mut store, 500, Input::Timer);
    let effects = second.run(&mut store, 700, Input::Timer);
    assert!(until(&effects).is_some());
    assert_eq!(store.members(), [10, 20]);
    let effects = first.run(&mut store, 710, Input::Hint);
    assert!(matches!(&effects[0], Effect::Installed(view) if view.members.len() == 2));
}

#[test]
fn a_life_that_stopped_renewing_is_removed_a_lease_after_that_was_seen() {
    let (mut store, mut first, mut second) = (Store::default(), Alone::new(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    second.enter(&mut store, 100, join(2, 20));
    first.run(&mut store, 500, Input::Timer);
    second.run(&mut store, 700, Input::Timer);
    assert_eq!(store.members(), [10, 20]);
    for millis in [1200, 1700, 2200, 2700, 3200] {
        second.run(&mut store, millis, Input::Timer);
    }
    second.run(&mut store, 3700, Input::Timer);
    assert_eq!(store.members(), [10, 20], "the revision of 500 was seen at 700; P2 is second");
    // P1 renews just before P2 proposes.
    let effects = second.handle(3751, Input::Timer);
    let (number, _, txn) = requests(effects).remove(0);
    assert!(txn.writes.contains(&Write::End(10)));
    let mut late = store.clone();
    late.apply(&Txn {
        compares: vec![Compare::IsAlive(10)],
        writes: vec![Write::Renew { life: 10, number: 9 }],
        known_view: 0,
    });
    assert!(!late.apply(&txn).succeeded, "it lives");
    let answer = store.apply(&txn);
    second.run(&mut store, 3760, Input::Answer { number, answer });
    assert_eq!((store.members(), store.lives.len()), (vec![20], 1));
    assert_eq!(first.run(&mut store, 3800, Input::Timer)[0], Effect::Over(End::RanOut));
}

#[test]
fn the_next_life_of_a_process_does_not_wait_for_the_former() {
    let (mut store, mut first) = (Store::default(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    assert_eq!(first.handle(3000, Input::Timer), [Effect::Over(End::RanOut)]);
    let effects = first.enter(&mut store, 3001, join(1, 11));
    assert!(until(&effects).is_some());
    assert_eq!((store.members(), store.lives.keys().copied().collect()), (vec![11], vec![11]));
    let mut restarted = Alone::new();
    let present = JoinRefused::Present { id: MemberId::new(1).unwrap(), incarnation: 11 };
    assert_eq!(restarted.enter(&mut store, 3100, join(1, 12)), [Effect::Waits(present)]);
    restarted.run(&mut store, 6000, Input::Timer);
    assert_eq!(store.members(), [11], "another process must wait");
    restarted.run(&mut store, 6101, Input::Timer);
    assert_eq!(store.members(), [12]);
}

#[test]
fn leaving_removes_the_life_at_once() {
    let (mut store, mut first) = (Store::default(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    assert!(first.run(&mut store, 100, Input::Leave).contains(&Effect::Over(End::Left)));
    assert_eq!((store.members(), store.lives.len()), (vec![], 0));
    let settings = LeaseSettings { lease: Duration::from_secs(9), ..SETTINGS };
    let mut other = Alone { member: EtcdMember::new(settings, 2) };
    let effects = other.enter(&mut store, 0, join(2, 20));
    assert_eq!(until(&effects), Some(at(0).after(settings.hold())), "nobody had a lease");
    assert_eq!(store.view.unwrap().1.view().epoch, 3);
}

#[test]
fn a_later_view_has_the_same_members() {
    let (mut store, mut first) = (Store::default(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    let effects = first.run(&mut store, 100, Input::Renumber);
    assert!(effects.iter().any(|it| matches!(it, Effect::Installed(view) if view.epoch == 2)));
    assert_eq!(
        first.run(&mut store, 200, Input::Hint),
        [Effect::Prolonged(at(200).after(SETTINGS.hold()))]
    );
}

#[test]
fn other_plans_are_refused() {
    let (mut store, mut second) = (Store::default(), Alone::new());
    Alone::new().enter(&mut store, 0, join(1, 10));
    let offered = "maekawa".to_string();
    let other = Join { plans: 8, algorithms: offered.clone(), ..join(2, 20) };
    let effects = second.enter(&mut store, 0, other);
    let why = JoinRefused::Plans { cluster: "raymond".to_string(), offered };
    assert_eq!(effects, [Effect::Over(End::Refused(why))]);
    // It is asked anew each time: nobody of the others may be left.
    store = Store::default();
    let effects = second.enter(&mut store, 10, Join { plans: 8, ..join(2, 21) });
    assert!(matches!(effects[0], Effect::Over(End::PutBack)), "{effects:?}");
    store.revision = 9;
    assert!(until(&second.enter(&mut store, 20, Join { plans: 8, ..join(2, 22) })).is_some());
}

#[test]
fn a_life_without_its_key_is_over() {
    let (mut store, mut first) = (Store::default(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    store.lives.clear();
    assert_eq!(first.run(&mut store, 500, Input::Timer), [Effect::Over(End::Removed)]);
}

#[test]
fn a_store_that_was_put_back_ends_the_life_and_lower_epochs_are_refused() {
    let (mut store, mut first) = (Store::default(), Alone::new());
    first.enter(&mut store, 0, join(1, 10));
    let backup = store.clone();
    for millis in [100, 200, 300] {
        first.run(&mut store, millis, Input::Renumber);
    }
    store = backup;
    assert_eq!(first.run(&mut store, 700, Input::Timer), [Effect::Over(End::PutBack)]);
    let refused = [Effect::Over(End::WentBack { known: 4, found: 1 })];
    assert_eq!(first.enter(&mut store, 800, join(1, 11)), refused);
    store = Store { revision: 100, ..Store::default() };
    let refused = [Effect::Over(End::WentBack { known: 4, found: 0 })];
    assert_eq!(first.enter(&mut store, 900, join(1, 12)), refused);
}
