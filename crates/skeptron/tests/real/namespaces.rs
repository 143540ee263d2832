//! Three hosts, each a network namespace with an interface of its own on one bridge, which the kernel
//! makes slow and lossy. Needs Linux, the right to make namespaces, and `ip` and `tc`; says so where
//! something of that is missing.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::CORES;
use crate::clients::{clients, count_in_a_file, count_in_memory, moves, scaled};
use crate::nodes::{LONG_LEASE, Process, SKEPTRON};

const HOSTS: usize = 3;

/// 10 to 50 ms one way, and one packet of a hundred lost.
const NETEM: &str = "netem delay 30ms 20ms loss 1%";

/// Namespaces, the cables between them and a bridge, all removed when this is dropped.
struct Hosts {
    /// Distinguishes them from those of another run.
    name: String,
}

impl Hosts {
    /// Three hosts `10.77.0.1` to `10.77.0.3` on one bridge, which is in a namespace of its own.
    fn build() -> Result<Self, String> {
        let hosts = Hosts { name: format!("skeptron{}", std::process::id()) };
        let bridge = hosts.bridge();
        ip(&format!("netns add {bridge}"))?;
        ip(&format!("-n {bridge} link add name br0 type bridge"))?;
        ip(&format!("-n {bridge} link set br0 up"))?;
        for number in 1..=HOSTS {
            let host = hosts.host(number);
            ip(&format!("netns add {host}"))?;
            ip(&format!(
                "-n {host} link add eth0 type veth peer name port{number} netns {bridge}"
            ))?;
            ip(&format!("-n {bridge} link set port{number} master br0 up"))?;
            ip(&format!("-n {host} addr add 10.77.0.{number}/24 dev eth0"))?;
            ip(&format!("-n {host} link set eth0 up"))?;
            ip(&format!("-n {host} link set lo up"))?;
        }
        Ok(hosts)
    }

    /// Makes what every host sends late and now and then lost.
    fn slow_down(&self) -> Result<(), String> {
        for number in 1..=HOSTS {
            run(&format!("tc -n {} qdisc add dev eth0 root {NETEM}", self.host(number)))?;
        }
        Ok(())
    }

    fn host(&self, number: usize) -> String {
        format!("{}-{number}", self.name)
    }

    fn bridge(&self) -> String {
        format!("{}-bridge", self.name)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        // The cables go with them. What was not made cannot be removed: nothing to be said of that.
        let names = (1..=HOSTS).map(|number| self.host(number)).chain([self.bridge()]);
        for name in names {
            let _ = ip(&format!("netns del {name}"));
        }
    }
}

fn ip(words: &str) -> Result<(), String> {
    run(&format!("ip {words}"))
}

fn run(command: &str) -> Result<(), String> {
    let mut words = command.split(' ');
    let output = Command::new(words.next().unwrap()).args(words).output();
    let output = output.map_err(|error| format!("`{command}`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("`{command}`: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Says so where it is seen although the test's output is captured.
fn notice(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// One node on each host, with certificates: the network is not the loopback interface.
async fn start(folder: &Path, hosts: &Hosts) -> Vec<Process> {
    let certificates = folder.join("certificates");
    let mut init = Command::new(SKEPTRON);
    init.args(["tls", "init"]).arg(&certificates).args(["--nodes", &HOSTS.to_string()]);
    for number in 1..=HOSTS {
        init.arg("--host").arg(format!("{number}=10.77.0.{number}"));
    }
    let made = init.output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let members: Vec<String> = (1..=HOSTS).map(|k| format!("'10.77.0.{k}:7570'")).collect();
    let settings = format!(
        "{LONG_LEASE}\nvoters = [{}]\n[tls]\nfolder = '{}'",
        members.join(", "),
        certificates.display()
    );
    let start_one = |number: usize| {
        let host = hosts.host(number);
        Process::start(folder, number, &settings, &["ip", "netns", "exec", &host])
    };
    let mut nodes: Vec<Process> = (1..=HOSTS).map(start_one).collect();
    for node in &mut nodes {
        node.until_ready(HOSTS).await;
    }
    nodes
}

/// One test: first the hosts as they are, then with a network that is slow and loses packets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hosts_lose_nothing() {
    let _cores = CORES.lock().await;
    let hosts = match Hosts::build() {
        Ok(hosts) => hosts,
        Err(why) => return notice(&format!("SKIPPED: three hosts in network namespaces: {why}")),
    };
    let folder = TempDir::new().unwrap();
    let nodes = start(folder.path(), &hosts).await;
    count_in_memory(clients(&nodes, 16).await, scaled(50), Duration::ZERO).await;
    if let Err(why) = hosts.slow_down() {
        return notice(&format!("SKIPPED: three hosts with 10 to 50 ms and 1 % loss: {why}"));
    }
    let rest = Duration::from_millis(20);
    let askers = count_in_memory(clients(&nodes, 9).await, scaled(20), rest).await;
    assert!(moves(&askers, HOSTS) > scaled(10), "it hardly moved: {askers:?}");
    count_in_a_file(folder.path(), &nodes, 8, scaled(5)).await;
}
