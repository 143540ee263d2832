//! The network below the links: one path for each direction between two members.

use std::collections::VecDeque;

use skeptron_member::link::handshake::Hello;

use crate::chance::Chance;
use crate::clock::Time;
use crate::service::ServiceMessage;

/// What travels between two members.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) connection: u64,
    pub(crate) word: PacketBody,
}

/// What a packet says.
#[derive(Clone, Debug)]
pub(crate) enum PacketBody {
    /// The first word of whoever dials.
    Hello(Box<Hello>),
    /// The called one agrees.
    Welcome(Box<Hello>),
    /// The caller agrees: the connection is up.
    Accepted,
    /// The connection is over, or never was.
    Reset,
    /// The body of a frame.
    Frame(Vec<u8>),
    /// Between members and voters; belongs to no connection.
    ServiceMessage(Box<ServiceMessage>),
}

/// How likely a packet meets which fate, in parts per million, and how long it takes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quality {
    pub(crate) loss: u32,
    pub(crate) duplication: u32,
    pub(crate) reordering: u32,
    /// The shortest way.
    pub(crate) latency: Time,
    /// What chance adds at most.
    pub(crate) jitter: Time,
}

/// One direction between two members.
#[derive(Debug, Default)]
pub(crate) struct Path {
    /// On their way, in the order of sending, each with its number.
    in_flight: VecDeque<(u64, Packet)>,
    sent: u64,
    /// Frames do not overtake each other, unless they are chosen to.
    last_arrival: Time,
    /// How many partitions cut it.
    pub(crate) cuts: u32,
    /// How much slower than usual it is.
    pub(crate) slowness: Time,
}

impl Path {
    /// Puts a packet on its way; returns its number.
    pub(crate) fn put(&mut self, packet: Packet) -> u64 {
        self.sent += 1;
        self.in_flight.push_back((self.sent, packet));
        self.sent
    }

    /// When something that leaves now arrives, behind everything before unless it `overtakes`.
    pub(crate) fn arrival(
        &mut self,
        now: Time,
        quality: &Quality,
        overtaken: bool,
        chance: &mut Chance,
    ) -> Time {
        let takes = quality.latency + chance.below(quality.jitter + 1);
        let at = now + takes * self.slowness.max(1);
        if overtaken {
            return self.last_arrival.max(at)
                + chance.below(4 * (quality.latency + quality.jitter));
        }
        self.last_arrival = self.last_arrival.max(at);
        self.last_arrival
    }

    /// A packet arrives; none if it has arrived before its time.
    pub(crate) fn take(&mut self, number: u64) -> Option<Packet> {
        let place = self.in_flight.iter().position(|&(other, _)| other == number)?;
        self.in_flight.remove(place).map(|(_, packet)| packet)
    }

    /// The first packet on its way, if it is a frame.
    pub(crate) fn take_first_frame(&mut self) -> Option<Packet> {
        let (_, Packet { word: PacketBody::Frame(_), .. }) = self.in_flight.front()? else {
            return None;
        };
        self.in_flight.pop_front().map(|(_, packet)| packet)
    }
}
