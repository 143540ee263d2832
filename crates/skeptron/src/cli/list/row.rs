//! What `skeptron list --json` says of an algorithm.

use serde::Serialize;
use skeptron_core::catalogue::{Broken, ElectionInfo, Entry, Info};
use skeptron_core::election::Case;

use super::{breaks, refuted, shown};

/// One algorithm.
#[derive(Serialize)]
pub(super) struct Row {
    name: &'static str,
    kind: &'static str,
    title: &'static str,
    paper: &'static str,
    family: String,
    channel: String,
    claims: Claims,
    broken: Option<BrokenRow>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Claims {
    Mutex {
        messages_first: String,
        messages_again: String,
        messages_saturated: String,
        messages_uniform: Option<String>,
        client_delay_first: String,
        client_delay_again: String,
        sync_delay: String,
        ordered: bool,
        kinds: bool,
    },
    Election {
        highest: bool,
        survives: &'static str,
        cases: Vec<CaseRow>,
    },
}

/// The figures of an election in one situation.
#[derive(Serialize)]
struct CaseRow {
    name: &'static str,
    when: &'static str,
    /// Which kinds of messages count; all if there is none.
    counted: &'static [&'static str],
    messages: String,
    time: Option<String>,
}

#[derive(Serialize)]
struct BrokenRow {
    flaw: &'static str,
    breaks: &'static str,
    shown_by: String,
    refuted_by: String,
}

pub(super) fn mutex(info: &Info) -> Row {
    let claims = &info.claims;
    let claims = Claims::Mutex {
        messages_first: claims.messages_first.to_string(),
        messages_again: claims.messages_again.to_string(),
        messages_saturated: claims.messages_saturated.to_string(),
        messages_uniform: claims.messages_uniform.map(|claim| claim.to_string()),
        client_delay_first: claims.client_first.to_string(),
        client_delay_again: claims.client_again.to_string(),
        sync_delay: claims.sync_delay.to_string(),
        ordered: claims.ordered,
        kinds: info.offers_kinds(),
    };
    row("mutex", info, claims)
}

pub(super) fn election(info: &ElectionInfo) -> Row {
    let case = |case: &Case| CaseRow {
        name: case.name,
        when: case.when,
        counted: case.counted,
        messages: case.messages.to_string(),
        time: case.time.map(|claim| claim.to_string()),
    };
    let claims = Claims::Election {
        highest: info.claims.highest,
        survives: info.claims.survives,
        cases: info.claims.cases.iter().map(case).collect(),
    };
    row("election", info, claims)
}

fn row<C>(kind: &'static str, info: &Entry<C>, claims: Claims) -> Row {
    let broken = |broken: Broken| BrokenRow {
        flaw: broken.flaw,
        breaks: breaks(broken.breaks),
        shown_by: shown(info.name, &broken),
        refuted_by: refuted(info.name, &broken),
    };
    Row {
        name: info.name,
        kind,
        title: info.title,
        paper: info.paper,
        family: info.family.to_string(),
        channel: info.channel.to_string(),
        claims,
        broken: info.broken.map(broken),
    }
}
