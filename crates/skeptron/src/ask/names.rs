//! Names that users type, and what they probably meant.

use std::num::{IntErrorKind, ParseIntError};
use std::str::FromStr;

use anyhow::{Result, bail, ensure};
use skeptron_core::NodeId;
use skeptron_core::catalogue::{self, Algorithm, Info};
use skeptron_net::MemberId;

/// Starts those of these algorithms that are programs. For names that a person has typed: whatever else names
/// an algorithm may only use what was started.
pub(crate) fn start_programs<'a>(names: impl IntoIterator<Item = &'a String>) -> Result<()> {
    for name in names.into_iter().filter(|name| skeptron_foreign::is_path(name)) {
        skeptron_foreign::load(name)?;
    }
    Ok(())
}

/// The algorithm of that name.
pub(crate) fn algorithm(name: &str) -> Result<Algorithm> {
    // Whoever corrects a program need not start the lab again.
    if let Some(info) = skeptron_foreign::reload(name)? {
        return Ok(Algorithm::Mutex(info));
    }
    if let Some(known) = Algorithm::find(name) {
        return Ok(known);
    }
    ensure!(
        !skeptron_foreign::is_path(name),
        "{name} is a program that was not started; programs can be named in `skeptron sim`, `check`, `compare`, \
         `explain` and `lab --algorithm`"
    );
    let mutexes = catalogue::all().map(|info| info.name);
    let known = mutexes.chain(catalogue::elections().map(|info| info.name));
    bail!(
        "there is no algorithm named `{name}`; `skeptron list` shows them all{}",
        did_you_mean(name, known)
    )
}

/// The algorithm for mutual exclusion of that name.
pub(crate) fn mutex(name: &str) -> Result<&'static Info> {
    match algorithm(name)? {
        Algorithm::Mutex(info) => Ok(info),
        Algorithm::Election(_) => {
            bail!("{name} elects a leader; this is for mutual exclusion only")
        }
    }
}

/// `; did you mean `x`?`, if something known is near.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    known
        .map(|candidate| (strsim::jaro_winkler(&name.to_lowercase(), candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| format!("; did you mean `{candidate}`?"))
        .unwrap_or_default()
}

/// A node as people write it: `3` or `P3`, counted from 1.
pub(crate) fn node(text: &str) -> Result<NodeId> {
    let digits = text.trim();
    let digits = digits.strip_prefix(['P', 'p']).unwrap_or(digits);
    match digits.parse::<u32>() {
        Ok(number @ 1..=0xFFFF_FFFE) => Ok(NodeId::new(number as usize - 1)),
        _ => bail!("`{text}` is no node; nodes are written 1 or P1 and counted from 1"),
    }
}

/// A member of a cluster as people write it: `3` or `P3`.
pub(crate) fn member(text: &str) -> Result<MemberId> {
    node(text).map(|node| MemberId::at(node.index()))
}

/// A whole number as people write it, for clap.
pub(crate) fn whole<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, &'static str> {
    text.parse().map_err(|error: ParseIntError| match error.kind() {
        IntErrorKind::PosOverflow => "it is too large",
        _ => "it must be a whole number from 0 up",
    })
}

/// How often something may happen, for clap.
pub(crate) fn few(text: &str) -> Result<u8, &'static str> {
    whole::<u64>(text)?.try_into().map_err(|_| "at most 255 are possible")
}

/// A number as people write it, for clap.
pub(crate) fn real(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "it must be a number")
}

/// Several nodes, separated by commas.
pub(crate) fn nodes(text: &str) -> Result<Vec<NodeId>> {
    text.split(',').map(node).collect()
}
