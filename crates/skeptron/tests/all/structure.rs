//! What `skeptron structure` says of a structure is what the simulator measures on it.

use std::path::Path;

use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron_core::NodeId;
use skeptron_core::topology::Structure;
use skeptron_quorum_analysis::structure::{Demands, Expected, Rates, optimise};
use skeptron_sim::{Options, Report, run};

/// Runs `sanders` on a structure that was saved, and asserts that every property held.
fn sim(file: &Path, options: &str) -> Report {
    let words = format!("sanders --structure {} {options}", file.display());
    let (info, scenario) = SimOptions::parse(&words).unwrap().scenario(Files::Disk).unwrap();
    let report = run(info, &scenario, &Options::default()).unwrap().report;
    assert!(report.is_fine(), "{words}: {:?}", report.violations);
    report
}

/// Saves what the optimiser found and hands it to `judge`.
fn with_optimum(rates: &[f64], demands: Demands, judge: impl FnOnce(&Path, &Structure, f64)) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("best.json");
    let found = optimise(&Rates::new(rates.to_vec()).unwrap(), &demands).unwrap();
    std::fs::write(&file, serde_json::to_string(&found.structure).unwrap()).unwrap();
    judge(&file, &found.structure, found.messages);
}

/// A lone requester pays exactly the lower bound, so the mean over the rates is what was promised.
#[test]
fn lone_requesters_pay_what_was_promised() {
    let cases: [(&[f64], Demands); 5] = [
        (&[5.0, 1.0, 1.0, 1.0], Demands::default()),
        (&[4.0, 3.0, 2.0, 1.0], Demands { busiest: Some(0.5), delay: None }),
        (&[1.0; 5], Demands { busiest: Some(0.6), delay: Some(1.3) }),
        (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Demands { busiest: Some(0.5), delay: Some(1.3) }),
        (&[1.0; 7], Demands { busiest: Some(0.3), delay: None }),
    ];
    for (rates, demands) in cases {
        with_optimum(rates, demands, |file, structure, promised| {
            let sum: f64 = rates.iter().sum();
            let mut mean = 0.0;
            for (i, rate) in NodeId::all(rates.len()).zip(rates) {
                let paid = sim(file, &format!("--requesters {i} --entries 20")).messages.per_entry;
                assert_eq!(paid, structure.message_bounds(i).0 as f64, "{i}");
                mean += paid * rate / sum;
            }
            assert!((mean - promised).abs() < 1e-9, "{rates:?} {demands:?}: {mean} {promised}");
            // And under load everything holds.
            sim(file, "--entries 500");
            sim(file, "--entries 500 --latency exp:1 --order any");
        });
    }
}

/// Three nodes that each tell the next hand over in one latency, for three messages instead of Ricart
/// and Agrawala's four.
#[test]
fn a_ring_of_three_hands_over_at_once() {
    let at_once = Demands { busiest: None, delay: Some(1.0) };
    with_optimum(&[1.0; 3], at_once, |file, structure, promised| {
        assert!((promised - 3.0).abs() < 1e-9);
        let expected = Expected::of(structure, &Rates::equal(3).unwrap());
        assert_eq!((expected.exact_delay, expected.published_delay), (1.0, 2.0));
        let report = sim(file, "--entries 300");
        assert_eq!((report.sync_delay.mean, report.sync_delay.max), (1.0, 1.0));
    });
}
