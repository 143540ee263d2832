//! The languages of a page that needs no server, as far as it has something to say in them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value};

use super::Answers;
use crate::lab::assets::Page;

/// The folder of the files, one for each language.
const FOLDER: &str = "languages";

/// The files of the languages by their paths, with the texts that the page says itself, those of any
/// run, and those of the algorithms and scenarios among its answers.
///
/// # Errors
/// If a file is malformed.
pub(super) fn of(page: &Page, spoken: &BTreeSet<String>, answers: &Answers) -> Result<Answers> {
    let told = answers.iter().filter(|(path, _)| !path.starts_with("/lab/runs"));
    let told = serde_json::to_string(&told.collect::<Vec<_>>())?;
    let mut found = Answers::new();
    for (name, content) in page.json_files(FOLDER) {
        let path = format!("/ui/{FOLDER}/{name}.json");
        let mut sections: BTreeMap<String, Map<String, Value>> =
            serde_json::from_slice(&content).with_context(|| path.clone())?;
        for (section, texts) in &mut sections {
            texts.retain(|text, _| match section.as_str() {
                "page" => spoken.contains(text),
                "run" => true,
                _ => told.contains(inner(text).as_str()),
            });
        }
        found.insert(path, serde_json::to_value(sections)?);
    }
    Ok(found)
}

/// A text as it stands in JSON, without the quotes.
fn inner(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_string()
}

#[cfg(test)]
mod tests {
    use super::super::modules;
    use super::*;

    #[test]
    fn a_page_carries_what_it_says_and_no_more() {
        let page = Page::Embedded;
        let spoken = modules::gather(&page, "standalone/play.js").unwrap().spoken();
        let rule = "Enter on the REPLY.";
        let answers = Answers::from([("/lab/algorithms".into(), serde_json::json!([rule]))]);
        let all = of(&page, &spoken, &answers).unwrap();
        assert_eq!(all.len(), 3, "English, German and Portuguese");
        let german = &all["/ui/languages/de.json"];
        assert!(german["page"]["Nothing has happened yet."].is_string(), "{german}");
        assert!(german["run"]["requests"].is_string());
        assert!(german["catalogue"][rule].is_string());
        assert_eq!(german["catalogue"].as_object().unwrap().len(), 1, "no other rule");
        assert!(german["page"].get("Which assumption does each algorithm need?").is_none());
    }
}
