//! What `skeptron sim` prints.

use std::io::{self, Write};

use serde::Serialize;
use skeptron_core::Figures;
use skeptron_core::catalogue::{Claims, Info, Order};
use skeptron_sim::replay::Replayed;
use skeptron_sim::trace::Trace;
use skeptron_sim::{Report, Scenario, Summary, Violation};

use super::super::Verdict;
use super::super::system::Elected;
use super::super::table::{counted, folded, number, table};

/// The report of one run as a table.
pub(super) fn report(
    info: &Info,
    scenario: &Scenario,
    report: &Report,
    out: &mut impl Write,
) -> io::Result<()> {
    let figures = scenario.setup.figures(&scenario.requesters);
    let nodes = counted(report.nodes as u64, "node");
    let order = match scenario.order {
        Order::Fifo => "FIFO channels",
        Order::Any => "channels in any order",
    };
    let said = format!(
        "{} · {nodes}, {} asking · latency {} · {order} · seed {}",
        info.name, report.requesters, scenario.latency, report.seed
    );
    writeln!(out, "{}", folded(&said))?;
    if info.channel == Order::Fifo && scenario.order == Order::Any {
        writeln!(out, "It is correct on FIFO channels only: these are worse than it needs.")?;
    }
    let mut rows = table(["figure", "mean", "p50", "p99", "max", "claim"]);
    let mut delay = |name: &str, summary: &Summary, claim: String| {
        let Summary { count, mean, p50, p99, max } = *summary;
        let cells = if count == 0 {
            [0.0; 4].map(|_| "–".to_string())
        } else {
            [mean, p50, p99, max].map(number)
        };
        let [mean, p50, p99, max] = cells;
        rows.add_row([name.to_string(), mean, p50, p99, max, claim]);
    };
    let client = claimed_client(info, report).unwrap_or_default();
    delay("client delay", &report.client_delay, client);
    delay("response time", &report.response_time, String::new());
    let sync =
        if report.nodes > 1 { format!("{} T", info.claims.sync_delay) } else { String::new() };
    delay("synchronisation delay", &report.sync_delay, sync);
    writeln!(out, "{rows}")?;
    let kinds: Vec<String> = report
        .messages
        .by_type
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    writeln!(
        out,
        "entries      {} in {} units: {} per unit",
        report.entries,
        number(report.duration),
        number(report.throughput)
    )?;
    if report.entries == 0 {
        let why = match report.warmup {
            0 => "nobody entered".to_string(),
            1 => "it stopped in the warm-up, after 1 entry".into(),
            made => format!("it stopped in the warm-up, after {made} entries"),
        };
        writeln!(out, "             nothing to measure: {why}")?;
    }
    let said = format!(
        "messages     {} per entry{}; {} in all{kinds}, {}",
        number(report.messages.per_entry),
        claimed_messages(info, report, &figures)
            .map_or_else(String::new, |claim| format!(", claimed {claim}")),
        report.messages.total,
        counted(report.messages.bytes, "byte")
    );
    writeln!(out, "{}", folded(&said))?;
    if report.messages.multicast.total != report.messages.total {
        writeln!(
            out,
            "             {} per entry with multicast",
            number(report.messages.multicast.per_entry)
        )?;
    }
    let inversions = match report.fairness.inversions {
        None => "inversions not watched".into(),
        Some(count) => counted(count, "inversion"),
    };
    let fairness = &report.fairness;
    let bypass = match (fairness.longest_bypass_of, fairness.bypass_claimed) {
        (Some(node), claimed) if fairness.longest_bypass > 0 => {
            let claimed = claimed.map_or_else(
                || " (no bound claimed)".to_string(),
                |most| format!(" (claimed at most {})", number(most)),
            );
            format!("{} of {node}{claimed}", fairness.longest_bypass)
        }
        _ => "0".into(),
    };
    let said = format!(
        "fairness     {inversions}{}, {} by request time, Jain {}, longest bypass {bypass}",
        if fairness.order_claimed { " (claimed 0)" } else { "" },
        counted(fairness.overtakings, "overtaking"),
        number(fairness.jain),
    );
    writeln!(out, "{}", folded(&said))?;
    for wait in &report.unended {
        writeln!(
            out,
            "waiting      {} was not served: it has waited for {} while {} others entered",
            wait.node,
            number(wait.delay),
            wait.bypass
        )?;
    }
    writeln!(out, "load         busiest node {} × the mean", number(report.load.max_over_mean))?;
    if report.lost + report.duplicated + report.refused > 0 {
        writeln!(
            out,
            "network      {} lost, {} duplicated, {} refused by their receiver",
            report.lost, report.duplicated, report.refused
        )?;
    }
    writeln!(out, "run          {} events, trace hash {}", report.events, report.trace_hash)?;
    Ok(())
}

/// The report as JSON, and how its tree was elected, if it was.
pub(super) fn json(
    report: &Report,
    elected: Option<Elected>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Told<'a> {
        #[serde(flatten)]
        report: &'a Report,
        #[serde(skip_serializing_if = "Option::is_none")]
        elected: Option<Elected>,
    }
    writeln!(out, "{}", serde_json::to_string_pretty(&Told { report, elected })?)?;
    Ok(())
}

/// The violations of a run, and how to see it again.
pub(super) fn violations(
    found: &[Violation],
    command: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    for violation in found.iter().take(5) {
        writeln!(
            out,
            "VIOLATION    {} at {}: {}",
            violation.property,
            number(violation.at),
            violation.detail
        )?;
    }
    if found.len() > 5 {
        writeln!(out, "             … and {} more", found.len() - 5)?;
    }
    writeln!(out, "replay it    {command} --timeline")
}

/// What is claimed of the client delay, where the run is one that it is claimed for.
pub(crate) fn claimed_client(info: &Info, report: &Report) -> Option<String> {
    let Claims { client_first, client_again, .. } = &info.claims;
    match (report.requesters, report.entries) {
        // The claims are for two nodes or more.
        _ if report.nodes < 2 => None,
        (1, entries) if entries == 1 || client_first == client_again => {
            Some(format!("{client_first} T"))
        }
        (1, _) => Some(format!("{client_first} T, then {client_again} T")),
        _ => None,
    }
}

/// What is claimed of the messages per entry.
pub(crate) fn claimed_messages(info: &Info, report: &Report, figures: &Figures) -> Option<String> {
    let claims = &info.claims;
    let value = |claim: &skeptron_core::Claim| {
        let (low, high) = (number(claim.low.value(figures)), number(claim.high.value(figures)));
        let bounds = |low: String, high: String| {
            let text = format!("{} … {}", claim.low, claim.high);
            let values = format!("{low} … {high}");
            if text == values { text } else { format!("{text} = {values}") }
        };
        match claim.typical {
            _ if claim.to_string() == low => low,
            _ if claim.is_exact() => format!("{claim} = {low}"),
            None => bounds(low, high),
            Some(typical) => {
                let value = number(typical.value(figures));
                format!("about {typical} = {value} ({})", bounds(low, high))
            }
        }
    };
    match report.requesters {
        _ if report.nodes < 2 => None,
        1 if claims.messages_first != claims.messages_again => {
            let [first, again] = [claims.messages_first, claims.messages_again];
            Some(format!("{} first, then {}", value(&first), value(&again)))
        }
        1 => Some(value(&claims.messages_first)),
        _ => Some(format!("{} when saturated", value(&claims.messages_saturated))),
    }
}

/// What a replay came to.
pub(super) fn replayed(
    trace: &Trace,
    replayed: &Replayed,
    json: bool,
    out: &mut impl Write,
) -> anyhow::Result<Verdict> {
    let waiting: Vec<String> = replayed.waiting.iter().map(ToString::to_string).collect();
    let fine = replayed.violations.is_empty();
    if json {
        let violations: Vec<_> = replayed
            .violations
            .iter()
            .map(
                |v| serde_json::json!({"line": v.line, "property": v.property, "detail": v.detail}),
            )
            .collect();
        let mut summary = serde_json::json!({
            "algorithm": trace.header.algorithm, "nodes": trace.header.setup.nodes(), "records": replayed.records,
            "messages": replayed.messages, "refused": replayed.refused, "violations": violations,
        });
        if replayed.leaders.is_empty() {
            summary["entries"] = replayed.entries.into();
            summary["waiting"] = waiting.into();
        } else {
            summary["elections"] = replayed.elections.into();
            summary["leaders"] = serde_json::json!(replayed.leaders);
        }
        writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?;
    } else {
        let said = format!(
            "{} · {} nodes · every one of {} records is what the nodes do again: {} messages, {}, {} refused",
            trace.header.algorithm,
            trace.header.setup.nodes(),
            replayed.records,
            replayed.messages,
            if replayed.leaders.is_empty() {
                format!("{} entries", replayed.entries)
            } else {
                format!("leaders in {}", counted(replayed.elections, "epoch"))
            },
            replayed.refused
        );
        writeln!(out, "{}", folded(&said))?;
        if !waiting.is_empty() {
            writeln!(out, "waiting at the end: {}", waiting.join(", "))?;
        }
        for violation in &replayed.violations {
            writeln!(
                out,
                "VIOLATION    {} at line {}: {}",
                violation.property, violation.line, violation.detail
            )?;
        }
    }
    Ok(if fine { Verdict::Fine } else { Verdict::Violated })
}
