//! Hirschberg–Sinclair (spec 4.3): candidates ask ever larger neighbourhoods on both sides of a ring, so
//! that few remain who ask far.

use serde::{Deserialize, Serialize};

use super::circle::{Alarm, Circle, EPOCH, PARTICIPANT, SURVIVES, SUSPECTED, Turn, Way};
use super::{Case, Claims, Elected, Election, Epoch, Initiators, Notice, RingOrder, kinds};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, Variable, variants};
use crate::{Claim, Formula, Input, Message, Outbox, Protocol, Refused, Setup, SetupError};

/// Everybody alive, everybody calls.
const ALL_CALL: Case = Case {
    name: "ascending",
    when: "everybody calls at once and ids ascend: all but the highest lose in the first phase",
    highest_down: false,
    initiators: Initiators::All,
    ring: RingOrder::Ascending,
    counted: &[],
    messages: Claim::between("10N-8", "14N-16"),
    time: Some(Claim::between("4N-3", "6N-7")),
};

const SOUND: ElectionInfo = ElectionInfo {
    name: "hirschberg-sinclair",
    title: "Hirschberg–Sinclair election",
    paper: "D. S. Hirschberg, J. B. Sinclair: Decentralized extrema-finding in circular configurations of processors, Communications of the ACM 23(11), 1980",
    family: Family::Ring,
    channel: Order::Any,
    layout: Layout::Ring,
    memory: Formula("4N²+150N"),
    claims: Claims {
        highest: true,
        survives: SURVIVES,
        cases: &[
            ALL_CALL,
            Case {
                name: "average",
                when: "everybody calls at once, in a ring in random order",
                ring: RingOrder::Random,
                messages: Claim::between("9N-6", "8N⌈log₂N⌉-N"),
                ..ALL_CALL
            },
            Case {
                name: "one initiator",
                when: "the highest calls",
                initiators: Initiators::Highest,
                ring: RingOrder::Random,
                messages: Claim::between("7N-4", "11N-12"),
                ..ALL_CALL
            },
        ],
    },
    idea: "A candidate asks one node on either side whether it knows a higher id, then two, then four, and so \
           on; it goes on only if both sides say no. So after asking 2ᵏ nodes on either side at most one in \
           2ᵏ+1 nodes is still a candidate, each phase costs at most 8N messages, and there are about log₂N \
           of them. Whoever meets its own question has asked everybody.",
    rules: &[
        "Call: begin a new round as a candidate; PROBE over one hop both ways.",
        "PROBE with a higher id than any seen in this round: pass it on if it has hops left, else REPLY.",
        "PROBE with a lower id: swallow it; who is no candidate yet becomes one.",
        "REPLY: pass it back to its candidate.",
        "A REPLY from both sides: PROBE over twice as many hops both ways.",
        "PROBE with the own id: it has gone round; be the leader, ELECTED to the next live node.",
        "ELECTED: its sender is the leader; pass it on to the place of the leader, where it ends.",
        "What is of an older round is dropped; what is of a newer round makes it the present one.",
        "The candidate is dead, or no ELECTED comes in the time that an election may take: begin a new round.",
        "The next node in the ring is back: begin a new round, which takes it in.",
    ],
    fires: &[
        "1 call | {participant} = no | {me} begins the round {epoch'[round]}",
        "1 call | {participant} = yes | {me} takes part already",
        "2 PROBE | {me} < {message.epoch[by]}; {epoch'} = {message.epoch}; {sent} ∋ PROBE | {<}, so {me} passes it on",
        "2 PROBE | {me} < {message.epoch[by]}; {epoch'} = {message.epoch}; {sent} ∋ REPLY | {<}, and no hop is left, so {me} replies",
        "3 PROBE | {message.epoch[by]} < {me}; {epoch} < {message.epoch}; {sent} ∋ PROBE | {message.epoch[by]} < {me}, so {me} swallows it and is a candidate itself",
        "3 PROBE | {message.epoch} < {epoch}; {message.epoch[round]} = {epoch[round]}; {sent} = | {message.epoch[by]} < {epoch[by]}, so {me} swallows it",
        "4 REPLY | {message.epoch[by]} ≠ {me}; {sent} ∋ REPLY |",
        "5 REPLY | {message.epoch[by]} = {me}; {sent} ∋ PROBE | both sides have replied, so {me} asks over 2 to the power of {phase'} hops",
        "5 REPLY | {message.epoch[by]} = {me}; {replied'} ≠ – | one side has replied, so {me} waits for the other",
        "6 PROBE | {message.epoch[by]} = {me}; {elects} = yes | {me} has its own id back, so it leads",
        "6 PROBE | {message.epoch[by]} = {me}; {participant} = no | {me} leads already",
        "6 call, expire, suspect | {elects} = yes | {me} is alone",
        "7 ELECTED | {elects} = yes | {message[by]} leads",
        "7 ELECTED | {message[by]} = {me} | it is back at the leader",
        "7 ELECTED | {message} = {epoch}; {participant} = no | {me} knows it already",
        "8 PROBE | {message.epoch[round]} < {epoch[round]}; {sent} = | {<}: an older round",
        "8 REPLY | {message.epoch} < {epoch}; {sent} = | {message.epoch} cannot win any more; {me} knows {epoch}",
        "8 REPLY | {participant} = no; {sent} = | the leader is known already",
        "8 PROBE | {message.epoch} = {epoch}; {participant} = no; {sent} = | the leader is known already",
        "8 ELECTED | {message} < {epoch}; {elects} = no | {message} is over; {me} knows {epoch}",
        "9 expire | | {me} begins the round {epoch'[round]}",
        "9 suspect | {sent} ∋ PROBE | {whom} is dead, so {me} begins the round {epoch'[round]}",
        "9 PROBE | {me} < {message.epoch[by]}; {epoch'[by]} = {me}; {sent} ∋ PROBE | {message.epoch[by]} is dead",
        "9 REPLY | {message.epoch[by]} ≠ {me}; {sent} ∋ PROBE | {message.epoch[by]} is dead",
        "10 trust | {epoch} < {epoch'} | {whom} is back",
    ],
    variables: &[
        PARTICIPANT,
        EPOCH,
        Variable::new("phase", "k", "a candidate asks over 2ᵏ hops"),
        Variable::new("replied", "replied", "from which side a REPLY has come in this phase"),
        SUSPECTED,
    ],
    notes: &[
        "The first seven rules are the paper's, except that a node also swallows an id between its own and \
         the highest that it has seen: that one cannot win. The others are about crashes, of which the paper \
         knows none; without crashes they cost no message.",
        "At most 4N messages in the first phase, 8N in each further one over 2ᵏ < N hops, 2N in the last, \
         and N for the result: 8N⌈log₂N⌉−N.",
        "An id with the number of its round is an epoch, as in chang-roberts: no two nodes can lead in one.",
        "Who has beaten its neighbours has not won yet.",
    ],
    broken: None,
};

/// How many bounds an election may take for each node of the ring, counted from the moment at which a node
/// first takes part. Each candidate wakes the nearest higher one, over d hops in less than 5d bounds. Steps
/// on in the same direction make N hops at most; where the way turns, distances at least double and none
/// is above N/2, which makes N more: 10N until the highest is awake. Its phases take less than 4N, its last
/// probe N and the result N.
const PATIENCE: usize = 16;

/// A probe over 2⁶³ hops has gone round every ring.
const LAST_PHASE: u32 = 63;

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// Who has beaten both neighbours leads.
    LocalMaximum,
    /// It does not become a candidate when it meets a lower one.
    KeepsStill,
    /// It waits for the result for ever.
    NoAlarm,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HirschbergSinclair {
    circle: Circle,
    flaw: Flaw,
    /// The present round and the highest id seen in it; kept in stable storage.
    epoch: Epoch,
    /// Whether it takes part in the present round and does not know the leader yet.
    participant: bool,
    /// As a candidate it asks over 2ᵏ hops; this is k.
    phase: u32,
    /// The side from which the REPLY of this phase has come, if one has.
    replied: Option<Way>,
}

/// What goes round, and which way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Does anybody know a higher id than that of the one who began this epoch?
    Probe {
        /// The candidate and its round.
        epoch: Epoch,
        /// Which way it goes.
        way: Way,
        /// In which phase it was sent.
        phase: u32,
        /// How many hops are left.
        hops: u64,
    },
    /// Nobody on this side.
    Reply {
        /// The candidate and its round.
        epoch: Epoch,
        /// Which way it goes.
        way: Way,
        /// The phase of the PROBE.
        phase: u32,
    },
    /// The one who began this epoch leads.
    Elected(Epoch),
}

impl Message for Msg {
    kinds! { Probe = "PROBE", Reply = "REPLY", Elected = "ELECTED" }

    fn payload(&self) -> String {
        match self {
            Msg::Probe { epoch, hops, .. } => format!("{} hops={hops}", epoch.by),
            Msg::Reply { epoch, .. } | Msg::Elected(epoch) => epoch.by.to_string(),
        }
    }
}

impl Protocol for HirschbergSinclair {
    type Command = Notice;
    type Message = Msg;
    type Timer = Alarm;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        // Nobody need wait for a dead candidate.
        let interrupts = |node| node == self.epoch.by;
        match self.circle.turn(input, self.participant, interrupts)? {
            Turn::Rest => {}
            Turn::Begin => self.begin_next(out),
            Turn::Receive(_, message) => {
                self.check(&message)?;
                match message {
                    Msg::Probe { epoch, way, phase, hops } => {
                        self.on_probe(epoch, way, phase, hops, out);
                    }
                    Msg::Reply { epoch, way, phase } => self.on_reply(epoch, way, phase, out),
                    Msg::Elected(epoch) => self.on_elected(epoch, out),
                }
            }
        }
        Ok(())
    }
}

impl HirschbergSinclair {
    fn begin_next(&mut self, out: &mut Outbox<Self>) {
        self.begin(self.epoch.next(self.circle.me()), out);
    }

    /// As a candidate.
    fn begin(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.take_part(epoch, out);
        self.phase = 0;
        self.probe(out);
    }

    /// PROBE over 2ᵏ hops both ways.
    fn probe(&mut self, out: &mut Outbox<Self>) {
        self.replied = None;
        let (epoch, phase) = (self.epoch, self.phase);
        for way in Way::ALL {
            match self.circle.neighbour(way) {
                Some(next) => out.send(next, Msg::Probe { epoch, way, phase, hops: 1 << phase }),
                None => return self.win(out),
            }
        }
    }

    /// A higher id is passed on or answered, a lower one is swallowed, the own one has gone round.
    fn on_probe(&mut self, epoch: Epoch, way: Way, phase: u32, hops: u64, out: &mut Outbox<Self>) {
        let me = self.circle.me();
        if epoch.by == me {
            if self.is_candidate(epoch) {
                self.win(out);
            }
        } else if epoch.by < me {
            if epoch > self.epoch && self.flaw != Flaw::KeepsStill {
                self.begin(Epoch { by: me, ..epoch }, out);
            }
        } else if hops > 1 {
            self.pass_on(way, epoch, Msg::Probe { epoch, way, phase, hops: hops - 1 }, out);
        } else {
            let way = way.back();
            self.pass_on(way, epoch, Msg::Reply { epoch, way, phase }, out);
        }
    }

    /// Both sides have answered: ask twice as far.
    fn on_reply(&mut self, epoch: Epoch, way: Way, phase: u32, out: &mut Outbox<Self>) {
        if epoch.by != self.circle.me() {
            return self.pass_on(way, epoch, Msg::Reply { epoch, way, phase }, out);
        }
        if !self.is_candidate(epoch) || phase != self.phase {
            return;
        }
        match self.replied {
            None => self.replied = Some(way),
            Some(before) if before == way => {}
            Some(_) if self.flaw == Flaw::LocalMaximum => self.win(out),
            Some(_) => {
                self.phase = LAST_PHASE.min(self.phase + 1);
                self.probe(out);
            }
        }
    }

    /// On to the next live node, but never past the place of the candidate: that one is dead then. What
    /// cannot win any more, or has won already, is dropped.
    fn pass_on(&mut self, way: Way, epoch: Epoch, message: Msg, out: &mut Outbox<Self>) {
        if epoch > self.epoch {
            self.take_part(epoch, out);
        } else if epoch < self.epoch || !self.participant {
            return;
        }
        match self.circle.onward(way, epoch.by) {
            Some(next) => out.send(next, message),
            None => self.begin_next(out),
        }
    }

    /// Its probe has met nobody who stopped it.
    fn win(&mut self, out: &mut Outbox<Self>) {
        self.follow(self.epoch, out);
        if let Some(next) = self.circle.neighbour(Way::Right) {
            out.send(next, Msg::Elected(self.epoch));
        }
    }

    /// The leader is known; word of it ends at its place.
    fn on_elected(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        let news = epoch > self.epoch || epoch == self.epoch && self.participant;
        if news && epoch.by != self.circle.me() {
            self.follow(epoch, out);
            if let Some(next) = self.circle.onward(Way::Right, epoch.by) {
                out.send(next, Msg::Elected(epoch));
            }
        }
    }

    fn take_part(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = epoch;
        self.participant = true;
        (self.phase, self.replied) = (0, None);
        if self.flaw != Flaw::NoAlarm {
            let patience = PATIENCE * self.circle.nodes();
            out.arm(Alarm::Elected, u32::try_from(patience).unwrap_or(u32::MAX));
        }
    }

    fn follow(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = epoch;
        (self.phase, self.replied) = (0, None);
        if self.participant {
            self.participant = false;
            out.disarm(Alarm::Elected);
        }
        out.emit(Elected { leader: epoch.by, epoch });
    }

    /// Whether it still hopes to win this epoch, which is its own.
    fn is_candidate(&self, epoch: Epoch) -> bool {
        self.participant && epoch == self.epoch
    }

    /// An epoch is of somebody in the ring, this node knows its own, and no probe goes further than its
    /// phase says.
    fn check(&self, message: &Msg) -> Result<(), Refused> {
        let (Msg::Probe { epoch, .. } | Msg::Reply { epoch, .. } | Msg::Elected(epoch)) = message;
        self.circle.known_candidate(*epoch, self.epoch)?;
        match *message {
            Msg::Probe { phase, hops, .. }
                if phase > LAST_PHASE || hops == 0 || hops > 1 << phase =>
            {
                Err(Refused::Unexpected("a PROBE with more hops than its phase has"))
            }
            _ => Ok(()),
        }
    }
}

variants! { ElectionInfo {
    LocalMaximum = "hirschberg-sinclair-local-maximum" {
        flaw: "who has beaten both neighbours takes itself for the leader",
        breaks: Breaks::Validity,
        shown_by: "-n 4 --initiators 3@0 --ring 1,3,2,4",
        refuted_by: "-n 4 --initiators 3 --ring 1,3,2,4",
    }
    KeepsStill = "hirschberg-sinclair-keeps-still" {
        flaw: "a node swallows a lower id but does not become a candidate itself",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --initiators 1@0 --until 300",
        refuted_by: "-n 3 --initiators 1",
    }
    NoAlarm = "hirschberg-sinclair-no-alarm" {
        flaw: "nobody minds if a question or its answer is lost with whoever held it",
        breaks: Breaks::Termination,
        shown_by: "-n 4 --crash 4@0.5 --initiators 3@0",
        refuted_by: "-n 3 --initiators 2 --crashes 1",
    }
} }

impl Election for HirschbergSinclair {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let node = |circle| HirschbergSinclair {
            circle,
            flaw,
            epoch: Epoch::FIRST,
            participant: false,
            phase: 0,
            replied: None,
        };
        Ok(Circle::all(setup).into_iter().map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        HirschbergSinclair {
            circle: self.circle.recovered(),
            participant: false,
            phase: 0,
            replied: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;
    use crate::election::stage::{Stage, orders};
    use crate::election::storm;
    use crate::topology::Ring;

    fn stage(ring: Ring) -> Stage<HirschbergSinclair> {
        Stage::on_ring("hirschberg-sinclair", ring)
    }

    /// All messages, and the time until the last one knows.
    fn figures(ring: Ring, initiators: impl IntoIterator<Item = usize>) -> (usize, usize) {
        let mut stage = stage(ring);
        let time = stage.elect_highest(initiators);
        (stage.sent().len(), time)
    }

    /// The first power of two that is not below `n`: over so many hops the last PROBE goes.
    fn reach(n: usize) -> usize {
        n.next_power_of_two()
    }

    #[test]
    fn the_highest_pays_for_its_phases_and_the_last_round() {
        for n in 2..=20 {
            let phases = 4 * (reach(n) - 1);
            let time = 2 * (reach(n) - 1) + n + (n - 1);
            let alone = phases + 2 * n + n;
            assert_eq!(figures(Ring::ascending(n), [n - 1]), (alone, time));
            assert!((7 * n - 4..=11 * n - 12).contains(&alone), "{n}: {alone}");
            assert!((4 * n - 3..=6 * n - 7).contains(&time), "{n}: {time}");
            let ascending = phases + 2 * n + n + 3 * n - 4;
            assert_eq!(figures(Ring::ascending(n), 0..n), (ascending, time));
            assert!((10 * n - 8..=14 * n - 16).contains(&ascending), "{n}: {ascending}");
        }
    }

    #[test]
    fn no_order_costs_more_than_the_bound_or_takes_longer_than_the_patience() {
        for n in 2..=7 {
            let bound = 8 * n * reach(n).ilog2() as usize - n;
            for ring in orders(n) {
                let (messages, time) = figures(ring.clone(), 0..n);
                assert!((9 * n - 6..=bound).contains(&messages), "{ring:?}: {messages}");
                assert_eq!(time, 2 * (reach(n) - 1) + 2 * n - 1);
                for initiator in 0..n {
                    assert!(figures(ring.clone(), [initiator]).1 < PATIENCE * n, "{ring:?}");
                }
            }
        }
    }

    #[test]
    fn a_dead_candidate_is_replaced_and_takes_over_when_it_is_back() {
        stage(Ring::ascending(4)).replaces_a_dead_candidate();
    }

    #[test]
    fn a_lost_answer_is_missed() {
        let mut stage = stage(Ring::ascending(4));
        stage.call(3);
        stage.deliver(3, 0);
        stage.lose(0, 3);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(3); 4]);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let epoch = |by| Epoch { round: u32::MAX, by: NodeId::new(by) };
        let way = Way::Right;
        let probe = |by, phase, hops| Msg::Probe { epoch: epoch(by), way, phase, hops };
        stage(Ring::ascending(3)).refuses(
            1,
            [
                (7, probe(2, 0, 1)),
                (1, probe(2, 0, 1)),
                (0, probe(1, 0, 1)),
                (0, probe(3, 0, 1)),
                (0, probe(2, 0, 0)),
                (0, probe(2, 1, 3)),
                (0, probe(2, 64, 1)),
                (0, Msg::Reply { epoch: epoch(1), way, phase: 0 }),
                (0, Msg::Elected(epoch(1 << 30))),
            ],
        );
        stage(Ring::ascending(3)).takes(2, probe(0, 63, 1 << 63));
    }

    storm::storms!(HirschbergSinclair);
}
