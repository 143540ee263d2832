//! What `skeptron sim` prints of an election.

use std::io::{self, Write};

use skeptron_core::NodeId;
use skeptron_core::catalogue::{ElectionInfo, Order};
use skeptron_core::election::Case;
use skeptron_sim::election::{Detector, Report, Scenario};
use skeptron_sim::trace::TICKS_PER_UNIT;

use super::super::super::table::{counted, folded, number, table};
use super::super::print::network;
use crate::published::{case, claimed_messages, valued_at};

/// More leaders than this are only counted.
const MOST_LEADERS: usize = 20;

/// The report of one run.
pub(super) fn report(
    info: &ElectionInfo,
    scenario: &Scenario,
    report: &Report,
    out: &mut impl Write,
) -> io::Result<()> {
    let units = |ticks: u64| number(ticks as f64 / TICKS_PER_UNIT as f64);
    let order = match scenario.order {
        Order::Fifo => "FIFO channels",
        Order::Any => "channels in any order",
    };
    let detector = match scenario.detector {
        Detector::Perfect { delay } => format!("perfect detector after {}", units(delay)),
        Detector::Imperfect { delay, rate, lasting } => format!(
            "imperfect detector after {}, wrong {} times per unit for {}",
            units(delay),
            number(rate),
            number(lasting)
        ),
    };
    let said = format!(
        "{} · {} · latency {}, bound {} · {order} · {detector} · seed {}",
        info.name,
        counted(report.nodes as u64, "node"),
        scenario.latency,
        units(scenario.bound()),
        report.seed
    );
    writeln!(out, "{}", folded(&said))?;
    if info.channel == Order::Fifo && scenario.order == Order::Any {
        writeln!(out, "It is correct on FIFO channels only: these are worse than it needs.")?;
    }
    leaders(report, out)?;
    let case = case(info, scenario);
    messages(report, case, out)?;
    let of_latency = scenario.latency.as_constant().filter(|&latency| latency > 0);
    let time = match (report.time, of_latency) {
        (None, _) => "–".into(),
        (Some(time), None) => format!("{} units", number(time)),
        (Some(time), Some(latency)) => {
            format!("{} T", number(time * TICKS_PER_UNIT as f64 / latency as f64))
        }
    };
    let claim = match case.and_then(|case| case.time) {
        Some(claim) => format!(", claimed {} T", valued_at(&claim, report.nodes)),
        None => String::new(),
    };
    let call = match report.first_call {
        Some(at) => format!(" from the first call at {}", number(at)),
        None => ": nobody called".into(),
    };
    writeln!(out, "{}", folded(&format!("time         {time}{call}{claim}")))?;
    writeln!(
        out,
        "causes       {}, {}, {} of which {} wrong",
        counted(report.calls, "call"),
        counted(report.alarms, "alarm"),
        counted(report.suspicions, "suspicion"),
        report.false_suspicions
    )?;
    if let Some(tree) = &report.tree {
        let parent = |(node, parent): (NodeId, &Option<NodeId>)| {
            parent.map(|parent| format!("{node} → {parent}"))
        };
        let links: Vec<String> =
            NodeId::all(tree.len()).zip(tree).filter_map(parent).take(MOST_LEADERS).collect();
        let more = if tree.len() > MOST_LEADERS { ", …" } else { "" };
        writeln!(out, "{}", folded(&format!("tree         {}{more}", links.join(", "))))?;
    }
    network([report.lost, report.duplicated, report.refused], out)?;
    writeln!(out, "run          {} events, trace hash {}", report.events, report.trace_hash)
}

/// Who was named in which epoch, and who leads at the end.
fn leaders(report: &Report, out: &mut impl Write) -> io::Result<()> {
    if !report.leaders.is_empty() {
        let mut rows = table(["epoch", "leader", "first named at", "named by"]);
        for reign in report.leaders.iter().take(MOST_LEADERS) {
            rows.add_row([
                reign.epoch.to_string(),
                reign.leader.to_string(),
                number(reign.at),
                counted(reign.named_by as u64, "node"),
            ]);
        }
        writeln!(out, "{rows}")?;
    }
    if report.leaders.len() > MOST_LEADERS {
        writeln!(out, "             … and {} more", report.leaders.len() - MOST_LEADERS)?;
    }
    let alive = format!("all {} that are alive", report.live);
    match report.leader {
        Some(leader) if report.leaders.is_empty() => {
            writeln!(out, "leader       {leader} as at the start: nobody named anybody")
        }
        Some(leader) => writeln!(out, "leader       {leader}, as {alive} say"),
        None if report.live == 0 => writeln!(out, "leader       none: nobody is alive"),
        None => writeln!(out, "leader       none that {alive} agree on"),
    }
}

fn messages(report: &Report, case: Option<&Case>, out: &mut impl Write) -> io::Result<()> {
    let messages = &report.messages;
    let kinds: Vec<String> = messages
        .by_type
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| format!("{kind} {count}"))
        .collect();
    let kinds = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let claim = match case {
        None => String::new(),
        Some(case) => format!(", claimed {}", claimed_messages(case, report.nodes)),
    };
    let bytes = counted(messages.bytes, "byte");
    let said = format!("messages     {}{kinds}, {bytes}{claim}", messages.total);
    writeln!(out, "{}", folded(&said))?;
    if messages.multicast != messages.total {
        writeln!(out, "             {} with multicast", messages.multicast)?;
    }
    Ok(())
}
