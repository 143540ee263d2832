//! All tests of the program but those that start nodes (`commands`, `real`), in one binary, since each one links the whole program.

mod check;
mod check_disk;
mod check_from;
mod checked;
mod claims;
mod cli;
mod elections;
mod errata;
mod figures;
mod golden_runs;
mod lab;
mod programs;
mod random_runs;
mod replay;
#[path = "../shared/signals.rs"]
mod signals;
mod structure;
mod sweep;
mod tidy;
