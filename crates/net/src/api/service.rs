//! What sessions ask of a node, whichever protocol they speak: the rules of the API without HTTP.

use std::sync::Arc;
use std::time::Duration;

use skeptron_core::mutex::Mode;
use skeptron_member::report::{NotGranted, milliseconds};
use skeptron_member::session::{Alive, Claim, Held, SessionError, SessionId, SessionReport};
use skeptron_member::{LockError, NotServed};
use tokio::sync::watch;

use super::error::RequestError;
use super::listen::Stage;
use super::moves;
use super::quota::{Ledger, Waiting};
use super::roles::Client;
use crate::env;
use crate::messages::{
    Acquire, ClusterInfo, Downgrade, Incarnation, KeptAlive, MOST_OWNER_BYTES, OpenSession,
    Proclaim, Release, SessionOpened, SessionStatus,
};
use crate::node::Node;
use crate::shell::{SessionAcquire, SessionWait, Shell};

/// How long an acquire that does not wait may wait for peers that are far behind.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// What the handlers share.
#[derive(Debug)]
pub(super) struct ApiService {
    pub(super) node: Node,
    pub(super) most_sessions: usize,
    /// The shortest and the longest TTL of a session.
    pub(super) ttl: (Duration, Duration),
    pub(super) stage: watch::Receiver<Stage>,
    /// Whether the program was asked to leave the cluster; without a reader nobody would do it.
    pub(super) leave: Arc<watch::Sender<bool>>,
    /// What each client has.
    pub(super) ledger: Arc<Ledger>,
}

impl ApiService {
    /// What there is of a session.
    pub(super) fn look(&self, id: SessionId) -> Option<SessionReport> {
        self.node.shell().ok()?.core().peek_session(id)
    }

    /// What a client should know that has heard of the view of this epoch.
    pub(super) fn cluster_info(&self, known: Option<u64>) -> ClusterInfo {
        let epoch = self.node.view().map_or(0, |view| view.epoch);
        let nodes = if known == Some(epoch) { Vec::new() } else { self.node.others() };
        ClusterInfo { epoch, nodes, drift_ppm: self.node.drift().map(|drift| drift.ppm) }
    }

    /// The client begins to wait for a lock, if it may.
    fn begin(&self, client: &Client, id: SessionId, lock: &str) -> Result<Waiting, RequestError> {
        client.may_lock(lock)?;
        self.ledger.check(client, id)?;
        self.ledger.acquire(client, (id, lock), |id| self.look(id))
    }
}

impl ApiService {
    pub(super) fn open_session(
        &self,
        client: &Client,
        asked: OpenSession,
    ) -> Result<SessionOpened, RequestError> {
        let ttl = self.allowed_ttl(asked.ttl_ms)?;
        let owner = allowed_owner(client.owner(asked.owner))?;
        let id = super::unguessable().map(SessionId).ok_or(RequestError::NoRandomness)?;
        if self.node.drained().is_some() {
            return Err(RequestError::Drained(self.node.id()));
        }
        if self.node.is_leaving() {
            return Err(SessionError::Lock(LockError::Leaving(self.node.id())).into());
        }
        let shell = self.node.shell()?;
        self.can_grant(&shell)?;
        self.ledger.may_open(client, |id| self.look(id))?;
        shell.open_session(id, ttl, owner, self.most_sessions)?;
        self.ledger.opened(client, id);
        let valid_ms = milliseconds(shell.core().keep_alive(env::now(), id)?.valid);
        let place = shell.core().life().map(moves::place_of);
        let cluster = self.cluster_info(None);
        Ok(SessionOpened { session: id, ttl_ms: asked.ttl_ms, valid_ms, place, cluster })
    }

    pub(super) fn show_session(
        &self,
        client: &Client,
        id: SessionId,
    ) -> Result<SessionStatus, RequestError> {
        self.ledger.check(client, id)?;
        let report = self.node.shell()?.core().session(env::now(), id)?;
        Ok(told(id, report))
    }

    /// Ends a session. Returns what it held and waited for.
    pub(super) fn end_session(
        &self,
        client: &Client,
        id: SessionId,
    ) -> Result<SessionStatus, RequestError> {
        self.ledger.check(client, id)?;
        let last = self.node.shell()?.close_session(id)?;
        self.ledger.closed(id);
        Ok(told(id, last))
    }

    /// A sign of life, meant for this life of the node if one is named, of a client that has heard of the
    /// view of this epoch.
    pub(super) fn keep_alive(
        &self,
        client: &Client,
        id: SessionId,
        (life, epoch): (Option<Incarnation>, Option<u64>),
    ) -> Result<KeptAlive, RequestError> {
        self.ledger.check(client, id)?;
        let shell = self.node.shell()?;
        if let (Some(meant), Some(own)) = (life, shell.core().life())
            && meant.0 != own.incarnation
        {
            return Err(RequestError::OtherLife(self.node.id()));
        }
        self.can_grant(&shell)?;
        let Alive { valid, pending, lost } = shell.core().keep_alive(env::now(), id)?;
        let (valid_ms, cluster) = (milliseconds(valid), self.cluster_info(epoch));
        Ok(KeptAlive { valid_ms, pending, lost, cluster })
    }

    /// A leader changes its value. Returns the version of the value.
    pub(super) fn proclaim(&self, client: &Client, asked: &Proclaim) -> Result<u64, RequestError> {
        let Proclaim { session, name, term, value, version } = asked;
        self.ledger.check(client, *session)?;
        let shell = self.node.shell()?;
        Ok(shell.proclaim(*session, (name, *term), (*version, value))?)
    }

    /// Whether this life of the node may grant anything.
    ///
    /// # Errors
    /// If it is over.
    pub(super) fn can_grant(&self, shell: &Shell) -> Result<(), RequestError> {
        let (node, core) = (self.node.id(), shell.core());
        match core.halted() {
            Some(_) => Err(RequestError::CannotGrant(self.node.status().causes)),
            None if core.lease() <= env::now() => {
                Err(RequestError::Unwell(format!("{node} grants no locks: its lease has ended")))
            }
            None => Ok(()),
        }
    }

    pub(super) fn allowed_ttl(&self, ttl_ms: u64) -> Result<Duration, RequestError> {
        let ttl = Duration::from_millis(ttl_ms);
        let (shortest, longest) = self.ttl;
        if (shortest..=longest).contains(&ttl) {
            return Ok(ttl);
        }
        let (shortest, longest) = (milliseconds(shortest), milliseconds(longest));
        let told = format!("`ttl_ms` lies between {shortest} and {longest} here, not at {ttl_ms}");
        Err(RequestError::Invalid(told))
    }
}

pub(super) fn allowed_owner(owner: String) -> Result<String, RequestError> {
    if owner.len() <= MOST_OWNER_BYTES && !owner.chars().any(char::is_control) {
        return Ok(owner);
    }
    let told = format!("`owner` has at most {MOST_OWNER_BYTES} bytes, no control characters");
    Err(RequestError::Invalid(told))
}

impl ApiService {
    /// A session gets a lock, to lead with this value if there is one.
    pub(super) async fn acquire(
        &self,
        client: &Client,
        asked: Acquire,
        value: Option<&str>,
    ) -> Result<Held, RequestError> {
        let (session, lock) = (asked.session, asked.lock.clone());
        let waiting = self.begin(client, session, &lock)?;
        let held = wait_for((self, client), asked, value).await;
        drop(waiting);
        if held.is_err() {
            self.ledger.dropped(session, &lock);
        }
        held
    }

    /// An exclusive entry of a session tolerates others from now on.
    pub(super) fn downgrade(&self, client: &Client, asked: &Downgrade) -> Result<(), RequestError> {
        let &Downgrade { session, ref lock, fence, mode } = asked;
        self.ledger.check(client, session)?;
        if mode.is_exclusive() {
            let told = "`mode` is `shared` or `permits:K` with K from 2 on".to_string();
            return Err(RequestError::Invalid(told));
        }
        Ok(self.node.shell()?.session_downgrade(session, (lock, fence, mode))?)
    }

    /// A session gives a lock back, or whatever came of an acquire. Whether anything was held.
    pub(super) fn release(&self, client: &Client, asked: &Release) -> Result<bool, RequestError> {
        let &Release { session, ref lock, fence, request } = asked;
        self.ledger.check(client, session)?;
        let shell = self.node.shell()?;
        let released = match (fence, request) {
            (Some(fence), None) => shell.session_release(session, lock, fence).map(|()| true)?,
            (None, Some(request)) => shell.session_withdraw(session, lock, request)?,
            _ => return Err(RequestError::Invalid("give either `fence` or `request`".to_string())),
        };
        self.ledger.dropped(session, lock);
        Ok(released)
    }
}

/// The lock, as soon as it is granted.
async fn wait_for(
    (service, client): (&ApiService, &Client),
    asked: Acquire,
    value: Option<&str>,
) -> Result<Held, RequestError> {
    let Acquire { session, lock, wait_ms, request, mode, upgrade } = asked;
    let mode = if upgrade.is_some() { Mode::EXCLUSIVE } else { mode };
    let shell = service.node.shell()?;
    let not_granted = |mut why: NotGranted| {
        if !client.may_see(&lock) {
            why.holder.iter_mut().for_each(|holder| holder.owner.clear());
        }
        RequestError::NotGranted { lock: lock.clone(), wait_ms: wait_ms.unwrap_or(0), why }
    };
    let relieved = shell.relieved(&lock);
    match wait_ms {
        None => relieved.await,
        Some(wait_ms) => {
            let within = Duration::from_millis(wait_ms).max(LEAST_WAIT);
            if env::timeout(within, relieved).await.is_none() {
                return Err(not_granted(shell.why_not((&lock, mode)).await));
            }
        }
    }
    let claim = Claim { lock: lock.clone(), request };
    let begun = match (value, upgrade) {
        (Some(value), _) => shell.campaign(session, claim, value),
        (None, Some(fence)) => shell.session_upgrade(session, (claim, fence)),
        (None, None) => shell.session_acquire(session, (claim, mode)),
    };
    let mut wait = match begun? {
        SessionAcquire::Held(held) => return Ok(held),
        SessionAcquire::Waiting(wait) => wait,
    };
    let granted = match granted(&shell, &mut wait, (&lock, mode), wait_ms).await {
        Ok(granted) => granted,
        Err(why) => wait.give_up().ok_or_else(|| not_granted(why))?,
    };
    granted.map_err(|why| RequestError::not_served(why, service.node.id(), lock.clone()))
}

/// The lock if it is granted in that time, or why it is not.
async fn granted(
    shell: &Arc<Shell>,
    wait: &mut SessionWait,
    wanted: (&str, Mode),
    wait_ms: Option<u64>,
) -> Result<Result<Held, NotServed>, NotGranted> {
    match wait_ms {
        None => Ok(wait.granted().await),
        Some(0) => shell.unless_held(wanted, wait.granted()).await,
        Some(wait_ms) => {
            let time = Duration::from_millis(wait_ms);
            shell.granted_within(wanted, time, wait.granted()).await
        }
    }
}

fn told(session: SessionId, report: SessionReport) -> SessionStatus {
    let SessionReport { owner, ttl, held, waiting } = report;
    SessionStatus { session, owner, ttl_ms: milliseconds(ttl), held, waiting }
}
