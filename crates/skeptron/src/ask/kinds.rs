//! Options of `sim` and `check` for locks with kinds.

use anyhow::{Context as _, Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use skeptron_core::catalogue::Info;
use skeptron_core::mutex::Usage;
use skeptron_core::mutex::shared::offers_kinds;
use skeptron_core::mutex::sharing::SharingFlaw;
use ts_rs::TS;

/// What the requests of a lock with kinds are for.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize, TS)]
#[serde(default)]
#[ts(optional_fields)]
pub struct KindsArgs {
    /// As what the nodes enter, over central, ricart-agrawala or naimi-trehel: for each node exclusive, shared,
    /// permits:K, upgrade (shared, then perhaps exclusive) or downgrade (exclusive, then shared), as in
    /// shared,shared,exclusive; with fewer than nodes the list begins again. Several for one node are joined by
    /// +, as in 9*shared+exclusive: `check` goes through them, `sim` draws one for each request
    #[arg(long, value_name = "LIST", help_heading = "Kinds")]
    pub modes: Option<String>,
    /// With --modes: how many entries of one node may be inside at once [default: 1]
    #[arg(long, value_name = "K", help_heading = "Kinds", requires = "modes")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..))]
    pub at_once: Option<u8>,
    /// With --modes: leave out one rule of kinds, to see what breaks; docs/kinds.md has their names
    #[arg(long, value_name = "NAME", help_heading = "Kinds", requires = "modes")]
    pub flaw: Option<String>,
}

impl KindsArgs {
    /// What the requests of each node are for.
    pub(crate) fn usages(&self, info: &Info, nodes: usize) -> Result<Vec<Vec<Usage>>> {
        let text = self.modes.as_deref().unwrap_or("exclusive");
        ensure!(
            offers_kinds(info),
            "--modes: kinds are offered over central, ricart-agrawala and naimi-trehel, not over {}",
            info.name
        );
        Usage::lists(text, nodes).context("--modes")
    }

    pub(crate) fn at_once(&self) -> u8 {
        self.at_once.unwrap_or(1)
    }

    pub(crate) fn flaw(&self) -> Result<Option<SharingFlaw>> {
        self.flaw.as_deref().map(str::parse).transpose().context("--flaw")
    }
}
