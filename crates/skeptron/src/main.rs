//! The `skeptron` command.

use std::process::ExitCode;

/// The usual one keeps nearly all that a crowd of clients took, long after they have gone.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    skeptron::cli::main()
}
