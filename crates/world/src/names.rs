//! The names of a run's locks: a few that are used again and again, and with the fault `names` many that are
//! used for a while, so that members have to forget.

use std::collections::BTreeSet;

use skeptron_member::{LockError, MemberId};

use crate::chance::{Chance, Purpose};
use crate::clock::{SECOND, Time};
use crate::faults::FaultKind;
use crate::options::Options;
use crate::outcome::Property;
use crate::world::World;

/// So many names come one after the other.
const ORDERS: usize = 1024;
/// How they begin.
const ORDER: &str = "order-";
/// Once the faults have been over for so long, nobody is refused by the limit for longer than this.
const HEALED: Time = 15 * SECOND;
const ROOM_WITHIN: Time = 5 * SECOND;

/// How a run uses names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Naming {
    /// How many are used all the time.
    pub(crate) usual: usize,
    /// The share of acquires with a name that is new, or was lately.
    fresh_ppm: u32,
    /// How many were new.
    orders: usize,
    /// Names that a member may know.
    pub(crate) most: Option<usize>,
}

impl Naming {
    /// The name that was new so many names ago.
    pub(crate) fn order(&self, lately: usize) -> usize {
        self.usual + self.orders.saturating_sub(lately) % ORDERS
    }
}

/// All names of a run.
pub(crate) fn all(options: &Options, seed: u64) -> (Vec<String>, Naming) {
    let mut chance = Chance::new(seed, Purpose::World, 1);
    let number = 1 + chance.index(3);
    let names: BTreeSet<_> = (0..number).map(|_| format!("lock-{}", chance.below(100))).collect();
    let mut names: Vec<String> = names.into_iter().collect();
    let mut naming = Naming { usual: names.len(), fresh_ppm: 0, orders: 0, most: None };
    if options.faults.has(FaultKind::Names) {
        naming.fresh_ppm = chance.pick(&[0, 100_000, 500_000, 900_000]);
        naming.most = Some(chance.pick(&[16, 32, 64]));
        names.extend((0..ORDERS).map(|order| format!("{ORDER}{order}")));
    }
    (names, naming)
}

/// Where a name stands among these.
pub(crate) fn place(names: &[String], name: &str) -> Option<usize> {
    let mut usual = names.iter().take_while(|known| !known.starts_with(ORDER));
    match name.strip_prefix(ORDER) {
        Some(order) => Some(usual.count() + order.parse::<usize>().ok()?),
        None => usual.position(|known| known == name),
    }
}

impl World {
    /// What a client wants next.
    pub(crate) fn choose_lock(&mut self, client: usize) -> usize {
        let naming = &mut self.naming;
        let chance = &mut self.clients[client].chance;
        if naming.fresh_ppm == 0 || !chance.happens(naming.fresh_ppm) {
            return chance.index(naming.usual);
        }
        naming.orders += 1;
        // Now and then one that others may be using.
        let lately = if chance.below(4) == 0 { chance.index(8) } else { 0 };
        naming.order(lately)
    }

    /// A member refuses a client: by its limit only for a while, since few names are in use.
    pub(crate) fn judge_refusal(&mut self, client: usize, place: usize, error: &LockError) {
        if !matches!(error, LockError::TooManyLocks { .. }) {
            return;
        }
        let since = *self.clients[client].refused_since.get_or_insert(self.now);
        let healed = self.healed_at.is_some_and(|at| self.now - at > HEALED);
        if healed && self.now - since > ROOM_WITHIN {
            let id: MemberId = self.sites[place].id;
            let detail = format!("{id} has no room for another name: {error}");
            self.violate(Property::Progress, None, Some(place), detail);
        }
    }
}
