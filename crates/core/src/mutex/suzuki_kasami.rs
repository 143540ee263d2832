//! Suzuki–Kasami (spec 2.8): ask everybody for the one token, which knows who was served.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{
    Again, CloseBehind, ConstantLatency, First, Holder, Lone, NotHolder, OneAtATime, Saturated,
};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::plausible;
use crate::{
    Claim, Counter, Formula, Message, NodeId, NodeSet, Outbox, Refused, Setup, SetupError,
};

const SOUND: Info = Info {
    name: "suzuki-kasami",
    title: "Suzuki–Kasami",
    paper: "I. Suzuki, T. Kasami: A distributed mutual exclusion algorithm. ACM TOCS 3(4), 1985",
    family: Family::Token,
    channel: Order::Any,
    layout: Layout::None,
    memory: Formula("8NN + 64N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("N"), &[First, NotHolder]),
            Published::new(Messages, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(Messages, Claim::exactly("0"), &[Again]),
            Published::new(Messages, Claim::exactly("N"), &[Saturated, CloseBehind]),
            Published::new(Messages, Claim::between("0", "N").typically("N-1"), &[OneAtATime]),
            Published::new(Messages, Claim::between("0", "N"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[First, NotHolder, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Again]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Whoever has the token may enter. A node without it numbers its request and sends it to \
           all others, since anybody may have the token. The token carries the number of the last \
           request of each node that was served, so that its holder can tell a new request from \
           one that arrives late, and a queue of those to serve next.",
    rules: &[
        "Request with the token: enter.",
        "Request without it: RN[i] + 1, send REQUEST(RN[i]) to all others.",
        "REQUEST(n) from j: RN[j] = max(RN[j], n). A holder outside the section passes the token \
         to j if RN[j] = LN[j] + 1.",
        "Enter on the PRIVILEGE.",
        "Exit: LN[i] = RN[i]; append to the queue every j not in it with RN[j] = LN[j] + 1; pass \
         the token to the queue's head, or keep it if nobody asks.",
    ],
    fires: &[
        "1 request | {token} = here; {enters} = yes | {me} has the token, so it enters",
        "2 request | {token} = – | {me} has no token; RN[{me}] is now {rn'[me]}",
        "3 REQUEST | {token} = – | {me} has no token; RN[{from}] is now {rn'[from]}",
        "3 REQUEST | {phase} = inside; {sent} ∌ PRIVILEGE | {me} is inside, so it keeps the token; RN[{from}] is now {rn'[from]}",
        "3 REQUEST | {rn'[from]} = {token.ln[from]} + 1; {sent} ∋ PRIVILEGE | RN[{from}] = {rn'[from]} = LN[{from}] + 1, so the token goes to {from}",
        "3 REQUEST | {rn'[from]} ≤ {token.ln[from]}; {sent} ∌ PRIVILEGE | RN[{from}] = {rn'[from]}, LN[{from}] = {token.ln[from]}: that request was served, so {me} keeps the token",
        "4 PRIVILEGE | {enters} = yes |",
        "5 release | {sent} ∋ PRIVILEGE | {to} heads the queue, so it gets the token",
        "5 release | {sent} ∌ PRIVILEGE | nobody asks, so {me} keeps the token",
    ],
    variables: &[
        Variable::new("phase", "Requesting", "idle, waiting or inside"),
        Variable::new("rn", "RN", "the highest request number seen of each node"),
        Variable::new("token", "token", "the token, if it is here"),
        Variable::new(
            "token.ln",
            "LN",
            "in the token: the last request of each node that was served",
        ),
        Variable::new("token.queue", "Q", "in the token: who is served next"),
    ],
    notes: &[
        "Needs no FIFO channels: a REQUEST that was overtaken changes nothing, because RN is \
         updated by maximum.",
        "With a network multicast the REQUEST is one message: 2 per entry instead of N.",
        "N−1 messages where requests come one at a time from uniformly chosen nodes: one in N \
         comes from the holder and costs nothing.",
        "Survives crashes of nodes that neither ask nor hold.",
        "Requests are not served in the order of happened-before: the queue is filled at an exit, \
         in the order of ids.",
        "Some slides print RN[j] = LN[i] + 1 for the exit; that forgets whoever asked less often \
         than i.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// The exit compares everybody's requests with the own count.
    LnSlip,
    /// The last REQUEST to arrive counts, not the latest one.
    AssignsRn,
    /// Every REQUEST moves an idle token, a served one too.
    StaleRequest,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SuzukiKasami {
    me: NodeId,
    flaw: Flaw,
    /// Whether it wants in or is inside, the paper's `Requesting`.
    phase: Phase,
    /// The highest request number seen of each node, the paper's `RN`.
    rn: Box<[u64]>,
    /// The token where it is here, the paper's `HavePrivilege`.
    token: Option<Box<Token>>,
}

/// What travels with the privilege.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The number of each node's request that was served last, the paper's `LN`.
    ln: Box<[u64]>,
    /// Who is served next, the paper's `Q`; nobody is in it twice.
    queue: VecDeque<NodeId>,
}

impl Token {
    /// The queue as a set: looking each node up in the queue itself would cost N² steps.
    fn queued(&self) -> NodeSet {
        self.queue.iter().copied().collect()
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        Counter::of_requests(&mut self.ln, each);
    }
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want in.
    Request {
        /// For the how many-th time.
        number: u64,
    },
    /// You may.
    Privilege {
        /// Who was served and who is next. It is large and moves, so it is boxed.
        token: Box<Token>,
    },
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Privilege = "PRIVILEGE" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { number } => number.to_string(),
            Msg::Privilege { token } if token.queue.is_empty() => String::new(),
            Msg::Privilege { token } => format!("Q={:?}", token.queue),
        }
    }

    fn counters(&mut self, from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        match self {
            Msg::Request { number } => each(Counter::Requests(from), number),
            Msg::Privilege { token } => token.counters(each),
        }
    }
}

impl Rules for SuzukiKasami {
    type Message = Msg;

    /// `RN[i]+1`, broadcast `REQUEST(i, RN[i])`; a holder enters at once.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        if self.token.is_some() {
            self.enter(out);
        } else {
            let number = &mut self.rn[self.me.index()];
            *number += 1;
            out.broadcast(Msg::Request { number: *number });
        }
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { number } => self.on_request(from, number, out),
            Msg::Privilege { token } => self.on_privilege(token, out),
        }
    }

    /// `LN[i]=RN[i]`; append every j not queued with `RN[j] = LN[j]+1`; pass to the queue's head.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let token = self.token.as_mut().ok_or(Refused::NotHeld)?;
        self.phase.release()?;
        let me = self.me.index();
        token.ln[me] = self.rn[me];
        let queued = token.queued();
        for j in NodeId::all(self.rn.len()).filter(|&j| j != self.me && !queued.contains(j)) {
            let served = match self.flaw {
                Flaw::LnSlip => token.ln[me],
                _ => token.ln[j.index()],
            };
            if self.rn[j.index()] == served + 1 {
                token.queue.push_back(j);
            }
        }
        if let Some(head) = token.queue.pop_front()
            && let Some(token) = self.token.take()
        {
            out.send(head, Msg::Privilege { token });
        }
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.rn.len())
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        Counter::of_requests(&mut self.rn, each);
        if let Some(token) = &mut self.token {
            token.counters(each);
        }
    }
}

impl SuzukiKasami {
    /// RN is updated by maximum; the holder outside the section passes the token if
    /// RN[j] = LN[j]+1.
    fn on_request(
        &mut self,
        from: NodeId,
        number: u64,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        plausible(number)?;
        let seen = &mut self.rn[from.index()];
        if number == 0 || number == *seen {
            return Err(Refused::Unexpected("a REQUEST that was seen before"));
        }
        let next = self.token.as_ref().map(|token| token.ln[from.index()] + 1);
        if next.is_some_and(|next| number > next) {
            return Err(Refused::Unexpected("a REQUEST whose predecessor was not served"));
        }
        *seen = if self.flaw == Flaw::AssignsRn { number } else { number.max(*seen) };
        if self.phase == Phase::Idle
            && (next == Some(*seen) || self.flaw == Flaw::StaleRequest)
            && let Some(token) = self.token.take()
        {
            out.send(from, Msg::Privilege { token });
        }
        Ok(())
    }

    /// Enter with the token.
    fn on_privilege(
        &mut self,
        mut token: Box<Token>,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        let (me, n) = (self.me.index(), self.rn.len());
        if self.token.is_some() || token.ln.len() != n {
            return Err(Refused::Unexpected("a second PRIVILEGE, or one of another system"));
        }
        token.ln.iter().try_for_each(|&number| plausible(number))?;
        if token.queue.iter().any(|node| node.index() >= n) {
            return Err(Refused::Unexpected("a PRIVILEGE whose queue names unknown nodes"));
        }
        let queued = token.queued();
        if queued.len() != token.queue.len() {
            return Err(Refused::Unexpected("a PRIVILEGE whose queue names a node twice"));
        }
        let asked = self.phase == Phase::Waiting
            && token.ln[me] + 1 == self.rn[me]
            && !queued.contains(self.me);
        if !asked {
            if !matches!(self.flaw, Flaw::LnSlip | Flaw::StaleRequest) {
                return Err(Refused::Unexpected("a PRIVILEGE that was not asked for"));
            }
            // These two send the token to nodes that did not ask or are still in its queue.
            token.queue.retain(|&node| node != self.me);
        }
        self.token = Some(token);
        if self.phase == Phase::Waiting {
            self.enter(out);
        }
        Ok(())
    }

    fn enter(&mut self, out: &mut Outbox<Self>) {
        self.phase = Phase::Inside;
        out.emit(Entered);
    }
}

variants! { Info {
    LnSlip = "suzuki-kasami-ln-slip" {
        flaw: "the exit looks for RN[j] = LN[i] + 1 instead of RN[j] = LN[j] + 1",
        breaks: Breaks::Liveness,
        shown_by: "-n 3",
        refuted_by: "-n 2 --requests 1",
    }
    AssignsRn = "suzuki-kasami-assigns-rn" {
        flaw: "RN[j] is assigned, not the maximum: a REQUEST that was overtaken hides the later one",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --order any --latency exp:1 --section 0.1",
        refuted_by: "-n 3 --requests 0,1,2 --order any",
    }
    StaleRequest = "suzuki-kasami-stale-request" {
        flaw: "an idle holder passes the token on any REQUEST, without comparing RN[j] with LN[j] + 1",
        breaks: Breaks::Liveness,
        shown_by: "-n 4 --workload sequential --latency exp:1",
        refuted_by: "-n 3 --requests 2,1,1",
    }
} }

impl Mutex for SuzukiKasami {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let zeros = || vec![0; setup.nodes()].into_boxed_slice();
        let node = |me: NodeId| SuzukiKasami {
            me,
            flaw,
            phase: Phase::Idle,
            rn: zeros(),
            token: (me.index() == 0)
                .then(|| Box::new(Token { ln: zeros(), queue: VecDeque::new() })),
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn stage(n: usize) -> Stage<SuzukiKasami> {
        Stage::new("suzuki-kasami", &Setup::new(n).unwrap())
    }

    /// The lectures' example: whoever asked while one was inside is queued at its exit and served
    /// in turn.
    #[test]
    fn the_queue_in_the_token_is_served_in_turn() {
        let mut stage = stage(4);
        stage.ask([0, 2, 1]);
        stage.release(0);
        stage.ask([3]);
        stage.leave(1);
        stage.leave(2);
        assert_eq!(stage.entries(), [0, 1, 2, 3]);
        assert_eq!(stage.sent(), 3 * 4);
    }

    /// N messages for the first entry of a lone requester, none for the next.
    #[test]
    fn a_lone_requester_keeps_the_token() {
        let mut stage = stage(5);
        stage.enter_twice(4);
        assert_eq!((stage.entries(), stage.sent()), (&[4, 4][..], 5));
    }

    /// Pitfall: whoever asked less often than the one that leaves must be found all the same.
    #[test]
    fn the_exit_compares_with_each_nodes_own_count() {
        let mut stage = stage(2);
        for _ in 0..3 {
            stage.ask([1]);
            stage.leave(1);
        }
        stage.ask([1, 0]);
        stage.leave(1);
        assert_eq!(stage.inside(), [0]);
    }

    /// Pitfall: a REQUEST that arrives when it was served long ago.
    #[test]
    fn a_late_request_does_not_move_the_token() {
        let mut stage = stage(3);
        stage.token_before_request();
        stage.release(2);
        stage.deliver(1, 2);
        assert!(stage.nodes[2].token.is_some(), "P2 does not ask");
    }

    /// Pitfall: RN is updated by maximum, so that a REQUEST that was overtaken by the next one of
    /// the same node does not hide it.
    #[test]
    fn a_late_request_does_not_lower_rn() {
        stage(3).keeps_the_latest_request();
    }

    #[test]
    fn what_no_correct_node_sends_is_refused() {
        let mut stage = stage(3);
        stage.refuses_wrong_numbers(|number| Msg::Request { number });
        let token = |ln: &[u64], queue: &[usize]| Msg::Privilege {
            token: Box::new(Token {
                ln: ln.into(),
                queue: queue.iter().copied().map(NodeId::new).collect(),
            }),
        };
        assert!(stage.inject(0, 1, token(&[0, 0, 0], &[])).is_err(), "P2 did not ask");
        assert!(stage.inject(0, 2, token(&[0, 0], &[])).is_err(), "too short");
        assert!(stage.inject(0, 2, token(&[0, 0, 1], &[])).is_err(), "P3 is served");
        assert!(stage.inject(0, 2, token(&[0, u64::MAX, 0], &[])).is_err());
        assert!(stage.inject(0, 2, token(&[0, 0, 0], &[3])).is_err(), "there is no P4");
        assert!(stage.inject(0, 2, token(&[0, 0, 0], &[2])).is_err(), "P3 is no longer queued");
        assert!(stage.inject(0, 2, token(&[0, 0, 0], &[1, 1])).is_err(), "P2 is queued twice");
        stage.refuses_the_token_again();
    }
}
