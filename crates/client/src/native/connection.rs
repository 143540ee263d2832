//! One native connection of a client, which all its sessions at the node share.
//!
//! Whoever waits alone for an answer reads in its own task, so that an exchange wakes no other one.
//! Otherwise a task in the background reads: for several that wait, since none of them must depend on
//! how soon another one is polled, and for what the node tells by itself. The socket always wakes the
//! same [`Reader`], which knows whose turn it is: so nothing is handed over between two exchanges.

use std::collections::{BTreeMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};

use skeptron_types::election::Leadership;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::sync::watch;

use super::{
    Ask, ClientFrame, Greeting, Hello, MAGIC, MOST_ANSWER_BYTES, NodeFrame, Refused, Reply,
    VERSION, put, take,
};
use crate::http::told;
use crate::messages::SessionPlace;

/// What is read at once.
const READ_BYTES: usize = 16 << 10;

/// A connection over TCP, TLS or a Unix socket.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<I: AsyncRead + AsyncWrite + Unpin + Send + 'static> Io for I {}

/// Why there is no native connection.
#[derive(Debug)]
pub(crate) enum NoConnection {
    /// Whoever answers does not speak the protocol, and will not.
    NotSpoken,
    /// It ended, or said nothing: nobody knows what it speaks.
    Unclear,
    /// The node does not take it.
    Refused(Refused),
}

/// Why a request on a connection has no answer.
#[derive(Debug)]
pub(crate) enum Broken {
    /// It was not taken; it may be sent on another connection.
    Again,
    /// The connection has ended.
    Ended(String),
}

pub(crate) struct Connection {
    inner: Mutex<Inner>,
}

struct Inner {
    io: Box<dyn Io>,
    /// What is not sent yet.
    unsent: Vec<u8>,
    received: Vec<u8>,
    /// Requests whose answers somebody waits for.
    open: BTreeMap<u64, Slot>,
    next: u64,
    /// Takes no more requests.
    is_leaving: bool,
    ended: Option<String>,
    reader: Arc<Reader>,
    /// Wakes the reader.
    reads: Waker,
    buffer: Box<[u8]>,
    /// Changes when the node asks for signs of life.
    looks: Arc<watch::Sender<u64>>,
}

struct Slot {
    waker: Option<Waker>,
    arrived: Arrived,
}

/// Who is woken when something can be read or written.
#[derive(Default)]
struct Reader(Mutex<Turn>);

#[derive(Default)]
struct Turn {
    /// Whoever waits alone, and so reads.
    alone: Option<Waker>,
    /// It was woken, and may not have looked since.
    is_woken: bool,
    /// The task in the background, whose turn it is otherwise.
    background: Option<Waker>,
}

enum Arrived {
    Reply(Option<Result<Reply, Broken>>),
    /// Of an election that is observed; none of them is a sign of life.
    Leads {
        told: VecDeque<Option<Leadership>>,
        end: Option<Result<Reply, Broken>>,
    },
}

impl Connection {
    /// Greets the node at the other end. `looks` is changed whenever the node asks for signs of life.
    pub(crate) async fn greet(
        mut io: Box<dyn Io>,
        token: Option<&str>,
        looks: Arc<watch::Sender<u64>>,
    ) -> Result<Arc<Self>, NoConnection> {
        let mut hello = MAGIC.to_vec();
        put(&Hello { version: VERSION, token: token.map(str::to_string) }, &mut hello);
        let unclear = |_| NoConnection::Unclear;
        io.write_all(&hello).await.map_err(unclear)?;
        io.flush().await.map_err(unclear)?;
        let mut received = Vec::with_capacity(READ_BYTES);
        let greeting = loop {
            if io.read_buf(&mut received).await.map_err(unclear)? == 0 {
                return Err(NoConnection::Unclear);
            }
            let known = received.len().min(MAGIC.len());
            if received[..known] != MAGIC[..known] {
                return Err(NoConnection::NotSpoken);
            }
            let Some(rest) = received.get(MAGIC.len()..) else { continue };
            match take(rest, MOST_ANSWER_BYTES) {
                Ok(Some((greeting, length))) => {
                    received.drain(..MAGIC.len() + length);
                    break greeting;
                }
                Ok(None) => {}
                Err(_) => return Err(NoConnection::NotSpoken),
            }
        };
        match greeting {
            Greeting::Welcome { version: VERSION } => {}
            Greeting::Welcome { .. } => return Err(NoConnection::NotSpoken),
            Greeting::Refused(refused) => return Err(NoConnection::Refused(refused)),
        }
        let reader = Arc::<Reader>::default();
        let inner = Inner {
            io,
            unsent: Vec::new(),
            received,
            open: BTreeMap::new(),
            next: 1,
            is_leaving: false,
            ended: None,
            reads: Waker::from(Arc::clone(&reader)),
            reader,
            buffer: vec![0; READ_BYTES].into(),
            looks,
        };
        let connection = Arc::new(Connection { inner: Mutex::new(inner) });
        tokio::spawn(Background(Arc::downgrade(&connection)));
        Ok(connection)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it takes requests, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        let inner = self.inner();
        !inner.is_leaving && inner.ended.is_none()
    }

    /// Asks, and waits for the answer. Dropped, the request is cancelled.
    pub(crate) async fn ask(&self, ask: Ask, relay: Option<SessionPlace>) -> Result<Reply, Broken> {
        let mut open = self.begin(ask, relay, Arrived::Reply(None))?;
        std::future::poll_fn(|context| open.poll_reply(context)).await
    }

    /// Observes an election.
    pub(crate) fn observe(self: &Arc<Self>, ask: Ask) -> Result<Observation, Broken> {
        let arrived = Arrived::Leads { told: VecDeque::new(), end: None };
        let number = self.send(ask, None, arrived)?;
        Ok(Observation { connection: Arc::clone(self), number })
    }

    fn begin(
        &self,
        ask: Ask,
        relay: Option<SessionPlace>,
        arrived: Arrived,
    ) -> Result<Open<'_>, Broken> {
        Ok(Open { connection: self, number: self.send(ask, relay, arrived)? })
    }

    /// Queues a request; it leaves when somebody waits for its answer.
    fn send(&self, ask: Ask, relay: Option<SessionPlace>, arrived: Arrived) -> Result<u64, Broken> {
        let mut inner = self.inner();
        if let Some(why) = &inner.ended {
            return Err(Broken::Ended(why.clone()));
        }
        if inner.is_leaving {
            return Err(Broken::Again);
        }
        let number = inner.next;
        inner.next += 1;
        put(&ClientFrame::Ask { number, relay, ask }, &mut inner.unsent);
        inner.open.insert(number, Slot { waker: None, arrived });
        Ok(number)
    }

    /// Nobody waits for this any more.
    fn close(&self, number: u64) {
        let mut inner = self.inner();
        let Some(slot) = inner.open.remove(&number) else { return };
        let is_answered = match slot.arrived {
            Arrived::Reply(reply) => reply.is_some(),
            Arrived::Leads { end, .. } => end.is_some(),
        };
        if !is_answered && inner.ended.is_none() {
            put(&ClientFrame::Cancel { number }, &mut inner.unsent);
            // Whoever reads on sends what does not go out now, and finds out what is wrong.
            let _ = inner.flush();
        }
        inner.reader.is_for_background();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.inner().reader.wake_background();
    }
}

/// A request that somebody waits for.
struct Open<'a> {
    connection: &'a Connection,
    number: u64,
}

impl Open<'_> {
    fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<Result<Reply, Broken>> {
        let mut inner = self.connection.inner();
        inner.advance(self.number, context);
        let slot = inner.open.get_mut(&self.number).expect("it is there until this is dropped");
        let Arrived::Reply(reply) = &mut slot.arrived else {
            unreachable!("a reply is waited for")
        };
        match reply.take() {
            Some(reply) => {
                inner.open.remove(&self.number);
                inner.reader.is_for_background();
                Poll::Ready(reply)
            }
            None => {
                remember(&mut slot.waker, context);
                Poll::Pending
            }
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.connection.close(self.number);
    }
}

/// An election that is observed.
pub(crate) struct Observation {
    connection: Arc<Connection>,
    number: u64,
}

impl Observation {
    /// What is told next; none of it is a sign of life. The future may be dropped at any time.
    pub(crate) async fn next(&mut self) -> Result<Option<Leadership>, Result<Reply, Broken>> {
        std::future::poll_fn(|context| {
            let mut inner = self.connection.inner();
            inner.advance(self.number, context);
            let Some(slot) = inner.open.get_mut(&self.number) else {
                return Poll::Ready(Err(Err(Broken::Ended("it has ended".to_string()))));
            };
            let Arrived::Leads { told, end } = &mut slot.arrived else {
                unreachable!("leaders are waited for")
            };
            let next = told.pop_front().map(Ok).or_else(|| end.take().map(Err));
            match next {
                Some(next) => {
                    if next.is_err() {
                        inner.open.remove(&self.number);
                    }
                    inner.reader.is_for_background();
                    Poll::Ready(next)
                }
                None => {
                    remember(&mut slot.waker, context);
                    Poll::Pending
                }
            }
        })
        .await
    }
}

impl Drop for Observation {
    fn drop(&mut self) {
        self.connection.close(self.number);
    }
}

/// Reads while nobody waits alone for an answer.
struct Background(Weak<Connection>);

impl Future for Background {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(connection) = self.0.upgrade() else { return Poll::Ready(()) };
        let mut inner = connection.inner();
        // Before it reads: what comes after that wakes it.
        remember(&mut inner.reader.turn().background, context);
        inner.drive();
        if inner.ended.is_some() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Reader {
    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on what arrives is read by whoever waits alone.
    fn is_for(&self, context: &Context<'_>) {
        let mut turn = self.turn();
        remember(&mut turn.alone, context);
        turn.is_woken = false;
    }

    /// From now on what arrives is read in the background, and so is what the last one was woken for.
    fn is_for_background(&self) {
        let mut turn = self.turn();
        turn.alone = None;
        if std::mem::take(&mut turn.is_woken) {
            drop(turn);
            self.wake_background();
        }
    }

    fn wake_background(&self) {
        let background = self.turn().background.clone();
        if let Some(background) = background {
            background.wake();
        }
    }
}

impl Wake for Reader {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut turn = self.turn();
        let woken = match &turn.alone {
            Some(alone) => {
                let alone = alone.clone();
                turn.is_woken = true;
                Some(alone)
            }
            None => turn.background.clone(),
        };
        drop(turn);
        if let Some(woken) = woken {
            woken.wake();
        }
    }
}

fn remember(waker: &mut Option<Waker>, context: &Context<'_>) {
    match waker {
        Some(waker) => waker.clone_from(context.waker()),
        none => *none = Some(context.waker().clone()),
    }
}

impl Slot {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Inner {
    /// Sends what is queued, and reads if the one who waits for this number waits alone.
    fn advance(&mut self, number: u64, context: &Context<'_>) {
        if self.open.len() == 1 {
            self.reader.is_for(context);
            // It looks for itself what has come: to be woken by that would poll it once more for nothing.
            if let Some(slot) = self.open.get_mut(&number) {
                slot.waker = None;
            }
            return self.drive();
        }
        self.reader.is_for_background();
        if self.ended.is_none()
            && let Err(why) = self.flush()
        {
            self.end(&why);
        }
    }

    /// Sends what is queued, reads what there is, and wakes those for whom something came. The reader is
    /// woken when there is more.
    fn drive(&mut self) {
        if self.ended.is_some() {
            return;
        }
        if let Err(why) = self.flush().and_then(|()| self.read()) {
            self.end(&why);
        }
    }

    fn flush(&mut self) -> Result<(), String> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let context = &mut Context::from_waker(&self.reads);
        let mut sent = 0;
        while sent < self.unsent.len() {
            match Pin::new(&mut self.io).poll_write(context, &self.unsent[sent..]) {
                Poll::Ready(Ok(0)) => return Err("the connection was closed".to_string()),
                Poll::Ready(Ok(written)) => sent += written,
                Poll::Ready(Err(error)) => return Err(told(error)),
                Poll::Pending => break,
            }
        }
        self.unsent.drain(..sent);
        match Pin::new(&mut self.io).poll_flush(context) {
            Poll::Ready(Err(error)) => Err(told(error)),
            _ => Ok(()),
        }
    }

    fn read(&mut self) -> Result<(), String> {
        // What came with the greeting, too.
        self.take_words()?;
        loop {
            let context = &mut Context::from_waker(&self.reads);
            let mut buffer = ReadBuf::new(&mut self.buffer);
            match Pin::new(&mut self.io).poll_read(context, &mut buffer) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => return Err(told(error)),
                Poll::Ready(Ok(())) if buffer.filled().is_empty() => {
                    return Err("the node closed the connection".to_string());
                }
                Poll::Ready(Ok(())) => {
                    self.received.extend_from_slice(buffer.filled());
                    self.take_words()?;
                }
            }
        }
    }

    fn take_words(&mut self) -> Result<(), String> {
        let mut taken = 0;
        loop {
            let word = take(&self.received[taken..], MOST_ANSWER_BYTES);
            let word = word.map_err(|error| error.to_string())?;
            let Some((word, length)) = word else { break };
            taken += length;
            self.take_word(word);
        }
        self.received.drain(..taken);
        Ok(())
    }

    fn take_word(&mut self, word: NodeFrame) {
        match word {
            NodeFrame::Answer { number, reply } => self.arrived(number, Ok(reply)),
            NodeFrame::Again { number } => self.arrived(number, Err(Broken::Again)),
            NodeFrame::Leads { number, told: news } => {
                if let Some(slot) = self.open.get_mut(&number)
                    && let Arrived::Leads { told, .. } = &mut slot.arrived
                {
                    told.push_back(news);
                    slot.wake();
                }
            }
            NodeFrame::Look => self.looks.send_modify(|count| *count += 1),
            NodeFrame::Leaving => self.is_leaving = true,
        }
    }

    fn arrived(&mut self, number: u64, outcome: Result<Reply, Broken>) {
        // Whoever cancelled it does not wait for it.
        let Some(slot) = self.open.get_mut(&number) else { return };
        match &mut slot.arrived {
            Arrived::Reply(end) | Arrived::Leads { end, .. } => {
                end.get_or_insert(outcome);
            }
        }
        slot.wake();
    }

    fn end(&mut self, why: &str) {
        self.ended = Some(why.to_string());
        let open: Vec<u64> = self.open.keys().copied().collect();
        for number in open {
            self.arrived(number, Err(Broken::Ended(why.to_string())));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use skeptron_types::session::SessionId;
    use tokio::io::DuplexStream;
    use tokio::task::yield_now;

    use super::*;
    use crate::env;

    /// A connection, and the node's end of it.
    async fn connected() -> (Arc<Connection>, DuplexStream) {
        let (mut node, client) = tokio::io::duplex(1 << 16);
        let mut welcome = MAGIC.to_vec();
        put(&Greeting::Welcome { version: VERSION }, &mut welcome);
        node.write_all(&welcome).await.unwrap();
        let greeted = Connection::greet(Box::new(client), None, Arc::default()).await;
        (greeted.unwrap_or_else(|why| panic!("{why:?}")), node)
    }

    async fn answer(node: &mut DuplexStream, number: u64) {
        let mut word = Vec::new();
        put(&NodeFrame::Answer { number, reply: Reply::Released(true) }, &mut word);
        node.write_all(&word).await.unwrap();
    }

    /// Two wait, and the one that is left does so alone: also its answer reaches it at once.
    #[tokio::test]
    async fn who_is_left_alone_is_told_of_its_answer() {
        let (connection, mut node) = connected().await;
        let ask = || {
            let connection = Arc::clone(&connection);
            let question = Ask::End(SessionId(1));
            tokio::spawn(async move { connection.ask(question, None).await })
        };
        for answered_first in [0, 1] {
            let mut waiting = Vec::new();
            let first = connection.inner().next;
            for _ in 0..2 {
                waiting.push(ask());
                // Each of them waits, and the background has its turn.
                for _ in 0..10 {
                    yield_now().await;
                }
            }
            for place in [answered_first, 1 - answered_first] {
                answer(&mut node, first + place as u64).await;
                let told = env::timeout(Duration::from_secs(10), &mut waiting[place]).await;
                let told = told.expect("it is told").unwrap();
                assert!(matches!(told, Ok(Reply::Released(true))), "{told:?}");
            }
        }
    }
}
