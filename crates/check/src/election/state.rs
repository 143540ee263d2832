//! A moment of an election as plain numbers, and what can happen next.

use crate::flight::Flying;
use crate::local::{LocalId, MessageId};
use crate::model::{Coded, Row};
use crate::scenario::Scenario;

const MOST: usize = Scenario::MOST_NODES;

/// Stands for no leader at all.
pub(super) const NOBODY: u8 = MOST as u8;

/// A node, its application and its failure detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    /// What it knows and the alarms it has set; while it is down, what it will know when it comes back.
    pub(super) local: LocalId,
    pub(super) up: bool,
    /// Whether it may still call of its own accord.
    pub(super) may_call: bool,
    /// Whether it is an initiator that has called.
    pub(super) called: bool,
    /// Whom it names.
    pub(super) named: u8,
    /// Whom its detector suspects.
    pub(super) suspects: u16,
    /// For each node four bits: 0 if the detector has nothing to tell of it, else one more than the
    /// number of bounds that have passed since it had.
    pub(super) owed: u64,
}

impl Default for Site {
    fn default() -> Self {
        Site {
            local: 0,
            up: false,
            may_call: false,
            called: false,
            named: NOBODY,
            suspects: 0,
            owed: 0,
        }
    }
}

impl Site {
    pub(super) fn suspects(&self, whom: usize) -> bool {
        self.suspects & 1 << whom != 0
    }

    /// How long its detector has had something to tell of that node, plus one; 0 if it has not.
    pub(super) fn owed(&self, whom: usize) -> u8 {
        (self.owed >> (4 * whom)) as u8 & 15
    }

    pub(super) fn set_owed(&mut self, whom: usize, age: u8) {
        self.owed = self.owed & !(15 << (4 * whom)) | u64::from(age) << (4 * whom);
    }

    pub(super) fn flags(&self) -> u32 {
        u32::from(self.up)
            | u32::from(self.may_call) << 1
            | u32::from(self.called) << 2
            | u32::from(self.owed != 0) << 3
            | u32::from(self.named) << 8
            | u32::from(self.suspects) << 16
    }
}

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Packet {
    pub(super) from: u8,
    pub(super) to: u8,
    /// Whether it was in flight when the last bound passed, so that it must arrive before the next.
    pub(super) late: bool,
    /// Whether its sender has crashed since: perhaps it was never sent.
    pub(super) orphan: bool,
    pub(super) message: MessageId,
}

impl Flying for Packet {
    fn link(&self) -> (u8, u8) {
        (self.from, self.to)
    }

    fn message(&self) -> MessageId {
        self.message
    }
}

impl Packet {
    /// Everything but what it says.
    pub(super) fn envelope(&self) -> u32 {
        u32::from(self.from)
            | u32::from(self.to) << 8
            | u32::from(self.late) << 16
            | u32::from(self.orphan) << 17
    }
}

/// What may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    /// Calls without need.
    pub(super) calls: u8,
    pub(super) losses: u8,
    pub(super) duplicates: u8,
    pub(super) crashes: u8,
    pub(super) restarts: u8,
    pub(super) premature: u8,
    pub(super) suspicions: u8,
}

/// A moment of the system.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Number of what the judge remembers.
    pub(super) judge: u32,
    pub(super) budget: Budget,
    /// Whether anybody has called.
    pub(super) called: bool,
    /// Whether anybody has crashed since then.
    pub(super) crashed: bool,
    /// How many new rounds were begun since the last bound passed.
    pub(super) hurry: u8,
    pub(super) sites: [Site; MOST],
    /// By link; within a link in the order of sending on a FIFO channel, in any fixed order else.
    pub(super) flight: Vec<Packet>,
}

impl State {
    pub(super) fn empty() -> Self {
        State {
            judge: 0,
            budget: Budget::default(),
            called: false,
            crashed: false,
            hurry: 0,
            sites: [Site::default(); MOST],
            flight: Vec::new(),
        }
    }

    /// The budgets, and what has happened, in two numbers.
    pub(super) fn globals(&self) -> [u32; 2] {
        let Budget { calls, losses, duplicates, crashes, restarts, premature, suspicions } =
            self.budget;
        let history = u8::from(self.called) | u8::from(self.crashed) << 1 | self.hurry << 2;
        [
            u32::from_le_bytes([losses, duplicates, crashes, restarts]),
            u32::from_le_bytes([premature, suspicions, history, calls]),
        ]
    }
}

impl Row for State {
    fn row_length(&self, nodes: usize) -> usize {
        let owing = self.sites[..nodes].iter().filter(|site| site.owed != 0).count();
        3 + 2 * nodes + 2 * owing + 2 * self.flight.len()
    }

    fn encode(&self, nodes: usize, out: &mut Vec<u32>) {
        out.push(self.judge);
        out.extend(self.globals());
        for site in &self.sites[..nodes] {
            out.extend([site.local, site.flags()]);
            if site.owed != 0 {
                out.extend([site.owed as u32, (site.owed >> 32) as u32]);
            }
        }
        for packet in &self.flight {
            out.extend([packet.envelope(), packet.message]);
        }
    }

    fn decode(&mut self, nodes: usize, row: &[u32]) {
        let [judge, first, second] = [row[0], row[1], row[2]];
        let [losses, duplicates, crashes, restarts] = first.to_le_bytes();
        let [premature, suspicions, history, calls] = second.to_le_bytes();
        self.judge = judge;
        self.budget =
            Budget { calls, losses, duplicates, crashes, restarts, premature, suspicions };
        (self.called, self.crashed) = (history & 1 != 0, history & 2 != 0);
        self.hurry = history >> 2;
        let mut at = 3;
        for site in &mut self.sites[..nodes] {
            let (local, flags) = (row[at], row[at + 1]);
            at += 2;
            let mut owed = 0;
            if flags & 8 != 0 {
                owed = u64::from(row[at]) | u64::from(row[at + 1]) << 32;
                at += 2;
            }
            *site = Site {
                local,
                up: flags & 1 != 0,
                may_call: flags & 2 != 0,
                called: flags & 4 != 0,
                named: (flags >> 8) as u8,
                suspects: (flags >> 16) as u16,
                owed,
            };
        }
        self.flight.clear();
        self.flight.extend(row[at..].chunks_exact(2).map(|words| Packet {
            from: words[0] as u8,
            to: (words[0] >> 8) as u8,
            late: words[0] & 1 << 16 != 0,
            orphan: words[0] & 1 << 17 != 0,
            message: words[1],
        }));
    }

    fn copy_from(&mut self, other: &Self, nodes: usize) {
        self.judge = other.judge;
        self.budget = other.budget;
        (self.called, self.crashed, self.hurry) = (other.called, other.crashed, other.hurry);
        self.sites[..nodes].copy_from_slice(&other.sites[..nodes]);
        self.flight.clear();
        self.flight.extend_from_slice(&other.flight);
    }
}

/// Something that can happen next: to a node, or to the message at a place of [`State::flight`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    Call(u8),
    Deliver(u16),
    Expire {
        node: u8,
        nth: u8,
    },
    /// The detector of a node tells it what has become of another.
    Tell {
        node: u8,
        whom: u8,
    },
    Tick,
    /// The detector of a node suspects another one that is alive.
    Doubt {
        node: u8,
        whom: u8,
    },
    Lose(u16),
    Duplicate(u16),
    Crash(u8),
    Restart(u8),
    /// A node gets the random number for which it waits.
    Draw {
        node: u8,
        number: u8,
    },
}

impl Coded for Move {
    fn code(self) -> u16 {
        let pair = |node: u8, other: u8| u16::from(other) << 4 | u16::from(node);
        match self {
            Move::Call(node) => u16::from(node),
            // Twelve bits are enough for the messages that a system of this size has in flight.
            Move::Deliver(place) => 1 << 12 | place,
            Move::Expire { node, nth } => 2 << 12 | pair(node, nth),
            Move::Tell { node, whom } => 3 << 12 | pair(node, whom),
            Move::Tick => 4 << 12,
            Move::Doubt { node, whom } => 5 << 12 | pair(node, whom),
            Move::Lose(place) => 6 << 12 | place,
            Move::Duplicate(place) => 7 << 12 | place,
            Move::Crash(node) => 8 << 12 | u16::from(node),
            Move::Restart(node) => 9 << 12 | u16::from(node),
            Move::Draw { node, number } => 10 << 12 | pair(node, number),
        }
    }

    fn of_code(code: u16) -> Self {
        let (place, node, other) = (code & 0xFFF, code as u8 & 15, (code >> 4) as u8);
        match code >> 12 {
            0 => Move::Call(node),
            1 => Move::Deliver(place),
            2 => Move::Expire { node, nth: other },
            3 => Move::Tell { node, whom: other },
            4 => Move::Tick,
            5 => Move::Doubt { node, whom: other },
            6 => Move::Lose(place),
            7 => Move::Duplicate(place),
            8 => Move::Crash(node),
            9 => Move::Restart(node),
            _ => Move::Draw { node, number: other },
        }
    }
}
