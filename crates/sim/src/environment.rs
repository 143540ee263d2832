//! What a run has around its nodes, whatever they are for: time, the network, what goes wrong, the hand that
//! interferes, and what is kept of it all.

use skeptron_core::catalogue::Order;
use skeptron_core::{NodeId, Refused};

use crate::engine::Mixing;
use crate::faults::Faults;
use crate::hand::{Hand, Played};
use crate::metrics::{Violation, units};
use crate::network::{Latency, Network};
use crate::recorder::Recorder;
use crate::run::Options;
use crate::trace::{Loss, Ticks, What};
use crate::trace_hash::TraceHash;
use crate::troubles::Troubles;

/// No more violations are kept than this, and the run ends.
pub(crate) const MOST_VIOLATIONS: usize = 100;

/// The surroundings of nodes.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) nodes: usize,
    pub(crate) now: Ticks,
    pub(crate) order: Order,
    /// What alarms count in.
    pub(crate) bound: Ticks,
    pub(crate) network: Network,
    pub(crate) troubles: Troubles,
    pub(crate) played: Played,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) most_records: usize,
    /// Whether the run would have gone on with more records.
    pub(crate) cut_short: bool,
    pub(crate) violations: Vec<Violation>,
    pub(crate) hash: TraceHash,
    pub(crate) events: u64,
    /// How many alarms rang.
    pub(crate) alarms: u64,
    pub(crate) refused: u64,
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
}

/// What the network does with a message that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    Lost,
    Once,
    /// A copy with this number goes before it.
    Twice(u32),
}

impl Environment {
    pub(crate) fn new(
        nodes: usize,
        seed: u64,
        latency: &Latency,
        order: Order,
        faults: &Faults,
        hand: &Hand,
    ) -> Self {
        Environment {
            nodes,
            now: 0,
            order,
            bound: 0,
            network: Network::new(latency.clone(), order, nodes, seed, !hand.acts.is_empty()),
            troubles: Troubles::new(faults, nodes, seed),
            played: Played::new(hand),
            recorder: None,
            most_records: usize::MAX,
            cut_short: false,
            violations: Vec::new(),
            hash: TraceHash::new(seed),
            events: 0,
            alarms: 0,
            refused: 0,
            lost: 0,
            duplicated: 0,
        }
    }

    /// Keeps what the options want kept.
    pub(crate) fn with(self, options: &Options) -> Self {
        Environment {
            recorder: options.record.then(Recorder::default),
            most_records: options.most_records.unwrap_or(usize::MAX),
            ..self
        }
    }

    /// Mixes what happens now into the trace hash.
    #[inline(always)]
    pub(crate) fn mix(&mut self, mixing: Mixing, code: u64, node: NodeId, detail: u64) {
        let node = (node.index() as u64) << mixing.shift;
        self.hash.mix(self.now.rotate_left(32) ^ node ^ code, detail);
    }

    pub(crate) fn record(&mut self, node: NodeId, what: impl FnOnce() -> What) {
        if let Some(recorder) = &mut self.recorder {
            recorder.now(self.now, node, what());
        }
    }

    /// How much has been recorded.
    pub(crate) fn records(&self) -> usize {
        self.recorder.as_ref().map_or(0, Recorder::len)
    }

    pub(crate) fn violate(&mut self, node: NodeId, property: &'static str, detail: String) {
        if self.violations.len() < MOST_VIOLATIONS {
            self.record(node, || What::Violation {
                property: property.into(),
                detail: detail.clone(),
            });
            self.violations.push(Violation { property, at: units(self.now), detail });
        }
    }

    /// Refusing an input of a correct peer or of a correct application is a violation; where peers may
    /// be `faulty` it is only counted.
    #[cold]
    pub(crate) fn refuse(&mut self, node: NodeId, refused: Refused, faulty: bool) {
        self.refused += 1;
        self.record(node, || What::Refuse { why: refused.to_string() });
        let peers_are_faulty = matches!(refused, Refused::Unexpected(_)) && faulty;
        if !peers_are_faulty {
            self.violate(node, "refused", format!("{node} refuses: {refused}"));
        }
    }

    /// A message sets out.
    #[inline(always)]
    pub(crate) fn send(&mut self, from: NodeId, to: NodeId, id: u32) -> Passing {
        if self.troubles.befall_messages() {
            self.pass_through_troubles(from, to, id)
        } else {
            Passing::Once
        }
    }

    fn pass_through_troubles(&mut self, from: NodeId, to: NodeId, id: u32) -> Passing {
        if let Some(cause) = self.troubles.loses(from, to) {
            self.lose(from, id, cause);
            return Passing::Lost;
        }
        if self.troubles.duplicates() { self.copy(from, id) } else { Passing::Once }
    }

    #[cold]
    fn lose(&mut self, from: NodeId, id: u32, cause: Loss) {
        self.lost += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.later(self.now, from, What::Lose { id: u64::from(id), cause });
        }
    }

    #[cold]
    fn copy(&mut self, from: NodeId, id: u32) -> Passing {
        self.duplicated += 1;
        let (now, recorder) = (self.now, self.recorder.as_mut());
        Passing::Twice(recorder.map_or(0, |recorder| recorder.duplicate(now, from, id)))
    }

    /// A message finds its receiver down.
    #[cold]
    pub(crate) fn find_down(&mut self, from: NodeId, id: u32) {
        self.lost += 1;
        self.record(from, || What::Lose { id: u64::from(id), cause: Loss::Down });
    }
}
