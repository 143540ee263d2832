//! The `skeptron` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    skeptron::cli::main()
}
