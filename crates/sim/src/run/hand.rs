//! A hand at work in the event loop.

use skeptron_core::mutex::Mutex;

use super::{Envelope, Event, Simulation};
use crate::faults::Fault;
use crate::hand::{Board, Carried, Deed, Impossible, Passage, Playable};
use crate::scenario::ScenarioError;
use crate::trace::Ticks;
use crate::troubles::Turn;

impl<M: Clone, const W: usize> Carried for Event<M, W> {
    fn passage(&self) -> Option<Passage> {
        match self {
            Event::Deliver(Envelope { from, to, id, .. }) => {
                Some(Passage { from: *from, to: *to, id: *id })
            }
            _ => None,
        }
    }

    fn copied(&self, id: u32) -> Option<Self> {
        match self {
            Event::Deliver(envelope) => Some(Event::Deliver(Envelope { id, ..envelope.clone() })),
            _ => None,
        }
    }
}

impl<'a, P: Mutex, const W: usize> Playable<'a> for Simulation<'a, P, W> {
    type Event = Event<P::Message, W>;

    fn board(&mut self) -> Option<Board<'_, 'a, Self::Event>> {
        Some(Board {
            played: &mut self.played,
            now: &mut self.now,
            order: self.scenario.order,
            queue: &mut self.queue,
            troubles: &mut self.troubles,
            network: &mut self.network,
            recorder: self.recorder.as_mut()?,
            hash: &mut self.hash,
            lost: &mut self.lost,
            duplicated: &mut self.duplicated,
        })
    }

    fn next_at(&mut self) -> Option<Ticks> {
        self.queue.next_at()
    }

    fn happen(&mut self, event: Self::Event) {
        self.events += 1;
        self.mix(&event);
        self.handle(event);
    }

    fn command(&mut self, deed: &Deed) -> Result<(), Impossible> {
        match *deed {
            Deed::Request { node } if self.progress.is_waiting(node) => {
                Err(Impossible::Waits(node))
            }
            Deed::Request { node } if self.requests[node.index()].open => {
                Err(Impossible::Inside(node))
            }
            Deed::Request { node } => {
                self.want(node);
                self.requests[node.index()].by_hand = true;
                Ok(())
            }
            Deed::Release { node } if !self.exclusion.is_inside(node) => {
                Err(Impossible::NotInside(node))
            }
            Deed::Release { node } => {
                self.queue
                    .take(|event| matches!(event, Event::Leave { node: who, .. } if *who == node));
                self.leave(node);
                Ok(())
            }
            _ => Err(Impossible::NoElection),
        }
    }

    fn begin(&mut self, fault: Fault) {
        self.begin_fault(fault, None);
    }

    fn turn(&mut self, turn: Option<Turn>) {
        Simulation::turn(self, turn);
    }
}

impl<P: Mutex, const W: usize> Simulation<'_, P, W> {
    /// Lets the hand do what it does at this point of the run, and says whether the run ends here.
    pub(super) fn ends_at_record(&mut self) -> Result<bool, ScenarioError> {
        if self.recorder.is_none() {
            return Ok(false);
        }
        let mut acted = self.act()?;
        // Before the hand goes on where everything rests, it is said who waits in vain.
        while self.queue.next_at().is_none() && self.played.next().is_some() {
            self.stall = self.at_rest();
            self.say_stall();
            if !self.act()? {
                return Ok(true);
            }
            acted = true;
        }
        let records = self.recorder.as_ref().map_or(0, |recorder| recorder.len());
        self.cut_short = records >= self.most_records && self.queue.next_at().is_some();
        Ok(self.cut_short || acted && (self.is_served() || self.is_stuck()))
    }

    /// Whether the algorithm may be expected to be correct up to here.
    pub(super) fn keeps_assumptions(&self) -> bool {
        self.scenario.keeps_assumptions_with(self.played.done(), self.info)
    }

    /// Whether nothing more is planned to go wrong.
    pub(super) fn faults_are_over(&self) -> bool {
        let planned = self.scenario.faults.planned.iter();
        planned.map(|fault| fault.until.unwrap_or(fault.from)).all(|end| end < self.now)
    }
}
