//! A session as its client sees it: kept alive at one node, moved to another when that does not answer,
//! and known to be over even if nobody says so.

mod moves;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::{Method, StatusCode};
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::connection::{Caller, Trouble};
use super::{ClientConfig, ClientError};
use crate::env;
use crate::messages::{
    Held, KeptAlive, OpenSession, SessionId, SessionOpened, SessionPlace, SessionStatus,
};
use moves::Moving;
use skeptron_member::Fence;
use skeptron_member::clock::{Drift, Moment};
use skeptron_member::report::milliseconds;

/// How long a node may take to open or end a session.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// A session. It ends when the client and all that it holds are dropped.
#[derive(Debug)]
pub(super) struct Session {
    /// One for each endpoint.
    callers: Vec<Arc<Caller>>,
    id: SessionId,
    ttl: Duration,
    owner: String,
    standing: watch::Sender<Standing>,
    requests: AtomicU64,
    /// Somebody got no answer: the next sign of life is due.
    doubted: Arc<Notify>,
    /// What a drop leaves to be said is said from here.
    runtime: Handle,
}

#[derive(Debug)]
struct Standing {
    /// The session certainly lives until then.
    until: Moment,
    /// What the node last promised.
    valid: Duration,
    /// It is over; it never comes back.
    over: bool,
    /// The node said so. While it leaves, it still keeps what the session holds, for as long as a client
    /// that does not know may believe.
    told_over: bool,
    /// What the node has lost of what the session held.
    lost: Vec<Held>,
    /// What it holds, each with the number of its acquire.
    held: BTreeMap<(String, Fence), u64>,
    /// At which endpoint it is.
    at: usize,
    /// Which life of the node it is at; none if it cannot move.
    place: Option<SessionPlace>,
    /// Until when it lives there even if that node loses its lease.
    lives_until: Moment,
    /// Whether that node leaves, and waits until the session has moved.
    home_leaves: bool,
    /// The number of the move that brought it there; 0 if it was opened there.
    moved: u64,
    /// The number of the last try to move.
    moves: u64,
    /// Where it moves to.
    moving: Option<Moving>,
}

impl Session {
    /// Opens a session at the first endpoint that takes it, and keeps it alive.
    pub(super) async fn open(config: &ClientConfig) -> Result<Arc<Self>, ClientError> {
        let callers = config.endpoints.iter().map(|it| Caller::new(it, config).map(Arc::new));
        let callers = callers.collect::<Result<Vec<_>, _>>()?;
        let (at, (sent, opened)) =
            super::first_of(&callers, |caller| open_at(caller, config)).await?;
        let ttl = Duration::from_millis(opened.ttl_ms);
        let valid = Duration::from_millis(opened.valid_ms);
        let standing = Standing {
            until: believed(sent, valid),
            valid,
            over: false,
            told_over: false,
            lost: Vec::new(),
            held: BTreeMap::new(),
            at,
            place: opened.place,
            lives_until: believed(sent, ttl),
            home_leaves: false,
            moved: 0,
            moves: 0,
            moving: None,
        };
        let session = Arc::new(Session {
            callers,
            id: opened.session,
            ttl,
            owner: config.owner.clone(),
            standing: watch::Sender::new(standing),
            requests: AtomicU64::new(1),
            doubted: Arc::default(),
            runtime: Handle::current(),
        });
        tokio::spawn(keep_alive(Arc::downgrade(&session)));
        Ok(session)
    }

    /// The node where the session is, and the number of the move that brought it there; waits while it
    /// moves.
    pub(super) async fn settled(&self) -> (Arc<Caller>, u64) {
        self.stands(|standing| standing.moving.is_none()).await;
        let standing = self.standing.borrow();
        (Arc::clone(&self.callers[standing.at]), standing.moved)
    }

    /// Waits until the session leaves where that move had brought it.
    pub(super) async fn leaves(&self, moved: u64) {
        self.stands(|standing| standing.moving.is_some() || standing.moved != moved).await;
    }

    /// Whether there is another node to go to.
    pub(super) fn can_move(&self) -> bool {
        self.callers.len() > 1 && self.standing.borrow().place.is_some()
    }

    /// Somebody got no answer from the session's node.
    pub(super) fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// A lock was granted where that move had brought the session. Whether it is the session's: not if
    /// it moves without it.
    pub(super) fn hold(&self, held: &Held, request: u64, moved: u64) -> bool {
        self.standing.send_if_modified(|standing| {
            let stays = standing.moving.is_none() && standing.moved == moved && !standing.over;
            if stays {
                standing.held.insert((held.lock.clone(), held.fence), request);
            }
            stays
        })
    }

    /// The session does not hold this any more.
    pub(super) fn let_go(&self, lock: &str, fence: Fence) {
        self.standing.send_if_modified(|standing| {
            standing.held.remove(&(lock.to_string(), fence));
            false
        });
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

    /// The last number that was given.
    fn last_request(&self) -> u64 {
        self.requests.load(Ordering::Relaxed) - 1
    }

    /// Whether the session certainly has not ended.
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
        if self.standing.borrow().is_forgotten() {
            return Ok(());
        }
        self.standing.send_modify(|standing| (standing.over, standing.told_over) = (true, false));
        farewell(self.caller(), self.id).await
    }

    fn caller(&self) -> Arc<Caller> {
        Arc::clone(&self.callers[self.standing.borrow().at])
    }

    /// Goes on with something after whoever wanted it has gone.
    pub(super) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }

    /// One sign of life where the session is. It counts as alive for what the node promises, from the
    /// moment that the sign was *sent*: the node cannot have seen it earlier.
    async fn give_sign(&self) -> Result<(), Trouble> {
        let mut path = format!("/v1/sessions/{}/keep-alive", self.id);
        if let Some(place) = &self.standing.borrow().place {
            path.push_str(&format!("?life={:016x}", place.life.0));
        }
        let sent = env::now();
        let kept: KeptAlive = within(self.pace(), self.caller().ask(Method::POST, &path)).await?;
        self.standing.send_modify(|standing| {
            let is_other = standing.moving.is_some();
            let valid = Duration::from_millis(kept.valid_ms);
            standing.believe(sent, valid, Moment::NEVER, is_other);
            standing.lives_until = standing.lives_until.max(believed(sent, self.ttl));
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

    /// Gives a sign of life, and moves if that is not answered. Returns when to do so again; none if the
    /// session is over.
    async fn round(&self) -> Option<Duration> {
        let moving = self.standing.borrow().moving.is_some();
        // Where it was is asked also while it moves: if that node answers, the session stays.
        let (given, moved) = tokio::join!(self.give_sign(), async {
            if moving { self.try_again_to_move().await } else { false }
        });
        match given {
            Ok(()) => {
                self.stay();
                Some(self.pace())
            }
            Err(Trouble::Refused(StatusCode::GONE, _)) => {
                self.standing
                    .send_modify(|standing| (standing.over, standing.told_over) = (true, true));
                None
            }
            Err(trouble) if moved => {
                self.note(&trouble);
                Some(self.pace())
            }
            Err(trouble) => {
                self.note(&trouble);
                let moved = self.can_move() && self.move_on().await;
                Some(if moved { self.pace() } else { self.pace() / 10 })
            }
        }
    }
}

impl Standing {
    /// A node promises this for a sign that was sent then. What ended stays ended; and the first word of
    /// another node is the only one that counts, since the former one may go.
    fn believe(&mut self, sent: Moment, valid: Duration, most: Moment, is_other: bool) {
        self.valid = valid;
        if env::now() < self.until {
            let until = believed(sent, valid).min(most);
            self.until = if is_other { until } else { until.max(self.until) };
        }
    }

    /// Whether there is nothing left to say to the node.
    fn is_forgotten(&self) -> bool {
        self.over && !self.told_over
    }

    fn has_lost(&self, lock: &str, fence: Fence) -> bool {
        self.lost.iter().any(|lost| lost.fence == fence && lost.lock == lock)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if !self.standing.borrow().is_forgotten() {
            let (caller, id) = (self.caller(), self.id);
            // If it does not get through, the session ends by itself.
            self.runtime.spawn(async move { farewell(caller, id).await.unwrap_or(()) });
        }
    }
}

async fn open_at(
    caller: Arc<Caller>,
    config: &ClientConfig,
) -> Result<(Moment, SessionOpened), Trouble> {
    let question = OpenSession { ttl_ms: milliseconds(config.ttl), owner: config.owner.clone() };
    let sent = env::now();
    let opened: SessionOpened =
        within(ANSWER_WITHIN, caller.post("/v1/sessions", &question)).await?;
    if opened.valid_ms == 0 {
        return Err(Trouble::Unreachable("the node has lost its lease".to_string()));
    }
    Ok((sent, opened))
}

/// Gives a sign of life at every third of the TTL or quarter of what was promised, more often when one
/// fails, until the session is over or nobody wants it any more.
async fn keep_alive(session: Weak<Session>) {
    let (mut pause, doubted) = match session.upgrade() {
        Some(session) => (session.pace(), Arc::clone(&session.doubted)),
        None => return,
    };
    loop {
        env::timeout(pause, doubted.notified()).await;
        let Some(present) = session.upgrade() else { return };
        if present.standing.borrow().over {
            return;
        }
        pause = match env::timeout(env::until(present.until()), present.round()).await {
            Some(Some(pause)) => pause,
            Some(None) => return,
            None => Duration::ZERO,
        };
        let left = env::until(present.until());
        if left.is_zero() {
            // The node may still think otherwise: what is held there is of no more use.
            tracing::warn!("a session was not kept alive in time; its locks are lost");
            present.end().await.unwrap_or(());
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
async fn farewell(caller: Arc<Caller>, id: SessionId) -> Result<(), Trouble> {
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
