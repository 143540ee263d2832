//! Idle names are forgotten, and nothing else.

use super::*;
use crate::Flaw;
use skeptron_core::mutex::Mode;

/// A new view with the same members; then all that is idle in it is forgotten.
fn renumber(system: &mut System) {
    system.decide(|_| true);
    system.install_all();
    system.settle();
    system.pass(Duration::from_millis(100));
}

fn known(system: &System) -> Vec<usize> {
    system.cores.iter().map(|core| core.load().known_locks).collect()
}

/// Uses a lock once.
fn touch(system: &mut System, node: usize, name: &str) -> Fence {
    let guard = system.must(node, name);
    assert!(system.release(guard, name));
    guard.fence
}

#[test]
fn a_view_forgets_what_is_idle_and_fences_go_on() {
    for algorithm in resting() {
        let mut system = System::new(3, algorithm);
        let held = system.must(0, "held");
        let waits = system.ask(1, "held").unwrap_err();
        let fences: Vec<Fence> =
            (0..300).map(|k| touch(&mut system, k % 3, &format!("orders/{k}"))).collect();
        // Long enough that no right is kept.
        system.now = system.now.after(Duration::from_secs(40));
        renumber(&mut system);
        renumber(&mut system);
        assert!(known(&system).iter().all(|&known| known <= 1), "{algorithm} {:?}", known(&system));
        assert!(system.is_held(held, "held"));
        assert!(system.release(held, "held"));
        system.settle();
        assert!(system.granted(waits).expect("it still waits").fence > held.fence);
        for (k, before) in fences.into_iter().enumerate() {
            assert!(touch(&mut system, (k + 1) % 3, &format!("orders/{k}")) > before);
        }
    }
}

#[test]
fn rights_that_are_kept_are_not_forgotten() {
    let mut system = System::new(2, "naimi-trehel");
    let before = touch(&mut system, 0, "a");
    renumber(&mut system);
    let messages = system.network.messages;
    assert!(touch(&mut system, 0, "a") > before);
    assert_eq!(system.network.messages, messages, "the right was still there");
    assert!(touch(&mut system, 1, "a") > before);
}

#[test]
fn few_names_in_use_never_reach_the_limit() {
    for algorithm in ["naimi-trehel", "maekawa", "suzuki-kasami"] {
        let limits = Limits { locks: 40, ..Limits::default() };
        let mut system = System::with(3, Settings { limits, ..settings(algorithm) });
        let held = system.must(2, "held");
        for k in 0..2000 {
            touch(&mut system, k % 3, &format!("orders/{k}"));
            system.now = system.now.after(Duration::from_millis(20));
            if !std::mem::take(&mut system.network.needed).is_empty() {
                renumber(&mut system);
            }
        }
        assert!(system.is_held(held, "held"));
        assert!(system.view.epoch > 30 && system.view.epoch < 500, "{}", system.view.epoch);
        assert_eq!((system.network.halted.len(), system.network.against_the_rules), (0, 0));
    }
}

#[test]
fn no_view_is_asked_for_while_most_names_are_in_use() {
    let limits = Limits { locks: 40, ..Limits::default() };
    let mut system = System::with(1, Settings { limits, ..settings("central") });
    let guards: Vec<Guard> = (0..40).map(|k| system.must(0, &format!("{k}"))).collect();
    assert_eq!(system.network.needed, []);
    let refused = system.cores[0].lock("more").unwrap_err();
    assert!(refused.to_string().contains("raise `limits.locks`"), "{refused}");
    for (k, &guard) in guards.iter().enumerate().take(25) {
        assert!(system.release(guard, &format!("{k}")));
    }
    system.at(0, |core, now, effects| core.make_room(now, effects));
    assert_eq!(system.network.needed, [NeedView::Names { known: 40 }]);
    system.at(0, |core, now, effects| core.make_room(now, effects));
    assert_eq!(system.network.needed.len(), 1, "not again at once");
}

#[test]
fn fixed_members_forget_nothing_and_say_so() {
    let view = Arc::new(View::of_addresses(1, vec!["127.0.0.1:1".to_string()]));
    let limits = Limits { locks: 4, ..Limits::default() };
    let core: Core =
        Core::new(MemberId::at(0), Settings { limits, ..settings("central") }, view).unwrap();
    (0..4).for_each(|k| drop(core.lock(&format!("{k}")).unwrap()));
    let refused = core.lock("more").unwrap_err().to_string();
    assert!(refused.contains("fixed") && !core.is_full("more"), "{refused}");
}

/// Whoever looked a lock up before it was forgotten would share it with nobody.
#[test]
fn a_lock_that_somebody_has_in_hand_is_not_forgotten() {
    for flaw in [None, Some(Flaw::ForgottenInHand)] {
        let mut system = System::with(1, Settings { flaw, ..settings("central") });
        let in_hand = system.cores[0].lock("a").unwrap();
        renumber(&mut system);
        let acquired = system.at(0, |core, now, effects| {
            core.acquire(now, &in_hand, ("", Mode::EXCLUSIVE), || 1, effects)
        });
        assert!(matches!(acquired, Ok(Acquired::Granted(_))));
        assert_eq!(system.ask(0, "a").is_ok(), flaw.is_some(), "two are in: {flaw:?}");
    }
}

/// While one is away, what this member let go before is not its own.
#[test]
fn nothing_is_forgotten_while_somebody_is_away_or_unheard() {
    let mut system = System::new(3, "naimi-trehel");
    for k in 0..30 {
        touch(&mut system, k % 3, &format!("orders/{k}"));
    }
    let before = known(&system);
    system.decide_away(2);
    system.install(0);
    system.install(1);
    system.settle();
    system.pass(Duration::from_secs(1));
    // Homes may know more names than before, since others announced theirs.
    let is_all_known = |system: &System, node: usize| known(system)[node] >= before[node];
    assert!(is_all_known(&system, 0) && is_all_known(&system, 1));
    system.decide_nobody_away(true);
    system.install(0);
    system.pass(Duration::from_secs(1));
    assert!(is_all_known(&system, 0), "the others have said nothing yet");
    system.install_all();
    system.settle();
    system.now = system.now.after(Duration::from_secs(40));
    renumber(&mut system);
    assert_eq!(known(&system), [0; 3]);
}

/// Of `names` idle locks a view change looks at none, and they are forgotten in small portions.
#[allow(clippy::disallowed_types, clippy::disallowed_methods)] // It prints how long that takes.
fn idle_names_cost_nothing_at_a_view(names: usize) {
    let limits = Limits { locks: 2 * names, ..Limits::default() };
    let mut system = System::with(1, Settings { limits, ..settings("central") });
    for k in 0..names {
        touch(&mut system, 0, &format!("orders/{k}"));
    }
    for _ in 0..3 {
        system.now = system.now.after(Duration::from_secs(25));
        for shard in 0..1000 {
            touch(&mut system, 0, &format!("fresh/{shard}"));
        }
    }
    let looked_at = system.cores[0].load().recent_locks;
    assert!(looked_at <= 64 + 2000, "{looked_at} of {names}");
    let clock = std::time::Instant::now();
    system.decide(|_| true);
    system.install(0);
    let installed = clock.elapsed();
    let (mut longest, mut portions) = (Duration::ZERO, 0);
    while let Some((_, _, timer)) = system.network.timers.pop() {
        let (clock, before) = (std::time::Instant::now(), system.cores[0].load().known_locks);
        system.at(0, |core, now, effects| core.expire(now, &timer, effects));
        longest = longest.max(clock.elapsed());
        portions += 1;
        assert!(before - system.cores[0].load().known_locks <= 1000);
    }
    println!(
        "{names} names: installed in {installed:?}, {portions} portions of at most {longest:?}"
    );
    assert!(portions >= names / 1000 && system.cores[0].load().known_locks <= 2000);
}

#[test]
fn idle_names_do_not_cost_at_a_view_change() {
    idle_names_cost_nothing_at_a_view(50_000);
}

/// For figures: `cargo test --release -p skeptron-member a_million -- --ignored --nocapture`.
#[test]
#[ignore = "takes half a gigabyte of memory"]
fn a_million_idle_names_do_not_cost_at_a_view_change() {
    idle_names_cost_nothing_at_a_view(1_000_000);
}
