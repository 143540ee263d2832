//! A moment of a system as plain numbers, and what can happen next.

use crate::flight::Flying;
use crate::local::{LocalId, MessageId};
use crate::model::{Coded, Row};
use crate::scenario::Scenario;

const MOST: usize = Scenario::MOST_NODES;

/// Where a node's user is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum User {
    #[default]
    Idle,
    Waiting,
    Inside,
    /// The node has stopped for ever.
    Down,
}

/// A node, its user, and what is known there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) local: LocalId,
    /// How often the user will still ask.
    pub(crate) left: u8,
    pub(crate) user: User,
    /// The highest fence that was heard of, if fences are watched; how many messages came one after
    /// another since the watched request, if delays are.
    pub(crate) fence: u8,
    /// Whose waiting requests happened before now.
    pub(crate) known: u16,
    /// Whose waiting requests happened before the own one, or were made before it if that is watched.
    pub(crate) before: u16,
    /// How many others entered since the own request, if that is watched; the fence of the last entry, if fences are
    /// watched where nodes are told of crashes.
    pub(crate) bypassed: u8,
}

impl Site {
    /// A user that asks again and again.
    pub(crate) const ENDLESS: u8 = u8::MAX;
}

/// A message in flight, and what its sender knew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Packet {
    pub(crate) from: u8,
    pub(crate) to: u8,
    pub(crate) message: MessageId,
    pub(crate) fence: u8,
    pub(crate) known: u16,
}

impl Flying for Packet {
    fn link(&self) -> (u8, u8) {
        (self.from, self.to)
    }

    fn message(&self) -> MessageId {
        self.message
    }
}

/// What may still go wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) losses: u8,
    pub(crate) duplicates: u8,
    pub(crate) crashes: u8,
    pub(crate) suspicions: u8,
}

impl Budget {
    pub(crate) fn code(self) -> u32 {
        u32::from_le_bytes([self.losses, self.duplicates, self.crashes, self.suspicions])
    }

    fn of_code(code: u32) -> Self {
        let [losses, duplicates, crashes, suspicions] = code.to_le_bytes();
        Budget { losses, duplicates, crashes, suspicions }
    }

    pub(crate) fn is_spent(self) -> bool {
        self.code() == 0
    }
}

/// A moment of the system.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Messages sent so far, where that is bounded; see [`World::knows_depth`].
    pub(crate) sent: u16,
    /// The highest fence that was given out, if fences are watched.
    pub(crate) highest: u8,
    /// How many nodes have not begun, where they may begin in any state.
    pub(crate) to_begin: u8,
    /// Whether what is promised holds from here on, where it does not from the beginning.
    pub(crate) is_legitimate: bool,
    pub(crate) budget: Budget,
    pub(crate) sites: [Site; MOST],
    /// By link; within a link in the order of sending on a FIFO channel, in any fixed order else.
    pub(crate) flight: Vec<Packet>,
}

impl State {
    pub(crate) fn empty() -> Self {
        State {
            sent: 0,
            highest: 0,
            to_begin: 0,
            is_legitimate: false,
            budget: Budget::default(),
            sites: [Site::default(); MOST],
            flight: Vec::new(),
        }
    }

    /// What is true of the system as a whole.
    pub(crate) fn whole(&self) -> u32 {
        let begun = self.to_begin | u8::from(self.is_legitimate) << 7;
        u32::from(self.sent) | u32::from(self.highest) << 16 | u32::from(begun) << 24
    }
}

impl Row for State {
    fn row_length(&self, nodes: usize) -> usize {
        2 + 3 * nodes + 2 * self.flight.len()
    }

    fn encode(&self, nodes: usize, out: &mut Vec<u32>) {
        out.push(self.whole());
        out.push(self.budget.code());
        for site in &self.sites[..nodes] {
            let user = u32::from_le_bytes([site.left, site.user as u8, site.fence, site.bypassed]);
            out.extend([site.local, user, u32::from(site.known) | u32::from(site.before) << 16]);
        }
        for packet in &self.flight {
            let ends = u32::from(packet.from) | u32::from(packet.to) << 4;
            out.push(ends | u32::from(packet.fence) << 8 | u32::from(packet.known) << 16);
            out.push(packet.message);
        }
    }

    fn decode(&mut self, nodes: usize, row: &[u32]) {
        self.sent = row[0] as u16;
        self.highest = (row[0] >> 16) as u8;
        self.to_begin = (row[0] >> 24) as u8 & 0x7F;
        self.is_legitimate = row[0] >> 31 != 0;
        self.budget = Budget::of_code(row[1]);
        let (sites, packets) = row[2..].split_at(3 * nodes);
        for (site, words) in self.sites.iter_mut().zip(sites.chunks_exact(3)) {
            let [left, user, fence, bypassed] = words[1].to_le_bytes();
            *site = Site {
                local: words[0],
                left,
                user: match user {
                    0 => User::Idle,
                    1 => User::Waiting,
                    2 => User::Inside,
                    _ => User::Down,
                },
                fence,
                bypassed,
                known: words[2] as u16,
                before: (words[2] >> 16) as u16,
            };
        }
        self.flight.clear();
        self.flight.extend(packets.chunks_exact(2).map(|words| Packet {
            from: words[0] as u8 & 15,
            to: (words[0] >> 4) as u8 & 15,
            message: words[1],
            fence: (words[0] >> 8) as u8,
            known: (words[0] >> 16) as u16,
        }));
    }

    fn copy_from(&mut self, other: &Self, nodes: usize) {
        self.sent = other.sent;
        self.highest = other.highest;
        self.to_begin = other.to_begin;
        self.is_legitimate = other.is_legitimate;
        self.budget = other.budget;
        self.sites[..nodes].copy_from_slice(&other.sites[..nodes]);
        self.flight.clear();
        self.flight.extend_from_slice(&other.flight);
    }
}

/// Something that can happen next: to a node, or to the message at a place of [`State::flight`]. A number of a
/// beginning is below 2¹²: sixteen nodes have 272.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Request(u8),
    Release(u8),
    Deliver(u16),
    Lose(u16),
    Duplicate(u16),
    Crash(u8),
    /// The next node begins in the state of that number.
    Begin(u16),
    /// The failure detector of `node` tells that `whom` has crashed.
    Suspect {
        node: u8,
        whom: u8,
    },
}

impl Move {
    /// Whether the network or a machine does something wrong.
    pub(crate) fn is_fault(self) -> bool {
        matches!(self, Move::Lose(_) | Move::Duplicate(_) | Move::Crash(_))
    }
}

impl Coded for Move {
    fn code(self) -> u16 {
        // Sixteen nodes with 250 requests have fewer messages in flight.
        if let Move::Deliver(place) | Move::Lose(place) | Move::Duplicate(place) = self {
            debug_assert!(place < 1 << 12);
        }
        match self {
            Move::Request(node) => u16::from(node),
            Move::Release(node) => 1 << 12 | u16::from(node),
            Move::Deliver(place) => 2 << 12 | place,
            Move::Lose(place) => 3 << 12 | place,
            Move::Duplicate(place) => 4 << 12 | place,
            Move::Crash(node) => 5 << 12 | u16::from(node),
            Move::Begin(nth) => 6 << 12 | nth,
            Move::Suspect { node, whom } => 7 << 12 | u16::from(whom) << 4 | u16::from(node),
        }
    }

    fn of_code(code: u16) -> Self {
        let (low, node) = (code & 0xFFF, code as u8 & 15);
        match code >> 12 {
            0 => Move::Request(node),
            1 => Move::Release(node),
            2 => Move::Deliver(low),
            3 => Move::Lose(low),
            4 => Move::Duplicate(low),
            5 => Move::Crash(node),
            6 => Move::Begin(low),
            _ => Move::Suspect { node, whom: (low >> 4) as u8 },
        }
    }
}
