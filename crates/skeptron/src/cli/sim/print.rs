//! What `skeptron sim` prints.

use std::io::{self, Write};

use skeptron_core::Figures;
use skeptron_core::catalogue::Info;
use skeptron_sim::replay::Replayed;
use skeptron_sim::trace::Trace;
use skeptron_sim::{Report, Scenario, Summary};

use super::super::Verdict;
use super::super::table::{number, table};

/// The report of one run as a table.
pub(super) fn report(
    info: &Info,
    scenario: &Scenario,
    report: &Report,
    out: &mut impl Write,
) -> io::Result<()> {
    let figures = scenario.setup.figures(&scenario.requesters);
    writeln!(
        out,
        "{} · {} nodes, {} asking · latency {} · {} channels · seed {}",
        info.name, report.nodes, report.requesters, scenario.latency, scenario.order, report.seed
    )?;
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
    delay("client delay", &report.client_delay, claimed_client(info, report));
    delay("response time", &report.response_time, String::new());
    delay("synchronisation delay", &report.sync_delay, format!("{} T", info.claims.sync_delay));
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
    writeln!(
        out,
        "messages     {} per entry, claimed {}; {} in all{kinds}, {} bytes",
        number(report.messages.per_entry),
        claimed_messages(info, report, &figures),
        report.messages.total,
        report.messages.bytes
    )?;
    if report.messages.multicast.total != report.messages.total {
        writeln!(
            out,
            "             {} per entry with multicast",
            number(report.messages.multicast.per_entry)
        )?;
    }
    let inversions =
        report.fairness.inversions.map_or("not watched".into(), |count| count.to_string());
    writeln!(
        out,
        "fairness     {inversions} inversions{}, Jain {}, longest bypass {}",
        if report.fairness.order_claimed { " (claimed 0)" } else { "" },
        number(report.fairness.jain),
        report.fairness.longest_bypass
    )?;
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

/// The violations of a run, and how to see it again.
pub(super) fn violations(report: &Report, command: &str, out: &mut impl Write) -> io::Result<()> {
    for violation in report.violations.iter().take(5) {
        writeln!(
            out,
            "VIOLATION    {} at {}: {}",
            violation.property,
            number(violation.at),
            violation.detail
        )?;
    }
    if report.violations.len() > 5 {
        writeln!(out, "             … and {} more", report.violations.len() - 5)?;
    }
    writeln!(out, "replay it    {command} --timeline")
}

fn claimed_client(info: &Info, report: &Report) -> String {
    match (report.requesters, report.entries) {
        (1, 1) => format!("{} T", info.claims.client_first),
        (1, _) => format!("{} T, then {} T", info.claims.client_first, info.claims.client_again),
        _ => String::new(),
    }
}

fn claimed_messages(info: &Info, report: &Report, figures: &Figures) -> String {
    let claims = &info.claims;
    let value = |claim: &skeptron_core::Claim| {
        let (low, high) = (number(claim.low.value(figures)), number(claim.high.value(figures)));
        if claim.to_string() == low {
            low
        } else if claim.is_exact() {
            format!("{claim} = {low}")
        } else {
            format!("{claim} = {low} … {high}")
        }
    };
    match report.requesters {
        1 if claims.messages_first != claims.messages_again => {
            format!(
                "{} first, then {}",
                value(&claims.messages_first),
                value(&claims.messages_again)
            )
        }
        1 => value(&claims.messages_first),
        _ => format!("{} when saturated", value(&claims.messages_saturated)),
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
        let summary = serde_json::json!({
            "algorithm": trace.header.algorithm, "nodes": trace.header.setup.nodes(), "records": replayed.records,
            "messages": replayed.messages, "entries": replayed.entries, "refused": replayed.refused,
            "violations": violations, "waiting": waiting,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&summary)?)?;
    } else {
        writeln!(
            out,
            "{} · {} nodes · every one of {} records is what the nodes do again: {} messages, {} entries, {} refused",
            trace.header.algorithm,
            trace.header.setup.nodes(),
            replayed.records,
            replayed.messages,
            replayed.entries,
            replayed.refused
        )?;
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
