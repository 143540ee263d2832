//! A page for each algorithm, with a figure that the tool draws itself.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use skeptron_core::catalogue::{self, Info};
use skeptron_sim::trace::svg;

use super::super::{list, textbook};
use super::page;

/// The command that writes what is under version control.
pub const COMMAND: &str = "cargo run -- explain --docs docs/algorithms";

/// Writes all pages, figures and the index into `dir`.
///
/// # Errors
/// If a file cannot be written.
pub(super) fn write(dir: &Path) -> Result<usize> {
    fs::create_dir_all(dir).with_context(|| dir.display().to_string())?;
    let files = files()?;
    for (name, content) in &files {
        let path = dir.join(name);
        fs::write(&path, content).with_context(|| path.display().to_string())?;
    }
    Ok(files.len())
}

/// The docs of all algorithms: file names and contents.
///
/// # Errors
/// If a textbook run is impossible.
pub fn files() -> Result<Vec<(String, String)>> {
    let mut files = vec![("README.md".to_string(), index())];
    for info in catalogue::sound() {
        let trace = textbook::run_of(info)?.trace()?;
        let command = trace.header.command.clone().unwrap_or_default();
        files.push((format!("{}.svg", info.name), svg::draw(&trace, &svg::Options::default())));
        files.push((format!("{}.md", info.name), with_figure(info, &command)));
    }
    Ok(files)
}

fn with_figure(info: &Info, command: &str) -> String {
    let mut text = page(info);
    let _ = write!(
        text,
        "\n## A run\n\n![A run of {}]({}.svg)\n\n    {command} --trace {}.svg\n",
        info.title, info.name, info.name
    );
    let variants: Vec<&Info> = broken_variants(info).collect();
    if !variants.is_empty() {
        text.push_str("\n## Broken on purpose\n");
        for variant in variants {
            if let Some(broken) = variant.broken {
                let _ = write!(
                    text,
                    "\n`{}` breaks {}: {}.\n\n    {}\n    {}\n",
                    variant.name,
                    list::breaks(broken.breaks),
                    broken.flaw,
                    list::refuted(variant.name, &broken),
                    list::shown(variant.name, &broken)
                );
            }
        }
    }
    text
}

/// The broken variants of a sound algorithm: those that carry its name before their flaw, and no
/// longer name of another sound one.
pub fn broken_variants(sound: &Info) -> impl Iterator<Item = &'static Info> {
    let name = sound.name;
    catalogue::all().filter(move |info| {
        info.broken.is_some() && sound_one_of(info).is_some_and(|of| of.name == name)
    })
}

/// The sound algorithm whose broken variant `info` is.
#[must_use]
pub fn sound_one_of(info: &Info) -> Option<&'static Info> {
    let carries = |sound: &&Info| {
        info.name.strip_prefix(sound.name).is_some_and(|rest| rest.starts_with('-'))
    };
    catalogue::sound().filter(carries).max_by_key(|sound| sound.name.len())
}

fn index() -> String {
    let mut text = format!(
        "# The algorithms\n\n\
         One page each: idea, rules, costs, assumptions, a run, and the variants that are broken on\n\
         purpose. Written by `{COMMAND}`; a test compares.\n\n\
         | algorithm | family | messages, lone | saturated | synchronisation delay | paper |\n\
         |---|---|---|---|---|---|\n"
    );
    for info in catalogue::sound() {
        let claims = &info.claims;
        let _ = writeln!(
            text,
            "| [{}]({}.md) | {} | {} | {} | {} T | {} |",
            info.title,
            info.name,
            info.family,
            list::first_and_again(&claims.messages_first, &claims.messages_again),
            claims.messages_saturated,
            claims.sync_delay,
            list::short_paper(info.paper)
        );
    }
    text.push_str(
        "\nMessages per entry. N nodes, K quorum size, D diameter of the tree, d distance to the first\n\
         holder, L and U Sanders' bounds, T the latency of a message.\n",
    );
    text
}
