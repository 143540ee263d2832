//! What the options of a search say of an election.

use anyhow::{Context as _, Result, bail, ensure};
use skeptron_check::{ElectionFaults, ElectionScenario, Step};
use skeptron_core::catalogue::{ElectionInfo, Order};
use skeptron_core::{NodeId, Setup};

use super::super::{Files, names};
use super::{CheckRequest, CrashPhase, DEFAULT_NODES};

impl CheckRequest {
    pub(super) fn election(&self, info: &ElectionInfo, files: Files) -> Result<ElectionScenario> {
        let setup = self.system.setup(info, DEFAULT_NODES, files)?;
        self.election_after(info, setup, self.channel_order(), Vec::new())
    }

    /// What these options describe of that system once these steps have been taken.
    ///
    /// # Errors
    /// If something is malformed, impossible, or for mutual exclusion only.
    pub(super) fn election_after(
        &self,
        info: &ElectionInfo,
        setup: Setup,
        order: Order,
        after: Vec<Step>,
    ) -> Result<ElectionScenario> {
        self.refuse_options_of_mutual_exclusion(info)?;
        self.refuse_questions("an election")?;
        ensure!(
            self.crashes > 0 || self.victims.is_none(),
            "--victims says who may crash; say how many with --crashes K"
        );
        let is_crash = |step: &Step| matches!(step, Step::Crash(_));
        ensure!(
            self.crashes > 0 || self.restarts == 0 || after.iter().any(is_crash),
            "--restarts lets nodes come back that have crashed; say how many with --crashes K"
        );
        let initiators: Vec<NodeId> = match self.initiators.as_deref() {
            None | Some("all") => NodeId::all(setup.nodes()).collect(),
            Some(list) => names::nodes(list).context("--initiators")?,
        };
        let victims = self.victims.as_deref().map(names::nodes).transpose().context("--victims")?;
        let scenario = ElectionScenario {
            setup,
            after,
            calls: self.calls.unwrap_or(u8::MAX),
            initiators,
            order,
            detector: self.detection()?,
            faults: ElectionFaults {
                losses: self.loss,
                duplicates: self.duplicate,
                crashes: self.crashes,
                victims,
                restarts: self.restarts,
                premature: self.premature,
                suspicions: self.suspicions,
            },
        };
        scenario.check()?;
        Ok(scenario)
    }

    /// Within how many bounds a detector tells.
    fn detection(&self) -> Result<u8> {
        const HOW: &str = "write how many bounds a detector may take, as in 2 or perfect:2";
        let Some(text) = self.detector.as_deref() else { return Ok(1) };
        if text.starts_with("imperfect") {
            bail!("--detector is `{text}`; {HOW}; false suspicions are counted: --suspicions K");
        }
        let bounds = text.strip_prefix("perfect:").unwrap_or(text);
        match bounds.trim().parse::<u8>() {
            Ok(bounds) if bounds <= ElectionScenario::LONGEST_DETECTION => Ok(bounds),
            _ => bail!(
                "--detector is `{text}`; {HOW}, at most {}",
                ElectionScenario::LONGEST_DETECTION
            ),
        }
    }

    fn refuse_options_of_mutual_exclusion(&self, info: &ElectionInfo) -> Result<()> {
        let given = [
            ("--requests", self.requests.is_some()),
            ("--requesters", self.requesters.is_some()),
            ("--crash-when", self.crash_when != CrashPhase::Any),
        ];
        for (option, is_given) in given {
            ensure!(
                !is_given,
                "{option} is for mutual exclusion, and {} elects a leader; leave it out (--initiators \
                 says who calls)",
                info.name
            );
        }
        Ok(())
    }
}
