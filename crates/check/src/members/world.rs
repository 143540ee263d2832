//! Members, the links between their lives, and whoever decides views; what they do to each other.

use skeptron_core::catalogue::Order;
use skeptron_member::{Fence, Flaw, Halt};

use super::local::{Action, Input, Memory, NodeTable, Outcome};
use super::scenario::Scenario;
use super::state::{AWAY, Lives, Move, NO_CELL, Packet, State};
use crate::flight;
use crate::model::{Enabled, Model, mix};
use crate::property::{Properties, Property};

/// A small cluster and all that can happen to it.
pub(super) struct World {
    pub(super) members: usize,
    pub(super) start: State,
    pub(super) excludes_early: bool,
    /// [`Flaw::AwayStruckInPlace`].
    pub(super) strikes: bool,
    requests: u8,
    node_table: NodeTable,
}

impl World {
    /// The cluster of `scenario`, which has been checked.
    pub(super) fn new(scenario: &Scenario) -> Result<Self, Halt> {
        let mut world = World {
            members: scenario.members,
            start: State::new(scenario),
            excludes_early: scenario.excludes_early,
            strikes: scenario.flaw == Some(Flaw::AwayStruckInPlace),
            requests: scenario.requests,
            node_table: NodeTable::new(scenario.settings()),
        };
        let mut state = world.start.clone();
        let mut memory = Memory::new(&world.node_table);
        for member in 0..world.members as u8 {
            let view = state.views.present();
            let outcome = memory.begin(member, state.views.latest(), view)?;
            world.perform(&memory, &mut state, member, &outcome, &mut Properties::default());
        }
        while scenario.met
            && let Some(&Packet { from, to, .. }) = state.flight.first()
        {
            world.take(&mut memory, &mut state, Move::Deliver { from, to });
        }
        world.start = state;
        Ok(world)
    }

    /// What happens to the member, if the move is about one that goes on.
    pub(super) fn input(&self, state: &State, step: Move) -> Option<(u8, Input)> {
        Some(match step {
            Move::Ask(member) => {
                (member, Input::Ask(self.requests - state.sites[member as usize].left))
            }
            Move::Release(member) => (member, Input::Release),
            Move::Cancel { member, nth } => (member, Input::Cancel(nth)),
            Move::Deliver { from, to } => {
                let link = (from, to);
                let packet = state.flight.iter().find(|packet| (packet.from, packet.to) == link)?;
                (to, Input::Deliver(packet.message))
            }
            Move::Install { member, epoch } => {
                (member, Input::Install { epoch, view: state.views.of_epoch(epoch) })
            }
            Move::EndLease(member) => (member, Input::EndLease),
            Move::Strike(member) => (member, Input::Strike),
            Move::Away(_)
            | Move::Back(_)
            | Move::Reset { .. }
            | Move::Renumber
            | Move::Exclude(_) => return None,
            Move::Rejoin(_) | Move::Crash(_) => return None,
        })
    }

    /// What the member does about the move.
    pub(super) fn outcome(
        &self,
        memory: &mut Memory<'_>,
        state: &State,
        step: Move,
    ) -> Option<(u8, Outcome)> {
        let (member, input) = self.input(state, step)?;
        let local = state.sites[member as usize].local;
        let outcome = match input {
            Input::Install { epoch, view } if local == NO_CELL => memory
                .begin(member, epoch, view)
                .expect("the first view had a layout, and the member belongs to this one"),
            _ => memory.step(local, input),
        };
        Some((member, outcome))
    }

    /// Does what a member wants done.
    fn perform(
        &self,
        memory: &Memory<'_>,
        state: &mut State,
        member: u8,
        outcome: &Outcome,
        found: &mut Properties,
    ) {
        state.sites[member as usize].local = outcome.local;
        if memory.trouble(outcome).is_some() {
            found.insert(Property::Refused);
        }
        for &action in memory.actions(outcome) {
            match action {
                Action::Send { to, message } => {
                    // A link joins two lives. What is meant for a life before the present one is of an
                    // older epoch, and arrives nevertheless: nobody may take it.
                    if state.sites[to as usize].up {
                        let packet = Packet { from: member, to, message };
                        flight::launch(&mut state.flight, Order::Fifo, packet);
                    }
                }
                Action::Enter(fence) => {
                    let fence = short(fence);
                    if fence <= state.highest {
                        found.insert(Property::Fence);
                    }
                    state.highest = state.highest.max(fence);
                }
            }
        }
    }

    fn decide(&self, state: &mut State, change: impl FnOnce(&mut Lives)) {
        let mut view = state.views.present();
        change(&mut view);
        state.views.decide(view);
        state.budget.views -= 1;
    }

    /// This life of a member is over. What it had sent may still arrive.
    fn end_life(&self, state: &mut State, member: u8) {
        let site = &mut state.sites[member as usize];
        (site.local, site.up, site.lease) = (NO_CELL, false, false);
        state.flight.retain(|packet| packet.to != member);
    }

    /// Whose applications have a valid entry.
    pub(super) fn holders(&self, memory: &mut Memory<'_>, state: &State) -> Vec<usize> {
        let sites = state.sites[..self.members].iter().enumerate();
        let valid = sites.filter(|(_, site)| site.local != NO_CELL);
        valid.filter(|(_, site)| memory.facts(site.local).is_valid).map(|(i, _)| i).collect()
    }

    /// Who waits.
    pub(super) fn waiters(&self, memory: &mut Memory<'_>, state: &State) -> Vec<usize> {
        let sites = state.sites[..self.members].iter().enumerate();
        let up = sites.filter(|(_, site)| site.local != NO_CELL);
        up.filter(|(_, site)| memory.facts(site.local).waiting > 0).map(|(i, _)| i).collect()
    }

    /// Who still waits for a member, or keeps what cannot be taken yet.
    pub(super) fn unsettled(&self, memory: &mut Memory<'_>, state: &State) -> Option<usize> {
        let sites = &state.sites[..self.members];
        sites.iter().position(|site| site.local != NO_CELL && !memory.facts(site.local).is_settled)
    }
}

/// A fence in the 32 bits of a state: few epochs, and fewer entries than 16 bits count.
fn short(fence: Fence) -> u32 {
    (fence.epoch() as u32) << 16 | fence.counter() as u32
}

impl Model for World {
    type State = State;
    type Move = Move;
    type Memory<'a> = Memory<'a>;

    fn nodes(&self) -> usize {
        self.members
    }

    fn start(&self) -> &State {
        &self.start
    }

    fn judged(&self) -> Properties {
        use Property::{Exclusion, Fence, Progress, Refused, Rest};
        Properties::from_iter([Exclusion, Progress, Fence, Rest, Refused])
    }

    /// A message that is taken and one that is lost may lead to the same state.
    fn knows_depth(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        self.node_table.bytes()
    }

    fn memory(&self, _records: bool) -> Memory<'_> {
        Memory::new(&self.node_table)
    }

    fn memory_bytes(memory: &Memory<'_>) -> usize {
        memory.bytes()
    }

    fn moves(&self, memory: &mut Memory<'_>, state: &State, moves: &mut Vec<Move>) -> Enabled {
        self.all_moves(memory, state, moves)
    }

    fn reduce(&self, _: &mut Memory<'_>, _: &State, _: &mut Vec<Move>) {}

    fn take(&self, memory: &mut Memory<'_>, state: &mut State, step: Move) -> Properties {
        let mut found = Properties::default();
        let outcome = self.outcome(memory, state, step);
        match step {
            Move::Ask(member) => state.sites[member as usize].left -= 1,
            Move::Cancel { .. } => state.budget.cancels -= 1,
            Move::Deliver { from, to } => {
                let link = |packet: &Packet| (packet.from, packet.to) == (from, to);
                if let Some(place) = state.flight.iter().position(link) {
                    state.flight.remove(place);
                }
            }
            Move::Reset { from, to } => {
                state.flight.retain(|packet| (packet.from, packet.to) != (from, to));
            }
            Move::Release(_) | Move::Install { .. } | Move::Strike(_) => {}
            Move::Away(member) => {
                state.budget.aways -= 1;
                self.decide(state, |view| view.0[member as usize] |= AWAY);
            }
            Move::Back(member) => self.decide(state, |view| view.0[member as usize] &= !AWAY),
            Move::Renumber => self.decide(state, |_| {}),
            Move::Exclude(member) => {
                self.decide(state, |view| view.0[member as usize] = 0);
                if !state.sites[member as usize].is_fit() {
                    self.end_life(state, member);
                }
            }
            Move::Rejoin(member) => {
                state.budget.rejoins -= 1;
                self.end_life(state, member);
                // Its links take the place of those of the life before.
                state.flight.retain(|packet| packet.from != member);
                let site = &mut state.sites[member as usize];
                (site.up, site.lease, site.life) = (true, true, site.life + 1);
                let life = site.life;
                self.decide(state, |view| view.0[member as usize] = life);
            }
            Move::Crash(member) => {
                state.budget.crashes -= 1;
                self.end_life(state, member);
            }
            Move::EndLease(member) => {
                state.budget.lease_ends -= 1;
                state.sites[member as usize].lease = false;
            }
        }
        if let Some((member, outcome)) = outcome {
            self.perform(memory, state, member, &outcome, &mut found);
        }
        if self.holders(memory, state).len() > 1 {
            found.insert(Property::Exclusion);
        }
        found
    }

    /// Nobody holds the lock, nothing is in flight, and all members are in the last view.
    fn judge_rest(&self, memory: &mut Memory<'_>, state: &State, _: Enabled) -> Properties {
        let mut found = Properties::default();
        if !self.waiters(memory, state).is_empty() {
            found.insert(Property::Progress);
        }
        if self.unsettled(memory, state).is_some() {
            found.insert(Property::Rest);
        }
        found
    }

    fn fingerprint(&self, memory: &mut Memory<'_>, state: &State) -> u64 {
        let mut sum = state.globals().fold(0, |sum, number| mix(sum, number.into()));
        for (i, site) in state.sites[..self.members].iter().enumerate() {
            let hash = if site.local == NO_CELL { 0 } else { memory.facts(site.local).hash };
            sum = sum.wrapping_add(mix(hash, u64::from(site.flags()) | (i as u64) << 32));
        }
        for (rank, packet) in flight::ranked(&state.flight, Order::Fifo) {
            let link = u64::from(packet.from) | u64::from(packet.to) << 8 | rank << 16 | 1 << 63;
            sum = sum.wrapping_add(mix(memory.message_hash(packet.message), link));
        }
        sum
    }
}
