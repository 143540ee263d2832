//! The vertex at which the simplex method ended, once more in whole numbers: a proof without rounding.

use num_bigint::BigInt;
use num_rational::Ratio;

use super::Vertex;
use super::simplex::{Basic, Column, Simplex};

/// Up to so many equations are solved in whole numbers.
const MOST_EQUATIONS: usize = 64;

/// Whole numbers up to here are exact as `f64`, too.
const MOST: u64 = 1 << 53;

/// Solves the equations of the vertex in fractions and checks that the amounts fit into `limits`, that
/// nothing is negative, and that no column is cheaper than 1: `least_price` says what the cheapest one
/// costs. Then Σ amounts = Σ limit·price is the optimum (duality).
///
/// None if that fails, if limits are not whole, or if numbers become too large to handle.
pub(super) fn verify(
    simplex: &Simplex,
    limits: &[f64],
    least_price: impl Fn(&[f64]) -> f64,
) -> Option<Vertex> {
    let is_whole = |limit: &f64| limit.fract() == 0.0 && *limit < f64::from(u32::MAX);
    if !limits.iter().all(is_whole) {
        return None;
    }
    let limits: Vec<u64> = limits.iter().map(|&limit| limit as u64).collect();
    let mut used_up = vec![true; limits.len()];
    let mut columns = Vec::new();
    for basic in simplex.basis() {
        match basic {
            Basic::Rest(row) => used_up[*row] = false,
            Basic::Amount(column) => columns.push(column),
        }
    }
    let rows: Vec<usize> = (0..limits.len()).filter(|&row| used_up[row]).collect();
    if rows.len() != columns.len() || rows.len() > MOST_EQUATIONS {
        return None;
    }
    // In each row that is used up, the amounts use exactly its limit.
    let used = |&row: &usize| columns.iter().map(|c| uses(c, row)).chain([limits[row]]).collect();
    let (amounts, unit) = solve(rows.iter().map(used).collect())?;
    if !fits(&columns, &amounts, unit, &limits) {
        return None;
    }
    // Each column that is taken costs exactly 1.
    let cost = |c: &&Column| rows.iter().map(|&row| uses(c, row)).chain([1]).collect();
    let (of_rows, one) = solve(columns.iter().map(cost).collect())?;
    let mut prices = vec![0; limits.len()];
    rows.iter().zip(of_rows).for_each(|(&row, price)| prices[row] = price);
    let worth = prices.iter().zip(&limits).map(|(&price, &limit)| price as u128 * limit as u128);
    // Sums of whole numbers up to there are exact.
    let whole: Vec<f64> = prices.iter().map(|&price| price as f64).collect();
    if worth.sum::<u128>() > MOST.into() || least_price(&whole) < one as f64 {
        return None;
    }
    let amount =
        |(column, &amount): (&&Column, &u64)| ((*column).clone(), amount as f64 / unit as f64);
    Some(Vertex {
        amounts: columns.iter().zip(&amounts).map(amount).collect(),
        prices: whole.iter().map(|price| price / one as f64).collect(),
        fraction: Some(Ratio::new(amounts.iter().sum(), unit)),
        is_fastest: false,
    })
}

fn uses(column: &Column, row: usize) -> u64 {
    column.uses.iter().find(|(of, _)| *of == row).map_or(0, |(_, count)| *count as u64)
}

/// Whether amounts in parts of `unit` stay within the limits.
fn fits(columns: &[&Column], amounts: &[u64], unit: u64, limits: &[u64]) -> bool {
    let mut used = vec![0_u128; limits.len()];
    for (column, &amount) in columns.iter().zip(amounts) {
        for &(row, count) in &column.uses {
            used[row] += u128::from(amount) * count as u128;
        }
    }
    used.iter().zip(limits).all(|(&used, &limit)| used <= u128::from(unit) * u128::from(limit))
}

/// The solution of linear equations, whose last entry is the right side, as multiples of 1/the second
/// number; none if there is no single one, if it is negative somewhere, or if it needs large numbers.
///
/// Gauss–Jordan elimination without fractions (Bareiss 1968): every entry is a determinant of a part of
/// the matrix all the time, so the divisions leave no rest.
fn solve(equations: Vec<Vec<u64>>) -> Option<(Vec<u64>, u64)> {
    let whole = |equation: Vec<u64>| equation.into_iter().map(BigInt::from).collect();
    let mut equations: Vec<Vec<BigInt>> = equations.into_iter().map(whole).collect();
    let mut last = BigInt::from(1);
    for step in 0..equations.len() {
        let pivot = (step..equations.len()).find(|&row| equations[row][step] != BigInt::ZERO)?;
        equations.swap(step, pivot);
        let equation = std::mem::take(&mut equations[step]);
        let first = &equation[step];
        for other in equations.iter_mut().filter(|other| !other.is_empty()) {
            let factor = other[step].clone();
            for (entry, known) in other.iter_mut().zip(&equation) {
                *entry = (&*entry * first - &factor * known) / &last;
            }
        }
        last = first.clone();
        equations[step] = equation;
    }
    // All but the last equation were multiplied on to the determinant; so is the last by itself.
    let mut numbers: Vec<BigInt> = equations.into_iter().filter_map(|mut row| row.pop()).collect();
    numbers.push(last);
    let mut common = BigInt::ZERO;
    for number in &numbers {
        let mut rest = number.clone();
        while rest != BigInt::ZERO {
            (common, rest) = (rest.clone(), common % &rest);
        }
    }
    // The sign of the determinant is that of the unit, which comes last.
    if (common < BigInt::ZERO) != (numbers[numbers.len() - 1] < BigInt::ZERO) {
        common = -common;
    }
    let part = |number: BigInt| u64::try_from(number / &common).ok().filter(|&part| part <= MOST);
    let mut parts = numbers.into_iter().map(part).collect::<Option<Vec<u64>>>()?;
    let unit = parts.pop()?;
    Some((parts, unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is found solves the equations.
        #[test]
        fn solutions_solve(
            matrix in prop::collection::vec(prop::collection::vec(0_u64..4, 5), 5),
            solution in prop::collection::vec(0_u64..5, 5),
        ) {
            let right = |row: &Vec<u64>| row.iter().zip(&solution).map(|(a, x)| a * x).sum();
            let with_right = |row: &Vec<u64>| [&row[..], &[right(row)]].concat();
            let equations: Vec<Vec<u64>> = matrix.iter().map(with_right).collect();
            if let Some(found) = solve(equations) {
                prop_assert_eq!(found, (solution, 1));
            }
        }
    }

    #[test]
    fn negative_and_ambiguous_solutions_are_refused() {
        assert_eq!(solve(vec![vec![2, 0, 1], vec![0, 3, 1]]), Some((vec![3, 2], 6)));
        assert_eq!(solve(vec![vec![1, 1, 1], vec![0, 1, 2]]), None);
        assert_eq!(solve(vec![vec![1, 1, 1], vec![2, 2, 2]]), None);
    }
}
