//! What goes wrong when.

use std::sync::Arc;
use std::time::Duration;

use skeptron_views::member::Membership;
use skeptron_views::views::LeaseSettings;
use skeptron_views::voter::Admin;

use crate::clock::{MILLISECOND, Time};
use crate::faults::FaultKind;
use crate::network::{Packet, PacketBody};
use crate::service::Stop;
use crate::world::{Event, World};

/// Something that will be mended.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// These paths are cut.
    Cut(Vec<usize>),
    /// This path is slow.
    Slow(usize),
    /// A member that crashed comes back, if the membership is fixed.
    Down(usize),
}

/// What the storm chooses from.
const CHOICES: [FaultKind; 9] = [
    FaultKind::Resets,
    FaultKind::Pauses,
    FaultKind::Partitions,
    FaultKind::Slow,
    FaultKind::Crashes,
    FaultKind::Views,
    FaultKind::Power,
    FaultKind::Leaves,
    FaultKind::Unlocks,
];

impl World {
    pub(crate) fn plan_storm(&mut self) {
        if CHOICES.iter().any(|&kind| self.options.faults.has(kind)) {
            let most = self.service.as_ref().map_or(120 * MILLISECOND, |it| it.calm_between);
            let after = self.storm_chance.between(2 * MILLISECOND, most);
            self.queue.plan(self.now + after, Event::Storm);
        }
    }

    /// Something goes wrong.
    pub(crate) fn storm(&mut self) {
        if self.healed {
            return;
        }
        let faults = self.options.faults;
        let kinds: Vec<FaultKind> = CHOICES.into_iter().filter(|&kind| faults.has(kind)).collect();
        let kind = self.storm_chance.pick(&kinds);
        self.hash.mix(9 + self.now, kind as u64);
        match kind {
            FaultKind::Resets => self.reset_something(),
            FaultKind::Pauses => self.pause_somebody(),
            FaultKind::Partitions => self.cut_something(),
            FaultKind::Slow => self.slow_something(),
            FaultKind::Crashes => self.crash_somebody(),
            FaultKind::Views => self.order_something(),
            FaultKind::Power => self.lose_power(),
            FaultKind::Leaves => {
                let place = self.storm_chance.index(self.sites.len());
                self.begin_to_leave(place);
            }
            FaultKind::Unlocks => self.break_something(),
            _ => {}
        }
        self.plan_storm();
    }

    pub(crate) fn mend(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Cut(paths) => {
                for path in paths {
                    self.paths[path].cuts = self.paths[path].cuts.saturating_sub(1);
                }
            }
            Trouble::Slow(path) => self.paths[path].slowness = 1,
            Trouble::Down(place) => {
                let (incarnation, view) = (self.chance.bits(), Arc::clone(&self.fixed));
                self.start_life(place, incarnation, view);
            }
        }
    }

    /// Mostly short, sometimes longer than sessions and leases.
    fn duration(&mut self) -> Time {
        let longest = if self.service.is_some() { 5000 } else { 40 };
        let most = self.storm_chance.pick(&[5, 40, longest, 300, 1500]);
        self.storm_chance.below(most * MILLISECOND)
    }

    fn reset_something(&mut self) {
        let client = self.storm_chance.index(self.clients.len().max(1));
        if self.storm_chance.below(3) == 0 {
            if client < self.clients.len() {
                self.break_client_connection(client);
            }
            return;
        }
        let (a, b) = self.two_members();
        if a == b {
            return;
        }
        self.survived.resets += 1;
        for (from, to) in [(a, b), (b, a)] {
            // Each end learns of it when it does; the other one may go on for a while.
            if let Some(connection) = self.end(to, from).and_then(|end| end.connection)
                && self.storm_chance.below(4) > 0
            {
                self.put(from, to, Packet { connection, word: PacketBody::Reset });
            }
        }
    }

    fn two_members(&mut self) -> (usize, usize) {
        let members = self.sites.len();
        let a = self.storm_chance.index(members);
        let b =
            if members > 1 { (a + 1 + self.storm_chance.index(members - 1)) % members } else { a };
        (a, b)
    }

    fn pause_somebody(&mut self) {
        let until = self.now + self.duration();
        if self.clients.is_empty() || self.storm_chance.below(2) == 0 {
            let member = self.storm_chance.index(self.sites.len());
            let site = &mut self.sites[member];
            site.paused_until = site.paused_until.max(until);
            self.survived.member_pauses += 1;
        } else {
            // Whoever stands still while it holds something is the one to watch.
            let first = self.storm_chance.index(self.clients.len());
            let order = (first..self.clients.len()).chain(0..first);
            let holding = order.clone().find(|&it| self.clients[it].holds().is_some());
            let client = &mut self.clients[holding.unwrap_or(first)];
            client.paused_until = client.paused_until.max(until);
            self.survived.client_pauses += 1;
        }
    }

    fn cut_something(&mut self) {
        let members = self.sites.len();
        let until = self.now + self.duration();
        if self.service.is_some() && !self.clients.is_empty() && self.storm_chance.below(3) == 0 {
            // A client cannot reach its member, which lives on.
            let client = self.storm_chance.index(self.clients.len());
            self.clients[client].cut_off = (self.clients[client].at, until);
            self.survived.partitions += 1;
            return;
        }
        let mut sides: Vec<bool> = (0..members).map(|_| self.storm_chance.below(2) == 0).collect();
        if let Some(leader) = self.leader()
            && self.storm_chance.below(3) == 0
        {
            // With a member that hears nobody else, and asleep while the others go on without it.
            let other = self.storm_chance.index(members);
            sides = (0..members).map(|place| place == leader || place == other).collect();
            if self.options.faults.has(FaultKind::Pauses) && self.storm_chance.below(2) == 0 {
                let asleep = self.now + self.storm_chance.below(3000 * MILLISECOND);
                self.sites[leader].paused_until = self.sites[leader].paused_until.max(asleep);
                self.survived.member_pauses += 1;
            }
        }
        let one_way = self.storm_chance.below(2) == 0;
        let partial = self.storm_chance.below(3) == 0;
        let pair = self.two_members();
        let mut cut = Vec::new();
        for from in 0..members {
            for to in 0..members {
                let is_cut = if partial {
                    (from, to) == pair || !one_way && (to, from) == pair
                } else {
                    sides[from] && !sides[to] || !one_way && !sides[from] && sides[to]
                };
                if is_cut && from != to {
                    cut.push(self.path(from, to));
                }
            }
        }
        for &path in &cut {
            self.paths[path].cuts += 1;
        }
        self.survived.partitions += u64::from(!cut.is_empty());
        self.queue.plan(until, Event::Mend(Trouble::Cut(cut)));
    }

    fn slow_something(&mut self) {
        let (a, b) = self.two_members();
        let until = self.now + self.duration();
        let path = self.path(a, b);
        self.paths[path].slowness = self.storm_chance.pick(&[10, 50, 200]);
        self.survived.slowdowns += 1;
        self.queue.plan(until, Event::Mend(Trouble::Slow(path)));
    }

    fn crash_somebody(&mut self) {
        let mut place = self.storm_chance.index(self.sites.len());
        let after = self.duration();
        if self.service.is_some() {
            if self.storm_chance.below(2) == 0 {
                place = self.leader().unwrap_or(place);
            }
            if self.is_up(place) {
                self.crash(place, after);
            }
        } else if self.sites[place].life.is_some() && self.survived.crashes == 0 {
            // One is enough where nobody comes back.
            self.survived.crashes += 1;
            self.end_life(place);
            self.queue.plan(self.now + after, Event::Mend(Trouble::Down(place)));
        }
    }

    fn crash(&mut self, place: usize, down: Time) {
        self.survived.crashes += 1;
        let incarnation = self.sites[place].membership.as_ref().map(Membership::incarnation);
        if let (Some(incarnation), Some(service)) = (incarnation, &mut self.service) {
            service.history.crashes(incarnation, self.now);
        }
        self.stop(place, Stop::Crash, down);
    }

    /// All members crash at once. Leases of before may run until the last of them ends.
    fn lose_power(&mut self) {
        if self.storm_chance.below(10) > 0 {
            return;
        }
        self.survived.power_losses += 1;
        let ends = (0..self.sites.len()).map(|place| self.lease_end(place)).max();
        if let Some(service) = &mut self.service {
            service.quiet_until = service.quiet_until.max(ends.unwrap_or(0));
        }
        for place in 0..self.sites.len() {
            let down = self.duration();
            if self.is_up(place) {
                self.crash(place, down);
            }
        }
    }

    /// An administrator breaks what somebody holds, by an order at some member.
    fn break_something(&mut self) {
        let first = self.storm_chance.index(self.clients.len().max(1));
        let order = (first..self.clients.len()).chain(0..first);
        let mut holds = order.filter_map(|client| self.clients[client].holds());
        let Some((lock, fence)) = holds.next() else { return };
        let place = self.storm_chance.index(self.sites.len());
        if self.sites[place].paused_until > self.now {
            return;
        }
        let (name, id) = (self.names[lock].clone(), self.sites[place].id);
        self.with_core(place, |core, now, out| {
            core.break_lock(now, &name, fence, false, out);
            let others: Vec<_> = core.view().ids().filter(|&other| other != id).collect();
            core.order_break(&others, 0, (&name, fence, false), out);
        });
    }

    /// An administrator wants a view with the same members, or leases of another length.
    fn order_something(&mut self) {
        let Some(service) = &self.service else { return };
        let lease = Duration::from_millis(self.storm_chance.pick(&[700, 1000, 2000, 3000]));
        let settings = LeaseSettings { lease, ..service.settings };
        let renumber = self.storm_chance.below(4) > 0;
        self.administer(if renumber { Admin::Renumber } else { Admin::Settings(settings) });
    }
}
