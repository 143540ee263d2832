//! What must hold of a run that is run again, and what its records mean to each family of algorithms.

use skeptron_core::election::{Elected, Notice};
use skeptron_core::monitor::{
    Admission, Exclusion, Fence, Leadership, LeadershipViolation, Progress, SurvivorFences,
};
use skeptron_core::{Entered, Lock, NodeId, Setup, catalogue};

use super::Replayed;
use crate::driver::{Elections, Family, MutualExclusion, Standing};
use crate::trace::What;

/// A property that does not hold, and how that shows.
pub(super) struct Finding {
    pub(super) property: &'static str,
    pub(super) detail: String,
}

/// Judges the runs of a family.
pub(super) trait Judge: Clone + Send + 'static {
    type Family: Family;

    /// Whether its nodes set alarms.
    const TIMED: bool;

    fn new(algorithm: &str, setup: &Setup) -> Self;

    /// The command that a record is, if it is one.
    fn command(what: &What) -> Option<<Self::Family as Family>::Command>;

    /// The record of an event.
    fn record_of(event: <Self::Family as Family>::Event, fence: &mut Fence) -> What;

    /// A node was given a command.
    fn commanded(
        &mut self,
        node: NodeId,
        command: &<Self::Family as Family>::Command,
        is_taken: bool,
    );

    /// A node has taken an input.
    fn stepped(&mut self, view: <Self::Family as Family>::View);

    /// An event of a node is recorded.
    fn happened(&mut self, node: NodeId, what: &What) -> Vec<Finding>;

    /// A node stops whose fence was this.
    fn crash(&mut self, node: NodeId);

    fn restart(&mut self, node: NodeId);

    /// Whether the nodes are in a state from which nothing is promised yet.
    fn awaits_legitimacy(&self) -> bool {
        false
    }

    /// They have come to a legitimate one.
    fn become_legitimate(&mut self) {}

    /// Adds what it knows at the end.
    fn end(self, replayed: Replayed) -> Replayed;
}

/// Only those are inside together who may be, and where nobody may, fences rise.
#[derive(Clone)]
pub(super) struct SectionJudge {
    exclusion: Exclusion,
    progress: Progress,
    fence_monitor: SurvivorFences,
    entries: u64,
    /// Whether the algorithm is self-stabilising, and has not come to a legitimate state.
    stabilises: bool,
    awaits_legitimacy: bool,
}

impl Judge for SectionJudge {
    type Family = MutualExclusion;

    const TIMED: bool = false;

    fn new(algorithm: &str, setup: &Setup) -> Self {
        let info = catalogue::find(algorithm);
        let admission = info.map_or(Admission::ONE, |info| info.admission(setup));
        let stabilises = info.is_some_and(catalogue::Info::is_stabilising);
        let has_detector = info.is_some_and(catalogue::Info::has_detector);
        SectionJudge {
            exclusion: Exclusion::of(admission),
            progress: Progress::new(setup.nodes()),
            fence_monitor: SurvivorFences::new(setup.nodes(), has_detector),
            entries: 0,
            stabilises,
            awaits_legitimacy: stabilises,
        }
    }

    fn command(what: &What) -> Option<Lock> {
        match *what {
            What::Request => Some(Lock::Request),
            What::Release => Some(Lock::Release),
            What::Suspect { whom } => Some(Lock::Suspect(whom)),
            _ => None,
        }
    }

    fn record_of(_: Entered, fence: &mut Fence) -> What {
        What::Enter { fence: fence.enter() }
    }

    fn commanded(&mut self, node: NodeId, command: &Lock, is_taken: bool) {
        match command {
            Lock::Request if is_taken => self.progress.request(node),
            Lock::Release if is_taken => self.exclusion.leave(node),
            _ => {}
        }
    }

    fn stepped(&mut self, (): ()) {}

    fn happened(&mut self, node: NodeId, what: &What) -> Vec<Finding> {
        let What::Enter { fence } = *what else { return Vec::new() };
        self.entries += 1;
        self.progress.enter(node);
        // A node that is inside has not asked, even where several may share the section.
        let itself = self.exclusion.is_inside(node).then_some(node);
        let other = itself.or(self.exclusion.enter(node));
        if self.awaits_legitimacy {
            return Vec::new();
        }
        // Entries that share the section are not ordered.
        let is_exclusive = self.exclusion.admission().is_exclusive();
        let rule = match self.exclusion.admission() {
            _ if is_exclusive => String::new(),
            admission => format!("; {admission}"),
        };
        let other = other.map(|other| ("exclusion", format!("{other} is inside{rule}")));
        let higher = self.fence_monitor.enter(node, fence).filter(|_| is_exclusive);
        let higher = higher.map(|h| ("fence", format!("fence {fence} after fence {h}")));
        let found = other.into_iter().chain(higher);
        found.map(|(property, detail)| Finding { property, detail }).collect()
    }

    fn crash(&mut self, node: NodeId) {
        self.exclusion.leave(node);
        self.progress.forget(node);
        self.fence_monitor.crash(node);
    }

    fn restart(&mut self, _node: NodeId) {
        self.awaits_legitimacy = self.stabilises;
    }

    fn awaits_legitimacy(&self) -> bool {
        self.awaits_legitimacy
    }

    fn become_legitimate(&mut self) {
        self.awaits_legitimacy = false;
        self.fence_monitor.begin_anew();
    }

    fn end(self, replayed: Replayed) -> Replayed {
        Replayed { entries: self.entries, waiting: self.progress.who_waits(), ..replayed }
    }
}

/// One leader in one epoch, and one that was alive.
#[derive(Clone)]
pub(super) struct LeaderJudge {
    leadership: Leadership,
    leaders: Vec<Option<NodeId>>,
}

impl Judge for LeaderJudge {
    type Family = Elections;

    const TIMED: bool = true;

    fn new(_algorithm: &str, setup: &Setup) -> Self {
        let nodes = setup.nodes();
        LeaderJudge {
            // Who may be passed over depends on what the detectors know, which a trace tells in part.
            leadership: Leadership::new(nodes, false),
            leaders: vec![Some(NodeId::new(nodes - 1)); nodes],
        }
    }

    fn command(what: &What) -> Option<Notice> {
        match *what {
            What::Call => Some(Notice::Call),
            What::Suspect { whom } => Some(Notice::Suspect(whom)),
            What::Trust { whom } => Some(Notice::Trust(whom)),
            What::Draw { number } => Some(Notice::Drawn(number)),
            _ => None,
        }
    }

    fn record_of(Elected { leader, epoch }: Elected, _fence: &mut Fence) -> What {
        What::Elect { leader, epoch }
    }

    fn commanded(&mut self, _node: NodeId, _command: &Notice, _is_taken: bool) {}

    fn stepped(&mut self, view: Standing) {
        self.leadership.reached(view.epoch);
    }

    fn happened(&mut self, node: NodeId, what: &What) -> Vec<Finding> {
        let What::Elect { leader, epoch } = *what else { return Vec::new() };
        self.leaders[node.index()] = Some(leader);
        let says = format!("{node} names {leader} leader in epoch {epoch}");
        let (property, detail) = match self.leadership.named(Elected { leader, epoch }) {
            Some(LeadershipViolation::Other(other)) => {
                ("agreement", format!("{says}, in which {other} was named"))
            }
            Some(LeadershipViolation::Dead) => {
                ("validity", format!("{says}, but it was down before that"))
            }
            Some(LeadershipViolation::Passed(_)) | None => return Vec::new(),
        };
        vec![Finding { property, detail }]
    }

    fn crash(&mut self, node: NodeId) {
        self.leaders[node.index()] = None;
        self.leadership.crash(node);
    }

    fn restart(&mut self, node: NodeId) {
        self.leadership.restart(node);
    }

    fn end(self, replayed: Replayed) -> Replayed {
        let elections = self.leadership.leaders().len() as u64;
        Replayed { elections, leaders: self.leaders, ..replayed }
    }
}
