//! Dijkstra's self-stabilising ring, his solution with K-state machines: from any state whatever, it comes to
//! one in which exactly one node is privileged, and stays so.
//!
//! In the paper a machine reads the state of its neighbour and moves, in one step. Here a node learns its
//! predecessor's state from messages:
//!
//! - The registers are copied. `STATE(L)` brings the value that the predecessor had when it sent it, and a node
//!   compares that with its own. A machine that is privileged for a while becomes a node that gets a message which
//!   makes it privileged; it moves at once, enters if it wants to, and sends its new value when it leaves.
//! - Whatever comes, a node sends its value on, changed or not. So a value is repeated as often as it is asked
//!   for, and messages never run out: a ring with one message in it goes on. Without any it would stand still, for
//!   nothing but a timer could begin again, and algorithms for mutual exclusion have none here. So a fault may
//!   leave anything in the nodes and at most one value, any, in each channel, but one message in all.
//! - There are never more messages than nodes, and what is in them is all that the bottom ever hears. So K = N
//!   numbers are enough, as in the paper, whose machines 0 to N need K > N: at some time the bottom has one that
//!   is in no message. They are needed as well: for K = N − 1 the checker finds a run that never recovers.
//! - Channels keep the order, or an old value could be taken for news.

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{ConstantLatency, Everybody, Saturated};
use crate::claims::Quantity::{Bypass, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{Claim, Formula, Message, NodeId, Outbox, Refused, Setup, SetupError};

const SOUND: Info = Info {
    name: "dijkstra",
    title: "Dijkstra's self-stabilising ring",
    paper: "E. W. Dijkstra: Self-stabilizing systems in spite of distributed control. Communications of the ACM 17(11), 1974",
    family: Family::Token,
    channel: Order::Fifo,
    layout: Layout::Beginning,
    memory: Formula("32N"),
    claims: Claims {
        figures: &[
            Published::new(
                SyncDelay,
                Claim::exactly("1"),
                &[Saturated, Everybody, ConstantLatency],
            ),
            Published::new(Bypass, Claim::between("0", "N-1"), &[]),
        ],
        ordered: false,
    },
    idea: "The nodes form a ring, in the order of their ids, and each has a number S below K = N, of which it \
           tells its successor again and again. The first node, the bottom, is privileged when it hears its own \
           number, and then takes the next one; every other node is privileged when it hears a number that is \
           not its own, and then takes that. A privilege is the right to enter. Begun well, there is one, which \
           goes round like a token. Begun in any state, after a fault that left nonsense in every node and \
           channel, there may be many; but the bottom soon has a number that nobody else has, and before it \
           hears it again all other numbers are gone.",
    rules: &[
        "Start: send STATE(S) to the successor; after a fault whatever it left in the channel to it.",
        "Request: wait for the privilege; a node alone has it.",
        "STATE(L) at the bottom with L = S, or at any other node with L ≠ S: that node is privileged and moves; the bottom sets S to S+1 mod K, any other node to L.",
        "A privileged node that wants in enters.",
        "Any other node sends STATE(S) to its successor, whether it has moved or not.",
        "STATE at a node that is inside: ignore it.",
        "Exit: send STATE(S) to the successor.",
    ],
    fires: &[
        "1 start | {sent} ∋ STATE |",
        "2 request | {enters} = no |",
        "4 request | {enters} = yes | {me} is alone, so it is always privileged",
        "6 STATE | {phase} = inside | {me} is inside, so it says its S when it leaves",
        "3 STATE | {enters} = yes | {me} hears {message.s} and has {s}, so it is privileged and takes {s'}",
        "4 STATE | {enters} = yes | {me} wants in, so it enters",
        "3 STATE | {s'} ≠ {s} | {me} hears {message.s} and has {s}, so it is privileged and takes {s'}",
        "5 STATE | {phase} ≠ inside; {sent} ∋ STATE |",
        "7 release | |",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::new("s", "S", "the node's own number, from 0 to K−1"),
        Variable::new("k", "K", "how many numbers there are"),
    ],
    notes: &[
        "Self-stabilising: it needs no right beginning. Whatever the nodes and channels hold, it comes to a state \
         with one privilege (convergence), and from there only to such states (closure). Until then several may \
         be inside at once: exclusion is promised from some point on, and no node can tell whether that has come.",
        "Needs one node that is not like the others: where all follow the same rule, no ring whose size is a \
         product can do it.",
        "K = N numbers are needed and enough: at most N messages are under way, and only what is in them can \
         reach the bottom. With K = N−1 the checker finds a run that never recovers.",
        "Survives the loss of messages, as long as one is left. Where none is, only a timer could begin again. \
         A loss of the message that brings a privilege costs nothing but time, as others repeat it.",
        "Every node repeats its number for every one it hears, so up to N messages go round for ever. A node \
         inside ignores what comes, and so their number falls to 1 under load.",
        "Needs FIFO channels: an old number that arrives late would be taken for a new one.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// K is N−1.
    SmallK,
    /// The bottom follows the rule of the others.
    NoBottom,
    /// A node that is privileged keeps its number.
    NoCopy,
    /// A node says its number only when that is new.
    Silent,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Dijkstra {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    phase: Phase,
    /// The paper's `S`.
    s: u32,
    /// The paper's `K`.
    k: u32,
    /// Before the start: what is in the channel to the successor then.
    in_channel: Option<u32>,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// My number is this.
    State {
        /// The sender's `S`, to its receiver the paper's `L`.
        s: u32,
    },
}

impl Message for Msg {
    kinds! { State = "STATE" }

    fn payload(&self) -> String {
        let Msg::State { s } = self;
        s.to_string()
    }
}

impl Rules for Dijkstra {
    type Message = Msg;

    fn start(&mut self, out: &mut Outbox<Self>) {
        if let Some(s) = self.in_channel.take() {
            out.send(self.successor(), Msg::State { s });
        }
    }

    /// A node that wants in waits for the privilege; one alone hears itself.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        if self.n == 1 {
            self.make_move(self.s);
            self.enter(out);
        }
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let Msg::State { s: l } = msg;
        self.on_state(from, l, out)
    }

    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        if self.n > 1 {
            self.tell(out);
        }
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }
}

impl Dijkstra {
    fn on_state(&mut self, from: NodeId, l: u32, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if (from.index() + 1) % self.n as usize != self.me.index() {
            return Err(Refused::Unexpected("a STATE that is not of the predecessor"));
        }
        if l >= self.k {
            return Err(Refused::Unexpected("a STATE that no node can have"));
        }
        if self.phase == Phase::Inside {
            return Ok(());
        }
        let is_privileged = self.is_privileged(l);
        if is_privileged {
            self.make_move(l);
        }
        if is_privileged && self.phase == Phase::Waiting {
            self.enter(out);
        } else if is_privileged || self.flaw != Flaw::Silent {
            self.tell(out);
        }
        Ok(())
    }

    /// For the bottom `L = S`, for the others `L ≠ S`.
    fn is_privileged(&self, l: u32) -> bool {
        if self.is_bottom() { l == self.s } else { l != self.s }
    }

    /// For the bottom `S := (S + 1) mod K`, for the others `S := L`.
    fn make_move(&mut self, l: u32) {
        if self.flaw == Flaw::NoCopy && !self.is_bottom() {
            return;
        }
        self.s = if self.is_bottom() { (self.s + 1) % self.k } else { l };
    }

    fn is_bottom(&self) -> bool {
        self.me.index() == 0 && self.flaw != Flaw::NoBottom
    }

    fn enter(&mut self, out: &mut Outbox<Self>) {
        self.phase = Phase::Inside;
        out.emit(Entered);
    }

    fn tell(&self, out: &mut Outbox<Self>) {
        out.send(self.successor(), Msg::State { s: self.s });
    }

    fn successor(&self) -> NodeId {
        NodeId::new((self.me.index() + 1) % self.n as usize)
    }
}

/// How many numbers there are.
fn numbers(name: &str, nodes: usize) -> u64 {
    match name {
        "dijkstra-small-k" => nodes.saturating_sub(1).max(1) as u64,
        _ => nodes as u64,
    }
}

variants! { Info {
    SmallK = "dijkstra-small-k" {
        flaw: "there are only N−1 numbers",
        breaks: Breaks::Convergence,
        shown_by: "-n 3 --begin random --think 50",
        refuted_by: "-n 3 --requests 1",
    }
    NoBottom = "dijkstra-no-bottom" {
        flaw: "all nodes follow the same rule, the bottom, too",
        breaks: Breaks::Liveness,
        shown_by: "-n 3",
        refuted_by: "-n 2 --requests 1",
    }
    NoCopy = "dijkstra-no-copy" {
        flaw: "a privileged node enters, but keeps its own number",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --requesters P3",
        refuted_by: "-n 2 --requests 1",
    }
    Silent = "dijkstra-silent" {
        flaw: "a node says its number only after a move, and repeats nothing",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --begin random",
        refuted_by: "-n 2 --requests 1",
    }
} }

impl Mutex for Dijkstra {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let (n, k) = (setup.nodes(), numbers(name, setup.nodes()));
        let is_alone = n == 1;
        let node = |me: NodeId| {
            let (s, in_channel) = match setup.beginning(me, Self::beginnings(name, n))? {
                None => (0, Some(0)),
                // Its number, and in the channel nothing or a number.
                Some(nth) => ((nth % k) as u32, (nth / k).checked_sub(1).map(|s| s as u32)),
            };
            let in_channel = in_channel.filter(|_| !is_alone);
            Ok(Dijkstra { me, n: n as u32, flaw, phase: Phase::Idle, s, k: k as u32, in_channel })
        };
        NodeId::all(n).map(node).collect()
    }

    fn beginnings(name: &str, nodes: usize) -> u64 {
        let k = numbers(name, nodes);
        if nodes == 1 { k } else { k * (k + 1) }
    }

    /// Whether exactly one privilege is there, or under way. Round the ring from the bottom, the numbers of nodes
    /// and in channels, those that were sent last first, change once, where the privilege is; or never, and
    /// then it is the bottom's. Who is inside stands right before the change. Where nobody is inside, something is
    /// under way: else nothing would ever happen.
    fn is_legitimate(nodes: &[&Self], in_flight: &[(NodeId, NodeId, &Msg)]) -> bool {
        let is_silent =
            in_flight.is_empty() && nodes.iter().all(|node| node.phase != Phase::Inside);
        if is_silent && nodes.len() > 1 {
            return false;
        }
        let (mut last, mut place) = (nodes[0].s, 0);
        let (mut change, mut inside) = (None, None);
        for node in nodes {
            let of_node = |(from, _, _): &&(NodeId, NodeId, &Msg)| *from == node.me;
            let sent = in_flight.iter().rev().filter(of_node);
            let in_channel = sent.map(|(_, _, Msg::State { s })| *s);
            if node.phase == Phase::Inside && inside.replace(place).is_some() {
                return false;
            }
            for s in std::iter::once(node.s).chain(in_channel) {
                if s != last && change.replace(place).is_some() {
                    return false;
                }
                (last, place) = (s, place + 1);
            }
        }
        inside.is_none_or(|inside| inside + 1 == change.unwrap_or(place))
    }
}

#[cfg(test)]
mod tests;
