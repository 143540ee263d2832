//! The member core by its surface: several members, and a network that a test holds in its hand.

use skeptron_core::mutex::Mode;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use skeptron_member::clock::MonoTime;
use skeptron_member::query::PeerAnswer;
use skeptron_member::session::{Begun, Claim, SessionError, SessionId};
use skeptron_member::view::View;
use skeptron_member::wire::{Envelope, decode};
use skeptron_member::{
    Acquired, Effects, Event, Fence, Halt, Lock, MemberCore, MemberId, NeedView, NotServed, Timer,
};

/// Takes what cores want done.
#[derive(Default)]
struct Recorder {
    sent: Vec<(MemberId, Vec<u8>)>,
    granted: Vec<(&'static str, Fence)>,
}

impl Effects<&'static str> for Recorder {
    fn send(&mut self, to: MemberId, envelope: &Envelope<'_>) -> u64 {
        let mut bytes = Vec::new();
        skeptron_member::wire::append_frame(&mut bytes, envelope, usize::MAX).unwrap();
        self.sent.push((to, bytes.split_off(skeptron_member::wire::LENGTH_BYTES)));
        0
    }

    fn grant(&mut self, waiter: &'static str, _: &Arc<Lock<&'static str>>, fence: Fence) {
        self.granted.push((waiter, fence));
    }

    fn refuse(&mut self, _: &'static str, _: NotServed) {}

    fn arm(&mut self, _: Timer, _: Duration) {}

    fn answer(&mut self, _: MemberId, _: u64, _: &PeerAnswer) {}

    fn tell(&mut self, event: Event<'_>) {
        assert!(!matches!(event, Event::Refused { .. }), "{event:?}");
    }

    fn need_view(&mut self, _: NeedView) {}

    fn halt(&mut self, why: &Halt) {
        panic!("{why}");
    }
}

/// Members whose messages arrive at once and in order.
struct Cluster {
    cores: Vec<MemberCore<&'static str>>,
    granted: Vec<(&'static str, Fence)>,
    now: MonoTime,
}

impl Cluster {
    fn new(members: usize, algorithm: &str) -> Self {
        let settings = crate::settings(algorithm);
        let view = Arc::new(view(1, members));
        let core = |place| {
            MemberCore::new(MemberId::at(place), settings.clone(), Arc::clone(&view)).unwrap()
        };
        let cores = (0..members).map(core).collect();
        let mut cluster = Cluster { cores, granted: Vec::new(), now: MonoTime::default() };
        for place in 0..members {
            cluster.at(place, |core, _, effects| core.open(effects));
        }
        cluster
    }

    /// Calls a core and delivers everything that follows.
    fn at<T>(
        &mut self,
        place: usize,
        call: impl FnOnce(&MemberCore<&'static str>, MonoTime, &mut Recorder) -> T,
    ) -> T {
        let mut effects = Recorder::default();
        let result = call(&self.cores[place], self.now, &mut effects);
        let mut on_the_way: VecDeque<_> =
            effects.sent.into_iter().map(|(to, bytes)| (MemberId::at(place), to, bytes)).collect();
        self.granted.extend(effects.granted);
        while let Some((from, to, bytes)) = on_the_way.pop_front() {
            let mut effects = Recorder::default();
            let envelope: Envelope<'_> = decode(&bytes).unwrap();
            self.cores[to.place()].receive(self.now, from, 0, &envelope, &mut effects);
            on_the_way.extend(effects.sent.into_iter().map(|(next, bytes)| (to, next, bytes)));
            self.granted.extend(effects.granted);
        }
        result
    }

    fn acquire(&mut self, place: usize, who: &'static str) -> Acquired {
        self.at(place, |core, now, effects| {
            let lock = core.lock("a").unwrap();
            core.acquire(now, &lock, (who, Mode::EXCLUSIVE), || who, effects).unwrap()
        })
    }

    fn release(&mut self, place: usize, fence: Fence) -> bool {
        self.at(place, |core, now, effects| {
            core.release(now, &core.lock("a").unwrap(), fence, effects)
        })
    }

    fn install(&mut self, epoch: u64) {
        for place in 0..self.cores.len() {
            let view = Arc::new(view(epoch, self.cores.len()));
            self.at(place, |core, now, effects| core.install(now, view, effects));
        }
    }
}

fn view(epoch: u64, members: usize) -> View {
    View::of_addresses(epoch, (0..members).map(|place| format!("member-{place}:1")).collect())
}

fn granted(acquired: Acquired) -> Fence {
    match acquired {
        Acquired::Granted(fence) => fence,
        Acquired::Waiting(ticket) => panic!("it waits with ticket {ticket}"),
    }
}

/// A lock that no member keeps at one view change, and that is used again at once, is seen by the next.
#[test]
fn a_lock_used_again_after_a_view_change_is_kept_at_the_next() {
    // In a permission algorithm nobody keeps an idle lock.
    let mut cluster = Cluster::new(2, "ricart-agrawala");
    cluster.acquire(0, "first");
    let fence = cluster.granted.pop().map(|(_, fence)| fence).unwrap();
    assert!(cluster.release(0, fence));
    cluster.install(2);
    cluster.acquire(0, "second");
    let (_, held) = cluster.granted.pop().unwrap();
    cluster.install(3);
    let waits = cluster.acquire(1, "third");
    assert!(matches!(waits, Acquired::Waiting(_)), "{waits:?}");
    assert_eq!(cluster.granted, [], "the second one is still inside");
    assert!(cluster.release(0, held));
    assert_eq!(cluster.granted.len(), 1);
}

#[test]
fn a_waiter_is_asked_for_again_in_each_view() {
    let mut cluster = Cluster::new(2, "ricart-agrawala");
    cluster.acquire(0, "first");
    let fence = cluster.granted.pop().map(|(_, fence)| fence).unwrap();
    cluster.release(0, fence);
    cluster.acquire(1, "holder");
    let (_, held) = cluster.granted.pop().unwrap();
    cluster.install(2);
    cluster.acquire(0, "waiter");
    cluster.install(3);
    assert!(cluster.release(1, held));
    assert_eq!(cluster.granted.pop().map(|(who, _)| who), Some("waiter"));
}

/// A try that was delayed on its way comes after another try was granted and the entry released.
#[test]
fn a_late_second_try_of_a_released_acquire_comes_to_nothing() {
    let mut cluster = Cluster::new(1, "naimi-trehel");
    let (id, ttl) = (SessionId(7), Duration::from_secs(10));
    let claim = || Claim { lock: "a".to_string(), request: Some(1) };
    let held = cluster.at(0, |core, now, effects| {
        core.open_session(now, id, ttl, "client".to_string(), 10, effects).unwrap();
        match core
            .session_acquire(now, id, (claim(), Mode::EXCLUSIVE), "first try", effects)
            .unwrap()
        {
            Begun::Held(held) => held,
            Begun::Waiting(_) => panic!("nobody else wants it"),
        }
    });
    let late = cluster.at(0, |core, now, effects| {
        core.session_release(now, id, "a", held.fence, effects).unwrap();
        core.session_acquire(now, id, (claim(), Mode::EXCLUSIVE), "second try", effects)
    });
    assert_eq!(late, Err(SessionError::Withdrawn("a".to_string())));
    let next = cluster.acquire(0, "somebody else");
    assert!(granted(next) > held.fence);
}
