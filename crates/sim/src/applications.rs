//! The applications at the nodes: when they want in, and what waits where.

use std::collections::VecDeque;

use skeptron_core::NodeId;

use crate::chance::{Chance, Purpose};
use crate::distribution::{Distribution, ticks};
use crate::scenario::Scenario;
use crate::trace::Ticks;
use crate::workload::Workload;

/// Draws times for each node from a generator of its own.
#[derive(Debug)]
struct PerNode {
    distribution: Distribution,
    chances: Vec<Chance>,
}

impl PerNode {
    fn new(distribution: &Distribution, purpose: Purpose, scenario: &Scenario) -> Self {
        // A constant draws nothing; a million generators would only take space.
        let drawing =
            if distribution.as_constant().is_some() { 0 } else { scenario.setup.nodes() as u64 };
        let chances =
            (0..drawing).map(|node| Chance::of_node(scenario.seed, purpose, node)).collect();
        PerNode { distribution: distribution.clone(), chances }
    }

    fn draw(&mut self, node: NodeId) -> Ticks {
        match self.chances.get_mut(node.index()) {
            Some(chance) => self.distribution.sample(chance),
            None => self.distribution.as_constant().unwrap_or_default(),
        }
    }
}

/// What an application does next of its own accord.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// This node's application wants in at that time.
    Want(NodeId, Ticks),
    /// The next requests from outside arrive at that time.
    Arrival(Ticks),
}

/// All applications.
#[derive(Debug)]
pub(crate) struct Applications<'a> {
    scenario: &'a Scenario,
    think: Option<PerNode>,
    section: PerNode,
    arrival: Chance,
    /// Requests that wait at their node because an earlier one of it is being served: when they were
    /// made. Spec 1: a second `enter()` queues at the node and never reaches the algorithm. Empty until one must wait.
    backlog: Vec<VecDeque<Ticks>>,
    /// How many of a list have arrived.
    listed: usize,
    /// In a sequential workload: nobody was up to make the next request.
    stranded: bool,
}

impl<'a> Applications<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        let think = match &scenario.workload {
            Workload::Closed { think } | Workload::Sequential { think } => {
                Some(PerNode::new(think, Purpose::Think, scenario))
            }
            _ => None,
        };
        Applications {
            scenario,
            think,
            section: PerNode::new(&scenario.section, Purpose::Section, scenario),
            arrival: Chance::new(scenario.seed, Purpose::Arrival),
            backlog: Vec::new(),
            listed: 0,
            stranded: false,
        }
    }

    /// What is planned before anything has happened.
    pub(crate) fn opening(&mut self) -> Vec<Plan> {
        match &self.scenario.workload {
            Workload::None => Vec::new(),
            Workload::Closed { .. } => {
                let requesters = &self.scenario.requesters;
                requesters.iter().filter_map(|&node| self.after_exit(node, 0, |_| true)).collect()
            }
            Workload::Sequential { .. } => {
                self.after_exit(self.scenario.requesters[0], 0, |_| true).into_iter().collect()
            }
            Workload::Poisson { rate } | Workload::Hot { rate, .. } => {
                vec![self.next_by_chance(*rate, 0)]
            }
            Workload::Bursts { .. } => vec![Plan::Arrival(0)],
            Workload::List(list) => {
                list.first().map(|&(at, _)| Plan::Arrival(at)).into_iter().collect()
            }
        }
    }

    /// `node` has left at `now` (or begun anew): what follows from that.
    pub(crate) fn after_exit(
        &mut self,
        node: NodeId,
        now: Ticks,
        is_up: impl Fn(NodeId) -> bool,
    ) -> Option<Plan> {
        let next = if self.are_sequential() { self.any_requester(is_up) } else { Some(node) };
        let think = self.think.as_mut()?;
        self.stranded = next.is_none();
        next.map(|next| Plan::Want(next, now + think.draw(next)))
    }

    /// A uniformly chosen requester that is up.
    fn any_requester(&mut self, is_up: impl Fn(NodeId) -> bool) -> Option<NodeId> {
        let requesters = &self.scenario.requesters;
        let first = pick(&mut self.arrival, requesters);
        if is_up(first) {
            return Some(first);
        }
        let up: Vec<NodeId> = requesters.iter().copied().filter(|&node| is_up(node)).collect();
        if up.is_empty() { None } else { Some(pick(&mut self.arrival, &up)) }
    }

    /// Whether one request follows from the end of another one.
    pub(crate) fn are_sequential(&self) -> bool {
        matches!(self.scenario.workload, Workload::Sequential { .. })
    }

    /// At whom requests arrive from outside, if they do so without end.
    pub(crate) fn callers(&self) -> Option<&[NodeId]> {
        let requesters = &self.scenario.requesters;
        match self.scenario.workload {
            Workload::Hot { hot, share, .. } if share >= 1.0 => Some(&requesters[..hot]),
            Workload::Poisson { .. } | Workload::Hot { .. } | Workload::Bursts { .. } => {
                Some(requesters)
            }
            _ => None,
        }
    }

    /// Whether a request follows when `node` begins anew after a crash.
    pub(crate) fn restarts_asking(&self, node: NodeId) -> bool {
        let waits_for_it = match self.scenario.workload {
            Workload::Closed { .. } => true,
            Workload::Sequential { .. } => self.stranded,
            _ => false,
        };
        waits_for_it && self.scenario.requesters.contains(&node)
    }

    /// Requests arrive from outside: at whom, and when the next ones do.
    pub(crate) fn arrive(&mut self, now: Ticks, wanting: &mut Vec<NodeId>) -> Option<Plan> {
        let requesters = &self.scenario.requesters;
        match &self.scenario.workload {
            Workload::None | Workload::Closed { .. } | Workload::Sequential { .. } => None,
            Workload::Poisson { rate } => {
                wanting.push(pick(&mut self.arrival, requesters));
                Some(self.next_by_chance(*rate, now))
            }
            Workload::Hot { rate, hot, share } => {
                let (hot, cold) = requesters.split_at(*hot);
                let group =
                    if cold.is_empty() || self.arrival.happens(*share) { hot } else { cold };
                wanting.push(pick(&mut self.arrival, group));
                Some(self.next_by_chance(*rate, now))
            }
            Workload::Bursts { size, every } => {
                // The first places of a shuffle.
                let mut order = requesters.clone();
                for place in 0..*size {
                    let other = place + self.arrival.below((order.len() - place) as u64) as usize;
                    order.swap(place, other);
                }
                wanting.extend(&order[..*size]);
                Some(Plan::Arrival(now + every))
            }
            Workload::List(list) => {
                let due = list[self.listed..].iter().take_while(|(at, _)| *at <= now);
                let before = wanting.len();
                wanting.extend(due.map(|&(_, node)| node));
                self.listed += wanting.len() - before;
                list.get(self.listed).map(|&(at, _)| Plan::Arrival(at))
            }
        }
    }

    fn next_by_chance(&mut self, rate: f64, now: Ticks) -> Plan {
        Plan::Arrival(now + ticks(self.arrival.exponential() / rate))
    }

    /// How long `node` stays inside this time.
    pub(crate) fn section(&mut self, node: NodeId) -> Ticks {
        self.section.draw(node)
    }

    /// The application of `node` wants in.
    pub(crate) fn queue(&mut self, node: NodeId, now: Ticks) {
        self.backlog_of(node).push_back(now);
    }

    /// Puts back what [`Applications::next_request`] took.
    pub(crate) fn queue_first(&mut self, node: NodeId, asked_at: Ticks) {
        self.backlog_of(node).push_front(asked_at);
    }

    fn backlog_of(&mut self, node: NodeId) -> &mut VecDeque<Ticks> {
        if self.backlog.is_empty() {
            self.backlog.resize_with(self.scenario.setup.nodes(), VecDeque::new);
        }
        &mut self.backlog[node.index()]
    }

    /// Whether a request waits at `node`.
    pub(crate) fn has_queued(&self, node: NodeId) -> bool {
        self.backlog.get(node.index()).is_some_and(|backlog| !backlog.is_empty())
    }

    /// Takes the oldest request that waits at `node`: when it was made.
    pub(crate) fn next_request(&mut self, node: NodeId) -> Option<Ticks> {
        self.backlog.get_mut(node.index())?.pop_front()
    }

    /// What waits at `node` is no more; true if something did.
    pub(crate) fn forget(&mut self, node: NodeId) -> bool {
        let waited = self.has_queued(node);
        if let Some(backlog) = self.backlog.get_mut(node.index()) {
            backlog.clear();
        }
        waited
    }

    /// Nothing waits anywhere any more.
    pub(crate) fn forget_all(&mut self) {
        self.backlog.clear();
    }
}

fn pick(chance: &mut Chance, from: &[NodeId]) -> NodeId {
    from[chance.below(from.len() as u64) as usize]
}
