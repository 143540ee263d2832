//! The files of `--trace`: which run, in which form, is the business of each command.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, ensure};
use clap::Args;
use skeptron_markup::kinds;
use skeptron_sim::trace::{ClockKind, Format, Picture, Steps, Trace};

use super::output::OutputFile;
use crate::lab::standalone;

/// What pictures of a run show.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PictureArgs {
    /// With --trace: only these steps, as in 4..9 (both ends count); for .svg, .tex, .mmd and .txt
    #[arg(long, value_name = "FROM..TO", help_heading = "Output", requires = "trace")]
    #[arg(value_parser = steps)]
    pub steps: Option<Steps>,
    /// With --trace run.svg: draw client delays and synchronisation delays as measures
    #[arg(long, help_heading = "Output", requires = "trace")]
    pub measures: bool,
}

fn steps(text: &str) -> Result<Steps, String> {
    let ends =
        text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    match ends {
        Some((from, to)) if 1 <= from && from <= to => Ok(Steps { from, to }),
        Some(_) => Err("steps are counted from 1, the first one first".into()),
        None => Err("write FROM..TO, as in 4..9".into()),
    }
}

/// Where a trace goes, in which form, and with which clocks.
pub(crate) struct TraceFile {
    form: Form,
    picture: Picture,
    file: OutputFile,
}

/// What is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    Trace(Format),
    /// A page that plays the run without a server.
    Page,
}

impl Form {
    fn of_path(path: &Path) -> Result<Self> {
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("html")) {
            return Ok(Form::Page);
        }
        let known = Format::of_path(path).map(Form::Trace);
        known.map_err(|error| anyhow!("{error}, .html (a page that plays the run)"))
    }
}

/// Makes the files, before a long run rather than missed after it. What is there stays as it is until
/// they are written or discarded.
pub(crate) fn create(
    paths: &[PathBuf],
    shows: PictureArgs,
    clocks: Option<ClockKind>,
) -> Result<Vec<TraceFile>> {
    let PictureArgs { steps, measures } = shows;
    let forms: Vec<Form> =
        paths.iter().map(|path| Form::of_path(path)).collect::<Result<_>>().context("--trace")?;
    for (path, form) in paths.iter().zip(&forms) {
        let is_picture = matches!(form, Form::Trace(format) if format.is_picture());
        ensure!(
            steps.is_none() || is_picture,
            "--steps is for .svg, .tex, .mmd and .txt; {} has the whole run",
            path.display()
        );
        ensure!(
            !measures || matches!(form, Form::Trace(Format::Svg)),
            "--measures is for .svg; {} has none",
            path.display()
        );
    }
    let picture = Picture { steps, measures, clocks };
    let create = |(path, form): (&PathBuf, Form)| {
        Ok(TraceFile { form, picture, file: OutputFile::create("--trace", path)? })
    };
    paths.iter().zip(forms).map(create).collect()
}

/// Writes the run into each.
pub(crate) fn write(trace: &Trace, files: Vec<TraceFile>) -> Result<()> {
    let write = |TraceFile { form, picture, file }: TraceFile| match form {
        Form::Trace(format) => {
            if let Some(Steps { from, to }) = picture.steps {
                let all = trace.steps();
                ensure!(to <= all, "--steps {from}..{to}: the run has {all} steps");
            }
            file.write(|mut out| trace.write_picture(format, picture, &mut out))
        }
        Form::Page => {
            let page = standalone::of_trace(trace).context("--trace")?;
            file.write(|out| out.write_all(page.as_bytes()))
        }
    };
    files.into_iter().try_for_each(write)
}

/// Prints the run as a timeline.
pub(crate) fn print(trace: &Trace, clocks: Option<ClockKind>, out: &mut impl Write) -> Result<()> {
    let mut text = Vec::new();
    let picture = Picture { clocks, ..Picture::default() };
    trace.write_picture(Format::Text, picture, &mut text)?;
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
