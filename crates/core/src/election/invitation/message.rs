//! What the nodes of the invitation algorithm say to each other, and what they wait for.

use serde::{Deserialize, Serialize};

use crate::Message;
use crate::election::{Epoch, kinds};

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Are you a coordinator? I am, of this group.
    AyCoord(Epoch),
    /// This is the group that I am in.
    Answer {
        /// Its number; whoever began it is its coordinator.
        group: Epoch,
        /// Whether the sender is its coordinator and looking for others.
        looking: bool,
    },
    /// Come into this group.
    Invitation(Epoch),
    /// I am in it.
    Accept(Epoch),
    /// It stands, and its coordinator leads it.
    Ready(Epoch),
}

impl Message for Msg {
    kinds! {
        AyCoord = "AYCOORD",
        Answer = "ANSWER",
        Invitation = "INVITATION",
        Accept = "ACCEPT",
        Ready = "READY",
    }

    fn payload(&self) -> String {
        self.group().by.to_string()
    }
}

impl Msg {
    /// The group that it speaks of.
    pub(super) fn group(&self) -> Epoch {
        match *self {
            Msg::AyCoord(group)
            | Msg::Answer { group, .. }
            | Msg::Invitation(group)
            | Msg::Accept(group)
            | Msg::Ready(group) => group,
        }
    }
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alarm {
    /// Everybody's ANSWER.
    Answers,
    /// The invitation of a higher node.
    Priority,
    /// Everybody's ACCEPT.
    Accepts,
    /// READY.
    Ready,
    /// The time to look again.
    Again,
}
