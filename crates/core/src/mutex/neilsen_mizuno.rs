//! Neilsen–Mizuno (1991): requests run along a tree and turn its edges; the token goes directly to who is next.

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
    name: "neilsen-mizuno",
    title: "Neilsen–Mizuno",
    paper: "M. L. Neilsen, M. Mizuno: A DAG-based algorithm for distributed mutual exclusion. ICDCS, 1991",
    family: Family::Token,
    channel: Order::Any,
    layout: Layout::Tree,
    memory: Formula("64N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("d+1"), &[First, NotHolder]),
            Published::new(Messages, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(Messages, Claim::exactly("0"), &[Again]),
            Published::new(
                Messages,
                Claim::between("0", "D+1").typically("m+(N-1)/N"),
                &[OneAtATime],
            ),
            Published::new(Messages, Claim::between("0", "D+1"), &[]),
            Published::new(
                ClientDelay,
                Claim::exactly("d+1"),
                &[First, NotHolder, ConstantLatency],
            ),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Again]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "D+1"), &[ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "The edges of a tree are directed towards the node that is last in line for the token, the sink. \
           A request runs along them and turns each edge behind it, so that its sender becomes the new \
           sink. The old sink notes whom it is to be followed by; these notes are the line, spread \
           over the nodes, and the token is sent along it directly, not through the tree.",
    rules: &[
        "Request at a node that holds the token idly: enter.",
        "Request at any other node: send REQUEST(i) to LAST and become the sink, LAST = none.",
        "REQUEST(j) from X at a sink that waits or is inside: FOLLOW = j, LAST = X.",
        "REQUEST(j) from X at a sink that holds the token idly: send the PRIVILEGE to j, LAST = X.",
        "REQUEST(j) from X at any other node: forward it to LAST, then LAST = X.",
        "Enter on the PRIVILEGE.",
        "Exit: send the PRIVILEGE to FOLLOW and forget FOLLOW; if there is none, hold it.",
    ],
    fires: &[
        "1 request | {holding} = yes; {enters} = yes | {me} holds the token, so it enters",
        "2 request | {last} ≠ – | the sink is towards {last}, so {me} asks there and is the sink itself from now on",
        "3 REQUEST | {last} = –; {holding} = no; {last'} = {from} | {me} is the sink and {phase}, so {follow'} is to follow it; the sink is now towards {from}",
        "4 REQUEST | {last} = –; {holding} = yes; {sent} ∋ PRIVILEGE | {me} holds the token idly, so the PRIVILEGE goes to {to}; the sink is now towards {from}",
        "5 REQUEST | {last} ≠ –; {sent} ∋ REQUEST; {last'} = {from} | {me} forwards it to {last}; the sink is now towards {from}",
        "6 PRIVILEGE | {enters} = yes |",
        "7 release | {follow} = –; {sent} = | nobody is to follow, so {me} holds the token",
        "7 release | {follow} ≠ –; {sent} ∋ PRIVILEGE | {follow} is to follow",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::new("holding", "HOLDING", "whether it has the token and is not inside"),
        Variable::new("last", "LAST", "the neighbour towards the sink; none at the sink"),
        Variable::new("follow", "FOLLOW", "who gets the token at the exit"),
    ],
    notes: &[
        "At most D + 1 messages: a REQUEST never returns over an edge that it has turned, so it runs along \
         a path of the tree, and the PRIVILEGE is one message. On the star that is 3, as for a central \
         coordinator, but the token is handed over in one T where that takes two.",
        "One requester at a time from uniformly chosen nodes costs m + (N−1)/N on average, with m the mean \
         distance of two nodes, that to itself included. On the star that is the paper's 3 − 5/N + 2/N².",
        "Needs no FIFO channels: on each edge there is one REQUEST at most, and one that overtakes \
         the PRIVILEGE meets a node that still waits.",
        "Needs links between all nodes for the PRIVILEGE, or routes; Raymond's algorithm sends the token \
         along the tree and needs none, but takes up to D hops to hand it over.",
        "With LAST set to the requester instead of the neighbour that the REQUEST came from, this is the \
         algorithm of Naimi and Tréhel, in which the tree changes its shape.",
        "Requests are not served in the order of happened-before: who has the token may enter again \
         while a REQUEST is on its way.",
        "Survives no crash of an inner node; a leaf that neither asks nor holds is not missed.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// A holder that enters still counts as holding.
    KeepsHolding,
    /// Who waits or is inside takes every REQUEST as its FOLLOW, not only the first.
    OverwritesFollow,
    /// Who sends its own REQUEST does not become the sink.
    KeepsLast,
}

/// A node's state: constant in N, and no heap.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct NeilsenMizuno {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    phase: Phase,
    /// Whether the token is here and not in use, the paper's `HOLDING`.
    holding: bool,
    /// The neighbour towards the sink, the paper's `LAST`; none at a sink.
    last: Option<NodeId>,
    /// Who gets the token when we leave, the paper's `FOLLOW`.
    follow: Option<NodeId>,
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
    Privilege,
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Privilege = "PRIVILEGE" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { node } => node.to_string(),
            Msg::Privilege => String::new(),
        }
    }
}

impl Rules for NeilsenMizuno {
    type Message = Msg;

    /// Who holds the token enters; any other node asks towards the sink and becomes the sink.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        match self.last {
            Some(last) => {
                if self.flaw != Flaw::KeepsLast {
                    self.last = None;
                }
                out.send(last, Msg::Request { node: self.me });
            }
            None => {
                self.holding = self.flaw == Flaw::KeepsHolding;
                self.enter(out);
            }
        }
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { node } => self.on_request(from, node, out),
            Msg::Privilege => self.on_privilege(out),
        }
    }

    /// The PRIVILEGE goes to FOLLOW, who is forgotten.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        match self.follow.take() {
            Some(follow) => out.send(follow, Msg::Privilege),
            None => self.holding = true,
        }
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }
}

impl NeilsenMizuno {
    /// A sink hands the token over, now or at its exit; any other node forwards the REQUEST. The edge to
    /// the neighbour that it came from is turned in each case.
    fn on_request(
        &mut self,
        from: NodeId,
        node: NodeId,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        if node.index() >= self.n as usize || node == self.me {
            return Err(Refused::Unexpected("a REQUEST of no other node of this system"));
        }
        if self.last == Some(from) && self.flaw != Flaw::KeepsLast {
            return Err(Refused::Unexpected("a REQUEST against the direction of its edge"));
        }
        let forwards = self.phase == Phase::Idle || self.flaw != Flaw::OverwritesFollow;
        match self.last.replace(from) {
            Some(last) if forwards => out.send(last, Msg::Request { node }),
            _ if self.holding => {
                self.holding = false;
                out.send(node, Msg::Privilege);
            }
            _ => self.follow = Some(node),
        }
        Ok(())
    }

    /// Enter on the PRIVILEGE.
    fn on_privilege(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if self.phase != Phase::Waiting {
            return Err(Refused::Unexpected("a PRIVILEGE that was not asked for"));
        }
        self.enter(out);
        Ok(())
    }

    fn enter(&mut self, out: &mut Outbox<Self>) {
        self.phase = Phase::Inside;
        out.emit(Entered);
    }
}

variants! { Info {
    KeepsHolding = "neilsen-mizuno-keeps-holding" {
        flaw: "HOLDING stays set while its node is inside: a REQUEST takes the token out of the section",
        breaks: Breaks::Safety,
        shown_by: "-n 2 --latency uniform:0.1..2 --think exp:2",
        refuted_by: "-n 2 --tree line --requests 1",
    }
    OverwritesFollow = "neilsen-mizuno-overwrites-follow" {
        flaw: "a node in line takes a second REQUEST as its FOLLOW instead of forwarding it",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --tree star",
        refuted_by: "-n 3 --tree star --requests 1",
    }
    KeepsLast = "neilsen-mizuno-keeps-last" {
        flaw: "who asks does not become the sink: LAST still leads to the former one, and a REQUEST comes back to its sender",
        breaks: Breaks::Refused,
        shown_by: "-n 2",
        refuted_by: "-n 2 --tree line --requests 1",
    }
} }

impl Mutex for NeilsenMizuno {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let missing = SetupError::Missing { algorithm: SOUND.name, what: "tree" };
        let tree = setup.tree().ok_or(missing)?;
        let node = |me| NeilsenMizuno {
            me,
            n: setup.nodes() as u32,
            flaw,
            phase: Phase::Idle,
            holding: tree.parent(me).is_none(),
            last: tree.parent(me),
            follow: None,
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;
    use crate::topology::Tree;

    fn on(tree: Tree) -> Setup {
        Setup::new(tree.nodes()).unwrap().with_tree(tree).unwrap()
    }

    fn stage(tree: Tree) -> Stage<NeilsenMizuno> {
        Stage::new("neilsen-mizuno", &on(tree))
    }

    fn lasts(stage: &Stage<NeilsenMizuno>) -> Vec<Option<usize>> {
        stage.nodes.iter().map(|node| node.last.map(NodeId::index)).collect()
    }

    /// The paper's scene, on a line with the token in the middle: the requests turn the edges, and the
    /// line of waiting nodes is kept in FOLLOW.
    #[test]
    fn requests_turn_the_edges_and_form_a_line() {
        let mut stage = stage(Tree::balanced(6, 2));
        stage.request(0);
        stage.request(1);
        stage.deliver(1, 0);
        assert_eq!(lasts(&stage), [Some(1), None, Some(0), Some(1), Some(1), Some(2)]);
        stage.request(5);
        stage.deliver(5, 2);
        stage.deliver(2, 0);
        stage.deliver(0, 1);
        assert_eq!(lasts(&stage), [Some(2), Some(0), Some(5), Some(1), Some(1), None]);
        assert_eq!(stage.nodes[0].follow, Some(NodeId::new(1)));
        assert_eq!(stage.nodes[1].follow, Some(NodeId::new(5)));
        stage.release(0);
        stage.deliver(0, 1);
        stage.release(1);
        stage.deliver(1, 5);
        stage.release(5);
        assert!(stage.nodes[5].holding, "nobody follows");
        assert_eq!(stage.entries(), [0, 1, 5]);
        assert_eq!(stage.sent(), (1 + 1) + (3 + 1));
    }

    /// d + 1 messages for the first entry of a lone requester, none for the next.
    #[test]
    fn a_lone_requester_pays_the_way_once() {
        let mut stage = stage(Tree::line(5));
        stage.enter_twice(4);
        assert_eq!((stage.entries(), stage.sent()), (&[4, 4][..], 4 + 1));
    }

    /// Three messages at most on the star: to the centre, to the sink, and the token.
    #[test]
    fn an_entry_on_the_star_takes_three_messages() {
        let mut stage = stage(Tree::star(5));
        for (node, cost) in [(3, 2), (1, 3), (4, 3), (0, 2), (2, 2)] {
            let before = stage.sent();
            stage.ask([node]);
            assert_eq!(stage.sent() - before, cost, "P{}", node + 1);
            stage.release(node);
        }
    }

    #[test]
    fn a_tree_is_needed() {
        let built = NeilsenMizuno::build("neilsen-mizuno", &Setup::new(3).unwrap());
        assert_eq!(built, Err(SetupError::Missing { algorithm: "neilsen-mizuno", what: "tree" }));
    }

    /// Pitfall: a node in line that is no longer the sink forwards, and FOLLOW is set once.
    #[test]
    fn follow_is_set_once_per_request() {
        let mut stage = stage(Tree::star(3));
        stage.ask([0, 1]);
        stage.ask([2]);
        assert_eq!(stage.nodes[0].follow, Some(NodeId::new(1)));
        assert_eq!(stage.nodes[1].follow, Some(NodeId::new(2)));
    }

    /// Pitfall: inside, the token is not there to be given away.
    #[test]
    fn a_holder_that_enters_no_longer_holds() {
        let mut stage = stage(Tree::star(2));
        stage.ask([0, 1]);
        assert_eq!((stage.inside(), stage.sent()), (vec![0], 1));
        stage.leave(0);
        assert_eq!(stage.inside(), [1]);
    }

    /// A REQUEST that overtakes the PRIVILEGE on the same link waits at its receiver.
    #[test]
    fn a_request_may_overtake_the_privilege() {
        let mut stage = stage(Tree::star(2));
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

    #[test]
    fn what_no_correct_node_sends_is_refused() {
        let mut stage = stage(Tree::line(3));
        let request = |node| Msg::Request { node: NodeId::new(node) };
        assert!(stage.inject(0, 1, request(0)).is_err(), "that edge is directed to P1");
        assert!(stage.inject(2, 1, request(1)).is_err(), "P2 did not send this");
        assert!(stage.inject(2, 1, request(7)).is_err(), "there is no P8");
        assert!(stage.inject(0, 1, Msg::Privilege).is_err(), "P2 did not ask");
        assert!(stage.inject(7, 1, Msg::Privilege).is_err(), "there is no P8");
    }

    /// The mean over all pairs of a last and a next requester, one at a time: on the star the paper's
    /// 3 − 5/N + 2/N².
    #[test]
    fn uniform_requests_on_the_star_cost_what_the_paper_says() {
        for n in 2..7usize {
            let mut sent = 0;
            for (last, next) in (0..n).flat_map(|last| (0..n).map(move |next| (last, next))) {
                let mut stage = stage(Tree::star(n));
                stage.ask([last]);
                stage.release(last);
                let before = stage.sent();
                stage.ask([next]);
                sent += stage.sent() - before;
            }
            assert_eq!(sent, 3 * n * n - 5 * n + 2, "N = {n}");
        }
    }

    /// A million nodes of it are some tens of megabytes.
    #[test]
    fn a_node_is_small() {
        assert!(size_of::<NeilsenMizuno>() <= 32);
    }
}
