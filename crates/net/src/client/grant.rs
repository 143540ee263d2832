//! A lock in the hands of a client: asked for, held, given back.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;

use super::ClientError;
use super::connection::Trouble;
use super::session::Session;
use crate::env;
use crate::error::ReleaseError;
use crate::messages::{Acquire, Held, Release, Released};
use skeptron_member::Fence;
use skeptron_member::clock::Moment;

/// The first wait before a node that cannot be reached is asked again; then twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A lock that a session holds at its node. Dropping it releases in the background.
#[derive(Debug)]
#[must_use = "a guard that is dropped at once has released its lock"]
pub struct Guard {
    session: Arc<Session>,
    name: String,
    fence: Fence,
    /// The node knows, or has forgotten by itself.
    settled: bool,
}

impl Guard {
    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The fencing token of this entry: larger than that of every earlier entry of this lock.
    #[must_use]
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Whether the session still stands by the client's own clock, and the node has not lost the lock.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.session.is_valid() && !self.session.has_lost(&self.name, self.fence)
    }

    /// How long it stays valid by the client's own clock even if no further sign of life gets through:
    /// nobody else is granted the lock before. Zero once it is lost; a sign that gets through prolongs it.
    #[must_use]
    pub fn valid_for(&self) -> Duration {
        if self.is_valid() { self.session.valid_for() } else { Duration::ZERO }
    }

    /// For how long the node last promised to let the session live: its TTL, or what was left of the
    /// node's own lease.
    #[must_use]
    pub fn promised(&self) -> Duration {
        self.session.promised()
    }

    /// Waits until it is lost.
    pub async fn lost(&self) {
        self.session.lost(&self.name, self.fence).await;
    }

    /// Releases the lock, and waits until the node has taken note.
    ///
    /// # Errors
    /// If it was lost before, or the node cannot be told.
    pub async fn release(mut self) -> Result<(), ReleaseError> {
        let lost = || ReleaseError::Lost(self.name.clone());
        if !self.session.is_valid() {
            return Err(lost());
        }
        self.session.let_go(&self.name, self.fence);
        let question = self.question();
        let told = tokio::select! {
            biased;
            told = tell(&self.session, &question) => told,
            () = self.session.over() => return Err(lost()),
        };
        let told = told.map_err(|trouble| match trouble {
            Trouble::Refused(StatusCode::GONE | StatusCode::CONFLICT, _) => lost(),
            Trouble::Refused(_, problem) => {
                ReleaseError::Unreachable { name: self.name.clone(), why: problem.error }
            }
            Trouble::Unreachable(why) => ReleaseError::Unreachable { name: self.name.clone(), why },
        });
        self.settled = true;
        told
    }

    fn question(&self) -> Release {
        let (session, lock) = (self.session.id(), self.name.clone());
        Release { session, lock, fence: Some(self.fence), request: None }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.session.let_go(&self.name, self.fence);
        if !self.settled && self.session.is_valid() {
            tell_in_background(&self.session, self.question());
        }
    }
}

/// Acquires the lock; none if it was not granted in time.
pub(super) async fn acquire(
    session: &Arc<Session>,
    name: &str,
    wait: Option<Duration>,
) -> Result<Option<Guard>, ClientError> {
    if !session.is_valid() {
        return Err(ClientError::SessionOver);
    }
    let mut asking = Asking {
        session: Arc::clone(session),
        name: name.to_string(),
        request: None,
        settled: false,
    };
    let answer = tokio::select! {
        biased;
        answer = asking.answer(wait) => answer,
        () = session.over() => return Err(ClientError::SessionOver),
    };
    asking.settled = true;
    match answer {
        Ok(held) => {
            let grant = Guard {
                session: Arc::clone(session),
                name: held.lock,
                fence: held.fence,
                settled: false,
            };
            Ok(Some(grant))
        }
        Err(Trouble::Refused(_, problem)) if problem.code == "not-acquired" => Ok(None),
        Err(Trouble::Refused(StatusCode::GONE, _)) => {
            session.give_up();
            Err(ClientError::SessionOver)
        }
        // It was not heard in time; the node is told to forget it.
        Err(Trouble::Unreachable(_)) => {
            asking.settled = false;
            Ok(None)
        }
        Err(refused) => Err(refused.into()),
    }
}

/// An acquire that is not answered yet. Whoever drops it does not learn the answer, so the node is
/// told to undo it, however far it got.
struct Asking {
    session: Arc<Session>,
    name: String,
    /// The number of the acquire, once it has been sent: another one at each node.
    request: Option<(u64, u64)>,
    settled: bool,
}

impl Asking {
    /// Asks until there is an answer, or until it would be long overdue.
    async fn answer(&mut self, wait: Option<Duration>) -> Result<Held, Trouble> {
        let Some(wait) = wait else { return self.ask_until(None).await };
        let overdue = wait.saturating_add(self.session.ttl() / 3);
        let deadline = env::now().after(wait);
        let answer = env::timeout(overdue, self.ask_until(Some(deadline))).await;
        answer.unwrap_or_else(|| Err(Trouble::Unreachable("no answer in time".to_string())))
    }

    /// A connection may break at any time, and the session may move; the number of the request makes it
    /// the same acquire.
    async fn ask_until(&mut self, deadline: Option<Moment>) -> Result<Held, Trouble> {
        let mut pause = FIRST_PAUSE;
        loop {
            let (caller, moved) = self.session.settled().await;
            let request = match self.request {
                Some((request, at)) if at == moved => request,
                _ => self.session.next_request(),
            };
            self.request = Some((request, moved));
            let question = Acquire {
                session: self.session.id(),
                lock: self.name.clone(),
                wait_ms: deadline.map(milliseconds_until),
                request: Some(request),
            };
            let answer = tokio::select! {
                answer = caller.post("/v1/acquire", &question) => answer,
                () = self.session.leaves(moved) => continue,
            };
            match answer {
                Ok(held) if self.session.hold(&held, request, moved) => return Ok(held),
                Ok(_) => continue,
                Err(trouble) if is_over_there(&self.session, &trouble) => {
                    self.session.doubt();
                    env::sleep(pause).await;
                }
                Err(trouble) => return Err(trouble),
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        let Some((request, _)) = self.request.filter(|_| !self.settled) else { return };
        if !self.session.is_valid() {
            return;
        }
        let (session, lock) = (self.session.id(), std::mem::take(&mut self.name));
        let question = Release { session, lock, fence: None, request: Some(request) };
        tell_in_background(&self.session, question);
    }
}

/// Whether the same may be asked again: the node cannot be reached, or another one may know more.
fn is_over_there(session: &Session, trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Unreachable(_) => true,
        Trouble::Refused(StatusCode::GONE | StatusCode::SERVICE_UNAVAILABLE, problem) => {
            session.can_move() && problem.code != "full"
        }
        Trouble::Refused(..) => false,
    }
}

/// Rounded up, so that a short wait is not none at all.
fn milliseconds_until(deadline: Moment) -> u64 {
    let left = env::until(deadline);
    u64::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Tells the node to release, again and again until it answers. That nothing is held is no trouble:
/// an earlier try came through, and only its answer did not.
async fn tell(session: &Session, question: &Release) -> Result<(), Trouble> {
    let mut pause = FIRST_PAUSE;
    loop {
        let (caller, moved) = session.settled().await;
        let told = tokio::select! {
            told = caller.post::<_, Released>("/v1/release", question) => told,
            () = session.leaves(moved) => continue,
        };
        match told {
            Ok(_) | Err(Trouble::Refused(StatusCode::NOT_FOUND, _)) => return Ok(()),
            Err(trouble) if is_over_there(session, &trouble) => {
                session.doubt();
                env::sleep(pause).await;
            }
            Err(refused) => return Err(refused),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn tell_in_background(session: &Arc<Session>, question: Release) {
    let held = Arc::clone(session);
    session.in_background(async move {
        tokio::select! {
            // Nobody is left who could be told of trouble.
            _ = tell(&held, &question) => {}
            () = held.over() => {}
        }
    });
}
