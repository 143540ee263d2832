//! What goes wrong when.

use crate::clients::Goal;
use crate::clock::{MILLISECOND, Time};
use crate::faults::FaultKind;
use crate::network::{Packet, Word};
use crate::world::{Event, World};

/// Something that will be mended.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// These paths are cut.
    Cut(Vec<usize>),
    /// This path is slow.
    Slow(usize),
    /// This member is not heard by whoever decides views.
    Unheard(usize),
    /// A member that crashed comes back, if the membership is fixed.
    Down(usize),
}

/// What the storm chooses from.
const CHOICES: [FaultKind; 5] = [
    FaultKind::Resets,
    FaultKind::Pauses,
    FaultKind::Partitions,
    FaultKind::Slow,
    FaultKind::Crashes,
];

impl World {
    pub(crate) fn plan_storm(&mut self) {
        if CHOICES.iter().any(|&kind| self.options.faults.has(kind)) {
            let after = self.storm_chance.between(2 * MILLISECOND, 120 * MILLISECOND);
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
            Trouble::Unheard(member) => self.oracle.unheard[member] = false,
            Trouble::Down(place) => {
                let (incarnation, view) = (self.chance.bits(), self.oracle.view.clone());
                self.start_life(place, incarnation, view, None);
            }
        }
    }

    /// Mostly short, sometimes longer than sessions and leases.
    fn duration(&mut self) -> Time {
        let most = self.storm_chance.pick(&[5, 40, 40, 300, 1500]);
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
                self.put(from, to, Packet { connection, word: Word::Reset });
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
            let holding =
                order.clone().find(|&it| matches!(self.clients[it].goal, Goal::Holding { .. }));
            let client = &mut self.clients[holding.unwrap_or(first)];
            client.paused_until = client.paused_until.max(until);
            self.survived.client_pauses += 1;
        }
    }

    fn cut_something(&mut self) {
        let members = self.sites.len();
        let until = self.now + self.duration();
        if self.oracle.leases && self.storm_chance.below(4) == 0 {
            let member = self.storm_chance.index(members);
            self.oracle.unheard[member] = true;
            self.survived.partitions += 1;
            return self.queue.plan(until, Event::Mend(Trouble::Unheard(member)));
        }
        let sides: Vec<bool> = (0..members).map(|_| self.storm_chance.below(2) == 0).collect();
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
        let place = self.storm_chance.index(self.sites.len());
        let after = self.duration();
        // One is enough where nobody comes back.
        let may =
            self.oracle.leases && self.storm_chance.below(4) == 0 || self.survived.crashes == 0;
        if self.sites[place].life.is_none() || !may {
            return;
        }
        self.survived.crashes += 1;
        self.end_life(place);
        if self.oracle.leases {
            self.join_later(place);
        } else {
            self.queue.plan(self.now + after, Event::Mend(Trouble::Down(place)));
        }
    }
}
