//! The exact search: branch and bound over the inform sets of one node after the other.

use super::problem::{Family, Problem, SLACK, Score, least_requests, members};

/// Searches all families for one that is allowed and better than `best`; what is left is the optimum.
pub(super) fn search(problem: &Problem, best: &mut Family, score: &mut Score) {
    let options = (0..problem.nodes()).map(|i| options(problem, i)).collect::<Vec<_>>();
    let prices = Prices(
        options
            .iter()
            .zip(&problem.shares)
            .map(|(options, share)| options.iter().map(|set| told(*set) * share).collect())
            .collect(),
    );
    let mut search = Search { problem, options, chosen: Vec::new(), best, score };
    search.extend(0.0, &prices);
}

/// What telling these costs.
fn told(set: u64) -> f64 {
    3.0 * f64::from(set.count_ones() - 1)
}

/// The inform sets that `i` can have at all, smaller ones first.
fn options(problem: &Problem, i: usize) -> Vec<u64> {
    let share = |set: u64| members(set).map(|j| problem.shares[j]).sum::<f64>();
    let mut sets: Vec<u64> = (0..1_u64 << problem.nodes())
        .filter(|set| set >> i & 1 == 1)
        .filter(|&set| problem.admits(i, set.count_ones() as usize, share(set)))
        .collect();
    sets.sort_by_key(|set| set.count_ones());
    sets
}

/// For each node and each of its options what choosing it adds to the messages, given the sets that
/// are chosen already: to its own, and to those of nodes that have to ask it.
#[derive(Clone)]
struct Prices(Vec<Vec<f64>>);

struct Search<'a> {
    problem: &'a Problem,
    options: Vec<Vec<u64>>,
    chosen: Family,
    best: &'a mut Family,
    score: &'a mut Score,
}

impl Search<'_> {
    /// Tries all sets for the next node. `paid` are the messages of those chosen so far among
    /// themselves.
    fn extend(&mut self, paid: f64, prices: &Prices) {
        let next = self.chosen.len();
        if next == self.problem.nodes() {
            // The partial judgement was about all nodes, so it is allowed and better.
            *self.best = self.chosen.clone();
            *self.score = Score { excess: 0.0, messages: paid };
            return;
        }
        for option in 0..self.options[next].len() {
            let set = self.options[next][option];
            let paid = paid + prices.0[next][option];
            if self.repeats(set) || !self.undercuts(paid) {
                continue;
            }
            let after = self.after(set, prices);
            if !self.undercuts(paid + after.least_beyond(next)) {
                continue;
            }
            self.chosen.push(set);
            if self.may_be_allowed() {
                self.extend(paid, &after);
            }
            self.chosen.pop();
        }
    }

    /// Nodes that ask equally often can change places, so among them only families need to be tried in
    /// which inform sets grow.
    fn repeats(&self, set: u64) -> bool {
        let (next, shares) = (self.chosen.len(), &self.problem.shares);
        next > 0
            && shares[next] == shares[next - 1]
            && set.count_ones() < self.chosen[next - 1].count_ones()
    }

    fn undercuts(&self, messages: f64) -> bool {
        !self.score.is_allowed() || messages < self.score.messages - SLACK
    }

    /// The prices once the next node has chosen `set`: whoever does not meet it asks, and is asked.
    fn after(&self, set: u64, prices: &Prices) -> Prices {
        let mut after = prices.clone();
        let (next, shares) = (self.chosen.len(), &self.problem.shares);
        for node in next + 1..self.problem.nodes() {
            let asking = 2.0 * (shares[next] + shares[node]);
            for (price, option) in after.0[node].iter_mut().zip(&self.options[node]) {
                if option & set == 0 {
                    *price += asking;
                }
            }
        }
        after
    }

    /// Whether the sets chosen so far leave the demands possible. Load and delay only grow with the
    /// rest.
    fn may_be_allowed(&self) -> bool {
        let (problem, request) = (self.problem, least_requests(&self.chosen));
        let is_busy = |load: &f64| *load > problem.busiest + SLACK;
        !problem.loads(&request).iter().any(is_busy)
            && problem.delay_of(&self.chosen, &request) <= problem.delay + SLACK
    }
}

impl Prices {
    /// What the nodes after `node` add at least, each by itself.
    fn least_beyond(&self, node: usize) -> f64 {
        let least = |prices: &Vec<f64>| prices.iter().copied().fold(f64::INFINITY, f64::min);
        self.0[node + 1..].iter().map(least).sum()
    }
}
