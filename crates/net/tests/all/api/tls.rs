//! The API over TLS: with a client's certificate, with a token, with neither.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig as TlsConfig, RootCertStore};
use skeptron_client::{Client, ClientConfig, ClientError, Endpoint};
use skeptron_net::MemberId;
use skeptron_net::api::{ApiConfig, Role};
use skeptron_net::tls::{Authority, Identity};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::api::site::{Http, Site};

/// The identities of a node and a client that one authority made.
fn identities() -> (Identity, Identity) {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::init(folder.path(), "test", false).unwrap();
    authority.issue_node(MemberId::at(0), &[], false).unwrap();
    authority.issue_client("alice", false).unwrap();
    let read = |name| Identity::read(folder.path(), name).unwrap();
    (read("node-1"), read("client-alice"))
}

/// A connection of somebody who knows the authority, but has no certificate.
async fn nameless(site: &Site, authority: &str) -> Http<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = TlsConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(site.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    Http::over(TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap())
}

fn client_config(site: &Site, identity: Option<Identity>) -> ClientConfig {
    let endpoint = Endpoint::Https(site.address().to_string());
    ClientConfig { identity, ..ClientConfig::new(endpoint) }
}

#[tokio::test]
async fn whoever_shows_a_certificate_of_the_authority_is_let_in() {
    let (node, alice) = identities();
    let site = Site::start_with(|config| {
        config.identity = Some(node);
        config.token = Some("not needed with a certificate".into());
    })
    .await;
    let config = client_config(&site, Some(alice));
    let client = Client::connect(config.clone()).await.unwrap();
    client.lock("a").await.unwrap().release().await.unwrap();
    assert_eq!(Client::status(&config).await.unwrap().node, site.node().id());
    client.close().await.unwrap();
    site.stop().await;
}

#[tokio::test]
async fn whoever_shows_none_needs_the_token() {
    let (node, alice) = identities();
    for token in [None, Some("s3cret")] {
        let site = Site::start_with(|config| {
            config.identity = Some(node.clone());
            config.token = token.map(str::to_string);
        })
        .await;
        let mut http = nameless(&site, &alice.authority).await;
        assert_eq!(http.get("/health").await.status, 200);
        assert_eq!(http.get("/v1/status").await.status, 401);
        let mut http = http.with_header("authorization", "Bearer s3cret");
        let status = if token.is_some() { 200 } else { 401 };
        assert_eq!(http.get("/v1/status").await.status, status);
        site.stop().await;
    }
}

#[tokio::test]
async fn strangers_get_no_connection() {
    let (node, alice) = identities();
    let (_, eve) = identities();
    let site = Site::start_with(|config| config.identity = Some(node)).await;
    // Another authority's certificate, shown to a server that the client would believe.
    let forged = Identity { authority: alice.authority.clone(), ..eve.clone() };
    let causes = ["the node's certificate is not accepted: ", "it is of another cluster"];
    for (identity, cause) in [eve, forged].into_iter().zip(causes) {
        let error = Client::connect(client_config(&site, Some(identity))).await.unwrap_err();
        assert!(matches!(&error, ClientError::Mismatched(why) if why.contains(cause)), "{error}");
    }
    let without = Client::connect(client_config(&site, None)).await.unwrap_err();
    assert_eq!(without, ClientError::NoIdentity);
    // The node has not minded.
    Client::connect(client_config(&site, Some(alice))).await.unwrap();
    site.stop().await;
}

/// Asking again does not help, so it is no outage; but another endpoint may be right.
#[tokio::test]
async fn http_against_https_is_told_and_passed_over() {
    let (node, alice) = identities();
    let protected = Site::start_with(|config| config.identity = Some(node)).await;
    let plain = Site::start().await;
    let [over_tls, over_http] = [protected.address(), plain.address()].map(|it| it.to_string());
    let config = |endpoints: &[Endpoint]| ClientConfig {
        endpoints: endpoints.to_vec(),
        identity: Some(alice.clone()),
        ..ClientConfig::new(endpoints[0].clone())
    };
    let wrong = [Endpoint::Http(over_tls.clone()), Endpoint::Https(over_http.clone())];
    let remedies = ["use https:// instead of http://", "say http:// instead of https://"];
    for (wrong, remedy) in wrong.iter().zip(remedies) {
        let config = config(std::slice::from_ref(wrong));
        for error in [
            Client::connect(config.clone()).await.unwrap_err(),
            Client::status(&config).await.unwrap_err(),
            Client::observe(&config, "a").unwrap().next().await.unwrap_err(),
        ] {
            let ClientError::Mismatched(why) = &error else { panic!("{wrong}: {error}") };
            assert!(why.contains(remedy) && why.matches(&wrong.to_string()).count() == 1, "{why}");
        }
        let down = Endpoint::Http("127.0.0.1:1".to_string());
        let may_come = Client::connect(ClientConfig {
            endpoints: vec![wrong.clone(), down],
            ..config.clone()
        });
        let error = may_come.await.unwrap_err();
        assert!(matches!(error, ClientError::Unreachable(_)), "{error}");
    }
    for right in [Endpoint::Https(over_tls), Endpoint::Http(over_http)] {
        let [first, second] = wrong.clone();
        Client::connect(config(&[first, second, right])).await.unwrap().close().await.unwrap();
    }
    // As whoever speaks HTTP reads it.
    let mut stranger = protected.http().await;
    stranger.send("GET", "/health", "").await;
    let refused = stranger.answer().await.unwrap();
    assert_eq!((refused.status, refused.json()["code"].as_str()), (400, Some("tls-only")));
    protected.stop().await;
    plain.stop().await;
}

#[tokio::test]
async fn a_revoked_certificate_is_refused_without_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::init(folder.path(), "test", false).unwrap();
    authority.issue_node(MemberId::at(0), &[], false).unwrap();
    let clients = ["alice", "bob"].map(|name| {
        authority.issue_client(name, false).unwrap();
        Identity::read(folder.path(), &format!("client-{name}")).unwrap()
    });
    let node = Identity::read(folder.path(), "node-1").unwrap();
    let site = Site::start_with(|config| config.identity = Some(node.clone())).await;
    let [alice, bob] = clients.map(|identity| client_config(&site, Some(identity)));
    assert!(Client::status(&alice).await.is_ok() && Client::status(&bob).await.is_ok());
    authority.revoke(&[authority.issued().read("client-alice").unwrap().serial]).unwrap();
    let renewed = Identity::read(folder.path(), "node-1").unwrap();
    renewed.check().unwrap();
    let config =
        |identity: Identity| ApiConfig { identity: Some(identity), ..ApiConfig::default() };
    site.api.renew(&config(renewed.clone())).unwrap();
    for error in [
        Client::status(&alice).await.unwrap_err(),
        Client::connect(alice.clone()).await.unwrap_err(),
        Client::observe(&alice, "a").unwrap().next().await.unwrap_err(),
    ] {
        let cause = "the node refuses this client's certificate: it was revoked";
        assert!(matches!(&error, ClientError::Mismatched(why) if why.contains(cause)), "{error}");
    }
    assert!(Client::status(&bob).await.is_ok());
    // What cannot be used changes nothing.
    let broken = Identity { revoked: Some("nothing".into()), ..renewed };
    assert!(site.api.renew(&config(broken)).is_err());
    assert!(Client::status(&alice).await.is_err());
    assert!(Client::status(&bob).await.is_ok());
    site.stop().await;
}

#[tokio::test]
async fn a_certificate_has_the_role_of_its_name() {
    let (node, alice) = identities();
    let role = |certificate: &str| Role {
        name: "deployer".into(),
        token: None,
        certificate: Some(certificate.into()),
        lock: vec!["deploy/".into()],
        list: vec![],
        admin: false,
    };
    let site = Site::start_with(|config| {
        config.identity = Some(node.clone());
        config.roles = vec![role("alice")];
    })
    .await;
    let config = client_config(&site, Some(alice));
    let client = Client::connect(config.clone()).await.unwrap();
    client.lock("deploy/web").await.unwrap().release().await.unwrap();
    let error = client.lock("db").await.unwrap_err();
    assert!(matches!(&error, ClientError::Refused(why) if why.contains("deployer")), "{error}");
    // The role goes to somebody else.
    let changed =
        ApiConfig { identity: Some(node), roles: vec![role("bob")], ..ApiConfig::default() };
    site.api.renew(&changed).unwrap();
    assert!(Client::connect(config).await.is_err());
    site.stop().await;
}
