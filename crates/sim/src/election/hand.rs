//! A hand at work in the event loop.

use skeptron_core::election::Election;

use super::simulation::{Envelope, Event, Simulation};
use crate::faults::Fault;
use crate::hand::{Board, Carried, Deed, Impossible, Passage, Playable};
use crate::scenario::ScenarioError;
use crate::trace::Ticks;
use crate::troubles::Turn;

impl<M: Clone> Carried for Event<M> {
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

impl<'a, P: Election> Playable<'a> for Simulation<'a, P> {
    type Event = Event<P::Message>;

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
            lost: &mut self.tally.lost,
            duplicated: &mut self.tally.duplicated,
        })
    }

    fn next_at(&mut self) -> Option<Ticks> {
        let alarm = self.alarms.next_at();
        self.queue.next_at().into_iter().chain(alarm).min()
    }

    fn happen(&mut self, event: Self::Event) {
        self.tally.events += 1;
        self.mix_event(&event);
        self.handle(event);
    }

    fn command(&mut self, deed: &Deed) -> Result<(), Impossible> {
        let Deed::Call { node } = *deed else { return Err(Impossible::NoMutex) };
        self.disturbed();
        self.call(node);
        Ok(())
    }

    fn begin(&mut self, fault: Fault) {
        self.begin_fault(fault, None);
    }

    fn turn(&mut self, turn: Option<Turn>) {
        self.disturbed();
        Simulation::turn(self, turn);
    }
}

impl<P: Election> Simulation<'_, P> {
    /// Lets the hand do what it does at this point of the run, and says whether the run ends here.
    pub(super) fn ends_at_record(&mut self) -> Result<bool, ScenarioError> {
        if self.recorder.is_none() {
            return Ok(false);
        }
        self.act()?;
        // Before the hand goes on where everything rests, it is said who has no leader.
        while self.next_at().is_none() && self.played.next().is_some() {
            self.judge_rest();
            if !self.act()? {
                break;
            }
        }
        let records = self.recorder.as_ref().map_or(0, |recorder| recorder.len());
        self.cut_short = records >= self.most_records && self.next_at().is_some();
        Ok(self.cut_short)
    }
}
