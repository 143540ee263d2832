//! Cao and Singhal's algorithm: Maekawa's with permissions that are passed on.

use skeptron_core::NodeId;

use super::{again, first, hand_over, saturated};

/// Cao and Singhal 2001: 3(K−1) messages without conflict, and T from exit to entry where Maekawa's takes up to 2T.
#[test]
fn cao_singhal_hands_over_in_one_latency() {
    for (n, k, quorum) in [(7, 3.0, "fano"), (13, 4.0, "maekawa-13"), (9, 5.0, "grid")] {
        let layout = format!("--quorum {quorum}");
        assert_eq!(first("cao-singhal", n, &layout), (3.0 * (k - 1.0), 2.0), "{quorum}");
        assert_eq!(again("cao-singhal", n, &layout), (3.0 * (k - 1.0), 2.0), "{quorum}");
        let report = saturated("cao-singhal", n, &format!("{layout} --section 2"));
        assert_eq!((report.sync_delay.mean, report.sync_delay.max), (1.0, 1.0), "{quorum}");
        assert_eq!(report.throughput, 1.0 / 3.0, "{quorum}");
        let messages = report.messages.per_entry;
        assert!(messages >= 3.0 * (k - 1.0) && messages <= 6.0 * (k - 1.0), "{quorum}: {messages}");
    }
    // The price is about one TRANSFER for each entry; on the grid every hand-over of Maekawa's takes 2T.
    let figures = |algorithm| {
        let report = saturated(algorithm, 9, "--quorum grid --section 2");
        (report.messages.per_entry.round(), report.sync_delay.mean)
    };
    assert_eq!((figures("maekawa"), figures("cao-singhal")), ((16.0, 2.0), (18.0, 1.0)));
}

/// Whoever is inside and whoever comes next: T for all 156 ordered pairs of the plane.
#[test]
fn cao_singhal_hands_over_in_one_latency_between_all_pairs() {
    for i in NodeId::all(13) {
        for j in NodeId::all(13).filter(|&j| j != i) {
            assert_eq!(hand_over("cao-singhal --quorum maekawa-13", i, j), 1.0, "{i} → {j}");
        }
    }
}
