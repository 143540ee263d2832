//! The one task that drives a node's voter and its membership.

mod report;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::clock::MonoTime;
use skeptron_views::file::FileDisk;
use skeptron_views::log::Found;
use skeptron_views::member::{self, End, Membership};
use skeptron_views::protocol::Answer;
use skeptron_views::views::{Join, Outcome, Role, Voters};
use skeptron_views::voter::{self, Admin, AdminAccepted, AdminRefused, HaltReason, Identity};
use tokio::sync::{mpsc, oneshot, watch};

use super::ServiceError;
use super::clocks::Clocks;
use super::exchange::{Exchange, Heard, ViewMessage};
use super::folder::{self, Contents, DataError, Log};
use super::running_voter::{RunningVoter, Written};
use crate::config::{Config, VoterConfig};
use crate::env;
use crate::link::draw_incarnation;
use crate::observe::{Observer, What};
use crate::view::{Admission, Lease, NotAdmitted, ServiceReport, View};
use report::{LeaderReport, Standings};

/// How long a leaving leader waits for another one.
const HAND_OVER_WITHIN: Duration = Duration::from_secs(1);
/// How long a leaving member tries to tell the voters.
const LEAVE_WITHIN: Duration = Duration::from_secs(3);

/// What the rest of the node wants of the driver.
pub(super) enum Input {
    /// Begin a new life; any former one is given up.
    Enter(oneshot::Sender<Result<Admission, NotAdmitted>>),
    /// Leave the cluster, and let somebody else lead.
    Leave(oneshot::Sender<()>),
    /// An administrator's order.
    Order { order: Admin, reply: oneshot::Sender<Result<AdminAccepted, AdminRefused>> },
    /// The lives that this member cannot reach at present.
    Suspects(Vec<u64>),
    /// From the thread that writes the log.
    Written(Written),
    /// The node is no more.
    Stop,
}

/// A life, as far as the view service is concerned.
struct Life {
    membership: Membership,
    views: Option<watch::Sender<Arc<View>>>,
    lease: watch::Sender<Lease>,
    entering: Option<oneshot::Sender<Result<Admission, NotAdmitted>>>,
}

/// Whoever waits until the member has left.
struct Leaving {
    reply: oneshot::Sender<()>,
    deadline: MonoTime,
    /// The member is out; only leadership is to be handed over.
    has_left: bool,
}

/// Drives the voter and the membership of one node.
pub(super) struct Driver {
    me: MemberId,
    config: VoterConfig,
    join: Join,
    exchange: Arc<Exchange>,
    inputs: mpsc::UnboundedSender<Input>,
    observer: Arc<Observer>,
    own: Option<RunningVoter>,
    /// The folder, while there is no voter to use it.
    disk: Option<FileDisk>,
    life: Option<Life>,
    leaving: Option<Leaving>,
    /// Who votes, as was last heard.
    voters: Option<Voters>,
    /// Who leads, as far as requests found out.
    leader: Option<MemberId>,
    /// Orders that another node was asked to carry out.
    orders: BTreeMap<u64, oneshot::Sender<Result<AdminAccepted, AdminRefused>>>,
    order: u64,
    report: watch::Sender<ServiceReport>,
    disk_failed: watch::Sender<Option<String>>,
    from_voter: Vec<voter::Effect>,
    from_membership: Vec<member::Effect>,
    /// Why this node does not vote, though it had this seat.
    halted: Option<(u64, String)>,
    /// How fast the members' clocks run, while this node leads.
    clocks: Clocks,
    /// What a leader said last of how the voters stand.
    told: Option<LeaderReport>,
    /// What this node said of them to all members, while it leads.
    shared: Standings,
}

impl Driver {
    pub(super) fn new(
        config: &Config,
        voters: &VoterConfig,
        contents: Option<Contents>,
        exchange: &Arc<Exchange>,
        inputs: mpsc::UnboundedSender<Input>,
        observer: Arc<Observer>,
        disk_failed: watch::Sender<Option<String>>,
    ) -> Result<(Self, watch::Receiver<ServiceReport>), ServiceError> {
        let (report, reports) = watch::channel(ServiceReport::default());
        let join = config.join(&voters.address, voters.data.is_some());
        let mut driver = Driver {
            me: config.node,
            config: voters.clone(),
            join,
            exchange: Arc::clone(exchange),
            inputs,
            observer,
            own: None,
            disk: None,
            life: None,
            leaving: None,
            voters: None,
            leader: None,
            orders: BTreeMap::new(),
            order: 0,
            report,
            disk_failed,
            from_voter: Vec::new(),
            from_membership: Vec::new(),
            halted: None,
            clocks: Clocks::default(),
            told: None,
            shared: Standings::new(),
        };
        match contents {
            Some(Contents::Log(log, found)) => {
                driver.start_voter(*log, found)?;
                driver.warn_of_other_voters();
            }
            Some(Contents::Empty(disk)) => driver.disk = Some(disk),
            None => {}
        }
        driver.tell();
        Ok((driver, reports))
    }

    pub(super) async fn run(
        mut self,
        mut inputs: mpsc::UnboundedReceiver<Input>,
        mut words: mpsc::Receiver<Heard>,
    ) {
        loop {
            self.settle();
            self.tell();
            let tick = self.own.as_ref().map_or(MonoTime::NEVER, |own| own.tick);
            let renewal = self.life.as_ref().map_or(MonoTime::NEVER, |life| life.membership.next());
            let leaving = self.leaving.as_ref().map_or(MonoTime::NEVER, |leaving| leaving.deadline);
            tokio::select! {
                biased;
                input = inputs.recv() => match input {
                    Some(Input::Stop) | None => break,
                    Some(input) => self.take(input),
                },
                Some((from, word)) = words.recv() => self.hear(from, word),
                () = env::sleep_until(tick.min(renewal).min(leaving)) => {}
            }
            self.pass_time();
        }
        if let Some(own) = self.own.take() {
            // The log is whole before the folder is free for the next one.
            let _ = tokio::task::spawn_blocking(|| own.end()).await;
        }
        self.exchange.stop();
        // Whoever waits until the inputs are closed may use the folder then.
        drop(self);
    }

    /// Whatever is due by now.
    fn pass_time(&mut self) {
        let now = env::now();
        if let Some(own) = self.own.as_mut().filter(|own| now >= own.tick) {
            own.tick = now.after(voter::TICK);
            own.voter.tick(now, &mut self.from_voter);
        }
        self.membership(now, member::Input::Timer);
        if let Some(leaving) = self.leaving.take_if(|leaving| now >= leaving.deadline) {
            let _ = leaving.reply.send(());
        }
    }

    fn membership(&mut self, now: MonoTime, input: member::Input) {
        if let Some(life) = &mut self.life {
            life.membership.handle(now, input, &mut self.from_membership);
        }
    }

    fn take(&mut self, input: Input) {
        let now = env::now();
        match input {
            Input::Enter(reply) => self.enter(reply),
            Input::Leave(reply) => {
                let has_left = self.life.is_none();
                let deadline = now.after(LEAVE_WITHIN);
                self.leaving = Some(Leaving { reply, deadline, has_left: false });
                match has_left {
                    true => self.left(),
                    false => self.membership(now, member::Input::Leave),
                }
            }
            Input::Order { order, reply } => self.take_order(order, reply),
            Input::Suspects(lives) => self.membership(now, member::Input::Suspects(lives)),
            Input::Written(Written::Upto(number)) => {
                if let Some(own) = &mut self.own {
                    own.voter.persisted(now, number, &mut self.from_voter);
                }
            }
            Input::Written(Written::Failed(error)) => {
                let why = format!("its log cannot be written: {error}");
                self.stand_up(why.clone());
                self.disk_failed.send_replace(Some(why));
            }
            Input::Stop => {}
        }
    }

    fn enter(&mut self, reply: oneshot::Sender<Result<Admission, NotAdmitted>>) {
        let join = Join { incarnation: draw_incarnation(), ..self.join.clone() };
        let seats = self.voters.iter().flat_map(|voters| &voters.seats);
        let mut ids: Vec<MemberId> = seats.map(|seat| seat.id).collect();
        if ids.is_empty() {
            ids = self.config.voters.keys().copied().collect();
        }
        // The voters outlive configurations; a node that was configured is asked who they are.
        let configured = self.config.voters.keys().filter(|id| !ids.contains(id));
        let ids = ids.iter().chain(configured).copied().collect();
        let membership = Membership::new(join, ids);
        let lease = watch::Sender::new(Lease::Over);
        self.life = Some(Life { membership, views: None, lease, entering: Some(reply) });
    }

    fn take_order(
        &mut self,
        order: Admin,
        reply: oneshot::Sender<Result<AdminAccepted, AdminRefused>>,
    ) {
        match self.leads().or(self.leader).or_else(|| self.some_voter()) {
            Some(leader) if leader == self.me => drop(reply.send(self.administer(order))),
            Some(leader) => {
                self.order += 1;
                let number = self.order;
                self.orders.retain(|_, reply| !reply.is_closed());
                self.orders.insert(number, reply);
                self.exchange.send(leader, ViewMessage::Order { number, order });
            }
            None => drop(reply.send(Err(AdminRefused::NotLeader(None)))),
        }
    }

    /// Who leads, as this node's own voter knows.
    fn leads(&self) -> Option<MemberId> {
        self.own.as_ref().and_then(|own| own.voter.leader())
    }

    fn some_voter(&self) -> Option<MemberId> {
        self.config.voters.keys().copied().find(|&id| id != self.me)
    }

    fn administer(&mut self, order: Admin) -> Result<AdminAccepted, AdminRefused> {
        let leader = self.leader;
        let Some(own) = &mut self.own else { return Err(AdminRefused::NotLeader(leader)) };
        own.voter.administer(env::now(), order, &mut self.from_voter)
    }

    fn hear(&mut self, from: MemberId, word: ViewMessage) {
        let now = env::now();
        match word {
            ViewMessage::Packet(packet) => {
                if let Some(own) = &mut self.own {
                    own.voter.receive(now, from, packet, &mut self.from_voter);
                }
            }
            ViewMessage::Request(request) => match &mut self.own {
                Some(own) => {
                    own.voter.request(now, from, request, &mut self.from_voter);
                    let views = own.voter.views();
                    let is_new = views.view().rank(from).is_none()
                        && views.seats().iter().all(|seat| seat.id != from);
                    // Whoever knows this voter alone cannot find the leader otherwise. What a follower
                    // knows may be old, so nobody is told by it that it votes.
                    if is_new && !own.voter.leads() {
                        let voters = views.voters();
                        self.exchange.send(from, ViewMessage::Answer(Answer::Voters(voters)));
                    }
                }
                None => {
                    let answer = Answer::NotLeader(self.leader);
                    self.exchange.send(from, ViewMessage::Answer(answer));
                    if let Some(voters) = self.voters.clone() {
                        self.exchange.send(from, ViewMessage::Answer(Answer::Voters(voters)));
                    }
                }
            },
            ViewMessage::Answer(answer) => self.answered(now, from, answer),
            ViewMessage::Order { number, order } => {
                let result = self.administer(order);
                self.exchange.send(from, ViewMessage::Ordered { number, result });
            }
            ViewMessage::Clock(theirs) => self.compare_clocks(from, now, theirs),
            ViewMessage::Standings(standings) => {
                self.told = Some(LeaderReport { by: from, at: now, standings });
            }
            ViewMessage::Ordered { number, result } => {
                if let Err(AdminRefused::NotLeader(leader)) = result {
                    self.leader = leader;
                }
                if let Some(reply) = self.orders.remove(&number) {
                    let _ = reply.send(result);
                }
            }
        }
    }

    /// Leases are safe only while no clock's rate is off by more than the bound.
    fn compare_clocks(&mut self, from: MemberId, ours: MonoTime, theirs: MonoTime) {
        let Some(own) = self.own.as_ref().filter(|own| own.voter.leads()) else { return };
        let bound = own.voter.views().settings().drift;
        if let Some(rate) = self.clocks.heard(from, (ours, theirs), bound) {
            let bound = bound.ppm;
            tracing::warn!(
                peer = %from, rate, bound,
                "the clock rate of this member differs from ours by more than the drift bound of \
                 leases: correct the clocks, or raise `lease.drift_ppm`"
            );
        }
    }

    fn answered(&mut self, now: MonoTime, from: MemberId, answer: Answer) {
        match &answer {
            Answer::Renewed { .. } => self.leader = Some(from),
            Answer::NotLeader(leader) => self.leader = *leader,
            Answer::Voters(voters) => {
                let known = self.voters.as_ref();
                if known.is_some_and(|known| !known.seats.iter().any(|seat| seat.id == from)) {
                    // Only a voter knows who votes, once one is known.
                    return;
                }
                if known.is_some_and(|known| known.cluster != voters.cluster) {
                    tracing::error!(peer = %from, "answers of another cluster with the same name are ignored");
                    return;
                }
            }
            Answer::View(_) | Answer::Over { .. } | Answer::Refused { .. } => {}
        }
        self.membership(now, member::Input::Answer { from, answer });
    }

    /// Performs effects until there are none: what the own voter answers may make the member ask again.
    fn settle(&mut self) {
        loop {
            let from_voter = std::mem::take(&mut self.from_voter);
            let from_membership = std::mem::take(&mut self.from_membership);
            if from_voter.is_empty() && from_membership.is_empty() {
                break;
            }
            from_voter.into_iter().for_each(|effect| self.perform(effect));
            from_membership.into_iter().for_each(|effect| self.perform_of_life(effect));
        }
        if self.leaving.as_ref().is_some_and(|leaving| leaving.has_left)
            && self.leads() != Some(self.me)
            && let Some(leaving) = self.leaving.take()
        {
            let _ = leaving.reply.send(());
        }
    }

    fn perform(&mut self, effect: voter::Effect) {
        match effect {
            voter::Effect::Send { to, packet } => {
                self.exchange.send(to, ViewMessage::Packet(packet))
            }
            voter::Effect::Answer { to, answer } if to == self.me => {
                self.answered(env::now(), to, answer);
            }
            voter::Effect::Answer { to, answer } => {
                if matches!(answer, Answer::Renewed { .. }) {
                    self.tell_standings(to);
                }
                self.exchange.send(to, ViewMessage::Answer(answer));
            }
            voter::Effect::Persist { number, write } => {
                if let Some(own) = &self.own {
                    own.write(number, write);
                }
            }
            voter::Effect::Decided { view, term, outcomes } => {
                // What a leader finds of older terms was told by whoever led then.
                let is_new = |own: &RunningVoter| own.voter.leads() && own.voter.term() == term;
                if self.own.as_ref().is_some_and(is_new) {
                    let said = outcomes.iter().filter(|&outcome| *outcome != Outcome::Nothing);
                    let what: Vec<String> = said.map(ToString::to_string).collect();
                    tracing::info!(epoch = view.epoch, term, "decided: {}", what.join(", "));
                }
                self.clocks.keep(|id| view.rank(id).is_some());
                self.find_voters();
            }
            voter::Effect::Halt(why @ HaltReason::Removed { .. }) => {
                tracing::info!(%why, "this node has stopped voting");
                self.disk = self.own.take().and_then(RunningVoter::end);
            }
            voter::Effect::Halt(why) => self.stand_up(why.to_string()),
        }
    }

    /// The voter must not go on. The member does: it needs any leader, not this one.
    fn stand_up(&mut self, why: String) {
        tracing::error!(why, "this node has stopped voting");
        let Some(own) = self.own.take() else { return };
        self.halted = Some((own.voter.identity().raft, why));
        self.disk = own.end();
    }

    fn perform_of_life(&mut self, effect: member::Effect) {
        match effect {
            member::Effect::Send { to, request } if to == self.me => match &mut self.own {
                Some(own) => own.voter.request(env::now(), to, request, &mut self.from_voter),
                None => self.answered(env::now(), to, Answer::NotLeader(self.leader)),
            },
            member::Effect::Send { to, request } => {
                self.exchange.send(to, ViewMessage::Request(request));
                self.exchange.send(to, ViewMessage::Clock(env::now()));
            }
            member::Effect::Installed(view) => self.install(view),
            member::Effect::Voters(voters) => self.follow(voters),
            member::Effect::Prolonged(until) => {
                if let Some(life) = &mut self.life {
                    life.lease.send_replace(Lease::Until(until));
                }
            }
            member::Effect::Over(end) => self.over(end),
        }
        if let Some(life) = &mut self.life {
            life.admit();
        }
    }

    fn install(&mut self, view: View) {
        let Some(life) = &mut self.life else { return };
        let view = Arc::new(view);
        match &life.views {
            Some(views) => drop(views.send_replace(view)),
            None => life.views = Some(watch::Sender::new(view)),
        }
    }

    fn over(&mut self, end: End) {
        let Some(life) = self.life.take() else { return };
        life.lease.send_replace(Lease::Over);
        let why = end.to_string();
        match (end, life.entering) {
            (End::Left, _) => self.left(),
            (End::Refused(why), Some(reply)) => drop(reply.send(Err(NotAdmitted(why.to_string())))),
            // It took too long to be let in: another life tries.
            (_, Some(reply)) => self.enter(reply),
            (_, None) => {
                tracing::warn!(why, "this incarnation of the member has ended");
                self.observer.tell(|| What::Halted { why });
            }
        }
    }

    /// Nobody waits for this member any more; a leader hands over first.
    fn left(&mut self) {
        if self.leads() == Some(self.me) {
            let _ = self.administer(Admin::StepDown);
        }
        if let Some(leaving) = &mut self.leaving {
            leaving.has_left = true;
            leaving.deadline = env::now().after(HAND_OVER_WITHIN);
        }
    }

    /// Takes note of who votes; this node may have become one of them.
    fn follow(&mut self, voters: Voters) {
        self.exchange.set_number(voters.cluster);
        self.exchange.set_addresses(&voters.addresses);
        let mine = voters.seats.iter().rev().find(|seat| seat.id == self.me);
        let raft = self.own.as_ref().map(|own| own.voter.identity().raft);
        let halted = self.halted.as_ref().map(|(raft, _)| *raft);
        if let Some(seat) = mine
            && raft.max(halted).is_none_or(|raft| raft < seat.raft)
        {
            let is_new = seat.role != Role::Voter;
            let (cluster, member) = (voters.cluster, self.me);
            self.become_voter(Identity { cluster, member, raft: seat.raft }, is_new);
        }
        self.voters = Some(voters);
    }

    /// The cluster gave this node a seat. It begins with an empty log, unless it had voted in that seat
    /// before: then its log is lost, and it must not vote.
    fn become_voter(&mut self, identity: Identity, is_new: bool) {
        if !is_new {
            let me = self.me.number();
            let why = format!(
                "the log of this voter is gone; run `skeptron voters replace {me} {me}` to start \
                 it again with an empty log"
            );
            tracing::error!(why, "this node does not vote");
            self.halted = Some((identity.raft, why));
            return;
        }
        let former = self.own.take().and_then(RunningVoter::end);
        let Some(disk) = former.or_else(|| self.disk.take()) else {
            let why = "it has no folder for a voter's log: set `data` and restart it".to_string();
            tracing::error!(why, "this node cannot vote");
            self.halted = Some((identity.raft, why));
            return;
        };
        match self.begin_log(disk, identity) {
            Ok(()) => {
                tracing::info!(raft_id = identity.raft, "{} receives the log", self.me);
                self.halted = None;
            }
            Err(error) => {
                tracing::error!(%error, "this node cannot vote");
                self.halted = Some((identity.raft, error.to_string()));
            }
        }
    }

    fn begin_log(&mut self, disk: FileDisk, identity: Identity) -> Result<(), ServiceError> {
        let disk = disk.put_aside().map_err(DataError::from)?;
        let (log, found) = folder::join(disk, identity, &self.config)?;
        self.start_voter(log, found)
    }

    /// Voters that were restarted from their logs must find each other before anybody is a member.
    fn find_voters(&self) {
        if let Some(own) = &self.own {
            self.exchange.set_addresses(&own.voter.views().voters().addresses);
        }
    }

    /// The name tells clusters apart, unless two have the same one: then only the addresses look wrong.
    /// They may all have changed, so this is no reason to refuse the log.
    fn warn_of_other_voters(&self) {
        let Some(own) = &self.own else { return };
        let logged = own.voter.views().voters().addresses;
        let configured = &self.config.voters;
        if logged.is_empty() || logged.values().any(|it| configured.values().any(|at| at == it)) {
            return;
        }
        let list = |it: &BTreeMap<MemberId, String>| {
            it.values().map(String::as_str).collect::<Vec<_>>().join(", ")
        };
        tracing::error!(
            "the voter's log in `data` names the voters {}, the settings {}: those of the log are \
             used; if this is the folder of another cluster with the same name, stop this node and \
             correct `data`",
            list(&logged),
            list(configured),
        );
    }

    fn start_voter(&mut self, log: Log, found: Found) -> Result<(), ServiceError> {
        self.exchange.set_number(found.identity.cluster);
        let inputs = self.inputs.clone();
        let tell = move |written| drop(inputs.send(Input::Written(written)));
        self.own = Some(RunningVoter::new(log, found, tell, &mut self.from_voter)?);
        self.find_voters();
        Ok(())
    }
}

impl Life {
    /// Says that the life has begun, as soon as it has a view and a lease.
    fn admit(&mut self) {
        let has_lease = *self.lease.borrow() != Lease::Over;
        let Some(views) = self.views.as_ref().filter(|_| has_lease) else { return };
        let Some(reply) = self.entering.take() else { return };
        let incarnation = self.membership.incarnation();
        let (views, lease) = (views.subscribe(), self.lease.subscribe());
        drop(reply.send(Ok(Admission { incarnation, views, lease })));
    }
}
