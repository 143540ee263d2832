use std::sync::mpsc;
use std::time::Duration;

use futures_util::StreamExt as _;

use super::*;

/// Longer than anything here takes, so that a test fails rather than hangs.
const PATIENCE: Duration = Duration::from_secs(60);

fn task(within: Duration) -> Task<Progress> {
    Task { within, ..Task::new("skeptron check lamport".into()) }
}

async fn all(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), 1 << 20);
    let bytes = tokio::time::timeout(PATIENCE, body).await.expect("it ends").expect("it is whole");
    String::from_utf8(bytes.to_vec()).expect("it is text")
}

#[tokio::test]
async fn what_is_told_comes_in_order_and_the_result_last() {
    let told = all(Jobs::new(1).stream(task(PATIENCE), |sender| {
        sender.tell("rows", &[1, 2])?;
        sender.tell("rows", &[3])?;
        Ok(7)
    }));
    let told = told.await;
    assert_eq!(
        told,
        "event: rows\ndata: [1,2]\n\nevent: rows\ndata: [3]\n\nevent: result\ndata: 7\n\n"
    );
}

#[tokio::test]
async fn a_job_that_takes_too_long_is_stopped_and_names_the_command() {
    let (ended, end) = mpsc::channel();
    let response = Jobs::new(1).stream(task(Duration::from_millis(50)), move |sender| {
        while sender.check().is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
        ended.send(()).expect("the test waits");
        Ok(())
    });
    let told = all(response).await;
    assert!(told.starts_with("event: error\n") && told.contains("0.05 s"), "{told}");
    assert!(told.contains("run it in a terminal") && told.contains("skeptron check lamport"));
    end.recv_timeout(PATIENCE).expect("the work has ended, too");
}

#[tokio::test]
async fn a_mistake_or_a_panic_is_an_error() {
    let jobs = Jobs::new(1);
    let mistake: fn(&EventSender) -> Result<()> = |_| anyhow::bail!("there is no such thing");
    let told = all(jobs.stream(task(PATIENCE), mistake)).await;
    assert_eq!(told, "event: error\ndata: {\"error\":\"there is no such thing\"}\n\n");
    let panic: fn(&EventSender) -> Result<()> = |_| panic!("on purpose");
    let told = all(jobs.stream(task(PATIENCE), panic)).await;
    assert!(told.contains("please report it"), "{told}");
    assert!(all(jobs.stream(task(PATIENCE), |_| Ok(1))).await.contains("result"), "it goes on");
}

#[tokio::test]
async fn closing_the_stream_stops_the_work() {
    let (ended, end) = mpsc::channel();
    let response = Jobs::new(1).stream(task(PATIENCE), move |sender| {
        sender.tell("begun", &())?;
        while sender.check().is_ok() {
            thread::sleep(Duration::from_millis(1));
        }
        ended.send(()).expect("the test waits");
        Ok(())
    });
    let mut body = response.into_body().into_data_stream();
    assert!(body.next().await.is_some());
    drop(body);
    let waited = tokio::task::spawn_blocking(move || end.recv_timeout(PATIENCE));
    waited.await.expect("it waits").expect("the work has ended");
}

#[tokio::test]
async fn whoever_does_not_read_keeps_a_job_waiting_but_not_for_ever() {
    let (ended, end) = mpsc::channel();
    let response = Jobs::new(1).stream(task(Duration::from_millis(200)), move |sender| {
        let mut told = 0;
        while sender.tell("rows", &"x".repeat(1000)).is_ok() {
            told += 1;
        }
        ended.send(told).expect("the test waits");
        Ok(())
    });
    let waited = tokio::task::spawn_blocking(move || end.recv_timeout(PATIENCE));
    let told = waited.await.expect("it waits").expect("the work has ended");
    assert_eq!(told, UNREAD, "no more is kept than has room");
    drop(response);
}

#[tokio::test]
async fn others_wait_for_a_place() {
    let jobs = Jobs::new(1);
    let (go, gone) = mpsc::channel::<()>();
    let first = jobs.stream(task(PATIENCE), move |_| Ok(gone.recv_timeout(PATIENCE).is_ok()));
    tokio::task::yield_now().await;
    let mut second = jobs.stream(task(PATIENCE), |_| Ok(2)).into_body().into_data_stream();
    let told = second.next().await.expect("it says so").expect("it is whole");
    assert!(String::from_utf8_lossy(&told).contains(WAITING), "{told:?}");
    go.send(()).expect("the first waits");
    assert!(all(first).await.contains("data: true"));
    let told = second.next().await.expect("its turn").expect("it is whole");
    assert!(String::from_utf8_lossy(&told).contains("data: 2"), "{told:?}");
}
