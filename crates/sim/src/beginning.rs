//! Any state of a system that recovers from it.

use skeptron_core::catalogue::Info;
use skeptron_core::mutex::{Mutex, Visitor, dispatch};
use skeptron_core::{Input, Outbox, Setup, SetupError};

use crate::chance::{Chance, Purpose};

/// The same system begun in a state that is drawn at random from all in which it may begin, where a self-stabilising
/// algorithm runs in it: each node in any of its states, each channel with anything or nothing in it, but one message
/// in all.
///
/// # Errors
/// If the system cannot be built.
pub fn begun_anywhere(info: &Info, setup: Setup, seed: u64) -> Result<Setup, SetupError> {
    dispatch(info, Draw { info, setup, seed })
}

struct Draw<'a> {
    info: &'a Info,
    setup: Setup,
    seed: u64,
}

impl Visitor for Draw<'_> {
    type Output = Result<Setup, SetupError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let Draw { info, setup, seed } = self;
        let (nodes, states) = (setup.nodes(), P::beginnings(info.name, setup.nodes()));
        if states == 0 {
            return Ok(setup);
        }
        let mut chance = Chance::new(seed, Purpose::Beginning);
        loop {
            let drawn = (0..nodes).map(|_| chance.below(states)).collect();
            let begun = setup.clone().with_beginnings(drawn)?;
            // Without any message nothing would ever happen.
            if nodes == 1 || sends::<P>(P::build(info.name, &begun)?) {
                return Ok(begun);
            }
        }
    }
}

/// Whether there is a message in some channel.
fn sends<P: Mutex>(nodes: Vec<P>) -> bool {
    let mut out = Outbox::new();
    // A node always starts.
    nodes
        .into_iter()
        .any(|mut node| node.step(Input::Start, &mut out).is_ok() && !out.effects().is_empty())
}

#[cfg(test)]
mod tests {
    use skeptron_core::catalogue;

    use super::*;
    use crate::{Options, Scenario, run};

    fn begun(name: &str, nodes: usize, seed: u64) -> Setup {
        let info = catalogue::find(name).unwrap();
        begun_anywhere(info, Setup::new(nodes).unwrap(), seed).unwrap()
    }

    #[test]
    fn a_beginning_is_drawn_by_the_seed() {
        assert_eq!(begun("dijkstra", 4, 7), begun("dijkstra", 4, 7));
        let drawn: std::collections::HashSet<Setup> =
            (0..50).map(|seed| begun("dijkstra", 3, seed)).collect();
        assert!(drawn.len() > 40);
        assert_eq!(begun("token-ring", 3, 7), Setup::new(3).unwrap(), "it has one beginning");
    }

    /// Whatever it begins in, it comes to a legitimate state; before that there may be several inside.
    #[test]
    fn it_recovers_from_any_beginning() {
        let info = catalogue::find("dijkstra").unwrap();
        let (mut recovered, mut crowded) = (0, 0);
        for seed in 0..300 {
            let setup = begun("dijkstra", 2 + seed as usize % 4, seed);
            let scenario = Scenario { seed, entries: 40, warmup: 0, ..Scenario::new(setup) };
            let report = run(info, &scenario, &Options::default()).unwrap().report;
            assert!(report.is_fine(), "seed {seed}: {report:?}");
            if let Some(recovery) = report.recovery {
                assert!(recovery.legitimate_since.is_some());
                recovered += 1;
                crowded += u64::from(recovery.crowded > 0);
            }
        }
        assert!(recovered > 200 && crowded > 0, "{recovered} {crowded}");
    }

    /// One that never recovers is a violation, however long the run is.
    #[test]
    fn never_to_recover_is_a_violation() {
        let info = catalogue::find("dijkstra-silent").unwrap();
        let found = (0..50).any(|seed| {
            let setup = begun("dijkstra-silent", 3, seed);
            let scenario = Scenario { seed, entries: 5, warmup: 0, ..Scenario::new(setup) };
            let report = run(info, &scenario, &Options::default()).unwrap().report;
            report.violations.iter().any(|violation| violation.property == "convergence")
        });
        assert!(found);
    }

    /// Begun well there is nothing to recover from.
    #[test]
    fn a_right_beginning_is_legitimate() {
        let info = catalogue::find("dijkstra").unwrap();
        let scenario = Scenario::new(Setup::new(3).unwrap());
        let report = run(info, &scenario, &Options::default()).unwrap().report;
        assert!(report.is_fine() && report.recovery.is_none());
    }
}
