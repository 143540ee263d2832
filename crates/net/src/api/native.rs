//! Clients that speak the native protocol: one task reads what arrived, answers what can be answered at
//! once, and writes all of it together. What waits is polled by the same task, and so is a grant written
//! when it comes. All rules are those of HTTP, in [`super::service`], [`super::moves`] and
//! [`super::elections`].

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{self, FuturesUnordered, Stream};
use futures_util::{FutureExt as _, StreamExt as _};
use skeptron_client::native::{
    Ask, BadFrame, ClientFrame, Greeting, Hello, Json, MAGIC, MOST_IN_FLIGHT, MOST_QUESTION_BYTES,
    MOST_SESSIONS, NodeFrame, Refused, Reply, VERSION, put, take,
};
use skeptron_member::election::Leadership;
use skeptron_member::session::SessionId;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::audit::Act;
use super::auth::{Auth, AuthError, Caller};
use super::connection_limiter::ConnectionSlot;
use super::elections::Observer;
use super::error::{self, RequestError};
use super::listen::{ConnectionHandler, Stage, Watched};
use super::roles::Client;
use super::service::ApiService;
use super::{moves, relay, routes};
use crate::env;
use crate::messages::{Acquire, Campaign, HEARD_EVERY, SessionPlace};

/// What is read at once, at least.
const READ_BYTES: usize = 16 << 10;
/// A connection that carries no session and asks for nothing ends after one or two of these.
const IDLE_FOR: Duration = Duration::from_secs(60);
/// How long the last words may take.
const GONE_WITHIN: Duration = Duration::from_secs(1);

/// Whether a connection that begins with this byte speaks the native protocol.
pub(super) fn begins_with(first: u8) -> bool {
    first == MAGIC[0]
}

impl ConnectionHandler {
    /// Serves a connection of which this has arrived.
    pub(super) async fn serve_native<I>(
        &self,
        service: &Arc<ApiService>,
        (mut io, mut received): (I, Vec<u8>),
        (caller, place): (Caller, &ConnectionSlot),
        too_late: impl Future<Output = ()>,
    ) where
        I: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let hello = tokio::select! {
            hello = read_hello(&mut io, &mut received) => hello,
            () = too_late => return,
            () = place.cut() => return,
        };
        let Ok(hello) = hello else { return };
        let greeted = self.greet(service, (caller, hello), place);
        let mut unsent = MAGIC.to_vec();
        let greeting = match &greeted {
            Ok(_) => Greeting::Welcome { version: VERSION },
            Err(refused) => Greeting::Refused(refused.clone()),
        };
        put(&greeting, &mut unsent);
        let Ok(line) = greeted else {
            let told = async {
                io.write_all(&unsent).await?;
                io.shutdown().await
            };
            env::timeout(GONE_WITHIN, told).await;
            return;
        };
        let line = Line { unsent, received, ..line };
        // A connection that breaks, or says what is no question, ends; nobody else notices.
        if let Err(error) = line.serve(io).await {
            tracing::debug!(%error, "a native connection ended");
        }
    }

    fn greet<'a>(
        &'a self,
        service: &'a Arc<ApiService>,
        (caller, hello): (Caller, Hello),
        place: &'a ConnectionSlot,
    ) -> Result<Line<'a>, Refused> {
        let refused = |refusal: RequestError| refused(service, &refusal);
        let mut shown = Request::new(());
        *shown.uri_mut() = axum::http::Uri::from_static(ANY_PATH);
        if let Some(token) = hello.token {
            let bearer = HeaderValue::from_str(&format!("Bearer {token}"));
            let bearer = bearer.map_err(|_| refused(RequestError::Stranger))?;
            shown.headers_mut().insert(header::AUTHORIZATION, bearer);
        }
        if hello.version != VERSION {
            let told = format!("this node speaks version {VERSION}, not {}", hello.version);
            return Err(refused(RequestError::Invalid(told)));
        }
        let auth = self.auth.load_full();
        let admitted = auth.admit(&caller, &shown, ANY_PATH).and_then(|client| {
            let begun = place.begin(client.name(), false, self.quota);
            begun.map_err(|refusal| AuthError {
                client: Arc::clone(client.name()),
                refusal: Box::new(refusal),
            })?;
            place.end(false);
            Ok(client)
        });
        let client = admitted.map_err(|AuthError { client, refusal }| {
            let (status, code) = refusal.kind();
            let act = Act {
                client: &client,
                address: place.address,
                method: &Method::GET,
                path: "native",
            };
            if status != StatusCode::SERVICE_UNAVAILABLE {
                self.audit.refused(&act, code, status);
            }
            place.refused(code, &refusal.to_string());
            refused(*refusal)
        })?;
        Ok(Line {
            handler: self,
            service,
            place,
            caller,
            shown,
            auth,
            client,
            received: Vec::new(),
            unsent: Vec::new(),
            sessions: BTreeSet::new(),
            under_way: FuturesUnordered::new(),
            cancels: BTreeMap::new(),
            has_asked: true,
            is_leaving: false,
        })
    }
}

/// Whoever may come in at all may ask for this.
const ANY_PATH: &str = "/v1/status";

async fn read_hello<I>(io: &mut I, received: &mut Vec<u8>) -> io::Result<Hello>
where
    I: AsyncRead + Unpin,
{
    loop {
        let known = received.len().min(MAGIC.len());
        if received[..known] != MAGIC[..known] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if let Some(rest) = received.get(MAGIC.len()..)
            && let Some((hello, length)) = take(rest, MOST_QUESTION_BYTES).map_err(malformed)?
        {
            received.drain(..MAGIC.len() + length);
            return Ok(hello);
        }
        if io.read_buf(received).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn malformed(error: BadFrame) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// What HTTP would answer.
fn refused(service: &ApiService, refusal: &RequestError) -> Refused {
    let (status, _) = refusal.kind();
    let mut problem = refusal.problem();
    if status == StatusCode::SERVICE_UNAVAILABLE {
        problem = routes::naming_others(&service.node, problem);
    }
    Refused { status: status.as_u16(), problem: Json(problem) }
}

/// One connection.
struct Line<'a> {
    handler: &'a ConnectionHandler,
    service: &'a Arc<ApiService>,
    place: &'a ConnectionSlot,
    caller: Caller,
    /// What the client shows of itself.
    shown: Request<()>,
    /// Who let it in, and as whom: asked again when tokens or roles have changed.
    auth: Arc<Auth>,
    client: Client,
    received: Vec<u8>,
    unsent: Vec<u8>,
    /// Those that were opened here or moved here.
    sessions: BTreeSet<SessionId>,
    under_way: FuturesUnordered<Abortable<BoxFuture<'static, Outcome>>>,
    cancels: BTreeMap<u64, AbortHandle>,
    /// Since the last look whether it is idle.
    has_asked: bool,
    is_leaving: bool,
}

/// The method and the path that a request has in HTTP, for roles and the audit log.
type Kind = (Method, &'static str);

/// What comes of a request that could not be answered at once.
enum Outcome {
    Done(u64, Kind, Result<Reply, RequestError>),
    /// To be told after a delay.
    HeldBack(u64, Refused),
    Leads(u64, Observer, Option<Option<Leadership>>),
}

/// What a connection hears beside its client.
enum Signal {
    /// Sessions may have lost something.
    Look,
    Tick,
    /// It takes no more requests.
    Leave,
    /// It ends at once.
    End,
}

impl Line<'_> {
    async fn serve<I>(mut self, mut io: I) -> io::Result<()>
    where
        I: AsyncRead + AsyncWrite + Unpin + Send,
    {
        let mut signals = pin!(signals(self.handler, self.service, self.place));
        loop {
            self.take_questions().await?;
            if !self.unsent.is_empty() {
                let unsent = std::mem::take(&mut self.unsent);
                let mut sending = pin!(async {
                    io.write_all(&unsent).await?;
                    io.flush().await
                });
                loop {
                    tokio::select! {
                        biased;
                        sent = &mut sending => break sent?,
                        // Whoever does not read is not heard either; but its place may be wanted.
                        Some(signal) = signals.next() => if self.hear(&signal) {
                            return Ok(());
                        }
                    }
                }
                if self.unsent.is_empty() {
                    // For the next ones.
                    self.unsent = unsent;
                    self.unsent.clear();
                }
                continue;
            }
            if self.is_leaving && self.under_way.is_empty() {
                return io.shutdown().await;
            }
            if self.received.capacity() - self.received.len() < READ_BYTES / 4 {
                self.received.reserve(READ_BYTES);
            }
            tokio::select! {
                biased;
                Some(outcome) = self.under_way.next(), if !self.under_way.is_empty() => {
                    self.finish(outcome.ok());
                    while let Some(Some(outcome)) = self.under_way.next().now_or_never() {
                        self.finish(outcome.ok());
                    }
                }
                read = io.read_buf(&mut self.received) => {
                    if read? == 0 {
                        return Ok(());
                    }
                    self.has_asked = true;
                }
                Some(signal) = signals.next() => if self.hear(&signal) {
                    return Ok(());
                }
            }
        }
    }

    /// Whether the connection is over.
    fn hear(&mut self, signal: &Signal) -> bool {
        match signal {
            Signal::Look => put(&NodeFrame::Look, &mut self.unsent),
            Signal::Tick => return self.is_idle(),
            Signal::Leave => {
                self.is_leaving = true;
                put(&NodeFrame::Leaving, &mut self.unsent);
            }
            Signal::End => return true,
        }
        false
    }

    /// Whether it has not asked for anything since the last look, and nobody could miss it.
    fn is_idle(&mut self) -> bool {
        let has_asked = std::mem::take(&mut self.has_asked);
        self.sessions.retain(|id| self.service.look(*id).is_some());
        !has_asked && self.under_way.is_empty() && self.sessions.is_empty()
    }

    async fn take_questions(&mut self) -> io::Result<()> {
        let mut taken = 0;
        while let Some((question, length)) =
            take(&self.received[taken..], MOST_QUESTION_BYTES).map_err(malformed)?
        {
            taken += length;
            match question {
                ClientFrame::Ask { number, .. } if self.is_leaving => {
                    put(&NodeFrame::Again { number }, &mut self.unsent);
                }
                ClientFrame::Ask { number, relay, ask } => self.ask(number, relay, ask).await,
                ClientFrame::Cancel { number } => {
                    if let Some(cancel) = self.cancels.remove(&number) {
                        cancel.abort();
                    }
                }
            }
        }
        self.received.drain(..taken);
        Ok(())
    }

    async fn ask(&mut self, number: u64, relay: Option<SessionPlace>, ask: Ask) {
        let kind = ask.kind();
        let is_new = matches!(ask, Ask::Open(_) | Ask::Move(..));
        if let Err(refusal) = self.admit(&kind, is_new) {
            return self.refuse(number, &kind, &refusal);
        }
        if let Some(place) = relay.filter(|place| !relay::is_here(self.service, place)) {
            let (service, client) = (Arc::clone(self.service), self.client.clone());
            let passing =
                async move { relay::pass_question_on(&service, &client, &place, ask).await };
            return self.begin(number, kind, passing.boxed()).await;
        }
        let (service, client) = (self.service, &self.client);
        let answered = match ask {
            Ask::Open(asked) => service.open_session(client, asked).map(|opened| {
                self.sessions.insert(opened.session);
                Reply::Opened(Json(opened))
            }),
            Ask::KeepAlive { session, life, epoch } => service
                .keep_alive(client, session, (life, epoch))
                .map(|kept| Reply::KeptAlive(Json(kept))),
            Ask::End(session) => {
                self.sessions.remove(&session);
                service.end_session(client, session).map(|_| Reply::Ended)
            }
            Ask::Move(session, asked) => {
                self.sessions.insert(session);
                let (service, client) = (Arc::clone(service), client.clone());
                let moving = async move {
                    let moved = moves::take_in(&service, &client, session, asked).await;
                    moved.map(|moved| Reply::Moved(Json(moved)))
                };
                return self.begin(number, kind, moving.boxed()).await;
            }
            Ask::LeftBehind(session, asked) => {
                self.sessions.remove(&session);
                moves::let_go(service, client, session, asked).map(|()| Reply::LeftBehind)
            }
            Ask::Acquire(asked) => {
                return self.begin(number, kind, self.acquire(asked, None)).await;
            }
            Ask::Campaign(Campaign { session, name, value, wait_ms, request }) => {
                let asked = Acquire::exclusive(session, name, wait_ms, request);
                return self.begin(number, kind, self.acquire(asked, Some(value))).await;
            }
            Ask::Release(asked) => service.release(client, &asked).map(Reply::Released),
            Ask::Proclaim(asked) => service.proclaim(client, &asked).map(Reply::Proclaimed),
            Ask::Downgrade(asked) => service.downgrade(client, &asked).map(|()| Reply::Downgraded),
            Ask::Observe { name, after } => match Observer::begin(service, client, &name, after) {
                Ok(observer) => {
                    // That it begins; the leader may take a moment to be known.
                    put(&NodeFrame::Leads { number, told: None }, &mut self.unsent);
                    return self.observe(number, observer);
                }
                Err(refusal) => Err(refusal),
            },
        };
        match answered {
            Ok(reply) => self.answer(number, reply),
            Err(refusal) => self.refuse(number, &kind, &refusal),
        }
    }

    /// Whether the client may ask for that now, which may bring a session to this connection.
    fn admit(&mut self, (method, path): &Kind, is_new: bool) -> Result<(), RequestError> {
        let auth = self.handler.auth.load();
        if !Arc::ptr_eq(&auth, &self.auth) {
            self.client = auth.admit(&self.caller, &self.shown, ANY_PATH)?;
            self.auth = Arc::clone(&auth);
        }
        self.client.check(method, path)?;
        if self.under_way.len() >= MOST_IN_FLIGHT {
            return Err(RequestError::FullConnection("requests in flight"));
        }
        if is_new {
            if self.sessions.len() >= MOST_SESSIONS {
                self.sessions.retain(|id| self.service.look(*id).is_some());
            }
            if self.sessions.len() >= MOST_SESSIONS {
                return Err(RequestError::FullConnection("sessions"));
            }
            // It is not cut for others while it is idle.
            self.place.begin(self.client.name(), true, self.handler.quota)?;
            self.place.end(true);
        }
        Ok(())
    }

    fn acquire(
        &self,
        asked: Acquire,
        value: Option<String>,
    ) -> BoxFuture<'static, Result<Reply, RequestError>> {
        let (service, client) = (Arc::clone(self.service), self.client.clone());
        async move { service.acquire(&client, asked, value.as_deref()).await.map(Reply::Held) }
            .boxed()
    }

    /// Answers at once if that is possible, later otherwise.
    async fn begin(
        &mut self,
        number: u64,
        kind: Kind,
        mut asked: BoxFuture<'static, Result<Reply, RequestError>>,
    ) {
        let first = std::future::poll_fn(|context| Poll::Ready(asked.as_mut().poll(context)));
        match first.await {
            Poll::Ready(Ok(reply)) => self.answer(number, reply),
            Poll::Ready(Err(refusal)) => self.refuse(number, &kind, &refusal),
            Poll::Pending => {
                let done = async move { Outcome::Done(number, kind, asked.await) };
                self.later(number, done.boxed());
            }
        }
    }

    fn later(&mut self, number: u64, outcome: BoxFuture<'static, Outcome>) {
        let (cancel, registration) = AbortHandle::new_pair();
        self.cancels.insert(number, cancel);
        self.under_way.push(Abortable::new(outcome, registration));
    }

    fn observe(&mut self, number: u64, mut observer: Observer) {
        let next = async move {
            let told = match env::timeout(HEARD_EVERY, observer.next()).await {
                Some(told) => told.map(Some),
                None => Some(None),
            };
            Outcome::Leads(number, observer, told)
        };
        self.later(number, next.boxed());
    }

    /// Something that was under way is done; or it was cancelled.
    fn finish(&mut self, outcome: Option<Outcome>) {
        match outcome {
            None => {}
            Some(Outcome::Done(number, _, Ok(reply))) => {
                self.cancels.remove(&number);
                self.answer(number, reply);
            }
            Some(Outcome::Done(number, kind, Err(refusal))) => {
                self.cancels.remove(&number);
                self.refuse(number, &kind, &refusal);
            }
            Some(Outcome::HeldBack(number, refused)) => {
                self.cancels.remove(&number);
                self.answer(number, Reply::Refused(refused));
            }
            Some(Outcome::Leads(number, observer, Some(told))) => {
                put(&NodeFrame::Leads { number, told }, &mut self.unsent);
                self.observe(number, observer);
            }
            Some(Outcome::Leads(number, _, None)) => {
                self.cancels.remove(&number);
                self.answer(number, Reply::Observed);
            }
        }
    }

    fn answer(&mut self, number: u64, reply: Reply) {
        put(&NodeFrame::Answer { number, reply }, &mut self.unsent);
    }

    /// Whoever may not, or asks too much, is written down and answered later and later.
    fn refuse(&mut self, number: u64, (method, path): &Kind, refusal: &RequestError) {
        let (status, code) = refusal.kind();
        let refused = refused(self.service, refusal);
        if !error::is_slowed(code) {
            return self.answer(number, Reply::Refused(refused));
        }
        if status != StatusCode::SERVICE_UNAVAILABLE {
            let (client, address) = (&**self.client.name(), self.place.address);
            self.handler.audit.refused(&Act { client, address, method, path }, code, status);
        }
        let delay = self.place.refused(code, &refused.problem.0.error);
        if delay.is_zero() {
            return self.answer(number, Reply::Refused(refused));
        }
        let held_back = async move {
            env::sleep(delay).await;
            Outcome::HeldBack(number, refused)
        };
        self.later(number, held_back.boxed());
    }
}

/// What a connection hears beside its client, as it happens.
fn signals<'a>(
    handler: &ConnectionHandler,
    service: &ApiService,
    place: &'a ConnectionSlot,
) -> impl Stream<Item = Signal> + use<'a> {
    let Watched { stage, mut renewed, .. } = handler.watched.clone();
    renewed.mark_unchanged();
    let losses = service.node.observer().losses();
    let first = (stage, renewed, losses, Stage::Open);
    stream::unfold(first, async move |(mut stage, mut renewed, mut losses, heard)| {
        let signal = tokio::select! {
            // Without a sender it is gone.
            next = stage.wait_for(|stage| *stage > heard) => match next.as_deref() {
                Ok(Stage::Closing) => Signal::Leave,
                _ => Signal::End,
            },
            () = place.cut() => Signal::End,
            Ok(()) = renewed.changed() => Signal::Leave,
            Ok(()) = losses.changed() => Signal::Look,
            () = env::sleep(IDLE_FOR) => Signal::Tick,
        };
        let heard = *stage.borrow();
        Some((signal, (stage, renewed, losses, heard)))
    })
}
