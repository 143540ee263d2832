//! What a run is asked for.

use skeptron_member::Flaw;
use skeptron_member::plan::{Plan, PlanError};

use crate::faults::Faults;

/// What a run is asked for, but for its seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many members there are.
    pub members: usize,
    /// How many clients they have together.
    pub clients: usize,
    /// How often each client enters.
    pub entries: u32,
    /// The algorithm that guards the locks.
    pub algorithm: String,
    /// What goes wrong.
    pub faults: Faults,
    /// The rule that is left out.
    pub flaw: Option<Flaw>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            members: 3,
            clients: 4,
            entries: 200,
            algorithm: Plan::DEFAULT.to_string(),
            faults: Faults::default(),
            flaw: None,
        }
    }
}

impl Options {
    /// Whether such a run can be made: the algorithm exists, is sound and can be laid out.
    ///
    /// # Errors
    /// If not.
    pub fn check(&self) -> Result<(), PlanError> {
        Plan::named(&self.algorithm)?.setup(self.members).map(drop)
    }
}
