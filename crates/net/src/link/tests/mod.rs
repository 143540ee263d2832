//! Tests of the links on the loopback interface; those of their rules are in the member crate.

mod certificates;
mod hostile;
mod loopback;
mod speed;
mod views;

use skeptron_core::mutex::sharing::Register;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use skeptron_member::MemberId;
use skeptron_member::plan::{Plan, Plans};
use skeptron_member::view::View;
use skeptron_member::wire::{Envelope, Payload};

use super::block::Blocked;
use super::listen::Listener;
use super::{Inbox, LinkSender, Links, draw_incarnation};
use crate::config::{Config, Membership, Security};
use crate::env;
use crate::observe::Observer;

/// No test of links takes longer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Listeners on ports that the system chooses, and their addresses.
fn listeners(nodes: usize) -> (Vec<std::net::TcpListener>, Vec<String>) {
    let bind = |_| std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listeners: Vec<_> = (0..nodes).map(bind).collect();
    let addresses = listeners.iter().map(|l| l.local_addr().unwrap().to_string()).collect();
    (listeners, addresses)
}

/// A configuration that connects fast and gives up soon.
fn config(node: usize, addresses: &[String]) -> Config {
    let plans = Plans::new(Plan::named(Plan::DEFAULT).unwrap());
    let mut config = Config::new(MemberId::at(node), addresses.to_vec(), plans);
    config.limits.backoff_first = Duration::from_millis(1);
    config.limits.backoff_longest = Duration::from_millis(50);
    config
}

/// The links of all nodes of a system, not yet started.
fn links_of(nodes: usize, change: impl Fn(&mut Config)) -> Vec<Arc<Links>> {
    let (listeners, addresses) = listeners(nodes);
    let link = |(node, listener)| {
        let mut config = config(node, &addresses);
        change(&mut config);
        links(&config, listener)
    };
    listeners.into_iter().enumerate().map(link).collect()
}

/// Where the members are.
fn addresses(config: &Config) -> Vec<String> {
    match &config.membership {
        Membership::Fixed(members) => members.clone(),
        _ => unreachable!("these tests have a fixed membership"),
    }
}

fn links(config: &Config, listener: std::net::TcpListener) -> Arc<Links> {
    let view = Arc::new(View::of_addresses(1, addresses(config)));
    links_in(config, draw_incarnation(), view, listener)
}

fn links_in(
    config: &Config,
    incarnation: u64,
    view: Arc<View>,
    listener: std::net::TcpListener,
) -> Arc<Links> {
    let observer = Arc::new(Observer::new(config.node));
    let listener =
        Listener::new(config, listener, Blocked::default(), Arc::clone(&observer)).unwrap();
    let listener = Arc::new(listener);
    let links = Links::new(config, incarnation, view, &listener, observer);
    listener.serve(&links);
    links
}

/// Takes note of the numbers that arrive, by sender.
struct Notebook {
    numbers: Mutex<Vec<Vec<u64>>>,
    troubles: Mutex<Vec<String>>,
}

impl Notebook {
    fn new(nodes: usize) -> Arc<Self> {
        let numbers = Mutex::new(vec![Vec::new(); nodes]);
        Arc::new(Notebook { numbers, troubles: Mutex::default() })
    }

    fn from(&self, node: usize) -> Vec<u64> {
        self.numbers.lock().unwrap()[node].clone()
    }

    fn count(&self) -> usize {
        self.numbers.lock().unwrap().iter().map(Vec::len).sum()
    }
}

impl Inbox for Notebook {
    fn receive(&self, from: MemberId, _: u64, envelope: &Envelope<'_>) {
        let Payload::Message { fence, .. } = envelope.payload else { return };
        self.numbers.lock().unwrap()[from.place()].push(fence);
    }

    fn cannot_go_on(&self, why: String) {
        self.troubles.lock().unwrap().push(why);
    }
}

/// A message that carries a number.
fn numbered(number: u64) -> Envelope<'static> {
    padded(number, b"")
}

/// A message that carries a number, and more bytes.
fn padded(number: u64, message: &[u8]) -> Envelope<'_> {
    Envelope {
        epoch: 1,
        payload: Payload::Message {
            lock: "orders/42",
            fence: number,
            register: Register::default(),
            message,
        },
    }
}

/// Waits until that is so.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = env::now();
    while !holds() {
        assert!(env::now().since(began) < PATIENCE, "waited too long until {what}");
        env::sleep(Duration::from_millis(2)).await;
    }
}
