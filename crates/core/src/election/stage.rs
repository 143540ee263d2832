//! A stage on which tests play elections by hand, message by message and alarm by alarm. All scenes
//! at once are the checker's business.

use std::collections::VecDeque;

use super::{Elected, Election, Notice};
use crate::protocol::checked_step;
use crate::topology::Ring;
use crate::{Effect, Input, Message as _, NodeId, Refused, Setup};

/// Nodes, the messages in flight between them, the armed alarms, and what happened so far. Nodes are
/// numbered from 0.
#[derive(Clone)]
pub(crate) struct Stage<P: Election> {
    pub(crate) nodes: Vec<P>,
    up: Vec<bool>,
    /// In flight from `i` to `j` at `i * n + j`, oldest first.
    links: Vec<VecDeque<P::Message>>,
    /// Alarms and how many bounds from now they ring, the one armed first first.
    armed: Vec<Vec<(P::Timer, u32)>>,
    named: Vec<Option<Elected>>,
    sent: Vec<&'static str>,
    /// The random numbers that each node will draw.
    pub(crate) chance: Vec<VecDeque<u32>>,
    time: u32,
}

impl<P: Election> Stage<P> {
    /// A system in its initial state, started.
    pub(crate) fn new(name: &str, setup: &Setup) -> Self {
        let nodes = P::build(name, setup).unwrap();
        let n = nodes.len();
        let mut stage = Stage {
            nodes,
            up: vec![true; n],
            links: vec![VecDeque::new(); n * n],
            armed: vec![Vec::new(); n],
            named: vec![None; n],
            sent: Vec::new(),
            chance: vec![VecDeque::new(); n],
            time: 0,
        };
        for node in 0..n {
            stage.step(node, Input::Start).unwrap();
        }
        stage
    }

    /// A system on this ring.
    pub(crate) fn on_ring(name: &str, ring: Ring) -> Self {
        let setup = Setup::new(ring.nodes()).and_then(|setup| setup.with_ring(ring)).unwrap();
        Stage::new(name, &setup)
    }

    fn step(&mut self, node: usize, input: Input<P>) -> Result<(), Refused> {
        let before = self.nodes[node].epoch();
        let effects = checked_step(&mut self.nodes, node, input)?;
        assert!(self.nodes[node].epoch() >= before, "epochs never fall");
        for effect in effects {
            match effect {
                Effect::Send { to, message } => self.post(node, to.index(), message),
                Effect::Broadcast { .. } => unreachable!("it comes as single messages"),
                Effect::Emit(elected) => self.named[node] = Some(elected),
                Effect::Arm { timer, after } => {
                    assert!(after > 0, "an alarm takes a while");
                    self.armed[node].retain(|(armed, _)| *armed != timer);
                    self.armed[node].push((timer, after));
                }
                Effect::Disarm(timer) => self.armed[node].retain(|(armed, _)| *armed != timer),
            }
        }
        if let Some(most) = self.nodes[node].draws() {
            let drawn = self.chance[node].pop_front().expect("a number was laid ready");
            assert!((1..=most).contains(&drawn));
            return self.step(node, Input::Command(Notice::Drawn(drawn)));
        }
        Ok(())
    }

    fn post(&mut self, from: usize, to: usize, message: P::Message) {
        self.sent.push(message.label());
        if self.up[to] {
            let n = self.nodes.len();
            self.links[from * n + to].push_back(message);
        }
    }

    /// A node is told something from outside.
    pub(crate) fn notice(&mut self, node: usize, notice: Notice) {
        self.step(node, Input::Command(notice)).unwrap();
    }

    /// The application of `node` wants an election.
    pub(crate) fn call(&mut self, node: usize) {
        self.notice(node, Notice::Call);
    }

    /// Everybody who is up suspects `node`.
    pub(crate) fn suspect(&mut self, node: usize) {
        for observer in (0..self.nodes.len()).filter(|&i| i != node) {
            if self.up[observer] {
                self.notice(observer, Notice::Suspect(NodeId::new(node)));
            }
        }
    }

    /// Everybody who is up trusts `node` again.
    pub(crate) fn trust(&mut self, node: usize) {
        for observer in (0..self.nodes.len()).filter(|&i| i != node) {
            if self.up[observer] {
                self.notice(observer, Notice::Trust(NodeId::new(node)));
            }
        }
    }

    /// `node` stops; what is in flight to it is lost.
    pub(crate) fn crash(&mut self, node: usize) {
        self.up[node] = false;
        self.named[node] = None;
        self.armed[node].clear();
        for from in 0..self.nodes.len() {
            self.links[from * self.nodes.len() + node].clear();
        }
    }

    /// `node` comes back and calls.
    pub(crate) fn restart(&mut self, node: usize) {
        self.up[node] = true;
        self.nodes[node] = self.nodes[node].recovered();
        self.step(node, Input::Start).unwrap();
        self.call(node);
    }

    /// Delivers the oldest message from `from` to `to`.
    pub(crate) fn deliver(&mut self, from: usize, to: usize) {
        let n = self.nodes.len();
        let message = self.links[from * n + to].pop_front().expect("a message is in flight there");
        self.inject(from, to, message).unwrap();
    }

    /// Delivers a message that was perhaps never sent.
    pub(crate) fn inject(
        &mut self,
        from: usize,
        to: usize,
        message: P::Message,
    ) -> Result<(), Refused> {
        self.step(to, Input::Deliver { from: NodeId::new(from), message })
    }

    /// Loses everything in flight from `from` to `to`.
    pub(crate) fn lose(&mut self, from: usize, to: usize) {
        let n = self.nodes.len();
        self.links[from * n + to].clear();
    }

    /// Rings an armed alarm of `node`, due or not.
    pub(crate) fn ring(&mut self, node: usize, timer: P::Timer) {
        let place = self.armed[node].iter().position(|(armed, _)| *armed == timer);
        self.armed[node].remove(place.expect("it is armed"));
        self.step(node, Input::Expire(timer)).unwrap();
    }

    /// One bound passes: what is in flight now arrives, and then every alarm that is due rings.
    pub(crate) fn tick(&mut self) {
        self.time += 1;
        self.armed.iter_mut().flatten().for_each(|(_, after)| *after -= 1);
        let counts: Vec<usize> = self.links.iter().map(VecDeque::len).collect();
        for (link, count) in counts.into_iter().enumerate() {
            for _ in 0..count {
                self.deliver(link / self.nodes.len(), link % self.nodes.len());
            }
        }
        for node in 0..self.nodes.len() {
            while let Some((timer, _)) = self.armed[node].iter().find(|(_, after)| *after == 0) {
                let timer = timer.clone();
                self.ring(node, timer);
            }
        }
    }

    /// Lets time pass until nothing can happen any more. Returns how many bounds that took.
    pub(crate) fn settle(&mut self) -> u32 {
        let begin = self.time;
        while self.links.iter().any(|link| !link.is_empty())
            || self.armed.iter().any(|armed| !armed.is_empty())
        {
            self.tick();
            assert!(self.time - begin < 10_000, "it never comes to rest");
        }
        self.time - begin
    }

    /// These call, and the highest wins. Returns how many bounds it took until the last one knew; the leader gets word of
    /// itself one bound after that.
    pub(crate) fn elect_highest(&mut self, initiators: impl IntoIterator<Item = usize>) -> usize {
        initiators.into_iter().for_each(|node| self.call(node));
        let time = self.settle() as usize - 1;
        let highest = self.nodes.len() - 1;
        assert!(self.leaders().iter().all(|&leader| leader == Some(highest)));
        time
    }

    /// The highest of four dies as a candidate, the next one wins, and it takes over when it is back.
    pub(crate) fn replaces_a_dead_candidate(mut self) {
        self.call(3);
        self.tick();
        self.crash(3);
        self.suspect(3);
        self.settle();
        assert_eq!(self.leaders(), [Some(2), Some(2), Some(2), None]);
        self.restart(3);
        self.trust(3);
        self.settle();
        assert_eq!(self.leaders(), [Some(3); 4]);
    }

    /// `to` refuses each of these messages, each of which comes from the node before it.
    pub(crate) fn refuses<const N: usize>(
        &mut self,
        to: usize,
        messages: [(usize, P::Message); N],
    ) {
        for (from, message) in messages {
            let refused = self.inject(from, to, message.clone());
            assert!(matches!(refused, Err(Refused::Unexpected(_))), "{from} {message:?}");
        }
    }

    /// P2 takes a message that may come at the end of all epochs, and so do the others what follows from it.
    pub(crate) fn takes(mut self, from: usize, message: P::Message) {
        self.inject(from, 1, message).unwrap();
        (0..100).for_each(|_| self.tick());
    }

    /// How many messages of a kind were sent.
    pub(crate) fn sent_of(&self, kind: &str) -> usize {
        self.sent.iter().filter(|sent| **sent == kind).count()
    }

    /// Whom each node has named last, if it is up and has named anybody.
    pub(crate) fn leaders(&self) -> Vec<Option<usize>> {
        self.named.iter().map(|named| named.map(|elected| elected.leader.index())).collect()
    }

    /// What a node has named last.
    pub(crate) fn named(&self, node: usize) -> Option<Elected> {
        self.named[node]
    }

    /// The kinds of all messages that were sent, in order.
    pub(crate) fn sent(&self) -> &[&'static str] {
        &self.sent
    }
}

/// All rings of `n` nodes; it does not matter where one begins to read them.
pub(crate) fn orders(n: usize) -> Vec<Ring> {
    let mut orders = vec![vec![NodeId::new(n - 1)]];
    for node in NodeId::all(n - 1) {
        let with = |order: Vec<NodeId>| {
            (1..=order.len()).map(move |place| {
                let mut longer = order.clone();
                longer.insert(place, node);
                longer
            })
        };
        orders = orders.into_iter().flat_map(with).collect();
    }
    orders.into_iter().map(|order| Ring::new(order).unwrap()).collect()
}
