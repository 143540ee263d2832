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

/// Number of a [`LocalState`].
pub(super) type LocalId = u32;
/// Number of a [`SentMessage`].
pub(super) type MessageId = u32;

/// The one lock.
const LOCK: &str = "lock";

/// Time stands still.
const NOW: MonoTime = MonoTime::from_nanos(1);

/// A member's core and what its application knows.
pub(super) struct LocalState {
    core: MemberCore<u8>,
    lock: Arc<Lock<u8>>,
    /// The requests that wait, with their tickets.
    waiting: Vec<(u8, u64)>,
    /// The fence of the entry that an application has and has not given back.
    inside: Option<Fence>,
}

impl LocalState {
    fn new(core: MemberCore<u8>) -> Self {
        let lock = core.lock(LOCK).expect("it is a name");
        LocalState { core, lock, waiting: Vec::new(), inside: None }
    }

    fn copy(&self) -> Self {
        let copy = LocalState::new(self.core.copy());
        LocalState { waiting: self.waiting.clone(), inside: self.inside, ..copy }
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
struct SentMessage {
    from: MemberId,
    /// The envelope, as postcard.
    bytes: Vec<u8>,
    hash: u64,
    /// What it is called in a counterexample.
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
    Deliver(MessageId),
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
pub(super) enum Action {
    Send { to: u8, message: MessageId },
    Enter(Fence),
}

/// Where a step leads.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) local: LocalId,
    actions: Range<u32>,
    /// What no correct member would have done.
    trouble: Option<u32>,
}

/// The cores and messages that exist, for all threads.
pub(super) struct NodeTable {
    settings: Settings,
    tables: RwLock<Tables>,
}

#[derive(Default)]
struct Tables {
    local_states: Vec<Arc<LocalState>>,
    facts: Vec<Facts>,
    cell_numbers: FxHashMap<u64, LocalId>,
    sent_messages: Vec<Arc<SentMessage>>,
    letter_numbers: FxHashMap<(MemberId, Vec<u8>), MessageId>,
}

impl Tables {
    fn local_number(&mut self, local: LocalState) -> LocalId {
        let facts = local.facts();
        let next = self.local_states.len() as LocalId;
        let number = *self.cell_numbers.entry(facts.hash).or_insert(next);
        if number == next {
            self.local_states.push(Arc::new(local));
            self.facts.push(facts);
        }
        number
    }

    fn message_number(&mut self, from: MemberId, bytes: Vec<u8>, label: String) -> MessageId {
        let next = self.sent_messages.len() as MessageId;
        let number = *self.letter_numbers.entry((from, bytes.clone())).or_insert(next);
        if number == next {
            let mut hasher = DefaultHasher::new();
            (from, &bytes).hash(&mut hasher);
            let hash = hasher.finish();
            self.sent_messages.push(Arc::new(SentMessage { from, bytes, hash, label }));
        }
        number
    }
}

impl NodeTable {
    pub(super) fn new(settings: Settings) -> Self {
        NodeTable { settings, tables: RwLock::default() }
    }

    /// About how many bytes they take.
    pub(super) fn bytes(&self) -> usize {
        // A core is mostly its 64 empty maps.
        let tables = self.read();
        tables.local_states.len() * 12_000 + tables.sent_messages.len() * 300
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
    node_table: &'a NodeTable,
    outcomes: FxHashMap<(LocalId, Input), Outcome>,
    begun: FxHashMap<(u8, u8, Lives), Outcome>,
    actions: Vec<Action>,
    troubles: Vec<String>,
    facts: Vec<Facts>,
    message_hashes: Vec<u64>,
}

impl<'a> Memory<'a> {
    pub(super) fn new(node_table: &'a NodeTable) -> Self {
        Memory {
            node_table,
            outcomes: FxHashMap::default(),
            begun: FxHashMap::default(),
            actions: Vec::new(),
            troubles: Vec::new(),
            facts: Vec::new(),
            message_hashes: Vec::new(),
        }
    }

    /// What a member does when `input` happens to it.
    pub(super) fn step(&mut self, local: LocalId, input: Input) -> Outcome {
        if let Some(known) = self.outcomes.get(&(local, input)) {
            return known.clone();
        }
        let mut next = self.local(local).copy();
        let mut done = Done::default();
        self.happen(&mut next, input, &mut done);
        let outcome = self.note(next, done);
        self.outcomes.insert((local, input), outcome.clone());
        outcome
    }

    /// A member that begins in a view.
    pub(super) fn begin(&mut self, member: u8, epoch: u8, view: Lives) -> Result<Outcome, Halt> {
        if let Some(known) = self.begun.get(&(member, epoch, view)) {
            return Ok(known.clone());
        }
        let (id, settings) = (MemberId::at(member.into()), self.node_table.settings.clone());
        let core = MemberCore::new(id, settings, view_of(epoch, view))?;
        let mut done = Done::default();
        core.open(&mut done);
        let outcome = self.note(LocalState::new(core), done);
        self.begun.insert((member, epoch, view), outcome.clone());
        Ok(outcome)
    }

    /// What the member did, in order.
    pub(super) fn actions(&self, outcome: &Outcome) -> &[Action] {
        &self.actions[outcome.actions.start as usize..outcome.actions.end as usize]
    }

    /// What the member did that no correct one would have done.
    pub(super) fn trouble(&self, outcome: &Outcome) -> Option<&str> {
        outcome.trouble.map(|trouble| &*self.troubles[trouble as usize])
    }

    pub(super) fn facts(&mut self, local: LocalId) -> Facts {
        if local as usize >= self.facts.len() {
            let known = self.facts.len();
            self.facts.extend_from_slice(&self.node_table.read().facts[known..]);
        }
        self.facts[local as usize]
    }

    /// The same in every run, unlike its number.
    pub(super) fn message_hash(&mut self, message: MessageId) -> u64 {
        if message as usize >= self.message_hashes.len() {
            let known = self.message_hashes.len();
            let tables = self.node_table.read();
            self.message_hashes
                .extend(tables.sent_messages[known..].iter().map(|message| message.hash));
        }
        self.message_hashes[message as usize]
    }

    /// What a message is called.
    pub(super) fn label(&self, message: MessageId) -> String {
        self.message(message).label.clone()
    }

    /// About how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.outcomes.capacity() * (size_of::<((LocalId, Input), Outcome)>() + 1)
            + self.actions.capacity() * size_of::<Action>()
            + self.facts.capacity() * size_of::<Facts>()
            + self.message_hashes.capacity() * 8
    }

    fn local(&self, local: LocalId) -> Arc<LocalState> {
        Arc::clone(&self.node_table.read().local_states[local as usize])
    }

    fn message(&self, message: MessageId) -> Arc<SentMessage> {
        Arc::clone(&self.node_table.read().sent_messages[message as usize])
    }

    fn happen(&self, local: &mut LocalState, input: Input, done: &mut Done) {
        let LocalState { core, lock, waiting, inside } = local;
        match input {
            Input::Ask(number) => {
                match core.acquire(NOW, lock, ("", Mode::EXCLUSIVE), || number, done) {
                    Ok(Acquired::Granted(fence)) => {
                        done.trouble_if(inside.is_some(), "grants what is held already");
                        *inside = Some(fence);
                        done.actions.push(Decided::Enter(fence));
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
            Input::Deliver(message) => {
                let message = self.message(message);
                let envelope = postcard::from_bytes(&message.bytes).expect("it was encoded here");
                core.receive(NOW, message.from, 0, &envelope, done);
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

    fn note(&mut self, local: LocalState, done: Done) -> Outcome {
        let from = local.core.id();
        let start = self.actions.len() as u32;
        let mut tables = self.node_table.write();
        for action in done.actions {
            self.actions.push(match action {
                Decided::Send { to, bytes, label } => {
                    let message = tables.message_number(from, bytes, label);
                    Action::Send { to: to.place() as u8, message }
                }
                Decided::Enter(fence) => Action::Enter(fence),
            });
        }
        let local = tables.local_number(local);
        let trouble = done.trouble.map(|trouble| {
            self.troubles.push(trouble);
            self.troubles.len() as u32 - 1
        });
        Outcome { local, actions: start..self.actions.len() as u32, trouble }
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
    actions: Vec<Decided>,
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
        self.actions.push(Decided::Send { to, bytes, label: label(envelope) });
        0
    }

    fn grant(&mut self, waiter: u8, _: &Arc<Lock<u8>>, fence: Fence) {
        self.granted.push((waiter, fence));
        self.actions.push(Decided::Enter(fence));
    }

    fn refuse(&mut self, waiter: u8, _: NotServed) {
        self.refused.push(waiter);
    }

    fn arm(&mut self, timer: Timer, _: Duration) {
        // Its one lock is in the local's hands, so that nothing can be forgotten.
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
                if let Some(Decided::Send { label, .. }) = self.actions.last_mut() {
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
