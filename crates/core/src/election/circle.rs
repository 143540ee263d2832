//! The ring of the living (spec 4.2): who stands next to whom if the suspected are skipped.

use serde::{Deserialize, Serialize};

use super::{Epoch, NOT_DRAWN, Notice};
use crate::catalogue::Variable;
use crate::protocol::known_peer;
use crate::topology::Ring;
use crate::{Input, NodeId, NodeSet, Protocol, Refused, Setup};

/// What the elections that send ids round the ring survive.
pub(super) const SURVIVES: &str = "crashes and recoveries, if a detector tells who is dead; a message lost in a crash is missed by an alarm";
/// A field of the elections that have rounds with participants.
pub(super) const PARTICIPANT: Variable =
    Variable::new("participant", "participant", "whether it takes part and knows no leader yet");
/// A field of those in which the highest id wins.
pub(super) const EPOCH: Variable =
    Variable::new("epoch", "max", "the present round, and the highest id seen in it");
/// A field of [`Circle`].
pub(super) const SUSPECTED: Variable =
    Variable::new("circle.suspected", "suspected", "whom its detector takes for dead");

/// One node's view of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Circle {
    me: NodeId,
    /// Everybody else, in the order in which a message sent to the right meets them.
    others: Vec<NodeId>,
    /// Whom its failure detector takes for dead.
    suspected: NodeSet,
}

/// What a node waits for that takes part in an election on the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Alarm {
    /// An ELECTED.
    Elected,
}

/// What a node of an election on the ring does with an input.
pub(crate) enum Turn<M> {
    /// Nothing.
    Rest,
    /// Begin an election.
    Begin,
    /// Read what another node of the ring has sent.
    Receive(NodeId, M),
}

/// The two ways round the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Way {
    /// In the order of the ring.
    Right,
    /// Against it.
    Left,
}

impl Way {
    /// Both.
    pub const ALL: [Way; 2] = [Way::Right, Way::Left];

    /// The other one.
    #[must_use]
    pub fn back(self) -> Self {
        match self {
            Way::Right => Way::Left,
            Way::Left => Way::Right,
        }
    }
}

impl Circle {
    /// The views of all nodes, by id. Without a ring nodes stand in the order of their ids.
    pub(crate) fn all(setup: &Setup) -> Vec<Self> {
        let ring = setup.ring().cloned().unwrap_or_else(|| Ring::ascending(setup.nodes()));
        let order = ring.order();
        let mut circles: Vec<Circle> = (0..order.len())
            .map(|place| Circle {
                me: order[place],
                others: order[place + 1..].iter().chain(&order[..place]).copied().collect(),
                suspected: NodeSet::new(),
            })
            .collect();
        circles.sort_unstable_by_key(|circle| circle.me);
        circles
    }

    pub(crate) fn me(&self) -> NodeId {
        self.me
    }

    /// How many stand in the ring, the dead included.
    pub(crate) fn nodes(&self) -> usize {
        self.others.len() + 1
    }

    /// The same place after a crash: nobody is suspected yet.
    pub(crate) fn recovered(&self) -> Self {
        Circle { suspected: NodeSet::new(), ..self.clone() }
    }

    fn suspect(&mut self, node: NodeId) {
        if self.has(node) && node != self.me {
            self.suspected.insert(node);
        }
    }

    /// True if `node` is the next one to the right: who comes back has missed whatever went past its
    /// place, and its neighbour knows.
    fn trust(&mut self, node: NodeId) -> bool {
        self.suspected.remove(node);
        self.neighbour(Way::Right) == Some(node)
    }

    /// What an input means to a node, by what all elections on the ring have in common. It must begin an election when its
    /// application wants one and none is `under_way` here, when a crash `interrupts` the one that is or its alarm rings, and
    /// when the next node is back.
    pub(crate) fn turn<P: Protocol<Command = Notice>>(
        &mut self,
        input: Input<P>,
        under_way: bool,
        interrupts: impl FnOnce(NodeId) -> bool,
    ) -> Result<Turn<P::Message>, Refused> {
        let begins = match input {
            Input::Start => false,
            Input::Command(Notice::Call) => !under_way,
            Input::Command(Notice::Suspect(node)) => {
                self.suspect(node);
                under_way && interrupts(node)
            }
            Input::Command(Notice::Trust(node)) => self.trust(node),
            Input::Command(Notice::Drawn(_)) => return Err(NOT_DRAWN),
            Input::Deliver { from, message } => {
                known_peer(from, self.me, self.nodes())?;
                return Ok(Turn::Receive(from, message));
            }
            Input::Expire(_) => under_way,
        };
        Ok(if begins { Turn::Begin } else { Turn::Rest })
    }

    pub(crate) fn suspects(&self, node: NodeId) -> bool {
        self.suspected.contains(node)
    }

    pub(crate) fn has(&self, node: NodeId) -> bool {
        node.index() < self.nodes()
    }

    /// Refuses an epoch of nobody in the ring, or one of this node's own after the `newest` it knows.
    pub(crate) fn known_candidate(&self, epoch: Epoch, newest: Epoch) -> Result<(), Refused> {
        if !self.has(epoch.by) {
            return Err(Refused::Unexpected("the candidate is no node of this ring"));
        }
        if epoch.by == self.me && epoch > newest {
            return Err(Refused::Unexpected("this node has never begun that epoch"));
        }
        Ok(())
    }

    /// The next live node that way for a message that ends at `end`. There is none if `end` is dead and
    /// everybody before it has had the message: so nothing ever goes round twice.
    pub(crate) fn onward(&self, way: Way, end: NodeId) -> Option<NodeId> {
        let stop = |node: &&NodeId| !self.suspects(**node) || **node == end;
        let met = match way {
            Way::Right => self.others.iter().find(stop),
            Way::Left => self.others.iter().rev().find(stop),
        };
        met.copied().filter(|&node| !self.suspects(node))
    }

    /// How many places before this one a node of the ring stands.
    pub(crate) fn places_before(&self, node: NodeId) -> usize {
        let ahead = self.others.iter().position(|&other| other == node);
        ahead.map_or(0, |place| self.others.len() - place)
    }

    /// The node so many places before this one; the node itself after a whole round.
    pub(crate) fn before(&self, places: usize) -> NodeId {
        let ahead = self.others.len().checked_sub(places).filter(|_| places > 0);
        ahead.map_or(self.me, |place| self.others[place])
    }

    /// The next live node that way, if another one lives.
    pub(crate) fn neighbour(&self, way: Way) -> Option<NodeId> {
        self.onward(way, self.me)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suspected_are_skipped_and_nothing_goes_past_its_end() {
        let [a, b, c, d] = [0, 1, 2, 3].map(NodeId::new);
        let ring = Ring::new(vec![a, c, d, b]).unwrap();
        let setup = Setup::new(4).and_then(|setup| setup.with_ring(ring)).unwrap();
        let mut circle = Circle::all(&setup).swap_remove(0);
        let next = |circle: &Circle| Way::ALL.map(|way| circle.neighbour(way));
        assert_eq!(next(&circle), [Some(c), Some(b)]);
        circle.suspect(c);
        assert_eq!(next(&circle), [Some(d), Some(b)]);
        assert_eq!(circle.onward(Way::Right, c), None, "its end is dead");
        assert_eq!(circle.onward(Way::Right, d), Some(d));
        circle.suspect(d);
        circle.suspect(b);
        circle.suspect(a);
        circle.suspect(NodeId::new(1 << 30));
        assert_eq!(next(&circle), [None, None]);
        assert!(circle.trust(d), "it is the next one now");
        assert_eq!(next(&circle), [Some(d), Some(d)]);
        assert!(!circle.trust(b), "P4 stands between");
        assert_eq!(next(&circle.recovered()), [Some(c), Some(b)]);
        assert_eq!([b, d, c].map(|node| circle.places_before(node)), [1, 2, 3]);
        assert_eq!([0, 1, 2, 3, 4].map(|places| circle.before(places)), [a, b, d, c, a]);
    }
}
