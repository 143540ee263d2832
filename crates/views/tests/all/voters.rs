//! Voters that come and go, and voters that must not run: no faults but those that a test makes.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::{Drift, MonoTime};
use skeptron_views::flaw::Flaw;
use skeptron_views::protocol::{Answer, Request};
use skeptron_views::views::{Join, JoinRefused, LeaseSettings, Role};
use skeptron_views::voter::{
    Admin, AdminAccepted, AdminRefused, Effect, HaltReason, Identity, Options, Standing, TICK,
    Voter, Write, first_records,
};
use skeptron_views::{Packet, Record};

const CLUSTER: u128 = 9;

fn id(number: u32) -> MemberId {
    MemberId::new(number).unwrap()
}

/// Voters joined by a network that loses nothing, with disks that are done at once.
#[derive(Default)]
struct Cluster {
    now: MonoTime,
    voters: BTreeMap<MemberId, Voter>,
    disks: BTreeMap<MemberId, Vec<Record>>,
    mail: VecDeque<(MemberId, MemberId, Packet)>,
    answers: Vec<(MemberId, Answer)>,
    halted: Vec<(MemberId, HaltReason)>,
    /// Lives that renew every tick.
    lives: BTreeMap<MemberId, u64>,
    /// The terms in which what the leader met was decided.
    decided: Vec<(MemberId, u64)>,
    number: u64,
    flaw: Option<Flaw>,
    /// This one gets no entries: only heartbeats are short.
    deaf: Option<MemberId>,
}

impl Cluster {
    fn of(voters: u32) -> Self {
        let mut cluster = Cluster::default();
        let ids: Vec<MemberId> = (1..=voters).map(id).collect();
        for (place, &member) in ids.iter().enumerate() {
            let records = first_records(CLUSTER, LeaseSettings::default(), &ids);
            cluster.start(member, place as u64 + 1, records);
        }
        cluster.run(40);
        cluster
    }

    fn start(&mut self, member: MemberId, raft: u64, records: Vec<Record>) {
        let identity = Identity { cluster: CLUSTER, member, raft };
        let options = Options { keep_entries: 8, flaw: self.flaw, ..Options::default() };
        let mut out = Vec::new();
        self.disks.insert(member, records.clone());
        let voter = Voter::start(self.now, identity, options, records, &mut out).unwrap();
        self.voters.insert(member, voter);
        self.perform(member, out);
    }

    fn perform(&mut self, at: MemberId, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { to, packet } => self.mail.push_back((at, to, packet)),
                Effect::Answer { to, answer } => self.answers.push((to, answer)),
                Effect::Persist { number, write } => {
                    let disk = self.disks.get_mut(&at).unwrap();
                    match write {
                        Write::Append(records) => disk.extend(records),
                        Write::Rewrite(records) => *disk = records,
                    }
                    let mut out = Vec::new();
                    let now = self.now;
                    self.voters.get_mut(&at).unwrap().persisted(now, number, &mut out);
                    self.perform(at, out);
                }
                Effect::Decided { term, .. } => self.decided.push((at, term)),
                Effect::Halt(reason) => self.halted.push((at, reason)),
            }
        }
    }

    fn run(&mut self, ticks: u32) {
        for _ in 0..ticks {
            self.now = self.now.after(TICK);
            for member in self.voters.keys().copied().collect::<Vec<_>>() {
                let mut out = Vec::new();
                let now = self.now;
                self.voters.get_mut(&member).unwrap().tick(now, &mut out);
                self.perform(member, out);
            }
            for (member, incarnation) in self.lives.clone() {
                self.number += 1;
                let number = self.number;
                self.ask(
                    member,
                    Request::Renew { incarnation, number, epoch: 0, suspects: Vec::new() },
                );
            }
            while let Some((from, to, packet)) = self.mail.pop_front() {
                let mut out = Vec::new();
                let now = self.now;
                if self.deaf == Some(to) && packet.encode().len() > 200 {
                    continue;
                }
                if let Some(voter) = self.voters.get_mut(&to) {
                    voter.receive(now, from, packet, &mut out);
                }
                self.perform(to, out);
            }
        }
    }

    fn leader(&self) -> MemberId {
        let leaders = self.voters.iter().filter(|(_, voter)| voter.leads());
        *leaders.max_by_key(|(_, voter)| voter.term()).expect("somebody leads").0
    }

    fn follower(&self) -> MemberId {
        let leader = self.leader();
        *self.voters.keys().find(|&&member| member != leader).unwrap()
    }

    fn order(&mut self, order: Admin) -> Result<AdminAccepted, AdminRefused> {
        let (leader, now) = (self.leader(), self.now);
        let mut out = Vec::new();
        let result = self.voters.get_mut(&leader).unwrap().administer(now, order, &mut out);
        self.perform(leader, out);
        result
    }

    fn ask(&mut self, from: MemberId, request: Request) {
        let (leader, now) = (self.leader(), self.now);
        let mut out = Vec::new();
        self.voters.get_mut(&leader).unwrap().request(now, from, request, &mut out);
        self.perform(leader, out);
    }

    fn enter(&mut self, member: MemberId, incarnation: u64) {
        self.ask(member, Request::Enter { join: join(member, incarnation), number: 1 });
    }

    fn seats(&self) -> Vec<(u64, MemberId)> {
        let seats = self.voters[&self.leader()].views().seats();
        assert!(seats.iter().all(|seat| seat.role == Role::Voter), "everybody was promoted");
        seats.iter().map(|seat| (seat.raft, seat.id)).collect()
    }

    fn members(&self) -> (u64, Vec<MemberId>) {
        let view = self.voters[&self.leader()].views().view();
        (view.epoch, view.ids().collect())
    }

    fn took_part(&self, member: MemberId) -> bool {
        self.voters[&member].applied() == self.voters[&self.leader()].applied()
    }
}

fn join(id: MemberId, incarnation: u64) -> Join {
    let (address, api) = (format!("{id}:1"), Vec::new());
    let (algorithms, has_folder) = (String::new(), true);
    Join { id, incarnation, address, api, plans: 1, algorithms, has_folder, version: 1 }
}

#[test]
fn an_added_voter_gets_the_log_and_votes_under_a_fresh_id() {
    let mut cluster = Cluster::of(1);
    for life in 1..30 {
        cluster.enter(id(7), life);
        cluster.ask(id(7), Request::Leave { incarnation: life });
    }
    for (member, raft) in [(2, 2), (3, 3)] {
        assert_eq!(
            cluster.order(Admin::AddVoter { id: id(member) }),
            Ok(AdminAccepted::Seat { raft })
        );
        cluster.start(id(member), raft, Vec::new());
        cluster.run(60);
    }
    assert_eq!(cluster.seats(), [(1, id(1)), (2, id(2)), (3, id(3))]);
    assert!(cluster.took_part(id(2)) && cluster.took_part(id(3)));
    // The two new ones decide without the first.
    cluster.voters.remove(&id(1));
    cluster.run(100);
    cluster.enter(id(7), 99);
    cluster.run(2);
    assert_eq!(cluster.members().1, [id(7)]);
    assert_eq!(cluster.halted, []);
}

#[test]
fn a_lost_disk_is_replaced_in_one_step_and_the_old_seat_halts() {
    let mut cluster = Cluster::of(3);
    let lost = cluster.follower();
    let old_raft = cluster.voters[&lost].identity().raft;
    let old_disk = cluster.disks[&lost].clone();
    cluster.voters.remove(&lost);
    let accepted = cluster.order(Admin::ReplaceVoter { old: lost, new: lost });
    assert_eq!(accepted, Ok(AdminAccepted::Seat { raft: 4 }));
    assert_eq!(cluster.order(Admin::AddVoter { id: id(9) }), Err(AdminRefused::Busy));
    cluster.start(lost, 4, Vec::new());
    cluster.run(80);
    assert!(cluster.seats().contains(&(4, lost)) && cluster.seats().len() == 3);
    assert!(cluster.took_part(lost));

    cluster.start(lost, old_raft, old_disk);
    cluster.run(80);
    assert!(cluster.halted.contains(&(lost, HaltReason::Removed { member: lost, raft: old_raft })));
}

#[test]
fn a_member_without_a_folder_is_not_made_a_voter_and_stands_in_nobodys_way() {
    let mut cluster = Cluster::of(1);
    let join = Join { has_folder: false, ..join(id(4), 40) };
    cluster.ask(id(4), Request::Enter { join, number: 1 });
    cluster.run(2);
    assert_eq!(cluster.members().1, [id(4)]);
    let refused = Err(AdminRefused::NoFolder(id(4)));
    assert_eq!(cluster.order(Admin::AddVoter { id: id(4) }), refused);
    let leader = cluster.leader();
    assert_eq!(
        cluster.order(Admin::ReplaceVoter { old: leader, new: id(4) }),
        Err(AdminRefused::Leads(leader))
    );
    assert_eq!(
        cluster.order(Admin::AddVoter { id: id(2) }),
        Ok(AdminAccepted::Seat { raft: 2 }),
        "the next order is taken"
    );
}

#[test]
fn the_leader_knows_which_voters_answer() {
    let mut cluster = Cluster::of(3);
    let standings = |cluster: &Cluster| -> BTreeMap<u64, Standing> {
        let leader = &cluster.voters[&cluster.leader()];
        leader.standings(cluster.now).into_iter().collect()
    };
    cluster.run(10);
    assert!(
        standings(&cluster).values().all(|it| *it == Standing::Up),
        "{:?}",
        standings(&cluster)
    );
    let lost = cluster.follower();
    let raft = cluster.voters[&lost].identity().raft;
    let voter = cluster.voters.remove(&lost).unwrap();
    cluster.run(10);
    assert_eq!(standings(&cluster)[&raft], Standing::Up, "it may only be slow");
    cluster.run(20);
    let Standing::Silent { since } = standings(&cluster)[&raft] else { panic!("it is silent") };
    assert!((TICK * 25..=TICK * 31).contains(&since), "{since:?}");
    assert_eq!(standings(&cluster).values().filter(|it| **it == Standing::Up).count(), 2);
    cluster.voters.insert(lost, voter);
    cluster.run(10);
    assert_eq!(standings(&cluster)[&raft], Standing::Up);
    assert_eq!(cluster.voters[&lost].standings(cluster.now), [], "a follower does not know");
}

#[test]
fn a_voter_just_added_is_not_called_silent_before_it_could_answer() {
    let mut cluster = Cluster::of(3);
    cluster.run(60);
    let raft = match cluster.order(Admin::AddVoter { id: id(4) }) {
        Ok(AdminAccepted::Seat { raft }) => raft,
        other => panic!("{other:?}"),
    };
    let standing = |cluster: &Cluster| {
        let standings = cluster.voters[&cluster.leader()].standings(cluster.now);
        standings.iter().find(|(it, _)| *it == raft).map(|(_, standing)| *standing)
    };
    cluster.run(2);
    assert_eq!(standing(&cluster), Some(Standing::Unknown));
    // It is never started.
    cluster.run(30);
    assert!(
        matches!(standing(&cluster), Some(Standing::Silent { .. })),
        "{:?}",
        standing(&cluster)
    );
}

#[test]
fn a_voter_that_answers_but_lacks_decisions_is_behind() {
    let mut cluster = Cluster::of(3);
    let slow = cluster.follower();
    cluster.deaf = Some(slow);
    let join = Join { address: "a".repeat(300), ..join(id(7), 70) };
    cluster.ask(id(7), Request::Enter { join, number: 1 });
    cluster.run(15);
    let (leader, raft) = (cluster.leader(), cluster.voters[&slow].identity().raft);
    let standings = cluster.voters[&leader].standings(cluster.now);
    assert!(standings.contains(&(raft, Standing::Behind)), "{standings:?}");
}

/// What a restarted leader meets of older terms is not news.
#[test]
fn old_decisions_are_told_with_the_term_in_which_they_were_made() {
    let mut cluster = Cluster::of(1);
    cluster.enter(id(7), 70);
    cluster.run(2);
    let (term, records) = (cluster.voters[&id(1)].term(), cluster.disks[&id(1)].clone());
    cluster.decided.clear();
    cluster.start(id(1), 1, records);
    cluster.run(40);
    assert!(cluster.voters[&id(1)].term() > term && cluster.members().1 == [id(7)]);
    assert_eq!(cluster.decided, [(id(1), term)]);
}

#[test]
fn a_removed_voter_halts_and_the_leader_hands_over_first() {
    let mut cluster = Cluster::of(3);
    let leader = cluster.leader();
    assert_eq!(cluster.order(Admin::RemoveVoter { id: leader }), Err(AdminRefused::Leads(leader)));
    cluster.run(20);
    assert_ne!(cluster.leader(), leader, "leadership was handed over");
    cluster.run(20);
    assert_eq!(cluster.order(Admin::RemoveVoter { id: leader }), Ok(AdminAccepted::Proposed));
    cluster.run(40);
    assert_eq!(cluster.seats().len(), 2);
    let last = cluster.follower_of_two(leader);
    assert_eq!(cluster.order(Admin::RemoveVoter { id: last }), Ok(AdminAccepted::Proposed));
    cluster.run(40);
    let only = cluster.leader();
    assert_eq!(cluster.order(Admin::RemoveVoter { id: only }), Err(AdminRefused::OnlyVoter(only)));
    assert_eq!(cluster.order(Admin::RemoveVoter { id: id(9) }), Err(AdminRefused::NotVoter(id(9))));
}

impl Cluster {
    fn follower_of_two(&self, removed: MemberId) -> MemberId {
        let leader = self.leader();
        let others = self.voters.keys().copied();
        others.into_iter().find(|&other| other != leader && other != removed).unwrap()
    }
}

#[test]
fn an_emptied_or_old_log_halts_the_voter_instead_of_a_panic() {
    for old_copy in [false, true] {
        let mut cluster = Cluster::of(3);
        let victim = cluster.follower();
        let raft = cluster.voters[&victim].identity().raft;
        let ids: Vec<MemberId> = (1..=3).map(id).collect();
        let copy = cluster.disks[&victim].clone();
        cluster.enter(id(7), 1);
        cluster.run(10);
        let first = first_records(CLUSTER, LeaseSettings::default(), &ids);
        cluster.start(victim, raft, if old_copy { copy } else { first });
        cluster.run(20);
        let lost = |(at, reason): &(MemberId, HaltReason)| {
            *at == victim && matches!(reason, HaltReason::LostLog { .. })
        };
        assert!(cluster.halted.iter().any(lost), "{:?}", cluster.halted);
        assert_eq!(cluster.members().1, [id(7)], "the others go on");
    }
}

/// The leader knows the victim's log no more, and what the victim would vote for could lack an entry that
/// was decided: only the third voter remembers.
#[test]
fn an_old_log_halts_the_voter_also_under_another_leader() {
    for flaw in [None, Some(Flaw::LostLogUnnoticed)] {
        let mut cluster = Cluster::of(3);
        let (leader, victim) = (cluster.leader(), cluster.follower());
        let raft = cluster.voters[&victim].identity().raft;
        let copy = cluster.disks[&victim].clone();
        cluster.enter(id(7), 1);
        cluster.run(10);
        cluster.voters.remove(&leader);
        cluster.voters.remove(&victim);
        cluster.flaw = flaw;
        cluster.start(victim, raft, copy);
        cluster.run(60);
        let lost = |(at, reason): &(MemberId, HaltReason)| {
            *at == victim && matches!(reason, HaltReason::LostLog { .. })
        };
        assert_eq!(cluster.halted.iter().any(lost), flaw.is_none(), "{:?}", cluster.halted);
        let decides = cluster.voters.values().any(Voter::leads);
        assert_eq!(decides, flaw.is_some(), "one of three that remember does not decide");
    }
}

#[test]
fn packets_of_another_cluster_are_dropped() {
    let mut cluster = Cluster::of(3);
    let (leader, term) = (cluster.leader(), cluster.voters[&cluster.leader()].term());
    let stolen = Identity { cluster: 10, member: id(1), raft: 1 };
    let ids: Vec<MemberId> = (1..=3).map(id).collect();
    let records = first_records(10, LeaseSettings::default(), &ids);
    let mut out = Vec::new();
    let mut other =
        Voter::start(cluster.now, stolen, Options::default(), records, &mut out).unwrap();
    for _ in 0..100 {
        other.tick(cluster.now, &mut out);
    }
    let mut sent = 0;
    for effect in out {
        match effect {
            Effect::Persist { number, .. } => other.persisted(cluster.now, number, &mut Vec::new()),
            Effect::Send { to, packet } => {
                sent += 1;
                cluster.mail.push_back((id(1), to, packet));
            }
            _ => {}
        }
    }
    cluster.run(40);
    assert!(sent > 0);
    assert_eq!((cluster.leader(), cluster.voters[&leader].term()), (leader, term));
}

#[test]
fn members_that_fall_silent_are_away_one_by_one_and_gone_in_one_view() {
    let mut cluster = Cluster::of(3);
    for number in 4..8 {
        cluster.enter(id(number), u64::from(number));
        cluster.run(1);
        cluster.lives.insert(id(number), u64::from(number));
    }
    cluster.run(80);
    let (epoch, members) = cluster.members();
    assert_eq!(members, [4, 5, 6, 7].map(id));
    // Two die 200 ms apart: each is away after a third of a lease.
    cluster.lives.remove(&id(4));
    cluster.run(4);
    cluster.lives.remove(&id(5));
    cluster.run(14);
    assert_eq!(cluster.members(), (epoch, members));
    cluster.run(6);
    assert_eq!(cluster.members(), (epoch + 2, [6, 7].map(id).to_vec()));
    // Another life of one of them waits until its lease is certainly over, a stranger does not.
    cluster.enter(id(8), 8);
    cluster.enter(id(4), 14);
    cluster.run(10);
    assert_eq!(cluster.members(), (epoch + 3, [6, 7, 8].map(id).to_vec()));
    cluster.lives.insert(id(8), 8);
    cluster.run(40);
    let view = cluster.voters[&cluster.leader()].views().view().clone();
    assert_eq!(cluster.members(), (epoch + 4, [4, 6, 7, 8].map(id).to_vec()), "one view for all");
    assert!(view.away.is_empty() && view.members[0].incarnation == Some(14));
}

/// A leader that was stopped has not listened: it must not blame the others for its own silence.
#[test]
fn a_leader_that_was_stopped_sends_nobody_away() {
    let mut cluster = Cluster::of(3);
    for number in 4..7 {
        cluster.enter(id(number), u64::from(number));
        cluster.run(1);
        cluster.lives.insert(id(number), u64::from(number));
    }
    cluster.run(80);
    let before = cluster.members();
    cluster.now = cluster.now.after(Duration::from_secs(2));
    cluster.run(1);
    assert_eq!(cluster.members(), before);
}

#[test]
fn a_new_life_waits_for_the_former_one_and_a_left_one_does_not() {
    let mut cluster = Cluster::of(3);
    cluster.enter(id(4), 40);
    cluster.run(80);
    cluster.enter(id(4), 41);
    cluster.run(2);
    cluster.answers.clear();
    cluster.enter(id(4), 40);
    cluster.run(2);
    let refused =
        Answer::Refused { incarnation: 40, reason: JoinRefused::Retired { incarnation: 40 } };
    assert!(cluster.answers.contains(&(id(4), refused)), "{:?}", cluster.answers);
    cluster.answers.clear();
    cluster.ask(id(4), Request::Leave { incarnation: 41 });
    cluster.run(1);
    assert!(cluster.answers.contains(&(id(4), Answer::Over { incarnation: 41 })));
    cluster.enter(id(4), 42);
    cluster.run(1);
    assert_eq!(cluster.members().1, [id(4)]);
}

#[test]
fn the_lease_length_changes_only_when_no_third_length_can_run() {
    let mut cluster = Cluster::of(3);
    cluster.run(80);
    let of = |seconds| {
        Admin::Settings(LeaseSettings {
            lease: Duration::from_secs(seconds),
            drift: Drift::default(),
        })
    };
    assert_eq!(cluster.order(of(10)), Ok(AdminAccepted::Proposed));
    assert!(matches!(cluster.order(of(1)), Err(AdminRefused::TooSoon(_))));
    cluster.run(2);
    assert!(matches!(cluster.order(of(1)), Err(AdminRefused::TooSoon(_))));
    cluster.run(201);
    assert_eq!(cluster.order(of(1)), Ok(AdminAccepted::Proposed));
    assert_eq!(cluster.order(of(0)), Err(AdminRefused::Settings));
}
