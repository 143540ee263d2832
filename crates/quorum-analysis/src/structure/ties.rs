//! Which of the families that cost the same is taken.

use super::Demands;
use super::moves::near;
use super::problem::{Family, Problem, SLACK};
use super::state::{Penalty, State};

/// A family that costs no more and that would cost less, if possible, were everybody to ask equally
/// often. So a node that never asks, whose inform set costs nothing, still gets one that makes sense.
pub(super) fn settle(problem: &Problem, family: Family) -> Family {
    let nodes = problem.nodes();
    let even = Problem::new(&vec![1.0 / nodes as f64; nodes], &Demands::default());
    let mut even = State::new(&even, family.clone());
    let mut state = State::new(problem, family);
    let most = state.value(Penalty::STRICT) + SLACK;
    let mut is_settled = false;
    while !is_settled {
        is_settled = true;
        for i in 0..nodes {
            let inform = state.inform().clone();
            let (mut best, mut value) = (inform[i], even.value(Penalty::STRICT));
            for set in near(i, &inform) {
                even.change(i, set);
                let changed = even.value(Penalty::STRICT);
                if changed < value - SLACK {
                    state.change(i, set);
                    if state.value(Penalty::STRICT) <= most {
                        (best, value) = (set, changed);
                    }
                }
            }
            even.change(i, best);
            state.change(i, best);
            is_settled &= best == inform[i];
        }
    }
    state.inform().clone()
}
