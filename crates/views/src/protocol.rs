//! What members and voters say to each other.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use skeptron_member::MemberId;
use skeptron_member::clock::Drift;
use skeptron_member::view::View;

use crate::views::{Join, JoinRefused, Voters};

/// From a member to a voter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Let me in. Repeated until answered; for a life that is a member it is a renewal.
    Enter {
        /// Who asks.
        join: Join,
        /// The number of this request in this life.
        number: u64,
    },
    /// Prolong my lease.
    Renew {
        /// Which life.
        incarnation: u64,
        /// The number of this request in this life.
        number: u64,
        /// The newest view that the member knows.
        epoch: u64,
        /// Lives that it could not reach just now.
        suspects: Vec<u64>,
    },
    /// I have given up every right; do not wait for my lease. Repeated until answered by `Over`.
    Leave {
        /// Which life.
        incarnation: u64,
    },
}

/// From a voter to a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The lease runs for `hold` from the moment when request `number` was sent.
    Renewed {
        /// Which life.
        incarnation: u64,
        /// Of the request.
        number: u64,
        /// L_h, by the member's clock.
        hold: Duration,
        /// The bound on every clock's rate error, for the member's clients.
        drift: Drift,
        /// The present view; a member that knows an older one is sent the view as well.
        epoch: u64,
    },
    /// The present view.
    View(View),
    /// Who votes at present.
    Voters(Voters),
    /// Ask that voter instead; none if no leader is known.
    NotLeader(Option<MemberId>),
    /// This life does not belong to the cluster any more, and never will again.
    Over {
        /// Which life.
        incarnation: u64,
    },
    /// This life was not let in.
    Refused {
        /// Which life.
        incarnation: u64,
        /// Why.
        reason: JoinRefused,
    },
}
