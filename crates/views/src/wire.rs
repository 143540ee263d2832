//! Raft messages as they travel and as they are stored: own types in postcard. Protobuf is never
//! decoded, so the known faults of its decoder cannot be reached.

use raft::eraftpb;
use serde::{Deserialize, Serialize};
use skeptron_member::MemberId;

/// The mirror of `eraftpb::EntryType`, without the first version of configuration changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Normal,
    Reseat,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    pub(crate) kind: Kind,
    pub(crate) term: u64,
    pub(crate) index: u64,
    pub(crate) data: Vec<u8>,
    pub(crate) context: Vec<u8>,
}

/// The voters as raft knows them, by raft id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Configuration {
    pub(crate) voters: Vec<u64>,
    pub(crate) learners: Vec<u64>,
    pub(crate) outgoing: Vec<u64>,
    pub(crate) learners_next: Vec<u64>,
    pub(crate) auto_leave: bool,
}

/// Everything applied up to an index: `data` is a postcard of `Views`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSnapshot {
    pub(crate) index: u64,
    pub(crate) term: u64,
    pub(crate) configuration: Configuration,
    pub(crate) data: Vec<u8>,
}

/// The messages that voters exchange. Local messages, and those that would let one voter make another
/// propose or read, do not exist on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum MessageKind {
    Append,
    AppendResponse,
    RequestVote,
    RequestVoteResponse,
    Snapshot,
    Heartbeat,
    HeartbeatResponse,
    TransferLeader,
    TimeoutNow,
    RequestPreVote,
    RequestPreVoteResponse,
}

/// The mirror of `eraftpb::Message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaftMessage {
    kind: MessageKind,
    to: u64,
    from: u64,
    term: u64,
    log_term: u64,
    index: u64,
    entries: Vec<LogEntry>,
    commit: u64,
    commit_term: u64,
    snapshot: Option<LogSnapshot>,
    reject: bool,
    reject_hint: u64,
    context: Vec<u8>,
}

/// What one voter sends to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// Packets of another cluster are dropped.
    pub cluster: u128,
    /// Who sends it; the driver must have verified that.
    pub from: MemberId,
    /// The last entry that each voter is known to have made durable and that was decided, by raft id. All
    /// voters remember it for each other: one whose file is older finds out, whoever leads by then.
    pub(crate) floors: Vec<(u64, u64)>,
    pub(crate) body: Body,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Body {
    Raft(Box<RaftMessage>),
    /// The receiver's raft id has been removed from the voters for ever.
    Removed {
        raft: u64,
    },
}

impl Packet {
    /// The bytes to send.
    ///
    /// # Panics
    /// If memory is exhausted.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("a packet fits into memory")
    }

    /// What was sent; none if the bytes are not a packet.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        match postcard::take_from_bytes(bytes) {
            Ok((packet, [])) => Some(packet),
            _ => None,
        }
    }

    /// The raft term of the message, for monitors.
    #[must_use]
    pub fn term(&self) -> Option<u64> {
        match &self.body {
            Body::Raft(message) => Some(message.term),
            Body::Removed { .. } => None,
        }
    }
}

impl RaftMessage {
    pub(crate) fn from(&self) -> u64 {
        self.from
    }

    pub(crate) fn to(&self) -> u64 {
        self.to
    }

    /// None for messages that do not travel.
    pub(crate) fn from_raft(message: eraftpb::Message) -> Option<Self> {
        use eraftpb::MessageType as From;
        let kind = match message.get_msg_type() {
            From::MsgAppend => MessageKind::Append,
            From::MsgAppendResponse => MessageKind::AppendResponse,
            From::MsgRequestVote => MessageKind::RequestVote,
            From::MsgRequestVoteResponse => MessageKind::RequestVoteResponse,
            From::MsgSnapshot => MessageKind::Snapshot,
            From::MsgHeartbeat => MessageKind::Heartbeat,
            From::MsgHeartbeatResponse => MessageKind::HeartbeatResponse,
            From::MsgTransferLeader => MessageKind::TransferLeader,
            From::MsgTimeoutNow => MessageKind::TimeoutNow,
            From::MsgRequestPreVote => MessageKind::RequestPreVote,
            From::MsgRequestPreVoteResponse => MessageKind::RequestPreVoteResponse,
            From::MsgHup
            | From::MsgBeat
            | From::MsgPropose
            | From::MsgUnreachable
            | From::MsgSnapStatus
            | From::MsgCheckQuorum
            | From::MsgReadIndex
            | From::MsgReadIndexResp => return None,
        };
        let snapshot = message.snapshot.as_ref().filter(|snapshot| !snapshot.is_empty());
        Some(RaftMessage {
            kind,
            to: message.to,
            from: message.from,
            term: message.term,
            log_term: message.log_term,
            index: message.index,
            entries: message.entries.iter().map(LogEntry::from_raft).collect(),
            commit: message.commit,
            commit_term: message.commit_term,
            snapshot: snapshot.map(LogSnapshot::from_raft),
            reject: message.reject,
            reject_hint: message.reject_hint,
            context: message.context.to_vec(),
        })
    }

    /// None if raft would not survive it: entries must follow `index` without a gap, and a snapshot
    /// must come with its message.
    pub(crate) fn into_raft(self) -> Option<eraftpb::Message> {
        use eraftpb::MessageType as Into;
        let follows = |(place, entry): (usize, &LogEntry)| {
            self.index.checked_add(place as u64 + 1) == Some(entry.index)
        };
        if !self.entries.iter().enumerate().all(follows)
            || (self.kind == MessageKind::Snapshot) != self.snapshot.is_some()
            || self.term == 0
        {
            return None;
        }
        let mut message = eraftpb::Message::default();
        message.set_msg_type(match self.kind {
            MessageKind::Append => Into::MsgAppend,
            MessageKind::AppendResponse => Into::MsgAppendResponse,
            MessageKind::RequestVote => Into::MsgRequestVote,
            MessageKind::RequestVoteResponse => Into::MsgRequestVoteResponse,
            MessageKind::Snapshot => Into::MsgSnapshot,
            MessageKind::Heartbeat => Into::MsgHeartbeat,
            MessageKind::HeartbeatResponse => Into::MsgHeartbeatResponse,
            MessageKind::TransferLeader => Into::MsgTransferLeader,
            MessageKind::TimeoutNow => Into::MsgTimeoutNow,
            MessageKind::RequestPreVote => Into::MsgRequestPreVote,
            MessageKind::RequestPreVoteResponse => Into::MsgRequestPreVoteResponse,
        });
        message.to = self.to;
        message.from = self.from;
        message.term = self.term;
        message.log_term = self.log_term;
        message.index = self.index;
        message.entries =
            self.entries.into_iter().map(LogEntry::into_raft).collect::<Vec<_>>().into();
        message.commit = self.commit;
        message.commit_term = self.commit_term;
        if let Some(snapshot) = self.snapshot {
            message.set_snapshot(snapshot.to_raft());
        }
        message.reject = self.reject;
        message.reject_hint = self.reject_hint;
        message.context = self.context.into();
        Some(message)
    }
}

impl LogEntry {
    pub(crate) fn from_raft(entry: &eraftpb::Entry) -> Self {
        let kind = match entry.get_entry_type() {
            eraftpb::EntryType::EntryNormal => Kind::Normal,
            eraftpb::EntryType::EntryConfChange | eraftpb::EntryType::EntryConfChangeV2 => {
                Kind::Reseat
            }
        };
        let (data, context) = (entry.data.to_vec(), entry.context.to_vec());
        LogEntry { kind, term: entry.term, index: entry.index, data, context }
    }

    pub(crate) fn into_raft(self) -> eraftpb::Entry {
        let mut entry = eraftpb::Entry::default();
        entry.set_entry_type(match self.kind {
            Kind::Normal => eraftpb::EntryType::EntryNormal,
            Kind::Reseat => eraftpb::EntryType::EntryConfChangeV2,
        });
        entry.term = self.term;
        entry.index = self.index;
        entry.data = self.data.into();
        entry.context = self.context.into();
        entry
    }
}

impl Configuration {
    pub(crate) fn from_raft(state: &eraftpb::ConfState) -> Self {
        Configuration {
            voters: state.voters.clone(),
            learners: state.learners.clone(),
            outgoing: state.voters_outgoing.clone(),
            learners_next: state.learners_next.clone(),
            auto_leave: state.auto_leave,
        }
    }

    pub(crate) fn to_raft(&self) -> eraftpb::ConfState {
        let mut state =
            eraftpb::ConfState::from((self.voters.iter().copied(), self.learners.iter().copied()));
        state.voters_outgoing = self.outgoing.clone();
        state.learners_next = self.learners_next.clone();
        state.auto_leave = self.auto_leave;
        state
    }
}

impl LogSnapshot {
    pub(crate) fn from_raft(snapshot: &eraftpb::Snapshot) -> Self {
        let meta = snapshot.get_metadata();
        LogSnapshot {
            index: meta.index,
            term: meta.term,
            configuration: Configuration::from_raft(meta.get_conf_state()),
            data: snapshot.data.to_vec(),
        }
    }

    pub(crate) fn to_raft(&self) -> eraftpb::Snapshot {
        let mut snapshot = eraftpb::Snapshot::default();
        snapshot.set_data(self.data.clone().into());
        let meta = snapshot.mut_metadata();
        meta.index = self.index;
        meta.term = self.term;
        meta.set_conf_state(self.configuration.to_raft());
        snapshot
    }
}
