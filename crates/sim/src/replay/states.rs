//! Runs a recorded run again step by step, for whoever wants to look at the nodes meanwhile.

use std::fmt;
use std::ops::ControlFlow;

use serde_json::Value as Json;
use skeptron_core::NodeId;

use super::ledger::expected;
use super::{Mismatch, ReplayError, Replayed};
use crate::trace::{Record, Trace};
use crate::value::Value;

/// The nodes of a run that is run again, whatever they are for.
pub(super) trait System: Send {
    /// Starts the nodes.
    fn start(&mut self);

    /// Takes the record that stands in that line of the trace's file.
    fn take(&mut self, line: usize, record: &Record) -> Result<(), Mismatch>;

    /// What must be the next record, if a node is still at work.
    fn due(&self) -> Option<&Record>;

    /// What a node knows; `None` if it is down.
    fn state(&self, node: NodeId) -> Option<Value>;

    /// The kind of a message on its way, and what is written beside it.
    fn message(&self, id: u64) -> Option<(&'static str, String)>;

    /// The alarms that a node has set, by name.
    fn alarms(&self, node: NodeId) -> Vec<Json>;

    /// The same nodes once more, as they are now.
    fn fork(&self) -> Box<dyn System>;

    /// What it comes to.
    fn end(self: Box<Self>) -> Replayed;
}

/// Is told what a node knows: at the beginning (`None`) or since the record with that index. `None`
/// instead of a state: it is down.
pub type Visit<'v> = &'v mut dyn FnMut(Option<usize>, NodeId, Option<&Value>) -> ControlFlow<()>;

/// Runs a trace again, to its end or until `visit` has seen enough.
pub(super) fn run_again(
    mut system: Box<dyn System>,
    trace: &Trace,
    visit: Option<Visit>,
) -> Result<Replayed, ReplayError> {
    system.start();
    go_on(system, trace, 0, visit, &mut |_, _| ())
}

/// Goes on from the record `from` to the end or until `visit` has seen enough. `keep` sees the nodes before each record.
fn go_on(
    mut system: Box<dyn System>,
    trace: &Trace,
    from: usize,
    visit: Option<Visit>,
    keep: &mut dyn FnMut(usize, &dyn System),
) -> Result<Replayed, ReplayError> {
    let mut watch = visit.map(|visit| Watch { visit, known: Vec::new() });
    let records = trace.records.len();
    let nodes = trace.header.setup.nodes();
    if watch.as_mut().is_some_and(|watch| watch.begin(&*system, nodes).is_break()) {
        return Ok(Replayed { records, ..system.end() });
    }
    let at = |line, mismatch| ReplayError::Line { line, mismatch };
    for (i, record) in trace.records.iter().enumerate().skip(from) {
        keep(i, &*system);
        system.take(i + 2, record).map_err(|mismatch| at(i + 2, mismatch))?;
        if watch.as_mut().is_some_and(|watch| watch.look(&*system, i, record).is_break()) {
            return Ok(Replayed { records, ..system.end() });
        }
    }
    match system.due() {
        Some(next) => Err(at(records + 2, Mismatch::End { expected: expected(next) })),
        None => Ok(Replayed { records, ..system.end() }),
    }
}

/// After so many records there is a snapshot of the nodes. One has all that is known of the messages before it: where
/// there were more of them, they would take more memory than the run.
const EVERY: usize = 4096;

/// What nodes know anywhere in one run, for whoever wants to look at it here and there: the nodes are kept as they were
/// now and then, as far as somebody has looked.
#[derive(Default)]
pub struct Snapshots {
    /// Before the records 0, [`EVERY`], 2 · [`EVERY`] and so on.
    taken: Vec<Box<dyn System>>,
}

impl Snapshots {
    /// As [`super::states`], but it begins at some record no later than `from`. It must be the same trace each time.
    ///
    /// # Errors
    /// As [`super::states`].
    pub fn states(&mut self, trace: &Trace, from: usize, visit: Visit) -> Result<(), ReplayError> {
        if self.taken.is_empty() {
            let mut system = super::system(&trace.header)?;
            system.start();
            self.taken.push(system);
        }
        let last = (from / EVERY).min(self.taken.len() - 1);
        let system = self.taken[last].fork();
        let mut keep = |place: usize, system: &dyn System| {
            if place == self.taken.len() * EVERY {
                self.taken.push(system.fork());
            }
        };
        let went = go_on(system, trace, last * EVERY, Some(visit), &mut keep);
        super::check_program(&trace.header)?;
        went.map(drop)
    }
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshots").field("taken", &self.taken.len()).finish()
    }
}

/// Tells of what has changed only.
struct Watch<'v> {
    visit: Visit<'v>,
    /// What each node knew when that was last told.
    known: Vec<Option<Value>>,
}

impl Watch<'_> {
    fn begin(&mut self, system: &dyn System, nodes: usize) -> ControlFlow<()> {
        self.known = NodeId::all(nodes).map(|node| system.state(node)).collect();
        for (node, state) in NodeId::all(nodes).zip(&self.known) {
            (self.visit)(None, node, state.as_ref())?;
        }
        ControlFlow::Continue(())
    }

    fn look(&mut self, system: &dyn System, i: usize, record: &Record) -> ControlFlow<()> {
        if !record.what.is_input() {
            return ControlFlow::Continue(());
        }
        let (node, state) = (record.node, system.state(record.node));
        let known = &mut self.known[node.index()];
        if *known == state {
            return ControlFlow::Continue(());
        }
        *known = state;
        (self.visit)(Some(i), node, known.as_ref())
    }
}
