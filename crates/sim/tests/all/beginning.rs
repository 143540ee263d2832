//! Runs of self-stabilising algorithms from any beginning.

use std::collections::HashSet;

use skeptron_core::{Setup, catalogue};
use skeptron_sim::{Options, Scenario, begun_anywhere, run};

fn begun(name: &str, nodes: usize, seed: u64) -> Setup {
    let info = catalogue::find(name).unwrap();
    begun_anywhere(info, Setup::new(nodes).unwrap(), seed).unwrap()
}

#[test]
fn a_beginning_is_drawn_by_the_seed() {
    assert_eq!(begun("dijkstra", 4, 7), begun("dijkstra", 4, 7));
    let drawn: HashSet<Setup> = (0..50).map(|seed| begun("dijkstra", 3, seed)).collect();
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
