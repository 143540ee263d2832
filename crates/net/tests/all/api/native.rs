//! The native protocol: it says what HTTP says, survives what no client sends, and the client falls back.

mod conformance;
mod fallback;
mod hostile;
mod pushes;

use skeptron_client::messages::{Acquire, OpenSession, Release};
use skeptron_client::native::{
    Ask, ClientFrame, Greeting, Hello, MAGIC, MOST_ANSWER_BYTES, NodeFrame, Reply, VERSION, put,
    take,
};
use skeptron_member::session::SessionId;
use skeptron_net::Fence;
use skeptron_net::report::NotGranted;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::api::site::{STUCK, Site};

/// A native connection without the real client.
pub(crate) struct Line {
    stream: TcpStream,
    rest: Vec<u8>,
    next: u64,
}

impl Line {
    /// Says hello and is welcome.
    async fn open(site: &Site) -> Self {
        let (line, greeting) = Line::greet(site, Hello { version: VERSION, token: None }).await;
        assert!(matches!(greeting, Some(Greeting::Welcome { version: VERSION })), "{greeting:?}");
        line
    }

    async fn greet(site: &Site, hello: Hello) -> (Self, Option<Greeting>) {
        let mut line = Line::silent(site).await;
        let mut bytes = MAGIC.to_vec();
        put(&hello, &mut bytes);
        line.raw(&bytes).await;
        while line.rest.len() < MAGIC.len() {
            if !line.more().await {
                return (line, None);
            }
        }
        assert_eq!(line.rest[..MAGIC.len()], MAGIC);
        line.rest.drain(..MAGIC.len());
        let greeting = line.frame().await;
        (line, greeting)
    }

    async fn silent(site: &Site) -> Self {
        let stream = TcpStream::connect(site.address()).await.unwrap();
        Line { stream, rest: Vec::new(), next: 1 }
    }

    async fn raw(&mut self, bytes: &[u8]) {
        // Whoever is refused may find the connection closed.
        let _ = self.stream.write_all(bytes).await;
    }

    /// Asks without waiting for the answer; says its number.
    async fn send(&mut self, ask: Ask) -> u64 {
        let number = self.next;
        self.next += 1;
        let mut bytes = Vec::new();
        put(&ClientFrame::Ask { number, relay: None, ask }, &mut bytes);
        self.raw(&bytes).await;
        number
    }

    async fn ask(&mut self, ask: Ask) -> Reply {
        let number = self.send(ask).await;
        self.answer(number).await
    }

    /// The answer to this one, which comes before all others.
    async fn answer(&mut self, number: u64) -> Reply {
        match self.word().await {
            Some(NodeFrame::Answer { number: of, reply }) if of == number => reply,
            other => panic!("{other:?}"),
        }
    }

    /// What comes next; none if the connection has ended.
    async fn word(&mut self) -> Option<NodeFrame> {
        self.frame().await
    }

    async fn frame<T: serde::de::DeserializeOwned>(&mut self) -> Option<T> {
        loop {
            if let Some((frame, length)) = take(&self.rest, MOST_ANSWER_BYTES).unwrap() {
                self.rest.drain(..length);
                return Some(frame);
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn more(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let read = tokio::time::timeout(STUCK, self.stream.read(&mut bytes)).await;
        let read = read.expect("something must come").unwrap_or(0);
        self.rest.extend_from_slice(&bytes[..read]);
        read > 0
    }
}

fn open(ttl_ms: u64) -> Ask {
    Ask::Open(OpenSession { ttl_ms, owner: "test".to_string() })
}

fn acquire(session: SessionId, lock: &str, wait_ms: Option<u64>) -> Ask {
    Ask::Acquire(Acquire::exclusive(session, lock.to_string(), wait_ms, None))
}

fn release(session: SessionId, lock: &str, fence: Fence) -> Ask {
    Ask::Release(Release { session, lock: lock.to_string(), fence: Some(fence), request: None })
}

fn fence(reply: Reply) -> Fence {
    match reply {
        Reply::Held(held) => held.fence,
        other => panic!("{other:?}"),
    }
}

fn session(reply: Reply) -> SessionId {
    match reply {
        Reply::Opened(opened) => opened.0.session,
        other => panic!("{other:?}"),
    }
}

/// The status, the code and the reason of a refusal.
fn refusal(reply: Reply) -> (u16, String, Option<Box<NotGranted>>) {
    match reply {
        Reply::Refused(refused) => (refused.status, refused.problem.0.code, refused.problem.0.why),
        other => panic!("{other:?}"),
    }
}
