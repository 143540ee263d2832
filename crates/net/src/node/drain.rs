//! A node that serves no clients for a while: it leaves the cluster as one that ends does, so that sessions
//! move with their locks and nobody waits for its lease, and stays out until it is told to serve again. Its
//! voter goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use skeptron_member::MemberId;
use skeptron_member::report::{Drain, MemberStatus};
use thiserror::Error;
use tokio::sync::watch;

use super::{Node, Parts};

/// Whether a node shall serve no clients, and whether it has left the cluster for that.
#[derive(Debug, Default)]
pub(super) struct Draining {
    asked: watch::Sender<bool>,
    is_out: AtomicBool,
}

impl Draining {
    /// Whether it shall, and every change of that.
    pub(super) fn asked(&self) -> watch::Receiver<bool> {
        self.asked.subscribe()
    }

    /// A life has begun.
    pub(super) fn is_in(&self) {
        self.is_out.store(false, Ordering::Release);
    }

    fn how_far(&self) -> Option<Drain> {
        let is_out = self.is_out.load(Ordering::Acquire);
        let how_far = if is_out { Drain::Drained } else { Drain::Draining };
        self.asked.borrow().then_some(how_far)
    }
}

/// Why a node does not stop to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DrainRefused {
    /// Sessions cannot move, and nobody decides that it leaves.
    #[error("the members of this cluster are fixed: {0} cannot leave, and its clients cannot move")]
    Fixed(MemberId),
    /// Nobody else could serve its clients.
    #[error("{0} is the only member: nobody else could serve its clients")]
    Last(MemberId),
    /// They would be lost.
    #[error("the program that contains {member} holds {locks} of its locks itself")]
    Guards {
        /// Who.
        member: MemberId,
        /// How many.
        locks: usize,
    },
    /// It ends anyway.
    #[error("{0} is shutting down")]
    Ending(MemberId),
}

impl Node {
    /// Serves no clients from now on: sessions are told to move, and take their locks along; then the node
    /// leaves the cluster. Its voter, if it has one, goes on. Returns at once; [`Node::drained`] says how
    /// far it is. Lasts until [`Node::serve_again`], or the end of the process.
    ///
    /// # Errors
    /// If that cannot be, or locks would be lost.
    pub fn drain(&self) -> Result<(), DrainRefused> {
        let (parts, id) = (&*self.parts, self.id());
        if !parts.has_lives() {
            return Err(DrainRefused::Fixed(id));
        }
        if parts.is_closed.load(Ordering::Acquire) {
            return Err(DrainRefused::Ending(id));
        }
        if self.drained().is_some() {
            return Ok(());
        }
        if let Some(life) = &*parts.present.load() {
            let core = life.shell.core();
            if core.view().members.len() == 1 {
                return Err(DrainRefused::Last(id));
            }
            let locks = core.held_by_program();
            if locks > 0 {
                return Err(DrainRefused::Guards { member: id, locks });
            }
        }
        tracing::info!("{id} is draining: its clients are told to move to other nodes");
        parts.drain.asked.send_replace(true);
        Ok(())
    }

    /// Serves clients again, when it has entered the cluster.
    pub fn serve_again(&self) {
        if self.parts.drain.asked.send_replace(false) {
            tracing::info!("{} will serve clients again once it has joined", self.id());
        }
    }

    /// How far it is, if it was told to serve no clients.
    #[must_use]
    pub fn drained(&self) -> Option<Drain> {
        self.parts.drain.how_far()
    }

    /// The members of its last view are nobody's business when it is out.
    pub(super) fn unless_out(&self, members: Vec<MemberStatus>) -> Vec<MemberStatus> {
        if self.drained() == Some(Drain::Drained) { Vec::new() } else { members }
    }
}

impl Parts {
    /// Leaves the cluster when every client has moved, has given back what it held, or must know that it
    /// lost it.
    pub(super) async fn leave_for_now(&self) {
        if let Some(life) = self.present.load_full() {
            life.shell.leave();
            life.shell.drain_sessions().await;
            life.shell.lose_all();
            Arc::clone(&self.service).leave().await;
        }
        self.drain.is_out.store(true, Ordering::Release);
        tracing::info!("{} is drained: it serves no clients and is not a member", self.config.node);
    }
}
