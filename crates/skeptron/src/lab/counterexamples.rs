//! The runs that the checker or the simulator makes for the gallery: what refutes the broken variants, and
//! what shows the errata of the lectures. They are made when they are asked for the first time, then kept.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use skeptron_check::Options;
use skeptron_core::catalogue::{self, Breaks, Broken, Entry};
use skeptron_sim::trace::Trace;
use tokio::sync::OnceCell;

use super::LIMITS;
use super::assets::Page;
use super::wire::{GalleryItem, Note};
use crate::ask::{CheckRequest, Files, Request as _, SimOptions};
use crate::errata::{self, Erratum};
use crate::published::cost;

/// The file of the page that says what each mistake is.
const TEXTS: &str = "counterexamples.json";

/// What is said of a broken variant.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    title: String,
    text: String,
}

fn texts(page: &Page) -> Result<BTreeMap<String, Text>> {
    let content = page.file(TEXTS).context(TEXTS)?;
    serde_json::from_slice(&content).context(TEXTS)
}

/// As they hang in the gallery.
///
/// # Errors
/// If the file that says what they are is malformed.
pub(super) fn items(page: &Page) -> Result<Vec<GalleryItem>> {
    let mut texts = texts(page)?;
    let refuted = broken().map(|(name, title, broken)| {
        let text = texts.remove(name);
        refuted(name, title, broken, text)
    });
    Ok(errata().map(|(item, _)| item).chain(refuted).collect())
}

/// Every broken variant: its name, its title, what is wrong with it.
fn broken() -> impl Iterator<Item = (&'static str, &'static str, Broken)> {
    fn variant<C>(info: &Entry<C>) -> Option<(&'static str, &'static str, Broken)> {
        Some((info.name, info.title, info.broken?))
    }
    catalogue::all().filter_map(variant).chain(catalogue::elections().filter_map(variant))
}

/// Those errata that a run shows, and the command that shows each, without the program's name.
fn errata() -> impl Iterator<Item = (GalleryItem, String)> {
    (1..).zip(errata::all()).filter_map(|(row, erratum)| shown(row, &erratum))
}

/// How a broken variant is called in the gallery.
fn refutation(name: &str) -> String {
    format!("counterexample/{name}")
}

/// A broken variant.
fn refuted(name: &str, title: &str, broken: Broken, text: Option<Text>) -> GalleryItem {
    let (mistake, summary) = match text {
        Some(Text { title, text }) => (title, text),
        None => (name.into(), format!("A rule is wrong on purpose: {}.", broken.flaw)),
    };
    let note =
        format!("{summary} This is the checker’s shortest run in which {}.", cost(broken.breaks));
    GalleryItem {
        name: refutation(name),
        title: format!("{title}: {mistake}"),
        group: "counterexamples".into(),
        stop: None,
        algorithm: name.into(),
        summary,
        tags: tags(broken.breaks),
        acts: Vec::new(),
        notes: vec![Note { at: 0, text: note, facts: Vec::new() }],
    }
}

/// How people call what is violated.
fn tags(breaks: Breaks) -> Vec<String> {
    let words: &[&str] = match breaks {
        Breaks::Safety => &["safety", "mutual exclusion", "two inside"],
        Breaks::Liveness => &["liveness", "deadlock", "progress", "waits for ever"],
        Breaks::Starvation => &["starvation", "fairness", "waits for ever"],
        Breaks::Order => &["order", "fairness", "overtaking"],
        Breaks::Refused => &["unexpected message"],
        Breaks::Agreement => &["agreement", "two leaders", "split brain"],
        Breaks::Validity => &["validity", "wrong leader"],
        Breaks::Termination => &["termination", "liveness", "no leader"],
        Breaks::Convergence => &["convergence", "self-stabilisation", "recovery"],
    };
    words.iter().map(ToString::to_string).collect()
}

/// An erratum, if a run shows it.
fn shown(row: usize, erratum: &Erratum) -> Option<(GalleryItem, String)> {
    let Erratum { place, printed, right, command, .. } = erratum;
    let asked = command.strip_prefix("skeptron ")?;
    let mut words = asked.split(' ');
    words.next().filter(|word| ["check", "sim"].contains(word))?;
    let text =
        format!("Lecture {place} prints: {printed}. Right: {right}. {command} shows this run.");
    let item = GalleryItem {
        name: format!("erratum/{row}"),
        title: format!("Lecture {place}: {printed}"),
        group: "errata of the lectures".into(),
        stop: None,
        algorithm: words.next()?.into(),
        summary: format!("Right: {right}."),
        tags: vec!["erratum".into(), "mistake".into()],
        acts: Vec::new(),
        notes: vec![Note { at: 0, text, facts: Vec::new() }],
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
        let errata = errata().map(|(item, command)| (item.name, command));
        let refuted = broken().map(|(name, _, broken)| {
            (refutation(name), format!("check {name} {}", broken.refuted_by))
        });
        let each = |(name, command)| (name, (command, OnceCell::new()));
        Counterexamples { found: errata.chain(refuted).map(each).collect() }
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
                return Ok(Arc::new(SimOptions::parse(words)?.trace(Files::None)?));
            }
            let args = CheckRequest::parse(command.strip_prefix("check ").unwrap_or_default())?;
            let options = Options {
                max_memory: LIMITS.check_memory,
                stop: Some(stop.as_ref()),
                ..Options::default()
            };
            let run = args.answering_run(options, Files::None)?;
            Ok(Arc::new(run.with_context(|| format!("{command} shows no run; please report it"))?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_broken_variant_has_a_title_and_two_sentences() {
        let texts = texts(&Page::Embedded).unwrap();
        for (name, ..) in broken() {
            let Text { title, text } = texts.get(name).unwrap_or_else(|| panic!("{name}"));
            assert!(!title.is_empty() && !title.ends_with('.'), "{name}: {title}");
            assert_eq!(text.matches(". ").count(), 1, "{name}: {text}");
            assert!(text.ends_with('.'), "{name}: {text}");
        }
        for name in texts.keys() {
            assert!(broken().any(|(known, ..)| known == name), "there is no {name}");
        }
    }
}
