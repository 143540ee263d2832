//! What a home still knows of the views before the present one. While a life is away, nobody can ask it
//! what it has; but the home of a lock may know that nobody else has a right to it.
//!
//! For each lock, at most one life has a right to it or *owns* it, which is to be its home, to have the
//! lock open, and to have let nobody else have a right since. Whoever owns a lock in one view owns it in
//! the next if it is its home again: in between nobody else can have let it begin, because every other
//! home would have needed this member's announcement, or, had this member been away, would have had to
//! own the lock itself.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use skeptron_core::NodeId;

use super::lock::State;
use crate::Flaw;
use crate::view::View;

/// Views remembered at most. What an older one would show is not known, so it is withheld.
const MOST: usize = 16;

/// One view as a home left it.
#[derive(Clone, Debug, Hash)]
pub(super) struct Past {
    pub(super) view: Arc<View>,
    /// This member's rank in it.
    pub(super) me: NodeId,
    /// Every life that could have a right had said what it keeps: all members, and nobody was away.
    pub(super) heard_all: bool,
    /// The locks that others kept and that had not begun.
    pub(super) kept_elsewhere: BTreeSet<Arc<str>>,
}

/// The views before the present one, back to the last in which this member had heard everybody.
#[derive(Clone, Debug, Default)]
pub(super) struct Pasts(Vec<Past>);

impl Pasts {
    /// These and the view that is left now.
    pub(super) fn and(&self, past: Past) -> Self {
        let first =
            if past.heard_all { self.0.len() } else { (self.0.len() + 1).saturating_sub(MOST) };
        let earlier = self.0[first.min(self.0.len())..].iter().cloned();
        Pasts(earlier.chain([past]).collect())
    }

    /// Whether this member owned the lock when it left the last of these views. `state` is that of the
    /// last view in which the lock was touched.
    pub(super) fn owned<W>(&self, name: &str, state: &State<W>, flaw: Option<Flaw>) -> bool {
        for past in self.0.iter().rev() {
            let was_home = past.view.home(name) == past.me || flaw == Some(Flaw::OwnedByAnyHome);
            if !was_home || past.kept_elsewhere.contains(name) {
                return false;
            }
            let heard_all = past.heard_all || flaw == Some(Flaw::OwnedUnheard);
            if state.epoch == past.view.epoch {
                let let_go = state.has_begun() && flaw != Some(Flaw::OwnedThoughLetGo);
                let shared = !state.is_alone() && flaw != Some(Flaw::OwnedThoughShared);
                let owns = if let_go { state.rests_here() } else { state.own || heard_all };
                return owns && !shared;
            }
            if heard_all {
                return true;
            }
        }
        false
    }

    pub(super) fn digest(&self, mut hasher: &mut dyn Hasher) {
        self.0.hash(&mut hasher);
    }
}
