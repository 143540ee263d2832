//! POST /lab/quorum: a quorum system, analysed and drawn, as `skeptron quorum`.

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use skeptron_quorum_analysis::picture;

use super::body::{Asked, MOST_FILE_BYTES};
use super::job::{EventSender, Jobs, Task};
use super::refusal::Refusal;
use super::wire::{Progress, QuorumResult};
use crate::ask::{Files, QuorumRequest, Request as _};

/// Larger systems take minutes.
const MOST_NODES: usize = 1000;
/// Capacities and latencies take away what nodes have in common, and nothing ends their analysis.
const MOST_UNLIKE: usize = 200;

pub(super) fn router() -> Router<Jobs> {
    Router::new().route("/lab/quorum", post(quorum))
}

async fn quorum(
    State(jobs): State<Jobs>,
    Asked(asked): Asked<QuorumRequest, MOST_FILE_BYTES>,
) -> Result<Response, Refusal> {
    let asked = allowed(asked)?;
    Ok(jobs.stream(Task::new(asked.command()), move |sender| answer(&asked, sender)))
}

/// Refuses what the lab has no time for.
fn allowed(asked: QuorumRequest) -> Result<QuorumRequest> {
    ensure!(
        asked.kind.is_some() != asked.text.is_some(),
        "give either a construction as `kind` or what a file says as `text`"
    );
    let asked = asked.validated()?;
    // Before anything of that size is built.
    let nodes = asked.size(Files::None)?;
    refuse_many(nodes)?;
    ensure!(
        nodes <= MOST_UNLIKE || asked.capacities.is_none() && asked.latencies.is_none(),
        "{nodes} nodes with capacities or latencies of their own are too many for the lab; at most \
         {MOST_UNLIKE}, or use `skeptron quorum` in a terminal"
    );
    Ok(asked)
}

fn refuse_many(nodes: usize) -> Result<()> {
    ensure!(
        nodes <= MOST_NODES,
        "{nodes} nodes are too many for the lab; at most {MOST_NODES}, or use `skeptron quorum` in a \
         terminal"
    );
    Ok(())
}

fn answer(asked: &QuorumRequest, sender: &EventSender) -> Result<QuorumResult> {
    if let Some(family) = asked.pasted()? {
        refuse_many(family.nodes())?;
    }
    let subject = asked.subject(Files::None)?;
    let mut svg = None;
    if let Some(system) = subject.system()? {
        let picture = asked.picture(system)?;
        svg = picture.map(|(picture, of)| picture::svg(system, picture, of)).transpose()?;
    }
    let mut done = 0;
    let answer = subject.analyse(&asked.question(), |name| {
        sender.progress(&Progress { done, total: 0, label: name.into() });
        done += 1;
    })?;
    Ok(QuorumResult { report: answer, svg, command: asked.command() })
}
