//! What is said of settings that are wrong: where, what, and what was probably meant.

use anyhow::{Result, anyhow, bail};
use figment::error::{Actual, Error, Kind};

use super::super::names;
use super::fields::{Settings, Table as _};
use super::settings::{self, PREFIX_VARIABLE};

/// The variable of a setting that there is no more, on which whole clusters were built.
const MEMBERS: &str = "SKEPTRON_MEMBERS";

/// Variables that other commands read, or that `skeptron lock` sets.
const OTHER_VARIABLES: [&str; 6] = [
    "SKEPTRON_ENDPOINT",
    "SKEPTRON_TOKEN",
    "SKEPTRON_TLS",
    "SKEPTRON_PROTOCOL",
    "SKEPTRON_LOCK",
    "SKEPTRON_FENCE",
];

/// What to do instead of a setting that former versions had.
fn former(key: &str) -> Option<&'static str> {
    match key {
        "members" => Some(
            "members come and go now: list under `voters` the 1, 3 or 5 that decide about that, set \
             `data`, and begin the cluster once with `skeptron node --init`",
        ),
        "coordinator" | "quorum" | "structure" | "tree" | "graph" | "arbitration" | "clusters" => {
            Some(
                "the number of members changes, so each view gets a layout of its own size: leave it out",
            )
        }
        _ => None,
    }
}

/// Refuses the variable of a setting that there is no more.
pub(super) fn former_variable(variable: impl Fn(&str) -> Option<String>) -> Result<()> {
    match former("members").filter(|_| variable(MEMBERS).is_some()) {
        Some(instead) => bail!("{MEMBERS}: {instead}"),
        None => Ok(()),
    }
}

/// What is to be said of variables that look like settings and are none.
pub(super) fn misspelt(variables: impl Iterator<Item = String>) -> Vec<String> {
    let fields = Settings::fields();
    let is_known = |name: &str| {
        name == PREFIX_VARIABLE
            || OTHER_VARIABLES.contains(&name)
            || fields.iter().any(|field| field.variable() == name)
    };
    let say = |name: String| {
        let key = name.strip_prefix("SKEPTRON_").filter(|_| !is_known(&name))?;
        let hint = names::did_you_mean(key, fields.iter().map(|field| field.key));
        Some(format!("{name} is no setting of a node{hint}"))
    };
    variables.filter_map(say).collect()
}

/// An error of figment, in words.
pub(super) fn explained(error: Error) -> anyhow::Error {
    let is_place = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = error.path.iter().map(String::as_str).collect();
    let named: Vec<&str> = parts.iter().copied().filter(|part| !is_place(part)).collect();
    let (key, in_list) = (named.join("."), named.len() < parts.len());
    let origin = error.metadata.as_ref().map_or(&*key, |origin| &origin.name);
    let at = settings::place(error.metadata.as_ref(), &key);
    match &error.kind {
        Kind::UnknownField(name, known) => match former(name) {
            Some(instead) => anyhow!("{origin}: {key}: {instead}"),
            None if in_list => {
                let list = named[..named.len() - 1].join(".");
                let hint = names::did_you_mean(name, known.iter().copied());
                anyhow!("{origin}: a [[{list}]] has no `{name}`, only {}{hint}", known.join(", "))
            }
            None => anyhow!("{origin}: there is no setting `{key}`{}", near(&key)),
        },
        Kind::MissingField(name) => anyhow!("{origin}: this [[{key}]] lacks its `{name}`"),
        Kind::InvalidType(found, _) if parts.last().is_some_and(|last| is_place(last)) => {
            anyhow!("{at}: it must be a list of texts in quotes, not of {}", in_words(found))
        }
        Kind::InvalidType(found, _) => {
            anyhow!("{at}: it must be {}, not {}", takes(&key), in_words(found))
        }
        Kind::InvalidValue(Actual::Signed(number), _) if *number < 0 => {
            anyhow!("{at}: `{number}`: it must be {}", takes(&key))
        }
        Kind::InvalidValue(Actual::Signed(number), _) => anyhow!("{at}: {number} is too large"),
        Kind::InvalidValue(Actual::Unsigned(number), _) => anyhow!("{at}: {number} is too large"),
        Kind::UnknownVariant(word, known) => {
            let hint = names::did_you_mean(word, known.iter().copied());
            anyhow!("{at}: `{word}` is none of {}{hint}", known.join(", "))
        }
        other => anyhow!("{at}: {other}"),
    }
}

/// What was probably meant. Somebody may have forgotten the table, or the key is fine but misspelt.
fn near(key: &str) -> String {
    let fields = Settings::fields();
    match fields.iter().find(|field| field.key.rsplit('.').next() == Some(key)) {
        Some(field) => format!("; did you mean `{}`?", field.key),
        None => names::did_you_mean(key, fields.iter().map(|field| field.key)),
    }
}

fn takes(key: &str) -> &'static str {
    let in_lists = Settings::lists().into_iter().flat_map(|(_, fields)| fields);
    let found = Settings::fields().into_iter().chain(in_lists).find(|field| field.key == key);
    found.map_or("something else", |field| field.takes)
}

/// What a value is.
fn in_words(found: &Actual) -> String {
    match found {
        Actual::Str(text) => format!("the text \"{text}\""),
        Actual::Signed(_) | Actual::Unsigned(_) => "a whole number".to_string(),
        Actual::Float(_) => "a number with a point".to_string(),
        Actual::Bool(_) => "true or false".to_string(),
        Actual::Seq => "a list".to_string(),
        Actual::Map => "a table or a date".to_string(),
        other => other.to_string(),
    }
}
