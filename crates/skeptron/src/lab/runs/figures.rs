//! What was measured in a run, beside what was published for it.

use skeptron_core::catalogue::{ElectionInfo, Info};
use skeptron_core::{Claim, Figures};
use skeptron_sim::replay::Replayed;
use skeptron_sim::trace::TICKS_PER_UNIT;
use skeptron_sim::{Report, Scenario, Workload, election};

use crate::cli::sim::election::print as of_election;
use crate::cli::sim::print as of_mutex;
use crate::cli::table::number;
use crate::lab::wire::Figure;

/// A figure of which nothing is claimed.
fn measured(name: &str, value: String) -> Figure {
    Figure { name: name.into(), measured: value, claimed: None, holds: None }
}

/// The figures of a run.
pub(super) fn mutex(info: &Info, scenario: &Scenario, report: &Report) -> Vec<Figure> {
    let standard = Standard::of(info, scenario, report);
    let delay = |summary: &skeptron_sim::Summary| match summary.count {
        0 => "–".to_string(),
        _ => number(summary.mean),
    };
    let figures = scenario.setup.figures(&scenario.requesters);
    let sync = (report.nodes > 1).then(|| format!("{} T", info.claims.sync_delay));
    vec![
        measured("entries", report.entries.to_string()),
        measured("messages", report.messages.total.to_string()),
        Figure {
            name: "messages per entry".into(),
            measured: number(report.messages.per_entry),
            claimed: of_mutex::claimed_messages(info, report, &figures),
            holds: standard.messages(info, report, &figures),
        },
        Figure {
            name: "client delay".into(),
            measured: delay(&report.client_delay),
            claimed: of_mutex::claimed_client(info, report),
            holds: standard.client(info, report, &figures),
        },
        measured("response time", delay(&report.response_time)),
        Figure {
            name: "synchronisation delay".into(),
            measured: delay(&report.sync_delay),
            claimed: sync,
            holds: match standard {
                Standard::Saturated if report.sync_delay.count > 0 => {
                    fits(&info.claims.sync_delay, report.sync_delay.mean, &figures).then_some(true)
                }
                _ => None,
            },
        },
        measured("throughput", number(report.throughput)),
        measured("fairness (Jain)", number(report.fairness.jain)),
        measured("longest bypass", report.fairness.longest_bypass.to_string()),
        measured("busiest node over mean", number(report.load.max_over_mean)),
    ]
}

/// Which of the situations for which figures are published a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standard {
    /// None of them.
    None,
    /// One node asks, again and again.
    Lone,
    /// Everybody asks all the time; where a run is short its beginning and its end weigh, so only what
    /// fits is said to.
    Saturated,
}

impl Standard {
    fn of(info: &Info, scenario: &Scenario, report: &Report) -> Self {
        let unit = Some(TICKS_PER_UNIT);
        let plain = scenario.latency.as_constant() == unit
            && scenario.section.as_constant() == unit
            && scenario.keeps_assumptions(info)
            && report.nodes > 1
            && report.entries > 0;
        match (&scenario.workload, scenario.requesters.len()) {
            (Workload::Closed { think }, asking) if plain && think.as_constant() == Some(0) => {
                match asking {
                    1 if report.warmup == 0 => Standard::Lone,
                    1 => Standard::None,
                    _ => Standard::Saturated,
                }
            }
            _ => Standard::None,
        }
    }

    fn messages(self, info: &Info, report: &Report, figures: &Figures) -> Option<bool> {
        let claims = &info.claims;
        let (first, again) = (&claims.messages_first, &claims.messages_again);
        let measured = report.messages.per_entry;
        match self {
            Standard::None => None,
            Standard::Lone => Some(is_mix(first, again, report.entries, measured, figures)),
            Standard::Saturated => {
                fits(&claims.messages_saturated, measured, figures).then_some(true)
            }
        }
    }

    fn client(self, info: &Info, report: &Report, figures: &Figures) -> Option<bool> {
        let (first, again) = (&info.claims.client_first, &info.claims.client_again);
        let measured = report.client_delay.mean;
        (self == Standard::Lone).then(|| is_mix(first, again, report.entries, measured, figures))
    }
}

/// Whether a mean keeps the bounds of one first entry and further ones.
fn is_mix(first: &Claim, again: &Claim, entries: u64, mean: f64, figures: &Figures) -> bool {
    let rest = entries.saturating_sub(1) as f64;
    let sum = mean * entries as f64;
    let value = |formula: &skeptron_core::Formula| formula.value(figures);
    let (low, high) = (
        value(&first.low) + rest * value(&again.low),
        value(&first.high) + rest * value(&again.high),
    );
    sum >= low - 1e-6 && sum <= high + 1e-6
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
    let case = of_election::case(info, scenario);
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
            claimed: case.map(|case| of_election::claimed_messages(case, report.nodes)),
            holds: case.zip(counted).map(|(case, count)| fits(&case.messages, count, &figures)),
        },
        Figure {
            name: "time".into(),
            measured: time,
            claimed: time_claim
                .map(|claim| format!("{} T", of_election::valued(&claim, report.nodes))),
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
