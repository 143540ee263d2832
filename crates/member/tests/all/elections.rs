//! Leaders and observers by the surface of the member core, with a network that a test holds in its hand.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use skeptron_member::clock::MonoTime;
use skeptron_member::election::{Leadership, MOST_WATCHED};
use skeptron_member::plan::{Plan, Plans};
use skeptron_member::query::PeerAnswer;
use skeptron_member::session::{Begun, Claim, SessionError, SessionId};
use skeptron_member::view::{Member, View};
use skeptron_member::wire::{Envelope, Payload, decode};
use skeptron_member::{
    Effects, Event, Fence, Halt, Limits, Lock, LockError, MemberCore, MemberId, NeedView,
    NotServed, Pace, Settings, Timer,
};

type Who = &'static str;

#[derive(Default)]
struct Recorder {
    sent: Vec<(MemberId, Vec<u8>)>,
    granted: Vec<(Who, Fence)>,
    refused: Vec<(Who, NotServed)>,
    told: Vec<Leadership>,
}

impl Effects<Who> for Recorder {
    fn send(&mut self, to: MemberId, envelope: &Envelope<'_>) -> u64 {
        let mut bytes = Vec::new();
        skeptron_member::wire::append_frame(&mut bytes, envelope, usize::MAX).unwrap();
        self.sent.push((to, bytes.split_off(skeptron_member::wire::LENGTH_BYTES)));
        0
    }

    fn grant(&mut self, waiter: Who, _: &Arc<Lock<Who>>, fence: Fence) {
        self.granted.push((waiter, fence));
    }

    fn refuse(&mut self, waiter: Who, why: NotServed) {
        self.refused.push((waiter, why));
    }

    fn arm(&mut self, _: Timer, _: Duration) {}

    fn answer(&mut self, _: MemberId, _: u64, _: &PeerAnswer) {}

    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Leadership { leadership, .. } => self.told.push(leadership.clone()),
            Event::Refused { .. } => panic!("{event:?}"),
            _ => {}
        }
    }

    fn need_view(&mut self, _: NeedView) {}

    fn halt(&mut self, why: &Halt) {
        panic!("{why}");
    }
}

/// Members, and what is on the way between them.
struct Net {
    cores: Vec<MemberCore<Who>>,
    on_the_way: VecDeque<(usize, usize, Vec<u8>)>,
    granted: Vec<(Who, Fence)>,
    refused: Vec<(Who, NotServed)>,
    /// By member.
    told: Vec<Vec<Leadership>>,
}

fn view(epoch: u64, members: usize) -> Arc<View> {
    let member = |place: usize| Member {
        id: MemberId::at(place),
        incarnation: Some(place as u64 + 1),
        address: format!("member-{place}:1"),
        api: Vec::new(),
    };
    Arc::new(View::new(epoch, (0..members).map(member).collect()))
}

fn id(number: u128) -> SessionId {
    SessionId(number)
}

fn claim(request: u64) -> Claim {
    Claim { lock: "e".to_string(), request: Some(request) }
}

impl Net {
    fn new(members: usize) -> Self {
        let settings = Settings {
            plans: Plans::new(Plan::named("naimi-trehel").unwrap()),
            handovers: 8,
            pace: Pace::default(),
            limits: Limits::default(),
            flaw: None,
        };
        let core = |place| {
            MemberCore::new(MemberId::at(place), settings.clone(), view(1, members)).unwrap()
        };
        let mut net = Net {
            cores: (0..members).map(core).collect(),
            on_the_way: VecDeque::new(),
            granted: Vec::new(),
            refused: Vec::new(),
            told: vec![Vec::new(); members],
        };
        for place in 0..members {
            net.at(place, |core, effects| core.open(effects));
            let session = id(place as u128);
            net.at(place, |core, effects| {
                let (ttl, owner) = (Duration::from_secs(10), format!("s{place}"));
                core.open_session(MonoTime::default(), session, ttl, owner, 10, effects).unwrap();
            });
        }
        net.deliver();
        net
    }

    fn at<T>(
        &mut self,
        place: usize,
        call: impl FnOnce(&MemberCore<Who>, &mut Recorder) -> T,
    ) -> T {
        let mut effects = Recorder::default();
        let result = call(&self.cores[place], &mut effects);
        self.on_the_way
            .extend(effects.sent.into_iter().map(|(to, bytes)| (place, to.place(), bytes)));
        self.granted.extend(effects.granted);
        self.refused.extend(effects.refused);
        self.told[place].extend(effects.told);
        result
    }

    /// Delivers everything but what is held up.
    fn deliver_unless(&mut self, held_up: impl Fn(&Payload<'_>) -> bool) {
        self.deliver_unless_from(|_, payload| held_up(payload));
    }

    /// The same by sender.
    fn deliver_unless_from(&mut self, held_up: impl Fn(usize, &Payload<'_>) -> bool) {
        let mut kept = VecDeque::new();
        while let Some((from, to, bytes)) = self.on_the_way.pop_front() {
            let envelope: Envelope<'_> = decode(&bytes).unwrap();
            if held_up(from, &envelope.payload) {
                kept.push_back((from, to, bytes));
                continue;
            }
            let from = MemberId::at(from);
            self.at(to, |core, effects| {
                core.receive(MonoTime::default(), from, 0, &envelope, effects)
            });
        }
        self.on_the_way = kept;
    }

    fn deliver(&mut self) {
        self.deliver_unless(|_| false);
    }

    fn observe(&mut self, place: usize) {
        let told =
            self.at(place, |core, effects| core.observe(MonoTime::default(), "e", None, effects));
        self.told[place].extend(told.unwrap().told);
        self.deliver();
    }

    fn campaign(&mut self, place: usize, request: u64, who: Who) -> Begun {
        self.at(place, |core, effects| {
            let campaign = (claim(request), who);
            core.campaign(MonoTime::default(), id(place as u128), campaign, who, effects).unwrap()
        })
    }

    /// What an observer at that member sees, as values.
    fn seen(&self, place: usize) -> Vec<Option<&str>> {
        self.told[place].iter().map(|told| told.leader.as_ref().map(|it| &*it.value)).collect()
    }
}

#[test]
fn a_leader_is_told_when_everybody_who_watches_has_seen_it() {
    let mut net = Net::new(3);
    net.observe(1);
    net.observe(2);
    assert_eq!((net.seen(1), net.seen(2)), (vec![None], vec![None]));
    net.campaign(0, 1, "first");
    net.deliver_unless(|payload| matches!(payload, Payload::Seen { .. }));
    assert_eq!((net.seen(1), net.seen(2)), (vec![None, Some("first")], vec![None, Some("first")]));
    assert_eq!(net.granted, [], "nobody has said that it has seen it");
    let listed = net.cores[0].listing(MonoTime::default(), "e");
    assert_eq!(listed[0].holder, None, "it does not know yet");
    // The same campaign again takes its place.
    net.campaign(0, 1, "again");
    assert_eq!(net.refused, [("first", NotServed::Replaced)]);
    net.deliver();
    assert_eq!(net.granted.len(), 1);
    let (who, term) = net.granted[0];
    assert_eq!((who, net.told[1][1].term), ("again", Some(term)));
    net.observe(0);
    assert_eq!(net.seen(0), [Some("first")], "a late observer sees it first");
}

#[test]
fn without_observers_a_leader_is_told_at_once() {
    let mut net = Net::new(1);
    let Begun::Held(held) = net.campaign(0, 1, "a") else { panic!("nobody is in its way") };
    let proclaimed = |net: &mut Net, version, value: &str| {
        let entry = ("e", held.fence);
        net.at(0, |core, effects| {
            core.proclaim(MonoTime::default(), id(0), entry, (version, value), effects)
        })
    };
    assert_eq!(proclaimed(&mut net, None, "b"), Ok(2));
    assert_eq!(proclaimed(&mut net, Some(2), "ignored"), Ok(2), "the same again");
    net.observe(0);
    assert_eq!(proclaimed(&mut net, Some(7), "c"), Ok(7));
    let released = net.at(0, |core, effects| {
        core.session_release(MonoTime::default(), id(0), "e", held.fence, effects)
    });
    assert_eq!((released, net.seen(0)), (Ok(()), vec![Some("b"), Some("c"), None]));
    assert_eq!(proclaimed(&mut net, None, "d"), Err(SessionError::NotHeld("e".into())));
}

#[test]
fn a_campaign_that_is_withdrawn_before_it_knows_passes_the_lead_on() {
    let mut net = Net::new(2);
    net.observe(1);
    net.campaign(0, 1, "first");
    net.deliver_unless(|payload| matches!(payload, Payload::Seen { .. }));
    let session = id(9);
    net.at(0, |core, effects| {
        let ttl = Duration::from_secs(10);
        core.open_session(MonoTime::default(), session, ttl, "s9".into(), 10, effects).unwrap();
        core.campaign(MonoTime::default(), session, (claim(1), "second"), "second", effects)
            .unwrap();
        core.session_withdraw(MonoTime::default(), id(0), "e", 1, effects).unwrap();
    });
    net.deliver();
    assert_eq!(net.refused, [("first", NotServed::Withdrawn)]);
    assert_eq!(net.granted.iter().map(|(who, _)| *who).collect::<Vec<_>>(), ["second"]);
    assert_eq!(net.seen(1), [None, Some("first"), None, Some("second")]);
}

#[test]
fn watches_are_told_anew_in_every_view() {
    let mut net = Net::new(2);
    net.observe(1);
    net.campaign(0, 1, "first");
    net.deliver_unless(|payload| matches!(payload, Payload::Seen { .. }));
    // The answer is of a view that is over at P1 when it arrives.
    net.at(0, |core, effects| core.install(MonoTime::default(), view(2, 2), effects));
    net.deliver();
    assert_eq!(net.granted, [], "P2 has not announced itself");
    net.at(1, |core, effects| core.install(MonoTime::default(), view(2, 2), effects));
    net.deliver();
    assert_eq!(net.granted.len(), 1);
    assert_eq!(net.seen(1), [None, Some("first")], "each leader once");
    // P1 is gone, and nobody has taken its session.
    let alone = Arc::new(View::new(3, vec![view(3, 2).members[1].clone()]));
    net.at(1, |core, effects| core.install(MonoTime::default(), alone, effects));
    assert_eq!(net.seen(1), [None, Some("first"), None]);
    assert!(net.told[1].iter().all(|told| !told.missed));
}

/// What is held up: what says who leads at P2.
fn says_who_leads(from: usize) -> impl Fn(usize, &Payload<'_>) -> bool {
    move |sender, payload| {
        sender == from && matches!(payload, Payload::Leads { .. } | Payload::Vacant { .. })
    }
}

#[test]
fn an_observer_begins_when_everybody_has_answered() {
    let mut net = Net::new(3);
    net.campaign(0, 1, "first");
    net.deliver();
    let told = net.at(2, |core, effects| core.observe(MonoTime::default(), "e", None, effects));
    assert_eq!(told.map(|begun| begun.told), Ok(None));
    let held_up = says_who_leads(1);
    net.deliver_unless_from(&held_up);
    assert_eq!(net.told[2], [], "P2 has not answered");
    net.deliver();
    assert_eq!(net.seen(2), [Some("first")]);
    // Somebody who has seen more elsewhere waits for new answers; the other one goes on.
    let after = Fence::new(1, 9);
    let told = net.at(2, |core, effects| core.observe(MonoTime::default(), "e", after, effects));
    assert_eq!(told.map(|begun| begun.told), Ok(None));
    net.deliver_unless_from(&held_up);
    let term = net.told[2][0].term.unwrap();
    net.at(0, |core, effects| {
        core.session_release(MonoTime::default(), id(0), "e", term, effects).unwrap();
    });
    net.campaign(0, 2, "second");
    net.deliver_unless_from(&held_up);
    assert_eq!(net.seen(2), [Some("first"), Some("second")], "no end before P2 has answered");
    net.deliver();
    assert_eq!(net.seen(2), [Some("first"), Some("second"), Some("second")]);
}

#[test]
fn whoever_skips_a_view_may_have_missed_leaders() {
    let mut net = Net::new(1);
    net.observe(0);
    net.at(0, |core, effects| core.install(MonoTime::default(), view(5, 1), effects));
    let told: Vec<_> =
        net.told[0].iter().map(|told| (told.leader.is_none(), told.missed)).collect();
    assert_eq!(told, [(true, false), (true, true)]);
}

#[test]
fn there_are_limits() {
    let mut net = Net::new(1);
    let long = "x".repeat(4097);
    let refused = net.at(0, |core, effects| {
        core.campaign(MonoTime::default(), id(0), (claim(1), &long), "long", effects).err()
    });
    assert_eq!(refused, Some(SessionError::LongValue(4097)));
    let observe = |net: &mut Net, name: &str, after| {
        net.at(0, |core, effects| core.observe(MonoTime::default(), name, after, effects).err())
    };
    let later = Fence::new(2, 1);
    assert_eq!(observe(&mut net, "e", later), Some(LockError::Behind(MemberId::at(0))));
    for number in 0..MOST_WATCHED {
        assert_eq!(observe(&mut net, &format!("e{number}"), None), None);
    }
    assert!(matches!(observe(&mut net, "e", None), Some(LockError::TooManyWatched { .. })));
    assert_eq!(observe(&mut net, "e7", None), None, "it is watched already");
    for number in 0..MOST_WATCHED {
        let name = format!("e{number}");
        net.at(0, |core, effects| core.unobserve(MonoTime::default(), &name, effects));
    }
    assert_eq!(net.cores[0].load().watched_elections, 1, "one has another observer");
}

/// A name that somebody led once is forgotten like any other, unless it is watched.
#[test]
fn led_names_are_forgotten_in_a_later_view() {
    for is_watched in [false, true] {
        let mut net = Net::new(1);
        let Begun::Held(held) = net.campaign(0, 1, "a") else { panic!("nobody is in its way") };
        net.at(0, |core, effects| {
            core.session_release(MonoTime::default(), id(0), "e", held.fence, effects).unwrap();
        });
        if is_watched {
            net.observe(0);
        }
        // Long enough that no right is kept.
        let later = MonoTime::default().after(Duration::from_secs(60));
        for epoch in 2..4 {
            net.at(0, |core, effects| {
                core.install(later, view(epoch, 1), effects);
                core.expire(later, &Timer::Forget, effects);
            });
        }
        assert_eq!(net.cores[0].load().known_locks, usize::from(is_watched));
    }
}
