//! A counterexample, told as steps that anybody can follow.

use std::fmt;

use serde::{Deserialize, Serialize};
use skeptron_member::MemberId;

use super::local::{Action, Input, Memory, Outcome};
use super::state::{Move, NO_CELL, State};
use super::world::World;
use crate::model::Model as _;
use crate::property::Property;

/// How a property is violated, in as few steps as possible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterexample {
    /// What happens, from the initial state on.
    pub steps: Vec<String>,
    /// What is wrong then.
    pub detail: String,
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:>4}. {step}", number + 1)?;
        }
        write!(f, "      {}", self.detail)
    }
}

/// Follows the moves and says what is wrong at their end.
pub(super) fn tell(world: &World, property: Property, moves: &[Move]) -> Counterexample {
    let mut memory = world.memory(false);
    let mut state = world.start.clone();
    let mut steps = Vec::new();
    let mut last = None;
    for &step in moves {
        let outcome = world.outcome(&mut memory, &state, step);
        let mut told = describe(world, &memory, &state, step);
        if let Some((_, outcome)) = &outcome {
            told.push_str(&consequences(&memory, outcome));
        }
        steps.push(told);
        world.take(&mut memory, &mut state, step);
        last = outcome;
    }
    let names = |places: Vec<usize>| {
        let names: Vec<String> = places.into_iter().map(|i| MemberId::at(i).to_string()).collect();
        names.join(" and ")
    };
    let detail = match property {
        Property::Exclusion => {
            format!("{} hold the lock", names(world.holders(&mut memory, &state)))
        }
        Property::Progress => {
            let waiters = names(world.waiters(&mut memory, &state));
            format!("nobody holds the lock and nothing more happens, but {waiters} still waits")
        }
        Property::Rest => {
            let who = world.unsettled(&mut memory, &state).map_or_else(String::new, name_of);
            format!("nothing more happens, but {who} has not heard of all members of its view")
        }
        Property::Fence => "the fence is not higher than those given out before".to_string(),
        _ => match last {
            Some((member, outcome)) => {
                let trouble = memory.trouble(&outcome).unwrap_or("goes wrong");
                format!("{} {trouble}", name_of(member.into()))
            }
            None => String::new(),
        },
    };
    Counterexample { steps, detail }
}

fn name_of(member: usize) -> String {
    MemberId::at(member).to_string()
}

fn describe(world: &World, memory: &Memory<'_>, state: &State, step: Move) -> String {
    let name = |member: u8| name_of(member.into());
    match step {
        Move::Ask(member) => format!("{} asks for the lock", name(member)),
        Move::Release(member) => format!("{} releases the lock", name(member)),
        Move::Cancel { member, nth } => format!("{} cancels wait {}", name(member), nth + 1),
        Move::Deliver { from, to } => {
            let label = match world.input(state, step) {
                Some((_, Input::Deliver(message))) => memory.label(message),
                _ => String::new(),
            };
            format!("{} receives from {}: {label}", name(to), name(from))
        }
        Move::Reset { from, to } => {
            format!("what the former {} sent to {} is lost", name(from), name(to))
        }
        Move::Install { member, epoch } => {
            let begins = state.sites[member as usize].local == NO_CELL;
            let verb = if begins { "begins in" } else { "installs" };
            format!("{} {verb} the view of epoch {epoch}", name(member))
        }
        Move::Renumber | Move::Exclude(_) | Move::Rejoin(_) | Move::Away(_) | Move::Back(_) => {
            let change = match step {
                Move::Exclude(member) => format!("without {}", name(member)),
                Move::Away(member) => format!("while {} is away", name(member)),
                Move::Back(member) => format!("with {} again", name(member)),
                Move::Rejoin(member) => format!("with a new life of {}", name(member)),
                _ => "with the same members".to_string(),
            };
            format!("a view of epoch {} is decided, {change}", state.views.latest() + 1)
        }
        Move::Crash(member) => format!("{} crashes", name(member)),
        Move::Strike(member) => format!("{} counts nobody as away any more", name(member)),
        Move::EndLease(member) => format!("the lease of {} ends", name(member)),
    }
}

/// What a step leads to.
fn consequences(memory: &Memory<'_>, outcome: &Outcome) -> String {
    let actions = memory.actions(outcome).iter().map(|&action| match action {
        Action::Send { to, message } => {
            format!("sends {} to {}", memory.label(message), name_of(to.into()))
        }
        Action::Enter(fence) => format!("enters with fence {fence:?}"),
    });
    let told: Vec<String> = actions.collect();
    if told.is_empty() { String::new() } else { format!(" → {}", told.join("; ")) }
}
