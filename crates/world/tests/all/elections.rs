//! Leaders, and observers at every member, in the simulated world.

use skeptron_core::catalogue;
use skeptron_testing::{amount, sample, sample_seeds};
use skeptron_world::{FaultKind, Faults, Options, run};

/// Makes these runs; all of them must hold. Returns how many leaders observers saw.
fn hold(algorithm: &str, faults: Faults, seeds: std::ops::Range<u64>) -> u64 {
    let mut seen = 0;
    for seed in seeds {
        let members = 3 + seed as usize % 3;
        let algorithm = algorithm.to_string();
        let elections = true;
        let options =
            Options { members, algorithm, faults, elections, entries: 60, ..Options::default() };
        let outcome = run(&options, seed);
        if let Some(violation) = outcome.violation {
            panic!(
                "{violation}\nagain: skeptron storm --seeds {seed}..{seed} --algorithm {} \
                 --members {members} --faults {faults} --entries 60 --elections",
                options.algorithm
            );
        }
        seen += outcome.survived.leaders_seen;
    }
    seen
}

#[test]
fn observers_at_every_member_see_every_leader() {
    let runs = amount("SKEPTRON_RUNS", 40, 300);
    let seen = hold("naimi-trehel", Faults::ALL, 1..runs + 1);
    assert!(seen > 100 * runs, "{seen}");
}

#[test]
fn observers_see_every_leader_whatever_the_algorithm() {
    for info in sample("elections over algorithms", catalogue::for_clusters(), 4) {
        hold(info.name, Faults::ALL, 1..11);
        hold(info.name, Faults::FIXED, 1..6);
    }
}

#[test]
fn sessions_that_move_go_on_to_lead() {
    let moving = Faults::of(&[FaultKind::Views, FaultKind::Leaves, FaultKind::Partitions]);
    let faults = moving.with(FaultKind::Loss).with(FaultKind::Crashes);
    hold("naimi-trehel", faults, sample_seeds("sessions that lead", 1..101, 20));
}
