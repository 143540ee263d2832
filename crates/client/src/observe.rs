//! Observing an election: at one node after the other, as they come and go.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use skeptron_types::election::{Leadership, Seen};

use crate::connection::{CallError, Caller, Unanswered};
use crate::env;
use crate::http::Stream;
use crate::messages::HEARD_EVERY;
use crate::native::{self, Ask, Reply};
use crate::session::{ANSWER_WITHIN, within};
use crate::{ClientConfig, ClientError};

/// A node that says nothing for so long is not there any more.
const SILENT_AFTER: Duration = Duration::from_secs(3 * HEARD_EVERY.as_secs());
/// The wait after all nodes have been tried in vain.
const PAUSE: Duration = Duration::from_millis(300);
/// The longest line that a node sends.
const MOST_LINE_BYTES: usize = 64 << 10;

/// An observer of an election. It sees each leader once and never goes back to an earlier term, whichever
/// node it is at.
pub struct Observer {
    callers: Vec<Arc<Caller>>,
    /// Which of them is asked.
    at: usize,
    name: String,
    seen: Seen,
    /// Whether a node has let it observe.
    has_begun: bool,
    /// Whether leaders may have come and gone since the last answer: it has gone to another node.
    has_missed: bool,
    stream: Option<ObservationStream>,
    /// What arrived and is not a whole line yet.
    received: Vec<u8>,
}

/// What a node tells.
enum ObservationStream {
    Native(native::Observation),
    Http(Stream),
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Observer {
    pub(crate) fn new(config: &ClientConfig, name: &str) -> Result<Self, ClientError> {
        let callers = config.endpoints.iter().map(|it| Caller::new(it, config).map(Arc::new));
        let callers = callers.collect::<Result<Vec<_>, _>>()?;
        let (name, received) = (name.to_string(), Vec::new());
        let (seen, stream) = (Seen::default(), None);
        let (has_begun, has_missed) = (false, false);
        Ok(Observer { callers, at: 0, name, seen, has_begun, has_missed, stream, received })
    }

    /// The present leader at first, then the next change. It goes on at another endpoint when one fails;
    /// the future may be dropped at any time.
    ///
    /// # Errors
    /// If a node refuses, or none could be reached at first.
    pub async fn next(&mut self) -> Result<Leadership, ClientError> {
        loop {
            if self.stream.is_none() {
                self.connect().await?;
            }
            match self.read().await {
                Some(told) => {
                    let is_same = told.leader.is_some() && told.term == self.seen.term();
                    if let Some(mut news) = self.seen.news(told) {
                        news.missed |= std::mem::take(&mut self.has_missed) && !is_same;
                        return Ok(news);
                    }
                    // The same entry all the time: nobody led in between.
                    self.has_missed &= !is_same;
                }
                None => {
                    self.callers[self.at].doubt();
                    self.stream = None;
                    self.has_missed = true;
                    self.at = (self.at + 1) % self.callers.len();
                }
            }
        }
    }

    /// Connects to the first endpoint that lets it observe.
    async fn connect(&mut self) -> Result<(), ClientError> {
        let question = Ask::Observe { name: self.name.clone(), after: self.seen.term() };
        loop {
            let mut unanswered = Vec::new();
            for _ in 0..self.callers.len() {
                let caller = &self.callers[self.at];
                match within(ANSWER_WITHIN, begin(caller, &question)).await {
                    Ok(stream) => {
                        (self.stream, self.received) = (Some(stream), Vec::new());
                        self.has_begun = true;
                        return Ok(());
                    }
                    Err(CallError::Unreachable(why)) => unanswered.push(why.at(caller.endpoint())),
                    Err(CallError::Refused(StatusCode::SERVICE_UNAVAILABLE, problem)) => {
                        unanswered.push(Unanswered::now(problem.error).at(caller.endpoint()));
                    }
                    Err(refused) => return Err(refused.into()),
                }
                self.at = (self.at + 1) % self.callers.len();
            }
            if !self.has_begun {
                return Err(ClientError::unanswered(&unanswered));
            }
            env::sleep(PAUSE).await;
        }
    }

    /// What the node tells next; none if it is not there any more.
    async fn read(&mut self) -> Option<Leadership> {
        match self.stream.as_mut()? {
            ObservationStream::Http(stream) => read_line(stream, &mut self.received).await,
            ObservationStream::Native(observation) => loop {
                match env::timeout(SILENT_AFTER, observation.next()).await? {
                    Ok(Some(told)) => return Some(told),
                    // It is still there.
                    Ok(None) => {}
                    Err(_) => return None,
                }
            },
        }
    }
}

async fn begin(caller: &Caller, question: &Ask) -> Result<ObservationStream, CallError> {
    if let Some(mut observation) = caller.observe(question.clone()).await? {
        // The first word says that it begins.
        return match observation.next().await {
            Ok(_) => Ok(ObservationStream::Native(observation)),
            Err(Ok(Reply::Refused(refused))) => Err(refused.into()),
            Err(_) => Err(CallError::silent("the observation ended at once")),
        };
    }
    let (_, path, _) = question.to_http();
    Ok(ObservationStream::Http(caller.stream(&path).await?))
}

async fn read_line(stream: &mut Stream, received: &mut Vec<u8>) -> Option<Leadership> {
    loop {
        while let Some(end) = received.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = received.drain(..=end).collect();
            let told = line.strip_prefix(b"data:").map(serde_json::from_slice);
            if let Some(told) = told {
                return told.ok();
            }
        }
        let piece = env::timeout(SILENT_AFTER, stream.next()).await?;
        received.extend_from_slice(&piece.ok()??);
        if received.len() > MOST_LINE_BYTES {
            return None;
        }
    }
}
