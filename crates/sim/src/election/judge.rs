//! Judging and measuring a run.

use std::collections::BTreeMap;

use skeptron_core::election::{Elected, Epoch};
use skeptron_core::monitor::LeadershipViolation;
use skeptron_core::{NodeId, NodeSet};

use super::voters::Voters;
use super::{Messages, Outcome, Reign, Report};
use crate::metrics::units;
use crate::scenario::ScenarioError;
use crate::trace::{Bounds, Header, Ticks};
use crate::troubles::Health;

/// What went on since somebody last called, was told something or fell victim to a fault.
#[derive(Clone, Debug)]
pub(super) struct Quiet {
    pub(super) events: u64,
    pub(super) by_kind: Vec<u64>,
    since: Ticks,
    /// The highest epoch then.
    epoch: Epoch,
    most_events: u64,
}

impl Quiet {
    pub(super) fn new(nodes: usize, kinds: usize) -> Self {
        Quiet {
            events: 0,
            by_kind: vec![0; kinds],
            since: 0,
            epoch: Epoch::FIRST,
            // Everybody telling everybody many times over is still far below.
            most_events: 100_000 + 64 * (nodes as u64).pow(2),
        }
    }

    /// Something came from outside.
    pub(super) fn begin(&mut self, now: Ticks, epoch: Epoch) {
        self.events = 0;
        self.by_kind.fill(0);
        self.since = now;
        self.epoch = epoch;
    }

    /// Whether so much went on since that it will never end.
    pub(super) fn is_over(&self) -> bool {
        self.events > self.most_events
    }
}

/// Counts of the whole run.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) messages: u64,
    pub(super) multicast: u64,
    pub(super) bytes: u64,
    pub(super) by_kind: Vec<u64>,
    pub(super) calls: u64,
    pub(super) first_call: Option<Ticks>,
    pub(super) crashed_since_call: bool,
    pub(super) suspicions: u64,
    pub(super) false_suspicions: u64,
    /// When each leader was first named in each epoch, and by whom it was.
    reigns: BTreeMap<(Epoch, NodeId), (Ticks, NodeSet)>,
}

impl Tally {
    pub(super) fn new(kinds: usize) -> Self {
        Tally { by_kind: vec![0; kinds], ..Tally::default() }
    }
}

impl Voters<'_> {
    /// The highest epoch that a node knows of.
    pub(super) fn newest_epoch(&self) -> Epoch {
        let epochs = self.members.iter().map(|member| member.standing.epoch);
        epochs.max().unwrap_or(Epoch::FIRST)
    }

    /// Agreement and validity.
    pub(super) fn judge_name(&mut self, node: NodeId, elected: Elected) {
        let Elected { leader, epoch } = elected;
        let reign = self.tally.reigns.entry((epoch, leader));
        reign.or_insert_with(|| (self.env.now, NodeSet::default())).1.insert(node);
        let named = format!("{node} names {leader} leader in epoch {epoch}");
        match self.leadership.named(elected) {
            Some(LeadershipViolation::Other(other)) => {
                self.env.violate(node, "agreement", format!("{named}, in which {other} was named"));
            }
            Some(LeadershipViolation::Dead) => {
                self.env.violate(node, "validity", format!("{named}, but it was down before that"));
            }
            Some(LeadershipViolation::Passed(higher)) => {
                let detail = format!("{named}, but {higher} was alive all the time");
                self.env.violate(node, "validity", detail);
            }
            None => {}
        }
    }

    /// Termination, when nothing can happen any more: whoever called has a leader, and without a crash
    /// in between everybody who can be reached has the same.
    pub(super) fn judge_rest(&mut self) {
        // Whatever waits for a node that the hand has paused may still come about.
        if self.env.is_paused_by_hand() {
            return;
        }
        let dead = |leader: NodeId| self.env.troubles.is_down(leader);
        let mut findings = Vec::new();
        for node in NodeId::all(self.env.nodes).filter(|&node| self.is_awake(node)) {
            let member = &self.members[node.index()];
            match member.leader {
                None if member.called => {
                    findings.push((node, format!("{node} called and names nobody")));
                }
                Some(leader) if member.called && member.initiator && dead(leader) => {
                    findings.push((node, format!("{node} called and names {leader}, who is down")));
                }
                _ => {}
            }
        }
        if findings.is_empty() && !self.tally.crashed_since_call {
            let parts = self.scenario.setup.parts(|node| !self.env.troubles.is_down(node));
            findings.extend(parts.iter().filter_map(|part| self.discord_in(part)));
        }
        for (node, detail) in findings {
            let detail = format!("{detail}, and nothing can happen any more");
            // Where a hand goes on, the run may come to rest again and nothing be new.
            if self.env.violations.iter().all(|found| found.detail != detail) {
                self.env.violate(node, "termination", detail);
            }
        }
    }

    fn is_awake(&self, node: NodeId) -> bool {
        self.env.troubles.health(node) == Health::Up
    }

    /// Who does not name the leader of its part, if an election was called there.
    fn discord_in(&self, part: &[NodeId]) -> Option<(NodeId, String)> {
        let member = |node: NodeId| &self.members[node.index()];
        let says = |node: NodeId| match member(node).leader {
            Some(leader) => format!("{node} names {leader}"),
            None => format!("{node} names nobody"),
        };
        if !part.iter().any(|&node| member(node).called) {
            return None;
        }
        let mut awake = part.iter().copied().filter(|&node| self.is_awake(node));
        let first = awake.next()?;
        let leader = member(first).leader;
        if let Some(other) = awake.find(|&node| member(node).leader != leader) {
            return Some((other, format!("{}, {}", says(first), says(other))));
        }
        let stranger = leader.filter(|leader| !part.contains(leader))?;
        let state = if self.env.troubles.is_down(stranger) { "down" } else { "cut off" };
        Some((first, format!("{}, who is {state}", says(first))))
    }

    /// Termination, when there is no rest.
    pub(super) fn judge_endless(&mut self) {
        let (epoch, began) = (self.newest_epoch(), self.quiet.epoch);
        let kinds = self.kinds.iter().zip(&self.quiet.by_kind).filter(|(_, n)| **n > 0);
        let sent: Vec<String> = kinds.map(|(kind, count)| format!("{count} {kind}")).collect();
        let goes_on = if epoch > began {
            format!("elections are begun again and again, from epoch {began} up to {epoch}")
        } else {
            format!("messages go on for ever in epoch {epoch}")
        };
        let since = units(self.quiet.since);
        let sent = if sent.is_empty() { "no message".into() } else { sent.join(", ") };
        self.env.violate(epoch.by, "termination", format!("{goes_on}: {sent} since {since}"));
    }

    /// Puts together what was measured.
    pub(super) fn report(self) -> Result<Outcome, ScenarioError> {
        let n = self.env.nodes;
        let live: Vec<NodeId> =
            NodeId::all(n).filter(|&node| !self.env.troubles.is_down(node)).collect();
        let members = || live.iter().map(|node| &self.members[node.index()]);
        let leader = members().next().and_then(|first| first.leader);
        let leader = leader.filter(|&leader| members().all(|m| m.leader == Some(leader)));
        let named_at = || members().map(|member| member.since).try_fold(0, |t, s| Some(s?.max(t)));
        let end = leader.and_then(|_| named_at());
        let time = end.zip(self.tally.first_call);
        let parents: Vec<Option<NodeId>> = NodeId::all(n)
            .map(|node| {
                self.members[node.index()]
                    .standing
                    .parent
                    .filter(|_| !self.env.troubles.is_down(node))
            })
            .collect();
        let (tally, records) = (self.tally, self.env.records());
        let kinds = self.kinds.iter().copied();
        let report = Report {
            algorithm: self.info.name,
            nodes: n,
            seed: self.scenario.seed,
            leader,
            leaders: reigns(&tally.reigns),
            agreement: self.env.violations.iter().all(|v| v.property != "agreement"),
            live: live.len(),
            calls: tally.calls,
            first_call: tally.first_call.map(units),
            time: time.map(|(end, call)| units(end.saturating_sub(call))),
            messages: Messages {
                total: tally.messages,
                by_type: kinds.zip(tally.by_kind.iter().copied()).collect(),
                bytes: tally.bytes,
                multicast: tally.multicast,
            },
            tree: parents.iter().any(Option::is_some).then_some(parents),
            alarms: self.env.alarms,
            suspicions: tally.suspicions,
            false_suspicions: tally.false_suspicions,
            violations: self.env.violations,
            refused: self.env.refused,
            lost: self.env.lost,
            duplicated: self.env.duplicated,
            events: self.env.events,
            trace_hash: self.env.hash.to_string(),
        };
        let bounds = Some(Bounds { length: self.scenario.bound(), steps_from: None });
        let header = Header::of(self.info.name, &self.scenario.setup, self.scenario.order);
        let header = Header { bounds, ..header };
        let trace = self.env.recorder.map(|recorder| recorder.into_trace(header));
        let acted = self.env.played.into_places(records)?;
        Ok(Outcome { report, trace, cut_short: self.env.cut_short, acted })
    }
}

fn reigns(named: &BTreeMap<(Epoch, NodeId), (Ticks, NodeSet)>) -> Vec<Reign> {
    let reign = |(&(epoch, leader), (at, by)): (&(Epoch, NodeId), &(Ticks, NodeSet))| Reign {
        epoch,
        leader,
        at: units(*at),
        named_by: by.len(),
    };
    named.iter().map(reign).collect()
}
