//! Random moves, of which those for the worse are made ever more rarely.

use super::moves::{Chance, Move};
use super::state::{Penalty, State};

/// By which factor a run cools down, as the exponent of e.
const COOLING: f64 = 4.6;

/// After so many looks what was is valued anew, because penalties rise.
const VALUED_ANEW: u64 = 64;

/// How a run begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// How much worse a move may be at first: so many messages of one node of average rate.
    pub(super) heat: f64,
    /// How many times the soft penalty is due at first, and in the end.
    pub(super) penalty: [f64; 2],
}

/// Anneals a family with so many looks.
pub(super) fn anneal(state: &mut State<'_>, chance: &mut Chance, schedule: Schedule, looks: u64) {
    let nodes = state.inform().len();
    let hot = schedule.heat / nodes as f64;
    let [first, last] = schedule.penalty;
    let (mut value, mut chosen) = (f64::INFINITY, Move::default());
    for look in 0..looks {
        let progress = look as f64 / looks as f64;
        let penalty = Penalty::soft(nodes, first + (last - first) * progress);
        if look % VALUED_ANEW == 0 {
            value = state.value(penalty);
        }
        chance.choose(state.inform(), &mut chosen);
        chosen.make(state);
        let changed = state.value(penalty);
        let worse = (changed - value) / (hot * libm::exp(-COOLING * progress));
        if worse <= 0.0 || chance.fraction() < libm::exp(-worse) {
            value = changed;
        } else {
            chosen.make(state);
        }
    }
}
