//! Whatever is sent, the node goes on.

use skeptron_etcd_api::proto::v3lockpb::UnlockRequest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;

use crate::services::{campaign, grant, lock};
use crate::site::{Site, within};

#[tokio::test]
async fn garbage_before_and_after_the_preface_ends_only_its_connection() {
    let site = Site::start(1).await;
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    let endless_headers: &[u8] = &[0, 0, 4, 1, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff];
    let long_frame: &[u8] = &[0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1];
    for sent in [
        b"\xff\xfe\0\0\0\0".to_vec(),
        b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_vec(),
        [PREFACE, b"\0\0\0\0\0\0\0\0\0\0"].concat(),
        [PREFACE, settings, endless_headers].concat(),
        [PREFACE, settings, long_frame].concat(),
        b"POST /v3/lease/grant HTTP/1.1\r\ncontent-length: -1\r\n\r\n".to_vec(),
    ] {
        let mut stream = TcpStream::connect(site.at(0)).await.unwrap();
        stream.write_all(&sent).await.unwrap();
        stream.shutdown().await.unwrap();
        // Whatever it says to that.
        let _ = within(stream.read_to_end(&mut Vec::new())).await;
    }
    let mut clients = site.clients(0).await;
    assert!(grant(&mut clients, 60, 0).await > 0);
    assert_eq!(site.cluster.nodes[0].observer().failure(), None);
}

#[tokio::test]
async fn what_is_too_much_is_answered() {
    let site = Site::start_with(1, |config| config.sessions = 3).await;
    let mut clients = site.clients(0).await;
    let lease = grant(&mut clients, 60, 0).await;
    let long = "x".repeat(300);
    for name in ["", "a\nb", long.as_str()] {
        let refused = clients.lock.lock(lock(name, lease)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    }
    let refused = clients.election.campaign(campaign("e", lease, &[b'x'; 5000])).await;
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    let refused = clients.lock.unlock(UnlockRequest { key: vec![b'x'; 1 << 20] }).await;
    assert!(matches!(refused.unwrap_err().code(), Code::OutOfRange | Code::ResourceExhausted));
    grant(&mut clients, 60, 0).await;
    grant(&mut clients, 60, 0).await;
    let full = clients.lock.lock(lock("a", 0)).await.unwrap_err();
    assert_eq!(full.code(), Code::ResourceExhausted, "{full}");
    let body = format!("{{\"name\":\"{}\"}}", "A".repeat(100_000));
    assert_eq!(site.post(0, "/v3/lock/lock", &body).await.0, 400);
}

#[tokio::test]
async fn services_that_are_not_here_are_unimplemented() {
    let site = Site::start(1).await;
    let clients = site.clients(0).await;
    let mut grpc = tonic::client::Grpc::with_origin(
        clients.channel,
        hyper::Uri::from_static("http://127.0.0.1"),
    );
    for path in ["/etcdserverpb.KV/Range", "/etcdserverpb.Watch/Watch", "/nobody.Knows/It"] {
        grpc.ready().await.unwrap();
        let codec = tonic_prost::ProstCodec::<UnlockRequest, UnlockRequest>::default();
        let request = tonic::Request::new(UnlockRequest::default());
        let refused = grpc.unary(request, path.parse().unwrap(), codec).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unimplemented, "{path}: {refused}");
        assert!(refused.message().contains("Lease, Lock and Election"), "{refused}");
    }
}
