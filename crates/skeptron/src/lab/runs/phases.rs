//! What the nodes of an election are doing: their own state says it, for a node may take part in an
//! election that it has not called.

use std::collections::HashMap;
use std::ops::ControlFlow;

use anyhow::Result;
use skeptron_core::NodeId;
use skeptron_sim::replay::states;
use skeptron_sim::trace::{Trace, What};
use skeptron_sim::value::Value;

use super::states::{told, variables};
use super::to_wire::{kind, number};
use crate::lab::wire::{AlgorithmKind, NodeState, Phase};

/// Variables that say that an election is under way, by what they say when none is.
const UNDER_WAY: [(&str, &[&str]); 4] = [
    ("participant", &["no"]),
    ("waiting", &["no"]),
    ("under_way", &["no"]),
    ("phase", &["idle", "rest", "pausing"]),
];
/// The variable that names the leader, where there is one.
const LEADER: &str = "leader";

/// What the nodes of a run are doing; nothing of mutual exclusion, where the records say it.
#[derive(Debug, Default)]
pub(super) struct Phases {
    /// Before anything happens.
    pub(super) at_first: Vec<Phase>,
    /// After the step that begins with a record, where it is another thing than before.
    becomes: HashMap<usize, Phase>,
}

impl Phases {
    /// # Errors
    /// If the nodes do not do what the run says.
    pub(super) fn of(trace: &Trace) -> Result<Self> {
        let header = &trace.header;
        if kind(&header.algorithm) != AlgorithmKind::Election {
            return Ok(Phases::default());
        }
        let mut sites = vec![Site::default(); header.setup.nodes()];
        let mut changes: HashMap<usize, NodeState> = HashMap::new();
        let variables = variables(&header.algorithm);
        let mut visit = |record: Option<usize>, node: NodeId, state: Option<&Value>| {
            let state = told(state, variables);
            match record {
                Some(record) => drop(changes.insert(record, state)),
                None => sites[node.index()].begin(node, &state),
            }
            ControlFlow::Continue(())
        };
        states(trace, &mut visit)?;
        let at_first: Vec<Phase> = sites.iter().map(Site::phase).collect();
        let (mut now, mut becomes, mut step) = (at_first.clone(), HashMap::new(), 0);
        for (place, record) in trace.records.iter().enumerate() {
            if record.what.is_input() {
                step = place;
            }
            let site = &mut sites[record.node.index()];
            if let Some(state) = changes.get(&place) {
                site.take(state);
            }
            if let What::Elect { leader, .. } = record.what {
                site.elected = leader == record.node;
            }
            let (phase, known) = (site.phase(), &mut now[record.node.index()]);
            if phase != *known {
                *known = phase;
                becomes.insert(step, phase);
            }
        }
        Ok(Phases { at_first, becomes })
    }

    /// What the node of a record is doing after the step that it begins, if that is new.
    pub(super) fn after(&self, record: usize) -> Option<Phase> {
        self.becomes.get(&record).copied()
    }
}

/// What is known of a node.
#[derive(Clone, Default)]
struct Site {
    down: bool,
    electing: bool,
    /// Whether it has named itself last, or led from the beginning.
    elected: bool,
}

impl Site {
    /// What it is before anything happens: who takes itself for the leader leads.
    fn begin(&mut self, node: NodeId, state: &NodeState) {
        self.take(state);
        let leader = state.vars.iter().find(|variable| variable.field == LEADER);
        self.elected = leader.is_some_and(|leader| leader.value == format!("P{}", number(node)));
    }

    fn take(&mut self, state: &NodeState) {
        let value = |field: &str| state.vars.iter().find(|variable| variable.field == field);
        let under_way = UNDER_WAY.iter().find_map(|&(field, rest)| Some((value(field)?, rest)));
        self.electing = under_way.is_some_and(|(found, rest)| !rest.contains(&&*found.value));
        // Who comes back has named nobody.
        self.elected &= state.up;
        self.down = !state.up;
    }

    fn phase(&self) -> Phase {
        match () {
            () if self.down => Phase::Down,
            () if self.electing => Phase::Waiting,
            () if self.elected => Phase::Inside,
            () => Phase::Idle,
        }
    }
}
