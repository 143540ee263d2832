//! The runs that the checker or the simulator makes for the gallery: what refutes the broken variants, and
//! what shows the errata of the lectures. They are made when they are asked for the first time, then kept.

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
use crate::cli::sim::SimArgs;
use crate::errata::{self, Erratum};

/// What hangs in the gallery, and the command that shows it, without the program's name.
type Exhibit = (GalleryItem, String);

/// As they hang in the gallery.
pub(super) fn items() -> impl Iterator<Item = GalleryItem> {
    exhibits().map(|(item, _)| item)
}

fn exhibits() -> impl Iterator<Item = Exhibit> {
    fn variant<C>(info: &Entry<C>) -> Option<Exhibit> {
        Some(refuted(info.name, info.title, info.broken?))
    }
    let errata = (1..).zip(errata::all()).filter_map(|(row, erratum)| shown(row, &erratum));
    let mutexes = catalogue::all().filter_map(variant);
    errata.chain(mutexes).chain(catalogue::elections().filter_map(variant))
}

/// A broken variant.
fn refuted(name: &str, title: &str, broken: Broken) -> Exhibit {
    let (flaw, cost) = (broken.flaw, explain::cost(broken.breaks));
    let item = GalleryItem {
        name: format!("counterexample/{name}"),
        title: format!("{title}: {name}"),
        group: "counterexamples".into(),
        algorithm: name.into(),
        summary: format!(
            "A rule is wrong on purpose: {flaw}. The checker's shortest run in which {cost}."
        ),
        notes: vec![Note {
            at: 0,
            text: format!(
                "This variant gets one rule wrong: {flaw}. Step through the run, and see that {cost}."
            ),
        }],
    };
    (item, format!("check {name} {}", broken.refuted_by))
}

/// An erratum, if a run shows it.
fn shown(row: usize, erratum: &Erratum) -> Option<Exhibit> {
    let Erratum { place, printed, right, command, .. } = erratum;
    let asked = command.strip_prefix("skeptron ")?;
    let mut words = asked.split(' ');
    words.next().filter(|word| ["check", "sim"].contains(word))?;
    let item = GalleryItem {
        name: format!("erratum/{row}"),
        title: format!("Lecture {place}: {printed}"),
        group: "errata of the lectures".into(),
        algorithm: words.next()?.into(),
        summary: format!("Right: {right}."),
        notes: vec![Note {
            at: 0,
            text: format!(
                "Lecture {place} prints: {printed}. Right: {right}. {command} shows this run."
            ),
        }],
    };
    Some((item, asked.to_string()))
}

/// Those that were found.
#[derive(Debug)]
pub(super) struct Counterexamples {
    found: BTreeMap<String, (String, OnceCell<Arc<Trace>>)>,
}

/// One of them, found or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counterexample<'a> {
    command: &'a str,
    /// Where it is kept.
    pub(super) found: &'a OnceCell<Arc<Trace>>,
}

impl Counterexamples {
    pub(super) fn new() -> Self {
        let each = |(item, command): Exhibit| (item.name, (command, OnceCell::new()));
        Counterexamples { found: exhibits().map(each).collect() }
    }

    /// That which hangs in the gallery by this name.
    pub(super) fn named(&self, name: &str) -> Option<Counterexample<'_>> {
        let (command, found) = self.found.get(name)?;
        Some(Counterexample { command, found })
    }
}

impl Counterexample<'_> {
    /// How to make it.
    pub(super) fn search(
        self,
    ) -> impl FnOnce(&Arc<AtomicBool>) -> Result<Arc<Trace>> + Send + 'static {
        let command = self.command.to_string();
        move |stop| {
            if let Some(words) = command.strip_prefix("sim ") {
                return Ok(Arc::new(SimArgs::parse(words)?.trace()?));
            }
            let args = CheckArgs::parse(command.strip_prefix("check ").unwrap_or_default())?;
            let options = Options {
                max_memory: LIMITS.check_memory,
                stop: Some(stop.as_ref()),
                ..Options::default()
            };
            let run = args.answering_run(options)?;
            Ok(Arc::new(run.with_context(|| format!("{command} shows no run; please report it"))?))
        }
    }
}
