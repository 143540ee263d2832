//! The modules of the page that a view needs, as an import map of `data:` URLs: modules of a file that
//! no server serves cannot name each other by path.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::ops::Range;

use anyhow::{Context as _, Result};

use crate::lab::assets::Page;

/// What a view needs.
pub(super) struct Modules {
    /// The modules by their paths in `ui/`; each names the others as `ui/PATH`.
    sources: BTreeMap<String, String>,
    /// Style sheets by their paths in `ui/`, those that the modules ask for.
    sheets: BTreeSet<String>,
}

/// What the module `entry` needs, and what that needs.
///
/// # Errors
/// If a module that is named is missing.
pub(super) fn gather(page: &Page, entry: &str) -> Result<Modules> {
    let mut modules = Modules { sources: BTreeMap::new(), sheets: BTreeSet::new() };
    let mut open = vec![entry.to_string()];
    while let Some(path) = open.pop() {
        if modules.sources.contains_key(&path) {
            continue;
        }
        let mut source = String::new();
        for line in text(page, &path)?.lines() {
            match specifier(line) {
                Some(place) => {
                    let named = resolved(&path, &line[place.clone()]);
                    let _ =
                        write!(source, "{}ui/{named}{}", &line[..place.start], &line[place.end..]);
                    open.push(named);
                }
                None => source.push_str(line),
            }
            source.push('\n');
            modules.sheets.extend(sheet(line).map(ToString::to_string));
        }
        modules.sources.insert(path, source);
    }
    Ok(modules)
}

impl Modules {
    /// The JSON of an import map.
    pub(super) fn import_map(&self) -> String {
        let url = |source: &String| data_url("text/javascript;charset=utf-8", source);
        let imports: Vec<String> = self
            .sources
            .iter()
            .map(|(path, source)| format!("\"ui/{path}\":\"{}\"", url(source)))
            .collect();
        format!("{{\"imports\":{{\n{}\n}}}}", imports.join(",\n"))
    }

    /// The texts that the modules say, in English.
    pub(super) fn spoken(&self) -> BTreeSet<String> {
        let said = |source: &str| {
            let begins = source.match_indices("say(\"").map(|(at, _)| at + "say(".len());
            // A string in JavaScript is one in JSON where it stands in double quotes.
            let text = |at| serde_json::Deserializer::from_str(&source[at..]).into_iter().next();
            begins.filter_map(text).filter_map(Result::ok).collect::<Vec<String>>()
        };
        self.sources.values().flat_map(|source| said(source)).collect()
    }

    /// The style sheets as elements: what all views share, then their own.
    ///
    /// # Errors
    /// If one is missing.
    pub(super) fn styles(&self, page: &Page) -> Result<String> {
        let all = ["style.css"].into_iter().chain(self.sheets.iter().map(String::as_str));
        all.map(|path| {
            let text = text(page, path)?;
            Ok(format!("<style data-sheet=\"/ui/{path}\">\n{text}</style>\n"))
        })
        .collect()
    }
}

/// A text file of the page.
///
/// # Errors
/// If there is no such file.
pub(super) fn text(page: &Page, path: &str) -> Result<String> {
    let file = page.file(path).with_context(|| format!("the page has no file {path}"))?;
    Ok(String::from_utf8_lossy(&file).into_owned())
}

/// A URL that is its own content; it needs no escape in JSON, in an attribute and in a script.
pub(super) fn data_url(kind: &str, content: &str) -> String {
    let mut url = format!("data:{kind},");
    for byte in content.bytes() {
        if byte.is_ascii_alphanumeric() || b" -_.~!*()/:;,?=+@$'[]{}|^`".contains(&byte) {
            url.push(char::from(byte));
        } else {
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

/// Where a line names another module, without the quotes.
fn specifier(line: &str) -> Option<Range<usize>> {
    let is_static = ["import ", "export {", "export *", "} from "];
    let begins: &[&str] = if is_static.iter().any(|begin| line.starts_with(begin)) {
        &["from \"", "import \""]
    } else {
        &["=> import(\"", "await import(\""]
    };
    let start = begins.iter().find_map(|begin| Some(line.find(begin)? + begin.len()))?;
    // What comments import are types.
    if line.trim_start().starts_with('*') || line[..start].contains("/**") {
        return None;
    }
    let end = start + line[start..].find('"')?;
    line[start..].starts_with('.').then_some(start..end)
}

/// The style sheet that a line asks for.
fn sheet(line: &str) -> Option<&str> {
    line.split_once("sheet(\"/ui/")?.1.split_once('"').map(|(path, _)| path)
}

/// The path of a module as another one names it.
fn resolved(from: &str, specifier: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_and_types_are_not() {
        let found = |line: &'static str| specifier(line).map(|place| &line[place]);
        assert_eq!(found("import { h } from \"../lib/dom.js\";"), Some("../lib/dom.js"));
        assert_eq!(found("} from \"./model.js\";"), Some("./model.js"));
        assert_eq!(found("  load: () => import(\"./play/view.js\") },"), Some("./play/view.js"));
        assert_eq!(found("/** @typedef {import(\"../wire.js\").Act} Act */"), None);
        assert_eq!(found(" * @property {() => import(\"./session.js\").Session} session"), None);
        assert_eq!(found("importText(\"./a\")"), None);
        assert_eq!(resolved("play/view.js", "../lib/dom.js"), "lib/dom.js");
        assert_eq!(resolved("play/view.js", "./model.js"), "play/model.js");
    }

    #[test]
    fn a_view_comes_with_all_that_it_needs_and_nothing_else() {
        let modules = gather(&Page::Embedded, "standalone/play.js").unwrap();
        for path in ["play/view.js", "play/model.js", "lib/api.js", "lib/recorded.js"] {
            assert!(modules.sources.contains_key(path), "{path}");
        }
        assert!(modules.sources.keys().all(|path| !path.starts_with("cluster/")));
        assert!(modules.sheets.contains("play/view.css"));
        // Types in comments are named as ever.
        let is_code = |line: &&str| !line.trim_start().starts_with('*') && !line.contains("/**");
        for (path, source) in &modules.sources {
            for line in source.lines().filter(is_code) {
                assert!(
                    !line.contains("from \".") && !line.contains("=> import(\"."),
                    "{path}: {line}"
                );
            }
            assert!(!source.contains("fetch(\"http"), "{path}");
        }
    }

    #[test]
    fn a_data_url_carries_any_text() {
        assert_eq!(
            data_url("text/plain", "a \"<%#\n→\\"),
            "data:text/plain,a %22%3C%25%23%0A%E2%86%92%5C"
        );
    }
}
