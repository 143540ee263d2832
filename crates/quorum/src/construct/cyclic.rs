//! Cyclic quorums: a difference cover D of `Z_N`, that is D − D = `Z_N`, and its translates
//! S_i = D + i. Two of them meet because j − i is a difference of D (Luk & Wong 1997).

use skeptron_core::topology::Quorums;

use super::{Construction, QuorumError, projective, translates};
use crate::system::System;

/// Up to here the search for a smallest cover takes tens of milliseconds at worst, and a set of
/// differences is one word.
const SEARCHED: usize = u64::BITS as usize;

/// Up to here none is smaller: tests prove it by a search up to symmetry, which takes minutes.
const PROVED: usize = 111;

/// Beyond the search, covers with one member less than the best ruler has, found by annealing and by that search.
const FOUND: [(usize, &[usize]); 23] = [
    (65, &[0, 1, 2, 13, 16, 32, 39, 57, 61]),
    (74, &[0, 1, 7, 15, 42, 44, 47, 51, 63, 64]),
    (75, &[0, 1, 2, 18, 20, 27, 30, 33, 41, 71]),
    (76, &[0, 1, 4, 10, 18, 29, 34, 41, 54, 56]),
    (77, &[0, 1, 11, 13, 15, 18, 20, 47, 53, 69]),
    (78, &[0, 1, 6, 12, 14, 30, 33, 40, 53, 75]),
    (79, &[0, 1, 11, 33, 35, 39, 42, 49, 54, 62]),
    (88, &[0, 1, 3, 8, 14, 24, 32, 49, 58, 69, 84]),
    (89, &[0, 1, 3, 6, 19, 35, 42, 55, 59, 80, 81]),
    (90, &[0, 1, 3, 8, 21, 25, 34, 40, 44, 63, 79]),
    (92, &[0, 1, 2, 7, 18, 28, 31, 41, 73, 77, 85]),
    (93, &[0, 1, 7, 9, 21, 24, 26, 37, 61, 71, 75]),
    (95, &[0, 1, 2, 5, 8, 17, 28, 39, 53, 63, 82]),
    (102, &[0, 1, 2, 3, 4, 6, 13, 28, 34, 42, 50, 85]),
    (103, &[0, 1, 2, 3, 4, 7, 38, 53, 62, 77, 85, 93]),
    (104, &[0, 1, 2, 3, 4, 9, 19, 32, 46, 57, 72, 84]),
    (105, &[0, 1, 2, 3, 4, 10, 15, 36, 39, 61, 66, 89]),
    (106, &[0, 1, 2, 3, 5, 48, 53, 69, 76, 82, 89, 97]),
    (107, &[0, 1, 2, 3, 5, 20, 27, 35, 42, 48, 58, 98]),
    (108, &[0, 1, 2, 3, 7, 12, 20, 34, 41, 49, 57, 85]),
    (109, &[0, 1, 2, 3, 7, 15, 39, 49, 58, 83, 89, 94]),
    (110, &[0, 1, 2, 6, 17, 25, 39, 43, 46, 52, 80, 100]),
    (111, &[0, 1, 2, 5, 12, 27, 36, 38, 44, 52, 65, 93]),
];

/// A set D of residues modulo N whose differences are all residues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    offsets: Vec<usize>,
    minimal: bool,
}

impl Cover {
    /// Its members in ascending order; the first is 0.
    #[must_use]
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Whether it is proved that no cover has fewer members: by exhaustive search up to N = 111,
    /// beyond that by counting, since K members have K(K−1) differences besides 0.
    #[must_use]
    pub fn is_minimal(&self) -> bool {
        self.minimal
    }
}

/// A difference cover of `Z_N` for N = `nodes`: a smallest one up to N = 111 and for N = q² + q + 1
/// with q a prime power, one of at most about √(1.5 N) members otherwise.
///
/// # Errors
/// If there are no nodes, or more than [`Construction::most_nodes`].
pub fn difference_cover(nodes: usize) -> Result<Cover, QuorumError> {
    Construction::Cyclic.admits(nodes)?;
    if nodes <= SEARCHED {
        return Ok(Cover { offsets: smallest(nodes), minimal: true });
    }
    let found = FOUND.iter().find(|(found, _)| *found == nodes);
    let offsets = match (projective::difference_set(nodes), found) {
        (Some(perfect), _) => perfect,
        (None, Some((_, cover))) => cover.to_vec(),
        (None, None) => ruler(nodes / 2),
    };
    let minimal = nodes <= PROVED || offsets.len() == least(nodes);
    Ok(Cover { offsets, minimal })
}

pub(super) fn system(nodes: usize) -> Result<System, QuorumError> {
    let cover = difference_cover(nodes)?;
    let quorums = Quorums::new(translates(nodes, cover.offsets()))?;
    let (size, least) = (cover.offsets().len(), least(nodes));
    let note = if size == least {
        "the cover is the smallest possible: proved by counting".to_owned()
    } else if cover.is_minimal() {
        "the cover is the smallest possible: proved by search".to_owned()
    } else {
        format!(
            "the cover is good but perhaps not the smallest: {size} members, at least {least} are needed"
        )
    };
    Ok(System::of_assigned(Construction::Cyclic.to_string(), quorums).with_note(note))
}

/// The least K with K(K−1) + 1 ≥ N.
fn least(nodes: usize) -> usize {
    let root = (nodes - 1).isqrt();
    if root * (root + 1) + 1 >= nodes { root + 1 } else { root + 2 }
}

/// The first of the smallest covers in lexicographic order.
fn smallest(nodes: usize) -> Vec<usize> {
    let mut size = least(nodes);
    loop {
        // Members 0 and 1 lose nothing: 1 is the difference of some pair, and D can be shifted.
        let mut search = Search { nodes, size, cover: vec![0] };
        let mut differences = 1;
        if nodes > 1 {
            differences = search.with(differences, 1);
            search.cover.push(1);
        }
        if search.complete(differences) {
            return search.cover;
        }
        size += 1;
    }
}

/// The search for a cover of a given size by branch and bound.
struct Search {
    nodes: usize,
    size: usize,
    cover: Vec<usize>,
}

impl Search {
    /// Adds members above the last one until every difference has its bit; if that fails, the cover
    /// is as it was.
    fn complete(&mut self, differences: u64) -> bool {
        let (have, size) = (self.cover.len(), self.size);
        let open = self.nodes - differences.count_ones() as usize;
        if open == 0 {
            return true;
        }
        // Every pair that is still to come has two differences.
        if open > size * (size - 1) - have * (have - 1) {
            return false;
        }
        for member in self.cover[have - 1] + 1..self.nodes {
            let differences = self.with(differences, member);
            self.cover.push(member);
            if self.complete(differences) {
                return true;
            }
            self.cover.pop();
        }
        false
    }

    /// The differences with those between `member` and the cover.
    fn with(&self, differences: u64, member: usize) -> u64 {
        self.cover.iter().fold(differences, |differences, other| {
            let up = member - other;
            differences | 1 << up | 1 << (self.nodes - up)
        })
    }
}

/// The ruler with the fewest marks known here that measures every distance up to `length`. With ⌊N/2⌋
/// its marks cover `Z_N`.
fn ruler(length: usize) -> Vec<usize> {
    let perfect = BASES.iter().filter_map(|base| singer_ruler(base, length));
    perfect
        .fold(wichmann(length), |best, other| if other.len() < best.len() { other } else { best })
}

/// Rulers that measure every distance up to their length and are best to begin with.
const BASES: [&[usize]; 3] = [&[0, 1, 4, 6], &[0, 1, 4, 7, 9], &[0, 1, 2, 6, 10, 13]];

/// A difference set D of `Z_v` repeated at the multiples of v that `base` names (Rédei & Rényi 1949,
/// Leech 1956). A distance is ρ + jv with 0 ≤ ρ < v, and two members of D differ by ρ or by ρ − v: with j
/// or j + 1 between their repetitions it is measured, as long as `base` measures j + 1. Beyond that are
/// still those ρ that no two members have across the end of D, the widest gap.
fn singer_ruler(base: &[usize], length: usize) -> Option<Vec<usize>> {
    let longest = *base.last()?;
    // Smaller ones are too small even with a gap as wide as v.
    let sizes = (1..).map(projective::nodes).skip_while(|v| (longest + 1) * v <= length);
    let sets = sizes.take_while(|&v| v <= 2 * length);
    let sets = sets.filter_map(|v| Some((v, widest_gap_last(v, projective::difference_set(v)?))));
    let measures = |v: usize, set: &[usize]| longest * v + (v - set[set.len() - 1]) > length;
    let (v, set) = sets.into_iter().find(|(v, set)| measures(*v, set))?;
    Some(base.iter().flat_map(|times| set.iter().map(move |member| times * v + member)).collect())
}

/// The set shifted so that it begins with 0 and its widest gap is the one from the last member to v.
fn widest_gap_last(v: usize, set: Vec<usize>) -> Vec<usize> {
    let before = set.iter().cycle().skip(set.len() - 1);
    let gap = |&(before, first): &(&usize, &usize)| (first + v - before) % v;
    let (_, first) = before.zip(&set).max_by_key(gap).unwrap_or((&0, &0));
    let mut shifted: Vec<_> = set.iter().map(|member| (member + v - first) % v).collect();
    shifted.sort_unstable();
    shifted
}

/// A Wichmann ruler of at least this length: it measures every distance up to its end (Wichmann 1963,
/// Colbourn & Ling 2000). Its steps, each with how often it comes: 1 r×, r+1, 2r+1 r×, 4r+3 s×,
/// 2r+2 (r+1)×, 1 r×.
fn wichmann(length: usize) -> Vec<usize> {
    // The length is 4r(r+2) + 3 + s(4r+3), and there are 4r+s+3 marks.
    let fitting_s = |r: usize| length.saturating_sub(4 * r * (r + 2) + 3).div_ceil(4 * r + 3);
    let marks = |r: &usize| 4 * r + fitting_s(*r) + 3;
    let r = (0..=length.isqrt()).min_by_key(marks).unwrap_or(0);
    let steps =
        [(1, r), (r + 1, 1), (2 * r + 1, r), (4 * r + 3, fitting_s(r)), (2 * r + 2, r + 1), (1, r)];
    let mut ruler = vec![0];
    let mut end = 0;
    for (step, times) in steps {
        for _ in 0..times {
            end += step;
            ruler.push(end);
        }
    }
    ruler
}

#[cfg(test)]
mod proof;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{degrees, listed};
    use crate::{build, quorums};

    fn is_cover(nodes: usize, offsets: &[usize]) -> bool {
        let mut open = vec![true; nodes];
        for a in offsets {
            for b in offsets {
                open[(a + nodes - b) % nodes] = false;
            }
        }
        !open.contains(&true)
    }

    /// Spec 3: smallest cyclic covers, and larger perfect difference sets.
    #[test]
    fn smallest_covers_have_their_published_sizes() {
        let published = [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 6];
        let perfect =
            [(21, 5), (31, 6), (57, 8), (73, 9), (91, 10), (133, 12), (183, 14), (273, 17)];
        for (nodes, size) in (1..).zip(published).chain(perfect) {
            let cover = difference_cover(nodes).unwrap();
            assert_eq!(cover.offsets().len(), size, "{nodes}");
            assert!(cover.is_minimal(), "{nodes}");
        }
    }

    /// An independent count: every set of one member less than the smallest cover, without bounds
    /// and without symmetry.
    #[test]
    fn the_search_misses_no_smaller_cover() {
        for nodes in 2..=20 {
            let size = smallest(nodes).len() - 1;
            let sets = (0u32..1 << nodes).filter(|set| set.count_ones() as usize == size);
            for set in sets {
                let offsets: Vec<_> = (0..nodes).filter(|i| set >> i & 1 == 1).collect();
                assert!(!is_cover(nodes, &offsets), "{nodes}: {offsets:?}");
            }
        }
    }

    /// Where counting alone does not decide.
    #[test]
    fn exhaustion_exceeds_the_counting_bound_where_it_must() {
        for nodes in 1..=10_000 {
            assert_eq!(Some(least(nodes)), (1..).find(|k| k * (k - 1) + 1 >= nodes), "{nodes}");
        }
        let above: Vec<_> = (1..=57).filter(|&n| smallest(n).len() > least(n)).collect();
        assert_eq!(above, [20, 29, 30, 38, 40, 41, 42, 43, 52, 53, 54, 55, 56]);
    }

    #[test]
    fn every_cover_covers_and_is_small() {
        for nodes in 1..=10_000 {
            let cover = difference_cover(nodes).unwrap();
            let offsets = cover.offsets();
            assert_eq!(offsets[0], 0, "{nodes}");
            assert!(offsets.is_sorted_by(|a, b| a < b) && offsets[offsets.len() - 1] < nodes);
            assert!(is_cover(nodes, offsets), "{nodes}");
            assert!(offsets.len() >= least(nodes), "{nodes}");
            assert!(offsets.len() as f64 <= (1.5 * nodes as f64).sqrt() + 1.0, "{nodes}");
        }
    }

    /// That they cover is tested with all others.
    #[test]
    fn found_covers_are_smaller_than_rulers() {
        for (nodes, offsets) in FOUND {
            assert_eq!(difference_cover(nodes).unwrap().offsets(), offsets, "{nodes}");
            assert_eq!(offsets.len() + 1, ruler(nodes / 2).len(), "{nodes}");
        }
    }

    #[test]
    fn what_is_not_proved_is_not_called_minimal() {
        assert!((1..=PROVED).all(|nodes| difference_cover(nodes).unwrap().is_minimal()));
        assert!(!difference_cover(PROVED + 1).unwrap().is_minimal());
        assert!(!difference_cover(1_000).unwrap().is_minimal());
        assert!(difference_cover(9_507).unwrap().is_minimal());
    }

    #[test]
    fn rulers_measure_every_distance() {
        for length in 1..=400 {
            let singer = BASES.iter().filter_map(|base| singer_ruler(base, length));
            for ruler in singer.chain([wichmann(length)]) {
                let measures = |d: usize| ruler.iter().any(|mark| ruler.contains(&(mark + d)));
                assert!((1..=length).all(measures), "{length}: {ruler:?}");
            }
        }
    }

    /// Repeated difference sets are better than Wichmann's for almost half of all N.
    #[test]
    fn the_better_ruler_is_taken() {
        let saved = |nodes: usize| wichmann(nodes / 2).len() - ruler(nodes / 2).len();
        assert_eq!(difference_cover(10_000).unwrap().offsets().len(), 120);
        let better = (65..=10_000).step_by(10).filter(|&nodes| saved(nodes) > 0).count();
        assert!(better > 450, "{better}");
    }

    #[test]
    fn the_note_says_what_is_proved() {
        let note = |nodes| build(&Construction::Cyclic, nodes).unwrap().notes().to_vec();
        assert_eq!(note(13), ["the cover is the smallest possible: proved by counting"]);
        assert_eq!(note(20), ["the cover is the smallest possible: proved by search"]);
        assert_eq!(note(91), ["the cover is the smallest possible: proved by counting"]);
        assert_eq!(note(100), ["the cover is the smallest possible: proved by search"]);
        assert_eq!(
            note(1_000),
            ["the cover is good but perhaps not the smallest: 39 members, at least 33 are needed"]
        );
    }

    #[test]
    fn conditions_3_and_4_hold_for_every_size() {
        for nodes in 1..=200 {
            let quorums = quorums(&Construction::Cyclic, nodes).unwrap();
            let size = difference_cover(nodes).unwrap().offsets().len();
            assert!(quorums.iter().all(|set| set.len() == size), "{nodes}");
            assert_eq!(degrees(&quorums), vec![size; nodes], "{nodes}");
        }
        assert_eq!(quorums(&Construction::Cyclic, 10_000).unwrap().mean_size(), 120.0);
    }

    #[test]
    fn the_quorums_are_translates() {
        let quorums = quorums(&Construction::Cyclic, 5).unwrap();
        assert_eq!(listed(&quorums), [[1, 2, 3], [2, 3, 4], [3, 4, 5], [1, 4, 5], [1, 2, 5]]);
    }
}
