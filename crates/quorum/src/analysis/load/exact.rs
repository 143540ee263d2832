//! The vertex at which the simplex method ended, once more in fractions: a proof without rounding.

use num_bigint::BigInt;
use num_rational::{BigRational, Ratio};

use super::simplex::{Basic, Column, Simplex};

/// Up to so many equations are solved in fractions.
const MOST_EQUATIONS: usize = 48;

/// Whole numbers up to here are exact as `f64`, too.
const MOST_PRICE: u64 = 1 << 53;

/// An optimum that was checked in fractions.
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
    let amounts = solve(amount_equations(&columns, &rows, limits))?;
    let of_rows = solve(price_equations(&columns, &rows))?;
    let mut prices = vec![whole(0); limits.len()];
    for (row, price) in rows.into_iter().zip(of_rows) {
        prices[row] = price;
    }
    let is_negative = |number: &BigRational| *number < whole(0);
    if amounts.iter().chain(&prices).any(is_negative) || !fits(&columns, &amounts, limits) {
        return None;
    }
    let (prices, unit) = scaled(&prices, limits)?;
    if cheapest(&prices) < unit {
        return None;
    }
    let total: BigRational = amounts.iter().sum();
    let total = Ratio::new(u64::try_from(total.numer()).ok()?, u64::try_from(total.denom()).ok()?);
    let amount = |(column, amount): (&&Column, _)| Some((column.owner, nearest(amount)?));
    Some(Exact {
        total,
        amounts: columns.iter().zip(&amounts).map(amount).collect::<Option<_>>()?,
        prices: prices.iter().map(|&price| price as f64 / unit as f64).collect(),
    })
}

/// In each row that is used up, the amounts use exactly its limit. The last entry is the right side.
fn amount_equations(
    columns: &[&Column],
    rows: &[usize],
    limits: &[usize],
) -> Vec<Vec<BigRational>> {
    let equation = |&row: &usize| {
        let uses = columns.iter().map(|column| whole(uses(column, row)));
        uses.chain([whole(limits[row])]).collect()
    };
    rows.iter().map(equation).collect()
}

/// Each column that is taken costs exactly 1.
fn price_equations(columns: &[&Column], rows: &[usize]) -> Vec<Vec<BigRational>> {
    let equation = |column: &&Column| {
        let uses = rows.iter().map(|&row| whole(uses(column, row)));
        uses.chain([whole(1)]).collect()
    };
    columns.iter().map(equation).collect()
}

fn uses(column: &Column, row: usize) -> usize {
    column.uses.iter().find(|(of, _)| *of == row).map_or(0, |(_, count)| *count)
}

fn fits(columns: &[&Column], amounts: &[BigRational], limits: &[usize]) -> bool {
    let mut used = vec![whole(0); limits.len()];
    for (column, amount) in columns.iter().zip(amounts) {
        for &(row, count) in &column.uses {
            used[row] += amount * whole(count);
        }
    }
    used.iter().zip(limits).all(|(used, &limit)| *used <= whole(limit))
}

/// The prices as multiples of 1/unit, and that unit, if that takes no large numbers.
fn scaled(prices: &[BigRational], limits: &[usize]) -> Option<(Vec<u64>, u64)> {
    let mut unit = 1;
    for price in prices {
        let part = u64::try_from(price.denom()).ok()?;
        unit = Ratio::new(unit, part).numer().checked_mul(part)?;
    }
    let whole_price = |price: &BigRational| u64::try_from((price * whole(unit)).to_integer()).ok();
    let prices: Vec<u64> = prices.iter().map(whole_price).collect::<Option<_>>()?;
    let mut all = unit;
    for (price, &limit) in prices.iter().zip(limits) {
        all = all.checked_add(price.checked_mul(limit as u64)?)?;
    }
    (all < MOST_PRICE).then_some((prices, unit))
}

/// Gauss–Jordan elimination. None if the equations have no single solution.
fn solve(mut equations: Vec<Vec<BigRational>>) -> Option<Vec<BigRational>> {
    let zero = whole(0);
    for step in 0..equations.len() {
        let pivot = (step..equations.len()).find(|&row| equations[row][step] != zero)?;
        equations.swap(step, pivot);
        let mut equation = std::mem::take(&mut equations[step]);
        let first = equation[step].clone();
        for entry in equation[step..].iter_mut().filter(|entry| **entry != zero) {
            *entry /= &first;
        }
        for other in equations.iter_mut().filter(|other| !other.is_empty()) {
            let factor = other[step].clone();
            if factor == zero {
                continue;
            }
            let pairs = other[step..].iter_mut().zip(&equation[step..]);
            for (entry, known) in pairs.filter(|(_, known)| **known != zero) {
                *entry -= &factor * known;
            }
        }
        equations[step] = equation;
    }
    equations.into_iter().map(|mut equation| equation.pop()).collect()
}

fn whole(number: impl Into<BigInt>) -> BigRational {
    BigRational::from_integer(number.into())
}

/// The nearest `f64` up to rounding.
fn nearest(number: &BigRational) -> Option<f64> {
    let part = |part: &BigInt| Some(u64::try_from(part).ok()? as f64);
    Some(part(number.numer())? / part(number.denom())?)
}
