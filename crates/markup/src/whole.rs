//! Whether a document is whole: tags closed where they must be, nothing that is half markup.

use std::collections::BTreeMap;

use thiserror::Error;

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    /// A `>` that ends no tag, or a `&` that begins no entity.
    #[error("markup in the text `{0}`")]
    Text(String),
    /// A tag that does not end.
    #[error("the tag `{0}` does not end")]
    Open(String),
    /// Quotation marks that do not pair, markup in an attribute, or a number that is none.
    #[error("the tag `{0}` is malformed")]
    Tag(String),
    /// A closing tag for another element than the last one opened.
    #[error("`{found}` is closed where `{expected}` is open")]
    Closed {
        /// Which one is closed.
        found: String,
        /// Which one is open; empty if none is.
        expected: String,
    },
}

/// How many elements of each name there are, if the document is whole.
///
/// # Errors
/// The first thing that is wrong.
pub fn elements(document: &str) -> Result<BTreeMap<String, usize>, Malformed> {
    let mut counts = BTreeMap::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = document.strip_prefix("<!DOCTYPE html>").unwrap_or(document);
    while let Some(start) = rest.find('<') {
        check_text(&rest[..start])?;
        let after = &rest[start + 1..];
        let end = after.find('>').ok_or_else(|| Malformed::Open(first_word(after).to_owned()))?;
        let tag = &after[..end];
        check_tag(tag)?;
        let name = first_word(tag.trim_matches('/'));
        if tag.starts_with('/') {
            let expected = open.pop().unwrap_or_default();
            if expected != name {
                let (found, expected) = (name.to_owned(), expected.to_owned());
                return Err(Malformed::Closed { found, expected });
            }
        } else {
            *counts.entry(name.to_owned()).or_insert(0) += 1;
            if !tag.ends_with('/') {
                open.push(name);
            }
        }
        rest = &after[end + 1..];
        // A style sheet has `>` of its own.
        if name == "style" && !tag.starts_with('/') {
            let end = rest.find("</style>").ok_or_else(|| Malformed::Open(name.to_owned()))?;
            rest = &rest[end..];
        }
    }
    check_text(rest)?;
    match open.pop() {
        Some(name) => Err(Malformed::Open(name.to_owned())),
        None => Ok(counts),
    }
}

fn check_text(text: &str) -> Result<(), Malformed> {
    let is_entity =
        |e: &str| ["amp;", "lt;", "gt;", "quot;"].iter().any(|known| e.starts_with(known));
    if text.contains('>') || !text.split('&').skip(1).all(is_entity) {
        return Err(Malformed::Text(text.trim().to_owned()));
    }
    Ok(())
}

fn check_tag(tag: &str) -> Result<(), Malformed> {
    let is_paired = tag.matches('"').count().is_multiple_of(2);
    let has_number = !tag.contains("NaN") && !tag.contains("\"inf");
    let is_plain = !tag.contains('<') && check_text(tag).is_ok();
    if is_paired && has_number && is_plain { Ok(()) } else { Err(Malformed::Tag(tag.to_owned())) }
}

fn first_word(text: &str) -> &str {
    text.split([' ', '\n', '>']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_whole_is_counted() {
        let page = "<!DOCTYPE html><p class=\"a\">x &lt; y<br/></p><style>a > b {}</style><p></p>";
        let counts = elements(page).unwrap();
        assert_eq!((counts["p"], counts["br"], counts["style"]), (2, 1, 1));
    }

    #[test]
    fn what_is_broken_is_found() {
        let closed = |found: &str, expected: &str| Malformed::Closed {
            found: found.to_owned(),
            expected: expected.to_owned(),
        };
        for (document, expected) in [
            ("<p>a > b</p>", Malformed::Text("a > b".to_owned())),
            ("<p>a & b</p>", Malformed::Text("a & b".to_owned())),
            ("<p></p> &", Malformed::Text("&".to_owned())),
            ("<p", Malformed::Open("p".to_owned())),
            ("<p>", Malformed::Open("p".to_owned())),
            ("<style>", Malformed::Open("style".to_owned())),
            ("<p class=\"a></p>", Malformed::Tag("p class=\"a".to_owned())),
            ("<p x=\"NaN\"/>", Malformed::Tag("p x=\"NaN\"/".to_owned())),
            ("<p x=\"a&b\"/>", Malformed::Tag("p x=\"a&b\"/".to_owned())),
            ("<p><q></p></q>", closed("p", "q")),
            ("</p>", closed("p", "")),
        ] {
            assert_eq!(elements(document), Err(expected), "{document}");
        }
    }
}
