//! Safety: at no time is more than one node in the section (spec 1, GA1).

use serde::{Deserialize, Serialize};

use crate::NodeId;

/// Watches who is inside.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Exclusion {
    inside: Vec<NodeId>,
}

impl Exclusion {
    /// `node` enters. Returns who is inside already: a violation.
    pub fn enter(&mut self, node: NodeId) -> Option<NodeId> {
        let other = self.inside.last().copied();
        self.inside.push(node);
        other
    }

    /// `node` leaves, or stops existing.
    pub fn leave(&mut self, node: NodeId) {
        self.inside.retain(|&other| other != node);
    }

    /// Whether `node` is inside.
    #[must_use]
    pub fn is_inside(&self, node: NodeId) -> bool {
        self.inside.contains(&node)
    }

    /// Whether nobody is inside.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.inside.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_who_was_there_first() {
        let (a, b) = (NodeId::new(0), NodeId::new(1));
        let mut monitor = Exclusion::default();
        assert_eq!(monitor.enter(a), None);
        assert_eq!(monitor.enter(b), Some(a));
        monitor.leave(a);
        monitor.leave(b);
        assert!(monitor.is_free());
        assert_eq!(monitor.enter(a), None);
    }
}
