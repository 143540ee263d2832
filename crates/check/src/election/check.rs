//! From a question to its answer.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use skeptron_core::catalogue::ElectionInfo;

use super::counterexample;
use super::scenario::ElectionScenario;
use super::state::{Move, State};
use super::world::World;
use crate::check::{Options, Report, Verdict, verdicts};
use crate::disk::{self, Folder};
use crate::explorer::{Limits, explore};
use crate::graph::{Graph, Unfinished};
use crate::model::Model as _;
use crate::property::Property;
use crate::scenario::ScenarioError;
use crate::walk::walk;

/// Explores every interleaving of `scenario` and judges each.
///
/// # Errors
/// If the scenario cannot be explored.
pub fn check_election(
    info: &ElectionInfo,
    scenario: &ElectionScenario,
    options: &Options<'_>,
) -> Result<Report, ScenarioError> {
    let world = World::new(info, scenario)?;
    let question = || {
        let keep_going = options.keep_going;
        serde_json::json!({ "algorithm": info.name, "scenario": scenario, "keep_going": keep_going })
    };
    let folder = options.disk.map(|disk| Folder::open(&disk, &question())).transpose()?;
    judge(&world, options, folder.as_ref())
}

/// Explores a world.
pub(super) fn judge(
    world: &World,
    options: &Options<'_>,
    folder: Option<&Folder>,
) -> Result<Report, ScenarioError> {
    let began = Instant::now();
    let Options { threads, max_memory, keep_going, progress, stop, .. } = *options;
    if !world.already.is_empty() && !keep_going {
        let (verdicts, complete) = (with_known(world, Vec::new()), false);
        return Ok(Report { verdicts, complete, ..Report::nothing(began) });
    }
    let limits = Limits { threads, reduction: false, max_memory, keep_going, progress, stop };
    let mut found = match (&options.walks, folder) {
        (Some(walks), _) => walk(world, &limits, walks),
        (None, None) => explore(world, &limits),
        (None, Some(folder)) => disk::explore(world, &limits, folder, "all")?,
    };
    found.memories.clear();
    let tell = |property, moves: &[Move]| counterexample::tell(world, property, moves, None);
    let mut verdicts = verdicts(world.judged(), &found, tell);
    let termination = verdicts.iter_mut().find(|verdict| verdict.property == Property::Termination);
    if let Some(verdict) = termination
        && verdict.holds == Some(true)
        && found.met_again
    {
        // About what a state takes: a row, its number by fingerprint, the way to it and from it.
        let bytes = 16 * world.nodes + 250;
        match endless_run(world, max_memory / bytes, stop) {
            Ok(None) => {}
            Ok(Some((moves, begins))) => {
                verdict.holds = Some(false);
                let told = counterexample::tell(world, Property::Termination, &moves, Some(begins));
                verdict.counterexample = Some(told);
            }
            Err(Unfinished) => verdict.holds = None,
        }
    }
    let mut report = Report::of(&found, with_known(world, verdicts), began);
    report.seconds += found.earlier_seconds;
    Ok(report)
}

/// What was found, but for what the run before the search has violated: that needs no search.
fn with_known(world: &World, found: Vec<Verdict>) -> Vec<Verdict> {
    let verdict = |property| {
        let known = world.already.iter().find(|known| known.property == property);
        if let Some(known) = known {
            let counterexample = Some(counterexample::tell_already(world, known));
            return Verdict { property, holds: Some(false), counterexample };
        }
        let searched = found.iter().find(|verdict| verdict.property == property).cloned();
        searched.unwrap_or(Verdict { property, holds: None, counterexample: None })
    };
    world.judged().iter().map(verdict).collect()
}

/// A run that never ends, whatever is drawn in it: the moves, and from which one on they repeat. Time passes in it,
/// so whatever has to happen happens: it is fair. `Err` if there are more than `most` states, or the search is
/// stopped.
pub(super) fn endless_run(
    world: &World,
    most: usize,
    stop: Option<&AtomicBool>,
) -> Result<Option<(Vec<Move>, usize)>, Unfinished> {
    // What is done once, or so many times, is not done for ever.
    let may_recur = |_: &State, step: Move| {
        use Move::{Deliver, Draw, Expire, Tell, Tick};
        matches!(step, Deliver(_) | Expire { .. } | Tell { .. } | Tick | Draw { .. })
    };
    let graph = Graph::build(world, most, stop, may_recur)?;
    Ok(inescapable(&graph).iter().find_map(|component| {
        let members = rustc_hash::FxHashSet::from_iter(component.iter().copied());
        let inside = |v: usize| members.contains(&v);
        let ticks = |&v: &usize| graph.moves(v).any(|(step, to)| step == Move::Tick && inside(to));
        let entry = component.iter().copied().filter(ticks).min()?;
        let mut moves = graph.way_to(entry);
        let begins = moves.len();
        let after = graph.moves(entry).find(|(step, to)| *step == Move::Tick && inside(*to))?.1;
        moves.push(Move::Tick);
        if after != entry {
            moves.extend(graph.way(after, entry, &inside)?);
        }
        Some((moves, begins))
    }))
}

/// The sets of states, each reachable from each other, in which a run can stay whatever is drawn: the maximal end components
/// of the Markov decision process. Who delivers what when can be chosen, a number cannot: a set that some draw leaves is
/// left with probability 1 by a run that draws there again and again, so states with such a draw belong to none.
fn inescapable(graph: &Graph<'_, World>) -> Vec<Vec<usize>> {
    let draws = |v: usize| graph.moves(v).any(|(step, _)| matches!(step, Move::Draw { .. }));
    let drawing: Vec<usize> = (0..graph.len()).filter(|&v| draws(v)).collect();
    let mut left = rustc_hash::FxHashSet::default();
    loop {
        let components = graph.components(|v| !left.contains(&v));
        let mut set_of = vec![usize::MAX; graph.len()];
        for (number, component) in components.iter().enumerate() {
            component.iter().for_each(|&v| set_of[v] = number);
        }
        let leaves = |v: usize| graph.moves(v).any(|(_, to)| set_of[to] != set_of[v]);
        let before = left.len();
        left.extend(drawing.iter().copied().filter(|&v| set_of[v] != usize::MAX && leaves(v)));
        if left.len() == before {
            return components;
        }
    }
}
