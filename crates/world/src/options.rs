//! What a run is asked for.

use std::fmt;
use std::str::FromStr;

use skeptron_member::plan::{Plan, PlanError};
use thiserror::Error;

use crate::faults::{FaultKind, Faults};

/// What a run is asked for, but for its seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many members there are.
    pub members: usize,
    /// How many of them decide views; [`Options::voters`] if none is said.
    pub voters: Option<usize>,
    /// How many clients they have together.
    pub clients: usize,
    /// How often each client enters.
    pub entries: u32,
    /// The algorithm that guards the locks.
    pub algorithm: String,
    /// What goes wrong.
    pub faults: Faults,
    /// Whether sessions campaign, and every member has observers.
    pub elections: bool,
    /// Whether clients tolerate others, each as many as it likes, and upgrade and downgrade.
    pub kinds: bool,
    /// Whether a member that is asked to take a session first asks the life where it is, if it can reach
    /// that. Without it sessions move more often.
    pub relays: bool,
    /// The rule that is left out.
    pub mutant: Option<Mutant>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            members: 3,
            voters: None,
            clients: 4,
            entries: 200,
            algorithm: Plan::DEFAULT.to_string(),
            faults: Faults::default(),
            elections: false,
            kinds: false,
            relays: true,
            mutant: None,
        }
    }
}

impl Options {
    /// Whether such a run can be made: the algorithm exists, is sound and can be laid out.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self) -> Result<(), OptionsError> {
        let views = self.faults.has(FaultKind::Views);
        let plan = Plan::named(&self.algorithm)?;
        // With views there may be fewer members for a while.
        let fewest = if views { 1 } else { self.members };
        for members in fewest..=self.members {
            plan.setup(members)?;
        }
        let (voters, members) = (self.voters(), self.members);
        if ![1, 3, 5].contains(&voters) || voters > members {
            return Err(OptionsError::Voters { voters, members });
        }
        let needs_views = FaultKind::NEED_VIEWS.into_iter().find(|&kind| self.faults.has(kind));
        match needs_views.filter(|_| !views) {
            Some(kind) => Err(OptionsError::NeedsViews(kind)),
            None => Ok(()),
        }
    }

    /// How many members vote: as said, or 3, or 1 if there are fewer members.
    #[must_use]
    pub fn voters(&self) -> usize {
        self.voters.unwrap_or(if self.members < 3 { 1 } else { 3 })
    }
}

/// Why a run cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// Of the algorithm.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// That many cannot vote.
    #[error("{voters} voters among {members} members; 1, 3 or 5 of the members vote")]
    Voters {
        /// How many were asked for.
        voters: usize,
        /// How many members there are.
        members: usize,
    },
    /// A fault that a fixed membership cannot meet.
    #[error("the fault `{0}` needs views; add `views` to the faults")]
    NeedsViews(FaultKind),
}

/// One rule that is left out, so that tests can show that the judges notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Of the member core, its links and clients.
    Member(skeptron_member::Flaw),
    /// Of the view service.
    Views(skeptron_views::flaw::Flaw),
}

impl Mutant {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Mutant> {
        let members = skeptron_member::Flaw::ALL.into_iter().map(Mutant::Member);
        members.chain(skeptron_views::flaw::Flaw::ALL.into_iter().map(Mutant::Views))
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Mutant::Member(flaw) => flaw.name(),
            Mutant::Views(flaw) => flaw.name(),
        }
    }

    pub(crate) fn of_member(self) -> Option<skeptron_member::Flaw> {
        if let Mutant::Member(flaw) = self { Some(flaw) } else { None }
    }

    pub(crate) fn of_views(self) -> Option<skeptron_views::flaw::Flaw> {
        if let Mutant::Views(flaw) = self { Some(flaw) } else { None }
    }
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mutant {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Mutant::all().find(|mutant| mutant.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Mutant::all().map(Mutant::name).collect();
            format!("there is no flaw `{name}`; there are {}", names.join(", "))
        })
    }
}
