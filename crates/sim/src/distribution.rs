//! How long things take: distributions of times.

use std::f64::consts::TAU;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use crate::chance::{Chance, Purpose};
use crate::trace::{TICKS_PER_UNIT, Ticks};

/// A distribution of times. Written as on the command line: `1`, `uniform:0.5..1.5`, `exp:1`,
/// `normal:1,0.2`, `pareto:1,1.5`, `file:PATH`; all numbers in units of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    shape: Shape,
    /// As it was written.
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Constant(Ticks),
    Uniform {
        low: Ticks,
        high: Ticks,
    },
    Exponential {
        mean: f64,
    },
    /// Cut off at 0.
    Normal {
        mean: f64,
        deviation: f64,
    },
    Pareto {
        scale: f64,
        shape: f64,
    },
    /// Drawn from a list of measured values.
    Empirical(Arc<[Ticks]>),
}

/// Why a text is no distribution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DistributionError {
    /// No known form.
    #[error(
        "`{0}` is no distribution; write a number, uniform:LOW..HIGH, exp:MEAN, normal:MEAN,DEVIATION, pareto:SCALE,SHAPE or file:PATH"
    )]
    Unknown(String),
    /// A number is missing, malformed or out of range.
    #[error("in `{text}`: {what}")]
    Number {
        /// The whole text.
        text: String,
        /// What is wrong.
        what: String,
    },
    /// The file of values cannot be used.
    #[error("{path}: {what}")]
    File {
        /// Which file.
        path: String,
        /// What is wrong.
        what: String,
    },
}

/// The longest time a distribution may name or yield: 10⁹ units. Sums of them stay far below the
/// limit of the clock.
const LONGEST_UNITS: f64 = 1e9;

impl Distribution {
    /// Always `units`.
    ///
    /// # Panics
    /// If `units` is not between 0 and 10⁹.
    #[must_use]
    pub fn constant(units: f64) -> Self {
        Self::parse(&units.to_string()).expect("a time between 0 and 10⁹")
    }

    /// Reads the form of the command line. A `file:` is read at once: numbers in units of time,
    /// separated by white space or commas, `#` starts a comment.
    ///
    /// # Errors
    /// What is wrong with the text, the number or the file.
    pub fn parse(text: &str) -> Result<Self, DistributionError> {
        let text = text.trim();
        let numbers = |rest: &str, separator: &str, names: [&str; 2]| {
            let (a, b) = rest.split_once(separator).ok_or_else(|| DistributionError::Number {
                text: text.into(),
                what: format!("{} and {} are separated by `{separator}`", names[0], names[1]),
            })?;
            Ok((time(text, a, names[0])?, time(text, b, names[1])?))
        };
        let number_error =
            |what: &str| Err(DistributionError::Number { text: text.into(), what: what.into() });
        let shape = match text.split_once(':') {
            None if text.parse::<f64>().is_ok() => {
                Shape::Constant(ticks(time(text, text, "the time")?))
            }
            Some(("uniform", rest)) => {
                let (low, high) = numbers(rest, "..", ["LOW", "HIGH"])?;
                if low > high {
                    return number_error("LOW is above HIGH");
                }
                Shape::Uniform { low: ticks(low), high: ticks(high) }
            }
            Some(("exp", rest)) => Shape::Exponential { mean: time(text, rest, "MEAN")? },
            Some(("normal", rest)) => {
                let (mean, deviation) = numbers(rest, ",", ["MEAN", "DEVIATION"])?;
                Shape::Normal { mean, deviation }
            }
            Some(("pareto", rest)) => {
                let (scale, shape) = numbers(rest, ",", ["SCALE", "SHAPE"])?;
                if shape <= 0.0 {
                    return number_error("SHAPE must be above 0");
                }
                Shape::Pareto { scale, shape }
            }
            Some(("file", path)) => Shape::Empirical(read_values(path)?),
            _ => return Err(DistributionError::Unknown(text.into())),
        };
        Ok(Distribution { shape, text: text.into() })
    }

    /// The one value it always yields, if it does.
    #[must_use]
    pub fn as_constant(&self) -> Option<Ticks> {
        match self.shape {
            Shape::Constant(ticks) => Some(ticks),
            _ => None,
        }
    }

    /// The longest time that it yields, if there is one.
    #[must_use]
    pub fn most(&self) -> Option<Ticks> {
        match &self.shape {
            Shape::Constant(ticks) => Some(*ticks),
            Shape::Uniform { high, .. } => Some(*high),
            Shape::Empirical(values) => values.iter().max().copied(),
            Shape::Exponential { .. } | Shape::Normal { .. } | Shape::Pareto { .. } => None,
        }
    }

    /// The shortest time that it yields.
    #[must_use]
    pub fn least(&self) -> Ticks {
        match &self.shape {
            Shape::Constant(ticks) => *ticks,
            Shape::Uniform { low, .. } => *low,
            Shape::Empirical(values) => values.iter().min().copied().unwrap_or(0),
            Shape::Pareto { scale, .. } => ticks(*scale),
            Shape::Exponential { .. } | Shape::Normal { .. } => 0,
        }
    }

    /// Its mean. That of a Pareto distribution with a shape of 1 or less is infinite, which is the
    /// longest time here.
    #[must_use]
    pub fn mean(&self) -> Ticks {
        match &self.shape {
            Shape::Constant(ticks) => *ticks,
            Shape::Uniform { low, high } => low.midpoint(*high),
            Shape::Exponential { mean } | Shape::Normal { mean, .. } => ticks(*mean),
            Shape::Pareto { scale, shape } if *shape > 1.0 => ticks(scale * shape / (shape - 1.0)),
            Shape::Pareto { .. } => ticks(LONGEST_UNITS),
            Shape::Empirical(values) => values.iter().sum::<Ticks>() / values.len() as Ticks,
        }
    }

    /// The first values that a generator with this seed draws, in ticks.
    #[must_use]
    pub fn values(&self, seed: u64, count: usize) -> Vec<Ticks> {
        let mut chance = Chance::new(seed, Purpose::Latency);
        (0..count).map(|_| self.sample(&mut chance)).collect()
    }

    pub(crate) fn sample(&self, chance: &mut Chance) -> Ticks {
        match &self.shape {
            Shape::Constant(ticks) => *ticks,
            Shape::Uniform { low, high } => low + chance.below(high - low + 1),
            Shape::Exponential { mean } => ticks(mean * chance.exponential()),
            Shape::Normal { mean, deviation } => {
                let radius = (2.0 * chance.exponential()).sqrt();
                ticks(mean + deviation * radius * libm::cos(TAU * chance.unit()))
            }
            Shape::Pareto { scale, shape } => {
                ticks(scale * libm::pow(1.0 - chance.unit(), -1.0 / shape))
            }
            Shape::Empirical(values) => values[chance.below(values.len() as u64) as usize],
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Units to whole ticks, cut off at 0 and at the longest time.
pub(crate) fn ticks(units: f64) -> Ticks {
    // Half a tick more and cut off: rounds as `round` does from 0 up, without a call.
    (units.clamp(0.0, LONGEST_UNITS) * TICKS_PER_UNIT as f64 + 0.5) as Ticks
}

fn time(text: &str, number: &str, name: &str) -> Result<f64, DistributionError> {
    let error = |what| DistributionError::Number { text: text.into(), what };
    match number.trim().parse::<f64>() {
        Err(_) => Err(error(format!("{name} is `{number}`, which is no number"))),
        Ok(units) if (0.0..=LONGEST_UNITS).contains(&units) => Ok(units),
        Ok(_) => Err(error(format!("{name} must be between 0 and {LONGEST_UNITS}"))),
    }
}

fn read_values(path: &str) -> Result<Arc<[Ticks]>, DistributionError> {
    let error = |what: String| DistributionError::File { path: path.into(), what };
    let text = std::fs::read_to_string(path).map_err(|e| error(e.to_string()))?;
    let mut values = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        for word in line.split([' ', '\t', ',']).filter(|word| !word.is_empty()) {
            match word.parse() {
                Ok(units) if (0.0..=LONGEST_UNITS).contains(&units) => values.push(ticks(units)),
                _ => {
                    let line = number + 1;
                    let range = format!("a number between 0 and {LONGEST_UNITS}");
                    return Err(error(format!("line {line}: `{word}` is not {range}")));
                }
            }
        }
    }
    if values.is_empty() { Err(error("it has no values".into())) } else { Ok(values.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(text: &str) -> f64 {
        let values = Distribution::parse(text).unwrap().values(1, 200_000);
        values.iter().sum::<u64>() as f64 / values.len() as f64 / TICKS_PER_UNIT as f64
    }

    #[test]
    fn means_are_as_asked() {
        for (text, expected) in [
            ("1", 1.0),
            ("0.25", 0.25),
            ("uniform:0.5..1.5", 1.0),
            ("exp:2", 2.0),
            ("normal:3,0.5", 3.0),
            ("pareto:1,3", 1.5),
        ] {
            let mean = mean(text);
            assert!((mean - expected).abs() < 0.02 * expected, "{text}: {mean}");
        }
    }

    #[test]
    fn nothing_takes_less_than_no_time() {
        assert!(Distribution::parse("normal:0.1,5").unwrap().values(1, 1000).contains(&0));
    }

    #[test]
    fn bad_texts_say_what_is_wrong() {
        for (text, says) in [
            ("often", "is no distribution"),
            ("uniform:1", "separated by `..`"),
            ("uniform:2..1", "LOW is above HIGH"),
            ("exp:-1", "MEAN must be between"),
            ("normal:1,x", "DEVIATION is `x`"),
            ("pareto:1,0", "SHAPE must be above 0"),
            ("-1", "between 0"),
            ("NaN", "between 0"),
            ("file:/nowhere", "/nowhere"),
        ] {
            let error = Distribution::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
