//! Partial-order reduction: messages that are absorbed.
//!
//! Steps of different nodes commute, but a node that waits for several answers may get them, and the
//! requests of others between them, in any order, and that is where the interleavings come from. An
//! answer is *absorbed* if taking it sends nothing and makes no difference to anything else that the
//! node may take first. A state in which a message can be absorbed needs only that one successor.
//!
//! Which messages are absorbed is an algorithm's claim ([`skeptron_core::Protocol::absorbs`]). It is
//! not believed: after the search [`certify`] proves it for the system at hand, or the search is done
//! again without. `ARCHITECTURE.md` has the argument.

use rustc_hash::{FxHashMap, FxHashSet};
use skeptron_core::catalogue::Order;

use crate::local::{CellId, Deed, Event, Explorable, LetterId, Memory};
use crate::world::{Move, State, World};

/// Leaves one message to be absorbed, if there is any, as the only thing to happen.
pub(crate) fn reduce<P: Explorable>(
    memory: &mut Memory<'_, P>,
    state: &State,
    moves: &mut Vec<Move>,
) {
    // A fault may strike any message first.
    if !state.budget.is_spent() {
        return;
    }
    let absorbed = moves.iter().copied().find(|step| match *step {
        Move::Deliver(place) => {
            let packet = state.flight[place as usize];
            let receiver = state.sites[packet.to as usize].cell;
            memory.step(receiver, Event::Deliver(packet.letter)).absorbed
        }
        _ => false,
    });
    if let Some(step) = absorbed {
        moves.clear();
        moves.push(step);
    }
}

/// A node as it is, having absorbed some messages at once, beside the same node as it would be had
/// it left them for later.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Pair {
    eager: CellId,
    lazy: CellId,
    /// What the lazy one has not taken, in the order of sending. The same message twice stands for
    /// twice or more.
    pending: Vec<LetterId>,
    /// Whether only the eager one is inside.
    owed: bool,
}

/// A proof that takes longer than searching everything is not worth it: so many pairs at least, or
/// one for each state of the search.
const MOST_PAIRS: usize = 100_000;

/// Proves that every message that was absorbed could have been taken at any later time with the same
/// result, whatever else the node took meanwhile. False if that is not so.
///
/// Pairs start apart where a message was absorbed. They stay in step with everything that happened to
/// the eager node anywhere in the search: both must do the same, except that the lazy one may enter
/// later. And the lazy one may take what it left at any time; with nothing left both must be equal.
pub(crate) fn certify<P: Explorable>(
    world: &World<P>,
    memory: &mut Memory<'_, P>,
    taken: &FxHashSet<(CellId, Event)>,
    states: u64,
) -> bool {
    let most = MOST_PAIRS.max(states as usize);
    let mut events: FxHashMap<CellId, Vec<Event>> = FxHashMap::default();
    for &(cell, event) in taken {
        events.entry(cell).or_default().push(event);
    }
    let mut proof = Proof { world, memory, known: FxHashSet::default(), open: Vec::new() };
    for &(cell, event) in taken {
        if let Event::Deliver(letter) = event
            && proof.memory.step(cell, event).absorbed
        {
            let nothing_left =
                Pair { eager: cell, lazy: cell, pending: Vec::new(), owed: false };
            if proof.absorb(&nothing_left, letter).is_none() {
                return false;
            }
        }
    }
    while let Some(pair) = proof.open.pop() {
        let together = events.get(&pair.eager).map_or(&[][..], Vec::as_slice);
        let holds = proof.lazy_catches_up(&pair).is_some()
            && together.iter().all(|&event| proof.both_take(&pair, event).is_some());
        if !holds || proof.known.len() > most {
            return false;
        }
    }
    true
}

struct Proof<'a, 'm, P: Explorable> {
    world: &'a World<P>,
    memory: &'a mut Memory<'m, P>,
    known: FxHashSet<Pair>,
    open: Vec<Pair>,
}

impl<P: Explorable> Proof<'_, '_, P> {
    /// Where a step leads, how often it enters, and whether it is refused.
    fn step(&mut self, cell: CellId, event: Event) -> (CellId, Vec<Deed>, usize, bool) {
        let outcome = self.memory.step(cell, event);
        let deeds = Memory::<P>::deeds(&outcome).map(|deed| self.memory.deed(deed));
        let (enters, sends): (Vec<Deed>, Vec<Deed>) = deeds.partition(|&deed| deed == Deed::Enter);
        (outcome.cell, sends, enters.len(), outcome.refused)
    }

    /// A pair is reached. `None` if it cannot be right.
    fn reach(&mut self, pair: Pair) -> Option<()> {
        if pair.pending.is_empty() {
            return (pair.eager == pair.lazy && !pair.owed).then_some(());
        }
        // Messages that make no difference now go on making none together if each does alone.
        if pair.pending.len() > 1 && pair.eager == pair.lazy && self.are_idle(&pair) {
            for letter in pair.pending {
                self.reach(Pair { pending: vec![letter], ..pair })?;
            }
            return Some(());
        }
        if self.known.insert(pair.clone()) {
            self.open.push(pair);
        }
        Some(())
    }

    fn are_idle(&mut self, pair: &Pair) -> bool {
        pair.pending.iter().all(|&letter| {
            let (lazy, sends, enters, refused) = self.step(pair.lazy, Event::Deliver(letter));
            lazy == pair.lazy && sends.is_empty() && enters == 0 && !refused
        })
    }

    fn absorb(&mut self, pair: &Pair, letter: LetterId) -> Option<()> {
        let (eager, _, enters, _) = self.step(pair.eager, Event::Deliver(letter));
        let owed = balance(pair.owed, enters, 0)?;
        let mut pending = pair.pending.clone();
        if pending.iter().filter(|&&other| other == letter).count() < 2 {
            pending.push(letter);
        }
        self.reach(Pair { eager, lazy: pair.lazy, pending, owed })
    }

    fn lazy_catches_up(&mut self, pair: &Pair) -> Option<()> {
        for (i, &letter) in pair.pending.iter().enumerate() {
            if self.world.order == Order::Fifo && self.waits_behind(&pair.pending[..i], letter) {
                continue;
            }
            let (lazy, sends, enters, refused) = self.step(pair.lazy, Event::Deliver(letter));
            if refused || !sends.is_empty() {
                return None;
            }
            let owed = balance(pair.owed, 0, enters)?;
            let mut pending = pair.pending.clone();
            if pending.iter().filter(|&&other| other == letter).count() == 2 {
                self.reach(Pair { eager: pair.eager, lazy, pending: pending.clone(), owed })?;
            }
            pending.remove(i);
            self.reach(Pair { eager: pair.eager, lazy, pending, owed })?;
        }
        Some(())
    }

    fn both_take(&mut self, pair: &Pair, event: Event) -> Option<()> {
        match event {
            Event::Deliver(letter) => {
                if self.memory.step(pair.eager, event).absorbed {
                    return self.absorb(pair, letter);
                }
                if self.world.order == Order::Fifo && self.waits_behind(&pair.pending, letter) {
                    return Some(());
                }
            }
            // The lazy one's user is not inside yet.
            Event::Request | Event::Release if pair.owed => return Some(()),
            _ => {}
        }
        let (eager, sends, enters, refused) = self.step(pair.eager, event);
        let (lazy, lazy_sends, lazy_enters, lazy_refused) = self.step(pair.lazy, event);
        if sends != lazy_sends || refused != lazy_refused {
            return None;
        }
        let owed = balance(pair.owed, enters, lazy_enters)?;
        self.reach(Pair { eager, lazy, pending: pair.pending.clone(), owed })
    }

    /// Whether a FIFO channel delivers one of `earlier` before `letter`.
    fn waits_behind(&self, earlier: &[LetterId], letter: LetterId) -> bool {
        let sender = self.memory.sender(letter);
        earlier.iter().any(|&other| self.memory.sender(other) == sender)
    }
}

/// How many entries the lazy one owes: none or one.
fn balance(owed: bool, eager: usize, lazy: usize) -> Option<bool> {
    match (usize::from(owed) + eager).checked_sub(lazy)? {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}
