//! All tests from outside, in one binary: each one more is linked once more.

mod brute_force;
mod oracle;
mod quoracle;
