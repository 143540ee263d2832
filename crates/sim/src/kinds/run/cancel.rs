//! Requests that stop waiting.

use skeptron_core::NodeId;
use skeptron_core::mutex::sharing::Access;

use super::{Act, Occupants};
use crate::engine::Control;
use crate::trace::TICKS_PER_UNIT;

impl Occupants<'_> {
    /// One that may stop waiting waits for as long as an entry is inside, and a unit at least.
    pub(super) fn wait_for_long(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, id: u64) {
        let at = self.env.now + self.applications.section(node).max(TICKS_PER_UNIT);
        nodes.plan(at, Act::GiveUp(node, id));
    }

    pub(super) fn give_up(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, id: u64) {
        if let Some(visit) = self.waiting[node.index()].take_if(|visit| visit.id == id) {
            self.requests.forget(node);
            self.measured.given_up += u64::from(self.is_measuring());
            self.say(|| format!("{node} does not want in any more"));
            self.act(nodes, node, visit.account, Access::CancelEnter);
            if self.ended.is_none()
                && let Some(plan) = self.applications.after_exit(node, self.env.now, |_| true)
            {
                self.plan(nodes, plan);
            }
            return self.request_if_possible(nodes, node);
        }
        let upgrading = self.inside[node.index()].iter_mut().find(|visit| visit.id == id);
        if let Some(visit) = upgrading
            && visit.upgrading.take().is_some()
        {
            let account = visit.account;
            self.upgrades.forget(node);
            self.measured.given_up += u64::from(self.is_measuring());
            self.say(|| format!("{node} does not want to be exclusive any more"));
            nodes.plan(self.env.now, Act::Turn(node, id));
            self.act(nodes, node, account, Access::CancelUpgrade);
        }
    }
}
