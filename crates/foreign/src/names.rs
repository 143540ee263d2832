//! Names that last as long as the process: the catalogue and serde know names as constants.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// So many different names of fields, and reasons to refuse something, are kept.
pub(crate) const MOST: usize = 10_000;

static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The same text, each once; `None` if there are too many: a program that makes up names as it runs.
pub(crate) fn lasting(text: &str) -> Option<&'static str> {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(text) {
        return Some(known);
    }
    if names.len() >= MOST {
        return None;
    }
    let lasting: &'static str = Box::leak(text.into());
    names.insert(lasting);
    Some(lasting)
}

/// Some text of a declaration; there are few of them.
pub(crate) fn declared(text: &str) -> &'static str {
    lasting(text).unwrap_or_else(|| Box::leak(text.into()))
}

/// Texts of a declaration.
pub(crate) fn all_declared(texts: &[String]) -> &'static [&'static str] {
    Box::leak(texts.iter().map(|text| declared(text)).collect())
}
