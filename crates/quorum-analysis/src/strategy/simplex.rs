//! The linear program behind load and capacity: how much of each column fits into given limits.
//!
//! Maximise Σ value·amount such that, in each row, Σ uses·amount stays within the row's limit. The
//! columns need not be listed: somebody is asked for one that is worth more than it costs, until there
//! is none. That is the revised simplex method with column generation (Gilmore & Gomory 1961), and the
//! prices at which it ends are the solution of the dual program: they prove that there is nothing better.

use std::cmp::Ordering;

/// What is taken to be zero among numbers of the size of one.
pub(super) const TOLERANCE: f64 = 1e-10;

/// So many multiplications are spent before the search stops where it is.
const MOST_WORK: usize = 4_000_000_000;

/// Something of which an amount is to be chosen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    /// Whose it is, in a list of the caller.
    pub(super) owner: usize,
    /// What one of it is worth.
    pub(super) value: f64,
    /// How much one of it uses of which rows.
    pub(super) uses: Vec<(usize, usize)>,
}

impl Column {
    /// What one of it costs.
    pub(super) fn price(&self, prices: &[f64]) -> f64 {
        self.uses.iter().map(|&(row, count)| count as f64 * prices[row]).sum()
    }
}

/// A vertex of the program.
pub(super) struct Simplex {
    rows: usize,
    /// Row by row, the inverse of the basis' matrix.
    inverse: Vec<f64>,
    basis: Vec<Basic>,
    amounts: Vec<f64>,
    prices: Vec<f64>,
    /// The rows whose limit need not be used up.
    may_rest: Vec<bool>,
    work: usize,
}

/// What can be more than nothing at a vertex.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Basic {
    /// What is left of the limit of a row.
    Rest(usize),
    /// The amount of a column.
    Amount(Column),
}

impl Simplex {
    /// The vertex at which nothing is taken.
    pub(super) fn new(limits: &[f64]) -> Self {
        let rows = limits.len();
        let mut inverse = vec![0.0; rows * rows];
        for row in 0..rows {
            inverse[row * rows + row] = 1.0;
        }
        Simplex {
            rows,
            inverse,
            basis: (0..rows).map(Basic::Rest).collect(),
            amounts: limits.to_vec(),
            prices: vec![0.0; rows],
            may_rest: vec![true; rows],
            work: 0,
        }
    }

    /// Goes from vertex to vertex as long as `candidate`, told the prices of the rows, knows a column
    /// worth more than it costs; whether the end was reached.
    pub(super) fn maximise(&mut self, mut candidate: impl FnMut(&[f64]) -> Option<Column>) -> bool {
        while self.work < MOST_WORK {
            let worst = (0..self.rows)
                .filter(|&row| self.may_rest[row] && self.prices[row] < -TOLERANCE)
                .min_by(|&a, &b| self.prices[a].total_cmp(&self.prices[b]));
            let entering = match worst {
                Some(row) => Basic::Rest(row),
                None => match candidate(&self.prices) {
                    Some(column) if column.value - column.price(&self.prices) > TOLERANCE => {
                        Basic::Amount(column)
                    }
                    _ => return true,
                },
            };
            if !self.enter(entering) {
                return false;
            }
        }
        false
    }

    /// From here on among the vertices that are as good as this one: columns get new values, and where
    /// a limit has a price it stays used up.
    pub(super) fn revalue(&mut self, value: impl Fn(&Column) -> f64) {
        for (may_rest, price) in self.may_rest.iter_mut().zip(&self.prices) {
            *may_rest &= price.abs() <= TOLERANCE;
        }
        self.prices.fill(0.0);
        for (basic, row) in self.basis.iter_mut().zip(self.inverse.chunks_exact(self.rows)) {
            let Basic::Amount(column) = basic else { continue };
            column.value = value(column);
            for (price, entry) in self.prices.iter_mut().zip(row) {
                *price += column.value * entry;
            }
        }
    }

    /// What is in the basis.
    pub(super) fn basis(&self) -> &[Basic] {
        &self.basis
    }

    /// The columns, and how much of them.
    pub(super) fn amounts(&self) -> impl Iterator<Item = (&Column, f64)> {
        self.basis.iter().zip(&self.amounts).filter_map(|(basic, &amount)| match basic {
            Basic::Amount(column) if amount > TOLERANCE => Some((column, amount)),
            _ => None,
        })
    }

    /// What a unit of each row's limit is worth.
    pub(super) fn prices(&self) -> impl Iterator<Item = f64> {
        self.prices.iter().map(|price| price.max(0.0))
    }

    /// Takes as much of something as fits, in exchange for what is used up first. False if there is no
    /// end to it, which only rounding can cause.
    fn enter(&mut self, entering: Basic) -> bool {
        let unit;
        let (uses, value) = match &entering {
            Basic::Amount(column) => (&column.uses, column.value),
            Basic::Rest(row) => {
                unit = vec![(*row, 1)];
                (&unit, 0.0)
            }
        };
        let gain = value - uses.iter().map(|&(row, n)| n as f64 * self.prices[row]).sum::<f64>();
        let exchange: Vec<f64> = self
            .inverse
            .chunks_exact(self.rows)
            .map(|row| uses.iter().map(|&(use_of, n)| n as f64 * row[use_of]).sum())
            .collect();
        let Some(leaving) = self.first_used_up(&exchange) else { return false };
        self.pivot(leaving, &exchange, gain);
        self.basis[leaving] = entering;
        true
    }

    /// Of several at once the lexicographically smallest row of the inverse decides: that way no vertex
    /// is visited twice (Dantzig, Orden & Wolfe 1955).
    fn first_used_up(&self, exchange: &[f64]) -> Option<usize> {
        let earlier = |a: usize, b: usize| {
            let compare = |x: f64, y: f64| {
                let (x, y) = (x / exchange[a], y / exchange[b]);
                let is_tie = (x - y).abs() <= TOLERANCE * (1.0 + x.abs().min(y.abs()));
                if is_tie { Ordering::Equal } else { x.total_cmp(&y) }
            };
            let row = |i: usize| &self.inverse[i * self.rows..(i + 1) * self.rows];
            let ties = || row(a).iter().zip(row(b)).map(|(&x, &y)| compare(x, y));
            let ties = || ties().find(|order| order.is_ne()).unwrap_or(Ordering::Equal);
            compare(self.amounts[a], self.amounts[b]).then_with(ties).is_lt()
        };
        (0..self.rows)
            .filter(|&row| exchange[row] > 1e-9)
            .reduce(|best, row| if earlier(row, best) { row } else { best })
    }

    fn pivot(&mut self, leaving: usize, exchange: &[f64], gain: f64) {
        let rows = self.rows;
        let taken = (self.amounts[leaving] / exchange[leaving]).max(0.0);
        let mut pivot_row = self.inverse[leaving * rows..(leaving + 1) * rows].to_vec();
        for entry in &mut pivot_row {
            *entry /= exchange[leaving];
        }
        for (price, entry) in self.prices.iter_mut().zip(&pivot_row) {
            *price += gain * entry;
        }
        // Early on most of it is zero, and changes nothing.
        let nonzero: Vec<(usize, f64)> =
            pivot_row.iter().copied().enumerate().filter(|(_, entry)| *entry != 0.0).collect();
        let is_sparse = 4 * nonzero.len() < rows;
        for (row, &factor) in exchange.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            self.work += rows;
            self.amounts[row] -= factor * taken;
            let entries = &mut self.inverse[row * rows..(row + 1) * rows];
            if is_sparse {
                nonzero.iter().for_each(|&(place, pivot)| entries[place] -= factor * pivot);
                continue;
            }
            for (entry, pivot) in entries.iter_mut().zip(&pivot_row) {
                *entry -= factor * pivot;
            }
        }
        self.amounts[leaving] = taken;
        self.inverse[leaving * rows..(leaving + 1) * rows].copy_from_slice(&pivot_row);
    }
}
