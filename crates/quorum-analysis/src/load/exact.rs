//! The vertex at which the simplex method ended, once more in whole numbers: a proof without rounding.

use std::ops::{Div, Mul, Rem, Sub};

use num_bigint::BigInt;
use num_rational::Ratio;

use super::simplex::{Basic, Column, Simplex};

/// Up to so many equations are solved in whole numbers.
const MOST_EQUATIONS: usize = 64;

/// Whole numbers up to here are exact as `f64`, too.
const MOST: u64 = 1 << 53;

/// An optimum that was checked in whole numbers.
pub(crate) struct Exact {
    /// The optimum.
    pub(crate) total: Ratio<u64>,
    /// The amounts, by the owner of the column.
    pub(crate) amounts: Vec<(usize, f64)>,
    /// The prices.
    pub(crate) prices: Vec<f64>,
}

/// Solves the equations of the vertex in fractions and checks that the amounts fit into `limits`, that
/// nothing is negative, and that no column is cheaper than 1: `cheapest` says what the cheapest one
/// costs at whole prices. Then Σ amounts = Σ limit·price is the optimum (duality).
///
/// None if that fails, or if numbers become too large to handle.
pub(crate) fn verify(
    simplex: &Simplex,
    limits: &[usize],
    cheapest: impl Fn(&[u64]) -> u64,
) -> Option<Exact> {
    let mut used_up = vec![true; limits.len()];
    let mut columns = Vec::new();
    for (basic, _) in simplex.basis() {
        match basic {
            Basic::Rest(row) => used_up[*row] = false,
            Basic::Amount(column) => columns.push(column),
        }
    }
    let rows: Vec<usize> = (0..limits.len()).filter(|&row| used_up[row]).collect();
    if rows.len() != columns.len() || rows.len() > MOST_EQUATIONS {
        return None;
    }
    let (amounts, unit) = solve(&amount_equations(&columns, &rows, limits))?;
    if !fits(&columns, &amounts, unit, limits) {
        return None;
    }
    let (of_rows, one) = solve(&price_equations(&columns, &rows))?;
    let mut prices = vec![0; limits.len()];
    rows.iter().zip(of_rows).for_each(|(&row, price)| prices[row] = price);
    if worth(&prices, limits)? > MOST || cheapest(&prices) < one {
        return None;
    }
    let owners = columns.iter().map(|column| column.owner);
    Some(Exact {
        total: Ratio::new(amounts.iter().sum(), unit),
        amounts: owners.zip(amounts.iter().map(|&x| x as f64 / unit as f64)).collect(),
        prices: prices.iter().map(|&price| price as f64 / one as f64).collect(),
    })
}

/// In each row that is used up, the amounts use exactly its limit. The last entry is the right side.
fn amount_equations(columns: &[&Column], rows: &[usize], limits: &[usize]) -> Vec<Vec<usize>> {
    let equation = |&row: &usize| {
        columns.iter().map(|column| uses(column, row)).chain([limits[row]]).collect()
    };
    rows.iter().map(equation).collect()
}

/// Each column that is taken costs exactly 1.
fn price_equations(columns: &[&Column], rows: &[usize]) -> Vec<Vec<usize>> {
    let equation =
        |column: &&Column| rows.iter().map(|&row| uses(column, row)).chain([1]).collect();
    columns.iter().map(equation).collect()
}

fn uses(column: &Column, row: usize) -> usize {
    column.uses.iter().find(|(of, _)| *of == row).map_or(0, |(_, count)| *count)
}

/// Whether amounts in parts of `unit` stay within the limits.
fn fits(columns: &[&Column], amounts: &[u64], unit: u64, limits: &[usize]) -> bool {
    let mut used = vec![0_u128; limits.len()];
    for (column, &amount) in columns.iter().zip(amounts) {
        for &(row, count) in &column.uses {
            used[row] += u128::from(amount) * count as u128;
        }
    }
    used.iter().zip(limits).all(|(&used, &limit)| used <= u128::from(unit) * limit as u128)
}

/// What all limits are worth together.
fn worth(prices: &[u64], limits: &[usize]) -> Option<u64> {
    let parts = prices.iter().zip(limits).map(|(price, &limit)| price.checked_mul(limit as u64));
    parts.into_iter().try_fold(0_u64, |sum, part| sum.checked_add(part?))
}

/// The solution of linear equations as multiples of 1/the second number; none if there is no single
/// one, if it is negative somewhere, or if it needs large numbers.
fn solve(equations: &[Vec<usize>]) -> Option<(Vec<u64>, u64)> {
    // Hadamard: no determinant of parts of the matrix has more bits than its rows together. Products
    // of two have to fit.
    let bits = |equation: &Vec<usize>| {
        equation.iter().map(|&entry| (entry * entry) as f64).sum::<f64>().max(1.0).log2() / 2.0
    };
    if equations.iter().map(bits).sum::<f64>() < 60.0 {
        reduced(eliminate::<i128>(equations)?)
    } else {
        reduced(eliminate::<BigInt>(equations)?)
    }
}

trait Whole:
    Clone
    + From<u64>
    + PartialOrd
    + TryInto<u64>
    + for<'a> Mul<&'a Self, Output = Self>
    + for<'a> Div<&'a Self, Output = Self>
    + for<'a> Rem<&'a Self, Output = Self>
    + Sub<Output = Self>
{
}

impl Whole for i128 {}
impl Whole for BigInt {}

/// Gauss–Jordan elimination without fractions (Bareiss 1968): every entry is a determinant of a part of
/// the matrix all the time, so the divisions leave no rest. The right sides, and what to divide them by.
fn eliminate<T: Whole>(equations: &[Vec<usize>]) -> Option<(Vec<T>, T)> {
    let zero = T::from(0);
    let entries = |equation: &Vec<usize>| equation.iter().map(|&n| T::from(n as u64)).collect();
    let mut equations: Vec<Vec<T>> = equations.iter().map(entries).collect();
    let mut last = T::from(1);
    for step in 0..equations.len() {
        let pivot = (step..equations.len()).find(|&row| equations[row][step] != zero)?;
        equations.swap(step, pivot);
        let equation = std::mem::take(&mut equations[step]);
        let first = &equation[step];
        for other in equations.iter_mut().filter(|other| !other.is_empty()) {
            let factor = other[step].clone();
            for (entry, known) in other.iter_mut().zip(&equation) {
                *entry = (entry.clone() * first - factor.clone() * known) / &last;
            }
        }
        last = first.clone();
        equations[step] = equation;
    }
    // All but the last equation were multiplied on to the determinant; so is the last by itself.
    Some((equations.into_iter().filter_map(|mut equation| equation.pop()).collect(), last))
}

/// Without common factors, and as numbers from 0 up.
fn reduced<T: Whole>((mut numbers, mut unit): (Vec<T>, T)) -> Option<(Vec<u64>, u64)> {
    let zero = T::from(0);
    if unit < zero {
        unit = zero.clone() - unit;
        numbers = numbers.into_iter().map(|number| zero.clone() - number).collect();
    }
    let mut common = unit.clone();
    for number in &numbers {
        let mut rest = number.clone();
        while rest != zero {
            (common, rest) = (rest.clone(), common % &rest);
        }
    }
    if common < zero {
        common = zero - common;
    }
    let whole = |number: T| (number / &common).try_into().ok().filter(|number| *number <= MOST);
    let unit = whole(unit)?;
    Some((numbers.into_iter().map(whole).collect::<Option<_>>()?, unit))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is found solves the equations, in small numbers and in large ones.
        #[test]
        fn solutions_solve(
            matrix in prop::collection::vec(prop::collection::vec(0_usize..4, 5), 5),
            solution in prop::collection::vec(0_usize..5, 5),
        ) {
            let right = |row: &Vec<usize>| row.iter().zip(&solution).map(|(a, x)| a * x).sum();
            let with_right = |row: &Vec<usize>| [&row[..], &[right(row)]].concat();
            let equations: Vec<Vec<usize>> = matrix.iter().map(with_right).collect();
            let small = eliminate::<i128>(&equations);
            let large = eliminate::<BigInt>(&equations);
            prop_assert_eq!(small.is_some(), large.is_some());
            if let (Some(small), Some(large)) = (small, large) {
                let expected = (solution.iter().map(|&x| x as u64).collect(), 1);
                prop_assert_eq!(reduced(small), Some(expected.clone()));
                prop_assert_eq!(reduced(large), Some(expected));
            }
        }
    }

    #[test]
    fn negative_and_ambiguous_solutions_are_refused() {
        assert_eq!(solve(&[vec![2, 0, 1], vec![0, 3, 1]]), Some((vec![3, 2], 6)));
        assert_eq!(solve(&[vec![1, 1, 1], vec![0, 1, 2]]), None);
        assert_eq!(solve(&[vec![1, 1, 1], vec![2, 2, 2]]), None);
    }
}
