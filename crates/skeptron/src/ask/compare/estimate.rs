//! Means over independent seeds.

use serde::Serialize;
use ts_rs::TS;

/// The mean of a figure over independent runs, with the half-width of its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, TS)]
pub struct Estimate {
    /// The mean.
    pub(crate) mean: f64,
    /// Student's interval; 0 if all values are equal or there is only one.
    pub(crate) half_width: f64,
    /// The smallest.
    pub(crate) min: f64,
    /// The largest.
    pub(crate) max: f64,
}

/// Student's t at 97.5 % for 1 … 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

impl Estimate {
    pub(crate) fn of(values: &[f64]) -> Self {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let freedom = values.len().saturating_sub(1);
        let half_width = match freedom {
            0 => 0.0,
            _ => {
                STUDENT.get(freedom - 1).copied().unwrap_or(1.96)
                    * (squares / freedom as f64 / n).sqrt()
            }
        };
        let (min, max) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &v| (v.min(min), v.max(max)));
        // Sums of equal values are rounded.
        if min == max {
            return Estimate { mean: min, half_width: 0.0, min, max };
        }
        Estimate { mean, half_width, min, max }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_students() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0]);
        assert_eq!((estimate.mean, estimate.min, estimate.max), (2.0, 1.0, 3.0));
        assert!((estimate.half_width - 4.303 / 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(Estimate::of(&[5.0]).half_width, 0.0);
        let same = Estimate::of(&[0.1; 3]);
        assert_eq!((same.mean, same.half_width), (0.1, 0.0));
    }
}
