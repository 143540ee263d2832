//! The table of all figures.

use skeptron_core::catalogue::Info;

use super::{Page, frame};
use crate::ask::compare::{Figure, Row};

/// What the letters in claims stand for.
const SYMBOLS: &str = "N nodes, K mean quorum size, D diameter of \
     the tree, d distance to the first holder, L and U Sanders’ bounds, H harmonic number, \
     E time inside.";

impl Page<'_> {
    pub(super) fn figures(&self) -> String {
        let groups: String = self.algorithms.iter().map(|info| self.group(info)).collect();
        frame::figures(SYMBOLS, self.nodes, &groups)
    }

    fn group(&self, info: &Info) -> String {
        let row = |figure: Figure| {
            let found = self.nodes.iter().map(|&n| Row::find(self.rows, info.name, n, figure));
            frame::row(figure.title(), &found.collect::<Vec<_>>())
        };
        let rows: String = Figure::ALL.into_iter().map(row).collect();
        frame::group(info, self.nodes.len(), &rows)
    }
}
