//! Broken variants of the rules of kinds: each leaves out one of them, in order to be refuted.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::catalogue::{Breaks, Broken};

/// What a broken variant gets wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharingFlaw {
    /// The register does not travel.
    RegisterStays,
    /// An exclusive entry does not wait for others to leave.
    AsksNobody,
    /// Whoever is asked says at once that it has left.
    LeavesEarly,
    /// Whoever waits holding the inner lock releases it.
    DoorAjar,
    /// An upgrader says nothing to whoever waits for it.
    UpgradersWait,
    /// An answer to an earlier question counts.
    LateLeft,
    /// An upgrader goes first while others are inside.
    LendsEarly,
    /// Whoever asked and does not want in any more leaves the register as it was.
    CancelsUnwritten,
    /// A LEND for an upgrade that was called off counts for the next one.
    LateLend,
}

impl SharingFlaw {
    /// All of them.
    pub const ALL: [SharingFlaw; 9] = [
        SharingFlaw::RegisterStays,
        SharingFlaw::AsksNobody,
        SharingFlaw::LeavesEarly,
        SharingFlaw::DoorAjar,
        SharingFlaw::UpgradersWait,
        SharingFlaw::LateLeft,
        SharingFlaw::LendsEarly,
        SharingFlaw::CancelsUnwritten,
        SharingFlaw::LateLend,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SharingFlaw::RegisterStays => "register-stays",
            SharingFlaw::AsksNobody => "asks-nobody",
            SharingFlaw::LeavesEarly => "leaves-early",
            SharingFlaw::DoorAjar => "door-ajar",
            SharingFlaw::UpgradersWait => "upgraders-wait",
            SharingFlaw::LateLeft => "late-left",
            SharingFlaw::LendsEarly => "lends-early",
            SharingFlaw::CancelsUnwritten => "cancels-unwritten",
            SharingFlaw::LateLend => "late-lend",
        }
    }

    /// What is wrong with it, and how that is shown with each inner algorithm.
    #[must_use]
    pub fn broken(self) -> Broken {
        let (flaw, breaks, shown_by, refuted_by) = match self {
            SharingFlaw::RegisterStays => (
                "the register does not travel with the algorithm's messages",
                Breaks::Safety,
                "-n 3 --modes shared,exclusive --section exp:5",
                "-n 2 --requests 1 --modes shared,exclusive",
            ),
            SharingFlaw::AsksNobody => (
                "an exclusive entry does not wait until those inside have left",
                Breaks::Safety,
                "-n 3 --modes shared,exclusive --section exp:5",
                "-n 2 --requests 1 --modes shared,exclusive",
            ),
            SharingFlaw::LeavesEarly => (
                "whoever is asked says that it has left while it is still inside",
                Breaks::Safety,
                "-n 3 --modes shared,exclusive --section exp:5",
                "-n 2 --requests 1 --modes shared,exclusive",
            ),
            SharingFlaw::DoorAjar => (
                "whoever waits holding the inner lock for others to leave lets newcomers pass",
                Breaks::Safety,
                "-n 3 --modes shared,exclusive --section exp:5",
                "-n 3 --requests 1 --modes shared,shared,exclusive",
            ),
            SharingFlaw::UpgradersWait => (
                "an upgrader says nothing to whoever waits for it holding the inner lock",
                Breaks::Liveness,
                "-n 3 --modes upgrade --section exp:5",
                "-n 2 --requests 1 --modes upgrade",
            ),
            SharingFlaw::LateLeft => (
                "a LEFT of an earlier round counts",
                Breaks::Safety,
                "-n 3 --modes 3*permits:2+exclusive --section exp:1 --order any --latency pareto:0.1,1",
                "-n 3 --requests 2 --order any --modes permits:2,permits:2,permits:2+exclusive",
            ),
            SharingFlaw::LendsEarly => (
                "an upgrader goes first while others are still inside",
                Breaks::Safety,
                "-n 3 --modes upgrade,shared,exclusive --section exp:5",
                "-n 3 --requests 1 --modes upgrade,shared,exclusive",
            ),
            SharingFlaw::CancelsUnwritten => (
                "whoever asked and does not want in any more leaves the register as it was",
                Breaks::Refused,
                "-n 3 --modes 3*permits:2+try:exclusive --section exp:1 --order any --latency pareto:0.1,1",
                "-n 3 --requests 2 --order any --modes permits:2,permits:2,try:exclusive+permits:2",
            ),
            SharingFlaw::LateLend => (
                "a LEND for an upgrade that was called off counts for the next one",
                Breaks::Safety,
                "-n 3 --modes try:upgrade:3,shared,try:exclusive --section exp:1 --order any --latency pareto:0.1,1",
                "-n 3 --requests 1 --modes try:upgrade:2,shared,try:exclusive",
            ),
        };
        Broken { flaw, breaks, shown_by, refuted_by }
    }
}

impl fmt::Display for SharingFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no flaw has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no flaw of kinds named `{0}`; there are {names}", names = names())]
pub struct UnknownFlaw(String);

fn names() -> String {
    SharingFlaw::ALL.map(SharingFlaw::name).join(", ")
}

impl FromStr for SharingFlaw {
    type Err = UnknownFlaw;

    fn from_str(text: &str) -> Result<Self, UnknownFlaw> {
        let found = SharingFlaw::ALL.into_iter().find(|flaw| flaw.name() == text);
        found.ok_or_else(|| UnknownFlaw(text.into()))
    }
}
