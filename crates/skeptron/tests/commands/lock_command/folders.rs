//! Data folders that do not belong to their node, as real processes: each is an error, and none is used.

use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::signal::Signal;

use crate::lock_command::members::{Site, present};
use crate::lock_command::node::ready;
use crate::lock_command::processes::{Process, eventually};

fn refused(command: Command, why: &str) {
    let ended = Process::spawn(command).end();
    assert_eq!(ended.code, 2, "{}", ended.stderr);
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for file in fs::read_dir(from).unwrap().map(Result::unwrap) {
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// Three voters; the third one is killed when all of it is known.
fn cluster() -> (Site, [Process; 2], String) {
    let site = Site::new();
    let (first, url) = site.begin_calmly();
    let (second, _) = site.start(2, &[]);
    let (third, _) = site.start(3, &[]);
    eventually("three vote", || present(&url) == (vec![1, 2, 3], vec![1, 2, 3]));
    third.signal(Signal::SIGKILL);
    third.end();
    (site, [first, second], url)
}

#[test]
fn folders_of_others_are_refused() {
    let (site, nodes, url) = cluster();
    let third = |folder: &str| {
        let mut command = site.command(3, &[]);
        command.env("SKEPTRON_DATA", site.path().join(folder));
        command
    };
    // In use, by a node at another address.
    refused(third("1"), "is in use by another process");
    // Of another node of the same cluster.
    copied(&site.path().join("1"), &site.path().join("copy"));
    refused(third("copy"), "the log belongs to P1, this is P3");
    // Of a cluster with another name.
    let mut command = third("3");
    command.env("SKEPTRON_CLUSTER", "another");
    refused(command, "correct `data` or `cluster`");
    // Cut off in the middle: damaged before intact records.
    copied(&site.path().join("3"), &site.path().join("damaged"));
    for file in fs::read_dir(site.path().join("damaged")).unwrap().map(Result::unwrap) {
        let mut bytes = fs::read(file.path()).unwrap();
        if bytes.len() > 200 {
            bytes[100] ^= 0x40;
            fs::write(file.path(), bytes).unwrap();
        }
    }
    refused(third("damaged"), "damaged");
    // Nothing of that was used: its own one is still good.
    let (again, _) = ready(Process::spawn(third("3")));
    eventually("three are back", || present(&url) == (vec![1, 2, 3], vec![1, 2, 3]));
    for node in nodes.into_iter().chain([again]) {
        node.signal(Signal::SIGKILL);
        node.end();
    }
}

#[test]
fn the_folder_of_another_cluster_with_the_same_name_is_told() {
    let (ours, nodes, url) = cluster();
    let (theirs, their_nodes, their_url) = cluster();
    // It belongs to its own cluster still, whatever the settings say, and says so.
    let mut command = ours.command(3, &[]);
    command.env("SKEPTRON_DATA", theirs.path().join("3"));
    let mut astray = Process::spawn(command);
    let said = astray.complaint_until("correct `data`");
    assert!(said.contains(theirs.address(1)) && said.contains(ours.address(1)), "{said}");
    eventually("it is theirs", || present(&their_url).0 == [1, 2, 3]);
    eventually("it is not ours", || present(&url).0 == [1, 2]);
    for node in nodes.into_iter().chain(their_nodes).chain([astray]) {
        node.signal(Signal::SIGKILL);
        node.end();
    }
}
