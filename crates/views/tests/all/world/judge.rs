//! What must never happen.

use std::collections::{BTreeMap, BTreeSet};

use skeptron_member::view::{Member, View};
use skeptron_views::views::Outcome;

use super::MS;

#[derive(Debug, Default)]
pub struct Judge {
    pub violation: Option<String>,
    /// When each removed life was removed, by true time.
    pub removed: BTreeMap<u64, u64>,
    /// How many times a life was away, and how many times one came back.
    pub aways: u64,
    pub backs: u64,
    views: BTreeMap<u64, View>,
    installed: BTreeMap<u64, u64>,
    /// Lives whose lease ended by their own clock.
    over: BTreeSet<u64>,
}

impl Judge {
    pub fn fail(&mut self, violation: String) {
        self.violation.get_or_insert(violation);
    }

    pub fn newest_epoch(&self) -> u64 {
        self.newest().map_or(0, |view| view.epoch)
    }

    pub fn newest(&self) -> Option<&View> {
        self.views.last_key_value().map(|(_, view)| view)
    }

    pub fn decided(&mut self, now: u64, view: &View, outcomes: &[Outcome]) {
        for outcome in outcomes {
            if let Outcome::Left(member) | Outcome::Gone(member) = outcome {
                self.removed.entry(member.incarnation.unwrap()).or_insert(now);
            }
        }
        self.same_view(view);
    }

    pub fn installed(&mut self, place: usize, incarnation: u64, view: &View) {
        self.same_view(view);
        let before = self.installed.insert(incarnation, view.epoch);
        if before.is_some_and(|before| before >= view.epoch) {
            self.fail(format!("epochs at node {place} went back to {}", view.epoch));
        }
    }

    pub fn over(&mut self, incarnation: u64) {
        self.over.insert(incarnation);
    }

    pub fn belief(&mut self, now: u64, place: usize, incarnation: Option<u64>) {
        let Some(incarnation) = incarnation else { return };
        if let Some(removed) = self.removed.get(&incarnation) {
            let (now, removed) = (now / MS, removed / MS);
            self.fail(format!(
                "node {place} believes in its lease at {now} ms, but was removed at {removed} ms"
            ));
        }
        if self.over.contains(&incarnation) {
            self.fail(format!("the lease of node {place} was over and came back"));
        }
    }

    fn same_view(&mut self, view: &View) {
        if let Some((_, former)) = self.views.range(..view.epoch).next_back()
            && former.epoch + 1 == view.epoch
            && !self.views.contains_key(&view.epoch)
        {
            let came = |to: &[Member], from: &[Member]| {
                to.iter().filter(|&life| from.contains(life)).count() as u64
            };
            self.aways += came(&view.away, &former.members);
            self.backs += came(&view.members, &former.away);
        }
        let known = self.views.entry(view.epoch).or_insert_with(|| view.clone());
        if known != view {
            let text = format!("two views of epoch {}: {known:?} and {view:?}", view.epoch);
            self.fail(text);
        }
    }
}
