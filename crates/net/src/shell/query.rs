//! Questions to the other members: who holds and waits for what, and which sessions there are.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rustc_hash::FxHashMap;
use skeptron_member::MemberId;
use skeptron_member::query::{PeerAnswer, PeerQuery};
use skeptron_member::report::{LockListing, LockStatus, SessionListing, SessionSummary};
use skeptron_member::session::SessionHandle;
use tokio::sync::oneshot;

use super::Shell;
use crate::env;

/// How long a member has to answer a query.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// Why a member does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryError {
    /// There is no link.
    Unreachable,
    /// It would only be asked more and more.
    FarBehind,
    /// It did not answer in time.
    Late,
}

impl Shell {
    /// The first locks in use at all members after that name, by name; `most` at most.
    pub(crate) async fn all_locks(
        self: &Arc<Self>,
        prefix: &str,
        after: &str,
        most: usize,
    ) -> LockListing {
        let (locks, silent, more) = self.all(prefix, after.to_string(), most).await;
        LockListing::new(locks, silent, more, most)
    }

    /// The first sessions open at all members after that one, by handle; `most` at most.
    pub(crate) async fn all_sessions(
        self: &Arc<Self>,
        after: SessionHandle,
        most: usize,
    ) -> SessionListing {
        let (sessions, silent, more) = self.all("", after.0, most).await;
        SessionListing::new(sessions, silent, more, most)
    }

    /// The first `most` of each member, who did not answer, and whether a member has more.
    async fn all<T: Listed>(
        self: &Arc<Self>,
        filter: &str,
        after: T::Cursor,
        most: usize,
    ) -> (Vec<T>, Vec<MemberId>, bool) {
        let view = self.core.view();
        // Whoever is away may hold something, and may be asked if there is a link to it.
        let members = view.ids().chain(view.away.iter().map(|life| life.id));
        let asked = members.map(async |member| {
            (member, self.pages::<T>(member, filter, after.clone(), most).await)
        });
        let (mut all, mut silent, mut more) = (Vec::new(), Vec::new(), false);
        for (member, pages) in join_all(asked).await {
            all.extend(pages.items);
            more |= pages.more;
            if pages.ended.is_some() {
                silent.push(member);
            }
        }
        silent.sort_unstable();
        (all, silent, more)
    }

    /// What a member tells, asked again after its last word until it has told all, or `most`.
    async fn pages<T: Listed>(
        self: &Arc<Self>,
        member: MemberId,
        filter: &str,
        mut after: T::Cursor,
        most: usize,
    ) -> Pages<T> {
        let mut pages = Pages { items: Vec::new(), more: true, ended: None };
        while pages.more && pages.items.len() < most {
            let told = self.ask_member(member, T::question(filter, &after), ANSWER_WITHIN).await;
            let (page, more) = match told.map(T::page) {
                Ok(Some(page)) => page,
                Ok(None) => (Vec::new(), true),
                Err(silence) => {
                    return Pages { more: false, ended: Some(silence), ..pages };
                }
            };
            pages.more = more;
            match page.last().map(T::cursor) {
                Some(last) if last > after => after = last,
                // It has nothing to add.
                _ => break,
            }
            pages.items.extend(page);
        }
        pages
    }

    /// What a member says, this one included.
    pub(super) async fn ask_member(
        self: &Arc<Self>,
        member: MemberId,
        question: PeerQuery<'_>,
        within: Duration,
    ) -> Result<PeerAnswer, QueryError> {
        if member == self.core.id() {
            return Ok(self.core.told(env::now(), &question));
        }
        if !self.links.is_up(member) {
            return Err(QueryError::Unreachable);
        }
        if self.links.is_congested(member) {
            return Err(QueryError::FarBehind);
        }
        let (query, answer) = self.queries.open(self, member);
        self.perform(|core, _, effects| core.query(member, query.id, question, effects));
        env::timeout(within, answer).await.and_then(Result::ok).ok_or(QueryError::Late)
    }
}

/// What a member has told of a list.
struct Pages<T> {
    items: Vec<T>,
    /// Whether it has more to tell.
    more: bool,
    /// Why it told no more, if it did not answer.
    ended: Option<QueryError>,
}

/// What members tell in pages.
trait Listed: Sized {
    /// Where a page ended.
    type Cursor: Clone + PartialOrd;

    fn question<'a>(filter: &'a str, after: &'a Self::Cursor) -> PeerQuery<'a>;

    /// The page, and whether there are more; none if something else was told.
    fn page(told: PeerAnswer) -> Option<(Vec<Self>, bool)>;

    fn cursor(&self) -> Self::Cursor;
}

impl Listed for LockStatus {
    type Cursor = String;

    fn question<'a>(filter: &'a str, after: &'a String) -> PeerQuery<'a> {
        PeerQuery::Locks { prefix: filter, after }
    }

    fn page(told: PeerAnswer) -> Option<(Vec<Self>, bool)> {
        if let PeerAnswer::Locks { locks, more } = told { Some((locks, more)) } else { None }
    }

    fn cursor(&self) -> String {
        self.name.clone()
    }
}

impl Listed for SessionSummary {
    type Cursor = u64;

    fn question<'a>(_: &'a str, after: &'a u64) -> PeerQuery<'a> {
        PeerQuery::Sessions { after: *after }
    }

    fn page(told: PeerAnswer) -> Option<(Vec<Self>, bool)> {
        if let PeerAnswer::Sessions { sessions, more } = told {
            Some((sessions, more))
        } else {
            None
        }
    }

    fn cursor(&self) -> u64 {
        self.session.0
    }
}

/// The questions to other members that are open.
#[derive(Debug, Default)]
pub(super) struct Queries {
    last: AtomicU64,
    open: Mutex<FxHashMap<u64, (MemberId, oneshot::Sender<PeerAnswer>)>>,
}

impl Queries {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, (MemberId, oneshot::Sender<PeerAnswer>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, shell: &Arc<Shell>, asked: MemberId) -> (Query, oneshot::Receiver<PeerAnswer>) {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.lock().insert(id, (asked, sender));
        (Query { shell: Arc::clone(shell), id }, answer)
    }

    pub(super) fn answer(&self, from: MemberId, id: u64, told: &PeerAnswer) {
        let mut open = self.lock();
        if open.get(&id).is_some_and(|(asked, _)| *asked == from)
            && let Some((_, answer)) = open.remove(&id)
        {
            // Nobody waits for it any more if this fails.
            let _ = answer.send(told.clone());
        }
    }
}

/// A question to another member; forgotten when dropped.
struct Query {
    shell: Arc<Shell>,
    id: u64,
}

impl Drop for Query {
    fn drop(&mut self) {
        self.shell.queries.lock().remove(&self.id);
    }
}
