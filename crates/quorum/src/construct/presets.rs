//! Systems known from the literature, in their one size.

use skeptron_core::NodeId;

use super::translates;

/// Members counted from 1, as in Maekawa (1985) and spec 2.5.
pub(super) const MAEKAWA_13: [[usize; 4]; 13] = [
    [1, 2, 3, 4],
    [2, 5, 8, 11],
    [3, 6, 8, 13],
    [4, 6, 10, 11],
    [1, 5, 6, 7],
    [2, 6, 9, 12],
    [2, 7, 10, 13],
    [1, 8, 9, 10],
    [3, 7, 9, 11],
    [3, 5, 10, 12],
    [1, 11, 12, 13],
    [4, 7, 8, 12],
    [4, 5, 9, 13],
];

/// How many points and lines the Fano plane has.
pub(super) const FANO: usize = 7;

pub(super) fn maekawa_13() -> Vec<Vec<NodeId>> {
    MAEKAWA_13.map(|quorum| quorum.map(|member| NodeId::new(member - 1)).to_vec()).to_vec()
}

/// The plane on which Maekawa's published rules deadlock (spec 2.5).
pub(super) fn fano() -> Vec<Vec<NodeId>> {
    translates(FANO, &[0, 1, 3])
}

#[cfg(test)]
mod tests {
    use crate::tests::{degrees, listed};
    use crate::{Construction, parse_file, quorums};

    /// Spec 2.5, word for word.
    #[test]
    fn the_13_nodes_are_those_of_the_spec() {
        let spec = "1: 1 2 3 4 · 2: 2 5 8 11 · 3: 3 6 8 13 · 4: 4 6 10 11 · 5: 1 5 6 7 · \
            6: 2 6 9 12 · 7: 2 7 10 13 · 8: 1 8 9 10 · 9: 3 7 9 11 · 10: 3 5 10 12 · \
            11: 1 11 12 13 · 12: 4 7 8 12 · 13: 4 5 9 13";
        let quorums = quorums(&Construction::Maekawa13, 13).unwrap();
        assert_eq!(
            quorums,
            parse_file(&spec.replace('·', "\n"), None).unwrap().system("spec").unwrap().into()
        );
        assert_eq!(degrees(&quorums), [4; 13]);
    }

    #[test]
    fn the_fano_plane_has_seven_lines() {
        let quorums = quorums(&Construction::Fano, 7).unwrap();
        assert_eq!(
            listed(&quorums),
            [[1, 2, 4], [2, 3, 5], [3, 4, 6], [4, 5, 7], [1, 5, 6], [2, 6, 7], [1, 3, 7]]
        );
    }
}
