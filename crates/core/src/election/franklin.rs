//! Franklin's election: on a ring in both directions, a candidate compares itself with the nearest candidate on
//! either side, and in each phase at least every second one gives up.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::circle::{Alarm, Circle, EPOCH, PARTICIPANT, SURVIVES, SUSPECTED, Turn, Way};
use super::{Case, Claims, Elected, Election, Epoch, Initiators, Notice, RingOrder, kinds};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, Variable, variants};
use crate::{Claim, Formula, Input, Message, NodeId, Outbox, Protocol, Refused, Setup, SetupError};

/// Everybody alive, everybody calls, everything counted.
const ALL_CALL: Case = Case {
    name: "ascending",
    when: "everybody calls at once and ids ascend: all but the highest give up in the first phase",
    highest_down: false,
    initiators: Initiators::All,
    ring: RingOrder::Ascending,
    counted: &[],
    messages: Claim::exactly("5N"),
    time: Some(Claim::exactly("2N")),
};

const SOUND: ElectionInfo = ElectionInfo {
    name: "franklin",
    title: "Franklin's election",
    paper: "R. Franklin: On an improved algorithm for decentralized extrema finding in circular configurations of processors, Communications of the ACM 25(5), 1982",
    family: Family::Ring,
    channel: Order::Any,
    layout: Layout::Ring,
    memory: Formula("4N²+250N"),
    claims: Claims {
        highest: true,
        survives: SURVIVES,
        cases: &[
            ALL_CALL,
            Case {
                name: "average",
                when: "everybody calls at once, in a ring in random order",
                ring: RingOrder::Random,
                messages: Claim::between("5N", "2N⌊log₂N⌋+3N"),
                time: Some(Claim::between("2N", "(N-1)(⌊log₂N⌋-1)+2N")),
                ..ALL_CALL
            },
            Case {
                name: "average, without ELECTED",
                when: "everybody calls at once, in a ring in random order",
                ring: RingOrder::Random,
                counted: &["ID"],
                messages: Claim::between("4N", "2N⌊log₂N⌋+2N"),
                time: Some(Claim::between("2N", "(N-1)(⌊log₂N⌋-1)+2N")),
                ..ALL_CALL
            },
            Case {
                name: "one initiator",
                when: "the highest calls and ids ascend",
                initiators: Initiators::Highest,
                time: Some(Claim::exactly("2N+1")),
                ..ALL_CALL
            },
        ],
    },
    idea: "Every node begins as a candidate. In each phase a candidate sends its id both ways to the nearest \
           candidates, and goes on only if it is higher than both of them; else it gives up and only passes \
           messages on. Of two neighbours at most one goes on, so there are at most log₂N phases of 2N messages \
           each until one is left, whose id then goes round.",
    rules: &[
        "Call: begin a new round as a candidate; ID with the own id both ways.",
        "ID of a newer round: become a candidate of that round first, as if called.",
        "ID at a candidate: keep it until there is one from either side. If both are lower than the own id, begin \
         the next phase with ID both ways; else give up, and pass on what has come for the next phase.",
        "ID at a node that has given up: pass it on.",
        "ID with the own id at a candidate: it has gone round; be the leader, ELECTED to the next live node.",
        "ELECTED: its sender is the leader; pass it on to the place of the leader, where it ends.",
        "What is of an older round, or of one whose leader is known, is dropped; so is an ID that does not come \
         from the next live node on that side, for then the two do not see the same ring.",
        "A node is found dead during an election, or an id that comes by is of a dead node, or no ELECTED comes in \
         the time that an election may take: begin a new round.",
        "The next node in the ring is back: begin a new round, which takes it in.",
    ],
    fires: &[
        "1 call | {participant} = no | {me} begins the round {epoch'[round]}",
        "1 call | {participant} = yes | {me} takes part already",
        "2 ID | {epoch[round]} < {message.epoch[round]}; {epoch'[round]} = {message.epoch[round]} | {me} joins the round {message.epoch[round]}",
        "3 ID | {candidate} = yes; {candidate'} = no; {participant'} = yes; {epoch'[round]} = {epoch[round]} | a neighbour is higher than {me}, which gives up",
        "3 ID | {candidate} = yes; {candidate'} = yes; {epoch'[round]} = {epoch[round]}; {sent} ∋ ID | {me} is higher than both neighbours and begins the next phase",
        "3 ID | {candidate'} = yes; {epoch'[round]} = {message.epoch[round]}; {message.epoch[by]} ≠ {me} | {me} waits for the other side",
        "4 ID | {candidate} = no; {participant} = yes; {message.epoch[round]} = {epoch[round]}; {epoch'[round]} = {epoch[round]} |",
        "5 ID | {message.epoch[by]} = {me}; {elects} = yes | {me} has its own id back, so it leads",
        "5 call, expire, suspect | {elects} = yes | {me} is alone",
        "6 ELECTED | {elects} = yes | {message[by]} leads",
        "6 ELECTED | {message[by]} = {me} | it is back at the leader",
        "6 ELECTED | {message} = {epoch}; {participant} = no | {me} knows it already",
        "7 ID | {message.epoch[round]} < {epoch[round]} | {<}: an older round",
        "7 ID | {message.epoch[round]} = {epoch[round]}; {participant} = no | the leader of this round is known",
        "7 ELECTED | {message} < {epoch}; {elects} = no | {message} is over; {me} knows {epoch}",
        "7 ID | {epoch'[round]} = {message.epoch[round]}; {candidate'} = {candidate}; {left'} = {left}; {right'} = {right}; {sent} = | {from} is not next to {me} as {me} sees the ring",
        "8 expire | | {me} begins the round {epoch'[round]}",
        "8 suspect | {sent} ∋ ID | {whom} is dead, so {me} begins the round {epoch'[round]}",
        "8 ID | {message.epoch[round]} < {epoch'[round]}; {sent} ∋ ID | {message.epoch[by]} is dead, so {me} begins the round {epoch'[round]}",
        "9 trust | {epoch} < {epoch'} | {whom} is back",
    ],
    variables: &[
        PARTICIPANT,
        EPOCH,
        Variable::new("candidate", "active", "whether it is still a candidate"),
        Variable::new("left", "left", "ids from the left that wait for one from the right"),
        Variable::new("right", "right", "ids from the right that wait for one from the left"),
        SUSPECTED,
    ],
    notes: &[
        "Every phase sends two messages over each link, one each way: 2N. The last candidate is alone in the last \
         phase, in which its id goes round both ways: 2N. With ELECTED that makes 2N⌊log₂N⌋+3N at most, and some \
         order of the ring needs as many for every N. Nothing depends on who calls: the first message wakes everybody.",
        "A neighbour may be a phase ahead: it has beaten this node, and its next id comes before that from the other \
         side. So ids wait in a queue for each side.",
        "Messages have no phase numbers, and yet need no FIFO channels: every link carries one id each way in every phase, so \
         nobody waits for one that does not come, and the highest candidate is never beaten, in whatever order ids come. An id \
         that was overtaken can keep a candidate for a phase longer, so the bound on messages holds on FIFO channels.",
        "The first six rules are the paper's. The others are about crashes, of which it knows none; without crashes they \
         cost no message.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// Who is higher than both neighbours leads.
    LocalMaximum,
    /// Who has given up passes nothing on.
    Swallows,
    /// It waits for the result for ever, whoever crashes.
    IgnoresCrashes,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Franklin {
    circle: Circle,
    flaw: Flaw,
    /// The present round and the highest id seen in it; kept in stable storage.
    epoch: Epoch,
    /// Whether it takes part in the present round and does not know the leader yet.
    participant: bool,
    /// Whether it is still a candidate.
    candidate: bool,
    /// Ids of candidates on the left, the one of this phase first.
    left: VecDeque<NodeId>,
    /// The same on the right.
    right: VecDeque<NodeId>,
}

/// What goes round.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// The nearest candidate on that side.
    Id {
        /// The candidate and its round.
        epoch: Epoch,
        /// Which way it goes.
        way: Way,
    },
    /// The one who began this epoch leads.
    Elected(Epoch),
}

impl Message for Msg {
    kinds! { Id = "ID", Elected = "ELECTED" }

    fn payload(&self) -> String {
        let (Msg::Id { epoch, .. } | Msg::Elected(epoch)) = self;
        epoch.by.to_string()
    }
}

impl Protocol for Franklin {
    type Command = Notice;
    type Message = Msg;
    type Timer = Alarm;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        let interrupts = |_| self.flaw != Flaw::IgnoresCrashes;
        match self.circle.turn(input, self.participant, interrupts)? {
            Turn::Rest => {}
            Turn::Begin => self.begin_next(out),
            Turn::Receive(from, message) => {
                let (Msg::Id { epoch, .. } | Msg::Elected(epoch)) = message;
                self.circle.known_candidate(epoch, self.epoch)?;
                match message {
                    Msg::Id { epoch, way } => self.on_id(from, epoch, way, out),
                    Msg::Elected(epoch) => self.on_elected(epoch, out),
                }
            }
        }
        Ok(())
    }
}

impl Franklin {
    fn begin_next(&mut self, out: &mut Outbox<Self>) {
        self.begin(self.epoch.next(self.circle.me()), out);
    }

    /// As a candidate.
    fn begin(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.take_part(epoch, out);
        self.compete(out);
    }

    /// ID both ways.
    fn compete(&mut self, out: &mut Outbox<Self>) {
        self.candidate = true;
        let epoch = Epoch { by: self.circle.me(), ..self.epoch };
        for way in Way::ALL {
            match self.circle.neighbour(way) {
                Some(next) => out.send(next, Msg::Id { epoch, way }),
                None => return self.win(out),
            }
        }
    }

    /// The round of a dead node's id cannot end well, so a new one begins.
    fn on_id(&mut self, from: NodeId, epoch: Epoch, way: Way, out: &mut Outbox<Self>) {
        let me = self.circle.me();
        let newer = epoch.round > self.epoch.round;
        if !newer && (epoch.round < self.epoch.round || !self.participant) {
            return;
        }
        if self.circle.suspects(epoch.by) {
            self.epoch = self.epoch.max(epoch);
            return self.begin_next(out);
        }
        if newer {
            self.begin(Epoch { by: me, ..epoch }, out);
        }
        if self.circle.neighbour(way.back()) != Some(from) {
            return;
        }
        self.epoch = self.epoch.max(epoch);
        if !self.candidate {
            self.pass_on(epoch, way, out);
        } else if epoch.by == me {
            self.on_own_id(out);
        } else {
            match way {
                Way::Right => self.left.push_back(epoch.by),
                Way::Left => self.right.push_back(epoch.by),
            }
            self.compare(out);
        }
    }

    /// Its id has met nobody who is still a candidate.
    fn on_own_id(&mut self, out: &mut Outbox<Self>) {
        if self.epoch.by == self.circle.me() {
            self.win(out);
        } else {
            // A higher id was lost on the way.
            self.begin_next(out);
        }
    }

    /// Once both neighbours are known, it goes on or gives up. Who gives up has at most the next id of the
    /// one that has beaten it.
    fn compare(&mut self, out: &mut Outbox<Self>) {
        let me = self.circle.me();
        let (Some(&left), Some(&right)) = (self.left.front(), self.right.front()) else { return };
        self.left.pop_front();
        self.right.pop_front();
        if me > left.max(right) {
            return if self.flaw == Flaw::LocalMaximum { self.win(out) } else { self.compete(out) };
        }
        self.candidate = false;
        let early = [
            (Way::Right, std::mem::take(&mut self.left)),
            (Way::Left, std::mem::take(&mut self.right)),
        ];
        for (way, ids) in early {
            for by in ids {
                self.pass_on(Epoch { by, ..self.epoch }, way, out);
            }
        }
    }

    fn pass_on(&self, epoch: Epoch, way: Way, out: &mut Outbox<Self>) {
        let next = self.circle.neighbour(way).filter(|_| self.flaw != Flaw::Swallows);
        if let Some(next) = next {
            out.send(next, Msg::Id { epoch, way });
        }
    }

    fn win(&mut self, out: &mut Outbox<Self>) {
        let epoch = Epoch { by: self.circle.me(), ..self.epoch };
        self.follow(epoch, out);
        if let Some(next) = self.circle.neighbour(Way::Right) {
            out.send(next, Msg::Elected(epoch));
        }
    }

    /// The leader is known; word of it ends at its place.
    fn on_elected(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        let present = epoch.round == self.epoch.round && self.participant;
        let news = epoch > self.epoch || present;
        if news && epoch.by != self.circle.me() {
            self.follow(epoch, out);
            if let Some(next) = self.circle.onward(Way::Right, epoch.by) {
                out.send(next, Msg::Elected(epoch));
            }
        }
    }

    /// All are awake after N bounds. A phase takes as long as an id takes to the next candidate, less than N,
    /// and there are log₂N of them; then the last id goes round, and the result, N each.
    fn take_part(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = epoch;
        self.participant = true;
        self.forget();
        if self.flaw != Flaw::IgnoresCrashes {
            out.arm(Alarm::Elected, patience(self.circle.nodes()));
        }
    }

    fn follow(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.max(epoch);
        self.forget();
        if self.participant {
            self.participant = false;
            out.disarm(Alarm::Elected);
        }
        out.emit(Elected { leader: epoch.by, epoch });
    }

    /// What it knew as a candidate.
    fn forget(&mut self) {
        self.candidate = false;
        self.left.clear();
        self.right.clear();
    }
}

/// How many bounds an election may take in a ring of so many nodes.
fn patience(nodes: usize) -> u32 {
    let phases = nodes.ilog2() as usize;
    u32::try_from(nodes.saturating_mul(phases + 3)).unwrap_or(u32::MAX)
}

variants! { ElectionInfo {
    LocalMaximum = "franklin-local-maximum" {
        flaw: "who is higher than both neighbours takes itself for the leader",
        breaks: Breaks::Validity,
        shown_by: "-n 4 --initiators 3@0 --ring 1,3,2,4",
        refuted_by: "-n 4 --initiators 3 --ring 1,3,2,4",
    }
    Swallows = "franklin-swallows" {
        flaw: "who has given up passes no ids on",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --initiators 1@0 --until 200",
        refuted_by: "-n 2 --initiators 1",
    }
    IgnoresCrashes = "franklin-ignores-crashes" {
        flaw: "an election that a crash has interrupted is not begun again",
        breaks: Breaks::Termination,
        shown_by: "-n 4 --crash 4@0.5 --initiators 3@0",
        refuted_by: "-n 3 --initiators 2 --crashes 1",
    }
} }

impl Election for Franklin {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let node = |circle| Franklin {
            circle,
            flaw,
            epoch: Epoch::FIRST,
            participant: false,
            candidate: false,
            left: VecDeque::new(),
            right: VecDeque::new(),
        };
        Ok(Circle::all(setup).into_iter().map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        let circle = self.circle.recovered();
        let mut node = Franklin { circle, participant: false, ..self.clone() };
        node.forget();
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::stage::{Stage, orders};
    use crate::election::storm::{self, FOG, GALE, SQUALL, Weather};
    use crate::topology::Ring;

    fn stage(ring: Ring) -> Stage<Franklin> {
        Stage::on_ring("franklin", ring)
    }

    /// ID messages, all messages, and the time until the last one knows.
    fn figures(ring: Ring, initiators: impl IntoIterator<Item = usize>) -> (usize, usize, usize) {
        let mut stage = stage(ring);
        let time = stage.elect_highest(initiators);
        assert!(stage.nodes.iter().all(|node| node.epoch.round == 1), "one round is enough");
        let ids = stage.sent_of("ID");
        (ids, stage.sent().len(), time)
    }

    #[test]
    fn sorted_rings_take_one_phase() {
        for n in 2..=20 {
            for ring in [Ring::ascending(n), Ring::descending(n)] {
                assert_eq!(figures(ring.clone(), 0..n), (4 * n, 5 * n, 2 * n));
                assert_eq!(figures(ring, [n - 1]), (4 * n, 5 * n, 2 * n + 1));
            }
        }
    }

    /// Phases of 2N, the last one, and the result; the most that is published is reached.
    #[test]
    fn every_order_keeps_the_bound_and_some_order_reaches_it() {
        for n in 2usize..=8 {
            let phases = n.ilog2() as usize;
            let all: Vec<_> = orders(n).into_iter().map(|ring| figures(ring, 0..n)).collect();
            let ids = all.iter().map(|&(ids, ..)| ids).max();
            assert_eq!(ids, Some(2 * n * phases + 2 * n));
            assert!(all.iter().all(|&(ids, all, _)| ids % (2 * n) == 0 && all == ids + n));
            let longest = (n - 1) * (phases - 1) + 2 * n;
            assert!(all.iter().all(|(.., time)| (2 * n..=longest).contains(time)));
        }
    }

    /// Who calls changes the time, but no message.
    #[test]
    fn the_first_message_wakes_everybody() {
        for n in 2..=7 {
            for ring in orders(n) {
                let (ids, messages, _) = figures(ring.clone(), 0..n);
                for initiator in 0..n {
                    let one = figures(ring.clone(), [initiator]);
                    assert_eq!((one.0, one.1), (ids, messages), "{ring:?}");
                    assert!(one.2 < patience(n) as usize, "{ring:?}: {}", one.2);
                }
            }
        }
    }

    /// P3 has beaten P2 and is a phase ahead before P1's id is there: it waits, and goes on when P2 gives up.
    #[test]
    fn an_early_id_waits_for_the_other_side() {
        let mut stage = stage(Ring::descending(3));
        (0..3).for_each(|node| stage.call(node));
        stage.deliver(2, 1);
        stage.deliver(1, 2);
        stage.deliver(0, 2);
        stage.deliver(2, 1);
        assert_eq!(stage.nodes[1].left, [2, 2].map(NodeId::new));
        assert!(stage.nodes[1].candidate);
        stage.deliver(0, 1);
        assert!(!stage.nodes[1].candidate && stage.nodes[1].left.is_empty());
        stage.settle();
        assert_eq!(stage.leaders(), [Some(2); 3]);
        assert_eq!(stage.sent().len(), 15);
    }

    #[test]
    fn a_dead_candidate_is_replaced_and_takes_over_when_it_is_back() {
        stage(Ring::ascending(4)).replaces_a_dead_candidate();
    }

    #[test]
    fn a_lost_id_is_missed() {
        let mut stage = stage(Ring::ascending(4));
        stage.call(3);
        stage.deliver(3, 0);
        stage.lose(0, 1);
        stage.lose(0, 3);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(3); 4]);
        assert_eq!(stage.named(0).unwrap().epoch.round, 2);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let epoch = |by| Epoch { round: u32::MAX, by: NodeId::new(by) };
        let id = |by| Msg::Id { epoch: epoch(by), way: Way::Right };
        stage(Ring::ascending(3)).refuses(
            1,
            [
                (7, id(2)),
                (1, id(2)),
                (0, id(1)),
                (0, Msg::Elected(epoch(1))),
                (0, id(1 << 30)),
                (0, Msg::Elected(epoch(3))),
            ],
        );
        stage(Ring::ascending(3)).takes(0, id(0));
    }

    /// The channels that it claims are any: in every storm messages overtake each other.
    #[test]
    fn it_survives_storms_in_which_messages_overtake_each_other() {
        for weather in [SQUALL, GALE, FOG] {
            let weather = Weather { overtakes: true, ..weather };
            storm::survives::<Franklin>("franklin", weather, 10_000);
        }
    }

    storm::storms!(Franklin);
}
