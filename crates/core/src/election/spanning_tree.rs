//! Election by waves that extinguish each other (spec 4.3): the wave that comes back whole elects its
//! beginner, and the way it took is a spanning tree.

use serde::{Deserialize, Serialize};

use super::{
    Case, Claims, Elected, Election, Epoch, Initiators, NOT_DRAWN, Notice, RingOrder, kinds,
    known_epoch,
};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, Variable, variants};
use crate::{
    Claim, Formula, Input, Message, Never, NodeId, NodeSet, Outbox, Protocol, Refused, Setup,
    SetupError,
};

#[cfg(test)]
mod tests;

const SOUND: ElectionInfo = ElectionInfo {
    name: "spanning-tree",
    title: "Election by echo waves",
    paper: "E. J. H. Chang: Echo algorithms: depth parallel operations on general graphs, IEEE Transactions on Software Engineering SE-8(4), 1982",
    family: Family::Wave,
    channel: Order::Any,
    layout: Layout::Graph,
    memory: Formula("100N+35N²"),
    claims: Claims {
        highest: false,
        survives: "crashes and recoveries that leave the network connected, given a failure detector; a false suspicion delays it until it is withdrawn",
        cases: &[
            Case {
                name: "one initiator",
                when: "the lowest calls and everybody is linked to everybody",
                highest_down: false,
                initiators: Initiators::Lowest,
                ring: RingOrder::Ascending,
                counted: &[],
                messages: Claim::exactly("N(N-1)+(N-1)"),
                time: Some(Claim::between("3", "4")),
            },
            Case {
                name: "everybody",
                when: "all call at once and everybody is linked to everybody",
                highest_down: false,
                initiators: Initiators::All,
                ring: RingOrder::Ascending,
                counted: &[],
                messages: Claim::between("2N(N-1)", "N²(N-1)/2+2(N-1)"),
                time: Some(Claim::between("3", "4")),
            },
        ],
    },
    idea: "A wave goes out from the initiator over every link and comes back: whoever it reaches first \
           over some link makes that neighbour its parent, sends it on, and answers when everybody behind \
           has answered. Of waves that meet, the higher one goes on and the lower one dies, so only one \
           comes back whole. Its beginner leads, and the parents are a tree that spans the network.",
    rules: &[
        "Call: begin a new wave: EXPLORER to every neighbour.",
        "EXPLORER of a higher wave: join it; its sender is the parent; EXPLORER to the other neighbours. \
         Of the own wave: the sender has answered. Of a lower wave: ignore it, it dies here.",
        "ECHO of the own wave: the sender is a child and has answered.",
        "All neighbours but the parent have answered: ECHO to the parent. Without a parent: the wave has \
         come back whole; be the leader; LEADER to the children.",
        "LEADER: the beginner of the wave is the leader; LEADER to the children.",
        "A neighbour is suspected that is parent or child, or may be in the wave that is under way: begin \
         a new wave, without it. A neighbour is trusted again: begin a new wave, with it.",
    ],
    fires: &[
        "1 call | {under_way} = no | {me} begins the wave {wave'}",
        "1 call | | a wave is under way already",
        "2 EXPLORER | {wave} < {message.wave}; {parent'} = {from} | {<}: the wave {message.wave} is higher, so {me} joins it",
        "2 EXPLORER | {message.wave} = {wave} | {from} is in the wave already; silent still: {silent'}",
        "2 EXPLORER | {message.wave} < {wave} | {<}: a lower wave",
        "2 EXPLORER | {suspected} ∋ {from} | {me} suspects {from}",
        "3 ECHO | {message} = {wave} | children: {children'}; silent still: {silent'}",
        "3 ECHO | {message} < {wave} | the wave {message} is over",
        "4 ECHO | {sent} ∋ ECHO | all have answered, so {me} echoes to {parent}",
        "4 EXPLORER | {sent} ∋ ECHO | all have answered, so {me} echoes to {parent'}",
        "4 ECHO, EXPLORER | {elects} = yes; {parent'} = – | all have answered and {me} has no parent, so it leads",
        "4 call, suspect | {elects} = yes | {me} is alone, so it leads",
        "5 LEADER | {elects} = yes | {message[by]} began the wave, so it leads",
        "5 LEADER | {elects} = no | {message} is not the wave of {me}",
        "6 suspect | {wave} < {wave'} | {me} begins the wave {wave'} without {whom}",
        "6 trust | {wave} < {wave'} | {me} begins the wave {wave'} with {whom}",
        "6 suspect | {sent} ∋ ECHO |",
    ],
    variables: &[
        Variable::new("wave", "wave", "the wave that it is in, and who began it"),
        Variable::new("parent", "father", "who brought the wave; nobody if it began here"),
        Variable::new("children", "children", "who has echoed it"),
        Variable::new("silent", "silent", "which neighbours have not answered"),
        Variable::new("under_way", "under way", "whether the wave has not come whole yet"),
        Variable::new("epoch", "epoch", "the newest wave that it knows of"),
        Variable::new(
            "returned",
            "returned",
            "whether it came back from a crash and heard no wave since",
        ),
        Variable::new("suspected", "suspected", "whom its detector takes for dead"),
    ],
    notes: &[
        "2 messages on each link, and N−1 LEADER, with one initiator.",
        "The highest of the initiators of the newest round wins; the others need not be initiators.",
        "What goes beyond the paper: new waves after crashes and recoveries, so that no dead node stays in \
         the tree. It needs a failure detector, and no message may be lost but by a crash.",
        "If a crash cuts the network in two, each part elects a leader and has a tree of its own.",
        "The number of a wave is kept in stable storage; nothing else is.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// It answers before those behind it have.
    EchoesAtOnce,
    /// It stays with the first wave of a round, so that none dies.
    KeepsFirst,
    /// It takes its parent for the leader.
    NamesParent,
    /// It takes a suspicion for an answer and no more.
    IgnoresCrash,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SpanningTree {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    neighbours: NodeSet,
    /// The highest wave that it knows of; kept in stable storage.
    epoch: Epoch,
    /// The wave that it is in.
    wave: Epoch,
    /// Who brought that wave here; nobody if it began here.
    parent: Option<NodeId>,
    /// Who has echoed it.
    children: NodeSet,
    /// Which neighbours have not answered.
    silent: NodeSet,
    /// Whether that wave is under way: its beginner has not been named here.
    under_way: bool,
    /// Whether it has come back from a crash, and no wave has come whole or from elsewhere since.
    returned: bool,
    /// Which neighbours its detector suspects.
    suspected: NodeSet,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// This wave is here.
    Explorer {
        /// Which one.
        wave: Epoch,
        /// Whether the sender began it because it has come back, and may have missed what was sent to it.
        returned: bool,
    },
    /// It has been everywhere behind me.
    Echo(Epoch),
    /// It has come back whole.
    Leader(Epoch),
}

impl Message for Msg {
    kinds! { Explorer = "EXPLORER", Echo = "ECHO", Leader = "LEADER" }

    fn payload(&self) -> String {
        let (Msg::Explorer { wave, .. } | Msg::Echo(wave) | Msg::Leader(wave)) = self;
        wave.by.to_string()
    }
}

impl Protocol for SpanningTree {
    type Command = Notice;
    type Message = Msg;
    type Timer = Never;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Start => {}
            Input::Command(Notice::Call) => {
                if !self.under_way {
                    self.begin(out);
                }
            }
            Input::Command(Notice::Suspect(node)) => self.on_suspect(node, out),
            Input::Command(Notice::Trust(node)) => self.on_trust(node, out),
            Input::Command(Notice::Drawn(_)) => return Err(NOT_DRAWN),
            Input::Deliver { from, message } => {
                self.check(from, &message)?;
                match message {
                    Msg::Explorer { wave, returned } => self.on_explorer(from, wave, returned, out),
                    Msg::Echo(wave) => self.on_echo(from, wave, out),
                    Msg::Leader(wave) => self.on_leader(from, wave, out),
                }
            }
            Input::Expire(never) => match never {},
        }
        Ok(())
    }
}

impl SpanningTree {
    /// Refuses what no correct node can have sent.
    fn check(&self, from: NodeId, message: &Msg) -> Result<(), Refused> {
        if !self.neighbours.contains(from) {
            return Err(Refused::Unexpected("the sender is no neighbour"));
        }
        let (Msg::Explorer { wave, .. } | Msg::Echo(wave) | Msg::Leader(wave)) = *message;
        known_epoch(wave, self.n as usize)?;
        if wave.by == self.me && wave > self.epoch {
            return Err(Refused::Unexpected("a wave of this node that it has never begun"));
        }
        match message {
            Msg::Explorer { returned: true, .. } if wave.by != from => {
                Err(Refused::Unexpected("only the beginner of a wave has come back with it"))
            }
            Msg::Echo(_) if wave > self.wave => {
                Err(Refused::Unexpected("an ECHO of a wave that was never here"))
            }
            Msg::Leader(_) if wave > self.wave || wave.by == self.me => {
                Err(Refused::Unexpected("a LEADER of a wave that was not sent on to its sender"))
            }
            _ => Ok(()),
        }
    }

    /// Begin a new wave: EXPLORER to every neighbour.
    fn begin(&mut self, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.next(self.me);
        self.join(self.epoch, None, out);
    }

    /// Be in `wave`, and send it on to all neighbours but the parent.
    fn join(&mut self, wave: Epoch, parent: Option<NodeId>, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.max(wave);
        (self.wave, self.parent, self.under_way) = (wave, parent, true);
        self.returned &= parent.is_none();
        self.children.clear();
        let onward = |&node: &NodeId| Some(node) != parent && !self.suspected.contains(node);
        self.silent = self.neighbours.iter().filter(onward).collect();
        for node in self.silent.iter() {
            out.send(node, Msg::Explorer { wave, returned: self.returned });
        }
        if self.flaw == Flaw::EchoesAtOnce
            && let Some(parent) = parent
        {
            out.send(parent, Msg::Echo(wave));
        }
        self.answered(out);
    }

    fn on_explorer(&mut self, from: NodeId, wave: Epoch, returned: bool, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.max(wave);
        if self.suspected.contains(from) {
            // If it is dead, nobody waits for an answer; else there is a new wave when it is trusted.
        } else if self.beats(wave) {
            self.join(wave, Some(from), out);
        } else if wave == self.wave {
            self.hear(from, out);
        } else if returned && self.silent.contains(from) {
            // What was sent to it is lost, for it was down.
            out.send(from, Msg::Explorer { wave: self.wave, returned: false });
        } else if returned {
            self.begin(out);
        }
    }

    /// Whether `wave` extinguishes the one that is here.
    fn beats(&self, wave: Epoch) -> bool {
        if self.flaw == Flaw::KeepsFirst { wave.round > self.wave.round } else { wave > self.wave }
    }

    fn on_echo(&mut self, from: NodeId, wave: Epoch, out: &mut Outbox<Self>) {
        if wave == self.wave && self.silent.contains(from) {
            self.children.insert(from);
            self.hear(from, out);
        }
    }

    /// `from` has answered.
    fn hear(&mut self, from: NodeId, out: &mut Outbox<Self>) {
        if self.silent.remove(from) {
            self.answered(out);
        }
    }

    /// All neighbours but the parent have answered: ECHO to the parent, or be the leader.
    fn answered(&mut self, out: &mut Outbox<Self>) {
        if !self.silent.is_empty() {
            return;
        }
        match self.parent {
            Some(_) if self.flaw == Flaw::EchoesAtOnce => {}
            Some(parent) => out.send(parent, Msg::Echo(self.wave)),
            None => self.lead(self.me, out),
        }
    }

    /// The beginner of the wave is the leader; LEADER to the children.
    fn on_leader(&mut self, from: NodeId, wave: Epoch, out: &mut Outbox<Self>) {
        if self.under_way && wave == self.wave && self.parent == Some(from) {
            self.lead(if self.flaw == Flaw::NamesParent { from } else { wave.by }, out);
        }
    }

    fn lead(&mut self, leader: NodeId, out: &mut Outbox<Self>) {
        (self.under_way, self.returned) = (false, false);
        out.emit(Elected { leader, epoch: self.wave });
        for child in self.children.iter() {
            out.send(child, Msg::Leader(self.wave));
        }
    }

    /// Begin a new wave without it, if it has or may have a place in this one.
    fn on_suspect(&mut self, node: NodeId, out: &mut Outbox<Self>) {
        if !self.neighbours.contains(node) || !self.suspected.insert(node) {
            return;
        }
        if self.flaw == Flaw::IgnoresCrash {
            self.hear(node, out);
        } else if self.under_way || self.parent == Some(node) || self.children.contains(node) {
            self.begin(out);
        }
    }

    /// Begin a new wave with it.
    fn on_trust(&mut self, node: NodeId, out: &mut Outbox<Self>) {
        if self.suspected.remove(node) && self.epoch.round > 0 {
            self.begin(out);
        }
    }
}

variants! { ElectionInfo {
    EchoesAtOnce = "spanning-tree-echoes-at-once" {
        flaw: "a node that the wave reaches answers before those behind it have",
        breaks: Breaks::Termination,
        shown_by: "-n 4 --graph line --initiators 1@0 --latency uniform:0.1..1",
        refuted_by: "-n 3 --graph line --initiators 1",
    }
    KeepsFirst = "spanning-tree-keeps-first" {
        flaw: "a node stays with the first wave of a round, so two waves stop each other for ever",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --initiators 1,2 --crash 3@0",
        refuted_by: "-n 3 --initiators 1,2 --crashes 1 --victims 3",
    }
    NamesParent = "spanning-tree-names-parent" {
        flaw: "a node takes the neighbour that tells it of the leader for the leader",
        breaks: Breaks::Agreement,
        shown_by: "-n 3 --graph line --initiators 1@0",
        refuted_by: "-n 3 --initiators 1",
    }
    IgnoresCrash = "spanning-tree-ignores-crash" {
        flaw: "a neighbour that is suspected counts as having answered, and nothing else is done",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --initiators all@0 --crash 3@1.5",
        refuted_by: "-n 2 --initiators all --crashes 1",
    }
} }

impl Election for SpanningTree {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let n = setup.nodes();
        let neighbours = |me| match setup.graph() {
            Some(graph) => graph.of(me).iter().copied().collect(),
            None => NodeSet::others(n, me),
        };
        let node = |me| SpanningTree {
            me,
            n: n as u32,
            flaw,
            neighbours: neighbours(me),
            epoch: Epoch::FIRST,
            wave: Epoch::FIRST,
            parent: None,
            children: NodeSet::new(),
            silent: NodeSet::new(),
            under_way: false,
            returned: false,
            suspected: NodeSet::new(),
        };
        Ok(NodeId::all(n).map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        SpanningTree {
            wave: self.epoch,
            parent: None,
            children: NodeSet::new(),
            silent: NodeSet::new(),
            under_way: false,
            returned: true,
            suspected: NodeSet::new(),
            ..self.clone()
        }
    }

    fn parent(&self) -> Option<NodeId> {
        self.parent
    }
}
