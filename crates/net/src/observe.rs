//! What can be seen of a node from outside: events as they happen, and metrics.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use serde::{Deserialize, Serialize};
use skeptron_member::clock::MonoTime;
use skeptron_member::report::{LinkState, Reason, Status};
use skeptron_member::{Fence, Load, MemberId};
use tokio::sync::{broadcast, watch};

use crate::env;
use crate::pause::PauseSwitch;

/// Something that happened at a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its number at this node; a gap means that the reader was too slow.
    pub number: u64,
    /// When, in microseconds since the node started.
    pub at_us: u64,
    /// Where.
    pub node: MemberId,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "kebab-case")]
pub enum What {
    /// Somebody here asked for a lock.
    Requested {
        /// Which.
        lock: String,
    },
    /// Somebody here has it now.
    Entered {
        /// Which.
        lock: String,
        /// The fence of the entry.
        fence: Fence,
    },
    /// It was let go of here.
    Released {
        /// Which.
        lock: String,
        /// The fence of the entry.
        fence: Fence,
    },
    /// Somebody here waits for it no longer.
    Withdrawn {
        /// Which.
        lock: String,
    },
    /// It was lost here.
    Lost {
        /// Which.
        lock: String,
        /// The fence of the entry.
        fence: Fence,
    },
    /// Sessions wait for each other for ever.
    Deadlock {
        /// What their clients are called.
        owners: Vec<String>,
    },
    /// A message of its algorithm was sent.
    Sent {
        /// Of which lock.
        lock: String,
        /// To whom.
        to: MemberId,
        /// Its number on the link there, the same at the receipt.
        sequence: u64,
        /// Its name in the paper.
        message: String,
        /// What it says, briefly: the stamp of a request, whom it is about.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        payload: String,
    },
    /// A message of its algorithm was taken.
    Received {
        /// Of which lock.
        lock: String,
        /// From whom.
        from: MemberId,
        /// Its number on the link from there, the same at the sending.
        sequence: u64,
        /// Its name in the paper.
        message: String,
        /// What it says, briefly: the stamp of a request, whom it is about.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        payload: String,
    },
    /// A link came up.
    LinkUp {
        /// To whom.
        peer: MemberId,
    },
    /// A link went down.
    LinkDown {
        /// To whom.
        peer: MemberId,
        /// Why.
        why: String,
    },
    /// A view begins.
    View {
        /// Its epoch.
        epoch: u64,
        /// How many locks the node keeps a right to from before.
        kept: usize,
    },
    /// All members have announced themselves in the view: locks that nobody keeps may begin.
    Met {
        /// Its epoch.
        epoch: u64,
    },
    /// The node cannot go on: what it held is lost, and it grants nothing any more.
    Halted {
        /// Why.
        why: String,
    },
}

impl What {
    /// Which lock it is about, if any.
    #[must_use]
    pub fn lock(&self) -> Option<&str> {
        match self {
            What::Requested { lock }
            | What::Entered { lock, .. }
            | What::Released { lock, .. }
            | What::Withdrawn { lock }
            | What::Lost { lock, .. }
            | What::Sent { lock, .. }
            | What::Received { lock, .. } => Some(lock),
            What::LinkUp { .. }
            | What::LinkDown { .. }
            | What::Deadlock { .. }
            | What::View { .. }
            | What::Met { .. }
            | What::Halted { .. } => None,
        }
    }
}

/// Labels of messages counted by algorithm and kind.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct MessageLabels {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The message's name in the paper.
    pub message: &'static str,
}

/// Labels of what is counted for each peer.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct PeerLabels {
    /// The peer, as `P2`.
    pub peer: String,
}

/// Labels of what is counted for each code of a refusal.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct CodeLabels {
    /// The code, as in `stranger`.
    pub code: &'static str,
}

/// Labels of why locks cannot be granted.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ReasonLabels {
    /// The reason, as in `no-quorum`.
    pub reason: &'static str,
}

/// Labels of connections of clients.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub struct ConnectionLabels {
    /// `known` or `stranger`.
    pub kind: &'static str,
}

/// The events of a node from some moment on.
#[derive(Debug)]
pub struct Events {
    receiver: broadcast::Receiver<Event>,
    listeners: Arc<AtomicUsize>,
}

impl Events {
    /// Waits for the next event.
    ///
    /// # Errors
    /// If the reader was too slow and missed some, or the node is no more.
    pub async fn next(&mut self) -> Result<Event, broadcast::error::RecvError> {
        self.receiver.recv().await
    }

    /// The next event, if it has happened already.
    ///
    /// # Errors
    /// If there is none yet, the reader was too slow and missed some, or the node is no more.
    pub fn try_next(&mut self) -> Result<Event, broadcast::error::TryRecvError> {
        self.receiver.try_recv()
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.listeners.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Log lines that this process has dropped, since nobody read them or they could not be written. It is
/// part of every node's metrics; whoever writes the logs counts.
pub fn dropped_log_lines() -> &'static Counter {
    static DROPPED: LazyLock<Counter> = LazyLock::new(Counter::default);
    &DROPPED
}

/// What is counted and told of one node.
#[derive(Debug)]
pub struct Observer {
    node: MemberId,
    began: MonoTime,
    registry: Registry,
    events: broadcast::Sender<Event>,
    /// How many listen; asking the channel would take its lock at every entry.
    listeners: Arc<AtomicUsize>,
    number: AtomicU64,
    /// Why the node does not do any more what it should, if so.
    pub(crate) failure: watch::Sender<Option<String>>,
    /// Whether the node's tasks stand still.
    pub(crate) pause: PauseSwitch,
    /// Changes when sessions may have lost something, or are about to.
    losses: watch::Sender<u64>,
    /// Request to entry, in seconds.
    pub acquire_seconds: Histogram,
    /// Entry to release, in seconds.
    pub hold_seconds: Histogram,
    /// Entries so far.
    pub entries: Counter,
    /// Entries handed over between waiters of this node without the algorithm.
    pub handovers: Counter,
    /// Messages of algorithms sent.
    pub sent: Family<MessageLabels, Counter>,
    /// Messages of algorithms received.
    pub received: Family<MessageLabels, Counter>,
    /// Messages that no correct node would have sent.
    pub refused: Counter,
    /// Envelopes of other views that were dropped.
    pub dropped: Counter,
    /// Lock names known.
    locks: Gauge,
    /// Locks held.
    held: Gauge,
    /// Requests waiting.
    waiting: Gauge,
    /// Connections made, by peer.
    pub connects: Family<PeerLabels, Counter>,
    /// Bytes sent and not yet acknowledged, by peer.
    pub unacknowledged_bytes: Family<PeerLabels, Gauge>,
    /// Connections and handshakes refused.
    pub rejected: Counter,
    /// Sessions of clients.
    sessions: Gauge,
    /// Bytes that arrived and cannot be taken yet.
    backlog_bytes: Gauge,
    /// Sessions that ended because nothing was heard of them.
    pub expired_sessions: Counter,
    /// Lock names forgotten.
    pub forgotten: Counter,
    /// Locks that an administrator broke.
    pub broken: Counter,
    /// Deadlocks met.
    pub deadlocks: Counter,
    /// Requests of clients that were refused for who they are, or for how much they want.
    pub api_refused: Family<CodeLabels, Counter>,
    /// Connections of clients that were cut for others.
    pub api_cut: Counter,
    /// Connections of clients.
    pub api_connections: Family<ConnectionLabels, Gauge>,
    /// Until when the node's certificate is valid, in seconds since 1970.
    certificate: Gauge,
    /// View changes installed.
    pub view_changes: Counter,
    /// From installing a view until all members have announced themselves in it, in seconds.
    pub view_seconds: Histogram,
    /// When the last view was installed, in nanoseconds.
    viewed: AtomicU64,
    epoch: Gauge,
    term: Gauge,
    leads: Gauge,
    drained: Gauge,
    sessions_limit: Gauge,
    lease_left_ms: Gauge,
    voters: Gauge,
    voters_up: Gauge,
    members_up: Gauge,
    members_down: Gauge,
    awaited: Gauge,
    away: Gauge,
    withheld: Gauge,
    clock_rate: Gauge,
    /// Whether there is a link, by peer.
    link_up: Family<PeerLabels, Gauge>,
    can_grant: Gauge,
    is_ready: Gauge,
    cannot_grant: Family<ReasonLabels, Gauge>,
}

impl Observer {
    /// Events that a slow reader may be behind.
    pub const BACKLOG: usize = 4096;

    /// For this node, from now.
    #[must_use]
    pub fn new(node: MemberId) -> Self {
        let mut registry = Registry::with_prefix("skeptron");
        // From one microsecond, an entry without a message, to about half a minute.
        let seconds = || Histogram::new(exponential_buckets(1e-6, 4.0, 13));
        let observer = Observer {
            node,
            began: env::now(),
            events: broadcast::Sender::new(Self::BACKLOG),
            listeners: Arc::default(),
            number: AtomicU64::new(0),
            failure: watch::Sender::new(None),
            pause: PauseSwitch::default(),
            losses: watch::Sender::new(0),
            acquire_seconds: seconds(),
            hold_seconds: seconds(),
            entries: Counter::default(),
            handovers: Counter::default(),
            sent: Family::default(),
            received: Family::default(),
            refused: Counter::default(),
            dropped: Counter::default(),
            locks: Gauge::default(),
            held: Gauge::default(),
            waiting: Gauge::default(),
            connects: Family::default(),
            unacknowledged_bytes: Family::default(),
            rejected: Counter::default(),
            sessions: Gauge::default(),
            backlog_bytes: Gauge::default(),
            expired_sessions: Counter::default(),
            forgotten: Counter::default(),
            broken: Counter::default(),
            deadlocks: Counter::default(),
            api_refused: Family::default(),
            api_cut: Counter::default(),
            api_connections: Family::default(),
            certificate: Gauge::default(),
            view_changes: Counter::default(),
            view_seconds: seconds(),
            viewed: AtomicU64::new(0),
            epoch: Gauge::default(),
            term: Gauge::default(),
            leads: Gauge::default(),
            drained: Gauge::default(),
            sessions_limit: Gauge::default(),
            lease_left_ms: Gauge::default(),
            voters: Gauge::default(),
            voters_up: Gauge::default(),
            members_up: Gauge::default(),
            members_down: Gauge::default(),
            awaited: Gauge::default(),
            away: Gauge::default(),
            withheld: Gauge::default(),
            clock_rate: Gauge::default(),
            link_up: Family::default(),
            can_grant: Gauge::default(),
            is_ready: Gauge::default(),
            cannot_grant: Family::default(),
            registry: Registry::default(),
        };
        let o = &observer;
        macro_rules! register {
            ($($name:literal $help:literal $metric:expr;)*) => {
                $(registry.register($name, $help, $metric.clone());)*
            };
        }
        register! {
            "acquire_seconds" "Request to entry" o.acquire_seconds;
            "hold_seconds" "Entry to release" o.hold_seconds;
            "entries" "Entries" o.entries;
            "local_handovers" "Entries without the algorithm" o.handovers;
            "messages_sent" "Messages of algorithms sent" o.sent;
            "messages_received" "Messages of algorithms taken" o.received;
            "messages_refused" "Messages against the rules" o.refused;
            "envelopes_dropped" "Envelopes of other views" o.dropped;
            "locks_known" "Lock names known" o.locks;
            "locks_forgotten" "Idle lock names forgotten" o.forgotten;
            "locks_broken" "Locks broken by administrators" o.broken;
            "deadlocks" "Deadlocks seen among sessions" o.deadlocks;
            "locks_held" "Locks held" o.held;
            "waiters" "Requests waiting" o.waiting;
            "link_connects" "Connections made" o.connects;
            "link_unacknowledged_bytes" "Bytes sent and not yet acknowledged" o.unacknowledged_bytes;
            "handshakes_rejected" "Connections refused" o.rejected;
            "sessions" "Sessions of clients" o.sessions;
            "backlog_bytes" "Bytes received that cannot be taken yet" o.backlog_bytes;
            "sessions_expired" "Sessions that ended" o.expired_sessions;
            "view_changes" "Views installed" o.view_changes;
            "view_change_seconds" "View to all members met" o.view_seconds;
            "api_refused" "Requests refused" o.api_refused;
            "api_cut" "Connections cut for others" o.api_cut;
            "api_connections" "Of clients" o.api_connections;
            "certificate_not_after_seconds" "End of this node's certificate since 1970, or 0" o.certificate;
            "log_lines_dropped" "Unread log lines" dropped_log_lines();
            "epoch" "Of the present view" o.epoch;
            "voter_term" "Of the voters, at a voter" o.term;
            "voter_leads" "Whether this node leads the voters" o.leads;
            "sessions_limit" "Sessions at most" o.sessions_limit;
            "drained" "Whether it serves no clients" o.drained;
            "lease_left_ms" "Of this node's own lease" o.lease_left_ms;
            "voters" "Members that vote, dead or alive" o.voters;
            "voters_up" "Those that answer the leader" o.voters_up;
            "members_up" "Others in the view, with a link" o.members_up;
            "members_down" "Others in the view, without" o.members_down;
            "members_awaited" "Not yet announced in this view" o.awaited;
            "clock_rate_ppm" "Difference of clocks, at the leader" o.clock_rate;
            "members_away" "Not heard of, but not yet gone" o.away;
            "locks_withheld" "Wanted, but may be one's that is away" o.withheld;
            "link_up" "Whether there is a link to a member" o.link_up;
            "can_grant" "As /health says" o.can_grant;
            "ready" "As /ready says" o.is_ready;
            "cannot_grant" "Why this node cannot grant locks, or not all of them" o.cannot_grant;
        }
        Observer { registry, ..observer }
    }

    /// Tells whoever listens; costs next to nothing if nobody does.
    pub fn tell(&self, what: impl FnOnce() -> What) {
        if self.is_heard() {
            self.tell_at(env::now(), what());
        }
    }

    /// Sessions may have lost something, or have to go.
    pub(crate) fn tell_loss(&self) {
        self.losses.send_modify(|count| *count += 1);
    }

    /// Changes when that is so.
    pub(crate) fn losses(&self) -> watch::Receiver<u64> {
        self.losses.subscribe()
    }

    /// Whether anybody listens.
    pub(crate) fn is_heard(&self) -> bool {
        self.listeners.load(Ordering::Relaxed) > 0
    }

    /// Tells whoever listens of what happened then.
    pub(crate) fn tell_at(&self, now: MonoTime, what: What) {
        let at_us = u64::try_from(now.since(self.began).as_micros()).unwrap_or(u64::MAX);
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        // Nobody listens any more: nothing is lost.
        let _ = self.events.send(Event { number, at_us, node: self.node, what });
    }

    /// The node has a certificate that is valid until then, in seconds since 1970.
    pub(crate) fn set_certificate(&self, not_after: u64) {
        self.certificate.set(i64::try_from(not_after).unwrap_or(i64::MAX));
    }

    /// Everything that happens from now on.
    #[must_use]
    pub fn listen(&self) -> Events {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        Events { receiver: self.events.subscribe(), listeners: Arc::clone(&self.listeners) }
    }

    /// For how long the node has been up.
    #[must_use]
    pub fn up(&self) -> Duration {
        env::now().since(self.began)
    }

    /// A view begins.
    pub(crate) fn view_installed(&self, now: MonoTime) {
        self.view_changes.inc();
        self.viewed.store(now.nanos(), Ordering::Relaxed);
    }

    /// All members have announced themselves in the view; how long that took.
    pub(crate) fn view_met(&self, now: MonoTime) -> Duration {
        let took = now.since(MonoTime::from_nanos(self.viewed.load(Ordering::Relaxed)));
        self.view_seconds.observe(took.as_secs_f64());
        took
    }

    /// Takes note of how the node stands right now.
    pub(crate) fn set_status(&self, status: &Status) {
        let set = |gauge: &Gauge, number: u64| {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        };
        let links = |state| status.members.iter().filter(|member| member.link == state).count();
        set(&self.epoch, status.epoch);
        set(&self.term, status.views.term.unwrap_or(0));
        set(&self.drained, u64::from(status.drain.is_some()));
        set(&self.leads, u64::from(status.views.leader == Some(self.node)));
        set(&self.lease_left_ms, status.lease_left_ms.unwrap_or(0));
        let (voters, voters_up) = status.views.voting();
        set(&self.voters, voters as u64);
        set(&self.voters_up, voters_up as u64);
        set(&self.members_up, links(LinkState::Up) as u64);
        set(&self.members_down, links(LinkState::Down) as u64);
        set(&self.awaited, status.awaited.len() as u64);
        set(&self.away, status.away.len() as u64);
        set(&self.withheld, status.withheld_locks);
        set(&self.clock_rate, status.views.clock_rate_ppm.unwrap_or(0));
        self.link_up.clear();
        for member in status.members.iter().filter(|member| member.link != LinkState::Own) {
            let labels = PeerLabels { peer: member.node.to_string() };
            let is_up = member.link == LinkState::Up;
            set(&self.link_up.get_or_create(&labels), u64::from(is_up));
        }
        let any = |grave: fn(Reason) -> bool| status.causes.iter().any(|it| grave(it.reason));
        set(&self.can_grant, u64::from(!any(Reason::stops_grants)));
        set(&self.is_ready, u64::from(!any(Reason::ends_service)));
        for reason in Reason::ALL {
            let labels = ReasonLabels { reason: reason.name() };
            let is_so = status.causes.iter().any(|cause| cause.reason == reason);
            set(&self.cannot_grant.get_or_create(&labels), u64::from(is_so));
        }
    }

    /// Takes note of how many sessions there may be.
    pub(crate) fn set_sessions_limit(&self, most: usize) {
        self.sessions_limit.set(i64::try_from(most).unwrap_or(i64::MAX));
    }

    /// Takes note of how much there is right now.
    pub(crate) fn set_load(&self, load: Load) {
        let set = |gauge: &Gauge, number: usize| {
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        };
        set(&self.locks, load.known_locks);
        set(&self.held, load.held_locks);
        set(&self.waiting, load.waiters);
        set(&self.sessions, load.sessions);
        set(&self.backlog_bytes, load.backlog_bytes);
    }

    /// The metrics in the text form of OpenMetrics, as of the last [`Observer::set_load`].
    #[must_use]
    pub(crate) fn metrics(&self) -> String {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)
            .expect("writing into memory does not fail");
        text
    }
}
