//! The whole gallery as a site of files: an index, and a page for each run.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use rayon::prelude::*;
use serde::Serialize;
use skeptron_sim::trace::Format;

use super::{Answers, Standalone, modules, run};
use crate::ask::Given;
use crate::lab::assets::Page;
use crate::lab::catalogue;
use crate::lab::counterexamples::Counterexamples;
use crate::lab::gallery::Gallery;
use crate::lab::runs::{Played, RunSpec, Stop};
use crate::lab::wire::{GalleryItem, RunPage};

/// The index shows a small picture of each run: of no more records than this.
const GLIMPSE: usize = 600;
/// What the index says of the gallery as a whole.
const FRAME: &str = "gallery.json";

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Site {
    /// How many runs.
    pub(crate) runs: usize,
    /// Where to begin.
    pub(crate) index: String,
}

/// Writes the gallery below a folder, which is made if it is missing: `index.html`, and for each run
/// `NAME.html`, which plays it, and `NAME.jsonl`, which replays.
///
/// # Errors
/// If a run cannot be made, or a file not be written.
pub(crate) fn write(gallery: &Gallery, folder: &Path) -> Result<Site> {
    let page = &gallery.page;
    let items = gallery.items()?;
    let kept = Counterexamples::new();
    let written = items.par_iter().map(|item| {
        let played = play(gallery, &kept, item).with_context(|| item.name.clone())?;
        write_run(page, folder, item, &played).with_context(|| item.name.clone())?;
        run::beginning(&item.name, &played.header(), &played, GLIMPSE)
    });
    let mut answers: Answers = written.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect();
    answers.insert("/lab/algorithms".into(), serde_json::to_value(catalogue::algorithms())?);
    answers.insert("/lab/scenarios".into(), serde_json::to_value(&items)?);
    answers.insert(format!("/ui/{FRAME}"), serde_json::from_str(&modules::text(page, FRAME)?)?);
    let index = Standalone {
        title: "Skeptron: the gallery",
        view: "scenarios",
        home: None,
        lang: None,
        answers,
    };
    let path = folder.join("index.html");
    put(&path, index.html(page)?.as_bytes())?;
    Ok(Site { runs: items.len(), index: path.display().to_string() })
}

/// The run of an item of the gallery.
fn play(gallery: &Gallery, kept: &Counterexamples, item: &GalleryItem) -> Result<Played> {
    let stop = Stop::default();
    if let Some(counterexample) = kept.named(&item.name) {
        let trace = counterexample.search()(&stop)?;
        return RunSpec::of_trace(trace)?.play(Vec::new(), &stop);
    }
    let example = gallery.example(&item.name)?.context("it is not in the gallery")?;
    let spec = match (example.sim, example.trace) {
        (Some(Given(sim)), None) => RunSpec::of_options(sim, example.notes)?,
        (None, Some(text)) => RunSpec::of_text(&text, example.notes, &stop)?,
        _ => bail!("a scenario has exactly one of `sim` and `trace`"),
    };
    spec.play(example.acts, &stop)
}

fn write_run(page: &Page, folder: &Path, item: &GalleryItem, played: &Played) -> Result<()> {
    let told = RunPage {
        title: item.title.clone(),
        summary: item.summary.clone(),
        notes: item.notes.clone(),
        lang: None,
    };
    let up = "../".repeat(item.name.matches('/').count());
    let home = format!("{up}index.html");
    let html = run::of_run(page, &item.name, Some(&home), told, played)?;
    put(&folder.join(format!("{}.html", item.name)), html.as_bytes())?;
    let mut recorded = Vec::new();
    played.trace.write(Format::JsonLines, &mut recorded)?;
    put(&folder.join(format!("{}.jsonl", item.name)), &recorded)
}

fn put(path: &Path, content: &[u8]) -> Result<()> {
    let name = || path.display().to_string();
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(name)?;
    }
    fs::write(path, content).with_context(name)
}
