//! What to explore: a small cluster, what its applications want, and what may happen to it.

use std::fmt;

use skeptron_member::plan::{Plan, Plans};
use skeptron_member::{Flaw, Limits, Pace, Settings};
use thiserror::Error;

/// A small cluster with one lock, and all that may happen to it. A bound of 0 means never.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The algorithm that guards the lock.
    pub plan: Plan,
    /// How many members begin.
    pub members: usize,
    /// How many times somebody at each member asks for the lock; several may wait at once.
    pub requests: u8,
    /// How many members ask at all: the first ones.
    pub askers: usize,
    /// How many waits may be cancelled.
    pub cancels: u8,
    /// How many times the view may change. Whoever has crashed or lost its lease is excluded, so no more
    /// members do than there are changes left.
    pub views: u8,
    /// How many times a member may crash.
    pub crashes: u8,
    /// How many times the lease of a live member may end.
    pub lease_ends: u8,
    /// How many times a member may be moved to those who are away, whether it lives or not. Whoever is away
    /// comes back, or is excluded; both take a view.
    pub aways: u8,
    /// How many times a member may come back as a new incarnation.
    pub rejoins: u8,
    /// How often in a row a lock may be handed over between waiters of one member.
    pub handovers: u32,
    /// Whether everybody has heard of everybody else in the first view when it begins. Otherwise that is
    /// explored as well.
    pub met: bool,
    /// A rule that every member leaves out, to show that the search notices.
    pub flaw: Option<Flaw>,
    /// Whether a view may be decided without a member whose lease is valid, to show that the search
    /// notices.
    pub excludes_early: bool,
}

impl Scenario {
    /// At most so many members: four bits in a move, two in a message.
    pub const MOST_MEMBERS: usize = 4;
    /// The view may change so many times at most.
    pub const MOST_VIEWS: u8 = 7;
    /// At most so many requests of each member.
    pub const MOST_REQUESTS: u8 = 15;

    /// A cluster in which nothing happens but requests and releases.
    #[must_use]
    pub fn new(plan: Plan, members: usize, requests: u8) -> Self {
        Scenario {
            plan,
            members,
            requests,
            askers: members,
            cancels: 0,
            views: 0,
            crashes: 0,
            lease_ends: 0,
            aways: 0,
            rejoins: 0,
            handovers: 1,
            met: true,
            flaw: None,
            excludes_early: false,
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// Which bound is broken.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if !(1..=Self::MOST_MEMBERS).contains(&self.members) {
            return Err(ScenarioError::Members(self.members));
        }
        if self.views > Self::MOST_VIEWS {
            return Err(ScenarioError::Views(self.views));
        }
        if self.requests > Self::MOST_REQUESTS {
            return Err(ScenarioError::Requests(self.requests));
        }
        if self.rejoins > self.views {
            return Err(ScenarioError::Rejoins { rejoins: self.rejoins, views: self.views });
        }
        let circulates = self.plan.info().name == "token-ring";
        if circulates { Err(ScenarioError::Restless(self.plan.info().name)) } else { Ok(()) }
    }

    pub(super) fn settings(&self) -> Settings {
        Settings {
            plans: Plans::new(self.plan.clone()),
            handovers: self.handovers,
            pace: Pace::default(),
            limits: Limits::default(),
            flaw: self.flaw,
        }
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |number: usize, what: &str| {
            let plural = if number == 1 { "" } else { "s" };
            format!("{number} {what}{plural}")
        };
        write!(f, "{}: {}", self.plan.info().name, bound(self.members, "member"))?;
        write!(f, " with {}", bound(self.requests.into(), "request"))?;
        if self.askers < self.members {
            write!(f, " of {} of them", self.askers)?;
        }
        let bounds = [
            (self.cancels, "cancelled wait"),
            (self.views, "view change"),
            (self.crashes, "crash"),
            (self.lease_ends, "lease end"),
            (self.aways, "absence"),
            (self.rejoins, "rejoin"),
        ];
        for (number, what) in bounds.into_iter().filter(|(number, _)| *number > 0) {
            let what = if what == "crash" && number > 1 { "crashe" } else { what };
            write!(f, ", {}", bound(number.into(), what))?;
        }
        if let Some(flaw) = self.flaw {
            write!(f, ", flawed: {flaw}")?;
        }
        Ok(())
    }
}

/// Why a scenario cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScenarioError {
    /// Too few or too many members.
    #[error("{0} members, but there must be 1 to {most}", most = Scenario::MOST_MEMBERS)]
    Members(usize),
    /// Too many view changes.
    #[error("{0} view changes, but at most {most} are possible", most = Scenario::MOST_VIEWS)]
    Views(u8),
    /// Too many requests.
    #[error("{0} requests of each member, but at most {most} are possible",
        most = Scenario::MOST_REQUESTS)]
    Requests(u8),
    /// A member comes back with a view.
    #[error("{rejoins} rejoins need as many view changes, but there are only {views}")]
    Rejoins {
        /// How many rejoins.
        rejoins: u8,
        /// How many view changes.
        views: u8,
    },
    /// Its token never rests, so there is no end at which progress could be judged.
    #[error("the token of {0} never rests: progress cannot be judged")]
    Restless(&'static str),
    /// The algorithm has no layout for so many members.
    #[error("{0}")]
    Layout(String),
}
