//! The files of `--trace`: which run, in which form, is the business of each command.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use skeptron_markup::kinds;
use skeptron_sim::trace::{ClockKind, Format, Trace};

use super::output::OutputFile;

/// Where a trace goes, in which form, and with which clocks.
pub(crate) struct TraceFile {
    format: Format,
    clocks: Option<ClockKind>,
    file: OutputFile,
}

/// Makes the files, before a long run rather than missed after it. What is there stays as it is until
/// they are written or discarded.
pub(crate) fn create(paths: &[PathBuf], clocks: Option<ClockKind>) -> Result<Vec<TraceFile>> {
    let formats: Vec<Format> = paths
        .iter()
        .map(|path| Format::of_path(path))
        .collect::<Result<_, _>>()
        .context("--trace")?;
    let create = |(path, format): (&PathBuf, Format)| {
        Ok(TraceFile { format, clocks, file: OutputFile::create("--trace", path)? })
    };
    paths.iter().zip(formats).map(create).collect()
}

/// Writes the run into each.
pub(crate) fn write(trace: &Trace, files: Vec<TraceFile>) -> Result<()> {
    let write = |TraceFile { format, clocks, file }: TraceFile| {
        file.write(|mut out| trace.write_with(format, clocks, &mut out))
    };
    files.into_iter().try_for_each(write)
}

/// Prints the run as a timeline.
pub(crate) fn print(trace: &Trace, clocks: Option<ClockKind>, out: &mut impl Write) -> Result<()> {
    let mut text = Vec::new();
    trace.write_with(Format::Text, clocks, &mut text)?;
    Ok(out.write_all(painted(&String::from_utf8_lossy(&text)).as_bytes())?)
}

/// A text for standard output: kinds of messages have their colours, if that is a terminal and its user
/// has not declined colours.
pub(crate) fn painted(text: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        return kinds::coloured(text).into();
    }
    text.into()
}

/// There is nothing to write: what a former run left would be taken for it.
pub(crate) fn discard(files: Vec<TraceFile>) -> Result<()> {
    files.into_iter().try_for_each(|TraceFile { file, .. }| file.remove())
}
