//! Locks of Skeptron, measured beside a bare coordinator, etcd and Redis.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};
use tokio::runtime::{Builder, Runtime};

mod failover;
mod locks;
mod table;

/// As in the nodes that are measured, so that the coordinator and the nodes in this process have the same.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure locks of Skeptron beside a bare coordinator, etcd and Redis
#[derive(Debug, Parser)]
#[command(name = "skeptron-bench", max_term_width = 100)]
#[command(
    after_help = "SKEPTRON_BIN is the skeptron binary whose nodes are measured. scripts/bench builds it and sets that.

Exit codes: 0 fine, 1 a lock was violated, 2 bad input or a failure."
)]
struct Bench {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// How fast locks are, in this process and over the client API, beside etcd and Redis
    #[command(after_help = "Examples:
  scripts/bench locks
  scripts/bench locks --seconds 0.2 --rounds 3 --only bare,embedded
  scripts/bench locks --without etcd,redis --algorithm suzuki-kasami --json

All rows are measured in turn, round after round, and the median counts; so the ratios mean
something on a busy machine, while the absolute figures vary. Every entry is judged: nobody else
inside, no increment of an unprotected counter lost, fences rising. etcd and Redis are started on
loopback with temporary folders, if they are installed, and stopped again; they are used by the
crates etcd-client and redis.")]
    Locks(locks::LocksBench),
    /// What a crash costs: pauses of locks when a node or a leader is killed, beside etcd
    #[command(after_help = "Examples:
  scripts/bench failover
  scripts/bench failover --rounds 1 --without etcd
  scripts/bench failover --locks 10 --held 100000 --json

In each round clusters of three processes are started on loopback with temporary folders, clients at
two of them take locks in turn, and the third process is killed (kill -9). The pause of a lock is the
longest time between two entries after that, less the usual one; `calm` is the same before the kill,
so what the machine itself costs. Medians of the rounds, and the longest of all. etcd is measured in
the same way, if it is installed.")]
    Failover(failover::FailoverBench),
    /// The process of the bare coordinator
    #[command(hide = true)]
    Coordinator(locks::CoordinatorProcess),
}

/// What came of a command that did its work.
enum Verdict {
    Fine,
    /// Locks did not keep clients apart.
    Violated,
}

fn main() -> ExitCode {
    let bench = Bench::parse();
    match bench.run(&mut io::stdout().lock()) {
        Ok(Verdict::Fine) => ExitCode::SUCCESS,
        Ok(Verdict::Violated) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// For clients, and for nodes in this process: without optimisation these need more than tokio's usual 2 MiB.
fn runtime() -> Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    builder.thread_stack_size(8 << 20).enable_all().build().context("cannot start threads")
}

impl Bench {
    fn run(self, out: &mut impl Write) -> Result<Verdict> {
        match self.what {
            What::Locks(bench) => bench.run(out),
            What::Failover(bench) => bench.run(out),
            What::Coordinator(process) => process.run(),
        }
    }
}
