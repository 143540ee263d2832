//! How published figures, and what breaks without a rule, are said: in tables, on pages and in the lab.

use skeptron_core::catalogue::{Breaks, ElectionInfo, Layout};
use skeptron_core::claims::Quantity;
use skeptron_core::election::{Case, Initiators, RingOrder};
use skeptron_core::topology::Ring;
use skeptron_core::{Claim, Figures, NodeId};
use skeptron_sim::claims::{Compared, Excluded, Expected};
use skeptron_sim::election::{self, Detector};
use skeptron_sim::{Fault, PlannedFault};

use crate::table::number;

pub(crate) fn breaks(breaks: Breaks) -> &'static str {
    match breaks {
        Breaks::Safety => "safety",
        Breaks::Liveness => "liveness",
        Breaks::Starvation => "starvation freedom",
        Breaks::Order => "order",
        Breaks::Refused => "the contract",
        Breaks::Agreement => "agreement",
        Breaks::Validity => "validity",
        Breaks::Termination => "termination",
        Breaks::Convergence => "convergence",
    }
}

/// What can happen if that property is violated.
pub(crate) fn cost(breaks: Breaks) -> &'static str {
    match breaks {
        Breaks::Safety => "two nodes can be inside at once, against GA1",
        Breaks::Liveness => "somebody can wait for ever, against GA2",
        Breaks::Starvation => "somebody can wait for ever while others are served, against GA2'",
        Breaks::Order => "a request can be served before one that happened before it, against EM3",
        Breaks::Refused => "a node can get what it has to refuse",
        Breaks::Agreement => "one epoch can have two leaders",
        Breaks::Validity => "the leader can be dead, or not the highest",
        Breaks::Termination => "an election may never end",
        Breaks::Convergence => "begun in some state, it may never recover",
    }
}

/// How many messages an election takes in this situation, and which count.
pub(crate) fn messages(case: &Case) -> String {
    match case.counted {
        [] => case.messages.to_string(),
        kinds => format!("{} {}", case.messages, kinds.join(" and ")),
    }
}

/// What is claimed of a figure in this run.
pub(crate) fn claimed(compared: &Compared) -> Option<String> {
    let expected = compared.expected.as_ref()?;
    let missed = if compared.holds == Some(false) { " ✗ missed" } else { "" };
    let said = match (compared.quantity, expected.published.len()) {
        (Quantity::Messages, 1) => valued(expected),
        _ => published(expected),
    };
    Some(said + missed)
}

/// The claim, or that of the first and that of further entries.
pub(crate) fn published(expected: &Expected) -> String {
    expected.published.iter().map(ToString::to_string).collect::<Vec<_>>().join(", then ")
}

/// The same, or what would be claimed under other conditions.
pub(crate) fn claimed_or_needed(compared: &Compared) -> Option<String> {
    claimed(compared).or_else(|| compared.excluded.as_ref().map(needed))
}

/// A claim that was not compared, and what it needs.
pub(crate) fn needed(Excluded { published, unmet }: &Excluded) -> String {
    let unmet: Vec<String> = unmet.iter().map(ToString::to_string).collect();
    format!("{published} (needs: {})", unmet.join("; "))
}

/// A claim with its values.
fn valued(expected: &Expected) -> String {
    let claim = &expected.published[0].claim;
    let (low, high) = (number(expected.low), number(expected.high));
    let bounds = match (claim.low.to_string() == low, claim.high.to_string() == high) {
        (true, true) => format!("{low} … {high}"),
        _ => format!("{} … {} = {low} … {high}", claim.low, claim.high),
    };
    match (claim.typical, expected.typical) {
        _ if claim.to_string() == low => low,
        _ if claim.is_exact() && low == high => format!("{claim} = {low}"),
        (Some(typical), Some(value)) if !claim.is_exact() => {
            format!("on average {typical} = {} ({bounds})", number(value))
        }
        _ => bounds,
    }
}

/// What is claimed of the messages among `n` nodes, and when.
pub(crate) fn claimed_messages(case: &Case, n: usize) -> String {
    let what = if case.counted.is_empty() { "" } else { " " };
    let (value, counted) = (valued_at(&case.messages, n), case.counted.join(" and "));
    format!("{value}{what}{counted} when {}", case.when)
}

/// The situation for which figures are published that the scenario is, if any.
pub(crate) fn case(info: &ElectionInfo, scenario: &election::Scenario) -> Option<&'static Case> {
    info.claims.cases.iter().find(|case| is_case(case, info, scenario))
}

/// A claim and its value for `n` nodes.
pub(crate) fn valued_at(claim: &Claim, n: usize) -> String {
    let figures = Figures { n: n as f64, ..Figures::default() };
    let [low, high] = [claim.low, claim.high].map(|bound| number(bound.value(&figures)));
    let text = claim.to_string();
    let values = if claim.is_exact() { low } else { format!("{low} … {high}") };
    if text == values { text } else { format!("{text} = {values}") }
}

/// Whether the scenario is the situation of that claim.
fn is_case(case: &Case, info: &ElectionInfo, scenario: &election::Scenario) -> bool {
    let n = scenario.setup.nodes();
    let live = if case.highest_down { n - 1 } else { n };
    if live == 0 || n < 2 || scenario.latency.as_constant() != Some(scenario.bound()) {
        return false;
    }
    let down = PlannedFault { from: 0, until: None, fault: Fault::Crash(NodeId::new(n - 1)) };
    let planned = if case.highest_down { vec![down] } else { Vec::new() };
    let faults = skeptron_sim::Faults { planned, ..skeptron_sim::Faults::default() };
    let callers: Vec<NodeId> = match case.initiators {
        Initiators::Lowest => vec![NodeId::new(0)],
        Initiators::Highest => vec![NodeId::new(live - 1)],
        Initiators::TwoLowest => NodeId::all(live.min(2)).collect(),
        Initiators::All => NodeId::all(live).collect(),
    };
    let calls = &scenario.initiators;
    let together = calls.iter().all(|call| call.at == calls[0].at);
    let called: Vec<NodeId> =
        calls.iter().map(|call| call.node).filter(|node| node.index() < live).collect();
    let ascending = Ring::ascending(n);
    let ring = scenario.setup.ring().unwrap_or(&ascending);
    let fits = match case.ring {
        _ if info.layout != Layout::Ring => true,
        RingOrder::Ascending => *ring == ascending,
        RingOrder::Descending => *ring == Ring::descending(n),
        RingOrder::Random => false,
    };
    fits && scenario.faults == faults
        && matches!(scenario.detector, Detector::Perfect { .. })
        && together
        && called == callers
}
