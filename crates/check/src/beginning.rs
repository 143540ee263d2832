//! Where a system begins: in its initial state, or, where an algorithm recovers from any, in each of all states.
//!
//! Then the first steps of a search choose, for one node after another, the state in which it begins and what is
//! in its channels. They are no steps of the system: a counterexample tells them as the beginning of its run.
//! A system that only does something about what it hears is dead if no message is left, so one is.

use skeptron_core::catalogue::Info;
use skeptron_core::mutex::{Entered, Mutex, Visitor, dispatch};
use skeptron_core::{NodeId, Setup, SetupError};

use crate::local::{
    Event, Explorable, Legitimacy, LocalId, LocalState, MessageId, NodeTable, Nodes,
};
use crate::memory::Memory;
use crate::property::Properties;
use crate::state::{Move, Packet, State, User};
use crate::world::World;

/// The nodes of an algorithm for mutual exclusion, in their initial states, and where they may begin `anywhere`
/// in all of those, too.
pub(crate) fn node_table(
    info: &Info,
    setup: &Setup,
    anywhere: bool,
) -> Result<Box<dyn Nodes<Entered>>, SetupError> {
    struct Build<'a>(&'a Info, &'a Setup, bool);
    impl Visitor for Build<'_> {
        type Output = Result<Box<dyn Nodes<Entered>>, SetupError>;

        fn visit<P: Mutex>(self) -> Self::Output {
            let Build(info, setup, anywhere) = self;
            let states = if anywhere { P::beginnings(info.name, setup.nodes()) } else { 0 };
            let begun = (0..states).map(|nth| {
                let setup = setup.clone().with_beginnings(vec![nth; setup.nodes()])?;
                P::build(info.name, &setup)
            });
            let begun = begun.collect::<Result<Vec<Vec<P>>, SetupError>>()?;
            let nodes = NodeTable::new(P::build(info.name, setup)?).with_beginnings(begun);
            Ok(match info.is_stabilising() {
                true => Box::new(nodes.with_legitimacy(P::is_legitimate)),
                false => Box::new(nodes),
            })
        }
    }
    dispatch(info, Build(info, setup, anywhere))
}

impl<P: Explorable> NodeTable<P> {
    /// With these states in which nodes may begin, too.
    pub(crate) fn with_beginnings(mut self, beginnings: Vec<Vec<P>>) -> Self {
        for nodes in beginnings {
            let number = |(me, node)| self.local_number(LocalState { me, node, armed: Vec::new() });
            let begun = NodeId::all(self.nodes).zip(nodes).map(number).collect();
            self.beginnings.push(begun);
        }
        self
    }

    /// With states that are not legitimate.
    pub(crate) fn with_legitimacy(mut self, legitimacy: Legitimacy<P>) -> Self {
        self.legitimacy = Some(legitimacy);
        self
    }
}

impl World {
    /// The ways in which the next node may begin.
    pub(crate) fn beginnings(
        &self,
        memory: &mut Memory<'_, Entered>,
        state: &State,
        moves: &mut Vec<Move>,
    ) {
        let node = self.nodes - usize::from(state.to_begin);
        let must_send = state.to_begin == 1 && state.flight.is_empty() && self.nodes > 1;
        for nth in 0..self.node_table.beginnings() {
            if !must_send || self.sends(memory, self.node_table.beginning(node, nth)) {
                moves.push(Move::Begin(nth));
            }
        }
    }

    /// Whether a node that begins like that finds messages in its channels.
    fn sends(&self, memory: &mut Memory<'_, Entered>, local: LocalId) -> bool {
        let outcome = memory.step(local, Event::Start);
        !memory.actions(&outcome).is_empty()
    }

    /// The next node begins.
    pub(crate) fn begin_node(
        &self,
        memory: &mut Memory<'_, Entered>,
        state: &mut State,
        nth: u16,
        found: &mut Properties,
    ) {
        let node = self.nodes - usize::from(state.to_begin);
        state.sites[node].local = self.node_table.beginning(node, nth);
        state.to_begin -= 1;
        self.give(memory, state, node, Event::Start, found);
    }

    /// In how many states it begins, and how many more there are in which only some nodes have begun.
    pub(crate) fn starts(&self) -> (u64, u64) {
        if self.start.to_begin == 0 {
            return (1, 0);
        }
        let states = u64::from(self.node_table.beginnings());
        let mut memory = Memory::new(&*self.node_table, false);
        let mut silent = |node| {
            let begun = (0..self.node_table.beginnings())
                .filter(|&nth| !self.sends(&mut memory, self.node_table.beginning(node, nth)));
            begun.count() as u64
        };
        let dead: u64 = match self.nodes {
            1 => 0,
            nodes => (0..nodes).map(&mut silent).product(),
        };
        let partial = (0..self.nodes as u32).map(|begun| states.pow(begun)).sum();
        (states.pow(self.nodes as u32) - dead, partial)
    }

    /// Whether what is promised holds from here on, where that is not so from the beginning.
    pub(crate) fn is_legitimate(&self, state: &State) -> bool {
        let locals: Vec<LocalId> =
            state.sites[..self.nodes].iter().map(|site| site.local).collect();
        let packet = |packet: &Packet| (packet.from, packet.to, packet.message);
        let in_flight: Vec<(u8, u8, MessageId)> = state.flight.iter().map(packet).collect();
        let all_are_there = state.sites[..self.nodes].iter().all(|site| site.user != User::Down);
        state.to_begin == 0 && all_are_there && self.node_table.is_legitimate(&locals, &in_flight)
    }
}
