//! A moment of a system with kinds as plain numbers, and what can happen next.

use crate::local::LocalId;
use crate::model::{Coded, Row};
use crate::scenario::Scenario;
use crate::state::Packet;

use super::scenario::KindsScenario;

const MOST: usize = Scenario::MOST_NODES;
pub(super) const SLOTS: usize = KindsScenario::MOST_REQUESTS;

/// Where one request is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// Not made yet, or none at all.
    #[default]
    Todo,
    Waiting,
    /// Inside in its own mode.
    Inside,
    /// Inside, and wants to be exclusive.
    Upgrading,
    Exclusive,
    /// Was exclusive and is shared now.
    Lowered,
    Done,
}

/// One request, and how often it has asked to upgrade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) phase: Phase,
    pub(super) upgraded: u8,
}

impl Slot {
    fn code(self) -> u8 {
        self.phase as u8 | self.upgraded << 3
    }

    fn of_code(code: u8) -> Self {
        let phase = match code & 7 {
            0 => Phase::Todo,
            1 => Phase::Waiting,
            2 => Phase::Inside,
            3 => Phase::Upgrading,
            4 => Phase::Exclusive,
            5 => Phase::Lowered,
            _ => Phase::Done,
        };
        Slot { phase, upgraded: code >> 3 }
    }
}

/// A node, its users, and what is known there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) local: LocalId,
    pub(super) slots: [Slot; SLOTS],
    pub(super) fence: u8,
}

impl Site {
    pub(super) fn code(&self) -> u32 {
        u32::from_le_bytes(self.slots.map(Slot::code))
    }

    pub(super) fn find(&self, phase: Phase) -> Option<usize> {
        self.slots.iter().position(|slot| slot.phase == phase)
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.find(Phase::Waiting).is_some()
    }
}

/// A moment of the system.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) sent: u16,
    /// The highest fence that was given out.
    pub(super) highest: u8,
    pub(super) sites: [Site; MOST],
    pub(super) flight: Vec<Packet>,
}

impl State {
    pub(super) fn empty() -> Self {
        State { sent: 0, highest: 0, sites: [Site::default(); MOST], flight: Vec::new() }
    }
}

impl Row for State {
    fn row_length(&self, nodes: usize) -> usize {
        1 + 3 * nodes + 2 * self.flight.len()
    }

    fn encode(&self, nodes: usize, out: &mut Vec<u32>) {
        out.push(u32::from(self.sent) | u32::from(self.highest) << 16);
        for site in &self.sites[..nodes] {
            out.extend([site.local, site.code(), u32::from(site.fence)]);
        }
        for packet in &self.flight {
            let ends = u32::from(packet.from) | u32::from(packet.to) << 4;
            out.push(ends | u32::from(packet.fence) << 8);
            out.push(packet.message);
        }
    }

    fn decode(&mut self, nodes: usize, row: &[u32]) {
        self.sent = row[0] as u16;
        self.highest = (row[0] >> 16) as u8;
        let (sites, packets) = row[1..].split_at(3 * nodes);
        for (site, words) in self.sites.iter_mut().zip(sites.chunks_exact(3)) {
            *site = Site {
                local: words[0],
                slots: words[1].to_le_bytes().map(Slot::of_code),
                fence: words[2] as u8,
            };
        }
        self.flight.clear();
        self.flight.extend(packets.chunks_exact(2).map(|words| Packet {
            from: words[0] as u8 & 15,
            to: (words[0] >> 4) as u8 & 15,
            message: words[1],
            fence: (words[0] >> 8) as u8,
            known: 0,
        }));
    }

    fn copy_from(&mut self, other: &Self, nodes: usize) {
        self.sent = other.sent;
        self.highest = other.highest;
        self.sites[..nodes].copy_from_slice(&other.sites[..nodes]);
        self.flight.clear();
        self.flight.extend_from_slice(&other.flight);
    }
}

/// Something that can happen next: to a request of a node, or to the message at a place of the flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Enter(u8, u8),
    Leave(u8, u8),
    Upgrade(u8, u8),
    Downgrade(u8, u8),
    /// It stops waiting, to enter or to upgrade.
    Cancel(u8, u8),
    Deliver(u16),
}

impl Coded for Move {
    fn code(self) -> u16 {
        let of_user =
            |kind: u16, node: u8, slot: u8| kind << 12 | u16::from(slot) << 4 | u16::from(node);
        match self {
            Move::Enter(node, slot) => of_user(0, node, slot),
            Move::Leave(node, slot) => of_user(1, node, slot),
            Move::Upgrade(node, slot) => of_user(2, node, slot),
            Move::Downgrade(node, slot) => of_user(3, node, slot),
            Move::Cancel(node, slot) => of_user(4, node, slot),
            Move::Deliver(place) => {
                debug_assert!(place < 1 << 12);
                5 << 12 | place
            }
        }
    }

    fn of_code(code: u16) -> Self {
        let (node, slot) = (code as u8 & 15, (code >> 4) as u8);
        match code >> 12 {
            0 => Move::Enter(node, slot),
            1 => Move::Leave(node, slot),
            2 => Move::Upgrade(node, slot),
            3 => Move::Downgrade(node, slot),
            4 => Move::Cancel(node, slot),
            _ => Move::Deliver(code & 0xFFF),
        }
    }
}
