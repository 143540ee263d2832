//! A moment of a cluster as plain numbers, and what can happen next.

use super::local::{LocalId, MessageId};
use super::scenario::Scenario;
use crate::flight::Flying;
use crate::model::{Coded, Row};

const MOST: usize = Scenario::MOST_MEMBERS;
const MOST_EPOCHS: usize = Scenario::MOST_VIEWS as usize + 1;

/// There is no core: the member is down, or has not learnt of a view with it yet.
pub(super) const NO_CELL: LocalId = LocalId::MAX;

/// One member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) local: LocalId,
    /// Which of its lives, from 1.
    pub(super) life: u8,
    /// How often somebody will still ask.
    pub(super) left: u8,
    pub(super) up: bool,
    /// Whether its lease is valid.
    pub(super) lease: bool,
}

impl Site {
    /// Whether this life is to go on.
    pub(super) fn is_fit(self) -> bool {
        self.up && self.lease
    }

    pub(super) fn flags(self) -> u32 {
        u32::from_le_bytes([self.life, self.left, self.up.into(), self.lease.into()])
    }

    fn of(local: LocalId, flags: u32) -> Self {
        let [life, left, up, lease] = flags.to_le_bytes();
        Site { local, life, left, up: up != 0, lease: lease != 0 }
    }
}

/// The members of a view: for each the life that belongs to it, 0 if none does. A life that is away has
/// [`AWAY`] as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Lives(pub(super) [u8; MOST]);

/// The mark of a life that is away.
pub(super) const AWAY: u8 = 0x80;

impl Lives {
    /// Whether this life is a member.
    pub(super) fn has(self, member: usize, life: u8) -> bool {
        self.0[member] == life
    }

    /// Whether this life is away.
    pub(super) fn is_away(self, member: usize, life: u8) -> bool {
        self.0[member] == life | AWAY
    }

    /// Whether this life is a member, or away.
    pub(super) fn knows(self, member: usize, life: u8) -> bool {
        self.has(member, life) || self.is_away(member, life)
    }

    fn code(self) -> u32 {
        u32::from_le_bytes(self.0)
    }
}

/// The views that have been decided; the first has epoch 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Views {
    number: u8,
    all: [Lives; MOST_EPOCHS],
}

impl Views {
    pub(super) fn decide(&mut self, view: Lives) {
        self.all[self.number as usize] = view;
        self.number += 1;
    }

    /// The epoch of the latest.
    pub(super) fn latest(&self) -> u8 {
        self.number
    }

    pub(super) fn of_epoch(&self, epoch: u8) -> Lives {
        self.all[epoch as usize - 1]
    }

    pub(super) fn present(&self) -> Lives {
        self.of_epoch(self.number)
    }
}

/// What may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) views: u8,
    pub(super) crashes: u8,
    pub(super) lease_ends: u8,
    pub(super) rejoins: u8,
    pub(super) cancels: u8,
    pub(super) aways: u8,
}

impl Budget {
    fn codes(self) -> [u32; 2] {
        let Budget { views, crashes, lease_ends, rejoins, cancels, aways } = self;
        let first = [views, crashes, lease_ends, rejoins];
        [first, [cancels, aways, 0, 0]].map(u32::from_le_bytes)
    }

    fn of_codes(codes: [u32; 2]) -> Self {
        let [[views, crashes, lease_ends, rejoins], [cancels, aways, ..]] =
            codes.map(u32::to_le_bytes);
        Budget { views, crashes, lease_ends, rejoins, cancels, aways }
    }
}

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Packet {
    pub(super) from: u8,
    pub(super) to: u8,
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
    fn code(self) -> u32 {
        debug_assert!(self.message < 1 << 28, "so many different messages do not fit into memory");
        u32::from(self.from) | u32::from(self.to) << 2 | self.message << 4
    }

    fn of_code(code: u32) -> Self {
        Packet { from: code as u8 & 3, to: (code >> 2) as u8 & 3, message: code >> 4 }
    }
}

/// A moment of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(super) budget: Budget,
    /// The highest fence that was given out: the epoch, then the counter in 16 bits.
    pub(super) highest: u32,
    pub(super) views: Views,
    pub(super) sites: [Site; MOST],
    /// By link, in the order of sending.
    pub(super) flight: Vec<Packet>,
}

impl State {
    /// All members in their first lives, before any of them has begun.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let Scenario { members, requests, askers, .. } = *scenario;
        let Scenario { cancels, views, crashes, lease_ends, rejoins, aways, .. } = *scenario;
        let absent = Site { local: NO_CELL, life: 0, left: 0, up: false, lease: false };
        let mut sites = [absent; MOST];
        let mut lives = Lives::default();
        for (i, (site, life)) in sites[..members].iter_mut().zip(&mut lives.0).enumerate() {
            let left = if i < askers { requests } else { 0 };
            *site = Site { life: 1, left, up: true, lease: true, ..absent };
            *life = 1;
        }
        let mut decided = Views::default();
        decided.decide(lives);
        State {
            budget: Budget { views, crashes, lease_ends, rejoins, cancels, aways },
            highest: 0,
            views: decided,
            sites,
            flight: Vec::new(),
        }
    }

    /// Everything but members and messages.
    pub(super) fn globals(&self) -> impl Iterator<Item = u32> {
        let views = self.views.all[..self.views.number as usize].iter();
        let first = self.budget.codes().into_iter().chain([self.highest]);
        first.chain([self.views.number.into()]).chain(views.map(|view| view.code()))
    }
}

impl Row for State {
    fn row_length(&self, nodes: usize) -> usize {
        4 + self.views.number as usize + 2 * nodes + self.flight.len()
    }

    fn encode(&self, nodes: usize, out: &mut Vec<u32>) {
        out.extend(self.globals());
        out.extend(self.sites[..nodes].iter().flat_map(|site| [site.local, site.flags()]));
        out.extend(self.flight.iter().map(|packet| packet.code()));
    }

    fn decode(&mut self, nodes: usize, row: &[u32]) {
        let (globals, row) = row.split_at(4);
        self.budget = Budget::of_codes([globals[0], globals[1]]);
        self.highest = globals[2];
        let (views, row) = row.split_at(globals[3] as usize);
        self.views = Views::default();
        views.iter().for_each(|view| self.views.decide(Lives(view.to_le_bytes())));
        let (sites, flight) = row.split_at(2 * nodes);
        for (site, numbers) in self.sites.iter_mut().zip(sites.chunks_exact(2)) {
            *site = Site::of(numbers[0], numbers[1]);
        }
        self.flight.clear();
        self.flight.extend(flight.iter().map(|&code| Packet::of_code(code)));
    }

    fn copy_from(&mut self, other: &Self, _: usize) {
        self.budget = other.budget;
        self.highest = other.highest;
        self.views = other.views;
        self.sites = other.sites;
        self.flight.clear();
        self.flight.extend_from_slice(&other.flight);
    }
}

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Somebody at a member asks for the lock.
    Ask(u8),
    /// The holder at a member lets go.
    Release(u8),
    /// The `nth` waiter of a member waits no longer.
    Cancel { member: u8, nth: u8 },
    /// The first message of a link arrives.
    Deliver { from: u8, to: u8 },
    /// What a life that is over had sent to a member never arrives.
    Reset { from: u8, to: u8 },
    /// A member enters a view, or begins in it.
    Install { member: u8, epoch: u8 },
    /// A view with the same members is decided.
    Renumber,
    /// A view without a member is decided.
    Exclude(u8),
    /// A view with a new life of a member is decided.
    Rejoin(u8),
    /// A member crashes.
    Crash(u8),
    /// The lease of a live member ends.
    EndLease(u8),
    /// A view is decided in which a member is away.
    Away(u8),
    /// A view is decided that takes a member back that was away.
    Back(u8),
    /// A member counts nobody as away any more, without a new view.
    Strike(u8),
}

impl Coded for Move {
    fn code(self) -> u16 {
        let (kind, a, b) = match self {
            Move::Ask(member) => (0, member, 0),
            Move::Release(member) => (1, member, 0),
            Move::Cancel { member, nth } => (2, member, nth),
            Move::Deliver { from, to } => (3, from, to),
            Move::Reset { from, to } => (4, from, to),
            Move::Install { member, epoch } => (5, member, epoch),
            Move::Renumber => (6, 0, 0),
            Move::Exclude(member) => (7, member, 0),
            Move::Rejoin(member) => (8, member, 0),
            Move::Crash(member) => (9, member, 0),
            Move::EndLease(member) => (10, member, 0),
            Move::Away(member) => (11, member, 0),
            Move::Back(member) => (12, member, 0),
            Move::Strike(member) => (13, member, 0),
        };
        kind << 8 | u16::from(a) << 4 | u16::from(b)
    }

    fn of_code(code: u16) -> Self {
        let (a, b) = ((code >> 4 & 15) as u8, (code & 15) as u8);
        match code >> 8 {
            0 => Move::Ask(a),
            1 => Move::Release(a),
            2 => Move::Cancel { member: a, nth: b },
            3 => Move::Deliver { from: a, to: b },
            4 => Move::Reset { from: a, to: b },
            5 => Move::Install { member: a, epoch: b },
            6 => Move::Renumber,
            7 => Move::Exclude(a),
            8 => Move::Rejoin(a),
            9 => Move::Crash(a),
            10 => Move::EndLease(a),
            11 => Move::Away(a),
            12 => Move::Back(a),
            _ => Move::Strike(a),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_survive_their_codes() {
        let moves = [
            Move::Ask(3),
            Move::Release(1),
            Move::Cancel { member: 2, nth: 14 },
            Move::Deliver { from: 0, to: 3 },
            Move::Reset { from: 3, to: 0 },
            Move::Install { member: 2, epoch: 8 },
            Move::Renumber,
            Move::Exclude(1),
            Move::Rejoin(2),
            Move::Crash(3),
            Move::EndLease(1),
            Move::Away(2),
            Move::Back(3),
            Move::Strike(1),
        ];
        for step in moves {
            assert_eq!(Move::of_code(step.code()), step);
        }
    }
}
