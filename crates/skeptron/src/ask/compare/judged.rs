//! A measurement beside what was published, and how the two stand to each other.

use serde::Serialize;
use skeptron_core::{Claim, Figures};
use skeptron_sim::claims::{Excluded, Expected};
use ts_rs::TS;

use super::Estimate;
use crate::table::number;

/// One figure at one size, as `skeptron compare --json` prints it.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(concrete(F = String))]
pub struct CompareRow<F> {
    /// Whose.
    pub algorithm: &'static str,
    /// Of an election: in which situation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub case: Option<&'static str>,
    /// How many nodes.
    pub nodes: usize,
    /// What was measured: `messages_saturated`, `jain` …
    pub figure: F,
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub judged: Judged,
}

/// One figure: claimed and measured.
#[derive(Clone, Debug, Serialize, TS)]
pub struct Judged {
    /// What was published.
    pub(crate) claim: Option<Claimed>,
    /// `None` where there is nothing to measure, such as a hand-over with a single requester.
    pub(crate) measured: Option<Estimate>,
    /// Measured minus claimed: the typical value, else the nearer bound.
    pub(crate) deviation: Option<f64>,
    /// Whether the claim holds; `None` where there is nothing to judge it by.
    pub(crate) holds: Option<bool>,
    /// What is claimed under other conditions, and which of those do not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub(crate) not_compared: Option<NotCompared>,
}

/// A claim that says nothing of these settings.
#[derive(Clone, Debug, Serialize, TS)]
pub struct NotCompared {
    /// The formula.
    pub(crate) claim: String,
    /// Which of its conditions do not hold here.
    pub(crate) needs: Vec<String>,
}

impl From<Excluded> for NotCompared {
    fn from(excluded: Excluded) -> Self {
        let needs = excluded.unmet.iter().map(ToString::to_string).collect();
        NotCompared { claim: excluded.published.to_string(), needs }
    }
}

/// A claim with its values in one system.
#[derive(Clone, Debug, Serialize, TS)]
pub struct Claimed {
    /// The formula.
    pub(crate) text: String,
    /// At least so much.
    pub(crate) low: f64,
    /// So much as a rule.
    pub(crate) typical: Option<f64>,
    /// At most so much; in JSON `null` where chance sets no bound.
    #[ts(type = "number | null")]
    pub(crate) high: f64,
    /// By how much a run may miss it.
    #[serde(skip)]
    play: f64,
}

impl Claimed {
    pub(super) fn new(claim: &Claim, figures: &Figures) -> Self {
        Claimed {
            text: claim.to_string(),
            low: claim.low.value(figures),
            typical: claim.typical.map(|typical| typical.value(figures)),
            high: claim.high.value(figures),
            play: 0.0,
        }
    }

    /// What is claimed of a figure in one scenario.
    pub(super) fn of(expected: &Expected) -> Self {
        let &Expected { low, typical, high, play, .. } = expected;
        let text = expected.published.iter().map(|published| published.claim.to_string());
        Claimed { text: text.collect::<Vec<_>>().join(", then "), low, typical, high, play }
    }

    /// The law `1 / (synchronisation delay + E)` for sections that take `section` units.
    pub(super) fn throughput(sync: &Expected, section: f64) -> Self {
        let law = |delay: f64| 1.0 / (delay + section);
        let Claimed { text, low, typical, high, .. } = Claimed::of(sync);
        Claimed {
            play: 0.0,
            text: match low == high {
                true => format!("1/({text} + E)"),
                false => format!("1/(({text}) + E)"),
            },
            low: law(high),
            typical: typical.map(law),
            high: law(low),
        }
    }

    pub(crate) fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Its values: what is typical, and the bounds.
    pub(crate) fn values(&self) -> String {
        let bounds = || format!("{} … {}", number(self.low), number(self.high));
        match self.typical {
            _ if self.is_exact() => number(self.low),
            Some(typical) => format!("{} ({})", number(typical), bounds()),
            None => bounds(),
        }
    }
}

impl Judged {
    /// `judged` where the claim is to be held against the measurement.
    pub(super) fn new(claim: Option<Claimed>, measured: Option<Estimate>, judged: bool) -> Self {
        let against = claim.as_ref().zip(measured);
        let deviation = against.map(|(claim, estimate)| match claim.typical {
            Some(typical) => estimate.mean - typical,
            None => estimate.mean - estimate.mean.clamp(claim.low, claim.high),
        });
        let holds = against.filter(|_| judged).map(|(claim, estimate)| holds(claim, &estimate));
        Judged { claim, measured, deviation, holds, not_compared: None }
    }

    /// The deviation in percent of what it is measured from; `None` from 0, unless there is none.
    pub(crate) fn percent(&self) -> Option<f64> {
        let (deviation, measured) = (self.deviation?, self.measured?);
        let from = measured.mean - deviation;
        match deviation.abs() < 1e-9 {
            true => Some(0.0),
            false => (from > 0.0).then_some(100.0 * deviation / from),
        }
    }

    /// How the measurement stands to the claim, in a sign.
    pub(crate) fn verdict(&self) -> &'static str {
        let (Some(claim), Some(deviation), Some(measured)) =
            (&self.claim, self.deviation, self.measured)
        else {
            return "";
        };
        match self.holds {
            None => "",
            Some(false) => "✗",
            Some(true) if deviation.abs() < 1e-9 && claim.is_exact() => "=",
            Some(true) => match claim.typical {
                Some(typical)
                    if typical > 0.0
                        && deviation.abs() <= measured.half_width.max(0.02 * typical) =>
                {
                    "≈"
                }
                _ => "✓",
            },
        }
    }

    /// The sign, and the deviation where it tells something.
    pub(crate) fn remark(&self) -> String {
        let sign = self.verdict();
        let tells = |percent: &f64| ["≈", "✗"].contains(&sign) && percent.abs() >= 0.05;
        match self.percent().filter(tells) {
            Some(percent) => format!("{sign} {percent:+.1} %").replace('-', "−"),
            None => sign.into(),
        }
    }

    /// The measured mean with its interval, if it has one.
    pub(crate) fn mean(&self) -> String {
        match self.measured {
            None => "–".into(),
            Some(estimate) if estimate.half_width < 5e-4 => number(estimate.mean),
            Some(Estimate { mean, half_width, .. }) => {
                format!("{} ± {}", number(mean), number(half_width))
            }
        }
    }
}

/// Every run keeps the bounds, and the mean is the claimed one: exactly where there is no chance, else
/// within a generous interval.
fn holds(claim: &Claimed, estimate: &Estimate) -> bool {
    let Estimate { mean, half_width, min, max } = *estimate;
    let play = claim.play + 1e-9;
    let near = |typical: f64| (mean - typical).abs() <= play + 2.0 * half_width;
    min >= claim.low - play && max <= claim.high + play && claim.typical.is_none_or(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(values: &[f64], judged: bool) -> Judged {
        let claim = Claimed::new(
            &Claim::between("0", "9").typically("3"),
            &Figures { n: 2.0, ..Figures::default() },
        );
        Judged::new(Some(claim), Some(Estimate::of(values)), judged)
    }

    #[test]
    fn a_mean_must_be_near_what_is_claimed_and_every_run_within_the_bounds() {
        assert_eq!(judged(&[2.0, 4.0, 3.0], true).verdict(), "≈");
        assert_eq!(judged(&[5.0, 5.1, 5.0], true).verdict(), "✗", "far from 3");
        assert_eq!(judged(&[-9.0, 10.0, 8.0], true).verdict(), "✗", "a run outside");
        assert_eq!(judged(&[99.0], false).verdict(), "");
    }
}
