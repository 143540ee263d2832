//! A recorded run as the steps of the checker.

use anyhow::{Result, bail, ensure};
use skeptron_check::{Step, Which};
use skeptron_core::NodeId;
use skeptron_core::catalogue::Algorithm;
use skeptron_sim::replay::Completion;
use skeptron_sim::trace::{Bounds, Header, Loss, Record, Ticks, What};

/// Nothing waits for so many.
const MOST_BOUNDS: Ticks = 10_000;

/// A message under way.
struct Flight {
    id: u64,
    from: NodeId,
    to: NodeId,
    /// Whether it was under way when the last bound passed.
    is_late: bool,
}

/// What the checker knows of a run beside its nodes: the messages under way, in the order of sending, and who is down.
/// What is on its way to a node that goes down never arrives.
pub(super) struct Way {
    in_flight: Vec<Flight>,
    down: Vec<bool>,
    /// Who has just come back, and calls in the same step.
    back: Option<NodeId>,
    clock: Option<Clock>,
}

/// What an election has besides: alarms, and the time in which they count.
struct Clock {
    run: Completion,
    bounds: Bounds,
    ticks_per_unit: Ticks,
    /// How many bounds, and then how many steps, are over.
    over: (Ticks, Ticks),
}

impl Way {
    /// Nothing has happened.
    ///
    /// # Errors
    /// If the nodes cannot be built.
    pub(super) fn new(header: &Header) -> Result<Self> {
        let clock = match (Algorithm::find(&header.algorithm), header.bounds) {
            (Some(Algorithm::Election(_)), Some(bounds)) => {
                let mut run = Completion::new(header.clone())?;
                run.begin();
                let ticks_per_unit = header.ticks_per_unit;
                Some(Clock { run, bounds, ticks_per_unit, over: (0, 0) })
            }
            _ => None,
        };
        let down = vec![false; header.setup.nodes()];
        Ok(Way { in_flight: Vec::new(), down, back: None, clock })
    }

    /// What happened, as the checker takes it, and the record of each.
    ///
    /// # Errors
    /// If the checker cannot take it.
    pub(super) fn steps(mut self, records: &[Record]) -> Result<(Vec<Step>, Vec<usize>)> {
        let (mut steps, mut places) = (Vec::new(), Vec::new());
        for (place, record) in records.iter().enumerate() {
            let is_refused = matches!(
                records.get(place + 1),
                Some(Record { what: What::Refuse { .. }, node, .. }) if *node == record.node
            );
            // A node that refuses what its user says goes on as if nothing had been said.
            if is_refused && matches!(record.what, What::Request | What::Release) {
                continue;
            }
            let bounds = self.bounds_before(record);
            ensure!(
                bounds <= MOST_BOUNDS,
                "{bounds} bounds pass before the record at t = {}, and the checker follows at most {MOST_BOUNDS} at \
                 once; begin before that",
                record.t
            );
            for _ in 0..bounds {
                self.pass_bound();
                steps.push(Step::Tick);
                places.push(place);
            }
            if let Some(step) = self.step(record)? {
                steps.push(step);
                places.push(place);
            }
            if let Some(clock) = &mut self.clock {
                clock.run.repeat(record.clone())?;
            }
        }
        Ok((steps, places))
    }

    /// How many bounds pass until an input.
    fn bounds_before(&mut self, record: &Record) -> Ticks {
        // What is lost to a node that is down is lost while a bound passes.
        let is_timed =
            record.what.is_input() && !matches!(record.what, What::Lose { cause: Loss::Down, .. });
        match &mut self.clock {
            Some(clock) if is_timed => clock.advance(record.t),
            _ => 0,
        }
    }

    /// Whatever is under way must arrive before the next; what was to arrive at a node that is down is lost.
    fn pass_bound(&mut self) {
        let down = &self.down;
        self.in_flight.retain(|flight| !(flight.is_late && down[flight.to.index()]));
        self.in_flight.iter_mut().for_each(|flight| flight.is_late = true);
    }

    /// The step that a record is, if it is one.
    fn step(&mut self, record: &Record) -> Result<Option<Step>> {
        let node = record.node;
        let back = if record.what.is_input() { self.back.take() } else { None };
        Ok(match &record.what {
            What::Request => Some(Step::Request(node)),
            What::Release => Some(Step::Release(node)),
            What::Call if back == Some(node) => None,
            What::Call => Some(Step::Call(node)),
            What::Suspect { whom } => Some(Step::Suspect { node, whom: *whom }),
            What::Trust { whom } => Some(Step::Trust { node, whom: *whom }),
            What::Draw { number } => Some(Step::Draw { node, number: *number }),
            What::Expire { timer } => {
                let set = self.clock.as_ref().map(|clock| clock.run.alarms(node));
                let nth = set.and_then(|set| set.iter().position(|alarm| alarm == timer));
                nth.map(|nth| Step::Expire { node, nth })
            }
            What::Deliver { id } => match self.take(*id) {
                Some(which) => Some(Step::Deliver(which)),
                None => bail!(
                    "message {id} reaches {node}, which was down while it was under way, and the checker loses \
                     such messages; begin before that"
                ),
            },
            What::Lose { id, .. } => self.take(*id).map(Step::Lose),
            What::Duplicate { id, of } => self.copy(*of, *id).map(Step::Duplicate),
            What::Crash => {
                self.down[node.index()] = true;
                self.in_flight.retain(|flight| flight.to != node);
                Some(Step::Crash(node))
            }
            What::Send { id, to, .. } => {
                // Where nodes come back it may be up again when the message arrives.
                if !self.down[to.index()] || self.clock.is_some() {
                    self.in_flight.push(Flight { id: *id, from: node, to: *to, is_late: false });
                }
                None
            }
            What::Restart if self.clock.is_none() => bail!(
                "{node} comes back in the run so far, and the checker knows no returns where nobody is \
                 elected; begin before that"
            ),
            What::Restart => {
                self.down[node.index()] = false;
                self.back = Some(node);
                Some(Step::Restart(node))
            }
            _ => None,
        })
    }

    fn which(&self, id: u64) -> Option<(usize, Which)> {
        let place = self.in_flight.iter().position(|flight| flight.id == id)?;
        let Flight { from, to, .. } = self.in_flight[place];
        let older = self.in_flight[..place].iter();
        let nth = older.filter(|flight| (flight.from, flight.to) == (from, to)).count();
        Some((place, Which { from, to, nth }))
    }

    fn take(&mut self, id: u64) -> Option<Which> {
        let (place, which) = self.which(id)?;
        self.in_flight.remove(place);
        Some(which)
    }

    fn copy(&mut self, of: u64, id: u64) -> Option<Which> {
        let (place, which) = self.which(of)?;
        let Flight { from, to, is_late, .. } = self.in_flight[place];
        self.in_flight.insert(place + 1, Flight { id, from, to, is_late });
        Some(which)
    }
}

impl Clock {
    /// How many bounds pass until something happens at `t`.
    fn advance(&mut self, t: Ticks) -> Ticks {
        let Bounds { length, steps_from } = self.bounds;
        let until = steps_from.map_or(t, |from| from.min(t));
        let passed = until / length.max(1) - self.over.0;
        self.over.0 += passed;
        let steps = (t - until).div_ceil(self.ticks_per_unit.max(1));
        // The last of these units is that of what happens.
        let idle = steps.saturating_sub(self.over.1 + 1);
        self.over.1 = self.over.1.max(steps);
        passed + idle
    }
}
