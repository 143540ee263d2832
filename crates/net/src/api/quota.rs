//! How much one client may have: sessions, acquires that wait, and names of locks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use skeptron_member::session::{SessionId, SessionReport};

use super::error::RequestError;
use super::roles::Client;

/// How much one client may have, at one node. A client is a role, or whoever has the certificate of one
/// name; all that show the same token count as one. None of these is limited unless it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Connections.
    pub connections: Option<usize>,
    /// Connections of one address, whoever it is.
    pub address_connections: Option<usize>,
    /// Sessions.
    pub sessions: Option<usize>,
    /// Acquires that wait.
    pub waiters: Option<usize>,
    /// Names of locks that it holds or waits for.
    pub names: Option<usize>,
    /// Elections that it observes, each observer counted.
    pub observers: Option<usize>,
}

/// What each client has.
#[derive(Debug)]
pub(super) struct Ledger {
    quota: Quota,
    accounts: Mutex<Accounts>,
}

#[derive(Debug, Default)]
struct Accounts {
    owners: BTreeMap<SessionId, Arc<str>>,
    clients: BTreeMap<Arc<str>, Account>,
    /// With so many sessions it is looked which of them have ended.
    look_at: usize,
}

#[derive(Debug, Default)]
struct Account {
    /// The names that each session holds or waits for, as far as they are counted.
    sessions: BTreeMap<SessionId, BTreeSet<String>>,
    waiters: usize,
    observers: usize,
}

impl Account {
    fn names(&self) -> usize {
        self.sessions.values().map(BTreeSet::len).sum()
    }
}

/// An acquire that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    ledger: Arc<Ledger>,
    client: Arc<str>,
}

/// An observer of an election.
#[derive(Debug)]
pub(super) struct Observing {
    ledger: Arc<Ledger>,
    client: Arc<str>,
}

impl Ledger {
    pub(super) fn new(quota: Quota) -> Self {
        Ledger { quota, accounts: Mutex::default() }
    }

    fn accounts(&self) -> MutexGuard<'_, Accounts> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client may open another session; `look` says what there is of one.
    ///
    /// # Errors
    /// If it has too many.
    pub(super) fn may_open(
        &self,
        client: &Client,
        look: impl Fn(SessionId) -> Option<SessionReport>,
    ) -> Result<(), RequestError> {
        let mut accounts = self.accounts();
        let has = |accounts: &Accounts| {
            accounts.clients.get(client.name()).map_or(0, |account| account.sessions.len())
        };
        let full =
            |accounts: &Accounts| self.quota.sessions.is_some_and(|most| has(accounts) >= most);
        if full(&accounts) || accounts.owners.len() >= accounts.look_at {
            accounts.sweep(look);
        }
        if full(&accounts) { Err(RequestError::Quota("sessions")) } else { Ok(()) }
    }

    /// Whether the session is counted already.
    pub(super) fn knows(&self, session: SessionId) -> bool {
        self.accounts().owners.contains_key(&session)
    }

    /// The client has opened it.
    pub(super) fn opened(&self, client: &Client, session: SessionId) {
        let accounts = &mut *self.accounts();
        accounts.owners.insert(session, Arc::clone(client.name()));
        let account = accounts.clients.entry(Arc::clone(client.name())).or_default();
        account.sessions.entry(session).or_default();
    }

    /// It has ended.
    pub(super) fn closed(&self, session: SessionId) {
        let accounts = &mut *self.accounts();
        if let Some(owner) = accounts.owners.remove(&session)
            && let Some(account) = accounts.clients.get_mut(&owner)
        {
            account.sessions.remove(&session);
        }
    }

    /// Whether the client may use this session: with a role, only one that the role opened.
    ///
    /// # Errors
    /// If it is somebody else's.
    pub(super) fn check(&self, client: &Client, session: SessionId) -> Result<(), RequestError> {
        if client.is_bound()
            && let Some(owner) = self.accounts().owners.get(&session)
            && owner != client.name()
        {
            return Err(client.denied("use the session of another client".to_string()));
        }
        Ok(())
    }

    /// The client begins an acquire, which waits until the answer is dropped.
    ///
    /// # Errors
    /// If too many of its acquires wait, or it has too many names.
    pub(super) fn acquire(
        self: &Arc<Self>,
        client: &Client,
        (session, lock): (SessionId, &str),
        look: impl Fn(SessionId) -> Option<SessionReport>,
    ) -> Result<Waiting, RequestError> {
        let mut accounts = self.accounts();
        let names = |accounts: &Accounts| {
            let account = accounts.clients.get(client.name());
            let has = |account: &Account| {
                account.sessions.get(&session).is_some_and(|names| names.contains(lock))
            };
            match account {
                Some(account) if !has(account) => account.names(),
                _ => 0,
            }
        };
        if let Some(most) = self.quota.names {
            if names(&accounts) >= most {
                accounts.sweep(look);
            }
            if names(&accounts) >= most {
                return Err(RequestError::Quota("names of locks"));
            }
        }
        let account = accounts.clients.entry(Arc::clone(client.name())).or_default();
        if self.quota.waiters.is_some_and(|most| account.waiters >= most) {
            return Err(RequestError::Quota("acquires that wait"));
        }
        account.waiters += 1;
        if self.quota.names.is_some()
            && let Some(names) = account.sessions.get_mut(&session)
        {
            names.insert(lock.to_string());
        }
        Ok(Waiting { ledger: Arc::clone(self), client: Arc::clone(client.name()) })
    }

    /// The client begins to observe an election, until the answer is dropped.
    ///
    /// # Errors
    /// If it observes too many.
    pub(super) fn observe(self: &Arc<Self>, client: &Client) -> Result<Observing, RequestError> {
        let mut accounts = self.accounts();
        let account = accounts.clients.entry(Arc::clone(client.name())).or_default();
        if self.quota.observers.is_some_and(|most| account.observers >= most) {
            return Err(RequestError::Quota("observers of elections"));
        }
        account.observers += 1;
        Ok(Observing { ledger: Arc::clone(self), client: Arc::clone(client.name()) })
    }

    /// The session neither holds the lock any more nor waits for it.
    pub(super) fn dropped(&self, session: SessionId, lock: &str) {
        if self.quota.names.is_none() {
            return;
        }
        let accounts = &mut *self.accounts();
        if let Some(owner) = accounts.owners.get(&session)
            && let Some(account) = accounts.clients.get_mut(owner)
            && let Some(names) = account.sessions.get_mut(&session)
        {
            names.remove(lock);
        }
    }
}

impl Accounts {
    /// Forgets what there is no more: sessions end, and lose locks, without a word to this.
    fn sweep(&mut self, look: impl Fn(SessionId) -> Option<SessionReport>) {
        for account in self.clients.values_mut() {
            account.sessions.retain(|&session, names| {
                let Some(report) = look(session) else {
                    self.owners.remove(&session);
                    return false;
                };
                let held = report.held.into_iter().map(|held| held.lock);
                let present: BTreeSet<String> = held.chain(report.waiting).collect();
                names.retain(|name| present.contains(name));
                true
            });
        }
        self.clients.retain(|_, account| {
            account.waiters > 0 || account.observers > 0 || !account.sessions.is_empty()
        });
        self.look_at = 2 * self.owners.len() + 64;
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(account) = self.ledger.accounts().clients.get_mut(&self.client) {
            account.waiters -= 1;
        }
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        if let Some(account) = self.ledger.accounts().clients.get_mut(&self.client) {
            account.observers -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn report(waiting: &[&str]) -> SessionReport {
        let waiting = waiting.iter().map(|name| name.to_string()).collect();
        SessionReport { owner: String::new(), ttl: Duration::ZERO, held: Vec::new(), waiting }
    }

    #[test]
    fn what_has_ended_does_not_count() {
        let quota = Quota { sessions: Some(2), ..Quota::default() };
        let ledger = Ledger::new(quota);
        let alice = Client::free("alice");
        let alive = |_| Some(report(&[]));
        for number in 0..2 {
            ledger.may_open(&alice, alive).unwrap();
            ledger.opened(&alice, SessionId(number));
        }
        assert!(matches!(ledger.may_open(&alice, alive), Err(RequestError::Quota(_))));
        ledger.may_open(&Client::free("bob"), alive).unwrap();
        ledger.closed(SessionId(0));
        ledger.may_open(&alice, alive).unwrap();
        ledger.opened(&alice, SessionId(2));
        // One has expired meanwhile.
        ledger.may_open(&alice, |id| (id != SessionId(1)).then(|| report(&[]))).unwrap();
        for number in 10..10_000 {
            let client = Client::free(&format!("client {number}"));
            ledger.may_open(&client, |_| None).unwrap();
            ledger.opened(&client, SessionId(number));
        }
        assert!(ledger.accounts().owners.len() < 200, "what has ended is not kept for ever");
    }

    #[test]
    fn names_and_waiters_are_counted_until_they_are_given_back() {
        let quota = Quota { names: Some(2), waiters: Some(2), ..Quota::default() };
        let ledger = Arc::new(Ledger::new(quota));
        let (alice, session) = (Client::free("alice"), SessionId(1));
        ledger.opened(&alice, session);
        let look = |_| Some(report(&["a", "b"]));
        let first = ledger.acquire(&alice, (session, "a"), look).unwrap();
        let _second = ledger.acquire(&alice, (session, "b"), look).unwrap();
        let said = |refused: Result<Waiting, RequestError>| refused.unwrap_err().to_string();
        assert!(said(ledger.acquire(&alice, (session, "c"), look)).contains("names"));
        assert!(said(ledger.acquire(&alice, (session, "b"), look)).contains("wait"));
        drop(first);
        ledger.acquire(&alice, (session, "b"), look).unwrap();
        ledger.dropped(session, "a");
        ledger.acquire(&alice, (session, "c"), look).unwrap();
        // The session has lost `b` meanwhile.
        let lost = |_| Some(report(&["c"]));
        ledger.acquire(&alice, (session, "d"), lost).unwrap();
    }

    #[test]
    fn observers_are_counted_until_they_go() {
        let quota = Quota { observers: Some(1), ..Quota::default() };
        let (ledger, alice) = (Arc::new(Ledger::new(quota)), Client::free("alice"));
        let first = ledger.observe(&alice).unwrap();
        assert!(matches!(ledger.observe(&alice), Err(RequestError::Quota(_))));
        ledger.observe(&Client::free("bob")).unwrap();
        drop(first);
        ledger.observe(&alice).unwrap();
    }
}
