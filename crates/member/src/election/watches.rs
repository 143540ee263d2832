//! What a member that watches elections knows of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Leader, Leadership};
use crate::view::View;
use crate::{Fence, Flaw, MemberId};

/// The elections that a member watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watches {
    by_name: BTreeMap<Arc<str>, Watched>,
    /// The last number of a watch.
    numbers: u64,
}

/// One election.
#[derive(Clone, Debug)]
struct Watched {
    /// How many observe it here.
    observers: usize,
    /// The number of its first round: what answers an earlier one belongs to a watch that is over.
    born: u64,
    /// The number of the last round of questions.
    number: u64,
    /// The members that have not answered it in this view.
    unheard: BTreeSet<MemberId>,
    /// The last round that all have answered, in one view.
    answered: u64,
    leader: Option<Leader>,
    /// Who has it, as they have said in this view. A session that moves may be kept at several members.
    had_by: BTreeSet<MemberId>,
    /// Whether the leader has ended its term in this view: then nobody who is away can lead.
    is_vacated: bool,
    /// The last term that is known to have ended.
    ended: Option<Fence>,
    /// What observers have been told last; none before all have answered for the first time, since a leader
    /// might be left out that came and went where this watch was not known yet.
    told: Option<Leadership>,
    /// Whether leaders may have come and gone since.
    missed: bool,
}

/// It is not watched, or another watch of it has begun.
#[derive(Debug)]
pub(crate) struct Unwatched;

/// What a member says of an election.
#[derive(Debug)]
pub(crate) enum WatchReport {
    /// It leads there.
    Leads(Leader),
    /// Nobody leads there any more, or does at all.
    Vacant(Option<Fence>),
}

impl Watches {
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn is_watched(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// The elections that are watched, each with the number of its watch.
    pub(crate) fn all(&self) -> Vec<(Arc<str>, u64)> {
        self.by_name.iter().map(|(name, it)| (Arc::clone(name), it.number)).collect()
    }

    /// One more observer, which has seen a leader of the term `after` elsewhere. Returns what it is told at
    /// once, or the number of a new round: then everybody is to be asked.
    pub(crate) fn observe(
        &mut self,
        name: &Arc<str>,
        after: Option<Fence>,
        view: &View,
    ) -> Result<Option<Leadership>, u64> {
        let next = self.numbers + 1;
        let it = self.by_name.entry(Arc::clone(name)).or_insert_with(|| Watched {
            observers: 0,
            born: next,
            number: 0,
            unheard: BTreeSet::new(),
            answered: 0,
            leader: None,
            had_by: BTreeSet::new(),
            is_vacated: false,
            ended: None,
            told: None,
            missed: false,
        });
        it.observers += 1;
        let known = it.ended.max(it.leader.as_ref().map(|leader| leader.term));
        if it.number > 0 && after <= known {
            return Ok(it.told.clone());
        }
        // Whoever knows more than this member needs answers that are later than what it knows.
        self.numbers = next;
        (it.number, it.unheard) = (next, view.ids().collect());
        Err(next)
    }

    /// One observer less. Whether it was the last.
    pub(crate) fn leave(&mut self, name: &str) -> bool {
        let Some(it) = self.by_name.get_mut(name) else { return false };
        it.observers -= 1;
        let was_last = it.observers == 0;
        if was_last {
            self.by_name.remove(name);
        }
        was_last
    }

    /// A view begins, in which everybody is to be told of the watches again. If views were `skipped`, this
    /// member may not have belonged to them.
    pub(crate) fn begin_view(&mut self, view: &View, skipped: bool) {
        for it in self.by_name.values_mut() {
            it.unheard = view.ids().collect();
            it.had_by.clear();
            it.is_vacated = false;
            it.missed |= skipped;
        }
    }

    /// A member tells of an election in this view. Returns what observers are to be told, if anything; an
    /// error if it does not answer the present watch.
    pub(crate) fn hear(
        &mut self,
        view: &View,
        from: MemberId,
        (name, number): (&str, u64),
        told: WatchReport,
        flaw: Option<Flaw>,
    ) -> Result<Option<(u64, Leadership)>, Unwatched> {
        let it = self.by_name.get_mut(name).filter(|it| it.born <= number).ok_or(Unwatched)?;
        if it.number == number {
            it.unheard.remove(&from);
        }
        match told {
            WatchReport::Leads(leader) => it.leads(from, leader),
            WatchReport::Vacant(ended) => it.has_ended(from, ended),
        }
        Ok(it.news(view, flaw))
    }
}

impl Watched {
    fn leads(&mut self, from: MemberId, leader: Leader) {
        let term = Some(leader.term);
        let known = self.leader.as_ref().map(|it| (it.term, it.version));
        if term > self.ended && known <= Some((leader.term, leader.version)) {
            if known.is_some_and(|(known, _)| known != leader.term) {
                self.end();
            }
            self.leader = Some(leader);
            self.had_by.insert(from);
            self.is_vacated = false;
        } else if known.is_some_and(|(known, _)| known == leader.term) {
            // It has moved, and its last value has not arrived there.
            self.had_by.insert(from);
        }
    }

    /// Nobody leads there, and this term is over for good, if it says one.
    fn has_ended(&mut self, from: MemberId, term: Option<Fence>) {
        if self.leader.as_ref().is_some_and(|leader| Some(leader.term) <= term) {
            self.is_vacated = !self.had_by.is_empty();
            self.end();
        }
        self.had_by.remove(&from);
        self.ended = self.ended.max(term);
    }

    fn end(&mut self) {
        let term = self.leader.take().map(|leader| leader.term);
        self.ended = self.ended.max(term);
        self.had_by.clear();
    }

    /// What is known now, if observers do not know it, with the last round that all have answered.
    fn news(&mut self, view: &View, flaw: Option<Flaw>) -> Option<(u64, Leadership)> {
        // While a life is away, it may lead, and another member may take its sessions later; unless
        // somebody has led since.
        let early = flaw == Some(Flaw::VacantUnheard);
        let is_away = !view.away.is_empty() && !self.is_vacated && self.had_by.is_empty();
        let has_heard_all = self.unheard.is_empty() && !is_away || early;
        if self.had_by.is_empty() && has_heard_all {
            self.end();
        }
        let is_answered = has_heard_all && self.answered < self.number;
        if is_answered {
            self.answered = self.number;
        }
        let has_begun = self.answered > 0 || flaw == Some(Flaw::BegunUnheard);
        let now = match &self.leader {
            Some(leader) => Leadership::of(leader.clone()),
            None if has_heard_all => Leadership::vacant(self.ended),
            None => return None,
        };
        if !has_begun {
            return None;
        }
        let is_same_term = self.told.as_ref().is_some_and(|told| told.term == now.term);
        if !self.had_by.is_empty() && is_same_term && now.leader.is_some() {
            // The same entry all the time: nobody led in between.
            self.missed = false;
        }
        let is_news = match &self.told {
            Some(told) => now.place() > told.place() || self.missed && now.leader.is_none(),
            None => true,
        };
        if !is_news && !is_answered {
            return None;
        }
        self.told = Some(now.clone());
        let missed = std::mem::take(&mut self.missed);
        Some((self.answered, Leadership { missed, ..now }))
    }
}
