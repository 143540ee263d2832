//! The counts of TLC, another checker with another language, for the same specification.

use skeptron_check::machine::{Machine as _, explore};
use stateright::{Checker as _, Model as _};

use crate::specified::Specified;

/// What TLC says of `MCLamportMutex` with three processes: `maxClock`, distinct states, and how deep they are,
/// where it counts the first state too.
const OF_TLC: [(u32, u64, usize); 3] = [(4, 70_472, 41), (5, 270_115, 52), (6, 724_274, 61)];

#[test]
fn the_search_counts_what_tlc_counts() {
    for (most_clock, states, depth) in OF_TLC {
        for threads in [1, 2] {
            let found = explore(&Specified::new(3, most_clock), threads, 1 << 30);
            assert!(found.complete && found.violation.is_none(), "{found:?}");
            assert_eq!((found.states, found.depth + 1), (states, depth), "maxClock {most_clock}");
        }
    }
}

#[test]
fn stateright_counts_the_same() {
    let (most_clock, states, _) = OF_TLC[0];
    let checker = Specified::new(3, most_clock).checker().spawn_bfs().join();
    assert_eq!(checker.unique_state_count() as u64, states);
    assert!(checker.discoveries().is_empty());
}

/// Two ask, and each enters before it hears of the other.
#[test]
fn who_does_not_wait_for_acknowledgements_is_caught() {
    let hasty = Specified { awaits_acknowledgements: false, ..Specified::new(3, 4) };
    let found = explore(&hasty, 2, 1 << 30);
    let run = found.violation.unwrap();
    assert_eq!((run.len(), found.complete), (4, false));
    let mut state = hasty.start();
    for action in run {
        assert!(hasty.holds(&state));
        hasty.take(&mut state, action);
    }
    assert!(!hasty.holds(&state));
}

#[test]
fn a_search_that_memory_ends_is_not_complete() {
    let found = explore(&Specified::new(3, 6), 1, 1 << 20);
    assert!(!found.complete && found.states < 724_274, "{found:?}");
}
