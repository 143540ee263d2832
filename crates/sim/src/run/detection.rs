//! What nodes are told of each other's crashes, where an algorithm goes on without those that have crashed.

use skeptron_core::{Lock, NodeId};

use super::{Act, Sections};
use crate::distribution::ticks;
use crate::election::Detector;
use crate::engine::Control;
use crate::trace::What;
use crate::troubles::Health;

impl<const W: usize> Sections<'_, W> {
    /// The detectors will notice that `node` crashes now.
    pub(super) fn plan_notice(&self, nodes: &mut dyn Control<Self>, node: NodeId) {
        if self.info.has_detector() {
            let life = self.env.troubles.life(node);
            let at = self.env.now + self.scenario.detector.delay();
            nodes.plan(at, Act::Missed { node, life });
        }
    }

    /// A crash is noticed: everybody is told.
    pub(super) fn missed(&mut self, nodes: &mut dyn Control<Self>, node: NodeId, life: u32) {
        if self.env.troubles.life(node) == life && self.env.troubles.is_down(node) {
            for observer in NodeId::all(self.env.nodes).filter(|&observer| observer != node) {
                self.tell(nodes, observer, node);
            }
        }
    }

    /// The detector of `observer` tells that `whom` has crashed, now or when a pause is over.
    pub(super) fn tell(&mut self, nodes: &mut dyn Control<Self>, observer: NodeId, whom: NodeId) {
        match self.env.troubles.health(observer) {
            Health::Down => {}
            Health::Paused => {
                let life = self.env.troubles.life(observer);
                nodes.hold(observer, Act::Tell { observer, life, whom });
            }
            Health::Up => {
                self.record(observer, || What::Suspect { whom });
                nodes.command(self, observer, Lock::Suspect(whom));
            }
        }
    }

    /// Plans the next false suspicion, if there is one left that would be news.
    pub(super) fn plan_rumour(&mut self, nodes: &mut dyn Control<Self>) {
        if let Detector::Imperfect { rate, .. } = self.scenario.detector
            && self.info.has_detector()
            && self.ended_at.is_none()
            && self.rumoured.len() < self.env.nodes * (self.env.nodes - 1)
        {
            let at = self.env.now + ticks(self.rumours.exponential() / rate);
            nodes.plan(at, Act::Rumour);
        }
    }

    /// Somebody who is up suspects somebody else who is alive. That is never taken back.
    pub(super) fn rumour(&mut self, nodes: &mut dyn Control<Self>) {
        let n = self.env.nodes as u64;
        let [observer, whom] = [0; 2].map(|_: u8| NodeId::new(self.rumours.below(n) as usize));
        if observer != whom
            && self.rumoured.insert((observer, whom))
            && !self.env.troubles.is_down(whom)
        {
            self.tell(nodes, observer, whom);
        }
        self.plan_rumour(nodes);
    }
}
