//! What a run comes to.

use std::fmt;

use serde::{Deserialize, Serialize};
use skeptron_core::NodeId;

/// What a run comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// How many events happened.
    pub events: u64,
    /// How often a client was in.
    pub entries: u64,
    /// How much time passed in the simulated world, in nanoseconds.
    pub virtual_nanos: u64,
    /// What went wrong, by kind.
    pub survived: Survived,
    /// What the members sent each other, and how long views took.
    pub figures: Figures,
    /// Equal for equal runs.
    pub hash: u64,
    /// The first rule that was broken, if one was.
    pub violation: Option<Violation>,
}

/// How often what went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survived {
    /// Packets lost, cut ones included.
    pub lost: u64,
    /// Frames duplicated.
    pub duplicated: u64,
    /// Frames that others overtook.
    pub reordered: u64,
    /// Connections that broke, for whatever reason.
    pub reconnects: u64,
    /// Connections reset on purpose.
    pub resets: u64,
    /// Pauses of members.
    pub member_pauses: u64,
    /// Pauses of clients.
    pub client_pauses: u64,
    /// Partitions of all shapes.
    pub partitions: u64,
    /// Slow directions.
    pub slowdowns: u64,
    /// View changes.
    pub views: u64,
    /// Members that a view moved away before their leases had ended.
    pub moved_away: u64,
    /// Members that were away and came back.
    pub taken_back: u64,
    /// Crashes of members.
    pub crashes: u64,
    /// Losses of power of the whole cluster.
    pub power_losses: u64,
    /// Members that left cleanly, to come back.
    pub leaves: u64,
    /// Leases that ran out.
    pub leases_over: u64,
    /// Sessions that expired.
    pub sessions_expired: u64,
    /// Sessions that went on at another member with what they held.
    pub sessions_moved: u64,
    /// Sessions that were reached through another member.
    pub sessions_relayed: u64,
    /// Names that members forgot.
    pub names_forgotten: u64,
    /// Locks that an administrator broke.
    pub locks_broken: u64,
    /// Leaders that observers saw, at each member.
    pub leaders_seen: u64,
    /// Entries that became exclusive while they were in.
    pub upgrades: u64,
    /// Entries that did not, because another one did.
    pub upgrades_denied: u64,
    /// Deliveries between a step and the leaving of what it sent.
    pub interleavings: u64,
    /// Entries while somebody else believed to be inside, with clocks beyond the bound.
    pub exclusions_broken: u64,
}

impl Survived {
    /// All of them with their names.
    #[must_use]
    pub fn listed(&self) -> [(&'static str, u64); 26] {
        [
            ("packets lost", self.lost),
            ("frames duplicated", self.duplicated),
            ("frames reordered", self.reordered),
            ("reconnects", self.reconnects),
            ("resets", self.resets),
            ("member pauses", self.member_pauses),
            ("client pauses", self.client_pauses),
            ("partitions", self.partitions),
            ("slowdowns", self.slowdowns),
            ("view changes", self.views),
            ("members moved away", self.moved_away),
            ("members taken back", self.taken_back),
            ("crashes", self.crashes),
            ("power losses", self.power_losses),
            ("leaves", self.leaves),
            ("leases over", self.leases_over),
            ("sessions expired", self.sessions_expired),
            ("sessions moved", self.sessions_moved),
            ("sessions relayed", self.sessions_relayed),
            ("names forgotten", self.names_forgotten),
            ("locks broken", self.locks_broken),
            ("leaders seen", self.leaders_seen),
            ("upgrades", self.upgrades),
            ("upgrades denied", self.upgrades_denied),
            ("interleavings", self.interleavings),
            ("exclusions broken by clocks", self.exclusions_broken),
        ]
    }

    /// Adds what another run survived.
    pub fn add(&mut self, other: &Survived) {
        self.lost += other.lost;
        self.duplicated += other.duplicated;
        self.reordered += other.reordered;
        self.reconnects += other.reconnects;
        self.resets += other.resets;
        self.member_pauses += other.member_pauses;
        self.client_pauses += other.client_pauses;
        self.partitions += other.partitions;
        self.slowdowns += other.slowdowns;
        self.views += other.views;
        self.moved_away += other.moved_away;
        self.taken_back += other.taken_back;
        self.crashes += other.crashes;
        self.power_losses += other.power_losses;
        self.leaves += other.leaves;
        self.leases_over += other.leases_over;
        self.sessions_expired += other.sessions_expired;
        self.sessions_moved += other.sessions_moved;
        self.sessions_relayed += other.sessions_relayed;
        self.names_forgotten += other.names_forgotten;
        self.locks_broken += other.locks_broken;
        self.leaders_seen += other.leaders_seen;
        self.upgrades += other.upgrades;
        self.upgrades_denied += other.upgrades_denied;
        self.interleavings += other.interleavings;
        self.exclusions_broken += other.exclusions_broken;
    }
}

/// What the members sent each other, and how long views took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Entries before the faults ended.
    pub entries_in_storm: u64,
    /// Messages of the locks' algorithms.
    pub lock_messages: u64,
    /// Frames on the links, acknowledgements and beats included.
    pub frames: u64,
    /// Requests of members to voters: to enter, to renew, to leave.
    pub requests: u64,
    /// Answers of voters to members, views included.
    pub answers: u64,
    /// Packets between voters.
    pub voter_packets: u64,
    /// From the decision of a view until all its members have met in it.
    pub view_changes: Span,
    /// From a member's crash until a view was decided in which it is away.
    pub absences: Span,
    /// From a member's crash until it was excluded, because its lease had ended.
    pub exclusions: Span,
    /// From a member's word that it leaves until a view without it was decided.
    pub leaves: Span,
}

impl Figures {
    /// How much was sent, with names.
    #[must_use]
    pub fn messages(&self) -> [(&'static str, u64); 5] {
        [
            ("messages of locks", self.lock_messages),
            ("frames on links", self.frames),
            ("requests to voters", self.requests),
            ("answers of voters", self.answers),
            ("packets between voters", self.voter_packets),
        ]
    }

    /// How long what took, with names.
    #[must_use]
    pub fn spans(&self) -> [(&'static str, Span); 4] {
        [
            ("view decided until all met", self.view_changes),
            ("crash until away", self.absences),
            ("crash until excluded", self.exclusions),
            ("leave until removed", self.leaves),
        ]
    }

    /// Adds those of another run.
    pub fn add(&mut self, other: &Figures) {
        self.entries_in_storm += other.entries_in_storm;
        self.lock_messages += other.lock_messages;
        self.frames += other.frames;
        self.requests += other.requests;
        self.answers += other.answers;
        self.voter_packets += other.voter_packets;
        self.view_changes.merge(&other.view_changes);
        self.absences.merge(&other.absences);
        self.exclusions.merge(&other.exclusions);
        self.leaves.merge(&other.leaves);
    }
}

/// How long something took in simulated time, over all its occurrences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// How often it happened.
    pub times: u64,
    /// All together, in nanoseconds.
    pub total_nanos: u64,
    /// The longest, in nanoseconds.
    pub longest_nanos: u64,
}

impl Span {
    pub(crate) fn add(&mut self, nanos: u64) {
        self.merge(&Span { times: 1, total_nanos: nanos, longest_nanos: nanos });
    }

    fn merge(&mut self, other: &Span) {
        self.times += other.times;
        self.total_nanos += other.total_nanos;
        self.longest_nanos = self.longest_nanos.max(other.longest_nanos);
    }

    /// In the mean, in nanoseconds; 0 if it never happened.
    #[must_use]
    pub fn mean_nanos(&self) -> u64 {
        self.total_nanos.checked_div(self.times).unwrap_or(0)
    }
}

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Property {
    /// At no time do two believe, each by its own clock, to hold a lock.
    Exclusion,
    /// Fences of a lock rise from entry to entry.
    Fence,
    /// Nobody believes in the lease of a life that was removed, or that had ended before.
    Lease,
    /// There is one sequence of views, and nobody goes back in it.
    Views,
    /// Observers at every member see every leader, and nobody leads who was said to be gone.
    Leadership,
    /// Everybody is served once the faults are over.
    Progress,
    /// Nothing is left when everybody is done.
    Leak,
    /// No member says what no correct member would say.
    Refused,
    /// No member gives up unless its lease or membership ended.
    Halted,
}

impl Property {
    /// Its name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Property::Exclusion => "exclusion",
            Property::Fence => "fence",
            Property::Lease => "lease",
            Property::Views => "views",
            Property::Leadership => "leadership",
            Property::Progress => "progress",
            Property::Leak => "leak",
            Property::Refused => "refused",
            Property::Halted => "halted",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Which rule.
    pub property: Property,
    /// What happened.
    pub detail: String,
    /// When, in nanoseconds of the simulated world.
    pub at_nanos: u64,
    /// Which lock it is about.
    pub lock: Option<String>,
    /// The member where it showed, by its place.
    pub member: Option<NodeId>,
    /// In which run.
    pub seed: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.at_nanos as f64 / 1e9;
        write!(f, "{} violated at {seconds:.6} s: {}", self.property, self.detail)?;
        if let Some(lock) = &self.lock {
            write!(f, " (lock `{lock}`)")?;
        }
        write!(f, ", seed {}", self.seed)
    }
}
