//! What consensus decides: who belongs to the cluster, in one sequence of epochs.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skeptron_member::MemberId;
use skeptron_member::clock::Drift;
use skeptron_member::view::{Member, View};

/// How many former incarnations are remembered. A delayed `Join` of one of them is refused; an older
/// one cannot be in the log any more, because the leader proposes only what it received in its term.
const RETIRED: usize = 1024;

/// What a member says about itself when it enters the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Who enters.
    pub id: MemberId,
    /// Drawn at the start of this life, never used before.
    pub incarnation: u64,
    /// Where it listens for other members, `HOST:PORT`.
    pub address: String,
    /// Where it serves clients, as `https://HOST:PORT`; at most [`Join::MOST_API`] addresses of
    /// [`Join::MOST_API_BYTES`] each.
    pub api: Vec<String>,
    /// A digest of which algorithm guards which lock; all members must agree.
    pub plans: u64,
    /// The same for people, as in `naimi-trehel, orders/ by maekawa`.
    pub algorithms: String,
    /// Whether it has a folder for a voter's log.
    pub has_folder: bool,
    /// Of the protocol between members; see [`speak`].
    pub version: u32,
}

impl Join {
    /// Every member keeps the addresses of all, and clients are told of them.
    pub const MOST_API: usize = 4;
    /// The longest address.
    pub const MOST_API_BYTES: usize = 256;

    /// Whether the addresses for clients are few, short and plain text.
    #[must_use]
    pub fn has_sensible_api(&self) -> bool {
        let is_plain = |url: &String| {
            (1..=Self::MOST_API_BYTES).contains(&url.len())
                && url.bytes().all(|byte| byte.is_ascii_graphic())
        };
        self.api.len() <= Self::MOST_API && self.api.iter().all(is_plain)
    }
}

/// A version of the protocol as one number.
#[must_use]
pub const fn version(major: u16, minor: u16) -> u32 {
    (major as u32) << 16 | minor as u32
}

/// Whether members of these two versions understand each other: each minor version speaks the one
/// before it as well, so members can be upgraded one after another.
#[must_use]
pub fn speak(one: u32, other: u32) -> bool {
    one >> 16 == other >> 16 && one.abs_diff(other) <= 1
}

struct Version(u32);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.0 >> 16, self.0 & 0xffff)
    }
}

/// How long leases are, decided like views so that every voter knows how long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseSettings {
    /// L_g: how long the grantor counts a lease as running.
    pub lease: Duration,
    /// The bound on every clock's rate error.
    pub drift: Drift,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        LeaseSettings { lease: Duration::from_secs(3), drift: Drift::default() }
    }
}

impl LeaseSettings {
    /// Whether clusters can live with it: a lease that is too long could not be corrected before it ended.
    #[must_use]
    pub fn are_sensible(&self) -> bool {
        (Self::SHORTEST..=Self::LONGEST).contains(&self.lease) && self.drift.ppm < 100_000
    }

    /// The shortest lease.
    pub const SHORTEST: Duration = Duration::from_millis(100);
    /// The longest lease.
    pub const LONGEST: Duration = Duration::from_secs(600);

    /// L_h: how long the holder may believe in a lease, by its own clock.
    #[must_use]
    pub fn hold(&self) -> Duration {
        self.drift.believed(self.lease)
    }
}

/// Why a join was refused. The sender must change something; repeating it does not help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum JoinRefused {
    /// The life is over; a member that comes back draws a new incarnation.
    #[error("incarnation {incarnation:016x} has been removed from the cluster; start a new one")]
    Retired {
        /// The one that asked.
        incarnation: u64,
    },
    /// The members' plans differ from the sender's.
    #[error(
        "algorithms differ: the cluster uses {cluster}, this member {offered}; set \
         `algorithm` and `[[prefix]]` as at the others"
    )]
    Plans {
        /// What the members have.
        cluster: String,
        /// What was offered.
        offered: String,
    },
    /// A member would not understand the sender.
    #[error(
        "this member uses version {} of the protocol, and a member of the cluster {}: upgrade by one minor \
         version at a time, on all members before the next",
        Version(*.offered), Version(*.member)
    )]
    Version {
        /// What a member speaks.
        member: u32,
        /// What the sender speaks.
        offered: u32,
    },
    /// All members would keep what it says, and tell their clients.
    #[error(
        "too many or too long addresses for clients: at most {} of {} bytes; shorten `api.advertise`",
        Join::MOST_API,
        Join::MOST_API_BYTES
    )]
    Api,
    /// Another life of this member belongs to the cluster, and it is not certain that it is over.
    #[error("{id} is a member with incarnation {incarnation:016x}")]
    Present {
        /// Whose life it is.
        id: MemberId,
        /// The one that is a member.
        incarnation: u64,
    },
}

/// One change of the cluster. An entry of the log holds several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// A new life enters; asking again for the same life changes nothing.
    Join(Join),
    /// Its sender has given up every right.
    Leave {
        /// Which life.
        incarnation: u64,
    },
    /// It is not heard, but its lease may still run: the others go on without it.
    Away {
        /// Which life.
        incarnation: u64,
    },
    /// It was away and is heard again.
    Back {
        /// Which life.
        incarnation: u64,
    },
    /// Its lease has certainly run out.
    Gone {
        /// Which life.
        incarnation: u64,
    },
    /// The length of leases from now on.
    Settings(LeaseSettings),
    /// A view with the same members, so that they forget idle locks.
    Renumber,
}

/// What one command of an entry did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is a member now.
    Joined(Member),
    /// It was not let in; nothing changed.
    Refused(Join, JoinRefused),
    /// It left by itself.
    Left(Member),
    /// It is away.
    Away(Member),
    /// It was away and is a member again.
    Back(Member),
    /// Its lease ran out, or an administrator removed it.
    Gone(Member),
    /// Leases have this length from now on.
    Settings(LeaseSettings),
    /// The epoch rose on request.
    Renumbered,
    /// The command had been done before.
    Nothing,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Joined(member) => write!(f, "{} joined at {}", member.id, member.address),
            Outcome::Refused(join, why) => write!(f, "{} was refused: {why}", join.id),
            Outcome::Left(member) => write!(f, "{} left", member.id),
            Outcome::Away(member) => write!(f, "{} is not heard and counts as away", member.id),
            Outcome::Back(member) => write!(f, "{} is back", member.id),
            Outcome::Gone(member) => {
                write!(f, "{} is gone: its lease ended, or it was removed", member.id)
            }
            Outcome::Settings(settings) => write!(f, "leases take {:?}", settings.lease),
            Outcome::Renumbered => f.write_str("a new epoch was asked for"),
            Outcome::Nothing => f.write_str("nothing changed"),
        }
    }
}

/// What a seat in the voters' configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    /// It votes.
    Voter,
    /// It gets the log and is promoted by the leader once it has all of it, in place of the seat
    /// `replaces` if there is one.
    Learner {
        /// The raft id of the voter that goes when this one is promoted.
        replaces: Option<u64>,
    },
}

/// Who votes under a raft id. Raft ids are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The raft id.
    pub raft: u64,
    /// The member that has it.
    pub id: MemberId,
    /// What it does.
    pub role: Role,
}

/// Who votes, and where they are: what a member needs to find the leader, and a new voter to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voters {
    /// The cluster's number, drawn when it was initialised.
    pub cluster: u128,
    /// By ascending raft id.
    pub seats: Vec<Seat>,
    /// Where each voter that was ever a member listened last.
    pub addresses: BTreeMap<MemberId, String>,
}

/// The replicated state machine. All voters that applied the same entries have the same value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Views {
    cluster: u128,
    view: View,
    settings: LeaseSettings,
    /// The settings before these: leases granted under them may still run.
    former: LeaseSettings,
    /// Plans of the present members, and how they are called; none while there are no members.
    plans: Option<(u64, String)>,
    retired: VecDeque<u64>,
    /// What each member speaks, by incarnation.
    versions: BTreeMap<u64, u32>,
    /// Lives that have a folder for a voter's log.
    folders: BTreeSet<u64>,
    seats: Vec<Seat>,
    next_raft: u64,
    /// Of members and of voters that were members.
    addresses: BTreeMap<MemberId, String>,
    /// Who shall vote as soon as it is a member, once: whoever loses its log later is not let in again
    /// by itself.
    wanted: Vec<MemberId>,
}

impl Views {
    /// A cluster without members, before its first epoch. Raft ids are given by place, from 1.
    #[must_use]
    pub fn new(cluster: u128, settings: LeaseSettings, voters: &[MemberId]) -> Self {
        let seat = |(place, &id)| Seat { raft: place as u64 + 1, id, role: Role::Voter };
        Views {
            cluster,
            view: View::new(0, Vec::new()),
            settings,
            former: settings,
            plans: None,
            retired: VecDeque::new(),
            versions: BTreeMap::new(),
            folders: BTreeSet::new(),
            seats: voters.iter().enumerate().map(seat).collect(),
            next_raft: voters.len() as u64 + 1,
            addresses: BTreeMap::new(),
            wanted: Vec::new(),
        }
    }

    /// The same, in which these become voters when they enter.
    #[must_use]
    pub fn wanting(self, wanted: Vec<MemberId>) -> Self {
        Views { wanted, ..self }
    }

    /// The same, whose first epoch is the one after this: fences go on rising where another cluster ended.
    #[must_use]
    pub fn after_epoch(mut self, epoch: u64) -> Self {
        self.view.epoch = epoch;
        self
    }

    /// A member that shall become a voter next.
    #[must_use]
    pub fn next_wanted(&self) -> Option<MemberId> {
        self.wanted.iter().copied().find(|&id| self.has_folder(id) == Some(true))
    }

    /// Whether a member has a folder for a voter's log; none if it is not in the view.
    #[must_use]
    pub fn has_folder(&self, id: MemberId) -> Option<bool> {
        let incarnation = self.view.member(id)?.incarnation?;
        Some(self.folders.contains(&incarnation))
    }

    /// The cluster's number, drawn when it was initialised.
    #[must_use]
    pub fn cluster(&self) -> u128 {
        self.cluster
    }

    /// The present view; epoch 0 has no members and is never installed.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// How long leases are.
    #[must_use]
    pub fn settings(&self) -> LeaseSettings {
        self.settings
    }

    /// How long any lease that somebody else granted may still run.
    #[must_use]
    pub fn longest_lease(&self) -> Duration {
        self.settings.lease.max(self.former.lease)
    }

    /// The voters and learners, by ascending raft id.
    #[must_use]
    pub fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// What members must know of the voters.
    #[must_use]
    pub fn voters(&self) -> Voters {
        let is_seated = |id: &MemberId| self.seats.iter().any(|seat| seat.id == *id);
        let addresses = self.addresses.iter().filter(|(id, _)| is_seated(id));
        Voters {
            cluster: self.cluster,
            seats: self.seats.clone(),
            addresses: addresses.map(|(id, address)| (*id, address.clone())).collect(),
        }
    }

    /// The raft id that the next voter gets.
    #[must_use]
    pub fn next_raft(&self) -> u64 {
        self.next_raft
    }

    /// The member that lives this life, if it belongs to the view.
    #[must_use]
    pub fn member(&self, incarnation: u64) -> Option<&Member> {
        self.view.members.iter().find(|member| member.incarnation == Some(incarnation))
    }

    /// The member that lives this life, if it belongs to the view or is away.
    #[must_use]
    pub fn life(&self, incarnation: u64) -> Option<&Member> {
        let away = self.view.away.iter();
        self.member(incarnation)
            .or_else(|| away.into_iter().find(|it| it.incarnation == Some(incarnation)))
    }

    /// What a life that is a member speaks.
    #[must_use]
    pub fn version(&self, incarnation: u64) -> Option<u32> {
        self.versions.get(&incarnation).copied()
    }

    /// Whether this life was a member and is not any more.
    #[must_use]
    pub fn is_retired(&self, incarnation: u64) -> bool {
        self.retired.contains(&incarnation)
    }

    /// Applies one entry: the outcomes in the order of the commands. The epoch rises by one if any of
    /// them changed the members.
    pub fn apply(&mut self, commands: &[Command]) -> Vec<Outcome> {
        let outcomes: Vec<Outcome> =
            commands.iter().map(|command| self.apply_one(command)).collect();
        let changes = |outcome: &Outcome| match outcome {
            Outcome::Joined(_) | Outcome::Left(_) | Outcome::Gone(_) | Outcome::Renumbered => true,
            // Also that it is gone makes a new epoch: whoever was away may have entered in its own.
            Outcome::Away(_) | Outcome::Back(_) => true,
            Outcome::Refused(..) | Outcome::Settings(_) | Outcome::Nothing => false,
        };
        if outcomes.iter().any(changes) {
            self.view.epoch += 1;
        }
        outcomes
    }

    fn apply_one(&mut self, command: &Command) -> Outcome {
        match command {
            Command::Join(join) => self.join(join),
            Command::Leave { incarnation } => {
                self.remove(*incarnation).map_or(Outcome::Nothing, Outcome::Left)
            }
            Command::Away { incarnation } => {
                self.send_away(*incarnation).map_or(Outcome::Nothing, Outcome::Away)
            }
            Command::Back { incarnation } => {
                self.take_back(*incarnation).map_or(Outcome::Nothing, Outcome::Back)
            }
            Command::Gone { incarnation } => {
                self.remove(*incarnation).map_or(Outcome::Nothing, Outcome::Gone)
            }
            Command::Settings(settings) if *settings == self.settings => Outcome::Nothing,
            Command::Settings(settings) => {
                self.former = std::mem::replace(&mut self.settings, *settings);
                Outcome::Settings(*settings)
            }
            Command::Renumber => Outcome::Renumbered,
        }
    }

    fn join(&mut self, join: &Join) -> Outcome {
        if self.life(join.incarnation).is_some_and(|member| member.id == join.id) {
            return Outcome::Nothing;
        }
        if let Err(refused) = self.admits(join) {
            return Outcome::Refused(join.clone(), refused);
        }
        let member = Member {
            id: join.id,
            incarnation: Some(join.incarnation),
            address: join.address.clone(),
            api: join.api.clone(),
        };
        put(&mut self.view.members, member.clone());
        self.plans = Some((join.plans, join.algorithms.clone()));
        if join.has_folder {
            self.folders.insert(join.incarnation);
        }
        self.addresses.insert(join.id, join.address.clone());
        self.versions.insert(join.incarnation, join.version);
        Outcome::Joined(member)
    }

    /// Whether a join would be let in now.
    ///
    /// # Errors
    /// Why not.
    pub fn admits(&self, join: &Join) -> Result<(), JoinRefused> {
        let Join { id, incarnation, plans, version: offered, .. } = *join;
        if self.is_retired(incarnation) || self.life(incarnation).is_some_and(|m| m.id != id) {
            return Err(JoinRefused::Retired { incarnation });
        }
        if let Some((known, cluster)) = &self.plans
            && *known != plans
        {
            let (cluster, offered) = (cluster.clone(), join.algorithms.clone());
            return Err(JoinRefused::Plans { cluster, offered });
        }
        if !join.has_sensible_api() {
            return Err(JoinRefused::Api);
        }
        let lives = self.view.members.iter().chain(&self.view.away);
        let others = lives.filter(|member| member.id != id);
        let mut spoken = others.filter_map(|member| self.version(member.incarnation?));
        if let Some(member) = spoken.find(|&member| !speak(member, offered)) {
            return Err(JoinRefused::Version { member, offered });
        }
        match self.view.life(id).and_then(|member| member.incarnation) {
            Some(present) if present != incarnation => {
                Err(JoinRefused::Present { id, incarnation: present })
            }
            _ => Ok(()),
        }
    }

    /// Somebody must be left who can go on.
    fn send_away(&mut self, incarnation: u64) -> Option<Member> {
        if self.view.members.len() < 2 {
            return None;
        }
        let member = take(&mut self.view.members, incarnation)?;
        put(&mut self.view.away, member.clone());
        Some(member)
    }

    fn take_back(&mut self, incarnation: u64) -> Option<Member> {
        let member = take(&mut self.view.away, incarnation)?;
        put(&mut self.view.members, member.clone());
        Some(member)
    }

    fn remove(&mut self, incarnation: u64) -> Option<Member> {
        let member = take(&mut self.view.members, incarnation)
            .or_else(|| take(&mut self.view.away, incarnation))?;
        self.versions.remove(&incarnation);
        self.folders.remove(&incarnation);
        self.retired.push_back(incarnation);
        if self.retired.len() > RETIRED {
            self.retired.pop_front();
        }
        self.forget_addresses();
        if self.view.members.is_empty() && self.view.away.is_empty() {
            self.plans = None;
        }
        Some(member)
    }

    /// Gives seats, and keeps those that raft's configuration still knows.
    pub(crate) fn reseat(&mut self, seats: &[Seat], configured: &[u64]) {
        self.seats.retain(|former| !seats.iter().any(|seat| seat.raft == former.raft));
        self.seats.extend_from_slice(seats);
        self.wanted.retain(|id| !seats.iter().any(|seat| seat.id == *id));
        self.seats.sort_by_key(|seat| seat.raft);
        let largest = self.seats.last().map_or(0, |seat| seat.raft);
        self.next_raft = self.next_raft.max(largest + 1);
        self.seats.retain(|seat| configured.contains(&seat.raft));
        self.forget_addresses();
    }

    /// A voter that is down must be found when it is back; others say themselves where they are.
    fn forget_addresses(&mut self) {
        let (seats, view) = (&self.seats, &self.view);
        self.addresses
            .retain(|&id, _| view.life(id).is_some() || seats.iter().any(|seat| seat.id == id));
    }
}

/// Takes a life out of a list by ascending id.
fn take(lives: &mut Vec<Member>, incarnation: u64) -> Option<Member> {
    let place = lives.iter().position(|member| member.incarnation == Some(incarnation))?;
    Some(lives.remove(place))
}

fn put(lives: &mut Vec<Member>, life: Member) {
    let place = lives.partition_point(|other| other.id < life.id);
    lives.insert(place, life);
}

#[cfg(test)]
mod tests;
