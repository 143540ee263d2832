//! A session that moves: its client says at another node what it still holds, and goes on there when the
//! life where it was is gone.

use std::sync::Arc;
use std::time::Duration;

use super::{Session, Standing, Trouble, believed, within};
use crate::client::connection::Caller;
use crate::env;
use crate::messages::{LeftBehind, MoveSession, Moved, MovedHold};
use skeptron_member::clock::Moment;
use skeptron_member::report::milliseconds;

/// How long a node may take to say whether it takes a session, at most.
const TAKEN_WITHIN: Duration = Duration::from_millis(700);

/// A session on its way.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    /// To which endpoint.
    to: usize,
    number: u64,
    /// What it brings.
    held: Vec<MovedHold>,
    /// The last number of an acquire before it.
    requests: u64,
    /// Whether the node there has taken it.
    is_taken: bool,
}

impl Session {
    /// Tries the other endpoints in turn; whether one took the session.
    pub(super) async fn move_on(&self) -> bool {
        let (at, former) = {
            let standing = self.standing.borrow();
            (standing.at, standing.moving.as_ref().map(|moving| moving.to))
        };
        let others = (1..self.callers.len()).map(|step| (at + step) % self.callers.len());
        // The one that took it last and does not answer any more comes last.
        let (later, first): (Vec<_>, Vec<_>) = others.partition(|&to| Some(to) == former);
        for to in first.into_iter().chain(later) {
            // Set before it is sent: what is granted from now on at the former node is not brought along.
            let mut former = None;
            self.standing.send_modify(|standing| {
                standing.moves += 1;
                let (number, held) = (standing.moves, standing.brought());
                let requests = self.last_request();
                let moving = Moving { to, number, held, requests, is_taken: false };
                former = standing.moving.replace(moving);
            });
            if self.try_again_to_move().await {
                if let Some(Moving { to, number, .. }) = former {
                    self.leave_behind(to, number);
                }
                return true;
            }
        }
        // Back to where it was, if that answers again.
        self.standing.send_modify(|standing| standing.moving = None);
        false
    }

    /// Asks the node to which the session moves; whether it takes it.
    pub(super) async fn try_again_to_move(&self) -> bool {
        let question = {
            let standing = self.standing.borrow();
            let Some(moving) = standing.moving.clone() else { return false };
            let Some(from) = standing.place.clone() else { return false };
            let question = MoveSession {
                from,
                number: moving.number,
                ttl_ms: milliseconds(self.ttl),
                owner: self.owner.clone(),
                requests: moving.requests,
                held: moving.held,
            };
            (moving.to, question)
        };
        let (to, question) = question;
        let path = format!("/v1/sessions/{}/move", self.id);
        let (sent, time) = (env::now(), self.pace().clamp(TAKEN_WITHIN / 4, TAKEN_WITHIN));
        match within(time, self.callers[to].post(&path, &question)).await {
            Ok(answer) if self.is_enough(&answer) => {
                self.arrived(to, question.number, sent, answer);
                true
            }
            Ok(_) => {
                self.leave_behind(to, question.number);
                false
            }
            Err(_) => false,
        }
    }

    /// Whether it is wise to go there: the first word of another node is the only one that counts, and one
    /// whose own lease is about to end promises next to nothing.
    fn is_enough(&self, answer: &Moved) -> bool {
        let is_taken = self.standing.borrow().moving.as_ref().is_some_and(|moving| moving.is_taken);
        is_taken || Duration::from_millis(answer.valid_ms) >= self.pace()
    }

    fn arrived(&self, to: usize, number: u64, sent: Moment, answer: Moved) {
        let mut left = None;
        self.standing.send_if_modified(|standing| {
            let moving = standing.moving.as_mut().filter(|moving| moving.number == number);
            let Some(moving) = moving else { return false };
            let is_first = !std::mem::replace(&mut moving.is_taken, true);
            let valid = Duration::from_millis(answer.valid_ms);
            left = Some((standing.at, standing.moved));
            if answer.pending {
                // Only a node that leaves, so that the session cannot go on there, may be told.
                left = left.filter(|_| standing.home_leaves);
                standing.believe(sent, valid, standing.lives_until, is_first);
                return true;
            }
            standing.moving = None;
            (standing.at, standing.moved, standing.home_leaves) = (to, number, false);
            standing.place = Some(answer.place);
            standing.lives_until = believed(sent, self.ttl);
            standing.lost = answer.lost;
            standing.believe(sent, valid, Moment::NEVER, true);
            true
        });
        if let Some((at, moved)) = left {
            self.leave_behind(at, moved);
        }
    }

    /// The node where the session is did not take a sign of life.
    pub(super) fn note(&self, trouble: &Trouble) {
        if let Trouble::Refused(_, problem) = trouble
            && problem.code == "leaving"
        {
            self.standing.send_modify(|standing| standing.home_leaves = true);
        }
    }

    /// The node where the session is has answered: it does not move.
    pub(super) fn stay(&self) {
        let moving = self.standing.borrow().moving.clone();
        if let Some(Moving { to, number, .. }) = moving {
            self.standing.send_modify(|standing| standing.moving = None);
            self.leave_behind(to, number);
        }
    }

    /// Tells a node that what came of this move is not needed there any more. If it does not get through,
    /// it ends with the TTL.
    fn leave_behind(&self, at: usize, number: u64) {
        let (caller, id) = (Arc::clone(&self.callers[at]), self.id);
        self.in_background(async move {
            let path = format!("/v1/sessions/{id}/moved");
            let question = LeftBehind { number };
            let told = Caller::post::<_, LeftBehind>(&caller, &path, &question);
            let _ = within(TAKEN_WITHIN, told).await;
        });
    }
}

impl Standing {
    /// What the session holds and has not lost.
    fn brought(&self) -> Vec<MovedHold> {
        let held = self.held.iter().filter(|((lock, fence), _)| !self.has_lost(lock, *fence));
        held.map(|((lock, fence), request)| MovedHold {
            lock: lock.clone(),
            fence: *fence,
            request: Some(*request),
        })
        .collect()
    }
}
