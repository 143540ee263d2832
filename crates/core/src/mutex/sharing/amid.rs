//! How the rules begin at a lock that has been used without them.

use super::{InnerLock, Register, Row, Sharing, SharingFlaw, Vigil};
use crate::NodeId;
use crate::mutex::{Mode, Phase};

impl Sharing {
    /// A node of `n` of a lock that has had exclusive entries only, as far as this node knows, but for its own
    /// `entries` from before: where its inner lock is, whether an exclusive entry is inside here, and what waits.
    #[must_use]
    pub fn amid(
        (me, n): (NodeId, usize),
        phase: Phase,
        (exclusive, wish): (bool, Option<Mode>),
        entries: Vec<Mode>,
        flaw: Option<SharingFlaw>,
    ) -> Self {
        let mut inside = vec![Vec::new(); n];
        inside[me.index()] = entries;
        let mut sharing = Sharing::new(me, &inside, flaw);
        // Others hear of the entries from whoever begins with a register.
        sharing.register = Register::default();
        sharing.inner = match phase {
            Phase::Idle => InnerLock::Away,
            Phase::Waiting => InnerLock::Coming,
            Phase::Inside => InnerLock::Here,
        };
        if phase == Phase::Inside {
            let (asked, others, upgrader) = (None, Vec::new(), None);
            sharing.vigil = Some(Vigil { asked, others, upgrader, lent: false });
        }
        (sharing.exclusive, sharing.wish) = (exclusive, wish);
        sharing
    }

    /// This node lets the lock begin, with these inside from before.
    pub fn begin(&mut self, rows: Vec<Row>) {
        self.register = Register { version: 1, rows };
    }
}
