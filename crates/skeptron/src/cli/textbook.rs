//! One short run of each algorithm that shows its rules at work: drawn in the docs, kept as golden
//! run by the tests.

use anyhow::Result;
use skeptron_core::catalogue::{ElectionInfo, Info, Layout};

use crate::ask::{Request as _, SimOptions};

/// The options of the textbook run of `info`.
///
/// # Errors
/// Never for an algorithm of the catalogue; a test runs them all.
pub fn run_of(info: &Info) -> Result<SimOptions> {
    // Where the plain run would not show an algorithm's special messages, one that does.
    let own = match (info.name, info.layout) {
        ("carvalho-roucairol", _) => "-n 3 --requesters 2 --think uniform:0..6 --seed 3",
        (_, Layout::Quorums) => "-n 4 --requesters 3 --think uniform:0..3 --latency uniform:0.5..2",
        (_, Layout::Structure) => "--structure sanders-4 --think uniform:0..3",
        (_, Layout::Capacity) => "-n 3 --capacity 2 --section 2 --think uniform:0..2",
        (_, Layout::ReadWrite) => "-n 4 --readers 3 --think uniform:0..3 --latency uniform:0.5..2",
        (_, Layout::Clusters) => "-n 5 --clusters 3,2 --think uniform:0..3",
        (_, Layout::Detector) => "-n 3 --think uniform:0..3 --latency uniform:0.5..2 --crash P1@4",
        (_, Layout::Beginning) => "-n 3 --begin random --think uniform:0..3",
        (_, Layout::Tree) => "-n 4 --tree balanced:2 --think uniform:0..3",
        _ => "-n 3 --think uniform:0..3",
    };
    let options = SimOptions::parse(&format!("NAME {own} --entries 4 --warmup 0"))?;
    // The name of a program may have spaces.
    Ok(SimOptions { algorithm: Some(info.name.into()), ..options })
}

/// The options of the textbook run of an election: the leader is down and somebody notices.
///
/// # Errors
/// Never for an algorithm of the catalogue; a test runs them all.
pub fn election_of(info: &ElectionInfo) -> Result<SimOptions> {
    let own = match info.layout {
        Layout::Ring => "-n 5 --crash 5@0 --initiators 1,2 --ring 2,5,1,4,3",
        Layout::Graph => "-n 4 --graph ring --initiators 1,2",
        _ => "-n 4 --crash 4@0 --initiators 1",
    };
    SimOptions::parse(&format!("{} {own}", info.name))
}
