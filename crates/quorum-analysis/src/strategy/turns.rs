//! How a quorum of gates is spread evenly over all nodes that are alike.

use std::collections::{BTreeMap, BTreeSet};

use num_rational::Ratio;
use skeptron_core::NodeId;
use skeptron_quorum::gates::Turning;

use super::Share;

/// Up to so many members of quorums are written out.
const MOST_MEMBERS: usize = 2_000_000;

/// Each quorum turned through the symmetries of the gates for as long as its probability says, so that
/// alike nodes are asked equally often. None if that takes too many quorums.
pub(super) fn spread(
    turning: &Turning<'_>,
    class_of: &[usize],
    forms: &[Share],
) -> Option<Vec<Share>> {
    let moments: Vec<Vec<Ratio<usize>>> =
        forms.iter().map(|form| moments(class_of, &form.quorum)).collect();
    let members = |(form, moments): (&Share, &Vec<_>)| form.quorum.len() * moments.len();
    let written = forms.iter().zip(&moments).map(members).sum::<usize>();
    if written > MOST_MEMBERS {
        return None;
    }
    let mut shares: BTreeMap<Vec<NodeId>, f64> = BTreeMap::new();
    for (form, moments) in forms.iter().zip(&moments) {
        let ends = moments.iter().skip(1).copied().chain([Ratio::from_integer(1)]);
        for (start, end) in moments.iter().zip(ends) {
            let quorum = turning.quorum(&form.quorum, *start.numer(), *start.denom());
            let length = end - start;
            let part = *length.numer() as f64 / *length.denom() as f64;
            *shares.entry(quorum).or_default() += form.probability * part;
        }
    }
    let share = |(quorum, probability)| Share { quorum, probability };
    Some(shares.into_iter().map(share).collect())
}

/// At which parts of a full turn the image of `quorum` may change.
///
/// A gate moves its alike members on at the multiples of 1/their number, and what is left of the turn
/// turns them inside, so a node moves at the multiples of 1/(the product of these numbers on the way to
/// it), and that product is the size of its class. A class that is in the quorum as a whole, or not at
/// all, looks the same after every turn.
fn moments(class_of: &[usize], quorum: &[NodeId]) -> Vec<Ratio<usize>> {
    let classes = class_of.iter().max().map_or(0, |last| last + 1);
    let (mut sizes, mut members) = (vec![0; classes], vec![0; classes]);
    for &class in class_of {
        sizes[class] += 1;
    }
    for node in quorum {
        members[class_of[node.index()]] += 1;
    }
    let is_parted = |(size, members): &(&usize, usize)| 0 < *members && *members < **size;
    let parted: BTreeSet<usize> =
        sizes.iter().zip(members).filter(is_parted).map(|(size, _)| *size).collect();
    let multiples = parted.into_iter().flat_map(|size| (0..size).map(move |i| Ratio::new(i, size)));
    multiples.chain([Ratio::from_integer(0)]).collect::<BTreeSet<_>>().into_iter().collect()
}
