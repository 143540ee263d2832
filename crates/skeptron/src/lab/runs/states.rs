//! What the nodes know at each step, a chunk of records at a time.

use std::ops::{ControlFlow, Range};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use skeptron_core::NodeId;
use skeptron_core::catalogue::{Algorithm, Variable as Named};
use skeptron_sim::replay::Snapshots;
use skeptron_sim::trace::Trace;
use skeptron_sim::value::Value;

use super::to_wire::number;
use crate::lab::wire::{NodeState, StateChange, StateChunk, Variable};

/// How many records a chunk has.
pub(super) const CHUNK: usize = 256;

/// How many chunks a run has.
pub(super) fn count(trace: &Trace) -> usize {
    trace.records.len().div_ceil(CHUNK).max(1)
}

/// What the nodes know in the chunk of that number.
///
/// # Errors
/// If the run has fewer chunks.
pub(super) fn chunk(trace: &Trace, chunk: usize, snapshots: &mut Snapshots) -> Result<StateChunk> {
    let known = count(trace);
    ensure!(chunk < known, "there is no chunk {chunk} of states; the run has {known}, from 0 on");
    let mut chunks = chunks(trace, chunk..chunk + 1, snapshots)?;
    chunks.pop().context("every chunk has a beginning")
}

/// What the nodes know in the chunks of these numbers.
///
/// # Errors
/// If the run is not what its nodes do.
pub(super) fn chunks(
    trace: &Trace,
    which: Range<usize>,
    snapshots: &mut Snapshots,
) -> Result<Vec<StateChunk>> {
    let variables = variables(&trace.header.algorithm);
    let (from, to) = (which.start * CHUNK, which.end * CHUNK);
    let mut now: Vec<Option<Value>> = vec![None; trace.header.setup.nodes()];
    let mut chunks: Vec<StateChunk> = Vec::new();
    // All chunks up to one begin with what is known now.
    let begin = |chunks: &mut Vec<StateChunk>, now: &[Option<Value>], last: usize| {
        for chunk in which.start + chunks.len()..=last {
            let start = now.iter().map(|state| told(state.as_ref(), variables)).collect();
            chunks.push(StateChunk { chunk, start, changes: Vec::new() });
        }
    };
    let mut visit = |record: Option<usize>, node: NodeId, state: Option<&Value>| {
        match record {
            Some(record) if record >= to => return ControlFlow::Break(()),
            Some(record) if record >= from => {
                begin(&mut chunks, &now, record / CHUNK);
                let change =
                    StateChange { record, node: number(node), state: told(state, variables) };
                chunks.last_mut().expect("it has begun").changes.push(change);
            }
            _ => {}
        }
        now[node.index()] = state.cloned();
        ControlFlow::Continue(())
    };
    snapshots.states(trace, from, &mut visit)?;
    begin(&mut chunks, &now, which.end - 1);
    Ok(chunks)
}

/// The variables of an algorithm, under the names of its paper.
pub(super) fn variables(algorithm: &str) -> &'static [Named] {
    match Algorithm::find(algorithm) {
        Some(Algorithm::Mutex(info)) => info.variables,
        Some(Algorithm::Election(info)) => info.variables,
        None => &[],
    }
}

/// What is known of a node that is down.
pub(super) const DOWN: NodeState = NodeState { up: false, vars: Vec::new() };

/// A state by its variables; none is that of a node that is down.
pub(super) fn told(state: Option<&Value>, variables: &[Named]) -> NodeState {
    let Some(state) = state else { return DOWN };
    let variable = |named: &Named| {
        let (value, data) = match state.field(named.field) {
            Some(value) if named.symbol == "token" => presence(value),
            Some(value) if named.field.ends_with(PHASE) => {
                let phase = phase(value);
                (phase.clone(), phase.into())
            }
            Some(value) => (value.written(), value.data()),
            None => (NOTHING.into(), Json::Null),
        };
        Variable { field: named.field.into(), value, data }
    };
    NodeState { up: true, vars: variables.iter().map(variable).collect() }
}

/// How the field is called that says what a node is doing.
const PHASE: &str = "phase";

/// What a node is doing, and what it carries meanwhile: `waiting`, `accepting P1`.
fn phase(value: &Value) -> String {
    match value {
        Value::Variant(name, _) | Value::Fields(name, _) => {
            format!("{} {}", name.to_lowercase(), value.written())
        }
        _ => value.written(),
    }
}

/// What is written where there is nothing.
const NOTHING: &str = "–";

/// Whether the token is there; what it carries has names of its own.
fn presence(token: &Value) -> (String, Json) {
    match token.written().as_str() {
        NOTHING | "no" => (NOTHING.into(), false.into()),
        _ => ("here".into(), true.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    const VARIABLES: [Named; 4] = [
        Named::new("phase", "state", "idle, waiting or inside"),
        Named::new("rn", "RN", "the highest request number seen of each node"),
        Named::new("token", "token", "the token, if it is here"),
        Named::new("token.queue", "Q", "who is served next"),
    ];

    #[derive(Serialize)]
    struct Node {
        me: NodeId,
        phase: Phase,
        rn: Vec<u64>,
        token: Option<Token>,
    }

    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum Phase {
        Waiting,
        Inside,
        Accepting(NodeId),
    }

    #[derive(Serialize)]
    struct Token {
        queue: Vec<NodeId>,
    }

    fn values(phase: Phase, token: Option<Token>) -> Vec<String> {
        let node = Node { me: NodeId::new(0), phase, rn: vec![1, 0], token };
        let told = told(Some(&Value::of(&node)), &VARIABLES);
        told.vars.into_iter().map(|variable| variable.value).collect()
    }

    #[test]
    fn a_state_is_told_by_the_names_of_the_paper() {
        assert_eq!(values(Phase::Waiting, None), ["waiting", "[1, 0]", "–", "–"]);
        let token = Token { queue: vec![NodeId::new(1)] };
        assert_eq!(values(Phase::Inside, Some(token)), ["inside", "[1, 0]", "here", "[P2]"]);
        assert_eq!(values(Phase::Accepting(NodeId::new(0)), None)[0], "accepting P1");
        assert!(!told(None, &VARIABLES).up);
    }
}
