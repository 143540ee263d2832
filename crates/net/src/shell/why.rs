//! Why a lock is not granted: the members are asked who holds it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use skeptron_core::mutex::Mode;
use skeptron_member::MemberId;
use skeptron_member::query::{PeerAnswer, PeerQuery};
use skeptron_member::report::{Cause, NotGranted, milliseconds, why_not_granted};

use super::Shell;
use super::query::{ANSWER_WITHIN, QueryError};
use crate::env;

/// A lock that goes from one to the other may be held by nobody at the moment of a look: then it is
/// looked again so often, after so long.
const LOOKS: u32 = 2;
const AGAIN_AFTER: Duration = Duration::from_millis(30);
const AGAIN_WITHIN: Duration = Duration::from_millis(250);

impl Shell {
    /// Waits for `granted`, but only while no member says that it holds the lock, and no longer than a
    /// member may take to answer.
    pub(crate) async fn unless_held<T>(
        self: &Arc<Self>,
        wanted: (&str, Mode),
        granted: impl Future<Output = T>,
    ) -> Result<T, NotGranted> {
        let looking = async {
            let deadline = env::now().after(ANSWER_WITHIN);
            let first = self.look(wanted, ANSWER_WITHIN).await;
            if first.holder.is_some() {
                return first;
            }
            // Nobody holds it: the grant is on its way.
            env::sleep_until(deadline).await;
            self.look_again(wanted, first).await
        };
        tokio::select! {
            biased;
            granted = granted => Ok(granted),
            why = looking => Err(why),
        }
    }

    /// Waits so long for `granted`, and then says why it has not come.
    pub(crate) async fn granted_within<T>(
        self: &Arc<Self>,
        wanted: (&str, Mode),
        time: Duration,
        granted: impl Future<Output = T>,
    ) -> Result<T, NotGranted> {
        let waiting = async {
            env::sleep(time).await;
            self.why_not(wanted).await
        };
        tokio::select! {
            biased;
            granted = granted => Ok(granted),
            why = waiting => Err(why),
        }
    }

    /// Why somebody who waits here for this lock is not granted it.
    pub(crate) async fn why_not(self: &Arc<Self>, wanted: (&str, Mode)) -> NotGranted {
        let first = self.look(wanted, ANSWER_WITHIN).await;
        self.look_again(wanted, first).await
    }

    /// The same as of the `first` look, unless that was made while the lock went from one to another.
    async fn look_again(self: &Arc<Self>, wanted: (&str, Mode), first: NotGranted) -> NotGranted {
        for _ in 0..LOOKS {
            if first.holder.is_some() || first.waiters == 0 {
                break;
            }
            env::sleep(AGAIN_AFTER).await;
            let again = self.look(wanted, AGAIN_WITHIN).await;
            if again.holder.is_some() {
                return again;
            }
        }
        first
    }

    /// Asks all members, until one says that it holds the lock in a way that excludes this mode.
    async fn look(self: &Arc<Self>, (name, mode): (&str, Mode), within: Duration) -> NotGranted {
        let view = self.core.view();
        let away = || view.away.iter().map(|life| life.id);
        let asked = view.ids().chain(away()).map(async |member| {
            (member, self.ask_member(member, PeerQuery::Lock { name }, within).await)
        });
        let mut asked: FuturesUnordered<_> = asked.collect();
        let (mut seen, mut causes) = (Vec::new(), Vec::new());
        while let Some((member, told)) = asked.next().await {
            match told {
                Ok(PeerAnswer::Lock { lock, causes: obstacles }) => {
                    causes.extend(obstacles);
                    let holder = lock.as_ref().and_then(|lock| lock.holder.as_ref());
                    let is_held = holder.is_some_and(|holder| holder.is_in_the_way(1, mode));
                    seen.extend(lock);
                    if is_held {
                        break;
                    }
                }
                // What nobody but one who is away may have is told by the lock's home.
                _ if away().any(|id| id == member) => {}
                Err(silence) => causes.push(self.cause_of(member, silence, within)),
                Ok(_) => causes.push(self.cause_of(member, QueryError::Late, within)),
            }
        }
        causes.sort_by_key(|cause| (cause.reason, cause.member));
        if let Some(trouble) = self.service.report().trouble.filter(|_| !causes.is_empty()) {
            causes.insert(0, Cause::no_quorum(&trouble));
        }
        why_not_granted(seen, causes, mode)
    }

    fn cause_of(&self, member: MemberId, silence: QueryError, within: Duration) -> Cause {
        match silence {
            QueryError::Unreachable => {
                Cause::unreachable(member, self.links.down_for(member).map(milliseconds))
            }
            QueryError::FarBehind => Cause::behind(member),
            QueryError::Late => Cause::no_answer(member, milliseconds(within)),
        }
    }
}
