//! The failure probability of a grid, column by column.
//!
//! Rows are alike, so of the columns before only three things matter: how many of the full rows are still
//! complete, whether the short last row is, and whether a complete column has been seen. The columns that
//! the short row reaches come first.

/// The chance of each number of full rows that are still complete.
type Rows = Vec<f64>;

pub(super) fn failure(nodes: usize, width: usize, p: f64) -> f64 {
    let (rows, short) = (nodes / width, nodes % width);
    let column = Column::new(rows, p);
    let [mut unseen, mut seen] = column.after_short_row(short);
    for _ in short..width.min(nodes) {
        let (broken, whole) = column.next(&unseen);
        let again = column.next(&seen);
        unseen = broken;
        seen = sum([&whole, &again.0, &again.1]);
    }
    unseen.iter().sum::<f64>() + seen[0]
}

/// What one more column does to full rows.
struct Column {
    p: f64,
    /// `keeps[k][j]`: of `k` nodes `j` are alive.
    keeps: Vec<Vec<f64>>,
    /// `not_all[k]`: not all of `k` nodes are alive.
    not_all: Vec<f64>,
}

impl Column {
    fn new(rows: usize, p: f64) -> Self {
        let q = 1.0 - p;
        let (mut keeps, mut not_all) = (vec![vec![1.0]], vec![0.0]);
        for k in 0..rows {
            let fewer: &Vec<f64> = &keeps[k];
            let mut more = vec![0.0; k + 2];
            for (alive, chance) in fewer.iter().enumerate() {
                more[alive] += chance * p;
                more[alive + 1] += chance * q;
            }
            not_all.push(not_all[k] + fewer[k] * p);
            keeps.push(more);
        }
        Column { p, keeps, not_all }
    }

    /// The rows after one more column, if that is not complete and if it is.
    fn next(&self, rows: &Rows) -> (Rows, Rows) {
        let (mut broken, mut whole) = (vec![0.0; rows.len()], vec![0.0; rows.len()]);
        for (complete, &chance) in rows.iter().enumerate() {
            let keeps = &self.keeps[complete];
            for (kept, keep) in keeps.iter().enumerate().take(complete) {
                broken[kept] += chance * keep;
            }
            // Nobody of the complete rows fails; the other rows decide about the column.
            let others = rows.len() - 1 - complete;
            broken[complete] += chance * keeps[complete] * self.not_all[others];
            whole[complete] += chance * keeps[complete] * self.keeps[others][others];
        }
        (broken, whole)
    }

    /// The rows after the columns that the short row reaches, without and with a complete column among
    /// them, as far as they still depend on full rows: with the short row and a column there is a quorum.
    fn after_short_row(&self, short: usize) -> [Rows; 2] {
        let none = vec![0.0; self.keeps.len()];
        let mut start = none.clone();
        start[self.keeps.len() - 1] = 1.0;
        // Whether a column is complete, then whether the short row is.
        let mut states = [[none.clone(), start], [none.clone(), none.clone()]];
        for _ in 0..short {
            let mut next = [[none.clone(), none.clone()], [none.clone(), none.clone()]];
            for seen in 0..2 {
                for row in 0..2 {
                    let (broken, whole) = self.next(&states[seen][row]);
                    add(&mut next[seen][row], &broken, 1.0 - self.p);
                    add(&mut next[1][row], &whole, 1.0 - self.p);
                    add(&mut next[seen][0], &broken, self.p);
                    add(&mut next[seen][0], &whole, self.p);
                }
            }
            states = next;
        }
        let [[unseen, unseen_with_row], [seen, _]] = states;
        [sum([&unseen, &unseen_with_row]), seen]
    }
}

fn add(to: &mut Rows, rows: &Rows, factor: f64) {
    for (sum, chance) in to.iter_mut().zip(rows) {
        *sum += chance * factor;
    }
}

fn sum<const M: usize>(all: [&Rows; M]) -> Rows {
    let mut sum = vec![0.0; all[0].len()];
    for rows in all {
        add(&mut sum, rows, 1.0);
    }
    sum
}
