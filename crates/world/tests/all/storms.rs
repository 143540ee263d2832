//! Every sound algorithm in the simulated world.

use skeptron_core::catalogue;
use skeptron_testing::{is_full, sample_seeds};
use skeptron_world::{FaultKind, Faults, Figures, Options, Outcome, Survived, run};

/// Of so many runs the usual tier makes one.
const SHARE: u64 = 10;

/// Of something that happened often: at least so often in all runs, and often enough in the usual ones.
fn is_often(times: u64, in_full: u64) -> bool {
    times > if is_full() { in_full } else { in_full / (10 * SHARE) }
}

/// How many members, and how many of them vote, in the run of a seed.
type Size = fn(u64) -> (usize, Option<usize>);

const THREE: Size = |_| (3, None);
/// From 3 members with 1 voter to 9 with 5.
const GROWING: Size = |seed| {
    let members = 3 + seed as usize % 7;
    let voters = [1, 3, 5][seed as usize / 7 % 3];
    (members, Some(if voters > members { 3 } else { voters }))
};

/// Makes these runs for every sound algorithm, the usual share of them; all of them must hold.
fn hold(faults: Faults, seeds: std::ops::Range<u64>, size: Size) -> (Survived, Figures) {
    let usual = (seeds.end - seeds.start).div_ceil(SHARE);
    let seeds = sample_seeds(&format!("storms {faults}"), seeds, usual);
    let (mut survived, mut figures) = (Survived::default(), Figures::default());
    for info in catalogue::for_clusters() {
        for seed in seeds.clone() {
            let (members, voters) = size(seed);
            let algorithm = info.name.to_string();
            let options = Options { members, voters, algorithm, faults, ..Options::default() };
            let outcome = run(&options, seed);
            if let Some(violation) = outcome.violation {
                let voters = options.voters();
                panic!(
                    "{violation}\nagain: skeptron storm --seeds {seed}..{seed} --algorithm {} \
                     --members {members} --voters {voters} --faults {faults}",
                    info.name
                );
            }
            assert_eq!(outcome.entries, 800, "{} {seed}", info.name);
            survived.add(&outcome.survived);
            figures.add(&outcome.figures);
        }
    }
    (survived, figures)
}

#[test]
fn fixed_membership_survives_what_it_promises() {
    let (survived, _) = hold(Faults::FIXED, 1..101, THREE);
    let happened = survived.listed().iter().filter(|(_, times)| *times > 0).count();
    assert!(!is_full() || happened >= 11, "{survived:?}");
}

#[test]
fn other_numbers_of_members_survive_it_as_well() {
    let few: Size = |seed| ([1, 2, 5][seed as usize % 3], None);
    hold(Faults::FIXED, 100..112, few);
    hold(Faults::ALL, 100..112, few);
}

/// Members crash, tear their disks, leave and come back, and the whole cluster loses power; views and
/// leases are decided by real voters.
#[test]
fn a_cluster_with_views_survives_everything() {
    let (survived, figures) = hold(Faults::ALL, 1..451, THREE);
    for (what, times) in survived.listed() {
        let others = ["exclusions broken by clocks", "leaders seen", "upgrades", "upgrades denied"];
        let expected = !others.contains(&what);
        assert_eq!(is_often(times, 100), expected, "{what}: {times}");
    }
    for (what, span) in figures.spans() {
        assert!(is_often(span.times, 1000), "{what}: {span:?}");
    }
    assert!(is_often(figures.entries_in_storm, 400_000), "{figures:?}");
}

#[test]
fn more_members_and_voters_survive_everything() {
    hold(Faults::ALL, 1000..1042, GROWING);
}

#[test]
fn view_changes_lose_nobody() {
    let (survived, _) = hold(Faults::FIXED.with(FaultKind::Views), 1..101, THREE);
    assert!(is_often(survived.views, 1000) && is_often(survived.leases_over, 100), "{survived:?}");
}

/// New epochs and other lease lengths are ordered, and links break.
#[test]
fn nobody_is_moved_away_whom_the_leader_hears() {
    let (survived, _) = hold(Faults::of(&[FaultKind::Views, FaultKind::Resets]), 1..21, THREE);
    assert!(is_often(survived.views, 1000), "{survived:?}");
    assert_eq!((survived.moved_away, survived.leases_over), (0, 0), "{survived:?}");
}

/// While one link's task of a member has taken a step and what it sent has not left yet, another
/// link's task delivers. With views decided meanwhile, kept messages could be overtaken by fresh ones.
#[test]
fn tasks_of_one_member_may_interleave_at_every_flush() {
    let faults = Faults::of(&[FaultKind::Interleaving, FaultKind::Views]);
    let (survived, _) = hold(faults, 1..101, THREE);
    assert!(
        is_often(survived.interleavings, 10_000) && is_often(survived.views, 100),
        "{survived:?}"
    );
}

/// Clocks beyond the bound let two believe that they hold a lock, but fences stay unique, and whoever
/// lost a lock without knowing has a smaller one than every successor.
#[test]
fn clocks_beyond_the_bound_break_exclusion_but_never_fences() {
    let cut_off = Faults::of(&[FaultKind::Pauses, FaultKind::Partitions, FaultKind::Views]);
    let mut broken = 0;
    for info in catalogue::for_clusters() {
        for seed in sample_seeds("clocks beyond the bound", 1..61, 60 / SHARE) {
            let faults = if seed % 2 == 0 { cut_off } else { Faults::ALL };
            let (algorithm, faults) = (info.name.to_string(), faults.with(FaultKind::Clocks));
            let options = Options { algorithm, faults, ..Options::default() };
            let outcome = run(&options, seed);
            assert_eq!(outcome.violation, None, "{} {seed} {faults}", info.name);
            broken += outcome.survived.exclusions_broken;
        }
    }
    assert!(!is_full() || broken > 0, "clocks beyond the bound were not noticed");
}

fn pinned() -> Options {
    Options { algorithm: "raymond".to_string(), faults: Faults::ALL, ..Options::default() }
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
    assert_eq!(format!("{:016x}", run(&pinned(), 7).hash), "caddcd850913867b");
}
