//! All tests from outside, in one binary: each one more is linked once more. Whatever runs an algorithm is here: a unit
//! test that did would make the tests of the library compile the simulator for every algorithm once more.

mod beginning;
mod election_runs;
mod elections;
mod faulty_runs;
mod hand;
mod kinds;
mod replay;
#[path = "../../src/trace/sample.rs"]
mod sample;
mod variables;

use skeptron_sim::trace;
