//! A page for each algorithm, with a figure that the tool draws itself.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use skeptron_core::catalogue::{self, Algorithm, Broken, Entry};
use skeptron_core::claims::{Condition, Quantity};
use skeptron_core::election::Case;
use skeptron_sim::trace::svg;

use super::super::{list, textbook};
use super::page;
use crate::ask::{Files, SimOptions};
use crate::published::{breaks, messages};

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
        files.extend(with_figure(info, Algorithm::Mutex(info), textbook::run_of(info)?)?);
    }
    for info in catalogue::sound_elections() {
        files.extend(with_figure(info, Algorithm::Election(info), textbook::election_of(info)?)?);
    }
    Ok(files)
}

/// The page of an algorithm and the picture of its textbook run.
fn with_figure<C>(
    info: &Entry<C>,
    algorithm: Algorithm,
    run: SimOptions,
) -> Result<[(String, String); 2]> {
    let (name, title) = (info.name, info.title);
    let trace = run.trace(Files::Disk)?;
    let command = trace.header.command.clone().unwrap_or_default();
    let figure = format!(
        "\n## A run\n\n![A run of {title}]({name}.svg)\n\n    {command} --trace {name}.svg\n"
    );
    let picture = svg::draw(&trace, &svg::Options::default());
    let text = page::of(algorithm) + &figure + &what_breaks(name);
    Ok([(format!("{name}.svg"), picture), (format!("{name}.md"), text)])
}

/// The broken variants of an algorithm, each with the commands that show it.
fn what_breaks(name: &str) -> String {
    let mut text = String::new();
    for (variant, broken) in broken_variants(name) {
        if text.is_empty() {
            text.push_str("\n## Broken on purpose\n");
        }
        let _ = write!(
            text,
            "\n`{variant}` breaks {}: {}.\n\n    {}\n    {}\n",
            breaks(broken.breaks),
            broken.flaw,
            list::refuted(variant, &broken),
            list::shown(variant, &broken)
        );
    }
    text
}

/// The broken variants of a sound algorithm.
fn broken_variants(sound: &str) -> impl Iterator<Item = (&'static str, Broken)> {
    let mutexes = catalogue::all().map(|info| (info.name, info.broken));
    let all = mutexes.chain(catalogue::elections().map(|info| (info.name, info.broken)));
    let broken = all.filter_map(|(name, broken)| Some((name, broken?)));
    broken.filter(move |(name, _)| sound_one_of(name) == Some(sound))
}

/// The sound algorithm whose broken variant this is: the longest name that it carries before its flaw.
#[must_use]
pub fn sound_one_of(name: &str) -> Option<&'static str> {
    let carries = |sound: &&str| name.strip_prefix(sound).is_some_and(|rest| rest.starts_with('-'));
    let mutexes = catalogue::sound().map(|info| info.name);
    let all = mutexes.chain(catalogue::sound_elections().map(|info| info.name));
    all.filter(carries).max_by_key(|sound| sound.len())
}

fn index() -> String {
    let mut text = format!(
        "# The algorithms\n\n\
         One page each: idea, rules, costs, assumptions, a run, and the variants that are broken on\n\
         purpose. Written by `{COMMAND}`; a test compares.\n\n\
         ## Mutual exclusion\n\n\
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
            list::first_and_again(claims, Quantity::Messages),
            list::claimed(claims, Condition::Saturated, Quantity::Messages),
            list::claimed(claims, Condition::Saturated, Quantity::SyncDelay),
            list::short_paper(info.paper)
        );
    }
    text.push_str(
        "\nMessages per entry. N nodes, K quorum size, k how many may be inside at once, D diameter of the\n\
         tree, d distance to the first holder, i the id of the lone requester, L and U Sanders' bounds, T the latency of a message.\n\n\
         ## Elections\n\n\
         | algorithm | family | messages | time | paper |\n|---|---|---|---|---|\n",
    );
    for info in catalogue::sound_elections() {
        let figure = |figure: fn(&Case) -> String| {
            let all = info.claims.cases.iter();
            let said = all.map(|case| format!("{} {}", case.name, figure(case)));
            said.collect::<Vec<_>>().join("<br>")
        };
        let _ = writeln!(
            text,
            "| [{}]({}.md) | {} | {} | {} | {} |",
            info.title,
            info.name,
            info.family,
            figure(messages),
            figure(|case| format!("{} T", list::time(case))),
            list::short_paper(info.paper)
        );
    }
    text.push_str(
        "\nMessages of one election, and from the call until everybody alive knows the leader. A guided tour\n\
         with all of them is in [elections](../elections.md).\n",
    );
    text
}
