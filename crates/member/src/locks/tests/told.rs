//! What a member tells others of its locks.

use super::*;
use crate::query::{PeerAnswer, PeerQuery};
use crate::report::{Cause, Reason};

fn page(system: &System, prefix: &str, after: &str) -> (Vec<String>, bool) {
    match system.cores[0].told(system.now, &PeerQuery::Locks { prefix, after }) {
        PeerAnswer::Locks { locks, more } => {
            (locks.into_iter().map(|lock| lock.name).collect(), more)
        }
        other => panic!("{other:?}"),
    }
}

fn causes(system: &System, node: usize, name: &str) -> Vec<Cause> {
    match system.cores[node].told(system.now, &PeerQuery::Lock { name }) {
        PeerAnswer::Lock { causes, .. } => causes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_listing_goes_on_after_the_last_name_until_all_is_told() {
    let mut system = System::new(1, "naimi-trehel");
    let all: Vec<String> = (0..1200).map(|number| format!("a/{number:04}")).collect();
    for name in &all {
        system.must(0, name);
    }
    system.must(0, "b");
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let (names, more) = page(&system, "a/", &after);
        assert!(names.len() <= Payload::MOST_LISTED);
        after = names.last().unwrap().clone();
        found.extend(names);
        if !more {
            break;
        }
    }
    assert_eq!(found, all);
    assert_eq!(page(&system, "a/", &after), (Vec::new(), false));
}

#[test]
fn what_does_not_fit_into_a_frame_is_told_next() {
    let mut settings = settings("naimi-trehel");
    settings.limits.frame_bytes = 4096;
    let mut system = System::with(1, settings);
    for number in 0..20 {
        system.must(0, &format!("{number:02}{}", "n".repeat(250)));
    }
    let (names, more) = page(&system, "", "");
    assert!((1..20).contains(&names.len()) && more, "{}", names.len());
    let (next, _) = page(&system, "", names.last().unwrap());
    assert!(next[0] > names[names.len() - 1]);
}

#[test]
fn a_home_says_for_whom_it_withholds_a_lock() {
    let mut system = System::new(3, "naimi-trehel");
    let before = Arc::clone(&system.view);
    system.decide_away(2);
    let (own, taken) = (system.name_at(0, &before, 0), system.name_at(1, &before, 2));
    system.install(0);
    system.install(1);
    let _waits = system.ask(1, &taken).unwrap_err();
    // P1 has not been heard yet.
    assert_eq!(causes(&system, 1, &taken), [Cause::not_met(MemberId::at(1), MemberId::at(0))]);
    system.settle();
    system.now = system.now.after(Duration::from_secs(2));
    let [away] = causes(&system, 1, &taken).try_into().unwrap();
    assert_eq!((away.reason, away.member), (Reason::Away, Some(MemberId::at(2))));
    assert_eq!(away.for_ms, Some(2000));
    assert_eq!(causes(&system, 0, &taken), [], "only its home knows");
    system.must(1, &own);
    assert_eq!(causes(&system, 0, &own), [], "it was never anybody else's");
    system.decide_nobody_away(false);
    system.install(0);
    system.install(1);
    system.settle();
    assert_eq!(causes(&system, 1, &taken), []);
}
