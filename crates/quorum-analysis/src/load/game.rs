//! The same program where it is too large for the simplex method: as a game of nodes against quorums.
//!
//! One player chooses a column, the other a row, each at random, and the first pays what the column
//! uses of the row's limit. The value of that game is the load, and both players find their way to it by
//! small steps: the primal–dual method of Chambolle and Pock (2011), averaged, and begun anew from the
//! average whenever that has halved the gap (Applegate and others 2021). Every average is a strategy and
//! a set of weights, so the gap between the two is a proof at any time.

use super::simplex::Column;

/// So many multiplications are spent before the search stops where it is.
const MOST_WORK: usize = 1_000_000_000;

/// The relative gap at which it stops, too.
const ENOUGH: f64 = 1e-10;

/// Columns that use rows up to their limits.
pub(crate) struct Game<'a> {
    limits: &'a [f64],
    columns: &'a [Column],
    most_work: usize,
}

/// What the players do, and what either makes sure of.
#[derive(Clone)]
pub(crate) struct Play {
    /// How likely each column is.
    pub(crate) columns: Vec<f64>,
    /// How likely each row is.
    pub(crate) rows: Vec<f64>,
    /// At most so much is used of any row's limit.
    pub(crate) upper: f64,
    /// At least so much is used by any column.
    pub(crate) lower: f64,
}

impl<'a> Game<'a> {
    pub(crate) fn new(limits: &'a [f64], columns: &'a [Column]) -> Self {
        Game { limits, columns, most_work: MOST_WORK }
    }

    /// Plays until the gap is closed or the work is done.
    pub(crate) fn solve(&self) -> Play {
        let mut best = self.even();
        let mut start = best.clone();
        // Distances are measured between distributions, so what all have in common is left out.
        let step = 0.9 / self.norm();
        let per_round = 4 * self.columns.iter().map(|column| column.uses.len()).sum::<usize>()
            + 8 * (self.limits.len() + self.columns.len());
        let mut rounds_left = (self.most_work / per_round).max(50);
        // How much faster columns move than rows, which lets both come equally near.
        let mut ratio = 1.0_f64;
        while rounds_left > 0 && best.gap() > ENOUGH {
            let average = self.epoch(&start, step, ratio, &mut rounds_left);
            let moved =
                (distance(&average.columns, &start.columns), distance(&average.rows, &start.rows));
            if moved.0 > 0.0 && moved.1 > 0.0 {
                ratio = (ratio * moved.0 / moved.1).sqrt();
            }
            if average.gap() < best.gap() {
                best = average.clone();
            }
            start = average;
        }
        best
    }

    /// Plays from `start` until the average of all rounds has half the gap.
    fn epoch(&self, start: &Play, step: f64, ratio: f64, rounds_left: &mut usize) -> Play {
        let (mut columns, mut rows) = (start.columns.clone(), start.rows.clone());
        let (mut column_sum, mut row_sum) = (vec![0.0; columns.len()], vec![0.0; rows.len()]);
        let mut count = 0;
        loop {
            let costs = self.costs(&rows);
            let moved = columns.iter().zip(&costs).map(|(x, cost)| x - step * ratio * cost);
            let next = onto_distributions(moved.collect());
            let ahead: Vec<f64> =
                next.iter().zip(&columns).map(|(new, old)| 2.0 * new - old).collect();
            let uses = self.uses(&ahead);
            let moved = rows.iter().zip(&uses).map(|(y, used)| y + step / ratio * used);
            rows = onto_distributions(moved.collect());
            columns = next;
            column_sum.iter_mut().zip(&columns).for_each(|(sum, x)| *sum += x);
            row_sum.iter_mut().zip(&rows).for_each(|(sum, y)| *sum += y);
            count += 1;
            *rounds_left -= 1;
            if count % 32 == 0 || *rounds_left == 0 {
                let mean = |sum: &[f64]| sum.iter().map(|x| x / count as f64).collect();
                let average = self.judged(mean(&column_sum), mean(&row_sum));
                if average.gap() <= 0.5 * start.gap() || *rounds_left == 0 {
                    return average;
                }
            }
        }
    }

    /// Everybody equally likely.
    fn even(&self) -> Play {
        let even = |count: usize| vec![1.0 / count as f64; count];
        self.judged(even(self.columns.len()), even(self.limits.len()))
    }

    fn judged(&self, columns: Vec<f64>, rows: Vec<f64>) -> Play {
        let upper = self.uses(&columns).into_iter().fold(0.0, f64::max);
        let lower = self.costs(&rows).into_iter().fold(f64::INFINITY, f64::min);
        Play { columns, rows, upper, lower }
    }

    /// How much of each row's limit is used if the columns are chosen like this.
    fn uses(&self, columns: &[f64]) -> Vec<f64> {
        let mut uses = vec![0.0; self.limits.len()];
        for (column, share) in self.columns.iter().zip(columns) {
            for &(row, count) in &column.uses {
                uses[row] += share * count as f64;
            }
        }
        uses.iter().zip(self.limits).map(|(used, limit)| used / limit).collect()
    }

    /// How much each column uses if the rows are chosen like this.
    fn costs(&self, rows: &[f64]) -> Vec<f64> {
        let prices: Vec<f64> = rows.iter().zip(self.limits).map(|(y, limit)| y / limit).collect();
        self.columns.iter().map(|column| column.price(&prices)).collect()
    }

    /// By how much a difference of distributions is stretched at most, by iteration from a difference
    /// that has a bit of everything.
    fn norm(&self) -> f64 {
        let bits = (0..self.columns.len()).map(|i| ((i * 7_919 + 13) % 1_009) as f64 - 504.0);
        let mut columns = centred(bits.collect());
        let mut norm = 1.0;
        for _ in 0..30 {
            let length = distance(&columns, &vec![0.0; columns.len()]);
            if length == 0.0 {
                return norm;
            }
            columns.iter_mut().for_each(|x| *x /= length);
            let rows = centred(self.uses(&columns));
            norm = distance(&rows, &vec![0.0; rows.len()]).max(f64::MIN_POSITIVE);
            columns = centred(self.costs(&rows));
        }
        // The iteration comes from below.
        1.1 * norm
    }
}

impl Play {
    fn gap(&self) -> f64 {
        (self.upper - self.lower) / self.upper
    }
}

fn centred(mut numbers: Vec<f64>) -> Vec<f64> {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    numbers.iter_mut().for_each(|x| *x -= mean);
    numbers
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// The nearest distribution: all are lowered by the same, but not below 0.
fn onto_distributions(mut numbers: Vec<f64>) -> Vec<f64> {
    let mut sorted = numbers.clone();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut lowered) = (0.0, 0.0);
    for (count, number) in (1..).zip(sorted) {
        sum += number;
        let level = (sum - 1.0) / f64::from(count);
        if number <= level {
            break;
        }
        lowered = level;
    }
    numbers.iter_mut().for_each(|x| *x = (*x - lowered).max(0.0));
    numbers
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::load::simplex::Simplex;

    #[test]
    fn the_nearest_distribution() {
        assert_eq!(onto_distributions(vec![0.25, 0.75]), [0.25, 0.75]);
        assert_eq!(onto_distributions(vec![2.0, 1.5, -4.0]), [0.75, 0.25, 0.0]);
        assert_eq!(onto_distributions(vec![0.0; 4]), [0.25; 4]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        /// The value of the game is the inverse of the program's optimum.
        #[test]
        fn a_game_agrees_with_the_simplex_method(
            uses in prop::collection::vec(prop::collection::btree_map(0_usize..6, 1_usize..4, 1..6), 1..8),
            limits in prop::collection::vec(1.0_f64..4.0, 6),
        ) {
            let column = |(owner, uses): (usize, std::collections::BTreeMap<_, _>)| {
                Column { owner, value: 1.0, uses: uses.into_iter().collect() }
            };
            let columns: Vec<Column> = uses.into_iter().enumerate().map(column).collect();
            let mut simplex = Simplex::new(&limits);
            let end = simplex.maximise(|prices| {
                let price = |column: &&Column| column.price(prices);
                columns.iter().min_by(|a, b| price(a).total_cmp(&price(b))).cloned()
            });
            prop_assert!(end);
            let value = 1.0 / simplex.amounts().map(|(_, amount)| amount).sum::<f64>();
            let mut game = Game::new(&limits, &columns);
            game.most_work = 5_000_000;
            let play = game.solve();
            prop_assert!(play.lower <= value + 1e-9 && value <= play.upper + 1e-9);
            prop_assert!(play.gap() < 1e-4, "{} {}", play.lower, play.upper);
        }
    }
}
