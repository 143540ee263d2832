//! Where messages never end: does anybody wait while they go round for ever, or are they never legitimate?
//!
//! Where a token circulates the search meets no end at which to ask whether everybody was served.
//! There a run that never ends must stay for ever in a set of states that can all reach each other, a
//! strongly connected component. On such a round no user does anything, for users do only so much; so
//! it consists of deliveries. The run counts only if it is fair: what can be delivered all the time
//! is delivered some time, and who is inside leaves. So progress is violated exactly if there is a
//! component of deliveries in which somebody waits, nobody is inside, and every message that can be
//! delivered in all its states is delivered in one. Convergence is violated by such a component of states that
//! are not legitimate.

use std::sync::atomic::AtomicBool;

use rustc_hash::FxHashSet;

use crate::graph::{Graph, Unfinished};
use crate::state::{Move, Packet, State, User};
use crate::world::{World, waiting};

/// The moves of a run, and from which one on they repeat for ever.
pub(crate) type Round = (Vec<Move>, usize);

/// Runs that never come to what they should.
pub(crate) struct Endless {
    /// Somebody waits for ever.
    pub(crate) wait: Option<Round>,
    /// No state is legitimate.
    pub(crate) illegitimate: Option<Round>,
}

/// The runs that never end and never come to what they should. `Err` if there are more than `most` states, or the
/// search is stopped.
pub(crate) fn endless_runs(
    world: &World,
    most: usize,
    stop: Option<&AtomicBool>,
) -> Result<Endless, Unfinished> {
    let waits = |state: &State| waiting(state, world.nodes) != 0;
    let is_illegitimate = |state: &State| world.stabilises && !state.is_legitimate;
    // On a round there are only deliveries, while somebody waits, or for legitimacy, and nobody is inside.
    let may_recur = |state: &State, step: Move| {
        matches!(step, Move::Deliver(_))
            && (waits(state) || is_illegitimate(state))
            && state.sites[..world.nodes].iter().all(|site| site.user != User::Inside)
    };
    let graph = Graph::build(world, most, stop, may_recur)?;
    let round = |is_kept: &dyn Fn(&State) -> bool| {
        let kept: Vec<bool> = (0..graph.len()).map(|v| is_kept(&graph.state(v))).collect();
        let components = graph.components(|v| kept[v]);
        components.iter().find_map(|component| fair_round(&graph, component))
    };
    let illegitimate = if world.stabilises { round(&is_illegitimate) } else { None };
    Ok(Endless { wait: round(&waits), illegitimate })
}

fn fair_round(graph: &Graph<'_, World>, component: &[usize]) -> Option<Round> {
    let members = FxHashSet::from_iter(component.iter().copied());
    let inside = |v: usize| members.contains(&v);
    // What can be delivered in a state, and what is delivered on some way through the component.
    let delivered = |v: usize, all: bool| -> Vec<Packet> {
        let state = graph.state(v);
        let kept = graph.moves(v).filter(|&(_, to)| all || inside(to));
        kept.filter_map(|(step, _)| match step {
            Move::Deliver(place) => Some(state.flight[place as usize]),
            _ => None,
        })
        .collect()
    };
    let mut always = delivered(component[0], true);
    always.retain(|packet| component.iter().all(|&v| delivered(v, true).contains(packet)));
    let is_taken =
        |packet: &Packet| component.iter().any(|&v| delivered(v, false).contains(packet));
    if !always.iter().all(is_taken) {
        return None;
    }
    // The way there and one short round: enough to see, though a fair run may take other ones, too.
    let entry = component.iter().copied().min()?;
    let mut moves = graph.way_to(entry);
    let begins = moves.len();
    moves.extend(graph.way(entry, entry, &inside)?);
    Some((moves, begins))
}
