//! The same search over a state machine of your own: what is not made of nodes and channels, or is written down
//! elsewhere with steps of another size.
//!
//! ```
//! use skeptron_check::machine::{Machine, explore};
//!
//! /// A jug for three litres and one for five: when are there four in one of them?
//! struct Jugs;
//!
//! impl Machine for Jugs {
//!     fn start(&self) -> Vec<u32> {
//!         vec![0, 0]
//!     }
//!
//!     fn actions(&self, _: &[u32], actions: &mut Vec<u16>) {
//!         actions.extend(0..6);
//!     }
//!
//!     fn take(&self, jugs: &mut [u32], action: u16) {
//!         let pour = |from: u32, to: u32, size: u32| from.min(size - to);
//!         match action {
//!             0 => jugs[0] = 3,
//!             1 => jugs[1] = 5,
//!             2 => jugs[0] = 0,
//!             3 => jugs[1] = 0,
//!             4 => { let some = pour(jugs[0], jugs[1], 5); jugs[0] -= some; jugs[1] += some }
//!             _ => { let some = pour(jugs[1], jugs[0], 3); jugs[1] -= some; jugs[0] += some }
//!         }
//!     }
//!
//!     fn holds(&self, jugs: &[u32]) -> bool {
//!         jugs[1] != 4
//!     }
//! }
//!
//! let found = explore(&Jugs, 1, 1 << 20);
//! assert_eq!(found.violation.unwrap(), [1, 5, 2, 5, 1, 5], "six steps, and no fewer");
//! ```

use crate::explorer::{self, Limits};
use crate::model::{Coded, Enabled, Model, Row, mix};
use crate::property::{Properties, Property};

/// A state machine whose states are rows of numbers, all of one length.
pub trait Machine: Sync {
    /// How it begins.
    fn start(&self) -> Vec<u32>;
    /// Appends the numbers of all actions that can happen next.
    fn actions(&self, state: &[u32], actions: &mut Vec<u16>);
    /// Lets one of them happen.
    fn take(&self, state: &mut [u32], action: u16);
    /// Whether the state is as every state must be.
    fn holds(&self, state: &[u32]) -> bool;
}

/// What a search of a [`Machine`] came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explored {
    /// Distinct states.
    pub states: u64,
    /// Actions from one state to another, or to itself.
    pub transitions: u64,
    /// How many actions lead to the last states that were explored.
    pub depth: usize,
    /// Whether there is nothing else to explore.
    pub complete: bool,
    /// The most memory that the search took, in bytes.
    pub peak_bytes: usize,
    /// The shortest way to a state that is not as it must be. The search ends there.
    pub violation: Option<Vec<u16>>,
}

/// Explores everything that can happen, breadth first, on so many threads and in about so many bytes.
///
/// States are told apart by 64 bits of hash, as in [`check`](crate::check).
pub fn explore(machine: &impl Machine, threads: usize, max_memory: usize) -> Explored {
    let start = machine.start();
    if !machine.holds(&start) {
        let nothing = Explored {
            states: 1,
            transitions: 0,
            depth: 0,
            complete: false,
            peak_bytes: 0,
            violation: Some(Vec::new()),
        };
        return nothing;
    }
    let limits = Limits {
        threads,
        reduction: false,
        max_memory,
        keep_going: false,
        progress: None,
        stop: None,
    };
    let model = Rows { machine, start };
    let found = explorer::explore(&model, &limits);
    Explored {
        states: found.states,
        transitions: found.transitions,
        depth: found.depth,
        complete: found.complete,
        peak_bytes: found.peak_bytes,
        violation: found.moves_to(Property::Invariant),
    }
}

/// A machine as the search wants it.
struct Rows<'a, M> {
    machine: &'a M,
    start: Vec<u32>,
}

impl<M: Machine> Model for Rows<'_, M> {
    type State = Vec<u32>;
    type Move = u16;
    type Memory<'a>
        = ()
    where
        Self: 'a;

    /// A machine's state has its own length.
    fn nodes(&self) -> usize {
        0
    }

    fn start(&self) -> &Vec<u32> {
        &self.start
    }

    fn judged(&self) -> Properties {
        Properties::from_iter([Property::Invariant])
    }

    fn knows_depth(&self) -> bool {
        false
    }

    fn bytes(&self) -> usize {
        4 * self.start.capacity()
    }

    fn memory(&self, _records: bool) {}

    fn memory_bytes((): &()) -> usize {
        0
    }

    fn moves(&self, (): &mut (), state: &Vec<u32>, moves: &mut Vec<u16>) -> Enabled {
        moves.clear();
        self.machine.actions(state, moves);
        // A machine may end anywhere: nothing is judged there.
        Enabled::More
    }

    fn reduce(&self, (): &mut (), _state: &Vec<u32>, _moves: &mut Vec<u16>) {}

    fn take(&self, (): &mut (), state: &mut Vec<u32>, action: u16) -> Properties {
        self.machine.take(state, action);
        let violated = !self.machine.holds(state);
        violated.then_some(Property::Invariant).into_iter().collect()
    }

    fn judge_rest(&self, (): &mut (), _state: &Vec<u32>, _enabled: Enabled) -> Properties {
        Properties::default()
    }

    fn fingerprint(&self, (): &mut (), state: &Vec<u32>) -> u64 {
        state.chunks(2).fold(0, |hash, pair| {
            let low = pair.get(1).copied().unwrap_or_default();
            mix(hash, u64::from(pair[0]) << 32 | u64::from(low))
        })
    }
}

impl Row for Vec<u32> {
    fn row_length(&self, _: usize) -> usize {
        self.len()
    }

    fn encode(&self, _: usize, out: &mut Vec<u32>) {
        out.extend_from_slice(self);
    }

    fn decode(&mut self, _: usize, row: &[u32]) {
        self.clear();
        self.extend_from_slice(row);
    }

    fn copy_from(&mut self, other: &Self, _: usize) {
        self.clone_from(other);
    }
}

impl Coded for u16 {
    fn code(self) -> u16 {
        self
    }

    fn of_code(code: u16) -> u16 {
        code
    }
}
