//! Token ring (spec 2.7), also called perpetuum mobile: a token goes round, and whoever has it may
//! enter.

use serde::{Deserialize, Serialize};

use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{
    Again, AtOnce, ConstantLatency, Everybody, First, Holder, Lone, NotHolder, Saturated,
};
use crate::claims::Quantity::{Bypass, ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{Claim, Formula, Message, NodeId, Outbox, Refused, Setup, SetupError};

const SOUND: Info = Info {
    name: "token-ring",
    title: "Token ring (perpetuum mobile)",
    paper: "G. Le Lann: Distributed systems – towards a formal approach. IFIP Congress, 1977",
    family: Family::Token,
    channel: Order::Any,
    layout: Layout::None,
    memory: Formula("16N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("i"), &[First, AtOnce, NotHolder]),
            Published::new(Messages, Claim::exactly("N+1"), &[First, AtOnce, Holder]),
            Published::new(Messages, Claim::exactly("N"), &[Again, AtOnce]),
            Published::new(Messages, Claim::exactly("1"), &[Saturated, Everybody]),
            Published::new(
                ClientDelay,
                Claim::exactly("i-1"),
                &[First, AtOnce, NotHolder, ConstantLatency],
            ),
            Published::new(
                ClientDelay,
                Claim::exactly("N"),
                &[First, AtOnce, Holder, ConstantLatency],
            ),
            Published::new(ClientDelay, Claim::exactly("N"), &[Again, AtOnce, ConstantLatency]),
            Published::new(ClientDelay, Claim::between("0", "N"), &[Lone, ConstantLatency]),
            Published::new(
                SyncDelay,
                Claim::exactly("1"),
                &[Saturated, Everybody, ConstantLatency],
            ),
            Published::new(SyncDelay, Claim::between("1", "N-1"), &[ConstantLatency]),
            Published::new(Bypass, Claim::between("0", "N-1"), &[]),
        ],
        ordered: false,
    },
    idea: "The nodes form a ring, in the order of their ids, on which a single token circulates \
           for ever. A node that wants in waits until the token comes by, keeps it while inside, \
           and sends it on when it leaves.",
    rules: &[
        "Start: the first node sends the TOKEN to its successor, unless it wants in or is alone.",
        "Request: wait for the TOKEN.",
        "TOKEN at a node that wants in: keep it and enter.",
        "TOKEN at any other node: send it to the successor.",
        "Exit: send the TOKEN to the successor, even if the wish comes again at once.",
    ],
    fires: &[
        "1 start | {sent} ∋ TOKEN |",
        "2 request | {enters} = no |",
        "3 TOKEN | {phase} = waiting; {sent} ∌ TOKEN | {me} wants in, so it keeps the TOKEN",
        "3 request | {enters} = yes | the token rests here",
        "4 TOKEN | {phase} ≠ waiting; {sent} ∋ TOKEN | {me} does not want in, so the TOKEN goes on to {to}",
        "5 release | |",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::new("token", "token", "whether the token is here"),
    ],
    notes: &[
        "One message per entry when everybody wants in; without bound when nobody does: while a lone \
         requester thinks, the token goes round and costs as well.",
        "The wait is N/2·T on average. Position on the ring decides, not the age of a request.",
        "Needs no FIFO channels: there is one message.",
        "Survives no crash: the ring is broken, and the token may be lost.",
        "A driver paces an idle token; otherwise it spins as fast as the network allows.",
    ],
    broken: None,
};

/// What the broken variant gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// The token goes on while its receiver is inside.
    PassesInside,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenRing {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    phase: Phase,
    /// Whether the token is here, the paper's control token: inside, before the start, or alone.
    token: bool,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// It is your turn.
    Token,
}

impl Message for Msg {
    kinds! { Token = "TOKEN" }
}

impl Rules for TokenRing {
    type Message = Msg;

    /// One token circulates: the resting one sets out. Without it, or inside, nothing begins.
    fn start(&mut self, out: &mut Outbox<Self>) {
        if self.token && self.phase == Phase::Idle {
            self.pass_on(out);
        }
    }

    /// A node that wants in waits for the token; one where it rests has it.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        if self.token {
            self.enter(out);
        }
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let Msg::Token = msg;
        self.on_token(from, out)
    }

    /// The token leaves with the node's exit.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        self.pass_on(out);
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }
}

impl TokenRing {
    /// A node that wants in keeps it while inside; any other one passes it on.
    fn on_token(&mut self, from: NodeId, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if self.successor_of(from) != self.me {
            return Err(Refused::Unexpected("a TOKEN that is not of the predecessor"));
        }
        if self.token {
            return Err(Refused::Unexpected("a second TOKEN"));
        }
        self.token = true;
        let wanted = self.phase == Phase::Waiting;
        if wanted {
            self.enter(out);
        }
        if !wanted || self.flaw == Flaw::PassesInside {
            self.pass_on(out);
        }
        Ok(())
    }

    fn enter(&mut self, out: &mut Outbox<Self>) {
        self.phase = Phase::Inside;
        out.emit(Entered);
    }

    /// To the successor on the ring, if it is here; a node alone keeps it.
    fn pass_on(&mut self, out: &mut Outbox<Self>) {
        if self.token && self.n > 1 {
            self.token = false;
            out.send(self.successor_of(self.me), Msg::Token);
        }
    }

    fn successor_of(&self, node: NodeId) -> NodeId {
        NodeId::new((node.index() + 1) % self.n as usize)
    }
}

variants! { Info {
    PassesInside = "token-ring-passes-inside" {
        flaw: "a node that enters sends the token on at once",
        breaks: Breaks::Safety,
        shown_by: "-n 2 --section 2",
        refuted_by: "-n 2 --requests 1",
    }
} }

impl Mutex for TokenRing {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let node = |me: NodeId| TokenRing {
            me,
            n: setup.nodes() as u32,
            flaw,
            phase: Phase::Idle,
            token: me.index() == 0,
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;
    use crate::{Effect, Input, Lock, Protocol as _};

    fn stage(n: usize) -> Stage<TokenRing> {
        Stage::new("token-ring", &Setup::new(n).unwrap())
    }

    /// The lectures' example: everybody wants in, and the token serves them in the order of the
    /// ring, one message per entry.
    #[test]
    fn the_token_serves_everyone_in_turn() {
        let mut stage = stage(4);
        (0..4).for_each(|node| stage.request(node));
        for (entries, node) in [1, 2, 3, 0, 1, 2, 3, 0].into_iter().enumerate() {
            stage.flush();
            assert_eq!(stage.inside(), [node]);
            assert_eq!(stage.sent(), entries + 1);
            stage.release(node);
            stage.request(node);
        }
    }

    /// Whoever leaves and asks again at once has to wait for the token's way round.
    #[test]
    fn entering_again_costs_a_lap() {
        let mut stage = stage(4);
        stage.ask([3]);
        assert_eq!(stage.sent(), 3);
        stage.release(3);
        stage.ask([3]);
        assert_eq!(stage.inside(), [3]);
        assert_eq!(stage.sent(), 3 + 4);
    }

    #[test]
    fn an_idle_token_never_rests() {
        let mut stage = stage(3);
        stage.flush();
        let laps = stage.sent();
        stage.flush();
        assert!(stage.sent() >= laps + 100);
    }

    /// Wherever the token is, whoever asks gets it within one lap.
    #[test]
    fn whoever_asks_waits_at_most_one_lap() {
        for asker in 0..4 {
            for hops in 0..4 {
                let mut stage = stage(4);
                (0..hops).for_each(|at| stage.deliver(at, (at + 1) % 4));
                stage.request(asker);
                let before = stage.sent();
                stage.flush();
                assert_eq!(stage.inside(), [asker]);
                assert!(stage.sent() - before < 4);
            }
        }
    }

    #[test]
    fn the_token_sets_out_once() {
        let mut nodes = TokenRing::build("token-ring", &Setup::new(2).unwrap()).unwrap();
        let mut out = Outbox::new();
        nodes[0].step(Input::Start, &mut out).unwrap();
        nodes[0].step(Input::Start, &mut out).unwrap();
        nodes[1].step(Input::Start, &mut out).unwrap();
        assert_eq!(out.effects(), [Effect::Send { to: NodeId::new(1), message: Msg::Token }]);
    }

    /// A start that comes late must not take the token away from under the holder.
    #[test]
    fn the_token_does_not_set_out_while_its_holder_is_inside() {
        let mut nodes = TokenRing::build("token-ring", &Setup::new(2).unwrap()).unwrap();
        let mut out = Outbox::new();
        nodes[0].step(Input::Command(Lock::Request), &mut out).unwrap();
        nodes[0].step(Input::Start, &mut out).unwrap();
        assert_eq!(out.effects(), [Effect::Emit(Entered)]);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let mut stage = stage(3);
        stage.request(1);
        stage.deliver(0, 1);
        for (from, to) in [
            (0, 1), // it is here already
            (0, 2), // not of the predecessor
            (7, 1), // of nobody
            (2, 2), // of the node itself
        ] {
            let refused = stage.inject(from, to, Msg::Token);
            assert!(matches!(refused, Err(Refused::Unexpected(_))), "{from} {to}");
        }
    }
}
