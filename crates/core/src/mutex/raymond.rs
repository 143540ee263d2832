//! Raymond (spec 2.10): a token on a tree, and at each node the way to it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{
    Again, CloseBehind, ConstantLatency, Everybody, First, OneAtATime, Saturated,
};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{Claim, Formula, Message, NodeId, Outbox, Refused, Setup, SetupError};

const SOUND: Info = Info {
    name: "raymond",
    title: "Raymond",
    paper: "K. Raymond: A tree-based algorithm for distributed mutual exclusion. ACM TOCS 7(1), 1989",
    family: Family::Token,
    channel: Order::Any,
    layout: Layout::Tree,
    memory: Formula("128N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("2d"), &[First]),
            Published::new(Messages, Claim::exactly("0"), &[Again]),
            Published::new(
                Messages,
                Claim::exactly("4(N-1)/N"),
                &[Saturated, Everybody, CloseBehind],
            ),
            Published::new(Messages, Claim::between("0", "2D").typically("2m"), &[OneAtATime]),
            Published::new(Messages, Claim::between("0", "2D"), &[]),
            Published::new(ClientDelay, Claim::exactly("2d"), &[First, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Again]),
            Published::new(SyncDelay, Claim::between("1", "D"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2D"), &[ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Each node of a tree knows the neighbour in whose direction the token is. It asks that \
           neighbour once, on behalf of itself and of all neighbours who asked it, and serves them \
           in the order in which they asked. The token travels against the requests and turns the \
           pointers on its way.",
    rules: &[
        "Request: append oneself to the own queue.",
        "REQUEST from a neighbour: append it to the own queue.",
        "Ask: while the queue is not empty, the token elsewhere and no ask outstanding, send \
         REQUEST to the holder.",
        "Serve: with the token, outside the section and the queue not empty, take its head; enter \
         if it is oneself, else send it the PRIVILEGE, and ask again if the queue is still not \
         empty.",
        "Exit: serve.",
    ],
    fires: &[
        "1 request | {enters} = no | the queue of {me} is {queue'}",
        "1 request | |",
        "2 REQUEST | {phase} = inside; {holder} = – | {me} is inside, so {from} waits: {queue'}",
        "2 REQUEST | {queue'} ∋ {from} | the queue of {me} is {queue'}",
        "2 REQUEST | {sent} ∋ PRIVILEGE |",
        "3 request | {asked} = no; {sent} ∋ REQUEST | the token is towards {holder}, so {me} asks {holder}",
        "3 request | {asked} = yes; {sent} ∌ REQUEST | {me} has asked {holder} already",
        "3 REQUEST | {holder} ≠ –; {asked} = no; {sent} ∋ REQUEST | the token is towards {holder}, so {me} asks {holder}",
        "3 REQUEST | {holder} ≠ –; {asked} = yes; {sent} ∌ REQUEST | {me} has asked {holder} already",
        "4 request | {holder} = –; {enters} = yes | the token is here and nobody was before {me}, so it enters",
        "4 REQUEST | {holder} = –; {phase} ≠ inside; {sent} ∋ PRIVILEGE | {me} has the token and is outside, so {to} gets it",
        "4 PRIVILEGE | {queue[first]} = {me}; {enters} = yes | {me} itself heads its queue {queue}, so it enters",
        "4 PRIVILEGE | {sent} ∋ PRIVILEGE; {queue'} = [] | {queue[first]} heads the queue {queue}, so it gets the token",
        "4 PRIVILEGE | {sent} ∋ PRIVILEGE; {sent} ∋ REQUEST | {queue[first]} heads the queue {queue}, so it gets the token; {me} asks it back for {queue'}",
        "5 release | {sent} ∋ PRIVILEGE; {queue'} = [] | {queue[first]} heads the queue {queue}, so it gets the token",
        "5 release | {sent} ∋ PRIVILEGE; {sent} ∋ REQUEST | {queue[first]} heads the queue {queue}, so it gets the token; {me} asks it back for {queue'}",
        "5 release | {queue} = [] | nobody waits, so the token stays",
    ],
    variables: &[
        Variable::new("phase", "USING", "idle, waiting or inside"),
        Variable::new("holder", "HOLDER", "the neighbour towards the token; none where it is"),
        Variable::new("queue", "REQUEST_Q", "who asked here, itself included"),
        Variable::new("asked", "ASKED", "whether HOLDER was asked for the token"),
    ],
    notes: &[
        "Needs no FIFO channels: of one node's messages to one neighbour only a PRIVILEGE and the \
         REQUEST right after it can be under way together, and the REQUEST may arrive first.",
        "Saturated it costs 4(N−1)/N messages on any tree as long as each REQUEST that follows the token \
         arrives before the section that the token began is over: in each round the token crosses \
         each edge twice, after two REQUESTs. Else a node enters again before it knows who waits, \
         and it is fewer.",
        "One requester at a time pays twice its distance from the last one. On a line that is 2(N+1)/3 \
         if it is never the last one again.",
        "A node knows only its neighbours: its state does not grow with N.",
        "Requests are not served in the order of happened-before: whoever got the PRIVILEGE may \
         enter again before the REQUEST behind it arrives.",
        "Survives no crash of an inner node; a leaf that neither asks nor holds is not missed.",
        "Ask again after the token has left a queue behind; a root inside the section queues a \
         REQUEST, it does not serve it.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// The token leaves, others are still in the queue, and nobody asks for them.
    NoReask,
    /// The root serves a REQUEST although it is inside.
    EagerRoot,
    /// The holder is asked anew for each wish.
    DropsAsked,
    /// An ask stays outstanding when the token has come.
    StickyAsked,
}

/// A node's state: as much as it has neighbours, however large the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Raymond {
    me: NodeId,
    flaw: Flaw,
    /// Whether it is inside, the paper's `USING`.
    phase: Phase,
    /// In ascending order.
    neighbours: Box<[NodeId]>,
    /// The neighbour in the token's direction, the paper's `HOLDER`; none where the token is here.
    holder: Option<NodeId>,
    /// Who asked, ourselves included, the paper's `REQUEST_Q`; nobody is in it twice.
    queue: VecDeque<NodeId>,
    /// Whether the holder was asked for the token, the paper's `ASKED`.
    asked: bool,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Send me the token.
    Request,
    /// Here is the token.
    Privilege,
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Privilege = "PRIVILEGE" }
}

impl Rules for Raymond {
    type Message = Msg;

    /// The own wish stands in the queue like that of a neighbour.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        self.queue.push_back(self.me);
        self.serve(out);
        self.ask(out);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request => self.on_request(from, out),
            Msg::Privilege => self.on_privilege(from, out),
        }
    }

    /// The next one in the queue gets the token.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        self.serve(out);
        self.ask_again(out);
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        let known = self.neighbours.binary_search(&from).map(drop);
        known.or(Err(Refused::Unexpected("the sender is no neighbour")))
    }
}

impl Raymond {
    /// A root inside the section queues a REQUEST, it does not pass the token.
    fn on_request(&mut self, from: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        // With an ask outstanding the REQUEST may have overtaken the PRIVILEGE that answers it.
        if self.holder == Some(from) && !self.asked {
            return Err(Refused::Unexpected("a REQUEST from where the token is"));
        }
        if self.queue.contains(&from) {
            return Err(Refused::Unexpected("a second REQUEST before the first was served"));
        }
        self.queue.push_back(from);
        if self.phase != Phase::Inside || self.flaw == Flaw::EagerRoot {
            self.serve(out);
        }
        self.ask(out);
        Ok(())
    }

    /// On the token serve the queue's head.
    fn on_privilege(&mut self, from: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if self.holder != Some(from) || !self.asked {
            return Err(Refused::Unexpected("a PRIVILEGE that was not asked for"));
        }
        self.holder = None;
        self.asked = self.flaw == Flaw::StickyAsked;
        if self.phase != Phase::Inside {
            self.serve(out);
        }
        self.ask_again(out);
        Ok(())
    }

    /// With the token and outside the section: serve the queue's head, oneself or a neighbour (the
    /// paper's `ASSIGN_PRIVILEGE`).
    fn serve(&mut self, out: &mut Outbox<Self>) {
        if self.holder.is_some() {
            return;
        }
        match self.queue.pop_front() {
            Some(head) if head == self.me => {
                self.phase = Phase::Inside;
                out.emit(Entered);
            }
            Some(head) => {
                self.holder = Some(head);
                out.send(head, Msg::Privilege);
            }
            None => {}
        }
    }

    /// If the queue is still non-empty after passing the token on, ask again.
    fn ask_again(&mut self, out: &mut Outbox<Self>) {
        if self.flaw != Flaw::NoReask {
            self.ask(out);
        }
    }

    /// Ask the holder once while the queue is non-empty and no ask is outstanding (the paper's
    /// `MAKE_REQUEST`).
    fn ask(&mut self, out: &mut Outbox<Self>) {
        if let Some(holder) = self.holder
            && !self.queue.is_empty()
            && (!self.asked || self.flaw == Flaw::DropsAsked)
        {
            self.asked = true;
            out.send(holder, Msg::Request);
        }
    }
}

variants! { Info {
    NoReask = "raymond-no-reask" {
        flaw: "a node that passes the token on does not ask for those still in its queue",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --tree star",
        refuted_by: "-n 3 --tree line --requests 0,1,1",
    }
    EagerRoot = "raymond-eager-root" {
        flaw: "a root inside the section passes the token on a REQUEST",
        breaks: Breaks::Safety,
        shown_by: "-n 3 --tree star --latency uniform:0.1..2",
        refuted_by: "-n 2 --tree line --requests 1",
    }
    DropsAsked = "raymond-drops-asked" {
        flaw: "the asked flag is not looked at: the holder is asked again while an ask is outstanding",
        breaks: Breaks::Refused,
        shown_by: "-n 3 --tree line",
        refuted_by: "-n 3 --tree line --requests 0,1,1",
    }
    StickyAsked = "raymond-sticky-asked" {
        flaw: "the asked flag is not cleared when the token comes",
        breaks: Breaks::Liveness,
        shown_by: "-n 2",
        refuted_by: "-n 2 --tree line --requests 1,2",
    }
} }

impl Mutex for Raymond {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let missing = SetupError::Missing { algorithm: SOUND.name, what: "tree" };
        let tree = setup.tree().ok_or(missing)?;
        let node = |(me, neighbours): (NodeId, Vec<NodeId>)| Raymond {
            me,
            flaw,
            phase: Phase::Idle,
            neighbours: neighbours.into_boxed_slice(),
            holder: tree.parent(me),
            queue: VecDeque::new(),
            asked: false,
        };
        Ok(NodeId::all(setup.nodes()).zip(tree.neighbours()).map(node).collect())
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

    fn stage(tree: Tree) -> Stage<Raymond> {
        Stage::new("raymond", &on(tree))
    }

    /// The lectures' example: requests of a subtree go up as one, the token comes down and turns
    /// the pointers.
    #[test]
    fn a_subtree_asks_once_and_is_served_in_order() {
        let mut stage = stage(Tree::balanced(7, 2));
        stage.request(0);
        stage.request(3);
        stage.deliver(3, 1);
        stage.request(4);
        stage.deliver(4, 1);
        stage.request(1);
        stage.deliver(1, 0);
        assert_eq!(stage.sent(), 3);
        stage.leave(0);
        for node in [3, 4, 1] {
            assert_eq!(stage.inside(), [node]);
            stage.leave(node);
        }
        assert_eq!(stage.entries(), [0, 3, 4, 1]);
        let holders: Vec<_> =
            stage.nodes.iter().map(|node| node.holder.map(NodeId::index)).collect();
        assert_eq!(holders, [Some(1), None, Some(0), Some(1), Some(1), Some(2), Some(2)]);
    }

    /// 2d messages for the first entry of a lone requester, none for the next.
    #[test]
    fn a_lone_requester_pays_the_way_twice() {
        let mut stage = stage(Tree::line(5));
        stage.enter_twice(4);
        assert_eq!((stage.entries(), stage.sent()), (&[4, 4][..], 2 * 4));
    }

    #[test]
    fn a_tree_is_needed() {
        let built = Raymond::build("raymond", &Setup::new(3).unwrap());
        assert_eq!(built, Err(SetupError::Missing { algorithm: "raymond", what: "tree" }));
    }

    /// Pitfall: the token leaves, others wait here, and nobody asks for them.
    #[test]
    fn who_passes_the_token_asks_again() {
        let mut stage = stage(Tree::star(3));
        stage.ask([0, 1, 2]);
        stage.release(0);
        stage.deliver(0, 1);
        assert_eq!(stage.oldest(0, 1), Msg::Request);
        stage.flush();
        stage.leave(1);
        assert_eq!(stage.entries(), [0, 1, 2]);
    }

    /// Pitfall: a root inside the section queues a REQUEST.
    #[test]
    fn a_root_inside_keeps_the_token() {
        let mut stage = stage(Tree::star(2));
        stage.ask([0, 1]);
        assert_eq!((stage.inside(), stage.sent()), (vec![0], 1));
        stage.leave(0);
        assert_eq!(stage.inside(), [1]);
    }

    /// The REQUEST behind a PRIVILEGE may arrive first.
    #[test]
    fn a_request_may_overtake_the_privilege() {
        let mut stage = stage(Tree::star(3));
        stage.ask([0, 1, 2]);
        stage.release(0);
        stage.deliver_nth(0, 1, 1).unwrap();
        stage.flush();
        stage.leave(1);
        assert_eq!(stage.entries(), [0, 1, 2]);
    }

    #[test]
    fn what_no_correct_neighbour_sends_is_refused() {
        let mut stage = stage(Tree::line(3));
        assert!(stage.inject(2, 0, Msg::Request).is_err(), "P3 is no neighbour of P1");
        assert!(stage.inject(0, 1, Msg::Request).is_err(), "P1 has the token");
        assert!(stage.inject(0, 1, Msg::Privilege).is_err(), "nobody asked");
        stage.request(2);
        stage.deliver(2, 1);
        assert!(stage.inject(2, 1, Msg::Request).is_err(), "P3 has asked already");
        assert!(stage.inject(2, 1, Msg::Privilege).is_err(), "P3 was not asked");
    }

    /// Spec 2.10: exactly 4(N−1)/N messages per entry when everybody always wants in, on any tree.
    #[test]
    fn saturation_costs_four_messages_per_edge_and_round() {
        for tree in [Tree::line(5), Tree::star(5), Tree::balanced(7, 2)] {
            let n = tree.nodes();
            let mut stage = stage(tree);
            (0..n).for_each(|node| stage.request(node));
            let rounds = |stage: &mut Stage<Raymond>, rounds: usize| {
                let before = stage.sent();
                for _ in 0..rounds * n {
                    stage.flush();
                    let node = stage.inside()[0];
                    stage.release(node);
                    stage.request(node);
                }
                stage.flush();
                stage.sent() - before
            };
            rounds(&mut stage, 2);
            assert_eq!(rounds(&mut stage, 3), 3 * 4 * (n - 1));
        }
    }

    /// A million nodes of it, with their neighbours, are about a hundred megabytes.
    #[test]
    fn a_node_is_small() {
        assert!(size_of::<Raymond>() <= 72);
    }
}
