//! Claims between the sizes that are measured: the line of a formula.

use super::judged::Claimed;

/// One claim over N.
pub(crate) struct Curve {
    pub(crate) algorithm: &'static str,
    /// Of an election: in which situation.
    pub(crate) case: Option<&'static str>,
    /// What it is called in JSON.
    pub(crate) figure: &'static str,
    /// N and the values there, N rising.
    pub(crate) points: Vec<(usize, Claimed)>,
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

impl Curve {
    /// Adds a point to the curve that it belongs to.
    pub(super) fn add(
        curves: &mut Vec<Curve>,
        (algorithm, case): (&'static str, Option<&'static str>),
        figure: &'static str,
        point: (usize, Claimed),
    ) {
        let is_it = |curve: &&mut Curve| {
            curve.algorithm == algorithm && curve.case == case && curve.figure == figure
        };
        match curves.iter_mut().find(is_it) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve { algorithm, case, figure, points: vec![point] }),
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
