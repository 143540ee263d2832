//! Agrawal and El Abbadi: ask a path of a tree, and two paths in the place of a node that has crashed.

use serde::{Deserialize, Serialize};

use super::permission::{CLOCK, Node};
pub use super::permission::{Msg, Word};
use super::{Entered, Lock, Mutex};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{ConstantLatency, Fifo, Lone, Saturated};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{
    Claim, Counter, Formula, Input, Never, NodeId, NodeSet, Outbox, Protocol, Refused, Setup,
    SetupError,
};

const SOUND: Info = Info {
    name: "agrawal-el-abbadi",
    title: "Agrawal–El Abbadi",
    paper: "D. Agrawal, A. El Abbadi: An efficient and fault-tolerant solution for distributed mutual exclusion. ACM TOCS 9(1), 1991",
    family: Family::Quorum,
    channel: Order::Any,
    layout: Layout::Detector,
    memory: Formula("NN + 256N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("3(K-1)"), &[Lone, Fifo]),
            Published::new(Messages, Claim::between("3(K-1)", "7(K-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[Saturated, ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "The nodes form a binary tree, and a node that wants in asks a path from the root to a leaf: of N nodes only \
           about log N. A node of the path that has crashed is substituted by two paths, one from each of its \
           children to a leaf. So any two quorums meet, whoever had crashed when they were chosen. Each member grants \
           one request at a time, as Maekawa's arbiters do.",
    rules: &[
        "The tree: P1 is the root, the children of Pi are P2i and P2i+1. The quorum is a path from the root by the own node \
         to a leaf. A crashed node with children is substituted by a path from each of them to a leaf; \
         where a leaf has crashed, another child of a node above leads on, or there is no quorum.",
        "Request: stamp the wish, once, and send REQUEST to the quorum; enter when all are LOCKED.",
        "One of the quorum crashes while the request waits, and another quorum is left: the grant of the crashed counts no more. \
         REQUEST, with the same stamp, to those of the new quorum that were not asked yet. Who was asked stays asked.",
        "A node crashes whose request is granted: take the grant back. From then on nothing is heard of it, be it queued or still on its way.",
        "REQUEST r at a free arbiter: LOCKED to r's node.",
        "REQUEST r at one busy with c: queue r by (t, id). If r is older than c and than all queued, \
         INQUIRE to c's node, once per grant, and FAILED to the request that was the oldest queued one \
         until now; else FAILED to r's node.",
        "INQUIRE: ignored inside. With a failed set that is not empty, RELINQUISH; else remember it and act on the next \
         FAILED, for all that are remembered. An arbiter is in the failed set from its FAILED, or from getting its \
         grant back, to its LOCKED.",
        "RELINQUISH: c goes back into the queue; LOCKED to the oldest.",
        "Exit: RELEASE to all that were asked; each arbiter sends LOCKED to its oldest queued request, if any.",
    ],
    fires: &[
        "1 suspect | {node.candidate.phase} = idle | {whom} has crashed; the quorum of {me} is {node.candidate.asks'} now",
        "1 suspect | {node.candidate.phase} = waiting; {node.candidate.asks} ∌ {whom} | {me} does not ask {whom}, so its request goes on as it is",
        "1 suspect | {node.candidate.phase} = inside | {me} is inside, and stays there whoever crashes",
        "2 request | | {me} asks {node.candidate.asks} with the stamp {node.candidate.stamp'}",
        "2 LOCKED | {enters} = yes | all of {node.candidate.asks} are LOCKED, so {me} enters",
        "2 LOCKED | | LOCKED so far: {node.candidate.locked'} of {node.candidate.asks}",
        "2 suspect | {enters} = yes | all that are left, {node.candidate.asks'}, are LOCKED, so {me} enters",
        "3 suspect | {node.candidate.phase} = waiting; {node.candidate.asks} ∋ {whom} | {whom} has crashed, so {me} asks {node.candidate.asks'} now; LOCKED so far: {node.candidate.locked'}",
        "4 suspect | {node.arbiter.grant} ∋ {whom} | {whom} has crashed, so {me} takes its grant back; it is {node.arbiter.grant'} now",
        "4 REQUEST, LOCKED, RELEASE, FAILED, INQUIRE, RELINQUISH | {crashed} ∋ {from} | {from} has crashed, so {me} ignores what it said before",
        "5 REQUEST | {node.arbiter.grant} = –; {sent} ∋ LOCKED | {me} has granted nobody, so {from} is LOCKED",
        "6 REQUEST | {node.arbiter.grant} < {message.stamp} {from}; {sent} ∋ FAILED | {<}: the grant {node.arbiter.grant} is older, so {from} gets FAILED",
        "6 REQUEST | {message.stamp} {from} < {node.arbiter.grant}; {sent} ∋ INQUIRE | {<}: {from} is older than the grant {node.arbiter.grant}, so {me} asks for it back by INQUIRE",
        "6 REQUEST | {node.arbiter.grant} ≠ –; {sent} ∋ FAILED | an older request is queued: {node.arbiter.queue'}",
        "6 REQUEST | {node.arbiter.grant} ∋ {me} | {me} is its own arbiter and has granted itself: {node.arbiter.grant}",
        "6 REQUEST | {node.arbiter.grant} ≠ –; {node.arbiter.queue} ∋ {me} | the oldest queued one until now was {me} itself: {node.arbiter.queue}",
        "7 FAILED, LOCKED | {sent} ∋ RELINQUISH | {node.candidate.inquired} asked for their grants back",
        "7 FAILED | | the failed set of {me} is {node.candidate.failed'}",
        "7 INQUIRE | {node.candidate.phase} ≠ waiting | {me} is {node.candidate.phase}, so it ignores the INQUIRE",
        "7 INQUIRE | {sent} ∋ RELINQUISH | {node.candidate.failed} said FAILED, so {me} gives the grant back",
        "7 INQUIRE | | {me} keeps the grant and remembers the INQUIRE",
        "8 RELINQUISH | | {node.arbiter.grant} goes back into the queue; the oldest is {node.arbiter.grant'}",
        "9 release | |",
        "9 RELEASE | {node.arbiter.grant'} = – | nobody is queued, so {me} is free",
        "9 RELEASE | | the oldest queued request is {node.arbiter.grant'}",
    ],
    variables: &[
        Variable::new("crashed", "crashed", "who has crashed, as its failure detector told"),
        Variable::new("node.candidate.phase", "state", "idle, waiting or inside"),
        Variable { field: "node.clock", ..Variable::clock("C", CLOCK) },
        Variable::new(
            "node.candidate.stamp",
            "T",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new("node.candidate.asks", "quorum", "whom it asks"),
        Variable::new("node.candidate.locked", "LOCKED", "whose grant it has"),
        Variable::new("node.candidate.failed", "FAILED", "who said that others come first"),
        Variable::new("node.candidate.inquired", "INQUIRE", "who asks for its grant back"),
        Variable::new("node.arbiter.grant", "granted-to", "whose request has its own grant"),
        Variable::new(
            "node.arbiter.queue",
            "queue",
            "who waits for its own grant, the oldest first",
        ),
    ],
    notes: &[
        "Needs a perfect failure detector: every crash is told at some time, and nobody is suspected who is alive. To take back the \
         grant of a live node would let two in, for it may be inside. To ask others instead of a live arbiter does no harm: all \
         quorums meet, whoever was suspected when they were chosen.",
        "An arbiter that crashes takes what it had granted with it, and that is safe: nobody else can get that grant any more. \
         So the holder of a quorum goes on, and whoever substitutes the crashed node meets it at another one.",
        "K is the length of the path, ⌈log₂(N+1)⌉ in a complete tree. There a quorum has at most ⌈(N+1)/2⌉ members whoever has \
         crashed: that many when the leaves alone are left.",
        "No quorum is left when those that have crashed include one: a path from the root to a leaf, say, or all leaves. Then \
         whoever waits does so for ever, unless it had the grants of the crashed already. From three nodes on the crash of any one leaves a quorum. Where a node has one child, as in trees that are not complete, that child alone substitutes it.",
        "A node that has crashed must not come back: it would have forgotten whom it had granted.",
        "The arbiters are Maekawa's, with the FAILED to the displaced request that his published rules lack.",
        "Needs no FIFO channels, since every message carries the stamp of the request it is about.",
        "A holder that crashes takes its fence with it, so the next one may get the same one, or a lower one if several have crashed.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// A crashed node is substituted by a path from one of its children.
    OneChild,
    /// An arbiter does not take back what a crashed node has.
    KeepsGrants,
    /// A request that waits goes on waiting for a crashed node.
    WaitsOn,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AgrawalElAbbadi {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// Who has crashed.
    crashed: NodeSet,
    /// What it asks and answers, as with Maekawa.
    node: Node,
}

impl Protocol for AgrawalElAbbadi {
    type Command = Lock;
    type Message = Msg;
    type Timer = Never;
    type Event = Entered;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Command(Lock::Suspect(whom)) => {
                if whom != self.me && whom.index() < self.n as usize && self.crashed.insert(whom) {
                    self.go_on_without(whom, out);
                }
                Ok(())
            }
            Input::Command(Lock::Release) => {
                self.node.step(input, out)?;
                self.choose(out);
                Ok(())
            }
            Input::Deliver { from, message } if self.is_over(from, message) => Ok(()),
            input => self.node.step(input, out),
        }
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.node.counters(each);
    }
}

impl AgrawalElAbbadi {
    fn go_on_without(&mut self, whom: NodeId, out: &mut Outbox<Self>) {
        let is_waiting = self.node.candidate().is_waiting();
        if !is_waiting || self.flaw != Flaw::WaitsOn && self.node.candidate().asks().contains(whom)
        {
            self.choose(out);
        }
        if self.flaw != Flaw::KeepsGrants {
            self.node.forget(whom, out);
        }
    }

    /// Turns to the present quorum. While there is none, what is asked is as it was, and is not granted.
    fn choose(&mut self, out: &mut Outbox<Self>) {
        if let Some(quorum) = self.quorum() {
            self.node.turn_to(&quorum, &self.crashed, out);
        }
    }

    /// Whether a message means nothing any more: its sender has crashed, or is an arbiter of an earlier request.
    fn is_over(&self, from: NodeId, message: Msg) -> bool {
        let candidate = self.node.candidate();
        let is_late = matches!(message.word, Word::Failed | Word::Inquire)
            && message.stamp <= candidate.stamp()
            && !candidate.asks().contains(from);
        is_late || self.crashed.contains(from)
    }

    /// A quorum of nodes that have not crashed, if there is one.
    fn quorum(&self) -> Option<NodeSet> {
        let mut quorum = NodeSet::new();
        self.add_below(1, &mut quorum).then_some(quorum)
    }

    /// Adds a quorum of the tree below a node, which are counted from 1; false, and nothing is added, if it has none.
    fn add_below(&self, top: usize, quorum: &mut NodeSet) -> bool {
        let n = self.n as usize;
        let mut children: Vec<usize> = (2 * top..2 * top + 2).filter(|&child| child <= n).collect();
        let node = NodeId::new(top - 1);
        if children.is_empty() {
            return !self.crashed.contains(node) && quorum.insert(node);
        }
        // The way to the own node first.
        children.sort_by_key(|&child| !is_below(child, self.me.index() + 1));
        if !self.crashed.contains(node) {
            return children.iter().any(|&child| self.add_below(child, quorum))
                && quorum.insert(node);
        }
        if self.flaw == Flaw::OneChild {
            return children.iter().any(|&child| self.add_below(child, quorum));
        }
        let before = quorum.clone();
        let has_all = children.iter().all(|&child| self.add_below(child, quorum));
        if !has_all {
            *quorum = before;
        }
        has_all
    }
}

/// How many nodes are on the path through `node`.
pub(crate) fn path_length(nodes: usize, node: NodeId) -> usize {
    let number = node.index() + 1;
    (1 + number.ilog2() + (nodes / number).ilog2()) as usize
}

/// Whether a node is in the tree below another one, itself included.
fn is_below(top: usize, mut node: usize) -> bool {
    while node > top {
        node /= 2;
    }
    node == top
}

variants! { Info {
    OneChild = "agrawal-el-abbadi-one-child" {
        flaw: "a crashed node is substituted by a path from one of its children instead of both",
        breaks: Breaks::Safety,
        shown_by: "-n 3 --requesters P2,P3 --latency uniform:0.1..2 --crash P1@20",
        refuted_by: "-n 3 --requests 0,1,1 --crashes 1",
    }
    KeepsGrants = "agrawal-el-abbadi-keeps-grants" {
        flaw: "an arbiter does not take back the grant of a node that has crashed",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..2 --crash P2@20",
        refuted_by: "-n 3 --requests 0,1,1 --crashes 1",
    }
    WaitsOn = "agrawal-el-abbadi-waits-on" {
        flaw: "a request that waits goes on waiting for a node that has crashed; only later ones ask others",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..2 --crash P1@20",
        refuted_by: "-n 3 --requests 0,0,1 --crashes 1",
    }
} }

impl Mutex for AgrawalElAbbadi {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let n = setup.nodes();
        let node = |me| {
            let node = Node::asking_nobody(me, setup);
            let mut node = AgrawalElAbbadi { me, n: n as u32, flaw, crashed: NodeSet::new(), node };
            node.choose(&mut Outbox::new());
            node
        };
        Ok(NodeId::all(n).map(node).collect())
    }
}

#[cfg(test)]
mod tests;
