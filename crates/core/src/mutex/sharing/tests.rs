//! Scenes of locks with kinds, message by message. All scenes at once are the checker's business.

use std::collections::VecDeque;

use super::{Access, AccessEvent, Presence, Register, Row, SharingMessage};
use crate::mutex::central::Central;
use crate::mutex::naimi_trehel::NaimiTrehel;
use crate::mutex::ricart_agrawala::RicartAgrawala;
use crate::mutex::shared::{Shared, SharedMsg};
use crate::mutex::{Mode, Mutex};
use crate::protocol::checked_step;
use crate::{Effect, Input, Message as _, NodeId, Refused, Setup};

const READ: Mode = Mode::SHARED;
const WRITE: Mode = Mode::EXCLUSIVE;

/// Nodes, what is in flight, and what the applications were told, each once.
struct Scene<P: Mutex> {
    nodes: Vec<Shared<P>>,
    flight: VecDeque<(usize, usize, SharedMsg<P::Message>)>,
    told: Vec<(usize, AccessEvent)>,
    sent: Vec<&'static str>,
}

impl<P: Mutex> Scene<P> {
    fn new(name: &str, inside: &[Vec<Mode>]) -> Self {
        let setup = Setup::new(inside.len()).unwrap();
        let nodes = Shared::build_with(name, &setup, inside, None).unwrap();
        let mut scene =
            Scene { nodes, flight: VecDeque::new(), told: Vec::new(), sent: Vec::new() };
        for node in 0..inside.len() {
            scene.step(node, Input::Start).unwrap();
        }
        scene
    }

    fn step(&mut self, node: usize, input: Input<Shared<P>>) -> Result<(), Refused> {
        for effect in checked_step(&mut self.nodes, node, input)? {
            match effect {
                Effect::Send { to, message } => {
                    self.sent.push(message.label());
                    self.flight.push_back((node, to.index(), message));
                }
                Effect::Broadcast { .. } => unreachable!("it comes as single messages"),
                Effect::Emit(event) => self.told.push((node, event)),
                Effect::Arm { timer, .. } | Effect::Disarm(timer) => match timer {},
            }
        }
        Ok(())
    }

    fn act(&mut self, node: usize, access: Access) -> Result<(), Refused> {
        self.step(node, Input::Command(access))
    }

    /// Does it and delivers whatever follows.
    fn play(&mut self, node: usize, access: Access) {
        self.act(node, access).unwrap();
        while let Some((from, to, message)) = self.flight.pop_front() {
            self.step(to, Input::Deliver { from: NodeId::new(from), message }).unwrap();
        }
    }

    /// What was told and how many messages were sent since this was last asked.
    fn news(&mut self) -> (Vec<(usize, AccessEvent)>, usize) {
        (std::mem::take(&mut self.told), std::mem::take(&mut self.sent).len())
    }
}

fn free(n: usize) -> Vec<Vec<Mode>> {
    vec![Vec::new(); n]
}

/// A lone reader's second entry costs nothing where the inner lock stays: its exit told nobody, either.
#[test]
fn a_lone_reader_comes_back_for_what_the_inner_lock_costs() {
    fn again<P: Mutex>(name: &str) -> usize {
        let mut scene = Scene::<P>::new(name, &free(5));
        scene.play(1, Access::Enter(READ));
        scene.play(1, Access::Leave(READ));
        scene.news();
        scene.play(1, Access::Enter(READ));
        scene.play(1, Access::Leave(READ));
        scene.news().1
    }
    assert_eq!(again::<NaimiTrehel>("naimi-trehel"), 0);
    assert_eq!(again::<Central>("central"), 3);
    assert_eq!(again::<RicartAgrawala>("ricart-agrawala"), 2 * 4);
}

/// Exclusive use costs exactly what the algorithm costs.
#[test]
fn exclusive_entries_cost_what_they_did() {
    let mut scene = Scene::<RicartAgrawala>::new("ricart-agrawala", &free(4));
    for node in [0, 1, 0, 3] {
        scene.play(node, Access::Enter(WRITE));
        scene.play(node, Access::Leave(WRITE));
        assert_eq!(scene.news(), (vec![(node, AccessEvent::Entered)], 2 * 3));
    }
    assert_eq!(scene.nodes[0].sharing().register().version, 0, "there is nothing to write down");
}

/// A writer asks each node that reads, once, however many readers it has there.
#[test]
fn a_writer_asks_each_reading_node_once() {
    let mut scene = Scene::<NaimiTrehel>::new("naimi-trehel", &free(5));
    for node in [1, 2, 3, 3, 3] {
        scene.play(node, Access::Enter(READ));
    }
    scene.play(1, Access::Leave(READ));
    scene.news();
    scene.play(4, Access::Enter(WRITE));
    assert_eq!(scene.told, []);
    let (inner, left) = (3, 1); // The REQUEST is forwarded once.
    assert_eq!(scene.news().1, inner + 3 + left, "three are asked, and the one that left says so");
    scene.play(2, Access::Leave(READ));
    scene.play(3, Access::Leave(READ));
    scene.play(3, Access::Leave(READ));
    assert_eq!(scene.news(), (vec![], 1));
    scene.play(3, Access::Leave(READ));
    assert_eq!(scene.news(), (vec![(4, AccessEvent::Entered)], 1));
    scene.play(4, Access::Leave(WRITE));
    scene.play(4, Access::Enter(WRITE));
    assert_eq!(scene.news(), (vec![(4, AccessEvent::Entered)], 0), "nobody is left to ask");
}

/// Fair: who waits holding the inner lock is not passed by newcomers, whatever these tolerate.
#[test]
fn a_waiting_writer_stops_new_readers() {
    let mut scene = Scene::<Central>::new("central", &free(3));
    scene.play(0, Access::Enter(READ));
    scene.play(1, Access::Enter(WRITE));
    scene.play(2, Access::Enter(READ));
    scene.play(0, Access::Enter(READ));
    assert_eq!(scene.news().0, [(0, AccessEvent::Entered)]);
    scene.play(0, Access::Leave(READ));
    assert_eq!(scene.news().0, [(1, AccessEvent::Entered)]);
    scene.play(1, Access::Leave(WRITE));
    assert_eq!(scene.news().0, [(2, AccessEvent::Entered), (0, AccessEvent::Entered)]);
}

#[test]
fn a_semaphore_lets_in_as_many_as_it_has_permits() {
    let two = Mode::permits(2).unwrap();
    let mut scene = Scene::<RicartAgrawala>::new("ricart-agrawala", &free(3));
    for node in 0..3 {
        scene.play(node, Access::Enter(two));
    }
    assert_eq!(scene.news().0, [(0, AccessEvent::Entered), (1, AccessEvent::Entered)]);
    scene.play(1, Access::Leave(two));
    assert_eq!(scene.news().0, [(2, AccessEvent::Entered)]);
    scene.play(1, Access::Enter(READ));
    assert_eq!(scene.news().0, [], "a reader minds nobody, but those inside mind it");
}

#[test]
fn the_second_of_two_upgraders_is_denied() {
    let mut scene = Scene::<NaimiTrehel>::new("naimi-trehel", &free(2));
    scene.play(0, Access::Enter(READ));
    scene.play(1, Access::Enter(READ));
    scene.news();
    scene.play(0, Access::Upgrade(READ));
    assert_eq!(scene.sent, ["REQUEST", "TOKEN", "ASK"]);
    scene.news();
    scene.play(1, Access::Upgrade(READ));
    assert_eq!(scene.sent, ["WANT", "REQUEST", "DENY"]);
    assert_eq!(scene.news().0, [(1, AccessEvent::Denied)]);
    scene.play(1, Access::Leave(READ));
    assert_eq!(scene.sent, ["LEFT"]);
    assert_eq!(scene.news().0, [(0, AccessEvent::Upgraded)]);
    scene.play(0, Access::Downgrade(READ));
    assert_eq!(scene.sent, ["TOKEN"], "the inner lock that was asked for comes, and is not needed");
    scene.play(1, Access::Enter(READ));
    assert_eq!(scene.news(), (vec![(1, AccessEvent::Entered)], 1));
}

/// The writer got the inner lock first, but the upgrader will not leave before it was exclusive.
#[test]
fn an_upgrader_goes_before_the_writer_that_waits_for_it() {
    let mut scene = Scene::<Central>::new("central", &free(3));
    scene.play(0, Access::Enter(READ));
    scene.play(1, Access::Enter(READ));
    scene.play(2, Access::Enter(WRITE));
    scene.news();
    scene.play(1, Access::Upgrade(READ));
    assert_eq!(scene.news().0, [], "another one reads");
    scene.play(0, Access::Leave(READ));
    assert_eq!(scene.news().0, [(1, AccessEvent::Upgraded)]);
    scene.play(1, Access::Leave(WRITE));
    assert_eq!(scene.news().0, [(2, AccessEvent::Entered)]);
    scene.play(2, Access::Leave(WRITE));
    scene.play(1, Access::Enter(WRITE));
    assert_eq!(scene.news().0, [(1, AccessEvent::Entered)]);
}

/// One node, three clients: one writes next, and one that reads wants to write first.
#[test]
fn an_upgrader_goes_before_a_writer_of_its_own_node() {
    let mut scene = Scene::<NaimiTrehel>::new("naimi-trehel", &free(1));
    scene.play(0, Access::Enter(READ));
    scene.play(0, Access::Enter(READ));
    scene.play(0, Access::Enter(WRITE));
    scene.play(0, Access::Upgrade(READ));
    scene.news();
    scene.play(0, Access::Upgrade(READ));
    assert_eq!(scene.news().0, [(0, AccessEvent::Denied)], "one upgrades already");
    scene.play(0, Access::Leave(READ));
    assert_eq!(scene.news().0, [(0, AccessEvent::Upgraded)]);
    scene.play(0, Access::Leave(WRITE));
    assert_eq!(scene.news().0, [(0, AccessEvent::Entered)]);
}

/// Sharers that survived a change of view.
#[test]
fn a_lock_may_begin_with_sharers_inside() {
    let inside = [vec![], vec![READ, Mode::permits(4).unwrap()], vec![READ]];
    let mut scene = Scene::<NaimiTrehel>::new("naimi-trehel", &inside);
    scene.play(0, Access::Enter(READ));
    assert_eq!(scene.news().0, [(0, AccessEvent::Entered)]);
    scene.play(2, Access::Enter(READ));
    assert_eq!(scene.news().0, [], "four are inside, and one of them tolerates no more");
    scene.play(1, Access::Leave(Mode::permits(4).unwrap()));
    assert_eq!(scene.news().0, [(2, AccessEvent::Entered)]);
}

#[test]
fn what_is_not_held_does_not_leave() {
    let mut scene = Scene::<Central>::new("central", &free(2));
    let two = Mode::permits(2).unwrap();
    for access in [Access::Leave(READ), Access::Leave(WRITE), Access::Upgrade(READ)] {
        assert_eq!(scene.act(0, access), Err(Refused::NotHeld));
    }
    scene.play(0, Access::Enter(READ));
    for access in [Access::Leave(two), Access::Downgrade(two), Access::Upgrade(two)] {
        assert_eq!(scene.act(0, access), Err(Refused::NotHeld));
    }
    scene.play(1, Access::Enter(READ));
    scene.play(0, Access::Upgrade(READ));
    assert_eq!(scene.act(0, Access::Leave(READ)), Err(Refused::NotHeld), "it waits to upgrade");
    scene.play(1, Access::Leave(READ));
    assert_eq!(scene.act(0, Access::Enter(READ)), Err(Refused::Busy));
    assert_eq!(scene.act(0, Access::Downgrade(WRITE)), Err(Refused::NotHeld));
}

#[test]
fn what_no_correct_peer_can_have_said_is_refused() {
    let mut scene = Scene::<Central>::new("central", &free(3));
    scene.play(1, Access::Enter(READ));
    scene.play(2, Access::Enter(WRITE));
    let none = Presence::NONE;
    let one = Presence { count: 1, least: READ };
    let left = |seq, here, wants| SharingMessage::Left { round: 1, seq, here, wants };
    for (from, to, word) in [
        (7, 1, SharingMessage::Lend { round: 1, seq: 1 }), // of nobody
        (2, 1, SharingMessage::Ask { round: 1, all: true, knows: one }), // asked already
        (1, 2, SharingMessage::Ask { round: 1, all: true, knows: one }), // holds the inner lock itself
        (0, 2, left(1, none, false)),                                    // was not asked
        (1, 2, left(1, none, true)),                                     // has nothing to upgrade
    ] {
        let message = SharedMsg::SharingMessage(word);
        let refused = scene.step(to, Input::Deliver { from: NodeId::new(from), message });
        assert!(matches!(refused, Err(Refused::Unexpected(_))), "{from} {to} {word:?}");
    }
    let row = |node| Row { node: NodeId::new(node), here: one };
    for rows in [vec![row(7)], vec![row(2), row(1)], vec![Row { here: none, ..row(1) }]] {
        let register = Register { version: 3, rows };
        let message = crate::mutex::central::Msg::Request;
        let input = SharedMsg::InnerLock { register, message };
        let refused = scene.step(0, Input::Deliver { from: NodeId::new(1), message: input });
        assert!(matches!(refused, Err(Refused::Unexpected(_))));
    }
}
