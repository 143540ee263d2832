//! Where everything runs that waits for the network, the clock or a signal.

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context as _, Result};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::Signal;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{self, SignalKind};

/// What is left over when the work is done gets so long to end.
const LEFT_OVER: Duration = Duration::from_millis(200);

/// Does work that has enough to do for all cores, and many connections.
pub(crate) fn on_all_cores<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    open_many_files();
    run(Builder::new_multi_thread(), work)
}

/// Serves locks. Each exchange is short, and waking a thread on another core can cost more than it: three rounds of
/// `scripts/bench locks` on two cores made about a fifth more cycles of several clients with one thread than with two, in
/// nodes and clients alike (`TOKIO_WORKER_THREADS=1`). The node's share of that was not measured by itself.
pub(crate) fn on_half_of_the_cores<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    open_many_files();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(cores.div_ceil(2));
    run(builder, work)
}

/// Does work that mostly waits: one thread is enough, and starts sooner.
pub(crate) fn on_one_thread<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    run(Builder::new_current_thread(), work)
}

fn run<T>(mut builder: Builder, work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime: Runtime = builder.enable_all().build().context("cannot start threads")?;
    let done = runtime.block_on(work);
    runtime.shutdown_timeout(LEFT_OVER);
    done
}

/// Each connection is an open file, and the usual limit is meant for programs that have few.
fn open_many_files() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // It then has to do with fewer.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Signals that have come for this process.
#[derive(Debug)]
pub(crate) struct Signals {
    streams: Vec<(Signal, unix::Signal)>,
}

impl Signals {
    /// Those that ask a service to end.
    pub(crate) const ENDING: [Signal; 2] = [Signal::SIGINT, Signal::SIGTERM];

    /// Takes these from now on instead of dying of them.
    pub(crate) fn listen(which: &[Signal]) -> Result<Self> {
        let stream = |&signal: &Signal| {
            let stream = unix::signal(SignalKind::from_raw(signal as i32));
            Ok((signal, stream.with_context(|| format!("cannot listen for {signal}"))?))
        };
        Ok(Signals { streams: which.iter().map(stream).collect::<Result<_>>()? })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) -> Signal {
        poll_fn(|context| {
            let came = self.streams.iter_mut().find_map(|(signal, stream)| {
                stream.poll_recv(context).is_ready().then_some(*signal)
            });
            came.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// What the work comes to, unless a signal comes first.
    pub(crate) async fn unless<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Signal> {
        tokio::select! {
            biased;
            signal = self.next() => Err(signal),
            done = work => Ok(done),
        }
    }
}

/// Those of the signals that this process was not started to ignore, as it is under `nohup` or as a
/// background job of a script.
pub(crate) fn not_ignored(signals: &[Signal]) -> Vec<Signal> {
    let ignored = ignored_signals();
    let is_ignored = |signal: Signal| ignored & (1 << (signal as u32 - 1)) != 0;
    signals.iter().copied().filter(|&signal| !is_ignored(signal)).collect()
}

/// Signal S at bit S−1. None where the system does not tell.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The exit code of a process that a signal ended, as shells have it.
pub(crate) fn exit_code(signal: Signal) -> u8 {
    128 + signal as u8
}
