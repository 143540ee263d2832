//! The lab: one web page, served from this binary, that runs, checks and shows the algorithms.

mod assets;
pub(crate) mod assumptions;
mod body;
mod catalogue;
mod check;
mod cluster;
mod compare;
mod counterexamples;
mod gallery;
mod job;
mod quorum;
mod refusal;
mod runs;
pub(crate) mod standalone;
mod structure;
pub mod wire;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router, middleware};
use futures_util::StreamExt as _;
use skeptron_net::api::Closing;

pub use assets::Page;
pub use cluster::{ActError, Answering, Live};
pub use gallery::Gallery;
use refusal::Refusal;
use wire::{About, AlgorithmInfo, GalleryItem, Limits};

/// How much the page may ask for.
pub(super) const LIMITS: Limits =
    Limits { nodes: 100, records: 100_000, seconds: 60, check_memory: 1 << 30 };

/// What the page can do here.
#[derive(Clone, Debug)]
pub struct Lab {
    /// Where the page and its scenarios are from.
    pub gallery: Gallery,
    /// Whether it may simulate and check: not on a machine that has other work to do.
    pub runs: bool,
    /// The cluster that it shows, if there is one.
    pub cluster: Option<Arc<Live>>,
}

/// All paths of the lab. What is at no path is left to whoever serves it.
pub fn router(lab: Lab) -> Router {
    let mut router = assets::router(lab.gallery.page.clone());
    if lab.runs {
        router = router.merge(runs::router(lab.gallery.clone())).merge(job::router());
    }
    if let Some(live) = &lab.cluster {
        router = router.merge(cluster::router(Arc::clone(live)));
    }
    let own = Router::new()
        .route("/lab/about", get(about))
        .route("/lab/algorithms", get(algorithms))
        .route("/lab/scenarios", get(scenarios))
        .with_state(Arc::new(lab));
    router
        .merge(own)
        .layer(middleware::map_response(assets::guarded))
        .layer(middleware::from_fn(end_with_the_site))
}

/// Streams have no end of their own: they end when the site closes.
async fn end_with_the_site(request: Request, next: Next) -> Response {
    let closing = request.extensions().get::<Closing>().cloned();
    let response = next.run(request).await;
    let kind = response.headers().get(header::CONTENT_TYPE);
    match closing {
        Some(closing) if kind.is_some_and(|kind| kind == "text/event-stream") => {
            response.map(|body| {
                Body::from_stream(body.into_data_stream().take_until(Box::pin(closing.begun())))
            })
        }
        _ => response,
    }
}

/// All paths, where there are no others.
pub fn site(lab: Lab) -> Router {
    router(lab)
        .fallback(async || Refusal::NoSuchPath)
        .method_not_allowed_fallback(async || Refusal::NoSuchMethod)
}

async fn about(State(lab): State<Arc<Lab>>) -> Json<About> {
    let version = env!("CARGO_PKG_VERSION").into();
    Json(About { version, runs: lab.runs, cluster: lab.cluster.is_some(), limits: LIMITS })
}

async fn algorithms() -> Json<Vec<AlgorithmInfo>> {
    Json(catalogue::algorithms())
}

async fn scenarios(State(lab): State<Arc<Lab>>) -> Result<Json<Vec<GalleryItem>>, Refusal> {
    Ok(Json(lab.gallery.items()?))
}
