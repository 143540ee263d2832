//! From values to pixels.

/// An axis.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Scale {
    /// The values at its ends.
    low: f64,
    high: f64,
    /// The pixels at its ends.
    from: f64,
    to: f64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Linear,
    /// With the pixel of 0, which no logarithm reaches, if 0 occurs.
    Log {
        zero: Option<f64>,
    },
}

/// A mark of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) named: bool,
}

/// How much of an axis is given to 0.
const ZERO_LANE: f64 = 34.0;

/// Whether the largest positive value is many times the smallest.
pub(super) fn is_far(values: &[f64]) -> bool {
    let (low, high) = ends(values.iter().copied().filter(|&v| v > 0.0));
    high > 8.0 * low
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), v| (v.min(low), v.max(high)))
}

impl Scale {
    /// Logarithmic, with a little room at both ends.
    pub(super) fn log(values: &[f64], from: f64, to: f64) -> Self {
        let (low, high) = ends(values.iter().copied().filter(|&v| v > 0.0));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low, high) };
        let zero = values.iter().any(|&v| v <= 0.0);
        let inwards = (to - from).signum();
        Scale {
            low: low / 1.25,
            high: high * 1.25,
            from: if zero { from + inwards * ZERO_LANE } else { from },
            to,
            kind: Kind::Log { zero: zero.then_some(from + inwards * 10.0) },
        }
    }

    /// Linear from 0.
    pub(super) fn from_zero(values: &[f64], from: f64, to: f64) -> Self {
        let (_, high) = ends(values.iter().copied());
        let high = if high > 0.0 { high * 1.15 } else { 1.0 };
        Scale { low: 0.0, high, from, to, kind: Kind::Linear }
    }

    /// Without the room at the ends; a single value stands in the middle.
    pub(super) fn tight(mut self) -> Self {
        if self.high / self.low > 1.6 {
            (self.low, self.high) = (self.low * 1.25, self.high / 1.25);
        }
        self
    }

    /// The pixel of a value.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = match self.kind {
            Kind::Linear => (value - self.low) / (self.high - self.low),
            Kind::Log { zero } if value <= 0.0 => return zero.unwrap_or(self.from),
            Kind::Log { .. } => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + part * (self.to - self.from)
    }

    /// The pixel of 0 and that of the break before it.
    pub(super) fn zero_lane(&self) -> Option<(f64, f64)> {
        match self.kind {
            Kind::Log { zero: Some(zero) } => Some((zero, (zero + self.from) / 2.0)),
            _ => None,
        }
    }

    /// Round values between the ends.
    pub(super) fn ticks(&self) -> Vec<Tick> {
        match self.kind {
            Kind::Linear => {
                let rough = (self.high - self.low) / 5.0;
                let power = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0].map(|m| m * power).into_iter().find(|&s| s >= rough);
                let step = step.unwrap_or(10.0 * power);
                let count = (self.high / step).floor() as u32;
                let tick = |i| Tick { value: rounded(f64::from(i) * step), named: true };
                (0..=count).map(tick).collect()
            }
            Kind::Log { .. } => {
                let decades = (self.high / self.low).log10();
                let (first, last) = (self.low.log10().floor(), self.high.log10().ceil());
                let powers = (first as i32..=last as i32).map(|power| 10f64.powi(power));
                let steps = [1.0, 2.0, 5.0].into_iter();
                powers
                    .flat_map(|power| steps.clone().map(move |step| (step, rounded(step * power))))
                    .filter(|&(_, value)| value >= self.low && value <= self.high)
                    .map(|(step, value)| Tick { value, named: step == 1.0 || decades < 4.0 })
                    .collect()
            }
        }
    }
}

/// Without what binary fractions add to decimal ones.
fn rounded(value: f64) -> f64 {
    (value * 1e9).round() / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_ratios_are_equally_far_apart() {
        let scale = Scale::log(&[1.0, 4.0, 100.0], 300.0, 0.0);
        let octave = scale.at(2.0) - scale.at(1.0);
        assert!((scale.at(64.0) - scale.at(32.0) - octave).abs() < 1e-9);
        assert!(octave < 0.0, "larger values are higher");
        assert!(scale.at(1.0) < 300.0 && scale.at(100.0) > 0.0, "nothing on the edge");
    }

    #[test]
    fn zero_has_a_place_of_its_own_below_the_break() {
        let scale = Scale::log(&[0.0, 1.0, 10.0], 300.0, 0.0);
        let (zero, lane) = scale.zero_lane().unwrap();
        assert_eq!(scale.at(0.0), zero);
        assert!(scale.at(0.8) < lane && lane < zero && zero < 300.0);
        assert_eq!(Scale::log(&[1.0, 10.0], 300.0, 0.0).zero_lane(), None);
    }

    #[test]
    fn marks_are_round() {
        let named = |scale: Scale| -> Vec<f64> {
            scale.ticks().into_iter().filter(|t| t.named).map(|t| t.value).collect()
        };
        assert_eq!(named(Scale::log(&[1.0, 10.0], 300.0, 0.0)), [1.0, 2.0, 5.0, 10.0]);
        assert_eq!(named(Scale::log(&[1.0, 2e4], 300.0, 0.0)), [1.0, 10.0, 100.0, 1e3, 1e4]);
        assert_eq!(named(Scale::from_zero(&[0.5], 300.0, 0.0)), [0.0, 0.2, 0.4]);
    }

    #[test]
    fn the_horizontal_axis_ends_at_its_last_mark() {
        let scale = Scale::log(&[2.0, 8.0, 128.0], 50.0, 650.0).tight();
        assert!((scale.at(2.0) - 50.0).abs() < 1e-9 && (scale.at(128.0) - 650.0).abs() < 1e-9);
        let single = Scale::log(&[4.0], 50.0, 650.0).tight();
        assert!((single.at(4.0) - 350.0).abs() < 1e-9);
    }

    #[test]
    fn no_values_are_no_trouble() {
        for scale in [Scale::log(&[], 300.0, 0.0), Scale::from_zero(&[], 300.0, 0.0)] {
            assert!(scale.at(1.0).is_finite() && !scale.ticks().is_empty());
        }
    }
}
