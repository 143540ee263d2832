//! Frames that no client sends, and limits. Whatever comes, the node goes on answering others.

use skeptron_client::messages::Acquire;
use skeptron_client::native::{
    Ask, ClientFrame, Greeting, Hello, Json, MAGIC, MOST_IN_FLIGHT, MOST_QUESTION_BYTES, NodeFrame,
    Reply, VERSION, put,
};

use super::{Line, acquire, fence, open, refusal, release, session};
use crate::api::site::Site;

/// An honest client is served.
async fn answers(site: &Site) {
    let mut line = Line::open(site).await;
    let id = session(line.ask(open(60_000)).await);
    let held = fence(line.ask(acquire(id, "honest", None)).await);
    assert!(matches!(line.ask(release(id, "honest", held)).await, Reply::Released(true)));
}

#[tokio::test]
async fn what_is_no_frame_ends_that_connection_only() {
    let site = Site::start().await;
    let mut honest = Line::open(&site).await;
    let id = session(honest.ask(open(60_000)).await);
    let too_long = (MOST_QUESTION_BYTES as u32 + 1).to_le_bytes().to_vec();
    let mut trailing = Vec::new();
    put(&(ClientFrame::Cancel { number: 1 }, 7u8), &mut trailing);
    let noise: Vec<u8> =
        (0..4096u32).map(|k| k.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let bad: [Vec<u8>; 6] =
        [too_long, vec![0xff; 64], vec![0, 0, 0, 0], vec![1, 0, 0, 0, 99], trailing, noise];
    for bytes in bad {
        let mut line = Line::open(&site).await;
        line.raw(&bytes).await;
        assert!(line.word().await.is_none(), "the connection ends: {:?}", &bytes[..4]);
        answers(&site).await;
    }
    fence(honest.ask(acquire(id, "a", None)).await);
    site.stop().await;
}

#[tokio::test]
async fn what_is_no_greeting_ends_the_connection() {
    let site = Site::start().await;
    let mut wrong_magic = MAGIC.to_vec();
    wrong_magic[3] ^= 1;
    let mut no_hello = MAGIC.to_vec();
    no_hello.extend([3, 0, 0, 0, 0xff, 0xff, 0xff]);
    for bytes in [wrong_magic, no_hello, vec![0; 64]] {
        let mut line = Line::silent(&site).await;
        line.raw(&bytes).await;
        assert!(line.word().await.is_none());
    }
    let (mut line, greeting) =
        Line::greet(&site, Hello { version: VERSION + 1, token: None }).await;
    let Some(Greeting::Refused(refused)) = greeting else { panic!("{greeting:?}") };
    assert_eq!((refused.status, refused.problem.0.code.as_str()), (400, "invalid"));
    assert!(refused.problem.0.error.contains("version 2"), "{}", refused.problem.0.error);
    assert!(line.word().await.is_none());
    answers(&site).await;
    site.stop().await;
}

#[tokio::test]
async fn a_token_is_asked_for() {
    let site = Site::start_with(|config| config.token = Some("s3cret".into())).await;
    for token in [None, Some("wrong".to_string()), Some("s3cret\r\nx: y".to_string())] {
        let (_, greeting) = Line::greet(&site, Hello { version: VERSION, token }).await;
        let Some(Greeting::Refused(refused)) = greeting else { panic!("{greeting:?}") };
        let Json(problem) = refused.problem;
        assert_eq!((refused.status, problem.code.as_str()), (401, "stranger"));
    }
    let hello = Hello { version: VERSION, token: Some("s3cret".into()) };
    let (mut line, greeting) = Line::greet(&site, hello).await;
    assert!(matches!(greeting, Some(Greeting::Welcome { .. })), "{greeting:?}");
    session(line.ask(open(60_000)).await);
    // A new token counts at once, also for whoever is connected.
    let mut config = crate::api::site::config();
    config.token = Some("other".into());
    site.api.renew(&config).unwrap();
    assert_eq!(refusal(line.ask(open(60_000)).await).1, "stranger");
    site.stop().await;
}

/// No other number is as large.
const FIRST: u64 = 1 << 32;

#[tokio::test]
async fn a_limit_that_is_reached_is_an_answer() {
    let site = Site::start().await;
    let mut line = Line::open(&site).await;
    let id = session(line.ask(open(60_000)).await);
    let held = fence(line.ask(acquire(id, "a", None)).await);
    let mut sessions = Vec::new();
    for _ in 0..128 {
        sessions.push(session(line.ask(open(60_000)).await));
    }
    let mut bytes = Vec::new();
    for number in 0..MOST_IN_FLIGHT {
        let (session, request) = (sessions[number % sessions.len()], Some(number as u64 + 1));
        let ask = Ask::Acquire(Acquire::exclusive(session, "a".into(), None, request));
        put(&ClientFrame::Ask { number: FIRST + number as u64, relay: None, ask }, &mut bytes);
    }
    line.raw(&bytes).await;
    site.waiters(MOST_IN_FLIGHT as u64).await;
    let (status, code, _) = refusal(line.ask(acquire(id, "b", None)).await);
    assert_eq!((status, code.as_str()), (429, "quota"));
    // Those that wait are served one after the other; the first is answered when this is released.
    let number = line.send(release(id, "a", held)).await;
    let first = line.word().await;
    let is_either = |of: u64| of == number || of >= FIRST;
    assert!(
        matches!(first, Some(NodeFrame::Answer { number: of, .. }) if is_either(of)),
        "{first:?}"
    );
    drop(line);
    site.waiters(0).await;
    answers(&site).await;
    site.stop().await;
}

/// Whoever does not read is not heard, and stands in nobody's way.
#[tokio::test]
async fn a_client_that_does_not_read_holds_up_nobody() {
    let site = Site::start().await;
    let mut deaf = Line::open(&site).await;
    let mut bytes = Vec::new();
    for number in 0..20_000 {
        put(&ClientFrame::Ask { number, relay: None, ask: open(0) }, &mut bytes);
    }
    let writing = tokio::time::timeout(std::time::Duration::from_secs(2), deaf.raw(&bytes));
    // It may or may not all be taken.
    let _ = writing.await;
    answers(&site).await;
    site.stop().await;
}
