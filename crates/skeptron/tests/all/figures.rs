//! The published figures (spec 2), one test each. With constant latency 1 and section 1 they hold
//! exactly, so equality is asserted, not closeness; where a figure is a limit or a mean, its interval
//! over independent seeds must contain it.

mod agrawal_el_abbadi;
mod cao_singhal;

use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron_core::NodeId;
use skeptron_core::catalogue::{self, Layout};
use skeptron_core::topology::{Structure, Tree};
use skeptron_sim::trace::{Record, What};
use skeptron_sim::{Options, Report, run};

/// Runs `skeptron sim` with these options and asserts that every property held.
fn sim(options: &str) -> Report {
    let args = SimOptions::parse(options).unwrap();
    let (info, scenario) = args.scenario(Files::Disk).unwrap();
    let report = run(info, &scenario, &Options::default()).unwrap().report;
    assert!(report.is_fine(), "{}: {:?}", args.command(), report.violations);
    report
}

/// A lone requester's first entry.
fn first(algorithm: &str, n: usize, more: &str) -> (f64, f64) {
    let report = sim(&format!("{algorithm} -n {n} --requesters 1 --entries 1 {more}"));
    (report.messages.per_entry, report.client_delay.max)
}

/// Its further entries.
fn again(algorithm: &str, n: usize, more: &str) -> (f64, f64) {
    let report = sim(&format!("{algorithm} -n {n} --requesters 1 --warmup 1 --entries 20 {more}"));
    assert_eq!(report.client_delay.mean, report.client_delay.max);
    (report.messages.per_entry, report.client_delay.max)
}

/// Everybody wants in all the time.
fn saturated(algorithm: &str, n: usize, more: &str) -> Report {
    sim(&format!("{algorithm} -n {n} --warmup {} --entries {} {more}", 4 * n, 60 * n))
}

const SIZES: [usize; 5] = [2, 3, 5, 8, 13];

#[test]
fn central_costs_three_messages_and_two_latencies() {
    for n in SIZES {
        assert_eq!(first("central", n, ""), (3.0, 2.0));
        assert_eq!(again("central", n, ""), (3.0, 2.0));
    }
    for n in [3, 8, 13] {
        let report = saturated("central", n, "");
        assert_eq!(report.messages.per_entry, 3.0);
        assert_eq!((report.sync_delay.mean, report.sync_delay.max), (2.0, 2.0));
        assert_eq!(report.throughput, 1.0 / 3.0);
    }
}

#[test]
fn lamport_costs_three_rounds_and_hands_over_in_one_latency() {
    for n in SIZES {
        let rounds = 3.0 * (n as f64 - 1.0);
        assert_eq!(first("lamport", n, ""), (rounds, 2.0));
        assert_eq!(again("lamport", n, ""), (rounds, 2.0));
        let report = saturated("lamport", n, "");
        assert_eq!(report.messages.per_entry, rounds);
        assert_eq!((report.sync_delay.mean, report.sync_delay.max), (1.0, 1.0));
        assert_eq!(report.throughput, 0.5);
    }
}

#[test]
fn lamport_lazy_saves_the_redundant_acks() {
    for n in SIZES {
        let peers = n as f64 - 1.0;
        assert_eq!(first("lamport-lazy", n, ""), (3.0 * peers, 2.0));
        let report = saturated("lamport-lazy", n, "");
        assert_eq!((report.messages.per_entry, report.sync_delay.max), (2.0 * peers, 1.0));
    }
}

#[test]
fn ricart_agrawala_costs_two_rounds() {
    for n in SIZES {
        let rounds = 2.0 * (n as f64 - 1.0);
        assert_eq!(first("ricart-agrawala", n, ""), (rounds, 2.0));
        assert_eq!(again("ricart-agrawala", n, ""), (rounds, 2.0));
        let report = saturated("ricart-agrawala", n, "");
        assert_eq!(report.messages.per_entry, rounds);
        assert_eq!((report.sync_delay.mean, report.sync_delay.max), (1.0, 1.0));
        // With multicast the request is one message.
        assert_eq!(report.messages.multicast.per_entry, n as f64);
        assert_eq!(report.fairness.inversions, Some(0));
    }
}

/// 2(N−1) for who asks alone. With others 2N−k−1 on the way in, and the REPLYs that come late: those that were
/// deferred for one node travel together.
#[test]
fn raymond_k_costs_as_much_for_k_at_once() {
    for (n, k) in [(3, 2), (5, 2), (5, 3), (8, 2), (8, 5), (13, 4)] {
        let layout = format!("--capacity {k}");
        let peers = n as f64 - 1.0;
        assert_eq!(first("raymond-k", n, &layout), (2.0 * peers, 2.0));
        assert_eq!(again("raymond-k", n, &layout), (2.0 * peers, 2.0));
        let report = saturated("raymond-k", n, &layout);
        let (least, messages) = (2.0 * peers - (k as f64 - 1.0), report.messages.per_entry);
        assert!((least..=2.0 * peers).contains(&messages), "{n} {k}: {messages}");
        println!(
            "{n} {k}: {messages} {} {} {}",
            report.sync_delay.mean, report.sync_delay.max, report.throughput
        );
    }
}

/// 3(K−1) for who asks alone, where K is the size of its own quorum: reading can be cheaper than writing.
#[test]
fn readers_and_writers_ask_their_quorums() {
    let lone = |n: usize, kind: &str, who: &str| {
        let system = format!("quorum-readers-writers -n {n} --read-quorums {kind}");
        let report = sim(&format!("{system} --requesters {who} --entries 20"));
        (report.messages.per_entry, report.client_delay.max)
    };
    // All read but the last one.
    for (n, kind, reader, writer) in
        [(9, "grid", 3, 5), (16, "grid", 4, 7), (5, "majority", 3, 3), (8, "majority", 5, 5)]
    {
        assert_eq!(lone(n, kind, "P1"), (3.0 * (f64::from(reader) - 1.0), 2.0), "{kind}");
        let last = format!("P{n}");
        assert_eq!(lone(n, kind, &last), (3.0 * (f64::from(writer) - 1.0), 2.0), "{kind}");
    }
    assert_eq!(lone(6, "read-one", "P1"), (0.0, 0.0), "who reads asks itself");
    assert_eq!(lone(6, "read-one", "P6"), (15.0, 2.0), "who writes asks everybody");
}

/// Readers share the section, so many of them get in more often than as many writers.
#[test]
fn readers_share_the_section() {
    let throughput = |readers: usize| {
        let system = format!("quorum-readers-writers -n 9 --readers {readers} --section 5");
        sim(&format!("{system} --entries 400 --warmup 20")).throughput
    };
    let (writers, readers) = (throughput(0), throughput(9));
    assert!(readers > 5.0 * writers, "{readers} {writers}");
}

#[test]
fn carvalho_roucairol_pays_once_and_then_nothing() {
    for n in SIZES {
        let rounds = 2.0 * (n as f64 - 1.0);
        assert_eq!(first("carvalho-roucairol", n, ""), (rounds, 2.0));
        assert_eq!(again("carvalho-roucairol", n, ""), (0.0, 0.0));
        let report = saturated("carvalho-roucairol", n, "");
        assert_eq!((report.messages.per_entry, report.sync_delay.max), (rounds, 1.0));
    }
}

#[test]
fn maekawa_asks_its_quorum() {
    let systems =
        [(7, 3.0, "fano"), (13, 4.0, "maekawa-13"), (13, 4.0, "projective"), (9, 5.0, "grid")];
    for (n, k, quorum) in systems {
        let layout = format!("--quorum {quorum}");
        assert_eq!(first("maekawa", n, &layout), (3.0 * (k - 1.0), 2.0), "{quorum}");
        assert_eq!(again("maekawa", n, &layout), (3.0 * (k - 1.0), 2.0), "{quorum}");
    }
}

#[test]
fn maekawa_saturated_on_the_13_node_plane() {
    let report = sim("maekawa --quorum maekawa-13 --warmup 52 --entries 5200");
    assert!((report.messages.per_entry - 12.0).abs() < 0.01, "{}", report.messages.per_entry);
    assert!((1.0..=2.0).contains(&report.sync_delay.mean) && report.sync_delay.max == 2.0);
    let random = sim("maekawa --quorum maekawa-13 --entries 2000 --think exp:5 --section 0.5");
    assert!(random.messages.per_entry <= 7.0 * 3.0);
}

/// A hand-over takes 1 where the common arbiter is one of the two, else 2; that is so for half of the
/// ordered pairs of the plane.
#[test]
fn maekawa_hands_over_in_one_or_two_latencies_by_pair() {
    let plane = skeptron_quorum::Construction::Maekawa13;
    let structure = Structure::maekawa(&skeptron_quorum::quorums(&plane, 13).unwrap());
    let mut ones = 0;
    for i in NodeId::all(13) {
        for j in NodeId::all(13).filter(|&j| j != i) {
            let expected = f64::from(structure.exact_delay(i, j));
            ones += usize::from(expected == 1.0);
            assert_eq!(hand_over("maekawa --quorum maekawa-13", i, j), expected, "{i} → {j}");
        }
    }
    assert_eq!(ones, 13 * 12 / 2, "half of the ordered pairs");
}

/// `i` is inside, `j` asks meanwhile: from i's exit to j's entry.
fn hand_over(system: &str, i: NodeId, j: NodeId) -> f64 {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("requests");
    std::fs::write(&path, format!("0 {i}\n5 {j}\n")).unwrap();
    let list = format!("--workload file:{} --section 20 --warmup 0 --entries 2", path.display());
    let report = sim(&format!("{system} {list}"));
    assert_eq!(report.sync_delay.count, 1);
    report.sync_delay.max
}

#[test]
fn sanders_four_node_structure_has_its_figures() {
    let structure = Structure::four_nodes();
    for i in NodeId::all(4) {
        let (low, _) = structure.message_bounds(i);
        let lone = sim(&format!("sanders --structure sanders-4 --requesters {i} --entries 5"));
        assert_eq!((lone.messages.per_entry, lone.client_delay.max), (low as f64, 2.0), "{i}");
        for j in NodeId::all(4).filter(|&j| j != i) {
            let delay = hand_over("sanders --structure sanders-4", i, j);
            assert_eq!(delay, f64::from(structure.exact_delay(i, j)), "{i} → {j}");
            assert!(delay <= f64::from(structure.published_delay(i, j)));
        }
    }
}

/// Sanders' presets reproduce the algorithms they are named after, within the bounds.
#[test]
fn sanders_presets_keep_their_bounds() {
    for (preset, low) in
        [("lamport", 12.0), ("ricart-agrawala", 8.0), ("maekawa", 6.0), ("sanders-4", 4.0)]
    {
        let nodes = if preset == "sanders-4" { 4 } else { 5 };
        let system = format!("sanders -n {nodes} --structure {preset}");
        if preset != "sanders-4" {
            let lone = sim(&format!("{system} --requesters 1 --entries 10"));
            assert_eq!((lone.messages.per_entry, lone.client_delay.max), (low, 2.0), "{preset}");
        }
        for more in ["", "--latency exp:1 --think exp:3", "--latency uniform:0.1..2 --order any"] {
            let options = format!("{system} {more} --entries 3000");
            let (_, scenario) = SimOptions::parse(&options).unwrap().scenario(Files::Disk).unwrap();
            let figures = scenario.setup.figures(&scenario.requesters);
            let busy = sim(&options).messages.per_entry;
            // In the window of measuring nodes enter unequally often, so the mean bound has some play.
            assert!(
                busy >= 0.97 * figures.low && busy <= figures.high,
                "{preset} {more}: {busy}, {figures:?}"
            );
        }
    }
}

#[test]
fn the_token_ring_costs_a_round_when_lonely_and_one_message_when_busy() {
    for n in SIZES {
        // The token starts at P1, and PN asks.
        assert_eq!(first("token-ring", n, "").1, n as f64 - 1.0);
        assert_eq!(again("token-ring", n, ""), (n as f64, n as f64));
        for report in ["token-ring", "dijkstra"].map(|name| saturated(name, n, "")) {
            assert_eq!(report.messages.per_entry, 1.0);
            assert_eq!((report.sync_delay.mean, report.sync_delay.max), (1.0, 1.0));
        }
    }
}

#[test]
fn suzuki_kasami_costs_n_or_nothing() {
    for n in SIZES {
        assert_eq!(first("suzuki-kasami", n, ""), (n as f64, 2.0));
        assert_eq!(again("suzuki-kasami", n, ""), (0.0, 0.0));
        let report = saturated("suzuki-kasami", n, "");
        assert_eq!(report.messages.per_entry, n as f64);
        assert_eq!((report.sync_delay.mean, report.sync_delay.max), (1.0, 1.0));
    }
}

/// Ricart and Agrawala 1983: N messages or none.
#[test]
fn ricart_agrawala_token_costs_n_or_nothing() {
    for n in SIZES {
        assert_eq!(first("ricart-agrawala-token", n, ""), (n as f64, 2.0));
        assert_eq!(again("ricart-agrawala-token", n, ""), (0.0, 0.0));
        let report = saturated("ricart-agrawala-token", n, "");
        assert_eq!(report.messages.per_entry, n as f64);
        assert_eq!((report.sync_delay.mean, report.sync_delay.max), (1.0, 1.0));
        assert_eq!(report.messages.multicast.per_entry, 2.0);
        // The token goes round: everybody enters once before anybody does again.
        assert_eq!(report.fairness.longest_bypass, n as u64 - 1);
    }
}

#[test]
fn singhal_climbs_the_staircase() {
    for n in SIZES {
        for rule in ["round-robin", "smallest-sequence", "nearest"] {
            let layout = format!("--arbitration {rule}");
            assert_eq!(first("singhal", n, &layout), (n as f64, 2.0));
            assert_eq!(again("singhal", n, &layout), (0.0, 0.0));
        }
        let report = saturated("singhal", n, "");
        assert_eq!((report.messages.per_entry, report.sync_delay.max), (n as f64, 1.0));
    }
    let low =
        sim("singhal -n 16 --workload sequential --think 50 --entries 4000").messages.per_entry;
    assert!((low - 16.0 / 2.0).abs() < 1.0, "about N/2 at low load: {low}");
}

/// Singhal 1992: N−1 messages at low load. Under saturation it is 2(N−1), not the 3(N−1)/2 of the paper.
#[test]
fn singhal_1992_climbs_the_staircase_and_pays_twice_when_busy() {
    for n in SIZES {
        for i in 1..=n {
            let lone = sim(&format!("singhal-1992 -n {n} --requesters P{i} --entries 1"));
            let expected = if i == 1 { 0.0 } else { 2.0 };
            let measured = (lone.messages.per_entry, lone.client_delay.max);
            assert_eq!(measured, (2.0 * (i as f64 - 1.0), expected), "P{i} of {n}");
        }
        assert_eq!(again("singhal-1992", n, ""), (0.0, 0.0));
        let report = saturated("singhal-1992", n, "");
        let measured = (report.messages.per_entry, report.sync_delay.max);
        assert_eq!(measured, (2.0 * (n as f64 - 1.0), 1.0));
    }
    let workload = "--workload sequential --think 4 --warmup 200 --entries 2000";
    let (mean, error) = mean_messages(&format!("singhal-1992 -n 9 {workload}"));
    assert!((mean - 8.0).abs() <= 4.0 * error && error < 0.08, "{mean} ± {error}");
}

/// Lodha and Kshemkalyani 2000: 2(N−1) messages alone; N if all are concurrent, and N−1 for the last of them.
#[test]
fn lodha_kshemkalyani_saves_the_replies_of_concurrent_requests() {
    for n in SIZES {
        let rounds = 2.0 * (n as f64 - 1.0);
        assert_eq!(first("lodha-kshemkalyani", n, ""), (rounds, 2.0));
        assert_eq!(again("lodha-kshemkalyani", n, ""), (rounds, 2.0));
        let report = saturated("lodha-kshemkalyani", n, "");
        let measured = (report.messages.per_entry, report.sync_delay.max);
        assert_eq!(measured, (rounds, 1.0), "no two requests are concurrent");
        assert_eq!(report.fairness.inversions, Some(0));
        // Everybody once, at the same time: N−1 REQUESTs each, and a FLUSH by all but the last.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("requests");
        let all: String = NodeId::all(n).map(|i| format!("0 {i}\n")).collect();
        std::fs::write(&path, all).unwrap();
        let workload = format!("--workload file:{}", path.display());
        let report = sim(&format!("lodha-kshemkalyani -n {n} {workload}"));
        let total = report.messages.total as usize;
        assert_eq!((report.entries as usize, total), (n, n * (n - 1) + (n - 1)));
        assert_eq!(report.sync_delay.max, 1.0);
    }
}

#[test]
fn raymond_pays_twice_the_distance() {
    for (tree, n) in
        [("line", 6), ("star", 6), ("balanced:2", 15), ("balanced:3", 13), ("balanced:2", 2)]
    {
        let layout = format!("--tree {tree}");
        let shape = match tree {
            "line" => Tree::line(n),
            "star" => Tree::star(n),
            other => Tree::balanced(n, other["balanced:".len()..].parse().unwrap()),
        };
        for i in NodeId::all(n) {
            let expected = 2.0 * shape.depth(i) as f64;
            let report = sim(&format!("raymond -n {n} {layout} --requesters {i} --entries 1"));
            let measured = (report.messages.per_entry, report.client_delay.max);
            assert_eq!(measured, (expected, expected), "{tree}, {i}");
        }
        assert_eq!(again("raymond", n, &layout), (0.0, 0.0));
    }
}

/// Raymond 1989, §5: 4(N−1)/N messages per entry under saturation on any tree.
#[test]
fn raymond_saturated_converges_to_four_edges_each_way() {
    for (tree, n) in [("line", 7), ("star", 7), ("balanced:2", 15), ("balanced:3", 40), ("line", 2)]
    {
        let report =
            sim(&format!("raymond -n {n} --tree {tree} --warmup {} --entries {}", 10 * n, 200 * n));
        let expected = 4.0 * (n as f64 - 1.0) / n as f64;
        let measured = report.messages.per_entry;
        assert!((measured - expected).abs() < 0.01, "{tree}: {measured}");
    }
}

/// Messages per entry: the mean over 12 independent seeds, and its standard error.
fn mean_messages(options: &str) -> (f64, f64) {
    let values: Vec<f64> =
        (1..=12).map(|seed| sim(&format!("{options} --seed {seed}")).messages.per_entry).collect();
    let mean = values.iter().sum::<f64>() / 12.0;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 11.0;
    (mean, (variance / 12.0).sqrt())
}

/// Naimi, Trehel and Arnold 1996: H(N−1) messages on average for sequential uniform requests.
#[test]
fn naimi_trehel_costs_the_harmonic_number() {
    for n in [2usize, 3, 8, 32, 100] {
        let harmonic: f64 = (1..n).map(|i| 1.0 / i as f64).sum();
        let workload = "--workload sequential --think 1 --warmup 500 --entries 4000";
        let (mean, error) = mean_messages(&format!("naimi-trehel -n {n} {workload}"));
        assert!((mean - harmonic).abs() <= 4.0 * error, "N = {n}: {mean} ± {error}, {harmonic}");
        assert!(error < 0.01 * harmonic, "too coarse to mean anything: {error}");
        assert_eq!(first("naimi-trehel", n, ""), (2.0, 2.0));
        assert_eq!(again("naimi-trehel", n, ""), (0.0, 0.0));
        assert_eq!(saturated("naimi-trehel", n, "").sync_delay.max, 1.0);
    }
}

/// Neilsen and Mizuno 1991: the distance and one message for the token, which is handed over in one latency.
#[test]
fn neilsen_mizuno_pays_the_distance_once() {
    for (tree, n) in [("line", 6), ("star", 6), ("balanced:2", 15), ("star", 2)] {
        let shape = match tree {
            "line" => Tree::line(n),
            "star" => Tree::star(n),
            _ => Tree::balanced(n, 2),
        };
        let layout = format!("--tree {tree}");
        for i in NodeId::all(n).skip(1) {
            let expected = shape.depth(i) as f64 + 1.0;
            let report =
                sim(&format!("neilsen-mizuno -n {n} {layout} --requesters {i} --entries 1"));
            let measured = (report.messages.per_entry, report.client_delay.max);
            assert_eq!(measured, (expected, expected), "{tree}, {i}");
        }
        assert_eq!(again("neilsen-mizuno", n, &layout), (0.0, 0.0));
        let report = saturated("neilsen-mizuno", n, &layout);
        assert_eq!((report.sync_delay.mean, report.sync_delay.max), (1.0, 1.0));
        assert!(report.messages.per_entry <= shape.diameter() as f64 + 1.0, "{tree}");
    }
    // On the star with one uniform requester at a time, as the paper has it.
    let n = 9.0;
    let workload = "--workload sequential --think 20 --warmup 100 --entries 3000";
    let (mean, error) = mean_messages(&format!("neilsen-mizuno -n 9 --tree star {workload}"));
    let expected = 3.0 - 5.0 / n + 2.0 / (n * n);
    assert!((mean - expected).abs() <= 4.0 * error && error < 0.02, "{mean} ± {error}, {expected}");
}

/// Sopena et al. 2007: two tokens and so two requests at most, and nothing where they are.
#[test]
fn composed_costs_what_its_tokens_are_away() {
    for (node, cost) in [(1, 0.0), (2, 2.0), (3, 2.0), (4, 2.0), (5, 4.0), (6, 4.0)] {
        let lone = format!("composed --clusters 3,3 --requesters P{node}");
        let first = sim(&format!("{lone} --entries 1"));
        assert_eq!((first.messages.per_entry, first.client_delay.max), (cost, cost), "P{node}");
        let again = sim(&format!("{lone} --warmup 1 --entries 20"));
        assert_eq!((again.messages.total, again.client_delay.max), (0, 0.0), "P{node}");
    }
}

/// Nine nodes in three clusters, between which messages take ten times as long: messages between clusters per
/// entry, and the mean synchronisation delay.
fn between_clusters(algorithm: &str) -> (f64, f64) {
    let site = |node: usize| node % 3;
    let row = |i| (0..9).map(|j| if site(i) == site(j) { "1 " } else { "10 " }).collect::<String>();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("matrix");
    std::fs::write(&path, (0..9).map(row).collect::<Vec<_>>().join("\n")).unwrap();
    let words =
        format!("{algorithm} -n 9 --latency matrix:{} --warmup 0 --entries 900", path.display());
    let (info, scenario) = SimOptions::parse(&words).unwrap().scenario(Files::Disk).unwrap();
    let options = Options { record: true, ..Options::default() };
    let outcome = run(info, &scenario, &options).unwrap();
    assert!(outcome.report.is_fine(), "{:?}", outcome.report.violations);
    let crosses = |record: &&Record| match record.what {
        What::Send { to, .. } => site(record.node.index()) != site(to.index()),
        _ => false,
    };
    let crossing = outcome.trace.unwrap().records.iter().filter(crosses).count();
    (crossing as f64 / 900.0, outcome.report.sync_delay.mean)
}

/// The latency matrix chooses the clusters, and what is saved is what the composition is for.
#[test]
fn composed_spares_messages_between_clusters() {
    let (flat, composed) = (between_clusters("naimi-trehel"), between_clusters("composed"));
    // 0.63 instead of 2.60 messages, and 3.24 instead of 7.96 units.
    assert!(4.0 * composed.0 < flat.0, "{composed:?}, {flat:?}");
    assert!(2.0 * composed.1 < flat.1, "{composed:?}, {flat:?}");
}

/// Raymond on a line: 2(N+1)/3 if the requester is not the holder, which (N−1)/N of them are not.
#[test]
fn raymond_on_a_line_with_uniform_requesters() {
    let n = 9.0;
    let workload = "--workload sequential --think 20 --warmup 100 --entries 3000";
    let (mean, error) = mean_messages(&format!("raymond -n 9 --tree line {workload}"));
    let expected = 2.0 * (n + 1.0) / 3.0 * (n - 1.0) / n;
    assert!((mean - expected).abs() <= 4.0 * error && error < 0.05, "{mean} ± {error}, {expected}");
}

#[test]
fn the_first_holder_enters_for_nothing() {
    let tokens = ["suzuki-kasami", "singhal", "raymond", "naimi-trehel"];
    let newer = ["ricart-agrawala-token", "neilsen-mizuno", "singhal-1992"];
    for algorithm in ["central"].into_iter().chain(tokens).chain(newer) {
        let report = sim(&format!("{algorithm} -n 5 --requesters P1 --entries 5"));
        assert_eq!((report.messages.total, report.client_delay.max), (0, 0.0), "{algorithm}");
    }
}

#[test]
fn one_and_two_nodes_work_everywhere() {
    for info in catalogue::sound() {
        let alone = sim(&format!("{} -n 1 --entries 50", info.name));
        let expected = (0, 0.0, 50);
        assert_eq!(
            (alone.messages.total, alone.client_delay.max, alone.entries),
            expected,
            "{}",
            info.name
        );
        for options in ["", "--requesters 1", "--latency exp:1 --think exp:1"] {
            let report = sim(&format!("{} -n 2 --entries 50 {options}", info.name));
            assert_eq!(report.entries, 50, "{}", info.name);
        }
    }
}

/// The law of throughput under saturation: 1 / (synchronisation delay + E) for each that may be inside at once.
#[test]
fn throughput_follows_its_law() {
    for info in catalogue::sound() {
        let report = sim(&format!("{} -n 6 --section 3 --entries 600", info.name));
        let together = match info.layout {
            Layout::Capacity => 2.0,
            // Readers are inside in groups of any size.
            Layout::ReadWrite => continue,
            _ => 1.0,
        };
        let law = together / (report.sync_delay.mean + 3.0);
        let measured = report.throughput;
        assert!((measured - law).abs() < 0.01 * law, "{}: {measured}, {law}", info.name);
    }
}

/// A wait that has not ended counts in every figure, and whose it is is told.
#[test]
fn waits_that_do_not_end_are_counted() {
    let report = sim("singhal -n 6 --arbitration nearest --requesters P1,P2,P4 --entries 3000");
    let [wait] = report.unended[..] else { panic!("{:?}", report.unended) };
    assert_eq!(wait.node, NodeId::new(3));
    assert!(wait.bypass >= 3000 && wait.delay >= 6000.0, "{wait:?}");
    assert_eq!(report.client_delay.max, wait.delay);
    assert_eq!(report.response_time.max, wait.delay);
    let fairness = report.fairness;
    assert_eq!(
        (fairness.longest_bypass, fairness.longest_bypass_of, fairness.bypass_claimed),
        (wait.bypass, Some(wait.node), None)
    );
    let fair = sim("singhal -n 6 --requesters P1,P2,P4 --entries 3000");
    assert!(fair.unended.is_empty(), "{:?}", fair.unended);
}

/// On the ring position decides and not age; a coordinator serves as requests arrive, which at a constant
/// latency is as they were made.
#[test]
fn overtakings_by_time_are_told_from_those_by_order() {
    let ring = sim("token-ring -n 5 --think exp:5 --entries 2000");
    assert_eq!(ring.fairness.inversions, Some(0));
    assert!(ring.fairness.overtakings > 100, "{:?}", ring.fairness);
    assert_eq!((ring.fairness.bypass_claimed, ring.fairness.longest_bypass), (Some(4.0), 4));
    let central = sim("central -n 5 --think exp:5 --entries 2000");
    assert_eq!((central.fairness.inversions, central.fairness.overtakings), (Some(0), 0));
}

/// The lectures' example: stamps 41 and 34, two entries, eight messages. Nothing of a file is warm-up.
#[test]
fn a_file_of_requests_is_measured_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("41-34.txt");
    std::fs::write(&path, "0 P1\n0 P3\n").unwrap();
    let file = format!("--clocks 40,0,33 --workload file:{}", path.display());
    let report = sim(&format!("ricart-agrawala -n 3 {file}"));
    assert_eq!((report.entries, report.warmup, report.requesters), (2, 0, 2));
    assert_eq!((report.messages.total, report.messages.per_entry), (8, 4.0));
}
