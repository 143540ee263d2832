//! Clusters in one process whose members are killed, restarted and partitioned.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::collections::BTreeSet;
use std::time::Duration;

use skeptron_net::{Cluster, LeaseSettings, MemberId, Plan, Plans};

use crate::common::{PATIENCE, members, until, within};

const LEASE: Duration = Duration::from_secs(1);

async fn up(nodes: usize, folder: &tempfile::TempDir) -> Cluster {
    let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
    let settings = LeaseSettings { lease: LEASE, ..LeaseSettings::default() };
    let starting = Cluster::start_voting(nodes, 3, plans, folder.path(), settings);
    within(starting).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_is_killed_and_restarted_at_its_address() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = up(3, &folder).await;
    let third = MemberId::at(2);
    let held = within(cluster.nodes[2].lock("a")).await.unwrap();
    cluster.kill(third);
    assert!(!held.is_valid());
    let next = within(cluster.nodes[0].lock("a")).await.unwrap();
    assert!(next.fence() > held.fence());
    drop(next);
    cluster.restart(third).await.unwrap();
    assert!(cluster.killed().is_empty());
    until("all are members", || cluster.nodes.iter().all(|node| members(node) == [1, 2, 3])).await;
    drop(within(cluster.nodes[2].lock("a")).await.unwrap());
    within(cluster.shutdown()).await;
    // Nobody writes any more.
    folder.close().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_cut_off_is_told_of_its_loss_and_enters_again_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = up(3, &folder).await;
    for round in 0..4 {
        let held = within(cluster.nodes[1].lock("a")).await.unwrap();
        cluster.partition(&[BTreeSet::from([MemberId::at(1)])]);
        let told = tokio::time::timeout(PATIENCE / 2, held.lost()).await;
        assert!(told.is_ok(), "round {round}: the holder is not told");
        until("it is out", || members(&cluster.nodes[0]) == [1, 3]).await;
        cluster.heal();
        until("it is back", || members(&cluster.nodes[0]) == [1, 2, 3]).await;
    }
    within(cluster.shutdown()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partitioned_member_loses_its_locks_and_comes_back_when_healed() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = up(3, &folder).await;
    let alone = MemberId::at(1);
    let held = within(cluster.nodes[1].lock("a")).await.unwrap();
    cluster.partition(&[BTreeSet::from([alone])]);
    let next = within(cluster.nodes[2].lock("a")).await.unwrap();
    assert!(!held.is_valid(), "its lease was over before another was let in");
    assert!(next.fence() > held.fence());
    until("it is out", || members(&cluster.nodes[0]) == [1, 3]).await;
    // Not even one that is restarted gets through.
    cluster.kill(alone);
    cluster.restart(alone).await.unwrap();
    tokio::time::sleep(LEASE).await;
    assert_eq!(cluster.nodes[1].view(), None);
    assert_eq!(members(&cluster.nodes[0]), [1, 3]);
    cluster.heal();
    drop(next);
    until("it is back", || members(&cluster.nodes[0]) == [1, 2, 3]).await;
    drop(within(cluster.nodes[1].lock("a")).await.unwrap());
    within(cluster.shutdown()).await;
}
