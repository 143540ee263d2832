//! Every sound algorithm in the simulated world.

use skeptron_core::catalogue;
use skeptron_world::{FaultKind, Faults, Options, Outcome, Survived, run};

/// Makes these runs for every sound algorithm; all of them must hold.
fn hold(faults: Faults, seeds: std::ops::Range<u64>, members: impl Fn(u64) -> usize) -> Survived {
    let mut survived = Survived::default();
    for info in catalogue::sound() {
        for seed in seeds.clone() {
            let members = members(seed);
            let algorithm = info.name.to_string();
            let options = Options { members, algorithm, faults, ..Options::default() };
            let outcome = run(&options, seed);
            if let Some(violation) = outcome.violation {
                panic!("{}, {members} members, faults {faults}: {violation}", info.name);
            }
            assert_eq!(outcome.entries, 800, "{} {seed}", info.name);
            survived.add(&outcome.survived);
        }
    }
    survived
}

fn three(_seed: u64) -> usize {
    3
}

#[test]
fn fixed_membership_survives_what_it_promises() {
    let survived = hold(Faults::FIXED, 1..13, three);
    let happened = survived.listed().iter().filter(|(_, times)| *times > 0).count();
    assert!(happened >= 11, "{survived:?}");
}

#[test]
fn other_numbers_of_members_survive_it_as_well() {
    hold(Faults::FIXED, 100..103, |seed| [1, 2, 5][seed as usize % 3]);
    hold(Faults::FIXED.with(FaultKind::Views), 100..103, |seed| [1, 2, 5][seed as usize % 3]);
}

#[test]
fn view_changes_lose_nobody() {
    let survived = hold(Faults::FIXED.with(FaultKind::Views), 1..9, three);
    assert!(survived.views > 1000, "{survived:?}");
}

/// Members crash, are excluded when their lease is over, and join as another life.
#[test]
fn crashed_members_are_excluded_and_come_back() {
    let faults = Faults::FIXED.with(FaultKind::Views).with(FaultKind::Crashes);
    let survived = hold(faults, 1..9, three);
    assert!(survived.crashes > 100 && survived.leases_over > 50, "{survived:?}");
}

/// While one link's task of a member has taken a step and what it sent has not left yet, another
/// link's task delivers. With views decided meanwhile, kept messages could be overtaken by fresh ones.
#[test]
fn tasks_of_one_member_may_interleave_at_every_flush() {
    let faults = Faults::of(&[FaultKind::Interleaving, FaultKind::Views]);
    let survived = hold(faults, 1..17, three);
    assert!(survived.interleavings > 10_000 && survived.views > 100, "{survived:?}");
}

fn pinned() -> Options {
    let faults = Faults::FIXED.with(FaultKind::Views).with(FaultKind::Crashes);
    Options { algorithm: "raymond".to_string(), faults, ..Options::default() }
}

#[test]
fn a_seed_determines_a_run() {
    let hashes = |outcome: Outcome| (outcome.hash, outcome.events, outcome.virtual_nanos);
    for seed in 1..4 {
        assert_eq!(hashes(run(&pinned(), seed)), hashes(run(&pinned(), seed)));
    }
    assert_ne!(run(&pinned(), 1).hash, run(&pinned(), 2).hash);
}

/// The same in every process, debug and release. A change of the core, the links or the world changes
/// it: then the new number belongs here.
#[test]
fn a_seed_means_the_same_everywhere() {
    assert_eq!(format!("{:016x}", run(&pinned(), 7).hash), "56f2dcad851088a6");
}
