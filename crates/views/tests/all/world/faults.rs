//! What goes wrong, and for how long.

use super::*;

impl World {
    /// What was not synced is lost, or half written.
    pub fn crash(&mut self, place: usize) {
        let operations = self.below(5) as u32;
        let node = &mut self.nodes[place];
        node.up = false;
        node.life += 1;
        (node.voter, node.member) = (None, None);
        if let Some(mut log) = node.log.take() {
            if let Some((_, write)) = node.writes.pop_front() {
                log.disk_mut().fail_after(operations);
                let _ = log.write(&write);
            }
            node.disk = log.into_disk();
            let chance = &mut self.chance;
            let draw = |n: u64| ((u128::from(chance.next_u64()) * u128::from(n)) >> 64) as u64;
            node.disk.crash(draw);
        }
    }

    /// Members of its view whose links to a node are broken; a member that is paused keeps its links.
    pub(super) fn suspects(&self, place: usize) -> Vec<u64> {
        let nodes = self.scenario.nodes;
        let view = self.nodes[place].member.as_ref().and_then(Membership::view);
        let is_broken = |other: usize| {
            let (there, back) = (place * nodes + other, other * nodes + place);
            !self.nodes[other].up || self.cut[there] + self.cut[back] > 0
        };
        let members = view.into_iter().flat_map(|view| &view.members);
        let broken = members.filter(|member| is_broken(member.id.place()));
        broken.filter_map(|member| member.incarnation).collect()
    }

    pub(super) fn fault(&mut self) {
        if self.calm {
            return;
        }
        let next = self.now + (200 + self.below(2500)) * MS;
        self.at(next, Event::Fault);
        let nodes = self.scenario.nodes as u64;
        let (a, b) = (self.below(nodes) as usize, self.below(nodes) as usize);
        match self.below(if self.scenario.replaces { 12 } else { 10 }) {
            0 => self.crash_for_a_while(a),
            1 => self.pause(a, 5000),
            2 if a != b => self.cut_for(a, b, 6000),
            3 => self.split(1 << a, 5000),
            4 | 5 => {
                if let Some(leader) = self.leader() {
                    self.crash_for_a_while(leader);
                }
            }
            6 => {
                let group = self.below(1 << nodes);
                self.split(group, 6000);
            }
            7 => {
                // The leader sleeps and wakes up in a minority, with a member that hears only it.
                if let Some(leader) = self.leader() {
                    self.split((1 << leader) | (1 << a), 8000);
                    self.pause(leader, 3000);
                }
            }
            8 => self.tell_member(a, member::Input::Leave),
            9 => {
                let seconds = 2 + self.below(3);
                let drift = Drift { ppm: self.scenario.rho_ppm };
                let lease = Duration::from_secs(seconds);
                let settings = LeaseSettings { lease, drift };
                let renumber = self.below(2) == 0;
                let order = if renumber { Admin::Renumber } else { Admin::Settings(settings) };
                self.administer(order);
            }
            10 | 11 if a < self.scenario.voters => {
                let order = Admin::ReplaceVoter { old: id(a), new: id(a) };
                if let Some(AdminAccepted::Seat { raft }) = self.administer(order) {
                    self.at(self.now, Event::Replace { node: a, raft });
                }
            }
            _ => {}
        }
    }

    pub(super) fn replace(&mut self, place: usize, raft: u64) {
        let voters = || self.nodes.iter().filter_map(|node| node.voter.as_ref());
        let seats = || voters().flat_map(|voter| voter.views().seats());
        if seats().any(|seat| seat.raft == raft && seat.id == id(place)) {
            self.crash(place);
            let identity = Identity { cluster: CLUSTER, member: id(place), raft };
            let log = VoterLog::create(MemoryDisk::default(), identity, &[]).unwrap();
            self.nodes[place].disk = log.into_disk();
            self.replaced += 1;
            let time = self.now + self.below(3000) * MS;
            self.at(time, Event::Restart(place));
        } else if voters().all(|voter| voter.views().next_raft() <= raft) {
            // Not decided, or not yet: the proposal may have been lost with its leader.
            let time = self.now + 100 * MS;
            self.at(time, Event::Replace { node: place, raft });
        }
    }

    fn crash_for_a_while(&mut self, place: usize) {
        if self.nodes[place].up {
            self.crash(place);
            let time = self.now + (50 + self.below(6000)) * MS;
            self.at(time, Event::Restart(place));
        }
    }

    fn pause(&mut self, place: usize, longest_ms: u64) {
        if self.nodes[place].up && !self.nodes[place].paused {
            self.nodes[place].paused = true;
            let time = self.now + self.below(longest_ms) * MS;
            self.at(time, Event::Wake(place));
        }
    }

    fn cut_for(&mut self, from: usize, to: usize, longest_ms: u64) {
        self.cut(from, to);
        let time = self.now + self.below(longest_ms) * MS;
        self.at(time, Event::Mend { from, to });
    }

    /// Cuts a group of nodes off from the others, both ways.
    fn split(&mut self, group: u64, longest_ms: u64) {
        for from in 0..self.scenario.nodes {
            for to in 0..self.scenario.nodes {
                if (group >> from) & 1 != (group >> to) & 1 {
                    self.cut_for(from, to, longest_ms);
                }
            }
        }
    }
}
