//! A run as a file, in the forms that the command line writes.

use std::path::Path;

use anyhow::{Result, bail};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use skeptron_sim::trace::{Format, Trace};

/// A file to be saved.
#[derive(Debug)]
pub(super) struct File {
    name: String,
    kind: &'static str,
    content: Vec<u8>,
}

/// The run in the form of that name.
///
/// # Errors
/// If there is no such form.
pub(super) fn file(trace: &Trace, form: &str) -> Result<File> {
    let text = "text/plain; charset=utf-8";
    let (format, extension, kind) = match form {
        "svg" => (Format::Svg, "svg", "image/svg+xml"),
        "jsonl" => (Format::JsonLines, "jsonl", "application/jsonl"),
        "tex" => (Format::Tikz, "tex", "application/x-tex"),
        "mmd" => (Format::Mermaid, "mmd", text),
        "shiviz" => (Format::ShiViz, "shiviz", text),
        "txt" => (Format::Text, "txt", text),
        "perfetto" => (Format::Perfetto, "json", "application/json"),
        _ => bail!(
            "there is no format `{form}`; there are svg, tex, jsonl, mmd, shiviz, txt and perfetto"
        ),
    };
    let mut content = Vec::new();
    trace.write(format, &mut content)?;
    Ok(File { name: format!("{}.{extension}", stem(&trace.header.algorithm)), kind, content })
}

/// The name of an algorithm as that of a file: a program's name is a path.
fn stem(algorithm: &str) -> String {
    let stem = Path::new(algorithm).file_stem().map(|stem| stem.to_string_lossy());
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    stem.as_deref().unwrap_or("run").chars().map(plain).collect()
}

impl IntoResponse for File {
    fn into_response(self) -> Response {
        let disposition = format!("attachment; filename=\"{}\"", self.name);
        let headers = [
            (header::CONTENT_TYPE, self.kind.to_string()),
            (header::CONTENT_DISPOSITION, disposition),
        ];
        (headers, self.content).into_response()
    }
}
