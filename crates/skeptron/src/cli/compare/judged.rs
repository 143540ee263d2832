//! A measurement beside what was published, and how the two stand to each other.

use serde::Serialize;
use skeptron_core::{Claim, Figures};

use super::super::estimate::Estimate;
use super::super::table::number;

/// What a measurement is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standard {
    /// Nothing: the claim is for other settings.
    None,
    /// The mean keeps the bounds.
    Bounds,
    /// Every run keeps the bounds, and the mean is what is typical.
    Typical,
}

/// One figure: claimed and measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Judged {
    pub(crate) claim: Option<Claimed>,
    /// `None` where there is nothing to measure, such as a hand-over with a single requester.
    pub(crate) measured: Option<Estimate>,
    /// Measured minus claimed: the typical value, else the nearer bound.
    pub(crate) deviation: Option<f64>,
    /// Whether the claim holds; `None` where it does not apply to these settings.
    pub(crate) holds: Option<bool>,
}

/// A claim with its values in one system.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Claimed {
    pub(crate) text: String,
    pub(crate) low: f64,
    pub(crate) typical: Option<f64>,
    pub(crate) high: f64,
}

impl Claimed {
    pub(super) fn new(claim: &Claim, figures: &Figures) -> Self {
        Claimed {
            text: claim.to_string(),
            low: claim.low.value(figures),
            typical: claim.typical.map(|typical| typical.value(figures)),
            high: claim.high.value(figures),
        }
    }

    /// The law `1 / (synchronisation delay + E)` for a section of one unit.
    pub(super) fn throughput(sync: &Claim, figures: &Figures) -> Self {
        let law = |delay: f64| 1.0 / (delay + 1.0);
        let Claimed { text, low, typical, high } = Claimed::new(sync, figures);
        Claimed {
            text: match low == high {
                true => format!("1/({text} + E)"),
                false => format!("1/(({text}) + E)"),
            },
            low: law(high),
            typical: typical.map(law),
            high: law(low),
        }
    }

    pub(super) fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Its values: what is typical, and the bounds.
    pub(super) fn values(&self) -> String {
        let bounds = || format!("{} … {}", number(self.low), number(self.high));
        match self.typical {
            _ if self.is_exact() => number(self.low),
            Some(typical) => format!("{} ({})", number(typical), bounds()),
            None => bounds(),
        }
    }
}

impl Judged {
    pub(super) fn new(
        claim: Option<Claimed>,
        measured: Option<Estimate>,
        standard: Standard,
    ) -> Self {
        let against = claim.as_ref().zip(measured);
        let deviation = against.map(|(claim, estimate)| match claim.typical {
            Some(typical) => estimate.mean - typical,
            None => estimate.mean - estimate.mean.clamp(claim.low, claim.high),
        });
        let holds = against.and_then(|(claim, estimate)| holds(claim, &estimate, standard));
        Judged { claim, measured, deviation, holds }
    }

    /// The deviation in percent of what it is measured from; `None` from 0, unless there is none.
    pub(super) fn percent(&self) -> Option<f64> {
        let (deviation, measured) = (self.deviation?, self.measured?);
        let from = measured.mean - deviation;
        match deviation.abs() < 1e-9 {
            true => Some(0.0),
            false => (from > 0.0).then_some(100.0 * deviation / from),
        }
    }

    /// How the measurement stands to the claim, in a sign.
    pub(super) fn verdict(&self) -> &'static str {
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
    pub(super) fn remark(&self) -> String {
        let sign = self.verdict();
        let tells = |percent: &f64| ["≈", "✗"].contains(&sign) && percent.abs() >= 0.05;
        match self.percent().filter(tells) {
            Some(percent) => format!("{sign} {percent:+.1} %").replace('-', "−"),
            None => sign.into(),
        }
    }

    /// The measured mean with its interval, if it has one.
    pub(super) fn mean(&self) -> String {
        match self.measured {
            None => "–".into(),
            Some(estimate) if estimate.half_width < 5e-4 => number(estimate.mean),
            Some(Estimate { mean, half_width, .. }) => {
                format!("{} ± {}", number(mean), number(half_width))
            }
        }
    }
}

/// Exact where there is no chance; else the claim must lie within a generous interval.
fn holds(claim: &Claimed, estimate: &Estimate, standard: Standard) -> Option<bool> {
    let Estimate { mean, half_width, min, max } = *estimate;
    let slack = 1e-9 + 2.0 * half_width;
    match standard {
        Standard::None => None,
        Standard::Bounds => Some(mean >= claim.low - slack && mean <= claim.high + slack),
        Standard::Typical => {
            let within = min >= claim.low - 1e-9 && max <= claim.high + 1e-9;
            Some(within && claim.typical.is_none_or(|typical| (mean - typical).abs() <= slack))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(values: &[f64], standard: Standard) -> Judged {
        let claim = Claimed::new(
            &Claim::between("0", "9").typically("3"),
            &Figures { n: 2.0, ..Figures::default() },
        );
        Judged::new(Some(claim), Some(Estimate::of(values)), standard)
    }

    #[test]
    fn a_mean_must_be_near_what_is_typical_and_every_run_within_the_bounds() {
        assert_eq!(judged(&[2.0, 4.0, 3.0], Standard::Typical).verdict(), "≈");
        assert_eq!(judged(&[5.0, 5.1, 5.0], Standard::Typical).verdict(), "✗", "far from 3");
        assert_eq!(judged(&[5.0, 5.1, 5.0], Standard::Bounds).verdict(), "✓");
        assert_eq!(judged(&[-9.0, 10.0, 8.0], Standard::Typical).verdict(), "✗", "a run outside");
        assert_eq!(judged(&[-9.0, 10.0, 8.0], Standard::Bounds).verdict(), "≈");
        assert_eq!(judged(&[99.0], Standard::None).verdict(), "");
    }
}
