//! All tests from outside, in one binary: each one more is linked once more.

mod elections;
mod flaws;
mod kinds;
mod storms;
mod traces;
