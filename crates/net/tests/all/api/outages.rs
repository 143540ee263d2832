//! An acquire that was not granted says why: somebody has the lock, or the cluster cannot grant it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use skeptron_client::{Client, ClientConfig, ClientError, Endpoint};
use skeptron_net::api::Api;
use skeptron_net::report::Reason;
use skeptron_net::{Cluster, LeaseSettings, LockError, MemberId, Plan, Plans};
use tokio::net::TcpStream;

use crate::api::site::{Answer, Http, STUCK, cluster, config, eventually};

fn id(number: u32) -> MemberId {
    MemberId::new(number).unwrap()
}

async fn api(cluster: &Cluster, place: usize) -> (Api, Http<TcpStream>) {
    let api = Api::start(cluster.nodes[place].clone(), config()).await.unwrap();
    let http = Http::over(TcpStream::connect(api.addresses()[0]).await.unwrap());
    (api, http)
}

/// A name that nobody has used and whose home is that member.
fn name_at(cluster: &Cluster, home: MemberId) -> String {
    let view = cluster.nodes[0].view().unwrap();
    let is_there = |name: &String| view.members[view.home(name).index()].id == home;
    (0..).map(|number| format!("never-used/{number}")).find(is_there).unwrap()
}

fn reasons(answer: &Answer) -> Vec<(String, Value)> {
    let causes = answer.json()["why"]["causes"].as_array().unwrap().clone();
    let cause = |cause: &Value| (cause["reason"].as_str().unwrap().into(), cause["member"].clone());
    causes.iter().map(cause).collect()
}

/// Before, this was `not-acquired`, as if somebody held it.
#[tokio::test(flavor = "multi_thread")]
async fn a_dead_member_is_not_taken_for_a_holder() {
    let mut cluster = cluster(3).await;
    let (api, mut http) = api(&cluster, 0).await;
    let name = name_at(&cluster, id(3));
    let session = http.session(60_000).await;
    cluster.kill(id(3));
    eventually(async || cluster.nodes[0].status().members[2].down_ms.is_some()).await;
    for wait in [0, 30] {
        let began = Instant::now();
        let refused = http.acquire(&session, &name, Some(wait)).await;
        assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"));
        assert_eq!(reasons(&refused), [("unreachable".to_string(), json!(3))]);
        assert_eq!(refused.json()["why"]["holder"], Value::Null);
        assert!(refused.json()["why"]["causes"][0]["for_ms"].is_u64());
        let error = refused.json()["error"].as_str().unwrap().to_string();
        assert!(error.contains("cannot grant it now: P3 unreachable for "), "{error}");
        assert!(began.elapsed() < STUCK / 4, "it is bounded");
    }
    assert_eq!(cluster.nodes[0].status().waiters, 0);
    let within = cluster.nodes[0].lock_within(&name, Duration::from_millis(20)).await;
    let Err(LockError::Unavailable { why, .. }) = within else { panic!("{within:?}") };
    assert_eq!((why.causes[0].reason, why.causes[0].member), (Reason::Unreachable, Some(id(3))));
    assert!(matches!(cluster.nodes[0].try_lock(&name).await, Err(LockError::Unavailable { .. })));
    api.shutdown().await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_is_named_also_while_a_member_is_dead() {
    let mut cluster = cluster(3).await;
    let (api, mut http) = api(&cluster, 0).await;
    let name = name_at(&cluster, id(2));
    let held = cluster.nodes[1].lock_as(&name, "deploy@web1").await.unwrap();
    let session = http.session(60_000).await;
    for is_dead in [false, true] {
        if is_dead {
            cluster.kill(id(3));
            eventually(async || cluster.nodes[0].status().members[2].down_ms.is_some()).await;
        }
        for wait in [0, 30] {
            let refused = http.acquire(&session, &name, Some(wait)).await;
            assert_eq!((refused.status, refused.code().as_str()), (409, "not-acquired"));
            let why = refused.json()["why"].clone();
            assert_eq!(why["holder"]["node"], 2);
            assert_eq!(why["holder"]["owner"], "deploy@web1");
            assert_eq!(why["holder"]["fence"], held.fence().number().to_string());
            assert!(why["holder"]["held_ms"].is_u64());
            assert_eq!((&why["causes"], &why["waiters"]), (&json!([]), &json!(0)));
            let error = refused.json()["error"].as_str().unwrap().to_string();
            assert!(error.contains("held by deploy@web1 at P2 for "), "{error}");
        }
    }
    api.shutdown().await;
    cluster.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_tells_an_outage_from_contention() {
    let mut cluster = cluster(3).await;
    let (api, _) = api(&cluster, 0).await;
    let endpoint = Endpoint::Http(api.addresses()[0].to_string());
    let config = ClientConfig { owner: "me".into(), ..ClientConfig::new(endpoint) };
    let client = Client::connect(config).await.unwrap();
    let held = client.lock(&name_at(&cluster, id(1))).await.unwrap();
    for wait in [Duration::ZERO, Duration::from_millis(20)] {
        let why = client.lock_or_why(held.name(), wait).await.unwrap().unwrap_err();
        let holder = why.holder.expect("it is held");
        assert_eq!((holder.owner.as_str(), holder.fence), ("me", held.fence()));
        assert!(client.lock_within(held.name(), wait).await.unwrap().is_none());
    }
    let name = name_at(&cluster, id(3));
    cluster.kill(id(3));
    eventually(async || cluster.nodes[0].status().members[2].down_ms.is_some()).await;
    let why = client.lock_or_why(&name, Duration::ZERO).await.unwrap().unwrap_err();
    assert!(why.is_outage() && why.holder.is_none(), "{why}");
    match client.try_lock(&name).await {
        Err(ClientError::Unavailable { causes, .. }) => {
            assert_eq!(causes[0].reason, Reason::Unreachable);
        }
        other => panic!("{other:?}"),
    }
    drop(held);
    api.shutdown().await;
    cluster.shutdown().await;
}

/// Voters decide: a member that is not heard of is away, then gone; without a majority all leases end.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_who_is_away_may_hold_is_withheld_and_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
    let lease = LeaseSettings { lease: Duration::from_secs(20), ..LeaseSettings::default() };
    let mut cluster = Cluster::start_voting(3, 3, plans, folder.path(), lease).await.unwrap();
    let (api, mut http) = api(&cluster, 0).await;
    let session = http.session(60_000).await;
    // Its home may have let it begin.
    let name = name_at(&cluster, id(3));
    cluster.kill(id(3));
    eventually(async || {
        let status = cluster.nodes[0].status();
        status.away == [id(3)] && status.awaited.is_empty()
    })
    .await;
    let refused = http.acquire(&session, &name, Some(0)).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"), "{}", refused.text);
    assert_eq!(reasons(&refused), [("away".to_string(), json!(3))]);
    // Two of three cannot decide anything; when they notice, that comes first.
    cluster.kill(id(2));
    eventually(async || cluster.nodes[0].status().views.trouble.is_some()).await;
    let refused = http.acquire(&session, &name, Some(0)).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "unavailable"), "{}", refused.text);
    let found = reasons(&refused);
    assert_eq!(found[0], ("no-quorum".to_string(), Value::Null), "{found:?}");
    assert!(found.contains(&("unreachable".to_string(), json!(2))), "{found:?}");
    api.shutdown().await;
    cluster.shutdown().await;
}
