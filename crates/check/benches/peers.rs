//! The search beside stateright and TLC on one specification: Lamport's algorithm as `LamportMutex` of the public
//! collection tlaplus/Examples has it, three processes.
//!
//! ```text
//! TLC_JAR=…/tla2tools.jar TLC_SPEC=…/specifications/lamport_mutex cargo bench -p skeptron-check --bench peers
//! ```
//!
//! Without both variables TLC is left out, and the bench says so. `TLC_JAR` is a class path for Java.

#[path = "../tests/all/specified.rs"]
mod specified;

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Instant;

use skeptron_check::machine::explore;
use specified::Specified;
use stateright::{Checker as _, Model as _};

const PROCESSES: usize = 3;

fn main() {
    // `cargo test` runs this too, without the flag of `cargo bench`.
    let arguments: Vec<String> = env::args().collect();
    let is_given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let in_earnest = is_given("--bench") && !is_given("--test");
    let (bounds, rounds) = if in_earnest { (4..=6, 3) } else { (3..=3, 1) };
    let threads = available_parallelism().map_or(1, usize::from);
    let tlc = Tlc::of_environment();

    println!(
        "{:>8} {:>8} {:>6} {:>8} {:>10} {:>8} {:>6}",
        "maxClock", "states", "depth", "here", "stateright", "TLC", "bytes"
    );
    for most_clock in bounds {
        compare(most_clock, 1, rounds, tlc.as_ref());
    }
    println!("{threads} threads each:");
    compare(if in_earnest { 6 } else { 3 }, threads, rounds, tlc.as_ref());
    println!(
        "Seconds from the first state to the last, one thread, the best of {rounds}; TLC's are its own process, and \
         begin with that. Bytes per state here."
    );
    if tlc.is_none() {
        println!(
            "TLC: skipped. TLC_JAR and TLC_SPEC name tla2tools.jar and the folder of the specification."
        );
    }
}

fn compare(most_clock: u32, threads: usize, rounds: usize, tlc: Option<&Tlc>) {
    let machine = Specified::new(PROCESSES, most_clock);
    let mut best = [f64::INFINITY; 3];
    let mut states = 0;
    let mut line = (0, 0.0);
    for _ in 0..rounds {
        let (here, found) = timed(|| explore(&machine, threads, 4 << 30));
        assert!(found.complete && found.violation.is_none(), "{found:?}");
        states = found.states;
        line = (found.depth + 1, found.peak_bytes as f64 / states as f64);
        let (there, checker) = timed(|| machine.checker().threads(threads).spawn_bfs().join());
        assert!(checker.discoveries().is_empty());
        assert_eq!(checker.unique_state_count() as u64, states);
        let by_tlc = tlc.map_or(f64::INFINITY, |tlc| {
            let (seconds, counted) = timed(|| tlc.states(most_clock, threads));
            assert_eq!(counted, states, "TLC counts others");
            seconds
        });
        for (best, seconds) in best.iter_mut().zip([here, there, by_tlc]) {
            *best = best.min(seconds);
        }
    }
    let [here, there, by_tlc] = best;
    let by_tlc = if by_tlc.is_finite() { format!("{by_tlc:.2}") } else { "-".to_owned() };
    let (depth, bytes) = line;
    println!(
        "{most_clock:>8} {states:>8} {depth:>6} {here:>8.2} {there:>10.2} {by_tlc:>8} {bytes:>6.0}"
    );
}

fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = Instant::now();
    let result = work();
    (began.elapsed().as_secs_f64(), result)
}

/// Java's TLC with the public specification.
struct Tlc {
    class_path: String,
    specification: String,
}

impl Tlc {
    fn of_environment() -> Option<Self> {
        let (class_path, specification) = (env::var("TLC_JAR").ok()?, env::var("TLC_SPEC").ok()?);
        Some(Tlc { class_path, specification })
    }

    /// How many distinct states it finds.
    fn states(&self, most_clock: u32, workers: usize) -> u64 {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let config = folder.path().join("bounds.cfg");
        let bounds = format!(
            "CONSTANTS N = {PROCESSES} MaxNat = {} maxClock = {most_clock} Nat <- NatOverride\n\
             INVARIANTS BoundedNetwork Mutex\nSPECIFICATION Spec\nCONSTRAINT ClockConstraint\n",
            most_clock + 1
        );
        std::fs::write(&config, bounds).expect("a file in that folder");
        let output = Command::new("java")
            .args(["-XX:+UseParallelGC", "-cp", &self.class_path, "tlc2.TLC", "-workers"])
            .args([workers.to_string().as_ref(), OsStr::new("-metadir"), folder.path().as_ref()])
            .args([OsStr::new("-config"), config.as_ref(), OsStr::new("MCLamportMutex.tla")])
            .current_dir(Path::new(&self.specification))
            .output()
            .expect("java is installed where TLC_JAR is given");
        let said = String::from_utf8_lossy(&output.stdout);
        // "276114 states generated, 70472 distinct states found, 0 states left on queue."
        let count = said.lines().rev().find_map(|line| {
            let (_, rest) = line.split_once("states generated, ")?;
            rest.split_once(" distinct states found, 0 states left")?.0.parse().ok()
        });
        count.unwrap_or_else(|| {
            panic!("TLC came to no end: {said}{}", String::from_utf8_lossy(&output.stderr))
        })
    }
}
