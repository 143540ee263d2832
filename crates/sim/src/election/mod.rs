//! Elections: who calls when, what the nodes are told of each other's crashes, and what comes of it.
//!
//! What [`run`] adds to the rules of [`skeptron_core::election::Election`]: before the first election
//! everybody takes the highest node for the leader; an initiator that suspects its leader calls at
//! once, and so does whoever comes back; at one tick alarms ring after everything else, and those of
//! a paused node when it goes on, after what was held for it.

mod case;
mod detection;
mod judge;
mod report;
mod scenario;
mod voters;

use skeptron_core::Message as _;
use skeptron_core::catalogue::ElectionInfo;
use skeptron_core::election::{Election, Visitor, dispatch};

pub use report::{Messages, Reign, Report};
pub use scenario::{Detector, Initiator, Scenario};

use crate::engine;
use crate::run::Options;
use crate::scenario::ScenarioError;
use crate::trace::Trace;
use voters::Voters;

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was measured.
    pub report: Report,
    /// What happened, if it was recorded.
    pub trace: Option<Trace>,
    /// Whether it would have gone on beyond [`Options::most_records`].
    pub cut_short: bool,
    /// How many records there were when each act of the scenario's hand happened.
    pub acted: Vec<usize>,
}

/// Runs `scenario` with the algorithm that `info` describes.
///
/// ```
/// use skeptron_core::{NodeId, Setup, catalogue};
/// use skeptron_sim::{Options, election};
///
/// let info = catalogue::find_election("bully").unwrap();
/// let scenario = election::Scenario::new(Setup::new(5).unwrap());
/// let report = election::run(info, &scenario, &Options::default()).unwrap().report;
/// assert!(report.is_fine());
/// assert_eq!(report.leader, Some(NodeId::new(4)));
/// ```
///
/// # Errors
/// If the scenario is impossible, or an act by hand is where it stands.
pub fn run(
    info: &'static ElectionInfo,
    scenario: &Scenario,
    options: &Options,
) -> Result<Outcome, ScenarioError> {
    scenario.check(info)?;
    scenario.hand.check_recorded(options)?;
    dispatch(info, Run { info, scenario, options })
}

struct Run<'a> {
    info: &'static ElectionInfo,
    scenario: &'a Scenario,
    options: &'a Options,
}

impl Visitor for Run<'_> {
    type Output = Result<Outcome, ScenarioError>;

    fn visit<P: Election>(self) -> Self::Output {
        let Run { info, scenario, options } = self;
        let nodes = P::build(info.name, &scenario.setup)?;
        let voters = Voters::new(info, scenario, options, P::Message::KINDS);
        engine::run(nodes, info.name, &scenario.setup, options.queue, voters)
    }
}
