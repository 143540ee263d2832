//! Any state of a system that recovers from it.

use skeptron_core::catalogue::Info;
use skeptron_core::mutex::{Mutex, Visitor, dispatch};
use skeptron_core::{Input, Outbox, Setup, SetupError};

use crate::chance::{Chance, Purpose};

/// The same system begun in a state that is drawn at random from all in which it may begin, where a self-stabilising
/// algorithm runs in it: each node in any of its states, each channel with anything or nothing in it, but one message
/// in all.
///
/// # Errors
/// If the system cannot be built.
pub fn begun_anywhere(info: &Info, setup: Setup, seed: u64) -> Result<Setup, SetupError> {
    dispatch(info, Draw { info, setup, seed })
}

struct Draw<'a> {
    info: &'a Info,
    setup: Setup,
    seed: u64,
}

impl Visitor for Draw<'_> {
    type Output = Result<Setup, SetupError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let Draw { info, setup, seed } = self;
        let (nodes, states) = (setup.nodes(), P::beginnings(info.name, setup.nodes()));
        if states == 0 {
            return Ok(setup);
        }
        let mut chance = Chance::new(seed, Purpose::Beginning);
        loop {
            let drawn = (0..nodes).map(|_| chance.below(states)).collect();
            let begun = setup.clone().with_beginnings(drawn)?;
            // Without any message nothing would ever happen.
            if nodes == 1 || sends::<P>(P::build(info.name, &begun)?) {
                return Ok(begun);
            }
        }
    }
}

/// Whether there is a message in some channel.
fn sends<P: Mutex>(nodes: Vec<P>) -> bool {
    let mut out = Outbox::new();
    // A node always starts.
    nodes
        .into_iter()
        .any(|mut node| node.step(Input::Start, &mut out).is_ok() && !out.effects().is_empty())
}
