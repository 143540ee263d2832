//! Safety of locks with kinds: nobody inside is ever among more than its mode tolerates. With exclusive
//! entries alone that is [`super::Exclusion`].

use crate::NodeId;
use crate::mutex::Mode;

/// Watches who is inside, and as what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    inside: Vec<(NodeId, Mode)>,
}

/// Somebody is among more than it tolerates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OccupancyViolation {
    /// Whose entry it is.
    pub node: NodeId,
    /// What it tolerates.
    pub mode: Mode,
    /// How many are inside.
    pub inside: usize,
}

impl Occupancy {
    /// An entry of `node` comes in. Returns who is among too many now: a violation.
    pub fn enter(&mut self, node: NodeId, mode: Mode) -> Option<OccupancyViolation> {
        self.inside.push((node, mode));
        self.crowded()
    }

    /// An entry of `node` leaves. False if there is none such.
    pub fn leave(&mut self, node: NodeId, mode: Mode) -> bool {
        let place = self.inside.iter().position(|&entry| entry == (node, mode));
        place.map(|place| self.inside.swap_remove(place)).is_some()
    }

    /// The strictest entry, if it is among more than it tolerates.
    #[must_use]
    pub fn crowded(&self) -> Option<OccupancyViolation> {
        let &(node, mode) = self.inside.iter().min_by_key(|(_, mode)| *mode)?;
        let inside = self.inside.len();
        (inside as u64 > u64::from(mode.most())).then_some(OccupancyViolation {
            node,
            mode,
            inside,
        })
    }

    /// How many are inside.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inside.len()
    }

    /// Whether nobody is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inside.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::monitor::Exclusion;

    #[test]
    fn each_entry_has_its_own_limit() {
        let [a, b, c] = [0, 1, 2].map(NodeId::new);
        let two = Mode::permits(2).unwrap();
        let mut monitor = Occupancy::default();
        assert_eq!(monitor.enter(a, two), None);
        assert_eq!(monitor.enter(b, Mode::SHARED), None);
        let crowd = OccupancyViolation { node: a, mode: two, inside: 3 };
        assert_eq!(monitor.enter(c, Mode::SHARED), Some(crowd), "a reader may be one too many");
        assert!(monitor.leave(a, two));
        assert!(!monitor.leave(a, two));
        assert_eq!(monitor.crowded(), None, "readers do not mind each other");
    }

    #[test]
    fn exclusive_entries_are_judged_as_before() {
        let (a, b) = (NodeId::new(0), NodeId::new(1));
        let (mut kinds, mut plain) = (Occupancy::default(), Exclusion::default());
        for node in [a, b] {
            let crowded = kinds.enter(node, Mode::EXCLUSIVE).is_some();
            assert_eq!(crowded, plain.enter(node).is_some());
        }
        for node in [a, b] {
            kinds.leave(node, Mode::EXCLUSIVE);
            plain.leave(node);
        }
        assert!(kinds.is_empty() && plain.is_free());
    }
}
