//! Sessions at several nodes, among which locks are divided by their names.

use std::sync::{Arc, OnceLock};

use skeptron_types::{fnv1a, fnv1a_after};
use tokio::sync::Mutex;

use crate::nodes::Nodes;
use crate::session::Session;
use crate::{Client, ClientConfig, ClientError, Endpoint, Guard};

/// A session at each endpoint, opened when it is first needed. A lock is acquired at the endpoint that its name
/// selects, so programs whose pools have the same endpoints, in any order, acquire it at the same node: it need not
/// be fetched from another one. That only saves messages: locks exclude each other whatever the endpoints are.
///
/// If the selected node is down, the session is opened at the next endpoint; if it fails later, the session moves.
///
/// Tasks of one program share a pool, or each has a pool of [`ClientPool::another`] if their sessions are to end
/// separately.
#[derive(Debug)]
pub struct ClientPool {
    owner: String,
    shards: Vec<Shard>,
}

#[derive(Debug)]
struct Shard {
    /// Its own endpoint first, the others after it.
    config: ClientConfig,
    /// The hash of its own endpoint.
    hash: u64,
    /// The connections, for all pools that share them.
    nodes: Arc<OnceLock<Arc<Nodes>>>,
    client: Mutex<Option<Client>>,
}

impl ClientPool {
    /// A pool over `config.endpoints`. Nothing is sent yet.
    #[must_use]
    pub fn new(config: &ClientConfig) -> Self {
        let shard = |place| {
            let mut config = config.clone();
            config.endpoints.rotate_left(place);
            let hash = hash_of(&config.endpoints[0]);
            Shard { config, hash, nodes: Arc::default(), client: Mutex::default() }
        };
        let shards = (0..config.endpoints.len()).map(shard).collect();
        ClientPool { owner: config.owner.clone(), shards }
    }

    /// A pool with sessions of its own that uses the connections of this one: however many there are, one native
    /// connection to each node carries them all.
    #[must_use]
    pub fn another(&self, owner: &str) -> Self {
        let shard = |shard: &Shard| Shard {
            config: shard.config.clone(),
            hash: shard.hash,
            nodes: Arc::clone(&shard.nodes),
            client: Mutex::default(),
        };
        ClientPool { owner: owner.to_string(), shards: self.shards.iter().map(shard).collect() }
    }

    /// The client for locks and elections of this name. Opens a session if there is none yet, or the last one
    /// has ended; guards of the former one stay lost.
    ///
    /// # Errors
    /// As [`Client::connect`].
    pub async fn client(&self, name: &str) -> Result<Client, ClientError> {
        let shard = self.shards.iter().max_by_key(|shard| weight(shard.hash, name));
        let Some(shard) = shard else { return Err(ClientError::unanswered(&[])) };
        let mut client = shard.client.lock().await;
        if let Some(client) = client.as_ref().filter(|client| client.session.is_valid()) {
            return Ok(client.clone());
        }
        let nodes = match shard.nodes.get() {
            Some(nodes) => nodes,
            None => {
                let nodes = Arc::new(Nodes::new(&shard.config)?);
                shard.nodes.get_or_init(|| nodes)
            }
        };
        let session = Session::open(Arc::clone(nodes), &self.owner).await?;
        Ok(client.insert(Client { session }).clone())
    }

    /// Waits for the lock. The future may be dropped at any time.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn lock(&self, name: &str) -> Result<Guard, ClientError> {
        self.client(name).await?.lock(name).await
    }
}

/// Rendezvous hashing: the endpoint with the largest weight is selected. One endpoint more or less changes the
/// selection only of the names that it gains or loses.
fn weight(endpoint: u64, name: &str) -> u64 {
    let hash = fnv1a_after(endpoint, name.bytes());
    // The last byte of a name hardly reaches the upper bits, which decide.
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

fn hash_of(endpoint: &Endpoint) -> u64 {
    // The last byte is in no text: where the endpoint ends is part of the hash.
    fnv1a(endpoint.to_string().bytes().chain([0xff]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(count: usize) -> Vec<Endpoint> {
        (1..=count).map(|host| format!("http://10.0.0.{host}:7470").parse().unwrap()).collect()
    }

    fn selected<'a>(endpoints: &'a [Endpoint], name: &str) -> &'a Endpoint {
        endpoints.iter().max_by_key(|endpoint| weight(hash_of(endpoint), name)).unwrap()
    }

    fn names() -> impl Iterator<Item = String> {
        (0..3000).map(|number| format!("orders/{number}"))
    }

    #[test]
    fn names_are_spread_evenly() {
        let endpoints = endpoints(3);
        for endpoint in &endpoints {
            let count = names().filter(|name| selected(&endpoints, name) == endpoint).count();
            assert!((900..1100).contains(&count), "{endpoint} has {count} of 3000 names");
        }
    }

    #[test]
    fn the_order_of_the_endpoints_does_not_matter() {
        let (endpoints, mut turned) = (endpoints(4), endpoints(4));
        turned.rotate_left(1);
        assert!(names().all(|name| selected(&endpoints, &name) == selected(&turned, &name)));
    }

    #[test]
    fn one_endpoint_less_moves_only_its_names() {
        let endpoints = endpoints(4);
        let (last, fewer) = endpoints.split_last().unwrap();
        for name in names().filter(|name| selected(&endpoints, name) != last) {
            assert_eq!(selected(fewer, &name), selected(&endpoints, &name), "{name}");
        }
    }

    #[tokio::test]
    async fn a_pool_without_endpoints_says_so() {
        let config =
            ClientConfig { endpoints: Vec::new(), ..ClientConfig::new(endpoints(1).remove(0)) };
        let refused = ClientPool::new(&config).lock("a").await.unwrap_err();
        assert_eq!(refused, ClientError::Unreachable("no endpoint was given".to_string()));
    }
}
