//! What commands do to the cluster.

use super::*;

fn id(number: u32) -> MemberId {
    MemberId::new(number).unwrap()
}

fn join(number: u32, incarnation: u64) -> Join {
    let (address, api) = (format!("10.0.0.{number}:1"), Vec::new());
    let algorithms = "a, b/ by c".to_string();
    let has_folder = number != 9;
    Join { id: id(number), incarnation, address, api, plans: 7, algorithms, has_folder, version: 1 }
}

fn views() -> Views {
    Views::new(1, LeaseSettings::default(), &[id(1)])
}

#[test]
fn a_cluster_may_begin_above_the_epochs_of_another() {
    let mut views = views().after_epoch(57);
    views.apply(&[Command::Join(join(1, 10))]);
    assert_eq!(views.view().epoch, 58);
}

#[test]
fn one_entry_makes_one_epoch() {
    let mut views = views();
    views.apply(&[Command::Join(join(2, 20)), Command::Join(join(1, 10))]);
    assert_eq!(views.view().epoch, 1);
    assert_eq!(views.view().ids().collect::<Vec<_>>(), [id(1), id(2)]);
    views.apply(&[Command::Gone { incarnation: 20 }, Command::Join(join(2, 21))]);
    assert_eq!((views.view().epoch, views.member(21).is_some()), (2, true));
    views.apply(&[Command::Renumber]);
    assert_eq!(views.view().epoch, 3);
}

#[test]
fn commands_that_change_nothing_keep_the_epoch() {
    let mut views = views();
    views.apply(&[Command::Join(join(1, 10))]);
    let before = views.clone();
    let again = [Command::Join(join(1, 10)), Command::Gone { incarnation: 99 }];
    assert_eq!(views.apply(&again), [Outcome::Nothing, Outcome::Nothing]);
    assert_eq!(views, before);
}

#[test]
fn a_member_says_where_clients_reach_it_but_not_too_much() {
    let mut views = views();
    let told = |api: &[&str]| {
        let api = api.iter().map(|url| url.to_string()).collect();
        Join { api, ..join(1, 10) }
    };
    let long = "x".repeat(Join::MOST_API_BYTES + 1);
    for wrong in [&["a"; Join::MOST_API + 1][..], &[""], &["a b"], &["ä"], &[&long]] {
        assert_eq!(views.admits(&told(wrong)), Err(JoinRefused::Api), "{wrong:?}");
    }
    views.apply(&[Command::Join(told(&["https://10.0.0.1:7470"]))]);
    views.apply(&[Command::Join(join(2, 20)), Command::Away { incarnation: 10 }]);
    views.apply(&[Command::Back { incarnation: 10 }]);
    assert_eq!(views.member(10).unwrap().api, ["https://10.0.0.1:7470"]);
}

#[test]
fn joins_are_refused_with_their_reason() {
    let mut views = views();
    views.apply(&[Command::Join(join(1, 10)), Command::Join(join(2, 20))]);
    views.apply(&[Command::Leave { incarnation: 20 }]);
    let before = views.clone();
    let other_plans = Join { plans: 8, algorithms: "c".to_string(), ..join(3, 30) };
    let differ = JoinRefused::Plans { cluster: "a, b/ by c".to_string(), offered: "c".to_string() };
    assert!(differ.to_string().contains("the cluster uses a, b/ by c, this member c"));
    let refused = |join: Join, why| Outcome::Refused(join, why);
    let cases = [
        (join(2, 20), JoinRefused::Retired { incarnation: 20 }),
        (join(3, 10), JoinRefused::Retired { incarnation: 10 }),
        (other_plans, differ),
        (join(1, 11), JoinRefused::Present { id: id(1), incarnation: 10 }),
    ];
    for (join, why) in cases {
        assert_eq!(views.apply(&[Command::Join(join.clone())]), [refused(join, why)]);
    }
    assert_eq!(views, before);
}

#[test]
fn minor_versions_are_upgraded_one_member_after_another() {
    let of =
        |number: u32, minor| Join { version: version(3, minor), ..join(number, u64::from(number)) };
    let mut views = views();
    views.apply(&[Command::Join(of(1, 4)), Command::Join(of(2, 5))]);
    assert_eq!((views.view().members.len(), views.version(2)), (2, Some(version(3, 5))));
    let refused = |join: &Join| match views.admits(join) {
        Err(JoinRefused::Version { member, offered }) => Some((member, offered)),
        _ => None,
    };
    assert_eq!(refused(&of(3, 6)), Some((version(3, 4), version(3, 6))), "P1 is too old for it");
    assert_eq!(refused(&of(3, 3)), Some((version(3, 5), version(3, 3))));
    let major = Join { version: version(4, 0), ..join(3, 3) };
    assert!(refused(&major).is_some(), "another major version");
    let wraps = Join { version: version(4, 0) - 1, ..join(3, 3) };
    assert!(refused(&wraps).is_some() && !speak(version(4, 0) - 1, version(4, 0)));
    views.apply(&[Command::Leave { incarnation: 1 }, Command::Join(of(3, 6))]);
    assert_eq!(views.view().ids().collect::<Vec<_>>(), [id(2), id(3)], "all were upgraded");
    let text = JoinRefused::Version { member: version(3, 4), offered: version(3, 6) }.to_string();
    assert!(text.contains("version 3.6") && text.contains("3.4"), "{text}");
}

#[test]
fn who_is_wanted_as_a_voter_is_asked_when_it_comes_with_a_folder() {
    let mut views = views().wanting(vec![id(9), id(2)]);
    views.apply(&[Command::Join(join(9, 90))]);
    assert_eq!((views.next_wanted(), views.has_folder(id(9))), (None, Some(false)));
    views.apply(&[Command::Join(join(2, 20))]);
    assert_eq!((views.next_wanted(), views.has_folder(id(2))), (Some(id(2)), Some(true)));
    views.apply(&[Command::Gone { incarnation: 20 }]);
    assert_eq!((views.next_wanted(), views.has_folder(id(2))), (None, None));
}

#[test]
fn plans_may_change_when_nobody_is_left() {
    let mut views = views();
    views.apply(&[Command::Join(join(1, 10))]);
    views.apply(&[Command::Leave { incarnation: 10 }]);
    let other_plans = Join { plans: 8, ..join(1, 11) };
    assert!(matches!(views.apply(&[Command::Join(other_plans)])[..], [Outcome::Joined(_)]));
    assert_eq!(views.view().epoch, 3);
}

#[test]
fn whoever_is_away_comes_back_or_is_gone_and_each_makes_an_epoch() {
    let mut views = views();
    views.apply(&[Command::Join(join(1, 10)), Command::Join(join(2, 20))]);
    let away = |incarnation| Command::Away { incarnation };
    assert!(matches!(views.apply(&[away(20), away(10)])[..], [Outcome::Away(_), Outcome::Nothing]));
    assert!(views.view().is_away(id(2), 20), "and P1 is left");
    assert_eq!((views.view().epoch, views.view().members.len()), (2, 1));
    let present = JoinRefused::Present { id: id(2), incarnation: 20 };
    assert_eq!(views.admits(&join(2, 21)), Err(present), "its lease may run");
    views.apply(&[Command::Back { incarnation: 20 }]);
    assert_eq!((views.view().epoch, views.member(20).is_some()), (3, true));
    views.apply(&[away(20)]);
    views.apply(&[Command::Gone { incarnation: 20 }]);
    assert_eq!((views.view().epoch, views.life(20), views.is_retired(20)), (5, None, true));
    assert_eq!(views.apply(&[Command::Back { incarnation: 20 }]), [Outcome::Nothing]);
}

#[test]
fn the_former_lease_counts_until_the_next_change() {
    let mut views = views();
    let short = LeaseSettings { lease: Duration::from_secs(1), ..LeaseSettings::default() };
    views.apply(&[Command::Settings(short)]);
    assert_eq!(views.longest_lease(), Duration::from_secs(3));
    assert_eq!(views.view().epoch, 0);
}

#[test]
fn retired_incarnations_are_bounded() {
    let mut views = views();
    for incarnation in 1..=RETIRED as u64 + 10 {
        views.apply(&[Command::Join(join(1, incarnation))]);
        views.apply(&[Command::Gone { incarnation }]);
    }
    assert_eq!(views.retired.len(), RETIRED);
    assert!(!views.is_retired(10) && views.is_retired(11));
}
