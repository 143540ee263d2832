//! A composed algorithm (spec 2.11): one token inside each cluster, another one between the clusters.

use serde::{Deserialize, Serialize};

use super::naimi_trehel::{self, NaimiTrehel};
use super::{Entered, Lock, Mutex, Phase};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{Again, ConstantLatency, First, Holder, Lone, Saturated};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::{
    Claim, Effect, Formula, Input, Message, Never, NodeId, Outbox, Protocol, Refused, Setup,
    SetupError,
};

const SOUND: Info = Info {
    name: "composed",
    title: "Composed of clusters",
    paper: "J. Sopena, F. Legond-Aubry, L. Arantes, P. Sens: A composition approach to mutual exclusion algorithms for grid applications. ICPP 2007; with the algorithm of M. Bertier, L. Arantes, P. Sens: Distributed mutual exclusion algorithms for grid applications: a hierarchical approach. JPDC 66(1), 2006",
    family: Family::Token,
    channel: Order::Any,
    layout: Layout::Clusters,
    memory: Formula("80N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(Messages, Claim::exactly("0"), &[Again]),
            Published::new(Messages, Claim::between("0", "4"), &[First]),
            Published::new(Messages, Claim::between("0", "2N+1"), &[]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, Holder]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Again]),
            Published::new(ClientDelay, Claim::between("0", "4"), &[First, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "3"), &[Saturated, ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "Messages within a cluster are fast, messages between clusters are slow. So each cluster has \
           a token of its own, and there is one token between the clusters; here both pass by \
           Naimi and Tréhel's algorithm. One node of each cluster coordinates and takes part in both: \
           it lends its cluster the cluster's token only while it holds the one between the clusters. The \
           requests of a cluster cost one request outside.",
    rules: &[
        "Start: every coordinator keeps the token of its cluster (OUT); the first one has also that \
         between the clusters.",
        "Request of a member: send REQUEST to the father in the cluster; enter with the TOKEN. Of a \
         coordinator: enter with both tokens, and ask for the one that is missing.",
        "REQUEST(j) within a cluster, INTERREQUEST(j) among coordinators: as Naimi and Tréhel's. A root \
         that has no use for the token sends it to j; a root in line notes j as next; any other node \
         forwards the request. The father is now j.",
        "A coordinator that keeps its cluster's token and lacks the other one asks for that as soon as \
         its own node or a member wants in (WAIT_FOR_IN).",
        "With both tokens: the own node enters, if it wants in. Else a member that wants in gets the \
         cluster's token (IN). Else a cluster that wants in gets the other one (OUT).",
        "IN, and another cluster wants in: ask for the cluster's token as a member does (WAIT_FOR_OUT). \
         When it comes the own node enters, if it wants in; then the other token leaves, whoever waits in \
         the cluster (OUT).",
        "Exit of a member: TOKEN to next, if there is one. Of a coordinator: as with both tokens.",
    ],
    fires: &[
        "2 request | {enters} = yes | {me} has all that it needs",
        "2 request | {sent} ∋ REQUEST | {me} asks {to} for the token of its cluster",
        "2 request | {sent} ∋ INTERREQUEST | {me} keeps its cluster's token and asks {to} for the other one",
        "2 request | | {me} has asked for the token already, for others",
        "2 TOKEN | {enters} = yes |",
        "2 INTERTOKEN | {enters} = yes | {me} has both tokens",
        "3 REQUEST | {intra.father} ≠ –; {sent} ∋ REQUEST | {me} forwards it to its father {intra.father}; its father is now {intra.father'}",
        "3 REQUEST | {intra.father} = –; {intra.phase} = idle | {me} has the token of its cluster and no use for it, so it goes to {to}",
        "3 REQUEST | {intra.father} = –; {intra.phase} ≠ idle | {me} is the last in line in its cluster, so {intra.father'} is next",
        "3 INTERREQUEST | {inter.father} ≠ –; {sent} ∋ INTERREQUEST | {me} forwards it to its father {inter.father}; its father is now {inter.father'}",
        "3 INTERREQUEST | {inter.father} = –; {inter.phase} = idle | {me} has the token between the clusters and no use for it, so it goes to {to}",
        "3 INTERREQUEST | {inter.father} = –; {inter.phase} ≠ idle | {me} is the last coordinator in line, so {inter.father'} is next",
        "4 REQUEST | {sent} ∋ INTERREQUEST | {me} keeps its cluster's token and asks {to} for the other one",
        "4 release, TOKEN | {sent} ∋ INTERREQUEST | somebody in the cluster of {me} wants in, so it asks for the other token again",
        "5 REQUEST | {intra.phase} = inside; {sent} ∋ TOKEN | {me} has both tokens, so the one of its cluster goes to {to}",
        "5 INTERTOKEN | {sent} ∋ TOKEN | {me} has both tokens, so the one of its cluster goes to {to}",
        "5 INTERREQUEST | {intra.phase} = inside; {inter.phase} = inside; {sent} ∋ INTERTOKEN | nobody in the cluster of {me} wants in, so the token between the clusters goes to {to}",
        "6 INTERREQUEST | {inter.phase} = inside; {sent} ∋ REQUEST | the cluster of {me} has its token, so {me} asks for it",
        "6 INTERTOKEN, release | {sent} ∋ REQUEST | another cluster waits already, so {me} asks for its cluster's token at once",
        "6 TOKEN | {sent} ∋ INTERTOKEN | the cluster's token is here, so the other one goes to {inter.next}",
        "7 release | {sent} ∋ INTERTOKEN | the token between the clusters goes to {inter.next}",
        "7 release | {sent} ∋ TOKEN | {intra.next} is next",
        "7 release | | nobody is next, so {me} keeps the token",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::new(
            "intra.phase",
            "intra",
            "idle, waiting for the cluster's token, or inside with it",
        ),
        Variable::new(
            "intra.father",
            "intra.father",
            "the last requester known here; none at the root",
        ),
        Variable::new("intra.next", "intra.next", "who gets the cluster's token next"),
        Variable::new(
            "inter.phase",
            "inter",
            "of a coordinator: the same for the token between the clusters",
        ),
        Variable::new(
            "inter.father",
            "inter.father",
            "the last coordinator that asked, as far as known here; none at the root",
        ),
        Variable::new(
            "inter.next",
            "inter.next",
            "which coordinator gets the token between the clusters next",
        ),
        Variable::new(
            "leaving",
            "WAIT_FOR_OUT",
            "whether the token between the clusters leaves when the cluster's is here",
        ),
    ],
    notes: &[
        "Needs no FIFO channels, as Naimi and Tréhel's algorithm does not.",
        "Any two algorithms can be composed so in which a holder sees that somebody waits. Both are Naimi \
         and Tréhel's here: a hand-over takes one message on either level, and a node's state is \
         constant in N.",
        "Requests of a cluster that come while its coordinator waits or is IN cost no message between \
         clusters: it pays for one INTERREQUEST, its forwards and one INTERTOKEN, however many \
         members are served.",
        "Nobody starves: to let another cluster in, a coordinator stands in line in its own cluster, and \
         then passes the token on although members wait again.",
        "The published coordinator is a process of its own. Here it is a node of its cluster that also \
         wants in; it keeps both tokens as long as nobody else wants one.",
        "Requests are not served in the order of happened-before: those of the cluster that has the token \
         come first.",
        "Survives no crash of a coordinator, nor of a node that asks, holds, or is anybody's father.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// The token between the clusters leaves while that of the cluster is out.
    LeavesMembersInside,
    /// Other clusters are looked after only when the cluster's token is here anyway.
    NeverAsksBack,
    /// The members of the cluster come first whenever its token is here.
    OwnClusterFirst,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Composed {
    flaw: Flaw,
    /// What its application does.
    phase: Phase,
    /// Its part in its cluster. A coordinator is inside here while it keeps the token from its cluster.
    intra: NaimiTrehel,
    /// A coordinator's part among the coordinators.
    inter: Option<NaimiTrehel>,
    /// Whether the cluster's token was asked back for another cluster.
    leaving: bool,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Within a cluster.
    Intra(naimi_trehel::Msg),
    /// Between coordinators.
    Inter(naimi_trehel::Msg),
}

impl Message for Msg {
    const KINDS: &'static [&'static str] = &["REQUEST", "TOKEN", "INTERREQUEST", "INTERTOKEN"];

    fn kind(&self) -> usize {
        match self {
            Msg::Intra(message) => message.kind(),
            Msg::Inter(message) => 2 + message.kind(),
        }
    }

    fn payload(&self) -> String {
        let (Msg::Intra(message) | Msg::Inter(message)) = self;
        message.payload()
    }
}

/// In which of the two algorithms something happens.
#[derive(Clone, Copy)]
enum Level {
    Intra,
    Inter,
}

impl Composed {
    /// A step of one of the two algorithms. What it grants is found by [`Self::settle`].
    fn within(
        &mut self,
        level: Level,
        input: Input<NaimiTrehel>,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        let mut inner = Outbox::new();
        let (part, wrap): (_, fn(_) -> _) = match level {
            Level::Intra => (Some(&mut self.intra), Msg::Intra),
            Level::Inter => (self.inter.as_mut(), Msg::Inter),
        };
        let part = part.ok_or(Refused::Unexpected("a word of the coordinators to a member"))?;
        part.step(input, &mut inner)?;
        for effect in inner.drain() {
            match effect {
                Effect::Send { to, message } => out.send(to, wrap(message)),
                Effect::Broadcast { message } => out.broadcast(wrap(message)),
                Effect::Emit(Entered) => {}
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        Ok(())
    }

    /// Asks for a token, or passes it on. The rules do so only where it is in order.
    fn turn(&mut self, level: Level, lock: Lock, out: &mut Outbox<Self>) {
        let taken = self.within(level, Input::Command(lock), out);
        debug_assert!(taken.is_ok(), "tokens are asked for and passed on by turns");
    }

    /// Does all that follows from where the tokens are and who wants them.
    fn settle(&mut self, out: &mut Outbox<Self>) {
        while let Some((level, lock)) = self.due(out) {
            self.turn(level, lock, out);
        }
    }

    /// What is to be done next, if anything; enters where that is next.
    fn due(&mut self, out: &mut Outbox<Self>) -> Option<(Level, Lock)> {
        let (intra, wants_in) = (self.intra.phase(), self.phase == Phase::Waiting);
        let Some(inter) = &self.inter else {
            return match intra {
                Phase::Idle if wants_in => Some((Level::Intra, Lock::Request)),
                Phase::Inside if wants_in => self.enter(out),
                Phase::Inside if self.phase == Phase::Idle => Some((Level::Intra, Lock::Release)),
                _ => None,
            };
        };
        let (near, far) = (self.intra.is_wanted(), inter.is_wanted());
        match (intra, inter.phase()) {
            (Phase::Inside, Phase::Inside) if wants_in => self.enter(out),
            (Phase::Inside, Phase::Inside) if self.phase == Phase::Inside => None,
            (Phase::Inside, Phase::Inside) => {
                let leaves = self.leaving && !(near && self.flaw == Flaw::OwnClusterFirst);
                self.leaving = false;
                match leaves || !near {
                    false => Some((Level::Intra, Lock::Release)),
                    true => far.then_some((Level::Inter, Lock::Release)),
                }
            }
            (Phase::Inside, Phase::Idle) => {
                (wants_in || near).then_some((Level::Inter, Lock::Request))
            }
            (Phase::Idle | Phase::Waiting, Phase::Inside) => {
                self.leaving |= far && self.flaw != Flaw::NeverAsksBack;
                let asks = intra == Phase::Idle && (wants_in || self.leaving);
                match self.leaving && self.flaw == Flaw::LeavesMembersInside {
                    true => Some((Level::Inter, Lock::Release)),
                    false => asks.then_some((Level::Intra, Lock::Request)),
                }
            }
            _ => None,
        }
    }

    fn enter<T>(&mut self, out: &mut Outbox<Self>) -> Option<T> {
        self.phase = Phase::Inside;
        out.emit(Entered);
        None
    }
}

impl Protocol for Composed {
    type Command = Lock;
    type Message = Msg;
    type Timer = Never;
    type Event = Entered;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Start => {}
            Input::Command(Lock::Request) => {
                self.phase.request()?;
            }
            Input::Command(Lock::Release) => {
                self.phase.release()?;
            }
            Input::Deliver { from, message: Msg::Intra(message) } => {
                self.within(Level::Intra, Input::Deliver { from, message }, out)?;
            }
            Input::Deliver { from, message: Msg::Inter(message) } => {
                self.within(Level::Inter, Input::Deliver { from, message }, out)?;
            }
            Input::Command(Lock::Suspect(_)) => {}
            Input::Expire(never) => match never {},
        }
        self.settle(out);
        Ok(())
    }
}

variants! { Info {
    LeavesMembersInside = "composed-leaves-members-inside" {
        flaw: "a coordinator passes the token between the clusters on at once, while the token of its cluster is out",
        breaks: Breaks::Safety,
        shown_by: "-n 4 --clusters 2,2",
        refuted_by: "-n 3 --clusters 2,1 --requests 1",
    }
    NeverAsksBack = "composed-never-asks-back" {
        flaw: "a coordinator whose cluster has its token does not ask it back when another cluster wants in",
        breaks: Breaks::Liveness,
        shown_by: "-n 4 --clusters 2,2 --workload sequential",
        refuted_by: "-n 3 --clusters 2,1 --requests 1",
    }
    OwnClusterFirst = "composed-own-cluster-first" {
        flaw: "a coordinator to whom the cluster's token comes back lends it again while a member of the cluster waits",
        breaks: Breaks::Starvation,
        shown_by: "-n 4 --clusters 3,1",
        refuted_by: "-n 4 --clusters 3,1 --judge starvation",
    }
} }

impl Mutex for Composed {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let (n, clusters, first) = (setup.nodes(), setup.clusters(), NodeId::new(0));
        let node = |me: NodeId| {
            let coordinator = clusters.coordinator(me);
            let coordinates = me == coordinator;
            Composed {
                flaw,
                phase: Phase::Idle,
                intra: NaimiTrehel::among(me, n, coordinator, coordinates),
                inter: coordinates.then(|| NaimiTrehel::among(me, n, first, false)),
                leaving: false,
            }
        };
        Ok(NodeId::all(n).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;
    use crate::topology::Clusters;

    fn stage(sizes: &[usize]) -> Stage<Composed> {
        let clusters = Clusters::of_sizes(sizes).unwrap();
        let setup = Setup::new(clusters.nodes()).unwrap().with_clusters(clusters).unwrap();
        Stage::new("composed", &setup)
    }

    /// The first entry costs nothing where both tokens are, 2 messages for one token, 4 for two.
    #[test]
    fn the_first_entry_costs_by_place() {
        for (node, cost) in [(0, 0), (1, 2), (2, 2), (3, 2), (4, 4)] {
            let mut stage = stage(&[3, 2]);
            stage.ask([node]);
            stage.release(node);
            stage.request(node);
            assert_eq!((stage.entries(), stage.sent()), (&[node, node][..], cost), "of {node}");
        }
    }

    /// However many members wait, their cluster asks once.
    #[test]
    fn a_cluster_asks_once_for_all_its_members() {
        let mut stage = stage(&[1, 4]);
        for node in [2, 3, 4] {
            stage.request(node);
            stage.deliver(node, 1);
        }
        assert_eq!(stage.in_flight(1, 0), 1);
        for _ in 0..3 {
            stage.flush();
            let inside = stage.inside();
            stage.release(inside[0]);
        }
        stage.flush();
        assert_eq!(stage.entries(), [2, 3, 4]);
        // Three REQUESTs, two of which go on to whoever asked before, and three TOKENs; two messages between the clusters.
        assert_eq!(stage.sent(), 3 + 2 + 3 + 2);
    }

    /// The coordinator stands in line behind the members that came before it, and before those that come later.
    #[test]
    fn another_cluster_waits_for_those_in_line_only() {
        let mut stage = stage(&[3, 1]);
        stage.ask([1]);
        stage.ask([2]);
        stage.ask([3]);
        assert_eq!(stage.inside(), [1]);
        stage.release(1);
        stage.request(1);
        for entered in [2, 3, 1] {
            stage.flush();
            assert_eq!(stage.inside(), [entered]);
            stage.release(entered);
        }
    }

    /// The own node of a coordinator enters with the token that was asked back, and then it leaves.
    #[test]
    fn a_coordinator_enters_before_the_token_leaves() {
        let mut stage = stage(&[2, 1]);
        stage.ask([1]);
        stage.ask([2]);
        stage.request(0);
        for entered in [1, 0, 2] {
            stage.flush();
            assert_eq!(stage.inside(), [entered]);
            stage.release(entered);
        }
    }

    /// Where nobody else wants a token, a coordinator keeps both.
    #[test]
    fn a_coordinator_keeps_both_tokens() {
        let mut stage = stage(&[2, 2]);
        stage.ask([2]);
        stage.release(2);
        stage.request(2);
        assert_eq!((stage.entries(), stage.sent()), (&[2, 2][..], 2));
        stage.release(2);
        stage.ask([3]);
        assert_eq!((stage.inside(), stage.sent()), (vec![3], 2 + 2));
    }

    /// One cluster of all costs what Naimi and Tréhel's algorithm does, and so do clusters of one.
    #[test]
    fn one_level_alone_is_naimi_and_trehels() {
        use crate::mutex::naimi_trehel::NaimiTrehel;
        let play = |sizes: &[usize]| {
            let mut stage = stage(sizes);
            let mut flat = Stage::<NaimiTrehel>::new("naimi-trehel", &Setup::new(4).unwrap());
            for node in [2, 1, 3, 0, 2, 0, 1] {
                stage.request(node);
                flat.request(node);
                stage.flush();
                flat.flush();
                stage.release(node);
                flat.release(node);
                assert_eq!(stage.sent(), flat.sent(), "{sizes:?}, {node}");
            }
        };
        play(&[1, 1, 1, 1]);
        play(&[4]);
    }

    #[test]
    fn what_no_correct_node_sends_is_refused() {
        let mut stage = stage(&[2, 2]);
        let request = |node| naimi_trehel::Msg::Request { node: NodeId::new(node) };
        stage.refuses([
            (0, 1, Msg::Inter(request(0))),
            (0, 1, Msg::Intra(naimi_trehel::Msg::Token)),
            (2, 0, Msg::Inter(naimi_trehel::Msg::Token)),
            (9, 0, Msg::Inter(request(2))),
            (1, 0, Msg::Intra(request(9))),
        ]);
    }

    #[test]
    fn a_node_is_small() {
        assert!(size_of::<Composed>() <= 80);
    }
}
