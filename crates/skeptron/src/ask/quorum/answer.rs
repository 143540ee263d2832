//! What `skeptron quorum` is asked about, and the answer; its JSON form.

use anyhow::{Context as _, Result};
use serde::Serialize;
use skeptron_quorum::{Family, System};
use skeptron_quorum_analysis::best::{Built, Candidate, Comparison, Recommendation};
use skeptron_quorum_analysis::report::{self, Question, Report};
use ts_rs::TS;

/// What is asked about.
pub(crate) enum Subject {
    /// Sets of which two do not meet: what is wrong with them.
    Disjoint(Box<Report>),
    System(System),
    /// All constructions, and everything about the best.
    All(Built),
}

/// What there is to say.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// Of one system.
    #[serde(flatten)]
    pub report: Report,
    /// The comparison that led to it.
    #[serde(flatten)]
    pub compared: Option<Compared>,
}

/// All constructions side by side.
#[derive(Clone, Debug, Serialize, TS)]
#[ts(rename = "QuorumComparison")]
pub struct Compared {
    /// One for each construction, smallest quorums first.
    pub candidates: Vec<Candidate>,
    /// One for each goal.
    pub recommendations: Vec<Recommendation>,
    /// Why some constructions are missing.
    pub missing: Vec<String>,
}

impl Subject {
    /// The sets of a file of that name, whether they meet or not.
    ///
    /// # Errors
    /// If they are no quorum system for another reason.
    pub(crate) fn of_file(name: &str, family: Family) -> Result<Self> {
        Ok(match family.disjoint() {
            Some(disjoint) => Subject::Disjoint(Box::new(report::reject(name, &family, &disjoint))),
            None => Subject::System(family.system(name).with_context(|| name.to_owned())?),
        })
    }

    /// What there is to draw.
    ///
    /// # Errors
    /// If there is no system of so many nodes.
    pub(crate) fn system(&self) -> Result<Option<&System>> {
        Ok(match self {
            Subject::Disjoint(_) => None,
            Subject::System(system) => Some(system),
            Subject::All(built) => Some(built.best()?),
        })
    }

    /// Finds everything out; `progress` hears which construction is next.
    ///
    /// # Errors
    /// If the question makes no sense.
    pub(crate) fn analyse(self, question: &Question, progress: impl FnMut(&str)) -> Result<Answer> {
        Ok(match self {
            Subject::Disjoint(report) => Answer { report: *report, compared: None },
            Subject::System(system) => {
                Answer { report: report::analyse(&system, question)?, compared: None }
            }
            Subject::All(built) => {
                let Comparison { candidates, recommendations, missing, best, .. } =
                    built.compare(question, progress)?;
                let report = best.context("the best is among those compared")?;
                let compared = Compared { candidates, recommendations, missing };
                Answer { report, compared: Some(compared) }
            }
        })
    }
}
