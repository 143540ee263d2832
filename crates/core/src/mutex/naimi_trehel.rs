//! Naimi–Tréhel (spec 2.11): a request runs along the fathers and turns them all round to itself.

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{
    Again, ConstantLatency, First, Holder, Lone, NotHolder, OneAtATime, Saturated,
};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{Claim, Formula, Message, NodeId, Outbox, Refused, Setup, SetupError};

const SOUND: Info = Info {
    name: "naimi-trehel",
    title: "Naimi–Tréhel",
    paper: "M. Naimi, M. Trehel, A. Arnold: A log(N) distributed mutual exclusion algorithm based on path reversal. JPDC 34(1), 1996",
    family: Family::Token,
    channel: Order::Any,
    layout: Layout::None,
    memory: Formula("32N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("2"), &[First, NotHolder]),
            Published::new(Messages, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(Messages, Claim::exactly("0"), &[Again]),
            Published::new(Messages, Claim::between("0", "N").typically("H(N-1)"), &[OneAtATime]),
            Published::new(Messages, Claim::between("0", "N"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[First, NotHolder, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Again]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "N"), &[ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Every node has a father: the last requester it has heard of. A request runs from father \
           to father up to the root, who is the last one in line, and each node on the way takes \
           the requester as its new father, since that one is last in line from now on. The line \
           itself is kept as `next` pointers, one per node, along which the token is handed over \
           directly.",
    rules: &[
        "Request at the root: it has the token, so it enters.",
        "Request at any other node: send REQUEST(i) to the father and become a root.",
        "REQUEST(j) at a root that wants in or is inside: next = j, father = j.",
        "REQUEST(j) at an idle root: send the TOKEN to j, father = j.",
        "REQUEST(j) at any other node: forward it to the father, father = j.",
        "Enter on the TOKEN.",
        "Exit: send the TOKEN to next, if there is one, and forget next; else keep it.",
    ],
    fires: &[
        "1 request | {father} = – | {me} is the root",
        "2 request | {father} ≠ – | the father of {me} is {father}",
        "3 REQUEST | {father} = –; {phase} ≠ idle | {me} is a root and {phase}, so next is {next'}",
        "4 REQUEST | {father} = –; {phase} = idle; {father'} = {to} | {me} is an idle root, so the TOKEN goes to {to}",
        "5 REQUEST | {father} ≠ –; {sent} ∋ REQUEST | {me} forwards it to its father {father}; its father is now {father'}",
        "6 TOKEN | {enters} = yes |",
        "7 release | {next} = – | nobody is next, so {me} keeps the token",
        "7 release | | {next} is next",
    ],
    variables: &[
        Variable::new("phase", "requesting", "idle, waiting or inside"),
        Variable::new("father", "father", "the last requester known here; none at the root"),
        Variable::new("next", "next", "who gets the token at the exit"),
    ],
    notes: &[
        "Needs no FIFO channels: a REQUEST that overtakes the TOKEN meets a root that still waits, \
         and becomes its next.",
        "H(N−1) is the mean where requests come one at a time from uniformly chosen nodes, the \
         holder (who pays nothing) among them.",
        "The path of one request can be N−1 long, so one entry costs at most N messages.",
        "Requests are not served in the order of happened-before: a node to whom the TOKEN came \
         faster than a forwarded REQUEST may enter once more before it.",
        "Survives no crash of a node that asks, holds, or is anybody's father.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// A root that hands the token over stays a root.
    StaysRoot,
    /// Who is in line takes every REQUEST as its next, not only the first.
    OverwritesNext,
}

/// A node's state: constant in N, and no heap.
///
/// The paper's `token_present` follows from the rest: whoever is inside, and an idle root, has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NaimiTrehel {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// Whether it wants in or is inside, the paper's `requesting`.
    phase: Phase,
    /// The last requester known here, the paper's `father`; none at a root.
    father: Option<NodeId>,
    /// Who gets the token when we leave, the paper's `next`.
    next: Option<NodeId>,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Somebody, not always the sender, wants in.
    Request {
        /// Who wants in.
        node: NodeId,
    },
    /// You may.
    Token,
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Token = "TOKEN" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { node } => node.to_string(),
            Msg::Token => String::new(),
        }
    }
}

impl Rules for NaimiTrehel {
    type Message = Msg;

    /// A root enters; any other node sends REQUEST(i) to its father and becomes a root.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        match self.father.take() {
            Some(father) => {
                out.send(father, Msg::Request { node: self.me });
            }
            None => self.enter(out),
        }
        Ok(())
    }

    fn receive(&mut self, _: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { node } => self.on_request(node, out),
            Msg::Token => self.on_token(out),
        }
    }

    /// The TOKEN goes to next, who is forgotten.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        if let Some(next) = self.next.take() {
            out.send(next, Msg::Token);
        }
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }
}

impl NaimiTrehel {
    /// A root hands the token over, now or at its exit; any other node forwards the REQUEST. The
    /// requester becomes the father in each case.
    fn on_request(&mut self, node: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if node.index() >= self.n as usize || node == self.me {
            return Err(Refused::Unexpected("a REQUEST of no other node of this system"));
        }
        // Whoever has j as its father lies below j, and j's REQUEST runs above it.
        if self.father == Some(node) {
            return Err(Refused::Unexpected("a REQUEST of the own father"));
        }
        let forwards = self.phase == Phase::Idle || self.flaw != Flaw::OverwritesNext;
        match self.father.replace(node) {
            Some(father) if forwards => out.send(father, Msg::Request { node }),
            None if self.phase == Phase::Idle => {
                out.send(node, Msg::Token);
                if self.flaw == Flaw::StaysRoot {
                    self.father = None;
                }
            }
            _ => self.next = Some(node),
        }
        Ok(())
    }

    /// Enter on the TOKEN.
    fn on_token(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if self.phase != Phase::Waiting {
            return Err(Refused::Unexpected("a TOKEN that was not asked for"));
        }
        self.enter(out);
        Ok(())
    }

    fn enter(&mut self, out: &mut Outbox<Self>) {
        self.phase = Phase::Inside;
        out.emit(Entered);
    }
}

impl NaimiTrehel {
    /// A node of a system of some of the `n` nodes, in which `first` begins with the token, and inside if `inside`.
    pub(super) fn among(me: NodeId, n: usize, first: NodeId, inside: bool) -> Self {
        let father = (me != first).then_some(first);
        let phase = if inside { Phase::Inside } else { Phase::Idle };
        NaimiTrehel { me, n: n as u32, flaw: Flaw::None, phase, father, next: None }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether it is in line and knows who comes after it.
    pub(super) fn is_wanted(&self) -> bool {
        self.next.is_some()
    }
}

variants! { Info {
    StaysRoot = "naimi-trehel-stays-root" {
        flaw: "an idle root that sends the token away does not take the requester as its father",
        breaks: Breaks::Safety,
        shown_by: "-n 2",
        refuted_by: "-n 2 --requests 1",
    }
    OverwritesNext = "naimi-trehel-overwrites-next" {
        flaw: "a node in line takes a second REQUEST as its next instead of forwarding it",
        breaks: Breaks::Liveness,
        shown_by: "-n 3",
        refuted_by: "-n 3 --requests 1",
    }
} }

impl Mutex for NaimiTrehel {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let first = NodeId::new(0);
        let node = |me| NaimiTrehel {
            me,
            n: setup.nodes() as u32,
            flaw,
            phase: Phase::Idle,
            father: (me != first).then_some(first),
            next: None,
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn stage(n: usize) -> Stage<NaimiTrehel> {
        Stage::new("naimi-trehel", &Setup::new(n).unwrap())
    }

    fn fathers(stage: &Stage<NaimiTrehel>) -> Vec<Option<usize>> {
        stage.nodes.iter().map(|node| node.father.map(NodeId::index)).collect()
    }

    /// The paper's scene: requests turn the fathers round, and the line forms along `next`.
    #[test]
    fn a_request_reverses_its_path() {
        let mut stage = stage(4);
        stage.request(0);
        stage.request(1);
        stage.deliver(1, 0);
        assert_eq!(fathers(&stage), [Some(1), None, Some(0), Some(0)]);
        stage.request(2);
        stage.deliver(2, 0);
        stage.deliver(0, 1);
        assert_eq!(fathers(&stage), [Some(2), Some(2), None, Some(0)]);
        for node in 0..2 {
            stage.release(node);
            stage.deliver(node, node + 1);
        }
        assert_eq!(stage.entries(), [0, 1, 2]);
        assert_eq!(stage.sent(), 1 + 2 + 2);
    }

    /// Two messages for the first entry of a lone requester, none for the next.
    #[test]
    fn a_lone_requester_keeps_the_token() {
        let mut stage = stage(5);
        stage.enter_twice(4);
        assert_eq!((stage.entries(), stage.sent()), (&[4, 4][..], 2));
    }

    /// A node that waits without being a root is still in line: the REQUEST goes on to whoever is
    /// last, and `next` is not overwritten.
    #[test]
    fn next_is_set_once_per_request() {
        let mut stage = stage(3);
        stage.ask([0, 1]);
        stage.ask([2]);
        assert_eq!(stage.nodes[0].next, Some(NodeId::new(1)));
        assert_eq!(stage.nodes[1].next, Some(NodeId::new(2)));
    }

    /// A REQUEST that overtakes the TOKEN on the same link waits at its receiver.
    #[test]
    fn a_request_may_overtake_the_token() {
        let mut stage = stage(2);
        stage.request(0);
        stage.request(1);
        stage.deliver(1, 0);
        stage.release(0);
        stage.request(0);
        stage.deliver_nth(0, 1, 1).unwrap();
        stage.deliver(0, 1);
        stage.release(1);
        stage.deliver(1, 0);
        assert_eq!(stage.entries(), [0, 1, 0]);
    }

    /// The note on ordering: P3 enters twice while P4's REQUEST, which it could know of, runs.
    #[test]
    fn a_forwarded_request_can_be_overtaken() {
        let mut stage = stage(4);
        stage.request(0);
        for node in [1, 2] {
            stage.request(node);
            stage.deliver(node, 0);
        }
        stage.deliver(0, 1);
        stage.request(3);
        stage.deliver(3, 0);
        stage.release(0);
        stage.deliver(0, 1);
        stage.release(1);
        stage.deliver(1, 2);
        stage.release(2);
        stage.request(2);
        assert_eq!(stage.entries(), [0, 1, 2, 2]);
        stage.deliver(0, 2);
        stage.leave(2);
        assert_eq!(stage.inside(), [3]);
    }

    #[test]
    fn what_no_correct_node_sends_is_refused() {
        let mut stage = stage(3);
        stage.request(2);
        for node in [1, 2, 3] {
            let request = Msg::Request { node: NodeId::new(node) };
            let from = if node == 1 { 1 } else { 0 };
            assert_eq!(stage.inject(from, 2, request).is_ok(), node == 1, "of P{}", node + 1);
        }
        let again = Msg::Request { node: NodeId::new(1) };
        assert!(stage.inject(0, 2, again).is_err(), "P2 is already the father of P3");
        assert!(stage.inject(0, 1, Msg::Token).is_err(), "P2 did not ask");
        assert!(stage.inject(7, 2, Msg::Token).is_err(), "there is no P8");
    }

    /// The mean number of messages of sequential uniform requests is H(N−1): the chain over all
    /// shapes that the fathers can take is run to rest.
    #[test]
    fn uniform_requests_cost_a_harmonic_number() {
        use std::collections::BTreeMap;
        const N: usize = 4;
        let mut chances = BTreeMap::from([(fathers(&stage(N)), 1.0)]);
        let mut mean = 0.0;
        for _ in 0..200 {
            mean = 0.0;
            let mut after = BTreeMap::new();
            for (shape, chance) in &chances {
                for node in 0..N {
                    let mut stage = stage(N);
                    for (node, father) in stage.nodes.iter_mut().zip(shape) {
                        node.father = father.map(NodeId::new);
                    }
                    stage.ask([node]);
                    stage.release(node);
                    mean += stage.sent() as f64 * chance / N as f64;
                    *after.entry(fathers(&stage)).or_insert(0.0) += chance / N as f64;
                }
            }
            chances = after;
        }
        assert!((mean - (1.0 + 1.0 / 2.0 + 1.0 / 3.0)).abs() < 1e-9, "{mean}");
    }

    /// A million nodes of it are a few dozen megabytes.
    #[test]
    fn a_node_is_small() {
        assert!(size_of::<NaimiTrehel>() <= 32);
    }
}
