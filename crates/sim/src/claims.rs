//! What is claimed of a run, beside what was measured in it.

use skeptron_core::catalogue::{Info, Layout, Order};
use skeptron_core::claims::{Condition, Published, Quantity};
use skeptron_core::{Figures, Formula, NodeId};

use crate::metrics::{Report, units};
use crate::scenario::Scenario;
use crate::workload::Workload;

/// A figure of a run and what is claimed of it.
#[derive(Clone, Debug)]
pub struct Compared {
    /// What it is about.
    pub quantity: Quantity,
    /// What is claimed of it under the conditions of this run.
    pub expected: Option<Expected>,
    /// Its mean in this run, or the most for what is claimed at most; none if there was nothing to
    /// measure.
    pub measured: Option<f64>,
    /// Whether it is as claimed. Of a mean over chance one run tells only whether it keeps the bounds.
    pub holds: Option<bool>,
    /// What is claimed of it besides, and not compared.
    pub excluded: Option<Excluded>,
}

/// What is claimed of a figure in one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The claim, or those of the first and of further entries.
    pub published: Vec<&'static Published>,
    /// Never less, in the units of the run.
    pub low: f64,
    /// The mean over chance, where it is known.
    pub typical: Option<f64>,
    /// Never more.
    pub high: f64,
    /// By how much a run may miss it, since requests that wait at its beginning and its end count with
    /// a part of their messages only.
    pub play: f64,
}

/// A claim that says nothing of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Excluded {
    /// What is claimed.
    pub published: &'static Published,
    /// Which of its conditions do not hold.
    pub unmet: Vec<Condition>,
}

/// All figures of a run of which something is claimed, beside the claims.
#[must_use]
pub fn compare(info: &Info, scenario: &Scenario, report: &Report) -> Vec<Compared> {
    let quantities =
        [Quantity::Messages, Quantity::ClientDelay, Quantity::SyncDelay, Quantity::Bypass];
    let compared = |quantity| {
        let (expected, excluded) = scenario.claimed(info, quantity);
        let measured = measured(report, quantity);
        let is_whole = scenario.hand.is_idle() && !report.stalled;
        let holds = expected.as_ref().zip(measured).filter(|_| is_whole);
        let holds = holds.map(|(expected, measured)| expected.admits(measured));
        Compared { quantity, expected, measured, holds, excluded }
    };
    quantities.map(compared).into()
}

/// A figure of a run; none if there was nothing to measure.
#[must_use]
pub fn measured(report: &Report, quantity: Quantity) -> Option<f64> {
    match quantity {
        Quantity::Messages => (report.entries > 0).then_some(report.messages.per_entry),
        Quantity::ClientDelay => {
            (report.client_delay.count > 0).then_some(report.client_delay.mean)
        }
        Quantity::SyncDelay => (report.sync_delay.count > 0).then_some(report.sync_delay.mean),
        Quantity::Bypass => Some(report.fairness.longest_bypass as f64),
    }
}

impl Compared {
    /// Whether anything is claimed of it, be it under other conditions.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        self.expected.is_some() || self.excluded.is_some()
    }
}

impl Expected {
    /// Whether one run may come to this.
    #[must_use]
    pub fn admits(&self, measured: f64) -> bool {
        let play = self.play + 1e-6;
        measured >= self.low - play && measured <= self.high + play
    }
}

impl Scenario {
    /// What is claimed of a quantity in it, and the nearest claim that is not made for it.
    #[must_use]
    pub fn claimed(&self, info: &Info, quantity: Quantity) -> (Option<Expected>, Option<Excluded>) {
        if self.setup.nodes() < 2 || self.requesters.is_empty() {
            return (None, None);
        }
        let mut all: Vec<Excluded> =
            info.claims.of(quantity).map(|published| self.unmet(published, info)).collect();
        // The first one of which at most this does not hold.
        let holds_but = |load: Option<Condition>| {
            all.iter().position(|claim| claim.unmet.iter().all(|&unmet| Some(unmet) == load))
        };
        let is_mixed = self.is_lone() && self.warmup == 0 && self.entries > 1;
        let loads = [Condition::First, Condition::Again];
        let chosen = match is_mixed {
            true => loads.map(|load| holds_but(Some(load))).into(),
            false => vec![holds_but(None)],
        };
        let mut chosen: Vec<usize> = chosen.into_iter().collect::<Option<_>>().unwrap_or_default();
        chosen.dedup();
        let published: Vec<&'static Published> = chosen.iter().map(|&c| all[c].published).collect();
        if let [_, _] = chosen[..] {
            return (Some(self.expected(info, published)), None);
        }
        all.truncate(chosen.first().copied().unwrap_or(all.len()));
        if is_mixed {
            all.iter_mut().for_each(|claim| claim.unmet.retain(|unmet| !loads.contains(unmet)));
        }
        let mut telling = all.into_iter().filter(Excluded::is_telling);
        let excluded = match chosen.is_empty() {
            true => telling.min_by_key(|excluded| excluded.unmet.len()),
            // Of the same load, but for one thing.
            false => telling.find(|claim| matches!(claim.unmet[..], [unmet] if !unmet.is_load())),
        };
        let expected = (!published.is_empty()).then(|| self.expected(info, published));
        (expected, excluded)
    }

    /// A claim, and which of its conditions do not hold in this scenario.
    #[must_use]
    pub fn unmet(&self, published: &'static Published, info: &Info) -> Excluded {
        let needed = [Condition::Sound].into_iter().chain(published.when.iter().copied());
        Excluded { published, unmet: needed.filter(|&c| !self.meets(c, info)).collect() }
    }

    /// Whether that is so here.
    #[must_use]
    pub fn meets(&self, condition: Condition, info: &Info) -> bool {
        let fixed = self.latency.is_fixed_per_link();
        let (section, slowest) = (self.section.least(), self.latency.most());
        let needs_nobody = |node: &NodeId| self.needs_nobody(*node, info);
        match condition {
            Condition::Sound => self.keeps_assumptions(info),
            Condition::Lone => self.is_lone(),
            Condition::First => self.is_lone() && self.warmup == 0 && self.entries == 1,
            Condition::Again => self.is_lone() && self.warmup > 0,
            Condition::OneAtATime => match (&self.workload, slowest) {
                // A message, what it calls forth, and what that does.
                (Workload::Sequential { think }, Some(slowest)) => {
                    self.asks_everybody() && think.least() >= 4 * slowest
                }
                _ => false,
            },
            Condition::Saturated => {
                let is_closed = matches!(self.workload, Workload::Closed { .. });
                is_closed && self.asks_at_once() && self.requesters.len() > 1
            }
            Condition::Everybody => self.asks_everybody(),
            Condition::AtOnce => self.asks_at_once(),
            Condition::NotCoordinator | Condition::NotHolder | Condition::AsksOthers => {
                !self.requesters.iter().any(needs_nobody)
            }
            Condition::Coordinator | Condition::Holder | Condition::AsksNobody => {
                self.is_lone() && self.requesters.iter().all(needs_nobody)
            }
            Condition::ConstantLatency => self.latency.as_constant().is_some_and(|t| t > 0),
            Condition::CloseBehind => slowest.is_some_and(|slowest| {
                section >= slowest || fixed && section.saturating_mul(self.warmup) >= slowest
            }),
            Condition::LongSections => slowest.is_some_and(|slowest| section > slowest),
            Condition::Fifo => self.order == Order::Fifo || fixed,
        }
    }

    fn is_lone(&self) -> bool {
        self.requesters.len() == 1 && self.workload != Workload::None
    }

    fn asks_everybody(&self) -> bool {
        self.requesters.len() == self.setup.nodes()
    }

    fn asks_at_once(&self) -> bool {
        match &self.workload {
            Workload::Closed { think } | Workload::Sequential { think } => {
                think.as_constant() == Some(0)
            }
            _ => false,
        }
    }

    /// Whether `node` begins with all that it takes to enter.
    fn needs_nobody(&self, node: NodeId, info: &Info) -> bool {
        let setup = &self.setup;
        match info.layout {
            Layout::Coordinator => node == setup.coordinator(),
            Layout::Quorums => {
                setup.quorums().is_some_and(|q| q.of(node).iter().all(|&j| j == node))
            }
            Layout::ReadWrite => {
                setup.read_write().is_some_and(|s| s.of(node).iter().all(|&j| j == node))
            }
            Layout::Structure => {
                setup.structure().is_some_and(|s| s.request(node).iter().all(|j| j == node))
            }
            Layout::Tree => setup.tree().is_some_and(|tree| node == tree.root()),
            // Everybody else asks the root, and the root a child.
            Layout::Detector => setup.nodes() == 1,
            _ => node == NodeId::new(0),
        }
    }

    /// What this claim, or these of the first and of further entries, come to in this scenario.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn expected(&self, info: &Info, published: Vec<&'static Published>) -> Expected {
        // Where requesters pay differently a run may have more entries of the ones than of the others.
        let differ = matches!(
            info.layout,
            Layout::Quorums | Layout::Structure | Layout::ReadWrite | Layout::Detector
        );
        let mean = self.setup.figures(&self.requesters);
        let each: Vec<Figures> = match differ {
            true => self.requesters.iter().map(|&node| self.setup.figures(&[node])).collect(),
            false => vec![mean],
        };
        let low =
            |formula: &Formula| each.iter().map(|f| formula.value(f)).fold(f64::MAX, f64::min);
        let high = |formula: &Formula| each.iter().map(|f| formula.value(f)).fold(0.0, f64::max);
        let is_delay = matches!(published[0].quantity, Quantity::ClientDelay | Quantity::SyncDelay);
        let latency = self.latency.as_constant().map_or(1.0, units);
        let unit = if is_delay { latency } else { 1.0 };
        // Of first and further entries as many as there are.
        let entries = self.entries as f64;
        let shares = if published.len() > 1 { vec![1.0, entries - 1.0] } else { vec![entries] };
        let mix = |value: &dyn Fn(&Published) -> f64| {
            let parts = published.iter().zip(&shares).map(|(p, share)| value(p) * share);
            unit * parts.sum::<f64>() / entries
        };
        let typical = |p: &Published| p.claim.typical.map(|typical| typical.value(&mean));
        let has_typical = published.iter().all(|p| p.claim.typical.is_some());
        let most = mix(&|p| high(&p.claim.high));
        let asking = self.requesters.len();
        let is_alone = asking == 1 || published[0].when.contains(&Condition::OneAtATime);
        let overlaps = published[0].quantity == Quantity::Messages && !is_alone;
        Expected {
            low: mix(&|p| low(&p.claim.low)),
            typical: has_typical.then(|| mix(&|p| typical(p).unwrap_or_default())),
            high: most,
            play: if overlaps { asking as f64 * most / entries } else { 0.0 },
            published,
        }
    }
}

impl Excluded {
    /// Whether it helps to know: not that of a requester that pays nothing.
    fn is_telling(&self) -> bool {
        !self.unmet.is_empty() && !self.unmet.iter().any(|unmet| unmet.needs_nobody())
    }
}
