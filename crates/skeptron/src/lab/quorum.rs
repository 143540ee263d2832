//! POST /lab/quorum: a quorum system, analysed and drawn, as `skeptron quorum`.

use anyhow::{Context as _, Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use skeptron_quorum::parse_file;
use skeptron_quorum_analysis::failure::Sampling;
use skeptron_quorum_analysis::picture;

use super::body::{Asked, MOST_FILE_BYTES};
use super::files;
use super::job::{Jobs, Task, Teller};
use super::refusal::Refusal;
use super::wire::{Progress, QuorumRequest, QuorumResult};
use crate::cli::quorum::{DEFAULT_P, QuorumArgs, Subject};

/// Larger systems take minutes.
const MOST_NODES: usize = 1000;
/// Capacities and latencies take away what nodes have in common, and nothing ends their analysis.
const MOST_UNLIKE: usize = 200;
/// What a file is called that has no name.
const FILE: &str = "file";

pub(super) fn router() -> Router<Jobs> {
    Router::new().route("/lab/quorum", post(quorum))
}

async fn quorum(
    State(jobs): State<Jobs>,
    Asked(request): Asked<QuorumRequest, MOST_FILE_BYTES>,
) -> Result<Response, Refusal> {
    let (args, text) = args(request)?;
    let task = Task::new(args.command());
    Ok(jobs.stream(task, move |teller| answer(&args, text.as_deref(), teller)))
}

/// The options of the command line, and what a file says.
fn args(request: QuorumRequest) -> Result<(QuorumArgs, Option<String>)> {
    let QuorumRequest { kind, text, nodes, rows, weights, height, order, .. } = request;
    ensure!(
        kind.is_some() != text.is_some(),
        "give either a construction as `kind` or what a file says as `text`"
    );
    // Its weights may stand apart from it.
    files::refuse_quorum(kind.as_deref().filter(|&kind| kind != "weighted"))?;
    let Sampling { samples, seed } = Sampling::default();
    let args = QuorumArgs {
        kind,
        nodes,
        rows,
        weights,
        height,
        order,
        p: request.p.unwrap_or(DEFAULT_P),
        capacities: request.capacities,
        latencies: request.latencies,
        samples,
        seed,
        picture: request.picture,
        of: request.of,
        ..QuorumArgs::default()
    };
    // Before anything of that size is built.
    let nodes = match text {
        Some(_) => args.nodes.unwrap_or(0),
        None => args.size()?,
    };
    refuse_many(nodes)?;
    ensure!(
        nodes <= MOST_UNLIKE || args.capacities.is_none() && args.latencies.is_none(),
        "{nodes} nodes with capacities or latencies of their own are too many for the lab; at most \
         {MOST_UNLIKE}, or use `skeptron quorum` in a terminal"
    );
    Ok((args, text))
}

fn refuse_many(nodes: usize) -> Result<()> {
    ensure!(
        nodes <= MOST_NODES,
        "{nodes} nodes are too many for the lab; at most {MOST_NODES}, or use `skeptron quorum` in a \
         terminal"
    );
    Ok(())
}

fn answer(args: &QuorumArgs, text: Option<&str>, teller: &Teller) -> Result<QuorumResult> {
    let subject = match text {
        Some(text) => read(args, text)?,
        None => args.subject()?,
    };
    let svg = match subject.system()? {
        Some(system) => args
            .picture(system)?
            .map(|(picture, highlight)| picture::svg(system, picture, highlight))
            .transpose()?,
        None => None,
    };
    let mut done = 0;
    let answer = subject.analyse(&args.question(), |name| {
        teller.progress(&Progress { done, total: 0, label: name.into() });
        done += 1;
    })?;
    let compared = answer.compared.as_ref();
    Ok(QuorumResult {
        report: serde_json::to_value(&answer)?,
        svg,
        command: args.command(),
        compared: compared.map(|all| serde_json::to_value(&all.candidates)).transpose()?,
    })
}

/// The quorums that a file names, whether they meet or not.
fn read(args: &QuorumArgs, text: &str) -> Result<Subject> {
    let family = parse_file(text, args.nodes).context(FILE)?;
    refuse_many(family.nodes())?;
    if let Some(wanted) = args.nodes {
        let own = family.nodes();
        ensure!(wanted == own, "the quorums are for {own} nodes, not {wanted}; leave out `nodes`");
    }
    Subject::of_file(FILE, family)
}
