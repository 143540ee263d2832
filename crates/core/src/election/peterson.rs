//! Peterson's election, in the form of Dolev, Klawe and Rodeh: on a ring in which messages go one way, candidates
//! hand their ids on, and in each phase at least every second one gives up.

use serde::{Deserialize, Serialize};

use super::circle::{Alarm, Circle, EPOCH, PARTICIPANT, SURVIVES, SUSPECTED, Turn, Way};
use super::{Case, Claims, Elected, Election, Epoch, Initiators, Notice, RingOrder, kinds};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, Variable, variants};
use crate::{Claim, Formula, Input, Message, NodeId, Outbox, Protocol, Refused, Setup, SetupError};

/// Everybody alive, everybody calls, everything counted.
const ALL_CALL: Case = Case {
    name: "ascending",
    when: "everybody calls at once and ids ascend in the direction of the messages: one phase is enough",
    highest_down: false,
    initiators: Initiators::All,
    ring: RingOrder::Ascending,
    counted: &[],
    messages: Claim::exactly("4N"),
    time: Some(Claim::exactly("2N+1")),
};

const SOUND: ElectionInfo = ElectionInfo {
    name: "peterson",
    title: "Peterson's election",
    paper: "G. L. Peterson: An O(n log n) unidirectional algorithm for the circular extrema problem, ACM Transactions on Programming Languages and Systems 4(4), 1982; D. Dolev, M. Klawe, M. Rodeh: An O(n log n) unidirectional distributed algorithm for extrema finding in a circle, Journal of Algorithms 3(3), 1982",
    family: Family::Ring,
    channel: Order::Fifo,
    layout: Layout::Ring,
    memory: Formula("4N²+150N"),
    claims: Claims {
        highest: true,
        survives: SURVIVES,
        cases: &[
            ALL_CALL,
            Case {
                name: "descending",
                when: "everybody calls at once and ids descend in the direction of the messages",
                ring: RingOrder::Descending,
                ..ALL_CALL
            },
            Case {
                name: "average",
                when: "everybody calls at once, in a ring in random order",
                ring: RingOrder::Random,
                messages: Claim::between("4N", "2N⌊log₂N⌋+2N"),
                time: Some(Claim::between("2N+1", "4N-3")),
                ..ALL_CALL
            },
            Case {
                name: "average, without ELECTED",
                when: "everybody calls at once, in a ring in random order",
                ring: RingOrder::Random,
                counted: &["FIRST", "SECOND"],
                messages: Claim::between("3N", "2N⌊log₂N⌋+N"),
                time: Some(Claim::between("2N+1", "4N-3")),
                ..ALL_CALL
            },
            Case {
                name: "one initiator",
                when: "the lowest calls and ids ascend in the direction of the messages",
                initiators: Initiators::Lowest,
                time: Some(Claim::exactly("3N-1")),
                ..ALL_CALL
            },
        ],
    },
    idea: "Every node begins as a candidate and carries its own id. In each phase a candidate learns the ids that the \
           two nearest candidates before it carry. If the nearer one is the highest of the three, it goes on and carries \
           that id from now on; else it gives up and only passes messages on. Of two neighbours at most one goes on, so \
           there are at most log₂N phases of 2N messages each, although messages go one way only. Who gets the id that \
           it carries is the last candidate, and tells everybody that this id leads.",
    rules: &[
        "Call: begin a new round as a candidate that carries its own id (tid); FIRST with tid to the next live node.",
        "FIRST or SECOND of a newer round: become a candidate of that round first, as if called.",
        "FIRST at a candidate: remember its id as ntid, and send it on as SECOND.",
        "SECOND at a candidate: if ntid is higher than tid and than the id in the message, carry ntid and begin the \
         next phase with FIRST; else give up.",
        "FIRST or SECOND at a node that has given up: pass it on.",
        "FIRST at a candidate with the id that it carries: that id leads; ELECTED to the next live node.",
        "ELECTED: that id leads; pass it on. Who knows already drops it.",
        "What is of an older round, or of one whose leader is known, is dropped; so is a FIRST or SECOND that does not \
         come from the live node before, for then the two do not see the same ring.",
        "A node is found dead during an election, or an id that comes by is of a dead node, or no ELECTED comes in the \
         time that an election may take: begin a new round.",
        "The next node in the ring is back: begin a new round, which takes it in.",
    ],
    fires: &[
        "1 call | {participant} = no | {me} begins the round {epoch'[round]}",
        "1 call | {participant} = yes | {me} takes part already",
        "2 FIRST, SECOND | {epoch[round]} < {message[round]}; {epoch'[round]} = {message[round]} | {me} joins the round {message[round]}",
        "3 FIRST | {ntid'} = {message[by]}; {tid'} ≠ – | the candidate before {me} carries {message[by]}",
        "4 SECOND | {tid'} = {ntid}; {sent} ∋ FIRST | {ntid} is higher than {tid} and {message[by]}, so {me} carries it from now on",
        "4 SECOND | {tid} ≠ –; {tid'} = –; {ntid} < {tid} | {ntid} < {tid}, so {me} gives up",
        "4 SECOND | {tid} ≠ –; {tid'} = – | {ntid} is not higher than {message[by]}, so {me} gives up",
        "5 FIRST, SECOND | {tid} = –; {participant} = yes; {message[round]} = {epoch[round]}; {epoch'[round]} = {epoch[round]} |",
        "6 FIRST | {message[by]} = {tid}; {elects} = yes | {me} carries {tid} and has it back, so {tid} leads",
        "6 call, expire, suspect | {elects} = yes | {me} is alone",
        "7 ELECTED | {elects} = yes | {message[by]} leads",
        "7 ELECTED | {message} = {epoch}; {participant} = no | {me} knows it already",
        "8 FIRST, SECOND | {message[round]} < {epoch[round]} | {<}: an older round",
        "8 FIRST, SECOND | {message[round]} = {epoch[round]}; {participant} = no | the leader of this round is known",
        "8 ELECTED | {message} < {epoch}; {elects} = no | {message} is over; {me} knows {epoch}",
        "8 FIRST, SECOND | {epoch'[round]} = {message[round]}; {tid'} = {tid}; {ntid'} = {ntid}; {sent} = | {from} is not right before {me} as {me} sees the ring",
        "9 expire | | {me} begins the round {epoch'[round]}",
        "9 suspect | {sent} ∋ FIRST | {whom} is dead, so {me} begins the round {epoch'[round]}",
        "9 FIRST, SECOND | {message[round]} < {epoch'[round]}; {sent} ∋ FIRST | {message[by]} is dead, so {me} begins the round {epoch'[round]}",
        "10 trust | {epoch} < {epoch'} | {whom} is back",
    ],
    variables: &[
        PARTICIPANT,
        EPOCH,
        Variable::new("tid", "tid", "the id that it carries, if it is still a candidate"),
        Variable::new(
            "ntid",
            "ntid",
            "the id that the candidate before it carries, once it is known",
        ),
        SUSPECTED,
    ],
    notes: &[
        "The messages are Dolev, Klawe and Rodeh's; Peterson's second message is max(tid, ntid), which decides the same. \
         The last candidate is seldom the node whose id it carries. Here the node with that id leads, which is the \
         highest of all: the last candidate tells everybody so.",
        "Every phase sends two messages over each link: 2N. The last candidate is alone in the last phase, in which FIRST \
         goes round: N. With ELECTED that makes 2N⌊log₂N⌋+2N at most, and some order of the ring needs as many for every \
         N. Nothing depends on who calls: the first message wakes everybody.",
        "FIFO channels are needed: messages have no phase numbers, so a FIRST that overtakes a SECOND is taken for it.",
        "The first seven rules are the papers'. The others are about crashes, of which they know none; without crashes they \
         cost no message.",
    ],
    broken: None,
};

/// How many bounds an election may take for each node of the ring, counted from the moment at which a node
/// first takes part. All are awake after N. Going back from the last FIRST: it took N bounds, and what the phase before
/// waited for came over two gaps between candidates, at most N. What each phase before that waited for came over two
/// gaps of its own, which lie in one gap of the next phase; at least one of that next phase is left, so all these do
/// not make a whole round: N − 2. The result takes N − 1.
const PATIENCE: usize = 5;

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// The last candidate takes itself for the leader.
    NamesItself,
    /// Who has not called only passes messages on.
    StaysAsleep,
    /// It waits for the result for ever, whoever crashes.
    IgnoresCrashes,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Peterson {
    circle: Circle,
    flaw: Flaw,
    /// The present round and the highest id seen in it; kept in stable storage.
    epoch: Epoch,
    /// Whether it takes part in the present round and does not know the leader yet.
    participant: bool,
    /// The id that it carries as a candidate; `None` if it has given up.
    tid: Option<NodeId>,
    /// The id of the candidate before it, from FIRST until SECOND.
    ntid: Option<NodeId>,
}

/// What goes round. An epoch is the number of a round and an id in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// The nearest candidate before carries this id.
    First(Epoch),
    /// The candidate before that one carries this id.
    Second(Epoch),
    /// The node with this id leads.
    Elected(Epoch),
}

impl Message for Msg {
    kinds! { First = "FIRST", Second = "SECOND", Elected = "ELECTED" }

    fn payload(&self) -> String {
        let (Msg::First(epoch) | Msg::Second(epoch) | Msg::Elected(epoch)) = self;
        epoch.by.to_string()
    }
}

impl Protocol for Peterson {
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
                let (Msg::First(epoch) | Msg::Second(epoch) | Msg::Elected(epoch)) = message;
                self.circle.known_candidate(epoch, self.epoch)?;
                match message {
                    Msg::Elected(epoch) => self.on_elected(epoch, out),
                    message => self.on_id(from, epoch, message, out),
                }
            }
        }
        Ok(())
    }
}

impl Peterson {
    fn begin_next(&mut self, out: &mut Outbox<Self>) {
        let me = self.circle.me();
        let epoch = self.epoch.next(me);
        self.take_part(epoch, out);
        self.carry(me, out);
    }

    /// FIRST or SECOND. The round of a dead node's id cannot end well, so a new one begins.
    fn on_id(&mut self, from: NodeId, epoch: Epoch, message: Msg, out: &mut Outbox<Self>) {
        let newer = epoch.round > self.epoch.round;
        if !newer && (epoch.round < self.epoch.round || !self.participant) {
            return;
        }
        if self.circle.suspects(epoch.by) {
            self.epoch = self.epoch.max(epoch);
            return self.begin_next(out);
        }
        if newer {
            self.join(epoch, out);
        }
        if self.circle.neighbour(Way::Left) != Some(from) {
            return;
        }
        self.epoch = self.epoch.max(epoch);
        match (self.tid, message) {
            (None, message) => self.pass_on(message, out),
            (Some(tid), Msg::First(_)) => self.on_first(tid, epoch, out),
            (Some(tid), _) => self.on_second(tid, epoch.by, out),
        }
    }

    /// As a candidate of a round that somebody else began.
    fn join(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        let me = self.circle.me();
        self.take_part(Epoch { by: me, ..epoch }, out);
        if self.flaw != Flaw::StaysAsleep {
            self.carry(me, out);
        }
    }

    /// Begins a phase.
    fn carry(&mut self, id: NodeId, out: &mut Outbox<Self>) {
        (self.tid, self.ntid) = (Some(id), None);
        let epoch = Epoch { by: id, ..self.epoch };
        match self.circle.neighbour(Way::Right) {
            Some(next) => out.send(next, Msg::First(epoch)),
            None => self.win(epoch, out),
        }
    }

    /// The id that it carries has gone round if it is the last candidate.
    fn on_first(&mut self, tid: NodeId, epoch: Epoch, out: &mut Outbox<Self>) {
        if self.ntid.is_some() {
            // The SECOND before it was lost.
            self.begin_next(out);
        } else if epoch.by != tid {
            self.ntid = Some(epoch.by);
            self.pass_on(Msg::Second(epoch), out);
        } else if epoch == self.epoch {
            self.win(epoch, out);
        } else {
            // A higher id was lost on the way.
            self.begin_next(out);
        }
    }

    /// The candidate before is compared with both its neighbours, of which this node is one.
    fn on_second(&mut self, tid: NodeId, before: NodeId, out: &mut Outbox<Self>) {
        match self.ntid {
            Some(ntid) if ntid > tid.max(before) => self.carry(ntid, out),
            Some(_) => (self.tid, self.ntid) = (None, None),
            // The FIRST before it was lost.
            None => self.begin_next(out),
        }
    }

    fn pass_on(&self, message: Msg, out: &mut Outbox<Self>) {
        if let Some(next) = self.circle.neighbour(Way::Right) {
            out.send(next, message);
        }
    }

    fn win(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        let named = self.flaw == Flaw::NamesItself;
        let epoch = if named { Epoch { by: self.circle.me(), ..epoch } } else { epoch };
        self.follow(epoch, out);
        self.pass_on(Msg::Elected(epoch), out);
    }

    fn on_elected(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        let present = epoch.round == self.epoch.round && self.participant;
        if epoch > self.epoch || present {
            self.follow(epoch, out);
            self.pass_on(Msg::Elected(epoch), out);
        }
    }

    fn take_part(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = epoch;
        self.participant = true;
        (self.tid, self.ntid) = (None, None);
        if self.flaw != Flaw::IgnoresCrashes {
            let patience = PATIENCE * self.circle.nodes();
            out.arm(Alarm::Elected, u32::try_from(patience).unwrap_or(u32::MAX));
        }
    }

    fn follow(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.max(epoch);
        (self.tid, self.ntid) = (None, None);
        if self.participant {
            self.participant = false;
            out.disarm(Alarm::Elected);
        }
        out.emit(Elected { leader: epoch.by, epoch });
    }
}

variants! { ElectionInfo {
    NamesItself = "peterson-names-itself" {
        flaw: "the last candidate takes itself for the leader, and not the id that it carries",
        breaks: Breaks::Validity,
        shown_by: "-n 3 --initiators 1@0",
        refuted_by: "-n 3 --initiators 1",
    }
    StaysAsleep = "peterson-stays-asleep" {
        flaw: "who has not called passes messages on and is no candidate itself",
        breaks: Breaks::Validity,
        shown_by: "-n 3 --initiators 1@0,2@0",
        refuted_by: "-n 3 --initiators 1,2",
    }
    IgnoresCrashes = "peterson-ignores-crashes" {
        flaw: "an election that a crash has interrupted is not begun again",
        breaks: Breaks::Termination,
        shown_by: "-n 4 --crash 4@2.5 --initiators 1@0",
        refuted_by: "-n 3 --initiators 1 --crashes 1",
    }
} }

impl Election for Peterson {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let node = |circle| Peterson {
            circle,
            flaw,
            epoch: Epoch::FIRST,
            participant: false,
            tid: None,
            ntid: None,
        };
        Ok(Circle::all(setup).into_iter().map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        Peterson {
            circle: self.circle.recovered(),
            participant: false,
            tid: None,
            ntid: None,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::stage::{Stage, orders};
    use crate::election::storm;
    use crate::topology::Ring;

    fn stage(ring: Ring) -> Stage<Peterson> {
        Stage::on_ring("peterson", ring)
    }

    /// FIRST and SECOND messages, all messages, and the time until the last one knows.
    fn figures(ring: Ring, initiators: impl IntoIterator<Item = usize>) -> (usize, usize, usize) {
        let mut stage = stage(ring);
        let time = stage.elect_highest(initiators);
        let told = stage.sent_of("ELECTED");
        assert!(stage.nodes.iter().all(|node| node.epoch.round == 1), "one round is enough");
        (stage.sent().len() - told, stage.sent().len(), time)
    }

    #[test]
    fn sorted_rings_take_one_phase() {
        for n in 2..=20 {
            for ring in [Ring::ascending(n), Ring::descending(n)] {
                assert_eq!(figures(ring, 0..n), (3 * n, 4 * n, 2 * n + 1));
            }
            assert_eq!(figures(Ring::ascending(n), [0]), (3 * n, 4 * n, 3 * n - 1));
        }
    }

    /// Phases of 2N, the last FIRST, and the result; the most that is published is reached.
    #[test]
    fn every_order_keeps_the_bound_and_some_order_reaches_it() {
        for n in 2usize..=8 {
            let most = 2 * n * n.ilog2() as usize + n;
            let all: Vec<_> = orders(n).into_iter().map(|ring| figures(ring, 0..n)).collect();
            assert_eq!(all.iter().map(|&(ids, ..)| ids).max(), Some(most));
            assert!(all.iter().all(|&(ids, all, _)| (ids - n) % (2 * n) == 0 && all == ids + n));
            let in_time = |&(.., time): &(_, _, usize)| (2 * n + 1..=4 * n - 3).contains(&time);
            assert!(all.iter().all(in_time));
        }
    }

    /// Who calls changes the time, but no message.
    #[test]
    fn the_first_message_wakes_everybody() {
        for n in 2..=7 {
            for ring in orders(n) {
                let all = figures(ring.clone(), 0..n);
                for initiator in 0..n {
                    let (ids, messages, time) = figures(ring.clone(), [initiator]);
                    assert_eq!((ids, messages), (all.0, all.1), "{ring:?}");
                    assert!(time < PATIENCE * n, "{ring:?}: {time}");
                }
            }
        }
    }

    /// The ring 1 3 2 4 of the first phase: P2 gets 3 and then 1, so it carries P3's id on; P1 carries P4's.
    #[test]
    fn candidates_carry_the_highest_of_their_neighbourhood() {
        let ring = Ring::new([0, 2, 1, 3].map(NodeId::new).to_vec()).unwrap();
        let mut stage = stage(ring);
        (0..4).for_each(|node| stage.call(node));
        stage.tick();
        stage.tick();
        let carried: Vec<_> = stage.nodes.iter().map(|node| node.tid.map(NodeId::index)).collect();
        assert_eq!(carried, [Some(3), Some(2), None, None]);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(3); 4], "P4 leads, though it gave up in the first phase");
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
        stage.settle();
        assert_eq!(stage.leaders(), [Some(3); 4]);
        assert_eq!(stage.named(0).unwrap().epoch.round, 2);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let epoch = |by| Epoch { round: u32::MAX, by: NodeId::new(by) };
        stage(Ring::ascending(3)).refuses(
            1,
            [
                (7, Msg::First(epoch(2))),
                (1, Msg::First(epoch(2))),
                (0, Msg::First(epoch(1))),
                (0, Msg::Second(epoch(1))),
                (0, Msg::Elected(epoch(1))),
                (0, Msg::Second(epoch(1 << 30))),
                (0, Msg::Elected(epoch(3))),
            ],
        );
        stage(Ring::ascending(3)).takes(0, Msg::First(epoch(0)));
    }

    storm::storms!(Peterson);
}
