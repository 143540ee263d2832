//! The algorithms, as the page sees them.

use skeptron_core::catalogue::{
    self, Algorithm, Broken, ElectionInfo, Entry, Info, Layout, Variable,
};
use skeptron_core::claims::Published;
use skeptron_core::mutex::foreign;

use super::wire::{AlgorithmInfo, AlgorithmKind, BrokenInfo, ClaimInfo, VariableInfo};
use crate::published::{breaks, messages};

/// All of them, the broken variants and the programs of `--algorithm` included.
pub(super) fn algorithms() -> Vec<AlgorithmInfo> {
    let programs = foreign::all().into_iter().map(|program| mutex(program.info()));
    let mutexes = catalogue::all().map(mutex).chain(programs);
    mutexes.chain(catalogue::elections().map(election)).collect()
}

fn mutex(info: &'static Info) -> AlgorithmInfo {
    let said = |published: &Published| {
        let name = format!("{}, {}", published.quantity, published.conditions());
        claim(&name, published.to_string())
    };
    let claims = info.claims.figures.iter().map(said).collect();
    entry(info, AlgorithmKind::Mutex, claims, sound(info.name, catalogue::sound()))
}

fn election(info: &'static ElectionInfo) -> AlgorithmInfo {
    let mut claims = Vec::new();
    for case in info.claims.cases {
        let when = format!("{}: {}", case.name, case.when);
        claims.push(claim(&format!("messages, {when}"), messages(case)));
        claims.extend(case.time.map(|time| claim(&format!("time, {when}"), format!("{time} T"))));
    }
    entry(info, AlgorithmKind::Election, claims, sound(info.name, catalogue::sound_elections()))
}

fn claim(name: &str, text: String) -> ClaimInfo {
    ClaimInfo { name: name.into(), text }
}

/// The correct algorithm whose name a variant's name begins with.
fn sound<C: 'static>(name: &str, all: impl Iterator<Item = &'static Entry<C>>) -> &'static str {
    let begins = |known: &&str| name.starts_with(known);
    all.map(|info| info.name).filter(begins).max_by_key(|known| known.len()).unwrap_or_default()
}

/// The correct algorithm of which that one is a variant; of a correct one, itself.
pub(super) fn sound_of(algorithm: &str) -> Option<&'static str> {
    Some(match Algorithm::find(algorithm)? {
        Algorithm::Mutex(info) => sound(info.name, catalogue::sound()),
        Algorithm::Election(info) => sound(info.name, catalogue::sound_elections()),
    })
}

fn entry<C>(
    info: &Entry<C>,
    kind: AlgorithmKind,
    claims: Vec<ClaimInfo>,
    of: &str,
) -> AlgorithmInfo {
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    AlgorithmInfo {
        name: info.name.into(),
        title: info.title.into(),
        kind,
        paper: info.paper.into(),
        family: info.family.to_string(),
        channel: info.channel.to_string(),
        layout: layout(info.layout).into(),
        idea: info.idea.into(),
        rules: texts(info.rules),
        fires: texts(info.fires),
        notes: texts(info.notes),
        claims,
        variables: info.variables.iter().map(variable).collect(),
        broken: info.broken.map(|broken| flaw(&broken, of)),
    }
}

fn variable(variable: &Variable) -> VariableInfo {
    VariableInfo {
        field: variable.field.into(),
        symbol: variable.symbol.into(),
        meaning: variable.meaning.into(),
    }
}

fn flaw(broken: &Broken, of: &str) -> BrokenInfo {
    BrokenInfo {
        of: of.into(),
        flaw: broken.flaw.into(),
        breaks: breaks(broken.breaks).into(),
        shown_by: broken.shown_by.into(),
        refuted_by: broken.refuted_by.into(),
    }
}

fn layout(layout: Layout) -> &'static str {
    match layout {
        Layout::None => "none",
        Layout::Coordinator => "coordinator",
        Layout::Quorums => "quorums",
        Layout::Structure => "structure",
        Layout::Tree => "tree",
        Layout::Arbitration => "arbitration",
        Layout::Ring => "ring",
        Layout::Graph => "graph",
        Layout::Capacity => "capacity",
        Layout::ReadWrite => "readwrite",
        Layout::Clusters => "clusters",
        Layout::Beginning => "beginning",
        Layout::Detector => "detector",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_broken_variant_is_one_of_a_sound_algorithm() {
        let all = algorithms();
        for broken in all.iter().filter_map(|info| info.broken.as_ref()) {
            assert!(
                all.iter().any(|info| info.name == broken.of && info.broken.is_none()),
                "{broken:?}"
            );
        }
    }
}
