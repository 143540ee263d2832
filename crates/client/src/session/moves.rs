//! A session that moves: its client says at another node what it still holds, and goes on there when the
//! life where it was is gone.

use std::sync::Arc;
use std::time::Duration;

use super::{CallError, Session, Standing, within};
use crate::connection::{Caller, Route};
use crate::env;
use crate::messages::{LeftBehind, MoveSession, Moved, SessionPlace};
use crate::native::{Ask, Json, Reply};
use skeptron_types::clock::MonoTime;
use skeptron_types::report::milliseconds;
use skeptron_types::session::MovedHold;

/// How long a node may take to say whether it takes a session, at most.
const TAKEN_WITHIN: Duration = Duration::from_millis(700);

/// A session on its way.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    to: Arc<Caller>,
    number: u64,
    /// What it brings.
    held: Vec<MovedHold>,
    /// The last number of an acquire before it.
    requests: u64,
    /// Whether the node there has taken it.
    pub(super) is_taken: bool,
}

impl Session {
    /// Tries the other endpoints in turn; whether one took the session.
    pub(super) async fn move_on(&self) -> bool {
        let (home, former) = {
            let standing = self.standing.borrow();
            let former = standing.moving.as_ref().map(|moving| &moving.to);
            let relayed = Some(&standing.at.caller).filter(|_| !standing.at.is_direct());
            (Arc::clone(&standing.home), former.or(relayed).cloned())
        };
        let mut others = self.nodes.all();
        if let Some(place) = others.iter().position(|it| it.endpoint() == home.endpoint()) {
            others.rotate_left(place);
            others.remove(0);
        }
        // The one that took it last, or passed on what was asked, and does not any more comes last.
        let is_former =
            |to: &Arc<Caller>| former.as_ref().is_some_and(|it| it.endpoint() == to.endpoint());
        let (later, first): (Vec<_>, Vec<_>) = others.into_iter().partition(is_former);
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
                    self.leave_behind(Route::direct(to), number);
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
        let (sent, time) = (env::now(), self.pace().clamp(TAKEN_WITHIN / 4, TAKEN_WITHIN));
        let (number, doubted) = (question.number, Arc::clone(&to));
        match within(time, to.ask(Ask::Move(self.id, question), None)).await {
            Ok(Reply::Moved(Json(answer))) if self.is_enough(&answer) => {
                self.arrived(to, number, sent, answer);
                true
            }
            Ok(_) => {
                self.leave_behind(Route::direct(to), number);
                false
            }
            Err(trouble) => {
                if let CallError::Unreachable(_) = trouble {
                    doubted.doubt();
                }
                self.refused(&trouble);
                false
            }
        }
    }

    /// Whether it is wise to go there: the first word of another node is the only one that counts, and one
    /// whose own lease is about to end promises next to nothing. Whoever has said that it leaves is not
    /// returned to, whichever way it is reached.
    fn is_enough(&self, answer: &Moved) -> bool {
        let (is_taken, returns) = {
            let standing = self.standing.borrow();
            (standing.is_taken(), standing.home_leaves && standing.is_at(&answer.place))
        };
        !returns && (is_taken || Duration::from_millis(answer.valid_ms) >= self.pace())
    }

    fn arrived(&self, to: Arc<Caller>, number: u64, sent: MonoTime, answer: Moved) {
        let mut left = None;
        self.nodes.replace(&answer.cluster.nodes);
        self.standing.send_if_modified(|standing| {
            let moving = standing.moving.as_mut().filter(|moving| moving.number == number);
            let Some(moving) = moving else { return false };
            let is_first = !std::mem::replace(&mut moving.is_taken, true);
            let valid = Duration::from_millis(answer.valid_ms);
            if standing.is_at(&answer.place) {
                // Nothing has moved; it is reached in another way.
                standing.moving = None;
                if answer.relayed {
                    standing.at = Route::through(to.clone(), &answer.place);
                    // Of an earlier try there may be a copy.
                    left = Some((Route::direct(to.clone()), number));
                } else {
                    (standing.home, standing.at) = (to.clone(), Route::direct(to.clone()));
                }
                standing.learn(&answer.cluster);
                standing.believe(sent, valid, MonoTime::NEVER, true);
                let lives_until = sent.after(standing.drift.believed(self.ttl));
                standing.lives_until = standing.lives_until.max(lives_until);
                standing.lost = answer.lost.clone();
                return true;
            }
            standing.learn(&answer.cluster);
            let former = (standing.at.clone(), standing.moved);
            if answer.pending {
                // Only a node that leaves, so that the session cannot go on there, may be told.
                left = Some(former).filter(|_| standing.home_leaves);
                standing.believe(sent, valid, standing.lives_until, is_first);
                return true;
            }
            standing.moving = None;
            left = Some(former);
            (standing.home, standing.at) = (to.clone(), Route::direct(to.clone()));
            (standing.moved, standing.home_leaves) = (number, false);
            standing.place = Some(answer.place.clone());
            standing.lives_until = sent.after(standing.drift.believed(self.ttl));
            standing.lost = answer.lost.clone();
            standing.believe(sent, valid, MonoTime::NEVER, true);
            true
        });
        if let Some((at, moved)) = left {
            self.leave_behind(at, moved);
        }
    }

    /// The node where the session is did not take a sign of life.
    pub(super) fn note(&self, trouble: &CallError) {
        self.refused(trouble);
        if let CallError::Refused(_, problem) = trouble
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
            self.leave_behind(Route::direct(to), number);
        }
    }

    /// Tells a node that what came of this move is not needed there any more. If it does not get through,
    /// it ends with the TTL.
    fn leave_behind(&self, route: Route, number: u64) {
        let id = self.id;
        self.in_background(async move {
            let told = route.ask(Ask::LeftBehind(id, LeftBehind { number }));
            let _ = within(TAKEN_WITHIN, told).await;
        });
    }
}

impl Standing {
    /// Whether this is the life where the session is.
    fn is_at(&self, place: &SessionPlace) -> bool {
        self.place.as_ref().is_some_and(|own| own.life == place.life)
    }

    /// What the session holds and has not lost.
    fn brought(&self) -> Vec<MovedHold> {
        let held = self.held.iter().filter(|((lock, fence), _)| !self.has_lost(lock, *fence));
        held.map(|((lock, fence), holding)| MovedHold {
            lock: lock.clone(),
            fence: *fence,
            mode: holding.mode,
            request: Some(holding.request),
            leads: holding.leads.clone(),
        })
        .collect()
    }
}
