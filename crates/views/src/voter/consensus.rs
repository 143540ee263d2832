//! Driving raft: what it says is sent once what it depends on is durable, what it decides is applied.

use raft::eraftpb::{ConfChangeV2, Entry, EntryType, Message, MessageType};
use raft::{ProgressState, SnapshotStatus};
use serde::{Deserialize, Serialize};
use skeptron_member::MemberId;
use skeptron_member::clock::MonoTime;

use super::{ELECTION_TICKS, Effect, HaltReason, Identity, SNAPSHOT_TICKS, Voter, Write};
use crate::flaw::Flaw;
use crate::store::{Hard, Record};
use crate::views::{Command, Outcome, Role, Seat, Views};
use crate::wire::{Body, Configuration, LogEntry, LogSnapshot, Packet, RaftMessage};

/// How many terms a voter can have missed.
const MOST_TERMS_AHEAD: u64 = 1 << 32;

/// What an entry that changes the voters says beside raft's own change, which is built from it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Reseat {
    pub(super) seats: Vec<Seat>,
    pub(super) remove: Vec<u64>,
}

impl Reseat {
    pub(super) fn to_raft(&self) -> ConfChangeV2 {
        use raft::eraftpb::{ConfChangeSingle, ConfChangeTransition, ConfChangeType};
        let single = |node_id, kind| {
            let mut single = ConfChangeSingle::default();
            single.set_node_id(node_id);
            single.set_change_type(kind);
            single
        };
        let added = self.seats.iter().map(|seat| match seat.role {
            Role::Voter => single(seat.raft, ConfChangeType::AddNode),
            Role::Learner { .. } => single(seat.raft, ConfChangeType::AddLearnerNode),
        });
        let removed = self.remove.iter().map(|&raft| single(raft, ConfChangeType::RemoveNode));
        let mut change = ConfChangeV2::default();
        change.set_changes(added.chain(removed).collect::<Vec<_>>().into());
        // The leader leaves the joint configuration itself: raft's automatism forgets it when the
        // leader changes in between.
        if !change.changes.is_empty() {
            change.set_transition(ConfChangeTransition::Explicit);
        }
        change
    }
}

impl Voter {
    /// Hands a message to raft, unless raft would panic.
    pub(super) fn step(
        &mut self,
        now: MonoTime,
        from: MemberId,
        message: RaftMessage,
        out: &mut Vec<Effect>,
    ) {
        let (sender, receiver) = (message.from(), message.to());
        let known = self.views.seats().iter().find(|seat| seat.raft == sender);
        if receiver != self.identity.raft || known.is_some_and(|seat| seat.id != from) {
            return;
        }
        if known.is_none() && sender < self.views.next_raft() && !self.is_configured(sender) {
            let packet = self.packet(Body::Removed { raft: sender });
            out.push(Effect::Send { to: from, packet });
            return;
        }
        let Some(message) = message.into_raft() else { return };
        // No cluster has that many elections; raft would count on from there.
        if message.term > self.node.raft.term.saturating_add(MOST_TERMS_AHEAD) {
            return;
        }
        let last = self.last_index();
        match message.get_msg_type() {
            MessageType::MsgHeartbeat
                if message.term >= self.node.raft.term && message.commit > last =>
            {
                self.halt(self.lost_log(last, message.commit), out);
                return;
            }
            MessageType::MsgAppendResponse if !message.reject && message.index > last => return,
            _ => {}
        }
        self.names.insert(sender, from);
        if let Some(leading) = &mut self.leading {
            leading.attendance.heard(sender, now);
        }
        // Refused messages change nothing.
        let _ = self.node.step(message);
    }

    pub(super) fn last_index(&self) -> u64 {
        self.node.raft.raft_log.last_index()
    }

    /// Learns what other voters know of each voter's log; halts if this one has lost something. That comes
    /// before anything else of a packet: a voter that has lost its log must not vote.
    pub(super) fn take_floors(&mut self, floors: &[(u64, u64)], out: &mut Vec<Effect>) {
        for &(raft, index) in floors {
            if self.is_configured(raft) {
                let floor = self.floors.entry(raft).or_default();
                *floor = index.max(*floor);
            }
        }
        let (raft, last) = (self.identity.raft, self.last_index());
        if let Some(&acknowledged) = self.floors.get(&raft)
            && acknowledged > last
            && !self.has_flaw(Flaw::LostLogUnnoticed)
        {
            self.halt(self.lost_log(last, acknowledged), out);
        }
    }

    fn lost_log(&self, last: u64, acknowledged: u64) -> HaltReason {
        let Identity { member, raft, .. } = self.identity;
        HaltReason::LostLog { member, raft, last, acknowledged }
    }

    /// What a leader knows of the voters' logs. An entry that was decided is never replaced, so a voter
    /// that had it has it for ever.
    fn note_floors(&mut self) {
        if !self.leads() {
            return;
        }
        let committed = self.node.raft.raft_log.committed;
        for (&raft, progress) in self.node.raft.prs().iter() {
            let floor = self.floors.entry(raft).or_default();
            *floor = progress.matched.min(committed).max(*floor);
        }
    }

    fn is_configured(&self, raft: u64) -> bool {
        let state = &self.configuration;
        let lists = [&state.voters, &state.learners, &state.voters_outgoing, &state.learners_next];
        lists.iter().any(|list| list.contains(&raft))
    }

    /// Until nothing is left to do: leases, proposals, and what raft wants written, sent and applied.
    pub(super) fn settle(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        while !self.halted {
            self.choose_timeout();
            self.follow_leadership(now);
            self.note_floors();
            self.confirm(now);
            self.acknowledge(out);
            self.propose_changes(now, out);
            self.propose_seats();
            if !self.node.has_ready() {
                return;
            }
            self.take_ready(now, out);
        }
    }

    /// Raft draws election timeouts from the thread's generator. This makes them a function of seed,
    /// id and term, so that a run can be repeated.
    fn choose_timeout(&mut self) {
        let (raft, term) = (self.identity.raft, self.node.raft.term);
        let draw = mix(self.options.seed ^ mix(raft) ^ mix(mix(term)));
        let extra = (draw % ELECTION_TICKS as u64) as usize;
        self.node.raft.set_randomized_election_timeout(ELECTION_TICKS + extra);
    }

    fn take_ready(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        let mut ready = self.node.ready();
        let number = ready.number();
        let at_once = ready.take_messages();
        let after_write = ready.take_persisted_messages();
        if let Some(hard) = ready.hs() {
            let hard = Hard::from_raft(hard);
            self.node.mut_store().set_hard(hard);
        }
        let entries = ready.take_entries();
        let installed =
            (!ready.snapshot().is_empty()).then(|| LogSnapshot::from_raft(ready.snapshot()));
        let snapshot_index = installed.as_ref().map(|snapshot| snapshot.index);
        if ready.must_sync() {
            self.write(number, installed.as_ref(), &entries, out);
        }
        let committed = ready.take_committed_entries();
        let reads = ready.take_read_states();
        self.node.advance_append_async(ready);

        let leader_may_speak = self.asked_vote <= self.durable;
        self.send_or_hold(at_once, leader_may_speak, out);
        self.send_or_hold(after_write, self.asked <= self.durable, out);
        if self.asked <= self.durable {
            self.node.on_persist_ready(number);
        }
        if let Some(snapshot) = installed {
            self.install(snapshot, out);
        }
        if let Some(index) = snapshot_index {
            self.installing = Some((number, index));
        }
        if let Some(last) = committed.last().map(|entry| entry.index) {
            self.decided.extend(committed);
            if self.options.apply_every == 0 {
                self.apply_decided(now, out);
            }
            if !self.halted {
                self.node.advance_apply_to(last);
            }
        }
        for read in reads {
            self.take_read(&read.request_ctx, read.index);
        }
    }

    fn write(
        &mut self,
        number: u64,
        installed: Option<&LogSnapshot>,
        entries: &[Entry],
        out: &mut Vec<Effect>,
    ) {
        let compacted = self.compacted();
        let store = self.node.mut_store();
        if let Some(snapshot) = installed {
            store.install(snapshot.clone());
        }
        store.append(entries);
        let hard = store.hard();
        let rewrite = match compacted {
            Some(snapshot) if installed.is_none() => {
                store.compact(snapshot);
                true
            }
            _ => installed.is_some(),
        };
        let write = if rewrite {
            Write::Rewrite(store.records())
        } else {
            // The commit index is written with whatever else is: a voter that restarts must not
            // fall back to a configuration that was left.
            let hard = (hard != self.written).then_some(Record::Hard(hard));
            let entries = entries.iter().map(|entry| Record::Entry(LogEntry::from_raft(entry)));
            Write::Append(hard.into_iter().chain(entries).collect())
        };
        if (hard.term, hard.vote) != (self.written.term, self.written.vote) {
            self.asked_vote = number;
        }
        self.written = hard;
        self.asked = number;
        out.push(Effect::Persist { number, write });
    }

    /// The snapshot that replaces the log, if it is time for one.
    fn compacted(&self) -> Option<LogSnapshot> {
        let store = self.node.store();
        let is_long = store.length() > self.options.keep_entries;
        (is_long && self.applied > store.snapshot.index).then(|| self.snapshot())
    }

    fn snapshot(&self) -> LogSnapshot {
        LogSnapshot {
            index: self.applied,
            term: self.applied_term,
            configuration: Configuration::from_raft(&self.configuration),
            data: postcard::to_stdvec(&self.views).expect("views fit into memory"),
        }
    }

    pub(super) fn became_durable(&mut self, number: u64, out: &mut Vec<Effect>) {
        self.durable = number;
        self.node.on_persist_ready(number);
        if let Some((write, index)) = self.installing
            && write <= number
        {
            self.installing = None;
            if self.node.raft.raft_log.applied() < index {
                self.node.advance_apply_to(index);
            }
        }
        while let Some(&(write, _)) = self.held.front()
            && write <= number
        {
            let (_, message) = self.held.pop_front().expect("there is a first one");
            self.send(message, out);
        }
    }

    fn send_or_hold(&mut self, messages: Vec<Message>, may_speak: bool, out: &mut Vec<Effect>) {
        for message in messages {
            if may_speak || self.has_flaw(Flaw::SendsBeforeSync) {
                self.send(message, out);
            } else {
                self.held.push_back((self.asked, message));
            }
        }
    }

    fn send(&mut self, message: Message, out: &mut Vec<Effect>) {
        if message.get_msg_type() == MessageType::MsgSnapshot {
            self.snapshots.insert(message.to, SNAPSHOT_TICKS);
        }
        let Some(to) = self.name(message.to) else { return };
        if let Some(message) = RaftMessage::from_raft(message) {
            out.push(Effect::Send { to, packet: self.packet(Body::Raft(Box::new(message))) });
        }
    }

    fn packet(&self, body: Body) -> Packet {
        let floors = self.floors.iter().map(|(&raft, &index)| (raft, index)).collect();
        Packet { cluster: self.identity.cluster, from: self.identity.member, floors, body }
    }

    /// Raft sends nothing to a voter whose snapshot is under way, and does not notice its loss.
    pub(super) fn give_up_lost_snapshots(&mut self) {
        let mut lost = Vec::new();
        self.snapshots.retain(|&raft, ticks| {
            *ticks -= 1;
            if *ticks == 0 {
                lost.push(raft);
            }
            *ticks > 0
        });
        for raft in lost {
            let progress = self.node.raft.prs().get(raft);
            if progress.is_some_and(|progress| progress.state == ProgressState::Snapshot) {
                self.node.report_snapshot(raft, SnapshotStatus::Failure);
            }
        }
    }

    fn install(&mut self, snapshot: LogSnapshot, out: &mut Vec<Effect>) {
        let Ok(views) = postcard::from_bytes::<Views>(&snapshot.data) else {
            self.halt(HaltReason::Unreadable { index: snapshot.index }, out);
            return;
        };
        self.views = views;
        self.configuration = snapshot.configuration.to_raft();
        (self.applied, self.applied_term) = (snapshot.index, snapshot.term);
        self.decided.clear();
        let (view, term) = (self.views.view().clone(), self.applied_term);
        out.push(Effect::Decided { view, term, outcomes: Vec::new() });
    }

    pub(super) fn apply_slowly(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        let every = self.options.apply_every;
        if every > 0 && mix(self.ticks ^ mix(self.identity.raft)).is_multiple_of(every) {
            self.apply_decided(now, out);
        }
    }

    fn apply_decided(&mut self, now: MonoTime, out: &mut Vec<Effect>) {
        while let Some(entry) = self.decided.pop_front()
            && !self.halted
        {
            self.apply(now, &entry, out);
        }
    }

    fn apply(&mut self, now: MonoTime, entry: &Entry, out: &mut Vec<Effect>) {
        (self.applied, self.applied_term) = (entry.index, entry.term);
        match entry.get_entry_type() {
            EntryType::EntryNormal if entry.data.is_empty() => {}
            EntryType::EntryNormal => match postcard::from_bytes::<Vec<Command>>(&entry.data) {
                Ok(commands) => self.apply_commands(now, &commands, out),
                Err(_) => self.halt(HaltReason::Unreadable { index: entry.index }, out),
            },
            EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => {
                self.apply_reseat(entry, out);
            }
        }
    }

    fn apply_commands(&mut self, now: MonoTime, commands: &[Command], out: &mut Vec<Effect>) {
        let former = self.views.view().epoch;
        let outcomes = self.views.apply(commands);
        self.after_decision(now, former, &outcomes, out);
        if outcomes.iter().any(|outcome| *outcome != Outcome::Nothing) {
            let (view, term) = (self.views.view().clone(), self.applied_term);
            out.push(Effect::Decided { view, term, outcomes });
        }
    }

    fn apply_reseat(&mut self, entry: &Entry, out: &mut Vec<Effect>) {
        let reseat = if entry.context.is_empty() {
            Reseat::default()
        } else {
            let Ok(reseat) = postcard::from_bytes(&entry.context) else {
                self.halt(HaltReason::Unreadable { index: entry.index }, out);
                return;
            };
            reseat
        };
        // Raft refuses a change that does not fit at every voter alike.
        let Ok(configuration) = self.node.apply_conf_change(&reseat.to_raft()) else { return };
        self.configuration = configuration;
        let configured: Vec<u64> = self
            .views
            .seats()
            .iter()
            .chain(&reseat.seats)
            .map(|seat| seat.raft)
            .filter(|&raft| self.is_configured(raft))
            .collect();
        self.views.reseat(&reseat.seats, &configured);
        self.tell_voters(out);
        self.floors.retain(|raft, _| configured.contains(raft));
        // A new voter accepts only a snapshot that knows it.
        let snapshot = self.snapshot();
        self.node.mut_store().compact(snapshot);
        // Durable though nothing may be written after it: after a restart a voter must ask those who vote
        // now, not those who voted before the last write.
        let store = self.node.store();
        self.written = store.hard();
        let write = Write::Rewrite(store.records());
        out.push(Effect::Persist { number: self.asked, write });
        if !self.is_configured(self.identity.raft) {
            let Identity { member, raft, .. } = self.identity;
            self.halt(HaltReason::Removed { member, raft }, out);
        }
    }
}

/// SplitMix64's step: close numbers give unrelated ones.
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
