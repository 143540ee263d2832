//! Many clients at once.

use serde_json::json;

use crate::api::site::Site;

/// A thousand clients, each with a connection and a session of its own, come one after the other and
/// are served in that order.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_waiting_clients_are_served_once_each_in_order() {
    const CROWD: u64 = 1000;
    let site = Site::start().await;
    let mut http = site.http().await;
    let holder = http.session(3_600_000).await;
    let mut fence = http.acquire(&holder, "a", None).await.fence();
    let mut crowd = Vec::new();
    for place in 0..CROWD {
        let mut client = site.http().await;
        let session = client.session(3_600_000).await;
        let asked = json!({"session": session, "lock": "a"}).to_string();
        client.send("POST", "/v1/acquire", &asked).await;
        site.waiters(place + 1).await;
        crowd.push((client, session));
    }
    assert_eq!(http.release(&holder, "a", fence).await.status, 200);
    for (place, (client, session)) in crowd.iter_mut().enumerate() {
        let next = client.answer().await.expect("everybody is served").fence();
        assert_eq!(next, fence + 1, "place {place} is served next, once");
        fence = next;
        assert_eq!(client.release(session, "a", fence).await.status, 200);
    }
    assert_eq!((site.node().status().waiters, site.node().status().held_locks), (0, 0));
    site.stop().await;
}
