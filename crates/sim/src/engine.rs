//! The event loop: the same for every algorithm and every family. What depends on the algorithm's types is
//! here and is small, as it is compiled once for each of them: take the next event, give it to its node, and
//! put what the node sends on the agenda. Everything else belongs to a [`World`], which knows no algorithm.

mod world;

use std::collections::VecDeque;

use skeptron_core::{Input, Message, NodeId, Protocol, Refused, Setup};

use crate::alarms::Alarms;
use crate::driver::{Driven, EffectSink, Family, Nodes};
use crate::environment::{Environment, Passing};
use crate::hand::{self, Passage};
use crate::queue::{Queue, QueueKind};
use crate::recorder::as_json;
use crate::scenario::ScenarioError;
use crate::trace::{Content, Ticks, What};
use crate::troubles::{self, Health, Trouble};
pub(crate) use world::{Control, Happening, Mixing, Plan, World};

/// Runs `nodes` in a world to its end.
pub(crate) fn run<P, W>(
    nodes: Vec<P>,
    name: &'static str,
    setup: &Setup,
    queue: QueueKind,
    mut world: W,
) -> Result<W::Outcome, ScenarioError>
where
    P: Driven<W::Family>,
    W: World,
{
    let n = nodes.len();
    let timed = if Machine::<P, W>::TIMED { n } else { 0 };
    let agenda = Agenda { queue: Queue::new(queue), alarms: Alarms::new(timed), held: Vec::new() };
    let mut machine = Machine { name, setup, nodes: Nodes::new(nodes), agenda };
    for node in NodeId::all(n) {
        machine.give(&mut world, node, Input::Start);
    }
    troubles::plan(&mut world, &mut machine);
    world.begin(&mut machine);
    machine.judge_legitimacy(&mut world);
    let rests = loop {
        // Acts and limits count records.
        if W::RECORDS && hand::ends_run(&mut world, &mut machine)? {
            break false;
        }
        if !machine.advance(&mut world) {
            break true;
        }
        machine.judge_legitimacy(&mut world);
        if !world.goes_on()? {
            break false;
        }
    };
    world.finish(rests)
}

/// What can happen, apart from alarms.
enum Event<M, T, H> {
    Deliver(Envelope<M, T>),
    Happen(H),
    Trouble(Trouble),
}

/// A message on its way.
#[derive(Clone)]
struct Envelope<M, T> {
    from: NodeId,
    to: NodeId,
    /// Its number in the trace; 0 when nothing is recorded.
    id: u32,
    tag: T,
    message: M,
}

type EnvelopeOf<P, W> = Envelope<<P as Protocol>::Message, <W as World>::Tag>;
type EventOf<P, W> = Event<<P as Protocol>::Message, <W as World>::Tag, <W as World>::Happening>;

impl<M, T, H> Event<M, T, H> {
    fn envelope(&self) -> Option<&Envelope<M, T>> {
        match self {
            Event::Deliver(envelope) => Some(envelope),
            _ => None,
        }
    }
}

/// What is to happen.
struct Agenda<P: Protocol, W: World> {
    queue: Queue<EventOf<P, W>>,
    alarms: Alarms<P::Timer>,
    /// What happens to each paused node when it goes on; empty until somebody pauses.
    held: Vec<VecDeque<EventOf<P, W>>>,
}

impl<P: Protocol, W: World> Agenda<P, W> {
    /// Takes out messages, in the order of arrival, with its time: that of held ones is past.
    fn take(&mut self, ids: &[u32]) -> Vec<(Ticks, EnvelopeOf<P, W>)> {
        if !W::RECORDS {
            return Vec::new();
        }
        let is_wanted = |event: &EventOf<P, W>| {
            event.envelope().is_some_and(|envelope| ids.contains(&envelope.id))
        };
        let mut taken = Vec::new();
        for held in &mut self.held {
            let (wanted, rest): (VecDeque<_>, VecDeque<_>) =
                held.drain(..).partition(|event| is_wanted(event));
            *held = rest;
            taken.extend(wanted.into_iter().map(|event| (0, event)));
        }
        taken.extend(self.queue.take(&mut |event| is_wanted(event)));
        let envelopes = taken.into_iter().filter_map(|(at, event)| match event {
            Event::Deliver(envelope) => Some((at, envelope)),
            _ => None,
        });
        envelopes.collect()
    }

    fn hold(&mut self, nodes: usize, node: NodeId, event: EventOf<P, W>) {
        if self.held.is_empty() {
            self.held.resize_with(nodes, VecDeque::new);
        }
        self.held[node.index()].push_back(event);
    }
}

impl<P: Protocol, W: World> Plan<W::Happening> for Agenda<P, W> {
    fn plan(&mut self, at: Ticks, what: W::Happening) {
        self.queue.push(at, Event::Happen(what));
    }
}

/// The nodes and their agenda.
struct Machine<'a, P: Protocol, W: World> {
    name: &'static str,
    setup: &'a Setup,
    nodes: Nodes<P>,
    agenda: Agenda<P, W>,
}

impl<P: Driven<W::Family>, W: World> Machine<'_, P, W> {
    /// Whether there are alarms at all: an `Option` of a type without values takes no space.
    const TIMED: bool = size_of::<Option<P::Timer>>() > 0;

    /// Lets the next thing happen; at one tick alarms come last. False if there is nothing.
    #[inline(always)]
    fn advance(&mut self, world: &mut W) -> bool {
        if Self::TIMED
            && let Some(at) = self.agenda.alarms.next_at()
            && self.agenda.queue.next_at().is_none_or(|event| at < event)
        {
            world.pass(at);
            self.ring(world);
            return true;
        }
        let Some((at, event)) = self.agenda.queue.pop() else { return false };
        world.pass(at);
        self.happen(world, event);
        true
    }

    /// Looks whether the nodes have come to a legitimate state, where that is awaited.
    #[inline(always)]
    fn judge_legitimacy(&mut self, world: &mut W) {
        if world.awaits_legitimacy() && self.is_legitimate() {
            world.become_legitimate();
        }
    }

    #[cold]
    fn is_legitimate(&mut self) -> bool {
        let mut letters: Vec<(NodeId, NodeId, P::Message)> = Vec::new();
        let mut note = |event: &EventOf<P, W>| {
            letters.extend(event.envelope().map(|e| (e.from, e.to, e.message.clone())));
            false
        };
        for event in self.agenda.held.iter().flatten() {
            note(event);
        }
        self.agenda.queue.take(&mut note);
        let letters: Vec<_> = letters.iter().map(|(from, to, said)| (*from, *to, said)).collect();
        P::is_legitimate(&self.nodes.all(), &letters)
    }

    /// Mixes an event into the trace hash and lets it happen.
    #[inline(always)]
    fn happen(&mut self, world: &mut W, event: EventOf<P, W>) {
        let mut mix = |(code, node, detail)| {
            world.environment().mix(W::MIXING, code, node, detail);
        };
        match event {
            Event::Deliver(Envelope { from, to, id, tag, message }) => {
                let peers = (from.index() as u64) << 32 | message.kind() as u64;
                mix((1, to, peers ^ W::mixed(&tag)));
                self.deliver(world, Envelope { from, to, id, tag, message });
            }
            Event::Happen(what) => {
                mix(what.code());
                world.happen(self, what);
            }
            Event::Trouble(trouble) => {
                mix(trouble.code(&W::MIXING.faults));
                troubles::happen(world, self, trouble);
            }
        }
    }

    #[inline(always)]
    fn handle(&mut self, world: &mut W, event: EventOf<P, W>) {
        match event {
            Event::Deliver(envelope) => self.deliver(world, envelope),
            Event::Happen(what) => world.happen(self, what),
            Event::Trouble(trouble) => troubles::happen(world, self, trouble),
        }
    }

    // Taken apart at once, so that its parts stay in registers.
    #[inline(always)]
    fn deliver(
        &mut self,
        world: &mut W,
        Envelope { from, to, id, tag, message }: EnvelopeOf<P, W>,
    ) {
        match world.environment().troubles.health(to) {
            Health::Up => {}
            Health::Paused => {
                let envelope = Envelope { from, to, id, tag, message };
                return self.agenda.hold(self.nodes.len(), to, Event::Deliver(envelope));
            }
            Health::Down => return world.environment().find_down(from, id),
        }
        if W::RECORDS {
            world.environment().record(to, || What::Deliver { id: u64::from(id) });
        }
        world.arrive(from, to, message.kind(), tag);
        self.give(world, to, Input::Deliver { from, message });
    }

    fn ring(&mut self, world: &mut W) {
        let Some((_, node, number)) = self.agenda.alarms.pop() else { return };
        let env = world.environment();
        env.mix(W::MIXING, Mixing::ALARM, node, number);
        if env.troubles.health(node) == Health::Paused {
            return self.agenda.alarms.miss(node, number);
        }
        let Some(timer) = self.agenda.alarms.ring(node, number) else { return };
        env.alarms += 1;
        if W::RECORDS {
            env.record(node, || What::Expire { timer: as_json(&timer) });
        }
        self.give(world, node, Input::Expire(timer));
    }

    /// Gives a node an input that is no command.
    #[inline(always)]
    fn give(&mut self, world: &mut W, node: NodeId, input: Input<P>) {
        self.step(world, node, input);
        world.given(self, node);
    }

    fn step(&mut self, world: &mut W, node: NodeId, input: Input<P>) {
        self.nodes.step(node, input, &mut Posting { agenda: &mut self.agenda, world });
        if W::RECORDS
            && let Some(recorder) = &mut world.environment().recorder
        {
            recorder.end_of_step();
        }
        world.stepped(node, self.nodes.get(node).view());
    }
}

impl<P: Driven<W::Family>, W: World> Plan<W::Happening> for Machine<'_, P, W> {
    fn plan(&mut self, at: Ticks, what: W::Happening) {
        self.agenda.plan(at, what);
    }
}

impl<P: Driven<W::Family>, W: World> Control<W> for Machine<'_, P, W> {
    fn plan_trouble(&mut self, at: Ticks, trouble: Trouble) {
        self.agenda.queue.push(at, Event::Trouble(trouble));
    }

    fn cancel(&mut self, is_it: &dyn Fn(&W::Happening) -> bool) {
        if W::RECORDS {
            self.agenda.queue.take(&mut |event| match event {
                Event::Happen(what) => is_it(what),
                _ => false,
            });
        }
    }

    fn hold(&mut self, node: NodeId, what: W::Happening) {
        self.agenda.hold(self.nodes.len(), node, Event::Happen(what));
    }

    fn release(&mut self, world: &mut W, node: NodeId) {
        while let Some(event) = self.agenda.held.get_mut(node.index()).and_then(VecDeque::pop_front)
        {
            self.handle(world, event);
        }
    }

    fn command(&mut self, world: &mut W, node: NodeId, command: <W::Family as Family>::Command) {
        self.step(world, node, Input::Command(command));
    }

    fn restart(&mut self, world: &mut W, node: NodeId) {
        let fresh = self.nodes.get(node).restarted(node, self.name, self.setup);
        self.nodes.replace(node, fresh);
        self.give(world, node, Input::Start);
    }

    fn forget_alarms(&mut self, node: NodeId) {
        if Self::TIMED {
            self.agenda.alarms.forget(node);
        }
    }

    fn resume_alarms(&mut self, node: NodeId, now: Ticks) {
        if Self::TIMED {
            self.agenda.alarms.resume(node, now);
        }
    }

    fn next_at(&mut self) -> Option<Ticks> {
        let alarm = self.agenda.alarms.next_at();
        self.agenda.queue.next_at().into_iter().chain(alarm).min()
    }

    fn passages(&mut self) -> Vec<Passage> {
        let mut passages = Vec::new();
        if !W::RECORDS {
            return passages;
        }
        let mut note = |event: &EventOf<P, W>| {
            let passage = |e: &Envelope<_, _>| Passage { from: e.from, to: e.to, id: e.id };
            passages.extend(event.envelope().map(passage));
            false
        };
        for event in self.agenda.held.iter().flatten() {
            note(event);
        }
        self.agenda.queue.take(&mut note);
        passages
    }

    fn deliver(&mut self, world: &mut W, ids: &[u32]) {
        if !W::RECORDS {
            return;
        }
        for (_, envelope) in self.agenda.take(ids) {
            world.environment().events += 1;
            self.happen(world, Event::Deliver(envelope));
        }
    }

    fn lose(&mut self, id: u32) {
        self.agenda.take(&[id]);
    }

    fn delay(&mut self, env: &mut Environment, ids: &[u32], by: Ticks) {
        if !W::RECORDS {
            return;
        }
        let mut no_earlier = 0;
        for (place, (at, envelope)) in self.agenda.take(ids).into_iter().enumerate() {
            let at = at.max(env.now);
            let at = if place == 0 { at + by } else { at.max(no_earlier) };
            no_earlier = at;
            env.network.hold_back(envelope.from, envelope.to, at);
            self.agenda.queue.push(at, Event::Deliver(envelope));
        }
    }

    fn copy(&mut self, of: u32, id: u32, at: Ticks) {
        if !W::RECORDS {
            return;
        }
        let all = self.agenda.held.iter().flatten().chain(self.agenda.queue.iter());
        let original = all.filter_map(Event::envelope).find(|envelope| envelope.id == of);
        if let Some(copy) = original.map(|envelope| Envelope { id, ..envelope.clone() }) {
            self.agenda.queue.push(at, Event::Deliver(copy));
        }
    }
}

/// Does what a node wants done.
struct Posting<'a, P: Protocol, W: World> {
    agenda: &'a mut Agenda<P, W>,
    world: &'a mut W,
}

// Always inlined up to the queue: that saves copying the message from call to call.
impl<P: Driven<W::Family>, W: World> Posting<'_, P, W> {
    #[inline(always)]
    fn post(
        &mut self,
        from: NodeId,
        to: NodeId,
        message: P::Message,
        size: u64,
        recorded: Option<&Content>,
    ) {
        self.world.count_message(from, message.kind(), size);
        let env = self.world.environment();
        let id = match (&mut env.recorder, recorded) {
            (Some(recorder), Some(content)) => {
                recorder.send(env.now, from, to, message.label(), content.clone())
            }
            _ => 0,
        };
        let passing = env.send(from, to, id);
        if passing == Passing::Lost {
            return;
        }
        let tag = self.world.tag(from);
        if let Passing::Twice(id) = passing {
            let (tag, message) = (tag.clone(), message.clone());
            self.dispatch(Envelope { from, to, id, tag, message });
        }
        self.dispatch(Envelope { from, to, id, tag, message });
    }

    /// What is recorded of a message, if anything is.
    #[inline(always)]
    fn recorded(&mut self, message: &P::Message) -> Option<Content> {
        let records = W::RECORDS && self.world.environment().recorder.is_some();
        records.then(|| Content::of(message.clone()))
    }

    #[inline(always)]
    fn dispatch(&mut self, envelope: EnvelopeOf<P, W>) {
        let env = self.world.environment();
        let at = env.network.arrival(env.now, envelope.from, envelope.to);
        self.agenda.queue.push(at, Event::Deliver(envelope));
    }
}

impl<P: Driven<W::Family>, W: World> EffectSink<P> for Posting<'_, P, W> {
    fn refuse(&mut self, node: NodeId, refused: Refused) {
        self.world.refuse(node, refused);
    }

    #[inline(always)]
    fn send(&mut self, from: NodeId, to: NodeId, message: P::Message) {
        self.world.count_sending();
        let size = size_of_message(&message);
        let recorded = self.recorded(&message);
        self.post(from, to, message, size, recorded.as_ref());
    }

    #[inline(always)]
    fn broadcast(&mut self, from: NodeId, nodes: usize, message: P::Message) {
        self.world.count_sending();
        let size = size_of_message(&message);
        let recorded = self.recorded(&message);
        for to in NodeId::all(nodes).filter(|&to| to != from) {
            self.post(from, to, message.clone(), size, recorded.as_ref());
        }
    }

    fn arm(&mut self, node: NodeId, timer: P::Timer, after: u32) {
        let env = self.world.environment();
        if W::RECORDS {
            env.record(node, || What::Arm { timer: as_json(&timer), after });
        }
        let at = env.now + env.bound.saturating_mul(u64::from(after));
        self.agenda.alarms.arm(node, timer, at);
    }

    fn disarm(&mut self, node: NodeId, timer: P::Timer) {
        if W::RECORDS {
            let env = self.world.environment();
            env.record(node, || What::Disarm { timer: as_json(&timer) });
        }
        self.agenda.alarms.disarm(node, &timer);
    }

    #[inline(always)]
    fn emit(&mut self, node: NodeId, event: P::Event) {
        self.world.emit(self.agenda, node, event);
    }
}

/// How many bytes a message takes in the wire encoding.
fn size_of_message<M: Message>(message: &M) -> u64 {
    // It fails only for types that the encoding cannot express, which messages are not.
    postcard::experimental::serialized_size(message).unwrap_or(0) as u64
}
