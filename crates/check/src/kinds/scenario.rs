//! What to explore: a small system whose users enter in modes.

use skeptron_core::catalogue::{Info, Order};
use skeptron_core::mutex::shared::offers_kinds;
use skeptron_core::mutex::sharing::SharingFlaw;
use skeptron_core::mutex::{Mode, Usage};
use skeptron_core::{Setup, SetupError};
use thiserror::Error;

use crate::scenario::{Scenario, ScenarioError};

/// A small system of a lock with kinds. Channels lose nothing and nodes do not crash: what a crash means to
/// those inside is decided by who decides about views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindsScenario {
    /// The system.
    pub setup: Setup,
    /// What the requests of each node are for, in this order.
    pub usages: Vec<Vec<Usage>>,
    /// How many entries of a node may be inside or waiting at once.
    pub at_once: u8,
    /// In which order a channel delivers.
    pub order: Order,
    /// Which rule of kinds is left out.
    pub flaw: Option<SharingFlaw>,
}

/// Why a system with kinds cannot be explored.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum KindsError {
    /// The nodes cannot be built.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Kinds are not offered over this algorithm.
    #[error("kinds are offered over central, ricart-agrawala and naimi-trehel, not over {0}")]
    NotOffered(&'static str),
    /// What no system can have, with kinds or without.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Too many requests of one node.
    #[error("{0} requests of a node are too many to explore with modes; at most {most} are possible",
        most = KindsScenario::MOST_REQUESTS)]
    TooManyRequests(usize),
    /// A semaphore that is too large.
    #[error("permits:{0} is more than can be explored; at most permits:{most} is possible, or shared",
        most = KindsScenario::MOST_PERMITS)]
    TooManyPermits(u32),
    /// No entry at all.
    #[error("a node must be allowed one entry at once at least")]
    NoEntry,
}

impl KindsScenario {
    /// The most requests of one node: each is a byte in a state.
    pub const MOST_REQUESTS: usize = 4;
    /// The largest semaphore: a command is a byte.
    pub const MOST_PERMITS: u32 = 30;

    /// Checks the bounds.
    ///
    /// # Errors
    /// Which bound is broken.
    pub fn check(&self, info: &Info) -> Result<(), KindsError> {
        let nodes = self.setup.nodes();
        if !offers_kinds(info) {
            return Err(KindsError::NotOffered(info.name));
        }
        if nodes > Scenario::MOST_NODES {
            return Err(ScenarioError::TooManyNodes(nodes).into());
        }
        if self.usages.len() != nodes {
            return Err(ScenarioError::WrongSize { given: self.usages.len(), nodes }.into());
        }
        if self.at_once == 0 {
            return Err(KindsError::NoEntry);
        }
        let most = self.usages.iter().map(Vec::len).max().unwrap_or(0);
        match most {
            0 => return Err(ScenarioError::NoRequests.into()),
            many if many > Self::MOST_REQUESTS => return Err(KindsError::TooManyRequests(many)),
            _ => {}
        }
        let modes = self.usages.iter().flatten().map(|usage| usage.mode);
        let large = |mode: &Mode| *mode != Mode::SHARED && mode.most() > Self::MOST_PERMITS;
        match modes.into_iter().find(large) {
            Some(mode) => Err(KindsError::TooManyPermits(mode.most())),
            None => Ok(()),
        }
    }

    /// Whether some request may upgrade.
    #[must_use]
    pub fn upgrades(&self) -> bool {
        self.usages.iter().flatten().any(|usage| usage.upgrades > 0)
    }
}
