//! Who calls, and whom the nodes name.

use skeptron_core::catalogue::ElectionInfo;
use skeptron_core::election::{Elected, Epoch, Notice};
use skeptron_core::monitor::Leadership;
use skeptron_core::{NodeId, NodeSet, Refused};

use super::detection::Detection;
use super::judge::{Quiet, Tally};
use super::{Outcome, Scenario};
use crate::chance::{Chance, Purpose};
use crate::driver::{Elections, Standing};
use crate::engine::{Control, Happening, Mixing, Plan, World};
use crate::environment::{Environment, MOST_VIOLATIONS};
use crate::hand::{Deed, Impossible};
use crate::run::Options;
use crate::scenario::ScenarioError;
use crate::trace::{Ticks, What};
use crate::troubles::Health;

/// What happens at the applications and the failure detectors.
pub(super) enum Act {
    /// The application of a node wants an election, if the node has not crashed since.
    Call { node: NodeId, life: u32 },
    /// A node that named a leader whom it suspects right after it had called calls again.
    CallAgain { node: NodeId, life: u32 },
    /// The detectors notice that a node has crashed, if it is still down.
    Missed { node: NodeId, life: u32 },
    /// The detectors notice that a node is back, if it is still up.
    Back { node: NodeId, life: u32 },
    /// The detector of `observer` changes its mind about `whom`.
    Tell { observer: NodeId, life: u32, whom: NodeId, suspect: bool },
    /// Time for the next false suspicion.
    Rumour,
    /// A false suspicion is over.
    Withdraw { observer: NodeId, life: u32, whom: NodeId },
}

impl Happening for Act {
    fn code(&self) -> (u64, NodeId, u64) {
        match self {
            Act::Call { node, life } => (2, *node, u64::from(*life)),
            Act::CallAgain { node, life } => (3, *node, u64::from(*life)),
            Act::Missed { node, life } => (4, *node, u64::from(*life)),
            Act::Back { node, life } => (5, *node, u64::from(*life)),
            Act::Tell { observer, whom, suspect, .. } => {
                (6, *observer, (whom.index() as u64) << 1 | u64::from(*suspect))
            }
            Act::Rumour => (7, NodeId::new(0), 0),
            Act::Withdraw { observer, whom, .. } => (8, *observer, whom.index() as u64),
        }
    }
}

/// What is known of a node.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Whether its application calls when it suspects the leader.
    pub(super) initiator: bool,
    /// Whether it has called since it was last down.
    pub(super) called: bool,
    /// Whom it takes for the leader: the highest, until it hears of another or is down.
    pub(super) leader: Option<NodeId>,
    /// Since when it names that leader, if it has named it.
    pub(super) since: Option<Ticks>,
    /// Whom its detector suspects.
    pub(super) suspects: NodeSet,
    /// What it shows of itself.
    pub(super) standing: Standing,
    /// From which its random numbers come.
    chance: Chance,
    /// Its next random number, where a hand has chosen it.
    chosen: Option<u32>,
}

/// Applications that want a leader, their failure detectors, and who judges and measures the election.
pub(super) struct Voters<'a> {
    pub(super) info: &'static ElectionInfo,
    pub(super) scenario: &'a Scenario,
    /// The names of all kinds of messages.
    pub(super) kinds: &'static [&'static str],
    pub(super) env: Environment,
    pub(super) members: Vec<Member>,
    /// Whether the node at work has named a leader.
    named: bool,
    pub(super) detection: Detection,
    pub(super) leadership: Leadership,
    pub(super) quiet: Quiet,
    pub(super) tally: Tally,
}

impl<'a> Voters<'a> {
    pub(super) fn new(
        info: &'static ElectionInfo,
        scenario: &'a Scenario,
        options: &Options,
        kinds: &'static [&'static str],
    ) -> Self {
        let Scenario { seed, latency, order, faults, hand, .. } = scenario;
        let n = scenario.setup.nodes();
        let env = Environment::new(n, *seed, latency, *order, faults, hand).with(options);
        let member = |node| Member {
            initiator: scenario.initiators.iter().any(|initiator| initiator.node == node),
            called: false,
            leader: Some(NodeId::new(n - 1)),
            since: None,
            suspects: NodeSet::default(),
            standing: Standing { epoch: Epoch::FIRST, parent: None, draws: None },
            chance: Chance::of_node(*seed, Purpose::Draw, node.index() as u64),
            chosen: None,
        };
        Voters {
            info,
            scenario,
            kinds,
            env: Environment { bound: scenario.bound(), ..env },
            members: NodeId::all(n).map(member).collect(),
            named: false,
            detection: Detection::new(scenario, n),
            leadership: Leadership::new(n, info.claims.highest),
            quiet: Quiet::new(n, kinds.len()),
            tally: Tally::new(kinds.len()),
        }
    }

    /// The application of `node` wants an election.
    pub(super) fn call(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        self.tally.calls += 1;
        self.tally.first_call.get_or_insert(self.env.now);
        self.members[node.index()].called = true;
        self.env.record(node, || What::Call);
        if self.notify(nodes, node, Notice::Call) && self.doubts_its_leader(node) {
            // Through the agenda, or a node that names whom it suspects at once would never return.
            let life = self.env.troubles.life(node);
            nodes.plan(self.env.now, Act::CallAgain { node, life });
        }
    }

    /// Gives a node a notice. Says whether it named a leader.
    pub(super) fn notify(
        &mut self,
        nodes: &mut dyn Control<Self>,
        node: NodeId,
        notice: Notice,
    ) -> bool {
        nodes.command(self, node, notice);
        self.draw(nodes, node);
        std::mem::take(&mut self.named)
    }

    /// Gives a node the random number for which it waits.
    fn draw(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        while let Some(most) = self.members[node.index()].standing.draws {
            let member = &mut self.members[node.index()];
            let by_hand = member.chosen.take();
            let number = by_hand.unwrap_or_else(|| 1 + member.chance.below(u64::from(most)) as u32);
            self.env.record(node, || What::Draw { number });
            nodes.command(self, node, Notice::Drawn(number));
        }
    }

    /// Whether `node` is an initiator that suspects its leader.
    pub(super) fn doubts_its_leader(&self, node: NodeId) -> bool {
        let member = &self.members[node.index()];
        member.initiator && member.leader.is_some_and(|leader| member.suspects.contains(leader))
    }
}

impl World for Voters<'_> {
    type Family = Elections;
    type Tag = ();
    type Happening = Act;
    type Outcome = Outcome;

    const RECORDS: bool = true;
    const MIXING: Mixing = Mixing { shift: 4, faults: [10, 11, 12] };

    fn environment(&mut self) -> &mut Environment {
        &mut self.env
    }

    fn begin(&mut self, nodes: &mut dyn Control<Self>) {
        self.plan_rumour(nodes);
        for initiator in &self.scenario.initiators {
            if let Some(at) = initiator.at {
                nodes.plan(at, Act::Call { node: initiator.node, life: 0 });
            }
        }
    }

    fn pass(&mut self, now: Ticks) {
        self.env.now = now;
        if now >= self.scenario.until {
            self.env.troubles.spare_messages();
        }
        self.env.events += 1;
        self.quiet.events += 1;
    }

    fn happen(&mut self, nodes: &mut dyn Control<Self>, what: Act) {
        match what {
            Act::Call { node, life } => match self.env.troubles.health(node) {
                Health::Paused => nodes.hold(node, Act::Call { node, life }),
                Health::Up if self.env.troubles.life(node) == life => {
                    self.disturb();
                    self.call(nodes, node);
                }
                _ => {}
            },
            Act::CallAgain { node, life } => {
                if self.env.troubles.is_same_life(node, life) && self.doubts_its_leader(node) {
                    self.call(nodes, node);
                }
            }
            Act::Missed { node, life } => self.missed(nodes, node, life),
            Act::Back { node, life } => self.back(nodes, node, life),
            Act::Tell { observer, life, whom, suspect } => {
                if self.env.troubles.is_same_life(observer, life) {
                    self.tell(nodes, observer, whom, suspect);
                }
            }
            Act::Rumour => self.rumour(nodes),
            Act::Withdraw { observer, life, whom } => self.withdraw(nodes, observer, life, whom),
        }
    }

    fn goes_on(&mut self) -> Result<bool, ScenarioError> {
        Ok(self.env.violations.len() < MOST_VIOLATIONS && !self.quiet.is_over())
    }

    fn finish(mut self, rests: bool) -> Result<Outcome, ScenarioError> {
        if rests {
            self.rest();
        } else if self.env.violations.len() < MOST_VIOLATIONS && !self.env.cut_short {
            self.judge_endless();
        }
        self.report()
    }

    fn count_sending(&mut self) {
        self.tally.multicast += 1;
    }

    fn count_message(&mut self, _from: NodeId, kind: usize, size: u64) {
        self.tally.messages += 1;
        self.tally.bytes += size;
        self.tally.by_kind[kind] += 1;
        self.quiet.by_kind[kind] += 1;
    }

    fn tag(&mut self, _from: NodeId) {}

    fn mixed((): &()) -> u64 {
        0
    }

    fn arrive(&mut self, _from: NodeId, _to: NodeId, _kind: usize, (): ()) {}

    fn refuse(&mut self, node: NodeId, refused: Refused) {
        let done = self.env.played.done();
        let faulty = !self.scenario.keeps_assumptions_with(done, self.info);
        self.env.refuse(node, refused, faulty);
    }

    fn emit(&mut self, _agenda: &mut dyn Plan<Act>, node: NodeId, elected: Elected) {
        let Elected { leader, epoch } = elected;
        self.named = true;
        self.env.record(node, || What::Elect { leader, epoch });
        let (now, member) = (self.env.now, &mut self.members[node.index()]);
        if member.leader != Some(leader) || member.since.is_none() {
            (member.leader, member.since) = (Some(leader), Some(now));
        }
        self.judge_name(node, elected);
    }

    fn stepped(&mut self, node: NodeId, view: Standing) {
        self.leadership.reached(view.epoch);
        self.members[node.index()].standing = view;
    }

    /// An initiator that suspects the leader that it names calls at once.
    fn given(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        self.draw(nodes, node);
        if std::mem::take(&mut self.named) && self.doubts_its_leader(node) {
            self.call(nodes, node);
        }
    }

    fn may_go_wrong(&self, at: Ticks) -> bool {
        at < self.scenario.until
    }

    /// What follows from it may take a while.
    fn disturb(&mut self) {
        let epoch = self.newest_epoch();
        self.quiet.begin(self.env.now, epoch);
    }

    fn crash(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        self.tally.crashed_since_call |= self.tally.first_call.is_some();
        nodes.forget_alarms(node);
        self.leadership.crash(node);
        let member = &mut self.members[node.index()];
        (member.called, member.leader, member.since) = (false, None, None);
        let suspected = std::mem::take(&mut member.suspects);
        for whom in suspected.iter() {
            self.trust_if_nobody_doubts(whom);
        }
        nodes.release(self, node);
        let life = self.env.troubles.life(node);
        nodes.plan(self.noticed_at(), Act::Missed { node, life });
    }

    /// Whoever comes back knows nothing but the epoch, and calls.
    fn restart(&mut self, nodes: &mut dyn Control<Self>, node: NodeId) {
        self.leadership.restart(node);
        nodes.restart(self, node);
        self.call(nodes, node);
        let life = self.env.troubles.life(node);
        nodes.plan(self.noticed_at(), Act::Back { node, life });
    }

    fn command(&mut self, nodes: &mut dyn Control<Self>, deed: &Deed) -> Result<(), Impossible> {
        match *deed {
            Deed::Call { node } => {
                self.disturb();
                self.call(nodes, node);
            }
            Deed::Draw { .. } if !self.info.is_randomised() => return Err(Impossible::NoChance),
            Deed::Draw { number, .. } if !(1..=self.members.len()).contains(&(number as usize)) => {
                return Err(Impossible::NotToDraw { number, most: self.members.len() });
            }
            Deed::Draw { node, number } => self.members[node.index()].chosen = Some(number),
            _ => return Err(Impossible::NoMutex),
        }
        Ok(())
    }

    fn rest(&mut self) {
        self.judge_rest();
    }

    fn is_done(&self) -> bool {
        false
    }
}
