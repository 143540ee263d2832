//! `skeptron-bench failover`.

use std::io::Write;

use anyhow::{Result, ensure};
use clap::{Args, ValueEnum};
use serde::Serialize;
use skeptron_net::Plan;

use super::locks::interrupted;
use super::locks::services::start_etcd;
use crate::Verdict;
use crash::Victim;

mod crash;
mod pauses;
mod report;
mod views;

#[derive(Debug, Args)]
pub(super) struct FailoverBench {
    /// How often to measure; the median counts
    #[arg(long, default_value_t = 3, value_name = "K")]
    rounds: u32,
    /// Locks that clients of the survivors take in turn
    #[arg(long, default_value_t = 30, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    locks: u16,
    /// Locks that are held while a member joins
    #[arg(long, default_value_t = 10_000, value_name = "N")]
    held: u32,
    /// What guards our locks
    #[arg(long, default_value = Plan::DEFAULT, value_name = "NAME")]
    algorithm: String,
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
    /// Our nodes, three processes
    Skeptron,
    /// Our nodes in this process
    Embedded,
    /// etcd on three nodes
    Etcd,
}

impl Service {
    fn title(self) -> &'static str {
        match self {
            Service::Skeptron => "skeptron × 3",
            Service::Embedded => "embedded × 3",
            Service::Etcd => "etcd × 3",
        }
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum What {
    /// Locks of the survivors, when one that does not lead is killed.
    FollowerKilled,
    /// A lock of a client of the one that is killed.
    HeldAtFollower,
    /// Locks of the survivors, when the leader is killed.
    LeaderKilled,
    /// A lock of a client of the leader that is killed.
    HeldAtLeader,
    /// How long a view change takes where many locks are held.
    ViewChange,
    /// A lock that is entered again and again during that change.
    KeptInChange,
    /// Entering again at a node that has a lease.
    Again,
}

impl What {
    fn title(self) -> &'static str {
        match self {
            What::FollowerKilled => "a member is killed: locks of the others",
            What::HeldAtFollower => "a member is killed: a lock held there",
            What::LeaderKilled => "the leader is killed: locks of the others",
            What::HeldAtLeader => "the leader is killed: a lock held there",
            What::ViewChange => "a member joins: until all have met",
            What::KeptInChange => "a member joins: a lock entered again and again",
            What::Again => "entering again, with a lease",
        }
    }
}

use Service::{Embedded, Etcd, Skeptron};
use What::{
    Again, FollowerKilled, HeldAtFollower, HeldAtLeader, KeptInChange, LeaderKilled, ViewChange,
};

/// In the order of the table.
const ROWS: [(What, Service); 9] = [
    (FollowerKilled, Skeptron),
    (FollowerKilled, Etcd),
    (HeldAtFollower, Skeptron),
    (LeaderKilled, Skeptron),
    (LeaderKilled, Etcd),
    (HeldAtLeader, Skeptron),
    (ViewChange, Embedded),
    (KeptInChange, Embedded),
    (Again, Embedded),
];

/// One line, in all rounds.
struct Row {
    what: What,
    service: Service,
    /// Milliseconds, or cycles per second; those of a round together.
    rounds: Vec<Vec<f64>>,
    /// The same without a crash, in milliseconds.
    calm: Vec<f64>,
    /// Why nothing was measured.
    absent: Option<String>,
}

/// All lines.
struct Rows(Vec<Row>);

impl Rows {
    fn note(&mut self, what: What, service: Service, round: Vec<f64>, calm: &[f64]) {
        for row in self.0.iter_mut().filter(|row| (row.what, row.service) == (what, service)) {
            row.rounds.push(round.clone());
            row.calm.extend(calm);
        }
    }

    fn is_wanted(&self, service: Service) -> bool {
        self.0.iter().any(|row| row.service == service && row.absent.is_none())
    }
}

impl FailoverBench {
    pub(super) fn run(self, out: &mut impl Write) -> Result<Verdict> {
        ensure!(self.rounds > 0, "--rounds is 0; at least one is needed");
        let plan = Plan::named(&self.algorithm)?;
        let row = |(what, service)| Row {
            what,
            service,
            rounds: Vec::new(),
            calm: Vec::new(),
            absent: None,
        };
        let wanted = ROWS.into_iter().filter(|(_, service)| !self.without.contains(service));
        let mut rows = Rows(wanted.map(row).collect());
        ensure!(!rows.0.is_empty(), "nothing is left to be measured");
        let runtime = crate::runtime()?;
        runtime.block_on(async {
            let interrupted = interrupted()?;
            tokio::select! {
                done = self.measure(&plan, &mut rows) => done,
                done = interrupted => done,
            }
        })?;
        if self.json {
            report::write_json(out, &rows.0, &self)?;
        } else {
            report::write_table(out, &rows.0, &self)?;
        }
        Ok(Verdict::Fine)
    }

    async fn measure(&self, plan: &Plan, rows: &mut Rows) -> Result<()> {
        let kills = [
            (Victim::Follower, FollowerKilled, HeldAtFollower),
            (Victim::Leader, LeaderKilled, HeldAtLeader),
        ];
        let locks = usize::from(self.locks);
        for round in 1..=self.rounds {
            for (victim, others, held) in kills {
                if rows.is_wanted(Skeptron) {
                    self.say(round, others, Skeptron);
                    let (pauses, held_ms) = crash::ours(plan, locks, victim).await?;
                    rows.note(others, Skeptron, pauses.after, &pauses.calm);
                    rows.note(held, Skeptron, vec![held_ms], &[]);
                }
                if rows.is_wanted(Etcd) {
                    self.say(round, others, Etcd);
                    match start_etcd().await {
                        Ok(etcd) => {
                            let pauses = crash::etcd(etcd, locks, victim).await?;
                            rows.note(others, Etcd, pauses.after, &pauses.calm);
                        }
                        Err(why) => {
                            let of_etcd = rows.0.iter_mut().filter(|row| row.service == Etcd);
                            of_etcd.for_each(|row| row.absent = Some(why.clone()));
                        }
                    }
                }
            }
            if rows.is_wanted(Embedded) {
                self.say(round, ViewChange, Embedded);
                let change = views::change(plan, self.held as usize).await?;
                rows.note(ViewChange, Embedded, vec![change.took_ms], &[]);
                rows.note(KeptInChange, Embedded, vec![change.pause_ms], &[change.calm_ms]);
                rows.note(Again, Embedded, vec![change.cycles_per_second], &[]);
            }
        }
        Ok(())
    }

    fn say(&self, round: u32, what: What, service: Service) {
        eprintln!("round {round} of {}, {}: {}", self.rounds, service.title(), what.title());
    }
}
