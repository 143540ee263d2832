//! Changes for the better only, and what gets out of where they end.

use super::moves::{Chance, Move, near};
use super::state::{Penalty, State};

/// At most so many random moves lead away from where no change helps.
const KICKS: usize = 4;

/// A change for the better by less is none: a missed demand weighs so much that its last digits, which
/// depend on the order of changes, would make it go on for ever.
const PROGRESS: f64 = 1e-6;

/// Takes every change that is for the better until none is, or until it took about so many looks.
pub(super) fn improve(state: &mut State<'_>, most_looks: u64) {
    let (mut looks, mut before) = (0, f64::INFINITY);
    while looks < most_looks && state.value(Penalty::STRICT) < before - PROGRESS {
        before = state.value(Penalty::STRICT);
        looks += improve_sets(state, 0, most_looks - looks);
        looks += improve_places(state, most_looks.saturating_sub(looks));
    }
}

/// Leaves the place where no change helps by a few random moves, climbs again, and stays if that is no
/// worse, with about so many looks.
pub(super) fn wander(state: &mut State<'_>, chance: &mut Chance, most_looks: u64) {
    let (mut looks, mut kick) = (0, Move::default());
    while looks < most_looks {
        let mut next = state.clone();
        for _ in 0..=chance.below(KICKS) {
            chance.choose(next.inform(), &mut kick);
            kick.make(&mut next);
        }
        looks += improve_sets(&mut next, chance.below(state.inform().len()), most_looks - looks);
        if next.value(Penalty::STRICT) <= state.value(Penalty::STRICT) + PROGRESS {
            state.clone_from(&next);
        }
    }
}

/// Improves the inform sets of one node after the other, from `first` on, until none can be, or until
/// it took about so many looks. Returns how many it took.
fn improve_sets(state: &mut State<'_>, first: usize, most_looks: u64) -> u64 {
    let nodes = state.inform().len();
    let (mut looks, mut quiet, mut i) = (0, 0, first);
    while quiet < nodes && looks < most_looks {
        let before = state.inform()[i];
        looks += improve_set(i, state);
        quiet = if state.inform()[i] == before { quiet + 1 } else { 0 };
        i = (i + 1) % nodes;
    }
    looks
}

fn improve_set(i: usize, state: &mut State<'_>) -> u64 {
    let inform = state.inform().clone();
    let (mut best, mut value) = (inform[i], state.value(Penalty::STRICT));
    let mut looks = 0;
    for set in near(i, &inform) {
        state.change(i, set);
        let changed = state.value(Penalty::STRICT);
        if changed < value - PROGRESS {
            (best, value) = (set, changed);
        }
        looks += 1;
    }
    state.change(i, best);
    looks
}

/// Any two nodes change their places if that helps, with about so many looks at most. Returns how many
/// it took.
fn improve_places(state: &mut State<'_>, most_looks: u64) -> u64 {
    let nodes = state.inform().len();
    let (mut looks, mut exchange) = (0, Move::default());
    let mut value = state.value(Penalty::STRICT);
    for a in 0..nodes {
        for b in a + 1..nodes {
            if looks >= most_looks || state.are_alike(a, b) {
                continue;
            }
            exchange.exchange(state.inform(), a, b);
            exchange.make(state);
            looks += 2 * exchange.len() as u64;
            let exchanged = state.value(Penalty::STRICT);
            if exchanged < value - PROGRESS {
                value = exchanged;
            } else {
                exchange.make(state);
            }
        }
    }
    looks
}
