//! Worlds of small protocols made for the purpose: alarms that ring when they should, elections that never end, and
//! chance.

use serde::{Deserialize, Serialize};
use skeptron_core::catalogue::{ElectionInfo, Order};
use skeptron_core::election::{Elected, Election, Epoch, Notice};
use skeptron_core::{Input, Message, NodeId, Outbox, Protocol, Refused, Setup, SetupError};

use super::check::{endless_run, judge};
use super::scenario::{ElectionFaults, ElectionScenario};
use super::world::World;
use crate::check::{Options, Report};
use crate::local::NodeTable;
use crate::property::{Properties, Property};

/// The first node asks the second when it calls, and is led by it if that answers in time; else, by
/// itself. If it is stubborn it asks again instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Asker {
    patience: u32,
    stubborn: bool,
    epoch: Epoch,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Word {
    Ask,
    Answer,
}

impl Message for Word {
    const KINDS: &'static [&'static str] = &["ASK", "ANSWER"];

    fn kind(&self) -> usize {
        self.clone() as usize
    }
}

impl Asker {
    fn name(&self, leader: usize, out: &mut Outbox<Self>) {
        out.disarm(0);
        out.emit(Elected { leader: NodeId::new(leader), epoch: self.epoch });
    }
}

impl Protocol for Asker {
    type Command = Notice;
    type Message = Word;
    type Timer = u8;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Command(Notice::Call) => {
                self.epoch = Epoch { round: 1, by: NodeId::new(0) };
                out.send(NodeId::new(1), Word::Ask);
                out.arm(0, self.patience);
            }
            Input::Expire(_) if self.stubborn => {
                out.send(NodeId::new(1), Word::Ask);
                out.arm(0, self.patience);
            }
            Input::Expire(_) => self.name(0, out),
            Input::Deliver { message: Word::Ask, from } => {
                out.send(from, Word::Answer);
                self.epoch = Epoch { round: 1, by: NodeId::new(0) };
                self.name(1, out);
            }
            Input::Deliver { message: Word::Answer, .. } => self.name(1, out),
            _ => {}
        }
        Ok(())
    }
}

impl Election for Asker {
    const VARIANTS: &'static [ElectionInfo] = &[];

    fn build(name: &str, _: &Setup) -> Result<Vec<Self>, SetupError> {
        Err(SetupError::UnknownName(name.into()))
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        self.clone()
    }
}

fn world(patience: u32, stubborn: bool, faults: ElectionFaults) -> World {
    let scenario = ElectionScenario {
        initiators: vec![NodeId::new(0)],
        faults,
        ..ElectionScenario::new(Setup::new(2).unwrap(), Order::Fifo)
    };
    let judged = Properties::from_iter(Property::ELECTION.iter().copied());
    let node = Asker { patience, stubborn, epoch: Epoch::FIRST };
    World::of_nodes(Box::new(NodeTable::new(vec![node; 2])), &scenario, judged, true)
}

fn search(world: &World) -> Report {
    judge(world, &Options { keep_going: true, ..Options::default() }, None).unwrap()
}

fn violated(report: &Report) -> Vec<Property> {
    let broken = report.verdicts.iter().filter(|verdict| verdict.holds == Some(false));
    broken.map(|verdict| verdict.property).collect()
}

/// There and back takes two bounds: an alarm that waits so long never rings before the answer.
#[test]
fn alarms_keep_time() {
    let patient = search(&world(2, false, ElectionFaults::default()));
    assert!(patient.complete && patient.holds());
    let hasty = search(&world(1, false, ElectionFaults::default()));
    assert_eq!(violated(&hasty), [Property::Agreement, Property::Validity]);
}

#[test]
fn alarms_ring_early_if_there_is_a_budget() {
    let faults = |premature| ElectionFaults { premature, ..ElectionFaults::default() };
    let report = search(&world(2, false, faults(1)));
    assert_eq!(violated(&report), [Property::Agreement, Property::Validity]);
    let states = |premature| search(&world(2, false, faults(premature))).states;
    assert!(states(0) < states(1));
}

/// An answer that is lost is made up for by asking again; from the dead none comes, ever.
#[test]
fn elections_that_never_end_are_found() {
    let lossy = ElectionFaults { losses: 1, ..ElectionFaults::default() };
    let report = search(&world(2, true, lossy));
    assert!(report.complete && report.holds(), "{:?}", report.violation());

    let crash = ElectionFaults {
        crashes: 1,
        victims: Some(vec![NodeId::new(1)]),
        ..ElectionFaults::default()
    };
    let report = search(&world(2, true, crash.clone()));
    assert_eq!(violated(&report), [Property::Termination]);
    let found = report.verdict(Property::Termination).unwrap().counterexample.as_ref().unwrap();
    let begins = found.cycle.expect("it goes round");
    assert!(found.steps[begins..].contains(&crate::Step::Tick), "time passes: {found:?}");

    assert!(endless_run(&world(2, true, crash), 3, None).is_err(), "too many states are too many");
}

/// A message of a sender that crashed may never have been sent; of others none is lost for free.
#[test]
fn a_crash_may_fall_into_a_broadcast() {
    let crash = |victim| ElectionFaults {
        crashes: 1,
        victims: Some(vec![NodeId::new(victim)]),
        ..ElectionFaults::default()
    };
    let losses = |victim| {
        let report = search(&world(2, false, crash(victim)));
        assert!(report.complete && report.holds(), "{:?}", report.violation());
        report.transitions
    };
    assert!(losses(0) > 0 && losses(1) > 0);
}

/// Throws a coin until it has guessed it. Which of two alarms rings first is the guess; it is made before the throw, or by
/// whoever has seen the coin.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Gambler {
    guesses_first: bool,
    guess: Option<u32>,
    coin: Option<u32>,
    throws: bool,
    epoch: Epoch,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Never {}

impl Message for Never {
    const KINDS: &'static [&'static str] = &[];

    fn kind(&self) -> usize {
        match *self {}
    }
}

impl Gambler {
    fn play(&mut self, out: &mut Outbox<Self>) {
        let guesses = self.guess.is_none() && (self.guesses_first || self.coin.is_some());
        if guesses {
            [1, 2].iter().for_each(|&side| out.arm(side, 1));
        } else if self.coin.is_none() {
            self.throws = true;
        } else if self.guess != self.coin {
            (self.guess, self.coin) = (None, None);
            self.play(out);
        }
    }
}

impl Protocol for Gambler {
    type Command = Notice;
    type Message = Never;
    type Timer = u32;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Command(Notice::Call) => {}
            Input::Command(Notice::Drawn(side)) => (self.coin, self.throws) = (Some(side), false),
            Input::Expire(side) => {
                out.disarm(3 - side);
                self.guess = Some(side);
            }
            _ => return Ok(()),
        }
        self.play(out);
        Ok(())
    }
}

impl Election for Gambler {
    const VARIANTS: &'static [ElectionInfo] = &[];

    fn build(name: &str, _: &Setup) -> Result<Vec<Self>, SetupError> {
        Err(SetupError::UnknownName(name.into()))
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        self.clone()
    }

    fn draws(&self) -> Option<u32> {
        self.throws.then_some(2)
    }
}

fn gamble(guesses_first: bool) -> Report {
    let scenario = ElectionScenario {
        initiators: vec![NodeId::new(0)],
        ..ElectionScenario::new(Setup::new(2).unwrap(), Order::Fifo)
    };
    let judged = Properties::from_iter(Property::ELECTION.iter().copied());
    let node =
        Gambler { guesses_first, guess: None, coin: None, throws: false, epoch: Epoch::FIRST };
    search(&World::of_nodes(Box::new(NodeTable::new(vec![node; 2])), &scenario, judged, false))
}

/// A guess may be wrong again and again, but not for ever, unless it is made by somebody who has seen the coin.
#[test]
fn chance_cannot_be_prevented_but_can_be_evaded() {
    let fair = gamble(true);
    assert!(fair.complete && fair.holds(), "{:?}", fair.violation());
    let evaded = gamble(false);
    assert_eq!(violated(&evaded), [Property::Termination]);
    let found = evaded.verdict(Property::Termination).unwrap().counterexample.as_ref().unwrap();
    let thrown = found.steps.iter().filter(|step| matches!(step, crate::Step::Draw { .. }));
    assert!(found.cycle.is_some() && thrown.count() > 0, "{found:?}");
}
