//! What settings take: a type for each kind of value.

use std::fmt;
use std::time::Duration;

use figment::value::Value;
use serde::Deserialize;
use skeptron_net::Deadlocks;

use super::super::duration;
use super::super::logs::Format;

/// A type of settings.
pub(super) trait Kind {
    /// What it takes, for an error.
    const TAKES: &'static str;
    /// Whether its values are never shown.
    const IS_SECRET: bool = false;

    /// The value that a variable of the environment means. What does not fit stays a text.
    fn of_variable(text: &str) -> Value {
        text.into()
    }
}

impl<K: Kind> Kind for Option<K> {
    const TAKES: &'static str = K::TAKES;
    const IS_SECRET: bool = K::IS_SECRET;

    fn of_variable(text: &str) -> Value {
        K::of_variable(text)
    }
}

macro_rules! texts {
    ($($text:ty),+) => { $( impl Kind for $text {
        const TAKES: &'static str = "a text in quotes";
    } )+ };
}

texts!(String, Deciders, Deadlocks, Format);

impl Kind for bool {
    const TAKES: &'static str = "true or false";

    fn of_variable(text: &str) -> Value {
        text.parse::<bool>().map_or(text.into(), Value::from)
    }
}

macro_rules! numbers {
    ($($number:ty),+) => { $(
        impl Kind for $number {
            const TAKES: &'static str = "a whole number from 0 up";

            fn of_variable(text: &str) -> Value {
                text.parse::<u64>().map_or(text.into(), Value::from)
            }
        }
    )+ };
}

numbers!(u32, usize);

impl Kind for Vec<String> {
    const TAKES: &'static str = "a list, as in [\"10.0.0.1:7570\", \"10.0.0.2:7570\"]";

    fn of_variable(text: &str) -> Value {
        text.split(',').map(str::trim).collect::<Vec<_>>().into()
    }
}

/// A duration.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Time(pub(super) Duration);

impl TryFrom<String> for Time {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let read = duration::parse(&text).map(Time);
        read.map_err(|why| format!("`{text}` is no duration: {why}"))
    }
}

impl Kind for Time {
    const TAKES: &'static str = "a duration in quotes, as in \"500ms\" or \"5s\"";
}

/// A text that is never shown.
#[derive(Clone, Deserialize)]
pub(super) struct Secret(pub(super) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Kind for Secret {
    const TAKES: &'static str = String::TAKES;
    const IS_SECRET: bool = true;
}

/// Addresses, or true for the usual one, or false for none.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "it must be true, false, or a list as in [\"127.0.0.1:2379\"]")]
pub(super) enum Addresses {
    Usual(bool),
    These(Vec<String>),
}

impl Addresses {
    /// The addresses, where `usual` is the usual one.
    pub(super) fn or_usual(&self, usual: &str) -> Vec<String> {
        match self {
            Addresses::Usual(false) => Vec::new(),
            Addresses::Usual(true) => vec![usual.to_string()],
            Addresses::These(addresses) => addresses.clone(),
        }
    }
}

impl Kind for Addresses {
    const TAKES: &'static str = "true, false, or a list as in [\"127.0.0.1:2379\"]";

    fn of_variable(text: &str) -> Value {
        text.parse::<bool>().map_or_else(|_| <Vec<String>>::of_variable(text), Value::from)
    }
}

/// Who decides who belongs to the cluster.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Deciders {
    Voters,
    Etcd,
}
