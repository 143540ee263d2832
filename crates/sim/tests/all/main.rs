//! All tests from outside, in one binary: each one more is linked once more.

mod elections;
mod hand;
mod kinds;
mod variables;
