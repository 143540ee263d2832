//! Cao–Singhal (spec 2.11): ask a quorum; who leaves passes its permissions straight on to the next.

use serde::{Deserialize, Serialize};

use super::candidate::Candidate;
use super::permission;
use super::permission::CLOCK;
use super::{Entered, Lock, Mutex, known_peer};
use crate::catalogue::{Breaks, Broken, Family, Info, Layout, Order, Variable, variants};
use crate::claims::Condition::{
    AsksNobody, AsksOthers, ConstantLatency, Fifo, Lone, LongSections, Saturated,
};
use crate::claims::Quantity::{ClientDelay, Messages, SyncDelay};
use crate::claims::{Claims, Published};
use crate::time::{LamportClock, Timestamp, plausible};
use crate::{
    Claim, Counter, Formula, Input, Message, Never, NodeId, NodeSet, Outbox, Protocol, Refused,
    Setup, SetupError,
};

mod arbiter;

use arbiter::{Arbiter, Say};

const SOUND: Info = Info {
    name: "cao-singhal",
    title: "Cao–Singhal",
    paper: "G. Cao, M. Singhal: A delay-optimal quorum-based mutual exclusion algorithm for distributed systems. IEEE TPDS 12(12), 2001. The rules are as described in secondary sources",
    family: Family::Quorum,
    channel: Order::Any,
    layout: Layout::Quorums,
    memory: Formula("NN/8 + 320N"),
    claims: Claims {
        figures: &[
            Published::new(Messages, Claim::exactly("3(K-1)"), &[Lone, Fifo]),
            Published::new(
                Messages,
                Claim::between("3(K-1)", "6(K-1)"),
                &[Saturated, ConstantLatency],
            ),
            Published::new(Messages, Claim::between("3(K-1)", "10(K-1)"), &[]),
            Published::new(ClientDelay, Claim::exactly("2"), &[Lone, AsksOthers, ConstantLatency]),
            Published::new(ClientDelay, Claim::exactly("0"), &[Lone, AsksNobody]),
            Published::new(
                SyncDelay,
                Claim::exactly("1"),
                &[Saturated, ConstantLatency, LongSections],
            ),
            Published::new(SyncDelay, Claim::between("1", "2"), &[Saturated, ConstantLatency]),
        ],
        ordered: false,
    },
    idea: "As in Maekawa's algorithm a node asks the members of its quorum, and each has one permission to \
           give. There a permission goes back to its arbiter before the next one gets it, which takes two \
           messages one after another. Here the arbiter tells the holder beforehand who is next, by TRANSFER, \
           and the holder passes the permission straight on when it leaves.",
    rules: &[
        "Request: stamp the wish, once, and send REQUEST to the quorum; enter when all have sent REPLY.",
        "REQUEST r at a free arbiter: REPLY to r's node.",
        "REQUEST r at one with a lock: queue r by (t, id). FAIL to r's node, unless r is older than the \
         lock and than all queued. If r is the oldest queued: TRANSFER(r) to the holder, with an INQUIRE \
         if r is older than the lock, once per lock, and FAIL to the request that was the oldest queued \
         one until now, if that is older than the lock.",
        "An arbiter is in the failed set from its FAIL, or from getting its permission back, to its REPLY.",
        "INQUIRE: ignored inside. With a failed set that is not empty, YIELD and forget the TRANSFER; else \
         remember it and act on the next FAIL, for all that are remembered.",
        "TRANSFER(r) where the permission is: remember r; of several the last counts. Elsewhere ignore it.",
        "YIELD: the lock goes back into the queue; REPLY to the oldest.",
        "Exit: RELEASE to the quorum, each with the request to which the permission goes, if one is \
         remembered; and REPLY to that request's node, which ignores it if that request is over.",
        "RELEASE of the lock, passed to r: r leaves the queue and is the lock. If others are queued, \
         TRANSFER of the oldest to r's node, with an INQUIRE if it is older than r. Passed to nobody who \
         is queued: REPLY to the oldest, if any.",
        "RELEASE of a request that is not the lock: keep it until the RELEASE comes that passed the \
         permission there.",
    ],
    fires: &[
        "1 request | | {me} asks {candidate.asks} with the stamp {candidate.stamp'}",
        "1 REPLY | {enters} = yes | all of {candidate.asks} have sent REPLY, so {me} enters",
        "1 REPLY | {candidate.locked'} ∋ {message.arbiter} | REPLY so far: {candidate.locked'} of {candidate.asks}",
        "2 REQUEST | {arbiter.lock} = –; {sent} ∋ REPLY | the permission of {me} is free, so {from} gets it",
        "3 REQUEST | {message.stamp} {from} < {arbiter.lock}; {sent} ∋ INQUIRE | {<}: {from} is older than the lock {arbiter.lock}, so {me} asks for its permission back by INQUIRE",
        "3 REQUEST | {arbiter.lock} < {message.stamp} {from}; {sent} ∋ TRANSFER | {<}: the lock {arbiter.lock} is older, so {from} gets FAIL; but it is next, so the holder gets TRANSFER",
        "3 REQUEST | {arbiter.lock} < {message.stamp} {from}; {sent} ∋ FAIL | {<}: the lock {arbiter.lock} is older, so {from} gets FAIL",
        "3 REQUEST | {arbiter.lock} ≠ –; {sent} ∋ TRANSFER | {from} is the oldest now, so it is next: {arbiter.queue'}",
        "3 REQUEST | {arbiter.lock} ≠ –; {sent} ∋ FAIL | an older request is queued: {arbiter.queue'}",
        "3 REQUEST | {arbiter.lock} ≠ – | {me} is its own arbiter: the lock is {arbiter.lock}, queued are {arbiter.queue'}",
        "4 FAIL | {candidate.failed'} ∋ {from} | the failed set of {me} is {candidate.failed'}",
        "4 FAIL | {sent} ∌ YIELD | the FAIL is about another request, or its REPLY is here already",
        "4 REPLY | {candidate.failed} ∋ {message.arbiter} |",
        "5 INQUIRE | {candidate.phase} ≠ waiting | {me} is {candidate.phase}, so it ignores the INQUIRE",
        "5 INQUIRE | {candidate.failed} ≠ {}; {sent} ∋ YIELD | {candidate.failed} said FAIL, so {me} gives the permission back",
        "5 INQUIRE | {candidate.failed} = {}; {candidate.inquired'} ∋ {from} | nobody said FAIL, so {me} keeps the permission and remembers the INQUIRE",
        "5 INQUIRE | {sent} ∌ YIELD | the permission is not here yet, or the INQUIRE is about another request",
        "5 FAIL | {sent} ∋ YIELD | {candidate.inquired} asked for their permissions back",
        "5 REPLY | {sent} ∋ YIELD | {candidate.inquired} asked for their permissions back, and {candidate.failed} said FAIL",
        "6 TRANSFER | {candidate.locked} ∋ {from}; {message.stamp} = {candidate.stamp} | at the exit the permission of {from} goes to {message.next}",
        "6 TRANSFER | | the permission of {from} is not here for this request, so {me} ignores it",
        "7 YIELD | | {arbiter.lock} goes back into the queue; the lock is {arbiter.lock'}",
        "8 release | {passes} = [] | nobody is known to be next, so all permissions go back",
        "8 release | | to whom permissions go: {passes}",
        "8 REPLY | {candidate.locked'} ∌ {message.arbiter}; {sent} ∌ YIELD | the request for which it came is over, so {me} ignores it",
        "9 RELEASE | {arbiter.lock} = ({message.stamp}, {from}); {arbiter.lock'} = – | nobody is queued, so the permission of {me} is free",
        "9 RELEASE | {arbiter.lock} = ({message.stamp}, {from}); {message.next} = {arbiter.lock'} | {from} has passed the permission to {arbiter.lock'}",
        "9 RELEASE | {arbiter.lock} = ({message.stamp}, {from}) | the permission goes to the oldest queued one, {arbiter.lock'}",
        "10 RELEASE | {arbiter.lock} ≠ ({message.stamp}, {from}) | the lock is {arbiter.lock}: nobody has said yet that the permission was passed to {from}",
    ],
    variables: &[
        Variable::new("candidate.phase", "state", "idle, waiting or inside"),
        Variable::clock("C", CLOCK),
        Variable::new(
            "candidate.stamp",
            "sn",
            "the stamp of the present request, or of the last one",
        ),
        Variable::new("candidate.asks", "req_set", "whom it asks"),
        Variable::new("candidate.locked", "replied", "whose permission it has"),
        Variable::new("candidate.failed", "failed", "who said that others come first"),
        Variable::new("candidate.inquired", "inq_queue", "who asks for its permission back"),
        Variable::new("passes", "tran_stack", "to which request each permission goes at the exit"),
        Variable::new(
            "arbiter.lock",
            "lock",
            "whose request has its permission, as far as it knows",
        ),
        Variable::new(
            "arbiter.queue",
            "req_queue",
            "who waits for its permission, the oldest first",
        ),
        Variable::new(
            "arbiter.early",
            "early",
            "RELEASEs that came before the one of the holder before",
        ),
    ],
    notes: &[
        "Needs no FIFO channels: what is said of a request carries its stamp, and each permission is in one \
         place at a time, whatever its arbiter knows of that. So a TRANSFER that comes late, even one for \
         a permission that was given back and came again, does no harm.",
        "The delay between two entries is T where the TRANSFER is there in time: sections must be longer \
         than a message. Else the arbiter passes the permission on itself, in 2T.",
        "A TRANSFER travels with an INQUIRE or with an arbiter's own REPLY as one message. None is sent \
         where the arbiter itself holds or is next, since its RELEASE takes no longer.",
        "A node may leave, and ask again, before its arbiter hears that the permission was passed to it: \
         its RELEASE waits for the one of the holder before.",
        "The paper counts 5(K−1) to 6(K−1) messages under load. 6(K−1) holds where nobody yields; every \
         YIELD costs two more, and there are at most two of them per request and arbiter.",
        "Survives crashes of idle nodes in nobody's quorum; the crash of an arbiter stops all who ask it, \
         and a node that crashes inside or waiting keeps the permissions that it has.",
    ],
    broken: None,
};

/// What the broken variants get wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Flaw {
    None,
    /// A RELEASE does not say to whom the permission was passed.
    SilentRelease,
    /// A RELEASE that is not the lock's is dropped.
    DropsEarly,
    /// Who was passed a permission is not inquired for an older request.
    NoInquiryAfter,
    /// A TRANSFER and a REPLY count for the present request, whichever they are about.
    Untagged,
}

/// A node's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CaoSinghal {
    me: NodeId,
    n: u32,
    flaw: Flaw,
    /// The highest clock value seen.
    clock: LamportClock,
    /// The half that asks, as Maekawa's: LOCKED is the paper's REPLY, RELINQUISH its YIELD.
    candidate: Candidate,
    /// To whom permissions go at the exit, by arbiter: the paper's `tran_stack`, of which the last entry of each
    /// arbiter counts.
    passes: Vec<Pass>,
    /// The half that is asked.
    arbiter: Arbiter,
}

/// A TRANSFER that is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Pass {
    /// Whose permission.
    arbiter: NodeId,
    /// The request that gets it.
    next: Timestamp,
}

/// What the nodes say. It is always about one request, the sender's or the receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Msg {
    /// What is said.
    pub word: Word,
    /// The stamp of the request it is about.
    pub stamp: u64,
    /// Whose permission it is about.
    pub arbiter: NodeId,
    /// Who gets the permission next, or, in a RELEASE, has got it.
    pub next: Option<Timestamp>,
    /// The sender's clock.
    pub clock: u64,
}

/// What can be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// To an arbiter: I want in.
    Request,
    /// From an arbiter or from the holder before: you have the permission.
    Reply,
    /// To an arbiter: I am out, and the permission is with the next, or yours again.
    Release,
    /// From an arbiter: others come first.
    Fail,
    /// From an arbiter: an older request came, can you still wait?
    Inquire,
    /// To an arbiter: have your permission back for now.
    Yield,
    /// From an arbiter: pass the permission to the next when you leave.
    Transfer,
}

impl Message for Msg {
    const KINDS: &'static [&'static str] =
        &["REQUEST", "REPLY", "RELEASE", "FAIL", "INQUIRE", "YIELD", "TRANSFER"];

    fn kind(&self) -> usize {
        self.word as usize
    }

    fn payload(&self) -> String {
        match (self.word, self.next) {
            (Word::Request, _) => self.stamp.to_string(),
            (Word::Reply, _) => self.arbiter.to_string(),
            (Word::Release | Word::Transfer, Some(next)) => next.node.to_string(),
            _ => String::new(),
        }
    }

    fn counters(&mut self, _from: NodeId, each: &mut dyn FnMut(Counter, &mut u64)) {
        each(Counter::Clock, &mut self.stamp);
        each(Counter::Clock, &mut self.clock);
        if let Some(next) = &mut self.next {
            each(Counter::Clock, &mut next.clock);
        }
    }
}

impl CaoSinghal {
    /// Whether a correct peer can have said this.
    fn may_hear(&self, from: NodeId, message: &Msg) -> Result<(), Refused> {
        let Msg { word, stamp, arbiter, clock, .. } = *message;
        plausible(clock)?;
        if stamp > clock
            || message
                .next
                .is_some_and(|next| next.clock > clock || next.node.index() >= self.n as usize)
        {
            return Err(Refused::Unexpected("a stamp beyond the sender's clock, or of no node"));
        }
        let about = Timestamp::new(stamp, from);
        let owner = match word {
            Word::Request | Word::Release | Word::Yield => self.me,
            Word::Fail | Word::Inquire | Word::Transfer => from,
            Word::Reply => arbiter,
        };
        if arbiter != owner {
            return Err(Refused::Unexpected(
                "a word about a permission that is not the speaker's to speak of",
            ));
        }
        match word {
            Word::Request => self.arbiter.may_ask(about),
            Word::Release => self.arbiter.may_release(about),
            Word::Yield => self.arbiter.may_yield(about),
            Word::Transfer if message.next.is_none() => {
                Err(Refused::Unexpected("a TRANSFER to nobody"))
            }
            // A REPLY that was passed on late; an arbiter's own is always awaited.
            Word::Reply if from != arbiter && self.is_over(stamp) => Ok(()),
            Word::Reply | Word::Fail | Word::Inquire | Word::Transfer => {
                self.candidate.may_hear(maekawas(word), Timestamp::new(stamp, arbiter))
            }
        }
    }

    /// Whether the own request with this stamp is over.
    fn is_over(&self, stamp: u64) -> bool {
        stamp < self.candidate.stamp()
            || stamp == self.candidate.stamp() && !self.candidate.is_waiting()
    }

    /// Takes the word of an arbiter about the own request with that stamp.
    fn hear(
        &mut self,
        word: Word,
        arbiter: NodeId,
        stamp: u64,
        next: Option<Timestamp>,
        out: &mut Outbox<Self>,
    ) {
        let passed_late =
            self.flaw == Flaw::Untagged && word == Word::Reply && self.candidate.is_waiting();
        let stamp = if passed_late { self.candidate.stamp() } else { stamp };
        if word != Word::Transfer {
            self.candidate.hear(maekawas(word), Timestamp::new(stamp, arbiter));
        }
        // Without the permission it is of no use: it was given back, or is still on its way.
        let is_present = stamp == self.candidate.stamp() || self.flaw == Flaw::Untagged;
        let is_held = is_present && self.candidate.has_grant(arbiter);
        if let Some(next) = next.filter(|next| is_held && next.node != self.me) {
            self.forget_pass(arbiter);
            let place = self.passes.partition_point(|pass| pass.arbiter < arbiter);
            self.passes.insert(place, Pass { arbiter, next });
        }
        while let Some(arbiter) = self.candidate.give_back() {
            self.forget_pass(arbiter);
            self.tell(arbiter, Word::Yield, None, out);
        }
        if self.candidate.enter() {
            out.emit(Entered);
        }
    }

    fn forget_pass(&mut self, arbiter: NodeId) {
        self.passes.retain(|pass| pass.arbiter != arbiter);
    }

    /// Leaves: the RELEASEs first, so that the arbiters' next TRANSFERs are not late in sections as short as a
    /// message.
    fn exit(&mut self, out: &mut Outbox<Self>) {
        let passes = std::mem::take(&mut self.passes);
        let passed =
            |arbiter| passes.iter().find(|pass| pass.arbiter == arbiter).map(|pass| pass.next);
        let (me, asks) = (self.me, self.candidate.asks().clone());
        for arbiter in asks.iter().filter(|&arbiter| arbiter != me) {
            let next = passed(arbiter).filter(|_| self.flaw != Flaw::SilentRelease);
            self.tell(arbiter, Word::Release, next, out);
        }
        for Pass { arbiter, next } in passes {
            let message = self.message(Word::Reply, next.clock, arbiter, None);
            out.send(next.node, message);
        }
        if asks.contains(me) {
            self.tell(me, Word::Release, None, out);
        }
    }

    /// Says something about the own request to one of its arbiters.
    fn tell(
        &mut self,
        arbiter: NodeId,
        word: Word,
        next: Option<Timestamp>,
        out: &mut Outbox<Self>,
    ) {
        let stamp = self.candidate.stamp();
        if arbiter == self.me {
            self.arbitrate(word, Timestamp::new(stamp, self.me), next, out);
        } else {
            out.send(arbiter, self.message(word, stamp, arbiter, next));
        }
    }

    /// Takes the word of a requester as its arbiter. What it says may come back here, as a node is often its own
    /// arbiter; both halves are complete whenever that happens.
    fn arbitrate(
        &mut self,
        word: Word,
        request: Timestamp,
        next: Option<Timestamp>,
        out: &mut Outbox<Self>,
    ) {
        let says = match word {
            Word::Request => self.arbiter.request(request),
            Word::Yield => [self.arbiter.yielded(), None],
            _ => [self.arbiter.released(request, next), None],
        };
        for say in says.into_iter().flatten() {
            let (word, to, next) = match say {
                Say::Reply { to, next } => (Word::Reply, to, next),
                Say::Fail { to } => (Word::Fail, to, None),
                Say::Inquire { to, next } => (Word::Inquire, to, next),
                Say::Transfer { to, next } => (Word::Transfer, to, Some(next)),
            };
            if to.node == self.me {
                self.hear(word, self.me, to.clock, next, out);
            } else {
                out.send(to.node, self.message(word, to.clock, self.me, next));
            }
        }
    }

    fn message(&self, word: Word, stamp: u64, arbiter: NodeId, next: Option<Timestamp>) -> Msg {
        Msg { word, stamp, arbiter, next, clock: self.clock.now() }
    }
}

/// The same in Maekawa's words, for the half that asks. A TRANSFER may come late, as a FAILED may.
fn maekawas(word: Word) -> permission::Word {
    match word {
        Word::Reply => permission::Word::Locked,
        Word::Inquire => permission::Word::Inquire,
        _ => permission::Word::Failed,
    }
}

impl Protocol for CaoSinghal {
    type Command = Lock;
    type Message = Msg;
    type Timer = Never;
    type Event = Entered;

    fn step(&mut self, input: Input<Self>, out: &mut Outbox<Self>) -> Result<(), Refused> {
        match input {
            Input::Start => {}
            Input::Command(Lock::Request) => {
                self.candidate.request(&mut self.clock)?;
                let (me, asks) = (self.me, self.candidate.asks().clone());
                for arbiter in asks.iter().filter(|&arbiter| arbiter != me) {
                    self.tell(arbiter, Word::Request, None, out);
                }
                if asks.contains(me) {
                    self.tell(me, Word::Request, None, out);
                }
            }
            Input::Command(Lock::Release) => {
                self.candidate.release()?;
                self.exit(out);
            }
            Input::Deliver { from, message } => {
                known_peer(from, self.me, self.n as usize)?;
                self.may_hear(from, &message)?;
                let Msg { word, stamp, arbiter, next, clock } = message;
                self.clock.witness(clock);
                match word {
                    Word::Request | Word::Release | Word::Yield => {
                        self.arbitrate(word, Timestamp::new(stamp, from), next, out);
                    }
                    Word::Reply | Word::Fail | Word::Inquire | Word::Transfer => {
                        self.hear(word, arbiter, stamp, next, out);
                    }
                }
            }
            Input::Command(Lock::Suspect(_)) => {}
            Input::Expire(never) => match never {},
        }
        Ok(())
    }

    fn counters(&mut self, each: &mut dyn FnMut(Counter, &mut u64)) {
        self.clock.counters(each);
        self.candidate.counters(each);
        self.passes.iter_mut().for_each(|pass| each(Counter::Clock, &mut pass.next.clock));
        self.arbiter.counters(each);
    }
}

variants! { Info {
    SilentRelease = "cao-singhal-silent-release" {
        flaw: "a RELEASE does not say to whom the permission was passed, so its arbiter gives it once more",
        breaks: Breaks::Safety,
        shown_by: "-n 4 --quorum singleton --latency uniform:0.1..2",
        refuted_by: "-n 4 --quorum singleton --requests 0,1,1,1 --judge exclusion",
    }
    DropsEarly = "cao-singhal-drops-early-release" {
        flaw: "a RELEASE that comes before the one of the holder before is dropped",
        breaks: Breaks::Liveness,
        shown_by: "-n 4 --quorum singleton --latency exp:1 --section 0.1",
        refuted_by: "-n 4 --quorum singleton --requests 0,1,1,1",
    }
    NoInquiryAfter = "cao-singhal-no-inquiry-after-passing" {
        flaw: "who was passed a permission is not inquired for an older request that came meanwhile",
        breaks: Breaks::Liveness,
        shown_by: "-n 13 --quorum maekawa-13 --latency exp:1 --think exp:3 --section 0.1",
        refuted_by: "-n 4 --quorum weighted:1,1,0,0 --requests 0,1,1,1",
    }
    Untagged = "cao-singhal-untagged" {
        flaw: "a TRANSFER and a REPLY count for the present request of their receiver, whichever they are about",
        breaks: Breaks::Safety,
        shown_by: "-n 4 --quorum singleton --latency exp:1 --section 0.1",
        refuted_by: "-n 4 --quorum singleton --requests 0,2,2,2 --judge exclusion",
    }
} }

impl Mutex for CaoSinghal {
    const VARIANTS: &'static [Info] = VARIANTS;

    fn build(name: &str, setup: &Setup) -> Result<Vec<Self>, SetupError> {
        let flaw = flaw_of(name)?;
        let missing = SetupError::Missing { algorithm: SOUND.name, what: "quorum system" };
        let quorums = setup.quorums().ok_or(missing)?;
        let asks: Vec<NodeSet> = quorums.iter().map(|set| set.iter().copied().collect()).collect();
        let node = |me: NodeId| {
            let askers = NodeId::all(asks.len()).filter(|i| asks[i.index()].contains(me)).collect();
            let own = &asks[me.index()];
            CaoSinghal {
                me,
                n: asks.len() as u32,
                flaw,
                clock: setup.clock(me),
                candidate: Candidate::new(permission::Flaw::None, own.clone(), own.clone()),
                passes: Vec::new(),
                arbiter: Arbiter::new(flaw, me, askers),
            }
        };
        Ok(NodeId::all(asks.len()).map(node).collect())
    }
}

#[cfg(test)]
mod tests;
