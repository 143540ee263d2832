//! Ever new names at a node that may know few of them.

use skeptron_client::{Client, ClientConfig, Endpoint};
use skeptron_net::api::Api;
use skeptron_net::{Config, Init, Limits, MemberId, Membership, Node, Plan, Plans, VoterConfig};

use crate::api::site::config;

/// Names that it may know.
const LIMIT: usize = 2000;

#[tokio::test(flavor = "multi_thread")]
async fn idle_names_are_forgotten_so_that_the_limit_is_reached_only_by_names_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let me = MemberId::new(1).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let membership = Membership::Voters(VoterConfig {
        address: address.clone(),
        voters: [(me, address)].into(),
        data: Some(folder.path().join("1")),
        init: Some(Init::default()),
    });
    let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
    let limits = Limits { locks: LIMIT, ..Limits::default() };
    let config_of_node = Config { membership, limits, ..Config::new(me, Vec::new(), plans) };
    let node = Node::start_at(config_of_node, listener).await.unwrap();
    node.entered().await.unwrap();
    let api = Api::start(node.clone(), config()).await.unwrap();
    let endpoint = Endpoint::Http(api.addresses()[0].to_string());
    let client = Client::connect(ClientConfig::new(endpoint)).await.unwrap();

    let held = node.lock("held").await.unwrap();
    let also_held = client.lock("also held").await.unwrap();
    let first = node.lock("orders/0").await.unwrap();
    let fence = first.fence();
    drop(first);
    for order in 0..20_000 {
        let name = format!("orders/{order}");
        if order % 4 == 0 {
            let guard = client.lock(&name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            guard.release().await.unwrap();
        } else {
            let guard = node.lock(&name).await.unwrap_or_else(|error| panic!("{name}: {error}"));
            guard.release().await.unwrap();
        }
    }
    assert!(node.status().known_locks <= LIMIT as u64);
    assert!(node.lock("orders/0").await.unwrap().fence() > fence, "fences go on");
    assert!(held.is_valid() && also_held.is_valid());
    also_held.release().await.unwrap();
    held.release().await.unwrap();
    api.shutdown().await;
    node.shutdown(std::time::Duration::ZERO).await;
}
