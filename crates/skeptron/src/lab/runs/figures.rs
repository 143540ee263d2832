//! What was measured in a run, beside what was published for it.

use skeptron_core::catalogue::{ElectionInfo, Info};
use skeptron_core::claims::Quantity;
use skeptron_core::{Claim, Figures};
use skeptron_sim::replay::Replayed;
use skeptron_sim::trace::TICKS_PER_UNIT;
use skeptron_sim::{Report, Scenario, election};

use crate::lab::wire::Figure;
use crate::published::{case as case_of, claimed_messages, claimed_or_needed, valued_at};
use crate::table::number;

/// A figure of which nothing is claimed.
fn measured(name: &str, value: String) -> Figure {
    Figure { name: name.into(), measured: value, claimed: None, holds: None }
}

/// The figures of a run.
pub(super) fn mutex(info: &Info, scenario: &Scenario, report: &Report) -> Vec<Figure> {
    let delay = |summary: &skeptron_sim::Summary| match summary.count {
        0 => "–".to_string(),
        _ => number(summary.mean),
    };
    let compared = skeptron_sim::claims::compare(info, scenario, report);
    let judged = |quantity: Quantity, value: String| {
        let compared = compared.iter().find(|compared| compared.quantity == quantity);
        Figure {
            name: quantity.to_string(),
            measured: value,
            claimed: compared.and_then(claimed_or_needed),
            holds: compared.and_then(|compared| compared.holds),
        }
    };
    let mut figures = vec![
        measured("entries", report.entries.to_string()),
        measured("messages", report.messages.total.to_string()),
        judged(Quantity::Messages, number(report.messages.per_entry)),
        judged(Quantity::ClientDelay, delay(&report.client_delay)),
        measured("response time", delay(&report.response_time)),
        judged(Quantity::SyncDelay, delay(&report.sync_delay)),
        measured("throughput", number(report.throughput)),
        measured("fairness (Jain)", number(report.fairness.jain)),
        measured("longest bypass", report.fairness.longest_bypass.to_string()),
        measured("busiest node over mean", number(report.load.max_over_mean)),
    ];
    if let Some(recovery) = &report.recovery {
        let since = recovery.legitimate_since.map_or("–".into(), number);
        figures.extend([
            measured("legitimate from", since),
            measured("entries before it was legitimate", recovery.entries.to_string()),
            measured("of these while somebody was inside", recovery.crowded.to_string()),
        ]);
    }
    figures
}

fn fits(claim: &Claim, mean: f64, figures: &Figures) -> bool {
    let (low, high) = (claim.low.value(figures), claim.high.value(figures));
    mean >= low - 1e-9 && mean <= high + 1e-9
}

/// The figures of an election.
pub(super) fn election(
    info: &ElectionInfo,
    scenario: &election::Scenario,
    report: &election::Report,
) -> Vec<Figure> {
    let case = case_of(info, scenario);
    let figures = Figures { n: report.nodes as f64, ..Figures::default() };
    let counted = case.map(|case| report.messages.counted(case.counted) as f64);
    let time = report.time.map_or("–".into(), number);
    let in_latencies = |time: f64| {
        let latency = scenario.latency.as_constant().filter(|&latency| latency > 0)?;
        Some(time * TICKS_PER_UNIT as f64 / latency as f64)
    };
    let time_claim = case.and_then(|case| case.time);
    vec![
        Figure {
            name: "messages".into(),
            measured: report.messages.total.to_string(),
            claimed: case.map(|case| claimed_messages(case, report.nodes)),
            holds: case.zip(counted).map(|(case, count)| fits(&case.messages, count, &figures)),
        },
        Figure {
            name: "time".into(),
            measured: time,
            claimed: time_claim.map(|claim| format!("{} T", valued_at(&claim, report.nodes))),
            holds: time_claim
                .zip(report.time.and_then(in_latencies))
                .map(|(claim, time)| fits(&claim, time, &figures)),
        },
        measured("calls", report.calls.to_string()),
        measured("alarms", report.alarms.to_string()),
        measured("suspicions", report.suspicions.to_string()),
        measured("false suspicions", report.false_suspicions.to_string()),
        measured("leader", report.leader.map_or("–".into(), |leader| leader.to_string())),
    ]
}

/// What a recorded run comes to.
pub(super) fn recorded(replayed: &Replayed) -> Vec<Figure> {
    let mut figures = vec![measured("messages", replayed.messages.to_string())];
    if replayed.leaders.is_empty() {
        figures.push(measured("entries", replayed.entries.to_string()));
        let waiting: Vec<String> = replayed.waiting.iter().map(ToString::to_string).collect();
        figures.push(measured("waiting at the end", waiting.join(", ")));
    } else {
        figures.push(measured("epochs with a leader", replayed.elections.to_string()));
    }
    figures.push(measured("refused inputs", replayed.refused.to_string()));
    figures
}
