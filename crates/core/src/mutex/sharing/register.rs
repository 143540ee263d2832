//! Who is inside, as whoever held the inner lock last left it.

use serde::{Deserialize, Serialize};

use crate::mutex::Mode;
use crate::time::plausible;
use crate::{NodeId, Refused};

/// How many entries a node has inside, and how many the strictest of them tolerates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Presence {
    /// Entries inside.
    pub count: u32,
    /// The smallest mode of them; [`Mode::SHARED`] if there is none.
    pub least: Mode,
}

impl Presence {
    /// Nobody inside.
    pub const NONE: Presence = Presence { count: 0, least: Mode::SHARED };

    /// What these entries come to.
    #[must_use]
    pub fn of(entries: &[Mode]) -> Self {
        let least = entries.iter().copied().min().unwrap_or(Mode::SHARED);
        Presence { count: entries.len() as u32, least }
    }
}

/// The presence of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Row {
    /// Whose.
    pub node: NodeId,
    /// What it has inside, or had: leaving is written down by the next that holds the inner lock.
    pub here: Presence,
}

/// Who is inside, or was when the inner lock was last held. Only the node that holds it writes it, so versions
/// are never written twice, and the newest is right but for those who have left since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Register {
    /// Rises whenever the rows change.
    pub version: u64,
    /// Who is inside, by node; nobody is left out, and nobody is listed with none.
    pub rows: Vec<Row>,
}

impl Register {
    /// The register of a lock that begins with these entries inside, by node.
    #[must_use]
    pub fn of(inside: &[Vec<Mode>]) -> Self {
        let rows = NodeId::all(inside.len()).zip(inside);
        let rows = rows.map(|(node, entries)| Row { node, here: Presence::of(entries) });
        Register { version: 0, rows: rows.filter(|row| row.here.count > 0).collect() }
    }

    /// Refuses what no correct node of a system of `n` writes.
    pub(crate) fn check(&self, n: usize) -> Result<(), Refused> {
        plausible(self.version)?;
        let ordered = self.rows.windows(2).all(|pair| pair[0].node < pair[1].node);
        let known = self.rows.iter().all(|row| row.node.index() < n && row.here.count > 0);
        if ordered && known {
            Ok(())
        } else {
            Err(Refused::Unexpected("a register that nobody can have written"))
        }
    }
}
