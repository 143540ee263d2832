//! Who may be inside together.

use skeptron_core::NodeId;
use skeptron_core::monitor::Admission;

use crate::state::{State, User};
use crate::world::World;

impl World {
    /// Whether `node` may be inside with those who are.
    pub(crate) fn admits(&self, state: &State, node: usize) -> bool {
        let sites = state.sites[..self.nodes].iter().enumerate();
        let mut others = sites.filter(|(i, site)| site.user == User::Inside && *i != node);
        match &self.admission {
            Admission::AtOnce(most) => others.count() < *most,
            Admission::Readers(readers) if readers.contains(NodeId::new(node)) => {
                others.all(|(i, _)| readers.contains(NodeId::new(i)))
            }
            Admission::Readers(_) => others.next().is_none(),
        }
    }
}
