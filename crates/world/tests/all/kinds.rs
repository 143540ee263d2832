//! Readers, writers and semaphores in the simulated world.

use skeptron_core::catalogue;
use skeptron_testing::{amount, sample};
use skeptron_world::{FaultKind, Faults, Options, Survived, run};

/// Makes these runs; all of them must hold. Returns what happened in them.
fn hold(algorithm: &str, faults: Faults, seeds: std::ops::Range<u64>) -> Survived {
    let mut survived = Survived::default();
    for seed in seeds {
        let members = 3 + seed as usize % 3;
        let options = Options {
            members,
            algorithm: algorithm.to_string(),
            faults,
            kinds: true,
            elections: seed % 4 == 0,
            relays: seed % 2 == 0,
            entries: 60,
            ..Options::default()
        };
        let outcome = run(&options, seed);
        if let Some(violation) = outcome.violation {
            let elections = if options.elections { " --elections" } else { "" };
            let relays = if options.relays { "" } else { " --no-relays" };
            panic!(
                "{violation}\nagain: skeptron storm --seeds {seed}..{seed} --algorithm {algorithm} \
                 --members {members} --faults {faults} --entries 60 --kinds{elections}{relays}"
            );
        }
        survived.add(&outcome.survived);
    }
    survived
}

#[test]
fn everybody_inside_finds_what_it_tolerates() {
    let runs = amount("SKEPTRON_RUNS", 40, 300);
    let survived = hold("naimi-trehel", Faults::ALL, 1..runs + 1);
    assert!(survived.upgrades > 5 * runs, "{survived:?}");
    assert!(survived.upgrades_denied > runs / 10, "{survived:?}");
}

#[test]
fn whatever_the_algorithm() {
    for info in sample("kinds over algorithms", catalogue::for_clusters(), 4) {
        hold(info.name, Faults::ALL, 1..21);
        hold(info.name, Faults::FIXED, 1..6);
    }
}

/// A session that holds a lock beside others goes on so at another member.
#[test]
fn sessions_that_move_go_on_beside_others() {
    let moving = Faults::of(&[FaultKind::Views, FaultKind::Leaves, FaultKind::Partitions]);
    let moving = moving.with(FaultKind::Loss).with(FaultKind::Crashes);
    let survived = hold("naimi-trehel", moving, 1..101);
    assert!(survived.sessions_moved > 10, "{survived:?}");
}
