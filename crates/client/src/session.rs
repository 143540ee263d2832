//! A session as its client sees it: kept alive at one node, moved to another when that does not answer,
//! and known to be over even if nobody says so.

mod moves;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::StatusCode;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use crate::ClientError;
use crate::connection::{CallError, Caller, Route, unexpected};
use crate::env;
use crate::grant::Wish;
use crate::messages::{ClusterInfo, OpenSession, SessionOpened, SessionPlace};
use crate::native::{Ask, Json, Reply};
use crate::nodes::Nodes;
use moves::Moving;
use skeptron_types::clock::{Drift, MonoTime};
use skeptron_types::election::Proclaimed;
use skeptron_types::report::milliseconds;
use skeptron_types::session::{Held, SessionId};
use skeptron_types::{Fence, Mode};

/// How long a node may take to open or end a session.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// So many times as often as a sign is due, a session on its way asks whether it has arrived.
const PENDING_ASKS: u32 = 4;
/// A node that leaves is gone soon. As long as the session does not know that it has arrived, it cannot go on from
/// there, should the node that took it leave as well.
const ARRIVES_WITHIN: Duration = Duration::from_millis(100);
/// A node that promises so many times less than it did is about to lose its lease.
const FADES_AT: u32 = 3;
/// How long a sign of life that was sent straight is waited for when the one through another node was answered.
const STRAIGHT_WITHIN: Duration = Duration::from_millis(50);

/// A session. It ends when the client and all that it holds are dropped.
#[derive(Debug)]
pub(crate) struct Session {
    nodes: Arc<Nodes>,
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
    until: MonoTime,
    /// What the node last promised.
    valid: Duration,
    /// The most that was promised where it is.
    most_valid: Duration,
    /// It is over; it never comes back.
    over: bool,
    /// The node said so. While it leaves, it still keeps what the session holds, for as long as a client
    /// that does not know may believe.
    told_over: bool,
    /// What the node has lost of what the session held.
    lost: Vec<Held>,
    /// What it holds.
    held: BTreeMap<(String, Fence), Holding>,
    /// The node where it is.
    home: Arc<Caller>,
    /// The way there.
    at: Route,
    /// The epoch of the last view of which the others were named.
    epoch: u64,
    /// The bound on the clocks' rates, as the node says.
    drift: Drift,
    /// Which life of the node it is at; none if it cannot move.
    place: Option<SessionPlace>,
    /// Until when it lives there even if that node loses its lease.
    lives_until: MonoTime,
    /// Whether that node leaves, and waits until the session has moved.
    home_leaves: bool,
    /// The number of the move that brought it there; 0 if it was opened there.
    moved: u64,
    /// The number of the last try to move.
    moves: u64,
    /// Where it moves to.
    moving: Option<Moving>,
}

/// A lock in the hands of the session.
#[derive(Clone, Debug)]
struct Holding {
    /// How many others it tolerates, at most: what it has asked for, if that is more.
    mode: Mode,
    /// The number of its acquire.
    request: u64,
    /// The last value that it was to have, if it leads.
    leads: Option<Proclaimed>,
}

impl Session {
    /// Opens a session at the first endpoint that takes it, and keeps it alive.
    pub(crate) async fn open(nodes: Arc<Nodes>, owner: &str) -> Result<Arc<Self>, ClientError> {
        let ttl = nodes.config().ttl;
        let (home, (sent, opened)) = nodes.first(|caller| open_at(caller, ttl, owner)).await?;
        nodes.replace(&opened.cluster.nodes);
        let drift = drift(&opened.cluster).unwrap_or_default();
        let ttl = Duration::from_millis(opened.ttl_ms);
        let valid = Duration::from_millis(opened.valid_ms);
        let standing = Standing {
            until: sent.after(drift.believed(valid)),
            valid,
            most_valid: valid,
            over: false,
            told_over: false,
            lost: Vec::new(),
            held: BTreeMap::new(),
            at: Route::direct(Arc::clone(&home)),
            home,
            epoch: opened.cluster.epoch,
            drift,
            place: opened.place,
            lives_until: sent.after(drift.believed(ttl)),
            home_leaves: false,
            moved: 0,
            moves: 0,
            moving: None,
        };
        let session = Arc::new(Session {
            nodes,
            id: opened.session,
            ttl,
            owner: owner.to_string(),
            standing: watch::Sender::new(standing),
            requests: AtomicU64::new(1),
            doubted: Arc::default(),
            runtime: Handle::current(),
        });
        tokio::spawn(keep_alive(Arc::downgrade(&session)));
        Ok(session)
    }

    /// The nodes that it can go to.
    pub(crate) fn nodes(&self) -> Arc<Nodes> {
        Arc::clone(&self.nodes)
    }

    /// The way to where the session is, and the number of the move that brought it there; waits while it
    /// moves.
    pub(crate) async fn settled(&self) -> (Route, u64) {
        self.stands(|standing| standing.moving.is_none()).await;
        let standing = self.standing.borrow();
        (standing.at.clone(), standing.moved)
    }

    /// Waits until the session leaves where that move had brought it, or is reached in another way. All that
    /// differs afterwards is looked at: who waits here may not see each step.
    pub(crate) async fn leaves(&self, moved: u64, route: &Route) {
        let leaves = |standing: &Standing| {
            standing.moving.is_some() || standing.moved != moved || !standing.at.is_same(route)
        };
        self.stands(leaves).await;
    }

    /// Whether there is another node to go to.
    pub(crate) fn can_move(&self) -> bool {
        let standing = self.standing.borrow();
        let is_other = |it: &Arc<Caller>| it.endpoint() != standing.home.endpoint();
        standing.place.is_some() && self.nodes.all().iter().any(is_other)
    }

    /// Somebody got no answer from the session's node.
    pub(crate) fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// A lock was granted where that move had brought the session. Whether it is the session's: not if
    /// it moves without it.
    pub(crate) fn hold(&self, held: &Held, (request, wish): (u64, &Wish), moved: u64) -> bool {
        let leads = match wish {
            Wish::Lead(value) => Some(Proclaimed { value: value.clone(), version: 1 }),
            _ => None,
        };
        let mode = if let Wish::Enter(mode) = wish { *mode } else { Mode::EXCLUSIVE };
        self.standing.send_if_modified(|standing| {
            let stays = standing.moving.is_none() && standing.moved == moved && !standing.over;
            if stays {
                if let Wish::Upgrade(before) = wish {
                    standing.held.remove(&(held.lock.clone(), *before));
                }
                let holding = Holding { mode, request, leads };
                standing.held.insert((held.lock.clone(), held.fence), holding);
            }
            stays
        })
    }

    /// The session is to lead with this value. Returns the version of the value; none if it does not lead.
    pub(crate) fn proclaims(&self, lock: &str, fence: Fence, value: &str) -> Option<u64> {
        let mut version = None;
        self.standing.send_if_modified(|standing| {
            let holding = standing.held.get_mut(&(lock.to_string(), fence));
            if let Some(leads) = holding.and_then(|holding| holding.leads.as_mut()) {
                *leads = Proclaimed { value: value.to_string(), version: leads.version + 1 };
                version = Some(leads.version);
            }
            false
        });
        version
    }

    /// The session believes no more than that it holds this with others, whatever its node knows.
    pub(crate) fn shares(&self, lock: &str, fence: Fence, mode: Mode) {
        self.standing.send_if_modified(|standing| {
            if let Some(holding) = standing.held.get_mut(&(lock.to_string(), fence)) {
                holding.mode = mode;
            }
            false
        });
    }

    /// The session does not hold this any more.
    pub(crate) fn let_go(&self, lock: &str, fence: Fence) {
        self.standing.send_if_modified(|standing| {
            standing.held.remove(&(lock.to_string(), fence));
            false
        });
    }

    pub(crate) fn id(&self) -> SessionId {
        self.id
    }

    pub(crate) fn ttl(&self) -> Duration {
        self.ttl
    }

    /// A number that no other request of this session has.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// The last number that was given.
    fn last_request(&self) -> u64 {
        self.requests.load(Ordering::Relaxed) - 1
    }

    /// Whether the session certainly has not ended.
    pub(crate) fn is_valid(&self) -> bool {
        let standing = self.standing.borrow();
        !standing.over && env::now() < standing.until
    }

    /// For how long the node certainly does not end it, even if no further sign gets through.
    pub(crate) fn valid_for(&self) -> Duration {
        let standing = self.standing.borrow();
        if standing.over { Duration::ZERO } else { env::until(standing.until) }
    }

    /// What the node promised last, as this clock may believe it.
    pub(crate) fn promised(&self) -> Duration {
        let standing = self.standing.borrow();
        standing.drift.believed(standing.valid)
    }

    /// Whether this is among what the node has lost.
    pub(crate) fn has_lost(&self, lock: &str, fence: Fence) -> bool {
        self.standing.borrow().has_lost(lock, fence)
    }

    /// Waits until the session is over.
    pub(crate) async fn over(&self) {
        self.stands(|standing| standing.over).await;
    }

    /// Waits until the session is over or the node has lost this.
    pub(crate) async fn lost(&self, lock: &str, fence: Fence) {
        self.stands(|standing| standing.over || standing.has_lost(lock, fence)).await;
    }

    async fn stands(&self, condition: impl FnMut(&Standing) -> bool) {
        let mut standing = self.standing.subscribe();
        let stood = standing.wait_for(condition).await;
        drop(stood.expect("the sender is a field of the session that is borrowed here"));
    }

    /// Takes it to be over.
    pub(crate) fn give_up(&self) {
        self.standing.send_modify(|standing| standing.over = true);
    }

    /// Ends it, if it is not over yet, and waits until the node has taken note.
    pub(crate) async fn end(&self) -> Result<(), CallError> {
        if self.standing.borrow().is_forgotten() {
            return Ok(());
        }
        self.standing.send_modify(|standing| (standing.over, standing.told_over) = (true, false));
        farewell(self.route(), self.id).await
    }

    fn route(&self) -> Route {
        self.standing.borrow().at.clone()
    }

    /// Goes on with something after whoever wanted it has gone.
    pub(crate) fn in_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.runtime.spawn(work);
    }

    /// One sign of life where the session is; if that goes through another node, also straight, in case it can
    /// be reached again. Whether the node there can go on.
    async fn give_sign(&self) -> Result<bool, CallError> {
        let (route, home) = {
            let standing = self.standing.borrow();
            (standing.at.clone(), Route::direct(Arc::clone(&standing.home)))
        };
        if route.is_direct() {
            return self.give_sign_by(&route).await;
        }
        let mut straight = pin!(async {
            match self.give_sign_by(&home).await {
                Ok(goes_on) => {
                    self.standing.send_modify(|standing| standing.at = home.clone());
                    goes_on
                }
                Err(_) => std::future::pending().await,
            }
        });
        let given = tokio::select! {
            biased;
            goes_on = &mut straight => return Ok(goes_on),
            given = self.give_sign_by(&route) => given,
        };
        env::timeout(STRAIGHT_WITHIN, straight).await;
        given
    }

    /// One sign of life by this way. The session counts as alive for what its node promises, from the
    /// moment that the sign was *sent*: the node cannot have seen it earlier.
    async fn give_sign_by(&self, route: &Route) -> Result<bool, CallError> {
        let (moved, question) = {
            let standing = self.standing.borrow();
            let (session, epoch) = (self.id, Some(standing.epoch));
            let life = standing.place.as_ref().map(|place| place.life);
            (standing.moved, Ask::KeepAlive { session, life, epoch })
        };
        let sent = env::now();
        let answer = within(self.pace(), route.ask(question)).await;
        if self.standing.borrow().moved != moved {
            // The session has arrived elsewhere meanwhile: the word of where it was is void.
            return Ok(true);
        }
        if let Err(CallError::Unreachable(_)) = answer {
            route.caller.doubt();
        }
        let kept = match answer? {
            Reply::KeptAlive(Json(kept)) => kept,
            other => return Err(unexpected(&other)),
        };
        self.nodes.replace(&kept.cluster.nodes);
        let valid = Duration::from_millis(kept.valid_ms);
        let mut goes_on = true;
        self.standing.send_modify(|standing| {
            goes_on = valid >= standing.most_valid / FADES_AT;
            standing.learn(&kept.cluster);
            // Once another node has given its word, that of one which is about to lose its lease is none.
            if goes_on || !standing.is_taken() {
                let is_other = standing.moving.is_some();
                standing.believe(sent, valid, MonoTime::NEVER, is_other);
            }
            let lives_until = sent.after(standing.drift.believed(self.ttl));
            standing.lives_until = standing.lives_until.max(lives_until);
            standing.lost = kept.lost;
        });
        Ok(goes_on)
    }

    /// A node refuses, and may name others.
    pub(crate) fn refused(&self, trouble: &CallError) {
        if let CallError::Refused(_, problem) = trouble {
            self.nodes.add(&problem.nodes);
        }
    }

    /// How often to give a sign: a node that loses its own lease must not take the session by surprise.
    fn pace(&self) -> Duration {
        (self.ttl / 3).min(self.standing.borrow().valid / 4)
    }

    /// When the next sign is due. A session on its way soon asks whether it has arrived: until then it is
    /// promised less and less.
    fn pause(&self) -> Duration {
        let (is_moving, home_leaves) = {
            let standing = self.standing.borrow();
            (standing.moving.is_some(), standing.home_leaves)
        };
        match (is_moving, home_leaves) {
            (false, _) => self.pace(),
            (true, false) => self.pace() / PENDING_ASKS,
            (true, true) => (self.pace() / PENDING_ASKS).min(ARRIVES_WITHIN),
        }
    }

    fn is_moving(&self) -> bool {
        self.standing.borrow().moving.is_some()
    }

    fn until(&self) -> MonoTime {
        self.standing.borrow().until
    }

    /// Gives a sign of life, and moves if that is not answered. Returns when to do so again; none if the
    /// session is over.
    async fn round(&self) -> Option<Duration> {
        // Where it was is asked also while it moves: if that node answers, the session stays.
        let mut sign = pin!(self.give_sign());
        let (given, moved) = if self.is_moving() {
            let mut again = pin!(self.try_again_to_move());
            tokio::select! {
                given = &mut sign => (given, again.await),
                moved = &mut again => {
                    if moved && !self.is_moving() {
                        // It has arrived: the word of where it was is void.
                        return Some(self.pace());
                    }
                    (sign.await, moved)
                }
            }
        } else {
            (sign.await, false)
        };
        match given {
            Ok(goes_on) if goes_on || !self.can_move() => {
                self.stay();
                Some(self.pace())
            }
            // It answers, but its lease is not renewed: elsewhere the session outlives that.
            Ok(_) => {
                let _ = moved || self.move_on().await;
                Some(self.pause())
            }
            Err(CallError::Refused(StatusCode::GONE, _)) => {
                self.standing
                    .send_modify(|standing| (standing.over, standing.told_over) = (true, true));
                None
            }
            Err(trouble) if moved => {
                self.note(&trouble);
                Some(self.pause())
            }
            Err(trouble) => {
                self.note(&trouble);
                let moved = self.can_move() && self.move_on().await;
                Some(if moved { self.pause() } else { self.pace() / 10 })
            }
        }
    }
}

impl Standing {
    /// A node promises this for a sign that was sent then. What ended stays ended; and the first word of
    /// another node is the only one that counts, since the former one may go.
    fn believe(&mut self, sent: MonoTime, valid: Duration, most: MonoTime, is_other: bool) {
        self.valid = valid;
        // A cluster whose leases were shortened promises less everywhere: there is nowhere better to go.
        self.most_valid = if is_other { valid } else { self.most_valid.max(valid) };
        if env::now() < self.until {
            let until = sent.after(self.drift.believed(valid)).min(most);
            self.until = if is_other { until } else { until.max(self.until) };
        }
    }

    /// Whether another node has taken the session, which is on its way.
    fn is_taken(&self) -> bool {
        self.moving.as_ref().is_some_and(|moving| moving.is_taken)
    }

    /// What a node says of the cluster.
    fn learn(&mut self, cluster: &ClusterInfo) {
        self.epoch = cluster.epoch;
        self.drift = drift(cluster).unwrap_or(self.drift);
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
            let (route, id) = (self.route(), self.id);
            // If it does not get through, the session ends by itself.
            self.runtime.spawn(async move { farewell(route, id).await.unwrap_or(()) });
        }
    }
}

async fn open_at(
    caller: Arc<Caller>,
    ttl: Duration,
    owner: &str,
) -> Result<(MonoTime, SessionOpened), CallError> {
    let question = OpenSession { ttl_ms: milliseconds(ttl), owner: owner.to_string() };
    // Before what it takes to connect: only the request itself counts, but earlier is safe.
    let sent = env::now();
    let opened = match within(ANSWER_WITHIN, caller.ask(Ask::Open(question), None)).await? {
        Reply::Opened(Json(opened)) => opened,
        other => return Err(unexpected(&other)),
    };
    if opened.valid_ms == 0 {
        return Err(CallError::silent("the node has lost its lease"));
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
    let mut looks = watch::Sender::new(0).subscribe();
    let mut home = Weak::<Caller>::new();
    loop {
        // The node where it is may ask for a sign before it is due.
        if let Some(present) = session.upgrade() {
            let present = Arc::clone(&present.standing.borrow().home);
            if !std::ptr::eq(home.as_ptr(), Arc::as_ptr(&present)) {
                (looks, home) = (present.looks(), Arc::downgrade(&present));
            }
        }
        tokio::select! {
            _ = env::timeout(pause, doubted.notified()) => {}
            () = looked(&mut looks) => {}
        }
        let Some(present) = session.upgrade() else { return };
        if present.standing.borrow().over {
            return;
        }
        // Counted from the sending of the sign: what a silent node has cost is not slept once more.
        let began = env::now();
        pause = match env::timeout(env::until(present.until()), Box::pin(present.round())).await {
            Some(Some(pause)) => pause.saturating_sub(env::now().since(began)),
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

/// Waits until the node asks for signs of life.
async fn looked(looks: &mut watch::Receiver<u64>) {
    if looks.changed().await.is_err() {
        std::future::pending().await
    }
}

/// By how much the clocks of client and node may run at different rates.
fn drift(cluster: &ClusterInfo) -> Option<Drift> {
    cluster.drift_ppm.map(|ppm| Drift { ppm })
}

/// Tells the node that the session ends.
async fn farewell(route: Route, id: SessionId) -> Result<(), CallError> {
    match within(ANSWER_WITHIN, route.ask(Ask::End(id))).await {
        Ok(_) | Err(CallError::Refused(StatusCode::GONE, _)) => Ok(()),
        Err(trouble) => Err(trouble),
    }
}

/// The answer, if it comes in time.
pub(crate) async fn within<T>(
    time: Duration,
    asked: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let answer = env::timeout(time, asked).await;
    answer.unwrap_or_else(|| Err(CallError::silent(format!("no answer in {time:?}"))))
}
