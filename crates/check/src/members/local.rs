//! What single members do, each thing computed once.
//!
//! As in [`crate::local`], cores and messages are numbered, a state is a row of numbers, and a step of
//! a core is looked up. Cores with the same fingerprint are the same.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use rustc_hash::FxHashMap;
use skeptron_core::mutex::Mode;
use skeptron_member::clock::MonoTime;
use skeptron_member::query::PeerAnswer;
use skeptron_member::view::{Lease, Member, View};
use skeptron_member::wire::{Envelope, Payload};
use skeptron_member::{
    Acquired, Effects, Event, Fence, Halt, Lock, MemberCore, MemberId, NeedView, NotServed,
    Settings, Timer,
};

use super::state::{AWAY, Lives};

/// Number of a [`Cell`].
pub(super) type CellId = u32;
/// Number of a [`Letter`].
pub(super) type LetterId = u32;

/// The one lock.
const LOCK: &str = "lock";

/// Time stands still.
const NOW: MonoTime = MonoTime::from_nanos(1);

/// A member's core and what its application knows.
pub(super) struct Cell {
    core: MemberCore<u8>,
    lock: Arc<Lock<u8>>,
    /// The requests that wait, with their tickets.
    waiting: Vec<(u8, u64)>,
    /// The fence of the entry that an application has and has not given back.
    inside: Option<Fence>,
}

impl Cell {
    fn new(core: MemberCore<u8>) -> Self {
        let lock = core.lock(LOCK).expect("it is a name");
        Cell { core, lock, waiting: Vec::new(), inside: None }
    }

    fn copy(&self) -> Self {
        let copy = Cell::new(self.core.copy());
        Cell { waiting: self.waiting.clone(), inside: self.inside, ..copy }
    }

    /// Equal for members with equal futures, and the same in every run.
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        // The core's digest says who waits.
        self.inside.hash(&mut hasher);
        self.core.digest(&mut hasher);
        hasher.finish()
    }

    fn facts(&self) -> Facts {
        let is_held = |fence| self.core.is_held(NOW, &self.lock, fence);
        Facts {
            hash: self.fingerprint(),
            epoch: self.core.view().epoch as u8,
            waiting: self.waiting.len() as u8,
            is_inside: self.inside.is_some(),
            is_valid: self.inside.is_some_and(is_held),
            is_settled: self.core.missing().is_empty() && self.core.load().backlog_bytes == 0,
        }
    }
}

/// What a search asks of a member again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) hash: u64,
    /// Of its present view.
    pub(super) epoch: u8,
    /// How many requests wait.
    pub(super) waiting: u8,
    /// Whether an application has an entry.
    pub(super) is_inside: bool,
    /// Whether that is still one.
    pub(super) is_valid: bool,
    /// Whether it has heard of all members of its view, and nothing that arrived waits for anything.
    pub(super) is_settled: bool,
}

/// A message.
struct Letter {
    from: MemberId,
    /// The envelope, as postcard.
    bytes: Vec<u8>,
    hash: u64,
    /// What it is called in a story.
    label: String,
}

/// What happens to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Input {
    /// With the number of the request.
    Ask(u8),
    Release,
    /// The `nth` waiter waits no longer.
    Cancel(u8),
    Deliver(LetterId),
    Install {
        epoch: u8,
        view: Lives,
    },
    EndLease,
    /// Nobody counts as away any more; only a flawed member takes it.
    Strike,
}

/// What a member does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Send { to: u8, letter: LetterId },
    Enter(Fence),
}

/// Where a step leads.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) cell: CellId,
    deeds: Range<u32>,
    /// What no correct member would have done.
    trouble: Option<u32>,
}

/// The cores and messages that exist, for all threads.
pub(super) struct Locals {
    settings: Settings,
    tables: RwLock<Tables>,
}

#[derive(Default)]
struct Tables {
    cells: Vec<Arc<Cell>>,
    facts: Vec<Facts>,
    cell_numbers: FxHashMap<u64, CellId>,
    letters: Vec<Arc<Letter>>,
    letter_numbers: FxHashMap<(MemberId, Vec<u8>), LetterId>,
}

impl Tables {
    fn cell_number(&mut self, cell: Cell) -> CellId {
        let facts = cell.facts();
        let next = self.cells.len() as CellId;
        let number = *self.cell_numbers.entry(facts.hash).or_insert(next);
        if number == next {
            self.cells.push(Arc::new(cell));
            self.facts.push(facts);
        }
        number
    }

    fn letter_number(&mut self, from: MemberId, bytes: Vec<u8>, label: String) -> LetterId {
        let next = self.letters.len() as LetterId;
        let number = *self.letter_numbers.entry((from, bytes.clone())).or_insert(next);
        if number == next {
            let mut hasher = DefaultHasher::new();
            (from, &bytes).hash(&mut hasher);
            let hash = hasher.finish();
            self.letters.push(Arc::new(Letter { from, bytes, hash, label }));
        }
        number
    }
}

impl Locals {
    pub(super) fn new(settings: Settings) -> Self {
        Locals { settings, tables: RwLock::default() }
    }

    /// About how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        // A core is mostly its 64 empty maps.
        let tables = self.read();
        tables.cells.len() * 12_000 + tables.letters.len() * 300
    }

    fn read(&self) -> RwLockReadGuard<'_, Tables> {
        self.tables.read().expect("no thread panics while it holds this lock")
    }

    fn write(&self) -> RwLockWriteGuard<'_, Tables> {
        self.tables.write().expect("no thread panics while it holds this lock")
    }
}

/// One thread's memory of what it has looked up.
pub(crate) struct Memory<'a> {
    locals: &'a Locals,
    outcomes: FxHashMap<(CellId, Input), Outcome>,
    begun: FxHashMap<(u8, u8, Lives), Outcome>,
    deeds: Vec<Deed>,
    troubles: Vec<String>,
    facts: Vec<Facts>,
    letter_hashes: Vec<u64>,
}

impl<'a> Memory<'a> {
    pub(super) fn new(locals: &'a Locals) -> Self {
        Memory {
            locals,
            outcomes: FxHashMap::default(),
            begun: FxHashMap::default(),
            deeds: Vec::new(),
            troubles: Vec::new(),
            facts: Vec::new(),
            letter_hashes: Vec::new(),
        }
    }

    /// What a member does when `input` happens to it.
    pub(super) fn step(&mut self, cell: CellId, input: Input) -> Outcome {
        if let Some(known) = self.outcomes.get(&(cell, input)) {
            return known.clone();
        }
        let mut next = self.cell(cell).copy();
        let mut done = Done::default();
        self.happen(&mut next, input, &mut done);
        let outcome = self.note(next, done);
        self.outcomes.insert((cell, input), outcome.clone());
        outcome
    }

    /// A member that begins in a view.
    pub(super) fn begin(&mut self, member: u8, epoch: u8, view: Lives) -> Result<Outcome, Halt> {
        if let Some(known) = self.begun.get(&(member, epoch, view)) {
            return Ok(known.clone());
        }
        let (id, settings) = (MemberId::at(member.into()), self.locals.settings.clone());
        let core = MemberCore::new(id, settings, view_of(epoch, view))?;
        let mut done = Done::default();
        core.open(&mut done);
        let outcome = self.note(Cell::new(core), done);
        self.begun.insert((member, epoch, view), outcome.clone());
        Ok(outcome)
    }

    /// What the member did, in order.
    pub(super) fn deeds(&self, outcome: &Outcome) -> &[Deed] {
        &self.deeds[outcome.deeds.start as usize..outcome.deeds.end as usize]
    }

    /// What the member did that no correct one would have done.
    pub(super) fn trouble(&self, outcome: &Outcome) -> Option<&str> {
        outcome.trouble.map(|trouble| &*self.troubles[trouble as usize])
    }

    pub(super) fn facts(&mut self, cell: CellId) -> Facts {
        if cell as usize >= self.facts.len() {
            let known = self.facts.len();
            self.facts.extend_from_slice(&self.locals.read().facts[known..]);
        }
        self.facts[cell as usize]
    }

    /// The same in every run, unlike its number.
    pub(super) fn letter_hash(&mut self, letter: LetterId) -> u64 {
        if letter as usize >= self.letter_hashes.len() {
            let known = self.letter_hashes.len();
            let tables = self.locals.read();
            self.letter_hashes.extend(tables.letters[known..].iter().map(|letter| letter.hash));
        }
        self.letter_hashes[letter as usize]
    }

    /// What a message is called.
    pub(super) fn label(&self, letter: LetterId) -> String {
        self.letter(letter).label.clone()
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.outcomes.capacity() * (size_of::<((CellId, Input), Outcome)>() + 1)
            + self.deeds.capacity() * size_of::<Deed>()
            + self.facts.capacity() * size_of::<Facts>()
            + self.letter_hashes.capacity() * 8
    }

    fn cell(&self, cell: CellId) -> Arc<Cell> {
        Arc::clone(&self.locals.read().cells[cell as usize])
    }

    fn letter(&self, letter: LetterId) -> Arc<Letter> {
        Arc::clone(&self.locals.read().letters[letter as usize])
    }

    fn happen(&self, cell: &mut Cell, input: Input, done: &mut Done) {
        let Cell { core, lock, waiting, inside } = cell;
        match input {
            Input::Ask(number) => {
                match core.acquire(NOW, lock, ("", Mode::EXCLUSIVE), || number, done) {
                    Ok(Acquired::Granted(fence)) => {
                        done.trouble_if(inside.is_some(), "grants what is held already");
                        *inside = Some(fence);
                        done.deeds.push(Decided::Enter(fence));
                    }
                    Ok(Acquired::Waiting(ticket)) => waiting.push((number, ticket)),
                    Err(error) => done.trouble = Some(error.to_string()),
                }
            }
            Input::Release => {
                if let Some(fence) = inside.take() {
                    let held = core.release(NOW, lock, fence, done);
                    done.trouble_if(!held, "does not know its holder");
                }
            }
            Input::Cancel(nth) => {
                let (number, ticket) = waiting.remove(nth.into());
                let cancelled = core.cancel(NOW, lock, ticket, done);
                done.trouble_if(cancelled != Some(number), "does not know its waiter");
            }
            Input::Deliver(letter) => {
                let letter = self.letter(letter);
                let envelope = postcard::from_bytes(&letter.bytes).expect("it was encoded here");
                core.receive(NOW, letter.from, 0, &envelope, done);
            }
            Input::Install { epoch, view } => core.install(NOW, view_of(epoch, view), done),
            Input::Strike => core.install(NOW, core.view(), done),
            Input::EndLease => {
                core.renew(NOW, Lease::Over, done);
                // It is meant, and what follows is the driver's duty.
                done.trouble = None;
                core.lose_all(NOW, done);
                *inside = None;
                waiting.retain(|(number, _)| !done.refused.contains(number));
                done.trouble_if(!waiting.is_empty(), "forgets a waiter");
                done.trouble_if(core.load().held_locks > 0, "still holds what it has lost");
            }
        }
        for (number, fence) in std::mem::take(&mut done.granted) {
            done.trouble_if(inside.is_some(), "grants what is held already");
            let first = waiting.first().is_some_and(|waiter| waiter.0 == number);
            done.trouble_if(!first, "does not serve its waiters in turn");
            waiting.retain(|waiter| waiter.0 != number);
            *inside = Some(fence);
        }
    }

    fn note(&mut self, cell: Cell, done: Done) -> Outcome {
        let from = cell.core.id();
        let start = self.deeds.len() as u32;
        let mut tables = self.locals.write();
        for deed in done.deeds {
            self.deeds.push(match deed {
                Decided::Send { to, bytes, label } => {
                    let letter = tables.letter_number(from, bytes, label);
                    Deed::Send { to: to.place() as u8, letter }
                }
                Decided::Enter(fence) => Deed::Enter(fence),
            });
        }
        let cell = tables.cell_number(cell);
        let trouble = done.trouble.map(|trouble| {
            self.troubles.push(trouble);
            self.troubles.len() as u32 - 1
        });
        Outcome { cell, deeds: start..self.deeds.len() as u32, trouble }
    }
}

fn view_of(epoch: u8, view: Lives) -> Arc<View> {
    let member = |(place, life): (usize, u8)| Member {
        id: MemberId::at(place),
        incarnation: Some((life & !AWAY).into()),
        address: String::new(),
        api: Vec::new(),
    };
    let lives = view.0.into_iter().enumerate().filter(|&(_, life)| life > 0);
    let (away, members) = lives.partition::<Vec<_>, _>(|(_, life)| life & AWAY != 0);
    let [members, away] = [members, away].map(|lives| lives.into_iter().map(member).collect());
    Arc::new(View { epoch: epoch.into(), members, away })
}

/// What a core decided during one call.
#[derive(Default)]
struct Done {
    deeds: Vec<Decided>,
    granted: Vec<(u8, Fence)>,
    refused: Vec<u8>,
    trouble: Option<String>,
}

enum Decided {
    Send { to: MemberId, bytes: Vec<u8>, label: String },
    Enter(Fence),
}

impl Done {
    fn trouble_if(&mut self, wrong: bool, what: &str) {
        if wrong && self.trouble.is_none() {
            self.trouble = Some(what.to_string());
        }
    }
}

impl Effects<u8> for Done {
    fn send(&mut self, to: MemberId, envelope: &Envelope<'_>) -> u64 {
        let bytes = postcard::to_stdvec(envelope).expect("an envelope is plain data");
        self.deeds.push(Decided::Send { to, bytes, label: label(envelope) });
        0
    }

    fn grant(&mut self, waiter: u8, _: &Arc<Lock<u8>>, fence: Fence) {
        self.granted.push((waiter, fence));
        self.deeds.push(Decided::Enter(fence));
    }

    fn refuse(&mut self, waiter: u8, _: NotServed) {
        self.refused.push(waiter);
    }

    fn arm(&mut self, timer: Timer, _: Duration) {
        // Its one lock is in the cell's hands, so that nothing can be forgotten.
        self.trouble_if(timer != Timer::Forget, "arms a timer");
    }

    fn answer(&mut self, _: MemberId, _: u64, _: &PeerAnswer) {}

    fn tell(&mut self, event: Event<'_>) {
        match event {
            Event::Refused { from, why, .. } => {
                self.trouble_if(true, &format!("refuses what {from} sent: {why}"));
            }
            // Only now is the name of what was sent known.
            Event::Sent { message, .. } => {
                if let Some(Decided::Send { label, .. }) = self.deeds.last_mut() {
                    *label = label.replace("a message", message);
                }
            }
            _ => {}
        }
    }

    fn need_view(&mut self, why: NeedView) {
        self.trouble_if(true, &format!("needs a new view: {why}"));
    }

    fn halt(&mut self, why: &Halt) {
        self.trouble_if(true, &format!("halts: {why}"));
    }
}

fn label(envelope: &Envelope<'_>) -> String {
    let what = match &envelope.payload {
        Payload::Message { fence, .. } => format!("a message (counter {fence})"),
        Payload::Announce { kept, .. } if kept.is_empty() => "Announce: keeps nothing".to_string(),
        Payload::Announce { kept, .. } => format!("Announce: keeps it (counter {})", kept[0].1),
        Payload::Freed { counter, .. } => format!("Freed (counter {counter})"),
        Payload::Pass { counter, .. } => format!("Pass (counter {counter})"),
        Payload::Sharing { word, .. } => format!("{word:?}"),
        Payload::Wanted { .. } => "Wanted".to_string(),
        Payload::Ask { .. } => "Ask".to_string(),
        Payload::Wake { .. } => "Wake".to_string(),
        Payload::Take { .. } => "Take".to_string(),
        Payload::Query { .. }
        | Payload::Answer { .. }
        | Payload::Break { .. }
        | Payload::Broken { .. }
        | Payload::Relay(_) => "a query".to_string(),
        Payload::Watch { .. }
        | Payload::Unwatch { .. }
        | Payload::Leads { .. }
        | Payload::Vacant { .. }
        | Payload::Seen { .. } => "about a leader".to_string(),
    };
    format!("{what} of epoch {}", envelope.epoch)
}
