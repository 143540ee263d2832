//! Chang–Roberts (spec 4.3): ids chase each other round a ring, and only the highest comes home.

use serde::{Deserialize, Serialize};

use super::circle::{Alarm, Circle, EPOCH, PARTICIPANT, SURVIVES, SUSPECTED, Turn, Way};
use super::{Case, Claims, Elected, Election, Epoch, Initiators, Notice, RingOrder, kinds};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, variants};
use crate::{Claim, Formula, Input, Message, Outbox, Protocol, Refused, Setup, SetupError};

/// Only ELECTION messages are counted.
const ELECTIONS: &[&str] = &["ELECTION"];

/// Everybody alive, everybody calls, everything counted.
const ALL_CALL: Case = Case {
    name: "best",
    when: "everybody calls at once and ids ascend in the direction of the messages; with ELECTED",
    highest_down: false,
    initiators: Initiators::All,
    ring: RingOrder::Ascending,
    counted: &[],
    messages: Claim::exactly("3N-1"),
    time: Some(Claim::exactly("2N-1")),
};

const SOUND: ElectionInfo = ElectionInfo {
    name: "chang-roberts",
    title: "Chang–Roberts election",
    paper: "E. Chang, R. Roberts: An improved algorithm for decentralized extrema-finding in circular configurations of processes, Communications of the ACM 22(5), 1979",
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
                name: "worst",
                when: "everybody calls at once and ids descend in the direction of the messages; with ELECTED",
                ring: RingOrder::Descending,
                messages: Claim::exactly("N(N+1)/2+N"),
                ..ALL_CALL
            },
            Case {
                name: "best, ELECTION",
                when: "everybody calls at once and ids ascend in the direction of the messages",
                counted: ELECTIONS,
                messages: Claim::exactly("2N-1"),
                ..ALL_CALL
            },
            Case {
                name: "worst, ELECTION",
                when: "everybody calls at once and ids descend in the direction of the messages",
                ring: RingOrder::Descending,
                counted: ELECTIONS,
                messages: Claim::exactly("N(N+1)/2"),
                ..ALL_CALL
            },
            Case {
                name: "average",
                when: "everybody calls at once, in a ring in random order",
                ring: RingOrder::Random,
                counted: ELECTIONS,
                messages: Claim::between("2N-1", "N(N+1)/2").typically("NH(N)"),
                ..ALL_CALL
            },
            Case {
                name: "one initiator, best",
                when: "the highest calls; with ELECTED",
                initiators: Initiators::Highest,
                ring: RingOrder::Random,
                messages: Claim::exactly("2N"),
                ..ALL_CALL
            },
            Case {
                name: "one initiator, worst",
                when: "the lowest calls and the highest stands right before it; with ELECTED",
                initiators: Initiators::Lowest,
                time: Some(Claim::exactly("3N-2")),
                ..ALL_CALL
            },
        ],
    },
    idea: "Every candidate sends its id round the ring. Whoever gets a lower id than its own does not pass it \
           on, and sends its own instead if it has not done so yet. Only the highest id meets nobody who \
           stops it: whoever gets its own id back has won, and tells the others in one more round.",
    rules: &[
        "Call: begin a new round as a participant; ELECTION with the own id to the next live node.",
        "ELECTION with a higher id than any seen in this round: be a participant, pass it on.",
        "ELECTION with a lower id: swallow it; who is no participant yet sends its own id instead.",
        "ELECTION with the own id: be the leader; ELECTED to the next live node.",
        "ELECTED: its sender is the leader; be no participant any more and pass it on to the place of the \
         leader, where it ends.",
        "An ELECTION or ELECTED of an older round is dropped; one of a newer round makes it the present one.",
        "The candidate is dead, or no ELECTED comes within three rounds of the ring: begin a new round.",
        "The next node in the ring is back: begin a new round, which takes it in.",
    ],
    fires: &[
        "1 call | {participant} = no | {me} begins the round {epoch'[round]}",
        "1 call | {participant} = yes | {me} takes part already",
        "2 ELECTION | {me} < {message[by]}; {epoch'} = {message}; {sent} ∋ ELECTION | {<}, so {me} passes {message[by]} on",
        "3 ELECTION | {message[by]} < {me}; {epoch} < {message}; {epoch'[by]} = {me}; {sent} ∋ ELECTION | {message[by]} < {me}, so {me} swallows it and sends its own id",
        "3 ELECTION | {message[round]} = {epoch[round]}; {message} < {epoch}; {sent} ∌ ELECTION | {message[by]} < {epoch[by]}, so {me} swallows it",
        "3 ELECTION | {message} = {epoch}; {me} ≠ {message[by]}; {sent} ∌ ELECTION | {message[by]} has been here before",
        "4 ELECTION | {message[by]} = {me}; {elects} = yes | {me} has its own id back, so it leads",
        "4 call, expire, suspect | {elects} = yes | {me} is alone",
        "5 ELECTED | {elects} = yes | {message[by]} leads",
        "5 ELECTED | {message[by]} = {me} | it is back at the leader",
        "5 ELECTED | {message} = {epoch}; {participant} = no | {me} knows it already",
        "6 ELECTION | {message[round]} < {epoch[round]}; {sent} ∌ ELECTION | {<}: an older round",
        "6 ELECTION | {message[by]} = {me}; {elects} = no | {me} has seen a higher id or a newer round: {epoch}",
        "6 ELECTED | {message} < {epoch}; {elects} = no | {message} is over; {me} knows {epoch}",
        "7 expire | | {me} begins the round {epoch'[round]}",
        "7 suspect | {sent} ∋ ELECTION | {whom} is dead, so {me} begins the round {epoch'[round]}",
        "7 suspect | {elects} = yes | {whom} is dead",
        "7 ELECTION | {me} < {message[by]}; {epoch'[by]} = {me} | {message[by]} is dead",
        "8 trust | {epoch} < {epoch'} | {whom} is back",
    ],
    variables: &[PARTICIPANT, EPOCH, SUSPECTED],
    notes: &[
        "The first five rules are the paper's. The others are about crashes, of which it knows none; without \
         crashes they cost no message.",
        "An id with the number of its round is an epoch: r/P3 is what P3 can win in round r. So no two nodes \
         can lead in one epoch, whatever alarms and detectors do.",
        "A node that swallows a lower id and does not send its own ends the election without a leader.",
        "On average over all orders of the ring the ids travel N·H(N) hops in all, H the harmonic number.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// It passes lower ids on.
    SwallowsNothing,
    /// It does not send its own id instead of a lower one.
    KeepsStill,
    /// It waits for the result for ever.
    NoAlarm,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChangRoberts {
    circle: Circle,
    flaw: Flaw,
    /// The present round and the highest id seen in it; kept in stable storage.
    epoch: Epoch,
    /// Whether it takes part in the present round and does not know the leader yet.
    participant: bool,
}

/// What goes round.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// The one who began this epoch wants to lead.
    Election(Epoch),
    /// The one who began this epoch leads.
    Elected(Epoch),
}

impl Message for Msg {
    kinds! { Election = "ELECTION", Elected = "ELECTED" }

    fn payload(&self) -> String {
        let (Msg::Election(epoch) | Msg::Elected(epoch)) = self;
        epoch.by.to_string()
    }
}

impl Protocol for ChangRoberts {
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
                let (Msg::Election(epoch) | Msg::Elected(epoch)) = message;
                self.circle.known_candidate(epoch, self.epoch)?;
                match message {
                    Msg::Election(epoch) => self.on_election(epoch, out),
                    Msg::Elected(epoch) => self.on_elected(epoch, out),
                }
            }
        }
        Ok(())
    }
}

impl ChangRoberts {
    fn begin_next(&mut self, out: &mut Outbox<Self>) {
        self.begin(self.epoch.next(self.circle.me()), out);
    }

    /// ELECTION with its own id.
    fn begin(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.take_part(epoch, out);
        match self.circle.neighbour(Way::Right) {
            Some(next) => out.send(next, Msg::Election(epoch)),
            None => self.on_own_election(epoch, out),
        }
    }

    /// A higher id is passed on, a lower one is swallowed, the own one has won.
    fn on_election(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        let me = self.circle.me();
        let lower = epoch.by < me && self.flaw != Flaw::SwallowsNothing;
        if epoch.by == me {
            self.on_own_election(epoch, out);
        } else if epoch <= self.epoch && self.flaw != Flaw::SwallowsNothing {
            // Swallowed: this node has sent or passed on a higher id, or it is late.
        } else if !lower {
            self.pass_on(epoch, out);
        } else if self.flaw != Flaw::KeepsStill {
            self.begin(Epoch { by: me, ..epoch }, out);
        }
    }

    /// Its id has met nobody who stopped it.
    fn on_own_election(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        let flawed = self.flaw == Flaw::SwallowsNothing;
        if self.participant && (epoch == self.epoch || flawed) {
            self.follow(epoch, out);
            if let Some(next) = self.circle.neighbour(Way::Right) {
                out.send(next, Msg::Elected(epoch));
            }
        }
    }

    /// On to the next live node, but never past the place of the candidate: that one is dead then.
    fn pass_on(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.take_part(epoch, out);
        match self.circle.onward(Way::Right, epoch.by) {
            Some(next) => out.send(next, Msg::Election(epoch)),
            None => self.begin_next(out),
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

    /// Within N bounds the highest is a participant, N later its id is back, N later all know.
    fn take_part(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.max(epoch);
        self.participant = true;
        if self.flaw != Flaw::NoAlarm {
            let rounds = 3 * self.circle.nodes();
            out.arm(Alarm::Elected, u32::try_from(rounds).unwrap_or(u32::MAX));
        }
    }

    fn follow(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.epoch = self.epoch.max(epoch);
        if self.participant {
            self.participant = false;
            out.disarm(Alarm::Elected);
        }
        out.emit(Elected { leader: epoch.by, epoch });
    }
}

variants! { ElectionInfo {
    SwallowsNothing = "chang-roberts-swallows-nothing" {
        flaw: "a lower id is passed on like a higher one, so everybody's comes home",
        breaks: Breaks::Validity,
        shown_by: "-n 3 --initiators 1@0",
        refuted_by: "-n 3 --initiators 1",
    }
    KeepsStill = "chang-roberts-keeps-still" {
        flaw: "a node swallows a lower id but does not send its own instead",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --initiators 1@0 --until 200",
        refuted_by: "-n 3 --initiators 1",
    }
    NoAlarm = "chang-roberts-no-alarm" {
        flaw: "nobody minds if an id is lost with whoever held it",
        breaks: Breaks::Termination,
        shown_by: "-n 4 --crash 4@2.5 --initiators 1@0",
        refuted_by: "-n 3 --initiators 1 --crashes 1",
    }
} }

impl Election for ChangRoberts {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let node = |circle| ChangRoberts { circle, flaw, epoch: Epoch::FIRST, participant: false };
        Ok(Circle::all(setup).into_iter().map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        ChangRoberts { circle: self.circle.recovered(), participant: false, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;
    use crate::election::stage::{Stage, orders};
    use crate::election::storm;
    use crate::topology::Ring;

    fn stage(ring: Ring) -> Stage<ChangRoberts> {
        Stage::on_ring("chang-roberts", ring)
    }

    /// ELECTION messages, all messages, and the time until the last one knows.
    fn figures(ring: Ring, initiators: impl IntoIterator<Item = usize>) -> (usize, usize, usize) {
        let mut stage = stage(ring);
        let time = stage.elect_highest(initiators);
        let elections = stage.sent_of("ELECTION");
        (elections, stage.sent().len(), time)
    }

    #[test]
    fn best_worst_and_single_initiators_cost_what_is_published() {
        for n in 2..=20 {
            let (ascending, descending) = (Ring::ascending(n), Ring::descending(n));
            let (best, worst) = (2 * n - 1, n * (n + 1) / 2);
            assert_eq!(figures(ascending.clone(), 0..n), (best, best + n, 2 * n - 1));
            assert_eq!(figures(descending, 0..n), (worst, worst + n, 2 * n - 1));
            for initiator in 0..n {
                let ahead = n - 1 - initiator;
                let expected = (ahead + n, ahead + 2 * n, ahead + 2 * n - 1);
                assert_eq!(figures(ascending.clone(), [initiator]), expected);
            }
        }
    }

    /// The mean over all orders is N·H(N), as an equation of whole numbers.
    #[test]
    fn the_mean_over_all_orders_is_exact_and_the_extremes_are_the_published_ones() {
        for n in 2..=7 {
            let counts: Vec<usize> =
                orders(n).into_iter().map(|ring| figures(ring, 0..n).0).collect();
            // Every k up to 7 divides 420, so both sides are whole.
            let exact: usize = (1..=n).map(|k| n * counts.len() * (420 / k)).sum();
            assert_eq!(counts.iter().sum::<usize>() * 420, exact);
            assert_eq!(counts.iter().min(), Some(&(2 * n - 1)));
            assert_eq!(counts.iter().max(), Some(&(n * (n + 1) / 2)));
        }
    }

    /// The last one before the place of a dead candidate does not send its id round again.
    #[test]
    fn the_id_of_a_dead_candidate_ends_before_its_place() {
        let mut stage = stage(Ring::ascending(4));
        stage.call(3);
        stage.deliver(3, 0);
        stage.crash(3);
        stage.suspect(3);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(2), Some(2), Some(2), None]);
    }

    #[test]
    fn a_lost_id_is_missed_and_a_higher_one_that_comes_back_takes_over() {
        let mut stage = stage(Ring::ascending(4));
        stage.crash(3);
        stage.call(0);
        (0..5).for_each(|_| stage.tick());
        assert_eq!(stage.leaders(), [None; 4], "the id of P3 was lost at P4");
        stage.suspect(3);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(2), Some(2), Some(2), None]);
        stage.restart(3);
        stage.trust(3);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(3); 4]);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let epoch = |by| Epoch { round: u32::MAX, by: NodeId::new(by) };
        stage(Ring::ascending(3)).refuses(
            1,
            [
                (7, Msg::Election(epoch(2))),
                (1, Msg::Election(epoch(2))),
                (0, Msg::Election(epoch(1))),
                (0, Msg::Elected(epoch(1))),
                (0, Msg::Election(epoch(1 << 30))),
                (0, Msg::Elected(epoch(3))),
            ],
        );
        stage(Ring::ascending(3)).takes(0, Msg::Election(epoch(0)));
    }

    storm::storms!(ChangRoberts);
}
