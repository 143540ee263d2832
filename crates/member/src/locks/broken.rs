//! An administrator breaks a lock: whoever holds it has lost it. The lock goes to the next one when the
//! former holder must know: its client believes no longer than was promised before, since every later
//! answer lists the loss.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Locks;
use super::rules::Act;
use crate::clock::MonoTime;
use crate::effects::{Effects, Event, Timer};
use crate::report::milliseconds;
use crate::{Fence, Flaw};

/// What came of breaking a lock at one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Broken {
    /// Nobody holds it there.
    NotHeld,
    /// It is held there with another fence.
    OtherFence(Fence),
    /// Its session is on its way to or from there: it can be broken once it has arrived.
    Moving,
    /// Whoever held it has lost it.
    Lost {
        /// Whether others may have it already; else when the former holder must know.
        handed_on: bool,
        /// For how long the former holder may still believe to hold it.
        believed_ms: u64,
    },
}

impl<W> Locks<W> {
    /// Breaks the entry with this fence; `at_once` does not wait until its holder must know.
    pub(crate) fn break_entry(
        &self,
        now: MonoTime,
        (name, fence, at_once): (&str, Fence, bool),
        effects: &mut dyn Effects<W>,
    ) -> Broken {
        let Some(lock) = self.find(name) else { return Broken::NotHeld };
        self.act(now, &lock, effects, |act| act.break_entry(fence, at_once))
    }

    /// The former holder of a broken entry must know by now.
    pub(crate) fn hand_on_broken(
        &self,
        now: MonoTime,
        (name, fence): (&str, Fence),
        effects: &mut dyn Effects<W>,
    ) {
        if let Some(lock) = self.find(name) {
            self.act(now, &lock, effects, |act| {
                let broken = act.break_entry(fence, false);
                if let Broken::Lost { handed_on: false, .. } = broken {
                    act.arm_broken(fence);
                }
            });
        }
    }
}

impl<W> Act<'_, W> {
    fn break_entry(&mut self, fence: Fence, at_once: bool) -> Broken {
        let other = self.state.entries().map(|hold| hold.fence).max();
        let Some(hold) = self.state.entry(fence) else {
            return other.map_or(Broken::NotHeld, Broken::OtherFence);
        };
        // A member that leaves, or that halted, hands nothing on.
        if hold.moved || self.locks.halted().is_some() {
            return Broken::Moving;
        }
        let is_new = hold.broken.is_none();
        // A program in this process sees it at once. A sign of life that comes from now on is told, so
        // what was promised before is known. A client that is moving believes up to its TTL after its last
        // sign here, also where this member's lease was shorter.
        let until = *hold.broken.get_or_insert_with(|| match &hold.session {
            Some(session) => session.ends_at().max(self.now),
            None => self.now,
        });
        if is_new {
            self.effects.tell(Event::Broken { lock: &self.lock.name, fence });
            self.refuse_upgrade_of(fence);
        }
        let left = until.since(self.now);
        let handed_on = at_once || left.is_zero() || self.locks.has(Flaw::BrokenAtOnce);
        if handed_on {
            self.end_entry(fence);
        } else if is_new {
            self.arm_broken(fence);
        }
        Broken::Lost { handed_on, believed_ms: milliseconds(left) }
    }

    /// To look again when the former holder must know.
    fn arm_broken(&mut self, fence: Fence) {
        let until = self.state.entry(fence).and_then(|hold| hold.broken);
        if let Some(until) = until {
            let lock = Arc::clone(&self.lock.name);
            self.effects.arm(Timer::Broken { lock, fence }, until.since(self.now));
        }
    }
}
