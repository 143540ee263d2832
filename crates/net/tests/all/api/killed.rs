//! Clients that die without a word: real processes, killed with SIGKILL.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use skeptron_client::{Client, ClientConfig};

use crate::api::site::{STUCK, Site};

const ENDPOINT: &str = "SKEPTRON_TEST_ENDPOINT";

/// What the killed process does: takes `mine` and holds it, then waits for `theirs`.
#[tokio::test]
#[ignore = "run by the other tests in a process of its own"]
async fn takes_one_lock_and_waits_for_another() {
    let Ok(endpoint) = std::env::var(ENDPOINT) else { return };
    let endpoint = endpoint.parse().unwrap();
    let config = ClientConfig { ttl: Duration::from_secs(1), ..ClientConfig::new(endpoint) };
    let client = Client::connect(config).await.unwrap();
    let _mine = client.lock("mine").await.unwrap();
    println!("\nholding");
    let _theirs = client.lock("theirs").await;
    tokio::time::sleep(STUCK).await;
}

/// A child that does not outlive the test.
struct Victim(Child);

impl Victim {
    fn start(site: &Site) -> Self {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "api::killed::takes_one_lock_and_waits_for_another"])
            .args(["--ignored", "--nocapture"])
            .env(ENDPOINT, format!("http://{}", site.address()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut victim = Victim(child);
        let output = BufReader::new(victim.0.stdout.take().unwrap());
        let held = output.lines().any(|line| line.unwrap() == "holding");
        assert!(held, "the child must get its lock");
        victim
    }

    /// With SIGKILL.
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have been killed already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_client_leaves_the_queue_at_once_and_gives_back_after_its_ttl() {
    let site = Site::start().await;
    let client = site.client().await;
    let theirs = client.lock("theirs").await.unwrap();
    let mut victim = tokio::task::block_in_place(|| Victim::start(&site));
    site.waiters(1).await;
    assert!(client.try_lock("mine").await.unwrap().is_none());
    tokio::task::block_in_place(|| victim.kill());
    // Its connection is gone, and so is its wait.
    site.waiters(0).await;
    // Its session goes when its time is over, and so does its lock.
    let mine = tokio::time::timeout(STUCK, client.lock("mine")).await;
    mine.expect("it is given back").unwrap().release().await.unwrap();
    assert_eq!(site.node().observer().expired_sessions.get(), 1);
    // What it waited for goes to the next.
    theirs.release().await.unwrap();
    client.try_lock("theirs").await.unwrap().expect("nobody waits").release().await.unwrap();
    site.stop().await;
}
