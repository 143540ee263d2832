//! Every run can be written, read and replayed, whatever goes wrong in it.

use skeptron::ask::{Files, Request as _, SimOptions};
use skeptron_core::catalogue::{self, Layout};
use skeptron_sim::replay::replay;
use skeptron_sim::trace::{Format, Trace};
use skeptron_testing::sample;

/// Options of `skeptron sim`, each a mix of what can happen.
const MIXES: [&str; 10] = [
    "",
    "-n 1",
    "-n 2 --order any --latency exp:1",
    "--loss 0.1",
    "--duplicate 0.2 --order any --latency uniform:0..3",
    "--crash P2@3..9 --crash P1@14",
    "--pause P1@2..5 --pause P2@4..9",
    "--partition 1|2,3@4..8 --partition 2>3@9..12",
    "--loss 0.02 --duplicate 0.05 --crash random:0.05,3 --pause random:0.1,2 \
     --partition random:0.05,2 --latency exp:1",
    "--loss 0.02 --duplicate 0.05 --order any --latency pareto:0.2,1.2 --workload poisson:0.5",
];

/// The run of these options of `skeptron sim` is read as it was written, and replayed.
pub(crate) fn is_replayed(words: &str) {
    let trace = SimOptions::parse(words).unwrap().trace(Files::Disk).unwrap();
    let lines = written(&trace, Format::JsonLines);
    let read = Trace::read(&lines[..]).unwrap_or_else(|error| panic!("{words}: {error}"));
    assert_eq!(read, trace, "{words}");
    if let Err(error) = replay(&read) {
        panic!("{words}: {error}");
    }
}

/// A file of the run of these options that lost a line does not verify, unless that line may be missing.
pub(crate) fn misses_lost_lines(words: &str, may_miss: impl Fn(&str) -> bool) {
    let trace = SimOptions::parse(words).unwrap().trace(Files::Disk).unwrap();
    let whole = String::from_utf8(written(&trace, Format::JsonLines)).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    for lost in (0..lines.len() - 1).filter(|&line| !may_miss(lines[line])) {
        let mut left = lines.clone();
        left.remove(lost);
        let left = left.join("\n");
        let verified = Trace::read(left.as_bytes()).is_ok_and(|trace| replay(&trace).is_ok());
        assert!(!verified, "line {}: {}", lost + 1, lines[lost]);
    }
}

fn written(trace: &Trace, format: Format) -> Vec<u8> {
    let mut out = Vec::new();
    trace.write(format, &mut out).unwrap();
    out
}

#[test]
fn what_is_recorded_is_replayed() {
    for info in catalogue::all() {
        for (seed, mix) in sample(info.name, (1..).zip(MIXES), 3) {
            let fixed = info.layout == Layout::Structure && mix.contains("-n");
            let size = if mix.contains("-n") { "" } else { "-n 4" };
            let structure = if fixed { "--structure lamport" } else { "" };
            let name = info.name;
            is_replayed(&format!("{name} {size} --entries 12 {structure} {mix} --seed {seed}"));
        }
    }
}

#[test]
fn every_form_writes_every_run() {
    for info in catalogue::all() {
        for mix in [MIXES[0], MIXES[8]] {
            let words = format!("{} -n 4 --entries 6 {mix}", info.name);
            let trace = SimOptions::parse(&words).unwrap().trace(Files::Disk).unwrap();
            for (format, _) in Format::ALL {
                assert!(!written(&trace, format).is_empty(), "{words}: {format}");
            }
        }
    }
}

/// A run can end between any two steps, and a message be on its way for ever.
#[test]
fn a_lost_line_is_noticed() {
    misses_lost_lines("suzuki-kasami -n 3 --entries 3", |line| line.contains("deliver"));
}
