//! `skeptron check --modes`: locks with kinds.

use std::io::Write;

use anyhow::{Result, ensure};
use skeptron_check::{Counterexample, KindsScenario, Options, Report, Step, check_kinds};
use skeptron_core::catalogue::{Info, Order};
use skeptron_core::monitor::Fence;
use skeptron_core::mutex::Mutex;
use skeptron_core::mutex::shared::{InnerVisitor, Shared, SharedMsg, dispatch_inner};
use skeptron_core::mutex::sharing::{Access, AccessEvent};
use skeptron_core::{Input, Message as _, Never, NodeId, Refused, SetupError};
use skeptron_sim::driver::{EffectSink, Nodes};

use super::super::table::{counted_in_thousands, folded, table};
use super::super::{Verdict, interrupt, names};
use super::{CheckArgs, CrashPhase, DEFAULT_NODES, memory, print, progress, verdict};
use crate::ask::{Files, Request as _};

impl CheckArgs {
    /// The lock with kinds that these options describe.
    ///
    /// # Errors
    /// If something is unknown, malformed, impossible, or for other searches.
    pub fn kinds_scenario(&self) -> Result<(&'static Info, KindsScenario)> {
        let info = names::mutex(self.ask.algorithm.as_deref().unwrap_or_default())?;
        self.ask.refuse_options_of_elections(info)?;
        self.ask.refuse_questions("a lock with --modes")?;
        let faults = self.ask.loss > 0 || self.ask.duplicate > 0 || self.ask.crashes > 0;
        let faults = faults || self.ask.victims.is_some() || self.ask.crash_when != CrashPhase::Any;
        ensure!(!faults, "--modes is explored without faults; leave the faults out");
        ensure!(
            self.trace.is_empty(),
            "--trace does not know modes; leave it out: the run is printed as text"
        );
        let counts = self.ask.counts()?;
        let default_nodes = if counts.len() > 1 { counts.len() } else { DEFAULT_NODES };
        let setup = self.ask.system.setup(info, default_nodes, Files::Disk)?;
        let requests = self.ask.requests(counts, info, &setup)?;
        let lists = self.ask.kinds.usages(info, setup.nodes())?;
        let usages = lists
            .iter()
            .zip(&requests)
            .map(|(list, &requests)| list.iter().copied().cycle().take(requests.into()).collect());
        let scenario = KindsScenario {
            usages: usages.collect(),
            at_once: self.ask.kinds.at_once(),
            order: self.ask.channel_order(),
            flaw: self.ask.kinds.flaw()?,
            setup,
        };
        scenario.check(info)?;
        Ok((info, scenario))
    }

    pub(super) fn run_kinds(&self, out: &mut impl Write) -> Result<Verdict> {
        let (info, scenario) = self.kinds_scenario()?;
        let max_memory = self.max_memory.unwrap_or_else(memory::most_of_what_is_free);
        let bar = progress::Bar::new();
        let show = |progress| bar.show(progress);
        let options = Options {
            threads: self.threads()?,
            max_memory,
            reduction: false,
            keep_going: self.ask.keep_going,
            progress: bar.is_seen().then_some(&show),
            stop: Some(interrupt::listen()),
            ..Options::default()
        };
        let report = check_kinds(info, &scenario, &options);
        bar.clear();
        let report = report?;
        if self.json {
            writeln!(
                out,
                "{}",
                serde_json::to_string_pretty(&self.as_json(info, &scenario, &report))?
            )?;
        } else {
            self.print(info, &scenario, &report, max_memory, out)?;
        }
        Ok(interrupt::verdict("what was not explored is unknown", verdict(&report)))
    }

    fn as_json(&self, info: &Info, scenario: &KindsScenario, report: &Report) -> serde_json::Value {
        let words = |list: &Vec<_>| list.iter().map(ToString::to_string).collect::<Vec<String>>();
        let modes: Vec<Vec<String>> = scenario.usages.iter().map(words).collect();
        let properties: Vec<_> = report.verdicts.iter().map(print::judged).collect();
        serde_json::json!({
            "algorithm": info.name, "nodes": scenario.setup.nodes(), "modes": modes,
            "at_once": scenario.at_once, "order": scenario.order, "flaw": scenario.flaw,
            "states": report.states, "transitions": report.transitions, "depth": report.depth,
            "complete": report.complete, "out_of_memory": report.out_of_memory,
            "properties": properties, "peak_bytes": report.peak_bytes, "seconds": report.seconds,
            "command": self.ask.command(),
        })
    }

    fn print(
        &self,
        info: &Info,
        scenario: &KindsScenario,
        report: &Report,
        max_memory: usize,
        out: &mut impl Write,
    ) -> Result<()> {
        let order = match scenario.order {
            Order::Fifo => "FIFO channels",
            Order::Any => "channels in any order",
        };
        let requests: Vec<u8> = scenario.usages.iter().map(|list| list.len() as u8).collect();
        let flaw = scenario.flaw.map_or(String::new(), |flaw| format!(" · flaw {flaw}"));
        let said = format!(
            "kinds over {} · {} · {} · modes {} · {} at once · {order}{flaw}",
            info.name,
            counted_in_thousands(scenario.setup.nodes() as u64, "node"),
            print::requests(&requests),
            self.ask.kinds.modes.as_deref().unwrap_or_default(),
            scenario.at_once,
        );
        writeln!(out, "{}", folded(&said))?;
        let mut rows = table(["property", "meaning", "verdict"]);
        for verdict in &report.verdicts {
            rows.add_row([
                verdict.property.name(),
                print::meaning_of_kinds(verdict.property),
                &print::in_words(verdict, 0),
            ]);
        }
        writeln!(out, "{rows}")?;
        writeln!(out, "{}", folded(&print::figures(report, interrupt::came())))?;
        let why = "the algorithm orders requests by its own messages, and hears no ASK and LEFT";
        writeln!(out, "{}", folded(&format!("not judged: order ({why})")))?;
        writeln!(
            out,
            "{}",
            folded(&print::ending_of_kinds(report, max_memory, interrupt::came()))
        )?;
        for verdict in &report.verdicts {
            if let Some(counterexample) = &verdict.counterexample {
                writeln!(out, "\n{}: {}", verdict.property, counterexample.detail)?;
                for line in follow(info, scenario, counterexample)? {
                    writeln!(out, "  {line}")?;
                }
            }
        }
        Ok(())
    }
}

/// What happens, step by step, taken again by fresh nodes.
fn follow(
    info: &Info,
    scenario: &KindsScenario,
    counterexample: &Counterexample,
) -> Result<Vec<String>> {
    let followed = dispatch_inner(info, Follow { info, scenario, counterexample });
    Ok(followed.unwrap_or_else(|| Ok(Vec::new()))?)
}

struct Follow<'a> {
    info: &'a Info,
    scenario: &'a KindsScenario,
    counterexample: &'a Counterexample,
}

impl InnerVisitor for Follow<'_> {
    type Output = Result<Vec<String>, SetupError>;

    fn visit<P: Mutex>(self) -> Self::Output {
        let KindsScenario { setup, flaw, .. } = self.scenario;
        let mut nodes = Nodes::new(Shared::<P>::build(self.info.name, setup, *flaw)?);
        let fences = vec![Fence::default(); setup.nodes()];
        let mut told = StepLog { fences, flight: Vec::new(), lines: Vec::new() };
        for node in NodeId::all(setup.nodes()) {
            nodes.step(node, Input::Start, &mut told);
        }
        for (number, step) in self.counterexample.steps.iter().enumerate() {
            if let Some((node, input)) = told.input(number + 1, step) {
                nodes.step(node, input, &mut told);
            }
        }
        Ok(told.lines)
    }
}

/// The messages in flight, and what is told of the run.
struct StepLog<P: Mutex> {
    fences: Vec<Fence>,
    /// From whom, to whom, with which fence, in the order of sending.
    flight: Vec<(NodeId, NodeId, u64, SharedMsg<P::Message>)>,
    lines: Vec<String>,
}

impl<P: Mutex> StepLog<P> {
    /// What a step gives to whom.
    fn input(&mut self, number: usize, step: &Step) -> Option<(NodeId, Input<Shared<P>>)> {
        match *step {
            Step::Access { node, access } => {
                let said = match access {
                    Access::Enter(mode) => format!("wants in as {mode}"),
                    Access::Leave(mode) => format!("leaves as {mode}"),
                    Access::Upgrade(mode) => {
                        format!("is inside as {mode} and wants to be exclusive")
                    }
                    Access::Downgrade(mode) => format!("goes on as {mode}"),
                    Access::CancelEnter => "does not want in any more".into(),
                    Access::CancelUpgrade => "does not want to be exclusive any more".into(),
                };
                self.lines.push(format!("{number:>3}. {node} {said}"));
                Some((node, Input::Command(access)))
            }
            Step::Deliver(which) => {
                let on_link =
                    |&i: &usize| (self.flight[i].0, self.flight[i].1) == (which.from, which.to);
                let place = (0..self.flight.len()).filter(on_link).nth(which.nth)?;
                let (from, to, fence, message) = self.flight.remove(place);
                self.lines.push(format!("{number:>3}. {to} gets {} of {from}", message.label()));
                self.fences[to.index()].receive(fence);
                Some((to, Input::Deliver { from, message }))
            }
            _ => None,
        }
    }
}

impl<P: Mutex> EffectSink<Shared<P>> for StepLog<P> {
    fn refuse(&mut self, node: NodeId, refused: Refused) {
        self.lines.push(format!("     {node} refuses: {refused}"));
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: SharedMsg<P::Message>) {
        let fence = self.fences[from.index()].attach();
        self.flight.push((from, to, fence, message));
    }

    fn arm(&mut self, _node: NodeId, timer: Never, _after: u32) {
        match timer {}
    }

    fn disarm(&mut self, _node: NodeId, timer: Never) {
        match timer {}
    }

    fn emit(&mut self, node: NodeId, event: AccessEvent) {
        let done = match event {
            AccessEvent::Denied => return self.lines.push(format!("     {node} is denied")),
            AccessEvent::Entered => "enters",
            AccessEvent::Upgraded => "is exclusive",
        };
        let fence = self.fences[node.index()].enter();
        self.lines.push(format!("     {node} {done}, fence {fence}"));
    }
}
