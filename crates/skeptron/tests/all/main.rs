//! All tests of the program but `real`, in one binary, since each one links the whole program.

mod bench;
mod check;
mod checked;
mod claims;
mod cli;
mod elections;
mod errata;
mod figures;
mod golden_runs;
mod lab;
mod lock_command;
mod random_runs;
mod replay;
mod structure;
mod tidy;
mod up;
