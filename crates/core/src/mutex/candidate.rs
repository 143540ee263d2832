//! The half of a quorum node that asks for permission (spec 2.5 and 2.6): collects grants, and gives
//! back those that an older request needs.

use serde::{Deserialize, Serialize};

use super::Phase;
use super::permission::{Flaw, Word};
use crate::time::{LamportClock, Timestamp};
use crate::{Counter, NodeId, NodeSet, Refused};

/// The requester of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Candidate {
    flaw: Flaw,
    phase: Phase,
    /// The stamp of the current request; kept when idle, to tell late messages from false ones.
    stamp: u64,
    /// `R_i`: whom it asks.
    asks: NodeSet,
    /// `I_i`: whom it tells on exit.
    tells: NodeSet,
    /// Whose grant it has.
    locked: NodeSet,
    /// Who said FAILED or got its grant back, and has granted nothing since.
    failed: NodeSet,
    /// Who wants its grant back: the remembered INQUIREs. One may be here before its LOCKED.
    inquired: NodeSet,
}

impl Candidate {
    pub(super) fn new(flaw: Flaw, asks: NodeSet, tells: NodeSet) -> Self {
        Candidate {
            flaw,
            phase: Phase::Idle,
            stamp: 0,
            asks,
            tells,
            locked: NodeSet::new(),
            failed: NodeSet::new(),
            inquired: NodeSet::new(),
        }
    }

    /// Shows the stamp, for [`crate::Protocol::counters`].
    pub(super) fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        each(Counter::Clock, &mut self.stamp);
    }

    pub(super) fn asks(&self) -> &NodeSet {
        &self.asks
    }

    pub(super) fn tells(&self) -> &NodeSet {
        &self.tells
    }

    pub(super) fn stamp(&self) -> u64 {
        self.stamp
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.phase == Phase::Waiting
    }

    /// Asks others from now on: a node that waits must have crashed among those that it asked so far, and it goes on
    /// with those that have not and with `quorum`. Returns whom it has to ask now.
    pub(super) fn turn_to(&mut self, quorum: &NodeSet, crashed: &NodeSet) -> NodeSet {
        let mut new = NodeSet::new();
        match self.phase {
            Phase::Idle => self.asks = quorum.clone(),
            Phase::Waiting => {
                for node in crashed.iter() {
                    self.asks.remove(node);
                    self.locked.remove(node);
                    self.failed.remove(node);
                    self.inquired.remove(node);
                }
                new = quorum.iter().filter(|&node| self.asks.insert(node)).collect();
            }
            // It is told of the exit whom it asked, and that is all that is left to do.
            Phase::Inside => {}
        }
        self.tells = self.asks.clone();
        new
    }

    /// Whether it has the grant of `arbiter`.
    pub(super) fn has_grant(&self, arbiter: NodeId) -> bool {
        self.locked.contains(arbiter)
    }

    /// The application wants in; one stamp for the whole request.
    pub(super) fn request(&mut self, clock: &mut LamportClock) -> Result<(), Refused> {
        self.phase.request()?;
        self.stamp = clock.tick();
        Ok(())
    }

    /// The application leaves.
    pub(super) fn release(&mut self) -> Result<(), Refused> {
        self.phase.release()?;
        self.locked.clear();
        Ok(())
    }

    /// Whether a correct arbiter can have said this. FAILED and INQUIRE may come late; a LOCKED may
    /// not, since nobody enters without it, and a second INQUIRE about one grant is never sent.
    pub(super) fn may_hear(&self, word: Word, about: Timestamp) -> Result<(), Refused> {
        let from = about.node;
        // Only who is told on exit knows of a grant to be asked back.
        let arbiters = if word == Word::Inquire { &self.tells } else { &self.asks };
        if !arbiters.contains(from) {
            Err(Refused::Unexpected("an answer from a node that is not asked"))
        } else if self.flaw == Flaw::Untagged {
            Ok(())
        } else if about.clock > self.stamp {
            Err(Refused::Unexpected("an answer to a request that was not made"))
        } else if word == Word::Locked && (!self.awaits(about) || self.locked.contains(from)) {
            Err(Refused::Unexpected("a LOCKED that was not awaited"))
        } else if word == Word::Inquire && self.awaits(about) && self.inquired.contains(from) {
            Err(Refused::Unexpected("a second INQUIRE about one grant"))
        } else {
            Ok(())
        }
    }

    fn awaits(&self, about: Timestamp) -> bool {
        self.phase == Phase::Waiting && about.clock == self.stamp
    }

    /// Whether a word is about the present request and comes in time to change anything.
    fn heeds(&self, word: Word, about: Timestamp) -> bool {
        match self.flaw {
            Flaw::StickyFailed if word == Word::Inquire => {
                self.phase != Phase::Idle && about.clock == self.stamp
            }
            Flaw::StaleInquire if word == Word::Inquire => self.phase == Phase::Waiting,
            Flaw::Untagged => self.phase == Phase::Waiting,
            _ => self.awaits(about),
        }
    }

    /// Takes the word of an arbiter. Inside, INQUIRE is ignored (RELEASE will come); so is whatever
    /// does not match the current request.
    pub(super) fn hear(&mut self, word: Word, about: Timestamp) {
        if !self.heeds(word, about) {
            return;
        }
        let from = about.node;
        match word {
            Word::Locked => {
                self.locked.insert(from);
                if self.flaw != Flaw::StickyFailed {
                    self.failed.remove(from);
                }
            }
            // An arbiter says FAILED once, before it grants: with its grant here this one was
            // overtaken.
            Word::Failed if !self.locked.contains(from) => {
                self.failed.insert(from);
            }
            Word::Inquire => {
                self.inquired.insert(from);
            }
            _ => {}
        }
    }

    /// Failed set not empty: drop the grant, send RELINQUISH; for all remembered arbiters, one per
    /// call. Entering empties both sets, so nothing is given back inside.
    pub(super) fn give_back(&mut self) -> Option<NodeId> {
        if self.failed.is_empty() {
            return None;
        }
        // Without stamps an INQUIRE says that its grant is here, or is on its way.
        let has_grant = |arbiter| self.flaw == Flaw::Untagged || self.locked.contains(arbiter);
        let arbiter = self.inquired.iter().find(|&arbiter| has_grant(arbiter))?;
        self.inquired.remove(arbiter);
        self.locked.remove(arbiter);
        self.failed.insert(arbiter);
        Some(arbiter)
    }

    /// Enter when all of R_i have granted; true if that is now. What was inquired about comes back
    /// with the RELEASE.
    pub(super) fn enter(&mut self) -> bool {
        let enters = self.phase == Phase::Waiting && self.locked.len() == self.asks.len();
        if enters {
            self.phase = Phase::Inside;
            self.inquired.clear();
        }
        enters
    }
}
