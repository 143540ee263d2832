//! What commands print fits 80 columns, where there is no terminal that says otherwise.

use nix::sys::signal::Signal;

use crate::lock_command::members::Site;
use crate::lock_command::node::ready;
use crate::lock_command::processes::{Process, eventually, skeptron};

const PAGE: usize = 80;

/// Lines of standard output that are longer than a page.
fn too_long(words: &[&str]) -> Vec<String> {
    let mut command = skeptron();
    command.args(words).env_remove("COLUMNS");
    let ended = Process::spawn(command).end();
    assert!(!ended.stdout.is_empty(), "{words:?}: {}", ended.stderr);
    let long = ended.stdout.lines().filter(|line| line.chars().count() > PAGE);
    // A command that is to be copied stands in one line.
    let is_command = |line: &&str| line.contains("skeptron sim") || line.contains("skeptron check");
    long.filter(|line| !is_command(line)).map(|line| format!("{words:?}: {line}")).collect()
}

/// Not among them: `explain`, whose pages are those in docs/algorithms, byte for byte; timelines and
/// diagrams, whose width is that of the system; help, which follows the terminal.
#[test]
fn the_laboratory_fits_a_page() {
    let commands: [&[&str]; 16] = [
        &["list"],
        &["list", "--all"],
        &["compare", "-n", "4,9", "--entries", "50"],
        &["compare", "--elections", "-n", "4"],
        &["sim", "raymond", "-n", "7"],
        &["sim", "maekawa", "-n", "13", "--seeds", "1..5"],
        &["sim", "bully", "-n", "5", "--crash", "5@0"],
        &["sim", "invitation", "-n", "5"],
        &["check", "ricart-agrawala", "-n", "2"],
        &["check", "bully", "-n", "2"],
        &["storm", "--seeds", "1..3"],
        &["quorum", "best", "-n", "7"],
        &["quorum", "grid", "-n", "9"],
        &["quorum", "majority", "-n", "7"],
        &["structure", "sanders-4"],
        &["structure", "maekawa", "--quorum", "grid", "-n", "9"],
    ];
    let long: Vec<String> = commands.iter().flat_map(|words| too_long(words)).collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn what_is_said_of_a_cluster_fits_a_page() {
    let site = Site::new();
    let (first, url) = site.begin_calmly();
    let (second, _) = site.start(2, &[]);
    let (third, _) = ready(Process::spawn(site.command(3, &[])));
    let three_vote = || crate::lock_command::members::present(&url).1 == [1, 2, 3];
    eventually("three vote", three_vote);
    let mut held = skeptron();
    let owner = "somebody with a rather long name@a-machine-with-a-long-name.example.org";
    held.args([
        "lock",
        "orders/2026/11/17/a-rather-long-name",
        "--owner",
        owner,
        "--endpoint",
        &url,
    ]);
    let mut held = Process::spawn(held);
    held.line();
    // One is down: that is told at length.
    third.signal(Signal::SIGKILL);
    third.end();
    for words in [&["status"][..], &["members"], &["voters"], &["locks"]] {
        let long = too_long(&[words, &["--endpoint", &url]].concat());
        assert!(long.is_empty(), "{}", long.join("\n"));
    }
    held.signal(Signal::SIGTERM);
    held.end();
    let drained = [&["drain", "--endpoint", &url][..], &["status", "--endpoint", &url]];
    let long: Vec<String> = drained.iter().flat_map(|words| too_long(words)).collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
    for node in [second, first] {
        node.signal(Signal::SIGTERM);
        node.end();
    }
}

#[test]
fn certificates_fit_a_page() {
    let folder = tempfile::tempdir().unwrap();
    let certs = folder.path().join("certs");
    let certs = certs.to_str().unwrap();
    assert_eq!(
        crate::lock_command::node::run(&["tls", "init", certs, "--client", "deploy"]).code,
        0
    );
    assert_eq!(too_long(&["tls", "list", certs]), Vec::<String>::new());
}
