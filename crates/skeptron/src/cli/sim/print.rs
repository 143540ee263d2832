//! What `skeptron sim` prints.

use std::io::{self, Write};

use serde::Serialize;
use skeptron_core::NodeId;
use skeptron_core::catalogue::{Info, Order};
use skeptron_core::claims::Quantity;
use skeptron_sim::claims::Compared;
use skeptron_sim::replay::Replayed;
use skeptron_sim::trace::{Relation, Trace};
use skeptron_sim::{Report, Scenario, Summary, Violation};

use super::super::Verdict;
use super::super::table::{counted, folded, number, table};
use crate::ask::compare::NotCompared;
use crate::ask::system::Elected;
use crate::published::{claimed, needed, published};

/// The report of one run as a table.
pub(super) fn report(
    info: &Info,
    scenario: &Scenario,
    report: &Report,
    out: &mut impl Write,
) -> io::Result<()> {
    let compared = skeptron_sim::claims::compare(info, scenario, report);
    let said = |quantity: Quantity| {
        let compared = compared.iter().find(|compared| compared.quantity == quantity);
        compared.and_then(claimed).unwrap_or_default()
    };
    let nodes = counted(report.nodes as u64, "node");
    let order = match scenario.order {
        Order::Fifo => "FIFO channels",
        Order::Any => "channels in any order",
    };
    let title = format!(
        "{} · {nodes}, {} asking · latency {} · {order} · seed {}",
        info.name,
        asking(scenario),
        scenario.latency,
        report.seed
    );
    writeln!(out, "{}", folded(&title))?;
    if info.channel == Order::Fifo && scenario.order == Order::Any {
        writeln!(out, "It is correct on FIFO channels only: these are worse than it needs.")?;
    }
    if let Some(flaw) = scenario.setup.flaw() {
        writeln!(out, "{}", folded(&format!("Unsafe structure: {flaw}.")))?;
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
    delay("client delay", &report.client_delay, said(Quantity::ClientDelay));
    delay("response time", &report.response_time, String::new());
    delay("synchronisation delay", &report.sync_delay, said(Quantity::SyncDelay));
    writeln!(out, "{rows}")?;
    let kinds: Vec<String> = report
        .messages
        .by_type
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    entries(report.entries, report.duration, report.throughput, out)?;
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
        match said(Quantity::Messages) {
            claim if claim.is_empty() => claim,
            claim => format!(", claimed {claim}"),
        },
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
    if let Some(recovery) = &report.recovery {
        let since = match recovery.legitimate_since {
            Some(since) => format!("legitimate from {} on", number(since)),
            None => "never legitimate".into(),
        };
        let said = format!(
            "recovery     {since}, after {}, of which {} while somebody was inside",
            match recovery.entries {
                1 => "1 entry".to_string(),
                entries => format!("{entries} entries"),
            },
            recovery.crowded
        );
        writeln!(out, "{}", folded(&said))?;
    }
    let excluded = compared.iter().filter_map(|compared| {
        Some(format!("{} {}", compared.quantity, needed(compared.excluded.as_ref()?)))
    });
    let excluded: Vec<String> = excluded.collect();
    if !excluded.is_empty() {
        writeln!(
            out,
            "{}",
            folded(&format!("claims       not compared: {}", excluded.join(", ")))
        )?;
    }
    writeln!(out, "load         busiest node {} × the mean", number(report.load.max_over_mean))?;
    network([report.lost, report.duplicated, report.refused], out)?;
    writeln!(out, "run          {} events, trace hash {}", report.events, report.trace_hash)?;
    Ok(())
}

/// How many messages were lost, duplicated and refused, if any was.
pub(super) fn network(counts: [u64; 3], out: &mut impl Write) -> io::Result<()> {
    let [lost, duplicated, refused] = counts;
    if counts == [0; 3] {
        return Ok(());
    }
    let what = format!("{lost} lost, {duplicated} duplicated, {refused} refused by their receiver");
    writeln!(out, "network      {what}")
}

pub(super) fn entries(
    entries: u64,
    duration: f64,
    throughput: f64,
    out: &mut impl Write,
) -> io::Result<()> {
    let [duration, throughput] = [duration, throughput].map(number);
    writeln!(out, "entries      {entries} in {duration} units: {throughput} per unit")
}

/// Who asks: by name where it is not everybody and they are few.
fn asking(scenario: &Scenario) -> String {
    let asking = &scenario.requesters;
    match asking.len() {
        count if count == scenario.setup.nodes() || count > 4 => count.to_string(),
        _ => asking.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// A report beside who asked and what is claimed of it.
#[derive(Serialize)]
pub(super) struct Judged<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// Left out where it is everybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    asking: Option<&'a [NodeId]>,
    claims: Vec<ClaimTold>,
}

#[derive(Serialize)]
struct ClaimTold {
    quantity: Quantity,
    claim: Option<String>,
    low: Option<f64>,
    high: Option<f64>,
    measured: Option<f64>,
    holds: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_compared: Option<NotCompared>,
}

pub(super) fn judged<'a>(info: &Info, scenario: &'a Scenario, report: &'a Report) -> Judged<'a> {
    let told = |compared: Compared| {
        let expected = compared.expected.as_ref();
        ClaimTold {
            quantity: compared.quantity,
            claim: expected.map(published),
            low: expected.map(|expected| expected.low),
            high: expected.map(|expected| expected.high),
            measured: compared.measured,
            holds: compared.holds,
            not_compared: compared.excluded.map(NotCompared::from),
        }
    };
    let claims = skeptron_sim::claims::compare(info, scenario, report);
    let claims = claims.into_iter().filter(Compared::is_claimed).map(told).collect();
    let all_ask = scenario.requesters.len() == scenario.setup.nodes();
    Judged { report, asking: (!all_ask).then_some(&scenario.requesters[..]), claims }
}

/// The report as JSON, how its tree was elected, if it was, and how two events stand to each other, if
/// that was asked.
pub(super) fn json<R: Serialize>(
    report: &R,
    elected: Option<Elected>,
    relation: Option<Relation>,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct RunJson<'a, R> {
        #[serde(flatten)]
        report: &'a R,
        #[serde(skip_serializing_if = "Option::is_none")]
        elected: Option<Elected>,
        #[serde(skip_serializing_if = "Option::is_none")]
        relation: Option<Relation>,
    }
    writeln!(out, "{}", serde_json::to_string_pretty(&RunJson { report, elected, relation })?)?;
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

/// What a replay came to.
pub(super) fn replayed(
    trace: &Trace,
    replayed: &Replayed,
    relation: Option<Relation>,
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
        if let Some(relation) = relation {
            summary["relation"] = serde_json::json!(relation);
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
