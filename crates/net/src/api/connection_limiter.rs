//! Connections of clients: how many there are, and which go first when there are too many.
//!
//! A connection belongs to a *stranger* until a request on it was let in. Strangers never take a place
//! from anybody else: the oldest of the address that has the most of them is cut for whoever comes. Of
//! the others, those go first that are idle and belong to no session; and beside all places there is a
//! reserve in which a session can still be kept alive and its locks be given back.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use skeptron_member::clock::MonoTime;
use tokio::sync::Notify;

use super::error::RequestError;
use crate::env;
use crate::observe::Observer;

/// Strangers that one address may have in any case: an honest client may open some at once.
const LEAST_STRANGERS: usize = 8;
/// A stranger that was cut sooner may have been about to ask.
const TIME_TO_ASK: Duration = Duration::from_millis(150);
/// Refusals of one address that are answered without delay, and when they are forgotten.
const FREE_REFUSALS: u32 = 20;
const FORGOTTEN_AFTER: Duration = Duration::from_secs(60);
/// By how much each further one is slower, and the slowest.
const SLOWER_BY: Duration = Duration::from_millis(25);
const SLOWEST: Duration = Duration::from_secs(1);
/// Addresses whose refusals are remembered.
const MOST_ADDRESSES: usize = 10_000;
/// How often refusals are logged.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// All connections of a site.
#[derive(Debug)]
pub(super) struct ConnectionLimiter {
    /// Places for those that were let in.
    most: usize,
    /// Further places, for strangers and for sessions in need.
    reserve: usize,
    /// Connections of one address at most, if there is such a limit.
    of_address: Option<usize>,
    state: Mutex<State>,
    observer: Arc<Observer>,
    gone: Notify,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    open: BTreeMap<u64, Connection>,
    known: usize,
    /// The strangers of each address, the oldest first.
    strangers: BTreeMap<Option<IpAddr>, BTreeSet<u64>>,
    /// How many connections each address has.
    addresses: BTreeMap<Option<IpAddr>, usize>,
    /// How often each address was refused, and since when that is counted.
    refused: BTreeMap<Option<IpAddr>, (u32, MonoTime)>,
    /// When each kind of refusal was logged last, and how many there were since.
    logged: BTreeMap<&'static str, (MonoTime, u64)>,
}

#[derive(Debug)]
struct Connection {
    address: Option<IpAddr>,
    /// Who was let in; none for a stranger.
    client: Option<Arc<str>>,
    in_session: bool,
    requests: usize,
    /// Since when it is as it is.
    since: MonoTime,
    cut: Arc<Notify>,
}

/// One connection; its place is free when this is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    limiter: Arc<ConnectionLimiter>,
    number: u64,
    pub(super) address: Option<IpAddr>,
    /// Strangers come so fast that those before them had no time to ask: the next should come slower.
    pub(super) in_a_rush: bool,
    cut: Arc<Notify>,
}

impl ConnectionLimiter {
    pub(super) fn new(most: usize, of_address: Option<usize>, observer: Arc<Observer>) -> Self {
        let reserve = (most / 8).max(4);
        let (state, gone) = (Mutex::default(), Notify::new());
        ConnectionLimiter { most, reserve, of_address, state, observer, gone }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for whoever comes; somebody else may lose its own.
    ///
    /// # Errors
    /// If all are taken by those that were let in, or the address has too many.
    pub(super) fn enter(
        self: &Arc<Self>,
        address: Option<IpAddr>,
    ) -> Result<ConnectionSlot, RequestError> {
        let mut state = self.state();
        let here = state.addresses.get(&address).copied().unwrap_or(0);
        if self.of_address.is_some_and(|most| here >= most) {
            return Err(RequestError::Quota("connections of one address"));
        }
        let all = self.most + self.reserve;
        let of_here = state.strangers.get(&address);
        let losers =
            if of_here.is_some_and(|strangers| strangers.len() >= (all / 4).max(LEAST_STRANGERS)) {
                of_here
            } else if state.open.len() >= all {
                state.strangers.values().max_by_key(|strangers| strangers.len())
            } else {
                None
            };
        let (now, mut in_a_rush) = (env::now(), false);
        if let Some(&oldest) = losers.and_then(BTreeSet::first) {
            let came = state.open.get(&oldest).map(|connection| connection.since);
            in_a_rush = came.is_some_and(|came| now.since(came) < TIME_TO_ASK);
            state.cut(oldest);
            self.observer.api_cut.inc();
        }
        if state.open.len() >= all && !self.cut_idle(&mut state) {
            return Err(RequestError::TooManyConnections);
        }
        let (number, cut) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        let connection = Connection {
            address,
            client: None,
            in_session: false,
            requests: 0,
            since: now,
            cut: Arc::clone(&cut),
        };
        state.open.insert(number, connection);
        state.strangers.entry(address).or_default().insert(number);
        *state.addresses.entry(address).or_default() += 1;
        self.count(&state);
        drop(state);
        Ok(ConnectionSlot { limiter: Arc::clone(self), number, address, in_a_rush, cut })
    }

    /// Cuts the connection that has been idle longest and belongs to no session; whether there is one.
    fn cut_idle(&self, state: &mut State) -> bool {
        let idle = state.open.iter().filter(|(_, connection)| {
            connection.client.is_some() && connection.requests == 0 && !connection.in_session
        });
        let longest =
            idle.min_by_key(|(_, connection)| connection.since).map(|(number, _)| *number);
        longest.inspect(|&number| {
            state.cut(number);
            self.observer.api_cut.inc();
        });
        longest.is_some()
    }

    fn count(&self, state: &State) {
        let set = |kind, count: usize| {
            let labels = crate::observe::ConnectionLabels { kind };
            self.observer.api_connections.get_or_create(&labels).set(count as i64);
        };
        set("known", state.known);
        set("stranger", state.open.len() - state.known);
    }

    /// A request was refused: counts it, logs it now and then, and says for how long to hold the answer
    /// back.
    pub(super) fn refused(
        &self,
        address: Option<IpAddr>,
        code: &'static str,
        said: &str,
    ) -> Duration {
        self.observer.api_refused.get_or_create(&crate::observe::CodeLabels { code }).inc();
        let (mut state, now) = (self.state(), env::now());
        if state.refused.len() >= MOST_ADDRESSES {
            state.refused.clear();
        }
        let (count, since) = state.refused.entry(address).or_insert((0, now));
        if now.since(*since) > FORGOTTEN_AFTER {
            (*count, *since) = (0, now);
        }
        *count += 1;
        let delay = (SLOWER_BY * count.saturating_sub(FREE_REFUSALS)).min(SLOWEST);
        let is_new = !state.logged.contains_key(code);
        let (logged, more) = state.logged.entry(code).or_insert((now, 0));
        *more += 1;
        if is_new || now.since(*logged) >= LOG_EVERY {
            let from = address.map_or_else(|| "unix".to_string(), |address| address.to_string());
            tracing::warn!(
                code,
                requests = *more,
                last_from = from,
                "clients were rejected: {said}"
            );
            (*logged, *more) = (now, 0);
        }
        delay
    }

    /// Waits until every connection has ended.
    pub(super) async fn all_gone(&self) {
        loop {
            let gone = self.gone.notified();
            if self.state().open.is_empty() {
                return;
            }
            gone.await;
        }
    }
}

impl State {
    /// Takes the place from its connection, which notices in a moment.
    fn cut(&mut self, number: u64) {
        if let Some(connection) = self.remove(number) {
            connection.cut.notify_one();
        }
    }

    fn remove(&mut self, number: u64) -> Option<Connection> {
        let connection = self.open.remove(&number)?;
        let address = connection.address;
        match connection.client {
            Some(_) => self.known -= 1,
            None => self.is_known(number, address),
        }
        if let Some(count) = self.addresses.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                self.addresses.remove(&address);
            }
        }
        Some(connection)
    }

    /// It is no stranger any more.
    fn is_known(&mut self, number: u64, address: Option<IpAddr>) {
        if let Some(strangers) = self.strangers.get_mut(&address) {
            strangers.remove(&number);
            if strangers.is_empty() {
                self.strangers.remove(&address);
            }
        }
    }
}

impl ConnectionSlot {
    /// Waits until somebody else gets the place.
    pub(super) async fn cut(&self) {
        self.cut.notified().await;
    }

    /// A request of this client was let in. With a place only by the reserve it may do no more than
    /// what a session needs, and `Ok(false)` says that it should go then.
    ///
    /// # Errors
    /// If there are too many of this client's, or of all.
    pub(super) fn begin(
        &self,
        client: &Arc<str>,
        for_session: bool,
        quota: Option<usize>,
    ) -> Result<bool, RequestError> {
        let mut state = self.limiter.state();
        let Some(own) = state.open.get(&self.number) else {
            return Err(RequestError::TooManyConnections);
        };
        if own.client.is_none() {
            let same = state.open.values().filter(|other| other.client.as_ref() == Some(client));
            let refusal = if quota.is_some_and(|most| same.count() >= most) {
                Some(RequestError::Quota("connections"))
            } else if state.known >= self.limiter.most && !self.limiter.cut_idle(&mut state) {
                Some(RequestError::TooManyConnections)
            } else {
                None
            };
            match refusal {
                Some(_) if for_session => return Ok(false),
                Some(refusal) => return Err(refusal),
                None => {
                    state.known += 1;
                    state.is_known(self.number, self.address);
                }
            }
        }
        if let Some(own) = state.open.get_mut(&self.number) {
            own.client = Some(Arc::clone(client));
            own.requests += 1;
        }
        self.limiter.count(&state);
        Ok(true)
    }

    /// The answer of a request that had begun is on its way.
    pub(super) fn end(&self, in_session: bool) {
        if let Some(own) = self.limiter.state().open.get_mut(&self.number) {
            own.requests = own.requests.saturating_sub(1);
            own.in_session |= in_session;
            own.since = env::now();
        }
    }

    /// Something was refused; for how long to hold the answer back.
    pub(super) fn refused(&self, code: &'static str, said: &str) -> Duration {
        self.limiter.refused(self.address, code, said)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut state = self.limiter.state();
        state.remove(self.number);
        self.limiter.count(&state);
        drop(state);
        self.limiter.gone.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use skeptron_member::MemberId;

    use super::*;

    fn limiter(most: usize) -> Arc<ConnectionLimiter> {
        Arc::new(ConnectionLimiter::new(most, None, Arc::new(Observer::new(MemberId::at(0)))))
    }

    fn address(last: u8) -> Option<IpAddr> {
        Some([10, 0, 0, last].into())
    }

    fn is_cut(place: &ConnectionSlot) -> bool {
        place.cut().now_or_never().is_some()
    }

    #[test]
    fn strangers_are_cut_for_whoever_comes_those_of_the_busiest_address_first() {
        let limiter = limiter(32);
        let alice: Arc<str> = "alice".into();
        let holder = limiter.enter(address(1)).unwrap();
        assert!(holder.begin(&alice, true, None).unwrap());
        let few: Vec<ConnectionSlot> = (0..5).map(|_| limiter.enter(address(2)).unwrap()).collect();
        let many: Vec<ConnectionSlot> =
            (0..1000).map(|_| limiter.enter(address(3)).unwrap()).collect();
        // A quarter of 36 places for one address.
        assert_eq!(many.iter().filter(|place| !is_cut(place)).count(), 9);
        assert!(!is_cut(many.last().unwrap()), "the newest stays");
        for place in 4..200 {
            std::mem::forget(limiter.enter(address(place)).unwrap());
        }
        assert!(!is_cut(&holder));
        assert!(few.iter().filter(|place| !is_cut(place)).count() <= 5);
        assert!(limiter.state().open.len() <= 36);
    }

    #[test]
    fn when_all_places_are_used_a_session_still_has_the_reserve() {
        let limiter = limiter(3);
        let alice: Arc<str> = "alice".into();
        let busy: Vec<ConnectionSlot> =
            (0..3).map(|_| limiter.enter(address(1)).unwrap()).collect();
        for place in &busy {
            assert!(place.begin(&alice, false, None).unwrap());
        }
        let late = limiter.enter(address(1)).unwrap();
        assert!(matches!(late.begin(&alice, false, None), Err(RequestError::TooManyConnections)));
        assert!(!late.begin(&alice, true, None).unwrap(), "it should go then");
        // One that is idle and belongs to no session makes room.
        busy[0].end(true);
        assert!(late.begin(&alice, false, None).is_err());
        busy[1].end(false);
        assert!(late.begin(&alice, false, None).unwrap());
        assert!(is_cut(&busy[1]) && !is_cut(&busy[0]));
    }

    #[test]
    fn a_client_has_its_share_and_an_address_its_own() {
        let observer = Arc::new(Observer::new(MemberId::at(0)));
        let limiter = Arc::new(ConnectionLimiter::new(100, Some(3), observer));
        let (alice, bob): (Arc<str>, Arc<str>) = ("alice".into(), "bob".into());
        let places: Vec<ConnectionSlot> =
            (0..3).map(|_| limiter.enter(address(1)).unwrap()).collect();
        assert!(matches!(limiter.enter(address(1)), Err(RequestError::Quota(_))));
        assert!(places[0].begin(&alice, false, Some(1)).unwrap());
        assert!(matches!(places[1].begin(&alice, false, Some(1)), Err(RequestError::Quota(_))));
        assert!(places[1].begin(&bob, false, Some(1)).unwrap());
        drop(places);
        limiter.enter(address(1)).unwrap();
    }

    #[test]
    fn refusals_are_slowed_after_the_first_few() {
        let limiter = limiter(3);
        let delays: Vec<Duration> =
            (0..100).map(|_| limiter.refused(address(1), "stranger", "")).collect();
        assert!(delays[..20].iter().all(Duration::is_zero));
        assert!(delays.is_sorted() && delays[99] == SLOWEST);
        assert!(limiter.refused(address(2), "stranger", "").is_zero());
    }
}
