//! How acts are done: the same for every event loop.

use skeptron_core::NodeId;
use skeptron_core::catalogue::Order;

use super::{Act, Deed, Hand, Impossible, cut};
use crate::faults::Fault;
use crate::network::Network;
use crate::queue::Queue;
use crate::recorder::Recorder;
use crate::scenario::ScenarioError;
use crate::trace::{Loss, Ticks, What};
use crate::trace_hash::TraceHash;
use crate::troubles::{Health, Troubles, Turn};

/// How far a hand has come.
#[derive(Debug)]
pub(crate) struct Played<'a> {
    acts: &'a [Act],
    /// How many records there were when each act happened that has.
    done: Vec<usize>,
}

impl<'a> Played<'a> {
    pub(crate) fn new(hand: &'a Hand) -> Self {
        Played { acts: &hand.acts, done: Vec::new() }
    }

    /// What it does next.
    pub(crate) fn next(&self) -> Option<&'a Act> {
        self.acts.get(self.done.len())
    }

    /// What it has done.
    pub(crate) fn done(&self) -> &'a [Act] {
        &self.acts[..self.done.len()]
    }

    /// How many records there were when each act happened, unless one never does.
    pub(crate) fn into_places(self, records: usize) -> Result<Vec<usize>, ScenarioError> {
        let Some(act) = self.next() else { return Ok(self.done) };
        let why = Impossible::Never { after: act.after, records };
        Err(ScenarioError::Act { number: self.done.len() + 1, why })
    }
}

/// A message on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    /// Its number in the trace.
    pub(crate) id: u32,
}

impl Passage {
    fn is(&self, message: u64) -> bool {
        u64::from(self.id) == message
    }

    fn is_on_the_way_of(&self, other: &Passage) -> bool {
        (self.from, self.to) == (other.from, other.to)
    }
}

/// An event, which may be the arrival of a message.
pub(crate) trait Carried {
    /// Which message arrives, if one does.
    fn passage(&self) -> Option<Passage>;

    /// The arrival of its copy, with that number.
    fn copied(&self, id: u32) -> Option<Self>
    where
        Self: Sized;
}

/// What a hand can reach of an event loop.
pub(crate) struct Board<'s, 'a, E> {
    pub(crate) played: &'s mut Played<'a>,
    pub(crate) now: &'s mut Ticks,
    pub(crate) order: Order,
    pub(crate) queue: &'s mut Queue<E>,
    pub(crate) troubles: &'s mut Troubles<E>,
    pub(crate) network: &'s mut Network,
    pub(crate) recorder: &'s mut Recorder,
    pub(crate) hash: &'s mut TraceHash,
    pub(crate) lost: &'s mut u64,
    pub(crate) duplicated: &'s mut u64,
}

impl<E: Carried> Board<'_, '_, E> {
    fn passage_of(&self, message: u64) -> Result<Passage, Impossible> {
        let all = self.troubles.all_held().chain(self.queue.iter());
        let mut passages = all.filter_map(Carried::passage);
        passages.find(|passage| passage.is(message)).ok_or(Impossible::NotInFlight(message))
    }

    /// Takes out messages on the way of `passage`, with the times of their arrival: those that were
    /// held for a paused node have arrived.
    fn take(
        &mut self,
        passage: &Passage,
        mut wanted: impl FnMut(&Passage) -> bool,
    ) -> Vec<(Ticks, E)> {
        let mut is_wanted = |event: &E| {
            let found = event.passage().filter(|found| found.is_on_the_way_of(passage));
            found.is_some_and(|found| wanted(&found))
        };
        let held = self.troubles.take_held(passage.to, &mut is_wanted);
        let now = *self.now;
        let mut taken: Vec<(Ticks, E)> = held.into_iter().map(|event| (now, event)).collect();
        taken.extend(self.queue.take(is_wanted));
        taken
    }

    /// Takes out a message that shall arrive now and, on a FIFO channel, those before it.
    fn take_up_to(&mut self, message: u64) -> Result<Vec<(Ticks, E)>, Impossible> {
        let passage = self.passage_of(message)?;
        let fifo = self.order == Order::Fifo;
        let mut found = false;
        Ok(self.take(&passage, |other| {
            let before = !found;
            found |= other.is(message);
            other.is(message) || fifo && before
        }))
    }

    /// Takes out a message that shall arrive later and, on a FIFO channel, those behind it.
    fn take_from(&mut self, message: u64) -> Result<Vec<(Ticks, E)>, Impossible> {
        let passage = self.passage_of(message)?;
        let fifo = self.order == Order::Fifo;
        let mut found = false;
        Ok(self.take(&passage, |other| {
            found |= other.is(message);
            other.is(message) || fifo && found
        }))
    }

    fn delay(&mut self, message: u64, by: Ticks) -> Result<(), Impossible> {
        let mut no_earlier = 0;
        for (place, (at, event)) in self.take_from(message)?.into_iter().enumerate() {
            let at = if place == 0 { at + by } else { at.max(no_earlier) };
            no_earlier = at;
            if let Some(Passage { from, to, .. }) = event.passage() {
                self.network.hold_back(from, to, at);
            }
            self.queue.push(at, event);
        }
        Ok(())
    }

    fn lose(&mut self, message: u64) -> Result<(), Impossible> {
        let passage = self.passage_of(message)?;
        self.take(&passage, |other| other.is(message));
        *self.lost += 1;
        let what = What::Lose { id: message, cause: Loss::Hand };
        self.recorder.now(*self.now, passage.from, what);
        Ok(())
    }

    fn duplicate(&mut self, message: u64) -> Result<(), Impossible> {
        let Passage { from, to, id } = self.passage_of(message)?;
        let copy = self.recorder.duplicate(*self.now, from, id);
        self.recorder.end_of_step();
        *self.duplicated += 1;
        let is_it = |event: &&E| event.passage().is_some_and(|passage| passage.id == id);
        let original = self.troubles.all_held().chain(self.queue.iter()).find(is_it);
        if let Some(copied) = original.and_then(|event| event.copied(copy)) {
            let at = self.network.arrival(*self.now, from, to);
            self.queue.push(at, copied);
        }
        Ok(())
    }

    /// Who must be up, is.
    fn awake(&self, node: NodeId) -> Result<(), Impossible> {
        match self.troubles.health(node) {
            Health::Up => Ok(()),
            Health::Paused => Err(Impossible::Paused(node)),
            Health::Down => Err(Impossible::Down(node)),
        }
    }

    /// Whether a fault of the hand's befalls that node or ends there now.
    fn may_turn(&self, deed: &Deed) -> Result<(), Impossible> {
        let health = |node| self.troubles.health(node);
        match *deed {
            Deed::Crash { node } if health(node) == Health::Down => {
                Err(Impossible::DownAlready(node))
            }
            Deed::Pause { node } if health(node) == Health::Down => Err(Impossible::Down(node)),
            Deed::Pause { node } if health(node) == Health::Paused => {
                Err(Impossible::PausedAlready(node))
            }
            Deed::Restart { node } if health(node) != Health::Down => {
                Err(Impossible::NotDown(node))
            }
            Deed::Resume { node } if health(node) != Health::Paused => {
                Err(Impossible::NotPaused(node))
            }
            _ => Ok(()),
        }
    }
}

/// An event loop in which a hand can play.
pub(crate) trait Playable<'a> {
    type Event: Carried;

    /// What the hand can reach; nothing where nothing is recorded, as acts count records.
    fn board(&mut self) -> Option<Board<'_, 'a, Self::Event>>;

    /// When the next thing happens of its own accord.
    fn next_at(&mut self) -> Option<Ticks>;

    /// Lets an event happen now.
    fn happen(&mut self, event: Self::Event);

    /// The application of a node that is up requests, releases or calls.
    fn command(&mut self, deed: &Deed) -> Result<(), Impossible>;

    /// A fault begins and lasts until a hand ends it.
    fn begin(&mut self, fault: Fault);

    /// Something becomes of a node.
    fn turn(&mut self, turn: Option<Turn>);

    /// Lets the hand do what it does at this point of the run. True if it did something.
    fn act(&mut self) -> Result<bool, ScenarioError> {
        let mut acted = false;
        while let Some((number, act)) = self.due() {
            let next = self.next_at();
            if let Some(board) = self.board() {
                *board.now = next.map_or(act.t, |next| act.t.min(next)).max(*board.now);
                board.hash.mix(*board.now, act.after as u64);
            }
            self.perform(&act.deed).map_err(|why| ScenarioError::Act { number, why })?;
            acted = true;
        }
        Ok(acted)
    }

    /// The next act, counted from 1, if it happens at this point of the run.
    fn due(&mut self) -> Option<(usize, &'a Act)> {
        let Board { played, recorder, .. } = self.board()?;
        let act = played.next().filter(|act| act.after <= recorder.len())?;
        played.done.push(recorder.len());
        Some((played.done.len(), act))
    }

    /// Does what the hand does.
    fn perform(&mut self, deed: &Deed) -> Result<(), Impossible> {
        let Some(mut board) = self.board() else { return Ok(()) };
        board.may_turn(deed)?;
        match *deed {
            Deed::Request { node } | Deed::Release { node } | Deed::Call { node } => {
                board.awake(node)?;
                return self.command(deed);
            }
            Deed::Crash { node } => self.begin(Fault::Crash(node)),
            Deed::Pause { node } => self.begin(Fault::Pause(node)),
            Deed::Restart { node } | Deed::Resume { node } => {
                let turn = board.troubles.relieve(node);
                self.turn(turn);
            }
            Deed::Deliver { message } => {
                let to = board.passage_of(message)?.to;
                if board.troubles.health(to) == Health::Paused {
                    return Err(Impossible::Paused(to));
                }
                for (_, event) in board.take_up_to(message)? {
                    self.happen(event);
                }
            }
            Deed::Drop { message } => board.lose(message)?,
            Deed::Duplicate { message } => board.duplicate(message)?,
            Deed::Delay { message, by } => board.delay(message, by)?,
            Deed::Cut { ref from, ref to, both_ways } => {
                self.begin(Fault::Cut(cut(from, to, both_ways)));
            }
            Deed::Mend if board.troubles.is_cut() => board.troubles.mend(),
            Deed::Mend => return Err(Impossible::NotCut),
        }
        Ok(())
    }

    /// Whether somebody stands still only because the hand has paused it.
    fn is_paused_by_hand(&mut self) -> bool {
        let Some(Board { played, troubles, .. }) = self.board() else { return false };
        played.done().iter().any(|act| match act.deed {
            Deed::Pause { node } => troubles.health(node) == Health::Paused,
            _ => false,
        })
    }
}
