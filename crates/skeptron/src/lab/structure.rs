//! POST /lab/structure: an information structure, judged or searched, as `skeptron structure`.

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;

use super::body::{Asked, MOST_FILE_BYTES};
use super::files;
use super::job::{Jobs, Task};
use super::refusal::Refusal;
use super::wire::{OptimiseRequest, StructureRequest, StructureResult};
use crate::cli::structure::{OptimiseArgs, StructureArgs};
use crate::cli::system::SystemArgs;

/// Every pair of nodes is judged and told.
const MOST_NODES: usize = 200;
/// Of a structure that is searched.
const MOST_SEARCHED: usize = 40;

pub(super) fn router() -> Router<Jobs> {
    Router::new().route("/lab/structure", post(structure))
}

async fn structure(
    State(jobs): State<Jobs>,
    Asked(request): Asked<StructureRequest, MOST_FILE_BYTES>,
) -> Result<Response, Refusal> {
    match &request.optimise {
        Some(demands) => {
            ensure_nothing_else(&request)?;
            optimise(&jobs, request.rates.clone(), demands)
        }
        None => judge(&jobs, request),
    }
}

fn ensure_nothing_else(request: &StructureRequest) -> Result<()> {
    let StructureRequest { what, text, nodes, quorum, .. } = request;
    ensure!(
        what.is_none() && text.is_none() && nodes.is_none() && quorum.is_none(),
        "a search takes only `rates`, one for each node, and its demands; leave the rest out"
    );
    Ok(())
}

fn optimise(
    jobs: &Jobs,
    rates: Option<String>,
    demands: &OptimiseRequest,
) -> Result<Response, Refusal> {
    let args = OptimiseArgs {
        rates: rates.unwrap_or_default(),
        busiest: demands.busiest,
        delay: demands.delay,
        ..OptimiseArgs::default()
    };
    refuse_many(args.rates.split(',').count(), MOST_SEARCHED)?;
    Ok(jobs.stream(Task::new(args.command()), move |_| {
        let (_, report) = args.search()?;
        Ok(StructureResult { report: serde_json::to_value(report)?, command: args.command() })
    }))
}

fn judge(jobs: &Jobs, request: StructureRequest) -> Result<Response, Refusal> {
    let StructureRequest { what, text, nodes, quorum, rates, .. } = request;
    if what.is_some() && text.is_some() {
        return Err(Refusal::Impossible(
            "give either a preset as `what` or what a file says as `text`".into(),
        ));
    }
    let system =
        SystemArgs { quorum: quorum.clone(), structure: what.clone(), ..SystemArgs::default() };
    files::refuse_in_system(&system)?;
    refuse_many(system.nodes_of_layout()?.unwrap_or(0), MOST_NODES)?;
    let args = StructureArgs { what, nodes, quorum, rates, ..StructureArgs::default() };
    refuse_many(args.nodes.unwrap_or(0), MOST_NODES)?;
    refuse_many(args.rates.as_ref().map_or(0, |rates| rates.split(',').count()), MOST_NODES)?;
    let command = args.command(text.is_some());
    Ok(jobs.stream(Task::new(command.clone()), move |_| {
        let report = args.report(text.as_deref())?;
        refuse_many(report.nodes(), MOST_NODES)?;
        Ok(StructureResult { report: serde_json::to_value(report)?, command })
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
