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
    /// How many requests had ended: bits of those that ended since are stale. Per word only so that
    /// `W = 0` takes no space.
    ended: [u64; W],
}

impl<const W: usize> Knowledge<W> {
    const NOTHING: Self = Knowledge { bits: [0; W], ended: [0; W] };
}

/// How many ends of requests back it is remembered whose they were.
const RECENT: usize = 8;

/// Finds inversions: entries that overtook a request that happened before.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OrderMonitor<const W: usize> {
    /// What each node knows now.
    nodes: Vec<Knowledge<W>>,
    /// What each node knew when it made its present request.
    at_request: Vec<Knowledge<W>>,
    /// Whose request waits.
    waiting: [u64; W],
    /// How many requests had ended with the last one of each node that did.
    ended_with: Vec<u64>,
    /// Whose requests ended last: the `e`-th end, counted from 0, at `e % RECENT`.
    recent: [usize; RECENT],
    /// How many requests have ended: served, or gone with their node.
    ended: u64,
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
            ended_with: vec![0; watched],
            recent: [0; RECENT],
            ended: 0,
        }
    }

    /// `node` makes a request.
    pub fn request(&mut self, node: NodeId) {
        if !self.is_watching() {
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
            Some(&known) => Knowledge { bits: known.bits, ended: [self.ended; W] },
            None => Knowledge::NOTHING,
        }
    }

    /// `node` receives a message that carries `known`.
    pub fn deliver(&mut self, node: NodeId, known: Knowledge<W>) {
        if !self.is_watching() {
            return;
        }
        for word in 0..W {
            let mut bits = known.bits[word] & self.waiting[word];
            if known.ended[word] != self.ended {
                bits = self.without_ended_since(word, bits, known.ended[word]);
            }
            self.nodes[node.index()].bits[word] |= bits;
        }
    }

    /// A bit that was set before a request of its node ended speaks of that one or an older one.
    fn without_ended_since(&self, word: usize, bits: u64, ended: u64) -> u64 {
        if self.ended - ended <= self.recent.len() as u64 {
            // Nearly always: a message is not on its way for more than a few entries.
            let place = |end: u64| self.recent[end as usize % self.recent.len()];
            return (ended..self.ended).map(place).fold(bits, |bits, node| {
                if node / 64 == word { bits & !(1 << (node % 64)) } else { bits }
            });
        }
        let stale = |node: &usize| self.ended_with[*node] > ended;
        let nodes = (word * 64..self.ended_with.len()).take(64);
        nodes.filter(stale).fold(bits, |bits, node| bits & !(1 << (node % 64)))
    }

    /// `node` enters. Returns how many waiting requests it overtook although they happened before.
    pub fn enter(&mut self, node: NodeId) -> u64 {
        if !self.is_watching() {
            return 0;
        }
        self.forget(node);
        let known = self.at_request[node.index()].bits.iter();
        let overtaken = known.zip(&self.waiting).map(|(known, waiting)| known & waiting);
        overtaken.map(|bits| u64::from(bits.count_ones())).sum()
    }

    /// The request of `node` is no more: served, or gone with its node.
    pub fn forget(&mut self, node: NodeId) {
        if !self.is_watching() {
            return;
        }
        let i = node.index();
        let (word, bit) = (i / 64, 1u64 << (i % 64));
        if self.waiting[word] & bit == 0 {
            return;
        }
        self.waiting[word] &= !bit;
        for known in self.nodes.iter_mut().chain(&mut self.at_request) {
            known.bits[word] &= !bit;
        }
        self.recent[self.ended as usize % RECENT] = i;
        self.ended += 1;
        self.ended_with[i] = self.ended;
    }

    /// Whether the order is watched at all.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        !self.nodes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    type Requests = BTreeSet<(usize, u32)>;

    /// The definition, word for word: a request is its node and a number, and everybody knows the
    /// set of all requests that happened before.
    struct Model {
        nodes: Vec<Requests>,
        waiting: Vec<Option<(u32, Requests)>>,
        requests: u32,
    }

    impl Model {
        fn request(&mut self, i: usize) {
            self.requests += 1;
            self.waiting[i] = Some((self.requests, self.nodes[i].clone()));
            self.nodes[i].insert((i, self.requests));
        }

        fn enter(&mut self, i: usize) -> u64 {
            let (_, before) = self.waiting[i].take().unwrap();
            let others = self.waiting.iter().enumerate();
            let older = others.filter_map(|(j, request)| Some((j, request.as_ref()?.0)));
            older.filter(|request| before.contains(request)).count() as u64
        }
    }

    /// Nodes in three words, so that bits of several are told apart.
    const PLACES: [usize; 5] = [0, 1, 63, 64, 130];

    proptest! {
        /// Whatever is sent when and arrives in whichever order, twice or never, the monitor counts
        /// what the definition says; also where requests go with their nodes.
        #[test]
        fn counts_as_defined(
            steps in prop::collection::vec((0u8..8, 0usize..5, any::<prop::sample::Index>()), 0..400)
        ) {
            let mut monitor = OrderMonitor::<3>::new(131);
            let mut model = Model {
                nodes: vec![BTreeSet::new(); 5],
                waiting: vec![None; 5],
                requests: 0,
            };
            let mut messages = Vec::new();
            for (step, i, chosen) in steps {
                let node = NodeId::new(PLACES[i]);
                match step {
                    0 | 1 if model.waiting[i].is_none() => {
                        monitor.request(node);
                        model.request(i);
                    }
                    2 if model.waiting[i].is_some() => {
                        prop_assert_eq!(monitor.enter(node), model.enter(i));
                    }
                    3 => {
                        monitor.forget(node);
                        model.waiting[i] = None;
                    }
                    4 | 5 => messages.push((monitor.send(node), model.nodes[i].clone())),
                    _ if !messages.is_empty() => {
                        let (known, before) = chosen.get(&messages);
                        monitor.deliver(node, *known);
                        model.nodes[i].extend(before);
                    }
                    _ => {}
                }
            }
        }
    }

    fn nodes() -> (OrderMonitor<1>, NodeId, NodeId, NodeId) {
        (OrderMonitor::new(3), NodeId::new(0), NodeId::new(1), NodeId::new(2))
    }

    #[test]
    fn concurrent_requests_may_overtake() {
        let (mut monitor, a, b, _) = nodes();
        monitor.request(a);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 0);
        assert!(monitor.is_watching());
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
        assert!(!monitor.is_watching());
        assert!(!OrderMonitor::<0>::new(1).is_watching());
        assert_eq!(size_of::<Knowledge<0>>(), 0);
    }
}
