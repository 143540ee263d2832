//! Partial-order reduction: messages that are absorbed.
//!
//! Steps of different nodes commute, but a node that waits for several answers may get them, and the
//! requests of others between them, in any order, and that is where the interleavings come from. An
//! answer is *absorbed* if taking it sends nothing and makes no difference to anything else that the
//! node may take first. A state in which a message can be absorbed needs only that one successor.
//!
//! Which messages are absorbed is an algorithm's claim ([`skeptron_core::Protocol::absorbs`]). It is
//! not believed: after the search [`certify`] proves it for the system at hand, or the search is done
//! again without. `docs/checker.md` has the argument.

use rustc_hash::{FxHashMap, FxHashSet};
use skeptron_core::catalogue::Order;
use skeptron_core::mutex::Entered;

use crate::check::Options;
use crate::local::{Action, Event, LocalId, MessageId, RELEASE, REQUEST};
use crate::memory::Memory;
use crate::state::{Move, State};
use crate::world::World;

/// Leaves one message to be absorbed, if there is any, as the only thing to happen.
pub(crate) fn reduce(memory: &mut Memory<'_, Entered>, state: &State, moves: &mut Vec<Move>) {
    // A fault may strike any message first.
    if !state.budget.is_spent() {
        return;
    }
    let absorbed = moves.iter().copied().find(|step| match *step {
        Move::Deliver(place) => {
            let packet = state.flight[place as usize];
            let receiver = state.sites[packet.to as usize].local;
            memory.step(receiver, Event::Deliver(packet.message)).absorbed
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
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    eager: LocalId,
    lazy: LocalId,
    /// What the lazy one has not taken, in the order of sending. The same message twice stands for
    /// twice or more.
    pending: Pending,
    /// Of messages that it has not taken either but that would change nothing, one. Those do not mind
    /// each other, so it is enough to follow each alone, as long as it goes on changing nothing.
    idle: Option<MessageId>,
    /// Whether only the eager one is inside.
    owed: bool,
}

/// A proof that takes longer than searching everything is not worth it: so many pairs at least, or
/// one for each state of the search, as long as they fit.
const PAIRS: std::ops::RangeInclusive<usize> = 100_000..=20_000_000;

/// A few messages, without a place on the heap.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Pending {
    sent_messages: [MessageId; 12],
    len: u8,
}

impl Pending {
    fn as_slice(&self) -> &[MessageId] {
        &self.sent_messages[..usize::from(self.len)]
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn count(&self, message: MessageId) -> usize {
        self.as_slice().iter().filter(|&&other| other == message).count()
    }

    /// `None` if there is no room.
    fn with(mut self, message: MessageId) -> Option<Self> {
        *self.sent_messages.get_mut(usize::from(self.len))? = message;
        self.len += 1;
        Some(self)
    }

    fn without(mut self, place: usize) -> Self {
        self.sent_messages.copy_within(place + 1.., place);
        self.len -= 1;
        // Equal contents must be equal values.
        self.sent_messages[usize::from(self.len)..].fill(0);
        self
    }
}

/// Proves that every message that was absorbed could have been taken at any later time with the same
/// result, whatever else the node took meanwhile. False if that is not so, or there is no time for it.
///
/// Pairs start apart where a message was absorbed. They stay in step with everything that happened to
/// the eager node anywhere in the search: both must do the same, except that the lazy one may enter
/// later. And the lazy one may take what it left at any time; with nothing left both must be equal.
pub(crate) fn certify(
    world: &World,
    memory: &mut Memory<'_, Entered>,
    taken: &FxHashSet<(LocalId, Event)>,
    states: u64,
    options: &Options<'_>,
) -> bool {
    // A pair stands in a table, which doubles as it grows, and in a list.
    let fitting = options.max_memory / (4 * size_of::<Pair>());
    let most = (states as usize).clamp(*PAIRS.start(), *PAIRS.end()).min(fitting);
    let mut events: FxHashMap<LocalId, Vec<Event>> = FxHashMap::default();
    for &(local, event) in taken {
        events.entry(local).or_default().push(event);
    }
    let mut proof = Proof { world, memory, known: FxHashSet::default(), open: Vec::new() };
    for &(local, event) in taken {
        if let Event::Deliver(message) = event
            && proof.memory.step(local, event).absorbed
        {
            let nothing_left = Pair {
                eager: local,
                lazy: local,
                pending: Pending::default(),
                idle: None,
                owed: false,
            };
            if proof.absorb(&nothing_left, message).is_none() {
                return false;
            }
        }
    }
    while let Some(pair) = proof.open.pop() {
        let together = events.get(&pair.eager).map_or(&[][..], Vec::as_slice);
        let holds = proof.lazy_catches_up(&pair).is_some()
            && together.iter().all(|&event| proof.both_take(&pair, event).is_some());
        if !holds || proof.known.len() > most || options.is_stopped() {
            return false;
        }
    }
    true
}

struct Proof<'a, 'm> {
    world: &'a World,
    memory: &'a mut Memory<'m, Entered>,
    known: FxHashSet<Pair>,
    open: Vec<Pair>,
}

impl Proof<'_, '_> {
    /// Where a step leads, what it sends, how often it enters, and whether it is refused.
    fn step(
        &mut self,
        local: LocalId,
        event: Event,
    ) -> (LocalId, Vec<Action<Entered>>, usize, bool) {
        let outcome = self.memory.step(local, event);
        let actions = self.memory.actions(&outcome).iter().copied();
        let (enters, sends): (Vec<_>, Vec<_>) =
            actions.partition(|&action| action == Action::Emit(Entered));
        (outcome.local, sends, enters.len(), outcome.refused)
    }

    /// A pair is reached. `None` if it cannot be right.
    fn reach(&mut self, pair: Pair) -> Option<()> {
        if pair.idle.is_some_and(|message| !self.changes_nothing(pair.lazy, message)) {
            return None;
        }
        if pair.pending.is_empty() && (pair.eager != pair.lazy || pair.owed) {
            return None;
        }
        let apart = !pair.pending.is_empty() || pair.idle.is_some();
        if apart && self.known.insert(pair) {
            self.open.push(pair);
        }
        Some(())
    }

    fn changes_nothing(&mut self, local: LocalId, message: MessageId) -> bool {
        let (after, sends, enters, refused) = self.step(local, Event::Deliver(message));
        after == local && sends.is_empty() && enters == 0 && !refused
    }

    fn absorb(&mut self, pair: &Pair, message: MessageId) -> Option<()> {
        if self.changes_nothing(pair.eager, message) && self.changes_nothing(pair.lazy, message) {
            self.reach(Pair { idle: Some(message), ..*pair })?;
            return self.reach(*pair);
        }
        let (eager, _, enters, _) = self.step(pair.eager, Event::Deliver(message));
        let owed = balance(pair.owed, enters, 0)?;
        let pending = match pair.pending.count(message) {
            // Twice or more, which on a FIFO channel says enough only of a row of equal ones.
            2 if self.world.order == Order::Any || self.is_all_of_its_sender(pair, message) => {
                pair.pending
            }
            2 => return None,
            _ => pair.pending.with(message)?,
        };
        self.reach(Pair { eager, pending, owed, ..*pair })
    }

    fn lazy_catches_up(&mut self, pair: &Pair) -> Option<()> {
        if pair.idle.is_some() {
            self.reach(Pair { idle: None, ..*pair })?;
        }
        for (i, &message) in pair.pending.as_slice().iter().enumerate() {
            let earlier = pair.pending.as_slice()[..i].iter();
            if self.world.order == Order::Fifo && self.waits_behind(earlier, message) {
                continue;
            }
            let (lazy, sends, enters, refused) = self.step(pair.lazy, Event::Deliver(message));
            if refused || !sends.is_empty() {
                return None;
            }
            let owed = balance(pair.owed, 0, enters)?;
            if pair.pending.count(message) == 2 {
                self.reach(Pair { lazy, owed, ..*pair })?;
            }
            self.reach(Pair { lazy, pending: pair.pending.without(i), owed, ..*pair })?;
        }
        Some(())
    }

    fn both_take(&mut self, pair: &Pair, event: Event) -> Option<()> {
        match event {
            Event::Deliver(message) => {
                if self.memory.step(pair.eager, event).absorbed {
                    return self.absorb(pair, message);
                }
                let left = pair.pending.as_slice().iter().chain(&pair.idle);
                if self.world.order == Order::Fifo && self.waits_behind(left, message) {
                    return Some(());
                }
            }
            // The lazy one's user is not inside yet.
            REQUEST | RELEASE if pair.owed => return Some(()),
            _ => {}
        }
        let (eager, sends, enters, refused) = self.step(pair.eager, event);
        let (lazy, lazy_sends, lazy_enters, lazy_refused) = self.step(pair.lazy, event);
        if sends != lazy_sends || refused != lazy_refused {
            return None;
        }
        let owed = balance(pair.owed, enters, lazy_enters)?;
        self.reach(Pair { eager, lazy, owed, ..*pair })
    }

    fn is_all_of_its_sender(&self, pair: &Pair, message: MessageId) -> bool {
        let sender = self.memory.nodes().sender(message);
        let mut of_sender = pair
            .pending
            .as_slice()
            .iter()
            .filter(|&&other| self.memory.nodes().sender(other) == sender);
        of_sender.all(|&other| other == message)
    }

    /// Whether a FIFO channel delivers one of `earlier` before `message`.
    fn waits_behind<'l>(
        &self,
        mut earlier: impl Iterator<Item = &'l MessageId>,
        message: MessageId,
    ) -> bool {
        let sender = self.memory.nodes().sender(message);
        earlier.any(|&other| self.memory.nodes().sender(other) == sender)
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
