//! What goes between a node with kinds, its application and other nodes.

use serde::{Deserialize, Serialize};

use super::Presence;
use crate::NodeId;
use crate::mutex::Mode;

/// What an application asks of a node whose lock has kinds. A node may have several entries inside,
/// so whatever leaves or changes is named by its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// One more entry wants in. One at a time waits at a node.
    Enter(Mode),
    /// An entry leaves.
    Leave(Mode),
    /// An entry of this mode wants to be exclusive without leaving. Answered by
    /// [`AccessEvent::Upgraded`] or [`AccessEvent::Denied`]; until then it stays inside as it is.
    Upgrade(Mode),
    /// The exclusive entry becomes one of this mode, at once.
    Downgrade(Mode),
    /// The entry that waits does so no longer.
    CancelEnter,
    /// The entry that waits to be exclusive does so no longer, and stays inside as it is.
    CancelUpgrade,
}

/// What a node tells its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessEvent {
    /// The waiting entry is inside.
    Entered,
    /// The entry that wanted it is exclusive now.
    Upgraded,
    /// Another one upgrades first and waits for this entry to leave. It stays as it was.
    Denied,
}

/// What the rules want done, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duty {
    /// Request the inner lock; then [`super::Sharing::admitted`], once the algorithm lets the node in.
    Acquire,
    /// Nothing here needs the inner lock any more: [`super::Sharing::release`] it, or let another entry of this node
    /// in first ([`Access::Enter`]).
    Release,
    /// Send this to another node, which calls [`super::Sharing::hear`].
    Tell(NodeId, SharingMessage),
    /// Tell the application.
    Emit(AccessEvent),
}

/// What nodes tell each other besides the algorithm's messages. Each belongs to a round: the version of the
/// register with which the asker got the inner lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SharingMessage {
    /// The asker waits holding the inner lock: tell me when you leave.
    Ask {
        /// The asker's round.
        round: u64,
        /// Only the last one matters.
        all: bool,
        /// What the asker knows of you.
        knows: Presence,
    },
    /// What is inside here now.
    Left {
        /// The round of the ASK that it answers.
        round: u64,
        /// Of several answers the last one counts, however they arrive.
        seq: u32,
        /// What is left.
        here: Presence,
        /// The one that is left waits to upgrade.
        wants: bool,
    },
    /// All others have left: upgrade before me, and tell me when you leave.
    Lend {
        /// The round of the LEFT that it answers.
        round: u64,
        /// Which of its answers that was: the upgrader may have changed its mind twice since.
        seq: u32,
    },
    /// Somebody else upgrades.
    Deny {
        /// The round of the LEFT that it answers.
        round: u64,
        /// Which of its answers that was.
        seq: u32,
    },
}
