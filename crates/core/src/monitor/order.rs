//! Ordering: requests ordered by happened-before are served in that order (spec 1, EM3).

use crate::NodeId;

/// What a node, or a message on its way, knows of requests that still wait: one bit per node, set if
/// that node's present request happened before. Rides on every message.
///
/// `W` is the number of 64-bit words: enough for `64 · W` nodes, and with `W = 0` it is nothing at
/// all, so a driver that does not watch the order pays nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Knowledge<const W: usize> {
    bits: [u64; W],
    /// How many entries there had been: bits of requests that were served since are stale. Per word
    /// only so that `W = 0` takes no space.
    entries: [u64; W],
}

impl<const W: usize> Knowledge<W> {
    const NOTHING: Self = Knowledge { bits: [0; W], entries: [0; W] };
}

/// How many entries back it is remembered who made them.
const RECENT: usize = 8;

/// Counts inversions: entries that overtook a request that happened before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderMonitor<const W: usize> {
    /// What each node knows now.
    nodes: Vec<Knowledge<W>>,
    /// What each node knew when it made its present request.
    at_request: Vec<Knowledge<W>>,
    /// Whose request waits.
    waiting: [u64; W],
    /// After which entry each node was last served.
    served: Vec<u64>,
    /// Who made the last entries: the `e`-th one, counted from 0, at `e % RECENT`.
    recent: [usize; RECENT],
    entries: u64,
    inversions: u64,
}

impl<const W: usize> OrderMonitor<W> {
    /// For a system of `n` nodes; watches nothing if `n` is too large for `W`.
    #[must_use]
    pub fn new(n: usize) -> Self {
        let watched = if n <= 64 * W { n } else { 0 };
        OrderMonitor {
            nodes: vec![Knowledge::NOTHING; watched],
            at_request: vec![Knowledge::NOTHING; watched],
            waiting: [0; W],
            served: vec![0; watched],
            recent: [0; RECENT],
            entries: 0,
            inversions: 0,
        }
    }

    /// `node` makes a request.
    pub fn request(&mut self, node: NodeId) {
        if self.nodes.is_empty() {
            return;
        }
        let i = node.index();
        self.at_request[i] = self.nodes[i];
        self.nodes[i].bits[i / 64] |= 1 << (i % 64);
        self.waiting[i / 64] |= 1 << (i % 64);
    }

    /// What a message that `node` sends now carries.
    #[must_use]
    pub fn send(&self, node: NodeId) -> Knowledge<W> {
        match self.nodes.get(node.index()) {
            Some(&known) => Knowledge { bits: known.bits, entries: [self.entries; W] },
            None => Knowledge::NOTHING,
        }
    }

    /// `node` receives a message that carries `known`.
    pub fn deliver(&mut self, node: NodeId, known: Knowledge<W>) {
        if self.nodes.is_empty() {
            return;
        }
        for word in 0..W {
            let mut bits = known.bits[word] & self.waiting[word];
            if known.entries[word] != self.entries {
                bits = self.without_served_since(word, bits, known.entries[word]);
            }
            self.nodes[node.index()].bits[word] |= bits;
        }
    }

    /// A bit that was set before its node was last served speaks of an older request of it.
    fn without_served_since(&self, word: usize, bits: u64, entries: u64) -> u64 {
        if self.entries - entries <= self.recent.len() as u64 {
            // Nearly always: a message is not on its way for more than a few entries.
            let place = |entry: u64| self.recent[entry as usize % self.recent.len()];
            return (entries..self.entries).map(place).fold(bits, |bits, node| {
                if node / 64 == word { bits & !(1 << (node % 64)) } else { bits }
            });
        }
        let stale = |node: &usize| self.served[*node] > entries;
        let nodes = (word * 64..self.served.len()).take(64);
        nodes.filter(stale).fold(bits, |bits, node| bits & !(1 << (node % 64)))
    }

    /// `node` enters. Returns how many waiting requests it overtook although they happened before.
    pub fn enter(&mut self, node: NodeId) -> u64 {
        if self.nodes.is_empty() {
            return 0;
        }
        let i = node.index();
        self.forget(node);
        self.recent[self.entries as usize % RECENT] = i;
        self.entries += 1;
        self.served[i] = self.entries;
        let overtaken = self.at_request[i].bits.iter().zip(&self.waiting);
        let overtaken =
            overtaken.map(|(known, waiting)| u64::from((known & waiting).count_ones())).sum();
        self.inversions += u64::from(overtaken > 0);
        overtaken
    }

    /// The request of `node` is no more: served, or gone with its node.
    pub fn forget(&mut self, node: NodeId) {
        if self.nodes.is_empty() {
            return;
        }
        let (word, bit) = (node.index() / 64, 1u64 << (node.index() % 64));
        self.waiting[word] &= !bit;
        for known in self.nodes.iter_mut().chain(&mut self.at_request) {
            known.bits[word] &= !bit;
        }
    }

    /// How many entries overtook a request that happened before; `None` if that was not watched.
    #[must_use]
    pub fn inversions(&self) -> Option<u64> {
        (!self.nodes.is_empty()).then_some(self.inversions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> (OrderMonitor<1>, NodeId, NodeId, NodeId) {
        (OrderMonitor::new(3), NodeId::new(0), NodeId::new(1), NodeId::new(2))
    }

    #[test]
    fn concurrent_requests_may_overtake() {
        let (mut monitor, a, b, _) = nodes();
        monitor.request(a);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 0);
        assert_eq!(monitor.inversions(), Some(0));
    }

    #[test]
    fn overtaking_a_known_request_is_an_inversion() {
        let (mut monitor, a, b, c) = nodes();
        monitor.request(a);
        let message = monitor.send(a);
        monitor.deliver(c, message);
        let message = monitor.send(c);
        monitor.deliver(b, message);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 1);
        assert_eq!(monitor.inversions(), Some(1));
    }

    #[test]
    fn word_of_a_served_request_is_not_word_of_the_next_one() {
        let (mut monitor, a, b, _) = nodes();
        monitor.request(a);
        let old_news = monitor.send(a);
        monitor.enter(a);
        monitor.request(a);
        monitor.deliver(b, old_news);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 0);
        let news = monitor.send(a);
        monitor.deliver(b, news);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 1);
    }

    /// The short memory of recent entries and the long one of each node agree.
    #[test]
    fn old_news_stays_old_however_late_it_comes() {
        let (mut monitor, a, b, c) = nodes();
        monitor.request(a);
        let old_news = monitor.send(a);
        monitor.enter(a);
        monitor.request(a);
        for _ in 0..2 * RECENT {
            monitor.request(c);
            monitor.enter(c);
            let mut other = monitor.clone();
            other.deliver(b, old_news);
            other.request(b);
            assert_eq!(other.enter(b), 0);
        }
    }

    #[test]
    fn too_many_nodes_are_not_watched() {
        let mut monitor = OrderMonitor::<1>::new(65);
        monitor.request(NodeId::new(64));
        assert_eq!(monitor.enter(NodeId::new(64)), 0);
        assert_eq!(monitor.inversions(), None);
        assert_eq!(OrderMonitor::<0>::new(1).inversions(), None);
        assert_eq!(size_of::<Knowledge<0>>(), 0);
    }
}
