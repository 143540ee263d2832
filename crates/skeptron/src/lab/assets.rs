//! The page and its files: embedded in the binary, or read from a folder by whoever works on them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Component, Path, PathBuf};

use axum::Router;
use axum::extract::{Path as Asked, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::RustEmbed;

use super::refusal::Refusal;

/// What is in `ui/`.
#[derive(RustEmbed)]
#[folder = "ui/"]
struct Embedded;

/// Where the page is from.
#[derive(Clone, Debug, Default)]
pub enum Page {
    /// From this binary.
    #[default]
    Embedded,
    /// From a folder, read anew for every request.
    Folder(PathBuf),
}

/// The page may load what this server serves, and nothing else.
const POLICY: &str = "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; \
                      base-uri 'none'; frame-ancestors 'none'";

impl Page {
    /// A file of the page, by its path in `ui/`.
    pub(super) fn file(&self, path: &str) -> Option<Cow<'static, [u8]>> {
        match self {
            Page::Embedded => Some(Embedded::get(path)?.data),
            Page::Folder(folder) => {
                let inside =
                    Path::new(path).components().all(|c| matches!(c, Component::Normal(_)));
                let file = inside.then(|| std::fs::read(folder.join(path)));
                file?.ok().map(Cow::Owned)
            }
        }
    }

    /// The JSON files of one folder of the page, by name without extension.
    pub(super) fn json_files(&self, folder: &str) -> BTreeMap<String, Cow<'static, [u8]>> {
        let name = |path: &str| Some(path.strip_suffix(".json")?.to_string());
        let names: Vec<String> = match self {
            Page::Embedded => {
                let own =
                    |path: Cow<'static, str>| name(path.strip_prefix(folder)?.strip_prefix('/')?);
                Embedded::iter().filter_map(own).collect()
            }
            Page::Folder(ui) => {
                let entries = std::fs::read_dir(ui.join(folder)).into_iter().flatten().flatten();
                entries.filter_map(|entry| name(&entry.file_name().to_string_lossy())).collect()
            }
        };
        let content =
            |name: String| Some((name.clone(), self.file(&format!("{folder}/{name}.json"))?));
        names.into_iter().filter_map(content).collect()
    }
}

/// The page at `/`, its files below `/ui/`.
pub(super) fn router(page: Page) -> Router {
    Router::new()
        .route(
            "/",
            get(async |State(page), headers: HeaderMap| answer(&page, "index.html", &headers)),
        )
        .route(
            "/ui/{*path}",
            get(async |State(page), Asked(path): Asked<String>, headers: HeaderMap| {
                answer(&page, &path, &headers)
            }),
        )
        .with_state(page)
}

fn answer(page: &Page, path: &str, headers: &HeaderMap) -> Result<Response, Refusal> {
    let content = page.file(path).ok_or(Refusal::NoSuchPath)?;
    let tag = tag(&content);
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| *known == tag);
    let status = if known { StatusCode::NOT_MODIFIED } else { StatusCode::OK };
    let body = if known { Cow::Borrowed(&[][..]) } else { content };
    let own = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind(path))),
        (header::ETAG, tag),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((status, own, body).into_response())
}

/// Equal for equal content.
fn tag(content: &[u8]) -> HeaderValue {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    let text = format!("\"{:016x}\"", hasher.finish());
    HeaderValue::try_from(text).expect("digits and quotes are a header's value")
}

/// What a file is, for a browser that must not guess.
fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}

/// Adds what keeps a browser from taking anything for what it is not.
pub(super) async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_folder_is_read() {
        let page = Page::Folder(concat!(env!("CARGO_MANIFEST_DIR"), "/ui").into());
        assert!(page.file("index.html").is_some());
        for path in ["../Cargo.toml", "scenarios/../../Cargo.toml", "/etc/hostname", "", "."] {
            assert!(page.file(path).is_none(), "{path}");
        }
    }

    #[test]
    fn the_folder_and_the_binary_have_the_same_files() {
        let folder = Page::Folder(concat!(env!("CARGO_MANIFEST_DIR"), "/ui").into());
        assert_eq!(folder.file("index.html"), Page::Embedded.file("index.html"));
        let names = |page: &Page| page.json_files("scenarios").into_keys().collect::<Vec<_>>();
        assert_eq!(names(&folder), names(&Page::Embedded));
    }
}
