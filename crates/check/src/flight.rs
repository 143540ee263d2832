//! Messages in flight, as every kind of world keeps them: by link, and within a link in the order of
//! sending on a FIFO channel, in any fixed order else.

use skeptron_core::NodeId;
use skeptron_core::catalogue::Order;

use crate::local::MessageId;
use crate::property::Which;

/// A message in flight.
pub(crate) trait Flying: Copy + Ord {
    /// From whom, and to whom.
    fn link(&self) -> (u8, u8);

    /// What it says.
    fn message(&self) -> MessageId;
}

/// Sends a message.
#[inline]
pub(crate) fn launch<F: Flying>(flight: &mut Vec<F>, order: Order, new: F) {
    let place = match order {
        Order::Fifo => flight.partition_point(|other| other.link() <= new.link()),
        Order::Any => flight.partition_point(|other| *other <= new),
    };
    flight.insert(place, new);
}

/// Restores the fixed order of an unordered channel after messages have changed.
#[inline]
pub(crate) fn sort<F: Flying>(flight: &mut [F], order: Order) {
    if order == Order::Any {
        flight.sort_unstable();
    }
}

/// The messages that can arrive next, with their places: the oldest of each link, or one of each kind.
/// A later message of a FIFO link may as well be lost or copied when its turn comes.
#[inline]
pub(crate) fn deliverable<F: Flying>(
    flight: &[F],
    order: Order,
) -> impl Iterator<Item = (u16, &F)> {
    let is_next = move |place: usize| {
        place == 0
            || match order {
                Order::Fifo => flight[place - 1].link() != flight[place].link(),
                Order::Any => flight[place - 1] != flight[place],
            }
    };
    let places = flight.iter().enumerate().filter(move |&(place, _)| is_next(place));
    places.map(|(place, message)| (place as u16, message))
}

/// All messages, each with how many precede it on its link where that matters.
#[inline]
pub(crate) fn ranked<F: Flying>(flight: &[F], order: Order) -> impl Iterator<Item = (u64, &F)> {
    let (mut rank, mut link) = (0, (u8::MAX, 0));
    flight.iter().map(move |message| {
        rank = if order == Order::Fifo && message.link() == link { rank + 1 } else { 0 };
        link = message.link();
        (rank, message)
    })
}

/// Adds what a step has sent to the messages in the order of sending. A state knows that order only where its channel
/// is FIFO; `sent` says to whom what was sent, some of which may never have left.
pub(crate) fn append<F: Flying>(
    in_flight: &mut Vec<F>,
    mut new: Vec<F>,
    sent: impl Iterator<Item = (u8, MessageId)>,
) {
    for sent in sent {
        let is_it = |flying: &F| (flying.link().1, flying.message()) == sent;
        if let Some(place) = new.iter().position(is_it) {
            in_flight.push(new.remove(place));
        }
    }
    assert!(new.is_empty(), "what is in flight was sent");
}

/// The message at a place of a state, and where it stands in the order of sending.
pub(crate) fn which<F: Flying>(flight: &[F], place: u16, sent: &[F]) -> (Which, usize) {
    let message = flight[place as usize];
    let index = sent.iter().position(|&other| other == message);
    let index = index.expect("what a state has in flight was sent");
    let older = sent[..index].iter();
    let nth = older.filter(|other| other.link() == message.link()).count();
    let (from, to) = message.link();
    let [from, to] = [from, to].map(|node| NodeId::new(node.into()));
    (Which { from, to, nth }, index)
}

/// The place of that message where each link is kept in the order of sending.
pub(crate) fn place<F: Flying>(flight: &[F], which: Which) -> Option<u16> {
    let link = (which.from.index() as u8, which.to.index() as u8);
    let places = flight.iter().enumerate().filter(|(_, message)| message.link() == link);
    places.map(|(place, _)| place as u16).nth(which.nth)
}
