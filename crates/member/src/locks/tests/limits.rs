//! Limits that are reached are answers, and what a view change costs.

use super::*;

#[test]
fn too_much_of_a_later_view_stops_the_member_instead_of_being_dropped() {
    let mut system = System::new(2, "naimi-trehel");
    let held = system.must(0, "a");
    let message = vec![0; 1 << 20];
    for number in 0..17 {
        let payload = Payload::Message { lock: "a", fence: 0, message: &message };
        system.at(0, |core, now, effects| {
            core.receive(now, MemberId::at(1), number, &Envelope { epoch: 2, payload }, effects);
        });
    }
    assert!(matches!(system.network.halted[..], [(0, Halt::Backlog { .. })]));
    assert!(!system.is_held(held, "a"));
}

#[test]
fn too_many_names_of_another_member_stop_the_member_instead_of_being_dropped() {
    let limits = Limits { locks: 2, ..Limits::default() };
    let mut system = System::with(2, Settings { limits, ..settings("naimi-trehel") });
    for number in 0..5 {
        let lock = format!("orders/{number}");
        system.at(0, |core, now, effects| {
            let envelope = Envelope { epoch: 1, payload: Payload::Take { lock: &lock } };
            core.receive(now, MemberId::at(1), number, &envelope, effects);
        });
    }
    assert!(matches!(system.network.halted[..], [(0, Halt::TooManyLocks { most: 4, .. })]));
}

#[test]
fn an_overflow_of_the_counter_asks_for_a_new_view_in_which_fences_go_on() {
    let mut system = System::new(2, "naimi-trehel");
    let guard = system.must(0, "a");
    system.release(guard, "a");
    // Somebody has entered very often.
    let lock = system.cores[0].lock("a").unwrap();
    lock.state().counter.receive(Fence::RENEWED_AT);
    let guard = system.must(0, "a");
    assert_eq!(system.network.needed, [NeedView::Counter { lock: "a".into() }]);
    system.release(guard, "a");
    lock.state().counter.receive(Fence::MOST_COUNTED - 1);
    let last = system.must(0, "a");
    assert_eq!(last.fence.counter(), Fence::MOST_COUNTED);
    system.release(last, "a");
    let waiting = system.ask(0, "a").expect_err("there are no more fences in this view");
    let other = system.ask(1, "a").unwrap_err();
    system.settle();
    assert!(system.granted(waiting).is_none() && system.granted(other).is_none());
    system.decide(|_| true);
    system.install_all();
    system.settle();
    let next = system.granted(waiting).or(system.granted(other)).expect("somebody is served");
    assert!(next.fence > last.fence && next.fence.epoch() == 2);
    assert_eq!(system.network.needed.len(), 1, "it is asked for once");
    assert!(system.network.halted.is_empty());
}

#[test]
fn a_view_change_looks_only_at_locks_in_recent_use() {
    let mut system = System::new(2, "naimi-trehel");
    let held = system.must(0, "held");
    for number in 0..1000 {
        let name = format!("orders/{number}");
        let guard = system.must(0, &name);
        system.release(guard, &name);
    }
    system.now = system.now.after(Duration::from_secs(25));
    let guard = system.must(0, "fresh");
    system.release(guard, "fresh");
    system.now = system.now.after(Duration::from_secs(25));
    // What was used in the meantime has driven out what was not.
    for number in 0..200 {
        let name = format!("orders/{number}");
        let guard = system.must(0, &name);
        system.release(guard, &name);
    }
    assert!(system.cores[0].load().recent_locks < 1300);
    system.decide(|_| true);
    system.install_all();
    system.settle();
    assert!(system.is_held(held, "held"), "what is held is kept however long");
    assert!(system.cores[0].load().recent_locks <= 201);
    // A right that was given up is created anew by its home.
    let other = system.must(1, "orders/999");
    assert_eq!(other.fence.epoch(), 2);
    let kept = system.ask(0, "orders/7").expect("a right in recent use is kept");
    assert_eq!(kept.fence.epoch(), 2);
}

#[test]
fn layouts_follow_the_number_of_members() {
    for info in catalogue::sound() {
        let plan = Plan::named(info.name).unwrap();
        for members in 1..=12 {
            let setup = plan.setup(members).unwrap();
            assert_eq!(setup.nodes(), members);
            mutex::dispatch(info, Builds(&setup, info.name));
        }
        // A layout of one's own holds for its size; every other size has the usual one.
        let own = Plan::laid_out(info, plan.setup(4).unwrap()).unwrap();
        assert_eq!(own.setup(4).unwrap(), plan.setup(4).unwrap());
        assert_eq!(own.setup(5).unwrap(), plan.setup(5).unwrap());
    }
}

struct Builds<'a>(&'a skeptron_core::Setup, &'static str);

impl mutex::Visitor for Builds<'_> {
    type Output = ();

    fn visit<P: mutex::Mutex>(self) {
        assert_eq!(P::build(self.1, self.0).unwrap().len(), self.0.nodes());
    }
}

#[test]
fn a_member_that_halted_hands_nothing_on() {
    // Its clients may believe in what they hold until they hear of it.
    for algorithm in resting() {
        let mut system = System::new(3, algorithm);
        let held = system.must(0, "a");
        let other = system.ask(1, "a").unwrap_err();
        system.settle();
        system.at(0, |core, now, effects| {
            core.stop(Halt::Unsendable("a test".to_string()), effects);
            core.lose_all(now, effects);
        });
        system.settle();
        assert!(!system.is_held(held, "a"));
        assert!(system.granted(other).is_none(), "{algorithm}");
    }
}

#[test]
fn announcements_that_cannot_be_are_refused() {
    let mut system = System::new(2, "naimi-trehel");
    system.decide(|_| true);
    system.install(0);
    let elsewhere =
        (0..).map(|n| format!("a{n}")).find(|n| system.view.home(n).index() == 1).unwrap();
    let here = (0..).map(|n| format!("a{n}")).find(|n| system.view.home(n).index() == 0).unwrap();
    let kept = vec![(elsewhere.as_str(), 1), (here.as_str(), u64::MAX)];
    let payload = Payload::Announce { kept, last: true };
    system.at(0, |core, now, effects| {
        core.receive(now, MemberId::at(1), 1, &Envelope { epoch: 2, payload }, effects);
    });
    assert_eq!(system.network.against_the_rules, 2);
    let guard = system.ask(0, &here).expect("nobody keeps it");
    assert_eq!(guard.fence.counter(), 1);
}

#[test]
fn a_listing_never_outgrows_a_frame() {
    let mut system = System::new(2, "naimi-trehel");
    let owner = "o".repeat(1 << 20);
    for number in 0..5 {
        let lock = system.cores[0].lock(&format!("{number}{}", "n".repeat(250))).unwrap();
        system.at(0, |core, now, effects| {
            core.acquire(now, &lock, &owner, || number, effects).unwrap()
        });
    }
    let listed = system.cores[0].listing(system.now, "", false);
    let longest =
        listed.iter().filter_map(|lock| lock.holder.as_ref()).map(|h| h.owner.len()).max();
    assert!(longest.is_none_or(|longest| longest <= 200), "{longest:?}");
}
