//! What a view change must not forget; found by exploring every interleaving of small clusters.

use skeptron_core::mutex::Mode;
use skeptron_core::mutex::sharing::Register;
use std::hash::{DefaultHasher, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use skeptron_member::clock::MonoTime;
use skeptron_member::query::PeerAnswer;
use skeptron_member::view::View;
use skeptron_member::wire::{Envelope, Payload};
use skeptron_member::{
    Acquired, Effects, Event, Fence, Halt, Lock, MemberCore, MemberId, NeedView, NotServed, Timer,
};

const NOW: MonoTime = MonoTime::from_nanos(1);

/// Notes what the tests look at.
#[derive(Default)]
struct Notes {
    /// How many locks were kept at the last view change.
    kept: Option<usize>,
    needs_view: bool,
}

impl Effects<()> for Notes {
    fn send(&mut self, _: MemberId, _: &Envelope<'_>) -> u64 {
        0
    }
    fn grant(&mut self, _waiter: (), _: &Arc<Lock<()>>, _: Fence) {}
    fn refuse(&mut self, _waiter: (), _: NotServed) {}
    fn arm(&mut self, _: Timer, _: Duration) {}
    fn answer(&mut self, _: MemberId, _: u64, _: &PeerAnswer) {}
    fn tell(&mut self, event: Event<'_>) {
        if let Event::View { kept, .. } = event {
            self.kept = Some(kept);
        }
    }
    fn need_view(&mut self, _: NeedView) {
        self.needs_view = true;
    }
    fn halt(&mut self, why: &Halt) {
        panic!("{why}");
    }
}

fn view(epoch: u64, members: usize) -> Arc<View> {
    Arc::new(View::of_addresses(epoch, vec![String::new(); members]))
}

fn member(algorithm: &str, members: usize) -> MemberCore<()> {
    let settings = crate::settings(algorithm);
    MemberCore::new(MemberId::at(0), settings, view(1, members)).unwrap()
}

fn acquire(core: &MemberCore<()>, lock: &Arc<Lock<()>>, notes: &mut Notes) -> Fence {
    match core.acquire(NOW, lock, ("", Mode::EXCLUSIVE), || (), notes).unwrap() {
        Acquired::Granted(fence) => fence,
        Acquired::Waiting(_) => panic!("a member that is alone does not wait"),
    }
}

fn digest(core: &MemberCore<()>) -> u64 {
    let mut hasher = DefaultHasher::new();
    core.digest(&mut hasher);
    hasher.finish()
}

/// A lock that was idle at a view change and is held at the next one, soon after.
#[test]
fn lock_that_was_idle_at_one_view_change_is_kept_at_the_next() {
    let (core, mut notes) = (member("ricart-agrawala", 1), Notes::default());
    let lock = core.lock("lock").unwrap();
    let fence = acquire(&core, &lock, &mut notes);
    core.release(NOW, &lock, fence, &mut notes);
    core.install(NOW, view(2, 1), &mut notes);
    assert_eq!(notes.kept, Some(0));
    acquire(&core, &lock, &mut notes);
    // A copy must not remember more than the original.
    for core in [&core.copy(), &core] {
        core.install(NOW, view(3, 1), &mut notes);
        assert_eq!(notes.kept, Some(1));
    }
}

#[test]
fn counter_of_fences_begins_anew_in_a_new_view() {
    let (core, mut notes) = (member("ricart-agrawala", 2), Notes::default());
    let lock = core.lock("lock").unwrap();
    // Whatever it says: its counter is what counts.
    let message = Payload::Message {
        lock: "lock",
        fence: Fence::RENEWED_AT,
        register: Register::default(),
        message: &[],
    };
    let last = Payload::Announce { kept: Vec::new(), last: true };
    for payload in [last, message] {
        let envelope = Envelope { epoch: 1, payload };
        core.receive(NOW, MemberId::at(1), 0, &envelope, &mut notes);
    }
    core.install(NOW, view(2, 1), &mut notes);
    assert_eq!(acquire(&core, &lock, &mut notes), Fence::new(2, 1).unwrap());
    assert!(!notes.needs_view);
}

#[test]
fn members_of_different_views_have_different_digests() {
    let [two, three] = [2, 3].map(|members| {
        let (core, mut notes) = (member("naimi-trehel", members), Notes::default());
        for other in 1..members {
            let payload = Payload::Announce { kept: Vec::new(), last: true };
            let envelope = Envelope { epoch: 1, payload };
            core.receive(NOW, MemberId::at(other), 0, &envelope, &mut notes);
        }
        assert!(core.missing().is_empty());
        digest(&core)
    });
    assert_ne!(two, three);
}
