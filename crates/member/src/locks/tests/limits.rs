//! Limits that are reached are answers, and what a view change costs.

use super::*;
use skeptron_core::mutex::Mode;
use skeptron_core::mutex::sharing::Presence;
use skeptron_core::mutex::sharing::Register;

/// Hands a member what another one says.
fn say(system: &mut System, sequence: u64, epoch: u64, payload: Payload<'_>) {
    system.at(0, |core, now, effects| {
        core.receive(now, MemberId::at(1), sequence, &Envelope { epoch, payload }, effects);
    });
}

/// A member that is not listened to stops this member's homes, but loses nothing, and the next view
/// begins with it anew.
fn muted_until_the_next_view(system: &mut System, held: Guard) {
    assert_eq!(system.network.halted, []);
    assert!(system.is_held(held, "held"));
    assert_eq!(system.network.needed, [NeedView::Muted { member: MemberId::at(1) }]);
    system.decide(|_| true);
    system.install_all();
    system.settle();
    system.pass(Duration::from_millis(100));
    assert!(system.cores[0].missing().is_empty());
    assert!(system.is_held(held, "held"));
    for name in ["a", "b", "c", "d"] {
        let guard = system.must(1, name);
        system.release(guard, name);
        system.must(0, name);
    }
}

#[test]
fn too_much_of_a_later_view_is_dropped_and_its_sender_not_listened_to_in_it() {
    let mut system = System::new(2, "naimi-trehel");
    let held = system.must(0, "held");
    let message = vec![0; 1 << 20];
    for number in 0..40 {
        say(
            &mut system,
            number,
            2,
            Payload::Message {
                lock: "a",
                fence: 0,
                register: Register::default(),
                message: &message,
            },
        );
    }
    assert_eq!(system.network.against_the_rules, 1, "it is told once");
    assert!(system.cores[0].load().backlog_bytes < 17 << 20);
    system.decide(|_| true);
    system.install_all();
    system.settle();
    assert_eq!(system.cores[0].missing(), [MemberId::at(1)], "some of it was dropped");
    muted_until_the_next_view(&mut system, held);
}

#[test]
fn whoever_sends_most_of_what_cannot_be_taken_is_not_listened_to() {
    let mut system = System::new(3, "naimi-trehel");
    let message = vec![0; 1 << 20];
    for number in 0..40 {
        // The honest one says little, and happens to be the last.
        let from = if number == 15 { 2 } else { 1 };
        system.at(0, |core, now, effects| {
            let payload = Payload::Message {
                lock: "a",
                fence: 0,
                register: Register::default(),
                message: &message,
            };
            core.receive(now, MemberId::at(from), number, &Envelope { epoch: 2, payload }, effects);
        });
    }
    system.decide(|_| true);
    system.install_all();
    system.settle();
    assert_eq!(system.cores[0].missing(), [MemberId::at(1)]);
}

#[test]
fn too_many_names_of_another_member_are_refused_and_the_next_view_forgets_them() {
    let limits = Limits { locks: 8, ..Limits::default() };
    let mut system = System::with(2, Settings { limits, ..settings("naimi-trehel") });
    let held = system.must(0, "held");
    for number in 0..1000 {
        let lock = format!("orders/{number}");
        say(&mut system, number, 1, Payload::Take { lock: &lock });
    }
    assert_eq!(system.network.against_the_rules, 1, "it is told once");
    assert!(system.cores[0].load().known_locks <= 17);
    system.network.needed.retain(|why| matches!(why, NeedView::Muted { .. }));
    muted_until_the_next_view(&mut system, held);
}

#[test]
fn an_endless_announcement_fills_no_memory() {
    let limits = Limits { locks: 50, ..Limits::default() };
    let mut system = System::with(2, Settings { limits, ..settings("naimi-trehel") });
    let held = system.must(0, "held");
    system.decide(|_| true);
    system.install(0);
    let names: Vec<String> = (0..5000)
        .map(|number| format!("orders/{number}"))
        .filter(|name| system.view.home(name).index() == 0)
        .collect();
    for (number, names) in names.chunks(100).enumerate() {
        let kept = names.iter().map(|name| (name.as_str(), 1, None)).collect();
        say(&mut system, number as u64, 2, Payload::Announce { kept, last: false });
    }
    assert!(system.cores[0].load().known_locks <= 101);
    assert_eq!(system.cores[0].missing(), [MemberId::at(1)], "its word is still needed");
    system.network.needed.retain(|why| matches!(why, NeedView::Muted { .. }));
    muted_until_the_next_view(&mut system, held);
}

#[test]
fn a_claimed_fence_that_cannot_be_neither_kills_a_lock_nor_lets_its_fences_fall() {
    for algorithm in ["naimi-trehel", "lamport"] {
        let mut system = System::new(2, algorithm);
        let before = system.must(1, "a");
        system.release(before, "a");
        let waits = system.ask(0, "a");
        // Whatever P2 says of it on its way to P1 claims a wild fence.
        for link in system.network.links.values_mut() {
            for (_, bytes) in link.iter_mut() {
                let mut envelope: Envelope<'_> = postcard::from_bytes(bytes).unwrap();
                if let Payload::Message { fence, .. } = &mut envelope.payload {
                    *fence = u64::MAX - 7;
                }
                *bytes = postcard::to_stdvec(&envelope).unwrap();
            }
        }
        system.settle();
        let guard = waits.unwrap_or_else(|wait| system.granted(wait).expect("it is granted"));
        assert!(system.network.against_the_rules > 0, "{algorithm}");
        assert!(guard.fence > before.fence, "{algorithm}");
        assert!(guard.fence.counter() < Fence::RENEWED_AT / 8, "{algorithm}: {:?}", guard.fence);
        system.release(guard, "a");
        let refused = system.network.against_the_rules;
        let after = system.must(1, "a");
        assert!(after.fence > guard.fence && system.network.needed.is_empty());
        assert_eq!(system.network.against_the_rules, refused, "P1 says nothing that cannot be");
    }
}

#[test]
fn counters_that_many_entries_lead_to_are_believed() {
    let mut system = System::new(2, "naimi-trehel");
    let guard = system.must(1, "a");
    system.release(guard, "a");
    system.now = system.now.after(Duration::from_secs(3600));
    // Ten million entries a second for an hour.
    let lock = system.cores[1].lock("a").unwrap();
    lock.state().counter.receive(36_000_000_000);
    let guard = system.must(0, "a");
    assert_eq!(guard.fence.counter(), 36_000_000_001);
    assert_eq!(system.network.against_the_rules, 0);
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
    for info in catalogue::for_clusters() {
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
    let kept = vec![(elsewhere.as_str(), 1, None), (here.as_str(), u64::MAX, None)];
    say(&mut system, 1, 2, Payload::Announce { kept, last: true });
    assert_eq!(system.network.against_the_rules, 2);
    // It may keep it all the same: only its fence is not believed.
    let waits = system.ask(0, &here).expect_err("somebody keeps it");
    say(&mut system, 2, 2, Payload::Freed { lock: &here, counter: u64::MAX, here: Presence::NONE });
    let guard = system.granted(waits).expect("nobody keeps it any more");
    assert!(guard.fence.counter() < Fence::RENEWED_AT / 8, "{:?}", guard.fence);
}

#[test]
fn a_listing_never_outgrows_a_frame() {
    let mut system = System::new(2, "naimi-trehel");
    let owner = "o".repeat(1 << 20);
    for number in 0..5 {
        let lock = system.cores[0].lock(&format!("{number}{}", "n".repeat(250))).unwrap();
        system.at(0, |core, now, effects| {
            core.acquire(now, &lock, (&owner, Mode::EXCLUSIVE), || number, effects).unwrap()
        });
    }
    let listed = system.cores[0].listing(system.now, "");
    let longest =
        listed.iter().filter_map(|lock| lock.holder.as_ref()).map(|h| h.owner.len()).max();
    assert!(longest.is_none_or(|longest| longest <= 200), "{longest:?}");
}
