//! Data folders that are wrong, shared, old or of another cluster, as real processes: each is told in a
//! sentence, and nobody votes twice or in the wrong place.

use std::path::Path;

use nix::sys::signal::Signal;

use crate::lock_command::members::{Site, fence, present};
use crate::lock_command::node::{ready, run};
use crate::lock_command::processes::{Ended, Process, eventually};

/// What becomes of the node with that number if this is changed.
fn refused(site: &Site, number: usize, changed: &[(&str, &str)]) -> Ended {
    let mut command = site.command(number, &[]);
    command.envs(changed.iter().copied());
    let ended = Process::spawn(command).end();
    assert_eq!(ended.code, 2, "{changed:?}: {}", ended.stderr);
    ended
}

fn stop(node: Process) {
    node.signal(Signal::SIGKILL);
    node.end();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for file in std::fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

#[test]
fn a_folder_is_used_by_one_process_of_one_voter_of_one_cluster() {
    let site = Site::new();
    let folder = site.path().join("1");
    let data = ("SKEPTRON_DATA", folder.to_str().unwrap());
    let (first, url) = site.start(1, &["--init"]);
    let before = fence(&url, "a");
    let shared = refused(&site, 2, &[data]);
    assert!(shared.stderr.contains("is in use by another process"), "{}", shared.stderr);
    stop(first);
    let other = refused(&site, 2, &[data]);
    assert!(other.stderr.contains("the log belongs to P1, this is P2"), "{}", other.stderr);
    let named = refused(&site, 1, &[("SKEPTRON_CLUSTER", "other")]);
    assert!(named.stderr.contains("belongs to another cluster than \"other\""), "{}", named.stderr);
    // Nothing of that has changed it.
    let (first, url) = site.start(1, &[]);
    assert!(fence(&url, "a") > before);
    stop(first);
}

/// Both are called alike. A voter of one that is told to look for the other finds nobody there, and nobody
/// there counts its vote.
#[test]
fn two_clusters_with_one_name_stay_apart() {
    let (site, other) = (Site::new(), Site::new());
    let (first, url) = site.start(1, &["--init"]);
    let (second, _) = site.start(2, &[]);
    let (third, _) = site.start(3, &[]);
    eventually("three vote", || present(&url) == (vec![1, 2, 3], vec![1, 2, 3]));
    let (other_first, other_url) = other.start(1, &["--init"]);
    let begun = fence(&other_url, "a");
    // Who begins it once more is told that it exists.
    stop(first);
    let mut again = site.command(1, &["--init"]);
    again.env("SKEPTRON_DATA", site.path().join("empty"));
    let again = Process::spawn(again).end();
    assert_eq!(again.code, 2, "{}", again.stderr);
    assert!(
        again.stderr.contains("a cluster with the name \"skeptron\" already"),
        "{}",
        again.stderr
    );

    // P1 and P2 are down, and P3 finds only the other cluster's P1.
    stop(second);
    stop(third);
    let voters = [other.address(1), site.address(2), site.address(3)].join(",");
    let mut stray = site.command(3, &[]);
    stray.env("SKEPTRON_VOTERS", voters);
    let mut stray = Process::spawn(stray);
    let told = stray.complaint_until("waits to enter the cluster");
    assert!(told.contains("there are two clusters with the name"), "{told}");
    assert_eq!(present(&other_url), (vec![1], vec![1]));
    assert!(fence(&other_url, "a") > begun);
    stop(stray);
    stop(other_first);
}

/// A voter that comes back with an old copy of its folder, and one that was removed while it was down, are
/// members that do not vote, and say so; the others go on.
#[test]
fn a_voter_with_an_old_folder_or_no_seat_does_not_vote() {
    let site = Site::new();
    let (first, url) = site.start(1, &["--init"]);
    let (second, _) = site.start(2, &[]);
    let (third, _) = site.start(3, &[]);
    eventually("three vote", || present(&url) == (vec![1, 2, 3], vec![1, 2, 3]));
    stop(second);
    let (folder, old) = (site.path().join("2"), site.path().join("old"));
    copy(&folder, &old);
    let (second, _) = site.start(2, &[]);
    eventually("all vote again", || {
        run(&["voters", "--endpoint", &url]).stdout.contains("all 3 up: 1 may fail")
    });
    let before = fence(&url, "a");
    stop(second);
    std::fs::remove_dir_all(&folder).unwrap();
    std::fs::rename(&old, &folder).unwrap();
    let (second, second_url) = site.start(2, &[]);
    let status = || run(&["status", "--endpoint", &second_url]).stdout;
    eventually("it does not vote", || status().contains("P2 does not vote"));
    println!("{}", status());
    assert!(fence(&second_url, "a") > before, "it is a member");
    let replaced = run(&["voters", "replace", "2", "2", "--endpoint", &url]);
    assert_eq!(replaced.code, 0, "{}", replaced.stderr);

    stop(third);
    eventually("it is gone", || present(&url).0 == [1, 2]);
    let removed = run(&["voters", "remove", "3", "--endpoint", &url]);
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    let (third, third_url) = ready(Process::spawn(site.command(3, &[])));
    eventually("it is a member", || present(&url) == (vec![1, 2, 3], vec![1, 2]));
    assert!(fence(&third_url, "a") > before);
    println!("{}", run(&["status", "--endpoint", &third_url]).stdout);
    for node in [first, second, third] {
        stop(node);
    }
}
