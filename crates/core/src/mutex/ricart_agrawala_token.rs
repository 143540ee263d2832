//! Ricart–Agrawala's token (1983): ask everybody; the token counts who was served and goes round in the order of ids.

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{
    Again, CloseBehind, ConstantLatency, First, Holder, Lone, NotHolder, OneAtATime, Saturated,
};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::plausible;
use crate::{Claim, Counter, Formula, Message, NodeId, Outbox, Refused, Setup, SetupError};

const SOUND: Info = Info {
    name: "ricart-agrawala-token",
    title: "Ricart–Agrawala with a token",
    paper: "G. Ricart, A. K. Agrawala: Author's response to \"On mutual exclusion in computer networks\" by Carvalho and Roucairol. CACM 26(2), 1983",
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
    idea: "Whoever has the token may enter. A node without it numbers its request and sends it to all \
           others, since anybody may have the token. The token carries for each node the number of its \
           last request that was served; a request with a higher number waits. Whoever leaves looks \
           for such a request from its own id upwards and around, so the token goes round like on a \
           ring and skips those who do not ask.",
    rules: &[
        "Request with the token: enter.",
        "Request without it: count it, Request[i] + 1, and send REQUEST(Request[i]) to all others.",
        "REQUEST(n) from j: Request[j] = max(Request[j], n). A holder outside the section looks for a \
         successor as in rule 5.",
        "Enter on the TOKEN.",
        "Exit: Token[i] = Request[i]; the token goes to the first j of i+1, …, N, 1, …, i−1 with \
         Request[j] > Token[j], or stays if there is none.",
    ],
    fires: &[
        "1 request | {token} = here; {enters} = yes | {me} has the token, so it enters",
        "2 request | {token} = – | {me} has no token; Request[{me}] is now {request'[me]}",
        "3 REQUEST | {token} = – | {me} has no token; Request[{from}] is now {request'[from]}",
        "3 REQUEST | {phase} = inside; {sent} ∌ TOKEN | {me} is inside, so it keeps the token; Request[{from}] is now {request'[from]}",
        "3 REQUEST | {phase} = idle; {token.served[from]} < {request'[from]}; {sent} ∋ TOKEN | Token[{from}] = {token.served[from]} < Request[{from}] = {request'[from]}, so the token goes to {from}",
        "3 REQUEST | {phase} = idle; {request'[from]} ≤ {token.served[from]}; {sent} ∌ TOKEN | Request[{from}] = {request'[from]} ≤ Token[{from}] = {token.served[from]}: that request was served, so {me} keeps the token",
        "4 TOKEN | {enters} = yes |",
        "5 release | {sent} ∋ TOKEN | from {me} upwards and around, {to} is the first whose request was not served: Request = {request}, Token was {token.served}",
        "5 release | {sent} ∌ TOKEN | no request is left that was not served, so {me} keeps the token",
    ],
    variables: &[
        Variable::new("phase", "Token_Held", "idle, waiting or inside"),
        Variable::new("request", "Request", "the highest request number seen of each node"),
        Variable::new("token", "token", "the token, if it is here"),
        Variable::new(
            "token.served",
            "Token",
            "in the token: the last request of each node that was served",
        ),
    ],
    notes: &[
        "It was published beside Carvalho and Roucairol's algorithm, as an answer to it, two years before \
         Suzuki and Kasami's, which differs by a queue in the token: there who leaves appends all \
         new requests and serves them in turn, here the search begins anew at every exit.",
        "Since the search begins behind the one that leaves, the token never turns back: between two \
         entries of one node everybody whose request is known gets its turn. A search that begins at \
         P1 each time starves those with high ids.",
        "Needs no FIFO channels: a REQUEST that was overtaken changes nothing, because Request is \
         updated by maximum.",
        "With a network multicast the REQUEST is one message: 2 per entry instead of N.",
        "N−1 messages where requests come one at a time from uniformly chosen nodes: one in N comes \
         from the holder and costs nothing.",
        "Survives crashes of nodes that neither ask nor hold.",
        "Requests are not served in the order of happened-before but in that of ids.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// The search for the next one always begins at P1.
    FromFirst,
    /// A REQUEST takes the token also from a node inside.
    NotHeld,
    /// The last REQUEST to arrive counts, not the latest one.
    AssignsRequest,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RicartAgrawalaToken {
    me: NodeId,
    flaw: Flaw,
    /// Inside is the paper's `Token_Held`.
    phase: Phase,
    /// The highest request number seen of each node, the own one included.
    request: Box<[u64]>,
    /// The token where it is here, the paper's `Token_Present`.
    token: Option<Box<Token>>,
}

/// What travels with the right to enter.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The number of each node's request that was served last, the paper's `Token`.
    served: Box<[u64]>,
}

impl Token {
    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        Counter::of_requests(&mut self.served, each);
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
    /// You may. It is large and moves, so it is boxed.
    Token(Box<Token>),
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Token = "TOKEN" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { number } => number.to_string(),
            Msg::Token(token) => format!("{:?}", token.served),
        }
    }

    fn counters(&mut self, from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        match self {
            Msg::Request { number } => each(Counter::Requests(from), number),
            Msg::Token(token) => token.counters(each),
        }
    }
}

impl Rules for RicartAgrawalaToken {
    type Message = Msg;

    /// A holder enters at once; others count and ask everybody.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        if self.token.is_some() {
            self.enter(out);
        } else {
            let number = &mut self.request[self.me.index()];
            *number += 1;
            out.broadcast(Msg::Request { number: *number });
        }
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { number } => self.on_request(from, number, out),
            Msg::Token(token) => self.on_token(token, out),
        }
    }

    /// The own request is served, and the next one gets the token.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        let me = self.me.index();
        if let Some(token) = &mut self.token {
            token.served[me] = self.request[me];
        }
        self.pass(out);
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.request.len())
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        Counter::of_requests(&mut self.request, each);
        if let Some(token) = &mut self.token {
            token.counters(each);
        }
    }
}

impl RicartAgrawalaToken {
    /// `Request` is updated by maximum; a holder outside the section passes the token if that request
    /// was not served.
    fn on_request(
        &mut self,
        from: NodeId,
        number: u64,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        plausible(number)?;
        let seen = &mut self.request[from.index()];
        if number == 0 || number == *seen {
            return Err(Refused::Unexpected("a REQUEST that was seen before"));
        }
        if self.token.as_ref().is_some_and(|token| number > token.served[from.index()] + 1) {
            return Err(Refused::Unexpected("a REQUEST whose predecessor was not served"));
        }
        *seen = if self.flaw == Flaw::AssignsRequest { number } else { number.max(*seen) };
        if self.phase == Phase::Idle || self.flaw == Flaw::NotHeld {
            self.pass(out);
        }
        Ok(())
    }

    /// Enter with the token.
    fn on_token(&mut self, token: Box<Token>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let me = self.me.index();
        if self.token.is_some() || token.served.len() != self.request.len() {
            return Err(Refused::Unexpected("a second TOKEN, or one of another system"));
        }
        token.served.iter().try_for_each(|&number| plausible(number))?;
        if self.phase != Phase::Waiting || token.served[me] + 1 != self.request[me] {
            return Err(Refused::Unexpected("a TOKEN that was not asked for"));
        }
        self.token = Some(token);
        self.enter(out);
        Ok(())
    }

    fn enter(&mut self, out: &mut Outbox<Self>) {
        self.phase = Phase::Inside;
        out.emit(Entered);
    }

    /// The token goes to the next whose request was not served, if there is one.
    fn pass(&mut self, out: &mut Outbox<Self>) {
        if let Some(next) = self.successor()
            && let Some(token) = self.token.take()
        {
            out.send(next, Msg::Token(token));
        }
    }

    /// The first of i+1, …, N, 1, …, i−1 whose request was not served.
    fn successor(&self) -> Option<NodeId> {
        let token = self.token.as_ref()?;
        let n = self.request.len();
        let first = if self.flaw == Flaw::FromFirst { 0 } else { self.me.index() + 1 };
        let mut around = (first..first + n).map(|place| place % n);
        let waits = |&j: &usize| j != self.me.index() && self.request[j] > token.served[j];
        around.find(waits).map(NodeId::new)
    }
}

variants! { Info {
    FromFirst = "ricart-agrawala-token-from-first" {
        flaw: "the search for the next one begins at P1 instead of behind the one that leaves",
        breaks: Breaks::Starvation,
        shown_by: "-n 3",
        refuted_by: "-n 3 --judge starvation",
    }
    NotHeld = "ricart-agrawala-token-not-held" {
        flaw: "Token_Held is not looked at: a REQUEST takes the token out of the section",
        breaks: Breaks::Safety,
        shown_by: "-n 2 --latency uniform:0.1..2 --think exp:2",
        refuted_by: "-n 2 --requests 1",
    }
    AssignsRequest = "ricart-agrawala-token-assigns-request" {
        flaw: "Request[j] is assigned, not the maximum: a REQUEST that was overtaken hides the later one",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --order any --latency exp:1 --section 0.1",
        refuted_by: "-n 3 --requests 0,1,2 --order any",
    }
} }

impl Mutex for RicartAgrawalaToken {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let zeros = || vec![0; setup.nodes()].into_boxed_slice();
        let node = |me: NodeId| RicartAgrawalaToken {
            me,
            flaw,
            phase: Phase::Idle,
            request: zeros(),
            token: (me.index() == 0).then(|| Box::new(Token { served: zeros() })),
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn stage(n: usize) -> Stage<RicartAgrawalaToken> {
        Stage::new("ricart-agrawala-token", &Setup::new(n).unwrap())
    }

    /// The search goes upwards from the one that leaves and around, whoever asked first.
    #[test]
    fn the_token_goes_round_in_the_order_of_ids() {
        let mut stage = stage(5);
        stage.ask([2]);
        for node in [1, 0, 4] {
            stage.ask([node]);
        }
        for node in [2, 4, 0] {
            stage.leave(node);
        }
        assert_eq!(stage.entries(), [2, 4, 0, 1]);
        assert_eq!(stage.sent(), 4 * 5);
    }

    /// With the search from P1 the two lowest ids pass the token to each other.
    #[test]
    fn a_search_from_the_first_never_reaches_the_last() {
        let rounds = |name| {
            let mut stage = Stage::<RicartAgrawalaToken>::new(name, &Setup::new(3).unwrap());
            (0..3).for_each(|node| stage.request(node));
            for _ in 0..6 {
                stage.flush();
                let node = stage.inside()[0];
                stage.release(node);
                stage.request(node);
            }
            stage.entries().to_vec()
        };
        assert_eq!(rounds("ricart-agrawala-token"), [0, 1, 2, 0, 1, 2]);
        assert_eq!(rounds("ricart-agrawala-token-from-first"), [0, 1, 0, 1, 0, 1]);
    }

    /// N messages for the first entry of a lone requester, none for the next.
    #[test]
    fn a_lone_requester_keeps_the_token() {
        let mut stage = stage(5);
        stage.enter_twice(4);
        assert_eq!((stage.entries(), stage.sent()), (&[4, 4][..], 5));
    }

    /// Pitfall: a holder inside keeps the token, and serves at its exit whoever asked meanwhile.
    #[test]
    fn a_holder_inside_keeps_the_token() {
        let mut stage = stage(2);
        stage.ask([0, 1]);
        assert_eq!(stage.inside(), [0]);
        stage.leave(0);
        assert_eq!(stage.inside(), [1]);
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

    /// Pitfall: a REQUEST that was overtaken by the next one of the same node does not hide it.
    #[test]
    fn a_late_request_does_not_lower_request() {
        stage(3).keeps_the_latest_request();
    }

    #[test]
    fn what_no_correct_node_sends_is_refused() {
        let mut stage = stage(3);
        stage.refuses_wrong_numbers(|number| Msg::Request { number });
        let token = |served: &[u64]| Msg::Token(Box::new(Token { served: served.into() }));
        assert!(stage.inject(0, 1, token(&[0, 0, 0])).is_err(), "P2 did not ask");
        assert!(stage.inject(0, 2, token(&[0, 0])).is_err(), "too short");
        assert!(stage.inject(0, 2, token(&[0, 0, 1])).is_err(), "P3 is served");
        assert!(stage.inject(0, 2, token(&[0, u64::MAX, 0])).is_err());
        stage.refuses_the_token_again();
    }
}
