//! The proof that there is no cover of a given size, for sizes that the search beside it would not finish: a
//! search up to symmetry. It has nothing in common with that one, and both must agree where both end.

use skeptron_testing::{is_full, sample};

use super::{PROVED, SEARCHED, difference_cover, least, smallest};

/// Whether some `size` residues modulo `nodes` have all differences; 4 ≤ `size`, `nodes` ≤ 127.
fn is_covered_by(size: usize, nodes: usize) -> bool {
    let mut search = Search {
        nodes,
        size,
        all: u128::MAX >> (128 - nodes),
        classes: ((2_u128 << (nodes / 2)) - 2) as u64,
        forbidden: vec![0; nodes * nodes],
    };
    // Members 0 and 1 lose nothing. So a cover has triples {0, 1, x}, one for each x that is left, and of all that
    // it has up to symmetry some one is tried first: the others need not have those tried before.
    let mut triples = search.triples();
    // Those that waste a difference first: little can follow, and then there are none of them.
    triples.sort_by_key(|&third| search.class(1, third).count_ones());
    triples.into_iter().any(|third| {
        let triple = [0, 1, third];
        let open = search.all & !(0b11 | 1 << third);
        let covered = search.class(0, 1) | search.class(0, third) | search.class(1, third);
        let found = search.completes(&mut triple.to_vec(), covered, open);
        search.forbid(triple);
        found
    })
}

/// A difference and its negative are one class, a bit for each; sets of residues have a bit for each, too.
struct Search {
    nodes: usize,
    size: usize,
    all: u128,
    classes: u64,
    /// For each two residues those that may not come to them.
    forbidden: Vec<u128>,
}

impl Search {
    fn class(&self, a: usize, b: usize) -> u64 {
        let up = a.abs_diff(b);
        1 << up.min(self.nodes - up)
    }

    /// All that have the difference ±`up` to a member of the set.
    fn at_distance(&self, up: usize, set: u128) -> u128 {
        let turned = |by: usize| set << by | set >> (self.nodes - by);
        (turned(up) | turned(self.nodes - up)) & self.all
    }

    fn units(&self) -> impl Iterator<Item = usize> + use<> {
        fn divisor(a: usize, b: usize) -> usize {
            if b == 0 { a } else { divisor(b, a % b) }
        }
        let nodes = self.nodes;
        (1..nodes).filter(move |&unit| divisor(unit, nodes) == 1)
    }

    /// The images of a triple under all x → unit · x + shift.
    fn images(&self, triple: [usize; 3]) -> impl Iterator<Item = [usize; 3]> + use<> {
        let nodes = self.nodes;
        let shifted = move |unit| {
            (0..nodes).map(move |shift| triple.map(|member| (unit * member + shift) % nodes))
        };
        self.units().flat_map(shifted)
    }

    /// An x of each {0, 1, x} that no symmetry makes one of the others.
    fn triples(&self) -> Vec<usize> {
        let mut known = 0b11_u128;
        let mut triples = Vec::new();
        for third in 2..self.nodes {
            if known >> third & 1 == 1 {
                continue;
            }
            triples.push(third);
            for image in self.images([0, 1, third]) {
                let set = image.iter().fold(0, |set: u128, member| set | 1 << member);
                if set & 0b11 == 0b11 {
                    known |= set;
                }
            }
        }
        triples
    }

    /// No triple like this is needed any more.
    fn forbid(&mut self, triple: [usize; 3]) {
        for [a, b, c] in self.images(triple) {
            for (one, other, third) in [(a, b, c), (a, c, b), (b, c, a)] {
                self.forbidden[one * self.nodes + other] |= 1 << third;
                self.forbidden[other * self.nodes + one] |= 1 << third;
            }
        }
    }

    /// Whether `cover` becomes one with members from `open`.
    fn completes(&self, cover: &mut Vec<usize>, covered: u64, open: u128) -> bool {
        let missing = self.classes & !covered;
        if missing == 0 {
            return true;
        }
        let (have, left) = (cover.len(), self.size - cover.len());
        // Each new member has a difference to each old one, and new ones among themselves.
        let among = left * left.saturating_sub(1) / 2;
        let Some(spare) = (left * have + among).checked_sub(missing.count_ones() as usize) else {
            return false;
        };
        let set = cover.iter().fold(0, |set: u128, member| set | 1 << member);
        if left == 1 {
            return bits(missing.into()).fold(open, |open, up| open & self.at_distance(up, set))
                != 0;
        }
        // How many of its differences each would waste, if that is not too many.
        let mut useful: Vec<(usize, u64, usize)> = bits(open)
            .map(|member| {
                let classes = cover.iter().fold(0, |all, &other| all | self.class(member, other));
                (member, classes, have - (classes & missing).count_ones() as usize)
            })
            .collect();
        let Some(least) = useful.iter().map(|(_, _, waste)| *waste).min() else { return false };
        let Some(most) = spare.checked_sub((left - 1) * least) else { return false };
        useful.retain(|(_, _, waste)| *waste <= most);
        let mut open = useful.iter().fold(0, |set: u128, (member, _, _)| set | 1 << member);
        let branches = self.branches(missing, set, open, among + 1);
        for (member, classes, _) in useful {
            if branches >> member & 1 == 0 {
                continue;
            }
            open &= !(1 << member);
            let forbidden = |&other: &usize| self.forbidden[member * self.nodes + other];
            let still = open & !cover.iter().map(forbidden).fold(0, |all, some| all | some);
            cover.push(member);
            let found = self.completes(cover, covered | classes, still);
            cover.pop();
            if found {
                return true;
            }
        }
        false
    }

    /// One of these has to be a member: of so many missing differences, one more than new members can have among
    /// themselves, some one is between a new member and an old one. Those with the fewest choices are taken.
    fn branches(&self, missing: u64, set: u128, open: u128, count: usize) -> u128 {
        // With many of them it is hardly ever less than all.
        if count > 7 || count > missing.count_ones() as usize {
            return open;
        }
        let mut choices: Vec<u128> =
            bits(missing.into()).map(|up| self.at_distance(up, set) & open).collect();
        choices.sort_by_key(|choices| choices.count_ones());
        choices[..count].iter().fold(0, |all, choices| all | choices)
    }
}

/// The places of the bits that are set.
fn bits(mut set: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = (set != 0).then(|| set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(place)
    })
}

#[test]
fn both_searches_agree() {
    for nodes in 13..=SEARCHED {
        let size = smallest(nodes).len();
        assert!(is_covered_by(size, nodes), "{nodes}");
        assert!(size == least(nodes) || !is_covered_by(size - 1, nodes), "{nodes}");
    }
}

/// Beyond the search. That they are covers is tested with all others.
#[test]
fn no_cover_is_smaller() {
    let open: Vec<(usize, usize)> = (SEARCHED + 1..=PROVED)
        .map(|nodes| (nodes, difference_cover(nodes).unwrap().offsets().len() - 1))
        .filter(|&(nodes, smaller)| smaller >= least(nodes))
        .collect();
    // Eleven members take up to a minute each.
    let (long, short): (Vec<_>, Vec<_>) = open.into_iter().partition(|(_, smaller)| *smaller > 10);
    let (quick, others): (Vec<_>, Vec<_>) =
        short.into_iter().partition(|(_, smaller)| *smaller < 10);
    assert_eq!((quick.len(), others.len(), long.len()), (7, 11, 17));
    let long = if is_full() { long } else { Vec::new() };
    let others = sample("smaller cyclic covers", others, 2);
    for (nodes, smaller) in quick.into_iter().chain(others).chain(long) {
        assert!(!is_covered_by(smaller, nodes), "{nodes}");
    }
}
