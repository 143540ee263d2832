//! All tests from outside, in one binary: each one more is linked once more.

mod core;
mod elections;
mod views;
