//! What a member tells the others, and whoever asks it itself.

use super::MemberCore;
use crate::MemberId;
use crate::clock::MonoTime;
use crate::effects::Effects;
use crate::query::{PeerAnswer, PeerQuery};
use crate::report::{LockStatus, SessionSummary};
use crate::wire::{Envelope, Payload};

impl<W> MemberCore<W> {
    /// What is known here: of lists, as much as fits into one message.
    #[must_use]
    pub fn told(&self, now: MonoTime, question: &PeerQuery<'_>) -> PeerAnswer {
        let most = Payload::MOST_LISTED;
        match *question {
            PeerQuery::Lock { name } => PeerAnswer::Lock {
                lock: self.locks.status(now, name),
                causes: self.locks.obstacles(now, name),
            },
            PeerQuery::Locks { prefix, after } => {
                let (mut locks, more) = self.locks.listing(now, prefix, after, most);
                let more = self.fit(&mut locks, lock_bytes) || more;
                PeerAnswer::Locks { locks, more }
            }
            PeerQuery::Sessions { after } => {
                let (mut sessions, more) = self.sessions.listing(now, self.id(), after, most);
                let more = self.fit(&mut sessions, session_bytes) || more;
                PeerAnswer::Sessions { sessions, more }
            }
        }
    }

    /// Cuts off what would not fit into a frame, which would halt this member. Whether it did.
    fn fit<T>(&self, list: &mut Vec<T>, size: impl Fn(&T) -> usize) -> bool {
        let (mut bytes, most) = (0, self.settings().limits.frame_bytes / 2);
        let fits = list.iter().take_while(|item| {
            bytes += size(item);
            bytes <= most
        });
        let (fits, all) = (fits.count(), list.len());
        list.truncate(fits);
        fits < all
    }

    /// A member asks what is known here.
    pub(super) fn tell(
        &self,
        now: MonoTime,
        to: MemberId,
        id: u64,
        question: &PeerQuery<'_>,
        effects: &mut dyn Effects<W>,
    ) {
        let told = self.told(now, question);
        let epoch = self.view().epoch;
        effects.send(to, &Envelope { epoch, payload: Payload::Answer { id, told } });
    }

    /// Asks another member; its answer comes as [`Effects::answer`] with this id.
    pub fn query(
        &self,
        to: MemberId,
        id: u64,
        question: PeerQuery<'_>,
        effects: &mut dyn Effects<W>,
    ) {
        let epoch = self.view().epoch;
        effects.send(to, &Envelope { epoch, payload: Payload::Query { id, question } });
    }
}

/// What it takes in a message, at most.
fn lock_bytes(lock: &LockStatus) -> usize {
    let owner = lock.holder.as_ref().map_or(0, |holder| holder.owner.len());
    64 + lock.name.len() + owner
}

fn session_bytes(session: &SessionSummary) -> usize {
    let names = session.held.iter().map(|held| &held.lock).chain(&session.waiting);
    64 + session.owner.len() + names.map(|name| name.len() + 16).sum::<usize>()
}
