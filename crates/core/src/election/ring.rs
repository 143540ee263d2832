//! Election on a ring (spec 4.2): a list goes round and collects who is alive, and the result goes round
//! once more.

use serde::{Deserialize, Serialize};

use super::circle::{Circle, SURVIVES, SUSPECTED, Turn, Way};
use super::{
    Case, Claims, Elected, Election, Epoch, Initiators, Notice, RingOrder, kinds, known_epoch,
};
use crate::catalogue::{Breaks, Broken, ElectionInfo, Family, Layout, Order, Variable, variants};
use crate::{
    Claim, Formula, Input, Message, NodeId, NodeSet, Outbox, Protocol, Refused, Setup, SetupError,
};

const SOUND: ElectionInfo = ElectionInfo {
    name: "ring",
    title: "Ring election",
    paper: "G. Le Lann: Distributed systems: towards a formal approach, IFIP Congress 1977; with lists of members as in A. S. Tanenbaum and M. van Steen: Distributed Systems, 2002",
    family: Family::Ring,
    channel: Order::Any,
    layout: Layout::Ring,
    memory: Formula("4N²+150N"),
    claims: Claims {
        highest: true,
        survives: SURVIVES,
        cases: &[
            Case {
                name: "one initiator",
                when: "the highest is down and the lowest notices (three nodes or more)",
                highest_down: true,
                initiators: Initiators::Lowest,
                ring: RingOrder::Ascending,
                counted: &[],
                messages: Claim::exactly("2(N-1)"),
                time: Some(Claim::exactly("2(N-1)-1")),
            },
            Case {
                name: "two initiators",
                when: "the highest is down and the two lowest notice at once (three nodes or more)",
                highest_down: true,
                initiators: Initiators::TwoLowest,
                ring: RingOrder::Random,
                counted: &[],
                messages: Claim::exactly("4(N-1)"),
                time: Some(Claim::between("N-1", "2(N-1)-1")),
            },
            Case {
                name: "nobody down",
                when: "everybody is alive and the lowest calls",
                highest_down: false,
                initiators: Initiators::Lowest,
                ring: RingOrder::Random,
                counted: &[],
                messages: Claim::exactly("2N"),
                time: Some(Claim::exactly("2N-1")),
            },
        ],
    },
    idea: "Whoever misses the leader sends a list round the ring, to which every live node adds its id. Back \
           where it began, the list names all who are alive; the highest of them leads, and the result goes \
           round once more. The dead are skipped, and whoever would have to send a list past the place of \
           its dead beginner finishes the election for it.",
    rules: &[
        "Call: begin a new epoch; ELECTION with the own id to the next live node.",
        "ELECTION: add the own id; pass it on.",
        "ELECTION back at its beginner, or at the last live node before the place of a dead one: the highest \
         id in the list leads; COORDINATOR with the leader and the list to the next live node.",
        "COORDINATOR: follow it unless a newer one has been followed; pass it on. It is removed where it \
         began, or by the last live node before.",
        "No COORDINATOR of that or a newer epoch within two rounds: a message was lost with whoever held it; \
         begin a new epoch.",
        "The next node in the ring is back: begin a new epoch, which takes it in.",
    ],
    fires: &[
        "1 call | {waiting} = no | {me} begins the epoch {epoch'}",
        "1 call | {waiting} = yes | {me} waits for a result already",
        "2 ELECTION | {sent} ∋ ELECTION | {me} adds itself to {message.members}",
        "3 ELECTION | {message.members[first]} = {me}; {sent} ∌ ELECTION | {message.members} is back at {me}, which began it",
        "3 ELECTION | {sent} ∌ ELECTION | whoever began {message.members} is dead, and {me} is the last before its place",
        "3 call | {sent} ∌ ELECTION; {waiting} = no | {me} is alone",
        "3 expire | {sent} ∌ ELECTION | {me} is alone",
        "3 trust | {elects} = yes | {me} is alone",
        "4 COORDINATOR | {message.members[first]} = {me} | it is back at {me}, which began it",
        "4 COORDINATOR | {elects} = yes | {message.leader} leads",
        "4 COORDINATOR | | {me} follows {followed} already",
        "5 expire | | {me} begins the epoch {epoch'}",
        "6 trust | {epoch} < {epoch'} | {whom} is back, so {me} begins the epoch {epoch'}",
    ],
    variables: &[
        Variable::new("waiting", "waiting", "whether it has passed on an ELECTION"),
        Variable::new("epoch", "epoch", "the newest election that it knows of"),
        Variable::new("followed", "followed", "the election whose leader it follows"),
        SUSPECTED,
    ],
    notes: &[
        "If only the initiator removes its message, one circles for ever when the initiator dies in either \
         round. Here no message ever passes the place at which it ends.",
        "Two initiators and a crash between their lists make two results: the newer epoch counts.",
        "A node that comes back does not know how many elections it has missed, so its own may have an old \
         epoch. The one before it, which has skipped it, begins another.",
        "Needs no bound for agreement: an alarm that rings too early costs messages.",
        "Alone in the ring a node sends nothing.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// Nobody else removes what a dead node has begun.
    OnlyInitiatorRemoves,
    /// All elections are the same one.
    NoEpochs,
    /// Whoever joined last leads.
    LastLeads,
    /// It waits for the result for ever.
    NoAlarm,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ring {
    circle: Circle,
    flaw: Flaw,
    /// The highest epoch that it knows of; kept in stable storage.
    epoch: Epoch,
    /// The epoch of the result that it follows.
    followed: Epoch,
    /// Whether it has passed on an ELECTION and waits for the result.
    waiting: bool,
}

/// What goes round.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Who is alive?
    Election {
        /// Which election.
        epoch: Epoch,
        /// Who has passed it on; its beginner first.
        members: Vec<NodeId>,
    },
    /// The result.
    Coordinator {
        /// Of which election.
        epoch: Epoch,
        /// Who leads.
        leader: NodeId,
        /// Who is alive; whoever sends it round first.
        members: Vec<NodeId>,
    },
}

impl Message for Msg {
    kinds! { Election = "ELECTION", Coordinator = "COORDINATOR" }

    fn payload(&self) -> String {
        match self {
            Msg::Election { members, .. } => {
                let members: Vec<String> = members.iter().map(NodeId::to_string).collect();
                format!("[{}]", members.join(", "))
            }
            Msg::Coordinator { leader, .. } => leader.to_string(),
        }
    }
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alarm {
    /// A COORDINATOR.
    Coordinator,
}

impl Protocol for Ring {
    type Command = Notice;
    type Message = Msg;
    type Timer = Alarm;
    type Event = Elected;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match self.circle.turn(input, self.waiting, |_| false)? {
            Turn::Rest => {}
            Turn::Begin => self.begin(out),
            Turn::Receive(_, message) => {
                let (Msg::Election { epoch, .. } | Msg::Coordinator { epoch, .. }) = message;
                known_epoch(epoch, self.circle.nodes())?;
                match message {
                    Msg::Election { epoch, members } => self.on_election(epoch, members, out)?,
                    Msg::Coordinator { epoch, leader, members } => {
                        self.on_coordinator(epoch, leader, members, out)?;
                    }
                }
            }
        }
        Ok(())
    }
}

impl Ring {
    /// ELECTION with its own id.
    fn begin(&mut self, out: &mut Outbox<Self>) {
        let me = self.circle.me();
        self.epoch = match self.flaw {
            Flaw::NoEpochs => self.epoch.max(Epoch { round: 1, by: NodeId::new(0) }),
            _ => self.epoch.next(me),
        };
        self.wait(out);
        self.pass_list(self.epoch, vec![me], out);
    }

    /// Each node appends its id; back at the initiator it becomes COORDINATOR.
    fn on_election(
        &mut self,
        epoch: Epoch,
        mut members: Vec<NodeId>,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        let me = self.circle.me();
        self.check(epoch, &members)?;
        if members[0] == me {
            self.conclude(epoch, members, out);
            return Ok(());
        }
        if !members.contains(&me) {
            members.push(me);
        } else if self.flaw != Flaw::OnlyInitiatorRemoves {
            return Err(Refused::Unexpected("an ELECTION that has been here before"));
        }
        if epoch >= self.epoch {
            self.epoch = epoch;
            self.wait(out);
        }
        self.pass_list(epoch, members, out);
        Ok(())
    }

    /// To its next live successor, skipping dead ones.
    fn pass_list(&mut self, epoch: Epoch, members: Vec<NodeId>, out: &mut Outbox<Self>) {
        match self.onward(members[0]) {
            Some(next) => out.send(next, Msg::Election { epoch, members }),
            None => self.conclude(epoch, members, out),
        }
    }

    /// The round is complete: the winner and the new member list circulate once more.
    fn conclude(&mut self, epoch: Epoch, mut members: Vec<NodeId>, out: &mut Outbox<Self>) {
        let me = self.circle.me();
        members.retain(|&node| node != me && !self.circle.suspects(node));
        members.insert(0, me);
        let leader = match self.flaw {
            Flaw::LastLeads => members.last(),
            _ => members.iter().max(),
        };
        let leader = *leader.expect("its own id is in it");
        self.follow(leader, epoch, out);
        if let Some(next) = self.circle.neighbour(Way::Right) {
            out.send(next, Msg::Coordinator { epoch, leader, members });
        }
    }

    /// The result; it is removed where it began.
    fn on_coordinator(
        &mut self,
        epoch: Epoch,
        leader: NodeId,
        members: Vec<NodeId>,
        out: &mut Outbox<Self>,
    ) -> Result<(), Refused> {
        self.check(epoch, &members)?;
        if !members.contains(&leader) {
            return Err(Refused::Unexpected("a COORDINATOR whose leader is no member"));
        }
        self.follow(leader, epoch, out);
        let begun_here = members[0] == self.circle.me();
        if let Some(next) = self.onward(members[0]).filter(|_| !begun_here) {
            out.send(next, Msg::Coordinator { epoch, leader, members });
        }
        Ok(())
    }

    /// The highest epoch wins.
    fn follow(&mut self, leader: NodeId, epoch: Epoch, out: &mut Outbox<Self>) {
        if epoch >= self.epoch {
            self.epoch = epoch;
            if self.waiting {
                self.waiting = false;
                out.disarm(Alarm::Coordinator);
            }
        }
        if epoch > self.followed || self.flaw == Flaw::NoEpochs {
            self.followed = epoch;
            out.emit(Elected { leader, epoch });
        }
    }

    /// Two rounds of at most one bound a hop: then the result has come, or it was lost.
    fn wait(&mut self, out: &mut Outbox<Self>) {
        self.waiting = true;
        if self.flaw != Flaw::NoAlarm {
            let rounds = 2 * self.circle.nodes();
            out.arm(Alarm::Coordinator, u32::try_from(rounds).unwrap_or(u32::MAX));
        }
    }

    fn onward(&self, end: NodeId) -> Option<NodeId> {
        match self.flaw {
            Flaw::OnlyInitiatorRemoves => self.circle.neighbour(Way::Right),
            _ => self.circle.onward(Way::Right, end),
        }
    }

    /// A list has somebody in it, nobody twice, and no stranger.
    fn check(&self, epoch: Epoch, members: &[NodeId]) -> Result<(), Refused> {
        let all_known = members.iter().chain([&epoch.by]).all(|&node| self.circle.has(node));
        if members.is_empty() || members.len() > self.circle.nodes() || !all_known {
            return Err(Refused::Unexpected("the list of members is not of this ring"));
        }
        if members.iter().copied().collect::<NodeSet>().len() < members.len() {
            return Err(Refused::Unexpected("somebody is in the list of members twice"));
        }
        Ok(())
    }
}

variants! { ElectionInfo {
    OnlyInitiatorRemoves = "ring-only-initiator-removes" {
        flaw: "only the initiator removes its message, which circles for ever if the initiator dies",
        breaks: Breaks::Termination,
        shown_by: "-n 4 --crash 1@0.5 --initiators 1@0 --detector perfect:1 --until 200",
        refuted_by: "-n 3 --initiators 1 --crashes 1 --victims 1",
    }
    NoEpochs = "ring-no-epochs" {
        flaw: "elections have no epoch: every result counts, and the latest message wins",
        breaks: Breaks::Agreement,
        shown_by: "-n 4 --crash 4@0..20 --initiators 1 --detector perfect:1",
        refuted_by: "-n 3 --initiators 1 --crashes 1 --restarts 1",
    }
    LastLeads = "ring-last-leads" {
        flaw: "the last in the list leads instead of the highest",
        breaks: Breaks::Validity,
        shown_by: "-n 4 --initiators 1@0 --ring 1,4,3,2",
        refuted_by: "-n 3 --initiators 2",
    }
    NoAlarm = "ring-no-alarm" {
        flaw: "nobody minds if the list is lost with whoever held it",
        breaks: Breaks::Termination,
        shown_by: "-n 4 --crash 4@2.5 --initiators 1@0",
        refuted_by: "-n 3 --initiators 1 --crashes 1",
    }
} }

impl Election for Ring {
    const VARIANTS: &'static [ElectionInfo] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        setup.refuse_clocks(SOUND.name)?;
        let flaw = flaw_of(name)?;
        let (epoch, followed) = (Epoch::FIRST, Epoch::FIRST);
        let node = |circle| Ring { circle, flaw, epoch, followed, waiting: false };
        Ok(Circle::all(setup).into_iter().map(node).collect())
    }

    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn recovered(&self) -> Self {
        Ring {
            circle: self.circle.recovered(),
            followed: Epoch::FIRST,
            waiting: false,
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::stage::Stage;
    use crate::election::storm;

    fn stage(name: &str, n: usize) -> Stage<Ring> {
        Stage::new(name, &Setup::new(n).unwrap())
    }

    /// 2 × live messages with one initiator, 4 × with two, whoever they are.
    #[test]
    fn each_initiator_costs_two_rounds() {
        for n in 3..=20 {
            for initiator in 0..n - 1 {
                let mut stage = stage("ring", n);
                stage.crash(n - 1);
                stage.suspect(n - 1);
                stage.call(initiator);
                assert_eq!(stage.settle() as usize, 2 * (n - 1));
                assert_eq!(stage.sent().len(), 2 * (n - 1));
                assert!(stage.leaders()[..n - 1].iter().all(|&leader| leader == Some(n - 2)));
            }
            for second in 1..n - 1 {
                let mut stage = stage("ring", n);
                stage.crash(n - 1);
                stage.suspect(n - 1);
                stage.call(0);
                stage.call(second);
                stage.settle();
                assert_eq!(stage.sent().len(), 4 * (n - 1));
                assert!(stage.leaders()[..n - 1].iter().all(|&leader| leader == Some(n - 2)));
            }
        }
    }

    #[test]
    fn who_is_alone_leads_at_once() {
        let mut stage = stage("ring", 2);
        stage.crash(1);
        stage.suspect(1);
        stage.call(0);
        assert_eq!(stage.settle(), 0);
        assert_eq!((stage.leaders(), stage.sent().len()), (vec![Some(0), None], 0));
    }

    /// Pitfall: the initiator dies in the first round; whoever stands before its place takes over.
    #[test]
    fn a_list_whose_beginner_died_is_taken_over() {
        for (name, circles) in [("ring", false), ("ring-only-initiator-removes", true)] {
            let mut stage = stage(name, 4);
            stage.call(0);
            stage.deliver(0, 1);
            stage.crash(0);
            stage.suspect(0);
            stage.deliver(1, 2);
            stage.deliver(2, 3);
            for _ in 0..100 {
                stage.tick();
            }
            assert_eq!(stage.sent().len() > 50, circles, "{name}");
            let leader = (!circles).then_some(3);
            assert_eq!(stage.leaders()[1..], [leader; 3], "{name}");
        }
    }

    /// Pitfall: the initiator dies in the second round; its result ends before its place.
    #[test]
    fn a_result_whose_beginner_died_is_removed() {
        let mut stage = stage("ring", 4);
        stage.call(0);
        (0..4).for_each(|_| stage.tick());
        stage.crash(0);
        stage.suspect(0);
        stage.settle();
        assert_eq!(stage.sent().len(), 4 + 3);
        assert_eq!(stage.leaders(), [None, Some(3), Some(3), Some(3)]);
    }

    #[test]
    fn a_lost_list_is_missed() {
        let mut stage = stage("ring", 3);
        stage.call(0);
        stage.deliver(0, 1);
        stage.lose(1, 2);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(2); 3]);
    }

    /// The others have held elections of which it knows nothing.
    #[test]
    fn who_comes_back_with_an_old_epoch_is_heard() {
        let mut stage = stage("ring", 4);
        stage.crash(3);
        stage.suspect(3);
        for _ in 0..5 {
            stage.call(0);
            stage.settle();
        }
        assert_eq!(stage.leaders(), [Some(2), Some(2), Some(2), None]);
        stage.restart(3);
        stage.trust(3);
        stage.settle();
        assert_eq!(stage.leaders(), [Some(3); 4]);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let [a, b, c, stranger] = [0, 1, 2, 1 << 20].map(NodeId::new);
        let epoch = Epoch::FIRST.next(a);
        let election = |members| Msg::Election { epoch, members };
        let coordinator = |leader, members| Msg::Coordinator { epoch, leader, members };
        stage("ring", 3).refuses(
            1,
            [
                (7, election(vec![a])),
                (1, election(vec![a])),
                (0, election(vec![])),
                (0, election(vec![a, stranger])),
                (0, election(vec![a, a])),
                (0, election(vec![a, b])),
                (0, election(vec![a; 1000])),
                (0, coordinator(b, vec![a, c])),
                (0, coordinator(stranger, vec![a, stranger])),
            ],
        );
    }

    /// There must always be a next epoch.
    #[test]
    fn absurd_epochs_are_refused() {
        for last in
            [Epoch { round: u32::MAX, by: NodeId::new(0) }, Epoch { round: 1, by: NodeId::new(9) }]
        {
            let election = Msg::Election { epoch: last, members: vec![NodeId::new(0)] };
            let refused = stage("ring", 3).inject(0, 1, election);
            assert!(matches!(refused, Err(Refused::Unexpected(_))), "{last}");
        }
    }

    storm::storms!(Ring);
}
