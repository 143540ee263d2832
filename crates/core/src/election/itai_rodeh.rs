//! Itai and Rodeh's election: on a ring of nodes that nothing tells apart, random numbers do, and a tie is drawn
//! again.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use super::circle::{Circle, PARTICIPANT, SUSPECTED, Turn, Way};
use super::{
    Case, Claims, Elected, Election, Epoch, Initiators, NOT_DRAWN, Notice, RingOrder, kinds,
    known_epoch,
};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, Variable, variants};
use crate::{Claim, Formula, Input, Message, Outbox, Protocol, Refused, Setup, SetupError};

/// Everybody alive, everybody calls, everything counted.
const ALL_CALL: Case = Case {
    name: "everybody",
    when: "everybody calls at once",
    highest_down: false,
    initiators: Initiators::All,
    ring: RingOrder::Ascending,
    counted: &[],
    messages: Claim::between("3N-1", "∞"),
    time: Some(Claim::between("2N-1", "∞")),
};

const SOUND: ElectionInfo = ElectionInfo {
    name: "itai-rodeh",
    title: "Itai–Rodeh election",
    paper: "A. Itai, M. Rodeh: Symmetry breaking in distributed networks, Information and Computation 88(1), 1990; without numbers of phases, as in W. Fokkink, J. Pang: Variations on Itai–Rodeh leader election for anonymous rings and their analysis in PRISM, Journal of Universal Computer Science 12(8), 2006",
    family: Family::Anonymous,
    channel: Order::Fifo,
    layout: Layout::Ring,
    memory: Formula("4N²+150N"),
    claims: Claims {
        highest: false,
        survives: "crashes and recoveries, if a detector tells who is dead and is never wrong; a message lost in a crash is missed by an alarm",
        cases: &[
            ALL_CALL,
            Case {
                name: "one initiator",
                when: "one calls",
                initiators: Initiators::Lowest,
                messages: Claim::exactly("2N"),
                time: Some(Claim::exactly("2N-1")),
                ..ALL_CALL
            },
        ],
    },
    idea: "No node has an id; each knows only how many nodes the ring has. A candidate draws a random number and sends it \
           round. A candidate with a lower number gives up, one with a higher number drops the message, and one with the \
           same number passes it on with a mark. The hop counter tells a candidate that its own message is back: without a \
           mark no other number is as high, and it leads; with a mark there was a tie, and the tied draw again. Ties can \
           follow each other without end, but with probability 0: the election ends with probability 1, and no bound on \
           its length holds for every run.",
    rules: &[
        "Call: begin a new round as a candidate; draw a number.",
        "The number is drawn: ID with it to the next live node, one hop, without a mark.",
        "ID at a candidate after N hops: it is its own. Without a mark lead, and send ELECTED to the next live node; with \
         a mark draw again.",
        "ID at a candidate with its number after fewer hops: mark it and pass it on.",
        "ID at a candidate that has a lower number: give up and pass it on; at one that has a higher number: drop it.",
        "ID at a node that is no candidate: take part in that round, and pass it on with one hop more.",
        "ELECTED: whoever is so many hops before leads; pass it on until it is back at the leader.",
        "What is of an older round, or of one whose leader is known, is dropped; so is what has gone past its place.",
        "A node is found dead during an election, or nothing comes for three rounds of the ring: begin a new round.",
        "The next node in the ring is back: begin a new round, which takes it in.",
    ],
    fires: &[
        "1 call | {participant} = no; {drawing'} = yes | {me} begins the round {epoch'[round]}",
        "1 call | {participant} = yes | {me} takes part already",
        "2 draw | {sent} ∋ ID | {me} draws {id'}",
        "3 ID | {message.round} = {epoch[round]}; {elects} = yes | it is {me}'s own, and nobody has marked it: no other number is as high",
        "3 ID | {message.round} = {epoch[round]}; {drawing'} = yes | it is {me}'s own, and it is marked: somebody has drawn {id}, too",
        "3 call, expire, suspect | {elects} = yes | {me} is alone",
        "4 ID | {message.round} = {epoch[round]}; {id} = {message.id}; {sent} ∋ ID | {me} has drawn {id}, too",
        "5 ID | {message.round} = {epoch[round]}; {id} < {message.id}; {sent} ∋ ID | {id} < {message.id}, so {me} gives up",
        "5 ID | {message.round} = {epoch[round]}; {message.id} < {id}; {id'} = {id}; {sent} = | {message.id} < {id}, so {me} drops it",
        "6 ID | {epoch[round]} < {message.round} | {me} joins the round {message.round}",
        "6 ID | {message.round} = {epoch[round]}; {id} = –; {sent} ∋ ID |",
        "7 ELECTED | {elects} = yes | the leader is {message.hops} hops before {me}",
        "7 ELECTED | {message.round} = {epoch[round]}; {participant} = no | {me} knows it already",
        "8 ID | {message.round} < {epoch[round]} | {<}: an older round",
        "8 ID | {message.round} = {epoch[round]}; {participant} = no | the leader of this round is known",
        "8 ID | {message.round} = {epoch[round]}; {participant} = yes; {id'} = –; {drawing'} = no; {elects} = no; {sent} = | it has gone past its place",
        "8 ID | {message.round} = {epoch[round]}; {id} = {message.id}; {drawing'} = no; {elects} = no; {sent} = | it has gone past its place",
        "8 ELECTED | {message.round} < {epoch[round]} | {<}: an older round",
        "8 ELECTED | {participant'} = yes | it has gone past its place",
        "8 ELECTED | {epoch[round]} < {message.round}; {elects} = no | it has gone past its place",
        "9 expire | {drawing'} = yes | {me} begins the round {epoch'[round]}",
        "9 suspect | {drawing'} = yes | {whom} is dead, so {me} begins the round {epoch'[round]}",
        "10 trust | {drawing'} = yes | {whom} is back",
    ],
    variables: &[
        PARTICIPANT,
        Variable::new(
            "epoch",
            "round",
            "the present round; its id says nothing, for nobody has one",
        ),
        Variable::new("id", "id", "the number that it has drawn, if it is a candidate"),
        Variable::new("drawing", "drawing", "whether it waits for a random number"),
        SUSPECTED,
    ],
    notes: &[
        "Without ids no deterministic algorithm elects a leader: in a ring whose nodes all do the same at the same time they \
         stay alike (Angluin 1980). And no algorithm finds out how many nodes there are, so N must be known.",
        "The algorithm draws nothing itself: it asks its driver, and the number comes as an input. So a run is repeated exactly \
         from its records; the simulator draws from a generator of its own, and the checker tries every number.",
        "Agreement holds in every run, termination only with probability 1: a run in which every draw ends in a tie never ends. The \
         checker follows every draw. It proves that the nodes never come to rest without a leader, and that no order of \
         messages, alarms and crashes keeps them from one for ever whatever is drawn: from each state that recurs, some draw leads on.",
        "Each phase takes N hops and leaves as many candidates as have drawn the highest number. From N candidates and numbers \
         up to N that takes at most e·N/(N−1) phases on average (Itai and Rodeh), and O(N log N) messages. The figures above are those \
         that hold in every run, so there is no highest one.",
        "Itai and Rodeh number the phases, and so have infinitely many states. On FIFO channels the numbers are not needed (Fokkink and \
         Pang), and there are finitely many: the search is complete. Rounds are begun only by calls and crashes, never by a tie. \
         All who call are candidates; the others only pass messages on.",
        "A node uses names of nodes only as addresses, and to tell its application who leads: the node so many places back in the \
         ring. No message carries a name. The rules about crashes are not the paper's. There two nodes that take each other for dead \
         could both lead in one round, so the detector must not be wrong.",
    ],
    broken: None,
};

/// After so many times round the ring without a message one was lost: else a message comes by within two.
const SILENCE: usize = 3;

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// A tie is not marked.
    NoMark,
    /// Its own number is taken for its own message.
    NoHops,
    /// A tie is not drawn again.
    SameNumber,
    /// It waits for the result for ever, whoever crashes.
    IgnoresCrashes,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ItaiRodeh {
    circle: Circle,
    flaw: Flaw,
    /// The present round, of nobody; kept in stable storage.
    epoch: Epoch,
    /// Whether it takes part in the present round and does not know the leader yet.
    participant: bool,
    /// What it has drawn, if it is a candidate.
    id: Option<u32>,
    /// Whether it waits for a random number.
    drawing: bool,
}

/// What goes round. Hops count the places of the ring, also of the dead that are skipped.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A candidate has drawn this number.
    Id {
        /// The round.
        round: u32,
        /// The number.
        id: u32,
        /// How far the candidate is back.
        hops: u32,
        /// Whether another candidate has drawn it, too.
        marked: bool,
    },
    /// There is a leader.
    Elected {
        /// Of which round.
        round: u32,
        /// How far it is back.
        hops: u32,
    },
}

impl Message for Msg {
    kinds! { Id = "ID", Elected = "ELECTED" }

    fn payload(&self) -> String {
        match self {
            Msg::Id { id, hops, marked, .. } => {
                format!("{id}{} hop {hops}", if *marked { "!" } else { "" })
            }
            Msg::Elected { hops, .. } => format!("hop {hops}"),
        }
    }
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alarm {
    /// Any message.
    Silence,
}

impl Protocol for ItaiRodeh {
    type Command = Notice;
    type Message = Msg;
    type Timer = Alarm;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if let Input::Command(Notice::Drawn(drawn)) = input {
            if !self.drawing || !(1..=self.numbers()).contains(&drawn) {
                return Err(NOT_DRAWN);
            }
            self.on_drawn(drawn, out);
            return Ok(());
        }
        let interrupts = |_| self.flaw != Flaw::IgnoresCrashes;
        match self.circle.turn(input, self.participant, interrupts)? {
            Turn::Rest => {}
            Turn::Begin => self.begin_next(out),
            Turn::Receive(_, message) => {
                if self.drawing {
                    return Err(Refused::Unexpected("a random number is due first"));
                }
                self.check(&message)?;
                match message {
                    Msg::Id { round, id, hops, marked } => {
                        self.on_id(round, id, hops, marked, out);
                    }
                    Msg::Elected { round, hops } => self.on_elected(round, hops, out),
                }
            }
        }
        Ok(())
    }
}

impl ItaiRodeh {
    /// As a candidate, if anybody else is there.
    fn begin_next(&mut self, out: &mut Outbox<Self>) {
        self.take_part(self.epoch.next(Epoch::FIRST.by), out);
        if self.circle.neighbour(Way::Right).is_some() {
            self.drawing = true;
        } else {
            self.follow(0, out);
        }
    }

    /// It draws one of 1 … N.
    fn numbers(&self) -> u32 {
        u32::try_from(self.circle.nodes()).unwrap_or(u32::MAX)
    }

    fn on_drawn(&mut self, id: u32, out: &mut Outbox<Self>) {
        (self.id, self.drawing) = (Some(id), false);
        self.listen(out);
        self.send(|hops, round| Msg::Id { round, id, hops, marked: false }, 0, out);
    }

    fn on_id(&mut self, round: u32, id: u32, hops: u32, marked: bool, out: &mut Outbox<Self>) {
        let newer = round > self.epoch.round;
        if !newer && (round < self.epoch.round || !self.participant) {
            return;
        }
        if newer {
            self.take_part(Epoch { round, ..Epoch::FIRST }, out);
        } else {
            self.listen(out);
        }
        let home = hops == self.numbers();
        let Some(own) = self.id else {
            return self.pass_on(id, hops, marked, out);
        };
        if home || id == own && self.flaw == Flaw::NoHops {
            self.on_own_id(own, marked, out);
        } else if id > own {
            self.id = None;
            self.pass_on(id, hops, marked, out);
        } else if id == own {
            self.pass_on(id, hops, self.flaw != Flaw::NoMark, out);
        }
    }

    /// Its message is back.
    fn on_own_id(&mut self, own: u32, marked: bool, out: &mut Outbox<Self>) {
        if !marked {
            self.follow(0, out);
            self.send(|hops, round| Msg::Elected { round, hops }, 0, out);
        } else if self.flaw == Flaw::SameNumber {
            self.on_drawn(own, out);
        } else {
            self.drawing = true;
        }
    }

    fn pass_on(&self, id: u32, hops: u32, marked: bool, out: &mut Outbox<Self>) {
        self.send(|hops, round| Msg::Id { round, id, hops, marked }, hops, out);
    }

    fn on_elected(&mut self, round: u32, hops: u32, out: &mut Outbox<Self>) {
        let present = round == self.epoch.round && self.participant;
        if (round > self.epoch.round || present) && hops < self.numbers() {
            self.epoch.round = round;
            self.follow(hops, out);
            self.send(|hops, round| Msg::Elected { round, hops }, hops, out);
        }
    }

    /// To the next live node, with the places in between as hops. What would go past its place is dropped.
    fn send(&self, message: impl Fn(u32, u32) -> Msg, hops: u32, out: &mut Outbox<Self>) {
        let Some(next) = self.circle.neighbour(Way::Right) else { return };
        let places = self.circle.nodes() - self.circle.places_before(next);
        let hops = u32::try_from(places).unwrap_or(u32::MAX).saturating_add(hops);
        if hops <= self.numbers() {
            out.send(next, message(hops, self.epoch.round));
        }
    }

    fn take_part(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = epoch;
        self.participant = true;
        (self.id, self.drawing) = (None, false);
        self.listen(out);
    }

    /// As long as messages come, none is missing.
    fn listen(&self, out: &mut Outbox<Self>) {
        if self.flaw != Flaw::IgnoresCrashes {
            let rounds = SILENCE * self.circle.nodes();
            out.arm(Alarm::Silence, u32::try_from(rounds).unwrap_or(u32::MAX));
        }
    }

    fn follow(&mut self, hops: u32, out: &mut Outbox<Self>) {
        self.id = None;
        if self.participant {
            self.participant = false;
            out.disarm(Alarm::Silence);
        }
        let leader = self.circle.before(hops as usize);
        out.emit(Elected { leader, epoch: self.epoch });
    }

    /// Nobody draws a number above N, and nothing goes round twice.
    fn check(&self, message: &Msg) -> Result<(), Refused> {
        let most = self.numbers();
        let (round, id, hops) = match *message {
            Msg::Id { round, id, hops, .. } => (round, id, hops),
            Msg::Elected { round, hops } => (round, 1, hops),
        };
        known_epoch(Epoch { round, ..Epoch::FIRST }, self.circle.nodes())?;
        let known = (1..=most).contains(&id) && (1..=most).contains(&hops);
        let why = "a number or a way that this ring does not have";
        if known { Ok(()) } else { Err(Refused::Unexpected(why)) }
    }
}

variants! { ElectionInfo {
    NoMark = "itai-rodeh-no-mark" {
        flaw: "a tie is not marked, so each of the tied takes its number for the only highest",
        breaks: Breaks::Agreement,
        shown_by: "-n 3 --initiators 1@0,2@0,3@0",
        refuted_by: "-n 2",
    }
    NoHops = "itai-rodeh-no-hops" {
        flaw: "hops are not counted: whoever gets its own number takes it for its own message",
        breaks: Breaks::Agreement,
        shown_by: "-n 3 --initiators 1@0,2@0,3@0",
        refuted_by: "-n 2",
    }
    SameNumber = "itai-rodeh-same-number" {
        flaw: "the tied try again with the same number instead of drawing another",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --initiators 1@0,2@0,3@0 --until 200",
        refuted_by: "-n 2",
    }
    IgnoresCrashes = "itai-rodeh-ignores-crashes" {
        flaw: "an election that a crash has interrupted is not begun again",
        breaks: Breaks::Termination,
        shown_by: "-n 4 --crash 4@2.5 --initiators 1@0",
        refuted_by: "-n 3 --initiators 1 --crashes 1",
    }
} }

impl Election for ItaiRodeh {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let node = |circle| ItaiRodeh {
            circle,
            flaw,
            epoch: Epoch::FIRST,
            participant: false,
            id: None,
            drawing: false,
        };
        Ok(Circle::all(setup).into_iter().map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        let circle = self.circle.recovered();
        ItaiRodeh { circle, participant: false, id: None, drawing: false, ..self.clone() }
    }

    fn draws(&self) -> Option<u32> {
        self.drawing.then(|| self.numbers())
    }
}
