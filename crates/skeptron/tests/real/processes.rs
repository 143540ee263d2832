//! Nodes in processes of their own on one machine.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use skeptron_client::Client;
use skeptron_net::{Config, Init, MemberId, Membership, Node, Plan, Plans, VoterConfig};
use skeptron_testing::Chance;
use tempfile::TempDir;

use crate::CORES;
use crate::clients::{Asker, clients, count_in_a_file, count_in_memory, moves, scaled};
use crate::nodes::{LONG_LEASE, Process, listed, own_addresses};
use crate::relay::{Distance, Relay, Trouble};

/// Starts as many nodes as there are addresses, all in processes of their own. The others are told
/// to look for them at `members`.
async fn start(
    folder: &Path,
    listen: &[SocketAddr],
    members: &[SocketAddr],
    more: &str,
) -> Vec<Process> {
    let start_one = |k: usize| {
        let (listen, address, voters) = (listen[k], members[k], listed(&members[..3]));
        let settings = format!(
            "voters = {voters}\naddress = '{address}'\nlisten = '{listen}'\ninsecure = true\n\
             {LONG_LEASE}\n{more}"
        );
        Process::start(folder, k + 1, &settings, &[])
    };
    let mut nodes: Vec<Process> = (0..listen.len()).map(start_one).collect();
    for node in &mut nodes {
        node.until_ready(listen.len()).await;
    }
    nodes
}

async fn lose_nothing(nodes: usize, times: usize) {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let addresses = own_addresses(nodes);
    let nodes = start(folder.path(), &addresses, &addresses, "").await;
    count_in_memory(clients(&nodes, 32).await, scaled(times), Duration::ZERO).await;
    count_in_a_file(folder.path(), &nodes, 16, scaled(25)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_processes_lose_nothing() {
    lose_nothing(3, 1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_processes_lose_nothing() {
    lose_nothing(5, 1_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nine_processes_lose_nothing() {
    lose_nothing(9, 1_000).await;
}

/// A program that has a node in it is a member like any other: its tasks count together with clients
/// of the other members.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_with_a_node_in_it_loses_nothing() {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let addresses = own_addresses(3);
    let plans = Plans::new(Plan::named("suzuki-kasami").unwrap());
    let id = MemberId::at(0);
    let voters = VoterConfig {
        address: addresses[0].to_string(),
        voters: [(id, addresses[0].to_string())].into(),
        data: Some(folder.path().join("own")),
        init: Some(Init::default()),
    };
    let membership = Membership::Voters(voters);
    let config = Config { membership, ..Config::new(id, Vec::new(), plans) };
    let own = Node::start(config).await.unwrap();
    let mut others = Vec::new();
    for number in 2..=3 {
        let (voter, address) = (listed(&addresses[..1]), addresses[number - 1]);
        let settings = format!(
            "voters = {voter}\naddress = '{address}'\ninsecure = true\n{LONG_LEASE}\n\
             algorithm = 'suzuki-kasami'"
        );
        others.push(Process::start(folder.path(), number, &settings, &[]));
    }
    for node in &mut others {
        node.until_ready(3).await;
    }
    let mut askers = clients(&others, 16).await;
    askers.extend((0..16).map(|_| Asker::Library(own.clone())));
    count_in_memory(askers, scaled(250), Duration::ZERO).await;
    own.shutdown(Duration::from_secs(1)).await;
}

/// Nodes that find each other through relays.
async fn relayed(
    folder: &Path,
    nodes: usize,
    distance: Option<Distance>,
) -> (Vec<Process>, Vec<Relay>) {
    let addresses = own_addresses(2 * nodes);
    let (behind, shown) = addresses.split_at(nodes);
    let mut relays = Vec::new();
    for (&address, &target) in shown.iter().zip(behind) {
        relays.push(Relay::start(address, target, distance).await);
    }
    // So that what a relay swallows is missed soon.
    let limits = "[limits]\nsilence = '1s'\nbackoff_longest = '100ms'";
    (start(folder, behind, shown, limits).await, relays)
}

/// Breaks connections for ever, in all ways there are.
async fn make_trouble(relays: &[Relay], pause_ms: u64) {
    let mut chance = Chance::new(7);
    loop {
        tokio::time::sleep(Duration::from_millis(chance.below(2 * pause_ms))).await;
        let trouble = match chance.below(4) {
            0 | 1 => Trouble::Cut,
            2 => Trouble::Stall(Duration::from_millis(chance.below(100))),
            _ => Trouble::Swallow(Duration::from_millis(chance.below(300))),
        };
        relays[chance.below(relays.len() as u64) as usize].make(trouble);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn broken_connections_lose_nothing_and_double_nothing() {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let (nodes, relays) = relayed(folder.path(), 3, None).await;
    let counting = async {
        count_in_memory(clients(&nodes, 32).await, scaled(40), Duration::ZERO).await;
        count_in_a_file(folder.path(), &nodes, 16, scaled(5)).await;
    };
    tokio::select! {
        () = counting => {}
        () = make_trouble(&relays, 50) => {}
    }
    let broken: u64 = connects(&nodes).await;
    assert!(broken > 20, "only {broken} connections were made: nothing has been tried");
}

/// How often links were connected, as the nodes say.
async fn connects(nodes: &[Process]) -> u64 {
    let mut connects = 0;
    for node in nodes {
        let status = Client::status(&node.reach(String::new())).await.unwrap();
        connects += status.members.iter().map(|member| member.connects).sum::<u64>();
    }
    connects
}

/// As far apart as towns: what 10 to 50 ms and one packet lost of a hundred look like above TCP.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_far_apart_lose_nothing() {
    let _cores = CORES.lock().await;
    let folder = TempDir::new().unwrap();
    let distance = Distance { delay_ms: (10, 50), loss_percent: 1 };
    let (nodes, _relays) = relayed(folder.path(), 3, Some(distance)).await;
    // Whoever asks again at once finds the lock still there: the nodes shall fetch it from each other.
    let rest = Duration::from_millis(20);
    let askers = count_in_memory(clients(&nodes, 9).await, scaled(20), rest).await;
    assert!(moves(&askers, 3) > scaled(10), "it hardly moved: {askers:?}");
    count_in_a_file(folder.path(), &nodes, 4, scaled(5)).await;
}
