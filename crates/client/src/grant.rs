//! A lock in the hands of a client: asked for, held, given back.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use thiserror::Error;

use crate::ClientError;
use crate::connection::{CallError, Route, unexpected};
use crate::env;
use crate::messages::{Acquire, Campaign, Downgrade, Problem, Proclaim, Release};
use crate::native::{Ask, Reply};
use crate::session::Session;
use skeptron_types::clock::MonoTime;
use skeptron_types::report::NotGranted;
use skeptron_types::session::Held;
use skeptron_types::{Fence, Mode};

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
    #[error(
        "the lock `{0}` was lost before it was released; work done since then may conflict with \
         another holder"
    )]
    Lost(String),
    /// The node cannot be told; the lock is given back when the session ends.
    #[error("cannot release `{name}` at the node: {why}; it is released when the session ends")]
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
    mode: Mode,
    /// The node knows, or has forgotten by itself.
    settled: bool,
}

/// Why an entry is not exclusive. Unless it is lost, it is held as before.
#[derive(Debug, Error)]
pub enum UpgradeError {
    /// Another one upgrades first, and waits for this one: it must be released.
    #[error("`{name}` was not upgraded: another holder is upgrading and waits for this one to release it", name = .0.name)]
    Denied(Guard),
    /// Others held it until the time was over, or the cluster cannot grant it.
    #[error("`{name}` was not upgraded: {why}", name = guard.name)]
    NotGranted {
        /// Held as before.
        guard: Guard,
        /// Why.
        why: NotGranted,
    },
    /// It was lost or released.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// What an acquire is to come to.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    /// An entry of this mode.
    Enter(Mode),
    /// An exclusive entry whose holder leads, and says this of itself.
    Lead(String),
    /// The entry with this fence is to be exclusive.
    Upgrade(Fence),
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

    /// How many others it tolerates.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Waits until it is exclusive, without leaving: all others have left, and it has a new fence. No longer
    /// than `wait`, if that is given. Dropped, the future releases the lock.
    ///
    /// # Errors
    /// See [`UpgradeError`].
    pub async fn upgrade(self, wait: Option<Duration>) -> Result<Guard, UpgradeError> {
        if self.mode.is_exclusive() {
            return Ok(self);
        }
        let session = Arc::clone(&self.session);
        match acquire(&session, (&self.name, Wish::Upgrade(self.fence)), wait).await {
            Ok(Ok(guard)) => {
                // The node knows no entry with the former fence any more.
                let mut former = self;
                former.settled = true;
                Ok(guard)
            }
            Ok(Err(why)) => Err(UpgradeError::NotGranted { guard: self, why }),
            Err(ClientError::UpgradeDenied(_)) => Err(UpgradeError::Denied(self)),
            Err(error) => Err(error.into()),
        }
    }

    /// Goes on with others, with the same fence: from now on it counts as held like that, and when this
    /// returns the node has taken note.
    ///
    /// # Errors
    /// If the lock was lost, or is led, or the node refuses.
    pub async fn downgrade(&mut self, mode: Mode) -> Result<(), ClientError> {
        if mode == self.mode {
            return Ok(());
        }
        if !self.mode.is_exclusive() {
            // Another number of permits may be fewer: that would be believed before it is granted.
            let told = format!("`{}` is held with others already, as {}", self.name, self.mode);
            return Err(ClientError::Refused(told));
        }
        // First: if it moves before the node's answer, others may have come in already.
        self.session.shares(&self.name, self.fence, mode);
        self.mode = mode;
        let (session, lock) = (self.session.id(), self.name.clone());
        let question = Downgrade { session, lock, fence: self.fence, mode };
        tokio::select! {
            biased;
            told = tell(&self.session, Ask::Downgrade(question)) => Ok(told?),
            () = self.lost() => Err(ClientError::SessionOver),
        }
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
            CallError::Refused(StatusCode::GONE | StatusCode::CONFLICT, _) => lost(),
            CallError::Refused(_, problem) => {
                ReleaseError::Unreachable { name: self.name.clone(), why: problem.error }
            }
            CallError::Unreachable(why) => {
                ReleaseError::Unreachable { name: self.name.clone(), why: why.to_string() }
            }
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
    (name, wish): (&str, Wish),
    wait: Option<Duration>,
) -> Result<Result<Guard, NotGranted>, ClientError> {
    if !session.is_valid() {
        return Err(ClientError::SessionOver);
    }
    let mut asking = Asking {
        session: Arc::clone(session),
        name: name.to_string(),
        wish,
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
                mode: if let Wish::Enter(mode) = asking.wish { mode } else { Mode::EXCLUSIVE },
                settled: false,
            };
            Ok(Ok(grant))
        }
        Err(CallError::Refused(_, Problem { code, why: Some(why), .. }))
            if matches!(code.as_str(), "not-acquired" | "unavailable") =>
        {
            Ok(Err(*why))
        }
        Err(CallError::Refused(StatusCode::GONE, _)) => {
            session.give_up();
            Err(ClientError::SessionOver)
        }
        // It was not heard in time; the node is told to forget it.
        Err(trouble @ CallError::Unreachable(_)) => {
            asking.settled = false;
            Err(trouble.into())
        }
        Err(refused) => Err(refused.into()),
    }
}

/// An acquire that is not answered yet. Whoever drops it does not learn the answer, so the node is
/// told to undo it, however far it got.
struct Asking {
    session: Arc<Session>,
    name: String,
    wish: Wish,
    /// The number of the acquire, once it has been sent: another one at each node.
    request: Option<(u64, u64)>,
    /// Why it was refused last, if the node answered.
    refused: Option<CallError>,
    settled: bool,
}

impl Asking {
    /// Asks until there is an answer, or until it would be long overdue.
    async fn answer(&mut self, wait: Option<Duration>) -> Result<Held, CallError> {
        let Some(wait) = wait else { return self.ask_until(None).await };
        let overdue = wait.saturating_add((self.session.ttl() / 3).max(TOLD_WITHIN));
        let deadline = env::now().after(wait);
        let answer = env::timeout(overdue, self.ask_until(Some(deadline))).await;
        let silent = || CallError::silent("no answer in time");
        answer.unwrap_or_else(|| Err(self.refused.take().unwrap_or_else(silent)))
    }

    /// A connection may break at any time, and the session may move; the number of the request makes it
    /// the same acquire.
    async fn ask_until(&mut self, deadline: Option<MonoTime>) -> Result<Held, CallError> {
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
            match answer {
                Ok(held) if self.session.hold(&held, (request, &self.wish), moved) => {
                    return Ok(held);
                }
                Ok(_) => continue,
                // It was granted and lost before that was heard, as when somebody breaks the lock.
                Err(CallError::Refused(_, problem))
                    if problem.code == "withdrawn" && !matches!(self.wish, Wish::Upgrade(_)) =>
                {
                    self.request = None;
                }
                Err(trouble) => {
                    self.session.refused(&trouble);
                    if !is_over_there(&self.session, &trouble) {
                        return Err(trouble);
                    }
                    self.refused = Some(trouble).filter(|it| matches!(it, CallError::Refused(..)));
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
        deadline: Option<MonoTime>,
    ) -> Result<Held, CallError> {
        let (session, name) = (self.session.id(), self.name.clone());
        let (wait_ms, request) = (deadline.map(milliseconds_until), Some(request));
        let (mode, upgrade) = match self.wish {
            Wish::Lead(ref value) => {
                let value = value.clone();
                let question = Campaign { session, name, value, wait_ms, request };
                return held(route.ask(Ask::Campaign(question)).await?);
            }
            Wish::Enter(mode) => (mode, None),
            Wish::Upgrade(fence) => (Mode::EXCLUSIVE, Some(fence)),
        };
        let question = Acquire { session, lock: name, wait_ms, request, mode, upgrade };
        held(route.ask(Ask::Acquire(question)).await?)
    }
}

fn held(reply: Reply) -> Result<Held, CallError> {
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
fn is_over_there(session: &Session, trouble: &CallError) -> bool {
    match trouble {
        CallError::Unreachable(_) => true,
        CallError::Refused(StatusCode::GONE | StatusCode::SERVICE_UNAVAILABLE, problem) => {
            session.can_move() && !matches!(problem.code.as_str(), "full" | "unavailable")
        }
        CallError::Refused(..) => false,
    }
}

/// Rounded up, so that a short wait is not none at all.
fn milliseconds_until(deadline: MonoTime) -> u64 {
    let left = env::until(deadline);
    u64::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Tells the node to release. That nothing is held is no trouble: an earlier try came through, and only
/// its answer did not.
async fn forget(session: &Session, question: &Release) -> Result<(), CallError> {
    match tell(session, Ask::Release(question.clone())).await {
        Err(CallError::Refused(StatusCode::NOT_FOUND, _)) => Ok(()),
        told => told,
    }
}

/// Tells the node something, again and again until it answers.
async fn tell(session: &Session, question: Ask) -> Result<(), CallError> {
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
