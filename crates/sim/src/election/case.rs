//! The situations for which figures are published, as scenarios.

use skeptron_core::catalogue::{ElectionInfo, Layout};
use skeptron_core::election::{Case, RingOrder};
use skeptron_core::topology::Ring;
use skeptron_core::{NodeId, Setup, SetupError};

use super::{Detector, Initiator, Scenario};
use crate::chance::shuffled;
use crate::faults::{Fault, PlannedFault};

impl Scenario {
    /// The situation that `case` describes, with `nodes` nodes: messages take one unit, which is what
    /// timers count in, and all who call do so at once. Where the order of the ring is random, `seed`
    /// draws it.
    ///
    /// # Errors
    /// If there can be no system of so many nodes.
    pub fn of_case(
        info: &ElectionInfo,
        case: &Case,
        nodes: usize,
        seed: u64,
    ) -> Result<Self, SetupError> {
        let mut setup = Setup::new(nodes)?;
        if info.layout == Layout::Ring {
            let ring = match case.ring {
                RingOrder::Ascending => Ring::ascending(nodes),
                RingOrder::Descending => Ring::descending(nodes),
                RingOrder::Random => {
                    Ring::new(shuffled(nodes, seed)).expect("a shuffled list has every node once")
                }
            };
            setup = setup.with_ring(ring)?;
        }
        let mut scenario = Scenario { seed, ..Scenario::new(setup) };
        scenario.detector = Detector::Perfect { delay: 0 };
        // Who is told at once that the leader is down calls at once; else it is told to call.
        let at = (!case.highest_down).then_some(0);
        let callers = case.callers(nodes).into_iter();
        scenario.initiators = callers.map(|node| Initiator { node, at }).collect();
        if case.highest_down {
            let fault = Fault::Crash(NodeId::new(nodes - 1));
            scenario.faults.planned.push(PlannedFault { from: 0, until: None, fault });
        }
        Ok(scenario)
    }
}
