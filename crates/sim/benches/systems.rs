//! How fast the simulator is, beside a bare event queue that does the same pops and pushes.
//!
//! ```text
//! cargo bench -p skeptron-sim --bench systems -- [--rounds K] [--only SYSTEM] [--instructions] [--json]
//! ```
//!
//! All columns of a row are measured in turn, round after round, in CPU time, and the best round counts. So the ratios
//! mean something on a busy machine, while the absolute figures vary. Instructions, which valgrind counts, do not vary.

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Duration;

use nix::time::ClockId;
use serde::Serialize;
use skeptron_core::catalogue::{self, Info, Layout};
use skeptron_core::topology::Tree;
use skeptron_core::{NodeId, Setup};

use skeptron_sim::{
    Distribution, Latency, Options, Queue, QueueKind, Report, Scenario, Workload, run,
};

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

/// What is done with a system, each in a column of its own.
#[derive(Clone, Copy)]
enum Work {
    /// Simulates it, judging and measuring all but the order.
    Simulate,
    /// The same, watching the order against happened-before too.
    WatchOrder,
    /// The same, recording a trace.
    Record,
    /// A bare timing wheel that does the same pops and pushes.
    Wheel,
    /// A bare binary heap that does the same pops and pushes.
    Heap,
}

const WORKS: [(Work, &str); 5] = [
    (Work::Simulate, "simulator"),
    (Work::WatchOrder, "with order"),
    (Work::Record, "recording"),
    (Work::Wheel, "wheel"),
    (Work::Heap, "heap"),
];

/// One system, measured in several ways.
#[derive(Serialize)]
struct Row {
    system: String,
    events: u64,
    /// In the order of [`WORKS`]: millions of events per second, or instructions per event.
    figures: [f64; WORKS.len()],
    /// The speed of the simulator over that of the bare wheel, or its instructions over the wheel's.
    ratio: f64,
    /// Messages among a hundred events.
    messages: f64,
}

/// What is asked for.
struct Question {
    rounds: u32,
    only: Option<String>,
    instructions: bool,
    json: bool,
    /// Do one thing with one system, if anything: valgrind counts.
    once: Option<String>,
}

fn main() -> ExitCode {
    let question = match parse(std::env::args().skip(1)) {
        Ok(question) => question,
        Err(error) => {
            eprintln!(
                "error: {error}; there are --rounds K, --only SYSTEM, --instructions and --json"
            );
            return ExitCode::from(2);
        }
    };
    let is_wanted = |s: &&System| question.only.as_ref().is_none_or(|only| s.name() == *only);
    let systems = SYSTEMS.iter().filter(is_wanted).map(Prepared::new);
    if let Some(once) = question.once {
        let work = WORKS.iter().find(|(_, title)| *title == once);
        systems.for_each(|system| work.into_iter().for_each(|(work, _)| system.perform(*work)));
        return ExitCode::SUCCESS;
    }
    let rows: Vec<Row> = match question.instructions {
        true => systems.map(|system| system.count()).collect(),
        false => systems.map(|system| system.time(question.rounds)).collect(),
    };
    if question.json {
        println!("{}", serde_json::to_string_pretty(&rows).expect("plain data"));
    } else {
        print(&rows, question.instructions);
    }
    ExitCode::SUCCESS
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Question, String> {
    let mut question =
        Question { rounds: 5, only: None, instructions: false, json: false, once: None };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => question.json = true,
            "--instructions" => question.instructions = true,
            "--only" => question.only = words.next(),
            "--once" => question.once = words.next(),
            "--rounds" => {
                let count = words.next().unwrap_or_default();
                let count = count.parse().ok().filter(|&count| count > 0);
                question.rounds = count.ok_or("--rounds takes a number from 1 up")?;
            }
            // Cargo adds it.
            "--bench" => {}
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(question)
}

fn print(rows: &[Row], instructions: bool) {
    let width = rows.iter().map(|row| row.system.len()).max().unwrap_or_default();
    let titles = WORKS.map(|(_, title)| title).into_iter().chain(["ratio", "messages"]);
    println!("{:width$}{}", "system", titles.map(|t| format!("  {t:>10}")).collect::<String>());
    for row in rows {
        let figures: String =
            row.figures.iter().map(|figure| format!("  {figure:>10.1}")).collect();
        println!("{:width$}{figures}  {:>10.2}  {:>9.0}%", row.system, row.ratio, row.messages);
    }
    println!(
        "{}. Simulator: judges and measures all but the order against happened-before.\n\
         Wheel and heap: a bare queue that pops and pushes the same events and does nothing else.\n\
         Ratio: simulator / wheel. Messages: their share of the events.",
        if instructions { "Instructions per event" } else { "Millions of events per CPU second" }
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

/// A system, ready to be measured.
struct Prepared {
    name: String,
    info: &'static Info,
    scenario: Scenario,
    /// A recorded run of a million events takes much memory; a shorter one has the same rate.
    short: Scenario,
    /// The same for every way to do it.
    report: Report,
    short_events: u64,
    /// Drawn beforehand: the bare queue does nothing but pop and push.
    delays: Vec<u64>,
}

impl Prepared {
    fn new(system: &System) -> Self {
        let info = catalogue::find(system.algorithm).expect("an algorithm of the catalogue");
        let scenario = system.scenario(info);
        let short = Scenario { entries: scenario.entries.div_ceil(20), ..scenario.clone() };
        let latency = Distribution::parse(system.latency).expect("a distribution of ours");
        Prepared {
            name: system.name(),
            info,
            report: simulate(info, &scenario, Work::Simulate),
            short_events: simulate(info, &short, Work::Simulate).events,
            delays: latency.values(scenario.seed, 1 << 16),
            scenario,
            short,
        }
    }

    fn perform(&self, work: Work) {
        let Report { events, duration, .. } = self.report;
        let in_flight = (events as f64 / duration.max(1.0)).max(1.0) as u64;
        match work {
            Work::Simulate | Work::WatchOrder => drop(simulate(self.info, &self.scenario, work)),
            Work::Record => drop(simulate(self.info, &self.short, work)),
            Work::Wheel => turn_over(QueueKind::Wheel, events, in_flight, &self.delays),
            Work::Heap => turn_over(QueueKind::Heap, events, in_flight, &self.delays),
        }
    }

    fn events(&self, work: Work) -> u64 {
        if let Work::Record = work { self.short_events } else { self.report.events }
    }

    /// In millions of events per second.
    fn time(&self, rounds: u32) -> Row {
        let mut best = [Duration::MAX; WORKS.len()];
        for _ in 0..rounds {
            for (best, (work, _)) in best.iter_mut().zip(WORKS) {
                let began = cpu_time();
                self.perform(work);
                *best = (cpu_time() - began).min(*best);
            }
        }
        let rate =
            |i: usize| self.events(WORKS[i].0) as f64 / best[i].as_secs_f64().max(1e-9) / 1e6;
        self.row(std::array::from_fn(rate))
    }

    /// In instructions per event.
    fn count(&self) -> Row {
        let nothing = self.instructions("nothing");
        self.row(WORKS.map(|(work, title)| {
            (self.instructions(title) - nothing) as f64 / self.events(work) as f64
        }))
    }

    /// How many a process takes that prepares this system and then does this, if it is something.
    fn instructions(&self, work: &str) -> u64 {
        let me = std::env::current_exe().expect("the path of this program");
        let valgrind = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(me)
            .args(["--only", &self.name, "--once", work])
            .output()
            .expect("valgrind is installed");
        let said = String::from_utf8_lossy(&valgrind.stderr);
        let collected = said.lines().find_map(|line| line.split_once("Collected : "));
        collected.and_then(|(_, count)| count.trim().parse().ok()).expect("a count of valgrind")
    }

    fn row(&self, figures: [f64; WORKS.len()]) -> Row {
        let Report { events, messages, .. } = &self.report;
        Row {
            system: self.name.clone(),
            events: *events,
            figures,
            ratio: figures[Work::Simulate as usize] / figures[Work::Wheel as usize],
            messages: 100.0 * messages.total as f64 / *events as f64,
        }
    }
}

fn simulate(info: &'static Info, scenario: &Scenario, work: Work) -> Report {
    let record = matches!(work, Work::Record);
    let skip_order = matches!(work, Work::Simulate);
    let options = Options { record, skip_order, ..Options::default() };
    run(info, scenario, &options).expect("a valid scenario").report
}

/// What this process has used.
fn cpu_time() -> Duration {
    ClockId::CLOCK_PROCESS_CPUTIME_ID.now().expect("a clock of every system").into()
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
