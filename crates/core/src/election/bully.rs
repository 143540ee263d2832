//! The bully algorithm (spec 4.1): silence within the timeout is death, and the highest of the living
//! takes over.

use serde::{Deserialize, Serialize};

use super::{
    Case, Claims, Elected, Election, Epoch, Initiators, NOT_DRAWN, Notice, RingOrder, kinds,
    known_epoch,
};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, Variable, variants};
use crate::protocol::known_peer;
use crate::{Claim, Formula, Input, Message, NodeId, Outbox, Protocol, Refused, Setup, SetupError};

const SOUND: ElectionInfo = ElectionInfo {
    name: "bully",
    title: "Bully election",
    paper: "H. Garcia-Molina: Elections in a distributed computing system, IEEE Transactions on Computers C-31(1), 1982",
    family: Family::Timeout,
    channel: Order::Any,
    layout: Layout::None,
    memory: Formula("64N+16N²"),
    claims: Claims {
        highest: true,
        survives: "any crashes and recoveries, as long as every message arrives within the bound that timers count in",
        cases: &[
            Case {
                name: "best",
                when: "the highest is down and the second highest notices",
                highest_down: true,
                initiators: Initiators::Highest,
                ring: RingOrder::Ascending,
                counted: &[],
                messages: Claim::exactly("1+(N-2)"),
                time: Some(Claim::exactly("3")),
            },
            Case {
                name: "worst",
                when: "the highest is down and the lowest notices",
                highest_down: true,
                initiators: Initiators::Lowest,
                ring: RingOrder::Ascending,
                counted: &[],
                messages: Claim::exactly("N²-N-1"),
                time: Some(Claim::exactly("4")),
            },
        ],
    },
    idea: "Every message and every answer takes a bounded time, so whoever has not answered by then is \
           dead. A node that misses the leader asks all higher ids; if none answers it is the highest of \
           the living and tells the lower ones, else it leaves the matter to those who answered.",
    rules: &[
        "Call: begin a new epoch; ELECTION to every higher id and wait two bounds for an answer.",
        "ELECTION: answer OK and hold an own election in that epoch, unless one is under way in it.",
        "ELECTION of an older epoch: answer OK; the leader adds COORDINATOR.",
        "No OK in time, or nobody higher: be the leader; COORDINATOR to every lower id.",
        "An OK: wait for COORDINATOR; if none comes in time, begin again in a new epoch.",
        "COORDINATOR: its sender is the leader.",
        "A COORDINATOR of an older epoch from a node above the present leader: somebody came back who \
         does not know better; begin a new epoch, which tells it. While asking it counts as an OK.",
    ],
    fires: &[
        "1 call | {phase} = idle; {sent} ∋ ELECTION | {me} begins the epoch {epoch'}",
        "1 call | {phase} ≠ idle | an election is under way already",
        "2 ELECTION | {epoch} < {message}; {sent} ∋ OK; {sent} ∋ ELECTION | {<}: the epoch {message} is new, so {me} answers and asks those above it",
        "2 ELECTION | {epoch} < {message}; {sent} ∋ OK; {elects} = yes | {<}: the epoch {message} is new",
        "2 ELECTION | {epoch} = {message}; {sent} ∋ OK | {me} is in the epoch {epoch} already, so it only answers",
        "3 ELECTION | {message} < {epoch}; {sent} ∋ OK | {<}: the epoch {message} is over; {me} is in {epoch}",
        "4 expire | {elects} = yes | nobody above {me} answered in time, so it leads",
        "4 call, ELECTION | {elects} = yes | nobody is above {me}, so it leads",
        "4 COORDINATOR | {elects} = yes; {leader'} = {me} | nobody is above {me}, so it leads",
        "5 OK | {phase} = asking | {from} is alive and above {me}, so {me} waits for COORDINATOR",
        "5 OK | {phase} ≠ asking | {me} has its answer already",
        "5 expire | {phase} = waiting; {sent} ∋ ELECTION | no COORDINATOR came in time, so {me} begins the epoch {epoch'}",
        "6 COORDINATOR | {epoch} ≤ {message}; {leader'} = {from} |",
        "7 COORDINATOR | {message} < {epoch}; {phase} = asking | {<}: an older epoch, but {from} is alive, which counts as an OK",
        "7 COORDINATOR | {message} < {epoch}; {leader} < {from}; {phase} = idle | {<}: {from} came back, so {me} begins the epoch {epoch'}",
        "7 COORDINATOR | {message} < {epoch} | {<}: an older epoch",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, asking the higher ones, or waiting for one of them"),
        Variable::new("leader", "coordinator", "who leads, as far as it knows"),
        Variable::new("epoch", "epoch", "the newest election that it knows of"),
        Variable::new("returned", "returned", "whether it has ever come back from a crash"),
    ],
    notes: &[
        "A receiver that only answers OK and holds no election of its own leaves everybody waiting.",
        "Needs the bound: an alarm that rings before the OK arrives makes a second leader in the same \
         epoch (`skeptron check bully -n 3 --premature 1 --keep-going`).",
        "A node that has come back must not take part in an epoch that was under way then: the others have \
         counted it dead. Word of such an epoch may reach it late, even after it has won or followed another, \
         so from then on it answers every newer one with an epoch of its own.",
        "The epoch is kept in stable storage; nothing else is.",
    ],
    broken: None,
};

/// How long a higher node may take to answer: there and back.
const ANSWER: u32 = 2;
/// How long the winner may take after its first OK: one bound until it was asked, two until it knows
/// that nobody is above it, one until everybody hears of it, and one more for another's election that
/// began in between.
const WAIT: u32 = 5;

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// The receiver of ELECTION answers OK and does no more.
    OnlyAnswers,
    /// It does not wait for the answer's way back.
    ShortTimeout,
    /// It takes OK for the end of its worries.
    NeverAgain,
    /// It does not listen to those who come back while it asks.
    DeafWhileAsking,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bully {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// The highest epoch that it knows of; kept in stable storage.
    epoch: Epoch,
    /// Who leads, as far as it knows; itself until it hears better when it comes back.
    leader: NodeId,
    phase: Phase,
    /// Whether it has ever come back from a crash: it cannot know which epochs began before that.
    returned: bool,
}

/// How far an election is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    /// None is under way.
    Idle,
    /// It has asked the higher ones.
    Asking,
    /// A higher one has answered.
    Waiting,
}

/// What the nodes say.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Is anybody above me?
    Election(Epoch),
    /// I am, and see to it.
    Ok(Epoch),
    /// I lead.
    Coordinator(Epoch),
}

impl Message for Msg {
    kinds! { Election = "ELECTION", Ok = "OK", Coordinator = "COORDINATOR" }
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alarm {
    /// An OK.
    Answer,
    /// A COORDINATOR.
    Coordinator,
}

impl Protocol for Bully {
    type Command = Notice;
    type Message = Msg;
    type Timer = Alarm;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Start => Ok(()),
            Input::Command(Notice::Call) => {
                if self.phase == Phase::Idle {
                    self.begin(self.epoch.next(self.me), out);
                }
                Ok(())
            }
            // Its own timeouts are its detector.
            Input::Command(Notice::Suspect(_) | Notice::Trust(_)) => Ok(()),
            Input::Command(Notice::Drawn(_)) => Err(NOT_DRAWN),
            Input::Deliver { from, message } => {
                known_peer(from, self.me, self.n as usize)?;
                let (Msg::Election(epoch) | Msg::Ok(epoch) | Msg::Coordinator(epoch)) = message;
                known_epoch(epoch, self.n as usize)?;
                match message {
                    Msg::Election(epoch) => self.on_election(from, epoch, out),
                    Msg::Ok(epoch) => self.on_ok(from, epoch, out),
                    Msg::Coordinator(epoch) => self.on_coordinator(from, epoch, out),
                }
            }
            Input::Expire(Alarm::Answer) => {
                if self.phase == Phase::Asking {
                    self.win(out);
                }
                Ok(())
            }
            Input::Expire(Alarm::Coordinator) => {
                if self.phase == Phase::Waiting {
                    self.begin(self.epoch.next(self.me), out);
                }
                Ok(())
            }
        }
    }
}

impl Bully {
    /// ELECTION to every higher id.
    fn begin(&mut self, epoch: Epoch, out: &mut Outbox<Self>) {
        self.leave_phase(out);
        self.epoch = epoch;
        if self.higher().next().is_none() {
            return self.win(out);
        }
        self.phase = Phase::Asking;
        for node in self.higher() {
            out.send(node, Msg::Election(epoch));
        }
        out.arm(Alarm::Answer, if self.flaw == Flaw::ShortTimeout { ANSWER - 1 } else { ANSWER });
    }

    /// Answer OK to a lower id and start an own election.
    fn on_election(
        &mut self,
        from: NodeId,
        epoch: Epoch,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        if from > self.me {
            return Err(Refused::Unexpected("an ELECTION from a higher node"));
        }
        if self.flaw == Flaw::OnlyAnswers {
            out.send(from, Msg::Ok(epoch));
            return Ok(());
        }
        let is_late = epoch < self.epoch;
        if epoch > self.epoch {
            self.begin(if self.returned { epoch.next(self.me) } else { epoch }, out);
        }
        out.send(from, Msg::Ok(self.epoch));
        if is_late && self.phase == Phase::Idle && self.leader == self.me {
            // The asker knows nothing of the last election: it is late, or was down then.
            out.send(from, Msg::Coordinator(self.epoch));
        }
        Ok(())
    }

    /// Somebody higher is alive.
    fn on_ok(&mut self, from: NodeId, epoch: Epoch, out: &mut Outbox<Self>) -> Result<(), Refused> {
        if from < self.me {
            return Err(Refused::Unexpected("an OK from a lower node"));
        }
        // An OK of an older epoch answers a question that was put again since.
        if self.phase == Phase::Asking && epoch >= self.epoch {
            self.epoch = epoch;
            self.leave_it_to_others(out);
        }
        Ok(())
    }

    /// Wait for COORDINATOR.
    fn leave_it_to_others(&mut self, out: &mut Outbox<Self>) {
        self.leave_phase(out);
        if self.flaw != Flaw::NeverAgain {
            self.phase = Phase::Waiting;
            out.arm(Alarm::Coordinator, WAIT);
        }
    }

    /// No OK within the timeout: COORDINATOR to every lower id.
    fn win(&mut self, out: &mut Outbox<Self>) {
        self.follow(self.me, self.epoch, out);
        for node in NodeId::all(self.me.index()) {
            out.send(node, Msg::Coordinator(self.epoch));
        }
    }

    /// The sender has won.
    fn on_coordinator(
        &mut self,
        from: NodeId,
        epoch: Epoch,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        if from < self.me {
            return Err(Refused::Unexpected("a COORDINATOR from a lower node"));
        }
        if epoch >= self.epoch {
            self.follow(from, epoch, out);
        } else if self.phase == Phase::Asking && self.flaw != Flaw::DeafWhileAsking {
            self.leave_it_to_others(out);
        } else if self.phase == Phase::Idle && from > self.leader {
            self.begin(self.epoch.next(self.me), out);
        }
        Ok(())
    }

    fn follow(&mut self, leader: NodeId, epoch: Epoch, out: &mut Outbox<Self>) {
        self.leave_phase(out);
        (self.leader, self.epoch) = (leader, epoch);
        out.emit(Elected { leader, epoch });
    }

    fn leave_phase(&mut self, out: &mut Outbox<Self>) {
        match self.phase {
            Phase::Idle => {}
            Phase::Asking => out.disarm(Alarm::Answer),
            Phase::Waiting => out.disarm(Alarm::Coordinator),
        }
        self.phase = Phase::Idle;
    }

    fn higher(&self) -> impl Iterator<Item = NodeId> + use<> {
        NodeId::all(self.n as usize).skip(self.me.index() + 1)
    }
}

variants! { ElectionInfo {
    OnlyAnswers = "bully-only-answers" {
        flaw: "a node that is asked answers OK but holds no election of its own",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --crash 3@0 --initiators 1",
        refuted_by: "-n 3 --initiators 1",
    }
    ShortTimeout = "bully-short-timeout" {
        flaw: "it waits one bound for an answer that takes two",
        breaks: Breaks::Agreement,
        shown_by: "-n 3 --initiators 1",
        refuted_by: "-n 3 --initiators 1 --keep-going",
    }
    NeverAgain = "bully-never-again" {
        flaw: "a node that got an OK waits for the winner for ever, though it may crash",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --crash 3@0 --crash 2@4 --initiators 1",
        refuted_by: "-n 3 --initiators 1 --crashes 1",
    }
    DeafWhileAsking = "bully-deaf-while-asking" {
        flaw: "it asks the higher ones and does not hear the one that has just come back and leads",
        breaks: Breaks::Termination,
        shown_by: "-n 3 --crash 3@0..11 --initiators 2@10 --latency 0.5 --bound 1",
        refuted_by: "-n 3 --initiators 2 --crashes 1 --victims 3 --restarts 1",
    }
} }

impl Election for Bully {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let n = setup.nodes();
        let node = |me| Bully {
            me,
            n: n as u32,
            flaw,
            epoch: Epoch::FIRST,
            leader: NodeId::new(n - 1),
            phase: Phase::Idle,
            returned: false,
        };
        Ok(NodeId::all(n).map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        Bully { leader: self.me, phase: Phase::Idle, returned: true, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::stage::Stage;
    use crate::election::storm::{self, FOG, GALE, SQUALL};

    fn stage(n: usize) -> Stage<Bully> {
        Stage::new("bully", &Setup::new(n).unwrap())
    }

    /// The spec's figures: 1 + (N−2) if the second highest starts, N²−N−1 if the lowest does.
    #[test]
    fn best_and_worst_case_cost_what_is_published() {
        for (n, worst) in [(4, 11), (5, 19), (13, 155)] {
            let mut best = stage(n);
            best.crash(n - 1);
            best.call(n - 2);
            assert_eq!(best.settle(), 3);
            assert_eq!(best.sent().len(), 1 + (n - 2));
            let mut stage = stage(n);
            stage.crash(n - 1);
            stage.call(0);
            stage.settle();
            assert_eq!(stage.sent().len(), worst);
            assert!(stage.leaders()[..n - 1].iter().all(|&leader| leader == Some(n - 2)));
        }
    }

    /// Pitfall: an answer without an election elects nobody.
    #[test]
    fn an_ok_alone_elects_nobody() {
        let mut stage = Stage::<Bully>::new("bully-only-answers", &Setup::new(3).unwrap());
        stage.crash(2);
        stage.call(0);
        for _ in 0..50 {
            stage.tick();
        }
        assert_eq!(stage.leaders(), [None, None, None]);
    }

    #[test]
    fn a_winner_that_crashes_is_replaced() {
        let mut stage = stage(4);
        stage.crash(3);
        stage.call(0);
        stage.tick();
        stage.tick();
        stage.crash(2);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(1), Some(1), None, None]);
    }

    #[test]
    fn a_recovered_higher_id_takes_over() {
        let mut stage = stage(4);
        stage.crash(3);
        stage.call(1);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(2), Some(2), Some(2), None]);
        stage.restart(3);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(3); 4]);
        let epochs: Vec<_> = (0..4).map(|node| stage.named(node).unwrap().epoch).collect();
        assert!(epochs.iter().all(|&epoch| epoch == epochs[0]), "{epochs:?}");
    }

    /// Word of an epoch in which it was counted dead may reach a node after it has come back and won.
    #[test]
    fn who_has_come_back_joins_no_epoch_that_was_under_way() {
        let mut stage = stage(4);
        stage.crash(3);
        stage.call(1);
        stage.settle();
        stage.call(0);
        stage.deliver(0, 2);
        stage.restart(3);
        stage.deliver(0, 1);
        stage.deliver(1, 3);
        stage.ring(2, Alarm::Answer);
        let (third, fourth) = (stage.named(2).unwrap(), stage.named(3).unwrap());
        assert_eq!((third.leader, fourth.leader), (NodeId::new(2), NodeId::new(3)));
        assert_ne!(third.epoch, fourth.epoch);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(3); 4]);
    }

    /// An alarm that rings while the OK is under way makes a second leader of the same epoch.
    #[test]
    fn a_premature_alarm_makes_two_leaders() {
        let mut stage = stage(3);
        stage.call(0);
        stage.deliver(0, 1);
        stage.ring(1, Alarm::Answer);
        stage.deliver(0, 2);
        let (second, third) = (stage.named(1).unwrap(), stage.named(2).unwrap());
        assert_eq!(second.epoch, third.epoch);
        assert_ne!(second.leader, third.leader);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let mut stage = stage(3);
        let epoch = Epoch::FIRST.next(NodeId::new(0));
        stage.refuses(
            1,
            [
                (2, Msg::Election(epoch)),
                (0, Msg::Ok(epoch)),
                (0, Msg::Coordinator(epoch)),
                (7, Msg::Election(epoch)),
            ],
        );
    }

    #[test]
    fn it_survives_storms() {
        for weather in [SQUALL, GALE, FOG] {
            storm::survives::<Bully>("bully", weather, 10_000);
        }
    }

    #[test]
    fn broken_variants_break_in_storms() {
        storm::refutes_the_broken::<Bully>(GALE, 50_000);
    }
}
