//! `skeptron-bench locks`.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::{Args, ValueEnum};
use hdrhistogram::Histogram;
use serde::Serialize;
use skeptron_net::Plan;
use tokio::signal::unix::{SignalKind, signal};

use crate::Verdict;
pub(super) use bare::CoordinatorProcess;
use judge::Judge;
use services::Services;
use workload::{Sample, Workload};

mod bare;
pub(super) mod etcd;
pub(super) mod judge;
pub(super) mod ours;
mod redis;
pub(super) mod report;
mod server;
pub(super) mod services;
pub(super) mod workload;

#[derive(Debug, Args)]
pub(super) struct LocksBench {
    /// How long to measure each row in each round, in seconds
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    seconds: f64,
    /// How often to measure; the median counts
    #[arg(long, default_value_t = 5, value_name = "K")]
    rounds: u32,
    /// Our nodes
    #[arg(long, default_value_t = 3, value_name = "N")]
    nodes: usize,
    /// What guards our locks
    #[arg(long, default_value = Plan::DEFAULT, value_name = "NAME")]
    algorithm: String,
    /// Measure only these
    #[arg(long, value_delimiter = ',', value_name = "SERVICES")]
    only: Vec<Service>,
    /// Do not measure these
    #[arg(long, value_delimiter = ',', value_name = "SERVICES")]
    without: Vec<Service>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Who gives out locks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Service {
    /// No locks: a message there and back
    Bare,
    /// A lock server that does no more than it must
    Coordinator,
    /// Our nodes in this process
    Embedded,
    /// Our nodes over HTTP on TCP
    Api,
    /// Our nodes over HTTP on a Unix socket
    ApiUnix,
    /// Our nodes over the native protocol on TCP
    Native,
    /// The same with TLS
    NativeTls,
    /// The same without TLS, all clients at one node
    NativeOne,
    /// The same, each client at all nodes by a `ClientPool`
    NativePool,
    /// The same, over connections that all clients share
    NativeShared,
    /// etcd on three nodes
    Etcd,
    /// Redis on one node
    Redis,
    /// The same, over a connection that all clients share
    RedisShared,
}

use Service::{
    Api, ApiUnix, Bare, Coordinator, Embedded, Etcd, Native, NativeOne, NativePool, NativeShared,
    NativeTls, Redis, RedisShared,
};

/// What is measured, in the order of the table.
const ROWS: [(Workload, &[Service]); 7] = [
    (Workload::RoundTrip, &[Bare]),
    (Workload::Again, &[Embedded]),
    (Workload::Alone, &[Coordinator, Embedded, Native, NativeTls, Api, ApiUnix, Etcd, Redis]),
    (Workload::Fetch, &[Embedded]),
    (Workload::Pair, SHARED),
    (Workload::Eight, SHARED),
    (Workload::Many, SHARED),
];

/// Who is measured where several clients take locks.
const SHARED: &[Service] = &[
    Coordinator,
    Embedded,
    Native,
    NativeTls,
    NativeOne,
    NativePool,
    NativeShared,
    Api,
    ApiUnix,
    Etcd,
    Redis,
    RedisShared,
];

impl Service {
    /// How it is called in the table.
    fn title(self) -> &'static str {
        match self {
            Bare => "bare TCP",
            Coordinator => "coordinator",
            Embedded => "embedded",
            Api => "HTTP on TCP",
            ApiUnix => "HTTP on Unix",
            Native => "native",
            NativeTls => "native, TLS",
            NativeOne => "native, 1 node",
            NativePool => "native, pool",
            NativeShared => "native, shared",
            Etcd => "etcd × 3",
            Redis => "Redis × 1",
            RedisShared => "Redis, shared",
        }
    }
}

/// One workload at one service, in all rounds.
struct Row {
    workload: Workload,
    service: Service,
    judge: Arc<Judge>,
    names: Arc<[String]>,
    samples: Vec<Sample>,
    /// Messages between our nodes for each cycle, in each round.
    messages: Vec<f64>,
    /// Why nothing was measured.
    absent: Option<String>,
}

impl Row {
    fn new(workload: Workload, service: Service) -> Self {
        let name = |k| format!("bench/{workload:?}/{k}");
        Row {
            workload,
            service,
            judge: Arc::new(Judge::new(workload.locks())),
            names: (0..workload.locks()).map(name).collect(),
            samples: Vec::new(),
            messages: Vec::new(),
            absent: None,
        }
    }

    /// How long cycles took in all rounds.
    fn times(&self) -> Histogram<u64> {
        let mut times = workload::new_histogram();
        for sample in &self.samples {
            times.add(&sample.times).expect("all histograms have the same bounds");
        }
        times
    }

    /// The cycles of each client in all rounds, if there are several.
    fn of_clients(&self) -> Option<Vec<u64>> {
        let clients = self.workload.clients();
        let of_client = |k: usize| self.samples.iter().map(|s| s.of_clients[k]).sum::<u64>();
        let all: Vec<u64> = (0..clients).map(of_client).collect();
        (clients > 1 && all.iter().any(|&cycles| cycles > 0)).then_some(all)
    }

    /// How many cycles the least served client made for each one of the most served.
    fn fairness(&self) -> Option<f64> {
        let all = self.of_clients()?;
        Some(*all.iter().min()? as f64 / *all.iter().max()? as f64)
    }

    /// Jain's index of the clients' cycles: 1 if all have made the same, 1/n if one has made all.
    fn jain(&self) -> Option<f64> {
        let all = self.of_clients()?;
        let sum: f64 = all.iter().map(|&cycles| cycles as f64).sum();
        let squares: f64 = all.iter().map(|&cycles| (cycles as f64).powi(2)).sum();
        Some(sum * sum / (all.len() as f64 * squares))
    }
}

impl LocksBench {
    pub(super) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        ensure!(self.rounds > 0, "--rounds is 0; at least one is needed");
        ensure!(
            (0.01..=3600.0).contains(&self.seconds),
            "--seconds is {}; between 0.01 and 3600 make sense",
            self.seconds
        );
        let plan = Plan::named(&self.algorithm)?;
        plan.setup(self.nodes)?;
        let mut rows = self.rows();
        ensure!(!rows.is_empty(), "nothing is left to be measured");
        let runtime = crate::runtime()?;
        runtime.block_on(async {
            let interrupted = interrupted()?;
            tokio::select! {
                done = self.measure(&plan, &mut rows) => done,
                done = interrupted => done,
            }
        })?;
        if self.json {
            report::write_json(out, &rows, &self)?;
        } else {
            report::write_table(out, &rows, &self)?;
        }
        let violated = rows.iter().any(|row| row.judge.violation().is_some());
        Ok(if violated { Verdict::Violated } else { Verdict::Fine })
    }

    fn rows(&self) -> Vec<Row> {
        let wanted = |service: &Service| {
            (self.only.is_empty() || self.only.contains(service)) && !self.without.contains(service)
        };
        let of = |(workload, services): &(Workload, &[Service])| {
            let services: Vec<Service> = services.iter().copied().filter(wanted).collect();
            let workload = *workload;
            services.into_iter().map(move |service| Row::new(workload, service))
        };
        ROWS.iter().flat_map(of).collect()
    }

    async fn measure(&self, plan: &Plan, rows: &mut [Row]) -> Result<()> {
        let services = Services::start(plan, self.nodes, rows).await?;
        let span = Duration::from_secs_f64(self.seconds);
        for round in 1..=self.rounds {
            eprintln!("round {round} of {}", self.rounds);
            for row in rows.iter_mut().filter(|row| row.absent.is_none()) {
                let what = (row.workload.title(), row.service.title());
                let sent = services.messages(row.service);
                let entries = row.judge.entries();
                let sample = services.sample(row, span).await;
                let sample = sample.with_context(|| format!("{}, {}", what.0, what.1))?;
                if let (Some(before), Some(after)) = (sent, services.messages(row.service)) {
                    let entries = row.judge.entries() - entries;
                    row.messages.push((after - before) as f64 / entries.max(1) as f64);
                }
                row.samples.push(sample);
            }
        }
        services.stop().await;
        Ok(())
    }
}

/// Ends with an error as soon as somebody asks us to end; servers are stopped on the way out. Signals are caught from
/// the call on, not from the first poll: before that, one of them would leave servers behind.
pub(super) fn interrupted() -> Result<impl Future<Output = Result<()>>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        bail!("interrupted")
    })
}
