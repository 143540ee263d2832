//! What an administrator may order.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use skeptron_member::MemberId;
use skeptron_member::clock::MonoTime;

use super::Voter;
use super::consensus::Reseat;
use crate::views::{Command, LeaseSettings, Role, Seat};

/// An order to the leader. One change of the voters at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Admin {
    /// Makes a member a voter: it gets the log first and votes once it has all of it. Its voter is
    /// started without records, with the raft id of [`AdminAccepted::Seat`], but only when
    /// [`Views::seats`](crate::views::Views::seats) shows that id: until then it may be given to another.
    AddVoter {
        /// Who shall vote.
        id: MemberId,
    },
    /// Gives the seat of one voter to a new one in one step. They may be the same member, whose disk was lost.
    ReplaceVoter {
        /// Whose seat goes.
        old: MemberId,
        /// Who gets a new one.
        new: MemberId,
    },
    /// Takes a voter or learner away. A leader hands leadership over first and refuses.
    RemoveVoter {
        /// Who shall not vote any more.
        id: MemberId,
    },
    /// Removes a member at once, without waiting for its lease. **Only for a machine that is certainly
    /// off**: one that still runs believes in its locks until its lease ends.
    RemoveMember {
        /// Who will not come back.
        id: MemberId,
    },
    /// Changes the length of leases.
    Settings(LeaseSettings),
    /// A view with the same members, to forget idle locks.
    Renumber,
    /// Hands leadership to another voter, before this one is stopped.
    StepDown,
}

/// An order that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AdminAccepted {
    /// It was proposed.
    Proposed,
    /// It was proposed; the new voter has this raft id.
    Seat {
        /// Never used before.
        raft: u64,
    },
}

/// Why an order was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum AdminRefused {
    /// Only the leader takes orders.
    #[error("not the leader; ask {}", .0.map_or("again later".into(), |id| id.to_string()))]
    NotLeader(Option<MemberId>),
    /// The voters are changing already, or the leader does not know yet what was decided.
    #[error("another change of the voters is under way; try again later")]
    Busy,
    /// It votes already.
    #[error("{0} is already a voter")]
    AlreadyVoter(MemberId),
    /// It does not vote.
    #[error("{0} is not a voter")]
    NotVoter(MemberId),
    /// It does not belong to the view.
    #[error("{0} is not a member")]
    NotMember(MemberId),
    /// It could not keep a log.
    #[error(
        "{0} has no folder for a voter's log: set `data` there (`skeptron join` has --data), \
         restart it, and repeat the command"
    )]
    NoFolder(MemberId),
    /// Nobody would be left.
    #[error("{0} is the only voter; add another one first")]
    OnlyVoter(MemberId),
    /// The voter leads; leadership is being handed over.
    #[error("{0} is the leading voter; leadership is being handed over, try again")]
    Leads(MemberId),
    /// Leases of a former length may still run, or a leader that has just begun cannot know.
    #[error(
        "the lease length or the leader of the voters changed recently, and leases of another length may \
         still run; try again in {} ms",
        .0.as_millis()
    )]
    TooSoon(Duration),
    /// The lease would be useless.
    #[error("the lease must be from 100 ms to 10 minutes, and the drift below 100000 ppm")]
    Settings,
}

impl Voter {
    pub(super) fn take_order(
        &mut self,
        now: MonoTime,
        order: Admin,
    ) -> Result<AdminAccepted, AdminRefused> {
        if self.halted || self.leading.is_none() {
            return Err(AdminRefused::NotLeader(self.leader().filter(|_| !self.halted)));
        }
        match order {
            Admin::AddVoter { id } => {
                if self.seat(id).is_some() {
                    return Err(AdminRefused::AlreadyVoter(id));
                }
                self.add_learner(id, None)
            }
            Admin::ReplaceVoter { old, new } => {
                let seat = self.seat(old).ok_or(AdminRefused::NotVoter(old))?;
                self.refuse_if_leader(seat)?;
                if old != new && self.seat(new).is_some() {
                    return Err(AdminRefused::AlreadyVoter(new));
                }
                self.add_learner(new, Some(seat.raft))
            }
            Admin::RemoveVoter { id } => self.remove_voter(id),
            Admin::RemoveMember { id } => {
                let member = self.views.view().life(id);
                let incarnation = member.and_then(|member| member.incarnation);
                let incarnation = incarnation.ok_or(AdminRefused::NotMember(id))?;
                self.order(Command::Gone { incarnation })
            }
            Admin::Settings(settings) => {
                if !settings.are_sensible() {
                    return Err(AdminRefused::Settings);
                }
                match self.settings_free_at() {
                    Some(free) if free > now => Err(AdminRefused::TooSoon(free.since(now))),
                    _ => {
                        self.settings_ordered(now);
                        self.order(Command::Settings(settings))
                    }
                }
            }
            Admin::Renumber => self.order(Command::Renumber),
            Admin::StepDown => {
                self.hand_over();
                Ok(AdminAccepted::Proposed)
            }
        }
    }

    /// Promotes a learner that has everything, and leaves a joint configuration.
    pub(super) fn propose_seats(&mut self) {
        if !self.may_reseat() {
            return;
        }
        if !self.configuration.voters_outgoing.is_empty() {
            self.propose_reseat(&Reseat::default());
            return;
        }
        let learner = self.views.seats().iter().find_map(|seat| match seat.role {
            Role::Learner { replaces } => Some((*seat, replaces)),
            Role::Voter => None,
        });
        let Some((seat, replaces)) = learner else {
            if let Some(id) = self.views.next_wanted() {
                // Refused while another change is under way; this is called again.
                let _ = self.add_learner(id, None);
            }
            return;
        };
        let committed = self.node.raft.raft_log.committed;
        let progress = self.node.raft.prs().get(seat.raft);
        if progress.is_some_and(|progress| progress.matched >= committed) {
            let seats = vec![Seat { role: Role::Voter, ..seat }];
            let remove = replaces.into_iter().filter(|&raft| self.has_seat(raft)).collect();
            self.propose_reseat(&Reseat { seats, remove });
        }
    }

    fn add_learner(
        &mut self,
        id: MemberId,
        replaces: Option<u64>,
    ) -> Result<AdminAccepted, AdminRefused> {
        if self.views.has_folder(id) == Some(false) {
            return Err(AdminRefused::NoFolder(id));
        }
        let is_learner = |seat: &Seat| seat.role != Role::Voter;
        if !self.may_reseat() || self.is_joint() || self.views.seats().iter().any(is_learner) {
            return Err(AdminRefused::Busy);
        }
        let raft = self.views.next_raft();
        let seat = Seat { raft, id, role: Role::Learner { replaces } };
        self.propose_reseat(&Reseat { seats: vec![seat], remove: Vec::new() });
        Ok(AdminAccepted::Seat { raft })
    }

    fn remove_voter(&mut self, id: MemberId) -> Result<AdminAccepted, AdminRefused> {
        let seat = self.seat(id).ok_or(AdminRefused::NotVoter(id))?;
        let voters = self.views.seats().iter().filter(|seat| seat.role == Role::Voter).count();
        if seat.role == Role::Voter && voters == 1 {
            return Err(AdminRefused::OnlyVoter(id));
        }
        self.refuse_if_leader(seat)?;
        if !self.may_reseat() || self.is_joint() {
            return Err(AdminRefused::Busy);
        }
        self.propose_reseat(&Reseat { seats: Vec::new(), remove: vec![seat.raft] });
        Ok(AdminAccepted::Proposed)
    }

    /// A leader that is removed could not tell the others that it is.
    fn refuse_if_leader(&mut self, seat: Seat) -> Result<(), AdminRefused> {
        if seat.raft != self.identity.raft {
            return Ok(());
        }
        self.hand_over();
        Err(AdminRefused::Leads(seat.id))
    }

    fn hand_over(&mut self) {
        let me = self.identity.raft;
        let voters = self.views.seats().iter().filter(|seat| seat.role == Role::Voter);
        let others = voters.map(|seat| seat.raft).filter(|&raft| raft != me);
        let best = others
            .filter_map(|raft| self.node.raft.prs().get(raft).map(|progress| (raft, progress)))
            .max_by_key(|(raft, progress)| (progress.recent_active, progress.matched, *raft))
            .map(|(raft, _)| raft);
        if let Some(raft) = best {
            self.node.transfer_leader(raft);
        }
    }

    fn order(&mut self, command: Command) -> Result<AdminAccepted, AdminRefused> {
        let leading = self.leading.as_mut().ok_or(AdminRefused::NotLeader(None))?;
        if !leading.ordered.contains(&command) {
            leading.ordered.push(command);
        }
        Ok(AdminAccepted::Proposed)
    }

    fn seat(&self, id: MemberId) -> Option<Seat> {
        self.views.seats().iter().rev().find(|seat| seat.id == id).copied()
    }

    fn has_seat(&self, raft: u64) -> bool {
        self.views.seats().iter().any(|seat| seat.raft == raft)
    }

    fn is_joint(&self) -> bool {
        !self.configuration.voters_outgoing.is_empty()
    }

    /// Whether everything about voters that was proposed before is known.
    fn may_reseat(&self) -> bool {
        self.leading.as_ref().is_some_and(|leading| {
            self.applied_term == self.node.raft.term && self.applied >= leading.reseated
        })
    }

    fn propose_reseat(&mut self, reseat: &Reseat) {
        let context = postcard::to_stdvec(reseat).expect("seats fit into memory");
        let context =
            if reseat.seats.is_empty() && reseat.remove.is_empty() { Vec::new() } else { context };
        if self.node.propose_conf_change(context, reseat.to_raft()).is_ok() {
            let index = self.node.raft.raft_log.last_index();
            if let Some(leading) = &mut self.leading {
                leading.reseated = index;
            }
        }
    }
}
