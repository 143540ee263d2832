//! Front ends for other protocols: what they may ask of a node's API, and what they must say of theirs. The
//! rules (who is let in, what it may do, how much it may have, what happens while the node closes) are those
//! of the HTTP API, and the same code.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, Response};
use skeptron_member::election::Leadership;
use skeptron_member::report::milliseconds;
use skeptron_member::session::{Held, SessionId, SessionReport};
use skeptron_member::view::View;
use skeptron_member::{Fence, MemberId};

use super::elections::Observer;
use super::error::{ErrorResponse, RequestError};
use super::listen::Closing;
use super::listeners::Listeners;
use super::relay::{self, Answered};
use super::roles::{Client, RELAYED};
use super::service::ApiService;
use crate::env;
use crate::messages::{Acquire, OpenSession, Proclaim, Release};
use crate::node::Node;

/// Another protocol over HTTP in which clients are answered, at addresses of its own.
pub trait FrontEnd: Send + Sync {
    /// Answers clients; each request has the [`Client`] that sent it and [`Closing`] as extensions.
    fn router(&self, service: FrontEndApi) -> Router;

    /// Performs what the same front end of another node has passed on by [`FrontEndApi::pass_on`].
    fn relayed(&self, service: FrontEndApi) -> Router;

    /// The path of the HTTP API for which one needs the same rights, or `/health` if one needs none.
    fn counts_as(&self, path: &str) -> &'static str;

    /// Says who asks as the HTTP API is told: by `Authorization: Bearer TOKEN`.
    fn tell_who(&self, headers: &mut HeaderMap);

    /// The answer to somebody who is not let in.
    fn refusal(&self, request: &Request<()>, why: &ErrorResponse) -> Response<Body>;
}

/// A front end and where it listens.
pub struct ListeningFrontEnd {
    /// Where.
    pub listeners: Listeners,
    /// Which protocol.
    pub front: Arc<dyn FrontEnd>,
}

/// What a front end may ask of a node's API.
#[derive(Clone, Debug)]
pub struct FrontEndApi(pub(super) Arc<ApiService>);

impl FrontEndApi {
    /// Whose API it is.
    #[must_use]
    pub fn node(&self) -> &Node {
        &self.0.node
    }

    /// The node's view, once it has one.
    #[must_use]
    pub fn view(&self) -> Option<Arc<View>> {
        self.0.node.view()
    }

    /// This life of the node; none if it has not entered, or if views do not name lives.
    #[must_use]
    pub fn life(&self) -> Option<(MemberId, u64)> {
        let life = self.0.node.shell().ok()?.core().life()?;
        Some((life.member, life.incarnation))
    }

    /// The shortest and the longest TTL of a session.
    #[must_use]
    pub fn ttl(&self) -> (Duration, Duration) {
        self.0.ttl
    }

    /// Ends when the API takes no new requests.
    #[must_use]
    pub fn closing(&self) -> Closing {
        Closing::new(self.0.stage.clone())
    }

    /// Whether this life of the node may grant anything.
    ///
    /// # Errors
    /// If not.
    pub fn can_grant(&self) -> Result<(), ErrorResponse> {
        let shell = self.0.node.shell().map_err(RequestError::from)?;
        Ok(self.0.can_grant(&shell)?)
    }

    /// Opens a session, which ends when nothing is heard of it for this time.
    ///
    /// # Errors
    /// If the client may not, or the node cannot.
    pub fn open(
        &self,
        client: &Client,
        ttl: Duration,
        owner: String,
    ) -> Result<SessionId, ErrorResponse> {
        let asked = OpenSession { ttl_ms: milliseconds(ttl), owner };
        self.noted(client, self.0.open_session(client, asked).map(|opened| opened.session))
    }

    /// A sign of life.
    ///
    /// # Errors
    /// If the session is over, or the node leaves.
    pub fn keep_alive(&self, client: &Client, id: SessionId) -> Result<(), ErrorResponse> {
        self.noted(client, self.0.keep_alive(client, id, (None, None)).map(drop))
    }

    /// Ends a session.
    ///
    /// # Errors
    /// If it is over, or somebody else's.
    pub fn end(&self, client: &Client, id: SessionId) -> Result<(), ErrorResponse> {
        self.noted(client, self.0.end_session(client, id).map(drop))
    }

    /// Whether the client may use the session.
    ///
    /// # Errors
    /// If it is somebody else's.
    pub fn check(&self, client: &Client, id: SessionId) -> Result<(), ErrorResponse> {
        self.noted(client, self.0.ledger.check(client, id))
    }

    /// The same, of one of many: nobody is refused anything by it.
    #[must_use]
    pub fn is_own(&self, client: &Client, id: SessionId) -> bool {
        self.0.ledger.check(client, id).is_ok()
    }

    /// What a session holds, and how long it goes on without a sign of life; asking is none. None if it is
    /// over.
    #[must_use]
    pub fn look(&self, id: SessionId) -> Option<(SessionReport, Duration)> {
        let shell = self.0.node.shell().ok()?;
        let left = shell.core().session_left(env::now(), id)?;
        Some((shell.core().peek_session(id)?, left))
    }

    /// Waits until a session holds a lock, to lead with this value if there is one. Dropped, it waits no
    /// longer. All acquires of one lock by one session are the same.
    ///
    /// # Errors
    /// If the session ends, the client may not have the lock, or the node cannot grant it.
    pub async fn acquire(
        &self,
        client: &Client,
        (session, lock): (SessionId, &str),
        value: Option<&str>,
    ) -> Result<Held, ErrorResponse> {
        let asked = Acquire::exclusive(session, lock.to_string(), None, None);
        self.noted(client, self.0.acquire(client, asked, value).await)
    }

    /// A session gives a lock back.
    ///
    /// # Errors
    /// If it does not hold that entry of the lock, or has lost it.
    pub fn release(
        &self,
        client: &Client,
        (session, lock): (SessionId, &str),
        fence: Fence,
    ) -> Result<(), ErrorResponse> {
        let lock = lock.to_string();
        let asked = Release { session, lock, fence: Some(fence), request: None };
        self.noted(client, self.0.release(client, &asked).map(drop))
    }

    /// A leader changes its value. Returns the version of the value.
    ///
    /// # Errors
    /// If it does not lead with that term.
    pub fn proclaim(
        &self,
        client: &Client,
        session: SessionId,
        (name, term): (&str, Fence),
        value: &str,
    ) -> Result<u64, ErrorResponse> {
        let (name, value) = (name.to_string(), value.to_string());
        let asked = Proclaim { session, name, term, value, version: None };
        self.noted(client, self.0.proclaim(client, &asked))
    }

    /// Who leads an election.
    ///
    /// # Errors
    /// If the client may not see it, or a member does not answer.
    pub async fn leader(&self, client: &Client, name: &str) -> Result<Leadership, ErrorResponse> {
        self.noted(client, self.0.leader(client, name).await)
    }

    /// Observes an election.
    ///
    /// # Errors
    /// If the client may not see it, or observes too many.
    pub fn observe(&self, client: &Client, name: &str) -> Result<Observer, ErrorResponse> {
        self.noted(client, Observer::begin(&self.0, client, name, None))
    }

    /// Whether there is a link to that life of another member.
    #[must_use]
    pub fn reaches(&self, life: (MemberId, u64)) -> bool {
        self.0.node.shell().is_ok_and(|shell| shell.reaches(life))
    }

    /// Lets the same front end of another node's life perform something for a client: [`FrontEnd::relayed`] is
    /// asked there for `/relayed/PATH`. It waits without end only if it is said to.
    ///
    /// # Errors
    /// If that life cannot be reached, or does not answer.
    pub async fn pass_on(
        &self,
        client: &Client,
        life: (MemberId, u64),
        (path, body): (&str, Vec<u8>),
        waits: bool,
    ) -> Result<Vec<u8>, ErrorResponse> {
        let path = format!("{RELAYED}{path}");
        let asked = relay::ask(&self.0, life, client, (&Method::POST, &path), body);
        let answered = match waits {
            true => Some(asked.await),
            false => env::timeout(relay::ANSWER_WITHIN, asked).await,
        };
        let answered = match answered {
            None => Err(RequestError::NotRelayed(life.0)),
            Some(Ok(Answered { status: 200, body })) => Ok(body),
            // The other node has no such front end, or does not know who asks.
            Some(Ok(_)) => Err(RequestError::NotRelayed(life.0)),
            Some(Err(refusal)) => Err(refusal),
        };
        self.noted(client, answered)
    }

    /// What is refused is counted with its request.
    fn noted<T>(
        &self,
        client: &Client,
        answer: Result<T, RequestError>,
    ) -> Result<T, ErrorResponse> {
        answer.map_err(|refusal| {
            let refused = ErrorResponse::from(refusal);
            client.note(&refused);
            refused
        })
    }
}
