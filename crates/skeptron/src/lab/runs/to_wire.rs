//! A run as the page is told of it.

use skeptron_core::catalogue::{self, Algorithm, ElectionInfo, Layout};
use skeptron_core::topology::Structure;
use skeptron_core::{NodeId, Setup};
use skeptron_sim::trace::{Loss, Record, What, message, words};
use skeptron_sim::{Fault, Faults, PlannedFault};

use super::message_log::MessageLog;
use crate::lab::wire::{AlgorithmKind, Partition, RecordKind, RunRecord, Topology};

/// A node as the page counts.
pub(super) fn number(node: NodeId) -> u32 {
    u32::try_from(node.index() + 1).unwrap_or(u32::MAX)
}

fn numbers<'a>(nodes: impl IntoIterator<Item = &'a NodeId>) -> Vec<u32> {
    nodes.into_iter().map(|&node| number(node)).collect()
}

/// Which kind of algorithm that is.
pub(super) fn kind(algorithm: &str) -> AlgorithmKind {
    match Algorithm::find(algorithm) {
        Some(Algorithm::Election(_)) => AlgorithmKind::Election,
        _ => AlgorithmKind::Mutex,
    }
}

/// The highest random number that nodes draw; 0 where nothing is drawn.
pub(super) fn draws(algorithm: &str, nodes: usize) -> usize {
    let draws = |info: &ElectionInfo| info.is_randomised();
    if catalogue::find_election(algorithm).is_some_and(draws) { nodes } else { 0 }
}

/// How the nodes are laid out, as far as the algorithm looks at it.
pub(super) fn topology(algorithm: &str, setup: &Setup) -> Topology {
    let layout = match Algorithm::find(algorithm) {
        Some(Algorithm::Mutex(info)) => info.layout,
        Some(Algorithm::Election(info)) => info.layout,
        None => Layout::None,
    };
    let all = || NodeId::all(setup.nodes());
    let none = Topology::default();
    match layout {
        Layout::Coordinator => Topology { coordinator: Some(number(setup.coordinator())), ..none },
        Layout::Quorums => {
            let quorums = setup.quorums().map(|all| all.iter().map(numbers).collect());
            Topology { quorums, ..none }
        }
        Layout::Structure => match setup.structure() {
            Some(structure) => of_structure(structure),
            None => none,
        },
        Layout::Tree => {
            let tree = setup.tree().map(|tree| all().map(|n| tree.parent(n).map(number)).collect());
            Topology { tree, ..none }
        }
        Layout::ReadWrite => {
            let quorums = setup.read_write().map(|s| all().map(|n| numbers(s.of(n))).collect());
            Topology { quorums, ..none }
        }
        Layout::Ring => {
            let ring =
                setup.ring().map_or_else(|| all().map(number).collect(), |r| numbers(r.order()));
            Topology { ring: Some(ring), ..none }
        }
        Layout::Graph => {
            let linked = |a| setup.graph().into_iter().flat_map(move |graph| graph.of(a));
            let links = all().flat_map(|a| linked(a).map(move |&b| (number(a), number(b))));
            Topology { links: Some(links.filter(|(a, b)| a < b).collect()), ..none }
        }
        Layout::Clusters => {
            // Members below their coordinators, and those below the first.
            let clusters = setup.clusters();
            let parent = |node| match clusters.coordinator(node) {
                coordinator if coordinator != node => Some(number(coordinator)),
                _ => all().next().filter(|&first| first != node).map(number),
            };
            Topology { tree: Some(all().map(parent).collect()), ..none }
        }
        Layout::Detector => {
            let parent = |node: NodeId| (node.index() as u32).checked_sub(1).map(|i| i / 2 + 1);
            Topology { tree: Some(all().map(parent).collect()), ..none }
        }
        Layout::None | Layout::Arbitration if algorithm.starts_with("token-ring") => {
            Topology { ring: Some(all().map(number).collect()), ..none }
        }
        Layout::Beginning => Topology { ring: Some(all().map(number).collect()), ..none },
        Layout::None | Layout::Arbitration | Layout::Capacity => none,
    }
}

fn of_structure(structure: &Structure) -> Topology {
    let all = || NodeId::all(structure.nodes());
    let lists = |set: &dyn Fn(NodeId) -> Vec<u32>| Some(all().map(set).collect());
    Topology {
        request: lists(&|node| structure.request(node).iter().map(number).collect()),
        inform: lists(&|node| structure.inform(node).iter().map(number).collect()),
        ..Topology::default()
    }
}

/// The cuts of the network that the options plan.
pub(super) fn partitions(faults: &Faults) -> Vec<Partition> {
    let partition = |planned: &PlannedFault| match &planned.fault {
        Fault::Cut(cut) => Some(Partition {
            begins: planned.from,
            ends: planned.until,
            from: cut.from.iter().map(number).collect(),
            to: cut.to.iter().map(number).collect(),
            both_ways: cut.both_ways,
        }),
        Fault::Crash(_) | Fault::Pause(_) => None,
    };
    faults.planned.iter().filter_map(partition).collect()
}

/// One record, which may be what a hand did.
pub(super) fn record(record: &Record, messages: &MessageLog, by_hand: bool) -> RunRecord {
    let ends = |id| {
        let sent = messages.find(id)?;
        Some((sent.from, sent.to, message::name(&sent.label, &sent.payload)))
    };
    let mut told = RunRecord {
        t: record.t,
        node: number(record.node),
        kind: kind_of(&record.what),
        text: words(&record.what, ends),
        message: None,
        of: None,
        to: None,
        label: None,
        content: None,
        payload: None,
        fence: None,
        whom: None,
        number: None,
        leader: None,
        epoch: None,
        cause: None,
        property: None,
        by_hand: by_hand.then_some(true),
        becomes: None,
    };
    match &record.what {
        What::Send { id, to, label, .. } => {
            told.message = Some(*id);
            told.to = Some(number(*to));
            told.label = Some(label.to_string());
            if let Some(sent) = messages.find(*id) {
                let said = |text: &String| (!text.is_empty()).then(|| text.clone());
                (told.content, told.payload) = (said(&sent.content), said(&sent.payload));
            }
        }
        What::Deliver { id } => told.message = Some(*id),
        What::Lose { id, cause } => {
            told.message = Some(*id);
            told.cause = Some(loss(*cause).into());
        }
        What::Duplicate { id, of } => {
            told.message = Some(*id);
            told.of = Some(*of);
        }
        What::Suspect { whom } | What::Trust { whom } => told.whom = Some(number(*whom)),
        What::Draw { number } => told.number = Some(*number),
        What::Enter { fence } => told.fence = Some(*fence),
        What::Elect { leader, epoch } => {
            told.leader = Some(number(*leader));
            told.epoch = Some(epoch.to_string());
        }
        What::Violation { property, .. } => told.property = Some(property.clone()),
        _ => {}
    }
    told
}

fn loss(cause: Loss) -> &'static str {
    match cause {
        Loss::Chance => "chance",
        Loss::Partition => "partition",
        Loss::Down => "down",
        Loss::Hand => "hand",
    }
}

fn kind_of(what: &What) -> RecordKind {
    match what {
        What::Request => RecordKind::Request,
        What::Release => RecordKind::Release,
        What::Deliver { .. } => RecordKind::Deliver,
        What::Crash => RecordKind::Crash,
        What::Restart => RecordKind::Restart,
        What::Pause => RecordKind::Pause,
        What::Resume => RecordKind::Resume,
        What::Lose { .. } => RecordKind::Lose,
        What::Duplicate { .. } => RecordKind::Duplicate,
        What::Call => RecordKind::Call,
        What::Suspect { .. } => RecordKind::Suspect,
        What::Trust { .. } => RecordKind::Trust,
        What::Draw { .. } => RecordKind::Draw,
        What::Expire { .. } => RecordKind::Expire,
        What::Send { .. } => RecordKind::Send,
        What::Enter { .. } => RecordKind::Enter,
        What::Arm { .. } => RecordKind::Arm,
        What::Disarm { .. } => RecordKind::Disarm,
        What::Elect { .. } => RecordKind::Elect,
        What::Refuse { .. } => RecordKind::Refuse,
        What::Violation { .. } => RecordKind::Violation,
    }
}
