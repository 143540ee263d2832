//! Leaders and observers while nodes are killed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skeptron_client::{Client, ClientConfig};
use skeptron_net::{Fence, Leadership, MemberId};
use tokio::sync::watch;

use super::{PATIENCE, Site, serve, until, within};

type Log<T> = Arc<Mutex<Vec<T>>>;

fn config(site: &Site, places: &[usize]) -> ClientConfig {
    let endpoints = places.iter().map(|&place| site.endpoint(place)).collect();
    ClientConfig { endpoints, ..ClientConfig::new(site.endpoint(0)) }
}

/// Observes until it is told to stop; a node that is down is asked again.
fn observe(config: ClientConfig, seen: Log<Leadership>) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let mut observer = Client::observe(&config, "e").unwrap();
        while let Ok(told) = observer.next().await {
            seen.lock().unwrap().push(told);
        }
    })
}

/// Leads again and again, and notes each term as soon as it is told. A session that is lost, because the
/// next node was killed before the last one was back, is opened again.
async fn campaign(config: ClientConfig, led: Log<Fence>, mut goes_on: watch::Receiver<bool>) {
    let mut client = None;
    while *goes_on.borrow_and_update() {
        let Some(present) = &client else {
            client = Client::connect(config.clone()).await.ok();
            continue;
        };
        let guard = match within(present.campaign("e", "me", Some(PATIENCE))).await {
            Ok(Some(guard)) => guard,
            Ok(None) => continue,
            Err(error) => {
                eprintln!("campaigning anew: {error}");
                client = None;
                continue;
            }
        };
        if guard.is_valid() {
            led.lock().unwrap().push(guard.fence());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        let _ = guard.release().await;
    }
}

/// Each term once and in order, and none left out but where that is said.
fn judge(who: &str, seen: &[Leadership], led: &[Fence]) -> usize {
    let (mut before, mut terms) = (None, BTreeSet::new());
    for told in seen {
        let term = told.term;
        assert!(term >= before, "{who} went back from {before:?} to {term:?}");
        if told.leader.is_some() && term != before {
            assert!(terms.insert(term), "{who} saw {term:?} twice");
        }
        if let (false, Some(before), Some(term)) = (told.missed, before, term) {
            let between = led.iter().filter(|&&led| before < led && led < term);
            let missed: Vec<_> = between.filter(|&&led| !terms.contains(&Some(led))).collect();
            assert!(missed.is_empty(), "{who} saw {term:?} after {before:?}, not {missed:?}");
        }
        before = term;
    }
    terms.len()
}

/// How often a node is killed.
fn kills() -> usize {
    skeptron_testing::amount("SKEPTRON_ELECTION_KILLS", 2, 20)
}

#[tokio::test(flavor = "multi_thread")]
async fn observers_at_every_node_see_every_leader_while_nodes_are_killed() {
    let mut site = Site::start().await;
    let seen: Vec<Log<Leadership>> = (0..4).map(|_| Log::default()).collect();
    let mut observers: Vec<_> =
        (0..3).map(|place| observe(config(&site, &[place]), Arc::clone(&seen[place]))).collect();
    // One goes to whichever node is there.
    observers.push(observe(config(&site, &[0, 1, 2]), Arc::clone(&seen[3])));
    until(|| seen.iter().all(|seen| !seen.lock().unwrap().is_empty())).await;
    let (led, go_on) = (Log::default(), watch::Sender::new(true));
    let mut campaigns = Vec::new();
    for first in 0..3 {
        let config = config(&site, &[first, (first + 1) % 3, (first + 2) % 3]);
        campaigns.push(tokio::spawn(campaign(config, Arc::clone(&led), go_on.subscribe())));
    }
    let leaders = || led.lock().unwrap().len();
    for round in 0..kills() {
        let enough = leaders() + 20;
        until(|| leaders() >= enough).await;
        let killed = round % 3;
        let address = site.apis[killed].as_ref().unwrap().addresses()[0].to_string();
        site.kill(killed);
        let enough = leaders() + 10;
        until(|| leaders() >= enough).await;
        site.cluster.restart(MemberId::at(killed)).await.unwrap();
        let node = site.cluster.nodes[killed].clone();
        site.apis[killed] = Some(serve(&node, address).await);
        within(node.ready()).await;
    }
    let enough = leaders() + 20;
    until(|| leaders() >= enough).await;
    go_on.send_replace(false);
    for campaign in campaigns {
        within(campaign).await.unwrap();
    }
    let led = led.lock().unwrap().clone();
    let last = *led.iter().max().unwrap();
    let is_over = |seen: &Log<Leadership>| {
        let seen = seen.lock().unwrap();
        seen.last().is_some_and(|told| told.leader.is_none() && told.term >= Some(last))
    };
    until(|| seen.iter().all(is_over)).await;
    for observer in observers {
        observer.abort();
    }
    let unique: BTreeSet<_> = led.iter().collect();
    assert_eq!(unique.len(), led.len(), "a term is given once");
    for (place, seen) in seen.iter().enumerate() {
        let seen = seen.lock().unwrap();
        let terms = judge(&format!("the observer of P{}", place + 1), &seen, &led);
        assert!(terms > 20, "{terms}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_goes_on_to_lead_when_its_node_is_killed_and_its_value_with_it() {
    let mut site = Site::start().await;
    let seen: Log<Leadership> = Log::default();
    let observer = observe(config(&site, &[0]), Arc::clone(&seen));
    until(|| !seen.lock().unwrap().is_empty()).await;
    let client = site.client(&[2, 1]).await;
    let guard = within(client.campaign("e", "first", None)).await.unwrap().unwrap();
    within(guard.proclaim("second")).await.unwrap();
    let value = |seen: &Log<Leadership>| {
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
