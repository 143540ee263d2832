//! One recorded run as a page that plays it.

use std::sync::Arc;

use anyhow::Result;
use serde_json::{Value, json};
use skeptron_sim::trace::{Format, Trace, What};

use super::{Answers, Standalone};
use crate::lab::assets::Page;
use crate::lab::catalogue;
use crate::lab::runs::{Played, RunSpec, Stop};
use crate::lab::wire::{GalleryItem, Note, RecordBatch, RunHeader, RunPage};

/// By which a run is called that has no name of its own.
const NAME: &str = "run";

/// A page with more entries of vector clocks would be too large to be mailed; it goes without.
const MOST_CLOCKS: usize = 100_000;

/// A page that plays a recorded run.
///
/// # Errors
/// If the run is not what its nodes do, or is larger than a page can show.
pub(crate) fn of_trace(trace: &Trace) -> Result<String> {
    let played = RunSpec::of_trace(Arc::new(trace.clone()))?.play(Vec::new(), &Stop::default())?;
    of_played(&Page::Embedded, RunPage::default(), &played)
}

/// A page that plays a run of which this is said; what is left out the run itself says.
///
/// # Errors
/// If the run cannot be played again.
pub(in crate::lab) fn of_played(page: &Page, told: RunPage, played: &Played) -> Result<String> {
    let told = if told.title.is_empty() { about(&played.trace) } else { told };
    of_run(page, NAME, None, told, played)
}

/// A page that plays a run; `home` is where its name leads to.
///
/// # Errors
/// If the run cannot be played again.
pub(super) fn of_run(
    page: &Page,
    name: &str,
    home: Option<&str>,
    told: RunPage,
    played: &Played,
) -> Result<String> {
    let (title, lang) = (told.title.clone(), told.lang.clone());
    let answers = answers(name, told, played)?;
    let lang = lang.as_deref();
    Standalone { title: &title, view: "play", home, lang, answers }.html(page)
}

/// What is said about a run of which nobody has said anything.
fn about(trace: &Trace) -> RunPage {
    let mut notes = Vec::new();
    for (index, record) in trace.records.iter().enumerate() {
        if let What::Violation { property, detail } = &record.what {
            let text = format!("{} violates {property}: {detail}.", record.node);
            notes.push(Note { at: index + 1, text, facts: Vec::new() });
        }
    }
    let made = trace.header.command.as_ref().map(|command| format!("Made by: {command}"));
    RunPage { title: trace.title(), summary: made.unwrap_or_default(), notes, lang: None }
}

/// All that the view asks about a run that it plays as the scenario of that name.
fn answers(name: &str, told: RunPage, played: &Played) -> Result<Answers> {
    let header = RunHeader { may_act: false, ..played.header() };
    let infos = catalogue::algorithms().into_iter();
    let info: Vec<_> = infos.filter(|info| info.name == header.algorithm).collect();
    let item = GalleryItem {
        name: name.into(),
        title: told.title,
        group: String::new(),
        stop: None,
        algorithm: header.algorithm.clone(),
        summary: told.summary,
        tags: Vec::new(),
        // What is said is said of this run: what a hand did belongs to it.
        acts: header.acts.clone(),
        notes: told.notes,
    };
    let mut answers = Answers::from([
        ("/lab/algorithms".to_string(), serde_json::to_value(info)?),
        ("/lab/scenarios".into(), serde_json::to_value([item])?),
    ]);
    answers.extend(beginning(name, &header, played, usize::MAX)?);
    for chunk in played.states()? {
        let path = format!("/lab/runs/{name}/states?chunk={}", chunk.chunk);
        answers.insert(path, serde_json::to_value(chunk)?);
    }
    if played.records().len() * header.nodes <= MOST_CLOCKS {
        for chunk in played.clocks()? {
            let path = format!("/lab/runs/{name}/clocks?chunk={}", chunk.chunk);
            answers.insert(path, serde_json::to_value(chunk)?);
        }
    }
    let mut recorded = Vec::new();
    played.trace.write(Format::JsonLines, &mut recorded)?;
    let path = format!("/lab/runs/{name}/export?format=jsonl");
    answers.insert(path, String::from_utf8(recorded)?.into());
    Ok(answers)
}

/// How a run is made and told, up to so many records.
pub(super) fn beginning(
    name: &str,
    header: &RunHeader,
    played: &Played,
    most: usize,
) -> Result<[(String, Value); 2]> {
    let records = played.tell(0..played.records().len().min(most));
    let told = json!([
        ["run", header],
        ["records", RecordBatch { from: 0, records }],
        ["end", played.end()]
    ]);
    Ok([
        (format!("/lab/runs {}", json!({ "scenario": name })), json!({ "id": name })),
        (format!("/lab/runs/{name}"), told),
    ])
}
