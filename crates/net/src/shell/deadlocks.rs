//! Looks for sessions that wait for each other for ever, across members.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use skeptron_member::report::{Deadlock, deadlocks};
use skeptron_member::session::SessionHandle;

use super::Shell;
use crate::config::Deadlocks;
use crate::env;
use crate::observe::What;

/// How often it is looked, while somebody waits here.
const EVERY: Duration = Duration::from_secs(2);
/// More sessions are not looked at.
const MOST_SESSIONS: usize = 10_000;

impl Shell {
    /// Looks again and again, for as long as this life goes on.
    pub(crate) async fn watch_deadlocks(shell: Weak<Self>, policy: Deadlocks) {
        let (mut seen, mut told) = (BTreeSet::new(), BTreeSet::new());
        loop {
            env::sleep(EVERY).await;
            let Some(shell) = shell.upgrade() else { return };
            if shell.core.halted().is_some() {
                return;
            }
            if shell.core.load().waiters == 0 {
                seen.clear();
                told.clear();
                continue;
            }
            let found = shell.deadlocks().await;
            // Members do not speak at the same moment: only what is seen twice is one.
            let (known, new): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|deadlock| seen.contains(&handles(deadlock)));
            seen = known.iter().chain(&new).map(handles).collect();
            told.retain(|handles| seen.contains(handles));
            for deadlock in known {
                shell.met_deadlock(&deadlock, policy, told.insert(handles(&deadlock)));
            }
        }
    }

    async fn deadlocks(self: &Arc<Self>) -> Vec<Deadlock> {
        let listing = self.all_sessions(SessionHandle(0), MOST_SESSIONS).await;
        deadlocks(&listing.sessions)
    }

    /// The member of the first session tells of it, that of the youngest may end it.
    fn met_deadlock(self: &Arc<Self>, deadlock: &Deadlock, policy: Deadlocks, is_new: bool) {
        let me = self.core.id();
        let is_first = deadlock.sessions.first().is_some_and(|stuck| stuck.node == me);
        if is_first && is_new {
            let who: Vec<String> = deadlock.sessions.iter().map(|it| it.owner.clone()).collect();
            self.observer.deadlocks.inc();
            tracing::warn!(
                sessions = who.len(),
                "sessions wait for each other: {}",
                who.join(", ")
            );
            self.observer.tell(|| What::Deadlock { owners: who });
        }
        if policy == Deadlocks::RefuseYoungest
            && let Some(youngest) = deadlock.youngest().filter(|stuck| stuck.node == me)
        {
            let (session, waits) = (youngest.session, &youngest.waits);
            tracing::warn!(
                owner = youngest.owner,
                "deadlock: the youngest of these waits is rejected"
            );
            self.perform(|core, now, effects| core.refuse_waits(now, session, waits, effects));
        }
    }
}

fn handles(deadlock: &Deadlock) -> Vec<SessionHandle> {
    deadlock.sessions.iter().map(|stuck| stuck.session).collect()
}
