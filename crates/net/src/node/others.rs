//! What clients of a node are told of the cluster.

use skeptron_member::MemberId;
use skeptron_member::clock::Drift;

use super::Node;
use crate::link::LinkSender as _;

/// Addresses of other members that a client is told at once.
const MOST_NAMED: usize = 16;

impl Node {
    /// Where other members of the present view serve clients: some of them, those after this one first, so
    /// that not all clients go to the same.
    pub(crate) fn others(&self) -> Vec<String> {
        self.others_if(|_| true)
    }

    /// The same of those to which there is a link, or of all if there is none.
    pub(crate) fn reachable_others(&self) -> Vec<String> {
        let life = self.parts.present.load();
        let is_up = |id| life.as_ref().is_some_and(|life| life.links.is_up(id));
        let reachable = self.others_if(is_up);
        if reachable.is_empty() { self.others() } else { reachable }
    }

    fn others_if(&self, may: impl Fn(MemberId) -> bool) -> Vec<String> {
        let Some(view) = self.view() else { return Vec::new() };
        let (before, after): (Vec<_>, Vec<_>) =
            view.members.iter().partition(|member| member.id <= self.id());
        let others = after.into_iter().chain(before).filter(|member| member.id != self.id());
        let urls = others.filter(|member| may(member.id)).flat_map(|member| &member.api);
        urls.take(MOST_NAMED).cloned().collect()
    }

    /// The bound on every clock's rate error, once it is known.
    pub(crate) fn drift(&self) -> Option<Drift> {
        self.parts.service.drift()
    }
}
