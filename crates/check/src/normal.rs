//! States that differ only in how long ago everything began are one: with requests without end clocks
//! and request numbers grow for ever, and without this no state would ever be met again.
//!
//! Request numbers of a node are only compared, and only that node counts on: their ranks do the same.
//! Clocks are also counted on by others, so distances matter: all are shifted by the same amount, and
//! two that nobody is between are taken to be [`FAR`] apart if they are further. That last step is the
//! only one that is not exact: see `docs/checker.md`.

use rustc_hash::FxHashMap;
use skeptron_core::Counter;

use crate::local::{Counters, LocalId, MessageId};
use crate::memory::Memory;
use crate::state::{State, User};

/// So far apart clocks are told from further ones.
pub(crate) const FAR: u64 = 4;

/// What a thread has found out about counters.
#[derive(Default)]
pub(crate) struct Known {
    local_states: FxHashMap<LocalId, Counters>,
    sent_messages: FxHashMap<MessageId, Counters>,
    /// With which values which local becomes which.
    moved_locals: FxHashMap<(LocalId, Box<[u64]>), LocalId>,
    moved_messages: FxHashMap<(MessageId, Box<[u64]>), MessageId>,
    /// All counters of the present state, and their normal values.
    present: Vec<(Counter, u64)>,
    normal: Vec<u64>,
}

impl Known {
    /// The normal values of the counters of something.
    fn moved(&self, counters: &Counters) -> Option<Box<[u64]>> {
        let value = |counter| {
            let place = self.present.binary_search(counter);
            place.map_or(counter.1, |place| self.normal[place])
        };
        let values: Box<[u64]> = counters.iter().map(value).collect();
        let same = values.iter().zip(counters).all(|(value, counter)| *value == counter.1);
        (!same).then_some(values)
    }
}

/// Brings the counters of a state into their normal form.
pub(crate) fn normalise<E: Copy>(memory: &mut Memory<'_, E>, state: &mut State, nodes: usize) {
    let numbered = memory.nodes();
    let mut known = std::mem::take(&mut memory.normal);
    known.present.clear();
    for site in state.sites[..nodes].iter().filter(|site| site.user != User::Down) {
        let read = || numbered.local_counters(site.local);
        let counters = known.local_states.entry(site.local).or_insert_with(read);
        known.present.extend_from_slice(counters);
    }
    for packet in &state.flight {
        let read = || numbered.message_counters(packet.message);
        let counters = known.sent_messages.entry(packet.message).or_insert_with(read);
        known.present.extend_from_slice(counters);
    }
    known.present.sort_unstable();
    known.present.dedup();
    normal_values(&known.present, &mut known.normal);
    let is_normal = known.present.iter().zip(&known.normal).all(|(old, new)| old.1 == *new);
    if !is_normal {
        for site in state.sites[..nodes].iter_mut().filter(|site| site.user != User::Down) {
            let Some(values) = known.moved(&known.local_states[&site.local]) else { continue };
            let moved = known.moved_locals.entry((site.local, values));
            site.local =
                *moved.or_insert_with_key(|(local, values)| numbered.local_with(*local, values));
        }
        for packet in &mut state.flight {
            let Some(values) = known.moved(&known.sent_messages[&packet.message]) else { continue };
            let moved = known.moved_messages.entry((packet.message, values));
            packet.message = *moved
                .or_insert_with_key(|(message, values)| numbered.message_with(*message, values));
        }
    }
    memory.normal = known;
}

/// The normal values of counters that are ordered by kind and value.
fn normal_values(present: &[(Counter, u64)], normal: &mut Vec<u64>) {
    normal.clear();
    for (place, &(counter, value)) in present.iter().enumerate() {
        let before = place.checked_sub(1).map(|place| (present[place], normal[place]));
        let next = match (counter, before.filter(|((other, _), _)| *other == counter)) {
            // 0 is told apart: nobody has asked yet.
            (_, None) => value.min(1),
            (Counter::Clock, Some(((_, old), new))) => new + (value - old).min(FAR),
            (Counter::Requests(_), Some((_, new))) => new + 1,
        };
        normal.push(next);
    }
}

#[cfg(test)]
mod tests {
    use skeptron_core::NodeId;

    use super::*;

    #[test]
    fn ranks_and_distances_are_kept() {
        let of = |node| Counter::Requests(NodeId::new(node));
        let normal = |present: &[(Counter, u64)]| {
            let mut values = Vec::new();
            normal_values(present, &mut values);
            values
        };
        let clocks = [7, 8, 10, 100].map(|value| (Counter::Clock, value));
        assert_eq!(normal(&clocks), [1, 2, 4, 4 + FAR]);
        let requests = [(of(0), 0), (of(0), 5), (of(0), 6), (of(1), 9), (of(1), 30)];
        assert_eq!(normal(&requests), [0, 1, 2, 1, 2]);
    }
}
