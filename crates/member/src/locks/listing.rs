//! What a member tells of its locks.

use std::sync::Arc;

use super::Locks;
use crate::MemberId;
use crate::clock::Moment;
use crate::effects::Effects;
use crate::report::{Holder, LockStatus, milliseconds};
use crate::wire::{Envelope, Payload};

impl<W> Locks<W> {
    /// The locks in use at this member, by name; only the one of exactly this name if `exact`.
    pub(crate) fn listing(&self, now: Moment, prefix: &str, exact: bool) -> Vec<LockStatus> {
        let locks = if exact { self.find(prefix).into_iter().collect() } else { self.all() };
        let layouts = Arc::clone(&self.current().layouts);
        let in_use = locks.iter().filter(|lock| lock.is_busy() && lock.name.starts_with(prefix));
        in_use
            .filter_map(|lock| {
                let state = lock.state();
                let holder = state.holder.as_ref().map(|hold| Holder {
                    fence: hold.fence,
                    held_ms: milliseconds(now.since(hold.since)),
                    owner: shortened(&hold.owner),
                });
                state.in_use().then(|| LockStatus {
                    name: lock.name.to_string(),
                    algorithm: layouts[lock.plan].algorithm.to_string(),
                    node: self.id,
                    holder,
                    waiters: u32::try_from(state.waiters.len()).unwrap_or(u32::MAX),
                })
            })
            .collect()
    }

    /// A member asks what is known here.
    pub(super) fn tell(
        &self,
        now: Moment,
        to: MemberId,
        (id, prefix, exact): (u64, &str, bool),
        effects: &mut dyn Effects<W>,
    ) {
        let mut locks = self.listing(now, prefix, exact);
        locks.truncate(Payload::MOST_LISTED);
        // What does not fit into a frame would halt this member.
        let (mut bytes, most) = (0, self.settings.limits.frame_bytes / 2);
        let fits = locks.iter().take_while(|lock| {
            let owner = lock.holder.as_ref().map_or(0, |holder| holder.owner.len());
            bytes += 64 + lock.name.len() + owner;
            bytes <= most
        });
        let fits = fits.count();
        locks.truncate(fits);
        let epoch = self.current().view.epoch;
        effects.send(to, &Envelope { epoch, payload: Payload::Answer { id, locks } });
    }
}

/// What is told of an owner's name, which may be of any length.
fn shortened(owner: &str) -> String {
    owner.chars().take(200).collect()
}
