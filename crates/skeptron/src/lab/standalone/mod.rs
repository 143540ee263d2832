//! Pages that need no server: the page's own modules, inlined, with the answers that they would ask for.

mod assumptions;
mod comparison;
mod languages;
mod modules;
mod run;
pub(crate) mod site;
mod sweep;

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;
use skeptron_markup::escaped;

use super::assets::Page;
pub(crate) use assumptions::of_assumptions;
pub(crate) use comparison::of_comparison;
pub(super) use run::of_played;
pub(crate) use run::of_trace;
pub(crate) use sweep::of_sweep;

/// What a server would answer, by what it is asked: `PATH`, or `PATH BODY`.
type Answers = BTreeMap<String, Value>;

/// A page of one view.
struct Standalone<'a> {
    title: &'a str,
    /// Its module in `ui/standalone/`.
    view: &'static str,
    /// Where its name leads to, as in `../index.html`.
    home: Option<&'a str>,
    /// The language that it is shown in, where its reader has not chosen one.
    lang: Option<&'a str>,
    answers: Answers,
}

/// Nothing is loaded from anywhere.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline' data:; \
                      style-src 'unsafe-inline'; img-src data: blob:";

impl Standalone<'_> {
    /// The whole page as one HTML file.
    ///
    /// # Errors
    /// If a file of the page is missing.
    fn html(&self, page: &Page) -> Result<String> {
        let entry = format!("standalone/{}.js", self.view);
        let modules = modules::gather(page, &entry)?;
        let (imports, styles) = (modules.import_map(), modules.styles(page)?);
        let icon = modules::data_url("image/svg+xml", &modules::text(page, "icon.svg")?);
        let brand = format!("<img src=\"{icon}\" alt=\"\" width=\"22\" height=\"22\">Skeptron");
        let brand = match self.home {
            Some(home) => format!("<a class=\"brand\" href=\"{}\">{brand}</a>", escaped(home)),
            None => format!("<span class=\"brand\">{brand}</span>"),
        };
        let mut answers = languages::of(page, &modules.spoken(), &self.answers)?;
        answers.extend(self.answers.clone());
        let answers = in_script(&serde_json::to_string(&answers)?);
        let title = escaped(self.title);
        let lang =
            self.lang.map_or_else(String::new, |lang| format!(" data-lang=\"{}\"", escaped(lang)));
        Ok(format!(
            "<!DOCTYPE html>\n\
             <html lang=\"en\" data-standalone{lang}>\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<link rel=\"icon\" href=\"{icon}\">\n{styles}\
             <script type=\"importmap\">{imports}</script>\n\
             <script type=\"application/json\" id=\"answers\">{answers}</script>\n\
             <script type=\"module\">import \"ui/{entry}\";</script>\n</head>\n<body>\n\
             <header class=\"site\">{brand}<nav></nav>\
             <div class=\"site-tools\"><button type=\"button\" id=\"theme\"></button>\
             <select id=\"language\"></select></div></header>\n\
             <main id=\"view\" tabindex=\"-1\"></main>\n\
             <div id=\"toast\" role=\"status\" aria-live=\"polite\"></div>\n\
             <noscript>This page is a program: it needs JavaScript.</noscript>\n</body>\n</html>\n"
        ))
    }
}

/// JSON in which HTML finds no end of the script.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}
