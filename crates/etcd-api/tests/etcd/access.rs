//! Who is let in, and what it may do: as the HTTP API has it.

use skeptron_etcd_api::proto::etcdserverpb::{
    LeaseGrantRequest, LeaseLeasesRequest, LeaseRevokeRequest, LeaseTimeToLiveRequest,
};
use skeptron_etcd_api::proto::v3lockpb::UnlockRequest;
use skeptron_net::MemberId;
use skeptron_net::api::{Quota, Role};
use skeptron_net::tls::{Authority, Identity};
use tonic::{Code, Request};

use crate::services::{grant, lock};
use crate::site::{Site, post};

/// A request that shows a token.
fn with<T>(token: &str, message: T) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert("token", token.parse().unwrap());
    request
}

#[tokio::test]
async fn the_token_is_the_password_of_any_user() {
    let site = Site::start_with(1, |config| config.token = Some("s3cret".into())).await;
    let mut clients = site.clients(0).await;
    let ask = LeaseGrantRequest { ttl: 60, id: 0 };
    for refused in [Request::new(ask), with("wrong", ask)] {
        let refused = clients.lease.lease_grant(refused).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
        assert_eq!(refused.message(), "etcdserver: invalid auth token");
    }
    clients.lease.lease_grant(with("s3cret", ask)).await.unwrap();
    let (status, answer) =
        site.post(0, "/v3/auth/authenticate", r#"{"name":"root","password":"s3cret"}"#).await;
    assert!(status == 200 && answer.contains(r#""token":"s3cret""#), "{answer}");
    assert_eq!(site.post(0, "/v3/lease/grant", "{}").await.0, 401);
    for shown in ["authorization: s3cret\r\n", "authorization: Bearer s3cret\r\n"] {
        assert_eq!(post(site.at(0), "/v3/lease/grant", shown, "{}").await.0, 200, "{shown}");
    }
}

#[tokio::test]
async fn roles_and_quotas_count() {
    let role = |name: &str| Role {
        name: name.into(),
        token: Some(name.into()),
        certificate: None,
        lock: vec![format!("{name}/")],
        list: vec![],
        admin: false,
    };
    let site = Site::start_with(2, |config| {
        config.roles = vec![role("web"), role("db")];
        config.quota = Quota { sessions: Some(2), ..Quota::default() };
    })
    .await;
    let (mut one, mut two) = (site.clients(0).await, site.clients(1).await);
    let ask = LeaseGrantRequest { ttl: 60, id: 0 };
    let lease = one.lease.lease_grant(with("web", ask)).await.unwrap().into_inner().id;
    let denied = one.lock.lock(with("web", lock("db/1", lease))).await.unwrap_err();
    assert_eq!(denied.code(), Code::PermissionDenied, "{denied}");
    // Somebody else's lease is of no use, at the member where it lives and at another one.
    let held = one.lock.lock(with("web", lock("web/1", lease))).await.unwrap().into_inner();
    for clients in [&mut one, &mut two] {
        let key = held.key.clone();
        let denied = clients.lock.unlock(with("db", UnlockRequest { key })).await.unwrap_err();
        assert_eq!(denied.code(), Code::PermissionDenied, "{denied}");
        let revoke = LeaseRevokeRequest { id: lease };
        let denied = clients.lease.lease_revoke(with("db", revoke)).await.unwrap_err();
        assert_eq!(denied.code(), Code::PermissionDenied, "{denied}");
        let look = LeaseTimeToLiveRequest { id: lease, keys: true };
        assert!(clients.lease.lease_time_to_live(with("db", look)).await.is_err());
        let listed = clients.lease.lease_leases(with("db", LeaseLeasesRequest {})).await;
        assert!(listed.unwrap().into_inner().leases.is_empty());
    }
    one.lease.lease_grant(with("web", ask)).await.unwrap();
    let many = one.lease.lease_grant(with("web", ask)).await.unwrap_err();
    assert_eq!(many.code(), Code::ResourceExhausted, "{many}");
}

#[tokio::test]
async fn over_tls_a_certificate_lets_in_and_http_2_is_agreed_on() {
    use std::sync::Arc;

    use tokio::net::TcpStream;
    use tokio_rustls::TlsConnector;

    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::init(folder.path(), "test", false).unwrap();
    authority.issue_node(MemberId::at(0), &[], false).unwrap();
    authority.issue_client("alice", false).unwrap();
    let read = |name| Identity::read(folder.path(), name).unwrap();
    let (node, alice) = (read("node-1"), read("client-alice"));
    let site = Site::start_with(1, |config| config.identity = Some(node.clone())).await;
    let mut tls = rustls::ClientConfig::clone(&alice.client_config().unwrap());
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let stream = TcpStream::connect(site.at(0)).await.unwrap();
    let name = rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(tls)).connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut clients = crate::site::Clients::over(stream).await;
    assert!(grant(&mut clients, 60, 0).await > 0);
}
