//! What can go wrong.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One way to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// Frames, words of handshakes and requests of clients get lost.
    Loss,
    /// Frames arrive twice.
    Duplication,
    /// Frames overtake each other.
    Reordering,
    /// Connections break.
    Resets,
    /// Members and clients stand still for a while.
    Pauses,
    /// Members do not hear each other, in both directions or in one, all or some.
    Partitions,
    /// A direction of a link is slow for a while.
    Slow,
    /// Clocks run at different rates, within the bound.
    Drift,
    /// Voters decide views and grant leases; now and then a view with the same members, or another
    /// length of leases, is ordered. Without it the membership is fixed.
    Views,
    /// Members lose their memory and start again as another life. With views, leases decide who is
    /// excluded, and the new life joins; with a fixed membership it is refused for ever.
    Crashes,
    /// Deliveries on other links come between a step of a member and the leaving of what it sent.
    Interleaving,
    /// What a voter had not synced when it crashed is lost, or half written.
    Disk,
    /// All members lose their memory at once.
    Power,
    /// Members leave cleanly and come back.
    Leaves,
    /// Clients use ever new names, of which members may know few.
    Names,
    /// An administrator breaks locks.
    Unlocks,
    /// Clocks run at rates beyond the bound, which voids all promises but those about fences and views.
    Clocks,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [FaultKind; 17] = [
        FaultKind::Loss,
        FaultKind::Duplication,
        FaultKind::Reordering,
        FaultKind::Resets,
        FaultKind::Pauses,
        FaultKind::Partitions,
        FaultKind::Slow,
        FaultKind::Drift,
        FaultKind::Views,
        FaultKind::Crashes,
        FaultKind::Interleaving,
        FaultKind::Disk,
        FaultKind::Power,
        FaultKind::Leaves,
        FaultKind::Names,
        FaultKind::Unlocks,
        FaultKind::Clocks,
    ];

    /// What only a cluster with views can meet.
    pub const NEED_VIEWS: [FaultKind; 5] =
        [FaultKind::Disk, FaultKind::Power, FaultKind::Leaves, FaultKind::Names, FaultKind::Clocks];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::Loss => "loss",
            FaultKind::Duplication => "duplication",
            FaultKind::Reordering => "reordering",
            FaultKind::Resets => "resets",
            FaultKind::Pauses => "pauses",
            FaultKind::Partitions => "partitions",
            FaultKind::Slow => "slow",
            FaultKind::Drift => "drift",
            FaultKind::Views => "views",
            FaultKind::Crashes => "crashes",
            FaultKind::Interleaving => "interleaving",
            FaultKind::Disk => "disk",
            FaultKind::Power => "power",
            FaultKind::Leaves => "leaves",
            FaultKind::Names => "names",
            FaultKind::Unlocks => "unlocks",
            FaultKind::Clocks => "clocks",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What goes wrong in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Faults(u32);

impl Faults {
    /// Nothing.
    pub const NONE: Faults = Faults(0);

    /// What a fixed membership promises to survive.
    pub const FIXED: Faults = {
        use FaultKind::{
            Drift, Duplication, Interleaving, Loss, Partitions, Pauses, Reordering, Resets, Slow,
        };
        Faults::of(&[
            Loss,
            Duplication,
            Reordering,
            Resets,
            Pauses,
            Partitions,
            Slow,
            Drift,
            Interleaving,
        ])
    };

    /// What a cluster with views promises to survive: everything but clocks beyond the bound.
    pub const ALL: Faults = Faults::FIXED
        .with(FaultKind::Views)
        .with(FaultKind::Crashes)
        .with(FaultKind::Disk)
        .with(FaultKind::Power)
        .with(FaultKind::Leaves)
        .with(FaultKind::Names)
        .with(FaultKind::Unlocks);

    /// Exactly these.
    #[must_use]
    pub const fn of(kinds: &[FaultKind]) -> Self {
        let (mut bits, mut place) = (0, 0);
        while place < kinds.len() {
            bits |= 1 << kinds[place] as u32;
            place += 1;
        }
        Faults(bits)
    }

    /// These and one more.
    #[must_use]
    pub const fn with(self, kind: FaultKind) -> Self {
        Faults(self.0 | 1 << kind as u32)
    }

    /// Whether this is among them.
    #[must_use]
    pub const fn has(self, kind: FaultKind) -> bool {
        self.0 & 1 << kind as u32 != 0
    }
}

impl Default for Faults {
    fn default() -> Self {
        Faults::FIXED
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = FaultKind::ALL
            .into_iter()
            .filter(|&kind| self.has(kind))
            .map(FaultKind::name)
            .collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

impl FromStr for Faults {
    type Err = String;

    /// A list with commas; `fixed` stands for what a fixed membership survives, `all` for what a cluster
    /// with views does.
    fn from_str(list: &str) -> Result<Self, String> {
        let mut faults = Faults::NONE;
        for name in list.split(',').map(str::trim) {
            match name {
                "none" => {}
                "fixed" => faults.0 |= Faults::FIXED.0,
                "all" => faults.0 |= Faults::ALL.0,
                _ => {
                    let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name);
                    let names = || FaultKind::ALL.map(FaultKind::name).join(", ");
                    faults = faults.with(kind.ok_or_else(|| {
                        format!(
                            "there is no fault `{name}`; there are {}, fixed, all, none",
                            names()
                        )
                    })?);
                }
            }
        }
        Ok(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_is_written() {
        for list in ["none", "loss,slow", "views,crashes"] {
            assert_eq!(list.parse::<Faults>().unwrap().to_string(), list);
        }
        assert_eq!("fixed".parse(), Ok(Faults::FIXED));
        assert_eq!("fixed, views".parse(), Ok(Faults::FIXED.with(FaultKind::Views)));
        assert!("rain".parse::<Faults>().unwrap_err().contains("`rain`"));
    }
}
