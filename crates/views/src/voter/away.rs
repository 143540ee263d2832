//! Who seems to be away (early views). A leader that hears nothing of a member moves it out of the view long
//! before its lease has certainly ended, so that the others need not wait for it; and takes it back when it
//! is heard again.
//!
//! Only the leader's own silence decides. What members report of their links shortens the silence that is
//! needed to a little more than the time between two renewals, so that a process that is killed is noticed in
//! a fifth of a lease, and a single cut link between two members that both renew changes nothing. Silence is
//! counted in ticks of the leader: one that was stopped itself has not listened, and blames nobody for it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use skeptron_member::clock::MonoTime;

use super::{TICK, Voter};
use crate::flaw::Flaw;
use crate::views::Command;

/// What a leader knows of who can be heard.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// Ticks since a life was heard, by incarnation.
    silent: BTreeMap<u64, u32>,
    /// Which lives each life cannot reach.
    suspects: BTreeMap<u64, Vec<u64>>,
    /// Lives that were away in this term: they are given more time, so that one that stutters does not
    /// change the view all the time.
    returned: BTreeSet<u64>,
    /// Lives that are away and have renewed their leases.
    returning: BTreeSet<u64>,
}

impl Presence {
    pub(super) fn heard(&mut self, incarnation: u64) {
        self.silent.insert(incarnation, 0);
    }

    pub(super) fn reports(&mut self, incarnation: u64, suspects: Vec<u64>) {
        self.suspects.insert(incarnation, suspects);
    }

    pub(super) fn returns(&mut self, incarnation: u64) {
        self.returning.insert(incarnation);
    }

    pub(super) fn came_back(&mut self, incarnation: u64) {
        self.returning.remove(&incarnation);
        self.returned.insert(incarnation);
        self.heard(incarnation);
    }

    pub(super) fn forget(&mut self, incarnation: u64) {
        self.silent.remove(&incarnation);
        self.suspects.remove(&incarnation);
        self.returned.remove(&incarnation);
        self.returning.remove(&incarnation);
    }
}

impl Voter {
    /// A tick has passed in which this voter listened.
    pub(super) fn count_silence(&mut self) {
        let Some(leading) = &mut self.leading else { return };
        for life in self.views.view().members.iter().filter_map(|member| member.incarnation) {
            *leading.presence.silent.entry(life).or_default() += 1;
        }
    }

    /// Members that seem to be away, and lives that are back.
    pub(super) fn absences(&self, now: MonoTime) -> Vec<Command> {
        let Some(leading) = &self.leading else { return Vec::new() };
        let (view, presence) = (self.views.view(), &leading.presence);
        // Members learn of a shorter lease with their next renewal, and keep to the former pace until then.
        let is_new = self.settings_free_at().is_some_and(|free| now < free);
        let lease = if is_new { self.views.longest_lease() } else { self.views.settings().lease };
        let members = || view.members.iter().filter_map(|member| member.incarnation);
        let away = members().filter(|life| {
            let silent = presence.silent.get(life).copied().unwrap_or(0);
            !leading.is_doomed(*life) && silent >= self.patience(lease, presence, members(), *life)
        });
        // Somebody must be left, or the command would change nothing and be proposed again for ever.
        let away = away.take(view.members.len().saturating_sub(1));
        let away = away.map(|incarnation| Command::Away { incarnation });
        let back = view.away.iter().filter_map(|life| life.incarnation).filter(|life| {
            let heard = presence.returning.contains(life) && !self.has_flaw(Flaw::NotTakenBack);
            heard && !leading.is_doomed(*life)
        });
        away.chain(back.map(|incarnation| Command::Back { incarnation })).collect()
    }

    /// After how many ticks of silence a life counts as away. Members renew every sixth of a lease.
    fn patience(
        &self,
        lease: Duration,
        presence: &Presence,
        members: impl Iterator<Item = u64>,
        life: u64,
    ) -> u32 {
        let ticks = |time: Duration| time.as_nanos().div_ceil(TICK.as_nanos()) as u32;
        let mut reporters = members.filter(|&member| member != life);
        let is_suspected = reporters
            .any(|member| presence.suspects.get(&member).is_some_and(|them| them.contains(&life)));
        if is_suspected && self.has_flaw(Flaw::SuspectsDecide) {
            0
        } else if presence.returned.contains(&life) {
            ticks(lease / 2)
        } else if is_suspected {
            ticks(lease / 6) + 2
        } else {
            ticks(lease / 3).max(ticks(lease / 6) + 4)
        }
    }
}
