//! Breaking a lock wherever it is held.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashMap;
use skeptron_member::{Broken, Fence, MemberId};
use tokio::sync::mpsc;

use super::Shell;
use crate::env;

/// How long a member has to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Orders to break locks that other members have not answered yet.
#[derive(Debug, Default)]
pub(super) struct BreakOrders {
    last: AtomicU64,
    open: Mutex<FxHashMap<u64, mpsc::Sender<(MemberId, Broken)>>>,
}

impl BreakOrders {
    fn open(&self, members: usize) -> (u64, mpsc::Receiver<(MemberId, Broken)>) {
        let id = self.last.fetch_add(1, Ordering::Relaxed);
        let (sender, answers) = mpsc::channel(members.max(1));
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(id, sender);
        (id, answers)
    }

    pub(super) fn answer(&self, from: MemberId, id: u64, outcome: Broken) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = open.get(&id) {
            // A member that answers more than once finds no room.
            let _ = answers.try_send((from, outcome));
        }
    }

    fn close(&self, id: u64) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }
}

/// What came of breaking a lock.
#[derive(Debug, Default)]
pub(crate) struct Breaking {
    /// Where it was held with that fence, whether others may have it already, and for how long its former
    /// holder may believe, in milliseconds.
    pub(crate) lost: Option<(MemberId, bool, u64)>,
    /// With which other fence it is held.
    pub(crate) other: Option<Fence>,
    /// Whether its session is on its way.
    pub(crate) is_moving: bool,
    /// Who did not answer.
    pub(crate) silent: Vec<MemberId>,
}

impl Breaking {
    fn note(&mut self, from: MemberId, outcome: Broken) {
        match outcome {
            Broken::NotHeld => {}
            Broken::OtherFence(fence) => self.other = self.other.max(Some(fence)),
            Broken::Moving => self.is_moving = true,
            // A session that moved may have it at two members: the last one counts.
            Broken::Lost { handed_on, believed_ms } => {
                let longer = self.lost.is_none_or(|(_, _, former)| former < believed_ms);
                if longer {
                    self.lost = Some((from, handed_on, believed_ms));
                }
            }
        }
    }
}

impl Shell {
    /// Breaks the entry of a lock with this fence, at whichever member it is held.
    pub(crate) async fn break_lock(
        self: &Arc<Self>,
        name: &str,
        fence: Fence,
        at_once: bool,
    ) -> Breaking {
        let me = self.core.id();
        let view = self.core.view();
        let (mut asked, silent): (Vec<MemberId>, Vec<MemberId>) =
            view.ids().filter(|&id| id != me).partition(|&id| self.links.is_up(id));
        let mut breaking = Breaking { silent, ..Breaking::default() };
        let (id, mut answers) = self.breaks.open(asked.len());
        let own = self.perform(|core, now, effects| {
            let own = core.break_lock(now, name, fence, at_once, effects);
            core.order_break(&asked, id, (name, fence, at_once), effects);
            own
        });
        breaking.note(me, own);
        let all = async {
            while !asked.is_empty()
                && let Some((from, outcome)) = answers.recv().await
            {
                asked.retain(|&id| id != from);
                breaking.note(from, outcome);
            }
        };
        // Whoever has not answered by then is told to be silent.
        let _ = env::timeout(ANSWER_WITHIN, all).await;
        self.breaks.close(id);
        breaking.silent.extend(asked);
        // Those who are away may hold it, too.
        breaking.silent.extend(view.away.iter().map(|life| life.id));
        breaking
    }
}
