//! Singhal's heuristic token (spec 2.9), repaired: ask only those who may have the token.

use serde::{Deserialize, Serialize};

use super::{Entered, Lock, Mutex, Phase, known_peer};
use crate::catalogue::{Breaks, Broken, Claims, Family, Info, Layout, Order};
use crate::time::plausible;
use crate::{
    Arbitration, Claim, Formula, Input, Message, Never, NodeId, NodeSet, Outbox, Protocol, Refused,
    Setup, SetupError,
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
        messages_first: Claim::exactly("N"),
        messages_again: Claim::exactly("0"),
        messages_saturated: Claim::between("0", "N").typically("N"),
        messages_uniform: Some(Claim::between("0", "N").typically("(N-1)(N+2)/(2N)")),
        messages_most: Some(Formula("2N-1")),
        client_first: Claim::exactly("2"),
        client_again: Claim::exactly("0"),
        sync_delay: Claim::exactly("1"),
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
    notes: &[
        "The published rules deadlock even on FIFO channels (`singhal-1989`): a node drops those it asked, \
         since they will ask it, but they do so only if they heed its REQUEST, however late it comes. The \
         lectures' theorem that idle nodes are totally ordered by whom they ask fails in the same run.",
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

/// What the broken variant gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// An outdated REQUEST is discarded.
    DiscardsOutdated,
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
    const KINDS: &'static [&'static str] = &["REQUEST", "TOKEN", "INFORM"];

    fn kind(&self) -> usize {
        match self {
            Msg::Request { .. } => 0,
            Msg::Token(_) => 1,
            Msg::Inform => 2,
        }
    }
}

impl Protocol for Singhal {
    type Command = Lock;
    type Message = Msg;
    type Timer = Never;
    type Event = Entered;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Start => Ok(()),
            Input::Command(Lock::Request) => self.request(out),
            Input::Command(Lock::Release) => self.release(out),
            Input::Deliver { from, message } => {
                known_peer(from, self.me, self.sn.len())?;
                match message {
                    Msg::Request { sn } => self.on_request(from, sn, out),
                    Msg::Token(token) => self.on_token(token, out),
                    Msg::Inform => self.on_inform(from, out),
                }
            }
            Input::Expire(never) => match never {},
        }
    }
}

impl Singhal {
    /// Request: SN+1; a holder goes straight to E; others send REQUEST to every node believed R.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.may_request()?;
        let me = self.me.index();
        self.sn[me] += 1;
        if let Some(token) = &mut self.token {
            token.sn[me] = self.sn[me];
            self.phase = Phase::Inside;
            out.emit(Entered);
        } else {
            self.phase = Phase::Waiting;
            for node in self.ask.iter() {
                out.send(node, Msg::Request { sn: self.sn[me] });
            }
        }
        Ok(())
    }

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
        if self.ask.insert(node) && self.phase == Phase::Waiting {
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
            if *ours > *theirs {
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

    /// Exit: pick the next by the arbitration rule, keep the token (H) if nobody asks.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.may_release()?;
        self.phase = Phase::Idle;
        self.pass(out);
        Ok(())
    }

    /// An idle holder passes the token if somebody waits.
    fn pass(&mut self, out: &mut Outbox<Self>) {
        if self.phase != Phase::Idle {
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

impl Mutex for Singhal {
    const VARIANTS: &'static [Info] = &[
        SOUND,
        Info {
            name: "singhal-1989",
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
            broken: Some(Broken {
                flaw: "an outdated REQUEST is discarded, though its sender relies on being asked in return",
                breaks: Breaks::Liveness,
                shown_by: "-n 3 --latency pareto:0.1,1 --think exp:5 --section 0.1",
            }),
            ..SOUND
        },
    ];

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = match name {
            "singhal" => Flaw::None,
            "singhal-1989" => Flaw::DiscardsOutdated,
            _ => return Err(SetupError::UnknownName(name.into())),
        };
        let n = setup.nodes();
        let node = |me: NodeId| Singhal {
            me,
            flaw,
            rule: setup.arbitration(),
            phase: Phase::Idle,
            sn: vec![0; n],
            ask: NodeId::all(me.index()).collect(),
            token: (me.index() == 0)
                .then(|| Box::new(Token { sn: vec![0; n], requesting: NodeSet::new() })),
        };
        Ok(NodeId::all(n).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    const REQUEST: Msg = Msg::Request { sn: 1 };

    fn stage(n: usize) -> Stage<Singhal> {
        Stage::new("singhal", &Setup::new(n).unwrap())
    }

    fn set(nodes: &[usize]) -> NodeSet {
        nodes.iter().copied().map(NodeId::new).collect()
    }

    /// The staircase: P1 is asked by all, the last one asks all. Then that one is, by all.
    #[test]
    fn a_lone_requester_asks_its_list_once_and_then_nobody() {
        let mut stage = stage(5);
        stage.request(4);
        stage.flush();
        assert_eq!((stage.entries(), stage.sent()), (&[4][..], 5));
        stage.release(4);
        stage.request(4);
        stage.release(4);
        assert_eq!((stage.entries(), stage.sent()), (&[4, 4][..], 5));
        assert_eq!(stage.nodes[4].ask, set(&[]));
        stage.request(0);
        stage.flush();
        assert_eq!((stage.inside(), stage.sent()), (vec![0], 7));
    }

    /// Pitfall: a holder that asks and stays H passes the token on while it is inside.
    #[test]
    fn the_token_does_not_leave_a_holder_that_is_inside() {
        let mut stage = stage(2);
        stage.request(0);
        assert_eq!(stage.inside(), [0]);
        stage.request(1);
        stage.flush();
        assert_eq!(stage.inside(), [0]);
        stage.release(0);
        stage.flush();
        assert_eq!(stage.entries(), [0, 1]);
    }

    /// Pitfall: without a REQUEST in return P3, who gets the token first, never hears of P2.
    #[test]
    fn who_waits_asks_a_new_requester_in_return() {
        let mut stage = stage(3);
        stage.request(1);
        stage.request(2);
        stage.deliver(2, 0);
        stage.deliver(0, 2);
        stage.deliver(2, 1);
        assert_eq!(stage.oldest(1, 2), REQUEST);
        stage.deliver(1, 2);
        assert_eq!(stage.inside(), [2]);
        stage.release(2);
        stage.flush();
        assert_eq!(stage.entries(), [2, 1]);
    }

    /// Pitfall: if everybody asked P1 only, P3 would not find the token at P2.
    #[test]
    fn the_staircase_leads_to_the_holder() {
        let mut stage = stage(3);
        stage.request(1);
        stage.flush();
        stage.release(1);
        stage.request(2);
        stage.flush();
        assert_eq!(stage.entries(), [1, 2]);
    }

    /// The spec's run: P2 holds the idle token when an outdated REQUEST of P3, who waits, arrives.
    fn outdated_request(name: &str) -> Stage<Singhal> {
        let mut stage = Stage::<Singhal>::new(name, &Setup::new(3).unwrap());
        stage.request(1);
        stage.request(2);
        stage.deliver(2, 0);
        stage.request(0);
        stage.deliver(0, 2);
        stage.release(2);
        stage.deliver(0, 2);
        stage.request(2);
        stage.deliver(2, 0);
        stage.release(0);
        stage.deliver(1, 0);
        stage.deliver(2, 0);
        stage.deliver(0, 1);
        stage.release(1);
        assert_eq!(stage.entries(), [2, 0, 1]);
        assert_eq!((stage.nodes[1].sn[2], stage.nodes[2].sn[2]), (1, 2));
        assert_eq!(stage.oldest(2, 1), REQUEST);
        stage.deliver(2, 1);
        stage
    }

    #[test]
    fn as_published_an_outdated_request_deadlocks() {
        let mut stage = outdated_request("singhal-1989");
        let sent = stage.sent();
        stage.flush();
        assert_eq!((stage.entries(), stage.sent()), (&[2, 0, 1][..], sent));
        assert_eq!(stage.nodes[2].phase, Phase::Waiting);
        // The lectures' order of idle nodes: of these two, neither asks the other.
        assert_eq!(stage.nodes[1].ask, set(&[]));
        assert_eq!(stage.nodes[2].ask, set(&[0]));
    }

    #[test]
    fn repaired_an_outdated_request_is_answered() {
        let mut stage = outdated_request("singhal");
        assert_eq!(stage.oldest(1, 2), Msg::Inform);
        stage.deliver(1, 2);
        assert_eq!(stage.oldest(2, 1), Msg::Request { sn: 2 });
        stage.flush();
        assert_eq!(stage.entries(), [2, 0, 1, 2]);
    }

    /// The numbers of a message are checked before they are believed.
    #[test]
    fn what_no_correct_node_sends_is_refused() {
        let mut stage = stage(3);
        let token = |sn: &[u64], requesting: &[usize]| {
            Msg::Token(Box::new(Token { sn: sn.to_vec(), requesting: set(requesting) }))
        };
        assert!(stage.inject(0, 2, token(&[0, 0, 0], &[2])).is_err(), "nobody asked");
        assert!(stage.inject(0, 2, Msg::Inform).is_err(), "nobody asked");
        stage.request(2);
        for wrong in [
            token(&[0, 0], &[2]),
            token(&[0, 0, 1], &[2, 3]),
            token(&[0, 0, 1], &[1]),
            token(&[0, 0, 2], &[2]),
            token(&[0, u64::MAX, 1], &[2]),
            Msg::Request { sn: 0 },
            Msg::Request { sn: u64::MAX },
        ] {
            assert!(stage.inject(0, 2, wrong.clone()).is_err(), "{wrong:?}");
        }
        assert!(stage.inject(0, 2, token(&[0, 0, 1], &[2])).is_ok());
    }

    #[test]
    fn the_arbitration_rule_chooses() {
        use Arbitration::*;
        for (rule, requesting, next) in [
            (RoundRobin, &[0, 1, 4][..], 4),
            (RoundRobin, &[0, 1], 0),
            (SmallestSequence, &[0, 1, 4], 0),
            (SmallestSequence, &[1, 4], 4),
            (Nearest, &[0, 1, 4], 1),
            (Nearest, &[1, 3], 3),
            (Nearest, &[0, 4], 4),
        ] {
            let setup = Setup::new(6).unwrap().with_arbitration(rule);
            let mut node = Singhal::build("singhal", &setup).unwrap().remove(2);
            let token = Token { sn: vec![3, 5, 0, 5, 5, 0], requesting: set(requesting) };
            node.token = Some(Box::new(token));
            assert_eq!(node.successor(), Some(NodeId::new(next)), "{rule} {requesting:?}");
        }
    }

    #[test]
    fn nearest_can_starve_the_distant() {
        let setup = Setup::new(6).unwrap().with_arbitration(Arbitration::Nearest);
        let mut stage = Stage::<Singhal>::new("singhal", &setup);
        stage.request(0);
        stage.request(3);
        for _ in 0..10 {
            for (inside, next) in [(0, 1), (1, 0)] {
                stage.request(next);
                stage.flush();
                stage.release(inside);
                stage.flush();
                assert_eq!(stage.inside(), [next]);
            }
        }
        assert_eq!(stage.nodes[3].phase, Phase::Waiting);
    }

    /// Random runs: the token never has a false R. When all is quiet again everybody was served, of
    /// any two nodes one asks the other, and all ask the holder.
    #[test]
    fn the_token_never_has_a_false_r() {
        let n = 5;
        for seed in 0..60_u64 {
            let order = if seed % 2 == 0 { Order::Fifo } else { Order::Any };
            let mut state = seed;
            let mut below = |limit: usize| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as usize % limit
            };
            let mut stage = stage(n);
            for _ in 0..2000 {
                let (from, to) = (below(n), below(n));
                let in_flight = stage.in_flight(from, to);
                match stage.nodes[to].phase {
                    Phase::Idle if from == to => stage.request(to),
                    Phase::Inside if from == to => stage.release(to),
                    _ if in_flight == 0 => continue,
                    _ if order == Order::Fifo => stage.deliver(from, to),
                    _ => stage.deliver_nth(from, to, below(in_flight)).unwrap(),
                }
                for token in stage.nodes.iter().filter_map(|node| node.token.as_ref()) {
                    for node in token.requesting.iter().map(NodeId::index) {
                        assert_eq!(stage.nodes[node].phase, Phase::Waiting);
                        assert_eq!(stage.nodes[node].sn[node], token.sn[node]);
                    }
                }
            }
            stage.flush();
            while let [inside] = stage.inside()[..] {
                stage.release(inside);
                stage.flush();
            }
            let asks = |i: usize, j: usize| stage.nodes[i].ask.contains(NodeId::new(j));
            for (i, j) in (0..n * n).map(|pair| (pair / n, pair % n)).filter(|(i, j)| i != j) {
                assert_eq!(stage.nodes[i].phase, Phase::Idle);
                assert!(asks(i, j) || asks(j, i));
                assert!(stage.nodes[j].token.is_none() || asks(i, j));
            }
        }
    }

    #[test]
    fn every_interleaving_is_safe_and_serves_everyone() {
        for rule in Arbitration::ALL {
            for (order, requests) in [
                (Order::Fifo, &[3, 3][..]),
                (Order::Any, &[3, 3]),
                (Order::Fifo, &[2, 2, 2]),
                (Order::Any, &[1, 2, 2]),
            ] {
                let setup = Setup::new(requests.len()).unwrap().with_arbitration(rule);
                Stage::<Singhal>::explore("singhal", &setup, requests, order).unwrap();
            }
        }
    }

    #[test]
    fn every_flaw_is_found() {
        for info in &Singhal::VARIANTS[1..] {
            Stage::<Singhal>::refute(info, &Setup::new(3).unwrap(), &[1, 1, 2]);
        }
    }
}
