//! The invitation algorithm (spec 4.3): nodes form groups, each with a coordinator, and groups that
//! find each other merge. No timing is needed for agreement, only for getting together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Case, Claims, Elected, Election, Epoch, Initiators, NOT_DRAWN, Notice, RingOrder, known_epoch,
};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, Variable, variants};
use crate::protocol::known_peer;
use crate::{Claim, Formula, Input, NodeId, NodeSet, Outbox, Protocol, Refused, Setup, SetupError};

mod message;
#[cfg(test)]
mod tests;

pub use self::message::{Alarm, Msg};

const SOUND: ElectionInfo = ElectionInfo {
    name: "invitation",
    title: "Invitation election",
    paper: "H. Garcia-Molina: Elections in a distributed computing system, IEEE Transactions on Computers C-31(1), 1982",
    family: Family::Group,
    channel: Order::Any,
    layout: Layout::None,
    memory: Formula("200N+35N²"),
    claims: Claims {
        highest: false,
        survives: "crashes, recoveries, lost messages, false suspicions, premature alarms and partitions: agreement always, and one group once they are over",
        cases: &[
            Case {
                name: "best",
                when: "the highest is down and the lowest notices",
                highest_down: true,
                initiators: Initiators::Lowest,
                ring: RingOrder::Ascending,
                counted: &[],
                messages: Claim::exactly("5(N-2)"),
                time: Some(Claim::exactly("5")),
            },
            Case {
                name: "one initiator",
                when: "the lowest calls and everybody is up",
                highest_down: false,
                initiators: Initiators::Lowest,
                ring: RingOrder::Ascending,
                counted: &[],
                messages: Claim::exactly("5(N-1)"),
                time: Some(Claim::exactly("5")),
            },
            Case {
                name: "worst",
                when: "everybody calls at once",
                highest_down: false,
                initiators: Initiators::All,
                ring: RingOrder::Ascending,
                counted: &[],
                messages: Claim::exactly("(2N+3)(N-1)"),
                time: Some(Claim::exactly("5")),
            },
        ],
    },
    idea: "Every node belongs to a group, which is named by its coordinator and a number that was never \
           used before; at first everybody is alone. A coordinator looks for other coordinators and \
           invites them and their members into a new group, which it leads. Nobody is led by a node whose \
           invitation it has not accepted, so silence, slowness and partitions may leave several groups, \
           but never two leaders of one.",
    rules: &[
        "Call, or the coordinator of the own group is suspected: be alone in a new group, and look.",
        "Look: AYCOORD (are you coordinator?) to everybody outside the own group who is not suspected; \
         ANSWER names the group that one is in, and whether one is looking oneself.",
        "All have answered, or two bounds have passed: if coordinators were found that look themselves \
         and are higher, give each three bounds to invite. Then INVITATION into a new group to all \
         coordinators found, to the own members, and to those whose coordinator was not found.",
        "INVITATION into a later group than the own: pass it on to the members of the own group, be of \
         the new one, and ACCEPT to its coordinator. Into an earlier group: ignore it.",
        "All invited have accepted, or three bounds have passed: READY to all who have; it leads them. \
         Whoever accepts later is READY at once, and whoever accepts when that group has gone into \
         another is invited there.",
        "READY: the coordinator of the group is the leader. No READY within four bounds: be alone, look.",
        "A coordinator that misses anybody whom it does not suspect looks again after four bounds, and \
         at once if somebody is trusted again.",
    ],
    fires: &[
        "1 call | | {me} is in the group {group'}",
        "1 suspect | {group[by]} = {whom}; {group'} ≠ {group} | {whom} coordinated the group {group}",
        "2 call, suspect, trust, expire | {sent} ∋ AYCOORD |",
        "2 AYCOORD | {sent} ∋ ANSWER | {me} is in the group {group}",
        "3 ANSWER, expire, suspect | {sent} ∋ INVITATION | {me} invites into the group {group'}",
        "3 ANSWER | |",
        "3 expire | {sent} = |",
        "4 INVITATION | {group} < {message}; {sent} ∋ ACCEPT | {<}: the group {message} is later, so {me} accepts",
        "4 INVITATION | {message} ≤ {group}; {sent} ∌ ACCEPT | {message} is not later than the group {group} of {me}",
        "5 ACCEPT, expire, suspect | {sent} ∋ READY | with {me} are {members'}",
        "5 ACCEPT | {sent} ∋ INVITATION | the group {message} has gone into {group}",
        "5 ACCEPT | | accepted so far: {members'}",
        "5 expire | {elects} = yes | {me} is alone",
        "5 ANSWER, suspect | {elects} = yes |",
        "6 READY | |",
        "6 expire | {group[by]} ≠ {me}; {sent} ∋ AYCOORD | no READY came, so {me} is alone in {group'}",
        "7 trust | {sent} ∋ AYCOORD | {whom} is trusted again",
        "7 expire | {group[by]} = {me}; {sent} ∋ AYCOORD |",
    ],
    variables: &[
        Variable::new("phase", "state", "what is under way"),
        Variable::new("group", "group", "the group that it is in, and who coordinates it"),
        Variable::new("named", "named", "whether its leader is known to the application"),
        Variable::new("members", "Up", "at the coordinator: who has accepted"),
        Variable::new("epoch", "epoch", "the newest group that it knows of"),
        Variable::new("suspected", "suspected", "whom its detector takes for dead"),
    ],
    notes: &[
        "The figures are those of this implementation; the paper has periodic checks and gives none.",
        "Two that invite each other: the later group wins, which is the higher id in the same round; \
         the other brings its members along.",
        "An alarm that rings early, a false suspicion or a lost message costs another round, never \
         agreement (`skeptron check invitation -n 3 --premature 1`).",
        "The paper asks the coordinator from time to time whether it is there; here the failure detector \
         does that, so that a complete group is at rest.",
        "The number of a group is kept in stable storage; nothing else is.",
    ],
    broken: None,
};

/// How long an answer may take: there and back.
const ANSWERS: u32 = 2;
/// How long a higher node that looks may take until its invitation is here: all answers to it, and a way.
const PRIORITY: u32 = 3;
/// How long an ACCEPT may take: to a coordinator, from there to its members, and back.
const ACCEPTS: u32 = 3;
/// How long READY may take after an INVITATION has come: all accepts, and a way.
const READY: u32 = 4;
/// How long a coordinator waits until it looks again for those who are missing: all who were invited
/// have accepted by then, or asked for themselves.
const AGAIN: u32 = 4;

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// It takes whoever brought the invitation for the coordinator.
    FollowsMessenger,
    /// It trusts that READY will come.
    WaitsForReady,
    /// It never looks for those who are missing.
    LooksOnce,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Invitation {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// The highest number of a group that it knows of; kept in stable storage.
    epoch: Epoch,
    /// The group that it is in; whoever began it is its coordinator. Round 0 before the first election.
    group: Epoch,
    /// Whether its application knows who leads this group.
    named: bool,
    /// Who else has accepted, if it is the coordinator.
    members: NodeSet,
    /// Whom its detector suspects.
    suspected: NodeSet,
    phase: Phase,
}

/// What is under way here. Everything but `Rest` ends with an alarm at the latest.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    /// Nothing.
    Rest,
    /// A coordinator asks who else is one.
    Looking {
        /// Who has not answered.
        silent: NodeSet,
        /// The groups of those who have.
        answers: BTreeMap<NodeId, Epoch>,
        /// How many higher coordinators are looking themselves.
        rivals: u32,
    },
    /// A coordinator that has found these gives higher ones time to invite.
    Waiting(NodeSet),
    /// A coordinator has invited, and these have not accepted.
    Inviting(NodeSet),
    /// It has accepted, and will take this one for the leader.
    Joining(NodeId),
    /// A coordinator misses somebody and will look again.
    Pausing,
}

impl Protocol for Invitation {
    type Command = Notice;
    type Message = Msg;
    type Timer = Alarm;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Start => {}
            Input::Command(Notice::Call) => self.on_call(out),
            Input::Command(Notice::Suspect(node)) => self.on_suspect(node, out),
            Input::Command(Notice::Trust(node)) => self.on_trust(node, out),
            Input::Command(Notice::Drawn(_)) => return Err(NOT_DRAWN),
            Input::Deliver { from, message } => {
                self.check(from, &message)?;
                match message {
                    Msg::AyCoord(group) => self.on_aycoord(from, group, out),
                    Msg::Answer { group, looking } => self.on_answer(from, group, looking, out),
                    Msg::Invitation(group) => self.on_invitation(from, group, out),
                    Msg::Accept(group) => self.on_accept(from, group, out),
                    Msg::Ready(group) => self.on_ready(from, group, out),
                }
            }
            Input::Expire(alarm) => self.on_alarm(alarm, out),
        }
        Ok(())
    }
}

impl Invitation {
    /// Refuses what no correct node can have sent.
    fn check(&self, from: NodeId, message: &Msg) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)?;
        let group = message.group();
        known_epoch(group, self.n as usize)?;
        if group.by == self.me && group > self.epoch {
            return Err(Refused::Unexpected("a group of this node that it has never begun"));
        }
        match message {
            Msg::AyCoord(_) if group.by != from => {
                Err(Refused::Unexpected("an AYCOORD from a node that is no coordinator"))
            }
            Msg::Answer { looking: true, .. } if group.by != from => {
                Err(Refused::Unexpected("an ANSWER of a node that looks but is no coordinator"))
            }
            Msg::Invitation(_) if group.by == self.me => {
                Err(Refused::Unexpected("an INVITATION into this node's own group"))
            }
            Msg::Accept(_) if group.by != self.me => {
                Err(Refused::Unexpected("an ACCEPT for the group of another node"))
            }
            Msg::Ready(_) if group.by != from => {
                Err(Refused::Unexpected("a READY from a node that is not the coordinator"))
            }
            _ => Ok(()),
        }
    }

    fn on_call(&mut self, out: &mut Outbox<Self>) {
        if matches!(self.phase, Phase::Rest | Phase::Pausing) {
            self.leave_phase(out);
            if self.group.by != self.me {
                self.be_alone(out);
            }
            self.look(out);
        }
    }

    /// The coordinator of the own group is suspected: be alone in a new group, and look.
    fn on_suspect(&mut self, node: NodeId, out: &mut Outbox<Self>) {
        let known = node.index() < self.n as usize && node != self.me;
        if !known || !self.suspected.insert(node) {
            return;
        }
        match &mut self.phase {
            Phase::Rest if self.group.by == node => {
                self.be_alone(out);
                self.look(out);
            }
            Phase::Joining(_) if self.group.by == node && self.flaw != Flaw::WaitsForReady => {
                self.be_alone(out);
                self.look(out);
            }
            Phase::Looking { silent, answers, .. } => {
                answers.remove(&node);
                if silent.remove(node) && silent.is_empty() {
                    self.looked(out);
                }
            }
            Phase::Inviting(missing) => {
                if missing.remove(node) && missing.is_empty() {
                    self.ready(out);
                }
            }
            Phase::Pausing => self.pause(out),
            Phase::Rest | Phase::Joining(_) | Phase::Waiting(_) => {}
        }
    }

    /// Somebody is trusted again: look at once.
    fn on_trust(&mut self, node: NodeId, out: &mut Outbox<Self>) {
        let leads = self.group.by == self.me && self.group.round > 0;
        let idle = matches!(self.phase, Phase::Rest | Phase::Pausing);
        if self.suspected.remove(node) && leads && idle && !self.members.contains(node) {
            self.leave_phase(out);
            self.look(out);
        }
    }

    fn on_alarm(&mut self, alarm: Alarm, out: &mut Outbox<Self>) {
        match (alarm, &self.phase) {
            (Alarm::Answers, Phase::Looking { .. }) => self.looked(out),
            (Alarm::Priority, Phase::Waiting(found)) => self.invite(found.clone(), out),
            (Alarm::Accepts, Phase::Inviting(_)) => self.ready(out),
            (Alarm::Ready, Phase::Joining(_)) => {
                self.be_alone(out);
                self.look(out);
            }
            (Alarm::Again, Phase::Pausing) => self.look(out),
            _ => {}
        }
    }

    /// Be alone in a new group.
    fn be_alone(&mut self, out: &mut Outbox<Self>) {
        self.leave_phase(out);
        self.found(NodeSet::new());
    }

    /// Begins a group with a number that was never used before.
    fn found(&mut self, members: NodeSet) {
        self.epoch = self.epoch.next(self.me);
        (self.group, self.members, self.named) = (self.epoch, members, false);
    }

    /// AYCOORD to everybody outside the own group who is not suspected.
    fn look(&mut self, out: &mut Outbox<Self>) {
        self.leave_phase(out);
        let silent: NodeSet = self.missing().collect();
        if silent.is_empty() {
            return self.stay(out);
        }
        for node in silent.iter() {
            out.send(node, Msg::AyCoord(self.group));
        }
        out.arm(Alarm::Answers, ANSWERS);
        self.phase = Phase::Looking { silent, answers: BTreeMap::new(), rivals: 0 };
    }

    /// ANSWER names the group that one is in, and whether one is looking oneself.
    fn on_aycoord(&mut self, from: NodeId, group: Epoch, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.max(group);
        if group > self.group {
            // It has left this node's group, if it was in it.
            self.members.remove(from);
        }
        let looking =
            matches!(self.phase, Phase::Looking { .. } | Phase::Waiting(_) | Phase::Inviting(_));
        out.send(from, Msg::Answer { group: self.group, looking });
    }

    fn on_answer(&mut self, from: NodeId, group: Epoch, looking: bool, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.max(group);
        let higher = from > self.me;
        if let Phase::Looking { silent, answers, rivals } = &mut self.phase
            && silent.remove(from)
        {
            answers.insert(from, group);
            *rivals += u32::from(looking && higher);
            if silent.is_empty() {
                self.looked(out);
            }
        }
    }

    /// All have answered, or two bounds have passed.
    fn looked(&mut self, out: &mut Outbox<Self>) {
        let phase = self.leave_phase(out);
        let Phase::Looking { answers, rivals, .. } = phase else { return };
        // Members come with their coordinator, if that one is in the same group still.
        let comes_along =
            |node: NodeId, group: Epoch| group.by != node && answers.get(&group.by) == Some(&group);
        let found = answers.iter().filter(|&(&node, &group)| !comes_along(node, group));
        let found: NodeSet = found.map(|(&node, _)| node).collect();
        if found.is_empty() {
            self.stay(out);
        } else if rivals > 0 {
            out.arm(Alarm::Priority, PRIORITY.saturating_mul(rivals));
            self.phase = Phase::Waiting(found);
        } else {
            self.invite(found, out);
        }
    }

    /// INVITATION into a new group to all coordinators found and to the own members.
    fn invite(&mut self, found: NodeSet, out: &mut Outbox<Self>) {
        self.leave_phase(out);
        let mut invited = found;
        invited.extend(self.members.iter());
        let invited: NodeSet =
            invited.iter().filter(|&node| !self.suspected.contains(node)).collect();
        self.found(NodeSet::new());
        if invited.is_empty() {
            return self.ready(out);
        }
        for node in invited.iter() {
            out.send(node, Msg::Invitation(self.group));
        }
        out.arm(Alarm::Accepts, ACCEPTS);
        self.phase = Phase::Inviting(invited);
    }

    /// Pass it on to the members of the own group, be of the new one, and ACCEPT.
    fn on_invitation(&mut self, from: NodeId, group: Epoch, out: &mut Outbox<Self>) {
        if group <= self.group {
            return;
        }
        let mut followers = std::mem::take(&mut self.members);
        if let Phase::Inviting(missing) = self.leave_phase(out) {
            followers.extend(missing.iter());
        }
        for node in followers.iter().filter(|&node| node != group.by && node != from) {
            out.send(node, Msg::Invitation(group));
        }
        self.epoch = self.epoch.max(group);
        (self.group, self.named) = (group, false);
        out.send(group.by, Msg::Accept(group));
        if self.flaw != Flaw::WaitsForReady {
            out.arm(Alarm::Ready, READY);
        }
        let leader = if self.flaw == Flaw::FollowsMessenger { from } else { group.by };
        self.phase = Phase::Joining(leader);
    }

    fn on_accept(&mut self, from: NodeId, group: Epoch, out: &mut Outbox<Self>) {
        if group != self.group {
            // Its group is no more, and the INVITATION that was passed on to the others missed it.
            if group < self.group && self.group.by != from {
                out.send(from, Msg::Invitation(self.group));
            }
            return;
        }
        self.members.insert(from);
        if let Phase::Inviting(missing) = &mut self.phase {
            missing.remove(from);
            if missing.is_empty() {
                self.ready(out);
            }
        } else {
            // Whoever accepts later is READY at once.
            out.send(from, Msg::Ready(group));
            if self.phase == Phase::Pausing {
                self.pause(out);
            }
        }
    }

    /// READY to all who have accepted; it leads them.
    fn ready(&mut self, out: &mut Outbox<Self>) {
        for node in self.members.iter() {
            out.send(node, Msg::Ready(self.group));
        }
        self.stay(out);
    }

    /// The coordinator of the group is the leader.
    fn on_ready(&mut self, from: NodeId, group: Epoch, out: &mut Outbox<Self>) {
        let Phase::Joining(leader) = self.phase else { return };
        if group != self.group {
            return;
        }
        self.leave_phase(out);
        if self.suspected.contains(from) {
            self.be_alone(out);
            self.look(out);
        } else {
            self.name(leader, out);
        }
    }

    /// The group stands as it is.
    fn stay(&mut self, out: &mut Outbox<Self>) {
        if self.group.round == 0 {
            self.found(NodeSet::new());
        }
        if !self.named {
            self.name(self.me, out);
        }
        self.pause(out);
    }

    fn name(&mut self, leader: NodeId, out: &mut Outbox<Self>) {
        self.named = true;
        out.emit(Elected { leader, epoch: self.group });
    }

    /// A coordinator that misses anybody looks again after a while.
    fn pause(&mut self, out: &mut Outbox<Self>) {
        let complete = self.missing().next().is_none() || self.flaw == Flaw::LooksOnce;
        match (complete, &self.phase) {
            (false, Phase::Pausing) => {}
            (false, _) => {
                self.leave_phase(out);
                out.arm(Alarm::Again, AGAIN);
                self.phase = Phase::Pausing;
            }
            (true, _) => {
                self.leave_phase(out);
            }
        }
    }

    fn missing(&self) -> impl Iterator<Item = NodeId> {
        NodeId::all(self.n as usize).filter(|&node| {
            node != self.me && !self.members.contains(node) && !self.suspected.contains(node)
        })
    }

    /// Puts an end to what is under way, and tells what it was.
    fn leave_phase(&mut self, out: &mut Outbox<Self>) -> Phase {
        let phase = std::mem::replace(&mut self.phase, Phase::Rest);
        match phase {
            Phase::Rest => {}
            Phase::Looking { .. } => out.disarm(Alarm::Answers),
            Phase::Waiting(_) => out.disarm(Alarm::Priority),
            Phase::Inviting(_) => out.disarm(Alarm::Accepts),
            Phase::Joining(_) => out.disarm(Alarm::Ready),
            Phase::Pausing => out.disarm(Alarm::Again),
        }
        phase
    }
}

variants! { ElectionInfo {
    FollowsMessenger = "invitation-follows-messenger" {
        flaw: "a member that its coordinator brings along takes that one for the leader of the new group",
        breaks: Breaks::Agreement,
        shown_by: "-n 3 --initiators 1@0,3@10",
        refuted_by: "-n 3 --initiators 1,3",
    }
    WaitsForReady = "invitation-waits-for-ready" {
        flaw: "a node that has accepted waits for READY for ever, though the coordinator may crash",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --initiators all@0 --crash 3@3.5",
        refuted_by: "-n 2 --initiators all --crashes 1",
    }
    LooksOnce = "invitation-looks-once" {
        flaw: "a coordinator does not look again for those who have not answered",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --initiators 1@0 --loss 0.2",
        refuted_by: "-n 2 --initiators 1 --loss 1",
    }
} }

impl Election for Invitation {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let node = |me| Invitation {
            me,
            n: setup.nodes() as u32,
            flaw,
            epoch: Epoch::FIRST,
            group: Epoch { round: 0, by: me },
            named: false,
            members: NodeSet::new(),
            suspected: NodeSet::new(),
            phase: Phase::Rest,
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// It is alone in a new group: those it may have led or followed must not take it for the same.
    fn recovered(&self) -> Self {
        let mut node = Invitation { suspected: NodeSet::new(), phase: Phase::Rest, ..self.clone() };
        node.found(NodeSet::new());
        node
    }
}
