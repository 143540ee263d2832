//! A lock in the hands of a client: asked for, held, given back.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use thiserror::Error;

use crate::ClientError;
use crate::connection::{Route, Trouble, unexpected};
use crate::env;
use crate::messages::{Acquire, Campaign, Problem, Proclaim, Release};
use crate::native::{Ask, Reply};
use crate::session::Session;
use skeptron_types::Fence;
use skeptron_types::clock::Moment;
use skeptron_types::report::NotGranted;
use skeptron_types::session::Held;

/// The first wait before a node that cannot be reached is asked again; then twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How long after the end of a wait a node may take to say why nothing was granted.
const TOLD_WITHIN: Duration = Duration::from_secs(3);

/// Why a release told nobody.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ReleaseError {
    /// It had been lost before.
    #[error("the lock `{0}` had been lost before it was released; what was done since may clash")]
    Lost(String),
    /// The node cannot be told; the lock is given back when the session ends.
    #[error("the node cannot be told that `{name}` is released: {why}; its session gives it back")]
    Unreachable {
        /// Which lock.
        name: String,
        /// Why.
        why: String,
    },
}

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

    /// Changes the value that observers are shown, of a guard of [`crate::Client::campaign`]; waits until
    /// the node has taken note.
    ///
    /// # Errors
    /// If the lock was lost, or acquired without campaigning, or the node refuses.
    pub async fn proclaim(&self, value: &str) -> Result<(), ClientError> {
        let Some(version) = self.session.proclaims(&self.name, self.fence, value) else {
            let told = format!("`{}` is not led: it was locked, or lost", self.name);
            return Err(ClientError::Refused(told));
        };
        let question = Proclaim {
            session: self.session.id(),
            name: self.name.clone(),
            term: self.fence,
            value: value.to_string(),
            version: Some(version),
        };
        tokio::select! {
            biased;
            told = tell(&self.session, Ask::Proclaim(question)) => Ok(told?),
            () = self.lost() => Err(ClientError::SessionOver),
        }
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
            told = forget(&self.session, &question) => told,
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

/// Acquires the lock, or says why it was not granted in time.
pub(crate) async fn acquire(
    session: &Arc<Session>,
    (name, value): (&str, Option<&str>),
    wait: Option<Duration>,
) -> Result<Result<Guard, NotGranted>, ClientError> {
    if !session.is_valid() {
        return Err(ClientError::SessionOver);
    }
    let mut asking = Asking {
        session: Arc::clone(session),
        name: name.to_string(),
        value: value.map(str::to_string),
        request: None,
        refused: None,
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
            Ok(Ok(grant))
        }
        Err(Trouble::Refused(_, Problem { code, why: Some(why), .. }))
            if matches!(code.as_str(), "not-acquired" | "unavailable") =>
        {
            Ok(Err(*why))
        }
        Err(Trouble::Refused(StatusCode::GONE, _)) => {
            session.give_up();
            Err(ClientError::SessionOver)
        }
        // It was not heard in time; the node is told to forget it.
        Err(Trouble::Unreachable(why)) => {
            asking.settled = false;
            Err(ClientError::Unreachable(why))
        }
        Err(refused) => Err(refused.into()),
    }
}

/// An acquire that is not answered yet. Whoever drops it does not learn the answer, so the node is
/// told to undo it, however far it got.
struct Asking {
    session: Arc<Session>,
    name: String,
    /// With which it wants to lead, if so.
    value: Option<String>,
    /// The number of the acquire, once it has been sent: another one at each node.
    request: Option<(u64, u64)>,
    /// Why it was refused last, if the node answered.
    refused: Option<Trouble>,
    settled: bool,
}

impl Asking {
    /// Asks until there is an answer, or until it would be long overdue.
    async fn answer(&mut self, wait: Option<Duration>) -> Result<Held, Trouble> {
        let Some(wait) = wait else { return self.ask_until(None).await };
        let overdue = wait.saturating_add((self.session.ttl() / 3).max(TOLD_WITHIN));
        let deadline = env::now().after(wait);
        let answer = env::timeout(overdue, self.ask_until(Some(deadline))).await;
        let silent = || Trouble::Unreachable("no answer in time".to_string());
        answer.unwrap_or_else(|| Err(self.refused.take().unwrap_or_else(silent)))
    }

    /// A connection may break at any time, and the session may move; the number of the request makes it
    /// the same acquire.
    async fn ask_until(&mut self, deadline: Option<Moment>) -> Result<Held, Trouble> {
        let mut pause = FIRST_PAUSE;
        loop {
            let (route, moved) = self.session.settled().await;
            let request = match self.request {
                Some((request, at)) if at == moved => request,
                _ => self.session.next_request(),
            };
            self.request = Some((request, moved));
            let answer = tokio::select! {
                answer = self.ask(&route, request, deadline) => answer,
                () = self.session.leaves(moved, &route) => continue,
            };
            let value = self.value.as_deref();
            match answer {
                Ok(held) if self.session.hold(&held, (request, value), moved) => return Ok(held),
                Ok(_) => continue,
                Err(trouble) => {
                    self.session.refused(&trouble);
                    if !is_over_there(&self.session, &trouble) {
                        return Err(trouble);
                    }
                    self.refused = Some(trouble).filter(|it| matches!(it, Trouble::Refused(..)));
                    self.session.doubt();
                    env::sleep(pause).await;
                }
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn ask(
        &self,
        route: &Route,
        request: u64,
        deadline: Option<Moment>,
    ) -> Result<Held, Trouble> {
        let (session, name) = (self.session.id(), self.name.clone());
        let (wait_ms, request) = (deadline.map(milliseconds_until), Some(request));
        let Some(value) = self.value.clone() else {
            let question = Acquire { session, lock: name, wait_ms, request };
            return held(route.ask(Ask::Acquire(question)).await?);
        };
        let question = Campaign { session, name, value, wait_ms, request };
        held(route.ask(Ask::Campaign(question)).await?)
    }
}

fn held(reply: Reply) -> Result<Held, Trouble> {
    match reply {
        Reply::Held(held) => Ok(held),
        other => Err(unexpected(&other)),
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
            session.can_move() && !matches!(problem.code.as_str(), "full" | "unavailable")
        }
        Trouble::Refused(..) => false,
    }
}

/// Rounded up, so that a short wait is not none at all.
fn milliseconds_until(deadline: Moment) -> u64 {
    let left = env::until(deadline);
    u64::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Tells the node to release. That nothing is held is no trouble: an earlier try came through, and only
/// its answer did not.
async fn forget(session: &Session, question: &Release) -> Result<(), Trouble> {
    match tell(session, Ask::Release(question.clone())).await {
        Err(Trouble::Refused(StatusCode::NOT_FOUND, _)) => Ok(()),
        told => told,
    }
}

/// Tells the node something, again and again until it answers.
async fn tell(session: &Session, question: Ask) -> Result<(), Trouble> {
    let mut pause = FIRST_PAUSE;
    loop {
        let (route, moved) = session.settled().await;
        let told = tokio::select! {
            told = route.ask(question.clone()) => told,
            () = session.leaves(moved, &route) => continue,
        };
        match told {
            Ok(_) => return Ok(()),
            Err(trouble) => {
                session.refused(&trouble);
                if !is_over_there(session, &trouble) {
                    return Err(trouble);
                }
                session.doubt();
                env::sleep(pause).await;
            }
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn tell_in_background(session: &Arc<Session>, question: Release) {
    let held = Arc::clone(session);
    session.in_background(async move {
        tokio::select! {
            // Nobody is left who could be told of trouble.
            _ = forget(&held, &question) => {}
            () = held.over() => {}
        }
    });
}
