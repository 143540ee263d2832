//! The command line of Skeptron, as a library so that tests can use it as a user would.

pub mod cli;
