//! Agrawal and El Abbadi's tree quorums.

use super::{again, first, saturated, sim};

/// Agrawal and El Abbadi 1991: ⌈log₂(N+1)⌉ arbiters in a complete tree, of which one is the requester itself.
#[test]
fn agrawal_and_el_abbadi_ask_a_path() {
    for (n, k) in [(3, 2.0), (7, 3.0), (15, 4.0), (63, 6.0)] {
        assert_eq!(first("agrawal-el-abbadi", n, ""), (3.0 * (k - 1.0), 2.0), "{n}");
        assert_eq!(again("agrawal-el-abbadi", n, ""), (3.0 * (k - 1.0), 2.0), "{n}");
    }
    let report = saturated("agrawal-el-abbadi", 15, "");
    assert!((9.0..=21.0).contains(&report.messages.per_entry), "{}", report.messages.per_entry);
    assert!((1.0..=2.0).contains(&report.sync_delay.mean), "{}", report.sync_delay.mean);
}

/// A crashed node costs a path more, and at most ⌈(N+1)/2⌉ arbiters are asked: all leaves, if only they are left.
#[test]
fn agrawal_and_el_abbadi_substitute_who_has_crashed() {
    for (n, crashed, k) in [
        (7, &[2][..], 3.0),
        (7, &[1], 4.0),
        (7, &[1, 2, 3], 4.0),
        (15, &[2], 5.0),
        (15, &[1], 6.0),
        (15, &[1, 2, 3, 4, 5, 6, 7], 8.0),
    ] {
        let crashes: String = crashed.iter().map(|node| format!(" --crash P{node}@0")).collect();
        let leaf = n / 2 + 1;
        let lone = format!("--requesters P{leaf} --warmup 1 --entries 20");
        let report = sim(&format!("agrawal-el-abbadi -n {n} {lone}{crashes}"));
        assert_eq!(report.messages.per_entry, 3.0 * (k - 1.0), "{n}: {crashed:?}");
    }
}
