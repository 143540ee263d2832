//! How `skeptron quorum` says what it found.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use skeptron_core::NodeId;
use skeptron_quorum::conditions::contained;
use skeptron_quorum::{Family, braced};
use skeptron_quorum_analysis::capacity::Performance;
use skeptron_quorum_analysis::report::{Report, Verdicts};
use skeptron_quorum_analysis::strategy::Share;

use crate::ask::quorum::Compared;
use crate::cli::table::{counted, folded, number, table};

/// So many quorums and shares of the strategy are shown unless all are asked for.
const SHOWN: usize = 12;
/// Longer sets are cut unless everything is asked for.
const MEMBERS_SHOWN: usize = 24;

pub(super) fn report(report: &Report, all: bool, out: &mut impl Write) -> Result<()> {
    let count = match &report.quorum_count {
        Some(count) if count.len() > 15 => format!("about {}", short(count)),
        Some(count) => count.clone(),
        None => "too many".to_owned(),
    };
    let size = match &report.size {
        size if size.min == size.max => size.min.to_string(),
        size => {
            let mean = size.mean.map(|mean| format!(", {} in the mean", number(mean)));
            format!("{} to {}{}", size.min, size.max, mean.unwrap_or_default())
        }
    };
    let (nodes, quorums) =
        (counted(report.nodes as u64, "node"), if count == "1" { "quorum" } else { "quorums" });
    writeln!(out, "{} · {nodes} · {count} {quorums} of {size}", report.name)?;
    let is_uneven = report.size.min < report.size.max;
    verdicts(&report.conditions, is_uneven, out)?;
    let Some(load) = report.load else { return Ok(()) };
    line(out, "coterie", if report.coterie { "yes: none contains another" } else { "no" })?;
    line(
        out,
        "dominated",
        &match (report.dominated, &report.could_be_added) {
            (Some(false), _) if report.coterie => {
                "no: nothing is better in every respect".to_owned()
            }
            (Some(false), _) => "no, without the quorums that contain others".to_owned(),
            (Some(true), Some(set)) => {
                format!(
                    "yes: {} meets every quorum and contains none, so it could be one",
                    cut(set, all)
                )
            }
            (Some(true), None) => "yes".to_owned(),
            (None, _) => "not known".to_owned(),
        },
    )?;
    let fraction = report.load_fraction.as_ref().filter(|fraction| fraction.contains('/'));
    let fraction = fraction.map(|fraction| format!("{fraction} = ")).unwrap_or_default();
    line(out, "load", &format!("{fraction}{}", figure(load)))?;
    if let Some(method) = &report.load_method {
        line(out, "", method)?;
    }
    if let Some((by_size, by_nodes)) = report.load_bounds {
        let bounds = format!("{} and {}", figure(by_size), figure(by_nodes));
        line(
            out,
            "",
            &format!("no system with quorums of this size is below 1/c and c/N: {bounds}"),
        )?;
    }
    let capacity = figure(1.0 / load);
    line(out, "capacity", &format!("{capacity} × what one node can serve"))?;
    resilience(report, all, out)?;
    if let Some(failure) = &report.failure_probability {
        let interval = failure.interval.map(|(low, high)| format!(", in {low:.3e} … {high:.3e}"));
        let value = format!("{}{}", probability(failure.value), interval.unwrap_or_default());
        line(out, "failure", &format!("{value} if each node has failed with p = {}", failure.p))?;
        line(out, "", &failure.method.to_string())?;
    }
    if let Some(served) = &report.performance {
        performance(served, all, out)?;
    }
    for note in &report.notes {
        line(out, "note", note)?;
    }
    strategy("strategy", &report.strategy, all, out)?;
    assignment(&report.assignment, all, out)
}

/// If quorums differ in size, those that the nodes ask may still be equal: that is said then.
fn verdicts(conditions: &Verdicts, is_uneven: bool, out: &mut impl Write) -> Result<()> {
    let said = |holds| if holds { "yes" } else { "no" };
    let meet = match &conditions.violation {
        Some(violation) => format!("NO: {violation}"),
        None => said(conditions.intersecting).to_owned(),
    };
    line(out, "1 any two meet", &meet)?;
    line(out, "2 own node in it", said(conditions.contains_self))?;
    let asked = if is_uneven && conditions.equal_size { ", of those that are asked" } else { "" };
    line(out, "3 equal sizes", &format!("{}{asked}", said(conditions.equal_size)))?;
    line(out, "4 equal degrees", said(conditions.equal_degree))
}

fn resilience(report: &Report, all: bool, out: &mut impl Write) -> Result<()> {
    let fatal = cut(&report.fatal, all);
    let end = match report.fatal.len() {
        1 => format!("no quorum is left if {fatal} crashes"),
        _ => format!("no quorum is left if {fatal} all crash"),
    };
    let text = match (report.resilience, report.resilience_bounds) {
        (Some(0), _) => format!("0: {end}"),
        (Some(1), _) => format!("1: any node may crash; {end}"),
        (Some(most), _) => format!("{most}: any {most} may crash; {end}"),
        (None, Some((at_least, at_most))) => {
            format!("{at_least} to {at_most}: any {at_least} may crash; {end}")
        }
        (None, None) => "not known".to_owned(),
    };
    line(out, "resilience", &text)
}

fn performance(served: &Performance, all: bool, out: &mut impl Write) -> Result<()> {
    let capacity = figure(served.capacity);
    line(out, "with capacities", &format!("{capacity} entries in a unit of time can be served"))?;
    line(out, "", &served.method.to_string())?;
    let latency = served.latency.map_or("not known".to_owned(), figure);
    let least = if served.latency_is_least { ", the least at this capacity" } else { "" };
    line(out, "with latencies", &format!("{latency} until such a quorum has answered{least}"))?;
    let quorum = cut(&served.fastest_quorum, all);
    line(out, "", &format!("{} if {quorum} is asked, the fastest", figure(served.fastest)))?;
    strategy("its strategy", &served.strategy, all, out)
}

fn strategy(title: &str, strategy: &[Share], all: bool, out: &mut impl Write) -> Result<()> {
    let shown = shown(strategy.len(), all);
    for (index, share) in strategy[..shown].iter().enumerate() {
        let quorum = cut(&share.quorum, all);
        let title = if index == 0 { title } else { "" };
        line(out, title, &format!("{:<8} {quorum}", figure(share.probability)))?;
    }
    more(strategy.len() - shown, "quorums", out)
}

fn assignment(assignment: &[Vec<NodeId>], all: bool, out: &mut impl Write) -> Result<()> {
    let shown = shown(assignment.len(), all);
    for (node, set) in NodeId::all(shown).zip(assignment) {
        let title = if node.index() == 0 { "who asks whom" } else { "" };
        line(out, title, &format!("{:<4} {}", node.to_string(), cut(set, all)))?;
    }
    more(assignment.len() - shown, "nodes", out)
}

/// How many of a list to show: not all but one or two.
fn shown(length: usize, all: bool) -> usize {
    if all || length <= SHOWN + SHOWN / 2 { length } else { SHOWN }
}

fn more(count: usize, what: &str, out: &mut impl Write) -> Result<()> {
    if count > 0 {
        line(out, "", &format!("… and {count} more {what} (--all shows them)"))?;
    }
    Ok(())
}

/// All constructions side by side, and what to take.
pub(super) fn comparison(
    nodes: usize,
    compared: &Compared,
    p: f64,
    out: &mut impl Write,
) -> Result<()> {
    let failure = format!("failure at p = {p}");
    let mut rows = table(["construction", "K", "1–4", "load", "", "resilience", failure.as_str()]);
    for candidate in &compared.candidates {
        let more = if candidate.resilience_is_exact { "" } else { " or more" };
        let about = if candidate.failure_is_exact { "" } else { "≈ " };
        rows.add_row([
            shortened(&candidate.name),
            number(candidate.asked),
            if candidate.symmetric { "yes" } else { "no" }.to_owned(),
            figure(candidate.load),
            candidate.load_fraction.clone().filter(|load| load.contains('/')).unwrap_or_default(),
            format!("{}{more}", candidate.resilience),
            format!("{about}{}", probability(candidate.failure_probability)),
        ]);
    }
    writeln!(out, "All constructions for {}", counted(nodes as u64, "node"))?;
    writeln!(out, "{rows}")?;
    for recommendation in &compared.recommendations {
        let (goal, name) = (recommendation.goal.words(), shortened(&recommendation.name));
        let said = format!("{:<25}  {name}: {}", format!("for {goal}"), recommendation.why);
        writeln!(out, "{}", folded(&said))?;
    }
    for missing in &compared.missing {
        writeln!(out, "{}", folded(&format!("left out: {missing}")))?;
    }
    let said = format!(
        "K is how many nodes a node asks in the mean; 1–4 are Maekawa's conditions. `skeptron quorum NAME \
         -n {nodes}` tells all about one."
    );
    writeln!(out, "{}", folded(&said))?;
    Ok(())
}

/// What `--check` says.
#[derive(Serialize)]
pub(super) struct Checked {
    file: String,
    nodes: usize,
    quorums: usize,
    pub(super) conditions: Verdicts,
    coterie: bool,
}

impl Checked {
    pub(super) fn of(path: &str, family: &Family) -> Self {
        let disjoint = family.disjoint();
        Checked {
            file: path.to_owned(),
            nodes: family.nodes(),
            quorums: family.sets().len(),
            coterie: disjoint.is_none() && contained(family.sets()).is_none(),
            conditions: Verdicts::of_family(family, disjoint.as_ref()),
        }
    }

    pub(super) fn print(&self, out: &mut impl Write) -> Result<()> {
        let (nodes, quorums) =
            (counted(self.nodes as u64, "node"), counted(self.quorums as u64, "quorum"));
        writeln!(out, "{} · {nodes} · {quorums}", self.file)?;
        verdicts(&self.conditions, false, out)?;
        line(out, "coterie", if self.coterie { "yes: none contains another" } else { "no" })
    }
}

/// JSON for people: lists of numbers stand in one line.
pub(super) fn compact(value: &impl Serialize) -> Result<String> {
    let pretty = serde_json::to_string_pretty(value)?;
    let mut text = String::with_capacity(pretty.len() / 2);
    let mut rest = pretty.as_str();
    // No string has a line break of its own, so this is always a list.
    while let Some(start) = rest.find("[\n") {
        let (before, list) = rest.split_at(start + 1);
        text.push_str(before);
        let end = list.find(|c: char| {
            !c.is_ascii_digit() && !matches!(c, '.' | '-' | 'e' | ',' | ' ' | '\n')
        });
        match end {
            Some(end) if list[end..].starts_with(']') => {
                let numbers: Vec<_> = list[..end].split(',').map(str::trim).collect();
                text.push_str(&numbers.join(", "));
                rest = &list[end..];
            }
            _ => rest = list,
        }
    }
    text.push_str(rest);
    Ok(text)
}

/// A line with its title; what does not fit goes below it.
fn line(out: &mut impl Write, title: &str, text: &str) -> Result<()> {
    Ok(writeln!(out, "{}", folded(&format!("{title:<16}  {text}")))?)
}

/// A set of nodes, not longer than a line unless everything is wanted.
fn cut(nodes: &[NodeId], all: bool) -> String {
    if all || nodes.len() <= MEMBERS_SHOWN {
        return braced(nodes);
    }
    let first = braced(&nodes[..MEMBERS_SHOWN]);
    format!("{}, … {} in all}}", first.trim_end_matches('}'), nodes.len())
}

/// A construction as it is typed, unless its parameters are long.
fn shortened(name: &str) -> String {
    match name.split_once(':') {
        Some((kind, _)) if name.len() > 24 => kind.to_owned(),
        _ => name.to_owned(),
    }
}

/// Six digits after the point, or six that say something.
fn figure(value: f64) -> String {
    if value != 0.0 && value < 1e-4 {
        return probability(value);
    }
    let rounded = (value * 1e6).round() / 1e6;
    rounded.to_string()
}

/// Six significant digits, however small.
fn probability(value: f64) -> String {
    if value == 0.0 || value >= 1e-4 {
        let digits = if value > 0.0 { 5 - value.log10().floor() as i32 } else { 0 };
        let scale = 10_f64.powi(digits);
        ((value * scale).round() / scale).to_string()
    } else {
        format!("{value:.5e}")
    }
}

/// `1.23e45` of a number with all its digits.
fn short(digits: &str) -> String {
    format!("{}.{}e{}", &digits[..1], &digits[1..3], digits.len() - 1)
}
