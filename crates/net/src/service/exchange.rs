//! Words between nodes about views: they may be lost, and need neither a link nor a view.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use skeptron_member::clock::MonoTime;
use skeptron_member::link::handshake::{Caller, HandshakeRefusal};
use skeptron_member::wire::{append_frame, decode};
use skeptron_member::{Limits, MemberId};
use skeptron_views::Packet;
use skeptron_views::protocol::{Answer, Request};
use skeptron_views::voter::{Admin, AdminAccepted, AdminRefused, Standing};
use tokio::sync::{mpsc, watch};

use crate::env;
use crate::link::block::Blocked;
use crate::link::connect::{ConnectError, Protection, ServiceConnection, call_service};
use crate::link::listen::ServiceAcceptor;
use crate::tls::{Identity, TlsError};

/// What nodes say to each other about views.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ViewMessage {
    /// From voter to voter.
    Packet(Packet),
    /// From a member to a voter.
    Request(Request),
    /// From a voter to a member.
    Answer(Answer),
    /// An administrator's order, to whoever leads.
    Order {
        /// Of the order, at whoever sends it.
        number: u64,
        order: Admin,
    },
    /// What became of an order.
    Ordered { number: u64, result: Result<AdminAccepted, AdminRefused> },
    /// What the sender's clock shows.
    Clock(MonoTime),
    /// How the voters stand, from whoever leads.
    Standings(Vec<(u64, Standing)>),
}

impl ViewMessage {
    /// Whether something is heard of the other side soon, if it is there.
    fn is_answered(&self) -> bool {
        matches!(self, ViewMessage::Packet(_) | ViewMessage::Request(_) | ViewMessage::Order { .. })
    }
}

/// How long a connection may be silent after something was said on it, before it counts as broken.
const SILENCE: Duration = Duration::from_millis(1500);
/// How long a call may take.
const CALL_WITHIN: Duration = Duration::from_secs(2);
/// How long a connection may be of no use to either side.
const IDLE: Duration = Duration::from_secs(30);
/// Words that wait for one connection at most; more are lost.
const MOST_WAITING: usize = 256;

/// A word has come from a node.
pub(super) type Heard = (MemberId, ViewMessage);

/// The connections of a node to others, for words about views.
pub(super) struct Exchange {
    cluster: String,
    me: MemberId,
    protection: Protection,
    blocked: Blocked,
    limits: Limits,
    heard: mpsc::Sender<Heard>,
    state: Mutex<State>,
    is_closed: watch::Sender<bool>,
    /// Counts certificates.
    renewed: watch::Sender<u64>,
    /// Itself, for the tasks of its connections, which end with it.
    myself: Weak<Exchange>,
}

#[derive(Default)]
struct State {
    /// The cluster's number, once known.
    number: Option<u128>,
    addresses: BTreeMap<MemberId, String>,
    /// The connection with each node on which something was heard last, and its number: so both sides
    /// settle on one of two that were made at once.
    lines: BTreeMap<MemberId, Line>,
    connections: u64,
    /// The last trouble of calling each node, so that each is told once.
    troubles: BTreeMap<MemberId, Trouble>,
}

/// Why a node could not be called.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trouble {
    why: String,
    /// Somebody answered there: it is not only that nothing runs yet.
    is_answered: bool,
}

#[derive(Clone)]
struct Line {
    number: u64,
    words: mpsc::Sender<ViewMessage>,
}

impl Exchange {
    pub(super) fn new(
        (cluster, me): (String, MemberId),
        (protection, blocked): (Protection, Blocked),
        limits: Limits,
        addresses: BTreeMap<MemberId, String>,
        heard: mpsc::Sender<Heard>,
    ) -> Arc<Self> {
        let state = Mutex::new(State { addresses, ..State::default() });
        Arc::new_cyclic(|myself| Exchange {
            cluster,
            me,
            protection,
            blocked,
            limits,
            heard,
            state,
            is_closed: watch::Sender::new(false),
            renewed: watch::Sender::new(0),
            myself: myself.clone(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cluster has this number; others of its name are strangers.
    pub(super) fn set_number(&self, number: u128) {
        self.state().number = Some(number);
    }

    /// Nodes are found there, from now on.
    pub(super) fn set_addresses(&self, known: &BTreeMap<MemberId, String>) {
        let others = known.iter().filter(|(id, _)| **id != self.me);
        self.state().addresses.extend(others.map(|(&id, address)| (id, address.clone())));
    }

    /// Which of these nodes belongs to a cluster of this name, if one that answers in that time does.
    pub(super) async fn begun(
        &self,
        nodes: impl Iterator<Item = MemberId>,
        within: Duration,
    ) -> Option<MemberId> {
        let ask = |to| async move {
            let address = self.state().addresses.get(&to).cloned()?;
            // No cluster has this number: whoever has one refuses.
            let caller = Caller { to, number: Some(0), ..self.myself() };
            let calling = call_service(&self.protection, self.limits.frame_bytes, address, caller);
            let called = env::timeout(within, calling).await?;
            let is_refused = matches!(
                called,
                Err(ConnectError::RefusedThere { refusal: HandshakeRefusal::Namesake { .. }, .. })
            );
            is_refused.then_some(to)
        };
        let asked = nodes.filter(|&id| id != self.me).map(ask);
        futures_util::future::join_all(asked).await.into_iter().flatten().next()
    }

    /// New connections have these certificates from now on; present ones end.
    ///
    /// # Errors
    /// If they cannot be used; then the former ones stay.
    pub(super) fn renew(&self, identity: &Identity) -> Result<(), TlsError> {
        self.protection.renew(identity)?;
        self.renewed.send_modify(|count| *count += 1);
        Ok(())
    }

    /// Closes all connections.
    pub(super) fn stop(&self) {
        self.is_closed.send_replace(true);
        let mut state = self.state();
        state.addresses.clear();
        state.lines.clear();
    }

    /// The last trouble of reaching a node, until it is reached.
    pub(super) fn trouble(&self, id: MemberId) -> Option<String> {
        self.state().troubles.get(&id).map(|trouble| trouble.why.clone())
    }

    /// Whether a node answered when it was called last, if only to refuse.
    pub(super) fn answered(&self, id: MemberId) -> bool {
        let state = self.state();
        let is_connected = state.lines.contains_key(&id) && !state.troubles.contains_key(&id);
        is_connected || state.troubles.get(&id).is_some_and(|trouble| trouble.is_answered)
    }

    /// Sends a word by the newest connection with a node, or calls it. It may be lost.
    pub(super) fn send(&self, to: MemberId, word: ViewMessage) {
        if self.blocked.contains(to) {
            return;
        }
        let mut state = self.state();
        let word = match state.lines.entry(to) {
            Entry::Occupied(line) => match line.get().words.try_send(word) {
                // A full one is stuck: what is lost is said again.
                Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => return,
                Err(mpsc::error::TrySendError::Closed(word)) => {
                    line.remove();
                    word
                }
            },
            Entry::Vacant(_) => word,
        };
        let Some(address) = state.addresses.get(&to).cloned() else { return };
        let Some(exchange) = self.myself.upgrade() else { return };
        let (line, words) = state.line(to);
        drop(state);
        // There is room for the first one.
        let _ = line.words.try_send(word);
        tokio::spawn(async move {
            let called = env::timeout(CALL_WITHIN, exchange.call(to, address)).await;
            match called.unwrap_or(Err(ConnectError::TooSlow)) {
                Ok(connection) => {
                    exchange.state().troubles.remove(&to);
                    exchange.hold(connection, &line, words).await;
                }
                Err(error) => exchange.complain(to, &error),
            }
            exchange.hang_up(to, line.number);
        });
    }

    async fn call(&self, to: MemberId, address: String) -> Result<ServiceConnection, ConnectError> {
        let caller = Caller { to, ..self.myself() };
        call_service(&self.protection, self.limits.frame_bytes, address, caller).await
    }

    fn complain(&self, about: MemberId, error: &ConnectError) {
        let is_answered = matches!(
            error,
            ConnectError::RefusedHere { .. }
                | ConnectError::RefusedThere { .. }
                | ConnectError::Stranger(_)
                | ConnectError::Frame(_)
                | ConnectError::Io(_)
        );
        let trouble = Trouble { why: error.to_string(), is_answered };
        let former = self.state().troubles.insert(about, trouble.clone());
        if former.as_ref() != Some(&trouble) {
            tracing::warn!(peer = %about, why = trouble.why, "no connection for views");
        }
    }

    fn hang_up(&self, peer: MemberId, number: u64) {
        let mut state = self.state();
        if state.lines.get(&peer).is_some_and(|line| line.number == number) {
            state.lines.remove(&peer);
        }
    }

    /// Says what is to be said on a connection, and hears what comes, until it ends.
    async fn hold(
        &self,
        connection: ServiceConnection,
        line: &Line,
        mut words: mpsc::Receiver<ViewMessage>,
    ) {
        let ServiceConnection { mut sending, mut receiving, peer } = connection;
        // Since when something was said that nothing was heard after.
        let mut unanswered = MonoTime::NEVER;
        let mut closed = self.is_closed.subscribe();
        let mut renewed = self.renewed.subscribe();
        let ended: io::Result<()> = async {
            loop {
                loop {
                    while let Some(body) = receiving.next().map_err(io::Error::other)? {
                        let word = decode::<ViewMessage>(body).map_err(io::Error::other)?;
                        unanswered = MonoTime::NEVER;
                        self.hear(peer, line, word);
                    }
                    if !receiving.decipher(sending.tls())? {
                        break;
                    }
                }
                let written = env::timeout(SILENCE, sending.write_fully()).await;
                written.unwrap_or(Err(io::ErrorKind::TimedOut.into()))?;
                let deadline = unanswered.after(SILENCE).min(env::now().after(IDLE));
                tokio::select! {
                    _ = closed.wait_for(|closed| *closed) => return Ok(()),
                    _ = renewed.changed() => return Ok(()),
                    word = words.recv() => {
                        let Some(word) = word else { return Ok(()) };
                        let most = self.limits.frame_bytes;
                        if append_frame(sending.outgoing(), &word, most).is_err() {
                            tracing::error!(%peer, "a message about views is longer than `limits.frame_bytes`");
                            continue;
                        }
                        if word.is_answered() {
                            unanswered = unanswered.min(env::now());
                        }
                    }
                    read = receiving.wait() => read?,
                    () = env::sleep_until(deadline) => return Ok(()),
                }
            }
        }
        .await;
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "a connection for views ended");
        }
    }

    fn hear(&self, from: MemberId, line: &Line, word: ViewMessage) {
        let mut state = self.state();
        if state.lines.get(&from).is_none_or(|used| used.number != line.number) {
            state.lines.insert(from, line.clone());
        }
        drop(state);
        if !self.blocked.contains(from) && self.heard.try_send((from, word)).is_err() {
            tracing::debug!(peer = %from, "messages about views arrive faster than they are processed");
        }
    }
}

impl State {
    /// A new line to a node, in place of any former one.
    fn line(&mut self, to: MemberId) -> (Line, mpsc::Receiver<ViewMessage>) {
        let (words, receiver) = mpsc::channel(MOST_WAITING);
        self.connections += 1;
        let line = Line { number: self.connections, words };
        self.lines.insert(to, line.clone());
        (line, receiver)
    }
}

impl ServiceAcceptor for Exchange {
    fn myself(&self) -> Caller {
        let (cluster, number) = (self.cluster.clone(), self.state().number);
        Caller { cluster, number, from: self.me, to: self.me }
    }

    fn take(&self, connection: ServiceConnection) {
        let Some(exchange) = self.myself.upgrade() else { return };
        let peer = connection.peer;
        let (line, words) = self.state().line(peer);
        tokio::spawn(async move {
            exchange.hold(connection, &line, words).await;
            exchange.hang_up(peer, line.number);
        });
    }
}
