//! The gallery: the classic examples, one file each in `ui/scenarios/`.

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::assets::Page;
use super::wire::{Act, GalleryItem, Note, SimOptions};

/// The folder of the files.
const FOLDER: &str = "scenarios";

/// A file of the gallery.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Example {
    title: String,
    group: String,
    summary: String,
    /// What is run.
    pub(super) sim: SimOptions,
    /// What a hand does to it.
    #[serde(default)]
    pub(super) acts: Vec<Act>,
    notes: Vec<Note>,
}

/// All that hangs in the gallery.
///
/// # Errors
/// If a file is malformed.
pub(super) fn items(page: &Page) -> Result<Vec<GalleryItem>> {
    let files = page.json_files(FOLDER).into_iter();
    files.map(|(name, content)| Ok(read(&name, &content)?.item(name))).collect()
}

/// The example of that name, if there is one.
///
/// # Errors
/// If its file is malformed.
pub(super) fn example(page: &Page, name: &str) -> Result<Option<Example>> {
    let content = page.json_files(FOLDER).remove(name);
    content.map(|content| read(name, &content)).transpose()
}

fn read(name: &str, content: &[u8]) -> Result<Example> {
    serde_json::from_slice(content).with_context(|| format!("{FOLDER}/{name}.json"))
}

impl Example {
    fn item(self, name: String) -> GalleryItem {
        GalleryItem {
            name,
            title: self.title,
            group: self.group,
            algorithm: self.sim.algorithm,
            summary: self.summary,
            notes: self.notes,
        }
    }
}
