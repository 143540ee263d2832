//! What `skeptron list --json` says of an algorithm.

use serde::Serialize;
use skeptron_core::catalogue::{Broken, ElectionInfo, Entry, Info};
use skeptron_core::claims::{Condition, Published, Quantity};
use skeptron_core::election::Case;

use super::{refuted, shown};
use crate::published::breaks;

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
    Mutex { figures: Vec<FigureRow>, ordered: bool, kinds: bool },
    Election { highest: bool, survives: &'static str, cases: Vec<CaseRow> },
}

/// A figure, and when it holds.
#[derive(Serialize)]
struct FigureRow {
    quantity: Quantity,
    claim: String,
    when: &'static [Condition],
    /// The same in words.
    conditions: String,
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
    let figure = |published: &Published| FigureRow {
        quantity: published.quantity,
        claim: published.to_string(),
        when: published.when,
        conditions: published.conditions(),
    };
    let claims = Claims::Mutex {
        figures: claims.figures.iter().map(figure).collect(),
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
