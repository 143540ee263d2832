//! What users of a lock with kinds do: words for the simulator and the checker.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Mode;

/// What one request is for: in which mode it enters, and how it may change inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// As what it enters.
    pub mode: Mode,
    /// How often it may ask to be exclusive. After each upgrade it may go back to its mode.
    pub upgrades: u8,
    /// An exclusive entry that may go on as a shared one.
    pub downgrades: bool,
    /// Whether it may stop waiting, for the entry or for an upgrade.
    pub cancels: bool,
}

impl Usage {
    /// The most upgrades that one request may ask for.
    pub const MOST_UPGRADES: u8 = 3;

    /// An entry that leaves as what it entered.
    #[must_use]
    pub const fn plain(mode: Mode) -> Self {
        Usage { mode, upgrades: 0, downgrades: false, cancels: false }
    }

    /// What each node's requests are for: `shared,9*shared+exclusive` gives the first node shared requests
    /// and the second nine shared for each exclusive one. With fewer lists than nodes they begin again.
    ///
    /// # Errors
    /// If a word means nothing, or there are more lists than nodes.
    pub fn lists(text: &str, nodes: usize) -> Result<Vec<Vec<Usage>>, UsageError> {
        let lists: Vec<Vec<Usage>> =
            text.split(',').map(list_of_one_node).collect::<Result<_, _>>()?;
        if lists.len() > nodes {
            return Err(UsageError::TooMany { given: lists.len(), nodes });
        }
        Ok(lists.iter().cycle().take(nodes).cloned().collect())
    }
}

fn list_of_one_node(text: &str) -> Result<Vec<Usage>, UsageError> {
    let mut list = Vec::new();
    for word in text.split('+') {
        let (times, word) = match word.split_once('*') {
            Some((times, word)) => {
                let unknown = || UsageError::Times(times.trim().into());
                let times: usize = times.trim().parse().map_err(|_| unknown())?;
                if !(1..=100).contains(&times) {
                    return Err(unknown());
                }
                (times, word)
            }
            None => (1, word),
        };
        let usage: Usage = word.trim().parse()?;
        list.extend(std::iter::repeat_n(usage, times));
    }
    Ok(list)
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cancels {
            f.write_str("try:")?;
        }
        match (self.upgrades, self.downgrades) {
            (0, true) => f.write_str("downgrade"),
            (0, false) => self.mode.fmt(f),
            (1, _) => f.write_str("upgrade"),
            (times, _) => write!(f, "upgrade:{times}"),
        }
    }
}

/// What is not a usage.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UsageError {
    /// A word that means nothing.
    #[error(
        "`{0}` is no mode; use exclusive, shared, permits:K with K from 1 on, upgrade (shared, then \
         perhaps exclusive), upgrade:K (up to K times, at most {most}) or downgrade (exclusive, then \
         perhaps shared); with try: before it, a request may stop waiting",
        most = Usage::MOST_UPGRADES
    )]
    Unknown(String),
    /// A number of times that is none.
    #[error("`{0}*` is no number of times; from 1 to 100 are possible, as in 9*shared+exclusive")]
    Times(String),
    /// More lists than nodes.
    #[error("there are modes for {given} nodes, but the system has {nodes}")]
    TooMany {
        /// For how many there are.
        given: usize,
        /// How many nodes there are.
        nodes: usize,
    },
}

impl FromStr for Usage {
    type Err = UsageError;

    fn from_str(text: &str) -> Result<Self, UsageError> {
        if let Some(rest) = text.strip_prefix("try:") {
            let usage: Usage = rest.parse()?;
            let again = || UsageError::Unknown(text.into());
            return if usage.cancels { Err(again()) } else { Ok(Usage { cancels: true, ..usage }) };
        }
        let unknown = || UsageError::Unknown(text.into());
        let shared = |upgrades| Usage { upgrades, ..Usage::plain(Mode::SHARED) };
        Ok(match (text, text.strip_prefix("upgrade:")) {
            ("upgrade", _) => shared(1),
            ("downgrade", _) => Usage { downgrades: true, ..Usage::plain(Mode::EXCLUSIVE) },
            (_, Some(times)) => match times.parse() {
                Ok(times) if (1..=Usage::MOST_UPGRADES).contains(&times) => shared(times),
                _ => return Err(unknown()),
            },
            _ => Usage::plain(text.parse().map_err(|_| unknown())?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_begin_again_with_more_nodes() {
        let lists = Usage::lists("2*shared+try:exclusive, try:upgrade:2", 3).unwrap();
        let words: Vec<Vec<String>> =
            lists.iter().map(|list| list.iter().map(ToString::to_string).collect()).collect();
        let readers = ["shared", "shared", "try:exclusive"];
        assert_eq!(words, [&readers[..], &["try:upgrade:2"], &readers]);
    }

    #[test]
    fn what_means_nothing_is_named() {
        for (text, named) in [
            ("shared,writers", "`writers` is no mode; use exclusive, shared"),
            ("permits:0", "`permits:0` is no mode"),
            ("upgrade:9", "`upgrade:9` is no mode"),
            ("try:try:shared", "`try:try:shared` is no mode"),
            ("0*shared", "`0*` is no number of times"),
            ("", "`` is no mode"),
            ("shared,shared,shared", "there are modes for 3 nodes, but the system has 2"),
        ] {
            let said = Usage::lists(text, 2).unwrap_err().to_string();
            assert!(said.starts_with(named), "{text}: {said}");
        }
    }
}
