//! What was decided about views, by true time, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};

use skeptron_member::MemberId;
use skeptron_member::view::View;
use skeptron_views::views::Outcome;

use crate::clock::{MILLISECOND, Time};
use crate::outcome::{Figures, Property};

/// Which rule is broken, and how.
pub(crate) type Wrong = (Property, String);

/// The views of a run and the lives in them.
#[derive(Debug, Default)]
pub(crate) struct History {
    views: BTreeMap<u64, View>,
    /// The newest epoch that each life has installed.
    installed: BTreeMap<u64, u64>,
    /// Lives that were removed.
    removed: BTreeSet<u64>,
    /// Lives whose lease has ended by their own clock.
    over: BTreeSet<u64>,
    /// When a life crashed or asked to leave.
    ended: BTreeMap<u64, Ended>,
    /// The newest view, until all its members have met in it.
    change: Option<Change>,
}

#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Time,
    /// It left cleanly and nothing is in the way: it must be out by then.
    out_by: Option<Time>,
}

#[derive(Debug)]
struct Change {
    epoch: u64,
    since: Time,
    missing: BTreeSet<MemberId>,
}

impl History {
    pub(crate) fn newest(&self) -> Option<&View> {
        self.views.last_key_value().map(|(_, view)| view)
    }

    /// Whether this life belongs to the view of that epoch, or is away in it.
    pub(crate) fn includes(&self, epoch: u64, incarnation: u64) -> bool {
        let includes =
            |view: &View| view.members.iter().any(|member| member.incarnation == Some(incarnation));
        self.views.get(&epoch).is_some_and(includes)
    }

    pub(crate) fn over(&mut self, incarnation: u64) {
        self.over.insert(incarnation);
    }

    pub(crate) fn crashes(&mut self, incarnation: u64, now: Time) {
        self.ended.entry(incarnation).or_insert(Ended { at: now, out_by: None });
    }

    /// A life has given everything up and asks to be removed.
    pub(crate) fn leaves(&mut self, incarnation: u64, at: Time, out_by: Option<Time>) {
        self.ended.insert(incarnation, Ended { at, out_by });
    }

    /// A voter knows of a decision. Whether it is news.
    pub(crate) fn decided(
        &mut self,
        now: Time,
        view: &View,
        outcomes: &[Outcome],
        figures: &mut Figures,
    ) -> Result<bool, Wrong> {
        let is_new = self.same_view(view)?;
        for outcome in outcomes.iter().filter(|_| is_new) {
            if let Outcome::Away(member) = outcome
                && let Some(life) = member.incarnation
                && let Some(Ended { at, .. }) = self.ended.get(&life)
            {
                figures.absences.add(now - at);
            }
            let (Outcome::Left(member) | Outcome::Gone(member)) = outcome else { continue };
            let Some(incarnation) = member.incarnation else { continue };
            if !self.removed.insert(incarnation) {
                continue;
            }
            let Some(Ended { at, out_by }) = self.ended.remove(&incarnation) else { continue };
            let left = matches!(outcome, Outcome::Left(_));
            if left { &mut figures.leaves } else { &mut figures.exclusions }.add(now - at);
            if out_by.is_some_and(|out_by| now > out_by || !left) {
                let millis = (now - at) / MILLISECOND;
                let detail = format!("{} left and was waited for, {millis} ms long", member.id);
                return Err((Property::Progress, detail));
            }
        }
        if is_new {
            let missing = view.ids().collect();
            self.change = Some(Change { epoch: view.epoch, since: now, missing });
        }
        Ok(is_new)
    }

    /// A member has heard of all others in this view.
    pub(crate) fn met(&mut self, now: Time, epoch: u64, id: MemberId, figures: &mut Figures) {
        if let Some(change) = self.change.as_mut().filter(|change| change.epoch == epoch) {
            change.missing.remove(&id);
            if change.missing.is_empty() {
                figures.view_changes.add(now - change.since);
                self.change = None;
            }
        }
    }

    pub(crate) fn installed(&mut self, incarnation: u64, view: &View) -> Result<(), Wrong> {
        self.same_view(view)?;
        let before = self.installed.insert(incarnation, view.epoch);
        match before.filter(|&before| before >= view.epoch) {
            Some(before) => {
                let detail = format!("epoch {} is installed after {before}", view.epoch);
                Err((Property::Views, detail))
            }
            None => Ok(()),
        }
    }

    /// A lease is prolonged: that of a life that goes on.
    pub(crate) fn renewed(&self, incarnation: u64) -> Result<(), Wrong> {
        if self.removed.contains(&incarnation) {
            return Err((Property::Lease, "the lease of a removed life is prolonged".into()));
        }
        if self.over.contains(&incarnation) {
            return Err((Property::Lease, "a lease that was over came back".into()));
        }
        Ok(())
    }

    fn same_view(&mut self, view: &View) -> Result<bool, Wrong> {
        match self.views.get(&view.epoch) {
            Some(known) if known != view => {
                let detail = format!("two views of epoch {}: {known:?}, {view:?}", view.epoch);
                Err((Property::Views, detail))
            }
            Some(_) => Ok(false),
            None => {
                self.views.insert(view.epoch, view.clone());
                Ok(view.epoch > 0)
            }
        }
    }
}
