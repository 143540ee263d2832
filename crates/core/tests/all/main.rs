//! All tests from outside, in one binary: each one more is linked once more.

mod chance;
mod elections_keep_the_contract;
mod kinds_keep_the_contract;
mod network;
mod refused_means_unchanged;
