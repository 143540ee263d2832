//! All tests from outside, in one binary: each one more is linked once more.

mod equal;
mod failures;
mod reload;

use std::process::Command;

/// Whether tests of programs in that language can run here; if not, that is said.
fn has(interpreter: &str) -> bool {
    let found = Command::new(interpreter).arg("--version").output().is_ok();
    if !found {
        eprintln!("SKIPPED: there is no {interpreter} to run programs with");
    }
    found
}

/// A program of the examples.
fn example(file: &str) -> String {
    format!("{}/../../examples/own-algorithm/{file}", env!("CARGO_MANIFEST_DIR"))
}
