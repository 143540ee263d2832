//! Ordering: requests ordered by happened-before are served in that order (spec 1, EM3).

use crate::NodeId;

/// A word of a set of requests. Not a wider one: reading it whole would wait for its halves to be written.
type Places = u64;

const PLACES: usize = Places::BITS as usize;

/// Finds inversions: entries that overtook a request that happened before.
///
/// It keeps which waiting requests each node knows of, and since when. So all that a message carries is when it was
/// sent: its receiver then knows what its sender knew at that time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OrderMonitor {
    /// Each waiting request has a place, and a set of them has so many words.
    words: usize,
    /// Which requests each node knows of. Of requests that are over it may have any, until their places are cleaned.
    known: Vec<Places>,
    /// Which ones each node knew of when it made its present request.
    before: Vec<Places>,
    /// What each node has heard, and when; of requests that are over, too.
    heard: Vec<Vec<News>>,
    /// When each node last did.
    last: Vec<Last>,
    /// Where the waiting request of each node is.
    place_of: Vec<Option<usize>>,
    /// Which places hold a request that waits.
    waiting: Vec<Places>,
    /// Which places are in no other set.
    clean: Vec<Places>,
    /// How often anybody has heard of a request.
    now: u64,
}

/// When a node last sent a message, and heard of a request for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Last {
    sent: u64,
    heard: u64,
}

/// A node hears of requests for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct News {
    at: u64,
    /// Which ones: places in this word.
    word: usize,
    places: Places,
}

impl OrderMonitor {
    /// For more it watches nothing: memory grows with the square of the number of nodes.
    pub const MOST_NODES: usize = 1024;

    /// For a system of `n` nodes; watches nothing if there are more than [`Self::MOST_NODES`].
    #[must_use]
    pub fn new(n: usize) -> Self {
        if n > Self::MOST_NODES {
            return OrderMonitor::default();
        }
        // Some places more than requests can wait, so that many can be cleaned at once.
        let words = (n + n / 8 + 16).div_ceil(PLACES);
        OrderMonitor {
            words,
            known: vec![0; n * words],
            before: vec![0; n * words],
            heard: vec![Vec::new(); n],
            last: vec![Last::default(); n],
            place_of: vec![None; n],
            waiting: vec![0; words],
            clean: vec![Places::MAX; words],
            now: 0,
        }
    }

    /// `node` makes a request.
    pub fn request(&mut self, node: NodeId) {
        if !self.is_watching() {
            return;
        }
        self.forget(node);
        let place = self.clean_place();
        let (word, bit) = (place / PLACES, 1 << (place % PLACES));
        let row = self.row(node);
        self.before[row..][..self.words].copy_from_slice(&self.known[row..][..self.words]);
        self.now += 1;
        self.known[row + word] |= bit;
        self.waiting[word] |= bit;
        self.note(node, word, bit);
        self.clean[word] &= !bit;
        self.place_of[node.index()] = Some(place);
    }

    /// A place of which nobody remembers an earlier request.
    fn clean_place(&mut self) -> usize {
        let first = |clean: &[Places]| clean.iter().position(|&places| places != 0);
        let word = first(&self.clean).unwrap_or_else(|| {
            self.forget_what_is_over();
            first(&self.clean).unwrap_or_default()
        });
        word * PLACES + self.clean[word].trailing_zeros() as usize
    }

    fn forget_what_is_over(&mut self) {
        for sets in [&mut self.known, &mut self.before] {
            for set in sets.chunks_exact_mut(self.words) {
                set.iter_mut().zip(&self.waiting).for_each(|(places, waiting)| *places &= waiting);
            }
        }
        self.clean = self.waiting.iter().map(|waiting| !waiting).collect();
    }

    /// `from` sends a message now: what it carries.
    pub fn send(&mut self, from: NodeId) -> u64 {
        if let Some(last) = self.last.get_mut(from.index()) {
            last.sent = self.now;
        }
        self.now
    }

    /// `to` receives a message that `from` has `sent` then.
    #[inline(always)]
    pub fn deliver(&mut self, from: NodeId, to: NodeId, sent: u64) {
        if !self.is_watching() {
            return;
        }
        let theirs = &self.known[self.row(from)..][..self.words];
        let ours = &self.known[self.row(to)..][..self.words];
        let mut sets = theirs.iter().zip(ours).zip(&self.waiting);
        let first = sets.position(|((theirs, ours), waiting)| theirs & !ours & waiting != 0);
        if let Some(first) = first {
            self.hear(from, to, sent, first);
        }
    }

    /// Nothing is new before that word.
    #[inline(never)]
    fn hear(&mut self, from: NodeId, to: NodeId, sent: u64, first: usize) {
        self.now += 1;
        let (theirs, ours) = (self.row(from), self.row(to));
        let heard_since = self.last[from.index()].heard > sent;
        for word in first..self.words {
            let known = self.known[theirs + word] & !self.known[ours + word] & self.waiting[word];
            if known == 0 {
                continue;
            }
            let places = if heard_since { self.of_then(from, sent, word, known) } else { known };
            if places != 0 {
                self.known[ours + word] |= places;
                self.note(to, word, places);
            }
        }
    }

    /// Of which of these places in a word `node` knew then.
    fn of_then(&self, node: NodeId, then: u64, word: usize, mut places: Places) -> Places {
        for news in self.heard[node.index()].iter().rev() {
            if news.at <= then || places == 0 {
                break;
            }
            if news.word == word {
                places &= !news.places;
            }
        }
        places
    }

    #[inline(always)]
    fn note(&mut self, node: NodeId, word: usize, places: Places) {
        let heard = &mut self.heard[node.index()];
        let last = &mut self.last[node.index()];
        match heard.last_mut() {
            // No message can tell them apart.
            Some(before) if last.heard > last.sent && before.word == word => {
                before.places |= places;
            }
            _ => {
                heard.push(News { at: self.now, word, places });
                last.heard = self.now;
            }
        }
        if heard.len() == heard.capacity() {
            self.forget_old_news(node);
        }
    }

    /// Before there would be more: of each place only the last entry is of use, and only if somebody waits there.
    #[cold]
    fn forget_old_news(&mut self, node: NodeId) {
        let mut left = self.waiting.clone();
        let heard = &mut self.heard[node.index()];
        heard.reverse();
        heard.retain_mut(|news| {
            news.places &= left[news.word];
            left[news.word] &= !news.places;
            news.places != 0
        });
        heard.reverse();
        // Room for as many again, or the next one would look through them all.
        heard.reserve(heard.len() + 16);
    }

    /// `node` enters. Returns how many waiting requests it overtook although they happened before.
    pub fn enter(&mut self, node: NodeId) -> u64 {
        if !self.is_watching() {
            return 0;
        }
        self.forget(node);
        let before = &self.before[self.row(node)..][..self.words];
        let overtaken = before.iter().zip(&self.waiting).map(|(before, waiting)| before & waiting);
        // Nearly always none, and counting is slow.
        let overtaken = overtaken.filter(|&places| places != 0);
        overtaken.map(|places| u64::from(places.count_ones())).sum()
    }

    /// The request of `node` is no more: served, or gone with its node.
    pub fn forget(&mut self, node: NodeId) {
        let place = self.place_of.get_mut(node.index()).and_then(Option::take);
        if let Some(place) = place {
            self.waiting[place / PLACES] &= !(1 << (place % PLACES));
        }
    }

    /// Whether the order is watched at all.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        self.words > 0
    }

    /// Where the sets of `node` begin.
    fn row(&self, node: NodeId) -> usize {
        node.index() * self.words
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

    /// Few nodes, whose places are soon used up and cleaned; and some of many, whose places fill several words.
    const SYSTEMS: [(usize, [usize; 5]); 2] = [(5, [0, 1, 2, 3, 4]), (300, [0, 1, 127, 128, 299])];

    proptest! {
        /// Whatever is sent when and arrives in whichever order, twice or never, the monitor counts
        /// what the definition says; also where requests go with their nodes.
        #[test]
        fn counts_as_defined(
            (n, places) in prop::sample::select(&SYSTEMS[..]),
            steps in prop::collection::vec((0u8..8, 0usize..5, any::<prop::sample::Index>()), 0..1000)
        ) {
            let mut monitor = OrderMonitor::new(n);
            let mut model = Model {
                nodes: vec![BTreeSet::new(); 5],
                waiting: vec![None; 5],
                requests: 0,
            };
            let mut messages = Vec::new();
            for (step, i, chosen) in steps {
                let node = NodeId::new(places[i]);
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
                    4 | 5 => messages.push((node, monitor.send(node), model.nodes[i].clone())),
                    _ if !messages.is_empty() => {
                        let (from, sent, before) = chosen.get(&messages);
                        monitor.deliver(*from, node, *sent);
                        model.nodes[i].extend(before);
                    }
                    _ => {}
                }
            }
        }
    }

    fn nodes() -> (OrderMonitor, NodeId, NodeId, NodeId) {
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
        monitor.deliver(a, c, message);
        let message = monitor.send(c);
        monitor.deliver(c, b, message);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 1);
    }

    #[test]
    fn a_message_says_nothing_of_what_its_sender_heard_later() {
        let (mut monitor, a, b, c) = nodes();
        let message = monitor.send(a);
        monitor.request(c);
        let news = monitor.send(c);
        monitor.deliver(c, a, news);
        monitor.deliver(a, b, message);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 0);
    }

    #[test]
    fn word_of_a_served_request_is_not_word_of_the_next_one() {
        let (mut monitor, a, b, _) = nodes();
        monitor.request(a);
        let old_news = monitor.send(a);
        monitor.enter(a);
        monitor.request(a);
        monitor.deliver(a, b, old_news);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 0);
        let news = monitor.send(a);
        monitor.deliver(a, b, news);
        monitor.request(b);
        assert_eq!(monitor.enter(b), 1);
    }

    /// However often places are cleaned meanwhile.
    #[test]
    fn old_news_stays_old_however_late_it_comes() {
        let (mut monitor, a, b, c) = nodes();
        monitor.request(a);
        let old_news = monitor.send(a);
        monitor.enter(a);
        monitor.request(a);
        for _ in 0..200 {
            monitor.request(c);
            monitor.enter(c);
            let mut other = monitor.clone();
            other.deliver(a, b, old_news);
            other.request(b);
            assert_eq!(other.enter(b), 0);
        }
    }

    /// However much it has heard and forgotten meanwhile.
    #[test]
    fn a_node_remembers_when_it_heard_of_who_still_waits() {
        let [a, b, c, d] = [0, 1, 2, 3].map(NodeId::new);
        let mut monitor = OrderMonitor::new(4);
        let before = monitor.send(b);
        monitor.request(a);
        let news = monitor.send(a);
        monitor.deliver(a, b, news);
        for _ in 0..1000 {
            monitor.request(c);
            let news = monitor.send(c);
            monitor.deliver(c, b, news);
            // To nobody: else it could take all news for one.
            monitor.send(b);
            monitor.enter(c);
        }
        for (sent, overtaken) in [(before, 0), (monitor.send(b), 1)] {
            monitor.deliver(b, d, sent);
            monitor.request(d);
            assert_eq!(monitor.enter(d), overtaken);
        }
        assert!(monitor.heard[b.index()].len() < 100);
    }

    #[test]
    fn too_many_nodes_are_not_watched() {
        let mut monitor = OrderMonitor::new(OrderMonitor::MOST_NODES + 1);
        monitor.request(NodeId::new(64));
        assert_eq!(monitor.enter(NodeId::new(64)), 0);
        assert!(!monitor.is_watching());
        assert!(OrderMonitor::new(OrderMonitor::MOST_NODES).is_watching());
    }
}
