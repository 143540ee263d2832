//! Requests that stop waiting.

use skeptron_core::NodeId;
use skeptron_core::mutex::Mutex;
use skeptron_core::mutex::sharing::Access;

use super::{Event, Simulation};
use crate::trace::TICKS_PER_UNIT;

impl<P: Mutex> Simulation<'_, P> {
    /// One that may stop waiting waits for as long as an entry is inside, and a unit at least.
    pub(super) fn wait_for_long(&mut self, node: NodeId, id: u64) {
        let at = self.now + self.applications.section(node).max(TICKS_PER_UNIT);
        self.queue.push(at, Event::GiveUp(node, id));
    }

    pub(super) fn give_up(&mut self, node: NodeId, id: u64) {
        if let Some(visit) = self.waiting[node.index()].take_if(|visit| visit.id == id) {
            self.requests.forget(node);
            self.measured.given_up += u64::from(self.is_measuring());
            self.say(|| format!("{node} does not want in any more"));
            self.act(node, visit.account, Access::CancelEnter);
            if self.ended.is_none()
                && let Some(plan) = self.applications.after_exit(node, self.now, |_| true)
            {
                self.plan(plan);
            }
            return self.request_if_possible(node);
        }
        let upgrading = self.inside[node.index()].iter_mut().find(|visit| visit.id == id);
        if let Some(visit) = upgrading
            && visit.upgrading.take().is_some()
        {
            let account = visit.account;
            self.upgrades.forget(node);
            self.measured.given_up += u64::from(self.is_measuring());
            self.say(|| format!("{node} does not want to be exclusive any more"));
            self.queue.push(self.now, Event::Turn(node, id));
            self.act(node, account, Access::CancelUpgrade);
        }
    }
}
