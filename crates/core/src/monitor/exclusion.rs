//! Safety: at no time are nodes in the section that may not be there together (spec 1, GA1): two at all, or more
//! than `k`, or a writer with anybody else, where an algorithm is made for several.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{NodeId, NodeSet};

/// Who may be inside together.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Admission {
    /// So many, whoever they are.
    AtOnce(usize),
    /// These with each other; everybody else only alone.
    Readers(NodeSet),
}

impl Admission {
    /// One at a time.
    pub const ONE: Admission = Admission::AtOnce(1);

    /// Whether entries follow one another, so that fences rise from each to the next.
    #[must_use]
    pub fn is_exclusive(&self) -> bool {
        *self == Admission::ONE
    }

    /// Whether these may be inside together.
    #[must_use]
    pub fn admits(&self, inside: &[NodeId]) -> bool {
        match self {
            Admission::AtOnce(most) => inside.len() <= *most,
            Admission::Readers(readers) => {
                inside.len() <= 1 || inside.iter().all(|&node| readers.contains(node))
            }
        }
    }

    /// Whether who waits may have to wait for one of these to leave.
    #[must_use]
    pub fn is_full(&self, inside: &[NodeId]) -> bool {
        match self {
            Admission::AtOnce(most) => inside.len() >= *most,
            // A writer waits for the last reader.
            Admission::Readers(_) => inside.len() == 1,
        }
    }
}

/// What it means to be too many, in words.
impl fmt::Display for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Admission::AtOnce(1) => f.write_str("one at a time"),
            Admission::AtOnce(most) => write!(f, "at most {most} at once"),
            Admission::Readers(_) => f.write_str("readers together, a writer alone"),
        }
    }
}

/// Watches who is inside.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Exclusion {
    inside: Vec<NodeId>,
    admission: Admission,
}

/// For one at a time.
impl Default for Exclusion {
    fn default() -> Self {
        Exclusion::of(Admission::ONE)
    }
}

impl Exclusion {
    /// For those who may be inside together.
    #[must_use]
    pub fn of(admission: Admission) -> Self {
        Exclusion { inside: Vec::new(), admission }
    }

    /// `node` enters. Returns who came in before it, if they may not be inside together: a violation.
    pub fn enter(&mut self, node: NodeId) -> Option<NodeId> {
        let other = self.inside.last().copied();
        self.inside.push(node);
        other.filter(|_| !self.admission.admits(&self.inside))
    }

    /// Who may be inside together.
    #[must_use]
    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Whether somebody may have to wait for one who is inside to leave.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.admission.is_full(&self.inside)
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

    #[test]
    fn a_section_may_hold_several() {
        let [a, b, c] = [0, 1, 2].map(NodeId::new);
        let mut monitor = Exclusion::of(Admission::AtOnce(2));
        assert_eq!(monitor.enter(a), None);
        assert!(!monitor.is_full());
        assert_eq!(monitor.enter(b), None);
        assert!(monitor.is_full());
        assert_eq!(monitor.enter(c), Some(b));
        monitor.leave(c);
        monitor.leave(a);
        assert_eq!(monitor.enter(a), None);
    }

    #[test]
    fn readers_share_and_writers_do_not() {
        let [a, b, writer] = [0, 1, 2].map(NodeId::new);
        let mut monitor = Exclusion::of(Admission::Readers([a, b].into_iter().collect()));
        assert_eq!(monitor.enter(a), None);
        assert_eq!(monitor.enter(b), None);
        assert_eq!(monitor.enter(writer), Some(b));
        monitor.leave(a);
        monitor.leave(b);
        assert_eq!(monitor.enter(a), Some(writer), "a reader may be one too many");
    }
}
