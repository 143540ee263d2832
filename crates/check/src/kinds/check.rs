//! From a question to its answer.

use std::time::Instant;

use skeptron_core::catalogue::Info;

use super::counterexample;
use super::scenario::{KindsError, KindsScenario};
use super::world::World;
use crate::check::{Options, Report, verdicts};
use crate::explorer::{Limits, explore};
use crate::model::Model as _;

/// Explores every interleaving of `scenario` with `info` as the inner lock, and judges each. Fences are watched in
/// every state: those of kinds do not follow from exclusion alone.
///
/// # Errors
/// If the scenario cannot be explored.
pub fn check_kinds(
    info: &Info,
    scenario: &KindsScenario,
    options: &Options<'_>,
) -> Result<Report, KindsError> {
    let began = Instant::now();
    let world = World::new(info, scenario)?;
    let Options { threads, max_memory, keep_going, progress, stop, .. } = *options;
    let limits = Limits { threads, reduction: false, max_memory, keep_going, progress, stop };
    let mut found = explore(&world, &limits);
    found.memories.clear();
    let tell = |property, moves: &[_]| counterexample::tell(&world, property, moves);
    let verdicts = verdicts(world.judged(), &found, tell);
    Ok(Report::of(&found, verdicts, began))
}
