//! Clusters whose members come and go: views decided by voters, over real sockets and files.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use skeptron_net::report::VoterState;
use skeptron_net::service::{Admin, DataError, ServiceError};
use skeptron_net::{
    Config, Init, LeaseSettings, MemberId, Membership, Node, Plan, Plans, StartError, VoterConfig,
};
use skeptron_views::file::FileDisk;

use crate::common::{PATIENCE, addresses, id, members, started, until, within};

const LEASE: Duration = Duration::from_secs(3);

struct Site {
    folder: tempfile::TempDir,
    addresses: Vec<String>,
    voters: usize,
    lease: Duration,
}

impl Site {
    fn new(nodes: usize, voters: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Site { folder, addresses: addresses(nodes), voters, lease: LEASE }
    }

    fn data(&self, number: u32) -> PathBuf {
        self.folder.path().join(format!("P{number}"))
    }

    /// Waits until a node that was killed writes no more.
    async fn free(&self, number: u32) {
        until("the folder is free", || FileDisk::open(&self.data(number)).is_ok()).await;
    }

    fn config(&self, number: u32) -> Config {
        let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
        let voters: BTreeMap<MemberId, String> = (1..=self.voters as u32)
            .map(|n| (id(n), self.addresses[n as usize - 1].clone()))
            .collect();
        Config {
            membership: Membership::Voters(VoterConfig {
                address: self.addresses[number as usize - 1].clone(),
                voters,
                data: Some(self.data(number)),
                init: None,
            }),
            ..Config::new(id(number), Vec::new(), plans)
        }
    }

    async fn start(&self, number: u32) -> Node {
        started(|| Node::start(self.config(number))).await
    }

    async fn init(&self) -> Node {
        let mut config = self.config(1);
        let lease = LeaseSettings { lease: self.lease, ..LeaseSettings::default() };
        voter_config(&mut config).init = Some(Init { lease, ..Init::default() });
        Node::start(config).await.unwrap()
    }

    /// All nodes, P1 having begun the cluster.
    async fn all(&self) -> Vec<Node> {
        let mut nodes = vec![self.init().await];
        for number in 2..=self.addresses.len() as u32 {
            nodes.push(self.start(number).await);
        }
        for node in &nodes {
            until("all have met", || members(node).len() == nodes.len()).await;
        }
        let voting = |node: &Node| {
            node.status().views.voters.iter().filter(|voter| voter.votes).count() == self.voters
        };
        until("all voters vote", || nodes[..self.voters].iter().all(voting)).await;
        nodes
    }
}

fn voter_config(config: &mut Config) -> &mut VoterConfig {
    match &mut config.membership {
        Membership::Voters(voters) => voters,
        _ => unreachable!("these tests have voters"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_begins_at_one_node_and_locks_go_round() {
    let site = Site::new(4, 3);
    let nodes = site.all().await;
    let mut last = None;
    for round in 0..3 {
        for node in &nodes {
            let guard = within(node.lock("a")).await.unwrap();
            assert!(Some(guard.fence()) > last, "round {round}");
            last = Some(guard.fence());
            guard.release().await.unwrap();
        }
    }
    assert_eq!(nodes[3].status().views.voters.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_member_held_is_free_after_its_lease_and_the_rest_goes_on() {
    let site = Site::new(3, 3);
    let nodes = site.all().await;
    let held = within(nodes[2].lock("held-by-third")).await.unwrap();
    let mine = within(nodes[0].lock("held-by-first")).await.unwrap();
    nodes[2].kill();
    assert!(!held.is_valid());
    let first = within(nodes[0].lock("held-by-third")).await.unwrap();
    assert!(first.fence() > held.fence() && first.fence().epoch() > held.fence().epoch());
    assert!(mine.is_valid(), "whoever holds a lock does not pause");
    assert_eq!(members(&nodes[0]), [1, 2]);
    // Its next life comes back by itself.
    let again = site.start(3).await;
    drop(first);
    let third = within(again.lock("held-by-third")).await.unwrap();
    assert!(third.fence() > held.fence());
    until("it is a member again", || members(&nodes[1]) == [1, 2, 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_of_the_voters_may_die() {
    let site = Site::new(5, 3);
    let nodes = site.all().await;
    let guard = within(nodes[4].lock("kept")).await.unwrap();
    let leader = nodes[3].status().views.leader.unwrap();
    nodes[leader.place()].kill();
    let others: Vec<&Node> = nodes.iter().filter(|node| node.id() != leader).collect();
    until("the dead one is out", || others.iter().all(|node| members(node).len() == 4)).await;
    assert!(guard.is_valid(), "leases outlive an election");
    for node in others {
        let guard = within(node.lock(&format!("by-{}", node.id()))).await.unwrap();
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_that_others_keep_go_on_before_the_lease_of_a_dead_member_ends() {
    let mut site = Site::new(4, 3);
    // It is missed after a fifth of that, and rights that rest are kept for ten seconds.
    site.lease = Duration::from_secs(20);
    let nodes = site.all().await;
    let names: Vec<String> = (0..20).map(|number| format!("kept/{number}")).collect();
    for name in &names {
        within(nodes[0].lock(name)).await.unwrap().release().await.unwrap();
    }
    nodes[3].kill();
    until("it is away", || members(&nodes[1]) == [1, 2, 3]).await;
    for name in &names {
        within(nodes[1].lock(name)).await.unwrap().release().await.unwrap();
        within(nodes[2].lock(name)).await.unwrap().release().await.unwrap();
    }
    assert_eq!(nodes[1].view().unwrap().away.len(), 1, "its lease may still run");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_makes_nobody_wait_for_a_lease() {
    let site = Site::new(3, 1);
    let nodes = site.all().await;
    let guard = within(nodes[2].lock("a")).await.unwrap();
    guard.release().await.unwrap();
    // The voter would wait this long for a member that died.
    let long = LeaseSettings { lease: Duration::from_secs(50), ..LeaseSettings::default() };
    let voters = nodes[0].voters().unwrap();
    loop {
        match voters.order(Admin::Settings(long)).await {
            Ok(_) => break,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    // Leases of the former length have run out.
    tokio::time::sleep(LEASE).await;
    let began = Instant::now();
    nodes[2].shutdown(Duration::ZERO).await;
    let guard = within(nodes[0].lock("a")).await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(40), "nobody waited for the lease");
    drop(guard);
}

#[tokio::test(flavor = "multi_thread")]
async fn fences_rise_over_the_power_loss_of_the_whole_cluster() {
    let site = Site::new(3, 3);
    let nodes = site.all().await;
    let before = within(nodes[1].lock("a")).await.unwrap().fence();
    nodes.iter().for_each(Node::kill);
    drop(nodes);
    let mut again = Vec::new();
    for number in 1..=3 {
        again.push(site.start(number).await);
    }
    let after = within(again[2].lock("a")).await.unwrap().fence();
    assert!(after > before);
}

/// The last thing that was decided before it is that the third one votes.
#[tokio::test(flavor = "multi_thread")]
async fn two_of_three_voters_go_on_after_a_loss_of_power() {
    let site = Site::new(3, 3);
    let nodes = site.all().await;
    nodes.iter().for_each(Node::kill);
    drop(nodes);
    let second = site.start(2).await;
    let third = site.start(3).await;
    drop(within(second.lock("a")).await.unwrap());
    drop(within(third.lock("a")).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn voters_are_added_replaced_and_removed() {
    let site = Site::new(4, 1);
    let nodes = site.all().await;
    let voters = |node: &Node| -> Vec<u32> {
        let voting = node.status().views.voters.into_iter().filter(|voter| voter.votes);
        voting.map(|voter| voter.node.number()).collect()
    };
    let order = async |order| within(nodes[3].voters().unwrap().order(order)).await;
    order(Admin::AddVoter { id: id(2) }).await.unwrap();
    until("P2 votes", || voters(&nodes[3]) == [1, 2]).await;
    order(Admin::AddVoter { id: id(3) }).await.unwrap();
    // As the voters themselves know: before, two of two would be needed.
    until("P3 votes", || nodes.iter().all(|node| voters(node) == [1, 2, 3])).await;
    // Its disk is lost, and a new one begins in its place.
    nodes[1].kill();
    site.free(2).await;
    std::fs::remove_dir_all(site.data(2)).unwrap();
    let second = site.start(2).await;
    until("it does not vote", || second.status().views.voter_halted.is_some()).await;
    order(Admin::ReplaceVoter { old: id(2), new: id(2) }).await.unwrap();
    until("P2 votes again", || second.status().views.voter_halted.is_none()).await;
    until("the old seat is gone", || voters(&nodes[3]).len() == 3).await;
    order(Admin::RemoveVoter { id: id(1) }).await.unwrap();
    until("P1 votes no more", || {
        let mut left = voters(&nodes[3]);
        left.sort_unstable();
        left == [2, 3]
    })
    .await;
    drop(within(nodes[0].lock("a")).await.unwrap());
}

/// All voters that it knows vote no more, so that nobody tells it what was decided since.
#[tokio::test(flavor = "multi_thread")]
async fn a_voter_that_was_removed_while_it_was_down_reports_the_present_ones() {
    let site = Site::new(5, 3);
    let nodes = site.all().await;
    nodes[2].kill();
    site.free(3).await;
    let voters = |node: &Node| -> Vec<u32> {
        let present = node.status().views.voters.into_iter();
        let mut present: Vec<u32> = present.map(|voter| voter.node.number()).collect();
        present.sort_unstable();
        present
    };
    for (order, left) in [
        (Admin::ReplaceVoter { old: id(1), new: id(4) }, &[2, 3, 4][..]),
        (Admin::ReplaceVoter { old: id(2), new: id(5) }, &[3, 4, 5]),
        (Admin::RemoveVoter { id: id(3) }, &[4, 5]),
    ] {
        // It is refused while its leader hands over.
        until_ordered(&nodes[3], order).await;
        until("that is done", || nodes[3..].iter().all(|node| voters(node) == left)).await;
    }
    let again = site.start(3).await;
    until("it is a member", || members(&again) == [1, 2, 3, 4, 5]).await;
    until("it names who leads and votes", || {
        let views = again.status().views;
        views.leader.is_some() && views.trouble.is_none() && voters(&again) == [4, 5]
    })
    .await;
}

async fn until_ordered(node: &Node, order: Admin) {
    let began = Instant::now();
    while let Err(why) = within(node.voters().unwrap().order(order)).await {
        assert!(began.elapsed() < PATIENCE, "{why}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_node_knows_which_voters_answer_and_how_many_more_may_fail() {
    let site = Site::new(4, 3);
    let nodes = site.all().await;
    let states = |node: &Node| -> Vec<VoterState> {
        let mut voters = node.status().views.voters;
        voters.sort_by_key(|voter| voter.node);
        voters.iter().map(|voter| voter.state).collect()
    };
    let may_fail = |node: &Node| node.status().views.may_fail();
    until("all are up", || nodes.iter().all(|node| states(node) == [VoterState::Up; 3])).await;
    assert!(nodes.iter().all(|node| may_fail(node) == Some(1)));
    let leader = nodes[3].status().views.leader.unwrap();
    let lost = nodes[..3].iter().find(|node| node.id() != leader).unwrap();
    lost.kill();
    let others: Vec<&Node> = nodes.iter().filter(|node| node.id() != lost.id()).collect();
    // Also at the member that does not vote.
    until("it is silent", || {
        others.iter().all(|node| states(node)[lost.id().place()] == VoterState::Silent)
    })
    .await;
    assert!(others.iter().all(|node| may_fail(node) == Some(0)));
    let silent = |node: &Node| {
        let voters = node.status().views.voters;
        voters.iter().find(|voter| voter.node == lost.id()).and_then(|voter| voter.silent_ms)
    };
    until("time passes", || others.iter().all(|node| silent(node) >= Some(2000))).await;
    let metrics = nodes[3].metrics();
    assert!(metrics.contains("skeptron_voters 3\n"), "{metrics}");
    assert!(metrics.contains("skeptron_voters_up 2\n"), "{metrics}");
    let again = site.start(lost.id().number()).await;
    until("it answers again", || states(&again) == [VoterState::Up; 3]).await;
    // Without a majority nobody claims to know.
    for node in &nodes[..3] {
        node.kill();
    }
    again.kill();
    until("nobody leads", || nodes[3].status().views.leader.is_none()).await;
    assert_eq!((states(&nodes[3]), may_fail(&nodes[3])), (vec![VoterState::Unknown; 3], None));
    assert!(nodes[3].status().views.trouble.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_without_a_folder_is_not_made_a_voter() {
    let site = Site::new(3, 1);
    let first = site.init().await;
    let mut config = site.config(2);
    voter_config(&mut config).data = None;
    let second = Node::start(config).await.unwrap();
    let third = site.start(3).await;
    until("all have met", || members(&first) == [1, 2, 3]).await;
    let order = async |order| within(third.voters().unwrap().order(order)).await;
    let refused = order(Admin::AddVoter { id: id(2) }).await.unwrap_err().to_string();
    assert!(refused.contains("P2 has no folder for a voter's log: set `data`"), "{refused}");
    order(Admin::AddVoter { id: id(3) }).await.unwrap();
    until("P3 votes", || first.status().views.voting().0 == 2).await;
    assert_eq!(second.status().views.voter_halted, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_begins_only_once() {
    let site = Site::new(3, 3);
    let nodes = site.all().await;
    let init = |number: u32, data: &Path| {
        let mut config = site.config(number);
        let voters = voter_config(&mut config);
        voters.init = Some(Init::default());
        voters.data = Some(data.to_path_buf());
        Node::start(config)
    };
    let config = init(2, &site.data(2)).await.unwrap_err();
    assert!(config.to_string().contains("begins at P1"), "{config}");
    nodes[0].kill();
    let log = loop {
        // The folder is free when the last write is done.
        match init(1, &site.data(1)).await.unwrap_err() {
            StartError::Service(ServiceError::Data(DataError::Log { source, .. })) => break source,
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    assert!(log.to_string().contains("only once; start this node without --init"), "{log}");
    let empty = site.folder.path().join("empty");
    let begun = init(1, &empty).await.unwrap_err();
    assert!(
        matches!(begun, StartError::Service(ServiceError::Data(DataError::Begun { .. }))),
        "{begun}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_belongs_to_one_voter_of_one_cluster() {
    let site = Site::new(2, 1);
    let nodes = site.all().await;
    let wrong = |number: u32, change: fn(&mut Config)| {
        let mut config = site.config(number);
        voter_config(&mut config).data = Some(site.data(1));
        voter_config(&mut config).address = addresses(1).remove(0);
        if number == 1 {
            let address = voter_config(&mut config).address.clone();
            voter_config(&mut config).voters.insert(id(1), address);
        }
        change(&mut config);
        Node::start(config)
    };
    let in_use = wrong(1, |_| {}).await.unwrap_err();
    assert!(in_use.to_string().contains("in use"), "{in_use}");
    nodes.iter().for_each(Node::kill);
    drop(nodes);
    site.free(1).await;
    let other = wrong(2, |_| {}).await.unwrap_err();
    assert!(other.to_string().contains("belongs to P1"), "{other}");
    let named = wrong(1, |config| config.cluster = "other".to_string()).await.unwrap_err();
    assert!(named.to_string().contains("another cluster"), "{named}");
}
