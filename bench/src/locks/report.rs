//! What the bench says.

use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::Service::{Native, NativeOne, NativePool, NativeShared, RedisShared};
use super::workload::Workload;
use super::{LocksBench, Row, Service};
use crate::table::{fitted, table};

/// One row as it is written.
#[derive(Serialize)]
struct Line {
    workload: Workload,
    service: Service,
    /// Why there is nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<String>,
    #[serde(flatten)]
    figures: Option<Figures>,
    /// What went wrong with the locks.
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<String>,
}

#[derive(Serialize)]
struct Figures {
    /// Median of the rounds.
    cycles_per_second: f64,
    /// The slowest and the fastest round.
    cycles_per_second_range: [f64; 2],
    /// Entries by another client than the one before; median of the rounds.
    handovers_per_second: f64,
    /// Over all rounds, in nanoseconds.
    p50_ns: u64,
    p99_ns: u64,
    /// Of one client: median time of a cycle over that of a bare round trip.
    round_trips: Option<f64>,
    /// Cycles per second over those of the bare coordinator.
    times_coordinator: Option<f64>,
    /// Cycles per second over those of etcd.
    times_etcd: Option<f64>,
    /// Cycles of the least served client over those of the most served.
    fairness: Option<f64>,
    /// Jain's index of the cycles of all clients.
    jain: Option<f64>,
    /// Cycles per second over those of Redis.
    times_redis: Option<f64>,
    /// Messages between our nodes for each cycle.
    messages: Option<f64>,
}

#[derive(Serialize)]
struct Document<'a> {
    algorithm: &'a str,
    nodes: usize,
    seconds: f64,
    rounds: u32,
    cores: usize,
    rows: Vec<Line>,
    aims: Vec<Aim>,
}

/// What was hoped for, and what came of it.
#[derive(Serialize)]
struct Aim {
    what: &'static str,
    aim: f64,
    reached: f64,
    is_met: bool,
}

/// Writes everything as one JSON document.
pub(super) fn write_json(out: &mut impl Write, rows: &[Row], bench: &LocksBench) -> Result<()> {
    let lines = lines(rows);
    let document = Document {
        algorithm: &bench.algorithm,
        nodes: bench.nodes,
        seconds: bench.seconds,
        rounds: bench.rounds,
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        aims: aims(&lines),
        rows: lines,
    };
    writeln!(out, "{}", serde_json::to_string_pretty(&document)?)?;
    Ok(())
}

/// Writes a table for people.
pub(super) fn write_table(out: &mut impl Write, rows: &[Row], bench: &LocksBench) -> Result<()> {
    let lines = lines(rows);
    let mut shown = table([
        "clients and locks",
        "locks by",
        "cycles/s",
        "±",
        "p50",
        "p99",
        "round trips",
        "× bare",
        "× etcd",
        "moved",
        "fair",
        "sent",
    ]);
    for line in &lines {
        shown.add_row(cells(line));
    }
    let missing = fitted(&mut shown, &["round trips", "sent", "fair", "moved", "× etcd", "p99"]);
    writeln!(out, "{shown}")?;
    if let Some(missing) = missing {
        writeln!(out, "{missing}")?;
    }
    writeln!(
        out,
        "{} on {} nodes; {} round(s) of {} s, all rows in turn; medians. A cycle is a lock taken and given back.\n\
         ±: half of what lies between the slowest and the fastest round. p50, p99: of a cycle, over all rounds.\n\
         Round trips: p50 / p50 of a bare round trip. × bare, × etcd: cycles/s over those of the coordinator, of etcd.\n\
         Moved: entries by another client than the one before. Fair: cycles of the least / of the most served client.\n\
         Sent: messages between our nodes per cycle.\n\
         Redis: those who wait try again every 1 to 4 ms; it queues nobody.",
        bench.algorithm, bench.nodes, bench.rounds, bench.seconds,
    )?;
    for aim in aims(&lines) {
        let verdict = if aim.is_met { "reached" } else { "missed" };
        let (what, goal, reached) = (aim.what, figure(aim.aim), figure(aim.reached));
        writeln!(out, "{what}: {reached} (aim: {goal}, {verdict})")?;
    }
    let why_absent =
        |line: &Line| Some(format!("{}: {}", line.service.title(), line.absent.as_ref()?));
    for line in lines.iter().filter_map(why_absent).collect::<BTreeSet<String>>() {
        writeln!(out, "{line}")?;
    }
    for line in &lines {
        if let Some(violation) = &line.violation {
            let (workload, service) = (line.workload.title(), line.service.title());
            writeln!(out, "VIOLATED: {workload}, {service}: {violation}")?;
        }
    }
    Ok(())
}

fn cells(line: &Line) -> Vec<String> {
    let mut cells = vec![line.workload.title().to_string(), line.service.title().to_string()];
    let Some(figures) = &line.figures else {
        cells.push("absent".to_string());
        return cells;
    };
    let [low, high] = figures.cycles_per_second_range;
    let spread = 50.0 * (high - low) / figures.cycles_per_second.max(1.0);
    let maybe = |value: Option<f64>| value.map_or_else(String::new, ratio);
    let is_shared = line.workload.clients() > 1;
    let moved = 100.0 * figures.handovers_per_second / figures.cycles_per_second.max(1.0);
    cells.extend([
        grouped(figures.cycles_per_second),
        format!("{spread:.0}%"),
        duration(figures.p50_ns),
        duration(figures.p99_ns),
        maybe(figures.round_trips),
        maybe(figures.times_coordinator),
        maybe(figures.times_etcd),
        if is_shared { format!("{moved:.0}%") } else { String::new() },
        maybe(figures.fairness),
        maybe(figures.messages),
    ]);
    cells
}

fn lines(rows: &[Row]) -> Vec<Line> {
    let line = |row: &Row| Line {
        workload: row.workload,
        service: row.service,
        absent: row.absent.clone(),
        figures: figures(row, rows),
        violation: row.judge.violation(),
    };
    rows.iter().map(line).collect()
}

fn figures(row: &Row, rows: &[Row]) -> Option<Figures> {
    let find = |workload: Workload, service: Service| {
        rows.iter().find(|row| row.workload == workload && row.service == service)
    };
    let rate = |row: &Row| median(row.samples.iter().map(|sample| sample.cycles_per_second));
    let cycles_per_second = rate(row)?;
    let times_of = |service: Service| Some(cycles_per_second / rate(find(row.workload, service)?)?);
    let rates = || row.samples.iter().map(|sample| sample.cycles_per_second);
    let times = row.times();
    let p50_ns = times.value_at_quantile(0.5);
    let bare =
        find(Workload::RoundTrip, Service::Bare).map(|row| row.times().value_at_quantile(0.5));
    Some(Figures {
        cycles_per_second,
        cycles_per_second_range: [rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max)],
        handovers_per_second: median(row.samples.iter().map(|s| s.handovers_per_second))?,
        p50_ns,
        p99_ns: times.value_at_quantile(0.99),
        round_trips: bare
            .filter(|_| row.workload.clients() == 1)
            .map(|bare| p50_ns as f64 / bare.max(1) as f64),
        times_coordinator: times_of(Service::Coordinator),
        times_etcd: times_of(Service::Etcd),
        fairness: row.fairness(),
        jain: row.jain(),
        times_redis: times_of(Service::Redis),
        messages: median(row.messages.iter().copied()),
    })
}

fn aims(lines: &[Line]) -> Vec<Aim> {
    let of = |workload: Workload, service: Service| {
        let line = lines.iter().find(|l| l.workload == workload && l.service == service)?;
        line.figures.as_ref()
    };
    let at_least = |what, aim, reached: Option<f64>| {
        reached.map(|reached| Aim { what, aim, reached, is_met: reached >= aim })
    };
    let at_most = |what, aim, reached: Option<f64>| {
        reached.map(|reached| Aim { what, aim, reached, is_met: reached <= aim })
    };
    let again = of(Workload::Again, Service::Embedded);
    let bare =
        |workload, service| of(workload, service).and_then(|figures| figures.times_coordinator);
    let redis = |workload, service| of(workload, service).and_then(|figures| figures.times_redis);
    let rate = |workload, service| of(workload, service).map(|figures| figures.cycles_per_second);
    let shared = |workload| Some(rate(workload, NativeShared)? / rate(workload, RedisShared)?);
    let jain = |service| of(Workload::Eight, service).and_then(|figures| figures.jain);
    let times_etcd = |workload| of(workload, Service::Api).and_then(|figures| figures.times_etcd);
    [
        at_least(
            "Embedded, a lock last held on the same node, cycles/s",
            1e6,
            again.map(|figures| figures.cycles_per_second),
        ),
        at_most(
            "Messages for it, per cycle",
            0.0,
            again.and_then(|figures| figures.messages).map(|messages| messages.max(0.0)),
        ),
        at_most(
            "Embedded, from one node to the other and back to the caller, bare round trips",
            2.0,
            of(Workload::Fetch, Service::Embedded).and_then(|figures| figures.round_trips),
        ),
        at_least("1 client, × coordinator: native", 0.8, bare(Workload::Alone, Native)),
        at_least("1 client, × Redis: native", 1.0, redis(Workload::Alone, Native)),
        at_least("8 clients 1 lock, × coordinator: native", 0.6, bare(Workload::Eight, Native)),
        at_least("the same, all at one node", 0.6, bare(Workload::Eight, NativeOne)),
        at_least("the same, pools of all nodes", 0.6, bare(Workload::Eight, NativePool)),
        at_least("the same, over shared connections", 0.6, bare(Workload::Eight, NativeShared)),
        at_least("Jain's index of them: native", 0.99, jain(Native)),
        at_least("the same, pools of all nodes", 0.99, jain(NativePool)),
        at_least("the same, over shared connections", 0.99, jain(NativeShared)),
        at_least("16 clients 64 locks, × coordinator: native", 0.6, bare(Workload::Many, Native)),
        at_least("the same, all at one node", 0.6, bare(Workload::Many, NativeOne)),
        at_least("the same, pools of all nodes", 0.6, bare(Workload::Many, NativePool)),
        at_least("the same, over shared connections", 0.6, bare(Workload::Many, NativeShared)),
        at_least("16 clients 64 locks, × Redis: native", 1.0, redis(Workload::Many, Native)),
        at_least("the same, all at one node", 1.0, redis(Workload::Many, NativeOne)),
        at_least("the same, pools of all nodes", 1.0, redis(Workload::Many, NativePool)),
        at_least("the same, over shared connections", 1.0, redis(Workload::Many, NativeShared)),
        at_least("the same, Redis over a shared connection, too", 1.0, shared(Workload::Many)),
        at_least("Client API over etcd, 1 client, times", 10.0, times_etcd(Workload::Alone)),
        at_least(
            "Client API over etcd, 8 clients 1 lock, times",
            10.0,
            times_etcd(Workload::Eight),
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

/// A number with its thousands apart, on one line; one digit after the point if it is small.
pub(crate) fn grouped(value: f64) -> String {
    if value < 100.0 && value.fract() != 0.0 {
        return format!("{value:.1}");
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

/// A ratio with its digits, or a number with its thousands apart.
fn figure(value: f64) -> String {
    if value < 10.0 { ratio(value) } else { grouped(value) }
}

/// A ratio with no more digits than mean something.
fn ratio(value: f64) -> String {
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$}")
}

/// A time with two or three digits.
fn duration(ns: u64) -> String {
    let time = Duration::from_nanos(ns);
    match ns {
        0..1_000 => format!("{time:.0?}"),
        1_000..10_000_000 => format!("{time:.1?}"),
        _ => format!("{time:.0?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{duration, grouped, median, ratio};

    #[test]
    fn figures_are_written_for_people() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), Some(2.0));
        assert_eq!(median([3.0, 1.0].into_iter()), Some(2.0));
        assert_eq!(median([].into_iter()), None);
        let numbers = [0.0, 1.44, 12.0, 999.6, 1234.4, 1_000_000.0].map(grouped);
        assert_eq!(numbers, ["0", "1.4", "12", "1\u{a0}000", "1\u{a0}234", "1\u{a0}000\u{a0}000"]);
        assert_eq!([0.004, 1.476, 38.67, 369.5].map(ratio), ["0.00", "1.48", "38.7", "370"]);
        let times = [420, 1_530, 85_400, 12_345_678, 1_500_000_000].map(duration);
        assert_eq!(times, ["420ns", "1.5µs", "85.4µs", "12ms", "2s"]);
    }
}
