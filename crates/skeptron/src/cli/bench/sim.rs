//! `skeptron bench sim`.

use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use clap::Args;
use serde::Serialize;
use skeptron_sim::{Distribution, Options, Queue, QueueKind, Scenario, run};

use crate::ask::{Files, Request as _, SimOptions};
use crate::cli::Verdict;
use crate::cli::table::table;

#[derive(Debug, Args)]
pub(super) struct SimBench {
    /// How often to measure; the best round counts
    #[arg(long, default_value_t = 5, value_name = "K")]
    rounds: u32,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// One system, measured in several ways.
#[derive(Serialize)]
struct Row {
    system: &'static str,
    events: u64,
    /// Millions of events per second of the simulator, judging and measuring all but the order.
    simulator: f64,
    /// The same, watching the order against happened-before too.
    watching_order: f64,
    /// The same, recording a trace.
    recording: f64,
    /// A bare timing wheel that does the same pops and pushes.
    bare_wheel: f64,
    /// A bare binary heap that does the same pops and pushes.
    bare_heap: f64,
    /// The simulator over the bare wheel.
    ratio: f64,
    /// Millions of messages per second that the simulator delivers.
    messages: f64,
}

/// Saturated unless said otherwise; about a million events each, so that a round takes a fraction of
/// a second.
const SYSTEMS: [&str; 14] = [
    "central -n 16 --entries 200000",
    "ricart-agrawala -n 4 --entries 100000",
    "ricart-agrawala -n 16 --entries 30000",
    "ricart-agrawala -n 64 --entries 8000",
    "ricart-agrawala -n 256 --entries 2000",
    "ricart-agrawala -n 16 --entries 30000 --latency exp:1",
    "suzuki-kasami -n 64 --entries 15000",
    "maekawa -n 57 --entries 30000",
    "raymond -n 100 --entries 200000",
    "raymond -n 10000 --entries 200000",
    "raymond -n 1000000 --workload sequential --entries 20000",
    "naimi-trehel -n 100 --entries 200000",
    "naimi-trehel -n 10000 --entries 200000",
    "naimi-trehel -n 1000000 --workload sequential --entries 100000",
];

impl SimBench {
    pub(super) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        let SimBench { rounds, json } = self;
        ensure!(rounds > 0, "--rounds is 0; at least one is needed");
        let rows: Vec<Row> =
            SYSTEMS.iter().map(|system| measure(system, rounds)).collect::<Result<_>>()?;
        if json {
            writeln!(out, "{}", serde_json::to_string_pretty(&rows)?)?;
            return Ok(Verdict::Fine);
        }
        let mut lines = table([
            "system",
            "simulator",
            "with order",
            "recording",
            "wheel",
            "heap",
            "ratio",
            "messages",
        ]);
        for row in &rows {
            let rates =
                [row.simulator, row.watching_order, row.recording, row.bare_wheel, row.bare_heap];
            // How long a round is does not matter to the reader of the table.
            let (head, tail) = row.system.split_once(" --entries ").unwrap_or((row.system, ""));
            let rest = tail.split_once(' ').map_or("", |(_, rest)| rest);
            let mut cells = vec![format!("{head} {rest}").trim_end().to_string()];
            cells.extend(rates.map(|rate| format!("{rate:.1}")));
            cells.extend([format!("{:.2}", row.ratio), format!("{:.1}", row.messages)]);
            lines.add_row(cells);
        }
        writeln!(out, "{lines}")?;
        writeln!(
            out,
            "Millions per second on one core. Simulator: judges and measures all but the order against happened-before.\n\
             Wheel and heap: a bare queue that pops and pushes the same events and does nothing else. Ratio: simulator / wheel."
        )?;
        Ok(Verdict::Fine)
    }
}

fn measure(system: &'static str, rounds: u32) -> Result<Row> {
    let (info, scenario) = SimOptions::parse(system)?.scenario(Files::Disk)?;
    let bare = Options { skip_order: true, ..Options::default() };
    let order = Options::default();
    let recording = Options { record: true, ..Options::default() };
    let sample = run(info, &scenario, &bare)?.report;
    // A recorded run of a million events takes much memory; a shorter one has the same rate.
    let short = Scenario { entries: scenario.entries.div_ceil(20), ..scenario.clone() };
    let short_events = run(info, &short, &bare)?.report.events;
    let in_flight = (sample.events as f64 / sample.duration.max(1.0)).max(1.0) as u64;
    // Drawn beforehand: the bare queue does nothing but pop and push.
    let latency = Distribution::parse(&scenario.latency.to_string())?;
    let delays = latency.values(scenario.seed, 1 << 16);
    let mut best = [Duration::MAX; 5];
    for _ in 0..rounds {
        let simulate = |scenario: &Scenario, options: &Options| -> Result<()> {
            black_box(run(info, scenario, options)?);
            Ok(())
        };
        let times = [
            time(|| simulate(&scenario, &bare))?,
            time(|| simulate(&scenario, &order))?,
            time(|| simulate(&short, &recording))?,
            time(|| turn_over(QueueKind::Wheel, sample.events, in_flight, &delays))?,
            time(|| turn_over(QueueKind::Heap, sample.events, in_flight, &delays))?,
        ];
        best = std::array::from_fn(|i| best[i].min(times[i]));
    }
    let rate = |events: u64, time: Duration| events as f64 / time.as_secs_f64().max(1e-9) / 1e6;
    let (simulator, bare_wheel) = (rate(sample.events, best[0]), rate(sample.events, best[3]));
    let share = sample.messages.total as f64 / sample.events as f64;
    Ok(Row {
        system,
        events: sample.events,
        simulator,
        watching_order: rate(sample.events, best[1]),
        recording: rate(short_events, best[2]),
        bare_wheel,
        bare_heap: rate(sample.events, best[4]),
        ratio: simulator / bare_wheel,
        messages: simulator * share,
    })
}

fn time(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

/// What a simulation does to its queue, and nothing else: events of the size of a message with its
/// envelope, as many in flight, each followed by another one after one of `delays`.
fn turn_over(kind: QueueKind, events: u64, in_flight: u64, delays: &[u64]) -> Result<()> {
    let mut queue = Queue::new(kind);
    for number in 0..in_flight {
        queue.push(number % 1000, [number; 5]);
    }
    for &delay in delays.iter().cycle().take(events as usize) {
        if let Some((now, event)) = queue.pop() {
            queue.push(now + delay, black_box(event));
        }
    }
    Ok(())
}
