//! Sessions of one member, on virtual time.

use skeptron_core::mutex::Mode;
use std::sync::Arc;
use std::time::Duration;

use super::{Begun, Claim, Held, Life, Move, MovedHold, SessionError, SessionId};
use crate::clock::MonoTime;
use crate::effects::{Effects, Event, Halt, NeedView, NotServed, Timer};
use crate::plan::{Plan, Plans};
use crate::query::PeerAnswer;
use crate::view::{Lease, View};
use crate::wire::Envelope;
use crate::{Acquired, Broken, Fence, Limits, Lock, MemberCore, MemberId, Pace, Settings};

/// What a member that is alone was made to do.
#[derive(Default)]
struct Done {
    granted: Vec<(u32, Fence)>,
    refused: Vec<(u32, NotServed)>,
    armed: Vec<(Timer, Duration)>,
    expired: usize,
}

impl Effects<u32> for Done {
    fn send(&mut self, _: MemberId, _: &Envelope<'_>) -> u64 {
        unreachable!("the member is alone")
    }

    fn grant(&mut self, waiter: u32, _: &Arc<Lock<u32>>, fence: Fence) {
        self.granted.push((waiter, fence));
    }

    fn refuse(&mut self, waiter: u32, why: NotServed) {
        self.refused.push((waiter, why));
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.armed.push((timer, after));
    }

    fn answer(&mut self, _: MemberId, _: u64, _: &PeerAnswer) {}

    fn tell(&mut self, event: Event<'_>) {
        self.expired += usize::from(matches!(event, Event::SessionExpired { .. }));
    }

    fn need_view(&mut self, _: NeedView) {}

    fn halt(&mut self, why: &Halt) {
        panic!("{why}");
    }
}

const TTL: Duration = Duration::from_secs(10);

fn at(seconds: u64) -> MonoTime {
    MonoTime::from_nanos(1 + seconds * 1_000_000_000)
}

fn id(number: u128) -> SessionId {
    SessionId(number)
}

fn claim(request: u64) -> Claim {
    Claim { lock: "a".to_string(), request: Some(request) }
}

fn settings() -> Settings {
    Settings {
        plans: Plans::new(Plan::named("central").unwrap()),
        handovers: 0,
        pace: Pace::default(),
        limits: Limits::default(),
        flaw: None,
    }
}

/// A member that is alone, with the sessions 1 to 3.
fn member() -> (MemberCore<u32>, Done) {
    let view = Arc::new(View::of_addresses(1, vec!["127.0.0.1:1".to_string()]));
    let core = MemberCore::new(MemberId::at(0), settings(), view).unwrap();
    let mut done = Done::default();
    core.open(&mut done);
    for number in 1..=3 {
        core.open_session(at(0), id(number), TTL, format!("client {number}"), 3, &mut done)
            .unwrap();
    }
    (core, done)
}

fn held(begun: Result<Begun, SessionError>) -> Held {
    match begun {
        Ok(Begun::Held(held)) => held,
        other => panic!("{other:?}"),
    }
}

fn waits(begun: Result<Begun, SessionError>) -> super::Place {
    match begun {
        Ok(Begun::Waiting(place)) => place,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_silent_session_ends_and_what_it_held_goes_to_the_next() {
    let (core, mut done) = member();
    let first = held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    waits(core.session_acquire(at(1), id(2), (claim(1), Mode::EXCLUSIVE), 2, &mut done));
    core.keep_alive(at(8), id(2)).unwrap();
    // Looked at when it was due at the latest, then when it is due indeed.
    core.expire(at(9), &Timer::Session(id(1)), &mut done);
    assert_eq!(done.armed.last(), Some(&(Timer::Session(id(1)), Duration::from_secs(1))));
    core.expire(at(10), &Timer::Session(id(1)), &mut done);
    let (who, fence) = done.granted[0];
    assert!(who == 2 && fence > first.fence);
    assert_eq!((done.expired, core.load().sessions), (1, 2));
    assert_eq!(core.keep_alive(at(10), id(1)), Err(SessionError::Over));
    let late = core.session_release(at(10), id(1), "a", first.fence, &mut done);
    assert_eq!(late, Err(SessionError::Over));
}

#[test]
fn the_ttl_binds_a_session_that_waits() {
    let (core, mut done) = member();
    held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    waits(core.session_acquire(at(0), id(2), (claim(1), Mode::EXCLUSIVE), 2, &mut done));
    core.keep_alive(at(9), id(1)).unwrap();
    core.expire(at(10), &Timer::Session(id(2)), &mut done);
    assert_eq!(done.refused, [(2, NotServed::SessionOver)]);
    assert_eq!(core.load().waiters, 0);
}

#[test]
fn a_sign_that_comes_too_late_does_not_revive_a_session() {
    let (core, mut done) = member();
    held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    // Its timer has not rung yet.
    assert_eq!(core.keep_alive(at(11), id(1)), Err(SessionError::Over));
    core.expire(at(11), &Timer::Session(id(1)), &mut done);
    assert_eq!(core.load().held_locks, 0);
}

#[test]
fn the_same_acquire_again_keeps_its_place() {
    let (core, mut done) = member();
    let first = held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    let again =
        held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 11, &mut done));
    assert_eq!(first, again);
    let lost = waits(core.session_acquire(at(1), id(2), (claim(7), Mode::EXCLUSIVE), 2, &mut done));
    waits(core.session_acquire(at(1), id(3), (claim(1), Mode::EXCLUSIVE), 3, &mut done));
    waits(core.session_acquire(at(2), id(2), (claim(7), Mode::EXCLUSIVE), 22, &mut done));
    assert_eq!(done.refused, [(2, NotServed::Replaced)]);
    // The connection that was replaced ends only now.
    core.leave_place(at(3), id(2), &lost, &mut done);
    core.session_release(at(3), id(1), "a", first.fence, &mut done).unwrap();
    assert_eq!(done.granted[0].0, 22, "it stands before the one that came later");
}

#[test]
fn an_acquire_is_withdrawn_however_far_it_got() {
    let (core, mut done) = member();
    // Granted.
    held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    assert_eq!(core.session_withdraw(at(0), id(1), "a", 1, &mut done), Ok(true));
    // Waiting.
    held(core.session_acquire(at(0), id(1), (claim(2), Mode::EXCLUSIVE), 1, &mut done));
    waits(core.session_acquire(at(0), id(2), (claim(1), Mode::EXCLUSIVE), 2, &mut done));
    assert_eq!(core.session_withdraw(at(0), id(2), "a", 1, &mut done), Ok(false));
    assert_eq!(done.refused, [(2, NotServed::Withdrawn)]);
    // Yet to arrive.
    assert_eq!(core.session_withdraw(at(0), id(3), "a", 5, &mut done), Ok(false));
    let late = core.session_acquire(at(0), id(3), (claim(5), Mode::EXCLUSIVE), 3, &mut done);
    assert_eq!(late, Err(SessionError::Withdrawn("a".to_string())));
    assert_eq!(core.load().waiters, 0);
}

#[test]
fn another_acquire_of_the_same_session_waits_like_anybody() {
    let (core, mut done) = member();
    let first = held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    waits(core.session_acquire(at(0), id(1), (claim(2), Mode::EXCLUSIVE), 2, &mut done));
    core.session_release(at(1), id(1), "a", first.fence, &mut done).unwrap();
    let (who, fence) = done.granted[0];
    assert!(who == 2 && fence > first.fence);
    let given = first.fence;
    let lock = "a".to_string();
    let stale = core.session_release(at(1), id(1), "a", given, &mut done);
    assert_eq!(stale, Err(SessionError::OtherFence { lock, held: fence, given }));
}

#[test]
fn a_leaving_member_only_takes_releases_until_clients_must_know() {
    let (core, mut done) = member();
    let first = held(core.session_acquire(at(2), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    assert_eq!(core.end_sessions(at(3)), Some(at(12)));
    assert_eq!(core.keep_alive(at(3), id(1)), Err(SessionError::Over));
    core.session_release(at(4), id(1), "a", first.fence, &mut done).unwrap();
    assert_eq!(core.end_sessions(at(4)), None);
    let opened = core.open_session(at(4), id(9), TTL, String::new(), 9, &mut done);
    assert_eq!(opened, Err(SessionError::Closing(MemberId::at(0))));
}

#[test]
fn a_leaving_member_waits_for_no_client_longer_than_for_its_lease_of_then() {
    let (core, mut done) = member();
    held(core.session_acquire(at(2), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    core.renew(at(2), Lease::Until(at(6)), &mut done);
    assert_eq!(core.keep_alive(at(3), id(1)).unwrap().valid, Duration::from_secs(3));
    assert_eq!(core.end_sessions(at(3)), Some(at(6)), "not the TTL, until 13");
    // What it gets later it has promised to nobody.
    core.renew(at(4), Lease::Until(at(8)), &mut done);
    assert_eq!(core.end_sessions(at(5)), Some(at(6)));
    assert_eq!(core.end_sessions(at(6)), None);
}

#[test]
fn closing_a_session_gives_back_and_calls_off() {
    let (core, mut done) = member();
    held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    waits(core.session_acquire(at(0), id(2), (claim(1), Mode::EXCLUSIVE), 2, &mut done));
    let report = core.close_session(at(1), id(2), &mut done).unwrap();
    assert_eq!((report.held.len(), report.waiting), (0, vec!["a".to_string()]));
    assert_eq!(done.refused, [(2, NotServed::SessionOver)]);
    core.close_sessions(at(1), &mut done);
    let load = core.load();
    assert_eq!((load.sessions, load.held_locks, load.waiters), (0, 0, 0));
}

#[test]
fn signs_that_arrive_out_of_order_do_not_set_a_session_back() {
    let (core, mut done) = member();
    core.keep_alive(at(5), id(1)).unwrap();
    // A thread that read the clock earlier comes later.
    held(core.session_acquire(at(3), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    core.expire(at(14), &Timer::Session(id(1)), &mut done);
    assert_eq!((done.expired, core.load().held_locks), (0, 1));
    core.expire(at(15), &Timer::Session(id(1)), &mut done);
    assert_eq!((done.expired, core.load().held_locks), (1, 0));
}

#[test]
fn a_long_session_is_looked_at_often_enough_for_its_timer_to_end_soon_after_it() {
    let (core, mut done) = member();
    core.close_session(at(0), id(3), &mut done).unwrap();
    let hour = Duration::from_secs(3600);
    core.open_session(at(0), id(7), hour, String::new(), 3, &mut done).unwrap();
    let (timer, after) = done.armed.last().cloned().unwrap();
    assert!(after <= Duration::from_secs(30));
    core.close_session(at(1), id(7), &mut done).unwrap();
    let armed = done.armed.len();
    core.expire(at(30), &timer, &mut done);
    assert_eq!(done.armed.len(), armed, "nothing is looked at any more");
}

#[test]
fn looking_at_a_session_does_not_keep_it_alive() {
    let (core, mut done) = member();
    held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    assert_eq!(core.peek_session(id(1)).unwrap().held.len(), 1);
    core.expire(at(10), &Timer::Session(id(1)), &mut done);
    assert_eq!((done.expired, core.peek_session(id(1))), (1, None));
}

/// What every client of a broken lock is told from then on.
fn has_lost(core: &MemberCore<u32>, seconds: u64, number: u128, held: &Held) -> bool {
    core.keep_alive(at(seconds), id(number)).unwrap().lost.contains(held)
}

fn broken_timer(held: &Held) -> Timer {
    Timer::Broken { lock: held.lock.as_str().into(), fence: held.fence }
}

#[test]
fn a_broken_lock_goes_to_the_next_when_its_holder_must_know() {
    let (core, mut done) = member();
    let first = held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    waits(core.session_acquire(at(0), id(2), (claim(1), Mode::EXCLUSIVE), 2, &mut done));
    core.keep_alive(at(4), id(1)).unwrap();
    let wrong = Fence::from_number(first.fence.number() + 1);
    let broken = core.break_lock(at(5), "a", wrong, false, &mut done);
    assert_eq!(broken, Broken::OtherFence(first.fence));
    assert_eq!(core.break_lock(at(5), "b", wrong, false, &mut done), Broken::NotHeld);

    let broken = core.break_lock(at(5), "a", first.fence, false, &mut done);
    assert_eq!(broken, Broken::Lost { handed_on: false, believed_ms: 9000 });
    assert_eq!(done.armed.last(), Some(&(broken_timer(&first), Duration::from_secs(9))));
    assert!(has_lost(&core, 6, 1, &first), "its client is told");
    core.keep_alive(at(9), id(2)).unwrap();
    // A later sign of life does not put it off, and a timer that rings too early is armed again.
    core.expire(at(13), &broken_timer(&first), &mut done);
    assert_eq!(done.armed.last(), Some(&(broken_timer(&first), Duration::from_secs(1))));
    assert!(done.granted.is_empty());
    let again = core.break_lock(at(13), "a", first.fence, false, &mut done);
    assert_eq!(again, Broken::Lost { handed_on: false, believed_ms: 1000 });
    core.expire(at(14), &broken_timer(&first), &mut done);
    let (who, fence) = done.granted[0];
    assert!(who == 2 && fence > first.fence);
    assert!(has_lost(&core, 15, 1, &first), "in every later answer");
    core.expire(at(16), &broken_timer(&first), &mut done);
    assert_eq!(core.load().held_locks, 1, "only the entry that was broken is given up");
}

#[test]
fn whoever_gives_a_broken_lock_back_is_not_waited_for() {
    let (core, mut done) = member();
    let first = held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    waits(core.session_acquire(at(0), id(2), (claim(1), Mode::EXCLUSIVE), 2, &mut done));
    core.break_lock(at(1), "a", first.fence, false, &mut done);
    let released = core.session_release(at(2), id(1), "a", first.fence, &mut done);
    assert_eq!(released, Err(SessionError::Lost("a".to_string())));
    assert_eq!(done.granted.len(), 1);
}

/// Found by the storm: a try on a slow connection arrived when its entry had been broken, and the lock was
/// granted to nobody.
#[test]
fn a_late_try_of_an_acquire_whose_entry_was_lost_comes_to_nothing() {
    let (core, mut done) = member();
    let acquire = |request, done: &mut Done| {
        core.session_acquire(at(2), id(1), (claim(request), Mode::EXCLUSIVE), 1, done)
    };
    let first = held(acquire(1, &mut done));
    core.break_lock(at(2), "a", first.fence, true, &mut done);
    let withdrawn = SessionError::Withdrawn("a".to_string());
    assert_eq!(acquire(1, &mut done).unwrap_err(), withdrawn);
    // Also when another acquire of the session has been granted meanwhile, and released.
    let second = held(acquire(2, &mut done));
    assert_eq!(acquire(1, &mut done).unwrap_err(), withdrawn);
    core.session_release(at(2), id(1), "a", second.fence, &mut done).unwrap();
    assert_eq!(acquire(1, &mut done).unwrap_err(), withdrawn);
    assert_eq!(core.load().held_locks, 0);
}

#[test]
fn a_lock_can_be_broken_at_once() {
    let (core, mut done) = member();
    let first = held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    waits(core.session_acquire(at(0), id(2), (claim(1), Mode::EXCLUSIVE), 2, &mut done));
    let broken = core.break_lock(at(1), "a", first.fence, true, &mut done);
    assert_eq!(broken, Broken::Lost { handed_on: true, believed_ms: 9000 });
    assert_eq!(done.granted.len(), 1);
    assert!(has_lost(&core, 2, 1, &first));
}

#[test]
fn a_client_that_moves_may_believe_beyond_the_members_lease_of_then() {
    let (core, mut done) = member();
    core.renew(at(0), Lease::Until(at(3)), &mut done);
    let first = held(core.session_acquire(at(0), id(1), (claim(1), Mode::EXCLUSIVE), 1, &mut done));
    let broken = core.break_lock(at(1), "a", first.fence, false, &mut done);
    assert_eq!(broken, Broken::Lost { handed_on: false, believed_ms: 9000 });
}

#[test]
fn a_program_in_the_members_process_loses_a_broken_lock_at_once() {
    let (core, mut done) = member();
    let lock = core.lock("a").unwrap();
    let acquired = core.acquire(at(0), &lock, ("", Mode::EXCLUSIVE), || 7, &mut done).unwrap();
    let Acquired::Granted(fence) = acquired else { panic!("{acquired:?}") };
    waits(core.session_acquire(at(0), id(2), (claim(1), Mode::EXCLUSIVE), 2, &mut done));
    let broken = core.break_lock(at(1), "a", fence, false, &mut done);
    assert_eq!(broken, Broken::Lost { handed_on: true, believed_ms: 0 });
    assert!(!core.is_held(at(1), &lock, fence) && done.granted.len() == 1);
}

#[test]
fn a_session_that_moves_claims_only_what_can_be() {
    let mut view = View::of_addresses(3, vec!["127.0.0.1:1".into(), "127.0.0.1:2".into()]);
    view.members[0].incarnation = Some(6);
    view.members[1].incarnation = Some(7);
    let core: MemberCore<u32> =
        MemberCore::new(MemberId::at(0), settings(), Arc::new(view)).unwrap();
    let moved = |number: usize, fence: Fence| Move {
        id: id(9),
        from: Life { member: MemberId::at(1), incarnation: 7, epoch: 3 },
        number: 1,
        ttl: TTL,
        owner: String::new(),
        requests: 0,
        held: (0..number)
            .map(|k| MovedHold {
                lock: format!("{k}"),
                fence,
                mode: Mode::EXCLUSIVE,
                request: None,
                leads: None,
            })
            .collect(),
    };
    let (done, can_be) = (&mut Done::default(), Fence::new(3, 5).unwrap());
    for fence in [Fence::new(4, 1).unwrap(), Fence::from_number(u64::MAX), Fence::from_number(5)] {
        let refused = core.move_session(at(0), moved(1, fence), 9, done);
        assert_eq!(refused, Err(SessionError::NeverGranted { lock: "0".into(), fence }));
    }
    let refused = core.move_session(at(0), moved(1001, can_be), 9, done);
    assert_eq!(refused, Err(SessionError::BringsTooMany(1000)));
    assert!(core.move_session(at(0), moved(1000, can_be), 9, done).unwrap().pending);
    // What is on its way is broken where it is held.
    let broken = core.break_lock(at(0), "5", can_be, false, done);
    assert_eq!(broken, Broken::Moving);
}
