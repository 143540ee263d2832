//! Central coordinator (spec 2.1): one node decides who is next.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{ConstantLatency, Coordinator, Lone, NotCoordinator};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{Claim, Formula, Message, NodeId, Outbox, Refused, Setup, SetupError};

const SOUND: Info = Info {
    name: "central",
    title: "Central coordinator",
    paper: "Folklore; G. Coulouris et al.: Distributed Systems: Concepts and Design, 5th ed., 2011, §15.2 (the central server algorithm)",
    family: Family::Central,
    channel: Order::Any,
    layout: Layout::Coordinator,
    memory: Formula("32N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("3"), &[NotCoordinator]),
            Published::new(Messages, Claim::exactly("0"), &[Lone, Coordinator]),
            Published::new(Messages, Claim::between("0", "3"), &[]),
            Published::new(
                ClientDelay,
                Claim::exactly("2"),
                &[Lone, NotCoordinator, ConstantLatency],
            ),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, Coordinator]),
            Published::new(SyncDelay, Claim::exactly("2"), &[NotCoordinator, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[ConstantLatency]),
        ],
        ordered: true,
    },
    idea: "One of the nodes keeps the section. A node that wants in asks it and waits for its \
           answer; a node that leaves tells it, and it lets in whoever has asked first.",
    rules: &[
        "Request: send REQUEST to the coordinator.",
        "REQUEST at the coordinator: REPLY at once if the section is free, else queue it.",
        "Enter on the REPLY.",
        "Exit: send RELEASE to the coordinator.",
        "RELEASE at the coordinator: REPLY to the oldest queued request; the section is free if \
         there is none.",
    ],
    fires: &[
        "1 request | {sent} ∋ REQUEST |",
        "2 REQUEST | {holder} = –; {sent} ∋ REPLY | nobody holds the section, so {from} gets the REPLY at once",
        "2 REQUEST | {holder} ≠ –; {queue'} ∋ {from} | {holder} holds the section, so {from} waits: {queue'}",
        "2 request | {sent} ∌ REQUEST; {holder} = – | nobody holds the section, so the coordinator lets itself in",
        "2 request | {sent} ∌ REQUEST; {holder} ≠ – | {holder} holds the section, so {me} waits: {queue'}",
        "3 REPLY, request | {enters} = yes |",
        "4 release | {sent} ∋ RELEASE |",
        "5 RELEASE | {queue} = [] | nobody waits, so the section is free",
        "5 RELEASE | {queue[first]} = {holder'} | {queue[first]} is the oldest in {queue}",
        "5 release | {sent} ∌ RELEASE; {queue} = [] | nobody waits, so the section is free",
        "5 release | {sent} ∌ RELEASE; {queue[first]} = {holder'} | {queue[first]} is the oldest in {queue}",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::new("holder", "holder", "at the coordinator: who was let in and has not left"),
        Variable::new("queue", "queue", "at the coordinator: who waits, in the order of arrival"),
    ],
    notes: &[
        "Needs no FIFO channels: a REQUEST that overtakes its sender's RELEASE is queued.",
        "The coordinator's own entries cost no message and its hand-overs one delay less: the \
         figures are for workloads without it.",
        "Survives crashes of clients that neither hold nor wait; without the coordinator nobody \
         enters.",
        "A REQUEST of the present holder is no duplicate. Dropping it leaves its sender waiting \
         for ever.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// A REQUEST of the present holder is taken for a duplicate.
    DropsOvertaking,
    /// Whoever asked last is let in first.
    NewestFirst,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Central {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// Who decides, the textbooks' server.
    coordinator: NodeId,
    phase: Phase,
    /// At the coordinator: who was let in and has not left, as far as it knows.
    holder: Option<NodeId>,
    /// At the coordinator: who waits, in the order of arrival; perhaps the holder, once more.
    queue: VecDeque<NodeId>,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want in.
    Request,
    /// You are in.
    Reply,
    /// I am out again.
    Release,
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Reply = "REPLY", Release = "RELEASE" }
}

impl Rules for Central {
    type Message = Msg;

    /// REQUEST → coordinator.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        if self.coordinates() {
            self.admit(self.me, out);
        } else {
            out.send(self.coordinator, Msg::Request);
        }
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request => self.on_request(from, out),
            Msg::Reply => self.on_reply(from, out),
            Msg::Release => self.on_release(from, out),
        }
    }

    /// RELEASE → coordinator.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        if self.coordinates() {
            self.grant_next(out);
        } else {
            out.send(self.coordinator, Msg::Release);
        }
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }
}

impl Central {
    /// A REQUEST that overtakes its sender's RELEASE must be queued, not dropped as a duplicate.
    fn on_request(&mut self, from: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if !self.coordinates() {
            return Err(Refused::Unexpected("a REQUEST to a node that does not coordinate"));
        }
        if self.queue.contains(&from) {
            return Err(Refused::Unexpected("a second REQUEST before the first was granted"));
        }
        if self.flaw == Flaw::DropsOvertaking && self.holder == Some(from) {
            return Ok(());
        }
        self.admit(from, out);
        Ok(())
    }

    /// It grants at once if free, else queues FIFO.
    fn admit(&mut self, node: NodeId, out: &mut Outbox<Self>) {
        if self.holder.is_none() {
            self.grant(node, out);
        } else {
            self.queue.push_back(node);
        }
    }

    /// REPLY; the coordinator lets itself in by a local step.
    fn grant(&mut self, node: NodeId, out: &mut Outbox<Self>) {
        self.holder = Some(node);
        if node == self.me {
            self.enter(out);
        } else {
            out.send(node, Msg::Reply);
        }
    }

    /// Enter on the coordinator's REPLY.
    fn on_reply(&mut self, from: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if from != self.coordinator || self.phase != Phase::Waiting {
            return Err(Refused::Unexpected("a REPLY that was not asked for"));
        }
        self.enter(out);
        Ok(())
    }

    fn enter(&mut self, out: &mut Outbox<Self>) {
        self.phase = Phase::Inside;
        out.emit(Entered);
    }

    /// Only the holder can leave.
    fn on_release(&mut self, from: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        // Only the coordinator ever has a holder.
        if self.holder != Some(from) {
            return Err(Refused::Unexpected("a RELEASE of a node that was not let in"));
        }
        self.grant_next(out);
        Ok(())
    }

    /// The coordinator grants the oldest waiting.
    fn grant_next(&mut self, out: &mut Outbox<Self>) {
        self.holder = None;
        let next = match self.flaw {
            Flaw::NewestFirst => self.queue.pop_back(),
            _ => self.queue.pop_front(),
        };
        if let Some(node) = next {
            self.grant(node, out);
        }
    }

    fn coordinates(&self) -> bool {
        self.me == self.coordinator
    }
}

variants! { Info {
    DropsOvertaking = "central-drops-overtaking" {
        flaw: "a REQUEST that overtakes its sender's RELEASE is dropped as a duplicate",
        breaks: Breaks::Liveness,
        shown_by: "-n 2 --order any --latency uniform:0.1..2",
        refuted_by: "-n 2 --requests 0,2 --order any",
    }
    NewestFirst = "central-newest-first" {
        flaw: "the coordinator lets in whoever asked last",
        breaks: Breaks::Order,
        shown_by: "-n 3 --requesters P1,P2,P3 --latency uniform:0.1..2",
        refuted_by: "-n 3 --requests 1,1,1",
    }
} }

impl Mutex for Central {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let node = |me| Central {
            me,
            n: setup.nodes() as u32,
            flaw,
            coordinator: setup.coordinator(),
            phase: Phase::Idle,
            holder: None,
            queue: VecDeque::new(),
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn setup(n: usize, coordinator: usize) -> Setup {
        Setup::new(n).unwrap().with_coordinator(NodeId::new(coordinator)).unwrap()
    }

    fn stage(n: usize) -> Stage<Central> {
        Stage::new("central", &setup(n, 0))
    }

    /// The lectures' example: the second request waits in the queue until the first one leaves, and
    /// each entry costs three messages.
    #[test]
    fn requests_are_served_in_the_order_of_arrival() {
        let mut stage = stage(4);
        for node in [2, 1, 3] {
            stage.ask([node]);
        }
        for node in [2, 1, 3] {
            assert_eq!(stage.inside(), [node]);
            stage.leave(node);
        }
        assert_eq!(stage.entries(), [2, 1, 3]);
        assert_eq!(stage.sent(), 3 * 3);
    }

    /// Pitfall: a REQUEST that overtakes its sender's RELEASE, taken for a duplicate.
    #[test]
    fn a_request_that_overtakes_the_release_is_queued() {
        let mut stage = stage(3);
        stage.ask([1]);
        stage.release(1);
        stage.request(1);
        stage.deliver_nth(1, 0, 1).unwrap();
        assert_eq!(stage.inside(), [0; 0], "the RELEASE is still under way");
        stage.flush();
        assert_eq!(stage.entries(), [1, 1]);
    }

    #[test]
    fn the_coordinators_own_entries_cost_nothing_and_take_their_turn() {
        let mut stage = stage(2);
        stage.request(0);
        assert_eq!(stage.entries(), [0]);
        stage.release(0);
        assert_eq!(stage.sent(), 0);
        stage.ask([1]);
        stage.request(0);
        assert_eq!(stage.inside(), [1]);
        stage.leave(1);
        assert_eq!(stage.inside(), [0]);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let mut stage = stage(3);
        stage.ask([1]);
        stage.ask([2]);
        stage.refuses([
            (1, 2, Msg::Request), // to a client
            (2, 0, Msg::Request), // asked already
            (1, 2, Msg::Reply),   // of a client
            (0, 1, Msg::Reply),   // is inside already
            (2, 0, Msg::Reply),   // to the coordinator
            (2, 0, Msg::Release), // was not let in
            (1, 2, Msg::Release), // to a client
            (7, 0, Msg::Request), // of nobody
        ]);
    }

    /// The coordinator asks after P3, as it knows, and is let in before it.
    #[test]
    fn the_newest_first_turns_the_order_round() {
        let mut stage = Stage::<Central>::new("central-newest-first", &setup(3, 0));
        for node in [1, 2, 0] {
            stage.ask([node]);
        }
        stage.leave(1);
        assert_eq!(stage.entries(), [1, 0]);
    }
}
