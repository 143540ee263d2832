//! A session as its client sees it: kept alive, and known to be over even if nobody says so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::{Method, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::connection::{Caller, Trouble};
use super::{ClientConfig, ClientError};
use crate::env;
use crate::messages::{Held, KeptAlive, OpenSession, SessionId, SessionOpened, SessionStatus};
use skeptron_member::Fence;
use skeptron_member::clock::{Drift, Moment};
use skeptron_member::report::milliseconds;

/// How long a node may take to open or end a session.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A session. It ends when the client and all that it holds are dropped.
#[derive(Debug)]
pub(super) struct Session {
    caller: Arc<Caller>,
    id: SessionId,
    ttl: Duration,
    standing: watch::Sender<Standing>,
    requests: AtomicU64,
    /// What a drop leaves to be said is said from here.
    runtime: Handle,
}

#[derive(Debug)]
struct Standing {
    /// The node lets the session live at least until then.
    until: Moment,
    /// What the node last promised.
    valid: Duration,
    /// It is over; it never comes back.
    over: bool,
    /// What the node has lost of what the session held.
    lost: Vec<Held>,
}

impl Session {
    /// Opens a session, and keeps it alive.
    pub(super) async fn open(caller: Caller, config: &ClientConfig) -> Result<Arc<Self>, Trouble> {
        let ttl_ms = milliseconds(config.ttl);
        let question = OpenSession { ttl_ms, owner: config.owner.clone() };
        let sent = env::now();
        let asked = caller.post("/v1/sessions", &question);
        let opened: SessionOpened = within(ANSWER_WITHIN, asked).await?;
        let ttl = Duration::from_millis(opened.ttl_ms);
        let valid = Duration::from_millis(opened.valid_ms);
        if valid.is_zero() {
            return Err(Trouble::Unreachable("the node has lost its lease".to_string()));
        }
        let until = believed(sent, valid);
        let standing = Standing { until, valid, over: false, lost: Vec::new() };
        let session = Arc::new(Session {
            caller: Arc::new(caller),
            id: opened.session,
            ttl,
            standing: watch::Sender::new(standing),
            requests: AtomicU64::new(1),
            runtime: Handle::current(),
        });
        tokio::spawn(keep_alive(Arc::downgrade(&session)));
        Ok(session)
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    pub(super) fn id(&self) -> SessionId {
        self.id
    }

    pub(super) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// A number that no other request of this session has.
    pub(super) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether the node has certainly not ended it.
    pub(super) fn is_valid(&self) -> bool {
        let standing = self.standing.borrow();
        !standing.over && env::now() < standing.until
    }

    /// For how long the node certainly does not end it, even if no further sign gets through.
    pub(super) fn valid_for(&self) -> Duration {
        let standing = self.standing.borrow();
        if standing.over { Duration::ZERO } else { env::until(standing.until) }
    }

    /// What the node promised last, as this clock may believe it.
    pub(super) fn promised(&self) -> Duration {
        Drift::default().believed(self.standing.borrow().valid)
    }

    /// Whether this is among what the node has lost.
    pub(super) fn has_lost(&self, lock: &str, fence: Fence) -> bool {
        self.standing.borrow().has_lost(lock, fence)
    }

    /// Waits until the session is over.
    pub(super) async fn over(&self) {
        self.stands(|standing| standing.over).await;
    }

    /// Waits until the session is over or the node has lost this.
    pub(super) async fn lost(&self, lock: &str, fence: Fence) {
        self.stands(|standing| standing.over || standing.has_lost(lock, fence)).await;
    }

    async fn stands(&self, condition: impl FnMut(&Standing) -> bool) {
        let mut standing = self.standing.subscribe();
        let stood = standing.wait_for(condition).await;
        drop(stood.expect("the sender is a field of the session that is borrowed here"));
    }

    /// Takes it to be over.
    pub(super) fn give_up(&self) {
        self.standing.send_modify(|standing| standing.over = true);
    }

    /// Ends it, if it is not over yet, and waits until the node has taken note.
    pub(super) async fn end(&self) -> Result<(), Trouble> {
        if self.standing.borrow().over {
            return Ok(());
        }
        self.give_up();
        farewell(&self.caller, self.id).await
    }

    /// Goes on with something after whoever wanted it has gone.
    pub(super) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }

    /// One sign of life. The session counts as alive for what the node promises, from the moment that
    /// the sign was *sent*: the node cannot have seen it earlier.
    async fn give_sign(&self) -> Result<(), Trouble> {
        let path = format!("/v1/sessions/{}/keep-alive", self.id);
        let sent = env::now();
        let kept: KeptAlive = within(self.pace(), self.caller.ask(Method::POST, &path)).await?;
        self.standing.send_modify(|standing| {
            standing.valid = Duration::from_millis(kept.valid_ms);
            if env::now() < standing.until {
                standing.until = believed(sent, standing.valid);
            }
            standing.lost = kept.lost;
        });
        Ok(())
    }

    /// How often to give a sign: a node that loses its own lease must not take the session by surprise.
    fn pace(&self) -> Duration {
        (self.ttl / 3).min(self.standing.borrow().valid / 4)
    }

    fn until(&self) -> Moment {
        self.standing.borrow().until
    }
}

impl Standing {
    fn has_lost(&self, lock: &str, fence: Fence) -> bool {
        self.lost.iter().any(|lost| lost.fence == fence && lost.lock == lock)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.standing.borrow().over {
            let (caller, id) = (Arc::clone(&self.caller), self.id);
            // If it does not get through, the session ends by itself.
            self.runtime.spawn(async move { farewell(&caller, id).await.unwrap_or(()) });
        }
    }
}

/// Gives a sign of life at every third of the TTL or quarter of what was promised, more often when one fails, until the session is
/// over or nobody wants it any more.
async fn keep_alive(session: Weak<Session>) {
    let mut pause = match session.upgrade() {
        Some(session) => session.pace(),
        None => return,
    };
    loop {
        env::sleep(pause).await;
        let Some(session) = session.upgrade() else { return };
        if session.standing.borrow().over {
            return;
        }
        let given = env::timeout(env::until(session.until()), session.give_sign()).await;
        pause = match given {
            Some(Ok(())) => session.pace(),
            Some(Err(Trouble::Refused(StatusCode::GONE, _))) => return session.give_up(),
            Some(Err(_)) => session.pace() / 10,
            None => Duration::ZERO,
        };
        let left = env::until(session.until());
        if left.is_zero() {
            // The node may still think otherwise: what is held there is of no more use.
            tracing::warn!("a session was not kept alive in time; its locks are lost");
            session.end().await.unwrap_or(());
            return;
        }
        pause = pause.min(left);
    }
}

/// Until when a session that was last heard of at `sent`, or later, certainly lives: the clocks of
/// client and node may run at different rates.
fn believed(sent: Moment, ttl: Duration) -> Moment {
    sent.after(Drift::default().believed(ttl))
}

/// Tells the node that the session ends.
async fn farewell(caller: &Caller, id: SessionId) -> Result<(), Trouble> {
    let path = format!("/v1/sessions/{id}");
    match within(ANSWER_WITHIN, caller.ask::<SessionStatus>(Method::DELETE, &path)).await {
        Ok(_) | Err(Trouble::Refused(StatusCode::GONE, _)) => Ok(()),
        Err(trouble) => Err(trouble),
    }
}

/// The answer, if it comes in time.
pub(super) async fn within<T>(
    time: Duration,
    asked: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let answer = env::timeout(time, asked).await;
    answer.unwrap_or_else(|| Err(Trouble::Unreachable(format!("no answer in {time:?}"))))
}

impl From<Trouble> for ClientError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Unreachable(why) => ClientError::Unreachable(why),
            Trouble::Refused(StatusCode::GONE, _) => ClientError::SessionOver,
            Trouble::Refused(_, problem) if problem.code == "busy" => {
                ClientError::Busy(problem.error)
            }
            Trouble::Refused(_, problem) => {
                ClientError::Refused(format!("{}; {}", problem.error, problem.remedy))
            }
        }
    }
}
