//! What a member knows as the home of locks: a home lets a lock begin in a view only when nobody can
//! have a right to it from before.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use skeptron_core::NodeId;
use skeptron_core::mutex::sharing::{Presence, Row};
use skeptron_types::{MemberId, fnv1a, scatter};

use crate::view::View;

/// The home of a lock in a view: the member with the highest weight for its name. A member that comes
/// or goes moves only the locks that it gains or had.
pub(crate) fn home_of(name: &str, view: &View) -> NodeId {
    let name = fnv1a(name.bytes());
    let weight = |id: MemberId| scatter(name ^ scatter(u64::from(id.number())));
    let ranked = view.ids().enumerate().max_by_key(|&(_, id)| weight(id));
    NodeId::new(ranked.map_or(0, |(rank, _)| rank))
}

/// What a member knows as a home in one view.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Home {
    /// Who has not announced itself in this view.
    missing: BTreeSet<NodeId>,
    /// The locks that may not begin yet and are known to be kept or wanted.
    shut: BTreeMap<Arc<str>, Shut>,
    held_back_bytes: usize,
    /// Whether a life is away that may have rights.
    away: bool,
    /// [`crate::Flaw::HomeOpensEarly`].
    opens_early: bool,
}

/// A lock that may not begin yet.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Shut {
    /// Who keeps a right from before.
    keepers: BTreeSet<NodeId>,
    /// Whether a keeper announced itself: then nobody who is away has a right, or is inside.
    announced: bool,
    /// Who is inside with entries that tolerate others.
    inside: BTreeMap<NodeId, Presence>,
    /// The highest counter that a keeper told.
    pub(super) counter: u64,
    /// Whether the keepers have been told that somebody wants it.
    wanted: bool,
    /// What arrived for it meanwhile, in order.
    pub(super) held_back: Vec<HeldBack>,
}

/// A payload that cannot be taken yet.
#[derive(Clone, Debug, Hash)]
pub(super) struct HeldBack {
    pub(super) from: NodeId,
    pub(super) sequence: u64,
    /// As postcard.
    pub(super) payload: Vec<u8>,
}

impl Shut {
    /// Who is inside with entries that tolerate others.
    pub(super) fn rows(&self) -> Vec<Row> {
        self.inside.iter().map(|(&node, &here)| Row { node, here }).collect()
    }
}

impl HeldBack {
    /// What it takes in memory.
    fn bytes(&self) -> usize {
        self.payload.len() + size_of::<HeldBack>()
    }
}

impl Home {
    /// At the beginning of a view with these `others`; `kept` are the locks at home here to which this
    /// member, `me`, has a right from before, or that it is inside with others.
    pub(super) fn new(
        me: NodeId,
        others: impl Iterator<Item = NodeId>,
        kept: impl Iterator<Item = (Arc<str>, u64, Option<Presence>)>,
        away: bool,
    ) -> Self {
        let mut home = Home { missing: others.collect(), away, ..Home::default() };
        for (name, counter, here) in kept {
            home.keeps(me, name, counter, here);
        }
        home
    }

    /// Does not wait for the announcements if it is flawed so.
    pub(super) fn opening_early(self, opens_early: bool) -> Self {
        Home { opens_early, ..self }
    }

    fn has_heard_all(&self) -> bool {
        self.missing.is_empty() || self.opens_early
    }

    /// Whether every life that could have a right has said what it keeps.
    pub(super) fn knows_all(&self) -> bool {
        self.has_heard_all() && !self.away
    }

    /// Whether a lock may begin. Nobody asks those who are away, so what nobody announced may begin only
    /// if this member owns it.
    pub(super) fn is_open(&self, name: &str, own: bool) -> bool {
        self.has_heard_all() && !self.shut.contains_key(name) && (own || !self.away)
    }

    /// How many locks are wanted that nobody keeps, as far as those know who are not away.
    pub(super) fn withheld(&self) -> usize {
        self.shut.values().filter(|shut| self.withholds(shut)).count()
    }

    fn withholds(&self, shut: &Shut) -> bool {
        self.away && self.has_heard_all() && !shut.announced
    }

    /// Whether this lock is one of those.
    pub(super) fn is_withheld(&self, name: &str) -> bool {
        self.shut.get(name).is_some_and(|shut| self.withholds(shut))
    }

    /// Whether this lock may not begin yet.
    pub(super) fn is_shut(&self, name: &str) -> bool {
        self.shut.contains_key(name)
    }

    /// The locks that have not begun and that members other than `me` kept.
    pub(super) fn kept_elsewhere(&self, me: NodeId) -> BTreeSet<Arc<str>> {
        let elsewhere = |shut: &Shut| {
            let is_kept = shut.announced && !shut.keepers.iter().eq([&me]);
            is_kept || shut.inside.keys().any(|&node| node != me)
        };
        let shut = self.shut.iter().filter(|(_, shut)| elsewhere(shut));
        shut.map(|(name, _)| Arc::clone(name)).collect()
    }

    /// Nobody counts as away any more ([`crate::Flaw::AwayStruckInPlace`]).
    pub(super) fn forget_away(&mut self) {
        self.away = false;
    }

    /// Who has not announced itself.
    pub(super) fn missing(&self) -> &BTreeSet<NodeId> {
        &self.missing
    }

    /// How much is held back, in bytes.
    pub(super) fn held_back_bytes(&self) -> usize {
        self.held_back_bytes
    }

    /// Somebody wants a lock; none if it is open, else whom to tell, once. Looking and taking note are
    /// one step: a lock that is noted here after the last member announced itself would stay shut.
    pub(super) fn want_unless_open(&mut self, name: &Arc<str>, own: bool) -> Option<Vec<NodeId>> {
        if self.is_open(name, own) {
            return None;
        }
        let shut = self.shut.entry(Arc::clone(name)).or_default();
        let told = std::mem::replace(&mut shut.wanted, true);
        Some(if told { Vec::new() } else { shut.keepers.iter().copied().collect() })
    }

    /// Keeps what arrived for a lock that is not open. If all of it takes more than `most` bytes, that of
    /// the member which sent most is dropped; returns who that is.
    pub(super) fn hold_back(
        &mut self,
        name: &Arc<str>,
        message: HeldBack,
        most: usize,
    ) -> Option<NodeId> {
        self.held_back_bytes += message.bytes();
        self.shut.entry(Arc::clone(name)).or_default().held_back.push(message);
        if self.held_back_bytes <= most {
            return None;
        }
        let mut bytes: BTreeMap<NodeId, usize> = BTreeMap::new();
        for message in self.shut.values().flat_map(|shut| &shut.held_back) {
            *bytes.entry(message.from).or_default() += message.bytes();
        }
        let (dropped, bytes) = bytes.into_iter().max_by_key(|&(_, bytes)| bytes)?;
        for shut in self.shut.values_mut() {
            shut.held_back.retain(|message| message.from != dropped);
        }
        self.held_back_bytes -= bytes;
        Some(dropped)
    }

    /// `from` keeps a lock, or is inside with others. Whether it is to be told that somebody wants it.
    pub(super) fn keeps(
        &mut self,
        from: NodeId,
        name: Arc<str>,
        counter: u64,
        here: Option<Presence>,
    ) -> bool {
        let shut = self.shut.entry(name).or_default();
        shut.counter = shut.counter.max(counter);
        if let Some(here) = here {
            // Others may be inside, too, and one of them may be away.
            shut.inside.insert(from, here);
            return false;
        }
        shut.keepers.insert(from);
        shut.announced = true;
        shut.wanted
    }

    /// Takes the word of those inside for that of all ([`crate::Flaw::AwaySharersIgnored`]).
    pub(super) fn ignore_away(&mut self, name: &str) {
        if let Some(shut) = self.shut.get_mut(name) {
            shut.announced = true;
        }
    }

    /// `from` has announced everything; whether it was the last one.
    pub(super) fn announced(&mut self, from: NodeId) -> bool {
        self.missing.remove(&from) && self.missing.is_empty()
    }

    /// `by` has given up its right, and still has this inside; false if it had announced none.
    pub(super) fn freed(&mut self, by: NodeId, name: &str, counter: u64, here: Presence) -> bool {
        let Some(shut) = self.shut.get_mut(name) else { return false };
        shut.counter = shut.counter.max(counter);
        let freed = shut.keepers.remove(&by);
        if freed && here.count > 0 {
            shut.inside.insert(by, here);
        }
        freed
    }

    /// The locks without a keeper.
    pub(super) fn unkept(&self) -> Vec<Arc<str>> {
        let unkept = self.shut.iter().filter(|(_, shut)| shut.keepers.is_empty());
        unkept.map(|(name, _)| Arc::clone(name)).collect()
    }

    /// Lets a lock begin, if it may and was known to be shut. Whoever calls holds the lock's mutex and
    /// takes what was held back before anything else.
    pub(super) fn open(&mut self, name: &str, own: bool) -> Option<Shut> {
        let shut = self.shut.get(name)?;
        let is_known = shut.announced || own || !self.away;
        if !self.has_heard_all() || !shut.keepers.is_empty() || !is_known {
            return None;
        }
        let shut = self.shut.remove(name)?;
        self.held_back_bytes -= shut.held_back.iter().map(HeldBack::bytes).sum::<usize>();
        Some(shut)
    }

    /// Equal for equal homes.
    pub(super) fn digest(&self, mut hasher: &mut dyn Hasher) {
        self.hash(&mut hasher);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(members: usize) -> View {
        View::of_addresses(1, (0..members).map(|k| format!("127.0.0.1:{}", k + 1)).collect())
    }

    #[test]
    fn ten_thousand_names_are_spread_evenly() {
        for members in [3, 5, 9] {
            let view = view(members);
            let mut homes = vec![0usize; members];
            for number in 0..10_000 {
                homes[home_of(&format!("orders/{number}"), &view).index()] += 1;
            }
            let fair = 10_000 / members;
            assert!(homes.iter().all(|&n| n.abs_diff(fair) < fair / 10), "{homes:?}");
        }
    }

    #[test]
    fn a_member_that_goes_moves_only_its_own_locks() {
        let all = view(5);
        let mut fewer = all.clone();
        fewer.members.remove(2);
        for number in 0..1000 {
            let name = format!("orders/{number}");
            let before = all.members[home_of(&name, &all).index()].id;
            let after = fewer.members[home_of(&name, &fewer).index()].id;
            assert!(before == after || before == MemberId::at(2), "{name}");
        }
    }

    #[test]
    fn what_is_wanted_after_all_have_announced_themselves_is_open() {
        let name: Arc<str> = "a".into();
        let others = [NodeId::new(1)];
        let mut home = Home::new(NodeId::new(0), others.into_iter(), std::iter::empty(), false);
        assert_eq!(home.want_unless_open(&name, false), Some(Vec::new()));
        assert!(home.announced(NodeId::new(1)));
        assert_eq!(home.unkept(), [Arc::clone(&name)]);
        assert!(home.open(&name, false).is_some());
        let late: Arc<str> = "b".into();
        assert_eq!(home.want_unless_open(&late, false), None, "nothing would open it any more");
    }
}
