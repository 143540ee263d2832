//! The crate etcd-client as a program would use it, at three members of which one is killed and comes back.
//! `scripts/test-etcd-client` starts the cluster and says where it is.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use etcd_client::{Client, Error, LeaseTimeToLiveOptions, LockOptions, ResignOptions};

/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it takes too long")
}

fn endpoints() -> Vec<String> {
    let all =
        std::env::var("ETCD_ENDPOINTS").expect("scripts/test-etcd-client sets ETCD_ENDPOINTS");
    all.split(',').map(str::to_string).collect()
}

/// Kills a member, or starts it again.
fn act(node: usize, act: &str) {
    let lab = std::env::var("LAB").expect("scripts/test-etcd-client sets LAB");
    let mut stream = TcpStream::connect(&lab).unwrap();
    let body = format!("{{\"node\":{node},\"act\":\"{act}\"}}");
    let request = format!(
        "POST /lab/cluster/act HTTP/1.1\r\nhost: {lab}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

async fn at(endpoint: &str) -> Client {
    within(Client::connect([endpoint], None)).await.unwrap()
}

fn code(error: &Error) -> String {
    match error {
        Error::GRpcStatus(status) => format!("{:?}: {}", status.code(), status.message()),
        other => format!("{other}"),
    }
}

#[tokio::test]
async fn everything_goes_on_while_a_member_is_killed() {
    let endpoints = endpoints();
    let (mut one, mut two) = (at(&endpoints[0]).await, at(&endpoints[1]).await);
    let mut three = at(&endpoints[2]).await;
    // A client that knows all members: whichever it asks, the lease is found.
    let mut all = within(Client::connect(&endpoints, None)).await.unwrap();
    let lease = all.lease_grant(60, None).await.unwrap().id();
    for _ in 0..12 {
        let live = all.lease_time_to_live(lease, None).await.unwrap();
        assert_eq!(live.granted_ttl(), 60);
    }
    all.lease_revoke(lease).await.unwrap();

    let living = one.lease_grant(60, None).await.unwrap().id();
    let dying = three.lease_grant(60, None).await.unwrap().id();
    let held = three.lock("deploy", Some(LockOptions::new().with_lease(dying))).await.unwrap();
    let led = three.campaign("leader", "3", dying).await.unwrap();
    let mut seen = two.observe("leader").await.unwrap();
    let first = within(seen.message()).await.unwrap().unwrap();
    assert_eq!(first.kv().unwrap().value(), b"3");
    assert_eq!(first.kv().unwrap().key(), led.leader().unwrap().key());

    let waiting = tokio::spawn({
        let mut one = one.clone();
        async move { one.lock("deploy", Some(LockOptions::new().with_lease(living))).await }
    });
    act(3, "kill");
    let campaign = tokio::spawn({
        let mut one = one.clone();
        async move { one.campaign("leader", "1", living).await }
    });
    // The lease goes with its member; until that is certain it is unknown, not gone.
    within(async {
        loop {
            match two.lease_time_to_live(dying, None).await {
                Ok(answer) if answer.ttl() == -1 => break,
                Ok(answer) => panic!("{} s are left of a dead member's lease", answer.ttl()),
                Err(error) => assert!(code(&error).starts_with("Unavailable"), "{}", code(&error)),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let next = within(waiting).await.unwrap().unwrap();
    let revision = |header: Option<&etcd_client::ResponseHeader>| header.unwrap().revision();
    assert!(revision(next.header()) > revision(held.header()), "the fence rises");
    let elected = within(campaign).await.unwrap().unwrap();
    let second = within(seen.message()).await.unwrap().unwrap();
    assert_eq!(second.kv().unwrap().value(), b"1");
    assert_eq!(second.kv().unwrap().create_revision(), elected.leader().unwrap().rev());

    // What the dead one's client says late does no harm.
    two.unlock(held.key()).await.unwrap();
    let keys = Some(LeaseTimeToLiveOptions::new().with_keys());
    assert_eq!(two.lease_time_to_live(living, keys).await.unwrap().keys().len(), 2);
    let (mut keeper, mut answers) = two.lease_keep_alive(living).await.unwrap();
    keeper.keep_alive().await.unwrap();
    assert_eq!(within(answers.message()).await.unwrap().unwrap().ttl(), 60);

    act(3, "restart");
    within(async {
        while Client::connect([&endpoints[2]], None).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let mut three = at(&endpoints[2]).await;
    within(async {
        // It has entered when it finds what lives at another member.
        while !matches!(three.lease_time_to_live(living, None).await, Ok(it) if it.ttl() >= 0) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    let leader = elected.leader().unwrap().clone();
    three.resign(Some(ResignOptions::new().with_leader(leader))).await.unwrap();
    let none = within(three.leader("leader")).await.unwrap_err();
    assert_eq!(code(&none), "Unknown: election: no leader");
    three.unlock(next.key()).await.unwrap();
    three.lease_revoke(living).await.unwrap();
}
