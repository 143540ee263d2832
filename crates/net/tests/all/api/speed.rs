//! How fast the API is: `cargo test --release -p skeptron-net --test all speed -- --ignored --nocapture`.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use crate::api::site::{Http, Site};

const MEASURED: Duration = Duration::from_secs(3);

async fn measure(what: &str, mut once: impl AsyncFnMut()) {
    let (began, mut count) = (Instant::now(), 0_u32);
    while began.elapsed() < MEASURED {
        once().await;
        count += 1;
    }
    println!("{what:<46} {:>8.0}/s", f64::from(count) / began.elapsed().as_secs_f64());
}

/// What hyper alone makes of a request.
async fn bare() -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let service = hyper::service::service_fn(async |_: Request<hyper::body::Incoming>| {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"{\"well\":true}"))))
        });
        let http = hyper::server::conn::http1::Builder::new();
        let _ = http.serve_connection(TokioIo::new(stream), service).await;
    });
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn speed() {
    let site = Site::start().await;
    let mut bare = Http::over(bare().await);
    measure("bare hyper, one request", async || assert_eq!(bare.get("/").await.status, 200)).await;
    let mut http = site.http().await;
    measure("GET /health", async || assert_eq!(http.get("/health").await.status, 200)).await;
    let session = http.session(3_600_000).await;
    measure("acquire and release, simple client", async || {
        let fence = http.acquire(&session, "a", None).await.fence();
        assert_eq!(http.release(&session, "a", fence).await.status, 200);
    })
    .await;
    let client = site.client().await;
    measure("lock and release, Rust client", async || {
        client.lock("a").await.unwrap().release().await.unwrap();
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("api.sock");
    let by_path = Site::start_with(|config| config.unix = Some(path.clone())).await;
    let endpoint = skeptron_client::Endpoint::Unix(path);
    let config = skeptron_client::ClientConfig::new(endpoint);
    let client = skeptron_client::Client::connect(config).await.unwrap();
    measure("lock and release, Rust client, Unix socket", async || {
        client.lock("a").await.unwrap().release().await.unwrap();
    })
    .await;
    site.stop().await;
    by_path.stop().await;
}
