//! All tests from outside, in one binary: each one more is linked once more.

mod away;
mod file;
mod links;
mod simulation;
mod voters;
mod world;
