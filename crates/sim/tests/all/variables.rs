//! The names of the papers: every one of them is a field of a node's state, and whatever changes in a
//! state has a name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use skeptron_core::catalogue::{self, Variable};
use skeptron_core::topology::{Graph, Quorums, Structure, Tree};
use skeptron_core::{NodeId, Setup};
use skeptron_sim::replay::states;
use skeptron_sim::trace::Trace;
use skeptron_sim::{Fault, Latency, Options, PlannedFault, Scenario, election, run};

const NODES: usize = 5;

fn setup() -> Setup {
    let triples = (0..NODES).map(|i| (0..3).map(|j| NodeId::new((i + j) % NODES)).collect());
    let quorums = Quorums::new(triples.collect()).unwrap();
    let setup = Setup::new(NODES).unwrap().with_structure(Structure::maekawa(&quorums)).unwrap();
    let links = (0..NODES).map(|i| (NodeId::new(i), NodeId::new((i + 1) % NODES)));
    let setup = setup.with_graph(Graph::of_links(NODES, links).unwrap()).unwrap();
    setup.with_quorums(quorums).unwrap().with_tree(Tree::balanced(NODES, 2)).unwrap()
}

/// The fields of a state's `Debug` form: `Name { a: 1, b: Some(Inner { c: 2 }) }`.
fn fields(text: &str) -> Vec<(&str, &str)> {
    let Some(start) = text.find('{') else { return Vec::new() };
    let (mut depth, mut begin, mut parts) = (0, start + 1, Vec::new());
    for (at, symbol) in text.char_indices() {
        match symbol {
            '{' | '[' => depth += 1,
            '(' if depth > 0 => depth += 1,
            '}' | ']' => depth -= 1,
            ')' if depth > 0 => depth -= 1,
            ',' if depth == 1 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        if depth == 0 && at > start {
            parts.push(&text[begin..at]);
            break;
        }
    }
    let named = parts.into_iter().filter_map(|part| part.trim().split_once(": "));
    named.filter(|(name, _)| name.chars().all(|c| c.is_ascii_lowercase() || c == '_')).collect()
}

/// All fields, also those within others: `token` and `token.queue`.
fn paths(prefix: &str, text: &str, found: &mut BTreeMap<String, String>) {
    for (name, value) in fields(text) {
        let path = format!("{prefix}{name}");
        paths(&format!("{path}."), value, found);
        found.insert(path, value.to_string());
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
        let mut known: Vec<BTreeMap<String, String>> = vec![BTreeMap::new(); NODES];
        states(trace, &mut |record, node, state| {
            let mut now = BTreeMap::new();
            paths("", state.unwrap_or_default(), &mut now);
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
fn fields_of_states_are_found() {
    let mut found = BTreeMap::new();
    let text = "Outer(Node { me: P1, set: {P2, P3}, token: Some(Token { ln: [1, 0], q: [] }) })";
    paths("", text, &mut found);
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["me", "set", "token", "token.ln", "token.q"]);
    assert_eq!((&found["set"][..], &found["token.ln"][..]), ("{P2, P3}", "[1, 0]"));
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
