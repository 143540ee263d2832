//! Claims between the sizes that are measured: the line of a formula.

use serde::Serialize;
use ts_rs::TS;

use super::Claimed;

/// A claim over N, to be drawn as a line.
#[derive(Clone, Debug, Serialize, TS)]
pub struct CompareCurve {
    /// Whose.
    pub(crate) algorithm: &'static str,
    /// Of an election: in which situation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[ts(optional)]
    pub(crate) case: Option<&'static str>,
    /// Of which figure.
    pub(crate) figure: &'static str,
    /// The formula.
    pub(crate) text: String,
    /// N rises from the smallest that was asked for to the largest.
    pub(crate) points: Vec<CurvePoint>,
}

/// A claim at one size.
#[derive(Clone, Copy, Debug, Serialize, TS)]
pub struct CurvePoint {
    /// How many nodes.
    pub(crate) nodes: usize,
    /// At least so much.
    pub(crate) low: f64,
    /// So much as a rule.
    pub(crate) typical: Option<f64>,
    /// At most so much; in JSON `null` where chance sets no bound.
    #[ts(type = "number | null")]
    pub(crate) high: f64,
}

/// Enough for a smooth line.
const MOST_POINTS: usize = 64;

/// From the smallest of these sizes to the largest: every one, or as many as a line needs, evenly
/// spread on a logarithmic axis.
pub(super) fn sizes(asked: &[usize]) -> Vec<usize> {
    let (Some(&low), Some(&high)) = (asked.iter().min(), asked.iter().max()) else {
        return Vec::new();
    };
    if high - low < MOST_POINTS {
        return (low..=high).collect();
    }
    let steps = MOST_POINTS - 1;
    let ratio = high as f64 / low.max(1) as f64;
    let at = |step: usize| low as f64 * ratio.powf(step as f64 / steps as f64);
    let mut sizes: Vec<usize> = (0..=steps).map(|step| at(step).round() as usize).collect();
    sizes.dedup();
    sizes
}

impl CompareCurve {
    /// Adds what is claimed of `nodes` nodes to the curve that it belongs to.
    pub(super) fn add(
        curves: &mut Vec<CompareCurve>,
        (algorithm, case): (&'static str, Option<&'static str>),
        figure: &'static str,
        (nodes, claimed): (usize, Claimed),
    ) {
        let Claimed { text, low, typical, high, .. } = claimed;
        let point = CurvePoint { nodes, low, typical, high };
        let is_it = |curve: &&mut CompareCurve| {
            curve.algorithm == algorithm && curve.case == case && curve.figure == figure
        };
        match curves.iter_mut().find(is_it) {
            Some(curve) => curve.points.push(point),
            None => {
                curves.push(CompareCurve { algorithm, case, figure, text, points: vec![point] });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_ends_and_not_too_many_points() {
        assert_eq!(sizes(&[4, 2, 8]), [2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(sizes(&[5]), [5]);
        assert!(sizes(&[]).is_empty());
        let many = sizes(&[2, 256, 16]);
        assert!(many.len() <= MOST_POINTS && many.is_sorted());
        assert_eq!((many[0], many[many.len() - 1]), (2, 256));
    }
}
