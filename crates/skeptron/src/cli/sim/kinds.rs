//! `skeptron sim --modes`: locks with kinds.

use std::io::Write;
use std::ops::RangeInclusive;

use anyhow::{Result, ensure};
use skeptron_core::catalogue::{Info, Order};
use skeptron_sim::kinds::{Kinds, KindsReport, run_kinds};
use skeptron_sim::{Scenario, Summary};

use super::super::Verdict;
use super::super::table::{counted, folded, number, table};
use super::print::entries;
use super::seeds::{Figure, Judged};
use super::{SimArgs, parse_seeds};
use crate::ask::Files;

impl SimArgs {
    /// The run of a lock with kinds that these options describe.
    ///
    /// # Errors
    /// If something is unknown, malformed, impossible, or for other runs.
    pub fn kinds_scenario(&self) -> Result<(&'static Info, Scenario, Kinds)> {
        ensure!(
            self.trace.is_empty(),
            "--trace does not know modes; --timeline prints what happened"
        );
        self.ask.kinds(Files::Disk)
    }

    pub(super) fn run_with_kinds(&self, out: &mut impl Write) -> Result<Verdict> {
        let (info, scenario, kinds) = self.kinds_scenario()?;
        if let Some(range) = &self.seeds {
            return self.run_kinds_seeds(info, &scenario, &kinds, parse_seeds(range)?, out);
        }
        let outcome = run_kinds(info, &scenario, &kinds, self.timeline)?;
        for line in &outcome.timeline {
            writeln!(out, "{line}")?;
        }
        let report = outcome.report;
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        } else {
            self.print_kinds(&scenario, &report, out)?;
        }
        self.verdict(report.is_fine(), &report.violations, out)
    }

    fn run_kinds_seeds(
        &self,
        info: &'static Info,
        scenario: &Scenario,
        kinds: &Kinds,
        range: RangeInclusive<u64>,
        out: &mut impl Write,
    ) -> Result<Verdict> {
        let report = |seed| {
            let scenario = Scenario { seed, ..scenario.clone() };
            Ok(run_kinds(info, &scenario, kinds, false)?.report)
        };
        let figures: [Figure<KindsReport>; 4] = [
            ("messages per entry", |r| Some(r.messages_per_entry)),
            ("inside together", |r| Some(r.concurrency.mean)),
            ("throughput", |r| Some(r.throughput)),
            ("longest bypass", |r| Some(r.longest_bypass as f64)),
        ];
        let judged: fn(&KindsReport) -> Judged<'_> =
            |r| Judged { seed: r.seed, violations: &r.violations, stalled: Some(r.stalled) };
        let system = (info.name, scenario.setup.nodes());
        self.summarise(system, range, report, judged, &figures, out)
    }

    fn print_kinds(
        &self,
        scenario: &Scenario,
        report: &KindsReport,
        out: &mut impl Write,
    ) -> Result<()> {
        let order = match scenario.order {
            Order::Fifo => "FIFO channels",
            Order::Any => "channels in any order",
        };
        let flaw =
            self.ask.kinds.flaw.as_ref().map_or(String::new(), |flaw| format!(" · flaw {flaw}"));
        let said = format!(
            "kinds over {} · {}, {} asking · modes {} · {} at once · latency {} · {order} · seed {}{flaw}",
            report.algorithm,
            counted(report.nodes as u64, "node"),
            report.requesters,
            self.ask.kinds.modes.as_deref().unwrap_or_default(),
            self.ask.kinds.at_once(),
            scenario.latency,
            report.seed
        );
        writeln!(out, "{}", folded(&said))?;
        let mut rows =
            table(["entries as", "count", "messages", "delay mean", "p99", "max", "bypass"]);
        for usage in &report.usages {
            let Summary { mean, p99, max, .. } = usage.client_delay;
            let [messages, mean, p99, max] = [usage.messages_per_entry, mean, p99, max].map(number);
            let bypass = usage.longest_bypass.to_string();
            let entries = usage.entries.to_string();
            rows.add_row([usage.usage.clone(), entries, messages, mean, p99, max, bypass]);
        }
        writeln!(out, "{rows}")?;
        entries(report.entries, report.duration, report.throughput, out)?;
        let concurrency = report.concurrency;
        writeln!(
            out,
            "inside       {} together on average, {} at most",
            number(concurrency.mean),
            concurrency.most
        )?;
        let kinds = report.by_type.iter().filter(|(_, count)| *count > 0);
        let kinds: Vec<String> = kinds.map(|(kind, count)| format!("{kind} {count}")).collect();
        let said = format!(
            "messages     {} per entry; {} in all ({}), {}",
            number(report.messages_per_entry),
            report.messages,
            if kinds.is_empty() { "none".into() } else { kinds.join(", ") },
            counted(report.bytes, "byte")
        );
        writeln!(out, "{}", folded(&said))?;
        let upgrades = &report.upgrades;
        if upgrades.upgraded + upgrades.denied + upgrades.downgraded > 0 {
            writeln!(
                out,
                "upgrades     {} granted after {} units on average, {} denied; {} downgraded",
                upgrades.upgraded,
                number(upgrades.delay.mean),
                upgrades.denied,
                upgrades.downgraded
            )?;
        }
        if report.given_up > 0 {
            writeln!(out, "given up     {} stopped waiting", report.given_up)?;
        }
        writeln!(out, "run          {} events, trace hash {}", report.events, report.trace_hash)?;
        Ok(())
    }
}
