//! What the judges say of a run, one verdict for each property.

use skeptron_sim::replay::Violation;
use skeptron_sim::trace::{Record, What};

use crate::lab::wire::{AlgorithmKind, RunVerdict};

/// What was watched in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watched {
    pub(super) kind: AlgorithmKind,
    /// Whether only one may be inside at once.
    pub(super) exclusive: bool,
    /// Whether it began in any state, and promises no more than to recover from it.
    pub(super) recovers: bool,
    /// Whether the algorithm promises to keep the order of requests.
    pub(super) order_claimed: bool,
    /// Whether the run went to its end: before, nobody has waited for ever.
    pub(super) to_the_end: bool,
    /// Whether it was simulated here: of a recorded run only some properties are judged.
    pub(super) simulated: bool,
}

/// The first violation of each property: of the records themselves, and of those that played them
/// again.
pub(super) fn of(records: &[Record], replayed: &[Violation], watched: Watched) -> Vec<RunVerdict> {
    let mut found: Vec<(usize, &str, &str)> = Vec::new();
    for (index, record) in records.iter().enumerate() {
        if let What::Violation { property, detail } = &record.what {
            found.push((index, property, detail));
        }
    }
    // The first line of a file is its header.
    found.extend(replayed.iter().map(|v| (v.line.saturating_sub(2), v.property, &*v.detail)));
    found.sort_by_key(|&(index, ..)| index);
    let names: &[&str] = match watched.kind {
        AlgorithmKind::Mutex => &["exclusion", "progress", "order", "fence"],
        AlgorithmKind::Election => &["agreement", "validity", "termination"],
    };
    let others = found.iter().map(|&(_, property, _)| property).filter(|p| !names.contains(p));
    let mut all: Vec<&str> = names.to_vec();
    for other in others {
        if !all.contains(&other) {
            all.push(other);
        }
    }
    let verdict = |property: &&str| match found.iter().find(|(_, name, _)| name == property) {
        Some(&(index, _, detail)) => RunVerdict {
            property: property.to_string(),
            holds: Some(false),
            at: Some(index),
            detail: detail.to_string(),
        },
        None => unviolated(property, watched),
    };
    all.iter().map(verdict).collect()
}

/// The verdict on a property that nobody found violated.
fn unviolated(property: &str, watched: Watched) -> RunVerdict {
    let (holds, detail) = match property {
        "exclusion" if watched.recovers => {
            (true, "never two inside at once since the state is legitimate")
        }
        "exclusion" if !watched.exclusive => (true, "never more inside at once than may be"),
        "exclusion" => (true, "never two inside at once"),
        "fence" if !watched.exclusive => {
            (false, "not judged: entries that share the section are not ordered")
        }
        "fence" if watched.recovers => (
            true,
            "every entry since the state is legitimate has a higher fence than the one before",
        ),
        "fence" => (true, "every entry has a higher fence than the one before"),
        "agreement" => (true, "no epoch has two leaders"),
        "validity" => (true, "whoever was named was alive, and the highest where that is promised"),
        "order" if !watched.order_claimed => {
            (false, "not promised: requests may overtake those that happened before")
        }
        _ if !watched.simulated => (false, "not judged in a recorded run"),
        "order" => (true, "nobody overtook a request that happened before"),
        _ if !watched.to_the_end => (false, "open: the run was cut off before its end"),
        "progress" => (true, "nobody waits for ever"),
        _ => (true, "every election came to its end"),
    };
    RunVerdict {
        property: property.into(),
        holds: holds.then_some(true),
        at: None,
        detail: detail.into(),
    }
}
