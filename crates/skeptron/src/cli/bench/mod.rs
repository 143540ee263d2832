//! `skeptron bench`.

use std::io::Write;

use anyhow::Result;
use clap::{Args, Subcommand};

use super::Verdict;

mod failover;
mod locks;
mod sim;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// How fast the simulator is, beside a bare event queue doing the same pops and pushes
    #[command(after_help = "Examples:
  skeptron bench sim
  skeptron bench sim --rounds 9 --json

All columns of a row are measured in turn, round after round, and the best round counts; so the
ratios mean something on a busy machine, while the absolute figures wobble.")]
    Sim(sim::SimBench),
    /// How fast locks are, in this process and over the client API, beside etcd and Redis
    #[command(after_help = "Examples:
  skeptron bench locks
  skeptron bench locks --seconds 0.2 --rounds 3 --only bare,embedded
  skeptron bench locks --without etcd,redis --algorithm suzuki-kasami --json

All rows are measured in turn, round after round, and the median counts; so the ratios mean
something on a busy machine, while the absolute figures wobble. Every entry is judged: nobody else
inside, no increment of an unprotected counter lost, fences rising. etcd and Redis are started on
loopback with temporary folders, if they are installed, and stopped again.")]
    Locks(locks::LocksBench),
    /// What a crash costs: pauses of locks when a node or a leader is killed, beside etcd
    #[command(after_help = "Examples:
  skeptron bench failover
  skeptron bench failover --rounds 1 --without etcd
  skeptron bench failover --locks 10 --held 100000 --json

In each round clusters of three processes are started on loopback with temporary folders, clients at
two of them take locks in turn, and the third process is killed (kill -9). The pause of a lock is the
longest time between two entries after that, less the usual one; `calm` is the same before the kill,
so what the machine itself costs. Medians of the rounds, and the longest of all. etcd is measured in
the same way, if it is installed.")]
    Failover(failover::FailoverBench),
    /// What `bench locks` measures others against
    #[command(hide = true)]
    Coordinator(locks::CoordinatorProcess),
}

impl BenchArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        match self.what {
            What::Sim(bench) => bench.run(out),
            What::Locks(bench) => bench.run(out),
            What::Failover(bench) => bench.run(out),
            What::Coordinator(process) => process.run(),
        }
    }
}
