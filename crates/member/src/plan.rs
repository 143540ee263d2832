//! Which algorithm guards which lock, as a recipe: it is laid out anew on the members of each view.

use skeptron_core::catalogue::{self, Info, Layout};
use skeptron_core::topology::{Structure, Tree};
use skeptron_core::{Setup, SetupError};
use thiserror::Error;

/// An algorithm and how it is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    info: &'static Info,
    /// A layout of one's own, for views of its size; every other size has the usual one.
    given: Option<Setup>,
}

/// Why an algorithm cannot guard locks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PlanError {
    /// No algorithm has that name.
    #[error("there is no algorithm `{0}`; `skeptron list` shows all")]
    Unknown(String),
    /// It ships in order to be refuted.
    #[error("{name} is broken on purpose ({flaw}); the runtime accepts only correct algorithms")]
    Broken {
        /// Which.
        name: &'static str,
        /// What is wrong with it.
        flaw: &'static str,
    },
    /// It lets several in at once.
    #[error(
        "{0} lets several in at once, whose fences do not rise; a cluster has shared locks and semaphores over the \
         other algorithms: `skeptron lock NAME --shared`, `--permits K`"
    )]
    Several(&'static str),
    /// It is self-stabilising, and promises nothing before it has recovered.
    #[error(
        "{0} recovers from any state but lets several in until then, and its messages go round for ever; a cluster begins \
         each view in the right state, so that token-ring does the same with one message"
    )]
    Stabilising(&'static str),
    /// It cannot be laid out on that many nodes.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// There are no quorums for that many nodes.
    #[error("no quorums for {nodes} nodes: {why}")]
    Quorums {
        /// How many.
        nodes: usize,
        /// Why not.
        why: String,
    },
}

impl Plan {
    /// The algorithm that is used where nothing else is said: a hand-over is one message, whoever
    /// had the lock last enters again without any, and a request makes about log N steps.
    pub const DEFAULT: &'static str = "naimi-trehel";

    /// The algorithm of that name, in its usual layout for each number of members.
    ///
    /// # Errors
    /// If it is unknown, broken on purpose, self-stabilising, or lets several in at once.
    pub fn named(name: &str) -> Result<Self, PlanError> {
        let info = catalogue::find(name).ok_or_else(|| PlanError::Unknown(name.to_string()))?;
        Plan::new(info, None)
    }

    /// An algorithm in a layout of one's own, which holds for views of its size; views of another
    /// size get the usual layout.
    ///
    /// # Errors
    /// If it is broken on purpose.
    pub fn laid_out(info: &'static Info, setup: Setup) -> Result<Self, PlanError> {
        Plan::new(info, Some(setup))
    }

    fn new(info: &'static Info, given: Option<Setup>) -> Result<Self, PlanError> {
        match info.broken {
            Some(broken) => Err(PlanError::Broken { name: info.name, flaw: broken.flaw }),
            None if info.is_stabilising() => Err(PlanError::Stabilising(info.name)),
            None if !info.is_for_clusters() => Err(PlanError::Several(info.name)),
            None => Ok(Plan { info, given }),
        }
    }

    /// What is known of the algorithm.
    #[must_use]
    pub fn info(&self) -> &'static Info {
        self.info
    }

    /// The layout of one's own, if there is one.
    #[must_use]
    pub fn given(&self) -> Option<&Setup> {
        self.given.as_ref()
    }

    /// The layout on so many members.
    ///
    /// # Errors
    /// If there is none.
    pub fn setup(&self, nodes: usize) -> Result<Setup, PlanError> {
        if let Some(given) = self.given.as_ref().filter(|given| given.nodes() == nodes) {
            return Ok(given.clone());
        }
        let setup = Setup::new(nodes)?;
        let quorums = || {
            let built = skeptron_quorum::build(&skeptron_quorum::default_for(nodes), nodes);
            built.map_err(|error| PlanError::Quorums { nodes, why: error.to_string() })
        };
        Ok(match self.info.layout {
            Layout::Quorums => setup.with_quorums(quorums()?.into())?,
            Layout::Structure => setup.with_structure(Structure::maekawa(&quorums()?.into()))?,
            Layout::Tree => setup.with_tree(Tree::balanced(nodes, 2))?,
            _ => setup,
        })
    }
}

/// The plan of each lock: by the longest prefix of its name, or the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plans {
    default: Plan,
    /// Longest prefix first.
    prefixes: Vec<(String, Plan)>,
}

impl Plans {
    /// Everything by one plan.
    #[must_use]
    pub fn new(default: Plan) -> Self {
        Plans { default, prefixes: Vec::new() }
    }

    /// Names that begin with `prefix` by another plan; a later one for the same prefix replaces it.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>, plan: Plan) -> Self {
        let prefix = prefix.into();
        self.prefixes.retain(|(known, _)| *known != prefix);
        self.prefixes.push((prefix, plan));
        self.prefixes.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        self
    }

    /// All plans: the default first, then by prefix.
    pub fn all(&self) -> impl Iterator<Item = &Plan> {
        std::iter::once(&self.default).chain(self.prefixes.iter().map(|(_, plan)| plan))
    }

    /// The algorithm for names that no prefix is for.
    #[must_use]
    pub fn default_algorithm(&self) -> &'static str {
        self.default.info.name
    }

    /// Which of [`Plans::all`] is for the lock of that name.
    #[must_use]
    pub fn index_for(&self, name: &str) -> usize {
        let place = self.prefixes.iter().position(|(prefix, _)| name.starts_with(prefix.as_str()));
        place.map_or(0, |place| place + 1)
    }

    /// The prefixes and the names of their algorithms, the longest prefix first.
    pub fn prefixes(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.prefixes.iter().map(|(prefix, plan)| (prefix.as_str(), plan.info.name))
    }

    /// All that two members must have in common, as bytes.
    pub(crate) fn described(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        let prefixes = std::iter::once("").chain(self.prefixes.iter().map(|(p, _)| p.as_str()));
        prefixes.zip(self.all()).map(|(prefix, plan)| {
            postcard::to_stdvec(&(prefix, plan.info.name, &plan.given))
                .expect("what is configured fits into memory")
        })
    }
}
