//! A voter of the view service: consensus, the views, and the leases that it grants while it leads.

mod admin;
mod away;
mod consensus;
mod lease;
mod standing;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use raft::eraftpb::{ConfState, Message};
use raft::{Config, RawNode, StateRole};
use serde::{Deserialize, Serialize};
use skeptron_member::MemberId;
use skeptron_member::clock::MonoTime;
use skeptron_member::view::View;

pub use admin::{Admin, AdminAccepted, AdminRefused};
pub use standing::Standing;

use crate::flaw::Flaw;
use crate::protocol::{Answer, Request};
use crate::store::{Contradiction, Hard, Record, Store};
use crate::views::{LeaseSettings, Outcome, Views};
use crate::wire::{Body, Configuration, LogSnapshot, Packet};
use lease::Leading;

/// How often a driver calls [`Voter::tick`].
pub const TICK: Duration = Duration::from_millis(50);
/// A follower that hears nothing for 10 to 20 ticks asks whether it should lead.
const ELECTION_TICKS: usize = 10;
const HEARTBEAT_TICKS: usize = 2;
/// A snapshot that was not acknowledged by then is sent again.
const SNAPSHOT_TICKS: u32 = 20;

/// Which voter this is. The log file begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The cluster's number, drawn when it was initialised.
    pub cluster: u128,
    /// The member that this voter is part of.
    pub member: MemberId,
    /// Its id among the voters, never used before and never again.
    pub raft: u64,
}

/// What a driver may choose.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Election timeouts are a function of this, the raft id and the term. Any number does; a
    /// simulation takes its own seed, so that the same seed is the same run.
    pub seed: u64,
    /// The log is rewritten as a snapshot when it has more entries than this.
    pub keep_entries: usize,
    /// A rule that is switched off, to show that the tests notice.
    #[doc(hidden)]
    pub flaw: Option<Flaw>,
    /// Applies decisions only every so many ticks, as a busy voter might.
    #[doc(hidden)]
    pub apply_every: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: 0, keep_entries: 512, flaw: None, apply_every: 0 }
    }
}

/// What must become durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Append these to the log.
    Append(Vec<Record>),
    /// Replace the whole log by these.
    Rewrite(Vec<Record>),
}

/// What a driver has to do, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Send it to a voter. It may be lost, delayed or duplicated.
    Send {
        /// To whom.
        to: MemberId,
        /// What.
        packet: Packet,
    },
    /// Send it to a member. It may be lost, delayed or duplicated.
    Answer {
        /// To whom.
        to: MemberId,
        /// What.
        answer: Answer,
    },
    /// Make it durable, then call [`Voter::persisted`] with this number.
    Persist {
        /// Rises from one write to the next.
        number: u64,
        /// What.
        write: Write,
    },
    /// The cluster changed. For logs and metrics: members learn views by [`Answer::View`].
    Decided {
        /// The view after it; the epoch is the former one if no member changed.
        view: View,
        /// The term in which it was decided: a voter that starts again meets older ones.
        term: u64,
        /// What happened, in order.
        outcomes: Vec<Outcome>,
    },
    /// This voter must not run any more; it ignores every further input.
    Halt(HaltReason),
}

/// Why a voter stopped for good.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HaltReason {
    /// The voter might vote twice, and raft would panic: its file was emptied or replaced by an old copy.
    ///
    /// It finds out as soon as it hears of any voter that has run since: voters tell each other how far
    /// each of their logs reached, and that is looked at before a vote is given. Nobody remembers it who was
    /// restarted as well, and a voter that is alone, or whose old file lacks a vote but no entry, cannot
    /// find out at all. Hence the rule for operators: **never restore a voter's file; replace the voter.**
    #[error(
        "the voter's log of {member} (raft id {raft}) ends at entry {last}, but entry {acknowledged} had \
         been acknowledged: its file was lost or an old copy was restored; run `skeptron voters replace \
         {number} {number}` to start it again with an empty log", number = .member.number()
    )]
    LostLog {
        /// Whose voter this is.
        member: MemberId,
        /// Its raft id.
        raft: u64,
        /// The last entry that it has.
        last: u64,
        /// An entry that the leader knows it had.
        acknowledged: u64,
    },
    /// An administrator removed or replaced it.
    #[error(
        "{member} (raft id {raft}) is no longer a voter; `skeptron voters add {}` makes it one again",
        .member.number()
    )]
    Removed {
        /// Whose voter this is.
        member: MemberId,
        /// Its raft id.
        raft: u64,
    },
    /// Another version of the program, or a damaged memory.
    #[error("entry {index} cannot be read: the voters run incompatible versions")]
    Unreadable {
        /// Of the entry or snapshot.
        index: u64,
    },
}

/// Why a voter cannot start from what its log gave back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The records do not follow each other.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// The state of the cluster in the log cannot be read.
    #[error("the views in the log cannot be read: it was written by another version")]
    Unreadable,
    /// The log is that of another cluster.
    #[error("the log belongs to cluster {found:032x}, not to {expected:032x}")]
    Foreign {
        /// In the log.
        found: u128,
        /// In the identity.
        expected: u128,
    },
    /// The raft id must not be zero.
    #[error("raft ids are counted from 1")]
    NoId,
}

/// A voter, without I/O and clock.
///
/// # How to drive it
/// ```text
/// let records = Log::open(..)?            // or Log::create(.., &first_records(..)) at initialisation
/// let voter = Voter::start(now, identity, options, records, &mut effects)?;
/// loop {
///     perform all effects, in order, and clear the list
///     match next event {
///         50 ms passed                  => voter.tick(now, &mut effects),
///         packet from another voter     => voter.receive(now, from, packet, &mut effects),
///         request from a member         => voter.request(now, from, request, &mut effects),
///         a write is durable            => voter.persisted(now, number, &mut effects),
///         an administrator's order      => voter.administer(now, order, &mut effects),
///     }
/// }
/// ```
/// * **Time.** `now` never goes back and runs while the machine sleeps. No event may be handled with a
///   `now` that was read before it arrived: leases count from the receipt of a renewal. A driver that
///   was late calls `tick` once, not once for each tick that it missed.
/// * **Writes.** `Persist` effects are performed in order. Whatever depends on a write is held back
///   inside the voter until `persisted` is called, so sends may go out while a write is under way.
///   A number stands for all smaller ones: a driver may perform several writes and report the last.
///   If a write fails the process must end; what is on the disk is then unknown, and only a restart finds out.
/// * **Messages.** They may be lost, delayed, reordered or duplicated. `from` must be authenticated. Requests
///   of the member in the same process go the same way, through `request`.
/// * **Halt.** The driver shows the reason and stops the voter. The member beside it goes on: it
///   needs any leader, not this voter.
/// * **Restart.** The new life gets the records that `Log::open` gives back. Leases need nothing on disk: a
///   new leader waits until every lease that may exist has run out before it removes anybody.
pub struct Voter {
    identity: Identity,
    options: Options,
    node: RawNode<Store>,
    views: Views,
    /// The voters as of `applied`.
    configuration: ConfState,
    applied: u64,
    applied_term: u64,
    /// Committed entries that are not yet applied; empty unless applying is slow.
    decided: VecDeque<raft::eraftpb::Entry>,
    /// Who sends under which raft id: a voter that is behind must answer seats that it does not know yet.
    names: BTreeMap<u64, MemberId>,
    /// The last entry that each voter certainly has, by raft id.
    floors: BTreeMap<u64, u64>,
    /// The newest write that was asked for, and the newest that is durable.
    asked: u64,
    durable: u64,
    /// The newest write that contains a new term or vote: even a leader says nothing before it is durable.
    asked_vote: u64,
    written: Hard,
    /// Messages that wait for a write.
    held: VecDeque<(u64, Message)>,
    /// The write that contains a snapshot from the leader, and the snapshot's index.
    installing: Option<(u64, u64)>,
    /// Snapshots on their way, and in how many ticks they count as lost.
    snapshots: BTreeMap<u64, u32>,
    leading: Option<Leading>,
    ticks: u64,
    halted: bool,
}

/// What the log of a voter of a new cluster begins with: the same at all first voters. Their raft ids
/// are their places in `voters`, from 1.
///
/// # Panics
/// If memory is exhausted.
#[must_use]
pub fn first_records(cluster: u128, settings: LeaseSettings, voters: &[MemberId]) -> Vec<Record> {
    records_of(&Views::new(cluster, settings, voters))
}

/// The same of a cluster that begins with one voter, above an epoch; the others become voters when they
/// enter, one after another, with logs that the first one sends them.
///
/// # Panics
/// If memory is exhausted.
#[must_use]
pub fn bootstrap_records(
    cluster: u128,
    settings: LeaseSettings,
    first: MemberId,
    wanted: Vec<MemberId>,
    epoch_after: u64,
) -> Vec<Record> {
    let views = Views::new(cluster, settings, &[first]);
    records_of(&views.wanting(wanted).after_epoch(epoch_after))
}

fn records_of(views: &Views) -> Vec<Record> {
    let data = postcard::to_stdvec(views).expect("views fit into memory");
    let ids = 1..=views.seats().len() as u64;
    let configuration = Configuration { voters: ids.collect(), ..Configuration::default() };
    // Not at index 0: a voter that is added later has nothing, and must be sent this snapshot.
    let snapshot = LogSnapshot { index: 1, term: 1, configuration, data };
    vec![Record::Snapshot(snapshot), Record::Hard(Hard { term: 1, vote: 0, commit: 1 })]
}

impl Voter {
    /// A voter that goes on from what its log gave back. No records make a voter that was added to a
    /// running cluster and will be sent everything by the leader.
    ///
    /// # Errors
    /// If the records are not those of this voter; it must not start.
    pub fn start(
        now: MonoTime,
        identity: Identity,
        options: Options,
        records: Vec<Record>,
        out: &mut Vec<Effect>,
    ) -> Result<Self, StartError> {
        if identity.raft == 0 {
            return Err(StartError::NoId);
        }
        let store = Store::restore(records)?;
        let (applied, applied_term) = (store.snapshot.index, store.snapshot.term);
        let views = if applied == 0 {
            Views::new(identity.cluster, LeaseSettings::default(), &[])
        } else {
            postcard::from_bytes::<Views>(&store.snapshot.data)
                .map_err(|_| StartError::Unreadable)?
        };
        if views.cluster() != identity.cluster {
            let (found, expected) = (views.cluster(), identity.cluster);
            return Err(StartError::Foreign { found, expected });
        }
        let config = Config {
            id: identity.raft,
            election_tick: ELECTION_TICKS,
            heartbeat_tick: HEARTBEAT_TICKS,
            applied,
            check_quorum: true,
            pre_vote: true,
            max_size_per_msg: 1 << 20,
            max_inflight_msgs: 64,
            ..Config::default()
        };
        let written = store.hard();
        let configuration = store.snapshot.configuration.to_raft();
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let node = RawNode::new(&config, store, &logger)
            .map_err(|_| StartError::Contradiction(Contradiction::REJECTED))?;
        let mut voter = Voter {
            identity,
            options,
            node,
            views,
            configuration,
            applied,
            applied_term,
            decided: VecDeque::new(),
            names: BTreeMap::new(),
            floors: BTreeMap::new(),
            asked: 0,
            durable: 0,
            asked_vote: 0,
            written,
            held: VecDeque::new(),
            installing: None,
            snapshots: BTreeMap::new(),
            leading: None,
            ticks: 0,
            halted: false,
        };
        voter.settle(now, out);
        Ok(voter)
    }

    /// A tick of [`TICK`] has passed.
    pub fn tick(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        if self.halted {
            return;
        }
        self.ticks += 1;
        // A voter whose disk is stuck does not try to lead: raft requires a durable log for that.
        if self.leads() || self.asked <= self.durable {
            self.node.tick();
        }
        self.give_up_lost_snapshots();
        self.count_silence();
        self.count_behind(now);
        self.apply_slowly(now, out);
        self.read_again(now);
        self.settle(now, out);
    }

    /// A packet from another voter.
    pub fn receive(
        &mut self,
        now: MonoTime,
        from: MemberId,
        packet: Packet,
        out: &mut Vec<Effect>,
    ) {
        if self.halted || packet.cluster != self.identity.cluster || packet.from != from {
            return;
        }
        // Only voters know of logs; one that knows nobody yet believes whom it hears.
        let seats = self.views.seats();
        if seats.is_empty() || seats.iter().any(|seat| seat.id == from) {
            self.take_floors(&packet.floors, out);
        }
        match packet.body {
            _ if self.halted => return,
            Body::Raft(message) => self.step(now, from, *message, out),
            Body::Removed { raft } if raft == self.identity.raft => {
                self.halt(HaltReason::Removed { member: self.identity.member, raft }, out);
            }
            Body::Removed { .. } => {}
        }
        self.settle(now, out);
    }

    /// A request from a member.
    pub fn request(
        &mut self,
        now: MonoTime,
        from: MemberId,
        request: Request,
        out: &mut Vec<Effect>,
    ) {
        if self.halted {
            return;
        }
        if self.leading.is_none() {
            out.push(Effect::Answer { to: from, answer: Answer::NotLeader(self.leader()) });
            return;
        }
        self.take_request(now, from, request, out);
        self.settle(now, out);
    }

    /// The write with this number, and every one before it, is durable.
    pub fn persisted(&mut self, now: MonoTime, number: u64, out: &mut Vec<Effect>) {
        if self.halted || number <= self.durable || number > self.asked {
            return;
        }
        self.became_durable(number, out);
        self.settle(now, out);
    }

    /// An administrator's order. `Ok` means that it was proposed, not yet that it was decided: see
    /// [`Voter::seats`](Views::seats) and [`Effect::Decided`].
    ///
    /// # Errors
    /// Why it was not; nothing changed.
    pub fn administer(
        &mut self,
        now: MonoTime,
        order: Admin,
        out: &mut Vec<Effect>,
    ) -> Result<AdminAccepted, AdminRefused> {
        let accepted = self.take_order(now, order)?;
        self.settle(now, out);
        Ok(accepted)
    }

    /// Which voter this is.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// What was decided, as far as this voter knows.
    #[must_use]
    pub fn views(&self) -> &Views {
        &self.views
    }

    /// Whether this voter leads, as far as it knows.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.node.raft.state == StateRole::Leader
    }

    /// Who leads, as far as this voter knows.
    #[must_use]
    pub fn leader(&self) -> Option<MemberId> {
        if self.leads() {
            return Some(self.identity.member);
        }
        self.name(self.node.raft.leader_id)
    }

    /// Whether a decision can rely on this seat: while the voters change, only if it had and has a vote.
    #[must_use]
    pub fn votes(&self, raft: u64) -> bool {
        let ConfState { voters, voters_outgoing, .. } = &self.configuration;
        voters.contains(&raft) && (voters_outgoing.is_empty() || voters_outgoing.contains(&raft))
    }

    /// The raft term.
    #[must_use]
    pub fn term(&self) -> u64 {
        self.node.raft.term
    }

    /// The index of the last entry that was applied.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.applied
    }

    fn name(&self, raft: u64) -> Option<MemberId> {
        let seat = self.views.seats().iter().find(|seat| seat.raft == raft);
        seat.map(|seat| seat.id).or_else(|| self.names.get(&raft).copied())
    }

    fn halt(&mut self, reason: HaltReason, out: &mut Vec<Effect>) {
        self.halted = true;
        self.leading = None;
        out.push(Effect::Halt(reason));
    }

    fn has_flaw(&self, flaw: Flaw) -> bool {
        self.options.flaw == Some(flaw)
    }
}
