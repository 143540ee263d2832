//! Locks in one view: queues, hand-overs, tokens, names, and random schedules of everything.

use super::*;
use skeptron_core::mutex::Mode;

#[test]
fn random_schedules_with_cancellations_and_views_keep_exclusion_and_fences() {
    for algorithm in resting() {
        for_seeds(300, |seed| storm(algorithm, seed));
    }
}

fn storm(algorithm: &str, seed: u64) {
    let mut settings = settings(algorithm);
    settings.handovers = (seed % 3) as u32;
    let mut system = System::with(3, settings);
    system.chance = Chance::new(seed);
    let (mut exclusion, mut fences) = (Exclusion::default(), FenceMonitor::default());
    let mut waiting: Vec<Wait> = Vec::new();
    let mut inside: Option<Guard> = None;
    let mut entries = 0;
    let mut enter = |inside: &mut Option<Guard>, guard: Guard| {
        assert_eq!(exclusion.enter(NodeId::new(guard.node)), None, "two inside");
        assert_eq!(fences.enter(guard.fence.number()), None, "a fence that does not rise");
        exclusion.leave(NodeId::new(guard.node));
        assert!(inside.is_none(), "{guard:?} was granted while {inside:?} is inside");
        entries += 1;
        *inside = Some(guard);
    };
    for _ in 0..400 {
        let node = system.chance.below(3);
        match system.chance.below(12) {
            0 | 1 => match system.ask(node, "a") {
                Ok(guard) => enter(&mut inside, guard),
                Err(wait) => waiting.push(wait),
            },
            2 if !waiting.is_empty() => {
                let place = system.chance.below(waiting.len());
                let wait = waiting.swap_remove(place);
                system.cancel(wait, "a");
            }
            3 | 4 => {
                if let Some(guard) = inside.take() {
                    assert!(system.release(guard, "a"));
                }
            }
            5 if system.chance.below(8) == 0 => system.decide(|_| true),
            6 => system.install(node),
            _ => {
                system.deliver_some();
            }
        }
        while let Some(place) = waiting.iter().position(|&wait| system.granted(wait).is_some()) {
            let guard = system.granted(waiting.swap_remove(place)).unwrap();
            enter(&mut inside, guard);
        }
    }
    if let Some(guard) = inside.take() {
        system.release(guard, "a");
    }
    system.install_all();
    // Everybody who still waits is served.
    while !waiting.is_empty() {
        system.settle();
        let place = waiting.iter().position(|&wait| system.granted(wait).is_some());
        let place = place.unwrap_or_else(|| panic!("{algorithm}: {waiting:?} are not served"));
        let guard = system.granted(waiting.swap_remove(place)).unwrap();
        enter(&mut inside, guard);
        system.release(inside.take().unwrap(), "a");
    }
    system.settle();
    assert_eq!(system.network.against_the_rules, 0, "{algorithm}: {:?}", system.network.told);
    assert!(entries > 0);
    for core in &system.cores {
        let load = core.load();
        assert_eq!((load.held_locks, load.waiters, load.backlog_bytes), (0, 0, 0), "{algorithm}");
    }
}

#[test]
fn local_waiters_are_served_in_their_order() {
    let mut system = System::new(1, "naimi-trehel");
    let mut guard = system.must(0, "a");
    let waits: Vec<Wait> = (0..100).map(|_| system.ask(0, "a").unwrap_err()).collect();
    for (place, &wait) in waits.iter().enumerate() {
        assert!(system.granted(wait).is_none());
        assert!(system.release(guard, "a"));
        let next = system.granted(wait).unwrap();
        assert_eq!(next.fence.number(), guard.fence.number() + 1);
        guard = next;
        assert!(waits[place + 1..].iter().all(|&later| system.granted(later).is_none()));
    }
}

#[test]
fn a_cancelled_waiter_leaves_the_queue() {
    for algorithm in resting() {
        let mut system = System::new(3, algorithm);
        let guard = system.must(0, "a");
        let (second, third) = (system.ask(1, "a").unwrap_err(), system.ask(2, "a").unwrap_err());
        system.settle();
        system.cancel(second, "a");
        system.release(guard, "a");
        system.settle();
        assert!(system.granted(third).is_some(), "{algorithm}");
        assert!(system.granted(second).is_none(), "{algorithm}");
    }
}

#[test]
fn a_turn_is_for_those_who_waited_when_it_began() {
    for (handovers, turn) in [(0, 1), (1, 2), (64, 3)] {
        let mut system = System::with(2, Settings { handovers, ..settings("naimi-trehel") });
        let guard = system.must(1, "a");
        let mut here: VecDeque<Wait> = (0..3).map(|_| system.ask(0, "a").unwrap_err()).collect();
        let there = system.ask(1, "a").unwrap_err();
        system.settle();
        system.release(guard, "a");
        system.settle();
        let mut guard = system.granted(here.pop_front().unwrap()).expect("the first of the turn");
        let late = system.ask(0, "a").unwrap_err();
        for _ in 1..turn {
            assert!(system.granted(there).is_none(), "{handovers}");
            system.release(guard, "a");
            system.settle();
            let next = system.granted(here.pop_front().unwrap());
            guard = next.expect("those who waited when the turn began");
        }
        system.release(guard, "a");
        system.settle();
        assert!(system.granted(late).is_none(), "{handovers}: it came after the turn began");
        let guard = system.granted(there).expect("the other member's turn");
        here.push_back(late);
        system.release(guard, "a");
        system.settle();
        assert!(system.granted(here[0]).is_some(), "{handovers}");
    }
}

#[test]
fn entering_again_costs_no_message() {
    let mut system = System::new(3, "naimi-trehel");
    let mut guard = system.must(1, "a");
    let sent = system.network.sent;
    for _ in 0..100 {
        system.release(guard, "a");
        let next = system.ask(1, "a").expect("it is in at once");
        assert_eq!(next.fence.number(), guard.fence.number() + 1);
        guard = next;
    }
    assert_eq!(system.network.sent, sent);
}

#[test]
fn every_member_is_the_first_owner_of_its_share_of_the_names() {
    // The lock's home enters without a message, whichever member that is.
    for algorithm in ["naimi-trehel", "suzuki-kasami", "raymond", "singhal", "central"] {
        let mut system = System::new(3, algorithm);
        for number in 0..30 {
            let name = format!("orders/{number}");
            let home = system.view.home(&name).index();
            let guard = system.ask(home, &name).expect("the home is in at once");
            assert!(system.release(guard, &name));
            // And everybody else can have it from there.
            let other = system.must((home + 1) % 3, &name);
            assert!(system.release(other, &name));
        }
    }
}

#[test]
fn a_member_that_leaves_passes_its_resting_tokens_on() {
    let mut system = System::new(3, "suzuki-kasami");
    let guard = system.must(0, "a");
    system.release(guard, "a");
    system.at(0, |core, now, effects| core.leave(now, effects));
    let resting = system.cores[0].resting();
    assert_eq!(resting.len(), 1);
    system.at(0, |core, _, effects| core.offer(MemberId::at(1), &resting, effects));
    system.settle();
    assert!(!system.cores[0].rests_here(&resting[0]));
    let messages = system.network.messages;
    system.ask(1, "a").expect("it rests with the neighbour");
    assert_eq!(system.network.messages, messages);
    let asked = system.at(0, |core, now, effects| {
        let lock = core.lock("a").unwrap();
        core.acquire(now, &lock, ("", Mode::EXCLUSIVE), || 1, effects)
    });
    assert_eq!(asked, Err(LockError::Leaving(MemberId::at(0))));
}

#[test]
fn an_idle_token_is_paced_and_hurries_when_somebody_waits() {
    let pace = Pace { first: Duration::from_millis(1), longest: Duration::from_secs(3600) };
    let mut system = System::with(3, Settings { pace, ..settings("token-ring") });
    let first = system.must(1, "a");
    system.release(first, "a");
    let before = system.network.messages;
    system.pass(Duration::from_secs(1));
    let idle = system.network.messages - before;
    assert!(idle < 40, "{idle} messages of an idle token in a second");
    for node in [2, 0, 1, 1, 2] {
        let one = system.must(node, "a");
        system.release(one, "a");
    }
}

#[test]
fn names_and_limits_are_checked() {
    let limits = Limits { locks: 2, waiters: 1, ..Limits::default() };
    let mut system = System::with(1, Settings { limits, ..settings("central") });
    let said = |name: &str| system.cores[0].lock(name).map(|_| ()).unwrap_err().to_string();
    assert!(said("").contains("1 to 255 bytes"));
    assert!(said("a\nb").contains("a\\nb"));
    assert!(said(&"x".repeat(256)).contains("1 to 255 bytes"));
    let _held = (system.must(0, "a"), system.must(0, "b"));
    let said = system.cores[0].lock("c").map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("limits.locks"));
    let _waiting = system.ask(0, "a").unwrap_err();
    let lock = system.cores[0].lock("a").unwrap();
    let full = system
        .at(0, |core, now, effects| core.acquire(now, &lock, ("", Mode::EXCLUSIVE), || 9, effects));
    assert!(full.unwrap_err().to_string().contains("limits.waiters"));
}

#[test]
fn a_message_has_one_number_where_it_is_sent_and_where_it_is_received() {
    for algorithm in ["suzuki-kasami", "maekawa", "token-ring"] {
        let mut system = System::new(4, algorithm);
        for node in [1, 3, 0, 2] {
            let one = system.must(node, "a");
            system.release(one, "a");
        }
        system.settle();
        let told = system.network.told.iter().filter(|told| told.starts_with('P'));
        let mut counted = BTreeMap::new();
        told.for_each(|told| *counted.entry(told).or_insert(0) += 1);
        let received = counted.values().filter(|&&count| count == 2).count();
        assert!(received > 3 && counted.values().all(|&count| count <= 2), "{counted:?}");
    }
}

#[test]
fn whoever_waits_no_longer_is_told_of() {
    let mut system = System::new(1, "central");
    let _held = system.must(0, "a");
    system.network.told.clear();
    let gone = system.ask(0, "a").unwrap_err();
    system.cancel(gone, "a");
    let left = system.ask(0, "a").unwrap_err();
    system.at(0, |core, now, effects| core.leave(now, effects));
    assert_eq!(system.network.told, ["requested", "withdrawn", "requested", "withdrawn"]);
    assert_eq!(system.network.refused, [(left.who, NotServed::Leaving)]);
}
