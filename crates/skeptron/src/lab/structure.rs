//! POST /lab/structure and /lab/optimise: an information structure, judged or searched, as
//! `skeptron structure` and `skeptron structure optimise`.

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;

use super::body::{Asked, MOST_FILE_BYTES};
use super::job::{Jobs, Task};
use super::refusal::Refusal;
use super::wire::StructureResult;
use crate::ask::{Files, OptimiseRequest, Request as _, StructureRequest};

/// Every pair of nodes is judged and told.
const MOST_NODES: usize = 200;
/// Of a structure that is searched.
const MOST_SEARCHED: usize = 40;

pub(super) fn router() -> Router<Jobs> {
    Router::new().route("/lab/structure", post(structure)).route("/lab/optimise", post(optimise))
}

async fn structure(
    State(jobs): State<Jobs>,
    Asked(asked): Asked<StructureRequest, MOST_FILE_BYTES>,
) -> Result<Response, Refusal> {
    if asked.what.is_some() && asked.text.is_some() {
        return Err(Refusal::Impossible(
            "give either a preset as `what` or what a file says as `text`".into(),
        ));
    }
    let asked = asked.validated()?;
    refuse_many(asked.size(Files::None)?, MOST_NODES)?;
    Ok(jobs.stream(Task::new(asked.command()), move |_| {
        let (found, name, rates) = asked.found(Files::None)?;
        refuse_many(found.nodes(), MOST_NODES)?;
        let report = found.report(name, rates, false)?;
        Ok(StructureResult { report, command: asked.command() })
    }))
}

async fn optimise(
    State(jobs): State<Jobs>,
    Asked(asked): Asked<OptimiseRequest>,
) -> Result<Response, Refusal> {
    refuse_many(asked.rates.iter().flat_map(|rates| rates.split(',')).count(), MOST_SEARCHED)?;
    Ok(jobs.stream(Task::new(asked.command()), move |_| {
        let (_, report) = asked.search(false)?;
        Ok(StructureResult { report, command: asked.command() })
    }))
}

fn refuse_many(nodes: usize, most: usize) -> Result<()> {
    ensure!(
        nodes <= most,
        "{nodes} nodes are too many for the lab; at most {most}, or use `skeptron structure` in a \
         terminal"
    );
    Ok(())
}
