//! Who is let in, by which way.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use skeptron_client::{Client, ClientConfig, ClientError, Endpoint};
use skeptron_net::api::{Api, ApiConfig, ApiError};
use tokio::net::{TcpStream, UnixStream};

use crate::api::site::{Http, Site, cluster, config};

#[tokio::test]
async fn a_token_is_asked_for_where_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.sock");
    let site = Site::start_with(|config| {
        config.token = Some("s3cret".into());
        config.unix = Some(path.clone());
    })
    .await;
    for shown in [None, Some("Bearer wrong"), Some("Basic s3cret"), Some("Bearer s3cret")] {
        let status = if shown == Some("Bearer s3cret") { 200 } else { 401 };
        let mut tcp = site.http().await;
        let mut unix = Http::over(UnixStream::connect(&path).await.unwrap());
        if let Some(shown) = shown {
            tcp = tcp.with_header("authorization", shown);
            unix = unix.with_header("authorization", shown);
        }
        for asked in ["/v1/status", "/v1/locks", "/metrics", "/openapi.json"] {
            assert_eq!(tcp.get(asked).await.status, status, "{shown:?} {asked}");
            assert_eq!(unix.get(asked).await.status, status, "{shown:?} {asked}");
        }
        assert_eq!(tcp.post("/v1/sessions", json!({"ttl_ms": 1000})).await.status, status);
        assert_eq!(tcp.get("/health").await.status, 200);
    }
    let known = ClientConfig { token: Some("s3cret".into()), ..site.client_config() };
    Client::connect(known).await.unwrap().lock("a").await.unwrap().release().await.unwrap();
    let error = Client::connect(site.client_config()).await.unwrap_err();
    assert!(matches!(&error, ClientError::Refused(why) if why.contains("Bearer")), "{error}");
    let unsayable = ClientConfig { token: Some("a\nb".into()), ..site.client_config() };
    assert_eq!(Client::connect(unsayable).await.unwrap_err(), ClientError::Token);
    site.stop().await;
}

#[tokio::test]
async fn pages_of_others_cannot_steer_a_browser_here() {
    let site = Site::start().await;
    let own = format!("http://{}", site.address());
    let host = site.address().to_string();
    let cases = [
        (host.as_str(), None, 200),
        (host.as_str(), Some(own.as_str()), 200),
        (host.as_str(), Some("http://evil.example"), 403),
        (host.as_str(), Some("null"), 403),
        ("evil.example:7470", None, 403),
        ("evil.example:7470", Some("http://evil.example:7470"), 403),
    ];
    for (host, origin, status) in cases {
        let mut http = site.http().await.with_header("host", host);
        if let Some(origin) = origin {
            http = http.with_header("origin", origin);
        }
        assert_eq!(http.get("/v1/status").await.status, status, "{host} {origin:?}");
    }
    site.stop().await;
}

#[tokio::test]
async fn an_api_open_to_the_network_does_not_start() {
    let cluster = cluster(1).await;
    let start = async |config: ApiConfig| Api::start(cluster.nodes[0].clone(), config).await;
    let open = |token: Option<&str>| ApiConfig {
        listen: vec!["127.0.0.1:0".into(), "0.0.0.0:0".into()],
        token: token.map(str::to_string),
        ..config()
    };
    let error = start(open(None)).await.unwrap_err();
    assert!(matches!(&error, ApiError::Open(at) if at == "0.0.0.0:0"), "{error}");
    assert!(matches!(start(open(Some(""))).await.unwrap_err(), ApiError::EmptyToken));
    let api = start(open(Some("s3cret"))).await.unwrap();
    let port = api.addresses()[1].port();
    let mut http = Http::over(TcpStream::connect(("127.0.0.1", port)).await.unwrap());
    assert_eq!(http.get("/v1/status").await.status, 401);
    let mut http =
        http.with_header("authorization", "Bearer s3cret").with_header("host", "any.name");
    assert_eq!(http.get("/v1/status").await.status, 200);
    let taken = ApiConfig { listen: vec![api.addresses()[0].to_string()], ..config() };
    let error = start(taken).await.unwrap_err();
    assert!(error.to_string().contains(&api.addresses()[0].to_string()), "{error}");
    api.shutdown().await;
    cluster.shutdown().await;
}

#[tokio::test]
async fn a_unix_socket_is_its_owners_and_survives_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.sock");
    let by_path = |config: &mut ApiConfig| {
        config.listen.clear();
        config.unix = Some(path.clone());
    };
    // A file that a dead process left.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let site = Site::start_with(by_path).await;
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let config = ClientConfig::new(Endpoint::Unix(path.clone()));
    let client = Client::connect(config.clone()).await.unwrap();
    client.lock("a").await.unwrap().release().await.unwrap();
    assert_eq!(Client::status(&config).await.unwrap().node, site.node().id());
    // One that is used is left alone.
    let second = ApiConfig { listen: vec![], unix: Some(path.clone()), ..ApiConfig::default() };
    let error = Api::start(site.node().clone(), second).await.unwrap_err();
    assert!(error.to_string().contains("api.sock"), "{error}");
    assert_eq!(Client::status(&config).await.unwrap().node, site.node().id());
    site.stop().await;
    assert!(!path.exists());
    // What is no socket is never removed.
    std::fs::write(&path, "precious").unwrap();
    let cluster = cluster(1).await;
    let config = ApiConfig { listen: vec![], unix: Some(path.clone()), ..ApiConfig::default() };
    assert!(Api::start(cluster.nodes[0].clone(), config).await.is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    cluster.shutdown().await;
}

#[tokio::test]
async fn further_paths_are_behind_the_same_door() {
    let cluster = cluster(1).await;
    let lab = axum::Router::new().route("/lab", axum::routing::get(async || "a page"));
    let config = ApiConfig { token: Some("t".into()), ..config() };
    let api = Api::start_with(cluster.nodes[0].clone(), config, lab).await.unwrap();
    let mut http = Http::over(TcpStream::connect(api.addresses()[0]).await.unwrap());
    assert_eq!(http.get("/lab").await.status, 401);
    let mut http = http.with_header("authorization", "Bearer t");
    assert_eq!(http.get("/lab").await.text, "a page");
    api.shutdown().await;
    cluster.shutdown().await;
}
