//! All 64 patterns of cut directed links among three voters: views are decided exactly if two voters hear
//! each other both ways, and then the leader stays.

use skeptron_views::voter::Admin;

use crate::world::{SECOND, Scenario, THREE, World};

const LINKS: [(usize, usize); 6] = [(0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)];

#[test]
fn two_voters_that_hear_each_other_decide_and_keep_their_leader() {
    for pattern in 0..64u32 {
        for seed in 0..4 {
            check(pattern, seed);
        }
    }
}

fn check(pattern: u32, seed: u64) {
    let is_cut = |link: usize| pattern & (1 << link) != 0;
    let cut: Vec<_> = (0..6).filter(|&link| is_cut(link)).map(|link| LINKS[link]).collect();
    let possible = [0, 2, 4].into_iter().any(|link| !is_cut(link) && !is_cut(link + 1));
    let mut world = World::new(seed, Scenario { drift_ppm: 0, ..THREE });
    world.run_until(5 * SECOND);
    for &(from, to) in &cut {
        world.cut(from, to);
    }
    world.run_until(20 * SECOND);
    let (term, epoch) = (world.largest_term, world.judge.newest_epoch());
    for half_second in 41..80 {
        world.administer(Admin::Renumber);
        world.run_until(half_second * SECOND / 2);
    }
    let decided = world.judge.newest_epoch() > epoch;
    assert_eq!(world.judge.violation, None, "seed {seed}, cut {cut:?}");
    assert_eq!(decided, possible, "seed {seed}, cut {cut:?}");
    assert!(world.largest_term <= term + 1, "terms go on rising: seed {seed}, cut {cut:?}");
}
