//! The names of the papers: every one of them is a field of a node's state, and whatever changes in a
//! state has a name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use skeptron_core::catalogue::{self, Variable};
use skeptron_core::topology::{Graph, Quorums, ReadWrite, ReadWriteKind, Structure, Tree};
use skeptron_core::{NodeId, Setup};
use skeptron_sim::replay::states;
use skeptron_sim::trace::Trace;
use skeptron_sim::value::Value;
use skeptron_sim::{Fault, Latency, Options, PlannedFault, Scenario, election, run};

const NODES: usize = 5;

fn setup() -> Setup {
    let triples = (0..NODES).map(|i| (0..3).map(|j| NodeId::new((i + j) % NODES)).collect());
    let quorums = Quorums::new(triples.collect()).unwrap();
    let setup = Setup::new(NODES).unwrap().with_structure(Structure::maekawa(&quorums)).unwrap();
    let links = (0..NODES).map(|i| (NodeId::new(i), NodeId::new((i + 1) % NODES)));
    let setup = setup.with_graph(Graph::of_links(NODES, links).unwrap()).unwrap();
    let setup = setup.with_quorums(quorums).unwrap();
    let readers = [NodeId::new(0), NodeId::new(1)].into_iter().collect();
    let system = ReadWrite::of_kind(ReadWriteKind::Majority, NODES, readers).unwrap();
    let setup = setup.with_read_write(system).unwrap();
    setup.with_tree(Tree::balanced(NODES, 2)).unwrap()
}

/// All fields, also those within others: `token` and `token.queue`.
fn paths(prefix: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Some(inner) | Value::Variant(_, inner) => paths(prefix, inner, found),
        Value::Fields(_, fields) => {
            for (name, value) in fields {
                let path = format!("{prefix}{name}");
                paths(&format!("{path}."), value, found);
                found.insert(path, value.clone());
            }
        }
        _ => {}
    }
}

/// Which fields there are in the states of a run, and which change.
#[derive(Default)]
struct Seen {
    all: BTreeSet<String>,
    changing: BTreeSet<String>,
}

impl Seen {
    fn watch(&mut self, trace: &Trace) {
        let mut known: Vec<BTreeMap<String, Value>> = vec![BTreeMap::new(); NODES];
        states(trace, &mut |record, node, state| {
            let mut now = BTreeMap::new();
            if let Some(state) = state {
                paths("", state, &mut now);
            }
            self.all.extend(now.keys().cloned());
            let before = &mut known[node.index()];
            if record.is_some() && state.is_some() && !before.is_empty() {
                let changed = now.iter().filter(|&(path, value)| before.get(path) != Some(value));
                self.changing.extend(changed.map(|(path, _)| path.clone()));
            }
            *before = now;
            ControlFlow::Continue(())
        })
        .unwrap();
    }

    fn judge(&self, name: &str, variables: &[Variable]) {
        assert!(!self.changing.is_empty(), "{name}: nothing ever changes");
        for variable in variables {
            let Variable { field, symbol, meaning, .. } = variable;
            assert!(self.all.contains(*field), "{name}: there is no {field} in {:?}", self.all);
            assert!(!symbol.is_empty() && !meaning.is_empty(), "{name}: {field}");
        }
        let holds = |path: &str, field: &str| {
            path.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        for path in &self.changing {
            // What holds named fields changes with them.
            let named = |variable: &Variable| {
                holds(path, variable.field) || variable.field.starts_with(&format!("{path}."))
            };
            assert!(variables.iter().any(named), "{name}: {path} has no name");
        }
    }
}

#[test]
fn every_variable_of_a_mutex_is_a_field_and_every_field_that_changes_is_a_variable() {
    let options = Options { record: true, most_records: Some(2000), ..Options::default() };
    for info in catalogue::all() {
        let mut seen = Seen::default();
        for seed in 1..=3 {
            let mut scenario = Scenario { seed, entries: 30, ..Scenario::new(setup()) };
            scenario.latency = Latency::parse("uniform:0.1..3", NODES).unwrap();
            seen.watch(&run(info, &scenario, &options).unwrap().trace.unwrap());
        }
        seen.judge(info.name, info.variables);
    }
}

#[test]
fn every_variable_of_an_election_is_a_field_and_every_field_that_changes_is_a_variable() {
    let options = Options { record: true, most_records: Some(2000), ..Options::default() };
    for info in catalogue::elections() {
        let mut seen = Seen::default();
        for seed in 1..=3 {
            let mut scenario = election::Scenario { seed, ..election::Scenario::new(setup()) };
            scenario.latency = Latency::parse("uniform:0.1..3", NODES).unwrap();
            for (node, from) in [(4, 3000), (1, 9000), (3, 15_000)] {
                let fault = Fault::Crash(NodeId::new(node));
                let until = Some(from + 20_000);
                scenario.faults.planned.push(PlannedFault { from, until, fault });
            }
            seen.watch(&election::run(info, &scenario, &options).unwrap().trace.unwrap());
        }
        seen.judge(info.name, info.variables);
    }
}
