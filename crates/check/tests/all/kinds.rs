//! Locks with kinds keep what they promise in every interleaving of small systems, over each inner algorithm.

use skeptron_check::{KindsScenario, Options, Property, Report, check_kinds};
use skeptron_core::Setup;
use skeptron_core::catalogue::{self, Breaks, Info, Order};
use skeptron_core::mutex::Usage;
use skeptron_core::mutex::shared::offers_kinds;
use skeptron_core::mutex::sharing::SharingFlaw;
use skeptron_testing::sample;

/// `modes` as on the command line, each node going through its list.
fn scenario(modes: &str, requests: &[usize], order: Order) -> KindsScenario {
    let setup = Setup::new(requests.len()).unwrap();
    let lists = Usage::lists(modes, requests.len()).unwrap();
    let usages = lists
        .iter()
        .zip(requests)
        .map(|(list, &requests)| list.iter().copied().cycle().take(requests).collect());
    KindsScenario { setup, usages: usages.collect(), at_once: 1, order, flaw: None }
}

fn inner_locks() -> impl Iterator<Item = (&'static Info, Order)> {
    let orders = |info: &'static Info| match info.channel {
        Order::Fifo => vec![(info, Order::Fifo)],
        Order::Any => vec![(info, Order::Fifo), (info, Order::Any)],
    };
    catalogue::sound().filter(|info| offers_kinds(info)).flat_map(orders)
}

fn explore(info: &Info, scenario: &KindsScenario) -> Report {
    check_kinds(info, scenario, &Options::default()).unwrap()
}

/// Asserts that the search is complete and that everything holds, over every inner algorithm, or in the usual tier some.
fn prove(modes: &str, requests: &[usize], at_once: u8) {
    for (info, order) in sample(modes, inner_locks(), 2) {
        prove_over(info, order, modes, requests, at_once);
    }
}

/// The same without `ricart-agrawala`, whose broadcasts make for many states.
fn prove_where_few_messages_fly(modes: &str, requests: &[usize], at_once: u8) {
    let few = inner_locks().filter(|(info, _)| info.name != "ricart-agrawala");
    for (info, order) in sample(modes, few, 2) {
        prove_over(info, order, modes, requests, at_once);
    }
}

fn prove_over(info: &Info, order: Order, modes: &str, requests: &[usize], at_once: u8) {
    let scenario = KindsScenario { at_once, ..scenario(modes, requests, order) };
    let report = explore(info, &scenario);
    let name = info.name;
    println!(
        "{name} {order} {modes} {requests:?} at once {at_once}: {} states, {:.1} s",
        report.states, report.seconds
    );
    let violation = report.violation();
    assert!(report.complete && violation.is_none(), "{name} {order} {modes}: {violation:#?}");
    assert!(report.verdicts.iter().all(|verdict| verdict.holds == Some(true)));
    for property in Property::MUTEX {
        let judged = report.verdict(*property).is_some();
        assert_eq!(judged, *property != Property::Order, "{property}");
    }
}

#[test]
fn readers_and_writers() {
    prove("shared,shared,exclusive", &[2, 2, 2], 1);
    prove("shared+exclusive,exclusive+shared,shared+exclusive", &[2, 2, 2], 1);
}

#[test]
fn semaphores() {
    prove("permits:2", &[2, 2, 2], 1);
    prove("permits:2,permits:2,exclusive", &[2, 2, 2], 1);
    prove_where_few_messages_fly("permits:2,permits:3,shared", &[2, 2, 2], 1);
    prove_where_few_messages_fly("permits:2", &[1, 1, 1, 1], 1);
}

/// Over `ricart-agrawala` with fewer requests: docs/kinds.md has what more of them took.
#[test]
fn upgrades() {
    prove("upgrade", &[1, 1, 1], 1);
    prove("upgrade,upgrade,exclusive", &[1, 1, 1], 1);
    prove("upgrade", &[2, 2], 1);
    prove("upgrade:3,exclusive", &[2, 2], 1);
    prove_where_few_messages_fly("upgrade", &[2, 2, 2], 1);
    prove_where_few_messages_fly("upgrade,upgrade,exclusive", &[2, 2, 2], 1);
    prove_where_few_messages_fly("upgrade,shared,exclusive", &[2, 2, 2], 1);
    prove_where_few_messages_fly("upgrade,upgrade,permits:2", &[1, 1, 2], 1);
    prove_where_few_messages_fly("upgrade:2,shared,exclusive", &[1, 1, 1], 1);
}

#[test]
fn downgrades() {
    prove("downgrade", &[2, 2, 2], 1);
    prove("downgrade,shared,upgrade", &[1, 1, 1], 1);
    prove_where_few_messages_fly("downgrade,shared,upgrade", &[2, 2, 2], 1);
}

/// Whoever waits may stop, holding the inner lock or waiting for it, and nobody else waits for that.
#[test]
fn whoever_waits_may_stop() {
    prove("shared,shared,try:exclusive", &[2, 2, 2], 1);
    prove("try:upgrade", &[2, 2], 1);
    prove("try:upgrade,try:upgrade,exclusive", &[1, 1, 1], 1);
    prove("try:permits:2", &[1, 1, 1], 1);
    prove("try:upgrade+try:exclusive,try:shared", &[2, 2], 2);
    prove_where_few_messages_fly("permits:2,permits:2,try:exclusive+permits:2", &[2, 2, 2], 1);
    prove_where_few_messages_fly("try:upgrade:2,try:upgrade,exclusive", &[1, 1, 1], 1);
    prove_where_few_messages_fly("try:upgrade:2,shared,try:exclusive", &[1, 1, 1], 1);
}

/// Many local clients share one node.
#[test]
fn several_entries_of_a_node_at_once() {
    prove("shared,shared,exclusive", &[2, 2, 2], 2);
    prove("upgrade+exclusive,shared", &[2, 2], 2);
    prove("upgrade,exclusive+shared", &[2, 3], 3);
    prove("permits:2+upgrade,permits:3", &[2, 3], 3);
    prove_where_few_messages_fly("upgrade,shared+upgrade,exclusive", &[2, 2, 1], 2);
}

/// Each rule is needed, whichever algorithm is the inner lock.
#[test]
fn without_any_rule_something_breaks() {
    for flaw in SharingFlaw::ALL {
        let broken = flaw.broken();
        let words: Vec<&str> = broken.refuted_by.split_whitespace().collect();
        let value = |option: &str| {
            let place = words.iter().position(|word| *word == option).expect("it is given");
            words[place + 1]
        };
        let nodes: usize = value("-n").parse().unwrap();
        let requests: Vec<usize> =
            value("--requests").split(',').map(|count| count.parse().unwrap()).collect();
        let requests: Vec<usize> = requests.iter().copied().cycle().take(nodes).collect();
        let reorders = broken.refuted_by.contains("--order any");
        let wanted = if reorders { Order::Any } else { Order::Fifo };
        for (info, order) in inner_locks().filter(|(_, order)| *order == wanted) {
            let scenario = scenario(value("--modes"), &requests, order);
            let report = explore(info, &KindsScenario { flaw: Some(flaw), ..scenario });
            let violated = report.violation().map(|(property, _)| property);
            let expected = match broken.breaks {
                Breaks::Liveness => Property::Progress,
                Breaks::Refused => Property::Refused,
                _ => Property::Exclusion,
            };
            assert_eq!(violated, Some(expected), "{flaw} over {}", info.name);
        }
    }
}

#[test]
fn what_cannot_be_explored_is_named() {
    let ask = |name: &str, scenario: &KindsScenario| {
        let info = catalogue::find(name).unwrap();
        check_kinds(info, scenario, &Options::default()).unwrap_err().to_string()
    };
    let fine = scenario("shared", &[1, 1], Order::Fifo);
    assert!(ask("maekawa", &fine).contains("not over maekawa"));
    let many = scenario("shared", &[5, 1], Order::Fifo);
    assert!(ask("central", &many).contains("at most 4 are possible"));
    let large = scenario("permits:61", &[1, 1], Order::Fifo);
    assert!(ask("central", &large).contains("at most permits:30"));
    let none = KindsScenario { at_once: 0, ..fine };
    assert!(ask("central", &none).contains("one entry at once"));
}
