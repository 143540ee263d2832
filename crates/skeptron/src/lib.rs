//! The command line of Skeptron and its lab, as a library so that tests can use them as a user would.

pub mod ask;
pub mod cli;
pub mod errata;
pub mod lab;
mod published;
mod state;
mod table;
