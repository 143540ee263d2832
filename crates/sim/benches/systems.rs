//! How fast the simulator is, beside a bare event queue that does the same pops and pushes.
//!
//! ```text
//! cargo bench -p skeptron-sim --bench systems -- [--rounds K] [--json]
//! ```
//!
//! All columns of a row are measured in turn, round after round, and the best round counts. So the ratios mean
//! something on a busy machine, while the absolute figures vary.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Serialize;
use skeptron_core::catalogue::{self, Info, Layout};
use skeptron_core::topology::Tree;
use skeptron_core::{NodeId, Setup};
use skeptron_sim::{Distribution, Latency, Options, Queue, QueueKind, Scenario, Workload, run};

/// One system to measure: saturated, with latency 1, unless it says otherwise.
struct System {
    algorithm: &'static str,
    nodes: usize,
    /// About a million events, so that a round takes a fraction of a second.
    entries: u64,
    latency: &'static str,
    /// One entry at a time, each of a node drawn at random.
    sequential: bool,
}

const fn saturated(algorithm: &'static str, nodes: usize, entries: u64) -> System {
    System { algorithm, nodes, entries, latency: "1", sequential: false }
}

const SYSTEMS: [System; 14] = [
    saturated("central", 16, 200_000),
    saturated("ricart-agrawala", 4, 100_000),
    saturated("ricart-agrawala", 16, 30_000),
    saturated("ricart-agrawala", 64, 8_000),
    saturated("ricart-agrawala", 256, 2_000),
    System { latency: "exp:1", ..saturated("ricart-agrawala", 16, 30_000) },
    saturated("suzuki-kasami", 64, 15_000),
    saturated("maekawa", 57, 30_000),
    saturated("raymond", 100, 200_000),
    saturated("raymond", 10_000, 200_000),
    System { sequential: true, ..saturated("raymond", 1_000_000, 20_000) },
    saturated("naimi-trehel", 100, 200_000),
    saturated("naimi-trehel", 10_000, 200_000),
    System { sequential: true, ..saturated("naimi-trehel", 1_000_000, 100_000) },
];

/// One system, measured in several ways.
#[derive(Serialize)]
struct Row {
    system: String,
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

fn main() -> ExitCode {
    let (rounds, json) = match parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}; there are --rounds K and --json");
            return ExitCode::from(2);
        }
    };
    let rows: Vec<Row> = SYSTEMS.iter().map(|system| measure(system, rounds)).collect();
    if json {
        println!("{}", serde_json::to_string_pretty(&rows).expect("plain data"));
    } else {
        print(&rows);
    }
    ExitCode::SUCCESS
}

/// How many rounds to measure, and whether to print JSON.
fn parse(mut words: impl Iterator<Item = String>) -> Result<(u32, bool), String> {
    let (mut rounds, mut json) = (5, false);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => json = true,
            "--rounds" => {
                let count = words.next().unwrap_or_default();
                let count = count.parse().ok().filter(|&count| count > 0);
                rounds = count.ok_or("--rounds takes a number from 1 up")?;
            }
            // Cargo adds it.
            "--bench" => {}
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok((rounds, json))
}

fn print(rows: &[Row]) {
    let titles = ["simulator", "with order", "recording", "wheel", "heap", "ratio", "messages"];
    let width = rows.iter().map(|row| row.system.len()).max().unwrap_or_default();
    print!("{:width$}", "system");
    titles.iter().for_each(|title| print!("  {title:>10}"));
    println!();
    for row in rows {
        print!("{:width$}", row.system);
        let rates =
            [row.simulator, row.watching_order, row.recording, row.bare_wheel, row.bare_heap];
        rates.iter().for_each(|rate| print!("  {rate:>10.1}"));
        println!("  {:>10.2}  {:>10.1}", row.ratio, row.messages);
    }
    println!(
        "Millions per second on one core. Simulator: judges and measures all but the order against happened-before.\n\
         Wheel and heap: a bare queue that pops and pushes the same events and does nothing else. Ratio: simulator / wheel."
    );
}

impl System {
    /// As `skeptron sim` has it.
    fn name(&self) -> String {
        let mut name = format!("{} -n {}", self.algorithm, self.nodes);
        if self.latency != "1" {
            name += &format!(" --latency {}", self.latency);
        }
        if self.sequential {
            name += " --workload sequential";
        }
        name
    }

    fn scenario(&self, info: &Info) -> Scenario {
        let plain = Scenario::new(setup(info, self.nodes));
        let coordinator = (info.layout == Layout::Coordinator).then(|| plain.setup.coordinator());
        let requesters: Vec<NodeId> =
            NodeId::all(self.nodes).filter(|node| Some(*node) != coordinator).collect();
        let workload = match self.sequential {
            true => Workload::Sequential { think: Distribution::constant(0.0) },
            false => Workload::saturated(),
        };
        Scenario {
            warmup: (2 * requesters.len() as u64).min(self.entries / 10),
            entries: self.entries,
            requesters,
            workload,
            latency: Latency::parse(self.latency, self.nodes).expect("a latency of ours"),
            ..plain
        }
    }
}

/// The layout that `skeptron sim` gives the algorithm if nothing else is said.
fn setup(info: &Info, nodes: usize) -> Setup {
    let setup = Setup::new(nodes).expect("some nodes");
    let setup = match info.layout {
        Layout::Tree => setup.with_tree(Tree::balanced(nodes, 2)),
        Layout::Quorums => {
            let default = skeptron_quorum::default_for(nodes);
            let quorums = skeptron_quorum::quorums(&default, nodes).expect("quorums for any size");
            setup.with_quorums(quorums)
        }
        _ => Ok(setup),
    };
    setup.expect("a layout of the same size")
}

fn measure(system: &System, rounds: u32) -> Row {
    let info = catalogue::find(system.algorithm).expect("an algorithm of the catalogue");
    let scenario = system.scenario(info);
    let bare = Options { skip_order: true, ..Options::default() };
    let order = Options::default();
    let recording = Options { record: true, ..Options::default() };
    let simulate = |scenario: &Scenario, options: &Options| {
        run(info, scenario, options).expect("a valid scenario").report
    };
    let sample = simulate(&scenario, &bare);
    // A recorded run of a million events takes much memory; a shorter one has the same rate.
    let short = Scenario { entries: scenario.entries.div_ceil(20), ..scenario.clone() };
    let short_events = simulate(&short, &bare).events;
    let in_flight = (sample.events as f64 / sample.duration.max(1.0)).max(1.0) as u64;
    // Drawn beforehand: the bare queue does nothing but pop and push.
    let latency = Distribution::parse(system.latency).expect("a distribution of ours");
    let delays = latency.values(scenario.seed, 1 << 16);
    let mut best = [Duration::MAX; 5];
    for _ in 0..rounds {
        let times = [
            time(|| simulate(&scenario, &bare)),
            time(|| simulate(&scenario, &order)),
            time(|| simulate(&short, &recording)),
            time(|| turn_over(QueueKind::Wheel, sample.events, in_flight, &delays)),
            time(|| turn_over(QueueKind::Heap, sample.events, in_flight, &delays)),
        ];
        best = std::array::from_fn(|i| best[i].min(times[i]));
    }
    let rate = |events: u64, time: Duration| events as f64 / time.as_secs_f64().max(1e-9) / 1e6;
    let (simulator, bare_wheel) = (rate(sample.events, best[0]), rate(sample.events, best[3]));
    let share = sample.messages.total as f64 / sample.events as f64;
    Row {
        system: system.name(),
        events: sample.events,
        simulator,
        watching_order: rate(sample.events, best[1]),
        recording: rate(short_events, best[2]),
        bare_wheel,
        bare_heap: rate(sample.events, best[4]),
        ratio: simulator / bare_wheel,
        messages: simulator * share,
    }
}

fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    black_box(work());
    start.elapsed()
}

/// What a simulation does to its queue, and nothing else: events of the size of a message with its
/// envelope, as many in flight, each followed by another one after one of `delays`.
fn turn_over(kind: QueueKind, events: u64, in_flight: u64, delays: &[u64]) {
    let mut queue = Queue::new(kind);
    for number in 0..in_flight {
        queue.push(number % 1000, [number; 5]);
    }
    for &delay in delays.iter().cycle().take(events as usize) {
        if let Some((now, event)) = queue.pop() {
            queue.push(now + delay, black_box(event));
        }
    }
}
