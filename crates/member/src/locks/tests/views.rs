//! What a change of views does, and what does not outlive a lease.

use super::*;
use crate::Withheld;
use skeptron_core::mutex::Mode;

#[test]
fn a_right_stays_where_it_is_in_a_new_view() {
    for algorithm in resting() {
        let mut system = System::new(3, algorithm);
        let held = system.must(1, "a");
        let early = system.ask(0, "a").unwrap_err();
        system.settle();
        system.decide(|_| true);
        system.install_all();
        let late = system.ask(2, "a").unwrap_err();
        let free = system.must(2, "b");
        assert!(free.fence > Fence::new(2, 0).unwrap(), "{algorithm}");
        assert!(system.is_held(held, "a"), "{algorithm}");
        assert!(system.granted(early).is_none() && system.granted(late).is_none(), "{algorithm}");
        system.release(held, "a");
        system.settle();
        let (first, second) = (system.granted(early), system.granted(late));
        assert!(first.is_some() != second.is_some(), "{algorithm}: {first:?} {second:?}");
        assert!(first.or(second).unwrap().fence > Fence::new(2, 0).unwrap(), "{algorithm}");
    }
}

#[test]
fn whoever_keeps_a_lock_enters_it_again_without_waiting_for_anybody() {
    let mut system = System::new(3, "naimi-trehel");
    let held = system.must(1, "a");
    system.release(held, "a");
    system.decide(|_| true);
    // Nobody else has heard of the new view.
    system.install(1);
    let again = system.ask(1, "a").expect("the right is here");
    assert!(again.fence > held.fence && again.fence.epoch() == 2);
    let local = system.ask(1, "a").unwrap_err();
    system.release(again, "a");
    let local = system.granted(local).expect("the next waiter of this member is in");
    // Somebody else wants it: this member finishes, gives the right up and queues like everybody.
    system.install_all();
    system.settle();
    let other = system.ask(2, "a").unwrap_err();
    let own = system.ask(1, "a").unwrap_err();
    system.settle();
    assert!(system.granted(other).is_none());
    system.release(local, "a");
    system.settle();
    let (other, own) = (system.granted(other), system.granted(own));
    assert!(other.is_some() != own.is_some());
    assert!(other.or(own).unwrap().fence > local.fence);
}

#[test]
fn a_member_that_is_gone_does_not_hold_anything_back() {
    for algorithm in resting() {
        for gone in 0..3 {
            let mut system = System::new(3, algorithm);
            let held = system.must(gone, "a");
            let waits: Vec<Wait> = (0..3)
                .filter(|&node| node != gone)
                .map(|n| system.ask(n, "a").unwrap_err())
                .collect();
            system.settle();
            // It dies, and a view is decided without it.
            system.decide(|node| node != gone);
            system.network.links.retain(|&(from, to), _| from != gone && to != gone);
            system.install_all();
            system.settle();
            let served = waits.iter().filter(|&&wait| system.granted(wait).is_some()).count();
            assert_eq!(served, 1, "{algorithm}: P{} is gone", gone + 1);
            let next = waits.iter().find_map(|&wait| system.granted(wait)).unwrap();
            assert!(next.fence > held.fence, "{algorithm}");
            system.release(next, "a");
            system.settle();
            assert!(waits.iter().all(|&wait| system.granted(wait).is_some()), "{algorithm}");
            assert_eq!(system.network.against_the_rules, 0, "{:?}", system.network.told);
        }
    }
}

#[test]
fn a_member_that_is_excluded_stops() {
    let mut system = System::new(3, "naimi-trehel");
    let held = system.must(0, "a");
    system.decide(|node| node != 0);
    system.install(0);
    assert_eq!(system.network.halted, [(0, Halt::Excluded(MemberId::at(0), 2))]);
    assert!(!system.is_held(held, "a"));
    let lock = system.cores[0].lock("b").unwrap();
    let asked = system
        .at(0, |core, now, effects| core.acquire(now, &lock, ("", Mode::EXCLUSIVE), || 9, effects));
    assert!(matches!(asked, Err(LockError::Halted { .. })));
}

#[test]
fn a_view_with_another_life_of_the_member_is_never_installed() {
    let mut system = System::new(3, "naimi-trehel");
    let held = system.must(0, "a");
    system.decide(|_| true);
    let mut view = (*system.view).clone();
    view.members[0].incarnation = Some(2);
    system.view = Arc::new(view);
    system.install(0);
    assert_eq!(system.network.halted, [(0, Halt::Excluded(MemberId::at(0), 2))]);
    assert!(!system.is_held(held, "a") && system.cores[0].view().epoch == 1);
}

#[test]
fn a_message_of_an_old_view_is_dropped() {
    let mut system = System::new(2, "naimi-trehel");
    let name = (0..).map(|n| format!("a{n}")).find(|n| system.view.home(n).index() == 0).unwrap();
    let far = system.ask(1, &name).unwrap_err();
    system.cancel(far, &name);
    system.decide(|_| true);
    system.install_all();
    system.settle();
    assert_eq!(system.network.stale, 1);
    system.must(1, &name);
}

#[test]
fn nothing_is_granted_by_a_home_that_has_not_met_all_members() {
    for algorithm in resting() {
        let mut system = System::new(3, algorithm);
        let _held = system.must(1, "a");
        // A member begins another life; those who knew the one before say nothing to it.
        for reborn in 0..3 {
            let view = Arc::clone(&system.view);
            let core = Core::new(MemberId::at(reborn), settings(algorithm), view).unwrap();
            let now = system.now;
            let mut elsewhere = Network::default();
            let mut effects = Performing { network: &mut elsewhere, me: reborn, now };
            core.open(&mut effects);
            let lock = core.lock("a").unwrap();
            let asked =
                core.acquire(now, &lock, ("", Mode::EXCLUSIVE), || 1, &mut effects).unwrap();
            assert!(matches!(asked, Acquired::Waiting(_)), "{algorithm}: P{}", reborn + 1);
            assert_eq!(core.missing().len(), 2);
        }
    }
}

#[test]
fn where_lives_are_not_named_nobody_does_anything_before_it_has_met_all_members() {
    // P2 has met the first life of P1 and P3 has not: neither may speak to both lives about one lock.
    for algorithm in resting() {
        let view = (*System::new(3, algorithm).view).clone();
        let unnamed =
            View::of_addresses(1, view.members.iter().map(|m| m.address.clone()).collect());
        let core = Core::new(MemberId::at(2), settings(algorithm), Arc::new(unnamed)).unwrap();
        let (now, mut network) = (MonoTime::from_nanos(1), Network::default());
        let mut effects = Performing { network: &mut network, me: 2, now };
        core.open(&mut effects);
        let announce = || Payload::Announce { kept: Vec::new(), last: true };
        let envelope = Envelope { epoch: 1, payload: announce() };
        core.receive(now, MemberId::at(0), 1, &envelope, &mut effects);
        let asked: Vec<_> = (0..10)
            .map(|n| {
                let lock = core.lock(&format!("a{n}")).unwrap();
                core.acquire(now, &lock, ("", Mode::EXCLUSIVE), || n, &mut effects).unwrap()
            })
            .collect();
        assert!(asked.iter().all(|asked| matches!(asked, Acquired::Waiting(_))), "{algorithm}");
        assert_eq!(network.messages, 0, "{algorithm}");
        let mut effects = Performing { network: &mut network, me: 2, now };
        core.receive(now, MemberId::at(1), 1, &envelope, &mut effects);
        assert!(network.messages + network.granted.len() >= 10, "{algorithm}: it begins");
    }
}

#[test]
fn nothing_is_entered_after_the_lease_and_it_never_comes_back() {
    let mut system = System::new(2, "naimi-trehel");
    let name = (0..).map(|n| format!("a{n}")).find(|n| system.view.home(n).index() == 0).unwrap();
    let end = system.now.after(Duration::from_secs(3));
    system.at(0, |core, now, effects| core.renew(now, Lease::Until(end), effects));
    let held = system.must(0, &name);
    let waiting = system.ask(0, &name).unwrap_err();
    assert!(system.is_held(held, &name));
    system.now = end;
    assert!(!system.is_held(held, &name), "it is lost by the clock, before anybody is told");
    let later = end.after(Duration::from_secs(9));
    system.at(0, |core, now, effects| core.renew(now, Lease::Until(later), effects));
    assert_eq!(system.network.halted, [(0, Halt::Lease)]);
    assert!(!system.is_held(held, &name));
    system.at(0, |core, now, effects| core.lose_all(now, effects));
    assert!(system.network.told.contains(&"lost".to_string()));
    assert_eq!(system.network.refused, [(waiting.who, NotServed::Halted)]);
}

#[test]
fn what_others_keep_goes_on_while_somebody_is_away() {
    let mut system = System::new(3, "naimi-trehel");
    let held = system.must(1, "a");
    system.decide_away(2);
    system.install_all();
    let waits = system.ask(0, "a").unwrap_err();
    system.settle();
    assert!(system.is_held(held, "a") && system.granted(waits).is_none());
    system.release(held, "a");
    system.settle();
    assert!(system.granted(waits).expect("nobody who is away can have it").fence > held.fence);
}

#[test]
fn what_nobody_announced_is_withheld_while_somebody_is_away_unless_its_home_had_it_before() {
    for algorithm in resting() {
        for back in [false, true] {
            let mut system = System::new(3, algorithm);
            let before = Arc::clone(&system.view);
            system.decide_away(2);
            // Homes of both names are live; P3 was the home of one and may have let it begin.
            let (own, taken) = (system.name_at(0, &before, 0), system.name_at(1, &before, 2));
            let since = Some(system.now);
            system.install_all();
            system.settle();
            system.must(1, &own);
            let waits = system.ask(0, &taken).unwrap_err();
            system.settle();
            let away = vec![MemberId::at(2)];
            let withheld = Some(Withheld { locks: 1, since, away });
            assert!(system.granted(waits).is_none(), "{algorithm}");
            assert_eq!(system.cores[1].withheld(), withheld, "{algorithm}");
            system.decide_nobody_away(back);
            system.install_all();
            system.settle();
            assert!(system.granted(waits).is_some(), "{algorithm}");
            assert_eq!(system.cores[1].withheld(), None);
        }
    }
}

#[test]
fn a_home_that_has_let_a_lock_go_withholds_it_also_in_the_view_after_the_next() {
    let mut system = System::new(3, "naimi-trehel");
    let before = Arc::clone(&system.view);
    system.decide_away(2);
    let name = system.name_at(0, &before, 0);
    // P3 has the token, and nobody else knows whether it still wants it.
    let held = system.must(2, &name);
    system.install_all();
    system.settle();
    let waits = system.ask(1, &name).unwrap_err();
    let fresh = (0..).map(|n| format!("b{n}"));
    let fresh: Vec<String> = fresh.filter(|n| before.home(n) == NodeId::new(0)).take(2).collect();
    system.must(1, &fresh[0]);
    system.decide(|_| true);
    system.install_all();
    system.settle();
    assert!(system.granted(waits).is_none() && system.is_held(held, &name));
    system.must(1, &fresh[1]);
    system.decide_nobody_away(false);
    system.install(0);
    system.install(1);
    system.settle();
    assert!(system.granted(waits).expect("P3 is gone").fence > held.fence);
}

#[test]
fn a_member_that_is_away_goes_on_in_its_own_view_and_is_taken_back() {
    for algorithm in resting() {
        let mut system = System::new(3, algorithm);
        let held = system.must(2, "a");
        system.decide_away(2);
        system.install_all();
        system.install(2);
        system.settle();
        assert_eq!((system.network.halted.len(), system.cores[2].view().epoch), (0, 1));
        assert!(system.is_held(held, "a"), "{algorithm}: its lease runs");
        let waits = system.ask(0, "a").unwrap_err();
        system.settle();
        assert!(system.granted(waits).is_none(), "{algorithm}");
        system.decide_nobody_away(true);
        system.install_all();
        system.settle();
        assert!(system.is_held(held, "a") && system.granted(waits).is_none(), "{algorithm}");
        system.release(held, "a");
        system.settle();
        assert!(system.granted(waits).is_some(), "{algorithm}");
        assert_eq!(system.network.against_the_rules, 0, "{:?}", system.network.told);
    }
}
