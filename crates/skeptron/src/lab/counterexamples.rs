//! The counterexamples that the checker finds for the broken variants: searched when they are asked for
//! the first time, then kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use skeptron_check::Options;
use skeptron_core::catalogue::{self, Broken, Entry};
use skeptron_sim::trace::Trace;
use tokio::sync::OnceCell;

use super::LIMITS;
use super::wire::{GalleryItem, Note};
use crate::cli::check::CheckArgs;
use crate::cli::explain;

/// How their names in the gallery begin.
const PREFIX: &str = "counterexample/";

/// Every broken variant: its name, its title, what is wrong with it.
fn broken() -> impl Iterator<Item = (&'static str, &'static str, Broken)> {
    fn variant<C>(info: &Entry<C>) -> Option<(&'static str, &'static str, Broken)> {
        Some((info.name, info.title, info.broken?))
    }
    catalogue::all().filter_map(variant).chain(catalogue::elections().filter_map(variant))
}

/// As they hang in the gallery.
pub(super) fn items() -> impl Iterator<Item = GalleryItem> {
    broken().map(|(name, title, broken)| GalleryItem {
        name: format!("{PREFIX}{name}"),
        title: format!("{title}: {name}"),
        group: "counterexamples".into(),
        algorithm: name.into(),
        summary: format!(
            "A rule is wrong on purpose: {}. The checker's shortest run in which {}.",
            broken.flaw,
            explain::cost(broken.breaks)
        ),
        notes: vec![Note {
            at: 0,
            text: format!(
                "This variant gets one rule wrong: {}. Step through the run, and see that {}.",
                broken.flaw,
                explain::cost(broken.breaks)
            ),
        }],
    })
}

/// Those that were found.
#[derive(Debug)]
pub(super) struct Counterexamples {
    found: BTreeMap<&'static str, (Broken, OnceCell<Arc<Trace>>)>,
}

/// One of them, found or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counterexample<'a> {
    name: &'static str,
    broken: Broken,
    /// Where it is kept.
    pub(super) found: &'a OnceCell<Arc<Trace>>,
}

impl Counterexamples {
    pub(super) fn new() -> Self {
        let each = |(name, _, broken)| (name, (broken, OnceCell::new()));
        Counterexamples { found: broken().map(each).collect() }
    }

    /// That which hangs in the gallery by this name.
    pub(super) fn named(&self, name: &str) -> Option<Counterexample<'_>> {
        let (&name, (broken, found)) = self.found.get_key_value(name.strip_prefix(PREFIX)?)?;
        Some(Counterexample { name, broken: *broken, found })
    }
}

impl Counterexample<'_> {
    /// How to search for it.
    pub(super) fn search(
        self,
    ) -> impl FnOnce(&Arc<AtomicBool>) -> Result<Arc<Trace>> + Send + 'static {
        let (name, refuted_by) = (self.name, self.broken.refuted_by);
        move |stop| {
            let args = CheckArgs::parse(&format!("{name} {refuted_by}"))?;
            let question = args.question()?;
            let only = args.judged()?;
            let options = Options {
                max_memory: LIMITS.check_memory,
                stop: Some(stop.as_ref()),
                judging: args.judging(only.as_deref(), None),
                ..Options::default()
            };
            let report = question.answer(&options)?;
            let (property, counterexample) = report
                .violation()
                .with_context(|| format!("{name} was not refuted; please report it"))?;
            Ok(Arc::new(question.trace(property, counterexample, Some(args.command()))?))
        }
    }
}
