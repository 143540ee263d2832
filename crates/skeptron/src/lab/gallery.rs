//! The gallery: the classic examples, one file each in `ui/scenarios/`, and those of a folder that a
//! lecturer gives.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::assets::Page;
use super::counterexamples;
use super::wire::{Act, GalleryItem, Note};
use crate::ask::{Given, SimOptions};

/// The folder of the files.
const FOLDER: &str = "scenarios";
/// In which order they are shown in a lecture.
const ORDER: &str = "gallery.json";
/// How the names of a lecturer's own scenarios begin.
const OWN: &str = "own/";

/// Where the gallery is from.
#[derive(Clone, Debug, Default)]
pub struct Gallery {
    /// The page, which has the classic examples.
    pub page: Page,
    /// A folder with scenarios of the user's own, read anew for every request.
    pub own: Option<PathBuf>,
}

/// A file of the gallery.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Example {
    title: String,
    #[serde(default = "own_group")]
    group: String,
    summary: String,
    /// Words by which it is found.
    #[serde(default)]
    tags: Vec<String>,
    /// What is run.
    pub(super) sim: Option<Given<SimOptions>>,
    /// Or a recorded run: what a `.jsonl` file says.
    pub(super) trace: Option<String>,
    /// What a hand does to it.
    #[serde(default)]
    pub(super) acts: Vec<Act>,
    #[serde(default)]
    pub(super) notes: Vec<Note>,
}

fn own_group() -> String {
    "your own".into()
}

/// The order of the lecture.
#[derive(Deserialize)]
struct Lecture {
    lecture: Vec<String>,
}

impl Gallery {
    /// All that hangs in the gallery: in the order of the lecture, then what is beside it, then the
    /// user's own, then what the checker finds.
    ///
    /// # Errors
    /// If a file is malformed.
    pub(super) fn items(&self) -> Result<Vec<GalleryItem>> {
        let order = self.page.file(ORDER).context(ORDER)?;
        let Lecture { lecture } = serde_json::from_slice(&order).context(ORDER)?;
        let mut items = Vec::new();
        for (name, content) in self.files()? {
            let stop = lecture.iter().position(|stop| *stop == name).map(|place| place + 1);
            items.push(read(&name, &content)?.item(name, stop)?);
        }
        items.sort_by_key(|item| (item.stop.unwrap_or(usize::MAX), item.name.starts_with(OWN)));
        items.extend(counterexamples::items(&self.page)?);
        Ok(items)
    }

    /// The example of that name, if there is one.
    ///
    /// # Errors
    /// If its file is malformed.
    pub(super) fn example(&self, name: &str) -> Result<Option<Example>> {
        let content = self.files()?.remove(name);
        content.map(|content| read(name, &content)).transpose()
    }

    fn files(&self) -> Result<BTreeMap<String, Vec<u8>>> {
        let classic = self.page.json_files(FOLDER).into_iter();
        let mut all: BTreeMap<_, _> =
            classic.map(|(name, content)| (name, content.into_owned())).collect();
        let Some(folder) = &self.own else { return Ok(all) };
        for entry in std::fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            let content = std::fs::read(&path).with_context(|| path.display().to_string())?;
            all.insert(format!("{OWN}{stem}"), content);
        }
        Ok(all)
    }
}

fn read(name: &str, content: &[u8]) -> Result<Example> {
    serde_json::from_slice(content).with_context(|| format!("the scenario {name}.json"))
}

impl Example {
    fn item(self, name: String, stop: Option<usize>) -> Result<GalleryItem> {
        // The first line of a recorded run names its algorithm.
        let recorded = self.trace.as_deref().and_then(|trace| trace.lines().next());
        let named = recorded.and_then(|line| serde_json::from_str::<Recorded>(line).ok());
        let algorithm =
            self.sim.and_then(|sim| sim.0.algorithm).or(named.map(|named| named.algorithm));
        let algorithm =
            algorithm.with_context(|| format!("the scenario {name}.json has no `sim`"))?;
        Ok(GalleryItem {
            title: self.title,
            group: self.group,
            stop,
            algorithm,
            summary: self.summary,
            tags: self.tags,
            acts: self.acts,
            notes: self.notes,
            name,
        })
    }
}

/// What the first line of a recorded run says, as far as it matters here.
#[derive(Deserialize)]
struct Recorded {
    algorithm: String,
}
