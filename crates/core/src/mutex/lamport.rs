//! Lamport (spec 2.2): everybody keeps the same queue and enters as its proven head.

use serde::{Deserialize, Serialize};

use super::queue::RequestQueue;
use super::{Entered, Mutex, Phase, Rules, kinds, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, OwnClock, Variable};
use crate::claims::Condition::{ConstantLatency, Everybody, Lone, Saturated};
use crate::claims::Quantity::{Bypass, ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{
    Claim, Counter, Formula, Message, NodeId, NodeSet, Outbox, Refused, Setup, SetupError,
};

const SOUND: Info = Info {
    name: "lamport",
    title: "Lamport",
    paper: "L. Lamport: Time, clocks, and the ordering of events in a distributed system. CACM 21(7), 1978",
    family: Family::Permission,
    channel: Order::Fifo,
    layout: Layout::None,
    memory: Formula("NN/8 + 64N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("3(N-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, ConstantLatency]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(SyncDelay, Claim::between("1", "2"), &[ConstantLatency]),
            Published::new(Bypass, Claim::between("0", "2(N-1)"), &[]),
        ],
        ordered: true,
    },
    idea: "Every node keeps a queue of all requests, ordered by their stamps. On a FIFO channel a \
           message stamped later than a request proves that no older request of its sender is \
           still under way. A node whose request heads its queue, and which has such proof from \
           everybody, enters.",
    rules: &[
        "Request: stamp the wish with the own clock, once, queue it and send REQUEST(t) to all \
         others.",
        "REQUEST: queue it by (t, id) and answer ACK.",
        "Enter when the own request heads the own queue and a message stamped later than it has \
         come from every other node.",
        "Exit: take the own request out of the queue and send RELEASE to all others.",
        "RELEASE: take its sender's request out of the queue.",
    ],
    fires: &[
        "1 request | | the stamp is {stamp'}; the queue is {queue'}",
        "2 REQUEST | {sent} ∋ ACK | the queue is {queue'}",
        "3 ACK, RELEASE, REQUEST | {enters} = yes | ({stamp}, {me}) heads the queue and every other node was heard, so {me} enters",
        "3 ACK | {phase} = waiting; {queue'[first]} ≠ ({stamp}, {me}) | {queue'[first]} heads the queue, so {me} waits",
        "3 ACK | {phase} = waiting | heard so far: {heard'}, so {me} waits",
        "3 ACK | {phase} ≠ waiting | {me} does not wait, so nothing follows",
        "3 request | {enters} = yes | {me} is alone, so it enters",
        "4 release | | the queue is {queue'}",
        "5 RELEASE | | the queue is {queue'}",
    ],
    variables: &[
        Variable::new("phase", "state", "idle, waiting or inside"),
        Variable::clock(
            "C",
            OwnClock {
                counts: "A request counts twice, once for the wish and once for sending it. Nothing else \
                     counts.",
                receipt: "A REQUEST stamped t makes it max(C, t + 1), any other message max(C, t).",
                why: "No later stamp depends on more: an ACK is still later than the REQUEST that it \
                     answers. What teaches nothing leaves no mark, so that the checker meets a \
                     twenty-fifth of the states.",
            },
        ),
        Variable::new("stamp", "T", "the stamp of the present request, or of the last one"),
        Variable::new("queue", "request queue", "all requests known here, the oldest first"),
        Variable::new("heard", "heard", "who has sent something stamped later than the request"),
    ],
    notes: &[
        "Needs FIFO channels: an ACK that overtakes its sender's REQUEST hides it.",
        "With a network multicast REQUEST and RELEASE are one message each: N+1 per entry.",
        "Survives no crash: a later message of everybody is needed.",
        "A request has one stamp, in all its REQUESTs and in the queue. Every message stamped later \
         counts, not only an ACK.",
        "Its clock is the lectures' abridged: a request counts on by two, a REQUEST sets it beyond its \
         own stamp, any other message no further than its stamp; receipts that teach nothing are not \
         counted. Without the step beyond a REQUEST an idle node's ACK never exceeds it.",
    ],
    broken: None,
};

const LAZY: Info = Info {
    name: "lamport-lazy",
    title: "Lamport without redundant ACKs",
    paper: "L. Lamport: Time, clocks, and the ordering of events in a distributed system. CACM 21(7), 1978; the omission of ACKs: A. D. Kshemkalyani, M. Singhal: Distributed Computing, 2008, §9.3",
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("3(N-1)"), &[Lone]),
            Published::new(
                Messages,
                Claim::exactly("2(N-1)"),
                &[Saturated, Everybody, ConstantLatency],
            ),
            Published::new(Messages, Claim::between("2(N-1)", "3(N-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, ConstantLatency]),
            Published::new(SyncDelay, Claim::exactly("1"), &[Saturated, ConstantLatency]),
            Published::new(Bypass, Claim::between("0", "2(N-1)"), &[]),
        ],
        ordered: true,
    },
    idea: "Lamport's algorithm, in which a node that itself waits or is inside answers no REQUEST: \
           its own REQUEST, if stamped later, says as much as an ACK, and if not, the asker has to \
           wait for its RELEASE anyway.",
    rules: &[
        SOUND.rules[0],
        "REQUEST: queue it by (t, id). Answer ACK only when neither waiting nor inside.",
        SOUND.rules[2],
        SOUND.rules[3],
        SOUND.rules[4],
    ],
    fires: &[
        SOUND.fires[0],
        "2 REQUEST | {phase} = idle; {sent} ∋ ACK | {me} does not want in, so it answers; the queue is {queue'}",
        "2 REQUEST | {phase} ≠ idle; {sent} ∌ ACK | {me} is {phase}, so it does not answer; the queue is {queue'}",
        SOUND.fires[2],
        SOUND.fires[3],
        SOUND.fires[4],
        SOUND.fires[5],
        SOUND.fires[6],
        SOUND.fires[7],
        SOUND.fires[8],
    ],
    notes: &[
        SOUND.notes[0],
        "The fewer idle nodes, the fewer ACKs: none when everybody always wants in.",
        SOUND.notes[2],
        SOUND.notes[3],
        SOUND.notes[4],
    ],
    ..SOUND
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// The rules are the same, but what only a FIFO channel rules out cannot be refused.
    WithoutFifo,
    /// The clock ticks with each send, so one request has as many stamps as there are nodes.
    StampPerSend,
    /// The clock does not advance on receipt.
    NoClockUpdate,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lamport {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// Whether ACKs that say nothing new are left out.
    lazy: bool,
    phase: Phase,
    /// The paper's `C_i`. Counts on at a request, and goes beyond the stamp of one that arrives; nothing
    /// depends on more.
    clock: LamportClock,
    /// The stamp `T_m` of the current request; kept when idle.
    stamp: u64,
    /// The paper's request queue, the own request included.
    queue: RequestQueue,
    /// Who has sent a message stamped later than the current request. It arrived after the request
    /// was made: one that arrived before has set the clock beyond its own stamp.
    heard: NodeSet,
}

/// What the nodes say. All carry the sender's clock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// I want in.
    Request {
        /// Since when.
        t: u64,
    },
    /// I know of your request.
    Ack {
        /// The sender's clock.
        t: u64,
    },
    /// I am out again.
    Release {
        /// The sender's clock.
        t: u64,
    },
}

impl Message for Msg {
    kinds! { Request = "REQUEST", Ack = "ACK", Release = "RELEASE" }

    fn payload(&self) -> String {
        let (Msg::Request { t } | Msg::Ack { t } | Msg::Release { t }) = self;
        t.to_string()
    }

    fn counters(&mut self, _from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        let (Msg::Request { t } | Msg::Ack { t } | Msg::Release { t }) = self;
        each(Counter::Clock, t);
    }
}

impl Rules for Lamport {
    type Message = Msg;

    /// REQUEST(t,i) to all; a request is stamped once and that stamp is used everywhere.
    fn request(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.request()?;
        if self.flaw == Flaw::StampPerSend {
            self.stamp_each(out);
        } else {
            self.stamp = self.clock.tick();
            // Sending counts too, so an ACK that knows of nothing else brings no news of the time.
            self.clock.tick();
            if self.n > 1 {
                out.broadcast(Msg::Request { t: self.stamp });
            }
        }
        self.queue.insert(self.ours());
        self.enter_if_first(out);
        Ok(())
    }

    fn receive(&mut self, from: NodeId, msg: Msg, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match msg {
            Msg::Request { t } => self.on_request(Timestamp::new(t, from), out),
            Msg::Ack { t } => self.on_ack(Timestamp::new(t, from), out),
            Msg::Release { t } => self.on_release(Timestamp::new(t, from), out),
        }
    }

    /// RELEASE to all.
    fn release(&mut self, out: &mut Outbox<Self>) -> Result<(), Refused> {
        self.phase.release()?;
        self.queue.remove_of(self.me);
        self.heard.clear();
        if self.n > 1 {
            out.broadcast(Msg::Release { t: self.clock.now() });
        }
        Ok(())
    }

    fn known_sender(&self, from: NodeId) -> Result<(), Refused> {
        known_peer(from, self.me, self.n as usize)
    }

    /// An ACK that is waited for is noted; with nothing new about the time no answer of ours depends on
    /// it. (Others change nothing at any time, but to prove that takes longer than it saves.)
    fn absorbs(&self, from: NodeId, message: &Msg) -> bool {
        let awaited = self.phase == Phase::Waiting && !self.heard.contains(from);
        matches!(message, Msg::Ack { t } if awaited && *t <= self.clock.now())
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.clock.counters_with(&mut self.stamp, each);
        self.queue.counters(each);
    }
}

impl Lamport {
    /// The flaw: everybody, the node itself included, gets a stamp of its own.
    fn stamp_each(&mut self, out: &mut Outbox<Self>) {
        for node in NodeId::all(self.n as usize) {
            let t = self.clock.tick();
            if node == self.me {
                self.stamp = t;
            } else {
                out.send(node, Msg::Request { t });
            }
        }
    }

    /// Everyone inserts it into a queue ordered by (t,i) and answers ACK.
    fn on_request(&mut self, theirs: Timestamp, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(theirs.clock)?;
        if self.queue.has_of(theirs.node) && self.flaw != Flaw::WithoutFifo {
            return Err(Refused::Unexpected("a second REQUEST before the RELEASE of the first"));
        }
        self.queue.insert(theirs);
        if self.flaw != Flaw::NoClockUpdate {
            self.clock.receive(theirs.clock);
        }
        self.hear(theirs);
        // While we wait or are inside, our REQUEST or the RELEASE to come is stamped later.
        if !self.lazy || self.phase == Phase::Idle {
            out.send(theirs.node, Msg::Ack { t: self.clock.now() });
        }
        self.enter_if_first(out);
        Ok(())
    }

    /// An ACK may come late, after other messages of its sender have let us in.
    fn on_ack(&mut self, stamp: Timestamp, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(stamp.clock)?;
        if self.stamp == 0 {
            return Err(Refused::Unexpected("an ACK before the first request"));
        }
        self.hear(stamp);
        self.enter_if_first(out);
        Ok(())
    }

    /// RELEASE removes it.
    fn on_release(&mut self, stamp: Timestamp, out: &mut Outbox<Self>) -> Result<(), Refused> {
        plausible(stamp.clock)?;
        if !self.queue.remove_of(stamp.node) && self.flaw != Flaw::WithoutFifo {
            return Err(Refused::Unexpected("a RELEASE without a REQUEST"));
        }
        self.hear(stamp);
        self.enter_if_first(out);
        Ok(())
    }

    /// The clock advances to every stamp that arrives; any message stamped later counts as an
    /// acknowledgement.
    fn hear(&mut self, stamp: Timestamp) {
        if self.flaw != Flaw::NoClockUpdate {
            self.clock.witness(stamp.clock);
        }
        if self.phase == Phase::Waiting && stamp > self.ours() {
            self.heard.insert(stamp.node);
        }
    }

    /// Enter when the own request heads the own queue and from every other node a message stamped
    /// later than (t,i) has arrived.
    fn enter_if_first(&mut self, out: &mut Outbox<Self>) {
        let heard_all = self.heard.len() + 1 == self.n as usize;
        if self.phase == Phase::Waiting && heard_all && self.queue.oldest() == Some(self.ours()) {
            self.phase = Phase::Inside;
            out.emit(Entered);
        }
    }

    fn ours(&self) -> Timestamp {
        Timestamp::new(self.stamp, self.me)
    }
}

impl Mutex for Lamport {
    const VARIANTS: &'static [Info] = &[
        SOUND,
        LAZY,
        Info {
            name: "lamport-without-fifo",
            channel: Order::Any,
            broken: Some(Broken {
                flaw: "the channels are not FIFO: an ACK overtakes its sender's REQUEST",
                breaks: Breaks::Safety,
                shown_by: "-n 2 --order any --latency uniform:0.1..2 --think exp:5",
                refuted_by: "-n 2 --requests 1 --order any",
            }),
            ..SOUND
        },
        Info {
            name: "lamport-stamp-per-send",
            broken: Some(Broken {
                flaw: "the clock ticks with each send: one request has N stamps, the highest at high ids",
                breaks: Breaks::Liveness,
                shown_by: "-n 2 --requesters 1",
                refuted_by: "-n 2 --requests 0,1",
            }),
            ..SOUND
        },
        Info {
            name: "lamport-no-clock-update",
            broken: Some(Broken {
                flaw: "the clock does not advance on receipt: an idle node's ACK never exceeds the request",
                breaks: Breaks::Liveness,
                shown_by: "-n 2 --requesters 1",
                refuted_by: "-n 2 --requests 0,1",
            }),
            ..SOUND
        },
    ];

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let (flaw, lazy) = match name {
            "lamport" => (Flaw::None, false),
            "lamport-lazy" => (Flaw::None, true),
            "lamport-without-fifo" => (Flaw::WithoutFifo, false),
            "lamport-stamp-per-send" => (Flaw::StampPerSend, false),
            "lamport-no-clock-update" => (Flaw::NoClockUpdate, false),
            _ => return Err(SetupError::UnknownName(name.into())),
        };
        let node = |me| Lamport {
            me,
            n: setup.nodes() as u32,
            flaw,
            lazy,
            phase: Phase::Idle,
            clock: setup.clock(me),
            stamp: 0,
            queue: RequestQueue::default(),
            heard: NodeSet::new(),
        };
        Ok(NodeId::all(setup.nodes()).map(node).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutex::stage::Stage;

    fn stage(name: &str, n: usize) -> Stage<Lamport> {
        Stage::new(name, &Setup::new(n).unwrap())
    }

    /// The lectures' example: of two concurrent requests the one with the smaller stamp heads both
    /// queues, here by id, and the other one follows on its RELEASE.
    #[test]
    fn the_older_request_enters_first() {
        let mut stage = stage("lamport", 3);
        stage.ask([2, 0]);
        assert_eq!(stage.inside(), [0]);
        stage.leave(0);
        assert_eq!(stage.inside(), [2]);
        stage.leave(2);
        assert_eq!(stage.entries(), [0, 2]);
        assert_eq!(stage.sent(), 2 * 3 * 2);
    }

    /// Pitfall: a clock that ticks per send gives one request N stamps and blocks high ids.
    #[test]
    fn a_request_has_a_single_stamp() {
        let mut stage = stage("lamport", 3);
        stage.request(2);
        assert_eq!(stage.oldest(2, 0), Msg::Request { t: 1 });
        assert_eq!(stage.oldest(2, 1), Msg::Request { t: 1 });
        stage.deliver(2, 0);
        let request = Timestamp::new(1, NodeId::new(2));
        assert_eq!(stage.nodes[0].queue.oldest(), Some(request));
        assert_eq!(stage.nodes[2].queue.oldest(), Some(request));
    }

    /// Pitfall: a clock that does not advance on receipt. The ACK of an idle node with a lower id
    /// would never exceed the request.
    #[test]
    fn the_clock_advances_on_receipt() {
        let mut stage = stage("lamport", 2);
        stage.request(1);
        stage.deliver(1, 0);
        assert_eq!(stage.oldest(0, 1), Msg::Ack { t: 2 });
        stage.deliver(0, 1);
        assert_eq!(stage.entries(), [1]);
    }

    /// Pitfall: waiting for an ACK where another message says as much.
    #[test]
    fn any_later_stamped_message_counts() {
        let mut stage = stage("lamport", 2);
        stage.request(0);
        stage.request(1);
        stage.deliver(1, 0);
        assert_eq!(stage.entries(), [0], "the REQUEST of the other one is stamped later");
        stage.release(0);
        // REQUEST, ACK and RELEASE of the first one: the REQUEST is older, the ACK is later.
        stage.deliver(0, 1);
        stage.deliver(0, 1);
        assert_eq!(stage.inside(), [0; 0]);
        stage.deliver(0, 1);
        assert_eq!(stage.inside(), [1]);
        // The ACK of the second one comes when it is no longer needed.
        stage.deliver(1, 0);
    }

    /// Pitfall: channels that are not FIFO. Both believe that they head the queue.
    #[test]
    fn an_ack_that_overtakes_a_request_lets_two_in() {
        let mut stage = stage("lamport-without-fifo", 2);
        stage.request(0);
        stage.request(1);
        stage.deliver(1, 0);
        assert_eq!(stage.inside(), [0]);
        stage.deliver_nth(0, 1, 1).unwrap();
        assert_eq!(stage.inside(), [0, 1]);
    }

    #[test]
    fn a_lazy_node_acknowledges_only_when_idle() {
        let mut alone = stage("lamport-lazy", 3);
        alone.request(2);
        alone.flush();
        alone.release(2);
        alone.flush();
        assert_eq!(alone.sent(), 3 * 2);

        let mut crowd = stage("lamport-lazy", 3);
        (0..3).for_each(|node| crowd.request(node));
        for node in [0, 1, 2, 0, 1, 2] {
            crowd.flush();
            assert_eq!(crowd.inside(), [node]);
            crowd.release(node);
            crowd.request(node);
        }
        // Six entries, and the REQUESTs of three that still wait.
        assert_eq!(crowd.sent(), 6 * 2 * 2 + 3 * 2);
    }

    #[test]
    fn what_no_correct_peer_can_have_sent_is_refused() {
        let mut stage = stage("lamport", 3);
        stage.request(1);
        stage.deliver(1, 0);
        stage.refuses([
            (1, 0, Msg::Request { t: 5 }),        // asked already
            (2, 0, Msg::Release { t: 5 }),        // has not asked
            (2, 0, Msg::Ack { t: 5 }),            // was not asked
            (2, 0, Msg::Request { t: u64::MAX }), // no clock goes that far
            (1, 0, Msg::Release { t: u64::MAX }),
            (0, 1, Msg::Ack { t: u64::MAX }),
            (0, 0, Msg::Request { t: 5 }), // of the node itself
        ]);
    }
}
