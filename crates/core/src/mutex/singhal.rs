//! Singhal's heuristic token (spec 2.9), repaired: ask only those who may have the token.

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{
    Again, CloseBehind, ConstantLatency, Everybody, First, Holder, Lone, NotHolder, OneAtATime,
    Saturated,
};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::plausible;
use crate::{
    Arbitration, Claim, Counter, Formula, Message, NodeId, NodeSet, Outbox, Refused, Setup,
    SetupError,
};

const SOUND: Info = Info {
    name: "singhal",
    title: "Singhal (repaired)",
    paper: "M. Singhal: A heuristically-aided algorithm for mutual exclusion in distributed systems. IEEE Trans. Computers 38(5), 1989. Repaired here",
    family: Family::Token,
    channel: Order::Any,
    layout: Layout::Arbitration,
    memory: Formula("8NN + 64N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("i"), &[First, NotHolder]),
            Published::new(Messages, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(Messages, Claim::exactly("0"), &[Again]),
            Published::new(
                Messages,
                Claim::exactly("N"),
                &[Saturated, Everybody, ConstantLatency, CloseBehind],
            ),
            Published::new(
                Messages,
                Claim::between("0", "N").typically("(N-1)(N+2)/(2N)"),
                &[OneAtATime],
            ),
            Published::new(Messages, Claim::between("0", "2N-1"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[First, NotHolder, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Again]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Each node keeps a list of those who may have the token or soon want it, and asks only them. \
           Whoever is asked puts the asker on its own list, so of two nodes one always asks the other, \
           and everybody asks an idle holder. Recent users thus ask few and the others many. The token \
           carries what is known of everybody's requests, and its holder picks who is next.",
    rules: &[
        "Start: P1 holds the token; each node's ask list is everybody with a smaller id (the staircase).",
        "Request: count it. The holder enters at once; others send REQUEST(count) to their ask list.",
        "REQUEST: put its sender on the ask list; who waits and has not asked it, now does. If the count \
         is new, note it, and the sender as waiting in the token if that is here; an idle holder passes \
         the token.",
        "A REQUEST with an old count is not dropped (the repair): the ask list is served as above, and who \
         has the token and does not know the sender as waiting answers INFORM.",
        "INFORM: put its sender on the ask list; who waits and has not asked it, now does.",
        "TOKEN: reconcile own and token counts, the larger one wins; empty the ask list, for all on it were \
         asked; enter.",
        "Exit: put all who wait on the ask list and pass the token to one of them, chosen by the \
         arbitration rule; keep it if nobody waits.",
    ],
    fires: &[
        "2 request | {token} = here; {enters} = yes | {me} has the token, so it enters",
        "2 request | {token} = – | request {sn'[me]} of {me}; it asks {ask}",
        "3 REQUEST | {sn[from]} < {message.sn}; {phase} = idle; {token} = here; {sent} ∋ TOKEN | {<}: the request is new and {me} holds the token idly, so it passes it on",
        "3 REQUEST | {sn[from]} < {message.sn}; {phase} = waiting; {ask} ∌ {from}; {sent} ∋ REQUEST | {<}: the request is new, and {me} waits itself, so it asks {from} in return",
        "3 REQUEST | {sn[from]} < {message.sn}; {phase} = waiting; {ask} ∋ {from} | {<}: the request is new; {me} waits itself and has asked {from} already",
        "3 REQUEST | {sn[from]} < {message.sn}; {phase} ≠ waiting; {sent} ∌ TOKEN | {<}: the request is new, so {me} notes it",
        "4 REQUEST | {message.sn} ≤ {sn[from]}; {sent} ∋ INFORM | request {message.sn} of {from} is old and {me} has the token, so it answers INFORM",
        "4 REQUEST | {message.sn} ≤ {sn[from]} | request {message.sn} of {from} is old",
        "5 INFORM | {sent} ∋ REQUEST | {me} waits and has not asked {from}, so it does",
        "5 INFORM | |",
        "6 TOKEN | {enters} = yes | waiting by now: {token.requesting'}",
        "7 release | {sent} ∋ TOKEN | of {token.requesting} the arbitration rule chooses {to}",
        "7 release | {token.requesting} = {} | nobody waits, so {me} keeps the token",
    ],
    variables: &[
        Variable::new(
            "phase",
            "state",
            "idle (H with the token, N without), waiting (R), inside (E)",
        ),
        Variable::new("sn", "SN", "the highest request number seen of each node"),
        Variable::new("ask", "SV = R", "whom it asks: at the start a staircase"),
        Variable::new("token", "token", "the token, if it is here"),
        Variable::new("token.sn", "TSN", "in the token: the highest request number of each node"),
        Variable::new("token.requesting", "TSV = R", "in the token: who waits"),
    ],
    notes: &[
        "The published rules deadlock even on FIFO channels (`singhal-1989`): a node drops those it asked, \
         since they will ask it, but they do so only if they heed its REQUEST, however late it comes. The \
         lectures' theorem that idle nodes are totally ordered by whom they ask is false, for \
         them and for the repair (`--invariant S4.3`).",
        "The repair needs no FIFO channels. With a constant latency no INFORM is ever sent and it costs \
         nothing; in general an entry costs at most N−1 REQUESTs, N−1 INFORMs and one TOKEN.",
        "One request at a time from uniformly chosen nodes makes the lists a move-to-front list: \
         (N−1)(N+2)/(2N) messages in the mean.",
        "The rule `nearest` is free of deadlock but not of starvation: two neighbours can keep the token \
         between them.",
        "Survives crashes of nodes that neither wait nor have the token.",
        "A holder that enters must count as inside, or the next REQUEST takes the token out of the section; \
         everybody asking P1 instead of the staircase, or no REQUEST in return, deadlocks.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// An outdated REQUEST is discarded.
    DiscardsOutdated,
    /// Inside, the token is passed on as by an idle holder.
    LeavesWhileExecuting,
    /// Instead of the staircase, everybody asks P1.
    EveryoneAsksFirst,
    /// Who waits does not ask in return.
    NoCounterRequest,
    /// What the own vector knows better is not told to the token.
    NoReconciliation,
}

/// A node's state. The paper's state of a node itself is its phase: R waiting, E inside, and when
/// idle H with the token and N without.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Singhal {
    me: NodeId,
    flaw: Flaw,
    rule: Arbitration,
    phase: Phase,
    /// The highest known request number of each node, the paper's `SN`.
    sn: Vec<u64>,
    /// The ask list: the nodes with `SV = R` in the paper. Who waits has asked all of them.
    ask: NodeSet,
    /// The token, if it is here; its numbers are then the same as ours.
    token: Option<Box<Token>>,
}

/// What the token carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The highest known request number of each node, the paper's `TSN`.
    pub sn: Vec<u64>,
    /// Who waits, the nodes with `TSV = R` in the paper.
    pub requesting: NodeSet,
}

impl Token {
    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        Counter::of_requests(&mut self.sn, each);
    }
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want in.
    Request {
        /// Its number among the requests of the sender, counted from 1.
        sn: u64,
    },
    /// You may enter.
    Token(Box<Token>),
    /// The token is here, and of your requests I know only served ones.
    Inform,
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Token = "TOKEN", Inform = "INFORM" }

    fn payload(&self) -> String {
        match self {
            Msg::Request { sn } => sn.to_string(),
            Msg::Token(token) if token.requesting.is_empty() => String::new(),
            Msg::Token(token) => format!("R={:?}", token.requesting),
            Msg::Inform => String::new(),
        }
    }

    fn counters(&mut self, from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        match self {
            Msg::Request { sn } => each(Counter::Requests(from), sn),
            Msg::Token(token) => token.counters(each),
            Msg::Inform => {}
        }
    }
}

impl Rules for Singhal {
    type Message = Msg;

    /// Request: SN+1; a holder goes straight to E; others send REQUEST to every node believed R.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        let me = self.me.index();
        self.sn[me] += 1;
        if let Some(token) = &mut self.token {
            token.sn[me] = self.sn[me];
            self.phase = Phase::Inside;
            out.emit(Entered);
        } else {
            for node in self.ask.iter() {
                out.send(node, Msg::Request { sn: self.sn[me] });
            }
        }
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { sn } => self.on_request(from, sn, out),
            Msg::Token(token) => self.on_token(token, out),
            Msg::Inform => self.on_inform(from, out),
        }
    }

    /// Exit: pick the next by the arbitration rule, keep the token (H) if nobody asks.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        self.pass(out);
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.sn.len())
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        Counter::of_requests(&mut self.sn, each);
        if let Some(token) = &mut self.token {
            token.counters(each);
        }
    }
}

impl Singhal {
    /// A node in N or E notes the requester; a requesting node also sends it its own REQUEST, unless
    /// it has; a holder passes the token.
    ///
    /// The repair: an outdated REQUEST still tells that its sender relies on being asked by us. If the
    /// token is here, the sender may wait again without our knowing it, so it is told.
    fn on_request(&mut self, from: NodeId, sn: u64, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(sn)?;
        if sn == 0 {
            return Err(Refused::Unexpected("requests are counted from 1"));
        }
        let outdated = sn <= self.sn[from.index()];
        if outdated && self.flaw == Flaw::DiscardsOutdated {
            return Ok(());
        }
        if !outdated {
            self.sn[from.index()] = sn;
            if let Some(token) = &mut self.token {
                token.sn[from.index()] = sn;
                token.requesting.insert(from);
            }
        }
        self.ask_too(from, out);
        match &self.token {
            Some(token) if !token.requesting.contains(from) => out.send(from, Msg::Inform),
            _ => self.pass(out),
        }
        Ok(())
    }

    /// INFORM, whose receiver adds the sender and, if it waits, sends it its current REQUEST.
    fn on_inform(&mut self, from: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if self.sn[self.me.index()] == 0 {
            return Err(Refused::Unexpected("an INFORM without a REQUEST before"));
        }
        self.ask_too(from, out);
        Ok(())
    }

    /// Adds `node` to the ask list. If one is requesting oneself and has not asked it, one asks it.
    fn ask_too(&mut self, node: NodeId, out: &mut Outbox<Self>) {
        let asks = self.phase == Phase::Waiting && self.flaw != Flaw::NoCounterRequest;
        if self.ask.insert(node) && asks {
            out.send(node, Msg::Request { sn: self.sn[self.me.index()] });
        }
    }

    /// Reconcile own and token vectors entry by entry, the larger sequence number wins. That is done
    /// on entry, and a REQUEST that comes inside is noted in both, so that "outdated" is judged
    /// against the token's numbers; at the exit the result is the same.
    fn on_token(&mut self, mut token: Box<Token>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let me = self.me.index();
        if self.phase != Phase::Waiting {
            return Err(Refused::Unexpected("a token that was not asked for"));
        }
        if token.sn.len() != self.sn.len()
            || token.requesting.iter().any(|j| j.index() >= self.sn.len())
        {
            return Err(Refused::Unexpected("a token of another system"));
        }
        if token.sn[me] != self.sn[me] || !token.requesting.remove(self.me) {
            return Err(Refused::Unexpected("a token for another request"));
        }
        token.sn.iter().try_for_each(|&sn| plausible(sn))?;
        for (j, (ours, theirs)) in self.sn.iter_mut().zip(&mut token.sn).enumerate() {
            if *ours > *theirs && self.flaw != Flaw::NoReconciliation {
                *theirs = *ours;
                token.requesting.insert(NodeId::new(j));
            } else {
                *ours = *theirs;
            }
        }
        // All of them were asked in this round, so from now on it is they who ask us.
        self.ask.clear();
        self.token = Some(token);
        self.phase = Phase::Inside;
        out.emit(Entered);
        Ok(())
    }

    /// An idle holder passes the token if somebody waits.
    fn pass(&mut self, out: &mut Outbox<Self>) {
        if self.phase != Phase::Idle && self.flaw != Flaw::LeavesWhileExecuting {
            return;
        }
        let Some(next) = self.successor() else { return };
        let Some(token) = self.token.take() else { return };
        self.ask.extend(token.requesting.iter());
        out.send(next, Msg::Token(token));
    }

    /// The arbitration rule; what it leaves open is decided by round robin.
    fn successor(&self) -> Option<NodeId> {
        let token = self.token.as_ref()?;
        let n = self.sn.len();
        // Equally near on both sides: the smaller distance upwards is the higher side.
        token.requesting.iter().min_by_key(|node| {
            let up = (node.index() + n - self.me.index()) % n;
            let first = match self.rule {
                Arbitration::RoundRobin => 0,
                Arbitration::SmallestSequence => token.sn[node.index()],
                Arbitration::Nearest => up.min(n - up) as u64,
            };
            (first, up)
        })
    }
}

variants! { Info {
    DiscardsOutdated = "singhal-1989" with {
        title: "Singhal (as published)",
        paper: "M. Singhal: A heuristically-aided algorithm for mutual exclusion in distributed systems. IEEE Trans. Computers 38(5), 1989",
        channel: Order::Fifo,
        rules: &[
            "Start: P1 holds the token; each node believes R (requesting) of everybody with a smaller id.",
            "Request: count it. The holder enters at once; others send REQUEST(count) to all believed R.",
            "REQUEST with an old count: discard it. Else believe R of its sender; who waits and did not \
             believe that before sends its own REQUEST in return; an idle holder passes the token.",
            "Exit: reconcile own and token beliefs, the larger count wins; pass the token to one believed \
             R, chosen by the arbitration rule; keep it if there is none.",
        ],
        fires: &[
            "2 request | {enters} = yes | {me} has the token, so it enters",
            "2 request | | request {sn'[me]} of {me}; it asks {ask}",
            "3 REQUEST | {message.sn} ≤ {sn[from]}; {sent} = | request {message.sn} of {from} is old, so {me} discards it",
            "3 REQUEST | {sn[from]} < {message.sn}; {sent} ∋ TOKEN | {<}: the request is new and {me} holds the token idly, so it passes it on",
            "3 REQUEST | {sn[from]} < {message.sn}; {sent} ∋ REQUEST | {<}: the request is new, and {me} waits itself, so it asks {from} in return",
            "3 REQUEST | {sn[from]} < {message.sn} | {<}: the request is new, so {me} notes it",
            "4 TOKEN | {enters} = yes |",
            "4 release | {sent} ∋ TOKEN | of {token.requesting} the arbitration rule chooses {to}",
            "4 release | | nobody waits, so {me} keeps the token",
        ],
    } {
        flaw: "an outdated REQUEST is discarded, though its sender relies on being asked in return",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency pareto:0.1,1 --think exp:5 --section 0.1",
        refuted_by: "-n 3 --requests 1,1,2",
    }
    LeavesWhileExecuting = "singhal-leaves-while-executing" {
        flaw: "a holder that enters is not noted as executing: a REQUEST takes the token out of the section",
        breaks: Breaks::Safety,
        shown_by: "-n 2 --latency uniform:0.1..2 --think exp:2",
        refuted_by: "-n 2 --requests 1",
    }
    EveryoneAsksFirst = "singhal-everyone-asks-first" {
        flaw: "in the beginning everybody asks P1, instead of everybody with a smaller id",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --workload sequential",
        refuted_by: "-n 3 --requests 0,1,1",
    }
    NoCounterRequest = "singhal-no-counter-request" {
        flaw: "who waits does not ask a new requester in return",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..2",
        refuted_by: "-n 3 --requests 0,1,1",
    }
    NoReconciliation = "singhal-no-reconciliation" {
        flaw: "REQUESTs that were noted before the token came are not noted in it",
        breaks: Breaks::Liveness,
        shown_by: "-n 3 --latency uniform:0.1..2",
        refuted_by: "-n 3 --requests 0,1,1",
    }
} }

impl Mutex for Singhal {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let n = setup.nodes();
        let node = |me: NodeId| Singhal {
            me,
            flaw,
            rule: setup.arbitration(),
            phase: Phase::Idle,
            sn: vec![0; n],
            ask: match flaw {
                Flaw::EveryoneAsksFirst => NodeId::all(me.index().min(1)).collect(),
                _ => NodeId::all(me.index()).collect(),
            },
            token: (me.index() == 0)
                .then(|| Box::new(Token { sn: vec![0; n], requesting: NodeSet::new() })),
        };
        Ok(NodeId::all(n).map(node).collect())
    }
}

#[cfg(test)]
mod tests;
