//! Clusters whose views are kept in a real etcd. Where `etcd` is not installed these tests say so and
//! show nothing.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)] // Tests wait in real time.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use skeptron_net::{Config, EtcdConfig, EtcdTls, LeaseSettings, Membership, Node, Plan, Plans};

use crate::common::{addresses, id, members, started, until, within};

const LEASE: Duration = Duration::from_secs(2);

/// One etcd, killed when this is dropped.
struct Server {
    program: PathBuf,
    folder: tempfile::TempDir,
    client: String,
    peer: String,
    child: Option<Child>,
    /// With certificates of this folder.
    tls: Option<PathBuf>,
}

impl Server {
    /// None, and said so, where there is no etcd.
    fn start(tls: Option<PathBuf>) -> Option<Self> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let mut programs = std::env::split_paths(&folders).map(|folder| folder.join("etcd"));
        let Some(program) = programs.find(|path| path.is_file()) else {
            eprintln!("SKIPPED: `etcd` is not installed, so nothing was tested");
            return None;
        };
        let [client, peer] = addresses(2).try_into().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut server = Server { program, folder, client, peer, child: None, tls };
        server.run();
        Some(server)
    }

    fn run(&mut self) {
        let log = File::create(self.folder.path().join("log")).unwrap();
        let (client, peer) = (self.endpoint(), format!("http://{}", self.peer));
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command.arg("--data-dir").arg(self.folder.path().join("data"));
        command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
        command.args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer]);
        command.args(["--initial-cluster", &format!("default={peer}")]);
        if let Some(folder) = &self.tls {
            command.arg("--cert-file").arg(folder.join("node-1.pem"));
            command.arg("--key-file").arg(folder.join("node-1.key"));
            command.arg("--trusted-ca-file").arg(folder.join("ca.pem")).arg("--client-cert-auth");
        }
        self.child = Some(command.spawn().unwrap());
    }

    fn endpoint(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.client)
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().unwrap();
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
    }

    fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

struct Site {
    server: Server,
    addresses: Vec<String>,
}

impl Site {
    fn new(nodes: usize) -> Option<Self> {
        Some(Site { server: Server::start(None)?, addresses: addresses(nodes) })
    }

    fn config(&self, number: u32) -> Config {
        let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
        Config {
            membership: Membership::Etcd(EtcdConfig {
                address: self.addresses[number as usize - 1].clone(),
                // Nobody is at the first one.
                endpoints: vec!["http://127.0.0.1:1".to_string(), self.server.endpoint()],
                tls: None,
                prefix: "/skeptron".to_string(),
                lease: LeaseSettings { lease: LEASE, ..LeaseSettings::default() },
            }),
            ..Config::new(id(number), Vec::new(), plans)
        }
    }

    async fn start(&self, number: u32) -> Node {
        start(|| self.config(number)).await
    }

    async fn all(&self) -> Vec<Node> {
        let mut nodes = Vec::new();
        for number in 1..=self.addresses.len() as u32 {
            nodes.push(self.start(number).await);
        }
        for node in &nodes {
            until("all have met", || members(node).len() == nodes.len()).await;
        }
        nodes
    }
}

async fn start(config: impl Fn() -> Config) -> Node {
    started(|| Node::start(config())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_go_round_and_what_a_killed_member_held_is_free_after_its_lease() {
    let Some(site) = Site::new(3) else { return };
    let nodes = site.all().await;
    let mut last = None;
    for node in nodes.iter().chain(&nodes) {
        let guard = within(node.lock("a")).await.unwrap();
        assert!(Some(guard.fence()) > last);
        last = Some(guard.fence());
        guard.release().await.unwrap();
    }
    let views = nodes[2].status().views;
    assert_eq!((views.kind.as_str(), views.trouble), ("etcd", None));
    assert_eq!(views.endpoints, ["http://127.0.0.1:1".to_string(), site.server.endpoint()]);
    assert_eq!(views.lease_ms, Some(2000));
    let held = within(nodes[2].lock("held-by-third")).await.unwrap();
    let mine = within(nodes[0].lock("held-by-first")).await.unwrap();
    nodes[2].kill();
    assert!(!held.is_valid());
    let first = within(nodes[0].lock("held-by-third")).await.unwrap();
    assert!(first.fence() > held.fence() && first.fence().epoch() > held.fence().epoch());
    assert!(mine.is_valid(), "whoever holds a lock does not pause");
    assert_eq!(members(&nodes[0]), [1, 2]);
    let again = site.start(3).await;
    drop(first);
    let third = within(again.lock("held-by-third")).await.unwrap();
    assert!(third.fence() > held.fence());
    until("it is a member again", || members(&nodes[1]) == [1, 2, 3]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_makes_nobody_wait_for_a_lease() {
    let Some(site) = Site::new(3) else { return };
    let long = |number| {
        let mut config = site.config(number);
        if let Membership::Etcd(etcd) = &mut config.membership {
            etcd.lease.lease = Duration::from_secs(50);
        }
        config
    };
    let mut nodes = Vec::new();
    for number in 1..=2 {
        nodes.push(start(|| long(number)).await);
        within(nodes[0].entered()).await.unwrap();
    }
    until("both have met", || nodes.iter().all(|node| members(node) == [1, 2])).await;
    drop(within(nodes[1].lock("a")).await.unwrap());
    let began = Instant::now();
    nodes[1].shutdown(Duration::ZERO).await;
    drop(within(nodes[0].lock("a")).await.unwrap());
    assert!(began.elapsed() < Duration::from_secs(20), "nobody waited for the lease");
    assert_eq!(members(&nodes[0]), [1]);
}

/// Everything is lost at L_h, nothing is granted meanwhile, and all come back by themselves.
async fn outage(begin: impl FnOnce(&mut Server), end: impl FnOnce(&mut Server)) {
    let Some(mut site) = Site::new(3) else { return };
    let nodes = site.all().await;
    let held = within(nodes[1].lock("a")).await.unwrap();
    let began = Instant::now();
    begin(&mut site.server);
    until("the lease is over", || !held.is_valid()).await;
    assert!(began.elapsed() > LEASE / 2, "renewed a third of a lease ago at most");
    until("all leases are over", || nodes.iter().all(|node| node.status().halted.is_some())).await;
    let trouble = |node: &Node| node.status().views.trouble;
    until("all know why", || nodes.iter().all(|node| trouble(node).is_some())).await;
    let granted = nodes[0].lock_within("b", LEASE).await;
    assert!(!matches!(granted, Ok(Some(_))), "nobody grants without etcd");
    end(&mut site.server);
    let again = within(nodes[0].lock("a")).await.unwrap();
    assert!(again.fence() > held.fence());
    for node in &nodes {
        until("all are back", || members(node) == [1, 2, 3]).await;
        until("etcd answers", || trouble(node).is_none()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_etcd_everything_is_lost_and_comes_back_by_itself() {
    outage(Server::kill, Server::run).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_that_stands_still_is_an_outage_too() {
    outage(|server| server.signal(Signal::SIGSTOP), |server| server.signal(Signal::SIGCONT)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_plans_are_refused() {
    let Some(site) = Site::new(2) else { return };
    let first = site.start(1).await;
    within(first.entered()).await.unwrap();
    let plans = Plans::new(Plan::named("raymond").unwrap());
    let second = start(|| Config { plans: plans.clone(), ..site.config(2) }).await;
    let refused = within(second.entered()).await.unwrap_err().to_string();
    assert!(refused.contains("this member raymond; set `algorithm`"), "{refused}");
    assert_eq!(members(&first), [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fences_rise_over_the_death_of_all_members() {
    let Some(site) = Site::new(3) else { return };
    let nodes = site.all().await;
    let before = within(nodes[1].lock("a")).await.unwrap().fence();
    nodes.iter().for_each(Node::kill);
    drop(nodes);
    let third = site.start(3).await;
    let after = within(third.lock("a")).await.unwrap().fence();
    assert!(after > before);
    assert_eq!(members(&third), [3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn etcd_is_spoken_to_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    let authority = skeptron_net::tls::Authority::init(folder.path(), "etcd", false).unwrap();
    authority.issue_node(id(1), &[], false).unwrap();
    let Some(server) = Server::start(Some(folder.path().to_path_buf())) else { return };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let mut site = Site { server, addresses: addresses(1) };
    let tls =
        EtcdTls { authority: read("ca.pem"), own: Some((read("node-1.pem"), read("node-1.key"))) };
    let config = |site: &Site| {
        let mut config = site.config(1);
        if let Membership::Etcd(etcd) = &mut config.membership {
            etcd.endpoints = vec![site.server.endpoint()];
            etcd.tls = Some(tls.clone());
        }
        config
    };
    let node = start(|| config(&site)).await;
    drop(within(node.lock("a")).await.unwrap());
    site.server.kill();
}
