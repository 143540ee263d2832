//! The nodes that a session can go to: those that were given, and those that nodes have named since.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use hyper::StatusCode;

use crate::UNPOISONED;
use crate::connection::{CallError, Caller, Unanswered, joined};
use crate::endpoint::is_loopback;
use crate::env;
use crate::{ClientConfig, ClientError, Endpoint};

/// A node that has not answered for so long is asked beside the next one.
const SILENT_FOR: Duration = Duration::from_millis(500);

/// As many are remembered at once.
const MOST_NAMED: usize = 32;

#[derive(Debug)]
pub(crate) struct Nodes {
    config: ClientConfig,
    given: Vec<Arc<Caller>>,
    named: Mutex<Vec<Arc<Caller>>>,
}

impl Nodes {
    pub(crate) fn new(config: &ClientConfig) -> Result<Self, ClientError> {
        let given = config.endpoints.iter().map(|it| Caller::new(it, config).map(Arc::new));
        let given = given.collect::<Result<Vec<_>, _>>()?;
        Ok(Nodes { config: config.clone(), given, named: Mutex::default() })
    }

    pub(crate) fn config(&self) -> &ClientConfig {
        &self.config
    }

    fn named(&self) -> MutexGuard<'_, Vec<Arc<Caller>>> {
        self.named.lock().expect(UNPOISONED)
    }

    /// All of them, those that were given first.
    pub(crate) fn all(&self) -> Vec<Arc<Caller>> {
        self.given.iter().chain(&*self.named()).cloned().collect()
    }

    /// A node says where the others are: former ones may have gone.
    pub(crate) fn replace(&self, urls: &[String]) {
        if !urls.is_empty() {
            let former = std::mem::take(&mut *self.named());
            self.add_with(urls, &former);
        }
    }

    /// A node that refuses says where others are.
    pub(crate) fn add(&self, urls: &[String]) {
        self.add_with(urls, &[]);
    }

    fn add_with(&self, urls: &[String], former: &[Arc<Caller>]) {
        if !self.config.discovery {
            return;
        }
        let endpoints = urls.iter().filter_map(|url| url.parse().ok());
        let mut named = self.named();
        for endpoint in endpoints.filter(|endpoint| may_go(&self.config, endpoint)) {
            let is_it = |caller: &&Arc<Caller>| *caller.endpoint() == endpoint;
            if named.len() >= MOST_NAMED || self.given.iter().chain(&*named).any(|it| is_it(&it)) {
                continue;
            }
            // Its connections may be used again.
            let known = former.iter().find(is_it).cloned();
            let made = || Caller::new(&endpoint, &self.config).map(Arc::new).ok();
            named.extend(known.or_else(made));
        }
    }

    /// What the first node says that answers and can do it: one that cannot names others.
    pub(crate) async fn first<A, F>(
        &self,
        ask: impl Fn(Arc<Caller>) -> F,
    ) -> Result<(Arc<Caller>, A), ClientError>
    where
        F: Future<Output = Result<A, CallError>>,
    {
        let (mut unanswered, mut unavailable) = (Vec::new(), None);
        let (mut place, mut asked) = (0, FuturesUnordered::new());
        loop {
            let next = self.all().get(place).cloned();
            let is_last = next.is_none();
            if let Some(caller) = next {
                place += 1;
                let answer = ask(Arc::clone(&caller));
                asked.push(async { (caller, answer.await) });
            }
            // One that is silent for a while does not keep the others from being asked.
            let answer = tokio::select! {
                answer = asked.next() => answer,
                () = env::sleep(SILENT_FOR), if !is_last => continue,
            };
            match answer {
                None => break,
                Some((caller, Err(CallError::Unreachable(why)))) => {
                    unanswered.push(why.at(caller.endpoint()));
                }
                Some((caller, Err(CallError::Refused(status, problem))))
                    if status == StatusCode::SERVICE_UNAVAILABLE =>
                {
                    self.add(&problem.nodes);
                    unanswered.push(Unanswered::now(problem.error).at(caller.endpoint()));
                    let causes = problem.why.map_or_else(Vec::new, |why| why.causes);
                    unavailable = unavailable.filter(|_| causes.is_empty()).or(Some(causes));
                }
                Some((caller, answer)) => return Ok((caller, answer?)),
            }
        }
        Err(match unavailable {
            Some(causes) => ClientError::Unavailable { error: joined(&unanswered), causes },
            None => ClientError::unanswered(&unanswered),
        })
    }
}

/// Whether a client that was configured like this may follow such an address. What was protected stays so,
/// and a token goes unprotected only if it already does.
fn may_go(config: &ClientConfig, endpoint: &Endpoint) -> bool {
    let given = |is: fn(&Endpoint) -> bool| config.endpoints.iter().any(is);
    let is_near = |endpoint: &Endpoint| match endpoint {
        Endpoint::Http(address) | Endpoint::Https(address) => is_loopback(address),
        Endpoint::Unix(_) => true,
    };
    let is_plain = |endpoint: &Endpoint| matches!(endpoint, Endpoint::Http(_));
    let is_safe = match endpoint {
        Endpoint::Https(_) => config.identity.is_some(),
        Endpoint::Http(_) => {
            let over_tls = given(|endpoint| matches!(endpoint, Endpoint::Https(_)));
            !over_tls && (config.token.is_none() || given(is_plain))
        }
        // A file of another machine.
        Endpoint::Unix(_) => false,
    };
    // The loopback interface of another machine is not this one's.
    is_safe && (!is_near(endpoint) || given(is_near))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::Identity;

    fn config(endpoints: &[&str], token: bool, identity: bool) -> ClientConfig {
        let endpoints = endpoints.iter().map(|text| text.parse().unwrap()).collect();
        let empty = || Identity {
            authority: String::new(),
            certificate: String::new(),
            key: String::new(),
            revoked: None,
        };
        ClientConfig {
            endpoints,
            token: token.then(|| "s3cret".to_string()),
            identity: identity.then(empty),
            ..ClientConfig::new(Endpoint::Http(String::new()))
        }
    }

    #[test]
    fn what_was_protected_stays_protected() {
        let (tls, plain, unix) = (["https://a:1"], ["http://a:1"], ["unix:/x"]);
        let cases: [(&[&str], bool, bool, &str, bool); 12] = [
            (&tls, false, true, "https://b:1", true),
            (&tls, false, true, "http://b:1", false),
            (&tls, true, true, "http://b:1", false),
            (&["https://a:1", "http://a:2"], true, true, "http://b:1", false),
            (&plain, false, false, "http://b:1", true),
            (&plain, true, false, "http://b:1", true),
            (&plain, true, false, "https://b:1", false),
            (&unix, false, false, "http://b:1", true),
            (&unix, true, false, "http://b:1", false),
            (&unix, false, false, "http://127.0.0.1:1", true),
            (&plain, false, false, "http://127.0.0.1:1", false),
            (&plain, false, false, "unix:/y", false),
        ];
        for (given, token, identity, named, may) in cases {
            let config = config(given, token, identity);
            let asked = format!("{given:?}, token {token}: {named}");
            assert_eq!(may_go(&config, &named.parse().unwrap()), may, "{asked}");
        }
    }

    #[test]
    fn named_nodes_are_few_and_forgotten_when_others_are_named() {
        let nodes = Nodes::new(&config(&["http://a:1"], false, false)).unwrap();
        let urls = |nodes: &Nodes| {
            nodes.all().iter().map(|it| it.endpoint().to_string()).collect::<Vec<_>>()
        };
        let named = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        nodes.replace(&named(&["http://b:1", "http://a:1", "nonsense ", "http://c:1"]));
        nodes.add(&named(&["http://d:1", "http://b:1"]));
        assert_eq!(urls(&nodes), ["http://a:1", "http://b:1", "http://c:1", "http://d:1"]);
        let many: Vec<String> = (1..100).map(|port| format!("http://e:{port}")).collect();
        nodes.replace(&many);
        assert_eq!(nodes.all().len(), 1 + MOST_NAMED);
        assert!(!urls(&nodes).contains(&"http://b:1".to_string()));
        let only = ClientConfig { discovery: false, ..config(&["http://a:1"], false, false) };
        let only = Nodes::new(&only).unwrap();
        only.replace(&many);
        assert_eq!(urls(&only), ["http://a:1"]);
    }
}
