//! Who counts as away, and how soon.

use skeptron_views::flaw::Flaw;

use crate::world::{MS, SECOND, Scenario, THREE, World, id};

fn settled(seed: u64, flaw: Option<Flaw>) -> World {
    let mut world = World::new(seed, Scenario { flaw, ..THREE });
    world.run_until(6 * SECOND);
    let view = world.judge.newest().expect("somebody entered");
    assert_eq!((view.members.len(), view.away.len()), (5, 0), "seed {seed}");
    world
}

/// How long after now a node counts as away, in milliseconds.
fn away_after(world: &mut World, node: usize) -> u64 {
    let start = world.now;
    loop {
        let is_away =
            |view: &skeptron_member::view::View| view.away.iter().any(|it| it.id == id(node));
        if world.judge.newest().is_some_and(is_away) {
            return (world.now - start) / MS;
        }
        assert!(world.now < start + 4 * SECOND, "it is not away");
        world.run_until(world.now + 5 * MS);
    }
}

#[test]
fn a_member_that_is_killed_is_away_in_a_fifth_of_a_lease() {
    let mut times = Vec::new();
    for seed in 0..40 {
        let mut world = settled(seed, None);
        let victim = (0..5).find(|&node| Some(node) != world.leader()).unwrap();
        world.crash(if seed % 2 == 0 { 4 } else { victim });
        times.push(away_after(&mut world, if seed % 2 == 0 { 4 } else { victim }));
        // Its lease is certainly over later, in another view.
        let epoch = world.judge.newest_epoch();
        world.run_until(world.now + 4 * SECOND);
        let view = world.judge.newest().unwrap();
        assert_eq!((view.epoch, view.away.len(), view.members.len()), (epoch + 1, 0, 4));
        assert_eq!(world.judge.violation, None);
    }
    times.sort_unstable();
    println!("killed until away: {} to {} ms, median {}", times[0], times[39], times[20]);
    assert!(times[39] <= 650, "{times:?}");
}

/// Neither report is enough: both members are heard.
#[test]
fn a_cut_link_between_two_live_members_changes_nothing() {
    for flaw in [None, Some(Flaw::SuspectsDecide)] {
        let mut changed = 0;
        for seed in 0..20 {
            let mut world = settled(seed, flaw);
            let epoch = world.judge.newest_epoch();
            // Members that do not vote, so that no renewal goes over the link.
            for (from, to) in [(3, 4), (4, 3)] {
                world.cut(from, to);
            }
            world.run_until(world.now + 10 * SECOND);
            changed += u32::from(world.judge.newest_epoch() != epoch);
        }
        assert_eq!(changed > 0, flaw.is_some(), "{changed} of 20");
    }
}

#[test]
fn members_survive_a_new_leader_without_being_away() {
    for seed in 0..40 {
        let mut world = settled(seed, None);
        let leader = world.leader().expect("somebody leads");
        world.crash(leader);
        let after = away_after(&mut world, leader);
        world.run_until(world.now + 5 * SECOND);
        let view = world.judge.newest().unwrap();
        assert_eq!((view.members.len(), view.away.len()), (4, 0), "seed {seed}");
        assert_eq!(
            (world.judge.aways, world.judge.violation.clone()),
            (1, None),
            "only the leader"
        );
        assert!(after <= 2200, "seed {seed}: {after} ms");
    }
}
