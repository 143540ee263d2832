//! A leader whose node is killed.

use std::sync::{Arc, Mutex};

use skeptron_client::{Client, ClientConfig};
use skeptron_net::Leadership;

use super::{Site, until, within};

type Log = Arc<Mutex<Vec<Leadership>>>;

fn config(site: &Site, places: &[usize]) -> ClientConfig {
    let endpoints = places.iter().map(|&place| site.endpoint(place)).collect();
    ClientConfig { endpoints, ..ClientConfig::new(site.endpoint(0)) }
}

/// Observes until it is told to stop; a node that is down is asked again.
fn observe(config: ClientConfig, seen: Log) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let mut observer = Client::observe(&config, "e").unwrap();
        while let Ok(told) = observer.next().await {
            seen.lock().unwrap().push(told);
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_goes_on_to_lead_when_its_node_is_killed_and_its_value_with_it() {
    let mut site = Site::start().await;
    let seen: Log = Log::default();
    let observer = observe(config(&site, &[0]), Arc::clone(&seen));
    until(|| !seen.lock().unwrap().is_empty()).await;
    let client = site.client(&[2, 1]).await;
    let guard = within(client.campaign("e", "first", None)).await.unwrap().unwrap();
    within(guard.proclaim("second")).await.unwrap();
    let value = |seen: &Log| {
        let seen = seen.lock().unwrap();
        seen.last().and_then(|told| told.leader.clone()).map(|leader| leader.value)
    };
    until(|| value(&seen).as_deref() == Some("second")).await;
    site.kill(2);
    until(|| site.cluster.nodes[1].local_locks("e").iter().any(|it| it.holder.is_some())).await;
    assert!(guard.is_valid());
    within(guard.proclaim("third")).await.unwrap();
    until(|| value(&seen).as_deref() == Some("third")).await;
    let fresh = within(Client::leader(&config(&site, &[1]), "e")).await.unwrap();
    assert_eq!(fresh.leader.as_ref().map(|leader| leader.value.as_str()), Some("third"));
    let term = guard.fence();
    within(guard.release()).await.unwrap();
    until(|| value(&seen).is_none()).await;
    observer.abort();
    let seen = seen.lock().unwrap();
    let told: Vec<_> = seen
        .iter()
        .filter_map(|told| told.leader.as_ref())
        .map(|leader| (leader.term, leader.value.as_str()))
        .collect();
    assert_eq!(told, [(term, "first"), (term, "second"), (term, "third")]);
}
