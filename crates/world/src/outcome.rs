//! What a run comes to.

use std::fmt;

use serde::Serialize;
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
    /// Equal for equal runs.
    pub hash: u64,
    /// The first rule that was broken, if one was.
    pub violation: Option<Violation>,
}

/// How often what went wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
    /// Crashes of members.
    pub crashes: u64,
    /// Leases that ran out.
    pub leases_over: u64,
    /// Sessions that expired.
    pub sessions_expired: u64,
    /// Deliveries between a step and the leaving of what it sent.
    pub interleavings: u64,
}

impl Survived {
    /// All of them with their names.
    #[must_use]
    pub fn listed(&self) -> [(&'static str, u64); 14] {
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
            ("crashes", self.crashes),
            ("leases over", self.leases_over),
            ("sessions expired", self.sessions_expired),
            ("interleavings", self.interleavings),
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
        self.crashes += other.crashes;
        self.leases_over += other.leases_over;
        self.sessions_expired += other.sessions_expired;
        self.interleavings += other.interleavings;
    }
}

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Property {
    /// At no time do two believe, each by its own clock, to hold a lock.
    Exclusion,
    /// Fences of a lock rise from entry to entry.
    Fence,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
