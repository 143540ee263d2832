//! The searches that one question needs, put together into one report.

use std::time::Instant;

use crate::check::{Report, Verdict};
use crate::explorer::Found;
use crate::model::Model;
use crate::world::World;

/// The searches that a question needs, put together.
pub(crate) struct Searches {
    pub(crate) report: Option<Report>,
    pub(crate) began: Instant,
}

impl Searches {
    /// What was known before any search.
    pub(crate) fn told(&mut self, verdicts: Vec<Verdict>) {
        let began = self.began;
        let report = self.report.get_or_insert_with(|| Report::nothing(began));
        report.complete = false;
        report.verdicts.extend(verdicts);
    }

    /// Where nodes begin in any state, that they do so is no step of the system.
    pub(crate) fn begin(&mut self, world: &World) {
        if let (Some(report), (starts, partial)) = (&mut self.report, world.starts()) {
            report.starts = starts;
            if report.walked.is_some() {
                return;
            }
            report.states = report.states.saturating_sub(partial);
            report.depth = report.depth.saturating_sub(world.start.to_begin.into());
        }
    }

    pub(crate) fn add<G: Model>(&mut self, found: &Found<'_, G>, verdicts: Vec<Verdict>) {
        let new = Report::of(found, verdicts, self.began);
        match &mut self.report {
            None => self.report = Some(new),
            Some(report) => {
                report.states = report.states.max(new.states);
                report.transitions = report.transitions.max(new.transitions);
                report.depth = report.depth.max(new.depth);
                report.complete &= new.complete;
                report.out_of_memory |= new.out_of_memory;
                report.peak_bytes = report.peak_bytes.max(new.peak_bytes);
                report.disk_bytes = report.disk_bytes.max(new.disk_bytes);
                report.verdicts.extend(new.verdicts);
            }
        }
    }
}
